//! What does a thread that closes shards work with?

use fathom_disk::budget::{Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::run::{ProbeConfig, Prober};

use super::super::shares::Shares;
use crate::files::closing_cost::ClosingCost;
use crate::files::layer_store::BlockEncoder;
use crate::files::place::Place;

/// What a thread that closes shards works with.
#[derive(Debug)]
pub(in super::super) struct Tools {
    pub(super) prober: Prober,
    pub(super) encoder: BlockEncoder,
    pub(in super::super) cost: ClosingCost,
    /// Keys looked at in one go.
    pub(super) piece_keys: usize,
    pub(super) found: ChargedVec<bool>,
    pub(super) chosen: Vec<u32>,
    pub(super) open: ChargedVec<u64>,
    pub(super) answers: ChargedVec<bool>,
    pub(super) fresh: ChargedVec<u64>,
    _charge: Charge,
}

impl Tools {
    pub(in super::super) fn new(place: &Place, shares: &Shares) -> Result<Tools, DiskError> {
        let (budget, words) = (&place.budget, place.width.words());
        // A key in a piece: a mark, a number, the key as open and as fresh, an answer.
        let each = 1 + 4 + 2 * words * 8 + 1;
        let piece_keys = (shares.piece_bytes / each).clamp(1, 1 << 16);
        Ok(Tools {
            prober: Prober::new(budget, place.width, probe_config(shares.probe_bytes))?,
            encoder: BlockEncoder::new(budget, place.width, shares.log_block_keys)?,
            cost: ClosingCost::default(),
            piece_keys,
            found: ChargedVec::with_capacity(budget, "closing", piece_keys)?,
            _charge: budget.charge("closing", piece_keys * 4)?,
            chosen: Vec::with_capacity(piece_keys),
            open: ChargedVec::with_capacity(budget, "closing", piece_keys * words)?,
            answers: ChargedVec::with_capacity(budget, "closing", piece_keys)?,
            fresh: ChargedVec::with_capacity(budget, "closing", piece_keys * words)?,
        })
    }
}

/// Look-ups of a whole layer at once touch many blocks of a run: long extents cost fewer operations, and hardly more bytes.
fn probe_config(bytes: usize) -> ProbeConfig {
    let config = ProbeConfig::within(bytes);
    let extent_bytes_max = (config.buffer_bytes / 2).clamp(32 << 10, 256 << 10);
    ProbeConfig { extent_bytes_max, join_gap_bytes: 32 << 10, ..config }
}
