//! How much do the files of a search take, and is that too much?

use crate::error::SearchError;

/// What files hold and have held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskUse {
    /// Bytes of the runs: the closed set, as the search has it.
    pub closed_set: u64,
    /// Bytes of the closed set at rest, once it is.
    pub at_rest: Option<u64>,
    /// Bytes of the layer log.
    pub layers: u64,
    /// The most that all files took at the end of a layer.
    pub peak: u64,
}

/// What files took at the boundaries so far.
#[derive(Debug, Default)]
pub(crate) struct DiskMeter {
    limit: Option<u64>,
    /// When the last layer was closed.
    used: u64,
    peak: u64,
}

impl DiskMeter {
    /// Nothing yet, with a limit if there is one.
    pub(crate) fn new(limit: Option<u64>) -> DiskMeter {
        DiskMeter { limit, used: 0, peak: 0 }
    }

    /// Notes what files take when a layer is closed.
    pub(crate) fn note(&mut self, bytes: u64) {
        self.used = bytes;
        self.note_peak(bytes);
    }

    /// Notes what files take for a while.
    pub(crate) fn note_peak(&mut self, bytes: u64) {
        self.peak = self.peak.max(bytes);
    }

    /// With what files hold now.
    pub(crate) fn with(&self, closed_set: u64, at_rest: Option<u64>, layers: u64) -> DiskUse {
        let peak = self.peak.max(at_rest.unwrap_or(closed_set) + layers);
        DiskUse { closed_set, at_rest, layers, peak }
    }

    /// Whether files take too much: asked at a boundary, so that nothing is lost.
    pub(crate) fn above_limit(&self) -> Option<SearchError> {
        let (used, limit) = (self.used, self.limit?);
        (used > limit).then_some(SearchError::DiskLimit { used, limit })
    }
}
