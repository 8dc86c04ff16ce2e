//! What is asked of an engine that numbers the states of a finished search, and what does it answer?
//!
//! A breadth-first search generates the states; those that may recur are sorted and numbered ([`crate::files::closed_set`]), and what an engine knows of them lies in RAM by number. A run is told by
//! its cycle, and the way there by the layers of the first search.

use std::time::Duration;

use fathom_disk::storage::Volume;
use fathom_model::acceptance::Acceptance;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::files::closed_set::Reached;
use crate::files::successor_graph::GraphUse;
use crate::task::Observer;
use crate::traces::lasso::Lasso;
use crate::traces::path::{Path, Room};
use crate::traces::trace::path_through;

/// What is searched, and with what.
#[derive(Clone, Copy)]
pub struct Search<'a> {
    /// The system.
    pub system: &'a dyn TransitionSystem,
    /// What is known of its accepting runs: states that none comes back to for ever are generated, and not looked at again.
    pub acceptance: &'a dyn Acceptance,
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
    /// Whether states were taken away for requests of strong fairness: then no ranks prove that there is no accepting run.
    pub unranked: bool,
    /// Bytes of the graph of numbers, if one was written.
    pub graph_bytes: Option<u64>,
    /// Rounds that were over when passes were taken up, if they were.
    pub taken_up: Option<u64>,
}

impl Outcome {
    /// A search that was stopped before there was anything to tell is one that was stopped.
    pub(crate) fn unless_stopped(outcome: Result<Outcome, SearchError>) -> Result<Outcome, SearchError> {
        match outcome {
            Err(SearchError::Stopped) => Ok(Outcome { stopped: true, ..Outcome::default() }),
            other => other,
        }
    }

    /// A run that there is, or that the observer did not wait for.
    pub(crate) fn take(&mut self, lasso: Result<Lasso, SearchError>) -> Result<(), SearchError> {
        match lasso {
            Err(SearchError::Stopped) => self.untraced = true,
            other => self.lasso = Some(other?),
        }
        Ok(())
    }
}

/// A cycle with a shortest way to its first state.
pub(crate) fn with_stem(
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
