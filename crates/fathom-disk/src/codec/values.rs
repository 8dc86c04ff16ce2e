//! How do the values beside the keys of a block become few bytes?
//!
//! The least of them is written out; each of the others takes as many bits above it as the greatest needs. So values that are alike, or small, cost little whatever the width of their kind. See
//! "Values" in the format document.

use super::Malformed;
use crate::key;
use crate::value::ValueWidth;

/// No code of `count` values is longer than this.
pub(crate) fn bytes_max(width: ValueWidth, count: usize) -> usize {
    1 + width.bytes() + packed_bytes(width.bits(), count)
}

/// Appends the code of the values, of which there is one at least.
pub(crate) fn encode(width: ValueWidth, values: &[u64], out: &mut Vec<u8>) {
    let least = values.iter().copied().min().unwrap_or(0);
    let greatest = values.iter().copied().max().unwrap_or(0);
    assert!(greatest <= width.greatest(), "values fit their width");
    let bits = 64 - (greatest - least).leading_zeros();
    out.push(bits as u8);
    out.extend_from_slice(&least.to_le_bytes()[..width.bytes()]);
    let (mut pending, mut filled) = (0u128, 0);
    for value in values {
        pending |= u128::from(value - least) << filled;
        filled += bits;
        while filled >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            filled -= 8;
        }
    }
    if filled > 0 {
        out.push(pending as u8);
    }
}

/// Splits the code of `count` values off the front of a payload.
pub(crate) fn split(width: ValueWidth, payload: &[u8], count: usize) -> Result<(&[u8], &[u8]), Malformed> {
    let bits = payload.first().map(|&bits| u32::from(bits)).ok_or(Malformed)?;
    if bits > width.bits() {
        return Err(Malformed);
    }
    payload.split_at_checked(1 + width.bytes() + packed_bytes(bits, count)).ok_or(Malformed)
}

/// Decodes what [`split`] gave for as many values as fit `values`.
pub(crate) fn decode(width: ValueWidth, code: &[u8], values: &mut [u64]) -> Result<(), Malformed> {
    let (&bits, rest) = code.split_first().ok_or(Malformed)?;
    let (least, packed) = rest.split_at_checked(width.bytes()).ok_or(Malformed)?;
    let (bits, least) = (usize::from(bits), key::load_partial(least));
    let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    for (index, value) in values.iter_mut().enumerate() {
        let (byte, shift) = (index * bits / 8, index * bits % 8);
        let low = packed.get(byte..).map_or(0, key::load_partial);
        let high = packed.get(byte + 8).copied().unwrap_or(0);
        let above = ((u128::from(high) << 64 | u128::from(low)) >> shift) as u64 & mask;
        *value = least.checked_add(above).filter(|&value| value <= width.greatest()).ok_or(Malformed)?;
    }
    Ok(())
}

fn packed_bytes(bits: u32, count: usize) -> usize {
    (count * bits as usize).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_width_come_back_and_what_is_cut_off_is_noticed() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 1 ^ state << 40
        };
        for bits in 1..=64 {
            let width = ValueWidth::new(bits).unwrap();
            for count in [1, 2, 7, 8, 9, 100] {
                for spread in [0, 1, bits / 2, bits] {
                    let base = random() & width.greatest();
                    let most = if spread == 0 { 0 } else { u64::MAX >> (64 - spread) };
                    let values: Vec<u64> = (0..count).map(|_| base & !most | random() & most).collect();
                    let values: Vec<u64> = values.iter().map(|value| value & width.greatest()).collect();
                    let mut code = Vec::new();
                    encode(width, &values, &mut code);
                    assert!(code.len() <= bytes_max(width, count));
                    let (mine, rest) = split(width, &code, count).unwrap();
                    let mut back = vec![0; count];
                    decode(width, mine, &mut back).unwrap();
                    assert_eq!((back, rest.len()), (values, 0), "{bits} bits, {count} values");
                    for length in 0..code.len() {
                        assert_eq!(split(width, &code[..length], count), Err(Malformed));
                    }
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_the_width_is_malformed() {
        let width = ValueWidth::new(3).unwrap();
        assert_eq!(split(width, &[4, 0, 0, 0], 1), Err(Malformed));
        // The least is 7, and one is above it.
        assert_eq!(decode(width, &[1, 7, 1], &mut [0]), Err(Malformed));
    }
}
