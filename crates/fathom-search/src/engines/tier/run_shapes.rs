//! In what blocks are runs written?

use fathom_disk::codec::Codec;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{RunConfig, Tag};

use super::shares::Shares;

/// Keys in a block of a run in which few keys are looked up: a look-up decodes a whole one. With 1024 bakery.6 decoded 39 keys per state in place of 24, in the same time.
pub(super) const LOOKED_UP_BLOCK_KEYS: usize = 256;

/// Runs that are gone through, and runs in which keys are looked up. Large blocks are several times smaller, and decode in half the time.
pub(super) fn run_configs(width: KeyWidth, tag: Tag, shares: &Shares) -> [RunConfig; 2] {
    let config = RunConfig::within(width, tag, shares.write_bytes);
    let sparse =
        RunConfig { keys_per_block: config.keys_per_block.min(LOOKED_UP_BLOCK_KEYS), ..config.clone() };
    if shares.block_keys <= config.keys_per_block {
        return [config, sparse];
    }
    [large_blocks(&config, shares.block_keys), sparse]
}

/// A run in such blocks, which are coded in the way that suits nearly all that are large.
pub(super) fn large_blocks(config: &RunConfig, keys_per_block: usize) -> RunConfig {
    RunConfig { keys_per_block, codecs: &[Codec::TokenLz4], ..config.clone() }
}
