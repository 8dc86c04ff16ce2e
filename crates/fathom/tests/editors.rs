//! Are models coloured as their languages read them? Every model is tokenised with the TextMate grammars of `editors/` as VS Code does it (Node, and its packages vscode-textmate and vscode-oniguruma, which `.ci/run`
//! installs under `target/editors`). What the extension names is there.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_lang::{dve, murphi};
use oracle::skip::skipped;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn grammar(language: &str) -> PathBuf {
    root().join(format!("editors/vscode/syntaxes/{language}.tmLanguage.json"))
}

/// Tokenises models; gives what was printed, and whether all is well. None if the tools are missing.
fn tokenise(language: &str, words: &[&str], models: &[PathBuf]) -> Option<(String, bool)> {
    let packages = root().join("target/editors/node_modules");
    if !packages.join("vscode-textmate").is_dir() || Command::new("node").arg("--version").output().is_err() {
        skipped(
            &format!("colours of {language} models"),
            "there is no node, or target/editors has no vscode-textmate",
        );
        return None;
    }
    let output = Command::new("node")
        .arg(root().join("editors/tokenise.mjs"))
        .arg(grammar(language))
        .args([format!("source.{language}"), words.join(",")])
        .args(models)
        .env("NODE_PATH", packages)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    Some((text.into_owned(), output.status.success()))
}

fn models(extension: &str) -> Vec<PathBuf> {
    let folder = root().join("models").read_dir().unwrap().map(|entry| entry.unwrap().path());
    folder.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

#[test]
fn every_word_of_every_model_has_its_colour() {
    let murphi: Vec<&str> = ["-i"].iter().chain(murphi::RESERVED).chain(murphi::END_WORDS).copied().collect();
    for (language, extension, words) in [("dve", "dve", dve::RESERVED), ("murphi", "m", &murphi)] {
        let models = models(extension);
        assert!(models.len() > 10, "{}", models.len());
        if let Some((text, is_well)) = tokenise(language, words, &models) {
            eprintln!("{text}");
            assert!(is_well, "{text}");
        }
    }
}

#[test]
fn the_test_of_colours_can_fail() {
    let scratch = tempfile::tempdir().unwrap();
    let model = scratch.path().join("odd.dve");
    std::fs::write(&model, "process P { state s; init s; } // fine\n\u{20ac} guard /* never closed\n")
        .unwrap();
    // `async` is not in this text, and `P` is no reserved word.
    let Some((text, is_well)) = tokenise("dve", &["guard", "P"], &[model]) else { return };
    assert!(!is_well);
    for expected in [
        "is known to no rule",
        "\"P\" is reserved, but coloured as entity",
        "\"process\" is a name, but coloured as storage",
        "ends inside a comment",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn grammars_know_all_reserved_words() {
    for (language, words) in [("dve", dve::RESERVED), ("murphi", murphi::RESERVED)] {
        let text = std::fs::read_to_string(grammar(language)).unwrap();
        let known = |word: &&str| {
            let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            text.split(|letter_: char| !letter(letter_))
                .any(|found| found == *word || found == format!("b{word}"))
        };
        let unknown: Vec<&&str> = words.iter().filter(|word| !known(word)).collect();
        assert!(unknown.is_empty(), "{language}: {unknown:?}");
    }
}

#[test]
fn the_extension_names_what_is_there() {
    let folder = root().join("editors/vscode");
    let json = |path: &Path| -> Value {
        let text =
            std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let manifest = json(&folder.join("package.json"));
    assert!(folder.join(manifest["main"].as_str().unwrap()).is_file());
    for language in manifest["contributes"]["languages"].as_array().unwrap() {
        json(&folder.join(language["configuration"].as_str().unwrap()));
    }
    for grammar in manifest["contributes"]["grammars"].as_array().unwrap() {
        let found = json(&folder.join(grammar["path"].as_str().unwrap()));
        assert_eq!(found["scopeName"], grammar["scopeName"]);
    }
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
}
