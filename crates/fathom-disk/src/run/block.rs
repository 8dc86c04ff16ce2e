//! Which of these keys are in this block?
//!
//! A block is checked and decompressed once; of its groups those are decoded that can hold a key. Where all keys of a group have the same first word of two, only the
//! second words are. Whoever wants the values of keys, too, has all values of a block decoded with it.
//!
//! Memory: the block as it is coded, a group of keys, the first key of each group; the values of the block, if they are wanted.

use super::bounds::below;
use super::fence::Place;
use super::{Run, frame};
use crate::budget::{Budget, ChargedVec};
use crate::codec::group_size::groups_max;
use crate::codec::groups::Groups;
use crate::codec::{self, Codec, Decoder, Malformed};
use crate::error::DiskError;
use crate::key::{self, KeyWidth};
use crate::value::ValueWidth;

/// A block in which keys are sought; the room is reused for the next one.
#[derive(Debug)]
pub(super) struct OpenBlock {
    words: usize,
    /// Where it lies.
    offset: u64,
    pub(super) decoder: Decoder,
    /// How to decode it, if in groups, and the first keys of these.
    groups: Option<Groups>,
    firsts: ChargedVec<u64>,
    /// What is decoded: all of it, or one group.
    keys: ChargedVec<u64>,
    decoded: Decoded,
    /// The values of all keys of the block, if they are wanted.
    values: Option<(ValueWidth, ChargedVec<u64>)>,
    /// Keys decoded so far, in all blocks.
    pub(super) keys_decoded: u64,
}

/// What of a block is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoded {
    Nothing,
    /// Whole keys of that group (of the only one, for a block that has none).
    Group(usize),
    /// The second words of its keys.
    Low(usize),
}

impl OpenBlock {
    pub(super) fn new(budget: &Budget, owner: &'static str, width: KeyWidth) -> Result<Self, DiskError> {
        Ok(Self {
            words: width.words(),
            offset: 0,
            decoder: Decoder::new(budget, owner, width)?,
            groups: None,
            firsts: ChargedVec::with_capacity(budget, owner, 0)?,
            keys: ChargedVec::with_capacity(budget, owner, 0)?,
            decoded: Decoded::Nothing,
            values: None,
            keys_decoded: 0,
        })
    }

    /// From now on the values of blocks are decoded, too: those of a run that has values.
    pub(super) fn want_values(&mut self, run: &Run, budget: &Budget) -> Result<(), DiskError> {
        let width = run.values.expect("this is a run with values");
        self.values = Some((width, ChargedVec::with_capacity(budget, "sweep values", run.block_keys_max())?));
        Ok(())
    }

    /// Takes the room for any block of a run.
    pub(super) fn reserve(&mut self, run: &Run) -> Result<(), DiskError> {
        if run.footer.raw_bytes_max > 0 {
            self.decoder.prepare(Codec::TokenLz4, run.footer.raw_bytes_max as usize)?;
        }
        self.firsts.reserve(groups_max(run.block_keys_max()) * self.words)?;
        Ok(self.keys.reserve(run.group_keys_max() * self.words)?)
    }

    /// Takes the block whose frame is in `bytes`, in place of the one before.
    pub(super) fn open(&mut self, run: &Run, place: Place, bytes: &[u8]) -> Result<(), DiskError> {
        let nonsense = nonsense(run, place.offset);
        self.offset = place.offset;
        let frame = frame::check(&run.file, place.offset, bytes)?;
        let codec = Codec::from_number(frame.codec)
            .filter(|_| frame.level == 0 && frame.count <= run.keys_per_block)
            .ok_or(Malformed)
            .map_err(&nonsense)?;
        let (values, payload) = run.split_values(frame.payload, frame.count).map_err(&nonsense)?;
        if let Some((width, room)) = &mut self.values {
            room.resize(frame.count, 0)?;
            codec::values::decode(*width, values, room).map_err(&nonsense)?;
        }
        self.decoder.prepare(codec, run.footer.raw_bytes_max as usize)?;
        self.groups = None;
        self.decoded = Decoded::Nothing;
        if codec.is_token() {
            let groups = self.decoder.open(codec, payload, frame.count).map_err(&nonsense)?;
            self.firsts.resize(groups.count() * self.words, 0)?;
            for (group, first) in self.firsts.chunks_exact_mut(self.words).enumerate() {
                self.decoder.first_of(&groups, group, first);
            }
            self.groups = Some(groups);
            return Ok(());
        }
        self.keys.resize(frame.count * self.words, 0)?;
        self.decoder.decode(codec, payload, &mut self.keys).map_err(&nonsense)?;
        self.keys_decoded += frame.count as u64;
        self.decoded = Decoded::Group(0);
        Ok(())
    }

    /// Marks which of the ascending keys, none less than the first of the block, are in it.
    pub(super) fn mark(&mut self, run: &Run, keys: &[u64], found: &mut [bool]) -> Result<(), DiskError> {
        let words = self.words;
        let (mut index, mut group) = (0, 0);
        while index < found.len() {
            group = self.group_of(&keys[index * words..(index + 1) * words], group);
            let rest = &keys[index * words..];
            let count = match self.firsts.get((group + 1) * words..(group + 2) * words) {
                Some(next) if self.groups.is_some() => below_near(words, rest, next),
                _ => rest.len() / words,
            };
            let (sought, found) = (&rest[..count * words], &mut found[index..index + count]);
            if !self.seek(run, group, sought, found)? {
                self.decode(run, group)?;
                self.mark_decoded(sought, found);
            }
            index += count;
        }
        Ok(())
    }

    /// Says which value each of the ascending keys has that is in the block; none is less than its first. Values must be wanted.
    pub(super) fn look_up(
        &mut self,
        run: &Run,
        keys: &[u64],
        found: &mut [Option<u64>],
    ) -> Result<(), DiskError> {
        let (words, mut group) = (self.words, 0);
        for (key, found) in keys.chunks_exact(words).zip(found) {
            group = self.group_of(key, group);
            if self.decoded != Decoded::Group(group) {
                self.decode_whole(run, group)?;
            }
            let place = below(words, &self.keys, key);
            if self.keys.get(place * words..(place + 1) * words) == Some(key) {
                let before = self.groups.as_ref().map_or(0, |groups| groups.keys_of(&(0..group)));
                *found = self.values.as_ref().map(|(_, values)| values[before + place]);
            }
        }
        Ok(())
    }

    /// The group that can hold the key, not before `from`.
    fn group_of(&self, key: &[u64], from: usize) -> usize {
        let (words, mut group) = (self.words, from);
        let Some(groups) = &self.groups else { return 0 };
        let first = |group: usize| &self.firsts[group * words..(group + 1) * words];
        for stride in [8, 1] {
            while group + stride < groups.count() && key::compare(first(group + stride), key).is_le() {
                group += stride;
            }
        }
        group
    }

    /// Marks a few keys in a group of many that is not there, without decoding it to its end; says whether it did.
    fn seek(&mut self, run: &Run, group: usize, keys: &[u64], found: &mut [bool]) -> Result<bool, DiskError> {
        let Some(groups) = &self.groups else { return Ok(false) };
        if self.words > 2 || groups.keys_of(&(group..group + 1)) < found.len() * FEW || self.has(group) {
            return Ok(false);
        }
        let passed = self.decoder.seek(groups, (group, self.is_low(group)), keys, found);
        self.keys_decoded += passed.map_err(nonsense(run, self.offset))? as u64;
        Ok(true)
    }

    /// Whether the group is decoded.
    fn has(&self, group: usize) -> bool {
        matches!(self.decoded, Decoded::Group(there) | Decoded::Low(there) if there == group)
    }

    /// Whether all keys of the group are known to have the same first word of two.
    fn is_low(&self, group: usize) -> bool {
        let firsts = &self.firsts;
        self.words == 2 && firsts.get(group * 2 + 2).is_some_and(|&next| next == firsts[group * 2])
    }

    /// Decodes a group, unless it is there.
    fn decode(&mut self, run: &Run, group: usize) -> Result<(), DiskError> {
        if self.groups.is_none() || self.has(group) {
            return Ok(());
        }
        if !self.is_low(group) {
            return self.decode_whole(run, group);
        }
        let Self { decoder, groups, keys, .. } = self;
        let Some(groups) = groups else { return Ok(()) };
        self.decoded = Decoded::Nothing;
        let count = groups.keys_of(&(group..group + 1));
        keys.resize(count, 0)?;
        decoder.decode_low(groups, group, keys).map_err(nonsense(run, self.offset))?;
        self.keys_decoded += count as u64;
        self.decoded = Decoded::Low(group);
        Ok(())
    }

    /// Decodes the whole keys of a group.
    fn decode_whole(&mut self, run: &Run, group: usize) -> Result<(), DiskError> {
        let Self { words, decoder, groups, keys, .. } = self;
        let (Some(groups), words) = (groups, *words) else { return Ok(()) };
        self.decoded = Decoded::Nothing;
        let count = groups.keys_of(&(group..group + 1));
        keys.resize(count * words, 0)?;
        let decoded = decoder.decode_groups(groups, group..group + 1, keys);
        decoded.map_err(nonsense(run, self.offset))?;
        self.keys_decoded += count as u64;
        self.decoded = Decoded::Group(group);
        Ok(())
    }

    /// Marks which of the ascending keys are among those decoded.
    fn mark_decoded(&self, keys: &[u64], found: &mut [bool]) {
        let (block, words) = (&*self.keys, self.words);
        match (self.decoded, words) {
            (Decoded::Low(_), _) => {
                mark_numbers(block.len(), |place| block[place], |index| keys[index * 2 + 1], found);
            }
            (_, 1) => mark_numbers(block.len(), |place| block[place], |index| keys[index], found),
            (_, 2) => mark_numbers(
                block.len() / 2,
                |place| key::wide(&block[place * 2..place * 2 + 2]),
                |index| key::wide(&keys[index * 2..index * 2 + 2]),
                found,
            ),
            _ => mark_in_strides(
                block.len() / words,
                |place| &block[place * words..(place + 1) * words],
                |index| &keys[index * words..(index + 1) * words],
                found,
            ),
        }
    }
}

/// What a block at `offset` is that cannot be decoded.
fn nonsense(run: &Run, offset: u64) -> impl Fn(Malformed) -> DiskError {
    move |_| DiskError::corrupt(&run.file, offset, "a block makes no sense")
}

/// So many keys ahead is tried first.
const NEAR: usize = 64;
/// With so many keys of a group per key sought, they are not written down.
const FEW: usize = 3;
/// With no more than so many keys of the block per key sought, all are passed one by one.
const CLOSE: usize = 4;
/// Long and short strides of the search for the next key.
const STRIDES: [usize; 3] = [64, 8, 1];

/// How many of the ascending keys are less than `bound`: many keys are mostly for many blocks, so what is sought lies near the front.
pub(super) fn below_near(words: usize, keys: &[u64], bound: &[u64]) -> usize {
    match keys.get(NEAR * words..(NEAR + 1) * words) {
        Some(near) if key::compare(near, bound).is_ge() => below(words, &keys[..NEAR * words], bound),
        _ => below(words, keys, bound),
    }
}

#[inline(always)]
fn mark_numbers<K: Ord + Copy>(
    block_keys: usize,
    block: impl Fn(usize) -> K,
    key: impl Fn(usize) -> K,
    found: &mut [bool],
) {
    if block_keys <= found.len() * CLOSE {
        mark_beside(block_keys, block, key, found);
    } else {
        mark_in_strides(block_keys, block, key, found);
    }
}

/// Passes block and keys side by side, whoever is less going on: no branch depends on the keys.
#[inline(always)]
fn mark_beside<K: Ord + Copy>(
    block_keys: usize,
    block: impl Fn(usize) -> K,
    key: impl Fn(usize) -> K,
    found: &mut [bool],
) {
    let (mut place, mut index) = (0, 0);
    while place < block_keys && index < found.len() {
        let (known, sought) = (block(place), key(index));
        found[index] |= known == sought;
        place += usize::from(known < sought);
        index += usize::from(sought <= known);
    }
}

/// Goes forward through the block from key to key in strides: neighbours are near each other, so this is cheaper than halving what is left.
#[inline(always)]
fn mark_in_strides<K: Ord>(
    block_keys: usize,
    block: impl Fn(usize) -> K,
    key: impl Fn(usize) -> K,
    found: &mut [bool],
) {
    let mut place = 0;
    for (index, found) in found.iter_mut().enumerate() {
        let sought = key(index);
        for stride in STRIDES {
            while place + stride < block_keys && block(place + stride - 1) < sought {
                place += stride;
            }
        }
        *found |= block(place) == sought;
    }
}
