//! Where in a region does a value live, and which bits of it must be written there?
//!
//! A region holds values of `value_bits` uniform bits, each with `rest_bits` further bits that come along. It has
//! `buckets = multiplier << log` buckets, the multiplier 2 or 3, so that a region grows by a half or a third.
//!
//! ```text
//! product  = value * multiplier            (value_bits + 2 bits at most)
//! home     = product >> shift              shift = value_bits - log
//! remainder = (product mod 2^shift) >> 1   shift - 1 bits
//! ```
//! Values with one home have products that are multiples of 2 or of 3, so no two of them lose their difference when the
//! lowest bit is dropped, and `value = ceil((home << shift | remainder << 1) / multiplier)` gives it back.
//!
//! A bucket of one or two cache lines (more for records above 15 bytes) holds `slots` tags of 16 bits, then as many
//! entries:
//!
//! ```text
//! tag    displacement + 1 : 3 bits | low 13 bits of the remainder          0 = free slot
//! entry  head: the other bits of the remainder, then the leading partial word of the rest, in `head_bytes`, at most eight
//!        then the whole words of the rest
//! ```

/// Bits of a tag that say how many buckets past its home a value was put, plus one.
const DISPLACEMENT_BITS: u32 = 3;
/// Bits of a tag that belong to the remainder.
pub(super) const TAG_BITS: u32 = 16 - DISPLACEMENT_BITS;
/// The farthest bucket from home, if there are as many.
const DISPLACEMENT_MAX: usize = (1 << DISPLACEMENT_BITS) - 2;
/// Bytes that may be read past the last entry.
pub(super) const PADDING: usize = 8;
const LINE: usize = 64;

/// The bit widths that all regions of a table share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Widths {
    /// Uniform bits that address: 1 to 62.
    pub(super) value_bits: u32,
    /// Bits of the leading partial word of the rest: 0 to 63.
    pub(super) partial_bits: u32,
    /// Whole words of the rest.
    pub(super) whole_words: usize,
}

impl Widths {
    /// For values with that many further bits. The leading ones share a word with what is left of the value, unless that
    /// takes more than a word: then they get one of their own.
    pub(super) fn new(value_bits: u32, rest_bits: u32) -> Widths {
        let (partial_bits, whole_words) = (rest_bits % 64, (rest_bits / 64) as usize);
        if head_remainder_bits(value_bits) + partial_bits <= 64 {
            Widths { value_bits, partial_bits, whole_words }
        } else {
            Widths { value_bits, partial_bits: 0, whole_words: whole_words + 1 }
        }
    }
}

/// Bits of a remainder that its tag does not hold.
const fn head_remainder_bits(shift: u32) -> u32 {
    (shift - 1).saturating_sub(TAG_BITS)
}

/// Everything about a region of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) widths: Widths,
    multiplier: u64,
    log: u32,
    shift: u32,
    /// Bits of the remainder that are in the head.
    head_remainder_bits: u32,
    pub(super) head_bytes: usize,
    pub(super) head_mask: u64,
    pub(super) entry_bytes: usize,
    pub(super) slots: usize,
    pub(super) bucket_bytes: usize,
    pub(super) buckets: usize,
    pub(super) displacement_max: usize,
    /// A region with more values than this grows.
    pub(super) values_max: usize,
}

/// A value as a region of one layout sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) home: usize,
    pub(super) tag: u16,
    pub(super) head: u64,
}

impl Layout {
    /// The smallest layout: two buckets.
    pub(super) fn smallest(widths: Widths) -> Layout {
        Layout::new(widths, 2, 0)
    }

    /// The next larger one: by a half, then by a third. `None` when every value already has a bucket of its own.
    pub(super) fn larger(&self) -> Option<Layout> {
        if self.multiplier == 2 {
            (self.shift > 1).then(|| Layout::new(self.widths, 3, self.log))
        } else {
            Some(Layout::new(self.widths, 2, self.log + 1))
        }
    }

    fn new(widths: Widths, multiplier: u64, log: u32) -> Layout {
        let shift = widths.value_bits - log;
        let head_remainder_bits = head_remainder_bits(shift);
        let head_bits = head_remainder_bits + widths.partial_bits;
        let head_bytes = head_bits.div_ceil(8) as usize;
        let entry_bytes = head_bytes + 8 * widths.whole_words;
        let (slots, bucket_bytes) = bucket_shape(2 + entry_bytes);
        let buckets = (multiplier as usize) << log;
        let slots_total = slots * buckets;
        // Small buckets overflow sooner: leave them more room.
        let values_max =
            if slots >= 12 { slots_total - slots_total / 10 } else { slots_total - slots_total / 8 };
        Layout {
            widths,
            multiplier,
            log,
            shift,
            head_remainder_bits,
            head_bytes,
            head_mask: if head_bytes == 0 { 0 } else { u64::MAX >> (64 - 8 * head_bytes) },
            entry_bytes,
            slots,
            bucket_bytes,
            buckets,
            displacement_max: DISPLACEMENT_MAX.min(buckets - 1),
            values_max,
        }
    }

    /// Bytes of all buckets, with the padding behind them.
    pub(super) fn bytes(&self) -> usize {
        self.buckets * self.bucket_bytes + PADDING
    }

    /// The bucket where a value would like to be.
    #[inline(always)]
    pub(super) fn home(&self, value: u64) -> usize {
        ((value * self.multiplier) >> self.shift) as usize
    }

    /// Where a value goes and what is written there; `partial` is the leading partial word of its rest.
    #[inline(always)]
    pub(super) fn place(&self, value: u64, partial: u64) -> Place {
        let product = value * self.multiplier;
        let remainder = (product & ((1 << self.shift) - 1)) >> 1;
        let head = remainder >> TAG_BITS | partial << self.head_remainder_bits;
        Place {
            home: (product >> self.shift) as usize,
            tag: (1 << TAG_BITS) | (remainder & ((1 << TAG_BITS) - 1)) as u16,
            head,
        }
    }

    /// Inverse of [`Layout::place`], for a tag found in `bucket`: the value and the partial word of its rest.
    #[inline(always)]
    pub(super) fn value_at(&self, bucket: usize, tag: u16, head: u64) -> (u64, u64) {
        let displacement = (tag >> TAG_BITS) as usize - 1;
        let home =
            if bucket >= displacement { bucket - displacement } else { bucket + self.buckets - displacement };
        let head_low = head & ((1 << self.head_remainder_bits) - 1);
        let remainder = head_low << TAG_BITS | u64::from(tag & ((1 << TAG_BITS) - 1));
        let product = ((home as u64) << self.shift) | remainder << 1;
        let value = if self.multiplier == 2 { product / 2 } else { product.div_ceil(3) };
        (value, head >> self.head_remainder_bits)
    }
}

/// How many slots of `slot_bytes` make a bucket, and its size: one cache line while that holds nine or more, then two,
/// then eight slots in as many lines as they need.
fn bucket_shape(slot_bytes: usize) -> (usize, usize) {
    let lines = match slot_bytes {
        0..=8 => 1,
        9..=16 => 2,
        _ => (8 * slot_bytes).div_ceil(LINE),
    };
    let slots = if lines <= 2 { lines * LINE / slot_bytes } else { 8 };
    (slots, lines * LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_small_region_comes_back() {
        for value_bits in 1..=12 {
            for partial_bits in [0, 1, 5] {
                let mut layout = Layout::smallest(Widths { value_bits, partial_bits, whole_words: 0 });
                loop {
                    let mut seen = std::collections::HashSet::new();
                    for value in 0..1u64 << value_bits {
                        let partial = value % (1 << partial_bits);
                        let place = layout.place(value, partial);
                        assert!(place.home < layout.buckets);
                        assert_eq!(place.home, layout.home(value));
                        assert_eq!(place.head & !layout.head_mask, 0);
                        assert!(
                            seen.insert((place.home, place.tag, place.head)),
                            "{value} shares its place in {layout:?}"
                        );
                        assert_eq!(layout.value_at(place.home, place.tag, place.head), (value, partial));
                    }
                    match layout.larger() {
                        Some(next) => layout = next,
                        None => break,
                    }
                }
            }
        }
    }

    #[test]
    fn wide_values_come_back_from_displaced_places() {
        let mut seed = 3u64;
        for value_bits in [13, 20, 40, 61, 62] {
            for rest_bits in [0, 1, 16, 31, 63] {
                let widths = Widths::new(value_bits, rest_bits);
                let partial_bits = widths.partial_bits;
                let mut layout = Layout::smallest(widths);
                for _ in 0..12 {
                    for _ in 0..200 {
                        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        let value = seed >> (64 - value_bits);
                        let partial =
                            if partial_bits == 0 { 0 } else { seed.rotate_left(23) >> (64 - partial_bits) };
                        let place = layout.place(value, partial);
                        assert_eq!(place.head & !layout.head_mask, 0, "{layout:?}");
                        for displacement in 0..=layout.displacement_max {
                            let bucket = (place.home + displacement) % layout.buckets;
                            let tag = place.tag + ((displacement as u16) << TAG_BITS);
                            assert_eq!(
                                layout.value_at(bucket, tag, place.head),
                                (value, partial),
                                "{layout:?}"
                            );
                        }
                    }
                    layout = layout.larger().unwrap();
                }
            }
        }
    }

    #[test]
    fn buckets_hold_their_slots() {
        for slot_bytes in 2..2000 {
            let (slots, bytes) = bucket_shape(slot_bytes);
            assert!((8..=32).contains(&slots), "{slot_bytes}");
            assert!(slots * slot_bytes <= bytes && bytes % LINE == 0, "{slot_bytes}");
            // Whole groups of tags can be read.
            assert!(slots.div_ceil(16) * 32 <= bytes, "{slot_bytes}");
        }
    }
}
