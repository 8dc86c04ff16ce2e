//! A filter of 9 bits per key with 0.4 % wrong "maybe"s, for keys that are all known.
//!
//! Binary fuse filter (Graf and Lemire 2022): three fingerprint bytes in neighbouring segments of an array add up, by
//! exclusive or, to the key's own fingerprint. Written here rather than taken from a crate because its working memory must
//! be charged, its bytes on disk must be ours, and the same keys must give the same filter: seeds are tried in a fixed
//! order, and no random numbers are drawn.

use super::{is_forgotten, stored};
use crate::budget::{Budget, BudgetError, Charge};
use crate::error::DiskError;
use crate::storage::File;

const FUSE_OWNER: &str = "fuse filter";
const BUILD_OWNER: &str = "fuse filter being built";
const KIND: u32 = 2;
/// Failing to build with a seed has a probability of about 1 %; with all of these, none that matters.
const ATTEMPTS: u32 = 100;

/// Immutable filter. Memory: about 9 bits per key (more below a few thousand keys); building takes 20 bytes a key more.
#[derive(Debug)]
pub struct Fuse {
    shape: Shape,
    fingerprints: Vec<u8>,
    charge: Charge,
}

/// Everything that decides where a hash looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Odd; 1 at the first attempt, so that hashes given in order touch the array in order.
    seed: u64,
    segment_bytes: u64,
    /// Positions where the first of three bytes may lie.
    span: u64,
}

impl Fuse {
    /// Bytes that building a filter for `keys` keys takes besides the hashes themselves.
    pub fn build_bytes(keys: usize) -> usize {
        let length = Shape::for_keys(keys).length();
        length + 9 * length + 9 * keys + 4 * length
    }

    /// Builds a filter for these hashes, which are sorted and freed of repeats in place.
    pub fn build(hashes: &mut Vec<u64>, budget: &Budget) -> Result<Fuse, BudgetError> {
        hashes.sort_unstable();
        hashes.dedup();
        let mut shape = Shape::for_keys(hashes.len());
        let length = shape.length();
        let charge = budget.charge(FUSE_OWNER, length)?;
        let mut fingerprints = vec![0; length];
        if hashes.is_empty() {
            return Ok(Fuse { shape, fingerprints, charge });
        }
        let _building = budget.charge(BUILD_OWNER, Fuse::build_bytes(hashes.len()) - length)?;
        for attempt in 0..ATTEMPTS {
            if let Some(order) = peel(hashes, &shape) {
                assign(&order, &shape, &mut fingerprints);
                return Ok(Fuse { shape, fingerprints, charge });
            }
            shape.seed = crate::hash::hash_word(u64::from(attempt)) | 1;
        }
        unreachable!("a hundred seeds failed for {} distinct hashes", hashes.len())
    }

    /// Whether the key with this hash may be in the set; "no" is certain.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        let mixed = self.shape.mix(hash);
        let [a, b, c] = self.shape.positions(mixed);
        let sum = self.fingerprints[a] ^ self.fingerprints[b] ^ self.fingerprints[c];
        sum == fingerprint(mixed) && !is_forgotten(hash)
    }

    /// The array and the place in it that a query of this hash reads first, for asking ahead.
    #[inline(always)]
    pub(super) fn prefetch(&self, hash: u64) {
        for position in self.shape.positions(self.shape.mix(hash)) {
            crate::intrinsics::prefetch(&self.fingerprints, position);
        }
    }

    /// Bytes charged.
    pub fn bytes(&self) -> usize {
        self.charge.bytes()
    }

    /// Writes the filter at `offset` of a file and gives the offset behind it.
    pub fn write(&self, file: &File, offset: u64) -> Result<u64, DiskError> {
        let Shape { seed, segment_bytes, span } = self.shape;
        let payload_bytes = self.fingerprints.len() as u64;
        let parameters = [seed, segment_bytes, span, 0, payload_bytes];
        let header = stored::Header { kind: KIND, parameters, payload_bytes };
        stored::write(file, offset, header, &self.fingerprints)
    }

    /// Reads a filter that was written at `offset`, and gives the offset behind it.
    pub fn read(file: &File, offset: u64, budget: &Budget) -> Result<(Fuse, u64), DiskError> {
        let header = stored::read_header(file, offset, KIND)?;
        let [seed, segment_bytes, span, ..] = header.parameters;
        let whole = segment_bytes.is_power_of_two() && span > 0 && span.is_multiple_of(segment_bytes);
        let length = segment_bytes.checked_mul(2).and_then(|two| two.checked_add(span));
        if !whole || length != Some(header.payload_bytes) {
            return Err(DiskError::corrupt(file, offset, "impossible parameters of a filter"));
        }
        let charge = budget.charge(FUSE_OWNER, header.payload_bytes as usize)?;
        let mut fingerprints = vec![0; header.payload_bytes as usize];
        let after = stored::read_payload(file, offset, header, &mut fingerprints)?;
        Ok((Fuse { shape: Shape { seed, segment_bytes, span }, fingerprints, charge }, after))
    }
}

impl Shape {
    /// The sizes of Graf and Lemire for three positions.
    fn for_keys(keys: usize) -> Shape {
        let count = keys as f64;
        let exponent =
            if keys < 2 { 2.0 } else { (count.ln() / 3.33f64.ln() + 2.25).floor().clamp(2.0, 18.0) };
        let segment_bytes = 1u64 << exponent as u32;
        let factor = if keys < 2 { 1.0 } else { (0.875 + 0.25 * 1e6f64.ln() / count.ln()).max(1.125) };
        let capacity = if keys < 2 { 1 } else { (count * factor).round() as u64 };
        let segments = capacity.div_ceil(segment_bytes).saturating_sub(2).max(1);
        Shape { seed: 1, segment_bytes, span: segments * segment_bytes }
    }

    fn length(&self) -> usize {
        (self.span + 2 * self.segment_bytes) as usize
    }

    #[inline(always)]
    fn mix(&self, hash: u64) -> u64 {
        hash.wrapping_mul(self.seed)
    }

    #[inline(always)]
    fn positions(&self, mixed: u64) -> [usize; 3] {
        let within = self.segment_bytes - 1;
        let first = ((u128::from(mixed) * u128::from(self.span)) >> 64) as u64;
        let second = (first + self.segment_bytes) ^ ((mixed >> 18) & within);
        let third = (first + 2 * self.segment_bytes) ^ (mixed & within);
        [first as usize, second as usize, third as usize]
    }
}

#[inline(always)]
fn fingerprint(mixed: u64) -> u8 {
    (mixed ^ (mixed >> 32)) as u8
}

/// A mixed hash and which of its positions was its alone when it was peeled off.
struct Peeled {
    mixed: Vec<u64>,
    which: Vec<u8>,
}

/// Takes hashes off one by one, each with a position that no remaining one has; `None` if that ends too early.
fn peel(hashes: &[u64], shape: &Shape) -> Option<Peeled> {
    let length = shape.length();
    // Per position: how many hashes touch it, times four, the exclusive or of which of their positions it is; and of them.
    let mut counts = vec![0u8; length];
    let mut sums = vec![0u64; length];
    for &hash in hashes {
        let mixed = shape.mix(hash);
        for (which, position) in shape.positions(mixed).into_iter().enumerate() {
            counts[position] = counts[position].checked_add(4)? ^ which as u8;
            sums[position] ^= mixed;
        }
    }
    let mut alone: Vec<u32> = Vec::with_capacity(length);
    alone.extend((0..length as u32).filter(|&position| counts[position as usize] >> 2 == 1));
    let mut peeled =
        Peeled { mixed: Vec::with_capacity(hashes.len()), which: Vec::with_capacity(hashes.len()) };
    while let Some(position) = alone.pop() {
        let position = position as usize;
        if counts[position] >> 2 != 1 {
            continue;
        }
        let mixed = sums[position];
        let own = counts[position] & 3;
        peeled.mixed.push(mixed);
        peeled.which.push(own);
        for (which, other) in shape.positions(mixed).into_iter().enumerate() {
            counts[other] = (counts[other] - 4) ^ which as u8;
            sums[other] ^= mixed;
            if counts[other] >> 2 == 1 {
                alone.push(other as u32);
            }
        }
    }
    (peeled.mixed.len() == hashes.len()).then_some(peeled)
}

/// Fixes fingerprints in the opposite order: the position that was alone is free to make the sum right.
fn assign(peeled: &Peeled, shape: &Shape, fingerprints: &mut [u8]) {
    for (&mixed, &which) in peeled.mixed.iter().zip(&peeled.which).rev() {
        let positions = shape.positions(mixed);
        let sum = positions.into_iter().fold(0, |sum, position| sum ^ fingerprints[position]);
        let own = positions[usize::from(which)];
        fingerprints[own] ^= sum ^ fingerprint(mixed);
    }
}
