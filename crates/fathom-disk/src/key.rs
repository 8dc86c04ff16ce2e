//! What is a key, and how do two compare?
//!
//! A key is a packed record of W bits held in `words` 64-bit words, most significant first: one integer below 2^W. Many keys
//! lie one after the other in one slice of words. Comparing words in order compares numbers.
//!
//! Invariant: the bits of the first word above the width are zero.

use std::cmp::Ordering;

/// How wide the keys of a set are: 1 to 65 535 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyWidth {
    bits: u16,
}

impl KeyWidth {
    /// A width of `bits` bits; none for 0 and for more than 65 535.
    pub fn new(bits: u32) -> Option<Self> {
        u16::try_from(bits).ok().filter(|&bits| bits > 0).map(|bits| Self { bits })
    }

    /// Bits per key.
    pub fn bits(self) -> u32 {
        u32::from(self.bits)
    }

    /// Words per key.
    pub fn words(self) -> usize {
        usize::from(self.bits).div_ceil(64)
    }

    /// Bytes per key, packed.
    pub fn bytes(self) -> usize {
        usize::from(self.bits).div_ceil(8)
    }

    /// Is this the right number of words, with nothing above the width?
    pub fn fits(self, key: &[u64]) -> bool {
        let spare = self.words() * 64 - usize::from(self.bits);
        key.len() == self.words() && key[0].leading_zeros() as usize >= spare
    }
}

/// Compares two keys of equal width as numbers.
pub fn compare(left: &[u64], right: &[u64]) -> Ordering {
    match (left, right) {
        ([left], [right]) => left.cmp(right),
        _ => left.cmp(right),
    }
}

/// Two words as one number.
pub fn wide(key: &[u64]) -> u128 {
    u128::from(key[0]) << 64 | u128::from(key[1])
}

/// One number as two words.
pub fn narrow(value: u128) -> [u64; 2] {
    [(value >> 64) as u64, value as u64]
}

/// Appends the low `bytes` bytes of a key, most significant first.
pub fn append_bytes(key: &[u64], bytes: usize, out: &mut Vec<u8>) {
    for index in (0..bytes).rev() {
        out.push(byte(key, index));
    }
}

/// The byte of weight 256^`index`.
pub fn byte(key: &[u64], index: usize) -> u8 {
    (key[key.len() - 1 - index / 8] >> (8 * (index % 8))) as u8
}

/// Sets a key from bytes, most significant first.
pub fn from_bytes(bytes: &[u8], key: &mut [u64]) {
    key.fill(0);
    for (index, &byte) in bytes.iter().rev().enumerate() {
        let word = key.len() - 1 - index / 8;
        key[word] |= u64::from(byte) << (8 * (index % 8));
    }
}

/// `key += low + 1`, where `low` is a gap of one word.
pub fn step_by_word(key: &mut [u64], low: u64) {
    let last = key.len() - 1;
    let (sum, over_one) = key[last].overflowing_add(low);
    let (sum, over_two) = sum.overflowing_add(1);
    key[last] = sum;
    // Both cannot overflow at once by more than one carry: low + 1 is at most 2^64.
    let mut carry = u64::from(over_one) + u64::from(over_two);
    for word in key[..last].iter_mut().rev() {
        if carry == 0 {
            break;
        }
        let (sum, over) = word.overflowing_add(carry);
        *word = sum;
        carry = u64::from(over);
    }
}

/// `key += gap + 1`, where the gap's bytes come least significant first; what exceeds the key is dropped.
pub fn step_by_bytes(key: &mut [u64], gap: &[u8]) {
    let mut carry = 1u64;
    for (index, word) in key.iter_mut().rev().enumerate() {
        let addend = gap.get(index * 8..).map_or(0, load_partial);
        let (sum, over_one) = word.overflowing_add(addend);
        let (sum, over_two) = sum.overflowing_add(carry);
        *word = sum;
        carry = u64::from(over_one) + u64::from(over_two);
    }
}

/// The first `count` bytes, at most eight, least significant first. Those behind them are read along if they are there: one load, where a copy of any length would be a call.
#[inline(always)]
pub fn load_low(bytes: &[u8], count: usize) -> u64 {
    match bytes.first_chunk::<8>() {
        Some(eight) if count < 8 => u64::from_le_bytes(*eight) & ((1 << (8 * count)) - 1),
        Some(eight) => u64::from_le_bytes(*eight),
        None => load_partial(&bytes[..count.min(bytes.len())]),
    }
}

/// The first eight bytes, or what there is of them, least significant first.
pub fn load_partial(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    let count = bytes.len().min(8);
    word[..count].copy_from_slice(&bytes[..count]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `difference = later - earlier - 1` for `later > earlier`, word by word from the end.
    fn gap(later: &[u64], earlier: &[u64], difference: &mut [u64]) {
        let mut borrow = true;
        for index in (0..later.len()).rev() {
            let (first, under_one) = later[index].overflowing_sub(earlier[index]);
            let (second, under_two) = first.overflowing_sub(u64::from(borrow));
            difference[index] = second;
            borrow = under_one | under_two;
        }
    }

    #[test]
    fn widths_count_words_and_bytes() {
        assert!(KeyWidth::new(0).is_none() && KeyWidth::new(65_536).is_none());
        for (bits, words, bytes) in
            [(1, 1, 1), (63, 1, 8), (64, 1, 8), (65, 2, 9), (128, 2, 16), (129, 3, 17)]
        {
            let width = KeyWidth::new(bits).unwrap();
            assert_eq!((width.words(), width.bytes()), (words, bytes));
        }
        assert!(KeyWidth::new(65).unwrap().fits(&[1, u64::MAX]));
        assert!(!KeyWidth::new(65).unwrap().fits(&[2, 0]));
    }

    #[test]
    fn steps_undo_gaps_across_word_borders() {
        let keys: Vec<[u64; 3]> = vec![
            [0, 0, 0],
            [0, 0, 1],
            [0, 0, u64::MAX],
            [0, 1, 0],
            [0, u64::MAX, u64::MAX],
            [1, 0, 0],
            [7, 8, 9],
        ];
        for (index, earlier) in keys.iter().enumerate() {
            for later in &keys[index + 1..] {
                let mut difference = [0; 3];
                gap(later, earlier, &mut difference);
                let bytes: Vec<u8> = (0..24).map(|index| byte(&difference, index)).collect();
                let mut key = *earlier;
                step_by_bytes(&mut key, &bytes);
                assert_eq!(&key, later);
                if difference[..2] == [0, 0] {
                    key = *earlier;
                    step_by_word(&mut key, difference[2]);
                    assert_eq!(&key, later);
                }
            }
        }
    }

    #[test]
    fn low_bytes_are_those_and_no_others() {
        let bytes: Vec<u8> = (1..=12).collect();
        for start in 0..=12 {
            let rest = &bytes[start..];
            for count in 0..=rest.len() {
                let plain =
                    rest[..count.min(8)].iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte));
                assert_eq!(load_low(rest, count), plain, "{count} of {rest:?}");
            }
        }
    }

    #[test]
    fn bytes_and_words_convert_both_ways() {
        let key = [0x01_02, 0x1122_3344_5566_7788];
        let mut bytes = Vec::new();
        append_bytes(&key, 10, &mut bytes);
        assert_eq!(bytes, [1, 2, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88]);
        let mut back = [9; 2];
        from_bytes(&bytes, &mut back);
        assert_eq!(back, key);
        assert_eq!(narrow(wide(&key)), key);
    }
}
