//! How many of these ascending keys lie before a bound?

use crate::key;

/// How many of the ascending keys are less than `bound`.
pub(super) fn below(words: usize, keys: &[u64], bound: &[u64]) -> usize {
    match words {
        1 => keys.partition_point(|&key| key < bound[0]),
        _ => partition(words, keys, |key| key::compare(key, bound).is_lt()),
    }
}

/// How many of the ascending keys are at most `bound`.
pub(super) fn at_most(words: usize, keys: &[u64], bound: &[u64]) -> usize {
    match words {
        1 => keys.partition_point(|&key| key <= bound[0]),
        _ => partition(words, keys, |key| key::compare(key, bound).is_le()),
    }
}

fn partition(words: usize, keys: &[u64], holds: impl Fn(&[u64]) -> bool) -> usize {
    let (mut low, mut high) = (0, keys.len() / words);
    while low < high {
        let middle = (low + high) / 2;
        if holds(&keys[middle * words..(middle + 1) * words]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
