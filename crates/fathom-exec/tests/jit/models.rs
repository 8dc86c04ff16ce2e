//! Real models: our own, and a sample of the corpus where it is there.

use std::path::{Path, PathBuf};

use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::expression::Overflow;
use fathom_model::layout::Declared;
use fathom_model::program::Program;
use fathom_model::values::PossibleValues;

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
        eprintln!("models_of_the_corpus_take_the_same_steps: skipped, no corpus at ../shared/beem/models");
        return;
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
