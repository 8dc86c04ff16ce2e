//! How does a buffer of keys become a sorted set, in place?
//!
//! Keys of one and two words are sorted as numbers by the standard sort (measured faster than the radix sorts at
//! hand), those of three as they are; wider ones through a permutation that is then applied, so that each key moves once.

use crate::budget::{Budget, BudgetError, ChargedVec};
use crate::error::DiskError;
use crate::key::wide;
use crate::run::writer::Written;
use crate::run::{RunConfig, RunWriter};
use crate::storage::Volume;

/// Sorts the keys in `keys` and drops equal ones; returns how many words remain at the front. Memory: none for up to three
/// words; for more, 4 bytes per key, charged.
pub fn sort_unique(budget: &Budget, words: usize, keys: &mut [u64]) -> Result<usize, BudgetError> {
    sort(budget, words, keys)?;
    Ok(match words {
        1 => unique_numbers(keys),
        2 => unique_numbers(keys.as_chunks_mut::<2>().0) * 2,
        3 => unique_numbers(keys.as_chunks_mut::<3>().0) * 3,
        _ => unique_many(words, keys),
    })
}

/// Sorts the keys and drops none.
pub(super) fn sort(budget: &Budget, words: usize, keys: &mut [u64]) -> Result<(), BudgetError> {
    match words {
        1 => keys.sort_unstable(),
        // Seen as pairs, so nothing is copied.
        2 => keys.as_chunks_mut::<2>().0.sort_unstable_by_key(|pair| wide(pair)),
        3 => keys.as_chunks_mut::<3>().0.sort_unstable(),
        _ => sort_many(budget, words, keys)?,
    }
    Ok(())
}

/// Sorts a buffer, drops equal keys, and writes the rest as a run (not synced: candidates are no loss). Empties the buffer.
pub fn spill(
    volume: &Volume,
    budget: &Budget,
    name: &str,
    config: &RunConfig,
    keys: &mut ChargedVec<u64>,
) -> Result<Written, DiskError> {
    let kept = sort_unique(budget, config.width.words(), keys)?;
    let mut writer = RunWriter::new(volume, budget, name, config)?;
    writer.push(&keys[..kept])?;
    let written = writer.finish(false)?;
    keys.clear();
    Ok(written)
}

fn sort_many(budget: &Budget, words: usize, keys: &mut [u64]) -> Result<(), BudgetError> {
    let count = keys.len() / words;
    let mut order = ChargedVec::with_capacity(budget, "sort order", count)?;
    for index in 0..count as u32 {
        order.push(index)?;
    }
    let key = |index: u32| &keys[index as usize * words..(index as usize + 1) * words];
    order.sort_unstable_by(|&left, &right| key(left).cmp(key(right)));
    permute(words, keys, &mut order);
    Ok(())
}

/// Moves key `order[i]` to place `i` for all `i`, following each cycle once; `order` is used up.
fn permute(words: usize, keys: &mut [u64], order: &mut [u32]) {
    let mut carried = [0; 1024];
    for start in 0..order.len() {
        if order[start] as usize == start {
            continue;
        }
        carried[..words].copy_from_slice(&keys[start * words..(start + 1) * words]);
        let mut place = start;
        loop {
            let source = order[place] as usize;
            order[place] = place as u32;
            if source == start {
                keys[place * words..(place + 1) * words].copy_from_slice(&carried[..words]);
                break;
            }
            keys.copy_within(source * words..(source + 1) * words, place * words);
            place = source;
        }
    }
}

/// Drops equal neighbours, without a branch that depends on them; returns how many keys remain.
fn unique_numbers<T: Copy + PartialEq>(keys: &mut [T]) -> usize {
    let Some(&first) = keys.first() else { return 0 };
    let (mut kept, mut last) = (1, first);
    for index in 1..keys.len() {
        let key = keys[index];
        keys[kept] = key;
        kept += usize::from(key != last);
        last = key;
    }
    kept
}

fn unique_many(words: usize, keys: &mut [u64]) -> usize {
    let mut kept = words.min(keys.len());
    for index in (words..keys.len()).step_by(words) {
        if keys[index..index + words] != keys[kept - words..kept] {
            keys.copy_within(index..index + words, kept);
            kept += words;
        }
    }
    kept
}
