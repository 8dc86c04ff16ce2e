//! What is known of a search at one moment?

use std::time::Duration;

use fathom_check::folder::gauge::{DiskSeen, Gauge};
use fathom_check::forecast::Forecast;
use fathom_check::machine;
use fathom_search::task::{Phase, Progress};

use super::State;

/// What is known of a search at one moment.
#[derive(Clone, Debug)]
pub(super) struct Snapshot {
    pub(super) progress: Progress,
    pub(super) elapsed: Duration,
    /// States per second.
    pub(super) rate: f64,
    rate_in_all: f64,
    /// By what part that is more than in the last minutes.
    pub(super) trend: Option<f64>,
    /// The part of the steps that led to known states, where that is known.
    pub(super) duplicates: Option<f64>,
    /// Bytes that the process has resident, and may have.
    pub(super) resident: Option<u64>,
    pub(super) ram: u64,
    pub(super) disk: Option<DiskSeen>,
    /// Bytes read from devices, and written, by this process.
    pub(super) traffic: Option<(u64, u64)>,
    pub(super) end: End,
}

/// What is known of the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    /// So many states, or walks, are still to be expanded, in so many seconds.
    About { states: Forecast, seconds: Forecast },
    /// The layers so far do not tell.
    Unknown,
    /// Nothing is known of it in this phase.
    None,
}

impl Snapshot {
    pub(super) fn of(state: &State, elapsed: Duration, ram: u64, gauge: &Gauge) -> Snapshot {
        let progress = state.last;
        let layered = matches!(progress.phase, Phase::Layers | Phase::Stages | Phase::Closing);
        Snapshot {
            progress,
            elapsed,
            rate: state.rate.now(),
            rate_in_all: state.rate.in_all(),
            trend: state.rate.trend(),
            duplicates: (layered && state.steps_before > 0).then(|| state.duplicates()),
            resident: machine::resident(),
            ram,
            disk: gauge.look(),
            traffic: machine::device_traffic().filter(|(read, written)| read + written > 0),
            end: End::of(state, elapsed),
        }
    }

    /// The same when all is over: the rate is that of the whole search.
    pub(super) fn in_all(mut self) -> Snapshot {
        if self.progress.phase == Phase::Closing {
            // There was nothing new to close with.
            self.progress.phase = Phase::Layers;
        }
        Snapshot { rate: self.rate_in_all, trend: None, end: End::None, ..self }
    }
}

impl End {
    fn of(state: &State, elapsed: Duration) -> End {
        let Progress { phase, layer, frontier, expanded, .. } = state.last;
        match phase {
            Phase::Layers | Phase::Closing => {
                let mut profile = state.profile.clone();
                // The layer that is being expanded is known, too.
                if layer == profile.layers() {
                    profile.push(frontier);
                }
                let here = frontier.saturating_sub(expanded) as f64;
                profile.forecast().map_or(End::Unknown, |it| End::at_rate(it.plus(here), state.rate.lately()))
            }
            Phase::Walks if layer > 0 => {
                let left = frontier.saturating_sub(layer) as f64;
                End::at_rate(Forecast::exactly(left), layer as f64 / elapsed.as_secs_f64().max(1e-3))
            }
            _ => End::None,
        }
    }

    fn at_rate(states: Forecast, rate: f64) -> End {
        match rate > 0.0 {
            true => End::About { states, seconds: states.over(rate) },
            false => End::Unknown,
        }
    }
}
