//! How does a record carry a small number beside it?
//!
//! The number is the *tag*: the lowest bits of the wider record, below all bits of the record that carries it. So wider records are in the order of the records, and those of one
//! record in the order of their tags.

use crate::record::{read_bits, words_for};

/// Joins records and tags, and takes them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// Bits of the tag; none if there is only one.
    pub bits: u32,
    /// Words of a record without its tag.
    narrow_words: usize,
    /// Words of a record with its tag.
    pub wide_words: usize,
}

impl Tag {
    /// Tags of so many bits, 32 at most, for records of that width.
    pub fn new(width_bits: u32, bits: u32) -> Tag {
        assert!(bits <= 32, "a tag is a word of 32 bits");
        Tag { bits, narrow_words: words_for(width_bits), wide_words: words_for(width_bits + bits) }
    }

    /// Writes a record and its tag.
    #[inline]
    pub fn join(self, record: &[u64], tag: u32, wide: &mut [u64]) {
        debug_assert!(record.len() == self.narrow_words && wide.len() == self.wide_words, "records fit");
        if let ([record], [wide]) = (record, &mut *wide) {
            *wide = record << self.bits | u64::from(tag);
            return;
        }
        let extra = self.wide_words - self.narrow_words;
        for (place, word) in wide.iter_mut().enumerate() {
            let high = place.checked_sub(extra).map_or(0, |place| record[place] << self.bits);
            let low = record.get(place + 1 - extra).copied().unwrap_or(0);
            *word = high | low.unbounded_shr(64 - self.bits);
        }
        let last = wide.last_mut().expect("a record has a word");
        *last |= u64::from(tag);
    }

    /// Reads the tag.
    #[inline]
    pub fn of(self, wide: &[u64]) -> u32 {
        match wide.last() {
            Some(low) => (low & ((1 << self.bits) - 1)) as u32,
            None => 0,
        }
    }

    /// Reads the record that carries a tag, and the tag.
    #[inline]
    pub fn split(self, wide: &[u64], record: &mut [u64]) -> u32 {
        debug_assert!(record.len() == self.narrow_words && wide.len() == self.wide_words, "records fit");
        if let ([wide], [record]) = (wide, &mut *record) {
            *record = wide >> self.bits;
            return (wide & ((1 << self.bits) - 1)) as u32;
        }
        let extra = self.wide_words - self.narrow_words;
        for (place, word) in record.iter_mut().enumerate() {
            let from = place + extra;
            let above = from.checked_sub(1).map_or(0, |above| wide[above]);
            *word = wide[from] >> self.bits | above.unbounded_shl(64 - self.bits);
        }
        read_bits(wide, 0, self.bits) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::write_bits;

    #[test]
    fn what_is_joined_is_split_and_lies_where_it_should() {
        for width_bits in [1u32, 7, 31, 32, 60, 62, 63, 64, 65, 100, 127, 128, 129, 200] {
            for bits in [0u32, 1, 2, 3, 8, 16, 31, 32] {
                let tag = Tag::new(width_bits, bits);
                let greatest = (1u64 << bits) - 1;
                for number in [0, greatest / 2, greatest].map(|number| number as u32) {
                    let mut record = vec![0; words_for(width_bits)];
                    for low in 0..width_bits {
                        let bit = 0x9e37_79b9_7f4a_7c15u64.rotate_left(low * 7) & 1;
                        write_bits(&mut record, low, 1, bit | u64::from(low + 1 == width_bits));
                    }
                    let mut wide = vec![u64::MAX; tag.wide_words];
                    tag.join(&record, number, &mut wide);
                    let mut back = vec![u64::MAX; words_for(width_bits)];
                    assert_eq!(tag.split(&wide, &mut back), number, "{width_bits} bits, {bits} of a tag");
                    assert_eq!(back, record, "{width_bits} bits, {bits} of a tag");
                    assert_eq!(tag.of(&wide), number, "{width_bits} bits, {bits} of a tag");
                    for low in 0..width_bits {
                        assert_eq!(read_bits(&wide, low + tag.bits, 1), read_bits(&record, low, 1));
                    }
                }
            }
        }
    }
}
