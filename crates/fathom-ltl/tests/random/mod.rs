//! Seeded formulas and words.

#![allow(dead_code)]

use fathom_ltl::atom::AtomId;
use fathom_ltl::formula::Formula;
use fathom_ltl::word::Lasso;

/// A small generator (splitmix64): the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5DEE_CE66_D1CE_4E5B)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// Exactly `operators` operators.
    pub(crate) fn formula(&mut self, operators: usize, atoms: usize) -> Formula {
        if operators == 0 {
            return match self.below(20) {
                0 => Formula::True,
                1 => Formula::False,
                _ => Formula::Atom(AtomId::new(self.below(atoms)).expect("few atoms")),
            };
        }
        let kind = self.below(13);
        if operators == 1 || kind < 4 {
            let operand = Box::new(self.formula(operators - 1, atoms));
            return match kind % 4 {
                0 => Formula::Not(operand),
                1 => Formula::Next(operand),
                2 => Formula::Finally(operand),
                _ => Formula::Globally(operand),
            };
        }
        let left = self.below(operators);
        let (a, b) = (self.formula(left, atoms), self.formula(operators - 1 - left, atoms));
        let pair = (Box::new(a), Box::new(b));
        match kind {
            4 | 5 => Formula::And(vec![*pair.0, *pair.1]),
            6 | 7 => Formula::Or(vec![*pair.0, *pair.1]),
            8 => Formula::Until(pair.0, pair.1),
            9 => Formula::Release(pair.0, pair.1),
            10 => Formula::WeakUntil(pair.0, pair.1),
            11 => Formula::StrongRelease(pair.0, pair.1),
            _ if self.below(2) == 0 => Formula::Implies(pair.0, pair.1),
            _ => Formula::Iff(pair.0, pair.1),
        }
    }

    pub(crate) fn letters(&mut self, count: usize, atoms: usize) -> Vec<u64> {
        (0..count).map(|_| self.next() & ((1 << atoms) - 1)).collect()
    }

    pub(crate) fn word(&mut self, atoms: usize, stem_max: usize, cycle_max: usize) -> Lasso {
        let (stem, cycle) = (self.below(stem_max + 1), 1 + self.below(cycle_max));
        let (stem, cycle) = (self.letters(stem, atoms), self.letters(cycle, atoms));
        Lasso::new(&stem, &cycle).expect("the cycle is not empty")
    }
}
