//! How is a stage made of candidates?

use std::sync::Mutex;

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::set::sort_unique;

use super::Measure;
use super::bucket::Bucket;
use super::earlier::Earlier;
use super::line::Line;
use super::sizes::Sizes;
use crate::files::frontier::Frontier;
use crate::files::layer_store::BlockEncoder;
use crate::files::lock;
use crate::files::place::Place;

/// The stage that is being made.
pub(super) struct Stage<'a> {
    pub(super) place: &'a Place,
    pub(super) sizes: &'a Sizes,
    pub(super) measure: Measure<'a>,
    pub(super) bucket: &'a mut Bucket,
    pub(super) earlier: &'a mut Earlier,
    pub(super) at: Option<Line>,
    pub(super) frontier: &'a Mutex<Frontier>,
    pub(super) encoder: &'a mut BlockEncoder,
    pub(super) fresh: &'a mut ChargedVec<u64>,
    pub(super) states: u64,
}

impl Stage<'_> {
    /// Takes ascending candidates, piece by piece.
    pub(super) fn take(&mut self, records: &[u64]) -> Result<(), DiskError> {
        let Stage { place, sizes, measure, bucket, earlier, at, frontier, encoder, fresh, states } = self;
        let words = place.width.words();
        for piece in records.chunks(sizes.piece_keys * words) {
            bucket.sift(place, sizes, piece, fresh)?;
            if let Some(at) = at.filter(|_| !bucket.knows_earlier()) {
                earlier.drop_known(place, sizes, (at, measure), bucket.earlier_filter(), fresh)?;
            }
            *states += (fresh.len() / words) as u64;
            encoder.encode(fresh, |keys, payload| lock(frontier).store.append(keys, payload))?;
        }
        Ok(())
    }

    /// Takes what several values have, which is in order within each of them.
    pub(super) fn take_joined(&mut self, joined: &mut ChargedVec<u64>) -> Result<(), DiskError> {
        if !joined.is_empty() {
            self.begin_again()?;
            let kept = sort_unique(&self.place.budget, self.place.width.words(), joined)?;
            self.take(&joined[..kept])?;
            joined.clear();
        }
        Ok(())
    }

    /// What is taken next is in an order of its own.
    pub(super) fn begin_again(&mut self) -> Result<(), DiskError> {
        self.bucket.end_stage(self.place, self.sizes)
    }

    /// Closes it; says how many states it has.
    pub(super) fn end(self) -> Result<u64, DiskError> {
        self.bucket.end_stage(self.place, self.sizes)?;
        lock(self.frontier).close(self.states)?;
        Ok(self.states)
    }
}
