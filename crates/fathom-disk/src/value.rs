//! What is a value beside a key, and what becomes of two beside the same key?
//!
//! A value is a number of 1 to 64 bits. Where keys with values are sorted or merged, the values of equal keys become one: their sum, the greatest, the least, or the union of their bits. None of these
//! depends on the order, so neither does any result on how often and in which passes a sort has merged.

/// How wide the values of a run are: 1 to 64 bits. Values that are smaller than that take fewer bits on disk, so a wide width costs nothing there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueWidth {
    bits: u8,
}

/// What the values of equal keys become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Their sum. One that is beyond the width stays at the greatest value of it: who must count exactly takes 64 bits, which no count of steps exceeds, and who
    /// asks for "so many or more" takes as few as that needs.
    Sum,
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// All bits of all.
    Or,
    /// Their sum, but for the lowest bit, which is set if it is in one of them: twice a count, and whether something is true of one of those that were counted.
    SumAndBit,
}

/// Values of one width, and how they are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// Bits per value.
    pub width: ValueWidth,
    /// What those of equal keys become.
    pub join: Join,
}

impl ValueWidth {
    /// A width of `bits` bits; none for 0 and for more than 64.
    pub fn new(bits: u32) -> Option<Self> {
        u8::try_from(bits).ok().filter(|bits| (1..=64).contains(bits)).map(|bits| Self { bits })
    }

    /// Bits per value.
    pub fn bits(self) -> u32 {
        u32::from(self.bits)
    }

    /// Bytes per value.
    pub fn bytes(self) -> usize {
        usize::from(self.bits).div_ceil(8)
    }

    /// The greatest value.
    pub fn greatest(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

impl Values {
    /// What two values become.
    #[inline(always)]
    pub fn joined(self, left: u64, right: u64) -> u64 {
        match self.join {
            Join::Sum => left.saturating_add(right).min(self.width.greatest()),
            Join::Max => left.max(right),
            Join::Min => left.min(right),
            Join::Or => left | right,
            Join::SumAndBit => {
                let count = (left >> 1).saturating_add(right >> 1).min(self.width.greatest() >> 1);
                count << 1 | (left | right) & 1
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_know_their_greatest_value() {
        assert!(ValueWidth::new(0).is_none() && ValueWidth::new(65).is_none());
        for (bits, bytes, greatest) in [(1, 1, 1), (8, 1, 255), (9, 2, 511), (64, 8, u64::MAX)] {
            let width = ValueWidth::new(bits).unwrap();
            assert_eq!((width.bits(), width.bytes(), width.greatest()), (bits, bytes, greatest));
        }
    }

    /// Three values, in any order and grouping, become the same: every merge tree gives the same result.
    #[test]
    fn joins_do_not_depend_on_the_order() {
        for (bits, join) in [1, 2, 3].into_iter().flat_map(|bits| {
            [Join::Sum, Join::Max, Join::Min, Join::Or, Join::SumAndBit].map(|join| (bits, join))
        }) {
            let values = Values { width: ValueWidth::new(bits).unwrap(), join };
            let all = 0..=values.width.greatest();
            for (a, b) in all.clone().flat_map(|a| all.clone().map(move |b| (a, b))) {
                assert_eq!(values.joined(a, b), values.joined(b, a));
                assert!(values.joined(a, b) <= values.width.greatest());
                for c in all.clone() {
                    let left = values.joined(values.joined(a, b), c);
                    assert_eq!(left, values.joined(a, values.joined(b, c)), "{a} {b} {c} {join:?}");
                }
            }
        }
    }
}
