//! Body: which states does a search reach that goes deep first, many states at a time?
//!
//! A search that is strictly depth-first expands one state and then waits for the memory of what it has visited. This one expands a batch of the states that it met last, asks [`Visited`] for all their
//! successors at once, and goes on with those that are new (`levels`): where few states are new it searches like breadth-first, where many are it dives. A state
//! is visited when it is met, and a finding has its path at once. It answers questions about states; those about infinite runs need the order of `depth_first`.
//!
//! Memory: the levels, and one buffer of steps. When there is no room for the successors of a state, or the path is at the depth limit, they are left out and that is counted. A budget that is
//! used up is an ending.

mod levels;

use std::ops::Range;

use fathom_disk::budget::Charge;
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::bodies::depth_first::Found;
use crate::error::SearchError;
use crate::stores::visited::{Colour, Insertion, Visited};
use crate::task::watch::Condition;
use crate::task::{Ending, Observer, Phase, Progress};
use crate::traces::path::Room;
use levels::{Levels, Origin};

/// What a search is asked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What to look for in every state.
    pub conditions: Vec<Condition>,
    /// Whether to end when a condition was met.
    pub stop_at_first: bool,
    /// The most steps of a path.
    pub max_depth: Option<u64>,
    /// The most bytes of the states that wait or are being explored.
    pub stack_bytes: usize,
}

/// What a search found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended. [`Ending::Depth`] if successors were left out.
    pub ending: Ending,
    /// States expanded.
    pub visits: u64,
    /// Steps from them; faulting ones are not counted.
    pub transitions: u64,
    /// States among them without a step and without a fault.
    pub deadlocks: u64,
    /// Faulting steps from them, and faulting starts.
    pub faults: u64,
    /// States among them whose labels faulted.
    pub label_faults: u64,
    /// Labels that were true in some of them.
    pub labels_seen: Labels,
    /// States whose successors were left out.
    pub cut: u64,
    /// The longest path.
    pub deepest: u64,
    /// One place per condition: how it was first met.
    pub found: Vec<Option<Found>>,
    /// Which actions were taken, one bit each.
    pub actions_taken: Vec<u64>,
}

/// Room for steps at first, at most.
const STEPS: usize = 1024;
/// Sets of taken actions larger than this are not kept.
const COVERAGE_ACTIONS_MAX: u32 = 1 << 24;

/// Searches from the initial states.
///
/// # Errors
/// If the machine fails, or one buffer of steps cannot be charged.
pub fn run(
    system: &dyn TransitionSystem,
    visited: &mut dyn Visited,
    room: &Room,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let mut dive = Dive::new(system, visited, room, settings, observer)?;
    let ending = match dive.search() {
        Err(SearchError::Budget(_)) => Ending::Budget,
        // In the middle of a step: the observer is told that it was heard.
        Err(SearchError::Stopped) => {
            observer.stop();
            Ending::Stopped
        }
        other => other?,
    };
    let outcome = dive.outcome;
    let cut = ending == Ending::Complete && outcome.cut > 0;
    Ok(Outcome { ending: if cut { Ending::Depth } else { ending }, ..outcome })
}

/// A search under way.
struct Dive<'a> {
    system: &'a dyn TransitionSystem,
    visited: &'a mut dyn Visited,
    room: &'a Room,
    settings: &'a Settings,
    observer: &'a dyn Observer,
    levels: Levels,
    steps: Steps,
    /// Of the steps.
    charge: Charge,
    /// Places of steps to new states.
    new: Vec<u32>,
    outcome: Outcome,
}

impl<'a> Dive<'a> {
    fn new(
        system: &'a dyn TransitionSystem,
        visited: &'a mut dyn Visited,
        room: &'a Room,
        settings: &'a Settings,
        observer: &'a dyn Observer,
    ) -> Result<Dive<'a>, SearchError> {
        let (shape, budget) = (system.shape(), room.budget());
        let labels = settings.conditions.iter().any(|condition| condition.reads_labels());
        let columns = Columns { labels, actions: true, ..Columns::NONE };
        let capacity = (budget.free() / 16 / Steps::bytes_for(shape, columns, 1)).clamp(1, STEPS);
        Ok(Dive {
            system,
            visited,
            room,
            settings,
            observer,
            levels: Levels::new(budget, shape.words(), settings.stack_bytes)?,
            charge: budget.charge("expansion", Steps::bytes_for(shape, columns, capacity))?,
            steps: Steps::new(shape, columns, capacity),
            new: Vec::new(),
            outcome: Outcome::empty(shape.action_count, settings.conditions.len()),
        })
    }

    /// Expands batch after batch until there is no more.
    fn search(&mut self) -> Result<Ending, SearchError> {
        let charge = &mut self.charge;
        initial_all(self.system, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
        self.look_at_starts();
        if !self.is_over() && !self.go_deeper(None)? {
            return Ok(Ending::Budget);
        }
        while !self.is_over() {
            let Some(states) = self.levels.next_batch() else { return Ok(Ending::Complete) };
            if self.is_stopped() {
                return Ok(Ending::Stopped);
            }
            let states = self.expand(states)?;
            self.look(states.clone())?;
            if !self.is_over() && !self.go_deeper(Some(states.start))? {
                return Ok(Ending::Budget);
            }
        }
        Ok(Ending::Found)
    }

    /// Expands the first of some states; gives those that are expanded.
    fn expand(&mut self, states: Range<usize>) -> Result<Range<usize>, SearchError> {
        let Dive { system, levels, steps, charge, outcome, .. } = self;
        let sources = levels.records(states.clone());
        let expanded = expand_some(*system, sources, steps, &mut |bytes| charge.resize(bytes))?;
        levels.advance(expanded);
        outcome.visits += expanded as u64;
        outcome.transitions += steps.step_count() as u64;
        outcome.deepest = outcome.deepest.max(levels.depth() - 1);
        Ok(states.start..states.start + expanded)
    }

    /// Keeps the new ones among the targets of the steps, whose sources begin with that state; none if they are initial states. False if what was visited has no room for them.
    fn go_deeper(&mut self, first_source: Option<usize>) -> Result<bool, SearchError> {
        let too_deep =
            first_source.is_some() && self.settings.max_depth.is_some_and(|most| self.levels.depth() > most);
        let (first_new, sources) = (self.levels.states(), self.steps.source_count());
        let mut source = 0;
        while source < sources {
            let fitting = if too_deep { 0 } else { self.fitting(source) };
            if fitting == 0 {
                self.outcome.cut += u64::from(!self.steps.steps_of(source).is_empty());
                source += 1;
                continue;
            }
            if !self.keep_new(source..source + fitting, first_source)? {
                return Ok(false);
            }
            source += fitting;
        }
        self.levels.close(first_new)?;
        Ok(true)
    }

    /// For the targets of how many sources, from that one on, there is room even if all are new.
    fn fitting(&self, source: usize) -> usize {
        let (steps, room) = (&self.steps, self.levels.room());
        let first_step = steps.steps_of(source).start;
        if steps.step_count() - first_step <= room {
            return steps.source_count() - source;
        }
        let fits = |source: &usize| steps.steps_of(*source).end - first_step <= room;
        (source..steps.source_count()).take_while(fits).count()
    }

    /// Keeps the new ones among the targets of some sources. False if what was visited has no room for them.
    fn keep_new(&mut self, sources: Range<usize>, first_source: Option<usize>) -> Result<bool, SearchError> {
        let Dive { visited, levels, steps, new, .. } = self;
        let first_step = steps.steps_of(sources.start).start;
        let count = steps.steps_of(sources.end - 1).end - first_step;
        new.clear();
        let targets = steps.targets().skip(first_step).take(count);
        let inserted = visited.insert_batch(Colour::FIRST, targets, new)?;
        let (mut source, mut end) = (sources.start, steps.steps_of(sources.start).end);
        for step in new.iter().map(|place| first_step + *place as usize) {
            while step >= end {
                source += 1;
                end = steps.steps_of(source).end;
            }
            let from = first_source.map_or(levels.states(), |first| first + source);
            levels.push(steps.target(step), Origin { from: from as u32, action: steps.action(step) })?;
        }
        Ok(inserted == Insertion::All)
    }

    /// Counts faults of starts.
    fn look_at_starts(&mut self) {
        let faults = self.steps.faults();
        self.outcome.faults += faults.len() as u64;
        let Some(fault) = faults.first().copied() else { return };
        for (condition, found) in self.settings.conditions.iter().zip(&mut self.outcome.found) {
            if *condition == Condition::Fault {
                *found = Some(Found { path: None, fault: Some(fault) });
            }
        }
    }

    /// Counts what the expanded states do, and tests the conditions on them.
    fn look(&mut self, states: Range<usize>) -> Result<(), SearchError> {
        let Dive { levels, steps, outcome, settings, room, .. } = self;
        outcome.count(steps);
        for (number, condition) in settings.conditions.iter().enumerate() {
            if outcome.found[number].is_some() || *condition == Condition::Never {
                continue;
            }
            let met = |source: &usize| condition.met(levels.record(states.start + source), steps, *source);
            if let Some(source) = (0..states.len()).find(met) {
                let path = levels.path_to(states.start + source, room)?;
                let fault = steps.faults_of(source).first().copied();
                outcome.found[number] = Some(Found { path: Some(path), fault });
            }
        }
        Ok(())
    }

    /// Whether what was found is enough.
    fn is_over(&self) -> bool {
        self.settings.stop_at_first && self.outcome.found.iter().any(Option::is_some)
    }

    /// Tells the observer how far the search is; true if it is to stop.
    fn is_stopped(&self) -> bool {
        let Outcome { visits, transitions, .. } = self.outcome;
        self.observer.progress(Progress {
            layer: self.levels.depth(),
            frontier: self.levels.states() as u64,
            expanded: visits,
            states: visits,
            transitions,
            ..Progress::of(Phase::Depth, self.room.budget())
        });
        self.observer.stop()
    }
}

impl Outcome {
    /// Nothing visited yet.
    fn empty(actions: u32, conditions: usize) -> Outcome {
        let actions = if actions <= COVERAGE_ACTIONS_MAX { actions } else { 0 };
        Outcome {
            ending: Ending::Complete,
            visits: 0,
            transitions: 0,
            deadlocks: 0,
            faults: 0,
            label_faults: 0,
            labels_seen: Labels::default(),
            cut: 0,
            deepest: 0,
            found: vec![None; conditions],
            actions_taken: vec![0; actions.div_ceil(64) as usize],
        }
    }

    /// Counts what sources do.
    fn count(&mut self, steps: &Steps) {
        self.faults += steps.faults().len() as u64;
        let stuck =
            |source: &usize| steps.steps_of(*source).is_empty() && steps.faults_of(*source).is_empty();
        self.deadlocks += (0..steps.source_count()).filter(stuck).count() as u64;
        if steps.columns().labels {
            for labels in (0..steps.source_count()).map(|source| steps.labels(source)) {
                self.label_faults += u64::from(labels.faulted());
                self.labels_seen.0 |= labels.0;
            }
        }
        if !self.actions_taken.is_empty() {
            for action in (0..steps.step_count()).map(|step| steps.action(step)) {
                self.actions_taken[action as usize / 64] |= 1 << (action % 64);
            }
        }
    }
}
