//! How far has a state come: as expressions say it, or as the text of a model does?
//!
//! `structural`: of each process the place of its location among the components of its control flow, and each variable that nothing decreases. No step decreases any of them, and that is proved from
//! the text: a process moves along the edges of its transitions, which never lead back to an earlier component; a variable only grows if all that is ever assigned to it is the greatest value that
//! it can have, or itself and a constant that cannot take it out of its range. So a sweep with this measure never steps back.

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, Statement, VariableId};
use fathom_model::layout::{Field, Layout};
use fathom_model::program::{Program, Role};

/// What the measure that the text gives is called.
pub(super) const STRUCTURAL: &str = "structural";

/// Numbers of a state that no step decreases, the first counts most.
#[derive(Debug)]
pub(super) struct Structural {
    parts: Vec<Part>,
}

/// One of them.
#[derive(Debug)]
struct Part {
    field: Field,
    element: u32,
    /// The number of each value, from the least on; none if values are numbers.
    ranks: Option<Vec<u64>>,
    bits: u32,
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

impl Structural {
    /// What the text of a program gives. Parts that no bits are left for are left out.
    pub(super) fn of(program: &Program, layout: &Layout) -> Structural {
        let mut parts: Vec<Part> = Vec::new();
        for (index, variable) in program.variables.iter().enumerate() {
            let field = layout.fields[index];
            match variable.role {
                Role::Location(process) => {
                    let moves = program.actions.iter().flat_map(|action| &action.movers);
                    let edges: Vec<(usize, usize)> = moves
                        .filter(|mover| mover.process == process)
                        .map(|mover| (mover.from as usize, mover.to as usize))
                        .collect();
                    let ranks = component_ranks(program.process(process).locations.len(), &edges);
                    let most = ranks.iter().copied().max().unwrap_or(0);
                    let low = usize::try_from(field.domain.low).unwrap_or(0);
                    let ranks = Some(ranks[low..].to_vec());
                    parts.push(Part { field, element: 0, ranks, bits: bits_of(most) });
                }
                Role::Global | Role::Local(_) if only_grows(program, field, index) => {
                    let bits = field.element_bits;
                    parts.extend((0..field.elements).map(|element| Part {
                        field,
                        element,
                        ranks: None,
                        bits,
                    }));
                }
                _ => {}
            }
        }
        let mut left = u64::BITS;
        parts.retain(|part| {
            let fits = part.bits > 0 && part.bits <= left;
            left -= if fits { part.bits } else { 0 };
            fits
        });
        Structural { parts }
    }

    /// The number of a state.
    pub(super) fn value(&self, record: &[u64]) -> u64 {
        self.parts.iter().fold(0, |value, Part { field, element, ranks, bits }| {
            let code = field.read(record, *element).wrapping_sub(field.domain.low) as u64;
            let number = ranks.as_ref().map_or(code, |ranks| ranks[code as usize]);
            value.unbounded_shl(*bits) | number
        })
    }
}

fn bits_of(most: u64) -> u32 {
    u64::BITS - most.leading_zeros()
}

/// How many components are on the longest way to that of each node: no edge leads to a smaller number.
fn component_ranks(nodes: usize, edges: &[(usize, usize)]) -> Vec<u64> {
    // Processes have few locations: what each one reaches is a table.
    let mut reaches = vec![vec![false; nodes]; nodes];
    for &(from, to) in edges {
        reaches[from][to] = true;
    }
    for middle in 0..nodes {
        let beyond = reaches[middle].clone();
        for row in reaches.iter_mut().filter(|row| row[middle]) {
            row.iter_mut().zip(&beyond).for_each(|(reached, further)| *reached |= further);
        }
    }
    let before = |from: usize, to: usize| reaches[from][to] && !reaches[to][from];
    // The number of nodes strictly before one grows along edges between components, and is the same within one.
    (0..nodes).map(|node| (0..nodes).filter(|&other| before(other, node)).count() as u64).collect()
}

/// Whether nothing that the program does decreases an element of a variable.
fn only_grows(program: &Program, field: Field, variable: usize) -> bool {
    let commands = program.actions.iter().map(|action| &action.command);
    let mut statements = commands.flat_map(|command| &command.body);
    program.is_plain()
        && statements.all(|statement| match statement {
            Statement::Assign(assignments) => assignments
                .iter()
                .filter(|assignment| assignment.place.variable.index() == variable)
                .all(|assignment| grows(program, field, variable, &assignment.value)),
            Statement::Move { .. } => true,
            _ => false,
        })
}

/// Whether a value is not less than the variable, whatever the state.
fn grows(program: &Program, field: Field, variable: usize, value: &Expression) -> bool {
    let itself = |part: &Expression| part.kind == ExpressionKind::Read(VariableId(variable as u32));
    let fits = |added: i64| {
        let declared = program.variables[variable].domain;
        added >= 0 && field.domain.high.checked_add(added).is_some_and(|most| most <= declared.high)
    };
    match &value.kind {
        ExpressionKind::Constant(constant) => *constant == field.domain.high,
        ExpressionKind::Binary(BinaryOperator::Add, left, right) => match (&left.kind, &right.kind) {
            (ExpressionKind::Constant(added), _) => itself(right) && fits(*added),
            (_, ExpressionKind::Constant(added)) => itself(left) && fits(*added),
            _ => false,
        },
        _ => itself(value),
    }
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

    #[test]
    fn ranks_never_decrease_along_edges_and_are_equal_within_components() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (0, 4), (4, 3)];
        let ranks = component_ranks(5, &edges);
        assert!(edges.iter().all(|&(from, to)| ranks[from] <= ranks[to]));
        assert_eq!(ranks[1], ranks[2]);
        assert!(ranks[0] < ranks[1] && ranks[2] < ranks[3] && ranks[0] < ranks[4]);
    }
}
