//! Which states does a step with a mark lead to, in any number of steps?
//!
//! The join is *or*: a state is reached, or not. In its first turn a state that is not reached yet brings something only along steps with the mark; once it is reached, along all.

use super::elimination::Elimination;
use crate::bodies::passes::Rule;
use crate::bodies::passes::values::{Join, Term};
use crate::error::SearchError;
use crate::stores::bits::Progress as Reached;
use crate::stores::counters::Counters;

/// What is reached goes along all steps, and along those with a mark from anywhere.
struct Marked<'a> {
    mark: u32,
    /// Counts the steps that lead from what is reached.
    counters: Option<&'a Counters>,
}

impl Rule for Marked<'_> {
    type Turn = bool;
    type Value = ();
    type Number = u64;

    #[inline]
    fn along(&self, reached: bool, marks: u64, target: u64) -> Result<Option<()>, SearchError> {
        if let Some(counters) = self.counters.filter(|_| reached) {
            // A state has one turn in which it is reached, so each of its steps is counted once.
            counters.join(target, Term::One)?;
        }
        Ok((reached || marks >> self.mark & 1 == 1).then_some(()))
    }
}

impl Elimination<'_, '_, '_> {
    /// Keeps what steps with a mark lead to, and counts the steps that lead to each state that is kept; false if the observer stopped it.
    pub(super) fn keep_marked(&mut self, mark: u32) -> Result<bool, SearchError> {
        let (task, counters) = (self.passes.task, self.counters.as_ref());
        let reached = Reached::new(task.budget, task.set.len())?;
        let finished = self.passes.propagate_all(&self.left, &reached, &Marked { mark, counters })?;
        if finished {
            self.take_unreached(mark, &reached)?;
        }
        Ok(finished)
    }

    /// What was not reached is of one class, and not left.
    fn take_unreached(&mut self, mark: u32, reached: &Reached) -> Result<(), SearchError> {
        if let Some(ranks) = self.ranks {
            ranks.class(Some(mark))?;
            self.tell(ranks, &|number| !reached.is_reached(number))?;
        }
        self.left.keep_reached(reached);
        Ok(())
    }
}
