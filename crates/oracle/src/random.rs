//! Which numbers does a seeded test draw? Always the same ones for the same seed, on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): a counter and a mixer.

/// A seeded source of numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The source of that seed. Seeds that differ give unrelated numbers.
    pub fn new(seed: u64) -> Random {
        Random { state: seed }
    }

    /// Any word.
    pub fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is a number below the bound");
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }

    /// A number of `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        assert!(low <= high, "there is a number between the bounds");
        let size = (i128::from(high) - i128::from(low) + 1) as u128;
        low.wrapping_add(((u128::from(self.word()) * size) >> 64) as i64)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut random = Random::new(1_234_567);
        let words: Vec<u64> = (0..3).map(|_| random.word()).collect();
        assert_eq!(words, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_stay_in_their_bounds_and_reach_them() {
        let mut random = Random::new(1);
        let mut seen = [0; 7];
        for _ in 0..1000 {
            seen[random.below(7)] += 1;
            assert!((-3..=3).contains(&random.between(-3, 3)));
        }
        assert!(seen.iter().all(|count| *count > 80), "{seen:?}");
        assert_eq!(random.between(5, 5), 5);
        let full: Vec<i64> = (0..64).map(|_| random.between(i64::MIN, i64::MAX)).collect();
        assert!(full.iter().any(|value| *value < 0) && full.iter().any(|value| *value > 0));
    }
}
