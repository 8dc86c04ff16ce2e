//! Policy of the depth-first search: a perfect hash and one bit per state.
//!
//! S. Edelkamp, P. Sanders, P. Šimeček, "Semi-external LTL model checking", CAV 2008: *double* depth-first search. When all states are known and those that may recur are numbered
//! ([`crate::files::closed_set`]), a first search walks these, from each of them that it has not met, and writes accepting states down in the order in which it leaves them; then the bits are cleared, and
//! from each of those states in that order a second search walks what no second search has walked and looks for a step back to where it started. The seeds and their order are those of
//! nested depth-first search (Courcoubetis, Vardi, Wolper, Yannakakis 1992), and so is what is found; but one bit serves both searches.
//!
//! If the automaton is *weak*, so that the states of a cycle are all accepting or none is, one search decides: a step to its own path closes a cycle. It takes a second bit per state, for the path.
//!
//! The system's acceptance is of states: all steps of an accepting state carry mark 0, and no others do. Memory: about 4 bits per state that may recur, 5 if the automaton is weak; the path, with its
//! unexplored successors, is on the volume but for its top. I/O: accepting states once, and the path. Every state that may recur is expanded twice at most, once if the automaton is weak.

use fathom_disk::budget::Budget;
use fathom_disk::log::Queue;
use fathom_model::record::Records;
use fathom_model::steps::Columns;

use super::engine::{Body, Engine, Files, Marks, Run, Store, Threads};
use crate::bodies::depth_first::stack::spilling::{Spill, Spilling};
use crate::bodies::depth_first::{Purpose, Walk};
use crate::error::SearchError;
use crate::files::closed_set::{ClosedSet, Reached};
use crate::liveness::semi_external::{Outcome, Search, with_stem};
use crate::stores::bits::Bits;
use crate::stores::visited::{Colour, Insertion, StoreFigures, Visited, insert_each};
use crate::task::Ending;
use crate::traces::path::{Path, PathBuilder};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "ddfs",
    help: "Double depth-first over a perfect hash, exact: for infinite runs",
    search: "double depth-first, exact",
    memory: "that of auto, then 4 bits",
    io: "accepting states once, the path",
    certificate: "none",
    origin: "Edelkamp, Sanders, Simecek 2008: infinite runs",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: false,
    revisits: true,
    body: Body::DepthFirst,
    layers: false,
    stores: &[Store::Tier],
    options: &[],
    run: Run::Generated { marks: Marks::One, run: |ask| run(ask.search, ask.reached) },
};

/// Bytes of a block of the file of accepting states, at most.
const BLOCK_BYTES_MAX: usize = 1 << 16;
/// Memory for the top of the path, at most.
const PATH_BYTES_MAX: usize = 16 << 20;

/// Looks for a cycle through an accepting state among the states that a complete breadth-first search has reached. One thread.
///
/// # Errors
/// If memory or the volume do not suffice.
pub fn run(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    Outcome::unless_stopped(searched(search, reached))
}

fn searched(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    let Search { system, acceptance, volume, room, observer, .. } = *search;
    let recurs = |record: &[u64]| acceptance.recurs(record);
    let budget = room.budget();
    let set = ClosedSet::new(reached, &recurs, system.shape(), (volume, budget), observer)?;
    let mut visited = Numbered { set: &set, bits: Bits::new(budget, set.len(), false)?, numbers: Vec::new() };
    let words = system.shape().words();
    let spill = Spill {
        volume: search.stack.unwrap_or(volume),
        name: "path",
        // A small part: where memory is scarce, most of it is for the steps of one state.
        bytes: (budget.free() / 16).min(PATH_BYTES_MAX),
    };
    let columns = Columns { actions: true, marks: true, ..Columns::NONE };
    let path = Spilling::new(budget, words, spill)?;
    let mut walk = Walk::new(system, columns, Box::new(path), room, observer)?;
    walk.states = Some(set.len());
    let (cycle, finished) = if acceptance.is_weak() {
        single(&mut visited, &mut walk, budget)?
    } else {
        double(search, &mut visited, &mut walk)?
    };
    let mut outcome = Outcome {
        stopped: !finished,
        visits: walk.visits,
        edges: walk.edges,
        number_bytes: set.number_bytes() as u64,
        stored_bytes: set.stored_bytes(),
        ..Outcome::default()
    };
    drop((walk, visited));
    if let Some(cycle) = cycle {
        outcome.left = cycle.len();
        drop(set);
        outcome.take(with_stem(search, reached, &cycle))?;
    }
    Ok(outcome)
}

/// A cycle if there is one, and whether the search came to its end.
type Found = (Option<Path>, bool);

/// One search, which closes cycles by itself.
fn single(visited: &mut Numbered<'_>, walk: &mut Walk<'_>, budget: &Budget) -> Result<Found, SearchError> {
    let set = visited.set;
    let mut closing = Closing {
        path: Numbered { set, bits: Bits::new(budget, set.len(), false)?, numbers: Vec::new() },
        closed: None,
    };
    let finished = from_each(visited, walk, &mut closing)?;
    Ok((closing.closed, finished))
}

/// One search for the accepting states, and one from each of them.
fn double(
    search: &Search<'_>,
    visited: &mut Numbered<'_>,
    walk: &mut Walk<'_>,
) -> Result<Found, SearchError> {
    let Search { system, volume, room, .. } = *search;
    let budget = room.budget();
    let words = system.shape().words();
    let block = (budget.free() / 64).clamp(256, BLOCK_BYTES_MAX);
    let mut leaving = Leaving(Queue::new(volume, "accepting", words, block, budget)?);
    if !from_each(visited, walk, &mut leaving)? {
        return Ok((None, false));
    }
    visited.bits.clear_all();
    let (mut accepting, mut seed) = (leaving.0, vec![0; words]);
    while accepting.pop(&mut seed)? {
        let mut returning = Returning { seed: &seed, closed: None };
        // The seed itself is walked from even if it was met before.
        match walk.search_from(&seed, true, visited, &mut returning)? {
            Ending::Complete => {}
            Ending::Found => return Ok((returning.closed, true)),
            _ => return Ok((None, false)),
        }
    }
    Ok((None, true))
}

/// Walks from every state of the set that was not met before; false if the observer stopped it.
fn from_each(
    visited: &mut Numbered<'_>,
    walk: &mut Walk<'_>,
    purpose: &mut dyn Purpose,
) -> Result<bool, SearchError> {
    let (mut finished, mut present) = (true, Vec::new());
    visited.set.scan(&mut |records| {
        present.clear();
        visited.contains_batch(Colour::FIRST, records, &mut present)?;
        for (place, record) in (0..).zip(records.iter()) {
            // Some are met from others of them.
            if present.binary_search(&place).is_ok() {
                continue;
            }
            let ending = walk.search_from(record, false, visited, purpose)?;
            if ending != Ending::Complete {
                finished = ending == Ending::Found;
                return Ok(false);
            }
        }
        Ok(true)
    })?;
    Ok(finished)
}

/// A bit for each state of a closed set; what is not in the set counts as visited.
struct Numbered<'a> {
    set: &'a ClosedSet<'a>,
    bits: Bits,
    numbers: Vec<u64>,
}

impl Visited for Numbered<'_> {
    fn insert_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        // Who inserts has asked before whether they are there.
        insert_each(records, new, |record| Ok(self.bits.set(self.set.number(record))))
    }

    fn contains_batch(
        &mut self,
        _colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        self.numbers.clear();
        self.set.numbers(records, &mut self.numbers);
        for (place, (record, number)) in (0..).zip(records.iter().zip(&self.numbers)) {
            if !self.set.has(record) || self.bits.get(*number) {
                present.push(place);
            }
        }
        Ok(())
    }

    fn figures(&self) -> StoreFigures {
        let memory = self.set.len().div_ceil(8) + self.set.number_bytes() as u64;
        StoreFigures { records: self.bits.count(), memory, ..StoreFigures::default() }
    }
}

/// Purpose of the only search, if the automaton is weak: a step from an accepting state to the path.
struct Closing<'a> {
    /// The states of the path.
    path: Numbered<'a>,
    closed: Option<Path>,
}

impl Purpose for Closing<'_> {
    fn enter(&mut self, walk: &mut Walk<'_>) -> Result<Option<Ending>, SearchError> {
        let Numbered { set, bits, numbers } = &mut self.path;
        bits.set(set.number(walk.path.top_record()));
        if walk.path.top().is_none_or(|top| !top.accepting) {
            return Ok(None);
        }
        numbers.clear();
        set.numbers(walk.steps.targets(), numbers);
        let closes = |step: &usize| set.has(walk.steps.target(*step)) && bits.get(numbers[*step]);
        let Some(step) = (0..walk.steps.step_count()).find(closes) else { return Ok(None) };
        let target = walk.steps.target(step).to_vec();
        self.closed = Some(cycle(walk, step, &target)?);
        Ok(Some(Ending::Found))
    }

    fn leave(
        &mut self,
        walk: &mut Walk<'_>,
        _visited: &mut dyn Visited,
    ) -> Result<Option<Ending>, SearchError> {
        let Numbered { set, bits, .. } = &self.path;
        bits.clear(set.number(walk.path.top_record()));
        Ok(None)
    }
}

/// Purpose of the first of two searches: accepting states in the order in which they are left.
struct Leaving(Queue);

impl Purpose for Leaving {
    fn enter(&mut self, _: &mut Walk<'_>) -> Result<Option<Ending>, SearchError> {
        Ok(None)
    }

    fn leave(
        &mut self,
        walk: &mut Walk<'_>,
        _visited: &mut dyn Visited,
    ) -> Result<Option<Ending>, SearchError> {
        if walk.path.top().is_some_and(|top| top.accepting) {
            self.0.push(walk.path.top_record())?;
        }
        Ok(None)
    }
}

/// Purpose of the second of two searches: a step to where it started.
struct Returning<'a> {
    seed: &'a [u64],
    closed: Option<Path>,
}

impl Purpose for Returning<'_> {
    fn enter(&mut self, walk: &mut Walk<'_>) -> Result<Option<Ending>, SearchError> {
        let back = (0..walk.steps.step_count()).find(|step| walk.steps.target(*step) == self.seed);
        let Some(step) = back else { return Ok(None) };
        self.closed = Some(cycle(walk, step, self.seed)?);
        Ok(Some(Ending::Found))
    }
}

/// The path from a state that is on it to its top, and a step back.
fn cycle(walk: &mut Walk<'_>, step: usize, first: &[u64]) -> Result<Path, SearchError> {
    let last = walk.steps.action(step);
    let mut builder = PathBuilder::new(walk.room(), first.len())?;
    walk.path.each_entered(&mut |record, action| {
        if builder.is_empty() && record != first { Ok(()) } else { builder.arrive(record, action) }
    })?;
    debug_assert!(!builder.is_empty(), "the step leads to the path");
    builder.leave(last)?;
    builder.finish(0)
}
