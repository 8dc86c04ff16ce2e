//! Does any text make the Murphi front-end panic, hang or eat memory?
//!
//! Seeded mutations, of bytes and of words, over all Murphi sources at hand: the wrong ones of `tests/diagnostics`, the project's models, and the corpus where it is
//! there. `FATHOM_FUZZ_SEED` sets another seed and `FATHOM_FUZZ_CASES` another number of cases for long runs. A failure
//! names the case, and `FATHOM_FUZZ_SEED` brings it back.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

mod fuzzing;

use std::path::{Path, PathBuf};

use fathom_lang::murphi::{MurphiOptions, compile, expression};
use fathom_lang::source::SourceText;
use fuzzing::{Fuzzed, Random, check, setting};

const MURPHI: Fuzzed = Fuzzed { words: WORDS, digest };

fn sources() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = root.join("../../../shared/murphi");
    if !corpus.is_dir() {
        eprintln!("no corpus at ../shared/murphi: only the project's own models are mutated");
    }
    let mut folders = vec![root.join("tests/diagnostics"), root.join("../../models"), corpus];
    let mut paths: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "m") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).collect()
}

/// Everything that is done with a text; its result is checked as far as it can be for any text.
fn digest(bytes: Vec<u8>, render: bool) -> bool {
    let source = match SourceText::from_bytes("fuzzed.m", bytes) {
        Ok(source) => source,
        Err(diagnostics) => {
            check(&diagnostics, &SourceText::new("fuzzed.m", ""), render);
            return false;
        }
    };
    let (diagnostics, accepted) =
        match compile(&source, &MurphiOptions { symmetry: true, ..MurphiOptions::default() }) {
            Ok(compiled) => {
                let problems = fathom_model::verify::problems(&compiled.program);
                assert!(problems.is_empty(), "{problems:?}");
                assert_eq!(compiled.warnings.error_count(), 0);
                (compiled.warnings, true)
            }
            Err(diagnostics) => {
                assert!(diagnostics.error_count() > 0, "refused without an error");
                (diagnostics, false)
            }
        };
    check(&diagnostics, &source, render);
    accepted
}

/// Words that are worth throwing in.
const WORDS: &[&str] = &[
    "rule",
    "startstate",
    "ruleset",
    "begin",
    "end",
    "endif",
    "do",
    "var",
    "const",
    "type",
    "function",
    "procedure",
    "if",
    "then",
    "else",
    "elsif",
    "switch",
    "case",
    "for",
    "while",
    "alias",
    "choose",
    "forall",
    "exists",
    "undefine",
    "clear",
    "return",
    "put",
    "error",
    "assert",
    "assume",
    "cover",
    "liveness",
    "invariant",
    "array",
    "of",
    "record",
    "enum",
    "scalarset",
    "union",
    "multiset",
    "boolean",
    "true",
    "false",
    "undefined",
    "isundefined(",
    "ismember(",
    "multisetadd(",
    "multisetcount(",
    "multisetremove(",
    "==>",
    ":=",
    "..",
    "->",
    "&",
    "|",
    "!",
    "=",
    "!=",
    "<",
    "<=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "<<",
    ">>",
    "?",
    ":",
    ";",
    ",",
    ".",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "0",
    "1",
    "2",
    "010",
    "0x7fffffffffffffff",
    "9223372036854775808",
    "-1",
    "65536",
    "x",
    "i",
    "\"s\"",
    "--",
    "/*",
    "*/",
    "\u{2200}",
    "\u{201c}",
    "by",
    "to",
];

#[test]
fn no_mutation_does_harm() {
    let sources = sources();
    let of_size = |low: usize, high: usize| -> Vec<Vec<u8>> {
        sources.iter().filter(|source| (low..high).contains(&source.len())).cloned().collect()
    };
    let cases = setting("FATHOM_FUZZ_CASES", 60_000);
    let small = of_size(0, 2_500);
    assert!(small.len() >= 60, "too few sources: {}", small.len());
    let accepted = MURPHI.fuzz(&small, cases, 1, 8);
    assert!(
        accepted > cases / 100,
        "only {accepted} of {cases} mutated texts are models: nothing deep was tested"
    );
    assert!(accepted < cases / 2, "{accepted} of {cases} mutated texts are models: nothing was broken");
    let large = of_size(2_500, usize::MAX);
    if !large.is_empty() {
        MURPHI.fuzz(&large, cases / 100, 2, 8);
    }
}

#[test]
fn no_long_repetition_does_harm() {
    let frames = [
        ("", ""),
        ("var x: boolean; startstate begin x := ", " end;"),
        ("var x: boolean; startstate begin ", " end;"),
        ("type t: ", ";"),
        ("var x: boolean; rule ", " ==> begin end;"),
        ("ruleset i: boolean do ", " end;"),
    ];
    let more = [
        "x & ",
        "x -> ",
        "x + ",
        "!",
        "x[",
        "(x",
        "if x then ",
        "array [boolean] of ",
        "record a: ",
        "x := x; ",
        "f(",
        "x.y",
    ];
    for (before, after) in frames {
        for word in WORDS.iter().chain(&more) {
            for word in [(*word).to_owned(), format!("{word} ")] {
                let text = format!("{before}{}{after}", word.repeat(20_000 / word.len()));
                digest(text.into_bytes(), true);
            }
        }
    }
}

#[test]
fn what_grows_beyond_bounds_is_refused_and_not_built() {
    let mut doubling = String::from("type t0: boolean;\n");
    let mut calling = String::from("var x: boolean;\nprocedure p0(); begin x := !x; end;\n");
    for level in 1..60 {
        let before = level - 1;
        doubling.push_str(&format!("t{level}: record a: t{before}; b: t{before}; end;\n"));
        calling.push_str(&format!("procedure p{level}(); begin p{before}(); p{before}(); end;\n"));
    }
    assert!(!digest(format!("{doubling} var x: t59; startstate begin end;").into_bytes(), true));
    assert!(!digest(format!("{calling} rule begin p59(); end;").into_bytes(), true));
    assert!(!digest(
        "var x: 0..9; ruleset a: 0..9999; b: 0..9999 do rule begin x := 0; end; end;".into(),
        true
    ));
    let body = "function f(n: 0..9): 0..9; begin if n = 0 then return 0; else return f(n-1)+f(n-1)+f(n-1); end; end;";
    digest(format!("var x: 0..9; {body} rule begin x := f(x); end;").into_bytes(), true);
}

#[test]
fn no_expression_from_outside_does_harm() {
    let model = "const N: 3; type p: scalarset(2); var x: 0..N; a: array [p] of boolean; m: multiset [3] of 0..1;\
                 function f(): boolean; begin return x = 0; end; startstate begin x := 0; end;";
    let symbols = compile(&SourceText::new("m", model), &MurphiOptions::default()).unwrap().symbols;
    for text in
        ["x = N", "forall i: p do a[i] end", "multisetcount(k: m, m[k] = 1) > 0", "isundefined(x) -> x < 2"]
    {
        assert!(expression(&symbols, &SourceText::new("e", text)).is_ok(), "{text}");
    }
    for text in ["x", "y = 1", "f()", "forall i: 0..99 do x = i end", "x := 1", "x = 1 x"] {
        assert!(expression(&symbols, &SourceText::new("e", text)).is_err(), "{text}");
    }
    let seed = setting("FATHOM_FUZZ_SEED", 1);
    let base = "forall i: p do a[i] & x < N -> multisetcount(k: m, m[k] = x) > 0 end";
    for case in 0..10_000 {
        let mut random = Random(seed ^ (4 << 56) ^ case);
        let mutated = MURPHI.mutate_words(&mut random, base.as_bytes(), model.as_bytes());
        let Ok(source) = SourceText::from_bytes("property", mutated) else { continue };
        if let Err(diagnostics) = expression(&symbols, &source) {
            check(&diagnostics, &source, case % 8 == 0);
        }
    }
}
