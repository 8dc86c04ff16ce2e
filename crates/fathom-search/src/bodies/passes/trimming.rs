//! Which states have no predecessor, and which have none then?

use std::sync::Mutex;

use fathom_disk::log::Queue;
use fathom_disk::sabotage::is_chosen;
use fathom_model::record::RecordBuffer;

use super::Passes;
use super::crew::{batch_records, next_of, pop, work};
use crate::error::SearchError;
use crate::stores::counters::Counters;

impl Passes<'_, '_> {
    /// Takes away states without a predecessor, and those that have none then, step by step; false if the observer stopped it.
    pub(super) fn trim(&mut self, counters: Option<Counters>) -> Result<bool, SearchError> {
        let set = self.task.set;
        let counters = match counters {
            Some(counters) => counters,
            None => {
                let counters = Counters::new(self.task.budget, set.len())?;
                if !self.count(&counters)? {
                    return Ok(false);
                }
                counters
            }
        };
        let queue = Mutex::new(self.queue()?);
        self.without_predecessor(&counters, &queue)?;
        let mut finished = true;
        while finished {
            let level = queue.lock().expect("no thread panics while it holds the queue").len();
            if level == 0 {
                break;
            }
            if let Some(witness) = self.witness {
                witness.class(None)?;
            }
            let witness = self.witness;
            let Passes { expanders, left, task, stand, .. } = self;
            let left = &*left;
            let remaining = Mutex::new(level);
            let most = batch_records(*task);
            let next = |batch: &mut RecordBuffer| pop(&queue, &remaining, most, batch);
            finished = work(*task, expanders, stand.rounds, level, &next, &|expander, records| {
                if let Some(witness) = witness {
                    witness.take(records)?;
                }
                expander.clear_in(left, records);
                expander.each_then_send(records, &queue, &mut |_, taken| {
                    Ok(left.get(taken.number) && counters.decrease(taken.number))
                })
            })?;
            if finished {
                self.make_last()?;
            }
        }
        queue.into_inner().expect("no thread panics while it holds the queue").remove()?;
        Ok(finished)
    }

    /// Counts the steps that lead to each state that is left; false if the observer stopped it.
    fn count(&mut self, counters: &Counters) -> Result<bool, SearchError> {
        let Passes { expanders, left, task, stand, .. } = self;
        let (left, set) = (&*left, task.set);
        let stream = Mutex::new(set.stream()?);
        work(
            *task,
            expanders,
            stand.rounds,
            set.len(),
            &|batch| next_of(&stream, batch),
            &|expander, records| {
                let (sources, numbers) = expander.left_of(records, left);
                let outcome = expander.each(sources.view(), &mut |_, taken| {
                    if left.get(taken.number) { counters.increase(taken.number) } else { Ok(()) }
                });
                expander.give_back(sources, numbers);
                outcome
            },
        )
    }

    /// Puts the states that no step leads to into a queue.
    fn without_predecessor(&mut self, counters: &Counters, queue: &Mutex<Queue>) -> Result<(), SearchError> {
        let (set, left) = (self.task.set, &self.left);
        let mut queue = queue.lock().expect("no thread panics while it holds the queue");
        let mut numbers = Vec::new();
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            for (record, number) in records.iter().zip(&numbers) {
                let alone = counters.is_zero(*number) || is_chosen("passes") && number % 7 == 3;
                if left.get(*number) && alone {
                    queue.push(record)?;
                }
            }
            Ok(true)
        })
    }
}
