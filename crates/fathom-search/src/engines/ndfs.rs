//! Policy of the depth-first search: is there a cycle through an accepting state?
//!
//! The improved nested depth-first search of S. Schwoon and J. Esparza ("A note on on-the-fly verification algorithms", TACAS 2005). The first, *blue* search walks
//! everything; when it leaves an accepting state, a second, *red* search starts there and looks for a step to the path of the blue one. What the red searches have walked
//! is never walked by another. A step of the blue search to its own path closes a cycle at once if one of its ends is accepting.
//!
//! Colours are three sets that suit stores that only grow: visited and red are two colours of one store, insert-only, and the path has an index of its own. So the
//! same search serves exact and lossy stores, in memory and on a volume; a cycle is a cycle with all of them, but only with exact ones does the lack of one say anything.
//!
//! If all states of a cycle are accepting or none is, the red searches are not needed: the step of the blue search that closes a cycle tells.
//!
//! A path that goes on on a volume has no index: then only the red searches find cycles, and only through the state that they started from (Courcoubetis, Vardi,
//! Wolper, Yannakakis, "Memory-efficient algorithms for the verification of temporal properties", FMSD 1, 1992).
//!
//! The system's acceptance is of states: all steps of an accepting state carry mark 0, and no others do.
//!
//! Memory: both sets, and per state on the path the entries of its unexplored successors, unless they are on a volume. Time: every state is expanded at most twice.

use fathom_disk::storage::Volume;
use fathom_model::steps::Columns;
use fathom_model::system::TransitionSystem;

use super::engine::{AskRuns, Body, Engine, Files, Run, Store, Threads};
use crate::bodies::depth_first::stack::in_memory::InMemory;
use crate::bodies::depth_first::stack::indexed::Indexed;
use crate::bodies::depth_first::stack::spilling::{Spill, Spilling};
use crate::bodies::depth_first::stack::{OnPath, PathStack};
use crate::bodies::depth_first::{Found, Purpose, Walk};
use crate::error::SearchError;
use crate::liveness::on_the_fly::Outcome;
use crate::stores::disk_set::DiskSet;
use crate::stores::exact::ExactSet;
use crate::stores::visited::{Colour, PerColour, Visited};
use crate::task::{Ending, Observer};
use crate::traces::lasso::Lasso;
use crate::traces::path::Room;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "ndfs",
    help: "Nested depth-first, in memory or on disk, exact: for infinite runs",
    search: "nested depth-first, exact",
    memory: "a few bytes, and the path",
    io: "none, or a read per known state",
    certificate: "none",
    origin: "Schwoon, Esparza 2005: infinite runs (--ltl), found on the fly; --store tier",
    threads: Threads::One,
    files: Files::WhenNeeded,
    resumes: false,
    revisits: true,
    body: Body::DepthFirst,
    layers: false,
    stores: &[Store::Ram, Store::Tier],
    options: &[],
    run: Run::Runs(on_the_fly),
};

/// What a search is asked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'a> {
    /// Whether to end at a fault.
    pub stop_at_fault: bool,
    /// The most steps of a path.
    pub max_depth: Option<u64>,
    /// Whether the states of every cycle are all accepting, or none is: then the blue search closes every accepting cycle itself, and no other is needed.
    pub weak: bool,
    /// Where the path goes on when so many bytes of it are in memory; none if all of it is.
    pub stack: Option<(&'a Volume, usize)>,
}

/// The part of memory for each of two paths on disk: one in so many.
const STACK_PART: usize = 16;

/// Searches as the registry asks: with exact sets in memory, or on disk if there is a volume for them.
fn on_the_fly(ask: &AskRuns<'_>) -> Result<Outcome, SearchError> {
    let AskRuns { system, room, observer, .. } = *ask;
    let (shape, budget) = (system.shape(), room.budget());
    let settings = Settings::of(ask);
    let Some(volume) = ask.volume else {
        let set = || ExactSet::new(shape.width_bits, budget);
        return run(system, &mut PerColour([set()?, set()?]), room, &settings, observer);
    };
    // The rest is for filters, and for the steps of a state.
    let bytes = budget.limit() / 4;
    let set = |name| DiskSet::new(shape, volume, name, bytes, budget);
    let mut visited = PerColour([set("visited")?, set("red")?]);
    match run(system, &mut visited, room, &settings, observer) {
        Err(error) if error.is_want_of_room() => Ok(Outcome::without_room(visited.0[0].len(), error)),
        outcome => outcome,
    }
}

impl<'a> Settings<'a> {
    /// What the registry asks.
    pub(crate) fn of(ask: &AskRuns<'a>) -> Settings<'a> {
        let bytes = ask.room.budget().limit() / STACK_PART;
        Settings {
            stop_at_fault: ask.stop_at_fault,
            max_depth: ask.max_depth,
            weak: ask.acceptance.is_weak(),
            stack: ask.stack.or(ask.volume).map(|volume| (volume, bytes)),
        }
    }
}

/// Searches a system with one acceptance set, of states, for an accepting run. The store of what was visited is the caller's, has two colours, and is empty.
///
/// # Errors
/// If one buffer of steps cannot be charged. A budget that is used up later is an ending.
pub fn run(
    system: &dyn TransitionSystem,
    visited: &mut dyn Visited,
    room: &Room,
    settings: &Settings<'_>,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let (budget, words) = (room.budget(), system.shape().words());
    let paths: [Box<dyn PathStack>; 2] = match settings.stack {
        Some((volume, bytes)) => {
            let spill = |name| Spilling::new(budget, words, Spill { volume, name, bytes });
            [Box::new(spill("path")?), Box::new(spill("red-path")?)]
        }
        None => [Box::new(Indexed::new(budget, words)?), Box::new(InMemory::growing(budget, words)?)],
    };
    run_along(system, visited, room, settings, observer, paths)
}

/// The same along these paths, of the first search and of the second.
pub(crate) fn run_along(
    system: &dyn TransitionSystem,
    visited: &mut dyn Visited,
    room: &Room,
    settings: &Settings<'_>,
    observer: &dyn Observer,
    paths: [Box<dyn PathStack>; 2],
) -> Result<Outcome, SearchError> {
    debug_assert_eq!(system.shape().mark_count, 1, "acceptance is of states");
    let columns = Columns { labels: true, actions: true, marks: true, ..Columns::NONE };
    let [first, second] = paths.map(|path| Walk::new(system, columns, path, room, observer));
    let (mut first, mut second) = (first?, second?);
    first.max_depth = settings.max_depth;
    second.colour = Colour::SECOND;
    let mut blue = Blue { settings, red: second, faults: 0, label_faults: 0, fault: None, lasso: None };
    let ending = first.search_all(visited, &mut blue)?;
    Ok(Outcome {
        ending,
        states: first.visits,
        transitions: first.edges,
        visits: first.visits + blue.red.visits,
        edges: first.edges + blue.red.edges,
        faults: blue.faults,
        label_faults: blue.label_faults,
        cut: first.cut,
        deepest: first.deepest,
        lasso: blue.lasso,
        fault: blue.fault,
        no_room: None,
        told: Vec::new(),
    })
}

/// Purpose of the blue search.
struct Blue<'a> {
    settings: &'a Settings<'a>,
    /// The red search.
    red: Walk<'a>,
    faults: u64,
    label_faults: u64,
    fault: Option<Found>,
    lasso: Option<Lasso>,
}

/// Purpose of a red search: a step to the path of the blue one, or to where it started.
struct Red<'a> {
    path: &'a dyn PathStack,
    seed: &'a [u64],
    /// Where the step that was looked for leads, if the path tells, and its action.
    found: Option<(Option<OnPath>, u32)>,
}

impl Purpose for Blue<'_> {
    fn begin(&mut self, walk: &Walk<'_>) -> Result<Option<Ending>, SearchError> {
        self.faults += walk.steps.faults().len() as u64;
        if let Some(fault) = walk.steps.faults().first() {
            self.fault = Some(Found { path: None, fault: Some(*fault) });
        }
        Ok((self.settings.stop_at_fault && self.fault.is_some()).then_some(Ending::Found))
    }

    fn enter(&mut self, walk: &mut Walk<'_>) -> Result<Option<Ending>, SearchError> {
        let label_faults = walk.steps.labels(0).faulted();
        self.faults += walk.steps.faults().len() as u64;
        self.label_faults += u64::from(label_faults);
        if (label_faults || !walk.steps.faults().is_empty()) && self.fault.is_none() {
            let fault = walk.steps.faults().first().copied();
            self.fault = Some(Found { path: Some(walk.run_to_top()?), fault });
            if self.settings.stop_at_fault {
                return Ok(Some(Ending::Found));
            }
        }
        if !walk.path.is_indexed() {
            return Ok(None);
        }
        let accepting = walk.path.top().is_some_and(|top| top.accepting);
        let closes = |step: &usize| {
            let state = walk.path.find(walk.steps.target(*step))?;
            (accepting || state.accepting).then_some(state)
        };
        let closing = (0..walk.steps.step_count()).find_map(|step| Some((closes(&step)?, step)));
        let Some((state, step)) = closing else { return Ok(None) };
        let action = walk.steps.action(step);
        self.tell(walk, Some(state), action)?;
        Ok(Some(Ending::Found))
    }

    fn leave(
        &mut self,
        walk: &mut Walk<'_>,
        visited: &mut dyn Visited,
    ) -> Result<Option<Ending>, SearchError> {
        // Without an index of the path, only red searches find cycles.
        let searches = !self.settings.weak || !walk.path.is_indexed();
        if !searches || walk.path.top().is_none_or(|top| !top.accepting) {
            return Ok(None);
        }
        let ending = self.search(walk, visited)?;
        Ok((ending != Ending::Complete).then_some(ending))
    }
}

impl Blue<'_> {
    /// Looks for a way from the accepting state on top of the path back to the path.
    fn search(&mut self, walk: &mut Walk<'_>, visited: &mut dyn Visited) -> Result<Ending, SearchError> {
        let seed = walk.path.top_record().to_vec();
        (self.red.states, self.red.elsewhere) = (Some(walk.visits), walk.visits);
        let mut purpose = Red { path: &*walk.path, seed: &seed, found: None };
        // The seed is walked from even where it was met before, or a lossy store says so.
        let ending = self.red.search_from(&seed, true, visited, &mut purpose)?;
        walk.elsewhere = self.red.visits;
        if let Some((state, action)) = purpose.found {
            self.tell(walk, state, action)?;
        }
        Ok(ending)
    }

    /// The path, the way of the red search behind it, and a last step to a state of the path; to the last one, if none is told.
    fn tell(&mut self, walk: &mut Walk<'_>, state: Option<OnPath>, last: u32) -> Result<(), SearchError> {
        let (mut builder, start) = walk.way()?;
        let cycle_start = match state {
            Some(state) => walk.path.depth_of(state),
            None => builder.len() - 1,
        };
        // The red search starts from the last state, if there is one.
        let mut seed = true;
        self.red.path.each_entered(&mut |record, action| {
            if std::mem::take(&mut seed) { Ok(()) } else { builder.arrive(record, action) }
        })?;
        builder.leave(last)?;
        self.lasso = Some(Lasso { path: builder.finish(start)?, cycle_start });
        Ok(())
    }
}

impl Purpose for Red<'_> {
    fn enter(&mut self, walk: &mut Walk<'_>) -> Result<Option<Ending>, SearchError> {
        let closes = |step: usize| {
            let target = walk.steps.target(step);
            let state = match self.path.is_indexed() {
                true => Some(self.path.find(target)?),
                false if target == self.seed => None,
                false => return None,
            };
            Some((state, walk.steps.action(step)))
        };
        self.found = (0..walk.steps.step_count()).find_map(closes);
        Ok(self.found.map(|_| Ending::Found))
    }
}
