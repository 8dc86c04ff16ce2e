//! Are real models understood? Skipped, and said so, where the corpus is missing.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use std::path::{Path, PathBuf};

use fathom_lang::dve::{Compiled, DveOptions, compile, expression};
use fathom_lang::source::SourceText;
use fathom_model::values::PossibleValues;
use oracle::skip::skipped;

/// The folder of the corpus, if it is there.
fn corpus(folder: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/beem").join(folder);
    if !path.is_dir() {
        skipped(&format!("published DVE {folder}"), &format!("../shared/beem/{folder} is not there"));
        return None;
    }
    Some(path)
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    files.sort();
    files
}

fn file_name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn read(path: &Path) -> SourceText {
    SourceText::from_bytes(file_name(path), std::fs::read(path).unwrap()).unwrap()
}

fn accepted(path: &Path) -> Compiled {
    let source = read(path);
    let compiled = compile(&source, &DveOptions::default())
        .unwrap_or_else(|diagnostics| panic!("{}:\n{}", path.display(), diagnostics.render(&source, false)));
    let problems = fathom_model::verify::problems(&compiled.program);
    assert!(problems.is_empty(), "{}: {problems:?}", path.display());
    let values = PossibleValues::of(&compiled.program);
    assert!(!values.are_declared(), "{}: its values were too much work", path.display());
    compiled
}

#[test]
fn every_model_of_the_project_is_accepted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let files = files(&folder, "dve");
    assert!(files.len() >= 24, "{} models", files.len());
    files.iter().for_each(|path| drop(accepted(path)));
}

#[test]
fn the_examples_of_the_manual_are_accepted() {
    let chapter =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src/dve.md")).unwrap();
    let blocks: Vec<&str> =
        chapter.split("```dve\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let [model, variables, property] = blocks[..] else { panic!("{} blocks", blocks.len()) };
    let read = |text: &str| {
        let source = SourceText::new("dve.md", text);
        compile(&source, &DveOptions::default())
            .unwrap_or_else(|diagnostics| panic!("{}", diagnostics.render(&source, false)))
    };
    assert!(read(model).warnings.is_empty());
    read(&format!("{variables} process P {{ state s; init s; }} system async;"));
    let watched = read(&model.replace("system async;", property));
    assert!(watched.program.property.is_some() && watched.warnings.is_empty());
}

#[test]
fn every_beem_model_is_accepted() {
    let Some(folder) = corpus("models") else { return };
    let files = files(&folder, "dve");
    assert_eq!(files.len(), 225);
    for path in files {
        assert!(accepted(&path).program.property.is_none());
    }
}

#[test]
fn every_property_process_is_accepted() {
    let Some(folder) = corpus("property-processes") else { return };
    for path in files(&folder, "dve") {
        let property = accepted(&path).program.property.expect("the file states a property");
        assert!(property.accepting.contains(&true), "{}", path.display());
        assert!(!property.edges.is_empty(), "{}", path.display());
    }
}

#[test]
fn every_goal_is_an_expression_of_its_model() {
    let Some(folder) = corpus("reach") else { return };
    for path in files(&folder, "reach") {
        let mut words = file_name(&path).split('.');
        let model = format!("{}.{}.dve", words.next().unwrap(), words.next().unwrap());
        let model = folder.join("../models").join(model);
        if !model.exists() {
            skipped(file_name(&path), "it has no model in the corpus");
            continue;
        }
        let compiled = accepted(&model);
        let goal = read(&path);
        if let Err(diagnostics) = expression(&compiled.symbols, &goal) {
            panic!("{}", diagnostics.render(&goal, false));
        }
    }
}

/// Files in dialects of later tools, and the word the refusal must name.
const REFUSED: &[(&str, &str)] = &[
    ("bufchan-local.dve", "channels inside a process"),
    ("bufchan-local2.dve", "channels inside a process"),
    ("bufchan2-local.dve", "channels inside a process"),
    ("input.dve", "`input`"),
    ("ltltest1.dve", "`property` declaration"),
    ("ltltest2.dve", "`property` declaration"),
    ("proc_instance.dve", "process parameters"),
    ("proc_instance2.dve", "process parameters"),
    ("proc_instance3.dve", "process parameters"),
    ("proc_instance4.dve", "process parameters"),
    ("test1-prop.dve", "`property process`"),
    ("unbufchan-local.dve", "channels inside a process"),
    ("unbufchan-local2.dve", "channels inside a process"),
    ("vararray.dve", "`input`"),
];

#[test]
fn small_test_files_are_accepted_or_refused_by_name() {
    let Some(folder) = corpus("divine-tests") else { return };
    for path in files(&folder, "dve") {
        match REFUSED.iter().find(|(name, _)| *name == file_name(&path)) {
            None => drop(accepted(&path)),
            Some((name, reason)) => {
                let source = read(&path);
                let refusal = compile(&source, &DveOptions::default()).expect_err(name);
                let text = refusal.render(&source, false);
                assert!(text.contains(reason) && text.contains("not supported"), "{name}:\n{text}");
            }
        }
    }
}
