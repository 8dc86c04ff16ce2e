//! How do the patterns in the gaps of a block become plain to a compressor of strings?
//!
//! State sets are made of products: the same gaps come again, in the same order, for each value of the fields before them. One
//! byte per key, the name of its gap, turns that into repeats at byte borders, which a matcher finds cheaply and copies
//! back quickly. Rare gaps go to a list of literals at the end. See "Token code" in the format document.

use super::Malformed;
use super::frequent::{FrequentGaps, LONG};
use super::gap::{GapRoom, append_long, append_name, literal_bytes, split_long, split_name};
use crate::key::{self, KeyWidth};

/// Names for gaps; one byte value stays for literals.
const NAMES_MAX: usize = 255;
/// The token of a literal.
const TOKEN_LITERAL: u8 = 255;
/// Bytes of a literal of one word with its length, at most.
const LITERAL_BYTES_MAX: usize = 10;

/// No token code of `keys` keys is longer than this, while it is made.
pub fn bytes_max(width: KeyWidth, keys: usize) -> usize {
    1 + NAMES_MAX.min(keys) * 9 + width.bytes() + keys + keys * (width.bytes() + 2) + LITERAL_BYTES_MAX
}

/// Appends the token code of ascending keys.
pub(super) fn encode(width: KeyWidth, keys: &[u64], frequent: &mut FrequentGaps, out: &mut Vec<u8>) {
    frequent.count(width, keys);
    let mut names = [0; NAMES_MAX];
    let names = choose_names(frequent, &mut names);
    frequent.set_codes(TOKEN_LITERAL, |_| TOKEN_LITERAL);
    out.push(names.len() as u8);
    for (token, &number) in names.iter().enumerate() {
        append_name(frequent.gap(number), out);
        frequent.set_code(number, token as u8);
    }
    key::append_bytes(&keys[..width.words()], width.bytes(), out);
    out.extend(frequent.numbers().iter().map(|&number| frequent.code(number)));
    append_literals(width, keys, frequent, out);
}

/// Numbers of the gaps that get names, by rising gap: neighbouring names are alike then, and the list itself compresses.
fn choose_names<'a>(frequent: &mut FrequentGaps, names: &'a mut [u16; NAMES_MAX]) -> &'a [u16] {
    let literal = |gap| literal_bytes(gap) as i64;
    let chosen = frequent.choose(NAMES_MAX, |gap| 2 + literal(gap), |gap| 1 + literal(gap));
    let count = names.iter_mut().zip(chosen).map(|(name, number)| *name = number).count();
    names[..count].sort_unstable_by_key(|&number| frequent.gap(number));
    &names[..count]
}

/// Appends the gaps that have no name.
fn append_literals(width: KeyWidth, keys: &[u64], frequent: &FrequentGaps, out: &mut Vec<u8>) {
    let mut difference = GapRoom::default();
    for (index, &number) in frequent.numbers().iter().enumerate() {
        if number == LONG {
            append_long(difference.gap(width, keys, index), out);
            continue;
        }
        if frequent.code(number) != TOKEN_LITERAL {
            continue;
        }
        let gap = frequent.gap(number);
        let length = literal_bytes(gap);
        let end = out.len() + 2 + length;
        out.extend_from_slice(&(length as u16).to_le_bytes());
        out.extend_from_slice(&gap.to_le_bytes());
        out.truncate(end);
    }
}

/// Decodes token code into exactly the keys that fit `keys`.
pub(super) fn decode(width: KeyWidth, payload: &[u8], keys: &mut [u64]) -> Result<(), Malformed> {
    let (&names, mut rest) = payload.split_first().ok_or(Malformed)?;
    let mut table = [0; 256];
    for name in &mut table[..usize::from(names)] {
        (*name, rest) = split_name(rest)?;
    }
    let (first, rest) = rest.split_at_checked(width.bytes()).ok_or(Malformed)?;
    let words = width.words();
    key::from_bytes(first, &mut keys[..words]);
    let (tokens, literals) = rest.split_at_checked(keys.len() / words - 1).ok_or(Malformed)?;
    match words {
        1 => decode_one(&table, tokens, literals, keys),
        2 => decode_two(&table, tokens, literals, keys),
        _ => decode_many(words, &table, tokens, literals, keys),
    }
}

fn decode_one(
    table: &[u64; 256],
    tokens: &[u8],
    mut literals: &[u8],
    keys: &mut [u64],
) -> Result<(), Malformed> {
    let mut key = keys[0];
    for (out, &token) in keys[1..].iter_mut().zip(tokens) {
        let mut gap = table[usize::from(token)];
        if token == TOKEN_LITERAL {
            ([_, gap], literals) = split_literal(literals)?;
        }
        key = key.wrapping_add(gap).wrapping_add(1);
        *out = key;
    }
    if literals.is_empty() { Ok(()) } else { Err(Malformed) }
}

fn decode_two(
    table: &[u64; 256],
    tokens: &[u8],
    mut literals: &[u8],
    keys: &mut [u64],
) -> Result<(), Malformed> {
    let mut key = key::wide(keys);
    for (out, &token) in keys[2..].as_chunks_mut::<2>().0.iter_mut().zip(tokens) {
        let mut gap = [0, table[usize::from(token)]];
        if token == TOKEN_LITERAL {
            (gap, literals) = split_literal(literals)?;
        }
        key = key.wrapping_add(key::wide(&gap)).wrapping_add(1);
        *out = key::narrow(key);
    }
    if literals.is_empty() { Ok(()) } else { Err(Malformed) }
}

/// Splits a long literal off, as at most two words.
#[inline(always)]
fn split_literal(literals: &[u8]) -> Result<([u64; 2], &[u8]), Malformed> {
    let (length, bytes) = literals.split_first_chunk::<2>().ok_or(Malformed)?;
    let length = usize::from(u16::from_le_bytes(*length));
    let rest = bytes.get(length..).ok_or(Malformed)?;
    let high = if length > 8 { key::load_low(&bytes[8..], length - 8) } else { 0 };
    Ok(([high, key::load_low(bytes, length)], rest))
}

fn decode_many(
    words: usize,
    table: &[u64; 256],
    tokens: &[u8],
    mut literals: &[u8],
    keys: &mut [u64],
) -> Result<(), Malformed> {
    for (index, &token) in tokens.iter().enumerate() {
        keys.copy_within(index * words..(index + 1) * words, (index + 1) * words);
        let key = &mut keys[(index + 1) * words..(index + 2) * words];
        if token == TOKEN_LITERAL {
            let (bytes, rest) = split_long(literals)?;
            key::step_by_bytes(key, bytes);
            literals = rest;
        } else {
            key::step_by_word(key, table[usize::from(token)]);
        }
    }
    if literals.is_empty() { Ok(()) } else { Err(Malformed) }
}
