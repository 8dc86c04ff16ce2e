//! How does a key cost half a byte and the bytes of its gap, and decode in a few nanoseconds?
//!
//! See "Gap code" in the format document. A nibble per key says how long the gap's literal is, or names one of six gaps
//! that are frequent in the block. Decoding looks the nibble up in a table of (mask, addend, step): one unaligned load of
//! eight bytes, a mask and an addition per key, no branch that depends on the data while keys have one word.

use super::Malformed;
use super::changes;
use super::frequent::FrequentGaps;
use super::gaps::{
    append_name, gap_of_two, gaps_many, gaps_one, gaps_two, literal_bytes, neighbours, significant_bytes,
    split_name,
};
use crate::key::{self, KeyWidth};

/// Names for frequent gaps.
const NAMES_MAX: usize = 6;
/// The nibble that announces a literal of more than eight bytes, or changes.
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
    let literal = match width.words() {
        1 => width.bytes(),
        2 => width.bytes() + 2,
        words => changes::bytes_max(words),
    };
    1 + NAMES_MAX * 9 + width.bytes() + keys.div_ceil(2) + keys * literal + 8
}

/// Appends the gap code of ascending keys, with names for frequent gaps.
pub(super) fn encode(width: KeyWidth, keys: &[u64], frequent: &mut FrequentGaps, out: &mut Vec<u8>) {
    frequent.count(width, keys);
    let literal = |gap| literal_bytes(gap) as i64;
    let mut names = [0; NAMES_MAX];
    let chosen = frequent.choose(NAMES_MAX, literal, |gap| 1 + literal(gap));
    let count = names.iter_mut().zip(chosen).map(|(name, number)| *name = number).count();
    frequent.set_codes(NIBBLE_LONG, |gap| literal_bytes(gap) as u8);
    out.push(count as u8);
    for (name, &number) in names[..count].iter().enumerate() {
        append_name(frequent.gap(number), out);
        frequent.set_code(number, NIBBLE_NAME + name as u8);
    }
    key::append_bytes(&keys[..width.words()], width.bytes(), out);
    let code = |number: &u16| frequent.code(*number);
    out.extend(frequent.numbers().chunks(2).map(|pair| code(&pair[0]) | pair.get(1).map_or(0, code) << 4));
    for (index, &number) in frequent.numbers().iter().enumerate() {
        match frequent.code(number) {
            NIBBLE_LONG => append_long(width, keys, index, out),
            nibble => {
                append_literal(frequent.gap(number), if nibble < NIBBLE_LONG { nibble } else { 0 }, out);
            }
        }
    }
}

/// Appends the gap code without names: what a compressor of strings likes best, larger by a fifth or so without one, and made in a third of the time.
pub fn encode_plain(width: KeyWidth, keys: &[u64], out: &mut Vec<u8>) {
    out.push(0);
    key::append_bytes(&keys[..width.words()], width.bytes(), out);
    match width.words() {
        1 => append_plain(width, keys, gaps_one(keys), out),
        2 => append_plain(width, keys, gaps_two(keys), out),
        _ => append_plain(width, keys, gaps_many(width, keys), out),
    }
}

/// Appends nibbles and literals of all gaps.
#[inline(always)]
fn append_plain(width: KeyWidth, keys: &[u64], gaps: impl Iterator<Item = Option<u64>>, out: &mut Vec<u8>) {
    let (nibbles, count) = (out.len(), keys.len() / width.words() - 1);
    out.resize(nibbles + count.div_ceil(2), 0);
    let mut byte = 0;
    for (index, gap) in gaps.enumerate() {
        let nibble = match gap {
            Some(low) => {
                let length = literal_bytes(low) as u8;
                append_literal(low, length, out);
                length
            }
            None => {
                append_long(width, keys, index, out);
                NIBBLE_LONG
            }
        };
        // The low nibble is kept beside: reading it back would be a wait.
        byte = if index % 2 == 0 { nibble } else { byte | nibble << 4 };
        out[nibbles + index / 2] = byte;
    }
}

/// Appends the low `length` bytes of a gap: all eight, and those back that do not count. A store, where a copy of any length would be a call.
#[inline(always)]
fn append_literal(gap: u64, length: u8, out: &mut Vec<u8>) {
    let end = out.len() + usize::from(length);
    out.extend_from_slice(&gap.to_le_bytes());
    out.truncate(end);
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

/// Appends what tells the key after the one at `index`, where the gap is more than a word: of keys of two words length (two bytes) and bytes of the gap, least significant
/// first; of wider ones what differs.
fn append_long(width: KeyWidth, keys: &[u64], index: usize, out: &mut Vec<u8>) {
    let (earlier, later) = neighbours(width, keys, index);
    if width.words() > 2 {
        return changes::append(earlier, later, out);
    }
    let gap = gap_of_two(earlier, later);
    let length = significant_bytes(&gap);
    out.extend_from_slice(&(length as u16).to_le_bytes());
    out.extend((0..length).map(|index| key::byte(&gap, index)));
}

/// Splits a long literal off `literals`.
fn split_long(literals: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (length, rest) = literals.split_first_chunk::<2>().ok_or(Malformed)?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or(Malformed)
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
            let rest = changes::apply(key, literals.get(place..).ok_or(Malformed)?)?;
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
