//! Which run of a system stands behind a run in which states that are alike are one?
//!
//! A path of representatives is walked again on the system inside, with the permutation that leads from the representative to the real state: what
//! the representative does, the real state does, permuted. Slots of multisets have no names, so real steps are told by their targets with slots in order.
//! A cycle of representatives leads from a real state to one that is alike, and comes back to where it was after some rounds.

use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Steps};
use fathom_model::symmetry::{Permutation, Scratch, Symmetric};
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::lasso::Lasso;
use crate::traces::path::{Path, PathBuilder};

/// The most rounds that are walked before a cycle closes.
const ROUNDS_MAX: usize = 10_000;
/// How many steps are walked before the observer is asked again.
const PATIENCE: u64 = 256;

/// The run behind a path; none if there is none, which means that the system treats states that are alike differently.
pub fn unfold_path<S: TransitionSystem>(
    symmetric: &Symmetric<S>,
    path: &Path,
    observer: &dyn Observer,
) -> Result<Option<Path>, SearchError> {
    let mut reader = path.reader()?;
    if path.is_empty() {
        return Ok(None);
    }
    let mut source = reader.get(0)?.record.to_vec();
    let Some(mut walker) = Walker::new(symmetric, path.start(), &source) else { return Ok(None) };
    let mut builder = PathBuilder::new(path.room(), path.words())?;
    builder.arrive(&walker.record, 0)?;
    for state in 1..path.len() {
        if state % PATIENCE == 0 && observer.stop() {
            return Err(SearchError::Stopped);
        }
        let action = reader.get(state - 1)?.action;
        let target = reader.get(state)?.record;
        let Some(action) = walker.step(&source, action, target) else { return Ok(None) };
        builder.arrive(&walker.record, action)?;
        source.copy_from_slice(target);
    }
    builder.finish(path.start()).map(Some)
}

/// The run behind a lasso, with the notes of the states that stand for its own. `stutter` is the action of a system that cannot move.
pub fn unfold_lasso<S: TransitionSystem>(
    symmetric: &Symmetric<S>,
    lasso: &Lasso,
    stutter: Option<u32>,
    observer: &dyn Observer,
) -> Result<Option<Lasso>, SearchError> {
    let path = &lasso.path;
    let mut reader = path.reader()?;
    if path.is_empty() {
        return Ok(None);
    }
    let mut source = reader.get(0)?.record.to_vec();
    let Some(mut walker) = Walker::new(symmetric, path.start(), &source) else { return Ok(None) };
    let mut builder = PathBuilder::new(path.room(), path.words())?;
    // Of each round, where it began, and with which state.
    let mut rounds: Vec<(u64, Vec<u64>)> = Vec::new();
    let mut at = 0;
    loop {
        if builder.len() % PATIENCE == 0 && observer.stop() {
            return Err(SearchError::Stopped);
        }
        if at == lasso.cycle_start {
            if let Some((cycle_start, _)) = rounds.iter().find(|(_, first)| *first == walker.record) {
                return Ok(Some(Lasso { path: builder.finish(path.start())?, cycle_start: *cycle_start }));
            }
            rounds.push((builder.len(), walker.record.clone()));
            if rounds.len() > ROUNDS_MAX {
                return Ok(None);
            }
        }
        let state = reader.get(at)?;
        let (action, note) = (state.action, state.note);
        let before = walker.record.clone();
        at = lasso.next(at);
        let target = reader.get(at)?.record;
        let action = match stutter == Some(action) {
            true => Some(action),
            false => walker.step(&source, action, target),
        };
        let Some(action) = action else { return Ok(None) };
        builder.push_noted(&before, action, note)?;
        source.copy_from_slice(target);
    }
}

/// The fault of a real state that stands behind one of its representative: of the same kind, at the same place. `record` is none for a start.
pub fn unfold_fault(system: &dyn TransitionSystem, record: Option<&[u64]>, fault: Fault) -> Option<Fault> {
    let mut steps = buffer(system);
    match record {
        Some(record) => expand(system, record, &mut steps),
        None => initial(system, &mut steps),
    }
    steps.faults().iter().copied().find(|other| (other.kind, other.span) == (fault.kind, fault.span))
}

/// A real state, on its way along a path of representatives.
struct Walker<'a, S> {
    symmetric: &'a Symmetric<S>,
    record: Vec<u64>,
    /// What makes the real state of the representative, slots aside.
    permutation: Permutation,
    steps: Steps,
    scratch: Scratch,
}

impl<'a, S: TransitionSystem> Walker<'a, S> {
    /// At the initial state that a start makes, if its representative is the given one.
    fn new(symmetric: &'a Symmetric<S>, start: u32, representative: &[u64]) -> Option<Walker<'a, S>> {
        let mut steps = buffer(symmetric.inner());
        initial(symmetric.inner(), &mut steps);
        let mut scratch = Scratch::default();
        let starts = (0..steps.step_count()).filter(|step| steps.action(*step) == start);
        let record = starts.map(|step| steps.target(step).to_vec()).find(|record| {
            let mut own = record.clone();
            symmetric.orbits().canonical(&mut own, &mut scratch);
            own == representative
        })?;
        let permutation = scratch.permutation().inverse();
        Some(Walker { symmetric, record, permutation, steps, scratch })
    }

    /// Goes where the representative goes; gives the action that really does it.
    fn step(&mut self, representative: &[u64], action: u32, next: &[u64]) -> Option<u32> {
        let (inner, orbits) = (self.symmetric.inner(), self.symmetric.orbits());
        expand(inner, representative, &mut self.steps);
        let step = (0..self.steps.step_count()).find(|step| self.steps.action(*step) == action)?;
        let movers = self.steps.movers(step);
        let mut target = self.steps.target(step).to_vec();
        let mut goal = target.clone();
        orbits.canonical(&mut target, &mut self.scratch);
        if target != next {
            return None;
        }
        orbits.apply(&self.permutation, &mut goal);
        self.permutation = self.scratch.permutation().inverse().then(&self.permutation);
        expand(inner, &self.record, &mut self.steps);
        let identity = orbits.identity();
        let arrives = |step: &usize| {
            let mut target = self.steps.target(*step).to_vec();
            orbits.apply(&identity, &mut target);
            // Another rule may lead there, too; who moves matters to fairness.
            target == goal && self.steps.movers(*step) == movers
        };
        let step = (0..self.steps.step_count()).find(arrives)?;
        self.record = self.steps.target(step).to_vec();
        Some(self.steps.action(step))
    }
}

fn buffer(system: &dyn TransitionSystem) -> Steps {
    Steps::new(system.shape(), Columns { actions: true, movers: true, ..Columns::NONE }, 256)
}

fn expand(system: &dyn TransitionSystem, record: &[u64], steps: &mut Steps) {
    while system.expand(Records::new(record, record.len()), steps) == 0 {
        steps.grow();
    }
}

fn initial(system: &dyn TransitionSystem, steps: &mut Steps) {
    system.initial(steps);
    while steps.source_count() == 0 {
        steps.grow();
        system.initial(steps);
    }
}
