//! What did the files of a search take, and where did its time go?

use std::sync::Arc;
use std::time::Duration;

use fathom_disk::budget::{Budget, OwnerUse};
use fathom_disk::storage::counters::Direction;
use fathom_disk::storage::{Access, IoCounts};
use fathom_search::files::closing_cost::ClosingCost;
use fathom_search::files::disk_use::DiskUse;
use fathom_search::task::{LayerSizes, Outcome};
use serde::Serialize;

/// What files took, in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct DiskFigures {
    /// The closed set, as the search had it in the end.
    pub closed_set: u64,
    /// The closed set at rest: recompressed, since the run is kept. None if it is not, or not complete.
    pub at_rest: Option<u64>,
    /// The layers, for traces.
    pub layers: u64,
    /// The most that files took at the end of a layer.
    pub peak: u64,
    /// Read, in this process.
    pub read: u64,
    /// Written, in this process.
    pub written: u64,
    /// The closed set, by states; none if it is not on disk.
    pub bytes_per_state: Option<f64>,
    /// The closed set at rest, by states.
    pub bytes_per_state_at_rest: Option<f64>,
}

/// The sizes of layers, as the search has noted them: there may be millions.
#[derive(Clone, Debug, Default)]
pub struct Layers(Option<Arc<LayerSizes>>);

impl Layers {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |sizes| sizes.len())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The sizes in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|sizes| sizes.iter())
    }
}

impl From<&Arc<LayerSizes>> for Layers {
    fn from(sizes: &Arc<LayerSizes>) -> Layers {
        Layers(Some(Arc::clone(sizes)))
    }
}

impl Serialize for Layers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// What a structure in memory held at most.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StructureFigures {
    /// What it is.
    pub name: &'static str,
    /// Bytes.
    pub peak: u64,
    /// Bits per state.
    pub bits_per_state: f64,
}

impl StructureFigures {
    /// Of all that took memory from a budget, in a search of so many states.
    pub(crate) fn of(budget: &Budget, states: u64) -> Vec<StructureFigures> {
        let figure = |owner: OwnerUse| {
            let bits = owner.peak as f64 * 8.0 / states.max(1) as f64;
            let bits_per_state = (bits * 1e3).round() / 1e3;
            StructureFigures { name: owner.owner, peak: owner.peak as u64, bits_per_state }
        };
        budget.owners().into_iter().filter(|owner| owner.peak > 0).map(figure).collect()
    }
}

/// What passes over all states came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassFigures {
    /// Rounds of the fix-point, those of earlier processes included; 0 of a depth-first search.
    pub rounds: u64,
    /// Bytes of the graph of successor numbers; none if none was written.
    pub graph: Option<u64>,
    /// The rounds that were over when they were taken up; none if they began.
    pub taken_up: Option<u64>,
    /// Why this engine decided, if it was not the user who chose it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
}

/// Operations of one class, in this process.
#[derive(Clone, Debug, Serialize)]
pub struct IoFigures {
    /// `read`, `write` or `sync`.
    pub direction: &'static str,
    /// What the files hold.
    pub file: &'static str,
    /// During which phase of the search.
    pub phase: &'static str,
    /// `sequential` or `random`.
    pub access: &'static str,
    /// How many.
    pub operations: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How long threads waited for them.
    pub seconds: f64,
}

/// Where the time of a breadth-first search went: nanoseconds of all threads per step made, in this process.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct CostFigures {
    /// Making steps.
    pub expand: f64,
    /// Counting and testing conditions.
    pub watch: f64,
    /// Collecting candidates.
    pub offer: f64,
    /// Closing layers, as the thread that waits for it sees it.
    pub close: f64,
    /// What closing is made of, if the engine tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing: Option<ClosingFigures>,
}

/// What closing layers is made of, the same way.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ClosingFigures {
    /// Sorting and merging candidates.
    pub sort: f64,
    /// Asking tables and filters in memory.
    pub filter: f64,
    /// Looking keys up on disk.
    pub look_up: f64,
    /// Writing.
    pub write: f64,
    /// Merging runs.
    pub merge: f64,
    /// Keys looked up on disk, per step.
    pub asked: f64,
    /// Those of them that were there, per step.
    pub hits: f64,
}

impl DiskFigures {
    pub(crate) fn of(used: DiskUse, counts: &IoCounts, states: u64) -> DiskFigures {
        let DiskUse { closed_set, at_rest, layers, peak } = used;
        let each = |bytes: u64| (bytes as f64 / states as f64 * 1e3).round() / 1e3;
        DiskFigures {
            closed_set,
            layers,
            peak,
            read: counts.read().bytes,
            written: counts.written().bytes,
            bytes_per_state: (states > 0 && closed_set > 0).then(|| each(closed_set)),
            at_rest,
            bytes_per_state_at_rest: at_rest.filter(|_| states > 0).map(each),
        }
    }
}

impl IoFigures {
    pub(crate) fn of(counts: &IoCounts) -> Vec<IoFigures> {
        let each =
            |(class, count): (&fathom_disk::storage::counters::Class, &fathom_disk::storage::IoCount)| {
                IoFigures {
                    direction: match class.direction {
                        Direction::Read => "read",
                        Direction::Write => "write",
                        Direction::Sync => "sync",
                    },
                    file: class.kind.name(),
                    phase: class.phase,
                    access: match class.access {
                        Access::Sequential => "sequential",
                        Access::Random => "random",
                    },
                    operations: count.operations,
                    bytes: count.bytes,
                    seconds: (count.nanos as f64 / 1e6).round() / 1e3,
                }
            };
        counts.classes().map(each).collect()
    }
}

impl CostFigures {
    /// Of a search since it was begun or taken up. None if it has made no step since.
    pub(crate) fn of(outcome: &Outcome, closing: Option<ClosingCost>) -> Option<CostFigures> {
        let (cost, steps) = (outcome.cost, outcome.transitions.saturating_sub(outcome.steps_before));
        let part = |number: f64| (number / steps as f64 * 10.0).round() / 10.0;
        let nanos = |time: Duration| part(time.as_nanos() as f64);
        let share = |count: u64| (count as f64 / steps as f64 * 1e4).round() / 1e4;
        let closing = closing.map(|cost| ClosingFigures {
            sort: nanos(cost.sort),
            filter: nanos(cost.filter),
            look_up: nanos(cost.look_up),
            write: nanos(cost.write),
            merge: nanos(cost.merge),
            asked: share(cost.asked),
            hits: share(cost.hits),
        });
        (steps > 0).then(|| CostFigures {
            expand: nanos(cost.expand),
            watch: nanos(cost.watch),
            offer: nanos(cost.offer),
            close: nanos(cost.close),
            closing,
        })
    }
}
