//! Does any text make the front-end panic, hang or eat memory?
//!
//! Seeded mutations, of bytes and of words, over all DVE sources at hand: the project's models, the wrong ones of
//! `tests/diagnostics`, and the corpus where it is there. `FATHOM_FUZZ_SEED` sets another seed and `FATHOM_FUZZ_CASES`
//! another number of cases for long runs. A failure names the case, and `FATHOM_FUZZ_SEED` brings it back.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

mod fuzzing;

use std::path::{Path, PathBuf};

use fathom_lang::dve::{DveOptions, compile, expression};
use fathom_lang::source::SourceText;
use fuzzing::{Fuzzed, Random, check, setting};

const DVE: Fuzzed = Fuzzed { words: WORDS, digest };

/// More memory than this is not bounded by the text.
const PEAK_KIBIBYTES_MAX: u64 = 1 << 20;

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
    let accepted = DVE.fuzz(&small, cases, 1, 8);
    assert!(
        accepted > cases / 100,
        "only {accepted} of {cases} mutated texts are models: nothing deep was tested"
    );
    assert!(accepted < cases / 2, "{accepted} of {cases} mutated texts are models: nothing was broken");
    let middle = of_size(2_500, 100_000);
    if !middle.is_empty() {
        DVE.fuzz(&middle, cases / 40, 2, 8);
    }
    let huge = of_size(100_000, usize::MAX);
    if !huge.is_empty() {
        DVE.fuzz(&huge, cases / 20_000, 3, 1);
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
        let mutated = DVE.mutate_words(&mut random, text, &sources[0]);
        let Ok(source) = SourceText::from_bytes("property", mutated) else { continue };
        if let Err(diagnostics) = expression(&symbols, &source) {
            assert!(diagnostics.error_count() > 0, "case {case}: {}", source.text());
            check(&diagnostics, &source, case % 8 == 0);
        }
    }
}
