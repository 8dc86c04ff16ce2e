//! Which states is a depth-first search in, and which come next?
//!
//! The stack holds, above each state that is being explored, its successors that are still to be looked at:
//!
//! ```text
//!   top   [ ] successor        not entered yet
//!         [ ] successor
//!         [x] state            entered: part of the path from the initial state
//!         [ ] successor
//!         [x] initial state
//! ```
//! So the entered states are always a run of the system. Where it lies is what its forms differ in: in memory (`in_memory`), the same with an index of the path (`indexed`), or in memory at the top and on
//! a volume below (`spilling`), or two of them in one section of memory (`shared`).

pub(crate) mod in_memory;
pub(crate) mod indexed;
pub(crate) mod shared;
pub(crate) mod spilling;

use crate::error::SearchError;

/// A stack.
pub(crate) trait PathStack {
    /// How many states there are, entered or not.
    fn len(&self) -> u64;

    /// How many of them are entered: the states of the path.
    fn entered(&self) -> u64;

    /// The entry on top.
    fn top(&self) -> Option<Entry>;

    /// The record on top of a stack that is not empty.
    fn top_record(&self) -> &[u64];

    /// Adds a state that is not entered.
    fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError>;

    /// Enters the state on top.
    fn enter(&mut self, accepting: bool) -> Result<(), SearchError>;

    /// Takes the state on top away.
    fn pop(&mut self) -> Result<(), SearchError>;

    /// Takes everything away.
    fn clear(&mut self) -> Result<(), SearchError>;

    /// Visits the entered states in order, and the action that leads to each.
    fn each_entered(&mut self, visit: &mut VisitEntered<'_>) -> Result<(), SearchError>;

    /// Whether it finds the states of the path.
    fn is_indexed(&self) -> bool {
        false
    }

    /// The entered state that has a record; none if there is none, or none can be found.
    fn find(&self, _record: &[u64]) -> Option<OnPath> {
        None
    }

    /// How many states of the path are before one that was found.
    fn depth_of(&self, _state: OnPath) -> u64 {
        unreachable!("what finds nothing is asked nothing of it")
    }
}

/// A state on the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The action that leads here (of an initial state: the start).
    pub(crate) action: u32,
    pub(crate) entered: bool,
    /// Of an entered state: whether it is accepting.
    pub(crate) accepting: bool,
}

/// A state of the path that was found by its record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OnPath {
    /// Where it is on the stack.
    place: usize,
    pub(crate) accepting: bool,
}

/// Is told of a state and the action that leads to it.
pub(crate) type VisitEntered<'v> = dyn FnMut(&[u64], u32) -> Result<(), SearchError> + 'v;

#[cfg(test)]
mod tests {
    use fathom_disk::budget::Budget;
    use fathom_disk::storage::Volume;

    use super::in_memory::InMemory;
    use super::indexed::Indexed;
    use super::shared::{Section, Share};
    use super::spilling::{Spill, Spilling};
    use super::*;

    /// A state of the judge: record, action, entered, accepting.
    type Plain = (Vec<u64>, u32, bool, bool);

    /// Pushes, enters and pops at random, beside a plain vector.
    fn compare(stack: &mut dyn PathStack, words: usize, seed: u64) {
        let mut plain: Vec<Plain> = Vec::new();
        let mut state = seed;
        for action in 0..600u32 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let rises = (action / 100) % 2 == 0;
            match (state >> 60, plain.last()) {
                (0..=2, Some(_)) if rises => pop(stack, &mut plain),
                (0..=11, Some(_)) if !rises => pop(stack, &mut plain),
                (13.., Some((.., false, _))) => {
                    let accepting = state >> 40 & 1 == 1;
                    stack.enter(accepting).unwrap();
                    let top = plain.last_mut().unwrap();
                    (top.2, top.3) = (true, accepting);
                }
                _ => {
                    let record: Vec<u64> = (0..words as u64).map(|word| state ^ word).collect();
                    stack.push(&record, action).unwrap();
                    plain.push((record, action, false, false));
                }
            }
            let top =
                stack.top().map(|top| (stack.top_record().to_vec(), top.action, top.entered, top.accepting));
            assert_eq!(top.as_ref(), plain.last(), "seed {seed}, operation {action}");
            assert_eq!(stack.len(), plain.len() as u64, "seed {seed}");
            compare_found(stack, &plain, seed);
        }
        let entered = plain.iter().filter(|entry| entry.2).map(|entry| (entry.0.clone(), entry.1));
        let path: Vec<(Vec<u64>, u32)> = entered.collect();
        assert_eq!(entered_states(stack), path, "seed {seed}");
        assert_eq!(entered_states(stack), path, "seed {seed}: it is still there");
        assert_eq!(stack.entered(), path.len() as u64, "seed {seed}");
        stack.clear().unwrap();
        assert!(stack.top().is_none() && stack.len() == 0, "seed {seed}");
    }

    /// What is entered is found with its depth, and nothing else is; records differ.
    fn compare_found(stack: &dyn PathStack, plain: &[Plain], seed: u64) {
        let mut depth = 0;
        for (record, _, entered, accepting) in plain.iter().filter(|_| stack.is_indexed()) {
            let found = stack.find(record).map(|state| (stack.depth_of(state), state.accepting));
            assert_eq!(found, entered.then_some((depth, *accepting)), "seed {seed}");
            depth += u64::from(*entered);
        }
    }

    #[test]
    fn every_form_of_a_stack_is_a_stack() {
        for seed in 0..300u64 {
            let (budget, volume) = (Budget::unlimited(), Volume::in_memory(64));
            let (words, bytes) = (1 + seed as usize % 3, 64 << (seed % 6));
            let spill = Spill { volume: &volume, name: "path", bytes };
            compare(&mut Spilling::new(&budget, words, spill).unwrap(), words, seed);
            let names = ["first-path", "second-path"].map(|name| Spill { name, ..spill });
            let share =
                if seed % 3 == 0 { Share::Adapted } else { Share::Fixed(0.1 + 0.25 * (seed % 4) as f64) };
            let ([mut first, mut second], _) = Section::paths(&budget, words, names, share).unwrap();
            compare(&mut first, words, seed);
            // What one path does leaves the other as it is.
            first.push(&vec![7; words], 1).unwrap();
            first.enter(true).unwrap();
            compare(&mut second, words, seed);
            assert_eq!(entered_states(&mut first), [(vec![7; words], 1)], "seed {seed}");
            drop((first, second));
            compare(&mut InMemory::growing(&budget, words).unwrap(), words, seed);
            compare(&mut InMemory::limited(&budget, words, 600 * (words * 8 + 8)).unwrap(), words, seed);
            compare(&mut Indexed::new(&budget, words).unwrap(), words, seed);
            assert_eq!(budget.used(), 0, "seed {seed}: all of it was given back");
        }
    }

    fn entered_states(stack: &mut dyn PathStack) -> Vec<(Vec<u64>, u32)> {
        let mut path = Vec::new();
        let visit = &mut |record: &[u64], action: u32| {
            path.push((record.to_vec(), action));
            Ok(())
        };
        stack.each_entered(visit).unwrap();
        path
    }

    fn pop(stack: &mut dyn PathStack, plain: &mut Vec<Plain>) {
        stack.pop().unwrap();
        plain.pop();
    }
}
