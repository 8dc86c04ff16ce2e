//! `fathom translate`: which Büchi automaton belongs to a formula, or to a HOA file?
//!
//! The automaton goes to standard output, `--stats` to standard error.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use fathom_ltl::atom::AtomTable;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::diagnostic::Diagnostic;
use fathom_ltl::limits::{Limits, TranslateError};
use fathom_ltl::strength::{Profile, profile};
use fathom_ltl::translate::{Translation, simplify, translate};
use fathom_ltl::{hoa, parser, print};

use crate::arguments::raw::TranslateArguments;
use crate::report::Exit;

/// Translates, prints, and tells sizes and time if asked.
pub fn run(arguments: &TranslateArguments) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let limits = Limits { time: arguments.time_limit.or(Limits::default().time), ..Limits::default() };
    let made = match (&arguments.formula, &arguments.hoa) {
        (Some(formula), _) => from_formula(formula, limits),
        (None, Some(path)) => from_file(path, limits)?,
        (None, None) => anyhow::bail!("give a formula, or an automaton with --hoa"),
    };
    let made = match made {
        Ok(made) => made,
        Err(Refusal::Source(text)) => {
            eprint!("{text}");
            return Ok(Exit::Error);
        }
        Err(Refusal::Limit(limit)) => {
            eprintln!("error: {limit}");
            return Ok(Exit::GaveUp);
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    super::print(&printed(arguments, &made))?;
    if arguments.stats {
        eprint!("{}", statistics(&made.translation, seconds));
    }
    Ok(Exit::Success)
}

/// What came out.
struct Made {
    translation: Translation,
    atoms: Vec<String>,
    title: Option<String>,
}

/// Why nothing did.
enum Refusal {
    /// Rendered diagnostics.
    Source(String),
    Limit(TranslateError),
}

fn from_formula(text: &str, limits: Limits) -> Result<Made, Refusal> {
    let mut atoms = AtomTable::new();
    let render = |mistakes: Vec<Diagnostic>| {
        Refusal::Source(mistakes.iter().map(|mistake| mistake.render("formula", text)).collect())
    };
    let formula = parser::parse(text, &mut atoms).map_err(render)?;
    let title = Some(formula.display(atoms.names()).to_string());
    let mut translation = translate(&formula, limits).map_err(Refusal::Limit)?;
    // Atoms that were simplified away keep their number, so that the automaton fits the formula.
    translation.generalised.atom_count = atoms.names().len();
    translation.buchi.atom_count = atoms.names().len();
    Ok(Made { translation, atoms: atoms.names().to_vec(), title })
}

fn from_file(path: &Path, limits: Limits) -> anyhow::Result<Result<Made, Refusal>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let file = match hoa::read(&text) {
        Ok(file) => file,
        Err(mistake) => return Ok(Err(Refusal::Source(mistake.render(&path.display().to_string(), &text)))),
    };
    let translation = simplify(&file.automaton, limits).map_err(Refusal::Limit);
    Ok(translation.map(|translation| Made { translation, atoms: file.atoms, title: file.name }))
}

fn printed(arguments: &TranslateArguments, made: &Made) -> String {
    let Made { translation, atoms, title } = made;
    let title = title.as_deref();
    let automaton = if arguments.generalised { &translation.generalised } else { &translation.buchi };
    if arguments.dot {
        return print::dot(automaton, atoms, title);
    }
    let special = if arguments.never {
        print::never_claim(&translation.buchi, atoms, title)
    } else if arguments.dve {
        print::dve_process(&translation.buchi, atoms, "LTL_property")
    } else {
        None
    };
    special.unwrap_or_else(|| print::hoa(automaton, atoms, title))
}

/// A few aligned lines.
fn statistics(translation: &Translation, seconds: f64) -> String {
    let mut text = String::new();
    line(&mut text, "büchi", &translation.buchi);
    line(&mut text, "generalised", &translation.generalised);
    let _ = writeln!(text, "{:<12}{:.3} ms", "time", seconds * 1000.0);
    text
}

fn line(text: &mut String, name: &str, automaton: &Automaton) {
    let Some(facts) = profile(automaton) else {
        let _ =
            writeln!(text, "{name:<12}{} states, {} edges", automaton.states.len(), automaton.edge_count());
        return;
    };
    let Profile { states, edges, marks, deterministic, complete, strength, components } = facts;
    let yes = |fact: bool, word: &'static str| if fact { word } else { "" };
    let _ = writeln!(
        text,
        "{name:<12}{states} states, {edges} edges, {marks} marks, {} components, {}{}{}",
        components.len(),
        strength.name(),
        yes(deterministic, ", deterministic"),
        yes(complete, ", complete"),
    );
}
