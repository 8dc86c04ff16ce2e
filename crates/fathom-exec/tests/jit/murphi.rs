//! Murphi models: our own, and the corpus where it is there.

use std::path::{Path, PathBuf};

use fathom_lang::murphi::{MurphiOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::layout::Declared;
use fathom_model::program::Program;
use fathom_model::values::PossibleValues;

use crate::agreement::{Seen, compare, compare_compact, compare_within};

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
        let (made, refused) = compare_within(program, &PossibleValues::of(program), name);
        eprintln!("{name}: compiled {made} times, refused {refused} times");
        assert!(made > 0 && refused > 0, "{name}");
    }
    let (made, refused) = compare_within(&programs.last().unwrap().1, &Declared, "long.m");
    assert!(made < 6 && refused > 2, "a long body takes memory: {made} {refused}");
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
