//! Policy of the fix-point: everything in RAM that is small, everything else on a volume.
//!
//! J. Barnat, L. Brim, P. Šimeček, "I/O efficient accepting cycle detection", CAV 2007; S. Edelkamp, P. Sanders, P. Šimeček, "Semi-external LTL model checking", CAV 2008. A breadth-first
//! search generates the states; they are sorted and numbered by a perfect hash ([`crate::closed_set`]); the fix-point ([`crate::fix_point`]) keeps bits and counters by
//! number. A run is told by its cycle among what is left (`cycle.rs`), and the way there by the layers of the first search.
//!
//! Memory: that of the first search, and after it about 10 bits per state and the path. Not on the fly: the whole space is generated before a cycle is looked for.

use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use crate::bits::Bits;
use crate::closed_set::{ALL_RECUR, ClosedSet, Reached, Recurs};
use crate::cycle;
use crate::error::SearchError;
use crate::expander::Expander;
use crate::fix_point::{self, Stand, Witness};
use crate::lasso::Lasso;
use crate::layer_loop::Observer;
use crate::pass_log::{PassLog, TakenUp};
use crate::ranks::RankLog;
use crate::successor_graph::GraphUse;
use crate::trace::path_through;

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
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
    /// How long to wait between commits of passes that are to last, at least.
    pub commit_every: Duration,
    /// Whether steps become a graph of numbers on the volume.
    pub graph: GraphUse,
    /// Bytes that this may take.
    pub room: u64,
}

/// What a search found out.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// A run that is accepting.
    pub lasso: Option<Lasso>,
    /// Whether the observer ended it before that was known.
    pub stopped: bool,
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
    proven(search, reached, None)
}

/// The same, and if there is no accepting run, ranks that prove it are committed in a directory, whose volume is that of the search. Its files are marked with the tag. A search
/// that was interrupted goes on from its last commit: when all states were in order and had numbers, or between two passes.
pub fn run_certified(
    search: &Search<'_>,
    reached: &dyn Reached,
    directory: &mut RunDirectory,
    tag: Tag,
) -> Result<Outcome, SearchError> {
    proven(search, reached, Some((directory, tag)))
}

/// Where ranks go.
type Certificate<'c> = (&'c mut RunDirectory, Tag);

fn proven(
    search: &Search<'_>,
    reached: &dyn Reached,
    mut certificate: Option<Certificate<'_>>,
) -> Result<Outcome, SearchError> {
    let Search { system, weak, volume, budget, .. } = *search;
    // Ranks of an automaton that is not weak are of all states.
    let recurs = if certificate.is_some() && !weak { ALL_RECUR } else { search.recurs };
    let set = match &mut certificate {
        Some((directory, _)) => ClosedSet::committed(reached, recurs, system.shape(), directory, budget)?,
        None => ClosedSet::new(reached, recurs, system.shape(), volume, budget)?,
    };
    let (passes, log, taken_up) = match &mut certificate {
        Some(certificate) => ranked_passes(search, reached, &set, recurs, certificate)?,
        None => (fix_point::run(task(search, &set), None, None, None)?, None, None),
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
    match (&mut certificate, log) {
        (Some((directory, _)), Some(log)) if outcome.left == 0 => {
            drop((left, set));
            outcome.classes = Some(log.finish(directory)?.count());
        }
        _ if outcome.left == 0 => {}
        (certificate, log) => {
            drop(log);
            outcome.lasso = Some(lasso(search, reached, set, left, &mut outcome)?);
            if let Some((directory, _)) = certificate {
                // There is nothing to prove, and nothing to go on with.
                directory.commit(&[], &[])?;
            }
        }
    }
    Ok(outcome)
}

fn task<'a>(search: &Search<'a>, set: &'a ClosedSet<'a>) -> fix_point::Task<'a> {
    let Search { system, weak, threads, graph, room, volume, budget, observer, .. } = *search;
    fix_point::Task { system, set, weak, threads, graph, room, volume, budget, observer }
}

/// Passes that tell ranks, from where earlier ones stood; the ranks, and where that was.
fn ranked_passes(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: &ClosedSet<'_>,
    recurs: Recurs<'_>,
    (directory, tag): &mut Certificate<'_>,
) -> Result<(fix_point::Outcome, Option<RankLog>, Option<Stand>), SearchError> {
    let Search { system, weak, budget, commit_every, .. } = *search;
    let taken_up = TakenUp::of(directory, set.len(), budget)?;
    let mut log = RankLog::new(directory, *tag, system.shape(), weak, budget)?;
    let mut begun = None;
    if let Some(TakenUp { begun: there, classes, ranks }) = taken_up {
        log = log.taken_up(classes, ranks);
        begun = Some(there);
    } else if weak {
        rank_others(reached, recurs, &log)?;
    }
    let stood = begun.as_ref().map(|begun| begun.stand);
    let mut keeper = PassLog::new(directory, &log, commit_every, budget);
    let passes = fix_point::run(task(search, set), begun, Some(&log), Some(&mut keeper))?;
    Ok((passes, Some(log), stood))
}

/// A run that goes round in what is left.
fn lasso(
    search: &Search<'_>,
    reached: &dyn Reached,
    set: ClosedSet<'_>,
    mut left: Bits,
    outcome: &mut Outcome,
) -> Result<Lasso, SearchError> {
    let Search { system, weak, volume, budget, .. } = *search;
    let mut expander = Expander::new(system, &set, weak, 1, budget)?;
    // On a cycle of marked steps every mark is met.
    let mark_count = if weak { 0 } else { system.shape().mark_count };
    let marks = if mark_count >= 64 { u64::MAX } else { (1 << mark_count) - 1 };
    let cycle = cycle::find(&mut expander, &mut left, marks, volume, budget)?;
    outcome.visits += expander.visits;
    outcome.edges += expander.edges;
    drop((expander, left));
    drop(set);
    with_stem(system, reached, budget, cycle)
}

/// States that do not recur are of the first class. Nothing is asked of their ranks.
fn rank_others(reached: &dyn Reached, recurs: Recurs<'_>, log: &RankLog) -> Result<(), SearchError> {
    log.class(None)?;
    for layer in 0..reached.layer_count() {
        let mut outcome = Ok(());
        reached.visit_layer(layer, &mut |records| {
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
    system: &dyn TransitionSystem,
    reached: &dyn Reached,
    budget: &Budget,
    cycle: cycle::Cycle,
) -> Result<Lasso, SearchError> {
    let first = &cycle.records[0];
    let mut found = None;
    for layer in 0..reached.layer_count() {
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
    let stem = path_through(system, &visit, budget, layer, first)?.expect("all layers are kept");
    let cycle_start = stem.actions.len();
    let mut records = stem.records;
    records.pop();
    records.extend(cycle.records);
    let actions = stem.actions.into_iter().chain(cycle.actions).collect();
    Ok(Lasso { start: stem.start, records, actions, cycle_start })
}
