//! Which run of a system stands behind a run in which states that are alike are one?
//!
//! A path of representatives is walked again on the system inside, with the permutation that leads from the representative to the real state: what
//! the representative does, the real state does, permuted. Slots of multisets have no names, so real steps are told by their targets with slots in order.
//! A cycle of representatives leads from a real state to one that is alike, and comes back to where it was after some rounds.

use fathom_disk::budget::Budget;
use fathom_model::steps::{Columns, Fault};
use fathom_model::symmetry::{Permutation, Scratch, Symmetric};
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::lasso::Lasso;
use crate::traces::one_state::OneState;
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
    let budget = path.room().budget();
    let Some(mut walker) = Walker::new(symmetric, path.start(), &source, budget)? else { return Ok(None) };
    let mut builder = PathBuilder::new(path.room(), path.words())?;
    builder.arrive(&walker.record, 0)?;
    for state in 1..path.len() {
        if state % PATIENCE == 0 && observer.stop() {
            return Err(SearchError::Stopped);
        }
        let action = reader.get(state - 1)?.action;
        let target = reader.get(state)?.record;
        let Some(action) = walker.step(&source, action, target)? else { return Ok(None) };
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
    let budget = path.room().budget();
    let Some(mut walker) = Walker::new(symmetric, path.start(), &source, budget)? else { return Ok(None) };
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
            false => walker.step(&source, action, target)?,
        };
        let Some(action) = action else { return Ok(None) };
        builder.push_noted(&before, action, note)?;
        source.copy_from_slice(target);
    }
}

/// The fault of a real state that stands behind one of its representative: of the same kind, at the same place. `record` is none for a start.
pub fn unfold_fault(
    system: &dyn TransitionSystem,
    record: Option<&[u64]>,
    fault: Fault,
    budget: &Budget,
) -> Result<Option<Fault>, SearchError> {
    let mut state = OneState::new(system, COLUMNS, budget, "trace")?;
    let steps = match record {
        Some(record) => state.expand(record)?,
        None => state.initial()?,
    };
    let mut faults = steps.faults().iter().copied();
    Ok(faults.find(|other| (other.kind, other.span) == (fault.kind, fault.span)))
}

/// What is read of the steps.
const COLUMNS: Columns = Columns { actions: true, movers: true, ..Columns::NONE };

/// A real state, on its way along a path of representatives.
struct Walker<'a, S> {
    symmetric: &'a Symmetric<S>,
    record: Vec<u64>,
    /// What makes the real state of the representative, slots aside.
    permutation: Permutation,
    state: OneState<'a>,
    scratch: Scratch,
}

impl<'a, S: TransitionSystem> Walker<'a, S> {
    /// At the initial state that a start makes, if its representative is the given one.
    fn new(
        symmetric: &'a Symmetric<S>,
        start: u32,
        representative: &[u64],
        budget: &Budget,
    ) -> Result<Option<Walker<'a, S>>, SearchError> {
        let mut state = OneState::new(symmetric.inner(), COLUMNS, budget, "trace")?;
        let steps = state.initial()?;
        let mut scratch = Scratch::default();
        let starts = (0..steps.step_count()).filter(|step| steps.action(*step) == start);
        let record = starts.map(|step| steps.target(step).to_vec()).find(|record| {
            let mut own = record.clone();
            symmetric.orbits().canonical(&mut own, &mut scratch);
            own == representative
        });
        let Some(record) = record else { return Ok(None) };
        let permutation = scratch.permutation().inverse();
        Ok(Some(Walker { symmetric, record, permutation, state, scratch }))
    }

    /// Goes where the representative goes; gives the action that really does it.
    fn step(
        &mut self,
        representative: &[u64],
        action: u32,
        next: &[u64],
    ) -> Result<Option<u32>, SearchError> {
        let orbits = self.symmetric.orbits();
        let steps = self.state.expand(representative)?;
        let step = (0..steps.step_count()).find(|step| steps.action(*step) == action);
        let Some(step) = step else { return Ok(None) };
        let movers = steps.movers(step);
        let mut target = steps.target(step).to_vec();
        let mut goal = target.clone();
        orbits.canonical(&mut target, &mut self.scratch);
        if target != next {
            return Ok(None);
        }
        orbits.apply(&self.permutation, &mut goal);
        self.permutation = self.scratch.permutation().inverse().then(&self.permutation);
        let steps = self.state.expand(&self.record)?;
        let identity = orbits.identity();
        let arrives = |step: &usize| {
            let mut target = steps.target(*step).to_vec();
            orbits.apply(&identity, &mut target);
            // Another rule may lead there, too; who moves matters to fairness.
            target == goal && steps.movers(*step) == movers
        };
        let Some(step) = (0..steps.step_count()).find(arrives) else { return Ok(None) };
        self.record = steps.target(step).to_vec();
        Ok(Some(steps.action(step)))
    }
}
