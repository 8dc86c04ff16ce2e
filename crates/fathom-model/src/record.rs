//! What are the bytes of a state, and how are many of them held?
//!
//! A record of W bits is one integer below 2^W in `ceil(W / 64)` words, **most significant word first**. So comparing records as slices
//! of words compares the integers, and the variables declared first weigh most. The unused high bits of the first word
//! are zero (the padding).
//!
//! Bits are counted from the low end: bit 0 is the lowest bit of the last word.

use xxhash_rust::xxh3::xxh3_128;

/// How many words a record of that many bits takes.
pub const fn words_for(width_bits: u32) -> usize {
    width_bits.div_ceil(64) as usize
}

/// Records of one width, one after the other, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    words: &'a [u64],
    words_per_record: usize,
}

/// Records of one width, one after the other, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordBuffer {
    words: Vec<u64>,
    words_per_record: usize,
}

/// An order-independent checksum over a set of records: the sum of their 128-bit hashes. Equal sets have equal sums,
/// in whatever order, grouping or number of threads they were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checksum(pub u128);

impl<'a> Records<'a> {
    /// Views words as records.
    pub fn new(words: &'a [u64], words_per_record: usize) -> Records<'a> {
        assert!(words_per_record > 0 && words.len().is_multiple_of(words_per_record), "whole records");
        Records { words, words_per_record }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.words.len() / self.words_per_record
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The record at a place.
    pub fn get(&self, index: usize) -> &'a [u64] {
        &self.words[index * self.words_per_record..][..self.words_per_record]
    }

    /// The records from a place on.
    pub fn skip(&self, count: usize) -> Records<'a> {
        Records {
            words: &self.words[count * self.words_per_record..],
            words_per_record: self.words_per_record,
        }
    }

    /// The first so many records.
    pub fn take(&self, count: usize) -> Records<'a> {
        Records {
            words: &self.words[..count * self.words_per_record],
            words_per_record: self.words_per_record,
        }
    }

    /// All records in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [u64]> + use<'a> {
        self.words.chunks_exact(self.words_per_record)
    }

    /// The words of all records.
    pub fn words(&self) -> &'a [u64] {
        self.words
    }

    /// How many words each record takes.
    pub fn words_per_record(&self) -> usize {
        self.words_per_record
    }
}

impl RecordBuffer {
    /// No records yet.
    pub fn new(words_per_record: usize) -> RecordBuffer {
        assert!(words_per_record > 0, "a record has at least one word");
        RecordBuffer { words: Vec::new(), words_per_record }
    }

    /// No records yet, with room for so many.
    pub fn with_capacity(words_per_record: usize, records: usize) -> RecordBuffer {
        assert!(words_per_record > 0, "a record has at least one word");
        RecordBuffer { words: Vec::with_capacity(words_per_record * records), words_per_record }
    }

    /// Adds a record.
    pub fn push(&mut self, record: &[u64]) {
        debug_assert_eq!(record.len(), self.words_per_record, "records of one width");
        self.words.extend_from_slice(record);
    }

    /// Adds all of some records.
    pub fn append(&mut self, records: Records<'_>) {
        debug_assert_eq!(records.words_per_record, self.words_per_record, "records of one width");
        self.words.extend_from_slice(records.words);
    }

    /// Removes all records and keeps the room.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// The records, borrowed.
    pub fn view(&self) -> Records<'_> {
        Records { words: &self.words, words_per_record: self.words_per_record }
    }

    /// How many records there are.
    pub fn len(&self) -> usize {
        self.words.len() / self.words_per_record
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many bytes of memory are held.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

impl Checksum {
    /// Adds one record.
    pub fn add(&mut self, record: &[u64]) {
        let hash = match *record {
            [only] => xxh3_128(&only.to_le_bytes()),
            [high, low] => {
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&high.to_le_bytes());
                bytes[8..].copy_from_slice(&low.to_le_bytes());
                xxh3_128(&bytes)
            }
            _ => xxh3_128(&record.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()),
        };
        self.0 = self.0.wrapping_add(hash);
    }

    /// Adds what another sum has.
    pub fn merge(&mut self, other: Checksum) {
        self.0 = self.0.wrapping_add(other.0);
    }

    /// Takes records away that were added.
    pub fn take_away(&mut self, other: Checksum) {
        self.0 = self.0.wrapping_sub(other.0);
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

/// Reads `width` bits (at most 64) that start `low` bits above the low end.
#[inline]
pub fn read_bits(record: &[u64], low: u32, width: u32) -> u64 {
    if width == 0 {
        return 0;
    }
    let word = record.len() - 1 - (low / 64) as usize;
    let shift = low % 64;
    let mut value = record[word] >> shift;
    if shift + width > 64 {
        value |= record[word - 1] << (64 - shift);
    }
    value & (u64::MAX >> (64 - width))
}

/// Writes the low `width` bits (at most 64) of `value` so that they start `low` bits above the low end.
#[inline]
pub fn write_bits(record: &mut [u64], low: u32, width: u32, value: u64) {
    if width == 0 {
        return;
    }
    let mask = u64::MAX >> (64 - width);
    let word = record.len() - 1 - (low / 64) as usize;
    let shift = low % 64;
    record[word] = record[word] & !(mask << shift) | (value & mask) << shift;
    if shift + width > 64 {
        let moved = 64 - shift;
        record[word - 1] = record[word - 1] & !(mask >> moved) | (value & mask) >> moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_written_are_read_and_touch_nothing_else() {
        for width_bits in [1u32, 7, 63, 64, 65, 127, 128, 129, 200] {
            let words = words_for(width_bits);
            for width in 1..=64.min(width_bits) {
                for low in 0..=width_bits - width {
                    for background in [0, u64::MAX] {
                        let mut record = vec![background; words];
                        let value = 0x9e37_79b9_7f4a_7c15u64.rotate_left(low) & (u64::MAX >> (64 - width));
                        write_bits(&mut record, low, width, value);
                        assert_eq!(read_bits(&record, low, width), value);
                        for bit in (0..words as u32 * 64).filter(|bit| !(low..low + width).contains(bit)) {
                            assert_eq!(
                                read_bits(&record, bit, 1),
                                background & 1,
                                "{width_bits} {low} {width} {bit}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn records_compare_as_integers() {
        let (mut small, mut large) = ([0u64; 2], [0u64; 2]);
        write_bits(&mut small, 0, 60, u64::MAX);
        write_bits(&mut large, 100, 1, 1);
        assert!(small < large);
    }

    #[test]
    fn the_checksum_is_a_known_sum_and_knows_no_order() {
        let mut forward = Checksum::default();
        let mut backward = Checksum::default();
        for number in 0..100u64 {
            forward.add(&[number, 7]);
            backward.add(&[99 - number, 7]);
        }
        assert_eq!(forward, backward);
        let mut one = Checksum::default();
        one.add(&[0x0102_0304_0506_0708]);
        assert_eq!(one.0, xxh3_128(&[8, 7, 6, 5, 4, 3, 2, 1]));
        for words in 1..5 {
            let record: Vec<u64> = (0..words).map(|word| word * 0x0101_0101_0101_0101 + 7).collect();
            let bytes: Vec<u8> = record.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut sum = Checksum::default();
            sum.add(&record);
            assert_eq!(sum.0, xxh3_128(&bytes));
        }
    }
}
