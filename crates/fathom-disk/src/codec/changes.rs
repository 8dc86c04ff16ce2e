//! How is a wide key told by what differs from the key before it?
//!
//! States that are neighbours in order differ in few variables. As a number, the gap between them has nearly all bytes of the key (70 to 95 bytes for records of 750 to 870
//! bits); the bytes that differ are few (10 to 14, all told). See "Changes" in the format document.

use super::Malformed;

/// Bytes of one change at most, for keys of so many words.
pub(super) fn bytes_max(words: usize) -> usize {
    words.div_ceil(8) + 9 * words
}

/// Appends what differs: a mask of words, first word first, then for each that differs a mask of its bytes and those bytes, least significant first.
pub(super) fn append(earlier: &[u64], later: &[u64], out: &mut Vec<u8>) {
    let masks = out.len();
    out.resize(masks + earlier.len().div_ceil(8), 0);
    for (index, (before, after)) in earlier.iter().zip(later).enumerate() {
        let changed = before ^ after;
        if changed != 0 {
            out[masks + index / 8] |= 1 << (index % 8);
            append_word(changed, out);
        }
    }
}

/// Changes a key into the next one, which must be greater; gives the bytes behind.
pub(super) fn apply<'a>(key: &mut [u64], bytes: &'a [u8]) -> Result<&'a [u8], Malformed> {
    let (masks, mut rest) = bytes.split_at_checked(key.len().div_ceil(8)).ok_or(Malformed)?;
    let mut is_greater = None;
    for (words, &mask) in key.chunks_mut(8).zip(masks) {
        let mut left = mask;
        while left != 0 {
            let word = words.get_mut(left.trailing_zeros() as usize).ok_or(Malformed)?;
            let (changed, after) = split_word(rest)?;
            let before = *word;
            *word ^= changed;
            // The first word that differs decides.
            is_greater.get_or_insert(*word > before);
            rest = after;
            left &= left - 1;
        }
    }
    if is_greater == Some(true) { Ok(rest) } else { Err(Malformed) }
}

/// Appends a mask of the bytes that are not zero, and those bytes.
#[inline(always)]
fn append_word(word: u64, out: &mut Vec<u8>) {
    let mask = nonzero_bytes(word);
    let (mut packed, mut length) = (0u64, 0);
    let mut left = mask;
    while left != 0 {
        packed |= (word >> (8 * left.trailing_zeros()) & 0xff) << (8 * length);
        length += 1;
        left &= left - 1;
    }
    out.push(mask);
    let end = out.len() + length;
    out.extend_from_slice(&packed.to_le_bytes());
    out.truncate(end);
}

/// Splits off what [`append_word`] wrote.
#[inline(always)]
fn split_word(bytes: &[u8]) -> Result<(u64, &[u8]), Malformed> {
    let (&mask, bytes) = bytes.split_first().ok_or(Malformed)?;
    let (packed, rest) = bytes.split_at_checked(mask.count_ones() as usize).ok_or(Malformed)?;
    let (mut word, mut left) = (0u64, mask);
    for &byte in packed {
        word |= u64::from(byte) << (8 * left.trailing_zeros());
        left &= left - 1;
    }
    if word == 0 { Err(Malformed) } else { Ok((word, rest)) }
}

/// One bit for each byte that is not zero.
#[inline(always)]
fn nonzero_bytes(word: u64) -> u8 {
    const LOW_BITS: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // The highest bit of each byte, if any bit of it is set; then these, gathered by a multiplication.
    let high = (((word & LOW_BITS) + LOW_BITS) | word) & !LOW_BITS;
    ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_tells_the_next_key() {
        let mut seed = 1u64;
        for words in 3..=40 {
            for _ in 0..200 {
                let mut draw = || {
                    seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    seed >> 20
                };
                let one: Vec<u64> = (0..words).map(|_| (draw() % 3) << (draw() % 60)).collect();
                let mut other = one.clone();
                for _ in 0..1 + draw() % 4 {
                    other[(draw() % words as u64) as usize] ^= draw() << (draw() % 30);
                }
                let (earlier, later) = if one < other { (one, other) } else { (other, one) };
                if earlier == later {
                    continue;
                }
                let mut bytes = Vec::new();
                append(&earlier, &later, &mut bytes);
                assert!(bytes.len() <= bytes_max(words));
                bytes.push(77);
                let mut key = earlier.clone();
                assert_eq!((apply(&mut key, &bytes), &key), (Ok(&[77][..]), &later));
                assert_eq!(apply(&mut later.clone(), &bytes), Err(Malformed), "that would be a lesser key");
                for end in 0..bytes.len() - 1 {
                    assert_eq!(apply(&mut earlier.clone(), &bytes[..end]), Err(Malformed));
                }
            }
        }
    }

    #[test]
    fn bytes_that_are_not_zero_are_found() {
        for mask in 0..=255u8 {
            for byte in [1u64, 0x7f, 0x80, 0xff] {
                let word = (0..8).filter(|bit| mask >> bit & 1 == 1).map(|bit| byte << (8 * bit)).sum();
                assert_eq!(nonzero_bytes(word), mask, "{word:x}");
            }
        }
    }
}
