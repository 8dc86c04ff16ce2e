//! Policy of passes: which accepting state is its own greatest accepting predecessor, with nothing in RAM that grows with the states?
//!
//! J. Barnat, L. Brim, P. Šimeček, M. Weber, "Revisiting resistance speeds up I/O-efficient LTL model checking", TACAS 2008: maximal accepting predecessors (Brim, Černá, Moravec, Šimša 2004) over sorted files
//! (`bodies/passes/by_file.rs`). In rounds:
//!
//! ```text
//! propagate   every state carries the greatest candidate that leads to it, by one step or more
//! found       a candidate that is brought its own number is on a cycle: at once, whatever else there is to do
//! else        what is carried by some state is on no accepting cycle: such a candidate would carry a greater one, and so would everything that it leads to. They are candidates no more
//! and         a state that carries nothing is on no accepting cycle: it is left no more
//! until       nothing is carried: there is no accepting run
//! ```
//! The greatest of two values does not depend on how often it is asked for, so states may be expanded again and again, and with less than what is known of them: what is brought to states is searched in RAM over several levels before it is
//! merged with the files (`ahead.rs`), unless the user wants it on disk, level by level.
//!
//! There is one mark at most; of several, one is made by counting. If the automaton is *weak*, only marked steps count, and every cycle is accepting.
//!
//! Memory: that of the first search, and after it whatever there is: buffers, and the table. I/O: a sort of what is brought to states, and for each merge what it touches. Rounds: as many as there are candidates, at worst; mostly few.

mod ahead;
mod carried;
mod order;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::set::KeyStream;
use fathom_disk::value::Join;

use self::ahead::{Ahead, CandidateTable};
use self::carried::{Carried, HandOn};
use self::order::{Numbering, Order};
use super::engine::{
    AskGenerated, Body, Chosen, Engine, EngineOption, Files, Marks, OptionValue, Run, Store, Threads,
};
use crate::bodies::passes::by_file::{ByFile, Kept, Snapshot};
use crate::bodies::passes::{Watched, propagate};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::expansion::threads_within;
use crate::files::closed_set::Reached;
use crate::files::value_runs::{Deltas, ValueRuns};
use crate::liveness::cycle_on_disk;
use crate::liveness::lasting::{Committed, Lasting, PassCommits};
use crate::liveness::rounds::Position;
use crate::liveness::semi_external::{Outcome, Search, with_stem};
use crate::traces::lasso::Lasso;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "map",
    help: "Greatest accepting predecessors over sorted files, on the fly, exact: for infinite runs",
    search: "fixpoint, exact",
    memory: "that of auto, then none",
    io: "sorts of steps, merges, in rounds",
    certificate: "none",
    origin: "Barnat, Brim, Simecek, Weber 2008: infinite runs, however many states",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: true,
    revisits: true,
    body: Body::Passes,
    layers: false,
    stores: &[Store::Tier],
    options: &[
        EngineOption {
            key: "candidates",
            value: OptionValue::OneOf(&["ram", "disk"]),
            required: false,
            help: "what steps bring to states is searched in RAM over several levels, or sorted level by level",
        },
        EngineOption {
            key: "order",
            value: OptionValue::OneOf(&["keys", "layers"]),
            required: false,
            help: "the order of accepting states: that of their records, or of breadth-first search",
        },
    ],
    run: Run::Generated { marks: Marks::One, run },
};

/// What its cursors begin with: no other engine's do.
const VERSION: u64 = u64::from_le_bytes(*b"map    1");
/// What files of values begin with.
const PREFIX: &str = "carried";
/// The part of memory that the table gets: one in so many.
const TABLE_PART: usize = 8;
/// With less memory than this there is no table.
const TABLE_BUDGET: usize = 256 << 10;

/// Looks for an accepting run among the states that a complete breadth-first search has reached, of a system with one mark at most. A search that is to last goes on from its last commit: between two rounds, or two merges of one.
///
/// # Errors
/// If the volume does not suffice, or memory does not for a single state.
pub fn run(ask: AskGenerated<'_>) -> Result<Outcome, SearchError> {
    Outcome::unless_stopped(searched(ask))
}

fn searched(ask: AskGenerated<'_>) -> Result<Outcome, SearchError> {
    let AskGenerated { search, reached, chosen, mut lasting } = ask;
    let Search { system, acceptance, volume, room, .. } = *search;
    let recurs = |record: &[u64]| acceptance.recurs(record);
    assert!(system.shape().mark_count <= 1, "several marks are counted before");
    let place = ValueRuns::new(volume, room.budget(), system.shape(), Join::Max, PREFIX)?;
    let committed = match &mut lasting {
        Some((directory, _)) => {
            let committed = Committed::of(directory, VERSION)?;
            if committed.is_none() && directory.committed().is_some() {
                // Whatever another engine has left there is of no use.
                directory.commit(&[], &[])?;
            }
            committed
        }
        None => None,
    };
    let taken_up = committed.as_ref().map(|committed| committed.position.rounds);
    let order = committed.as_ref().map_or_else(|| chosen_order(chosen), |it| Order::of_word(it.note));
    let numbering = Numbering { search, reached, place: &place, order };
    let (kept, position, snapshot) = match committed {
        Some(Committed { position, kept, snapshot, made, files, .. }) => {
            place.resume(made);
            place.set_committed(files);
            (Kept { recurs: &recurs, run: place.open(&kept)? }, position, snapshot)
        }
        None => (Kept { recurs: &recurs, run: numbering.numbered(&recurs)? }, Position::default(), None),
    };
    let mut outcome = Outcome { taken_up, stored_bytes: kept.run.bytes(), ..Outcome::default() };
    let found = {
        let directory = lasting.as_mut().map(|(directory, _)| &mut **directory);
        let mut log = directory.map(|it| PassCommits::new(it, VERSION, None, &place, search.commit_every));
        let tables = chosen.option("candidates") != Some("disk") && place.budget().limit() >= TABLE_BUDGET;
        let rounds = Rounds { search, numbering, log: log.as_mut(), taken_up: snapshot, tables };
        rounds.run(kept, position, &mut outcome)?
    };
    if let Found::Itself(state, kept) = found {
        let mut figures = (0, 0);
        outcome.left = kept.run.count();
        outcome.take(lasso(search, reached, *kept, &state, &mut figures))?;
        (outcome.visits, outcome.edges) = (outcome.visits + figures.0, outcome.edges + figures.1);
    }
    if let Some((directory, _)) = lasting
        && !outcome.stopped
        && !outcome.untraced
    {
        // There is nothing to go on with.
        directory.commit(&[], &[])?;
    }
    Ok(outcome)
}

/// The order that the user wants; else that of layers. In 2 MiB, with one thread, szymanski.2 (formula 3) took 80,060 visits so, and 683,572 in the order of records; peterson.2 (formula 4) 505,631 and 1,032,465.
fn chosen_order(chosen: &Chosen) -> Order {
    match chosen.option("order") {
        Some("keys") => Order::Keys,
        _ => Order::Layers,
    }
}

/// What rounds came to.
enum Found<'a> {
    /// A state that carries itself, among those that are left.
    Itself(Vec<u64>, Box<Kept<'a>>),
    Nothing,
    Stopped,
}

/// Rounds, one after the other.
struct Rounds<'s, 'k, 'd> {
    search: &'s Search<'s>,
    numbering: Numbering<'s>,
    log: Option<&'k mut PassCommits<'d>>,
    /// What the first one goes on from.
    taken_up: Option<Snapshot>,
    /// Whether what is brought to states may wait in a table.
    tables: bool,
}

impl Rounds<'_, '_, '_> {
    /// Until a state carries itself or nothing is carried.
    fn run<'a>(
        mut self,
        mut kept: Kept<'a>,
        mut position: Position,
        outcome: &mut Outcome,
    ) -> Result<Found<'a>, SearchError> {
        let (place, order) = (self.numbering.place, self.numbering.order);
        loop {
            if let Some(log) = self.log.as_deref_mut().filter(|log| log.is_due() || position.rounds == 0)
                && self.taken_up.is_none()
            {
                log.commit(position, &kept.run, order.to_word(), None)?;
            }
            let found = AtomicU64::new(0);
            let carried = match self.propagated(&kept, position, &found, outcome) {
                // A state has more steps than there is memory for beside the table: it can be done without.
                Err(SearchError::Budget(_)) if self.tables => {
                    self.tables = false;
                    found.store(0, Ordering::Relaxed);
                    self.propagated(&kept, position, &found, outcome)?
                }
                other => other?,
            };
            let Some(carried) = carried else {
                outcome.stopped = true;
                return Ok(Found::Stopped);
            };
            position.rounds += 1;
            outcome.rounds = position.rounds;
            let number = found.into_inner();
            let left = if number > 0 { None } else { self.numbering.struck(&kept, &carried)? };
            carried.remove(place)?;
            match left {
                Some(left) => place.retire(std::mem::replace(&mut kept.run, left))?,
                None if number > 0 => {
                    let state = state_of(place, &kept, number)?;
                    return Ok(Found::Itself(state, Box::new(kept)));
                }
                None => return Ok(Found::Nothing),
            }
        }
    }

    /// What states carry when nothing changes any more, or a state carries itself; none if the observer stopped it.
    fn propagated(
        &mut self,
        kept: &Kept<'_>,
        position: Position,
        found: &AtomicU64,
        outcome: &mut Outcome,
    ) -> Result<Option<Deltas>, SearchError> {
        let Search { system, acceptance, threads, disk_room, observer, .. } = *self.search;
        let weak = acceptance.is_weak();
        let (place, note) = (self.numbering.place, self.numbering.order.to_word());
        let budget = place.budget();
        let by_state = weak || acceptance.is_of_states() || system.shape().mark_count == 0;
        let mut files = ByFile::new(kept, place, Carried { by_state, found }, observer, disk_room);
        if let Some(snapshot) = self.taken_up.take() {
            files = files.taken_up(&snapshot)?;
        }
        let values = Ahead { files, table: self.table()?.map(Mutex::new), found };
        let threads = threads_within(budget, system.shape(), threads);
        let expander = |_| Expander::new(system, kept, weak, threads, budget);
        let mut expanders = (0..threads).map(expander).collect::<Result<Vec<_>, _>>()?;
        let mark = (1 << system.shape().mark_count) - 1;
        let log = &mut self.log;
        let rule = HandOn { mark };
        let mut rule = Lasting { rule, values: &values, kept, position, note, ranks: None, log };
        let watched = Watched { observer, budget, round: position.rounds };
        let finished = propagate(watched, &mut expanders, &values, &mut rule)?;
        for expander in &expanders {
            outcome.visits += expander.visits;
            outcome.edges += expander.edges;
        }
        drop(expanders);
        if finished || found.load(Ordering::Relaxed) > 0 {
            values.files.into_sums().map(Some)
        } else {
            Ok(None)
        }
    }

    /// A table for what is brought to states, unless the user wants that on disk, or there is little memory.
    fn table(&self) -> Result<Option<CandidateTable>, SearchError> {
        let (budget, words) = (self.numbering.place.budget(), self.numbering.place.words());
        if !self.tables {
            return Ok(None);
        }
        Ok(CandidateTable::within(budget, words, budget.free() / TABLE_PART)?)
    }
}

/// The state of a number.
fn state_of(place: &ValueRuns, kept: &Kept<'_>, number: u64) -> Result<Vec<u64>, SearchError> {
    let mut scan = place.scan(&kept.run)?;
    while scan.advance()? {
        let mut keys = scan.keys().chunks_exact(scan.words()).zip(scan.values());
        if let Some((key, _)) = keys.find(|(_, other)| **other == number) {
            return Ok(key.to_vec());
        }
    }
    unreachable!("a number that is carried is that of a state")
}

/// A run that goes round through a state.
fn lasso(
    search: &Search<'_>,
    reached: &dyn Reached,
    kept: Kept<'_>,
    state: &[u64],
    figures: &mut (u64, u64),
) -> Result<Lasso, SearchError> {
    // Of a weak automaton only marked steps are taken.
    let marks = if search.acceptance.is_weak() { 0 } else { (1 << search.system.shape().mark_count) - 1 };
    let cycle = cycle_on_disk::through(search, &kept, state, marks, figures)?;
    drop(kept);
    with_stem(search, reached, &cycle)
}
