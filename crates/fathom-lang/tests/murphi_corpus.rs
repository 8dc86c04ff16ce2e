//! Is Murphi accepted as its two tools accept it? Every published model is read, and rumur's own tests about acceptance hold. Both are optional: where
//! they are missing this says so and checks nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use std::path::{Path, PathBuf};

use fathom_lang::murphi::{MurphiOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::values::PossibleValues;
use oracle::skip::skipped;

fn corpus(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/murphi").join(folder);
    if !root.is_dir() {
        skipped(&format!("published Murphi {folder}"), &format!("../shared/murphi/{folder} is not there"));
        return Vec::new();
    }
    let mut folders = vec![root];
    let mut models = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "m") {
                models.push(path);
            }
        }
    }
    models.sort();
    models
}

/// What is said about a model if it is refused.
fn refusal(path: &Path) -> Option<String> {
    let name = path.display().to_string();
    let source = SourceText::from_bytes(name, std::fs::read(path).unwrap()).unwrap();
    match compile(&source, &MurphiOptions::default()) {
        Ok(compiled) => {
            assert_eq!(
                fathom_model::verify::problems(&compiled.program),
                Vec::<String>::new(),
                "{}",
                path.display()
            );
            let values = PossibleValues::of(&compiled.program);
            assert!(!values.are_declared(), "{}: its values were too much work", path.display());
            None
        }
        Err(diagnostics) => Some(diagnostics.render(&source, false)),
    }
}

#[test]
fn every_published_model_is_accepted() {
    let refused: Vec<String> = corpus("models").iter().filter_map(|path| refusal(path)).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn what_rumur_accepts_and_refuses_is_accepted_and_refused() {
    for path in corpus("rumur-tests") {
        let text = std::fs::read_to_string(&path).unwrap();
        let expected = text.contains("rumur_exit_code: 1");
        let refusal = refusal(&path);
        assert_eq!(refusal.is_some(), expected, "{}\n{}", path.display(), refusal.unwrap_or_default());
    }
}
