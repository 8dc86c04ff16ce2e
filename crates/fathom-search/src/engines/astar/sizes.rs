//! What memory does each part of the engine have?

use fathom_disk::key::KeyWidth;

/// Sizes of the parts. They change speed, never results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// The queue.
    pub queue_bytes: usize,
    /// The set of known states; its filter takes more, where there is more.
    pub known_bytes: usize,
    /// Keys in the window of recent candidates.
    pub window_keys: usize,
    /// Candidates that a thread measures at a time.
    pub measured: usize,
    /// States of a bucket that are looked up at a time.
    pub piece_keys: usize,
    /// Memory for sorting a closed set that is put to rest.
    pub sort_bytes: usize,
    /// Bytes in a block of the log of stages.
    pub log_block_bytes: usize,
    /// Keys in a coded block of the log.
    pub log_block_keys: usize,
}

/// Below this, memory is so short that blocks are a few keys.
const SHORT_BYTES: usize = 256 << 10;
/// No part is larger: what is taken at once is touched at once, and beyond this more memory makes nothing faster.
const SHARE_BYTES_MAX: usize = 64 << 20;

impl Sizes {
    /// What suits so many bytes for so many threads.
    pub(super) fn of(bytes: usize, threads: usize, width: KeyWidth) -> Sizes {
        let key = width.words() * 8;
        let short = bytes < SHORT_BYTES.max(4096 * key);
        let part = |part: usize| (bytes / part).min(SHARE_BYTES_MAX);
        Sizes {
            queue_bytes: part(if short { 8 } else { 4 }),
            known_bytes: part(if short { 8 } else { 4 }),
            window_keys: if short { 0 } else { part(8) / (key + 8) },
            measured: (part(256) / threads / (key + 8)).clamp(1, 512),
            piece_keys: (part(128) / (2 * key + 16)).clamp(1, 1024),
            sort_bytes: part(16),
            log_block_bytes: if short { part(128).clamp(64, 512) } else { part(256).clamp(512, 32 << 10) },
            log_block_keys: (part(64) / key).clamp(1, 256),
        }
    }
}
