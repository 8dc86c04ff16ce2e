//! How far has a state come: as expressions say it, or as the text of a model does?

mod effects;
mod structural;

use fathom_model::expression::{Expression, ExpressionKind, UnaryOperator};
use fathom_model::layout::Layout;
use fathom_model::program::{Program, Role};
use fathom_search::progress::measure::{Measure, Order, Part};

pub(crate) use structural::structural;

/// What the measure that the text gives is called.
pub(crate) const STRUCTURAL: &str = "structural";

/// The measure that expressions mean which are variables, or their opposites; none if one is more than that, or there is no room for them.
pub(super) fn components(program: &Program, layout: &Layout, expressions: &[Expression]) -> Option<Measure> {
    let mut measure = Measure::default();
    for expression in expressions {
        let (read, opposite) = match &expression.kind {
            ExpressionKind::Unary(UnaryOperator::Negate, operand) => (&operand.kind, true),
            kind => (kind, false),
        };
        let (variable, element) = match read {
            ExpressionKind::Read(variable) => (*variable, 0),
            ExpressionKind::Element(variable, index) => match index.kind {
                ExpressionKind::Constant(index) => (*variable, u32::try_from(index).ok()?),
                _ => return None,
            },
            _ => return None,
        };
        let field = layout.fields[variable.index()];
        if program.variable(variable).role == Role::Temporary || element >= field.elements {
            return None;
        }
        let most = field.domain.span();
        let order = if opposite { Order::Descending(most) } else { Order::Ascending(most) };
        let bits = (field.element_low(element), field.element_bits);
        let name = &program.variable(variable).name;
        let name = program.variable(variable).length.map_or(name.clone(), |_| format!("{name}[{element}]"));
        let part = Part::new(name, bits, order);
        if !measure.has_room(&part) {
            return None;
        }
        measure.push(part);
    }
    Some(measure)
}

/// The expressions of a list, which commas part that are in no brackets.
pub(super) fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0i32;
    text.split(move |sign| {
        depth += i32::from(matches!(sign, '(' | '[' | '{')) - i32::from(matches!(sign, ')' | ']' | '}'));
        sign == ',' && depth <= 0
    })
}

/// So many signed numbers as one, in the same order, the first counts most. Each has its share of the bits; what does not fit is as far as it goes.
pub(super) fn packed(numbers: impl Iterator<Item = i64>, count: usize) -> u64 {
    let bits = 64 / count.clamp(1, 64) as u32;
    let (low, high) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
    numbers.take(64).fold(0, |packed, number| {
        let place = number.clamp(low, high).wrapping_sub(low) as u64;
        packed.unbounded_shl(bits) | place
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_have_the_order_of_the_lists() {
        let mut lists: Vec<[i64; 3]> = Vec::new();
        let numbers = [-5, -1, 0, 1, 7, 1000];
        for first in numbers {
            for second in numbers {
                lists.extend(numbers.map(|third| [first, second, third]));
            }
        }
        lists.sort_unstable();
        let values: Vec<u64> = lists.iter().map(|list| packed(list.iter().copied(), 3)).collect();
        assert!(values.is_sorted_by(|left, right| left < right));
        let alone = [i64::MIN, -1, 0, 1, i64::MAX].map(|number| packed([number].into_iter(), 1));
        assert!(alone.is_sorted_by(|left, right| left < right));
        // What does not fit is as far as it goes.
        assert_eq!(packed([1 << 40, 0].into_iter(), 2), packed([1 << 50, 0].into_iter(), 2));
    }

    #[test]
    fn commas_in_brackets_part_nothing() {
        assert_eq!(parts("a, b[f(c, d)], (e, g)").collect::<Vec<_>>(), ["a", " b[f(c, d)]", " (e, g)"]);
    }
}
