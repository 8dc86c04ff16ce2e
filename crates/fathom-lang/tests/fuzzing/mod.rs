//! How is a text changed so that it may do harm? Seeded mutations of bytes and of words, for the front-end of any language.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use fathom_lang::diagnostic::Diagnostics;
use fathom_lang::source::SourceText;

/// The longest text that diagnostics may make, far above what fifty of them need.
const RENDERED_BYTES_MAX: usize = 100_000;

/// A language under test.
pub(crate) struct Fuzzed {
    /// Words that are worth throwing in.
    pub(crate) words: &'static [&'static str],
    /// Everything that is done with a text; its result is checked as far as it can be for any text. Says whether it was a model.
    pub(crate) digest: fn(Vec<u8>, bool) -> bool,
}

/// A small generator of random numbers (splitmix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if the bound is.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

/// A number from the environment.
pub(crate) fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Every place that diagnostics are about is in the text, and they can be told.
pub(crate) fn check(diagnostics: &Diagnostics, source: &SourceText, render: bool) {
    let length = source.text().len();
    for label in diagnostics.items().iter().flat_map(|diagnostic| &diagnostic.labels) {
        let (start, end) = (label.span.start as usize, label.span.end as usize);
        assert!(start <= end && end <= length, "span {start}..{end} of {length} bytes");
        assert!(source.text().is_char_boundary(start) && source.text().is_char_boundary(end));
    }
    if render {
        let text = diagnostics.render(source, false);
        assert!(text.len() < RENDERED_BYTES_MAX, "{} bytes of diagnostics", text.len());
    }
}

/// Bytes that are worth throwing in.
const SIGNS: &[u8] = b"{}[]();,.:=<>!?-+*/%&|^~ \n\0\\\"#$";

/// The text cut into words, white space and signs, by rules of its own.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let class = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => 0,
        b' ' | b'\t' | b'\n' | b'\r' => 1,
        other => 2 + u16::from(other),
    };
    text.chunk_by(|left, right| class(*left) == class(*right)).collect()
}

impl Fuzzed {
    /// Words removed, put in, exchanged, repeated.
    pub(crate) fn mutate_words(&self, random: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
        let mut cut: Vec<&[u8]> = words(text);
        let donor = words(other);
        let long = vec![b'n'; 3_000];
        let deep = b"(".repeat(400);
        for _ in 0..=random.below(6) {
            let at = random.below(cut.len());
            let word: &[u8] = match random.below(10) {
                0..=4 => self.words[random.below(self.words.len())].as_bytes(),
                5..=8 => donor.get(random.below(donor.len())).copied().unwrap_or(b";"),
                _ if random.below(2) == 0 => &long,
                _ => &deep,
            };
            match random.below(6) {
                _ if cut.is_empty() => cut.push(word),
                0 => drop(cut.remove(at)),
                1 => cut.insert(at, word),
                2 => cut[at] = word,
                3 => cut.swap(at, random.below(text.len().min(9)) % at.max(1)),
                4 => {
                    let end = (at + 1 + random.below(30)).min(cut.len());
                    let part = cut[at..end].to_vec();
                    let to = random.below(cut.len());
                    cut.splice(to..to, part);
                }
                _ => {
                    let end = (at + 1 + random.below(30)).min(cut.len());
                    cut.drain(at..end);
                }
            }
        }
        cut.concat()
    }

    /// Runs `cases` mutations of the given sources and says how many were still models.
    pub(crate) fn fuzz(&self, sources: &[Vec<u8>], cases: u64, stream: u64, render_every: u64) -> u64 {
        let seed = setting("FATHOM_FUZZ_SEED", 1);
        let mut accepted = 0;
        for case in 0..cases {
            let mut random = Random(seed ^ (stream << 56) ^ case.wrapping_mul(0xd134_2543_de82_ef95));
            let text = &sources[random.below(sources.len())];
            let other = &sources[random.below(sources.len())];
            let mutated = match random.below(2) {
                0 => self.mutate_words(&mut random, text, other),
                _ => mutate_bytes(&mut random, text, other),
            };
            let kept = mutated.clone();
            match catch_unwind(AssertUnwindSafe(|| (self.digest)(mutated, case % render_every == 0))) {
                Ok(is_model) => accepted += u64::from(is_model),
                Err(panic) => {
                    eprintln!(
                        "seed {seed}, stream {stream}, case {case}:\n{}",
                        String::from_utf8_lossy(&kept)
                    );
                    resume_unwind(panic);
                }
            }
        }
        accepted
    }
}

fn mutate_bytes(random: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    for _ in 0..=random.below(6) {
        let at = random.below(text.len() + 1);
        let end = (at + random.below(40)).min(text.len());
        match random.below(7) {
            0 if at < text.len() => text[at] ^= 1 << random.below(8),
            1 if at < text.len() => text[at] = SIGNS[random.below(SIGNS.len())],
            2 => text.insert(at, random.next() as u8),
            3 => drop(text.drain(at..end)),
            4 => {
                let part = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                text.splice(to..to, part);
            }
            5 => text.truncate(at),
            _ => {
                let from = random.below(other.len() + 1);
                let part = &other[from..(from + random.below(80)).min(other.len())];
                text.splice(at..end, part.iter().copied());
            }
        }
    }
    text
}
