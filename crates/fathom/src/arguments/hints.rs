//! What should a user do whose words the parser refuses?

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// What was probably meant by words that the parser refused, if that can be told.
pub fn hint(error: &clap::Error, words: &[OsString]) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::UnknownArgument | ErrorKind::MissingRequiredArgument) {
        return None;
    }
    if let Some(kind) = deadlock_kind(words) {
        return Some(format!("the kind of deadlock is written with an equals sign: --deadlock={kind}"));
    }
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else { return None };
    let unknown = unknown.split('=').next().unwrap_or(unknown);
    let command = words.get(1).and_then(|word| word.to_str())?;
    let is_about_runs = matches!(unknown, "--ltl" | "--ltl-file" | "--atom" | "--fair");
    let is_question = is_about_runs
        || matches!(
            unknown,
            "--invariant"
                | "--reach"
                | "--expect-reach"
                | "--property"
                | "--deadlock"
                | "--only"
                | "--constraint"
        );
    match command {
        "simulate" if is_about_runs => {
            Some("formulas are about infinite runs, and a walk is finite: check one with fathom check MODEL --ltl F".into())
        }
        "explore" if is_question => {
            Some(format!("explore counts states and checks nothing: fathom check MODEL {unknown} ..."))
        }
        _ => None,
    }
}

/// The kind that stands behind `--deadlock` as a word of its own.
fn deadlock_kind(words: &[OsString]) -> Option<&str> {
    let pair = words.windows(2).find(|pair| pair[0] == "--deadlock")?;
    pair[1].to_str().filter(|kind| matches!(*kind, "stuck" | "stuttering" | "off"))
}
