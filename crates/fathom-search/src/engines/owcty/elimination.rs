//! Which states are left, when all that is known of them is in sorted files?
//!
//! The order is that of [`crate::liveness::rounds`]. The states that are left are one run ([`Kept`]); each pass makes another of it:
//!
//! ```text
//! reach    a state along whose steps something comes for the first time is reached: what its steps lead to is offered 1. Before that, only what steps with the mark lead to is, 0.
//!          What was offered anything is kept, and the sum is the number of its predecessors among those
//! count    where nothing is reached first: every state offers 1
//! trim     a state with no predecessor goes, and offers 1 to what its steps lead to; one that was offered as much as it had predecessors goes in the next step
//! ```
//! Every kept state is expanded twice by reaching, since it is known only afterwards whether it is reached, and once by trimming if it goes. Sums must not lose a step, so nothing is expanded twice in one sense.

use fathom_disk::run::Run;
use fathom_disk::set::{Difference, KeyStream};
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use super::checkpoint::CheckpointLog;
use crate::bodies::passes::by_file::{ByFile, FileJoin, Kept, Snapshot};
use crate::bodies::passes::{LevelRule, Rule, Watched, propagate};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::value_runs::{Deltas, ValueRuns};
use crate::liveness::rounds::{Left, Position};
use crate::proof::ranks::RankLog;
use crate::task::Observer;

/// What passes over files have in common.
#[derive(Clone, Copy)]
pub(super) struct Passes<'a> {
    pub(super) system: &'a dyn TransitionSystem,
    pub(super) only_marked: bool,
    pub(super) threads: usize,
    pub(super) place: &'a ValueRuns,
    /// Bytes that files may take.
    pub(super) room: u64,
    pub(super) observer: &'a dyn Observer,
}

/// States being taken away.
pub(super) struct Elimination<'a, 'k, 'd> {
    pub(super) passes: Passes<'k>,
    pub(super) kept: Kept<'a>,
    /// Whether their numbers are how many of them lead to each.
    pub(super) counted: bool,
    /// What a pass goes on from that was taken up.
    pub(super) taken_up: Option<Snapshot>,
    pub(super) ranks: Option<&'k RankLog>,
    pub(super) log: Option<&'k mut CheckpointLog<'d>>,
    pub(super) visits: u64,
    pub(super) edges: u64,
}

/// Whether something was offered is whether a state is reached.
struct Reaching;

impl FileJoin for Reaching {
    /// Whether it is reached.
    type Turn = bool;
    const LATER_TURN: bool = true;

    fn first_turn(&self, _: u64) -> Option<bool> {
        Some(false)
    }

    fn has_turn(&self, _: u64, before: Option<u64>, _: u64) -> bool {
        before.is_none()
    }
}

/// Nothing follows from what is counted.
struct Counting;

impl FileJoin for Counting {
    type Turn = ();
    const LATER_TURN: () = ();

    fn first_turn(&self, _: u64) -> Option<()> {
        Some(())
    }

    fn has_turn(&self, _: u64, _: Option<u64>, _: u64) -> bool {
        false
    }
}

/// A number is how many predecessors a state had, and a sum how many have gone.
struct Trimming;

impl FileJoin for Trimming {
    type Turn = ();
    const LATER_TURN: () = ();

    fn first_turn(&self, number: u64) -> Option<()> {
        (number == 0).then_some(())
    }

    fn has_turn(&self, number: u64, _: Option<u64>, now: u64) -> bool {
        now == number
    }
}

/// What is reached goes along all steps, and counts; along those with a mark from anywhere.
struct Marked(u32);

impl Rule for Marked {
    type Turn = bool;
    type Value = u64;
    type Number = ();

    #[inline]
    fn along(&self, reached: bool, marks: u64, (): ()) -> Result<Option<u64>, SearchError> {
        Ok((reached || marks >> self.0 & 1 == 1).then_some(u64::from(reached)))
    }
}

/// Every step counts for its target.
struct One;

impl Rule for One {
    type Turn = ();
    type Value = u64;
    type Number = ();

    #[inline]
    fn along(&self, (): (), _: u64, (): ()) -> Result<Option<u64>, SearchError> {
        Ok(Some(1))
    }
}

/// A rule, with commits where it is time for one, and ranks for states that go.
struct Lasting<'v, 'k, 'd, R, V> {
    rule: R,
    values: &'v V,
    kept: &'v Kept<'v>,
    position: Position,
    counted: bool,
    /// Who is told of those that have a turn, if that is the end of them.
    ranks: Option<&'v RankLog>,
    log: &'v mut Option<&'k mut CheckpointLog<'d>>,
}

impl<R: Rule, V: Sync> Rule for Lasting<'_, '_, '_, R, V> {
    type Turn = R::Turn;
    type Value = R::Value;
    type Number = R::Number;

    #[inline]
    fn along(&self, turn: R::Turn, marks: u64, target: R::Number) -> Result<Option<R::Value>, SearchError> {
        self.rule.along(turn, marks, target)
    }
}

impl<'a, R, J> LevelRule<Kept<'a>> for Lasting<'_, '_, '_, R, ByFile<'a, J>>
where
    R: Rule<Number = ()> + Send,
    J: FileJoin,
{
    fn begin(&mut self) -> Result<(), SearchError> {
        if let Some(log) = self.log.as_deref_mut().filter(|log| log.is_due())
            && let Some(snapshot) = self.values.snapshot()?
        {
            log.commit(self.position, &self.kept.run, self.counted, Some(&snapshot))?;
        }
        self.ranks.map_or(Ok(()), |ranks| ranks.class(None))
    }

    fn expanding(&self, _: &mut Expander<'_, Kept<'a>>, states: Records<'_>) -> Result<(), SearchError> {
        self.ranks.map_or(Ok(()), |ranks| ranks.take(states))
    }
}

impl Left for Elimination<'_, '_, '_> {
    fn keep_reached(&mut self, position: Position, _: bool) -> Result<bool, SearchError> {
        let place = self.passes.place;
        let Some(reached) = self.pass(position, Reaching, Marked(position.marks), false)? else {
            return Ok(false);
        };
        let reached = reached.into_one(place)?;
        if let Some(ranks) = self.ranks {
            ranks.class(Some(position.marks))?;
            let (before, after) = (place.scan(&self.kept.run)?, place.scan(&reached)?);
            let mut gone = Difference::new(place.budget(), before, after)?;
            while gone.advance()? {
                ranks.take(Records::new(gone.keys(), gone.words()))?;
            }
        }
        self.counted = true;
        self.keep(reached)?;
        Ok(true)
    }

    fn trim(&mut self, position: Position) -> Result<bool, SearchError> {
        let place = self.passes.place;
        if !self.counted {
            let Some(sums) = self.pass(position, Counting, One, false)? else { return Ok(false) };
            let counted = self.rewritten(&sums, |_, sum| Some(sum.unwrap_or(0)))?;
            sums.remove(place)?;
            self.counted = true;
            self.keep(counted)?;
            self.come_to(position)?;
        }
        let Some(sums) = self.pass(position, Trimming, One, true)? else { return Ok(false) };
        // One whose number is 0 went at first.
        let left = self.rewritten(&sums, |number, sum| (number > sum.unwrap_or(0)).then_some(0))?;
        sums.remove(place)?;
        self.counted = false;
        self.keep(left)?;
        Ok(true)
    }

    fn count(&self) -> u64 {
        self.kept.run.count()
    }

    fn come_to(&mut self, position: Position) -> Result<(), SearchError> {
        match self.log.as_deref_mut().filter(|log| log.is_due()) {
            Some(log) => log.commit(position, &self.kept.run, self.counted, None),
            None => Ok(()),
        }
    }
}

impl Elimination<'_, '_, '_> {
    /// Offers along steps until nobody has a turn: the sums; none if the observer stopped it. Those that have a turn go, perhaps.
    fn pass<J: FileJoin, R>(
        &mut self,
        position: Position,
        join: J,
        rule: R,
        going: bool,
    ) -> Result<Option<Deltas>, SearchError>
    where
        R: Rule<Turn = J::Turn, Value = u64, Number = ()> + Send,
    {
        let Elimination { passes, kept, counted, taken_up, ranks, log, visits, edges } = self;
        let Passes { system, only_marked, threads, place, room, observer } = *passes;
        let (kept, budget) = (&*kept, place.budget());
        let expander = |_| Expander::new(system, kept, only_marked, threads, budget);
        let mut expanders = (0..threads).map(expander).collect::<Result<Vec<_>, _>>()?;
        let mut values = ByFile::new(kept, place, join, observer, room);
        if let Some(snapshot) = taken_up.take() {
            values = values.taken_up(&snapshot)?;
        }
        let ranks = ranks.filter(|_| going);
        let mut rule = Lasting { rule, values: &values, kept, position, counted: *counted, ranks, log };
        let watched = Watched { observer, budget, round: position.rounds };
        let finished = propagate(watched, &mut expanders, &values, &mut rule)?;
        for expander in &expanders {
            (*visits, *edges) = (*visits + expander.visits, *edges + expander.edges);
        }
        drop(expanders);
        if finished { values.into_sums().map(Some) } else { Ok(None) }
    }

    /// The kept states with other numbers: by those that they have, and sums of what they were offered, if anything was. Those that get none are left out.
    fn rewritten(
        &self,
        sums: &Deltas,
        number: impl Fn(u64, Option<u64>) -> Option<u64>,
    ) -> Result<Run, SearchError> {
        let place = self.passes.place;
        let mut writer = place.writer()?;
        let mut kept = sums.beside(place, &self.kept.run)?;
        while kept.advance()? {
            let keys = kept.keys().chunks_exact(kept.words());
            for (key, (before, sum)) in keys.zip(kept.values().iter().zip(kept.found())) {
                if let Some(number) = number(*before, *sum) {
                    writer.push_with(key, &[number])?;
                }
            }
        }
        Ok(writer.finish_run(false)?)
    }

    /// Other states are left now.
    fn keep(&mut self, run: Run) -> Result<(), SearchError> {
        self.passes.place.retire(std::mem::replace(&mut self.kept.run, run))
    }
}
