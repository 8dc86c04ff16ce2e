//! Which states have no predecessor, and which have none then?
//!
//! The join is the *sum*: a state has as many predecessors as steps lead to it. One that has none is taken away in its turn, which takes one from each state that its steps lead to.

use fathom_disk::sabotage::is_chosen;
use fathom_model::record::Records;

use super::checkpoint::CheckpointLog;
use super::elimination::{Elimination, commit_if_due};
use crate::bodies::passes::values::Term;
use crate::bodies::passes::{LevelRule, Rule};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::ClosedSet;
use crate::liveness::rounds::Position;
use crate::proof::ranks::RankLog;
use crate::stores::bits::Bits;
use crate::stores::counters::Counters;

/// Every step counts for its target.
struct Counting;

impl Rule for Counting {
    type Turn = ();
    type Value = Term;
    type Number = u64;

    #[inline]
    fn along(&self, (): (), _: u64, _: u64) -> Result<Option<Term>, SearchError> {
        Ok(Some(Term::One))
    }
}

/// A state goes, and its steps with it.
struct Going<'a, 'k, 'd> {
    left: &'a Bits,
    ranks: Option<&'a RankLog>,
    log: &'a mut Option<&'k mut CheckpointLog<'d>>,
    position: Position,
    graph: Option<String>,
}

impl Rule for Going<'_, '_, '_> {
    type Turn = ();
    type Value = Term;
    type Number = u64;

    #[inline]
    fn along(&self, (): (), _: u64, _: u64) -> Result<Option<Term>, SearchError> {
        Ok(Some(Term::MinusOne))
    }
}

impl<'s> LevelRule<ClosedSet<'s>> for Going<'_, '_, '_> {
    fn begin(&mut self) -> Result<(), SearchError> {
        self.ranks.map_or(Ok(()), |ranks| ranks.class(None))
    }

    fn expanding(
        &self,
        expander: &mut Expander<'_, ClosedSet<'s>>,
        states: Records<'_>,
    ) -> Result<(), SearchError> {
        if let Some(ranks) = self.ranks {
            ranks.take(states)?;
        }
        expander.numbers_of(states).iter().for_each(|number| {
            self.left.clear(*number);
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), SearchError> {
        commit_if_due(self.log, self.position, self.left, self.graph.as_deref())
    }
}

impl Elimination<'_, '_, '_> {
    /// Takes away states without a predecessor, and those that have none then, step by step; false if the observer stopped it.
    pub(super) fn trim_counted(
        &mut self,
        position: Position,
        counters: Option<Counters>,
    ) -> Result<bool, SearchError> {
        let task = self.passes.task;
        let counters = match counters {
            Some(counters) => counters,
            None => {
                let counters = Counters::new(task.budget, task.set.len())?;
                if !self.passes.expand_all(&self.left, &counters, &Counting)? {
                    return Ok(false);
                }
                counters
            }
        };
        let alone = |number: u64| counters.is_zero(number) || is_chosen("passes") && number % 7 == 3;
        let Elimination { passes, ranks, log, left, .. } = self;
        let graph = passes.graph_name().map(str::to_owned);
        let mut going = Going { left, ranks: *ranks, log, position, graph };
        passes.expand_some(left, &alone, &counters, &mut going)
    }
}
