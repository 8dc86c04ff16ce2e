//! How are the bytes of many records laid out so that a compressor sees each field by itself?
//!
//! Byte 0 of every key, then byte 1 of every key: in sorted order the leading columns hardly change, the others repeat.

use super::Malformed;
use crate::key::{self, KeyWidth};

/// Appends the columns of the keys.
pub(super) fn encode(width: KeyWidth, keys: &[u64], out: &mut Vec<u8>) {
    for index in (0..width.bytes()).rev() {
        out.extend(keys.chunks_exact(width.words()).map(|key| key::byte(key, index)));
    }
}

/// Decodes columns into exactly the keys that fit `keys`.
pub(super) fn decode(width: KeyWidth, columns: &[u8], keys: &mut [u64]) -> Result<(), Malformed> {
    let (words, count) = (width.words(), keys.len() / width.words());
    if columns.len() != count * width.bytes() {
        return Err(Malformed);
    }
    keys.fill(0);
    for (column, index) in columns.chunks_exact(count).zip((0..width.bytes()).rev()) {
        let (word, shift) = (words - 1 - index / 8, 8 * (index % 8));
        match words {
            1 => merge_column(column, shift, keys),
            _ => merge_strided_column(column, shift, &mut keys[word..], words),
        }
    }
    Ok(())
}

fn merge_column(column: &[u8], shift: usize, keys: &mut [u64]) {
    for (key, &byte) in keys.iter_mut().zip(column) {
        *key |= u64::from(byte) << shift;
    }
}

fn merge_strided_column(column: &[u8], shift: usize, keys: &mut [u64], stride: usize) {
    for (key, &byte) in keys.iter_mut().step_by(stride).zip(column) {
        *key |= u64::from(byte) << shift;
    }
}
