//! How does a run lead to a state? Layer replay: backwards through the layers, the least parent each time.
//!
//! From a state of layer d, the states of layer d - 1 are expanded, and the least one that has the state among its targets comes before it; and so
//! on to layer 0. No parents are stored, and the path is the same for every engine and number of threads. Cost: at most every state of
//! the layers before d is expanded once more.

use fathom_disk::budget::Charge;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::stores::Layered;
use crate::task::Observer;
use crate::traces::path::{Path, PathBuilder, Room};

/// Room for steps at first, at most.
const STEPS_MAX: usize = 1024;

/// The least path to a state of a layer. None if the policy has not kept the layers.
pub fn path_to<P: Layered>(
    system: &dyn TransitionSystem,
    policy: &P,
    room: &Room,
    observer: &dyn Observer,
    state: (u64, &[u64]),
) -> Result<Option<Path>, SearchError> {
    path_through(system, &|layer, visit| policy.visit_layer(layer, visit), room, observer, state)
}

/// Calls the function with the states of a layer, as [`Layered::visit_layer`] does.
pub type VisitLayer<'a> = dyn Fn(u64, &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> + 'a;

/// The least path to a state of a layer, through layers that somebody visits. None if they are not kept.
///
/// # Errors
/// [`SearchError::Stopped`] if the observer says so.
pub fn path_through(
    system: &dyn TransitionSystem,
    visit_layer: &VisitLayer<'_>,
    room: &Room,
    observer: &dyn Observer,
    state: (u64, &[u64]),
) -> Result<Option<Path>, SearchError> {
    let mut trail = Trail::new(system, room, observer, state)?;
    if trail.back(system, visit_layer)? { trail.finish(system).map(Some) } else { Ok(None) }
}

/// A path to a state of a stage, through stages that are no layers: each state comes from one of an earlier stage, or is initial. One way back through all of them at most; not the shortest path.
///
/// # Errors
/// [`SearchError::Stopped`] if the observer says so.
pub fn path_through_stages(
    system: &dyn TransitionSystem,
    visit_stage: &VisitLayer<'_>,
    room: &Room,
    observer: &dyn Observer,
    state: (u64, &[u64]),
) -> Result<Option<Path>, SearchError> {
    let mut trail = Trail::new(system, room, observer, state)?;
    while !trail.is_initial(system)? {
        match trail.layer.checked_sub(1) {
            Some(before) if trail.step_back(system, before, visit_stage)? => trail.layer = before,
            _ => return Ok(None),
        }
    }
    trail.finish(system).map(Some)
}

/// The end of a path, as far as it is known: from some layer on.
pub(crate) struct Trail<'a> {
    observer: &'a dyn Observer,
    /// The layer of its first state, and that.
    layer: u64,
    first: Vec<u64>,
    /// From the last one back.
    path: PathBuilder,
    /// Steps that it has.
    length: u64,
    /// Whether it was not yet asked for the first state.
    may_be_initial: bool,
    steps: Steps,
    charge: Charge,
}

impl<'a> Trail<'a> {
    /// A state of a layer, and nothing before it.
    pub(crate) fn new(
        system: &dyn TransitionSystem,
        room: &Room,
        observer: &'a dyn Observer,
        (layer, record): (u64, &[u64]),
    ) -> Result<Trail<'a>, SearchError> {
        let columns = Columns { actions: true, ..Columns::NONE };
        let (shape, budget) = (system.shape(), room.budget());
        let mut path = PathBuilder::new(room, shape.words())?;
        path.push(record, 0)?;
        let each = Steps::bytes_for(shape, columns, 1);
        let capacity = (budget.free() / 8 / each).clamp(1, STEPS_MAX);
        let charge = budget.charge("trace", Steps::bytes_for(shape, columns, capacity))?;
        let steps = Steps::new(shape, columns, capacity);
        Ok(Trail {
            observer,
            layer,
            first: record.to_vec(),
            path,
            length: 0,
            may_be_initial: true,
            steps,
            charge,
        })
    }

    /// The layer of its first state.
    pub(crate) fn layer(&self) -> u64 {
        self.layer
    }

    /// Goes back as long as layers are kept; true if it is at an initial state.
    pub(crate) fn back(
        &mut self,
        system: &dyn TransitionSystem,
        visit_layer: &VisitLayer<'_>,
    ) -> Result<bool, SearchError> {
        while self.layer > 0 {
            let steps = self.length;
            if !self.step_back(system, self.layer - 1, visit_layer)? {
                return Ok(false);
            }
            assert!(self.length > steps, "a state of a later layer has a parent in the layer before");
            self.layer -= 1;
        }
        Ok(true)
    }

    /// Puts the least parent that a layer has before the first state, if it has one. False if the layer is not kept.
    fn step_back(
        &mut self,
        system: &dyn TransitionSystem,
        layer: u64,
        visit_layer: &VisitLayer<'_>,
    ) -> Result<bool, SearchError> {
        let Trail { observer, first, steps, charge, .. } = self;
        let mut best: Option<(Vec<u64>, u32)> = None;
        let mut failure = None;
        let kept = visit_layer(layer, &mut |sources| {
            if failure.is_none() && observer.stop() {
                failure = Some(SearchError::Stopped);
            }
            if failure.is_none() {
                let outcome = least_parent(system, sources, first, steps, &mut best, &mut |bytes| {
                    charge.resize(bytes).map_err(SearchError::from)
                });
                failure = outcome.err();
            }
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        if let Some((parent, action)) = best {
            self.path.push(&parent, action)?;
            self.first = parent;
            self.length += 1;
            self.may_be_initial = true;
        }
        Ok(kept)
    }

    /// Whether its first state is an initial one. Initial states are made again for each state that is asked for once.
    fn is_initial(&mut self, system: &dyn TransitionSystem) -> Result<bool, SearchError> {
        if !std::mem::take(&mut self.may_be_initial) {
            return Ok(false);
        }
        let Trail { first, steps, charge, .. } = self;
        initial_all(system, steps, &mut |bytes| charge.resize(bytes))?;
        Ok(steps.targets().iter().any(|target| target == first))
    }

    /// The whole path, once it is at an initial state.
    pub(crate) fn finish(self, system: &dyn TransitionSystem) -> Result<Path, SearchError> {
        let Trail { first, path, mut steps, mut charge, .. } = self;
        initial_all(system, &mut steps, &mut |bytes| charge.resize(bytes))?;
        let start = steps.targets().iter().position(|target| target == first);
        let start = steps.action(start.expect("layer 0 has initial states"));
        Ok(path.finish_backwards(start))
    }
}

/// Lowers `best` to the least source that has a step to the target, with the first such action.
fn least_parent(
    system: &dyn TransitionSystem,
    sources: Records<'_>,
    target: &[u64],
    steps: &mut Steps,
    best: &mut Option<(Vec<u64>, u32)>,
    charge: &mut dyn FnMut(usize) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let mut rest = sources;
    while !rest.is_empty() {
        let finished = expand_some(system, rest, steps, charge)?;
        for (source, record) in rest.take(finished).iter().enumerate() {
            if best.as_ref().is_some_and(|(known, _)| &**known <= record) {
                continue;
            }
            if let Some(step) = steps.steps_of(source).find(|step| steps.target(*step) == target) {
                *best = Some((record.to_vec(), steps.action(step)));
            }
        }
        rest = rest.skip(finished);
    }
    Ok(())
}
