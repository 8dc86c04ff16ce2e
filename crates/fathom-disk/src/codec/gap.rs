//! How does a key cost half a byte and the bytes of its gap, and decode in a few nanoseconds?
//!
//! See "Gap code" in the format document. A nibble per key says how long the gap's literal is, or names one of six gaps
//! that are frequent in the block. Decoding looks the nibble up in a table of (mask, addend, step): one unaligned load of
//! eight bytes, a mask and an addition per key, no branch that depends on the data while keys have one word.

use super::Malformed;
use super::frequent::FrequentGaps;
use crate::key::{self, KeyWidth};

/// Names for frequent gaps.
const NAMES_MAX: usize = 6;
/// The nibble that announces a literal of more than eight bytes.
const NIBBLE_LONG: u8 = 9;
/// The nibble of the first name.
const NIBBLE_NAME: u8 = 10;

/// What a nibble means: the gap + 1 is `(eight bytes & mask) + addend`, and the literals move on by `step`.
#[derive(Clone, Copy, Default)]
struct Meaning {
    mask: u64,
    addend: u64,
    step: usize,
}

/// No gap code of `keys` keys is longer than this, while it is made.
pub fn bytes_max(width: KeyWidth, keys: usize) -> usize {
    let literal = if width.bytes() > 8 { width.bytes() + 2 } else { width.bytes() };
    1 + NAMES_MAX * 9 + width.bytes() + keys.div_ceil(2) + keys * literal + 8
}

/// Appends the gap code of ascending keys, with names for frequent gaps.
pub(super) fn encode(width: KeyWidth, keys: &[u64], frequent: &mut FrequentGaps, out: &mut Vec<u8>) {
    let mut names = [0; NAMES_MAX];
    frequent.clear();
    for_each_gap(width, keys, |gap, _| {
        if let Some(gap) = gap.one_word() {
            frequent.count(gap);
        }
    });
    let literal = |gap| literal_bytes(gap) as i64;
    let count = frequent.select(&mut names, literal, |gap| 1 + literal(gap));
    encode_named(width, keys, &names[..count], out);
}

/// Appends the gap code without names: what a compressor of strings likes best.
pub(crate) fn encode_plain(width: KeyWidth, keys: &[u64], out: &mut Vec<u8>) {
    encode_named(width, keys, &[], out);
}

fn encode_named(width: KeyWidth, keys: &[u64], names: &[u64], out: &mut Vec<u8>) {
    let count = keys.len() / width.words();
    out.push(names.len() as u8);
    for &name in names {
        append_name(name, out);
    }
    key::append_bytes(&keys[..width.words()], width.bytes(), out);
    let nibbles = out.len();
    out.resize(nibbles + (count - 1).div_ceil(2), 0);
    for_each_gap(width, keys, |gap, index| {
        let nibble = match gap.one_word() {
            Some(low) => match names.iter().position(|&name| name == low) {
                Some(name) => NIBBLE_NAME + name as u8,
                None => {
                    let length = literal_bytes(low);
                    // All eight bytes, and those back that are zeros: a store, where a copy of any length would be a call.
                    out.extend_from_slice(&low.to_le_bytes());
                    out.truncate(out.len() - 8 + length);
                    length as u8
                }
            },
            None => {
                append_long(gap.words, out);
                NIBBLE_LONG
            }
        };
        out[nibbles + index / 2] |= nibble << (4 * (index % 2));
    });
}

/// Decodes gap code into exactly the keys that fit `keys`.
pub(super) fn decode(width: KeyWidth, payload: &[u8], keys: &mut [u64]) -> Result<(), Malformed> {
    let (table, rest) = read_names(payload)?;
    let (first, rest) = rest.split_at_checked(width.bytes()).ok_or(Malformed)?;
    let words = width.words();
    key::from_bytes(first, &mut keys[..words]);
    let count = keys.len() / words;
    let (nibbles, literals) = rest.split_at_checked((count - 1).div_ceil(2)).ok_or(Malformed)?;
    match words {
        1 => decode_one(&table, nibbles, literals, keys),
        2 => decode_two(&table, nibbles, literals, keys),
        _ => decode_many(words, &table, nibbles, literals, keys),
    }
}

/// The difference of two neighbours less one, as words most significant first.
pub(super) struct Gap<'a> {
    pub(super) words: &'a [u64],
}

impl Gap<'_> {
    /// The gap, if it fits one word.
    pub(super) fn one_word(&self) -> Option<u64> {
        let (&low, high) = self.words.split_last()?;
        high.iter().all(|&word| word == 0).then_some(low)
    }
}

/// Calls `visit` with each gap and its index, from 0.
pub(super) fn for_each_gap(width: KeyWidth, keys: &[u64], mut visit: impl FnMut(Gap<'_>, usize)) {
    match width.words() {
        1 => {
            for (index, pair) in keys.windows(2).enumerate() {
                visit(Gap { words: &[pair[1].wrapping_sub(pair[0]).wrapping_sub(1)] }, index);
            }
        }
        2 => {
            for index in 0..keys.len() / 2 - 1 {
                let (earlier, later) = (key::wide(&keys[index * 2..]), key::wide(&keys[index * 2 + 2..]));
                visit(Gap { words: &key::narrow(later.wrapping_sub(earlier).wrapping_sub(1)) }, index);
            }
        }
        words => {
            // 65 535 bits are 1024 words.
            let mut difference = [0; 1024];
            for (index, pair) in keys.windows(words * 2).step_by(words).enumerate() {
                key::gap(&pair[words..], &pair[..words], &mut difference[..words]);
                visit(Gap { words: &difference[..words] }, index);
            }
        }
    }
}

/// Appends length (two bytes) and bytes, least significant first, of a gap of any size.
pub(super) fn append_long(words: &[u64], out: &mut Vec<u8>) {
    let length = significant_bytes(words);
    out.extend_from_slice(&(length as u16).to_le_bytes());
    out.extend((0..length).map(|index| key::byte(words, index)));
}

/// Splits a long literal off `literals`.
pub(super) fn split_long(literals: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (length, rest) = literals.split_first_chunk::<2>().ok_or(Malformed)?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or(Malformed)
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

pub(super) fn literal_bytes(gap: u64) -> usize {
    (64 - gap.leading_zeros() as usize).div_ceil(8)
}

fn significant_bytes(words: &[u64]) -> usize {
    let zeros = words.iter().take_while(|&&word| word == 0).count();
    words.get(zeros).map_or(0, |&word| literal_bytes(word) + (words.len() - zeros - 1) * 8)
}

fn read_names(payload: &[u8]) -> Result<([Meaning; 16], &[u8]), Malformed> {
    let (&count, mut rest) =
        payload.split_first().filter(|&(&count, _)| usize::from(count) <= NAMES_MAX).ok_or(Malformed)?;
    let mut table = [Meaning::default(); 16];
    for (length, meaning) in table[..9].iter_mut().enumerate() {
        let mask = if length == 8 { u64::MAX } else { (1 << (8 * length)) - 1 };
        *meaning = Meaning { mask, addend: 1, step: length };
    }
    for meaning in &mut table[usize::from(NIBBLE_NAME)..][..usize::from(count)] {
        let (name, after) = split_name(rest)?;
        *meaning = Meaning { mask: 0, addend: name.wrapping_add(1), step: 0 };
        rest = after;
    }
    Ok((table, rest))
}

/// Literals, readable eight bytes at a time up to their very end.
struct Literals<'a> {
    bytes: &'a [u8],
    /// Where the last eight bytes begin (0 if there are fewer), and a copy of them with zeros behind.
    tail_start: usize,
    tail: [u8; 24],
}

impl<'a> Literals<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let tail_start = bytes.len().saturating_sub(8);
        let mut tail = [0; 24];
        tail[..bytes.len() - tail_start].copy_from_slice(&bytes[tail_start..]);
        Self { bytes, tail_start, tail }
    }

    /// Eight bytes at `place`; past the end they count as zeros.
    #[inline(always)]
    fn load(&self, place: usize) -> u64 {
        let eight = match self.bytes.get(place..place.wrapping_add(8)) {
            Some(eight) => eight,
            None => {
                let start = place.wrapping_sub(self.tail_start).min(16);
                &self.tail[start..start + 8]
            }
        };
        u64::from_le_bytes(eight.try_into().expect("eight bytes"))
    }
}

fn decode_one(
    table: &[Meaning; 16],
    nibbles: &[u8],
    literals: &[u8],
    keys: &mut [u64],
) -> Result<(), Malformed> {
    let ahead = Literals::new(literals);
    let (first, rest) = keys.split_first_mut().ok_or(Malformed)?;
    let (mut key, mut place) = (*first, 0);
    let mut pairs = rest.chunks_exact_mut(2);
    for (pair, &both) in pairs.by_ref().zip(nibbles) {
        let meaning = table[usize::from(both & 15)];
        key = key.wrapping_add(ahead.load(place) & meaning.mask).wrapping_add(meaning.addend);
        place += meaning.step;
        pair[0] = key;
        let meaning = table[usize::from(both >> 4)];
        key = key.wrapping_add(ahead.load(place) & meaning.mask).wrapping_add(meaning.addend);
        place += meaning.step;
        pair[1] = key;
    }
    if let ([last], Some(&both)) = (pairs.into_remainder(), nibbles.last()) {
        let meaning = table[usize::from(both & 15)];
        *last = key.wrapping_add(ahead.load(place) & meaning.mask).wrapping_add(meaning.addend);
        place += meaning.step;
    }
    if place == literals.len() { Ok(()) } else { Err(Malformed) }
}

fn decode_two(
    table: &[Meaning; 16],
    nibbles: &[u8],
    literals: &[u8],
    keys: &mut [u64],
) -> Result<(), Malformed> {
    let ahead = Literals::new(literals);
    let (mut key, mut place) = (key::wide(keys), 0);
    for (index, pair) in keys[2..].chunks_exact_mut(2).enumerate() {
        let nibble = nibbles[index / 2] >> (4 * (index % 2)) & 15;
        if nibble == NIBBLE_LONG {
            let (bytes, rest) = split_long(literals.get(place..).ok_or(Malformed)?)?;
            let mut words = key::narrow(key);
            key::step_by_bytes(&mut words, bytes);
            key = key::wide(&words);
            place = literals.len() - rest.len();
        } else {
            let meaning = table[usize::from(nibble)];
            let low = ahead.load(place) & meaning.mask;
            // An addend of 0 is 2^64: the name of the largest gap of one word, plus one.
            let addend = u128::from(meaning.addend.wrapping_sub(1)) + 1;
            key = key.wrapping_add(u128::from(low)).wrapping_add(addend);
            place += meaning.step;
        }
        pair.copy_from_slice(&key::narrow(key));
    }
    if place == literals.len() { Ok(()) } else { Err(Malformed) }
}

fn decode_many(
    words: usize,
    table: &[Meaning; 16],
    nibbles: &[u8],
    literals: &[u8],
    keys: &mut [u64],
) -> Result<(), Malformed> {
    let ahead = Literals::new(literals);
    let mut place = 0;
    for index in 0..keys.len() / words - 1 {
        let nibble = nibbles[index / 2] >> (4 * (index % 2)) & 15;
        keys.copy_within(index * words..(index + 1) * words, (index + 1) * words);
        let key = &mut keys[(index + 1) * words..(index + 2) * words];
        if nibble == NIBBLE_LONG {
            let (bytes, rest) = split_long(literals.get(place..).ok_or(Malformed)?)?;
            key::step_by_bytes(key, bytes);
            place = literals.len() - rest.len();
        } else {
            let meaning = table[usize::from(nibble)];
            let low = ahead.load(place) & meaning.mask;
            key::step_by_word(key, low.wrapping_add(meaning.addend.wrapping_sub(1)));
            place += meaning.step;
        }
    }
    if place == literals.len() { Ok(()) } else { Err(Malformed) }
}
