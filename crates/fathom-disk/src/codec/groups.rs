//! Where in a block of token code can decoding begin?
//!
//! At every group of 2^n keys: its first key is written out, and so is the place of its first literal. So a few keys are sought in a large block, which compresses
//! well, for the price of decompressing it and decoding a few groups. A group begins anew whatever came before it: the same keys come out of a whole block and of its groups one by one.

use std::ops::Range;

use super::Malformed;
use super::group_size::LITERALS_BYTES;
use super::token::{self, Names};
use crate::key::{self, KeyWidth};

/// A block in groups: where its parts are. Its bytes and the names are with the decoder.
#[derive(Debug)]
pub struct Groups {
    width: KeyWidth,
    keys: usize,
    log: u32,
    /// Where in the bytes first keys, places of literals, tokens and literals begin, and where these end.
    firsts: usize,
    places: usize,
    tokens: usize,
    literals: usize,
    end: usize,
}

impl Groups {
    /// Parses token code of so many keys, with its names.
    pub(super) fn parse(
        width: KeyWidth,
        bytes: &[u8],
        keys: usize,
        names: &mut Names,
    ) -> Result<Self, Malformed> {
        let rest = token::split_names(bytes, names)?;
        let (&log, rest) = rest.split_first().filter(|&(&log, _)| log < 16).ok_or(Malformed)?;
        let log = u32::from(log);
        let firsts = bytes.len() - rest.len();
        let groups = keys.div_ceil(1 << log);
        let places = firsts + groups * width.bytes();
        let tokens = places + groups * LITERALS_BYTES;
        let literals = tokens + (keys - groups);
        if keys == 0 || literals > bytes.len() {
            return Err(Malformed);
        }
        Ok(Self { width, keys, log, firsts, places, tokens, literals, end: bytes.len() })
    }

    /// How many groups there are.
    pub fn count(&self) -> usize {
        self.keys.div_ceil(1 << self.log)
    }

    /// Keys of these groups.
    pub fn keys_of(&self, groups: &Range<usize>) -> usize {
        (groups.end << self.log).min(self.keys) - (groups.start << self.log)
    }

    /// Groups from `first` on that have at most so many keys; at least one, if there is one.
    pub fn span(&self, first: usize, keys: usize) -> Range<usize> {
        first..(first + (keys >> self.log).max(1)).min(self.count())
    }

    /// The first key of a group.
    pub(super) fn first(&self, bytes: &[u8], group: usize, key: &mut [u64]) {
        let each = self.width.bytes();
        key::from_bytes(&bytes[self.firsts + group * each..][..each], key);
    }

    /// Decodes these groups into exactly the keys that they have.
    pub(super) fn decode(
        &self,
        (names, bytes): (&Names, &[u8]),
        groups: Range<usize>,
        keys: &mut [u64],
    ) -> Result<(), Malformed> {
        let words = self.width.words();
        let mut rest = keys;
        let mut last: Option<&[u64]> = None;
        for group in groups {
            let (keys, after) = rest.split_at_mut(self.keys_of(&(group..group + 1)) * words);
            self.first(bytes, group, &mut keys[..words]);
            if last.is_some_and(|last| key::compare(last, &keys[..words]).is_ge()) {
                return Err(Malformed);
            }
            let (tokens, literals) = self.gaps(bytes, group)?;
            let left = match words {
                1 => token::decode_one(names, tokens, literals, keys)?,
                2 => token::decode_two(names, tokens, literals, keys)?,
                _ => token::decode_many(words, names, tokens, literals, keys)?,
            };
            if !left.is_empty() {
                return Err(Malformed);
            }
            last = Some(&keys[keys.len() - words..]);
            rest = after;
        }
        Ok(())
    }

    /// Decodes the second words of a group of keys of two words, whose first words are all the same: the caller knows it from the first key of the next group.
    pub(super) fn decode_low(
        &self,
        (names, bytes): (&Names, &[u8]),
        group: usize,
        low: &mut [u64],
    ) -> Result<(), Malformed> {
        let mut first = [0; 2];
        self.first(bytes, group, &mut first);
        low[0] = first[1];
        let (tokens, literals) = self.gaps(bytes, group)?;
        let left = token::decode_one(names, tokens, literals, low)?;
        if left.is_empty() { Ok(()) } else { Err(Malformed) }
    }

    /// Marks which of a few ascending keys of one or two words, none less than the first of the group, are in it; says how many of its keys were passed. `low` says that all keys have the same
    /// first word of two.
    pub(super) fn seek(
        &self,
        (names, bytes): (&Names, &[u8]),
        (group, low): (usize, bool),
        keys: &[u64],
        found: &mut [bool],
    ) -> Result<usize, Malformed> {
        let gaps = self.gaps(bytes, group)?;
        let words = self.width.words();
        let mut first = [0; 2];
        self.first(bytes, group, &mut first[..words]);
        if words == 1 || low {
            let step = |key: u64, [_, gap]: [u64; 2]| key.wrapping_add(gap).wrapping_add(1);
            let sought = |index: usize| keys[index * words + words - 1];
            return token::seek(names, gaps, (first[words - 1], step), sought, found);
        }
        let step = |key: u128, gap: [u64; 2]| key.wrapping_add(key::wide(&gap)).wrapping_add(1);
        let sought = |index: usize| key::wide(&keys[index * 2..index * 2 + 2]);
        token::seek(names, gaps, (key::wide(&first), step), sought, found)
    }

    /// Tokens and literals of a group.
    fn gaps<'a>(&self, bytes: &'a [u8], group: usize) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        let tokens = self.tokens + group * ((1 << self.log) - 1);
        let count = self.keys_of(&(group..group + 1)) - 1;
        let literals = &bytes[self.literals..self.end];
        let until = if group + 1 < self.count() { self.place(bytes, group + 1) } else { literals.len() };
        let literals = literals.get(self.place(bytes, group)..until).ok_or(Malformed)?;
        Ok((&bytes[tokens..tokens + count], literals))
    }

    /// Where the literals of a group begin.
    fn place(&self, bytes: &[u8], group: usize) -> usize {
        key::load_partial(&bytes[self.places + group * LITERALS_BYTES..][..LITERALS_BYTES]) as usize
    }
}
