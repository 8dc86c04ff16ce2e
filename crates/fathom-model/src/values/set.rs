//! Which integers may a value be? A few of them by name, or all of an interval.
//!
//! Every operation is sound: the result holds every value that the operation can give on members of its operands. Values for which it can only fault
//! are left out, since nothing follows a fault.

use crate::expression::{BinaryOperator, Domain, Overflow, UnaryOperator};

/// A set of integers, exact while it is small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueSet {
    /// These, in order; none means that the value cannot be.
    Few(Vec<i64>),
    /// All from the first to the second.
    Interval(i64, i64),
}

/// Sets of more values become intervals.
const FEW_MAX: usize = 24;
/// Pairs of values that are worth computing one by one.
const PAIRS_MAX: usize = 256;

impl ValueSet {
    pub(super) const NONE: ValueSet = ValueSet::Few(Vec::new());
    pub(super) const ANY: ValueSet = ValueSet::Interval(i64::MIN, i64::MAX);

    pub(super) fn one(value: i64) -> ValueSet {
        ValueSet::Few(vec![value])
    }

    pub(super) fn of(values: impl IntoIterator<Item = i64>) -> ValueSet {
        let mut few: Vec<i64> = values.into_iter().collect();
        few.sort_unstable();
        few.dedup();
        match (few.len() <= FEW_MAX, few.first(), few.last()) {
            (false, Some(&low), Some(&high)) => ValueSet::Interval(low, high),
            _ => ValueSet::Few(few),
        }
    }

    /// All of an interval; empty if it is the wrong way round.
    pub(super) fn interval(low: i64, high: i64) -> ValueSet {
        if low > high {
            ValueSet::NONE
        } else if high.wrapping_sub(low) as u64 >= FEW_MAX as u64 {
            ValueSet::Interval(low, high)
        } else {
            ValueSet::Few((low..=high).collect())
        }
    }

    /// An interval of results before they are brought into 64 bits.
    fn fitted(overflow: Overflow, low: i128, high: i128) -> ValueSet {
        let [least, greatest] = [i64::MIN, i64::MAX].map(i128::from);
        if overflow == Overflow::Wrap && (low < least || high > greatest) {
            return ValueSet::ANY;
        }
        if low > greatest || high < least {
            return ValueSet::NONE;
        }
        ValueSet::interval(low.max(least) as i64, high.min(greatest) as i64)
    }

    pub(super) fn is_none(&self) -> bool {
        *self == ValueSet::NONE
    }

    /// The least and the greatest.
    pub(super) fn bounds(&self) -> Option<(i64, i64)> {
        match self {
            ValueSet::Few(few) => Some((*few.first()?, *few.last()?)),
            ValueSet::Interval(low, high) => Some((*low, *high)),
        }
    }

    pub(super) fn contains(&self, value: i64) -> bool {
        match self {
            ValueSet::Few(few) => few.binary_search(&value).is_ok(),
            ValueSet::Interval(low, high) => (*low..=*high).contains(&value),
        }
    }

    /// Whether some member is not zero.
    pub(super) fn may_be_true(&self) -> bool {
        !self.is_none() && *self != ValueSet::one(0)
    }

    pub(super) fn may_be_false(&self) -> bool {
        self.contains(0)
    }

    /// Adds the members of another; true if there were new ones.
    pub(super) fn join(&mut self, other: &ValueSet) -> bool {
        let joined = match (&*self, other) {
            (ValueSet::Few(mine), ValueSet::Few(theirs)) => {
                if theirs.iter().all(|value| mine.binary_search(value).is_ok()) {
                    return false;
                }
                ValueSet::of(mine.iter().chain(theirs).copied())
            }
            _ => match (self.bounds(), other.bounds()) {
                (_, None) => return false,
                (None, Some(_)) => other.clone(),
                (Some((low, high)), Some((other_low, other_high))) => {
                    let within =
                        matches!(self, ValueSet::Interval(..)) && low <= other_low && other_high <= high;
                    if within {
                        return false;
                    }
                    ValueSet::Interval(low.min(other_low), high.max(other_high))
                }
            },
        };
        let grown = joined != *self;
        *self = joined;
        grown
    }

    /// The members between two bounds.
    pub(super) fn within(&self, low: i64, high: i64) -> ValueSet {
        match self {
            ValueSet::Few(few) => {
                ValueSet::Few(few.iter().copied().filter(|value| (low..=high).contains(value)).collect())
            }
            ValueSet::Interval(least, greatest) => ValueSet::interval(low.max(*least), high.min(*greatest)),
        }
    }

    /// The members of both.
    pub(super) fn meet(&self, other: &ValueSet) -> ValueSet {
        match (self, other) {
            (ValueSet::Few(few), _) => {
                ValueSet::Few(few.iter().copied().filter(|value| other.contains(*value)).collect())
            }
            (_, ValueSet::Few(_)) => other.meet(self),
            (_, ValueSet::Interval(low, high)) => self.within(*low, *high),
        }
    }

    /// The members but one.
    pub(super) fn without(&self, value: i64) -> ValueSet {
        match self {
            ValueSet::Few(few) => ValueSet::Few(few.iter().copied().filter(|it| *it != value).collect()),
            ValueSet::Interval(low, high) if *low == value => ValueSet::interval(low + 1, *high),
            ValueSet::Interval(low, high) if *high == value => ValueSet::interval(*low, high - 1),
            ValueSet::Interval(..) => self.clone(),
        }
    }

    /// The members as they are stored in a variable of a domain.
    pub(super) fn converted(&self, overflow: Overflow, domain: Domain) -> ValueSet {
        match self {
            ValueSet::Few(few) => {
                ValueSet::of(few.iter().filter_map(|value| domain.convert(overflow, *value).ok()))
            }
            ValueSet::Interval(..) if overflow == Overflow::Fault => self.within(domain.low, domain.high),
            ValueSet::Interval(low, high) => {
                let whole = ValueSet::interval(domain.low, domain.high);
                if high.wrapping_sub(*low) as u64 >= domain.span() {
                    return whole;
                }
                let (low, high) = (domain.wrap(*low), domain.wrap(*high));
                if low <= high { ValueSet::interval(low, high) } else { whole }
            }
        }
    }

    pub(super) fn unary(&self, overflow: Overflow, operator: UnaryOperator) -> ValueSet {
        match (self, operator) {
            (ValueSet::Few(few), _) => {
                ValueSet::of(few.iter().filter_map(|it| operator.apply(overflow, *it).ok()))
            }
            (ValueSet::Interval(low, high), UnaryOperator::Negate) => {
                ValueSet::fitted(overflow, -i128::from(*high), -i128::from(*low))
            }
            (ValueSet::Interval(low, high), UnaryOperator::Complement) => ValueSet::interval(!high, !low),
            (_, UnaryOperator::Not) => ValueSet::truth(self.may_be_false(), self.may_be_true()),
        }
    }

    /// The outcomes of a test.
    pub(super) fn truth(may_be_true: bool, may_be_false: bool) -> ValueSet {
        ValueSet::of(
            [(may_be_false, 0), (may_be_true, 1)].into_iter().filter_map(|(may, value)| may.then_some(value)),
        )
    }

    pub(super) fn binary(&self, overflow: Overflow, operator: BinaryOperator, other: &ValueSet) -> ValueSet {
        if let (ValueSet::Few(left), ValueSet::Few(right)) = (self, other)
            && left.len() * right.len() <= PAIRS_MAX
        {
            let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (*left, *right)));
            return ValueSet::of(
                pairs.filter_map(|(left, right)| operator.apply(overflow, left, right).ok()),
            );
        }
        match (self.bounds(), other.bounds()) {
            (Some(left), Some(right)) => interval_binary(overflow, operator, left, right),
            _ => ValueSet::NONE,
        }
    }

    /// The least set of bounds from `steps` that holds this one and has not both bounds of a smaller step.
    pub(super) fn widened(&self, steps: &[i64], domain: Domain) -> ValueSet {
        let Some((low, high)) = self.bounds() else { return ValueSet::NONE };
        let below = steps.partition_point(|step| *step <= low);
        let above = steps.partition_point(|step| *step < high);
        let low = if below == 0 { domain.low } else { steps[below - 1] };
        let high = steps.get(above).copied().unwrap_or(domain.high);
        ValueSet::interval(low.max(domain.low), high.min(domain.high))
    }
}

fn interval_binary(
    overflow: Overflow,
    operator: BinaryOperator,
    left: (i64, i64),
    right: (i64, i64),
) -> ValueSet {
    let wide = |(low, high): (i64, i64)| (i128::from(low), i128::from(high));
    let ((a, b), (c, d)) = (wide(left), wide(right));
    match operator {
        BinaryOperator::Add => ValueSet::fitted(overflow, a + c, b + d),
        BinaryOperator::Subtract => ValueSet::fitted(overflow, a - d, b - c),
        BinaryOperator::Multiply => corners(overflow, &[a, b], &[c, d], |x, y| x * y),
        BinaryOperator::Divide => {
            let divisors: Vec<i128> =
                [c, d, -1, 1].into_iter().filter(|it| *it != 0 && (c..=d).contains(it)).collect();
            corners(overflow, &[a, b], &divisors, |x, y| x / y)
        }
        BinaryOperator::Remainder => {
            let most = c.abs().max(d.abs()) - 1;
            if most < 0 {
                return ValueSet::NONE;
            }
            ValueSet::fitted(
                overflow,
                if a < 0 { a.max(-most) } else { 0 },
                if b > 0 { b.min(most) } else { 0 },
            )
        }
        BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
            let (c, d) = (c.max(0), d.min(63));
            if c > d {
                return ValueSet::NONE;
            }
            let left_shift = operator == BinaryOperator::ShiftLeft;
            corners(overflow, &[a, b], &[c, d], |x, y| if left_shift { x << y } else { x >> y })
        }
        BinaryOperator::BitAnd if a >= 0 || c >= 0 => {
            let high = if a < 0 {
                d
            } else if c < 0 {
                b
            } else {
                b.min(d)
            };
            ValueSet::fitted(overflow, 0, high)
        }
        BinaryOperator::BitOr | BinaryOperator::BitXor if a >= 0 && c >= 0 => {
            let bits = 128 - (b | d).leading_zeros();
            let low = if operator == BinaryOperator::BitOr { a.max(c) } else { 0 };
            ValueSet::fitted(overflow, low, (1 << bits) - 1)
        }
        BinaryOperator::BitAnd | BinaryOperator::BitOr | BinaryOperator::BitXor => ValueSet::ANY,
        BinaryOperator::Equal => ValueSet::truth(a <= d && c <= b, !(a == b && c == d && a == c)),
        BinaryOperator::NotEqual => ValueSet::truth(!(a == b && c == d && a == c), a <= d && c <= b),
        BinaryOperator::Less => ValueSet::truth(a < d, b >= c),
        BinaryOperator::LessEqual => ValueSet::truth(a <= d, b > c),
        BinaryOperator::Greater => ValueSet::truth(b > c, a <= d),
        BinaryOperator::GreaterEqual => ValueSet::truth(b >= c, a < d),
    }
}

/// All results of a function that is monotone in each operand, from its results on the bounds.
fn corners(
    overflow: Overflow,
    left: &[i128],
    right: &[i128],
    operation: impl Fn(i128, i128) -> i128,
) -> ValueSet {
    let results = || left.iter().flat_map(|x| right.iter().map(|y| operation(*x, *y)));
    match (results().min(), results().max()) {
        (Some(low), Some(high)) => ValueSet::fitted(overflow, low, high),
        _ => ValueSet::NONE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: [BinaryOperator; 16] = [
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

    /// Every result on members of small intervals is in the interval of results, near zero and at the ends of 64 bits.
    #[test]
    fn intervals_hold_every_result() {
        for overflow in [Overflow::Fault, Overflow::Wrap] {
            for operator in BINARY {
                for base in [-9, 0, 60, i64::MIN, i64::MAX - 8] {
                    for other_base in [-3, 0, 61, i64::MIN, i64::MAX - 8] {
                        for size in [0, 1, 4, 8] {
                            check(
                                overflow,
                                operator,
                                (base, base + size),
                                (other_base, other_base + 8 - size),
                            );
                        }
                    }
                }
            }
        }
    }

    fn check(overflow: Overflow, operator: BinaryOperator, left: (i64, i64), right: (i64, i64)) {
        let result = interval_binary(overflow, operator, left, right);
        for x in left.0..=left.1 {
            for y in right.0..=right.1 {
                if let Ok(value) = operator.apply(overflow, x, y) {
                    assert!(result.contains(value), "{x} {operator:?} {y} = {value} not in {result:?}");
                }
            }
        }
    }

    #[test]
    fn conversions_hold_every_result() {
        for overflow in [Overflow::Fault, Overflow::Wrap] {
            for (low, high) in [(-300, -200), (-10, 300), (200, 300), (0, 1000), (250, 260)] {
                let domain = Domain::new(0, 255);
                let stored = ValueSet::Interval(low, high).converted(overflow, domain);
                for value in low..=high {
                    assert!(
                        domain.convert(overflow, value).is_ok_and(|it| stored.contains(it))
                            || overflow == Overflow::Fault
                    );
                }
            }
        }
    }

    #[test]
    fn joining_reports_growth_and_never_loses_a_member() {
        let mut set = ValueSet::NONE;
        for value in 0..100 {
            assert!(set.join(&ValueSet::one(value * 3)));
            assert!(!set.join(&ValueSet::one(value * 3)));
            assert!((0..=value).all(|it| set.contains(it * 3)));
        }
        assert_eq!(set, ValueSet::Interval(0, 297));
    }
}
