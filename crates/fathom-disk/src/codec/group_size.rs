//! How many keys of a block of token code are a group, and what does a group cost?

use crate::key::KeyWidth;

/// Bytes that say where the literals of a group begin.
pub(super) const LITERALS_BYTES: usize = 3;
/// One group for the whole of a block.
pub(super) const LOG_WHOLE: u32 = 15;
/// The logarithm before there is anything to go by.
pub(super) const LOG_FIRST: u32 = 8;
/// The smallest and the largest groups.
const LOG_LEAST: u32 = 6;
const LOG_MOST: u32 = 10;
/// What may be spent on groups: one byte in so many.
const SPENT: usize = 24;

/// The most groups that `keys` keys are put in.
pub fn groups_max(keys: usize) -> usize {
    keys.div_ceil(1 << LOG_LEAST)
}

/// The logarithm of the keys in a group that suits blocks of so many keys which are compressed to so many bytes.
pub(super) fn suiting_log(width: KeyWidth, keys: usize, bytes: usize) -> u32 {
    let all = keys * (width.bytes() + LITERALS_BYTES) * SPENT;
    (all / bytes.max(1)).max(1).next_power_of_two().ilog2().clamp(LOG_LEAST, LOG_MOST)
}
