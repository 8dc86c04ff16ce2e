//! Policy of the fix-point: everything in RAM that is small, everything else on a volume.
//!
//! J. Barnat, L. Brim, P. Šimeček, "I/O efficient accepting cycle detection", CAV 2007; S. Edelkamp, P. Sanders, P. Šimeček, "Semi-external LTL model checking", CAV 2008. A breadth-first
//! search generates the states; they are sorted and numbered by a perfect hash ([`crate::files::closed_set`]); the fix-point ([`crate::bodies::passes`]) keeps bits and counters by
//! number. A run is told by its cycle among what is left (`cycle.rs`), and the way there by the layers of the first search.
//!
//! Memory: that of the first search, and after it about 10 bits per state and the path. Not on the fly: the whole space is generated before a cycle is looked for.

use std::time::Duration;

use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use super::engine::{Body, Engine, Files, Run, Threads};
use crate::bodies::passes::{self, Stand, Witness};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::{ALL_RECUR, ClosedSet, Reached, Recurs};
use crate::files::successor_graph::GraphUse;
use crate::liveness::cycle;
use crate::liveness::pass_log::{PassLog, TakenUp};
use crate::proof::ranks::RankLog;
use crate::stores::bits::Bits;
use crate::task::Observer;
use crate::traces::lasso::Lasso;
use crate::traces::path::{Path, Room};
use crate::traces::trace::path_through;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "semi-owcty",
    help: "Fix-point over a perfect hash, states on disk, exact: for infinite runs",
    search: "fix-point, exact",
    memory: "that of auto, then 10 bits",
    io: "scans, each state a few times",
    certificate: "closed set and ranks (--certify)",
    origin: "Barnat, Brim, Simecek 2007: infinite runs, several acceptance sets",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: true,
    revisits: true,
    body: Body::Passes,
    stores: &["tier"],
    options: &[],
    run: Run::Runs,
};

/// What is searched, and with what.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The system.
    pub system: &'a dyn TransitionSystem,
    /// Whether the steps of every cycle all carry every mark, or none does.
    pub weak: bool,
    /// Which states an accepting run may come back to for ever: the others are generated, and not looked at again.
    pub recurs: Recurs<'a>,
    /// How many threads expand.
    pub threads: usize,
    /// Empty; whoever made it empties it.
    pub volume: &'a Volume,
    /// Where the path of a depth-first search goes, if not there, too.
    pub stack: Option<&'a Volume>,
    /// All memory that is taken, and where a run goes that is told.
    pub room: &'a Room,
    /// Who watches.
    pub observer: &'a dyn Observer,
    /// How long to wait between commits of passes that are to last, at least.
    pub commit_every: Duration,
    /// Whether steps become a graph of numbers on the volume.
    pub graph: GraphUse,
    /// Bytes that files of this may take.
    pub disk_room: u64,
}

/// What a search found out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// A run that is accepting.
    pub lasso: Option<Lasso>,
    /// Whether the observer ended it before that was known.
    pub stopped: bool,
    /// Whether there is such a run, but the observer ended it before it was written down.
    pub untraced: bool,
    /// Rounds of the fix-point.
    pub rounds: u64,
    /// States that it has left.
    pub left: u64,
    /// States expanded since they were generated.
    pub visits: u64,
    /// Steps made since then.
    pub edges: u64,
    /// Bytes of the perfect hash.
    pub number_bytes: u64,
    /// Bytes of the closed set on the volume.
    pub stored_bytes: u64,
    /// Classes of states, if there are ranks.
    pub classes: Option<u64>,
    /// Bytes of the graph of numbers, if one was written.
    pub graph_bytes: Option<u64>,
    /// Where passes stood when they were taken up, if they were.
    pub taken_up: Option<Stand>,
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

impl Outcome {
    /// A search that was stopped before there was anything to tell is one that was stopped.
    pub(super) fn unless_stopped(outcome: Result<Outcome, SearchError>) -> Result<Outcome, SearchError> {
        match outcome {
            Err(SearchError::Stopped) => Ok(Outcome { stopped: true, ..Outcome::default() }),
            other => other,
        }
    }

    /// A run that there is, or that the observer did not wait for.
    pub(super) fn take(&mut self, lasso: Result<Lasso, SearchError>) -> Result<(), SearchError> {
        match lasso {
            Err(SearchError::Stopped) => self.untraced = true,
            other => self.lasso = Some(other?),
        }
        Ok(())
    }
}

/// Where ranks go.
type Certificate<'c> = (&'c mut RunDirectory, Tag);

fn proven(
    search: &Search<'_>,
    reached: &dyn Reached,
    mut certificate: Option<Certificate<'_>>,
) -> Result<Outcome, SearchError> {
    let Search { system, weak, volume, room, observer, .. } = *search;
    let budget = room.budget();
    // Ranks of an automaton that is not weak are of all states.
    let recurs = if certificate.is_some() && !weak { ALL_RECUR } else { search.recurs };
    let set = match &mut certificate {
        Some((directory, _)) => {
            ClosedSet::committed(reached, recurs, system.shape(), directory, budget, observer)?
        }
        None => ClosedSet::new(reached, recurs, system.shape(), (volume, budget), observer)?,
    };
    let (passes, log, taken_up) = match &mut certificate {
        Some(certificate) => ranked_passes(search, reached, &set, recurs, certificate)?,
        None => (passes::run(task(search, &set), None, None, None)?, None, None),
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

fn task<'a>(search: &Search<'a>, set: &'a ClosedSet<'a>) -> passes::Task<'a> {
    let Search { system, weak, threads, graph, disk_room, volume, observer, .. } = *search;
    let budget = search.room.budget();
    passes::Task { system, set, weak, threads, graph, room: disk_room, volume, budget, observer }
}

/// Passes that tell ranks, from where earlier ones stood; the ranks, and where that was.
fn ranked_passes(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: &ClosedSet<'_>,
    recurs: Recurs<'_>,
    (directory, tag): &mut Certificate<'_>,
) -> Result<(passes::Outcome, Option<RankLog>, Option<Stand>), SearchError> {
    let Search { system, weak, room, commit_every, .. } = *search;
    let budget = room.budget();
    let taken_up = TakenUp::of(directory, set.len(), budget)?;
    let mut log = RankLog::new(directory, *tag, system.shape(), weak, budget)?;
    let mut begun = None;
    if let Some(TakenUp { begun: there, classes, ranks }) = taken_up {
        log = log.taken_up(classes, ranks);
        begun = Some(there);
    } else if weak {
        rank_others(search, reached, recurs, &log)?;
    }
    let stood = begun.as_ref().map(|begun| begun.stand);
    let mut keeper = PassLog::new(directory, &log, commit_every, budget);
    let passes = passes::run(task(search, set), begun, Some(&log), Some(&mut keeper))?;
    Ok((passes, Some(log), stood))
}

/// A run that goes round in what is left.
fn lasso(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: ClosedSet<'_>,
    mut left: Bits,
    visits: &mut (u64, u64),
) -> Result<Lasso, SearchError> {
    let Search { system, weak, volume, room, observer, .. } = *search;
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

/// States that do not recur are of the first class. Nothing is asked of their ranks.
fn rank_others(
    search: &Search<'_>,
    reached: &dyn Reached,
    recurs: Recurs<'_>,
    log: &RankLog,
) -> Result<(), SearchError> {
    log.class(None)?;
    for layer in 0..reached.layer_count() {
        let mut outcome = Ok(());
        reached.visit_layer(layer, &mut |records| {
            if outcome.is_ok() && search.observer.stop() {
                outcome = Err(SearchError::Stopped);
            }
            for record in records.iter().filter(|record| !recurs(record)) {
                if outcome.is_ok() {
                    outcome = log.take(Records::new(record, record.len()));
                }
            }
        })?;
        outcome?;
    }
    Ok(())
}

/// A cycle with a shortest way to its first state.
pub(super) fn with_stem(
    search: &Search<'_>,
    reached: &dyn Reached,
    cycle: &Path,
) -> Result<Lasso, SearchError> {
    let Search { system, room, observer, .. } = *search;
    let first = cycle.reader()?.get(0)?.record.to_vec();
    let mut found = None;
    for layer in 0..reached.layer_count() {
        if observer.stop() {
            return Err(SearchError::Stopped);
        }
        let mut there = false;
        reached.visit_layer(layer, &mut |records| there |= records.iter().any(|record| record == first))?;
        if there {
            found = Some(layer);
            break;
        }
    }
    let layer = found.expect("what was generated is in a layer");
    let visit =
        |layer: u64, visit: &mut dyn FnMut(Records<'_>)| reached.visit_layer(layer, visit).map(|()| true);
    let stem = path_through(system, &visit, room, observer, (layer, &first))?.expect("all layers are kept");
    Lasso::after(&stem, &Lasso { path: cycle.clone(), cycle_start: 0 })
}
