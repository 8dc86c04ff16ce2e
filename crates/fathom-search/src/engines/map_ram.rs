//! Policy of passes: which accepting state is its own greatest accepting predecessor?
//!
//! L. Brim, I. Černá, P. Moravec, J. Šimša, "Accepting predecessors are better than back edges in distributed LTL model-checking", FMCAD 2004: maximal accepting predecessors. States are numbered
//! ([`crate::files::closed_set`]), and the order of accepting states is that of their numbers. In rounds:
//!
//! ```text
//! propagate   every state carries the greatest candidate that leads to it, by one step or more
//! found       a candidate that carries itself is on a cycle
//! else        what is carried by some state is on no accepting cycle: such a candidate would carry a greater one, and so would everything that it leads to. They are candidates no more
//! and         a state that carries nothing is on no accepting cycle: it is left no more
//! until       nothing is carried: there is no accepting run
//! ```
//! A candidate is at first every state with a step that carries the mark, and it is handed on along these steps: acceptance may be of steps. There is one mark at most; of several, one is made by counting. If the
//! automaton is *weak*, only marked steps count, and every cycle is accepting.
//!
//! A round is propagated to its end before a cycle is looked for, so that the greatest candidate on one is found whatever the number of threads; where the cycle goes is asked then (`liveness/cycle.rs`).
//!
//! Memory: that of the first search, and after it a word and about 6 bits per state. Rounds: as many as there are candidates, at worst; mostly few. Each comes to the same values in whatever order states have
//! their turns, however often: unlike counts, the greatest value bears to be offered twice.

use super::engine::{Body, Engine, Files, Marks, Run, Store, Threads};
use crate::bodies::passes::values::Held;
use crate::bodies::passes::{Passes, Rule, Task};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::{ClosedSet, Reached};
use crate::liveness::cycle;
use crate::liveness::semi_external::{Outcome, Search, with_stem};
use crate::stores::bits::Bits;
use crate::stores::greatest::Greatest;
use crate::traces::lasso::Lasso;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "map-ram",
    help: "Greatest accepting predecessors in memory, states on disk, exact: for infinite runs",
    search: "fixpoint, exact",
    memory: "that of auto, then 9 bytes",
    io: "scans, each state a few times",
    certificate: "none",
    origin: "Brim, Cerna, Moravec, Simsa 2004: infinite runs; for comparison",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: false,
    revisits: true,
    body: Body::Passes,
    layers: false,
    stores: &[Store::Tier],
    options: &[],
    run: Run::Generated { marks: Marks::One, run: |ask| run(ask.search, ask.reached) },
};

/// Looks for an accepting run among the states that a complete breadth-first search has reached, of a system with one mark at most.
///
/// # Errors
/// If memory or the volume do not suffice.
pub fn run(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    Outcome::unless_stopped(searched(search, reached))
}

fn searched(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    let Search { system, acceptance, threads, graph, disk_room, volume, room, observer, .. } = *search;
    let recurs = |record: &[u64]| acceptance.recurs(record);
    assert!(system.shape().mark_count <= 1, "several marks are counted before");
    let budget = room.budget();
    let set = ClosedSet::new(reached, &recurs, system.shape(), (volume, budget), observer)?;
    let task = Task {
        system,
        set: &set,
        only_marked: acceptance.is_weak(),
        threads,
        graph,
        room: disk_room,
        volume,
        budget,
        observer,
    };
    let mut passes = Passes::new(task, false)?;
    let mut left = Bits::new(budget, set.len(), true)?;
    let found = rounds(&mut passes, &mut left)?;
    let (visits, edges, graph_bytes) = passes.figures();
    let mut outcome = Outcome {
        stopped: matches!(found, Found::Stopped),
        rounds: passes.round,
        left: left.count(),
        visits,
        edges,
        number_bytes: set.number_bytes() as u64,
        stored_bytes: set.stored_bytes(),
        graph_bytes,
        ..Outcome::default()
    };
    passes.remove_graph()?;
    drop(passes);
    if let Found::Itself(state) = found {
        let mut figures = (0, 0);
        outcome.take(lasso(search, reached, set, (left, state), &mut figures))?;
        (outcome.visits, outcome.edges) = (visits + figures.0, edges + figures.1);
    }
    Ok(outcome)
}

/// What rounds came to.
enum Found {
    /// The number of a state that carries itself.
    Itself(u64),
    Nothing,
    Stopped,
}

/// The greatest candidate goes along all steps, and a candidate along those with the mark.
struct Carrying<'a> {
    candidates: &'a Bits,
    /// The mark, if there is one.
    mark: u64,
}

/// What is carried of a state: never 0.
fn carried(state: u64) -> u64 {
    state + 1
}

impl Rule for Carrying<'_> {
    type Turn = Held;
    type Value = u64;
    type Number = u64;

    #[inline]
    fn along(&self, held: Held, marks: u64, _: u64) -> Result<Option<u64>, SearchError> {
        let marked = marks & self.mark == self.mark && self.candidates.get(held.state);
        let value = if marked { held.value.max(carried(held.state)) } else { held.value };
        Ok((value > 0).then_some(value))
    }
}

/// Rounds, until a state carries itself or nothing is carried. What is left then may be on an accepting cycle.
fn rounds(passes: &mut Passes<'_>, left: &mut Bits) -> Result<Found, SearchError> {
    let (budget, states) = (passes.task.budget, passes.task.set.len());
    let mark = (1 << passes.task.system.shape().mark_count) - 1;
    let candidates = Bits::new(budget, states, true)?;
    let mut greatest = Greatest::new(budget, states)?;
    loop {
        // This round, and as many again as there were: nobody knows better.
        let finished = passes.write_graph_if_it_pays(left, passes.round + 1)?
            && passes.propagate_all(left, &greatest, &Carrying { candidates: &candidates, mark })?;
        if !finished {
            return Ok(Found::Stopped);
        }
        passes.round += 1;
        if let Some(state) = (0..states).rev().find(|state| greatest.get(*state) == carried(*state)) {
            return Ok(Found::Itself(state));
        }
        let mut any = false;
        for state in 0..states {
            match greatest.get(state) {
                0 => left.clear(state),
                value => {
                    any = true;
                    candidates.clear(value - 1)
                }
            };
        }
        if !any {
            return Ok(Found::Nothing);
        }
        greatest.clear_all();
    }
}

/// A run that goes round through a state.
fn lasso(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: ClosedSet<'_>,
    (left, state): (Bits, u64),
    figures: &mut (u64, u64),
) -> Result<Lasso, SearchError> {
    let Search { system, acceptance, volume, room, observer, .. } = *search;
    let weak = acceptance.is_weak();
    let mut expander = Expander::new(system, &set, weak, 1, room.budget())?;
    // Of a weak automaton only marked steps are taken.
    let marks = if weak { 0 } else { (1 << system.shape().mark_count) - 1 };
    let first = record_of(&set, state)?;
    let cycle = cycle::through(&mut expander, &first, left, marks, volume, room, observer)?;
    *figures = (expander.visits, expander.edges);
    drop(expander);
    drop(set);
    with_stem(search, reached, &cycle)
}

/// The state of a number.
fn record_of(set: &ClosedSet<'_>, state: u64) -> Result<Vec<u64>, SearchError> {
    let (mut found, mut numbers) = (None, Vec::new());
    set.scan(&mut |records| {
        numbers.clear();
        set.numbers(records, &mut numbers);
        found = numbers.iter().position(|number| *number == state).map(|place| records.get(place).to_vec());
        Ok(found.is_none())
    })?;
    Ok(found.expect("every number below their count is that of a state"))
}
