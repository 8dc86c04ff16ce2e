//! Policy of the depth-first search: is there a cycle through an accepting state?
//!
//! The improved nested depth-first search of S. Schwoon and J. Esparza ("A note on on-the-fly verification algorithms", TACAS 2005). The first, *blue* search walks
//! everything; when it leaves an accepting state, a second, *red* search starts there and looks for a step to the path of the blue one. What the red searches have walked
//! is never walked by another. A step of the blue search to its own path closes a cycle at once if one of its ends is accepting.
//!
//! Colours are three sets that suit stores that only grow: visited and red are insert-only, and the path has an index of its own. So the
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

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_disk::table::Table;
use fathom_model::record::Records;
use fathom_model::steps::Columns;
use fathom_model::system::TransitionSystem;

use super::engine::{Body, Engine, Files, Run, Store, Threads};
use crate::bodies::depth_first::path_stack::{PathIndex, PathStack, Spill};
use crate::bodies::depth_first::{Found, Purpose, Walk};
use crate::error::SearchError;
use crate::stores::Visited;
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
    run: Run::Runs,
};

/// Every record, exactly, in RAM.
#[derive(Debug)]
pub struct ExactSet(Table);

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

/// What a search found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended. [`Ending::Depth`] if successors were left out.
    pub ending: Ending,
    /// States that the blue search entered.
    pub states: u64,
    /// Steps from them; faulting ones are not counted.
    pub transitions: u64,
    /// States expanded by both searches.
    pub visits: u64,
    /// Steps made by both.
    pub edges: u64,
    /// Faulting steps from the states of the blue search, and faulting starts.
    pub faults: u64,
    /// States of the blue search whose labels faulted.
    pub label_faults: u64,
    /// States whose successors were left out.
    pub cut: u64,
    /// The longest path.
    pub deepest: u64,
    /// A run that is accepting.
    pub lasso: Option<Lasso>,
    /// How a fault was first met.
    pub fault: Option<Found>,
}

impl ExactSet {
    /// An empty set of records of so many bits.
    pub fn new(bits: u32, budget: &Budget) -> Result<ExactSet, SearchError> {
        Ok(ExactSet(Table::new(bits, budget)?))
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Visited for ExactSet {
    fn insert(&mut self, record: &[u64]) -> Result<bool, SearchError> {
        let mut new = Vec::new();
        self.0.insert_batch(record, &mut new).map_err(|full| full.reason)?;
        Ok(!new.is_empty())
    }

    fn contains_batch(&mut self, records: Records<'_>, present: &mut Vec<u32>) -> Result<(), SearchError> {
        self.0.contains_batch(records.words(), present);
        Ok(())
    }
}

/// Searches a system with one acceptance set, of states, for an accepting run. What was visited and what is red are the caller's, and empty.
///
/// # Errors
/// If one buffer of steps cannot be charged. A budget that is used up later is an ending.
pub fn run(
    system: &dyn TransitionSystem,
    visited: &mut dyn Visited,
    red: &mut dyn Visited,
    room: &Room,
    settings: &Settings<'_>,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    debug_assert_eq!(system.shape().mark_count, 1, "acceptance is of states");
    let budget = room.budget();
    let walk = |name: &str| {
        let columns = Columns { labels: true, actions: true, marks: true, ..Columns::NONE };
        let words = system.shape().words();
        let path = match settings.stack {
            Some((volume, bytes)) => PathStack::spilling(budget, words, Spill { volume, name, bytes })?,
            None => PathStack::growing(budget, words)?,
        };
        Walk::new(system, columns, path, room, observer)
    };
    let mut first = walk("path")?;
    first.max_depth = settings.max_depth;
    let on_path = if settings.stack.is_none() { Some(PathIndex::new(budget)?) } else { None };
    let mut blue = Blue {
        settings,
        on_path,
        red: walk("red-path")?,
        walked: red,
        faults: 0,
        label_faults: 0,
        fault: None,
        lasso: None,
    };
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
    })
}

/// Purpose of the blue search.
struct Blue<'a, 'r> {
    settings: &'a Settings<'a>,
    /// The states of the path, if that is in memory.
    on_path: Option<PathIndex>,
    /// The red search, and what it has walked.
    red: Walk<'a>,
    walked: &'r mut dyn Visited,
    faults: u64,
    label_faults: u64,
    fault: Option<Found>,
    lasso: Option<Lasso>,
}

/// Purpose of a red search: a step to the path of the blue one, or to where it started.
struct Red<'a> {
    path: &'a PathStack,
    on_path: Option<&'a PathIndex>,
    seed: &'a [u64],
    /// Where the step that was looked for leads, by its place on the path, and its action.
    found: Option<(Option<usize>, u32)>,
}

impl Purpose for Blue<'_, '_> {
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
        let Some(on_path) = &mut self.on_path else { return Ok(None) };
        on_path.insert(&walk.path)?;
        let accepting = walk.path.top().is_some_and(|top| top.accepting);
        let closes = |step: &usize| {
            let place = on_path.find(&walk.path, walk.steps.target(*step))?;
            (accepting || walk.path.entry(place).accepting).then_some(place)
        };
        let closing = (0..walk.steps.step_count()).find_map(|step| Some((closes(&step)?, step)));
        let Some((place, step)) = closing else { return Ok(None) };
        let action = walk.steps.action(step);
        self.tell(walk, Some(place), action)?;
        Ok(Some(Ending::Found))
    }

    fn leave(&mut self, walk: &mut Walk<'_>) -> Result<Option<Ending>, SearchError> {
        // Without an index of the path, only red searches find cycles.
        let searches = !self.settings.weak || self.on_path.is_none();
        if searches && walk.path.top().is_some_and(|top| top.accepting) {
            let ending = self.search(walk)?;
            if ending != Ending::Complete {
                return Ok(Some(ending));
            }
        }
        if let Some(on_path) = &mut self.on_path {
            on_path.remove(&walk.path);
        }
        Ok(None)
    }
}

impl Blue<'_, '_> {
    /// Looks for a way from the accepting state on top of the path back to the path.
    fn search(&mut self, walk: &mut Walk<'_>) -> Result<Ending, SearchError> {
        let seed = walk.path.top_record().to_vec();
        (self.red.states, self.red.elsewhere) = (Some(walk.visits), walk.visits);
        let mut purpose = Red { path: &walk.path, on_path: self.on_path.as_ref(), seed: &seed, found: None };
        // The seed is walked from even where it was met before, or a lossy store says so.
        let ending = self.red.search_from(&seed, true, self.walked, &mut purpose)?;
        walk.elsewhere = self.red.visits;
        if let Some((place, action)) = purpose.found {
            self.tell(walk, place, action)?;
        }
        Ok(ending)
    }

    /// The path, the way of the red search behind it, and a last step to the state at a place of the path; without a place, to the last state of the path.
    fn tell(&mut self, walk: &mut Walk<'_>, place: Option<usize>, last: u32) -> Result<(), SearchError> {
        let (mut builder, start) = walk.way()?;
        let cycle_start = match place {
            Some(place) => walk.path.entered_before(place) as u64,
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
            let place = match self.on_path {
                Some(on_path) => Some(on_path.find(self.path, target)?),
                None if target == self.seed => None,
                None => return None,
            };
            Some((place, walk.steps.action(step)))
        };
        self.found = (0..walk.steps.step_count()).find_map(closes);
        Ok(self.found.map(|_| Ending::Found))
    }
}
