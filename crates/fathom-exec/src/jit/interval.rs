//! Which values can an expression have? Interval arithmetic, so that checks that cannot fire are not compiled.
//!
//! An interval is sound for the values that the layout says are possible. A record that breaks that promise may make compiled code compute
//! a wrong value; it never makes it touch memory outside its buffers, because no address depends on an interval alone.

use fathom_model::expression::{BinaryOperator, Domain, Overflow, UnaryOperator};

/// All integers between two, which are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) low: i64,
    pub(super) high: i64,
}

/// What is known of a result before it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Estimate {
    pub(super) interval: Interval,
    /// Whether the exact result may lie outside 64 bits (or the operation may fault by its own rule: division, shift).
    pub(super) faults: bool,
}

impl Interval {
    pub(super) const ALL: Interval = Interval { low: i64::MIN, high: i64::MAX };
    pub(super) const TRUTH: Interval = Interval { low: 0, high: 1 };

    pub(super) fn exactly(value: i64) -> Interval {
        Interval { low: value, high: value }
    }

    pub(super) fn of(domain: Domain) -> Interval {
        Interval { low: domain.low, high: domain.high }
    }

    pub(super) fn constant(self) -> Option<i64> {
        (self.low == self.high).then_some(self.low)
    }

    pub(super) fn contains(self, value: i64) -> bool {
        self.low <= value && value <= self.high
    }

    pub(super) fn within(self, other: Interval) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    pub(super) fn union(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// What both have; none if that is nothing.
    pub(super) fn meet(self, other: Interval) -> Option<Interval> {
        let (low, high) = (self.low.max(other.low), self.high.min(other.high));
        (low <= high).then_some(Interval { low, high })
    }

    /// Whether a value is surely true (not zero), surely false, or either.
    pub(super) fn truth(self) -> Option<bool> {
        if self == Interval::exactly(0) { Some(false) } else { (!self.contains(0)).then_some(true) }
    }

    /// Whether 32 bits with a sign hold every value.
    pub(super) fn is_narrow(self) -> bool {
        self.within(Interval { low: i64::from(i32::MIN), high: i64::from(i32::MAX) })
    }

    fn wide(low: i128, high: i128) -> Option<Interval> {
        Some(Interval { low: i64::try_from(low).ok()?, high: i64::try_from(high).ok()? })
    }

    /// The least interval that holds all corners of a monotone operation.
    fn hull(corners: [i128; 4]) -> Option<Interval> {
        let low = corners.into_iter().min().expect("four corners");
        let high = corners.into_iter().max().expect("four corners");
        Interval::wide(low, high)
    }

    /// How many bits a value that is not negative needs at most.
    fn bits_mask(self) -> i64 {
        (u64::MAX >> (self.high.max(1) as u64).leading_zeros()) as i64
    }
}

/// What a unary operator gives.
pub(super) fn unary(overflow: Overflow, operator: UnaryOperator, value: Interval) -> Estimate {
    match operator {
        UnaryOperator::Negate => {
            fitting(overflow, Interval::wide(-i128::from(value.high), -i128::from(value.low)))
        }
        UnaryOperator::Complement => sure(Interval { low: !value.high, high: !value.low }),
        UnaryOperator::Not => sure(match value.truth() {
            Some(truth) => Interval::exactly(i64::from(!truth)),
            None => Interval::TRUTH,
        }),
    }
}

/// What a binary operator gives.
pub(super) fn binary(
    overflow: Overflow,
    operator: BinaryOperator,
    left: Interval,
    right: Interval,
) -> Estimate {
    let (a, b) = ([left.low, left.high].map(i128::from), [right.low, right.high].map(i128::from));
    match operator {
        BinaryOperator::Add => fitting(overflow, Interval::wide(a[0] + b[0], a[1] + b[1])),
        BinaryOperator::Subtract => fitting(overflow, Interval::wide(a[0] - b[1], a[1] - b[0])),
        BinaryOperator::Multiply => {
            let corners = [a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]];
            fitting(overflow, Interval::hull(corners))
        }
        BinaryOperator::Divide => divide(overflow, left, right),
        BinaryOperator::Remainder => remainder(left, right),
        BinaryOperator::ShiftLeft => shift_left(overflow, left, right),
        BinaryOperator::ShiftRight => {
            let faults = !right.within(Interval { low: 0, high: 63 });
            let by = [right.low.clamp(0, 63), right.high.clamp(0, 63)];
            let corners = [left.low >> by[0], left.low >> by[1], left.high >> by[0], left.high >> by[1]];
            let interval = Interval::hull(corners.map(i128::from)).expect("no larger than it was");
            Estimate { interval, faults }
        }
        BinaryOperator::BitAnd | BinaryOperator::BitOr | BinaryOperator::BitXor => {
            sure(bits(operator, left, right))
        }
        _ => sure(compare(operator, left, right)),
    }
}

/// What bringing a value into a domain gives.
pub(super) fn convert(overflow: Overflow, domain: Domain, value: Interval) -> Estimate {
    let domain = Interval::of(domain);
    if value.within(domain) {
        return sure(value);
    }
    match overflow {
        Overflow::Fault => Estimate { interval: value.meet(domain).unwrap_or(domain), faults: true },
        Overflow::Wrap => sure(domain),
    }
}

/// What a value must be if comparing it with a constant gave true.
pub(super) fn refined(value: Interval, operator: BinaryOperator, constant: i64) -> Option<Interval> {
    let Interval { low, high } = value;
    let (low, high) = match operator {
        BinaryOperator::Equal => (low.max(constant), high.min(constant)),
        BinaryOperator::NotEqual if low == constant => (low.checked_add(1)?, high),
        BinaryOperator::NotEqual if high == constant => (low, high.checked_sub(1)?),
        BinaryOperator::Less => (low, high.min(constant.checked_sub(1)?)),
        BinaryOperator::LessEqual => (low, high.min(constant)),
        BinaryOperator::Greater => (low.max(constant.checked_add(1)?), high),
        BinaryOperator::GreaterEqual => (low.max(constant), high),
        _ => (low, high),
    };
    (low <= high).then_some(Interval { low, high })
}

/// The comparison with the operands changed over.
pub(super) fn mirrored(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessEqual => BinaryOperator::GreaterEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterEqual => BinaryOperator::LessEqual,
        same => same,
    }
}

/// The comparison that is true when this one is false; none for what is no comparison.
pub(super) fn negated(operator: BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Equal => BinaryOperator::NotEqual,
        BinaryOperator::NotEqual => BinaryOperator::Equal,
        BinaryOperator::Less => BinaryOperator::GreaterEqual,
        BinaryOperator::LessEqual => BinaryOperator::Greater,
        BinaryOperator::Greater => BinaryOperator::LessEqual,
        BinaryOperator::GreaterEqual => BinaryOperator::Less,
        _ => return None,
    })
}

fn sure(interval: Interval) -> Estimate {
    Estimate { interval, faults: false }
}

/// A result that is exact if it fits; what does not fit faults or wraps to anything.
fn fitting(overflow: Overflow, exact: Option<Interval>) -> Estimate {
    match exact {
        Some(interval) => sure(interval),
        None => Estimate { interval: Interval::ALL, faults: overflow == Overflow::Fault },
    }
}

fn divide(overflow: Overflow, left: Interval, right: Interval) -> Estimate {
    let overflows = left.contains(i64::MIN) && right.contains(-1);
    let faults = right.contains(0) || (overflows && overflow == Overflow::Fault);
    if overflows {
        return Estimate { interval: Interval::ALL, faults };
    }
    // A quotient is no farther from zero than its dividend; a divisor of one sign gives tighter corners.
    let interval = if right.contains(0) {
        let most = i128::from(left.low).abs().max(i128::from(left.high).abs());
        Interval::wide(-most, most).unwrap_or(Interval::ALL)
    } else {
        let corner = |a: i64, b: i64| i128::from(a) / i128::from(b);
        let corners = [
            corner(left.low, right.low),
            corner(left.low, right.high),
            corner(left.high, right.low),
            corner(left.high, right.high),
        ];
        Interval::hull(corners).unwrap_or(Interval::ALL)
    };
    Estimate { interval, faults }
}

fn remainder(left: Interval, right: Interval) -> Estimate {
    let most = i128::from(right.low).abs().max(i128::from(right.high).abs()) - 1;
    let low = if left.low < 0 { (-most).max(i128::from(left.low)) } else { 0 };
    let high = if left.high > 0 { most.min(i128::from(left.high)) } else { 0 };
    let interval = Interval::wide(low.min(0), high.max(0)).unwrap_or(Interval::ALL);
    Estimate { interval, faults: right.contains(0) }
}

fn shift_left(overflow: Overflow, left: Interval, right: Interval) -> Estimate {
    let bad_amount = !right.within(Interval { low: 0, high: 63 });
    let by = [right.low.clamp(0, 63), right.high.clamp(0, 63)];
    let corner = |a: i64, b: i64| i128::from(a) << b;
    let corners = [
        corner(left.low, by[0]),
        corner(left.low, by[1]),
        corner(left.high, by[0]),
        corner(left.high, by[1]),
    ];
    let Estimate { interval, faults } = fitting(overflow, Interval::hull(corners));
    Estimate { interval, faults: faults || bad_amount }
}

fn bits(operator: BinaryOperator, left: Interval, right: Interval) -> Interval {
    let positive = (left.low >= 0, right.low >= 0);
    match operator {
        BinaryOperator::BitAnd if positive == (true, true) => {
            Interval { low: 0, high: left.high.min(right.high) }
        }
        BinaryOperator::BitAnd if positive.0 => Interval { low: 0, high: left.high },
        BinaryOperator::BitAnd if positive.1 => Interval { low: 0, high: right.high },
        BinaryOperator::BitOr | BinaryOperator::BitXor if positive == (true, true) => {
            Interval { low: 0, high: left.bits_mask() | right.bits_mask() }
        }
        _ => Interval::ALL,
    }
}

fn compare(operator: BinaryOperator, left: Interval, right: Interval) -> Interval {
    let (always, never) = match operator {
        BinaryOperator::Less => (left.high < right.low, left.low >= right.high),
        BinaryOperator::LessEqual => (left.high <= right.low, left.low > right.high),
        BinaryOperator::Greater => (left.low > right.high, left.high <= right.low),
        BinaryOperator::GreaterEqual => (left.low >= right.high, left.high < right.low),
        BinaryOperator::Equal | BinaryOperator::NotEqual => {
            let same = left.constant().is_some() && left == right;
            let apart = left.meet(right).is_none();
            if operator == BinaryOperator::Equal { (same, apart) } else { (apart, same) }
        }
        _ => (false, false),
    };
    match (always, never) {
        (true, _) => Interval::exactly(1),
        (_, true) => Interval::exactly(0),
        _ => Interval::TRUTH,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPERATORS: [BinaryOperator; 16] = [
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Divide,
        BinaryOperator::Remainder,
        BinaryOperator::ShiftLeft,
        BinaryOperator::ShiftRight,
        BinaryOperator::BitAnd,
        BinaryOperator::BitOr,
        BinaryOperator::BitXor,
        BinaryOperator::Equal,
        BinaryOperator::NotEqual,
        BinaryOperator::Less,
        BinaryOperator::LessEqual,
        BinaryOperator::Greater,
        BinaryOperator::GreaterEqual,
    ];

    /// The result over the integers, without the rules of the language: none where it has none.
    fn exact(operator: BinaryOperator, a: i64, b: i64) -> Option<i64> {
        match operator {
            BinaryOperator::Add => a.checked_add(b),
            BinaryOperator::Subtract => a.checked_sub(b),
            BinaryOperator::Multiply => a.checked_mul(b),
            BinaryOperator::Divide => a.checked_div(b),
            BinaryOperator::Remainder => (b != 0).then(|| a.wrapping_rem(b)),
            BinaryOperator::ShiftLeft => {
                let shifted = (0..64).contains(&b).then(|| i128::from(a) << b)?;
                i64::try_from(shifted).ok()
            }
            BinaryOperator::ShiftRight => (0..64).contains(&b).then(|| a >> b),
            BinaryOperator::BitAnd => Some(a & b),
            BinaryOperator::BitOr => Some(a | b),
            BinaryOperator::BitXor => Some(a ^ b),
            BinaryOperator::Equal => Some(i64::from(a == b)),
            BinaryOperator::NotEqual => Some(i64::from(a != b)),
            BinaryOperator::Less => Some(i64::from(a < b)),
            BinaryOperator::LessEqual => Some(i64::from(a <= b)),
            BinaryOperator::Greater => Some(i64::from(a > b)),
            BinaryOperator::GreaterEqual => Some(i64::from(a >= b)),
        }
    }

    #[test]
    fn every_result_lies_in_the_estimate_and_every_fault_is_foreseen() {
        let bounds = [i64::MIN, i64::MIN + 1, -65, -3, -2, -1, 0, 1, 2, 3, 63, 64, i64::MAX - 1, i64::MAX];
        let intervals: Vec<Interval> = bounds
            .iter()
            .flat_map(|&low| {
                bounds.iter().filter(move |&&high| low <= high).map(move |&high| Interval { low, high })
            })
            .collect();
        let inside = |interval: Interval| bounds.into_iter().filter(move |value| interval.contains(*value));
        for operator in OPERATORS {
            for &left in &intervals {
                for &right in &intervals {
                    let Estimate { interval, faults } = binary(Overflow::Fault, operator, left, right);
                    for a in inside(left) {
                        for b in inside(right) {
                            match exact(operator, a, b) {
                                Some(value) => assert!(
                                    interval.contains(value),
                                    "{a} {operator:?} {b} = {value} not in {interval:?}"
                                ),
                                None => assert!(faults, "{a} {operator:?} {b} faults"),
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_comparison_that_held_narrows_and_loses_nothing() {
        let value = Interval { low: -3, high: 4 };
        for operator in &OPERATORS[10..] {
            for constant in [-9, -3, 0, 4, 9, i64::MIN, i64::MAX] {
                let narrowed = refined(value, *operator, constant);
                for x in -3..=4 {
                    if exact(*operator, x, constant) == Some(1) {
                        // Without a narrower interval the caller keeps the one it has.
                        assert!(narrowed.unwrap_or(value).contains(x), "{x} {operator:?} {constant}");
                    }
                }
            }
        }
    }
}
