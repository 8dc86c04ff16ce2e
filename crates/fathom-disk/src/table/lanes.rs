//! Which of a bucket's tags are equal to this one?
//!
//! Tags are 16 bits wide and lie at the start of a bucket, little-endian. Sixteen of them are compared at a time, four to a
//! word. (A loop over the lanes was left scalar by the compiler and cost four times as much.)

/// Tags compared in one step; a bucket always has this many readable tags, used or not.
pub(super) const LANES: usize = 16;

const ONE: u64 = 0x0001_0001_0001_0001;
const TOP: u64 = 0x8000_8000_8000_8000;

/// Bit `i` is set when tag `i` of the first [`LANES`] tags equals `tag`.
#[inline(always)]
pub(super) fn equal_tags(tags: &[u8; 2 * LANES], tag: u16) -> u32 {
    let wanted = ONE * u64::from(tag);
    // The top bit of a lane of the sum stays clear exactly where the lane is zero; no carry leaves a lane.
    gather(tags, |word| {
        let difference = word ^ wanted;
        !(((difference & !TOP) + !TOP) | difference) & TOP
    })
}

/// Bit `i` is set when tag `i` of the first [`LANES`] tags is less than `bound`.
#[inline(always)]
pub(super) fn lesser_tags(tags: &[u8; 2 * LANES], bound: u16) -> u32 {
    let bounds = ONE * u64::from(bound);
    // Subtract the lower fifteen bits where no borrow can leave a lane; then the top bits decide, or else the borrow.
    gather(tags, |word| {
        let borrowed = !((word | TOP) - (bounds & !TOP));
        ((!word & bounds) | (!(word ^ bounds) & borrowed)) & TOP
    })
}

/// Applies a test that leaves its answer in the top bit of each lane, and packs the answers.
#[inline(always)]
fn gather(tags: &[u8; 2 * LANES], test: impl Fn(u64) -> u64) -> u32 {
    let (words, _) = tags.as_chunks::<8>();
    let answer = |i: usize| test(u64::from_le_bytes(words[i]));
    let spread = answer(0) >> 15 | answer(1) >> 11 | answer(2) >> 7 | answer(3) >> 3;
    // Lane l of word w is now at bit 16 l + 4 w; it goes to bit 4 w + l, and what else comes to lie there is no answer.
    (spread | spread >> 15 | spread >> 30 | spread >> 45) as u32 & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_agrees_with_a_plain_filter() {
        let mut seed = 7u64;
        for round in 0..20_000 {
            let mut tags = [0u16; LANES];
            for tag in &mut tags {
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
                *tag = if seed >> 62 == 0 { 0 } else { (seed >> 40) as u16 % 5 * 0x3fff };
            }
            let mut bytes = [0u8; 2 * LANES];
            for (i, tag) in tags.iter().enumerate() {
                bytes[2 * i..2 * i + 2].copy_from_slice(&tag.to_le_bytes());
            }
            for tag in [0, 1, 0x3fff, 0x7ffe, 0xbffd, 0xfffc, 0xffff] {
                let plain = (0..LANES).filter(|&i| tags[i] == tag).map(|i| 1u32 << i).sum::<u32>();
                assert_eq!(equal_tags(&bytes, tag), plain, "round {round}, tag {tag:#x}");
                let less = (0..LANES).filter(|&i| tags[i] < tag).map(|i| 1u32 << i).sum::<u32>();
                assert_eq!(lesser_tags(&bytes, tag), less, "round {round}, tag {tag:#x}");
            }
        }
    }
}
