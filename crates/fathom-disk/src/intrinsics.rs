//! Which instructions does the crate need that the language has no word for?
//!
//! * [`prefetch`] asks for a cache line before a batch needs it. It is a hint: it never faults, changes nothing that a program can
//!   observe, and does nothing on platforms without a stable intrinsic.
//! * [`equal_lanes`] and [`lesser_lanes`] compare sixteen 16-bit numbers at a time: with SSE2, which every x86_64 has, in two
//!   registers; elsewhere four to a word. (A loop over the lanes was left scalar by the compiler and cost four times as much as
//!   the words.)

// Intrinsics are unsafe to call where the compiler is not told again that the platform has them. The one that takes a raw
// pointer never makes the program dereference it.
#![allow(unsafe_code)]

/// Numbers compared in one step.
pub const LANES: usize = 16;

/// Asks for the cache line that holds `slice[index]`; an index outside the slice is harmless.
#[inline(always)]
pub fn prefetch<T>(slice: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let address = slice.as_ptr().wrapping_add(index);
        // SAFETY: PREFETCHT0 never faults whatever the address, and SSE is part of every x86_64 target.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (slice, index);
}

/// Bit `i` is set when the `i`-th little-endian number of `lanes` equals `wanted`.
#[inline(always)]
pub fn equal_lanes(lanes: &[u8; 2 * LANES], wanted: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    return registers::equal_lanes(lanes, wanted);
    #[cfg(not(target_arch = "x86_64"))]
    return words::equal_lanes(lanes, wanted);
}

/// Bit `i` is set when the `i`-th little-endian number of `lanes` is less than `bound`.
#[inline(always)]
pub fn lesser_lanes(lanes: &[u8; 2 * LANES], bound: u16) -> u32 {
    #[cfg(target_arch = "x86_64")]
    return registers::lesser_lanes(lanes, bound);
    #[cfg(not(target_arch = "x86_64"))]
    return words::lesser_lanes(lanes, bound);
}

#[cfg(target_arch = "x86_64")]
mod registers {
    use super::LANES;
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_packs_epi16, _mm_set1_epi16,
        _mm_setzero_si128, _mm_subs_epu16,
    };

    #[inline(always)]
    pub(super) fn equal_lanes(lanes: &[u8; 2 * LANES], wanted: u16) -> u32 {
        let [low, high] = load(lanes);
        // SAFETY: SSE2 is part of every x86_64 target.
        unsafe {
            let wanted = _mm_set1_epi16(wanted as i16);
            gather(_mm_cmpeq_epi16(low, wanted), _mm_cmpeq_epi16(high, wanted))
        }
    }

    #[inline(always)]
    pub(super) fn lesser_lanes(lanes: &[u8; 2 * LANES], bound: u16) -> u32 {
        let [low, high] = load(lanes);
        // SAFETY: SSE2 is part of every x86_64 target.
        unsafe {
            let (bound, zero) = (_mm_set1_epi16(bound as i16), _mm_setzero_si128());
            // What is left of the bound when a number is taken away is nothing exactly where the number is not less.
            let not_less = |lanes| _mm_cmpeq_epi16(_mm_subs_epu16(bound, lanes), zero);
            !gather(not_less(low), not_less(high)) & 0xffff
        }
    }

    #[inline(always)]
    fn load(lanes: &[u8; 2 * LANES]) -> [__m128i; 2] {
        let start = lanes.as_ptr();
        // SAFETY: the two loads, unaligned ones, cover exactly the 32 bytes of the array; SSE2 is part of every x86_64 target.
        unsafe { [_mm_loadu_si128(start.cast()), _mm_loadu_si128(start.add(LANES).cast())] }
    }

    /// One bit for each lane, all ones or all zeros.
    #[inline(always)]
    fn gather(low: __m128i, high: __m128i) -> u32 {
        // SAFETY: SSE2 is part of every x86_64 target.
        unsafe { _mm_movemask_epi8(_mm_packs_epi16(low, high)) as u32 }
    }
}

#[cfg(any(test, not(target_arch = "x86_64")))]
mod words {
    use super::LANES;

    const ONE: u64 = 0x0001_0001_0001_0001;
    const TOP: u64 = 0x8000_8000_8000_8000;

    #[inline(always)]
    pub(super) fn equal_lanes(lanes: &[u8; 2 * LANES], wanted: u16) -> u32 {
        let wanted = ONE * u64::from(wanted);
        // The top bit of a lane of the sum stays clear exactly where the lane is zero; no carry leaves a lane.
        gather(lanes, |word| {
            let difference = word ^ wanted;
            !(((difference & !TOP) + !TOP) | difference) & TOP
        })
    }

    #[inline(always)]
    pub(super) fn lesser_lanes(lanes: &[u8; 2 * LANES], bound: u16) -> u32 {
        let bounds = ONE * u64::from(bound);
        // Subtract the lower fifteen bits where no borrow can leave a lane; then the top bits decide, or else the borrow.
        gather(lanes, |word| {
            let borrowed = !((word | TOP) - (bounds & !TOP));
            ((!word & bounds) | (!(word ^ bounds) & borrowed)) & TOP
        })
    }

    /// Applies a test that leaves its answer in the top bit of each lane, and packs the answers.
    #[inline(always)]
    fn gather(lanes: &[u8; 2 * LANES], test: impl Fn(u64) -> u64) -> u32 {
        let (words, _) = lanes.as_chunks::<8>();
        let answer = |i: usize| test(u64::from_le_bytes(words[i]));
        let spread = answer(0) >> 15 | answer(1) >> 11 | answer(2) >> 7 | answer(3) >> 3;
        // Lane l of word w is now at bit 16 l + 4 w; it goes to bit 4 w + l, and what else comes to lie there is no answer.
        (spread | spread >> 15 | spread >> 30 | spread >> 45) as u32 & 0xffff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_index_is_harmless() {
        let words = [1u64, 2, 3];
        for index in [0, 2, 3, 1 << 20, usize::MAX / 8] {
            prefetch(&words, index);
        }
        prefetch::<u64>(&[], 7);
        assert_eq!(words, [1, 2, 3]);
    }

    #[test]
    fn lanes_agree_with_a_plain_filter() {
        let mut seed = 7u64;
        for round in 0..20_000 {
            let mut numbers = [0u16; LANES];
            for number in &mut numbers {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                *number = if seed >> 62 == 0 { 0 } else { (seed >> 40) as u16 % 5 * 0x3fff };
            }
            let mut lanes = [0u8; 2 * LANES];
            for (i, number) in numbers.iter().enumerate() {
                lanes[2 * i..2 * i + 2].copy_from_slice(&number.to_le_bytes());
            }
            for wanted in [0, 1, 0x3fff, 0x7ffe, 0x8000, 0xbffd, 0xfffc, 0xffff] {
                let plain = |test: &dyn Fn(u16) -> bool| -> u32 {
                    (0..LANES).filter(|&i| test(numbers[i])).map(|i| 1u32 << i).sum()
                };
                let (equal, less) = (plain(&|number| number == wanted), plain(&|number| number < wanted));
                assert_eq!(equal_lanes(&lanes, wanted), equal, "round {round}, {wanted:#x}");
                assert_eq!(words::equal_lanes(&lanes, wanted), equal, "round {round}, {wanted:#x}");
                assert_eq!(lesser_lanes(&lanes, wanted), less, "round {round}, {wanted:#x}");
                assert_eq!(words::lesser_lanes(&lanes, wanted), less, "round {round}, {wanted:#x}");
            }
        }
    }
}
