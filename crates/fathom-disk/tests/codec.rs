//! Does every codec give back exactly the keys it was given, at every width and density, and never panic on rubbish?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod support;

use std::collections::BTreeSet;

use fathom_disk::budget::Budget;
use fathom_disk::codec::groups::Groups;
use fathom_disk::codec::{Codec, Decoder, Encoder, payload_bytes_max};
use fathom_disk::key::KeyWidth;
use support::Dice;

/// Encodes and decodes with every codec; keys are words, ascending.
fn check(width: KeyWidth, keys: &[u64], about: &str) {
    let budget = Budget::unlimited();
    let count = keys.len() / width.words();
    let mut encoder = Encoder::new(&budget, "encoder", width, count).unwrap();
    let mut decoder = Decoder::new(&budget, "decoder", width).unwrap();
    for codec in Codec::ALL {
        let mut payload = Vec::new();
        encoder.prepare(codec).unwrap();
        encoder.encode(codec, keys, &mut payload);
        if codec == Codec::Gap {
            assert!(
                payload.len() <= payload_bytes_max(width, count),
                "{about}: {codec:?} is longer than its bound"
            );
        }
        decoder.prepare(codec, encoder.raw_bytes()).unwrap();
        let mut back = vec![0; keys.len()];
        assert_eq!(decoder.decode(codec, &payload, &mut back), Ok(()), "{about}, {codec:?}");
        assert!(back == keys, "{about}, {codec:?}, width {}", width.bits());
    }
}

fn sorted(width: KeyWidth, mut keys: Vec<Vec<u64>>) -> Vec<u64> {
    assert!(keys.iter().all(|key| width.fits(key)));
    keys.sort();
    keys.dedup();
    keys.concat()
}

fn largest(width: u32) -> Vec<u64> {
    let words = (width as usize).div_ceil(64);
    let mut key = vec![u64::MAX; words];
    key[0] >>= words * 64 - width as usize;
    key
}

#[test]
fn every_set_of_keys_of_up_to_three_bits() {
    for bits in 1..=3 {
        let width = KeyWidth::new(bits).unwrap();
        for set in 1u32..1 << (1 << bits) {
            let keys: Vec<u64> = (0..1 << bits).filter(|key| set >> key & 1 == 1).collect();
            check(width, &keys, &format!("set {set:b}"));
        }
    }
}

#[test]
fn all_widths_at_all_densities() {
    let wide = [191, 192, 193, 1000, 1025, 2048, 4000];
    for bits in (1..=130).chain(wide) {
        let width = KeyWidth::new(bits).unwrap();
        let mut dice = Dice::new(u64::from(bits));
        check(width, &dice.key(bits), "one key");
        let extremes = vec![vec![0; width.words()], largest(bits)];
        check(width, &sorted(width, extremes), "the widest gap");
        let scattered = (0..300).map(|_| dice.key(bits)).collect();
        check(width, &sorted(width, scattered), "scattered keys");
        let prefix = dice.key(bits);
        let close = (0..300)
            .map(|_| {
                let mut key = prefix.clone();
                let last = key.len() - 1;
                key[last] = (key[last] & !0xff) | dice.below(256);
                key[0] &= largest(bits)[0];
                key
            })
            .collect();
        check(width, &sorted(width, close), "close keys");
    }
}

#[test]
fn all_keys_of_a_width_and_blocks_of_every_size() {
    let width = KeyWidth::new(12).unwrap();
    let all: Vec<u64> = (0..1 << 12).collect();
    check(width, &all, "all keys");
    for count in 1..70 {
        check(width, &all[..count], "a first few");
        let steps: Vec<u64> = (0..count as u64).map(|index| index * index % 7 + index * 50).collect();
        check(KeyWidth::new(40).unwrap(), &steps, "steps");
    }
}

#[test]
fn a_block_in_parts_has_the_keys_of_the_whole() {
    for bits in [20, 64, 90, 128, 200] {
        let width = KeyWidth::new(bits).unwrap();
        let (words, budget) = (width.words(), Budget::unlimited());
        let mut dice = Dice::new(u64::from(bits));
        for count in [1, 2, 63, 64, 65, 256, 257, 1000, 2049, 8192] {
            let mut encoder = Encoder::new(&budget, "encoder", width, 8192).unwrap();
            let mut decoder = Decoder::new(&budget, "decoder", width).unwrap();
            encoder.prepare(Codec::TokenLz4).unwrap();
            let keys = sorted(width, (0..count).map(|_| dice.key(bits)).collect());
            // Groups of the first block are of the size to begin with, those of the others suit the block before.
            for block in 0..3 {
                let mut payload = Vec::new();
                encoder.encode(Codec::TokenLz4, &keys, &mut payload);
                decoder.prepare(Codec::TokenLz4, encoder.raw_bytes()).unwrap();
                let count = keys.len() / words;
                let groups = decoder.open(Codec::TokenLz4, &payload, count).unwrap();
                let mut first = vec![0; words];
                let mut seen = 0;
                while seen < groups.count() {
                    let part = groups.span(seen, dice.below(2000) as usize);
                    let mut back = vec![0; groups.keys_of(&part) * words];
                    decoder.first_of(&groups, part.start, &mut first);
                    decoder.decode_groups(&groups, part.clone(), &mut back).unwrap();
                    let before = groups.keys_of(&(0..part.start)) * words;
                    let about = format!("{bits} bits, {count} keys, block {block}, groups {part:?}");
                    assert!(back == keys[before..before + back.len()] && first == back[..words], "{about}");
                    let of_group = groups.keys_of(&(seen..seen + 1));
                    assert!(of_group <= encoder.group_keys(), "{about}");
                    if words == 2 && back[..of_group * 2].chunks(2).all(|key| key[0] == back[0]) {
                        let mut low = vec![0; of_group];
                        decoder.decode_low(&groups, seen, &mut low).unwrap();
                        assert!(low.iter().eq(back[..of_group * 2].chunks(2).map(|key| &key[1])), "{about}");
                    }
                    if words <= 2 {
                        check_seek(&decoder, &groups, seen, &back[..of_group * words], &mut dice);
                    }
                    seen = part.end;
                }
            }
        }
    }
}

/// Seeks some keys of a group, and some that lie between them and behind the last.
fn check_seek(decoder: &Decoder, groups: &Groups, group: usize, keys: &[u64], dice: &mut Dice) {
    let words = keys.len() / groups.keys_of(&(group..group + 1));
    let wide = |key: &[u64]| key.iter().fold(0u128, |sum, &word| sum << 64 | u128::from(word));
    let there: BTreeSet<u128> = keys.chunks(words).map(wide).collect();
    let high = there.iter().all(|key| key >> 64 == there.first().unwrap() >> 64);
    let most = if words == 1 || high { u128::from(u64::MAX) } else { u128::MAX };
    let mut sought = BTreeSet::new();
    for &key in &there {
        match dice.below(12) {
            0 => sought.insert(key),
            1 => sought.insert(if key & most < most { key + 1 } else { key }),
            _ => false,
        };
    }
    let flat: Vec<u64> = sought.iter().flat_map(|&key| [(key >> 64) as u64, key as u64]).collect();
    let flat: Vec<u64> = flat.chunks(2).flat_map(|key| &key[2 - words..]).copied().collect();
    for low in [false, true] {
        if low && (words == 1 || !high) {
            continue;
        }
        let mut found = vec![false; sought.len()];
        let passed = decoder.seek(groups, (group, low), &flat, &mut found).unwrap();
        assert!(passed <= there.len());
        assert!(found.iter().zip(&sought).all(|(&found, key)| found == there.contains(key)), "low: {low}");
    }
}

#[test]
fn product_shaped_sets_of_wide_records() {
    for bits in [40, 64, 100, 128, 140, 300] {
        let width = KeyWidth::new(bits).unwrap();
        let mut keys = Vec::new();
        for high in 0..20u64 {
            for low in [0u64, 1, 5, 6, 900, 70_000] {
                let mut key = vec![0; width.words()];
                let last = key.len() - 1;
                key[last] = low;
                key[0] |= high << if last == 0 { 30 } else { 3 };
                keys.push(key);
            }
        }
        check(width, &sorted(width, keys), "product");
    }
}

#[test]
fn rubbish_is_refused_or_decoded_but_never_a_panic() {
    let budget = Budget::unlimited();
    for seed in 0..20_000u64 {
        let mut dice = Dice::new(seed);
        let bits = [1, 17, 64, 65, 128, 129, 200][dice.below(7) as usize];
        let width = KeyWidth::new(bits).unwrap();
        let codec = Codec::ALL[dice.below(6) as usize];
        let count = 1 + dice.below(40) as usize;
        let mut payload: Vec<u8> = (0..dice.below(120)).map(|_| dice.next() as u8).collect();
        if dice.below(2) == 0 {
            // A real block with a few bytes changed gets further into the decoder.
            let keys = (0..count).map(|_| dice.key(bits)).collect();
            let keys = sorted(width, keys);
            let mut encoder = Encoder::new(&budget, "encoder", width, count).unwrap();
            encoder.prepare(codec).unwrap();
            payload.clear();
            encoder.encode(codec, &keys, &mut payload);
            for _ in 0..1 + dice.below(3) {
                let place = dice.below(payload.len() as u64) as usize;
                payload[place] = dice.next() as u8;
            }
        }
        let mut decoder = Decoder::new(&budget, "decoder", width).unwrap();
        decoder.prepare(codec, 4096).unwrap();
        let mut keys = vec![0; count * width.words()];
        let _ = decoder.decode(codec, &payload, &mut keys);
        if codec.is_token()
            && let Ok(groups) = decoder.open(codec, &payload, count)
        {
            for group in 0..groups.count() {
                let room = groups.keys_of(&(group..group + 1));
                let _ = decoder.decode_groups(&groups, group..group + 1, &mut keys[..room * width.words()]);
                if width.words() == 2 {
                    let _ = decoder.decode_low(&groups, group, &mut keys[..room]);
                }
                if width.words() <= 2 {
                    let mut found = vec![false; room];
                    let _ = decoder.seek(&groups, (group, false), &keys, &mut found);
                }
            }
        }
    }
}

#[test]
fn contexts_take_no_more_than_is_charged_for_them() {
    let width = KeyWidth::new(64).unwrap();
    let budget = Budget::unlimited();
    let mut dice = Dice::new(3);
    let keys = sorted(width, (0..4096).map(|_| dice.key(64)).collect());
    let mut encoder = Encoder::new(&budget, "encoder", width, 4096).unwrap();
    let mut decoder = Decoder::new(&budget, "decoder", width).unwrap();
    let mut payload = Vec::new();
    encoder.prepare(Codec::TokenZstd).unwrap();
    encoder.encode(Codec::TokenZstd, &keys, &mut payload);
    decoder.prepare(Codec::TokenZstd, encoder.raw_bytes()).unwrap();
    decoder.decode(Codec::TokenZstd, &payload, &mut vec![0; keys.len()]).unwrap();
    let uses = budget.owners();
    eprintln!(
        "contexts: {} and {} bytes; charged {uses:?}",
        encoder.context_bytes(),
        decoder.context_bytes()
    );
    assert!(encoder.context_bytes() <= 640 << 10, "{}", encoder.context_bytes());
    assert!(decoder.context_bytes() <= 160 << 10, "{}", decoder.context_bytes());
}
