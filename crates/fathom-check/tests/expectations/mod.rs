//! What does a model say about itself? The leading `// key: value` lines (`-- key: value` in Murphi) of a file in `models/`.

use std::path::{Path, PathBuf};

/// The leading lines of a model.
#[derive(Debug, Default)]
pub(crate) struct Expectations {
    /// Counts.
    pub(crate) states: u64,
    pub(crate) transitions: u64,
    pub(crate) depth: u64,
    pub(crate) deadlocks: u64,
    pub(crate) faults: u64,
    /// Whether values wrap around.
    pub(crate) wrap: bool,
    /// What it says about properties.
    pub(crate) properties: Vec<Expected>,
}

/// A property and what comes of it.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) expression: String,
    pub(crate) verdict: String,
    pub(crate) length: Option<usize>,
}

/// All models of the project, in order.
pub(crate) fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut models: Vec<PathBuf> = folder
        .read_dir()
        .expect("the project has models")
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "dve" || extension == "m"))
        .collect();
    models.sort();
    assert!(models.len() >= 36, "{} models", models.len());
    models
}

/// Reads the leading lines of a model.
pub(crate) fn read(path: &Path) -> Expectations {
    let text = std::fs::read_to_string(path).expect("a model is text");
    let mut expectations = Expectations::default();
    let mut keys = Vec::new();
    for line in text.lines() {
        let comment = line.strip_prefix("// ").or_else(|| line.strip_prefix("-- "));
        let Some((key, value)) = comment.and_then(|line| line.split_once(": ")) else {
            break;
        };
        let number = || value.parse().unwrap_or_else(|_| panic!("{}: {line}", path.display()));
        match key {
            "states" => expectations.states = number(),
            "transitions" => expectations.transitions = number(),
            "depth" => expectations.depth = number(),
            "deadlocks" => expectations.deadlocks = number(),
            "faults" => expectations.faults = number(),
            "overflow" => expectations.wrap = value == "wrap",
            "property" => expectations.properties.push(property(path, value)),
            _ => break,
        }
        keys.push(key.to_owned());
    }
    for key in ["states", "transitions", "depth", "deadlocks", "faults"] {
        assert!(keys.iter().any(|it| it == key), "{} does not say its {key}", path.display());
    }
    assert!(!expectations.properties.is_empty(), "{} states no property", path.display());
    expectations
}

fn property(path: &Path, text: &str) -> Expected {
    let context = format!("{}: {text}", path.display());
    let (name, rest) = text.split_once(": ").expect(&context);
    let (question, answer) = rest.rsplit_once("=> ").expect(&context);
    let (kind, expression) = question.trim().split_once(' ').unwrap_or((question.trim(), ""));
    let (verdict, length) = match answer.split_once(", length ") {
        Some((verdict, length)) => (verdict, Some(length.parse().expect(&context))),
        None => (answer, None),
    };
    Expected {
        name: name.into(),
        kind: kind.into(),
        expression: expression.into(),
        verdict: verdict.into(),
        length,
    }
}
