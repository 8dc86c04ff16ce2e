//! Seeded formulas, and the judge's automaton for them.

use fathom_ltl::atom::AtomId;
use fathom_ltl::formula::Formula;
use fathom_ltl::gpvw::tableau;
use oracle::bfs::Explored;
use oracle::liveness::{Reader, accepts_a_run};
use oracle::random::Random;

/// A formula of that many operators.
pub(crate) fn formula(random: &mut Random, operators: usize, atoms: usize) -> Formula {
    if operators == 0 {
        return match random.below(20) {
            0 => Formula::True,
            1 => Formula::False,
            _ => Formula::Atom(AtomId::new(random.below(atoms)).expect("few atoms")),
        };
    }
    let kind = random.below(14);
    if operators == 1 || kind < 5 {
        let operand = Box::new(formula(random, operators - 1, atoms));
        return match kind % 5 {
            0 => Formula::Not(operand),
            1 => Formula::Next(operand),
            2 => Formula::Finally(operand),
            3 => Formula::Globally(operand),
            _ => Formula::Globally(Box::new(Formula::Finally(operand))),
        };
    }
    let left = random.below(operators);
    let a = Box::new(formula(random, left, atoms));
    let b = Box::new(formula(random, operators - 1 - left, atoms));
    match kind {
        5 | 6 => Formula::And(vec![*a, *b]),
        7 | 8 => Formula::Or(vec![*a, *b]),
        9 => Formula::Until(a, b),
        10 => Formula::Release(a, b),
        11 => Formula::WeakUntil(a, b),
        12 => Formula::StrongRelease(a, b),
        _ if random.chance(50) => Formula::Implies(a, b),
        _ => Formula::Iff(a, b),
    }
}

/// Whether some run of the graph violates the formula, as the judge sees it; none if the judge's automaton becomes too large.
pub(crate) fn judged(explored: &Explored, formula: &Formula) -> Option<bool> {
    let automaton = tableau(&formula.negated(), 4_000)?;
    let step = |state: usize, letter: u64| {
        let edges = automaton.states[state].iter().filter(|edge| edge.guard.holds(letter));
        edges.map(|edge| (edge.target.index(), edge.marks)).collect()
    };
    let reader = Reader { initial: automaton.initial.index(), mark_count: automaton.mark_count, step: &step };
    Some(accepts_a_run(explored, &reader))
}
