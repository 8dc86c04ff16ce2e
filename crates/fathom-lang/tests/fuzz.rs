//! Does any text make the front-end panic, hang or eat memory?
//!
//! Seeded mutations, of bytes and of words, over all DVE sources at hand: the project's models, the wrong ones of
//! `tests/diagnostics`, and the corpus where it is there. `FATHOM_FUZZ_SEED` sets another seed and `FATHOM_FUZZ_CASES`
//! another number of cases for long runs. A failure names the case, and `FATHOM_FUZZ_SEED` brings it back.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use fathom_lang::diagnostic::Diagnostics;
use fathom_lang::dve::{DveOptions, compile, expression};
use fathom_lang::source::SourceText;

/// The longest text that diagnostics may make, far above what twenty of them need.
const RENDERED_BYTES_MAX: usize = 100_000;
/// More memory than this is not bounded by the text.
const PEAK_KIBIBYTES_MAX: u64 = 1 << 20;

/// A small generator of random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if the bound is.
    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn sources() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beem = root.join("../../../shared/beem");
    if !beem.is_dir() {
        eprintln!("no corpus at ../shared/beem: only the project's own models are mutated");
    }
    let folders = [root.join("tests/diagnostics"), root.join("../../models")];
    let folders =
        folders.into_iter().chain(["models", "property-processes", "divine-tests"].map(|it| beem.join(it)));
    let mut paths: Vec<PathBuf> = folders
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "dve"))
        .collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Everything that is done with a text; its result is checked as far as it can be for any text.
fn digest(bytes: Vec<u8>, render: bool) -> bool {
    let source = match SourceText::from_bytes("fuzzed.dve", bytes) {
        Ok(source) => source,
        Err(diagnostics) => {
            check(&diagnostics, &SourceText::new("fuzzed.dve", ""), render);
            return false;
        }
    };
    match compile(&source, &DveOptions::default()) {
        Ok(compiled) => {
            let problems = fathom_model::verify::problems(&compiled.program);
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(compiled.warnings.error_count(), 0);
            check(&compiled.warnings, &source, render);
            true
        }
        Err(diagnostics) => {
            assert!(diagnostics.error_count() > 0, "refused without an error");
            check(&diagnostics, &source, render);
            false
        }
    }
}

fn check(diagnostics: &Diagnostics, source: &SourceText, render: bool) {
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

/// Words that are worth throwing in.
const WORDS: &[&str] = &[
    "process",
    "state",
    "init",
    "trans",
    "guard",
    "sync",
    "effect",
    "system",
    "async",
    "property",
    "assert",
    "commit",
    "accept",
    "channel",
    "const",
    "byte",
    "int",
    "not",
    "and",
    "or",
    "imply",
    "true",
    "->",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "=",
    "==",
    "!",
    "?",
    ".",
    ":",
    "<<",
    ">>",
    "/",
    "%",
    "-",
    "~",
    "^",
    "|",
    "&",
    "0",
    "1",
    "255",
    "256",
    "-1",
    "65535",
    "9223372036854775807",
    "9223372036854775808",
    "99999999999999999999999999",
    "//",
    "/*",
    "*/",
    "\\\n",
    "\\",
    "\r\n",
    "\0",
    "\u{e4}",
    "\u{1f600}",
    "P",
    "P_0",
    "s",
    "x",
    "x[",
    "P.s",
    "P->x",
    "buchi",
    "rabin",
    "rate$#",
    "\"",
];

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

fn mutate_words(random: &mut Random, text: &[u8], other: &[u8]) -> Vec<u8> {
    let mut cut: Vec<&[u8]> = words(text);
    let donor = words(other);
    let long = vec![b'n'; 3_000];
    let deep = b"(".repeat(400);
    for _ in 0..=random.below(6) {
        let at = random.below(cut.len());
        let word: &[u8] = match random.below(10) {
            0..=4 => WORDS[random.below(WORDS.len())].as_bytes(),
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

/// Runs `cases` mutations of the given sources and says how many were still models.
fn fuzz(sources: &[Vec<u8>], cases: u64, stream: u64, render_every: u64) -> u64 {
    let seed = setting("FATHOM_FUZZ_SEED", 1);
    let mut accepted = 0;
    for case in 0..cases {
        let mut random = Random(seed ^ (stream << 56) ^ case.wrapping_mul(0xd134_2543_de82_ef95));
        let text = &sources[random.below(sources.len())];
        let other = &sources[random.below(sources.len())];
        let mutate = if random.below(2) == 0 { mutate_words } else { mutate_bytes };
        let mutated = mutate(&mut random, text, other);
        let kept = mutated.clone();
        match catch_unwind(AssertUnwindSafe(|| digest(mutated, case % render_every == 0))) {
            Ok(is_model) => accepted += u64::from(is_model),
            Err(panic) => {
                eprintln!("seed {seed}, stream {stream}, case {case}:\n{}", String::from_utf8_lossy(&kept));
                resume_unwind(panic);
            }
        }
    }
    accepted
}

/// The most memory this process ever had, where the system tells.
fn peak_kibibytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn no_mutation_does_harm() {
    let sources = sources();
    let of_size = |low: usize, high: usize| -> Vec<Vec<u8>> {
        sources.iter().filter(|source| (low..high).contains(&source.len())).cloned().collect()
    };
    let cases = setting("FATHOM_FUZZ_CASES", 200_000);
    let small = of_size(0, 2_500);
    assert!(small.len() >= 60, "too few sources: {}", small.len());
    let accepted = fuzz(&small, cases, 1, 8);
    assert!(
        accepted > cases / 100,
        "only {accepted} of {cases} mutated texts are models: nothing deep was tested"
    );
    assert!(accepted < cases / 2, "{accepted} of {cases} mutated texts are models: nothing was broken");
    let middle = of_size(2_500, 100_000);
    if !middle.is_empty() {
        fuzz(&middle, cases / 40, 2, 8);
    }
    let huge = of_size(100_000, usize::MAX);
    if !huge.is_empty() {
        fuzz(&huge, cases / 20_000, 3, 1);
    }
    if let Some(peak) = peak_kibibytes() {
        assert!(peak < PEAK_KIBIBYTES_MAX, "peak memory {peak} KiB");
    }
}

#[test]
fn no_long_repetition_does_harm() {
    let frames = [
        ("", ""),
        ("byte x = ", "; process P { state s; init s; } system async;"),
        ("process P { ", " } system async;"),
        ("process P { state s; init s; trans ", "; } system async;"),
        ("byte x; process P { state s; init s; trans s -> s { guard ", "; }; } system async;"),
        ("byte x; channel c; process P { state s; init s; trans s -> s { sync c!{", "}; }; } system async;"),
    ];
    let more = [
        "x + ",
        "x and ",
        "a[",
        "P.s ",
        "P->x ",
        "s -> s {}, ",
        "s -> s { guard x; }, ",
        "x, ",
        "byte x; ",
        "{ } ",
        "process P { ",
        "process P { state s; init s; } ",
        "// \n",
        "/* */",
        "channel c, d; ",
        "\"x\" ",
        "' ",
        "assert s: x, ",
        "x = x, ",
    ];
    for (before, after) in frames {
        for word in WORDS.iter().chain(&more) {
            for word in [(*word).to_owned(), format!("{word} ")] {
                let text = format!("{before}{}{after}", word.repeat(40_000 / word.len()));
                digest(text.into_bytes(), true);
            }
        }
    }
}

#[test]
fn no_expression_from_outside_does_harm() {
    let model = "byte x, a[3]; const int K = 2; process P { byte l; state s, t; init s; } system async;";
    let symbols = compile(&SourceText::new("m", model), &DveOptions::default()).unwrap().symbols;
    let sources: Vec<Vec<u8>> = [
        "x + a[K] * 2 == P->l imply not P.t or x < K and -x >= ~a[0]",
        "P.s && (P->l == 3 || a[x % 3] != 0) and x << 2 > K",
        "((((x))))",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into();
    let seed = setting("FATHOM_FUZZ_SEED", 1);
    for case in 0..20_000 {
        let mut random = Random(seed ^ (4 << 56) ^ case);
        let text = &sources[random.below(sources.len())];
        let mutated = mutate_words(&mut random, text, &sources[0]);
        let Ok(source) = SourceText::from_bytes("property", mutated) else { continue };
        if let Err(diagnostics) = expression(&symbols, &source) {
            assert!(diagnostics.error_count() > 0, "case {case}: {}", source.text());
            check(&diagnostics, &source, case % 8 == 0);
        }
    }
}
