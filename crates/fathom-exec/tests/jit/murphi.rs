//! Murphi models: our own, and the corpus where it is there.

use std::path::{Path, PathBuf};

use fathom_lang::murphi::{MurphiOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::layout::Declared;
use fathom_model::program::Program;
use fathom_model::values::PossibleValues;

use crate::agreement::{
    Seen, Within, compare, compare_compact, compare_within, compare_within_less_and_less,
};

/// The Murphi files in a folder and in those inside it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "m") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// What a file says, if it is a model at all: the corpus has files that are not, on purpose.
fn read(path: &Path) -> Option<Program> {
    let name = path.file_name().unwrap().to_str().unwrap();
    let source = SourceText::from_bytes(name, std::fs::read(path).unwrap()).ok()?;
    compile(&source, &MurphiOptions::default()).ok().map(|compiled| compiled.program)
}

fn compare_both(path: &Path, states: usize, seen: &mut Seen) -> bool {
    let Some(program) = read(path) else { return false };
    let values = PossibleValues::of(&program);
    let name = path.display().to_string();
    seen.add(compare(&program, &values, states, &name));
    seen.add(compare_compact(&program, &values, states, &name));
    true
}

#[test]
fn our_own_murphi_models_take_the_same_steps() {
    let mut seen = Seen::default();
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"));
    assert!(!files.is_empty(), "there are Murphi models of our own");
    for path in &files {
        assert!(compare_both(path, 1_000, &mut seen), "{} is a model", path.display());
    }
    eprintln!("{} models: {seen:?}", files.len());
}

#[test]
fn what_is_compiled_within_little_memory_takes_the_same_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut programs: Vec<(String, Program)> = Vec::new();
    for path in files(&folder) {
        programs.extend(read(&path).map(|program| (path.display().to_string(), program)));
    }
    // One long body, whose temporaries are many.
    let calls = "f(x); ".repeat(300);
    let text = format!(
        "type N: 0..7; var x: N; \
         procedure f(var n: N); var a: N; b: N; begin a := n; b := (a + 1) % 8; for i: N do if i = b then a := i; end; end; n := a; end; \
         startstate begin x := 0; end; rule \"long\" true ==> begin {calls} end;"
    );
    let source = SourceText::new("long.m", &text);
    let long = compile(&source, &MurphiOptions::default())
        .unwrap_or_else(|it| panic!("{}", it.render(&source, false)));
    programs.push(("long.m".into(), long.program));
    for (name, program) in &programs {
        let within = compare_within_less_and_less(program, &PossibleValues::of(program), name);
        eprintln!("{name}: {within:?}");
        assert!(within.whole > 0 && within.refused > 0, "{name}");
    }
    let within = compare_within_less_and_less(&programs.last().unwrap().1, &Declared, "long.m");
    assert!(within.whole < 6 && within.hollow > 0, "a long body takes memory: {within:?}");
}

/// A program of many rules, each instance of which is code of its own, among them some that are long.
fn wide() -> Program {
    let rule = |number: usize| {
        let long = if number % 50 == 7 {
            "if a[n] < 8 then a[n] := (a[n] + b) % 8; b := a[n]; end; ".repeat(120)
        } else {
            String::new()
        };
        format!(
            "rule \"{number}\" a[n] = {} & b != {} ==> begin {long} a[n] := (a[n] * {} + b) % 8; b := (b + {number}) % 8; end;\n",
            number % 8,
            number % 5,
            number % 7
        )
    };
    let rules: String = (0..600).map(rule).collect();
    let text = format!(
        "type N: 0..7; P: 0..1; var a: array [P] of N; b: N;\n\
         startstate begin for p: P do a[p] := p; end; b := 1; end;\n\
         ruleset n: P do\n{rules}end;\n\
         invariant \"small\" forall p: P do a[p] + b < 15 end;\n"
    );
    let source = SourceText::new("wide.m", &text);
    compile(&source, &MurphiOptions::default())
        .unwrap_or_else(|problems| panic!("{}", problems.render(&source, false)))
        .program
}

#[test]
fn a_wide_program_is_compiled_as_far_as_its_memory_goes() {
    let program = wide();
    let values = PossibleValues::of(&program);
    let mut within = Within::default();
    for kib in [3_500, 3_700, 4_000, 4_500, 5_000, 6_000, 8_000, 64_000] {
        let name = format!("wide.m within {kib} KiB");
        let seen = compare_within(&program, &values, kib << 10, &name, &mut within);
        eprintln!("{name}: {seen:?}");
    }
    eprintln!("{within:?}");
    assert!(within.mixed > 3 && within.whole > 0, "{within:?}");
}

#[test]
fn murphi_models_of_the_corpus_take_the_same_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/murphi");
    let mut files = files(&folder);
    if files.is_empty() {
        eprintln!("murphi_models_of_the_corpus_take_the_same_steps: skipped, no corpus at ../shared/murphi");
        return;
    }
    // Large models take seconds to compile; all of them, and more states, with FATHOM_LONG.
    let long = std::env::var_os("FATHOM_LONG").is_some();
    if !long {
        files.retain(|path| std::fs::metadata(path).is_ok_and(|it| it.len() < 8_000));
    }
    let mut seen = Seen::default();
    let states = if long { 2_000 } else { 200 };
    let models = files.iter().filter(|path| compare_both(path, states, &mut seen)).count();
    eprintln!("{models} models of {} files of the corpus: {seen:?}", files.len());
    assert!(models * 2 > files.len() && seen.faults > 0, "{models} models: {seen:?}");
}
