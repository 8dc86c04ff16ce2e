//! Policy of passes: everything in RAM that is small, everything else on a volume.
//!
//! J. Barnat, L. Brim, P. Šimeček, "I/O efficient accepting cycle detection", CAV 2007; S. Edelkamp, P. Sanders, P. Šimeček, "Semi-external LTL model checking", CAV 2008. A breadth-first
//! search generates the states; they are sorted and numbered by a perfect hash ([`crate::files::closed_set`]); passes (`bodies/passes`) over bits and counters by
//! number take states away until the rest repeats itself (`elimination.rs`). A run is told by its cycle among what is left (`cycle.rs`), and the way there by the layers of the first search.
//!
//! Memory: that of the first search, and after it about 10 bits per state and the path. Not on the fly: the whole space is generated before a cycle is looked for.

mod checkpoint;
mod elimination;
mod reached;
mod trimming;

use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;

use self::checkpoint::{CheckpointLog, Committed};
use self::elimination::Eliminated;
use super::engine::{AskGenerated, Body, Engine, Files, Marks, Run, Store, Threads};
use crate::bodies::passes::Task;
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::{ALL_RECUR, ClosedSet, Reached, Recurs};
use crate::liveness::cycle;
use crate::liveness::semi_external::{Outcome, Search, with_stem};
use crate::proof::ranks::RankLog;
use crate::stores::bits::Bits;
use crate::traces::lasso::Lasso;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "semi-owcty",
    help: "Fixpoint over a perfect hash, states on disk, exact: for infinite runs",
    search: "fixpoint, exact",
    memory: "that of auto, then 10 bits",
    io: "scans, each state a few times",
    certificate: "closed set and ranks (--certify)",
    origin: "Barnat, Brim, Simecek 2007: infinite runs, several acceptance sets",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: true,
    revisits: true,
    body: Body::Passes,
    layers: false,
    stores: &[Store::Tier],
    options: &[],
    run: Run::Generated { marks: Marks::Any, run: answer },
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
/// If memory or the volume do not suffice. A budget that is used up is an error here: what was generated is known, what follows from it is not.
pub fn run(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    Outcome::unless_stopped(proven(search, reached, None))
}

/// The same, and if there is no accepting run, ranks that prove it are committed in a directory, whose volume is that of the search. Its files are marked with the tag. A search
/// that was interrupted goes on from its last commit: when all states were in order and had numbers, or between two passes.
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

fn proven(
    search: &Search<'_>,
    reached: &dyn Reached,
    mut certificate: Option<Certificate<'_>>,
) -> Result<Outcome, SearchError> {
    let Search { system, acceptance, volume, room, observer, .. } = *search;
    let weak = acceptance.is_weak();
    let budget = room.budget();
    // Ranks of an automaton that is not weak are of all states.
    let may_recur = |record: &[u64]| acceptance.recurs(record);
    let recurs = if certificate.is_some() && !weak { ALL_RECUR } else { &may_recur };
    let set = match &mut certificate {
        Some((directory, _)) => {
            ClosedSet::committed(reached, recurs, system.shape(), directory, budget, observer)?
        }
        None => ClosedSet::new(reached, recurs, system.shape(), (volume, budget), observer)?,
    };
    let (passes, log, taken_up) = match &mut certificate {
        Some(certificate) => ranked_passes(search, reached, &set, recurs, certificate)?,
        None => (elimination::run(task(search, &set), None, None, None)?, None, None),
    };
    let mut outcome = Outcome {
        stopped: passes.left.is_none(),
        rounds: passes.rounds,
        visits: passes.visits,
        edges: passes.edges,
        number_bytes: set.number_bytes() as u64,
        stored_bytes: set.stored_bytes(),
        graph_bytes: passes.graph_bytes,
        taken_up,
        ..Outcome::default()
    };
    let Some(left) = passes.left else { return Ok(outcome) };
    outcome.left = left.count();
    let mut visits = (0, 0);
    match (&mut certificate, log) {
        (Some((directory, _)), Some(log)) if outcome.left == 0 => {
            drop((left, set));
            outcome.classes = Some(log.finish(directory)?.count());
        }
        _ if outcome.left == 0 => {}
        (certificate, log) => {
            drop(log);
            outcome.take(lasso(search, reached, set, left, &mut visits))?;
            (outcome.visits, outcome.edges) = (outcome.visits + visits.0, outcome.edges + visits.1);
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

fn task<'a>(search: &Search<'a>, set: &'a ClosedSet<'a>) -> Task<'a> {
    let Search { system, acceptance, threads, graph, disk_room, volume, observer, .. } = *search;
    let budget = search.room.budget();
    Task {
        system,
        set,
        only_marked: acceptance.is_weak(),
        threads,
        graph,
        room: disk_room,
        volume,
        budget,
        observer,
    }
}

/// Passes that tell ranks, from the last checkpoint on; the ranks, and how many rounds were over there.
fn ranked_passes(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: &ClosedSet<'_>,
    recurs: Recurs<'_>,
    (directory, tag): &mut Certificate<'_>,
) -> Result<(Eliminated, Option<RankLog>, Option<u64>), SearchError> {
    let Search { system, acceptance, room, commit_every, .. } = *search;
    let weak = acceptance.is_weak();
    let budget = room.budget();
    let committed = Committed::of(directory, set.len(), budget)?;
    let mut log = RankLog::new(directory, *tag, system.shape(), weak, budget)?;
    let mut checkpoint = None;
    if let Some(Committed { checkpoint: there, classes, ranks }) = committed {
        log = log.taken_up(classes, ranks);
        checkpoint = Some(there);
    } else if weak {
        log.take_others(reached, recurs, search.observer)?;
    }
    let rounds = checkpoint.as_ref().map(|checkpoint| checkpoint.position.rounds);
    let mut checkpoints = CheckpointLog::new(directory, &log, commit_every, budget);
    let passes = elimination::run(task(search, set), checkpoint, Some(&log), Some(&mut checkpoints))?;
    Ok((passes, Some(log), rounds))
}

/// A run that goes round in what is left.
fn lasso(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: ClosedSet<'_>,
    mut left: Bits,
    visits: &mut (u64, u64),
) -> Result<Lasso, SearchError> {
    let Search { system, acceptance, volume, room, observer, .. } = *search;
    let weak = acceptance.is_weak();
    let budget = room.budget();
    let mut expander = Expander::new(system, &set, weak, 1, budget)?;
    // On a cycle of marked steps every mark is met.
    let mark_count = if weak { 0 } else { system.shape().mark_count };
    let marks = if mark_count >= 64 { u64::MAX } else { (1 << mark_count) - 1 };
    let cycle = cycle::find(&mut expander, &mut left, marks, volume, room, observer)?;
    *visits = (expander.visits, expander.edges);
    drop((expander, left));
    drop(set);
    with_stem(search, reached, &cycle)
}
