//! What are the gaps between ascending keys, how long are they, and how is one written down by itself?

use super::Malformed;
use crate::key::{self, KeyWidth};

/// The key number `index` and the next one.
#[inline(always)]
pub(super) fn neighbours(width: KeyWidth, keys: &[u64], index: usize) -> (&[u64], &[u64]) {
    keys[index * width.words()..(index + 2) * width.words()].split_at(width.words())
}

/// The gap between keys of two words.
pub(super) fn gap_of_two(earlier: &[u64], later: &[u64]) -> [u64; 2] {
    key::narrow(key::wide(later).wrapping_sub(key::wide(earlier)).wrapping_sub(1))
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

/// The gaps of keys of more words, where all but the last word are equal: others are told by what differs.
pub(super) fn gaps_many(width: KeyWidth, keys: &[u64]) -> impl Iterator<Item = Option<u64>> {
    (0..keys.len() / width.words() - 1).map(move |index| {
        let (earlier, later) = neighbours(width, keys, index);
        let (last_before, before) = earlier.split_last()?;
        let (last, after) = later.split_last()?;
        (before == after).then(|| last.wrapping_sub(*last_before).wrapping_sub(1))
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
