//! How do the patterns in the gaps of a block become plain to a compressor of strings?
//!
//! State sets are made of products: the same gaps come again, in the same order, for each value of the fields before them. One
//! byte per key, the name of its gap, turns that into repeats at byte borders, which a matcher finds cheaply and copies
//! back quickly. Rare gaps go to a list of literals at the end. Decoding can begin at every [group](super::groups). See "Token code" in the format document.

use super::Malformed;
use super::changes;
use super::frequent::{FrequentGaps, LONG};
use super::gaps::{append_name, gap_of_two, literal_bytes, neighbours, significant_bytes, split_name};
use super::group_size::{LITERALS_BYTES, groups_max};
use crate::key::{self, KeyWidth};

/// Names for gaps; one byte value stays for literals.
const NAMES_MAX: usize = 255;
/// The token of a literal.
pub(super) const TOKEN_LITERAL: u8 = 255;
/// The length that says that changes follow.
const LENGTH_CHANGES: u8 = 255;
/// Bytes that an append may write behind the end, and take back.
const SLACK_BYTES: usize = 10;

/// What tokens mean: the gaps that have names.
pub(super) type Names = [u64; 256];

/// No token code of `keys` keys is longer than this, while it is made.
pub fn bytes_max(width: KeyWidth, keys: usize) -> usize {
    let starts = groups_max(keys) * (width.bytes() + LITERALS_BYTES);
    let literal = if width.words() > 2 { 1 + changes::bytes_max(width.words()) } else { width.bytes() + 3 };
    2 + NAMES_MAX.min(keys) * 9 + starts + keys + keys * literal + SLACK_BYTES
}

/// Appends the token code of ascending keys, in groups of 2^`group_log`.
pub(super) fn encode(
    width: KeyWidth,
    keys: &[u64],
    frequent: &mut FrequentGaps,
    group_log: u32,
    out: &mut Vec<u8>,
) {
    frequent.count(width, keys);
    let mut names = [0; NAMES_MAX];
    let names = choose_names(frequent, &mut names);
    frequent.set_codes(TOKEN_LITERAL, |_| TOKEN_LITERAL);
    out.push(names.len() as u8);
    for (token, &number) in names.iter().enumerate() {
        append_name(frequent.gap(number), out);
        frequent.set_code(number, token as u8);
    }
    out.push(group_log as u8);
    let group_words = width.words() << group_log;
    for group in keys.chunks(group_words) {
        key::append_bytes(&group[..width.words()], width.bytes(), out);
    }
    let starts = out.len();
    out.resize(starts + keys.len().div_ceil(group_words) * LITERALS_BYTES, 0);
    for numbers in gaps_of_groups(frequent, group_log) {
        out.extend(numbers.iter().map(|&number| frequent.code(number)));
    }
    let literals = out.len();
    let mut last = 0;
    for (group, numbers) in gaps_of_groups(frequent, group_log).enumerate() {
        set_literals_start(out, starts + group * LITERALS_BYTES, literals);
        append_literals(width, keys, (group << group_log, numbers), frequent, out);
        last = group + 1;
    }
    if last << group_log < keys.len() / width.words() {
        // The last group is one key, without gaps.
        set_literals_start(out, starts + last * LITERALS_BYTES, literals);
    }
}

/// Numbers of the gaps inside each group: not of those between groups. A last group of one key is left out.
fn gaps_of_groups(frequent: &FrequentGaps, group_log: u32) -> impl Iterator<Item = &[u16]> {
    let keys = 1 << group_log;
    frequent.numbers().chunks(keys).map(move |numbers| &numbers[..numbers.len().min(keys - 1)])
}

fn set_literals_start(out: &mut [u8], at: usize, literals: usize) {
    let start = ((out.len() - literals) as u32).to_le_bytes();
    out[at..at + LITERALS_BYTES].copy_from_slice(&start[..LITERALS_BYTES]);
}

/// Numbers of the gaps that get names, by rising gap: neighbouring names are alike then, and the list itself compresses.
fn choose_names<'a>(frequent: &mut FrequentGaps, names: &'a mut [u16; NAMES_MAX]) -> &'a [u16] {
    let literal = |gap| literal_bytes(gap) as i64;
    let chosen = frequent.choose(NAMES_MAX, |gap| 1 + literal(gap), |gap| 1 + literal(gap));
    let count = names.iter_mut().zip(chosen).map(|(name, number)| *name = number).count();
    names[..count].sort_unstable_by_key(|&number| frequent.gap(number));
    &names[..count]
}

/// Appends those of the gaps, the first of which comes after the key number `first`, that have no name.
fn append_literals(
    width: KeyWidth,
    keys: &[u64],
    (first, numbers): (usize, &[u16]),
    frequent: &FrequentGaps,
    out: &mut Vec<u8>,
) {
    for (index, &number) in numbers.iter().enumerate() {
        if number == LONG {
            append_long(width, keys, first + index, out);
            continue;
        }
        if frequent.code(number) != TOKEN_LITERAL {
            continue;
        }
        let gap = frequent.gap(number);
        let length = literal_bytes(gap);
        let end = out.len() + 1 + length;
        out.push(length as u8);
        out.extend_from_slice(&gap.to_le_bytes());
        out.truncate(end);
    }
}

/// Appends what tells the key after the one at `index`, where the gap is more than a word: of keys of two words length and bytes of the gap, least significant first; of wider
/// ones [`LENGTH_CHANGES`] and what differs.
fn append_long(width: KeyWidth, keys: &[u64], index: usize, out: &mut Vec<u8>) {
    let (earlier, later) = neighbours(width, keys, index);
    if width.words() > 2 {
        out.push(LENGTH_CHANGES);
        return changes::append(earlier, later, out);
    }
    let gap = gap_of_two(earlier, later);
    let length = significant_bytes(&gap);
    out.push(length as u8);
    out.extend((0..length).map(|index| key::byte(&gap, index)));
}

/// Splits the names off. Those that there are not are zero.
pub(super) fn split_names<'a>(payload: &'a [u8], names: &mut Names) -> Result<&'a [u8], Malformed> {
    let (&count, mut rest) = payload.split_first().ok_or(Malformed)?;
    let (there, others) = names.split_at_mut(usize::from(count));
    for name in there {
        (*name, rest) = split_name(rest)?;
    }
    others.fill(0);
    Ok(rest)
}

/// Decodes the keys after the first, which is there, of one word each; gives the literals that are left.
pub(super) fn decode_one<'a>(
    names: &Names,
    tokens: &[u8],
    mut literals: &'a [u8],
    keys: &mut [u64],
) -> Result<&'a [u8], Malformed> {
    let mut key = keys[0];
    for (out, &token) in keys[1..].iter_mut().zip(tokens) {
        let mut gap = names[usize::from(token)];
        if token == TOKEN_LITERAL {
            ([_, gap], literals) = split_literal(literals)?;
        }
        key = key.wrapping_add(gap).wrapping_add(1);
        *out = key;
    }
    Ok(literals)
}

/// The same for keys of two words.
pub(super) fn decode_two<'a>(
    names: &Names,
    tokens: &[u8],
    mut literals: &'a [u8],
    keys: &mut [u64],
) -> Result<&'a [u8], Malformed> {
    let mut key = key::wide(keys);
    for (out, &token) in keys[2..].as_chunks_mut::<2>().0.iter_mut().zip(tokens) {
        let mut gap = [0, names[usize::from(token)]];
        if token == TOKEN_LITERAL {
            (gap, literals) = split_literal(literals)?;
        }
        key = key.wrapping_add(key::wide(&gap)).wrapping_add(1);
        *out = key::narrow(key);
    }
    Ok(literals)
}

/// Marks which of the ascending numbers sought, none less than `first`, are among the keys that begin with it, going from gap to gap and writing no key down; says how many keys it passed.
#[inline(always)]
pub(super) fn seek<K: Ord + Copy>(
    names: &Names,
    (tokens, mut literals): (&[u8], &[u8]),
    (first, step): (K, impl Fn(K, [u64; 2]) -> K),
    sought: impl Fn(usize) -> K,
    found: &mut [bool],
) -> Result<usize, Malformed> {
    if found.is_empty() {
        return Ok(0);
    }
    let (mut key, mut index) = (first, 0);
    for (passed, &token) in tokens.iter().enumerate() {
        while key >= sought(index) {
            found[index] |= key == sought(index);
            index += 1;
            if index == found.len() {
                return Ok(passed + 1);
            }
        }
        let mut gap = [0, names[usize::from(token)]];
        if token == TOKEN_LITERAL {
            (gap, literals) = split_literal(literals)?;
        }
        key = step(key, gap);
    }
    while index < found.len() && key >= sought(index) {
        found[index] |= key == sought(index);
        index += 1;
    }
    Ok(tokens.len() + 1)
}

/// Splits a literal off, as at most two words.
#[inline(always)]
fn split_literal(literals: &[u8]) -> Result<([u64; 2], &[u8]), Malformed> {
    let (&length, bytes) = literals.split_first().ok_or(Malformed)?;
    let length = usize::from(length);
    let rest = bytes.get(length..).ok_or(Malformed)?;
    let high = if length > 8 { key::load_low(&bytes[8..], length - 8) } else { 0 };
    Ok(([high, key::load_low(bytes, length)], rest))
}

/// The same for keys of any number of words.
pub(super) fn decode_many<'a>(
    words: usize,
    names: &Names,
    tokens: &[u8],
    mut literals: &'a [u8],
    keys: &mut [u64],
) -> Result<&'a [u8], Malformed> {
    for (index, &token) in tokens.iter().enumerate() {
        keys.copy_within(index * words..(index + 1) * words, (index + 1) * words);
        let key = &mut keys[(index + 1) * words..(index + 2) * words];
        if token == TOKEN_LITERAL {
            literals = apply_literal(key, literals)?;
        } else {
            key::step_by_word(key, names[usize::from(token)]);
        }
    }
    Ok(literals)
}

/// Changes a wide key into the next one by a literal; gives the literals behind.
fn apply_literal<'a>(key: &mut [u64], literals: &'a [u8]) -> Result<&'a [u8], Malformed> {
    let (&length, rest) = literals.split_first().ok_or(Malformed)?;
    if length == LENGTH_CHANGES {
        return changes::apply(key, rest);
    }
    let (bytes, rest) =
        rest.split_at_checked(usize::from(length)).filter(|_| length <= 8).ok_or(Malformed)?;
    key::step_by_word(key, key::load_partial(bytes));
    Ok(rest)
}
