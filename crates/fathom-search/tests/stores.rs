//! Does every store do what searches ask of what they have visited? Judged by plain sets, one for each colour: all widths, batches of all sizes, plenty of memory and the least.

#![allow(clippy::unwrap_used, reason = "tests say what they expect")]

use std::collections::HashSet;

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::error::SearchError;
use fathom_search::stores::disk_set::DiskSet;
use fathom_search::stores::exact::ExactSet;
use fathom_search::stores::visited::{Colour, Insertion, PerColour, Visited};
use oracle::forms::random_graph;
use oracle::random::Random;

/// Bits of records: of one word and less, of a word and a little, of several, of the widest that models have.
const WIDTHS: [u32; 9] = [1, 13, 20, 63, 64, 65, 130, 600, 4_000];

/// A store of two colours within a budget; the error says that not even an empty one fits.
type Make = fn(&Shape, &Budget) -> Result<Box<dyn Visited>, SearchError>;

const STORES: [(&str, Make); 3] = [
    ("exact", |shape, budget| {
        let set = || ExactSet::new(shape.width_bits, budget);
        Ok(Box::new(PerColour([set()?, set()?])))
    }),
    ("on disk", |shape, budget| {
        let volume = Volume::in_memory(512);
        let set = |name| DiskSet::new(shape, &volume, name, budget.limit() / 4, budget);
        Ok(Box::new(PerColour([set("visited")?, set("red")?])))
    }),
    ("bits", |_, budget| {
        let bits = || Bitstate::new(budget, budget.limit().min(1 << 23) / 4);
        Ok(Box::new(PerColour([bits()?, bits()?])))
    }),
];

fn shape_of(bits: u32) -> Shape {
    let mut shape = random_graph(&mut Random::new(1), 3).shape;
    shape.width_bits = bits;
    shape
}

/// Records of a width, some of which come again.
fn batch(random: &mut Random, bits: u32, range: usize) -> Vec<u64> {
    let words = bits.div_ceil(64) as usize;
    let top = if bits.is_multiple_of(64) { u64::MAX } else { u64::MAX >> (64 - bits % 64) };
    let mut records = Vec::new();
    for _ in 0..random.below(40) {
        let mut record = vec![0; words];
        record[words - 1] = random.below(range) as u64;
        // High bits and low ones, so that neither alone tells records apart.
        record[0] ^= (record[words - 1] & 3).rotate_right(3);
        record[0] &= top;
        records.extend(record);
    }
    records
}

/// What a store was seen to do.
#[derive(Debug, Default)]
struct Seen {
    inserted: usize,
    full: usize,
    refused: usize,
}

/// Inserts and asks at random until it is full or it is enough; gives whether it became full.
fn compare(store: &mut dyn Visited, bits: u32, random: &mut Random, name: &str) -> (usize, bool) {
    let words = bits.div_ceil(64) as usize;
    let lossy = store.figures().lossy;
    let mut judge = [HashSet::new(), HashSet::new()];
    let (mut new, mut present, mut inserted) = (Vec::new(), Vec::new(), 0);
    for round in 0..120 {
        let records = batch(random, bits, 4_000);
        let records = Records::new(&records, words);
        let colour = Colour(random.below(2) as u8);
        let known = &mut judge[usize::from(colour.0)];
        new.clear();
        let insertion = store.insert_batch(colour, records, &mut new).unwrap();
        let taken = match &insertion {
            Insertion::All => records.len(),
            Insertion::Full { taken, .. } => *taken,
        };
        let fresh: Vec<u32> = (0..)
            .zip(records.take(taken).iter())
            .filter(|(_, it)| known.insert(it.to_vec()))
            .map(|it| it.0)
            .collect();
        if lossy {
            assert!(
                new.iter().all(|place| fresh.contains(place)),
                "{name}, round {round}: nothing old is new"
            );
        } else {
            assert_eq!(new, fresh, "{name}, round {round}");
        }
        assert!(new.is_sorted(), "{name}");
        inserted += new.len();
        present.clear();
        let records = batch(random, bits, 4_000);
        let records = Records::new(&records, words);
        match store.contains_batch(colour, records, &mut present) {
            // At the least budgets there may be no memory to ask for more at once than before.
            Err(SearchError::Budget(_)) => {}
            other => {
                other.unwrap();
                let there: Vec<u32> =
                    (0..).zip(records.iter()).filter(|(_, it)| known.contains(*it)).map(|it| it.0).collect();
                assert!(
                    there.iter().all(|place| present.contains(place)),
                    "{name}, round {round}: nothing is forgotten"
                );
                assert!(lossy || present == there, "{name}, round {round}");
                assert!(present.is_sorted(), "{name}");
            }
        }
        assert_eq!(store.figures().records as usize, inserted, "{name}, round {round}");
        if insertion != Insertion::All {
            return (inserted, true);
        }
    }
    (inserted, false)
}

#[test]
fn every_store_knows_what_was_inserted_at_all_widths() {
    for (name, make) in STORES {
        let mut seen = Seen::default();
        for (number, bits) in WIDTHS.into_iter().enumerate() {
            let mut random = Random::new(number as u64);
            let shape = shape_of(bits);
            let budget = Budget::new(64 << 20);
            let mut store = make(&shape, &budget).unwrap();
            assert_eq!(store.colours(), 2);
            let (inserted, full) = compare(&mut *store, bits, &mut random, &format!("{name}, {bits} bits"));
            assert!(!full, "{name}, {bits} bits");
            let figures = store.figures();
            assert!(figures.memory > 0 && figures.memory <= budget.used() as u64, "{name}: {figures:?}");
            drop(store);
            assert_eq!(budget.used(), 0, "{name}, {bits} bits: all memory is given back");
            seen.inserted += inserted;
        }
        eprintln!("{name}: {seen:?}");
        assert!(seen.inserted > 10_000, "{name}: {seen:?}");
    }
}

#[test]
fn a_store_that_is_full_says_so_and_loses_nothing() {
    for (name, make) in STORES {
        let mut seen = Seen::default();
        for (number, bits) in WIDTHS.into_iter().enumerate() {
            for step in 0..24u64 {
                let mut random = Random::new(100 * number as u64 + step);
                let shape = shape_of(bits);
                // From less than anything works with, up.
                let bytes = (1usize << (8 + step / 2)) * (2 + step as usize % 2) / 2 * shape.words();
                let budget = Budget::new(bytes);
                let Ok(mut store) = make(&shape, &budget) else {
                    seen.refused += 1;
                    continue;
                };
                let what = format!("{name}, {bits} bits, {bytes} bytes");
                let (inserted, full) = compare(&mut *store, bits, &mut random, &what);
                assert!(budget.peak() <= bytes, "{what}");
                seen.inserted += inserted;
                seen.full += usize::from(full);
            }
        }
        eprintln!("{name}: {seen:?}");
        // Bits are never full, they lie; sets on disk go on as long as they can begin.
        assert!(name != "exact" || seen.full > 20 && seen.refused > 0, "{name}: {seen:?}");
        assert!(seen.inserted > 20_000, "{name}: {seen:?}");
    }
}
