//! Which partitions are there, and what waits for each?
//!
//! States are in the order of a value, and those of equal value in the order of their records. A partition is what lies from one such key on, up to the next partition. So any partition can be split in
//! two, wherever there are two states in it: those of one value are split by their records.
//!
//! Memory: one key and two numbers for each partition, all of it taken when the search begins.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::sabotage::is_chosen;

use crate::bytes::{Reader, put_u64};

/// All partitions, in order.
#[derive(Debug)]
pub(super) struct Parts {
    /// Words of a key.
    words: usize,
    /// As many partitions as there is memory for.
    most: usize,
    /// The least key of each.
    lows: ChargedVec<u64>,
    /// When each was visited last.
    visited: ChargedVec<u64>,
    /// Keys on disk that wait for each, repeats counted: 0 only if there are none.
    waiting: ChargedVec<u64>,
}

/// The partition that is visited: its number, and its keys.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) number: usize,
    /// The least key.
    pub(super) low: Vec<u64>,
    /// The least key that is beyond it; none if there is none.
    pub(super) high: Option<Vec<u64>>,
}

impl Part {
    /// Whether a record of that value is in it.
    #[inline]
    pub(super) fn has(&self, value: u64, record: &[u64]) -> bool {
        let key = (value, record);
        key >= (self.low[0], &self.low[1..])
            && self.high.as_ref().is_none_or(|high| key < (high[0], &high[1..]))
    }

    /// Whether a key lies beyond it.
    pub(super) fn ends_before(&self, key: &[u64]) -> bool {
        self.high.as_ref().is_some_and(|high| key >= &high[..])
    }
}

impl Parts {
    /// One partition, and room for so many, each with a key of so many words.
    pub(super) fn new(words: usize, most: usize, budget: &Budget) -> Result<Parts, DiskError> {
        let most = most.max(1);
        let room = |items: usize| ChargedVec::with_capacity(budget, "partitions", items);
        let mut parts =
            Parts { words, most, lows: room(most * words)?, visited: room(most)?, waiting: room(most)? };
        parts.lows.resize(words, 0)?;
        parts.visited.push(0)?;
        parts.waiting.push(0)?;
        Ok(parts)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.visited.len()
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        self.len() < self.most
    }

    fn low(&self, number: usize) -> &[u64] {
        &self.lows[number * self.words..(number + 1) * self.words]
    }

    /// A partition.
    pub(super) fn part(&self, number: usize) -> Part {
        let high = (number + 1 < self.len()).then(|| self.low(number + 1).to_vec());
        Part { number, low: self.low(number).to_vec(), high }
    }

    /// The partition of a key that is not before that one.
    pub(super) fn at_or_behind(&self, number: usize, key: &[u64]) -> usize {
        let mut number = number;
        while number + 1 < self.len() && self.low(number + 1) <= key {
            number += 1;
        }
        number
    }

    /// Splits a partition before a key that is not its least: both parts have been visited when it was, and for both may wait what waited for it.
    pub(super) fn split(&mut self, number: usize, before: &[u64]) -> Result<(), DiskError> {
        assert!(self.low(number) < before && self.has_room(), "a partition has several states");
        let (words, next) = (self.words, number + 1);
        let shared = self.waiting[number].div_ceil(2);
        self.waiting[number] = shared;
        insert(&mut self.waiting, next, &[if is_chosen("split") { 0 } else { shared }])?;
        let visited = self.visited[number];
        insert(&mut self.visited, next, &[visited])?;
        insert(&mut self.lows, next * words, before)
    }

    /// Notes that ascending keys wait on disk.
    pub(super) fn wait(&mut self, keys: &[u64]) {
        let mut number = 0;
        for key in keys.chunks_exact(self.words) {
            number = self.at_or_behind(number, key);
            self.waiting[number] += 1;
        }
    }

    /// Whether keys may wait on disk for a partition.
    pub(super) fn waits(&self, number: usize) -> bool {
        self.waiting[number] > 0
    }

    /// Whether what was written at that time waits for a partition.
    pub(super) fn is_waiting(&self, number: usize, written: u64) -> bool {
        written > self.visited[number]
    }

    /// A partition is visited: nothing that was written before waits for it any more.
    pub(super) fn visit(&mut self, number: usize, time: u64) {
        (self.visited[number], self.waiting[number]) = (time, 0);
    }

    /// The partition for which the most keys wait, these ascending ones in memory among them; none if none wait.
    pub(super) fn most_work(&self, gathered: &[u64]) -> Option<usize> {
        let mut best = (0, None);
        let mut keys = gathered.chunks_exact(self.words).peekable();
        for number in 0..self.len() {
            let mut work = self.waiting[number];
            let ends = |key: &&[u64]| number + 1 == self.len() || *key < self.low(number + 1);
            while keys.next_if(ends).is_some() {
                work += 1;
            }
            if work > best.0 {
                best = (work, Some(number));
            }
        }
        best.1
    }

    /// Appends all of it.
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        put_u64(bytes, self.len() as u64);
        for number in 0..self.len() {
            self.low(number).iter().for_each(|word| put_u64(bytes, *word));
            put_u64(bytes, self.visited[number]);
            put_u64(bytes, self.waiting[number]);
        }
    }

    /// What [`Parts::write`] wrote, in room for at least as many; none if it makes no sense.
    pub(super) fn read(
        bytes: &mut Reader<'_>,
        (words, most): (usize, usize),
        budget: &Budget,
    ) -> Result<Option<Parts>, DiskError> {
        let Some(length) = bytes.u64().and_then(|length| usize::try_from(length).ok()) else {
            return Ok(None);
        };
        if length == 0 || length > bytes.0.len() / ((words + 2) * 8) {
            return Ok(None);
        }
        let mut parts = Parts::new(words, most.max(length), budget)?;
        [&mut parts.lows, &mut parts.visited, &mut parts.waiting].into_iter().for_each(|list| list.clear());
        for number in 0..length {
            for place in 0..words + 2 {
                let Some(word) = bytes.u64() else { return Ok(None) };
                let list = match place {
                    _ if place < words => &mut parts.lows,
                    _ if place == words => &mut parts.visited,
                    _ => &mut parts.waiting,
                };
                list.push(word)?;
            }
            let ascends = number == 0 || parts.low(number - 1) < parts.low(number);
            if !ascends {
                return Ok(None);
            }
        }
        Ok(parts.low(0).iter().all(|word| *word == 0).then_some(parts))
    }
}

/// Puts words into a list that has room for them, at a place.
fn insert(list: &mut ChargedVec<u64>, place: usize, words: &[u64]) -> Result<(), DiskError> {
    let length = list.len();
    list.resize(length + words.len(), 0)?;
    list.copy_within(place..length, place + words.len());
    list[place..place + words.len()].copy_from_slice(words);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_split_by_value_and_then_by_record() {
        let mut parts = Parts::new(2, 4, &Budget::unlimited()).expect("there is memory");
        parts.wait(&[3, 1, 5, 0, 5, 9]);
        parts.split(0, &[5, 2]).expect("there is room");
        parts.split(0, &[5, 0]).expect("there is room");
        let part = parts.part(1);
        assert_eq!((&part.low[..], part.high.as_deref()), (&[5, 0][..], Some(&[5, 2][..])));
        assert!(part.has(5, &[1]) && !part.has(5, &[2]) && !part.has(4, &[9]));
        assert_eq!(parts.at_or_behind(0, &[5, 3]), 2);
        assert!((0..3).all(|number| parts.waits(number)), "what waited may wait for each part");
    }

    #[test]
    fn most_work_counts_what_is_in_memory_and_on_disk() {
        let mut parts = Parts::new(2, 4, &Budget::unlimited()).expect("there is memory");
        assert_eq!(parts.most_work(&[]), None);
        parts.split(0, &[7, 0]).expect("there is room");
        assert_eq!(parts.most_work(&[1, 0, 8, 0, 9, 0]), Some(1));
        parts.wait(&[1, 0, 2, 0]);
        assert_eq!(parts.most_work(&[1, 0, 8, 0, 9, 0]), Some(0));
        parts.visit(0, 3);
        assert!(!parts.waits(0) && parts.is_waiting(0, 4) && !parts.is_waiting(0, 3));
    }

    #[test]
    fn what_is_written_is_read_again_or_refused() {
        let budget = Budget::unlimited();
        let mut parts = Parts::new(2, 4, &budget).expect("there is memory");
        parts.split(0, &[7, 1]).expect("there is room");
        parts.wait(&[1, 0]);
        let mut bytes = Vec::new();
        parts.write(&mut bytes);
        let read = Parts::read(&mut Reader(&bytes), (2, 4), &budget).expect("there is memory");
        let mut again = Vec::new();
        read.expect("it makes sense").write(&mut again);
        assert_eq!(bytes, again);
        let cut = Parts::read(&mut Reader(&bytes[..bytes.len() - 8]), (2, 4), &budget);
        assert!(cut.expect("there is memory").is_none());
    }
}
