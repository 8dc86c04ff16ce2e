//! Does a formula hold of a lasso word that is too long for memory, and does an automaton accept it?
//!
//! The letters come one at a time from whoever has them. A formula is judged straight from the definition of the logic, as in [`crate::evaluate`], but backwards: what holds at a position follows from its letter and
//! from what holds at the next one. Where the cycle closes, the next position is its first, of which nothing is known yet; so the cycle is read several times. A subformula whose temporal
//! operators are nested `n` deep is right at all positions from the pass after the `n`th on:
//!
//! * of a letter and what is made of letters of the same position, from the first pass on;
//! * of `X a`, one pass after `a`, since `a` at the first position is known from the pass before;
//! * of `a U b` and its relatives, one pass after `a` and `b`. In the first pass in which these are right it is taken at the end of the cycle for what it is when neither ends the walk, ever: if one turn from the first position
//!   brings no end, no turn does. So it is right at the first position, and in the next pass at all.
//!
//! Memory: two bits' worth of bytes per node of the formula. Time: nodes x letters, for the cycle once more per depth.

use crate::accepting_cycle::has_accepting_cycle;
use crate::automaton::Automaton;
use crate::formula::Formula;

/// The form of a lasso word: how many letters it has, and where its cycle starts, which is before their end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongWord {
    /// How many letters stem and cycle have.
    pub letters: u64,
    /// Where the cycle starts.
    pub cycle_start: u64,
}

/// Gives the letter at a position, or says why it cannot.
pub type LetterAt<'l, E> = dyn FnMut(u64) -> Result<u64, E> + 'l;

/// The truth of a formula on a word.
pub fn holds<E>(formula: &Formula, word: LongWord, letter_at: &mut LetterAt<'_, E>) -> Result<bool, E> {
    let mut nodes = Vec::new();
    let root = flatten(formula, &mut nodes);
    let mut next = vec![false; nodes.len()];
    let mut now = next.clone();
    for pass in 1..=nodes[root].depth + 1 {
        // What the last pass found at the first position, or what there is if the cycle never brings an end.
        for (node, value) in nodes.iter().zip(&mut next) {
            if pass <= node.depth {
                *value = node.forever();
            }
        }
        for position in (word.cycle_start..word.letters).rev() {
            step(&nodes, letter_at(position)?, &next, &mut now);
            std::mem::swap(&mut now, &mut next);
        }
    }
    for position in (0..word.cycle_start).rev() {
        step(&nodes, letter_at(position)?, &next, &mut now);
        std::mem::swap(&mut now, &mut next);
    }
    Ok(next[root])
}

/// A node of a formula.
struct Node<'f> {
    formula: &'f Formula,
    operands: Vec<usize>,
    /// How deep temporal operators are nested.
    depth: usize,
}

impl Node<'_> {
    /// What it is when its walk never ends.
    fn forever(&self) -> bool {
        matches!(self.formula, Formula::Globally(_) | Formula::WeakUntil(..) | Formula::Release(..))
    }
}

/// Appends the nodes of a formula, operands first; gives its own place.
fn flatten<'f>(formula: &'f Formula, nodes: &mut Vec<Node<'f>>) -> usize {
    let operands: Vec<usize> =
        formula.operands().into_iter().map(|operand| flatten(operand, nodes)).collect();
    let temporal = matches!(
        formula,
        Formula::Next(_)
            | Formula::Finally(_)
            | Formula::Globally(_)
            | Formula::Until(..)
            | Formula::Release(..)
            | Formula::WeakUntil(..)
            | Formula::StrongRelease(..)
    );
    let inner = operands.iter().map(|operand| nodes[*operand].depth).max().unwrap_or(0);
    nodes.push(Node { formula, operands, depth: inner + usize::from(temporal) });
    nodes.len() - 1
}

/// What holds at a position, from its letter and from what holds at the next one.
fn step(nodes: &[Node<'_>], letter: u64, next: &[bool], now: &mut [bool]) {
    for (place, node) in nodes.iter().enumerate() {
        let operand = |number: usize| now[node.operands[number]];
        now[place] = match node.formula {
            Formula::True => true,
            Formula::False => false,
            Formula::Atom(atom) => letter & atom.bit() != 0,
            Formula::Not(_) => !operand(0),
            Formula::And(_) => node.operands.iter().all(|operand| now[*operand]),
            Formula::Or(_) => node.operands.iter().any(|operand| now[*operand]),
            Formula::Implies(..) => !operand(0) || operand(1),
            Formula::Iff(..) => operand(0) == operand(1),
            Formula::Next(_) => next[node.operands[0]],
            Formula::Finally(_) => operand(0) || next[place],
            Formula::Globally(_) => operand(0) && next[place],
            Formula::Until(..) | Formula::WeakUntil(..) => operand(1) || operand(0) && next[place],
            Formula::Release(..) | Formula::StrongRelease(..) => operand(1) && (operand(0) || next[place]),
        };
    }
}

/// Whether an automaton accepts a word. The states that it can be in at the start of the cycle are followed once round it, one by one: what a turn leads to, and the marks that it can meet on the way there.
/// In a component of these turns every mark of every turn can be met, again and again.
///
/// Memory: a few words per state, and the turns. Time: states x edges x letters at most.
pub fn accepts<E>(automaton: &Automaton, word: LongWord, letter_at: &mut LetterAt<'_, E>) -> Result<bool, E> {
    let states = automaton.states.len();
    let mut met: Met = vec![None; states];
    met[automaton.initial.index()] = Some(0);
    for position in 0..word.cycle_start {
        met = follow(automaton, &met, letter_at(position)?);
    }
    // One more node leads to all states at the start of the cycle.
    let entries: Vec<(usize, u64)> = edges(&met).map(|(state, _)| (state, 0)).collect();
    let mut waiting: Vec<usize> = entries.iter().map(|(state, _)| *state).collect();
    let mut turns: Vec<Option<Vec<(usize, u64)>>> = vec![None; states];
    turns.push(Some(entries));
    while let Some(state) = waiting.pop() {
        if turns[state].is_some() {
            continue;
        }
        let mut met: Met = vec![None; states];
        met[state] = Some(0);
        for position in word.cycle_start..word.letters {
            met = follow(automaton, &met, letter_at(position)?);
        }
        waiting.extend(edges(&met).map(|(target, _)| target));
        turns[state] = Some(edges(&met).collect());
    }
    Ok(has_accepting_cycle(states + 1, states, automaton.all_marks(), |node, out| {
        out.extend(turns[node].iter().flatten().copied());
    }))
}

/// By state: the marks that can be met on the way there, if there is a way.
type Met = Vec<Option<u64>>;

fn edges(met: &Met) -> impl Iterator<Item = (usize, u64)> {
    met.iter().enumerate().filter_map(|(state, marks)| Some((state, (*marks)?)))
}

fn follow(automaton: &Automaton, met: &Met, letter: u64) -> Met {
    let mut after: Met = vec![None; met.len()];
    for (state, marks) in edges(met) {
        for edge in automaton.states[state].iter().filter(|edge| edge.guard.holds(letter)) {
            let known = &mut after[edge.target.index()];
            *known = Some(known.unwrap_or(0) | marks | edge.marks);
        }
    }
    after
}
