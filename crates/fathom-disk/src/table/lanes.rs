//! Which of a bucket's tags are equal to this one?
//!
//! Tags are 16 bits wide and lie at the start of a bucket, little-endian. Sixteen of them are compared at a time in a loop
//! that compilers turn into a dozen vector instructions on every target (compare, and with a bit per lane, fold).

/// Tags compared in one step; a bucket always has this many readable tags, used or not.
pub(super) const LANES: usize = 16;

/// Bit `i` is set when tag `i` of the first [`LANES`] tags equals `tag`.
#[inline(always)]
pub(super) fn equal_tags(tags: &[u8; 2 * LANES], tag: u16) -> u32 {
    matching(tags, |other| other == tag)
}

/// Bit `i` is set when tag `i` of the first [`LANES`] tags is less than `bound`.
#[inline(always)]
pub(super) fn lesser_tags(tags: &[u8; 2 * LANES], bound: u16) -> u32 {
    matching(tags, |other| other < bound)
}

#[inline(always)]
fn matching(tags: &[u8; 2 * LANES], test: impl Fn(u16) -> bool) -> u32 {
    const BIT: [u16; LANES] = {
        let mut bits = [0; LANES];
        let mut lane = 0;
        while lane < LANES {
            bits[lane] = 1 << lane;
            lane += 1;
        }
        bits
    };
    let (tags, _) = tags.as_chunks::<2>();
    let mut mask = 0u16;
    for lane in 0..LANES {
        mask |= if test(u16::from_le_bytes(tags[lane])) { BIT[lane] } else { 0 };
    }
    u32::from(mask)
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
