//! What should a user do whose words the parser refuses, or whose search cannot be made? The library knows no options; this is where its errors meet them.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use fathom_check::error::RunError;
use fathom_check::export::GraphTooLarge;
use fathom_check::folder::home::HomeError;
use fathom_check::folder::search_folder::FolderError;
use fathom_check::questions::liveness_property::LivenessError;
use fathom_search::error::SearchError;

/// The options that help with an error of the library, if there are any.
pub fn next_step(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        if cause.is::<GraphTooLarge>() {
            return Some("--dump-records writes the states of large spaces");
        }
        let run = cause.downcast_ref().and_then(of_run);
        let search = || cause.downcast_ref().and_then(of_search);
        let home = || cause.downcast_ref().and_then(of_home);
        let folder = || cause.downcast_ref().and_then(of_folder);
        let formula = || cause.downcast_ref().and_then(of_formula);
        run.or_else(search).or_else(home).or_else(folder).or_else(formula)
    })
}

fn of_run(error: &RunError) -> Option<&'static str> {
    match error {
        RunError::RamTooSmall { .. } => Some("raise --ram, or leave it out"),
        RunError::Asymmetric { .. } => Some("check it with --symmetry off"),
        RunError::StronglyFair(_) => Some("leave --engine out, or choose owcty"),
        RunError::Search(error) => of_search(error),
        _ => None,
    }
}

fn of_search(error: &SearchError) -> Option<&'static str> {
    match error {
        SearchError::LeastBudget { .. } => Some("give more with --ram or --data-budget"),
        SearchError::DiskLimit { .. } => Some("raise --disk-limit"),
        SearchError::Place(error) => error.downcast_ref().and_then(of_home),
        _ => None,
    }
}

fn of_home(error: &HomeError) -> Option<&'static str> {
    match error {
        HomeError::Occupied(_) => Some("--resume goes on with it; --dir names another folder"),
        HomeError::Nothing(_) => Some("leave --resume out to begin a search there"),
        HomeError::Elsewhere(_) => Some("leave --dir-bulk and --dir-index out to resume it"),
        HomeError::Folder(error) => of_folder(error),
        _ => None,
    }
}

fn of_folder(error: &FolderError) -> Option<&'static str> {
    match error {
        FolderError::Foreign(_) | FolderError::Held { .. } => Some("--dir names another folder"),
        _ => None,
    }
}

fn of_formula(error: &LivenessError) -> Option<&'static str> {
    match error {
        LivenessError::Process { .. } | LivenessError::TooManyProcesses(_) => {
            Some("name processes or rules as in --fair weak=P,Q; --fair weak means all of them")
        }
        _ => None,
    }
}

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
