//! Which codec suits this data? The one that has given the fewest bytes on blocks tried so far.
//!
//! A choice tries every candidate on the first blocks and on one in 64 after that, so a run that changes its character
//! changes its codec; in between it costs nothing. Sums fade by half at every trial.

use super::Codec;

/// Candidates and what they gave so far.
#[derive(Clone, Debug)]
pub struct Choice {
    candidates: Vec<Candidate>,
    blocks: u64,
    best: Codec,
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    codec: Codec,
    bytes: f64,
}

/// Blocks at the start on which all candidates are tried.
const TRIALS_FIRST: u64 = 4;
/// After that, one block in so many.
const TRIAL_PERIOD: u64 = 64;

impl Choice {
    /// Chooses among `candidates`; the first is taken where nothing speaks against it.
    pub fn new(candidates: &[Codec]) -> Self {
        let best = candidates.first().copied().unwrap_or(Codec::Gap);
        let candidates = candidates.iter().map(|&codec| Candidate { codec, bytes: 0.0 }).collect();
        Self { candidates, blocks: 0, best }
    }

    /// The codec for the next block; none means: try each of [`Choice::candidates`], tell [`Choice::tried`], and take
    /// [`Choice::best`].
    pub fn next_block(&mut self) -> Option<Codec> {
        let trial = self.blocks < TRIALS_FIRST || self.blocks.is_multiple_of(TRIAL_PERIOD);
        self.blocks += 1;
        (self.candidates.len() == 1 || !trial).then_some(self.best)
    }

    /// What it chooses among.
    pub fn candidates(&self) -> impl Iterator<Item = Codec> {
        self.candidates.iter().map(|candidate| candidate.codec)
    }

    /// Takes note that `codec` gave `bytes` on the block under trial.
    pub fn tried(&mut self, codec: Codec, bytes: usize) {
        for candidate in &mut self.candidates {
            if candidate.codec == codec {
                candidate.bytes = candidate.bytes / 2.0 + bytes as f64;
            }
        }
        let least = self.candidates.iter().min_by(|left, right| left.bytes.total_cmp(&right.bytes));
        self.best = least.map_or(self.best, |candidate| candidate.codec);
    }

    /// The codec that is best so far.
    pub fn best(&self) -> Codec {
        self.best
    }
}
