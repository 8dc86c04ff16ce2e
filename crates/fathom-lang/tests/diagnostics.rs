//! Is the user told what is wrong? Each model in `tests/diagnostics` has the text it must give beside it, exactly; models named
//! `warning_*` are accepted. `FATHOM_BLESS=1` rewrites the texts.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use std::path::{Path, PathBuf};

use fathom_lang::dve::{self, DveOptions};
use fathom_lang::murphi::{self, MurphiOptions};
use fathom_lang::source::SourceText;

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut models: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|it| it == "dve" || it == "m")).collect();
    models.sort();
    models
}

/// What the user reads, and whether the model was accepted.
fn told(path: &Path) -> (String, bool) {
    let name = path.file_name().unwrap().to_str().unwrap();
    let source = match SourceText::from_bytes(name, std::fs::read(path).unwrap()) {
        Ok(source) => source,
        Err(diagnostics) => return (diagnostics.render(&SourceText::new(name, ""), false), false),
    };
    let understood = match path.extension().unwrap().to_str().unwrap() {
        "m" => murphi::compile(&source, &MurphiOptions { symmetry: true, ..MurphiOptions::default() })
            .map(|compiled| compiled.warnings),
        _ => dve::compile(&source, &DveOptions::default()).map(|compiled| compiled.warnings),
    };
    match understood {
        Ok(warnings) => (warnings.render(&source, false), true),
        Err(diagnostics) => (diagnostics.render(&source, false), false),
    }
}

#[test]
fn every_wrong_model_is_told_as_recorded() {
    let bless = std::env::var_os("FATHOM_BLESS").is_some();
    let models = models();
    let wrong =
        models.iter().filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("warning_"));
    assert!(wrong.count() >= 120, "the collection of wrong models has shrunk");
    let mut differing = Vec::new();
    for path in models {
        let (text, accepted) = told(&path);
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert_eq!(accepted, name.starts_with("warning_"), "{name}:\n{text}");
        let golden = path.with_extension("txt");
        if bless {
            std::fs::write(&golden, &text).unwrap();
        } else if std::fs::read_to_string(&golden).ok().as_ref() != Some(&text) {
            differing.push(format!("== {name}, now:\n{text}"));
        }
    }
    assert!(differing.is_empty(), "run with FATHOM_BLESS=1 if this is meant\n{}", differing.join("\n"));
}
