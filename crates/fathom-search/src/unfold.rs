//! Which run of a system stands behind a run in which states that are alike are one?
//!
//! A path of representatives is walked again on the system inside, with the permutation that leads from the representative to the real state: what
//! the representative does, the real state does, permuted. Slots of multisets have no names, so real steps are told by their targets with slots in order.
//! A cycle of representatives leads from a real state to one that is alike, and comes back to where it was after some rounds.

use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Steps};
use fathom_model::symmetry::{Permutation, Scratch, Symmetric};
use fathom_model::system::TransitionSystem;

use crate::lasso::Lasso;
use crate::trace::Path;

/// The most rounds that are walked before a cycle closes.
const ROUNDS_MAX: usize = 10_000;

/// The run behind a path; none if there is none, which means that the system treats states that are alike differently.
pub fn unfold_path<S: TransitionSystem>(symmetric: &Symmetric<S>, path: &Path) -> Option<Path> {
    let mut walker = Walker::new(symmetric, path.start, path.records.first()?)?;
    let mut records = vec![walker.record.clone()];
    let mut actions = Vec::new();
    for (pair, action) in path.records.windows(2).zip(&path.actions) {
        actions.push(walker.step(&pair[0], *action, &pair[1])?);
        records.push(walker.record.clone());
    }
    Some(Path { start: path.start, records, actions })
}

/// The run behind a lasso, and for each of its states the one of the lasso that stands for it. `stutter` is the action of a system that cannot move.
pub fn unfold_lasso<S: TransitionSystem>(
    symmetric: &Symmetric<S>,
    lasso: &Lasso,
    stutter: Option<u32>,
) -> Option<(Lasso, Vec<usize>)> {
    let mut walker = Walker::new(symmetric, lasso.start, lasso.records.first()?)?;
    let (mut records, mut actions, mut places) = (Vec::new(), Vec::new(), Vec::new());
    // Of each round, where it began.
    let mut rounds: Vec<usize> = Vec::new();
    let mut at = 0;
    loop {
        if at == lasso.cycle_start {
            if let Some(cycle_start) = rounds.iter().copied().find(|round| records[*round] == walker.record) {
                return Some((Lasso { start: lasso.start, records, actions, cycle_start }, places));
            }
            rounds.push(records.len());
            if rounds.len() > ROUNDS_MAX {
                return None;
            }
        }
        records.push(walker.record.clone());
        places.push(at);
        let (action, next) = (lasso.actions[at], lasso.next(at));
        let stays = stutter == Some(action);
        actions.push(match stays {
            true => action,
            false => walker.step(&lasso.records[at], action, &lasso.records[next])?,
        });
        at = next;
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
