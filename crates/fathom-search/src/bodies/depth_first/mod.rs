//! Body: which states does a depth-first search reach?
//!
//! A state is entered when it comes to the top and [`Visited`] has not had it; the entered states are a run of the system
//! (see `stack`), so a finding has its path at once. What was visited is a policy, and insert-only; it may be exact or forget. What the search is for is another
//! (`Purpose`): it is told of every state that is entered, and left. Nested and double searches are engines; questions about states alone are answered faster by `dive`.
//!
//! Memory: the stack. When the path is at the depth limit, the successors of a state are left out and that is counted. A budget that is used up is an ending.

pub(crate) mod stack;

use fathom_disk::budget::Charge;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Fault, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::stores::visited::{Colour, Insertion, Visited};
use crate::task::{Ending, Observer, Phase, Progress};
use crate::traces::path::{Path, PathBuilder, Room};
use stack::PathStack;

/// A run to a state that meets a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The run. None for a fault in a start: there is no state.
    pub path: Option<Path>,
    /// The first fault of the last state.
    pub fault: Option<Fault>,
}

/// Room for steps at first, at most.
const STEPS: usize = 64;
/// How many states are expanded before the observer is asked again.
const PATIENCE: u64 = 256;

/// What a walk is for. Either may say that it ends, and how.
pub(crate) trait Purpose {
    /// The starts are on the stack, none entered; the steps of the walk are they, with their faults.
    fn begin(&mut self, _walk: &Walk<'_>) -> Result<Option<Ending>, SearchError> {
        Ok(None)
    }

    /// A state was entered and expanded: it is on top, and the steps of the walk are its steps.
    fn enter(&mut self, walk: &mut Walk<'_>) -> Result<Option<Ending>, SearchError>;

    /// Everything that the state on top leads to was walked. What was visited is there for walks in other colours.
    fn leave(
        &mut self,
        _walk: &mut Walk<'_>,
        _visited: &mut dyn Visited,
    ) -> Result<Option<Ending>, SearchError> {
        Ok(None)
    }
}

/// A depth-first search under way. The budget is for the steps; its stack has its own.
pub(crate) struct Walk<'a> {
    system: &'a dyn TransitionSystem,
    room: &'a Room,
    observer: &'a dyn Observer,
    pub(crate) path: Box<dyn PathStack>,
    pub(crate) steps: Steps,
    charge: Charge,
    /// Places of steps to states that are known; of the state on top, if it is new.
    known: Vec<u32>,
    new: Vec<u32>,
    /// In which colour it visits.
    pub(crate) colour: Colour,
    /// The most steps of a path.
    pub(crate) max_depth: Option<u64>,
    /// What is told of the states of the whole search, of which this may be a part: how many there are, and how many were expanded elsewhere.
    pub(crate) states: Option<u64>,
    pub(crate) elsewhere: u64,
    /// States entered and expanded.
    pub(crate) visits: u64,
    /// Steps from them.
    pub(crate) edges: u64,
    /// States whose successors were left out.
    pub(crate) cut: u64,
    /// The longest path.
    pub(crate) deepest: u64,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        system: &'a dyn TransitionSystem,
        columns: Columns,
        path: Box<dyn PathStack>,
        room: &'a Room,
        observer: &'a dyn Observer,
    ) -> Result<Walk<'a>, SearchError> {
        let (shape, budget) = (system.shape(), room.budget());
        let capacity = (budget.free() / 16 / Steps::bytes_for(shape, columns, 1)).clamp(1, STEPS);
        Ok(Walk {
            system,
            room,
            observer,
            path,
            charge: budget.charge("expansion", Steps::bytes_for(shape, columns, capacity))?,
            steps: Steps::new(shape, columns, capacity),
            known: Vec::new(),
            new: Vec::new(),
            colour: Colour::FIRST,
            max_depth: None,
            states: None,
            elsewhere: 0,
            visits: 0,
            edges: 0,
            cut: 0,
            deepest: 0,
        })
    }

    /// Walks from the initial states. A budget that is used up is an ending, and so are successors that were left out.
    pub(crate) fn search_all(
        &mut self,
        visited: &mut dyn Visited,
        purpose: &mut dyn Purpose,
    ) -> Result<Ending, SearchError> {
        let ending = match self.start(visited, purpose) {
            Err(SearchError::Budget(_)) => Ending::Budget,
            // In the middle of a step: the observer is told that it was heard.
            Err(SearchError::Stopped) => {
                self.observer.stop();
                Ending::Stopped
            }
            other => other?,
        };
        Ok(if ending == Ending::Complete && self.cut > 0 { Ending::Depth } else { ending })
    }

    fn start(&mut self, visited: &mut dyn Visited, purpose: &mut dyn Purpose) -> Result<Ending, SearchError> {
        let charge = &mut self.charge;
        initial_all(self.system, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.known.clear();
        self.push_steps()?;
        match purpose.begin(self)? {
            Some(ending) => Ok(ending),
            None => self.on(visited, purpose, false),
        }
    }

    /// Walks from a state: if it was visited before, not at all, or all the same.
    pub(crate) fn search_from(
        &mut self,
        state: &[u64],
        even_if_visited: bool,
        visited: &mut dyn Visited,
        purpose: &mut dyn Purpose,
    ) -> Result<Ending, SearchError> {
        self.path.clear()?;
        self.path.push(state, 0)?;
        self.on(visited, purpose, even_if_visited)
    }

    /// Goes on until nothing is on the stack. Where the state on top is to be entered whatever was visited, `anyway` says so.
    fn on(
        &mut self,
        visited: &mut dyn Visited,
        purpose: &mut dyn Purpose,
        mut anyway: bool,
    ) -> Result<Ending, SearchError> {
        while let Some(top) = self.path.top() {
            if top.entered {
                if let Some(ending) = purpose.leave(self, visited)? {
                    return Ok(ending);
                }
                self.path.pop()?;
                continue;
            }
            let top = self.path.top_record();
            self.new.clear();
            match visited.insert_batch(self.colour, Records::new(top, top.len()), &mut self.new)? {
                Insertion::All => {}
                Insertion::Full { .. } => return Ok(Ending::Budget),
            }
            if self.new.is_empty() & !std::mem::take(&mut anyway) {
                self.path.pop()?;
                continue;
            }
            if self.impatient() {
                return Ok(Ending::Stopped);
            }
            self.enter()?;
            visited.prepare(self.colour, self.steps.targets());
            if let Some(ending) = purpose.enter(self)? {
                return Ok(ending);
            }
            self.push_successors(visited)?;
        }
        Ok(Ending::Complete)
    }

    /// Enters and expands the state on top. It is accepting if its steps carry mark 0.
    fn enter(&mut self) -> Result<(), SearchError> {
        let Walk { system, path, steps, charge, .. } = &mut *self;
        let top = path.top_record();
        let source = Records::new(top, top.len());
        expand_some(*system, source, steps, &mut |bytes| charge.resize(bytes))?;
        let steps = &self.steps;
        let accepting = steps.columns().marks && steps.step_count() > 0 && steps.marks(0).0 & 1 == 1;
        self.path.enter(accepting)?;
        self.visits += 1;
        self.edges += steps.step_count() as u64;
        self.deepest = self.deepest.max(self.path.entered() - 1);
        Ok(())
    }

    /// Puts the successors of the state that was entered last on the stack, the first on top.
    fn push_successors(&mut self, visited: &mut dyn Visited) -> Result<(), SearchError> {
        if self.steps.step_count() == 0 {
            return Ok(());
        }
        if self.max_depth.is_some_and(|depth| self.path.entered() > depth) {
            self.cut += 1;
            return Ok(());
        }
        self.known.clear();
        visited.contains_batch(self.colour, self.steps.targets(), &mut self.known)?;
        self.push_steps()
    }

    /// Puts the steps to states that are not known on the stack, the first on top.
    fn push_steps(&mut self) -> Result<(), SearchError> {
        let Walk { path, steps, known, .. } = self;
        for step in (0..steps.step_count()).rev() {
            if known.last() == Some(&(step as u32)) {
                known.pop();
            } else {
                path.push(steps.target(step), steps.action(step))?;
            }
        }
        Ok(())
    }

    /// The run to the state on top.
    pub(crate) fn run_to_top(&mut self) -> Result<Path, SearchError> {
        let (builder, start) = self.way()?;
        builder.finish(start)
    }

    /// The states of the path, and the start that led to the first.
    pub(crate) fn way(&mut self) -> Result<(PathBuilder, u32), SearchError> {
        let mut builder = PathBuilder::new(self.room, self.system.shape().words())?;
        let mut start = 0;
        self.path.each_entered(&mut |record, action| {
            if builder.is_empty() {
                start = action;
            }
            builder.arrive(record, action)
        })?;
        Ok((builder, start))
    }

    /// Where runs that are told of live.
    pub(crate) fn room(&self) -> &Room {
        self.room
    }

    /// Tells the observer now and then; true if it wants the search to stop.
    fn impatient(&self) -> bool {
        if !self.visits.is_multiple_of(PATIENCE) {
            return false;
        }
        self.observer.progress(Progress {
            layer: self.path.entered(),
            frontier: self.path.len(),
            expanded: self.visits + self.elsewhere,
            states: self.states.unwrap_or(self.visits),
            transitions: self.edges,
            ..Progress::of(Phase::Depth, self.room.budget())
        });
        self.observer.stop()
    }
}
