//! Policy of passes: nothing in RAM that grows with the states.
//!
//! J. Barnat, L. Brim, P. Šimeček, "I/O efficient accepting cycle detection", CAV 2007: the fix-point of `semi-owcty` with everything that is known of states in sorted files (`bodies/passes/by_file.rs`). What a step brings is written
//! down with its target, sorted, summed and merged with what is known of the states that are left. A run is told by its cycle among what is left, found by waves over sorted files (`liveness/cycle_on_disk.rs`), and the way there by the
//! layers of the first search.
//!
//! Memory: that of the first search, and after it whatever there is: buffers. I/O: per round and mark a sort of all steps between states that are left, and for each level of reaching and trimming a merge with what it touches. Not on
//! the fly. Time: each pass expands a state once.

mod elimination;

use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::{Run, Tag};
use fathom_disk::value::Join;

use self::elimination::{Elimination, MARKED, Numbers, Passes};
use super::engine::{AskGenerated, Body, Engine, Files, Marks, Run as EngineRun, Store, Threads};
use crate::bodies::passes::by_file::{Kept, Snapshot};
use crate::error::SearchError;
use crate::expansion::threads_within;
use crate::files::closed_set::{ALL_RECUR, Reached, Recurs};
use crate::files::value_runs::ValueRuns;
use crate::liveness::cycle_on_disk;
use crate::liveness::lasting::{Committed, PassCommits};
use crate::liveness::rounds::{self, Position, Wanted};
use crate::liveness::semi_external::{Outcome, Search, with_stem};
use crate::proof::ranks::RankLog;
use crate::traces::lasso::Lasso;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "owcty",
    help: "Fixpoint over sorted files, nothing in memory per state, exact: for infinite runs",
    search: "fixpoint, exact",
    memory: "that of auto, then none",
    io: "sorts of all steps, a few times",
    certificate: "closed set and ranks (--certify)",
    origin: "Barnat, Brim, Simecek 2007: infinite runs, however many states",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: true,
    revisits: true,
    body: Body::Passes,
    layers: false,
    stores: &[Store::Tier],
    options: &[],
    run: EngineRun::Generated { marks: Marks::Any, run: answer },
};

/// Searches as the registry asks.
fn answer(ask: AskGenerated<'_>) -> Result<Outcome, SearchError> {
    match ask.lasting {
        Some((directory, tag)) => run_certified(ask.search, ask.reached, directory, tag),
        None => run(ask.search, ask.reached),
    }
}

/// Looks for an accepting run among the states that a complete breadth-first search has reached.
///
/// # Errors
/// If the volume does not suffice, or memory does not for a single state.
pub fn run(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    Outcome::unless_stopped(proven(search, reached, None))
}

/// The same, and if there is no accepting run, ranks that prove it are committed in a directory, whose volume is that of the search. Its files are marked with the tag. A search
/// that was interrupted goes on from its last commit: between two passes, or between two merges of one.
pub fn run_certified(
    search: &Search<'_>,
    reached: &dyn Reached,
    directory: &mut RunDirectory,
    tag: Tag,
) -> Result<Outcome, SearchError> {
    Outcome::unless_stopped(proven(search, reached, Some((directory, tag))))
}

/// Where ranks go.
type Certificate<'c> = (&'c mut RunDirectory, Tag);

/// What its cursors begin with: no other engine's do.
const VERSION: u64 = u64::from_le_bytes(*b"owcty  2");
/// What files of values begin with.
const PREFIX: &str = "kept";
/// The part of memory that the states are put in order with: one in so many.
const ORDER_PART: usize = 4;

fn proven(
    search: &Search<'_>,
    reached: &dyn Reached,
    mut certificate: Option<Certificate<'_>>,
) -> Result<Outcome, SearchError> {
    let Search { system, acceptance, volume, room, .. } = *search;
    let weak = acceptance.is_weak();
    let may_recur = |record: &[u64]| acceptance.recurs(record);
    // Ranks of an automaton that is not weak are of all states.
    let recurs = if certificate.is_some() && !weak { ALL_RECUR } else { &may_recur };
    let place = ValueRuns::new(volume, room.budget(), system.shape(), Join::SumAndBit, PREFIX)?;
    let (mut outcome, kept, ranks) = match &mut certificate {
        Some((directory, tag)) => {
            let committed = Committed::of(directory, VERSION)?;
            if committed.is_none() && directory.committed().is_some() {
                // Whatever another engine has left there is of no use.
                directory.commit(&[], &[])?;
            }
            let ranks = RankLog::new(directory, *tag, system.shape(), weak, room.budget())?;
            ranked_passes(search, reached, recurs, (&place, committed), directory, ranks)?
        }
        None => {
            let kept = Kept { recurs, run: in_order(search, reached, recurs, &place)? };
            let (outcome, kept) = passes(search, &place, begun(search, kept), None)?;
            (outcome, kept, None)
        }
    };
    if outcome.stopped {
        return Ok(outcome);
    }
    outcome.left = kept.run.count();
    match (&mut certificate, ranks) {
        (Some((directory, _)), Some(ranks)) if outcome.left == 0 && !outcome.unranked => {
            drop(kept);
            outcome.classes = Some(ranks.finish(directory)?.count());
        }
        (certificate, ranks) if outcome.left == 0 => {
            drop(ranks);
            if let Some((directory, _)) = certificate {
                // Ranks of states that were taken away for a request prove nothing.
                directory.commit(&[], &[])?;
            }
        }
        (certificate, ranks) => {
            drop(ranks);
            let mut figures = (0, 0);
            outcome.take(lasso(search, reached, kept, &mut figures))?;
            (outcome.visits, outcome.edges) = (outcome.visits + figures.0, outcome.edges + figures.1);
            if let Some((directory, _)) = certificate
                && !outcome.untraced
            {
                // There is nothing to prove, and nothing to go on with.
                directory.commit(&[], &[])?;
            }
        }
    }
    Ok(outcome)
}

/// What passes go on from.
struct Begun<'r> {
    kept: Kept<'r>,
    position: Position,
    numbers: Numbers,
    snapshot: Option<Snapshot>,
}

fn begun<'r>(search: &Search<'_>, kept: Kept<'r>) -> Begun<'r> {
    let position = Position { before: kept.run.count(), ..Position::default() };
    let by_state = search.acceptance.is_of_states() && !search.acceptance.is_weak();
    let numbers = if by_state { Numbers::BY_STATE } else { Numbers::UNKNOWN };
    Begun { kept, position, numbers, snapshot: None }
}

/// Passes, until nothing changes: what they came to, and the states that are left.
fn passes<'a>(
    search: &Search<'_>,
    place: &ValueRuns,
    begun: Begun<'a>,
    mut lasting: Option<(&RankLog, PassCommits<'_>)>,
) -> Result<(Outcome, Kept<'a>), SearchError> {
    let Search { system, acceptance, threads, disk_room, observer, .. } = *search;
    let weak = acceptance.is_weak();
    let threads = threads_within(place.budget(), system.shape(), threads);
    let passes = Passes { system, only_marked: weak, threads, place, room: disk_room, observer };
    let Begun { kept, mut position, numbers, snapshot: taken_up } = begun;
    let ranks = lasting.as_ref().map(|(ranks, _)| *ranks);
    let stored_bytes = kept.run.bytes();
    let log = lasting.as_mut().map(|(_, log)| log);
    let mut left = Elimination { passes, kept, numbers, taken_up, ranks, log, visits: 0, edges: 0 };
    let marks = if weak { 0 } else { system.shape().mark_count };
    let wanted = Wanted { marks, pairs: system.shape().pair_count, weak };
    let finished = rounds::run(&mut left, &mut position, wanted)?;
    let Elimination { kept, visits, edges, numbers, .. } = left;
    let outcome = Outcome {
        unranked: numbers.served,
        stopped: !finished,
        rounds: position.rounds,
        visits,
        edges,
        stored_bytes,
        ..Outcome::default()
    };
    Ok((outcome, kept))
}

/// Passes that tell ranks, from the last checkpoint on: what they came to, the states that are left, and the ranks.
fn ranked_passes<'a>(
    search: &Search<'a>,
    reached: &dyn Reached,
    recurs: Recurs<'a>,
    (place, committed): (&ValueRuns, Option<Committed>),
    directory: &mut RunDirectory,
    ranks: RankLog,
) -> Result<(Outcome, Kept<'a>, Option<RankLog>), SearchError> {
    let taken_up = committed.as_ref().map(|committed| committed.position.rounds);
    let (ranks, begun) = match committed {
        Some(Committed { position, kept, note, snapshot, classes, ranks: runs, made, files }) => {
            place.resume(made);
            place.set_committed(files);
            let kept = Kept { recurs, run: place.open(&kept)? };
            let numbers = Numbers::of_bits(note);
            (ranks.taken_up(classes, runs), Begun { kept, position, numbers, snapshot })
        }
        None => {
            let kept = Kept { recurs, run: in_order(search, reached, recurs, place)? };
            if search.acceptance.is_weak() {
                ranks.take_others(reached, recurs, search.observer)?;
            }
            (ranks, begun(search, kept))
        }
    };
    let mut log = PassCommits::new(directory, VERSION, Some(&ranks), place, search.commit_every);
    if taken_up.is_none() {
        log.commit(begun.position, &begun.kept.run, begun.numbers.to_bits(), None)?;
    }
    let (outcome, kept) = passes(search, place, begun, Some((&ranks, log)))?;
    Ok((Outcome { taken_up, ..outcome }, kept, Some(ranks)))
}

/// What was reached and may recur, in one run; their numbers tell which are accepting, if that is a matter of states.
fn in_order(
    search: &Search<'_>,
    reached: &dyn Reached,
    recurs: Recurs<'_>,
    place: &ValueRuns,
) -> Result<Run, SearchError> {
    let Search { volume, observer, acceptance, .. } = *search;
    let of_states = acceptance.is_of_states();
    let (budget, words) = (place.budget(), place.words());
    let number = |key: &[u64]| u64::from(of_states && acceptance.is_accepting(key)) * MARKED;
    let mut writer = place.writer()?;
    reached.visit_sorted(volume, budget, observer, budget.free() / ORDER_PART, &mut |keys| {
        if observer.stop() {
            return Err(SearchError::Stopped);
        }
        let recurring = keys.chunks_exact(words).filter(|key| recurs(key));
        Ok(recurring.into_iter().try_for_each(|key| writer.push_with(key, &[number(key)]))?)
    })?;
    Ok(writer.finish_run(false)?)
}

/// A run that goes round in what is left.
fn lasso(
    search: &Search<'_>,
    reached: &dyn Reached,
    kept: Kept<'_>,
    figures: &mut (u64, u64),
) -> Result<Lasso, SearchError> {
    let Search { system, acceptance, .. } = *search;
    // On a cycle of marked steps every mark is met.
    let mark_count = if acceptance.is_weak() { 0 } else { system.shape().mark_count };
    let marks = if mark_count >= 64 { u64::MAX } else { (1 << mark_count) - 1 };
    let cycle = cycle_on_disk::find(search, &kept, marks, figures)?;
    drop(kept);
    with_stem(search, reached, &cycle)
}
