//! Which states does a step with a mark lead to, in any number of steps?

use std::sync::Mutex;

use fathom_model::record::Records;

use super::Passes;
use super::crew::{drain, next_of, work};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::stores::bits::Progress as Scanned;
use crate::stores::counters::Counters;

impl<'a> Passes<'a, '_> {
    /// Keeps what steps with a mark lead to, and counts the steps that lead to each state that is kept; false if the observer stopped it.
    ///
    /// Every state is scanned once. One that is known to be reached by then is followed at once; one that turns out to be reached later waits in the queue.
    pub(super) fn keep_reached(
        &mut self,
        mark: u32,
        counters: Option<&Counters>,
    ) -> Result<bool, SearchError> {
        let set = self.task.set;
        let scanned = Scanned::new(self.task.budget, set.len())?;
        let queue = Mutex::new(self.queue()?);
        let finished = {
            let Passes { expanders, left, task, stand, .. } = self;
            let left = &*left;
            // Follows all steps of a state that is reached.
            let follow = |expander: &mut Expander<'a>, records: Records<'_>, all: &dyn Fn(usize) -> bool| {
                expander.each_then_send(records, &queue, &mut |source, taken| {
                    let reached = all(source);
                    let counts = left.get(taken.number)
                        && (reached || taken.steps.marks(taken.step).0 >> mark & 1 == 1);
                    if counts
                        && reached
                        && let Some(counters) = counters
                    {
                        counters.increase(taken.number)?;
                    }
                    Ok(counts && scanned.reach(taken.number))
                })
            };
            let stream = Mutex::new(set.stream()?);
            let scan = |expander: &mut Expander<'a>, records: Records<'_>| {
                let (sources, numbers) = expander.left_of(records, left);
                let reached: Vec<bool> = numbers.iter().map(|number| scanned.scan(*number)).collect();
                let outcome = follow(expander, sources.view(), &|source| reached[source]);
                expander.give_back(sources, numbers);
                outcome
            };
            work(*task, expanders, stand.rounds, set.len(), &|batch| next_of(&stream, batch), &scan)? && {
                drop(stream);
                drain(*task, expanders, stand.rounds, &queue, &|expander, records| {
                    follow(expander, records, &|_| true)
                })?
            }
        };
        queue.into_inner().expect("no thread panics while it holds the queue").remove()?;
        if finished {
            self.take_unreached(mark, &scanned)?;
        }
        Ok(finished)
    }

    /// What was not reached is of one class, and not left.
    pub(super) fn take_unreached(&mut self, mark: u32, scanned: &Scanned) -> Result<(), SearchError> {
        if let Some(witness) = self.witness {
            witness.class(Some(mark))?;
            self.tell(witness, &|number| !scanned.is_reached(number))?;
        }
        self.left.keep_reached(scanned);
        Ok(())
    }
}
