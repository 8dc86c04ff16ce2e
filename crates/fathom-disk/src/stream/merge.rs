//! How do many sorted streams become one, each key once, and the values of equal keys joined?
//!
//! `few`: of up to eight streams of keys of one or two words, all heads are compared at every step, without a branch that depends on them.
//! `tree`: of any others, and of all with values, a tree of losers remembers what was compared before.
//!
//! Memory: the output chunk, and for a tree one key and a few words per stream, charged. I/O: that of the streams, each read once.

mod few;
mod tree;

use super::KeyStream;
use crate::budget::{Budget, ChargedVec};
use crate::error::DiskError;
use crate::key;
use crate::sabotage::is_chosen;
use crate::value::Values;

use few::{FEW_MAX, Few};
use tree::Tree;

/// The union of sorted streams.
#[derive(Debug)]
pub struct Merge<S> {
    streams: Vec<S>,
    words: usize,
    output: ChargedVec<u64>,
    chunk_words: usize,
    joined: Option<Joined>,
    way: Way,
}

/// The values of the output, and how they are joined.
#[derive(Debug)]
struct Joined {
    values: Values,
    output: ChargedVec<u64>,
}

/// How it is found out which key comes next.
#[derive(Debug)]
enum Way {
    Few(Few),
    Tree(Tree),
}

impl<S: KeyStream> Merge<S> {
    /// Merges `streams`, giving chunks of at most `chunk_keys` keys.
    pub fn new(
        budget: &Budget,
        words: usize,
        mut streams: Vec<S>,
        chunk_keys: usize,
    ) -> Result<Self, DiskError> {
        let chunk_words = chunk_keys.max(1) * words;
        let output = ChargedVec::with_capacity(budget, "merge output", chunk_words)?;
        let way = if streams.len() <= FEW_MAX && words <= 2 {
            Way::Few(Few::new(streams.len()))
        } else {
            Way::Tree(Tree::new(budget, words, &mut streams)?)
        };
        Ok(Self { streams, words, output, chunk_words, joined: None, way })
    }

    /// The same of streams with values: those of equal keys become one.
    pub fn joining(
        budget: &Budget,
        words: usize,
        mut streams: Vec<S>,
        chunk_keys: usize,
        values: Values,
    ) -> Result<Self, DiskError> {
        let chunk_keys = chunk_keys.max(1);
        let output = ChargedVec::with_capacity(budget, "merge output", chunk_keys * words)?;
        let joined =
            Joined { values, output: ChargedVec::with_capacity(budget, "merge output", chunk_keys)? };
        let way = Way::Tree(Tree::new(budget, words, &mut streams)?);
        Ok(Self { streams, words, output, chunk_words: chunk_keys * words, joined: Some(joined), way })
    }

    /// The streams, when done.
    pub fn into_streams(self) -> Vec<S> {
        self.streams
    }

    fn is_finished(&self) -> bool {
        match &self.way {
            Way::Few(few) => few.is_finished(),
            Way::Tree(tree) => tree.is_finished(),
        }
    }
}

impl<S: KeyStream> KeyStream for Merge<S> {
    fn words(&self) -> usize {
        self.words
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        let Self { streams, words, output, chunk_words, joined, way } = self;
        output.clear();
        output.resize(*chunk_words, 0)?;
        let written = match (way, words) {
            (Way::Tree(tree), _) if let Some(joined) = joined => joined.fill(tree, streams, output)?,
            (Way::Few(few), 1) => few.fill::<u64, S>(streams, output)?,
            (Way::Few(few), _) => few.fill::<u128, S>(streams, output)?,
            (Way::Tree(tree), 1) => tree.fill_numbers::<u64, S>(streams, output)?,
            (Way::Tree(tree), 2) => tree.fill_numbers::<u128, S>(streams, output)?,
            (Way::Tree(tree), _) => tree.fill_many(streams, output, |_, _, _| ())?,
        };
        output.truncate(written);
        if is_chosen("merge-last-key") && self.is_finished() {
            let shorter = self.output.len().saturating_sub(self.words);
            self.output.truncate(shorter);
        }
        Ok(!self.output.is_empty())
    }

    fn keys(&self) -> &[u64] {
        &self.output
    }

    fn values(&self) -> &[u64] {
        self.joined.as_ref().map_or(&[], |joined| &joined.output[..self.output.len() / self.words])
    }
}

impl Joined {
    /// Puts the next keys at the front of `output` and their values into its own; says how many words the keys have, 0 at the end.
    fn fill<S: KeyStream>(
        &mut self,
        tree: &mut Tree,
        streams: &mut [S],
        output: &mut [u64],
    ) -> Result<usize, DiskError> {
        let Self { values, output: joined } = self;
        let words = tree.words();
        joined.clear();
        joined.resize(output.len() / words, 0)?;
        let mut count = 0;
        tree.fill_many(streams, output, |stream, place, new| {
            let value = stream.values()[place / words];
            count += usize::from(new);
            let last = &mut joined[count - 1];
            if new {
                *last = value;
            } else if !is_chosen("join") {
                *last = values.joined(*last, value);
            }
        })
    }
}

/// A key as a number.
trait Number: Copy + Ord {
    const WORDS: usize;
    const GREATEST: Self;
    /// The key number `index` of `keys`.
    fn get(keys: &[u64], index: usize) -> Option<Self>;
    /// The key at the front of `words`.
    fn load(words: &[u64]) -> Self;
    /// Puts it there.
    fn store(self, words: &mut [u64]);
}

impl Number for u64 {
    const WORDS: usize = 1;
    const GREATEST: u64 = u64::MAX;

    #[inline(always)]
    fn get(keys: &[u64], index: usize) -> Option<u64> {
        keys.get(index).copied()
    }

    #[inline(always)]
    fn load(words: &[u64]) -> u64 {
        words[0]
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[0] = self;
    }
}

impl Number for u128 {
    const WORDS: usize = 2;
    const GREATEST: u128 = u128::MAX;

    #[inline(always)]
    fn get(keys: &[u64], index: usize) -> Option<u128> {
        keys.as_chunks::<2>().0.get(index).map(|pair| key::wide(pair))
    }

    #[inline(always)]
    fn load(words: &[u64]) -> u128 {
        key::wide(words)
    }

    #[inline(always)]
    fn store(self, words: &mut [u64]) {
        words[..2].copy_from_slice(&key::narrow(self));
    }
}
