//! What are the gaps between ascending keys, how long are they, and how is one written down by itself?

use super::Malformed;
use crate::key::{self, KeyWidth};

/// Room for a gap of any length: 65 535 bits are 1024 words.
pub(super) struct GapRoom([u64; 1024]);

impl Default for GapRoom {
    fn default() -> Self {
        Self([0; 1024])
    }
}

impl GapRoom {
    /// The words of the gap after the key number `index`.
    pub(super) fn gap(&mut self, width: KeyWidth, keys: &[u64], index: usize) -> &[u64] {
        let words = width.words();
        let (earlier, later) = keys[index * words..(index + 2) * words].split_at(words);
        key::gap(later, earlier, &mut self.0[..words]);
        &self.0[..words]
    }
}

/// The gaps of keys of one word. Here and below: of those that fit one word.
pub(super) fn gaps_one(keys: &[u64]) -> impl Iterator<Item = Option<u64>> {
    keys.windows(2).map(|pair| Some(pair[1].wrapping_sub(pair[0]).wrapping_sub(1)))
}

/// The gaps of keys of two words.
pub(super) fn gaps_two(keys: &[u64]) -> impl Iterator<Item = Option<u64>> {
    keys.as_chunks::<2>().0.windows(2).map(|pair| {
        let gap = key::wide(&pair[1]).wrapping_sub(key::wide(&pair[0])).wrapping_sub(1);
        u64::try_from(gap).ok()
    })
}

/// The gaps of keys of any number of words.
pub(super) fn gaps_many(width: KeyWidth, keys: &[u64]) -> impl Iterator<Item = Option<u64>> {
    let mut difference = GapRoom::default();
    (0..keys.len() / width.words() - 1).map(move |index| {
        let (&low, high) = difference.gap(width, keys, index).split_last()?;
        high.iter().all(|&word| word == 0).then_some(low)
    })
}

/// Appends a named gap: length, bytes.
pub(super) fn append_name(name: u64, out: &mut Vec<u8>) {
    let length = literal_bytes(name);
    out.push(length as u8);
    out.extend_from_slice(&name.to_le_bytes()[..length]);
}

/// Splits a named gap off `payload`.
pub(super) fn split_name(payload: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let (&length, bytes) = payload.split_first().filter(|&(&length, _)| length <= 8).ok_or(Malformed)?;
    let rest = bytes.get(usize::from(length)..).ok_or(Malformed)?;
    Ok((key::load_low(bytes, usize::from(length)), rest))
}

/// Bytes that a gap of one word takes without its leading zeros.
pub(super) fn literal_bytes(gap: u64) -> usize {
    (64 - gap.leading_zeros() as usize).div_ceil(8)
}

/// The same of a gap of any length.
pub(super) fn significant_bytes(words: &[u64]) -> usize {
    let zeros = words.iter().take_while(|&&word| word == 0).count();
    words.get(zeros).map_or(0, |&word| literal_bytes(word) + (words.len() - zeros - 1) * 8)
}
