//! How are the keys of one shard numbered?
//!
//! Hashes fall into buckets of 3 on average, and each bucket has a pilot, one byte, chosen so that the slots of its keys
//! collide with no other key's (as in PTHash and PtrHash). There are 1 % more slots than keys; a key in a slot beyond the
//! number of keys is sent to one of the free slots below it. A bucket for which all 256 pilots collide takes the slots of
//! the buckets that it hurts least, and those are placed again.
//!
//! Keys whose 64-bit hash another key of the shard has are exceptions: they are listed whole and numbered last.

use crate::error::DiskError;
use crate::storage::File;
use xxhash_rust::xxh3::xxh3_64;

/// Keys of a shard at most: free slots are written in 16 bits.
pub(super) const KEYS_MAX: usize = 1 << 16;

const BUCKET_KEYS: f64 = 3.0;
const PILOTS: u64 = 256;
const SEEDS: u64 = 64;
const PILOT_STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const SPREAD: u64 = 0xd6e8_feb8_6659_fd93;
const FREE: u32 = u32::MAX;
const RECENT: usize = 16;
const DEAR: u64 = 1 << 32;

const HASHED_AT: usize = 0;
const SLOTS_AT: usize = 4;
const BUCKETS_AT: usize = 8;
const EXCEPTIONS_AT: usize = 12;
const SEED_AT: usize = 16;
const HEADER_BYTES: usize = 24;
const CHECKSUM_BYTES: usize = 8;

/// The numbers that decide where a hash goes.
#[derive(Clone, Copy)]
struct Shape {
    hashed: u32,
    slots: u32,
    buckets: u32,
    seed: u64,
}

/// The number of a key within its shard.
#[inline(always)]
pub(super) fn index(bytes: &[u8], key: &[u64], hash: u64) -> u64 {
    let shape = Shape::read(bytes);
    let exceptions = word(bytes, EXCEPTIONS_AT);
    if exceptions > 0
        && let Some(number) = exception(bytes, &shape, key, exceptions as usize)
    {
        return u64::from(shape.hashed) + number;
    }
    if shape.hashed == 0 {
        return 0;
    }
    let mixed = shape.mix(hash);
    let pilot = bytes[HEADER_BYTES + shape.bucket(mixed)];
    let slot = shape.slot(mixed, u64::from(pilot));
    if slot < shape.hashed {
        return u64::from(slot);
    }
    let at = HEADER_BYTES + shape.buckets as usize + 2 * (slot - shape.hashed) as usize;
    u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

/// Where in a shard's bytes the pilot of a hash is.
#[inline(always)]
pub(super) fn pilot_offset(bytes: &[u8], hash: u64) -> usize {
    let shape = Shape::read(bytes);
    HEADER_BYTES + shape.bucket(shape.mix(hash))
}

/// Tests a shard's checksum, and that its numbers fit its length.
pub(super) fn check(file: &File, offset: u64, bytes: &[u8]) -> Result<(), DiskError> {
    let Some(checked) = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|&length| length >= HEADER_BYTES)
    else {
        return Err(DiskError::corrupt(file, offset, "a shard is too short"));
    };
    if xxh3_64(&bytes[..checked]).to_le_bytes() != bytes[checked..] {
        return Err(DiskError::corrupt(file, offset, "the checksum of a shard is wrong"));
    }
    Ok(())
}

/// Builds a shard for keys one after another in `keys`, whose hashes are `hashes`. `None`: no seed works, which distinct
/// hashes do not let happen.
pub(super) fn build(keys: &[u64], hashes: &[u64], words: usize) -> Option<Vec<u8>> {
    let (distinct, exceptions) = separate(hashes);
    let hashed = distinct.len() as u32;
    let slots = hashed + hashed.div_ceil(100).min(KEYS_MAX as u32);
    let buckets = ((f64::from(hashed) / BUCKET_KEYS).ceil() as u32).max(1);
    for seed in 0..SEEDS {
        let seed = if seed == 0 { 1 } else { crate::hash::hash_word(seed) | 1 };
        let shape = Shape { hashed, slots, buckets, seed };
        let mixed: Vec<u64> = distinct.iter().map(|&hash| shape.mix(hash)).collect();
        if let Some((pilots, owners)) = place(&mixed, &shape) {
            return Some(encode(&shape, &pilots, &owners, keys, &exceptions, words));
        }
    }
    None
}

impl Shape {
    #[inline(always)]
    fn read(bytes: &[u8]) -> Shape {
        let seed = u64::from_le_bytes(bytes[SEED_AT..SEED_AT + 8].try_into().expect("eight bytes"));
        let (hashed, slots) = (word(bytes, HASHED_AT), word(bytes, SLOTS_AT));
        Shape { hashed, slots, buckets: word(bytes, BUCKETS_AT), seed }
    }

    #[inline(always)]
    fn mix(&self, hash: u64) -> u64 {
        hash.wrapping_mul(self.seed)
    }

    #[inline(always)]
    fn bucket(&self, mixed: u64) -> usize {
        ((u128::from(mixed) * u128::from(self.buckets)) >> 64) as usize
    }

    #[inline(always)]
    fn slot(&self, mixed: u64, pilot: u64) -> u32 {
        let turned = (mixed ^ pilot.wrapping_mul(PILOT_STEP)).wrapping_mul(SPREAD);
        ((u128::from(turned) * u128::from(self.slots)) >> 64) as u32
    }
}

/// The distinct hashes, and the indexes of the keys that share theirs with an earlier one.
fn separate(hashes: &[u64]) -> (Vec<u64>, Vec<u32>) {
    let mut order: Vec<u32> = (0..hashes.len() as u32).collect();
    order.sort_unstable_by_key(|&i| (hashes[i as usize], i));
    let mut distinct: Vec<u64> = Vec::with_capacity(hashes.len());
    let mut exceptions = Vec::new();
    for i in order {
        if distinct.last() == Some(&hashes[i as usize]) {
            exceptions.push(i);
        } else {
            distinct.push(hashes[i as usize]);
        }
    }
    (distinct, exceptions)
}

/// Finds pilots, largest buckets first: the pilots, and the bucket that owns each slot.
fn place(mixed: &[u64], shape: &Shape) -> Option<(Vec<u8>, Vec<u32>)> {
    let buckets = shape.buckets as usize;
    // The hashes by bucket: those of bucket b are `members[starts[b]..starts[b + 1]]`.
    let mut starts = vec![0u32; buckets + 1];
    mixed.iter().for_each(|&hash| starts[shape.bucket(hash) + 1] += 1);
    for bucket in 0..buckets {
        starts[bucket + 1] += starts[bucket];
    }
    let mut members = mixed.to_vec();
    members.sort_unstable_by_key(|&hash| shape.bucket(hash));
    let keys_of =
        |bucket: u32| &members[starts[bucket as usize] as usize..starts[bucket as usize + 1] as usize];
    let mut order: Vec<u32> = (0..shape.buckets).filter(|&bucket| !keys_of(bucket).is_empty()).collect();
    order.sort_by_key(|&bucket| keys_of(bucket).len());

    let mut owners = vec![FREE; shape.slots as usize];
    let mut pilots = vec![0u8; buckets];
    // Buckets placed lately are not pushed out again, or two would push each other out for ever.
    let mut recent = [FREE; RECENT];
    let mut evictions = 0u64;
    while let Some(bucket) = order.pop() {
        let keys = keys_of(bucket);
        let price =
            |owner: u32| if recent.contains(&owner) { DEAR } else { (keys_of(owner).len() as u64).pow(2) };
        let (pilot, cost) = best_pilot(keys, shape, &owners, evictions, price)?;
        if cost > 0 {
            evictions += 1;
            recent[evictions as usize % RECENT] = bucket;
            if evictions > 50 * u64::from(shape.buckets) + 1000 {
                return None;
            }
            for &hash in keys {
                let owner = owners[shape.slot(hash, pilot) as usize];
                if owner != FREE {
                    let old = u64::from(pilots[owner as usize]);
                    keys_of(owner).iter().for_each(|&hash| owners[shape.slot(hash, old) as usize] = FREE);
                    order.push(owner);
                }
            }
        }
        pilots[bucket as usize] = pilot as u8;
        keys.iter().for_each(|&hash| owners[shape.slot(hash, pilot) as usize] = bucket);
    }
    Some((pilots, owners))
}

/// The pilot that costs least, and its cost: the prices of the buckets it would push out. `None` if keys of the
/// bucket collide with each other under every pilot.
fn best_pilot(
    keys: &[u64],
    shape: &Shape,
    owners: &[u32],
    start: u64,
    price: impl Fn(u32) -> u64,
) -> Option<(u64, u64)> {
    let mut best: Option<(u64, u64)> = None;
    for step in 0..PILOTS {
        let pilot = (start.wrapping_mul(67) + step) % PILOTS;
        let mut cost = 0;
        for &hash in keys {
            let owner = owners[shape.slot(hash, pilot) as usize];
            if owner != FREE {
                cost += price(owner);
            }
        }
        if best.is_some_and(|(_, least)| least <= cost) || collides(keys, shape, pilot) {
            continue;
        }
        best = Some((pilot, cost));
        if cost == 0 {
            break;
        }
    }
    best
}

/// Whether two of the keys get one slot.
fn collides(keys: &[u64], shape: &Shape, pilot: u64) -> bool {
    keys.iter().enumerate().any(|(i, &first)| {
        let slot = shape.slot(first, pilot);
        keys[..i].iter().any(|&second| shape.slot(second, pilot) == slot)
    })
}

fn encode(
    shape: &Shape,
    pilots: &[u8],
    owners: &[u32],
    keys: &[u64],
    exceptions: &[u32],
    words: usize,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(
        HEADER_BYTES + pilots.len() + 2 * (owners.len() - shape.hashed as usize) + CHECKSUM_BYTES,
    );
    for number in [shape.hashed, shape.slots, shape.buckets, exceptions.len() as u32] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&shape.seed.to_le_bytes());
    bytes.extend_from_slice(pilots);
    let (below, beyond) = owners.split_at(shape.hashed as usize);
    let mut free = (0..below.len()).filter(|&slot| below[slot] == FREE);
    for &owner in beyond {
        let slot =
            if owner == FREE { 0 } else { free.next().expect("as many slots are free as keys lie beyond") };
        bytes.extend_from_slice(&(slot as u16).to_le_bytes());
    }
    for &i in exceptions {
        for word in &keys[i as usize * words..(i as usize + 1) * words] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

#[cold]
fn exception(bytes: &[u8], shape: &Shape, key: &[u64], count: usize) -> Option<u64> {
    let start = HEADER_BYTES + shape.buckets as usize + 2 * (shape.slots - shape.hashed) as usize;
    let width = key.len() * 8;
    let listed = |i: usize| &bytes[start + i * width..start + (i + 1) * width];
    let equal = |i: usize| {
        listed(i).as_chunks::<8>().0.iter().zip(key).all(|(bytes, word)| *bytes == word.to_le_bytes())
    };
    (0..count).find(|&i| equal(i)).map(|i| i as u64)
}

#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{fold, hash_key};

    #[test]
    fn keys_with_equal_hashes_have_numbers_of_their_own() {
        const OFFSET: u64 = 0xc4ce_b9fe_1a85_ec53;
        // Of two words the first is folded into the second: this family shares one hash, and others do not.
        let mut keys: Vec<[u64; 2]> = (0..20u64).map(|high| [high, fold(high ^ OFFSET) ^ 12345]).collect();
        assert!(keys.iter().all(|key| hash_key(key) == hash_key(&keys[0])), "the family no longer collides");
        keys.extend((0..100u64).map(|high| [high, 7]));
        let flat: Vec<u64> = keys.iter().flatten().copied().collect();
        let hashes: Vec<u64> = keys.iter().map(|key| hash_key(key)).collect();
        let shard = build(&flat, &hashes, 2).unwrap();
        let mut numbers: Vec<u64> = keys.iter().map(|key| index(&shard, key, hash_key(key))).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..120).collect::<Vec<u64>>());
    }
}
