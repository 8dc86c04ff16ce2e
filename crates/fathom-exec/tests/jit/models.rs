//! Real models: our own, and a sample of the corpus where it is there.

use std::path::{Path, PathBuf};

use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::expression::Overflow;
use fathom_model::layout::Declared;
use fathom_model::program::Program;
use fathom_model::values::PossibleValues;
use oracle::skip::skipped;

use crate::agreement::{Seen, compare};

fn programs(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dve"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path, overflow: Overflow) -> Program {
    let name = path.file_name().unwrap().to_str().unwrap();
    let source = SourceText::from_bytes(name, std::fs::read(path).unwrap()).unwrap();
    let options = DveOptions { overflow, ..DveOptions::default() };
    compile(&source, &options)
        .unwrap_or_else(|problems| panic!("{}", problems.render(&source, false)))
        .program
}

fn compare_both(path: &Path, states: usize, seen: &mut Seen) {
    let program = read(path, Overflow::Fault);
    let name = path.display().to_string();
    seen.add(compare(&program, &Declared, states, &name));
    seen.add(compare(&program, &PossibleValues::of(&program), states, &name));
    let program = read(path, Overflow::Wrap);
    seen.add(compare(&program, &PossibleValues::of(&program), states, &name));
}

#[test]
fn our_own_models_take_the_same_steps() {
    let files = programs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"));
    assert!(!files.is_empty(), "the project has models");
    let mut seen = Seen::default();
    files.iter().for_each(|path| compare_both(path, 3_000, &mut seen));
    eprintln!("{} models: {seen:?}", files.len());
}

#[test]
fn models_of_the_corpus_take_the_same_steps() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/beem/models");
    let files = programs(&folder);
    if files.is_empty() {
        return skipped("models_of_the_corpus_take_the_same_steps", "../shared/beem/models is not there");
    }
    // One instance of every family; all of them, and more states, with FATHOM_LONG.
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let family =
        |path: &PathBuf| path.file_stem().unwrap().to_str().unwrap().split('.').next().unwrap().to_owned();
    let mut files = files;
    if !long {
        files.dedup_by_key(|path| family(path));
    }
    let mut seen = Seen::default();
    for path in &files {
        let program = read(path, Overflow::Fault);
        let states = if long { 20_000 } else { 1_000 };
        seen.add(compare(&program, &PossibleValues::of(&program), states, &path.display().to_string()));
    }
    eprintln!("{} models of the corpus: {seen:?}", files.len());
}

#[test]
fn processes_that_are_cut_into_functions_keep_the_rule_of_committed_locations() {
    // So many transitions that the process has a function for every so many of them. At `c`, which is committed, only `back` and meetings with `R` are allowed:
    // `Q` is at a location that is not.
    let meets = |partner: &str| {
        let one = |number: usize| {
            format!(
                "c -> s {{ guard x * {number} % 7 == y; sync {partner}!; effect x = (x + {number}) % 11; }}"
            )
        };
        (0..400).map(one).collect::<Vec<_>>().join(",\n")
    };
    let text = format!(
        "int x = 1, y = 1;\nchannel q, r, t;\n\
         process P {{\nstate s, c;\ncommit c;\ninit s;\ntrans s -> c {{}}, s -> c {{ sync t!; }},\n{},\n{},\nc -> s {{ effect y = (y + 1) % 3; }};\n}}\n\
         process Q {{\nstate a;\ninit a;\ntrans a -> a {{ sync q?; }};\n}}\n\
         process R {{\nstate a, b;\ncommit b;\ninit a;\ntrans a -> b {{ sync t?; }}, b -> a {{ sync r?; }}, b -> a {{}};\n}}\n\
         system async;\n",
        meets("q"),
        meets("r")
    );
    let source = SourceText::new("cut", text);
    let program = compile(&source, &DveOptions::default())
        .unwrap_or_else(|problems| panic!("{}", problems.render(&source, false)))
        .program;
    let seen = compare(&program, &PossibleValues::of(&program), 1_000, "cut");
    assert!(seen.states > 50 && seen.steps > 1_000, "{seen:?}");
}
