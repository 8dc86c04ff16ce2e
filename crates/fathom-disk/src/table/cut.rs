//! How is a key cut in two, and put together again?

/// Where keys are cut: the right half is the lowest `right_bits` bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    right_bits: u32,
    pub(super) left_words: usize,
    pub(super) right_words: usize,
}

impl Cut {
    /// Cuts keys of `bits` bits above their lowest `right_bits` bits, which must leave bits on both sides.
    pub(super) fn new(bits: u32, right_bits: u32) -> Cut {
        assert!(0 < right_bits && right_bits < bits, "both halves of a cut key have bits");
        Cut {
            right_bits,
            left_words: (bits - right_bits).div_ceil(64) as usize,
            right_words: right_bits.div_ceil(64) as usize,
        }
    }
}

/// Copies the halves of a key.
#[inline(always)]
pub(super) fn cut_key(key: &[u64], cut: Cut, left: &mut [u64], right: &mut [u64]) {
    right.copy_from_slice(&key[key.len() - cut.right_words..]);
    let shift = cut.right_bits % 64;
    if shift != 0 {
        right[0] &= (1 << shift) - 1;
    }
    let whole = (cut.right_bits / 64) as usize;
    let kept = &key[..key.len() - whole];
    // The left half, moved down: it may have one word less than what it was cut from.
    for (i, word) in left.iter_mut().rev().enumerate() {
        let at = kept.len() - 1 - i;
        let above = if at == 0 { 0 } else { kept[at - 1] };
        *word = if shift == 0 { kept[at] } else { kept[at] >> shift | above << (64 - shift) };
    }
}

/// Inverse of [`cut_key`].
pub(super) fn join(key: &mut [u64], cut: Cut, left: &[u64], right: &[u64]) {
    key.fill(0);
    let words = key.len();
    key[words - cut.right_words..].copy_from_slice(right);
    let shift = cut.right_bits % 64;
    let whole = (cut.right_bits / 64) as usize;
    for (i, &word) in left.iter().rev().enumerate() {
        let at = words - 1 - whole - i;
        key[at] |= word << shift;
        if shift != 0 && at > 0 {
            key[at - 1] |= word >> (64 - shift);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_of_every_width_joins_again() {
        for bits in 2..=200u32 {
            let words = bits.div_ceil(64) as usize;
            let mut key: Vec<u64> =
                (0..words as u64).map(|i| (i + 1).wrapping_mul(0x9e3779b97f4a7c15)).collect();
            if bits % 64 != 0 {
                key[0] &= (1 << (bits % 64)) - 1;
            }
            for right_bits in 1..bits {
                let cut = Cut::new(bits, right_bits);
                let (mut left, mut right) = (vec![0; cut.left_words], vec![0; cut.right_words]);
                cut_key(&key, cut, &mut left, &mut right);
                let top = (bits - right_bits) % 64;
                assert!(top == 0 || left[0] < 1 << top, "{bits} cut at {right_bits}");
                let mut joined = vec![7; words];
                join(&mut joined, cut, &left, &right);
                assert_eq!(joined, key, "{bits} cut at {right_bits}");
            }
        }
    }
}
