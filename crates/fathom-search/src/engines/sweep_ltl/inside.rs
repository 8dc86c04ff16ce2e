//! Does an accepting cycle stay inside a bucket?
//!
//! In memory: the states of the bucket that may recur, ascending; their strongly connected components (Tarjan); in one that a cycle goes through, a step with the mark that stays there, and the shortest way back from it.
//! Memory: the records, some 20 bytes for each, all charged. Where the budget refuses that, the bucket is left to others.

use std::collections::VecDeque;

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::set::sort_unique;
use fathom_model::acceptance::Acceptance;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;

use crate::engines::sweep::look::{Look, Seen};
use crate::engines::sweep::spans::Spans;
use crate::error::SearchError;
use crate::expansion::tarjan::{each_component, number_of};
use crate::task::Observer;
use crate::traces::one_state::OneState;
use crate::traces::path::{Path, PathBuilder, Room};

/// Looks for accepting cycles, bucket by bucket.
pub(super) struct Inside<'a> {
    system: &'a dyn TransitionSystem,
    acceptance: &'a dyn Acceptance,
    room: &'a Room,
    observer: &'a dyn Observer,
    /// An accepting cycle; the last state leads to the first.
    pub(super) found: Option<Path>,
    /// States that were expanded for it, and steps.
    pub(super) visits: u64,
    pub(super) edges: u64,
}

impl<'a> Inside<'a> {
    pub(super) fn new(
        system: &'a dyn TransitionSystem,
        acceptance: &'a dyn Acceptance,
        room: &'a Room,
        observer: &'a dyn Observer,
    ) -> Inside<'a> {
        Inside { system, acceptance, room, observer, found: None, visits: 0, edges: 0 }
    }

    fn cycle(&mut self, bucket: &Seen<'_>) -> Result<Option<Path>, SearchError> {
        let (budget, words) = (self.room.budget(), self.system.shape().words());
        let mut records = ChargedVec::with_capacity(budget, "cycles", 0)?;
        bucket.visit(&mut |some| {
            for record in some.iter().filter(|record| self.acceptance.recurs(record)) {
                records.extend(record)?;
            }
            Ok(())
        })?;
        sort_unique(budget, words, &mut records)?;
        self.visits += (records.len() / words) as u64;
        self.edges += bucket.within;
        let mut found = None;
        each_component(self.system, (&records, budget), self.observer, &mut |component, cyclic| {
            if cyclic {
                found =
                    Component::new(&records, words, component, budget)?.accepting(self.system, self.room)?;
            }
            Ok(found.is_none())
        })?;
        Ok(found)
    }
}

impl Look for Inside<'_> {
    fn look(&mut self, bucket: &Seen<'_>, spans: &mut Spans) -> Result<bool, SearchError> {
        if bucket.within == 0 {
            return Ok(true);
        }
        match self.cycle(bucket) {
            Ok(found) => self.found = found,
            Err(SearchError::Budget(_)) => {
                let (from, to) = bucket.values();
                spans.note(from, to);
            }
            Err(error) => return Err(error),
        }
        Ok(self.found.is_none())
    }
}

/// A component, by its states.
struct Component<'r> {
    records: &'r [u64],
    words: usize,
    /// Ascending.
    members: ChargedVec<u32>,
}

/// A step that stays in a component, by the places of its states there.
struct Within {
    source: usize,
    target: usize,
    action: u32,
}

/// Not met yet.
const NEW: u32 = u32::MAX;

impl<'r> Component<'r> {
    fn new(
        records: &'r [u64],
        words: usize,
        states: &[u32],
        budget: &Budget,
    ) -> Result<Component<'r>, SearchError> {
        let mut members = ChargedVec::with_capacity(budget, "cycles", states.len())?;
        members.extend(states)?;
        members.sort_unstable();
        Ok(Component { records, words, members })
    }

    /// A cycle with a step that carries the mark, if there is such a step.
    fn accepting(&self, system: &dyn TransitionSystem, room: &Room) -> Result<Option<Path>, SearchError> {
        let columns = Columns { marks: true, actions: true, ..Columns::NONE };
        let mut one = OneState::new(system, columns, room.budget(), "cycles")?;
        let mark = (1 << system.shape().mark_count) - 1;
        let marked = |steps: &Steps, step: usize| steps.marks(step).0 & mark == mark;
        for source in 0..self.members.len() {
            if let Some(first) = self.step(&mut one, source, &marked)? {
                return self.around(&mut one, &first, room).map(Some);
            }
        }
        Ok(None)
    }

    /// The cycle that a step and the shortest way back from it are.
    fn around(&self, one: &mut OneState<'_>, first: &Within, room: &Room) -> Result<Path, SearchError> {
        // From where each was met first.
        let mut before = ChargedVec::with_capacity(room.budget(), "cycles", self.members.len())?;
        before.resize(self.members.len(), NEW)?;
        // What waits, and the way back, which may be as long.
        let each = size_of::<u32>() + size_of::<usize>();
        let _charge = room.budget().charge("cycles", self.members.len() * each)?;
        let mut open = VecDeque::with_capacity(self.members.len());
        before[first.target] = first.source as u32;
        open.push_back(first.target as u32);
        while before[first.source] == NEW {
            let source = open.pop_front().expect("all states of a component lead to each other");
            let steps = one.expand(self.record(source as usize))?;
            for step in 0..steps.step_count() {
                if let Some(target) = self.place(steps.target(step))
                    && before[target] == NEW
                {
                    before[target] = source;
                    open.push_back(target as u32);
                }
            }
        }
        // Back from the source to the target, and then round.
        let mut way = vec![first.source];
        let mut at = before[first.source] as usize;
        if first.source != first.target {
            while at != first.target {
                way.push(at);
                at = before[at] as usize;
            }
            way.push(first.target);
        }
        way[1..].reverse();
        let mut path = PathBuilder::new(room, self.words)?;
        path.push(self.record(first.source), first.action)?;
        for (number, state) in way.iter().enumerate().skip(1) {
            let next = self.record(way[(number + 1) % way.len()]);
            let leads = |steps: &Steps, step: usize| steps.target(step) == next;
            let step = self.step(one, *state, &leads)?.expect("it was taken on the way");
            path.push(self.record(*state), step.action)?;
        }
        path.finish(0)
    }

    /// The first step of a state that stays in the component and is one that is looked for.
    fn step(
        &self,
        one: &mut OneState<'_>,
        source: usize,
        wanted: &dyn Fn(&Steps, usize) -> bool,
    ) -> Result<Option<Within>, SearchError> {
        let steps = one.expand(self.record(source))?;
        Ok((0..steps.step_count()).filter(|step| wanted(steps, *step)).find_map(|step| {
            let target = self.place(steps.target(step))?;
            Some(Within { source, target, action: steps.action(step) })
        }))
    }

    fn record(&self, place: usize) -> &'r [u64] {
        &self.records[self.members[place] as usize * self.words..][..self.words]
    }

    /// The place of a state among those of the component, if it is one.
    fn place(&self, record: &[u64]) -> Option<usize> {
        let number = number_of(self.records, self.words, record)?;
        self.members.binary_search(&number).ok()
    }
}
