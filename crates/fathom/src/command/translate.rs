//! `fathom translate`: which Büchi automaton belongs to a formula, to each property of a file, or to a HOA file?
//!
//! Automata go to standard output, `--stats` to standard error. Nothing is printed unless all of it can be.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use fathom_check::model::user_file::{self, Sort};
use fathom_ltl::atom::AtomTable;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::diagnostic::Mistakes;
use fathom_ltl::formula::Formula;
use fathom_ltl::limits::{Limits, TranslateError};
use fathom_ltl::parser::Definitions;
use fathom_ltl::strength::{Profile, profile};
use fathom_ltl::translate::{Translation, simplify, translate};
use fathom_ltl::{hoa, ltl_file, parser, print};

use crate::arguments::raw::TranslateArguments;
use crate::report::Exit;

/// Translates, prints, and tells sizes and time if asked.
pub fn run(arguments: &TranslateArguments) -> anyhow::Result<Exit> {
    let limits = Limits { time: arguments.time_limit.or(Limits::default().time), ..Limits::default() };
    let made = match (&arguments.formula, &arguments.ltl_file, &arguments.hoa) {
        (Some(formula), _, _) => from_formula(formula, limits),
        (None, Some(path), _) => from_properties(path, limits)?,
        (None, None, Some(path)) => from_automaton(path, limits)?,
        (None, None, None) => anyhow::bail!("give a formula, or a file with --ltl-file or --hoa"),
    };
    let all = match made {
        Ok(all) => all,
        Err(Refusal::Source(text)) => {
            super::say(&text);
            return Ok(Exit::Error);
        }
        Err(Refusal::Limit(limit)) => {
            super::say(&format!("error: {limit}"));
            return Ok(Exit::GaveUp);
        }
    };
    let process = |index: usize| match all.len() {
        1 => "LTL_property".to_owned(),
        _ => format!("LTL_property_{}", index + 1),
    };
    let texts = all.iter().enumerate().map(|(index, made)| printed(arguments, made, &process(index)));
    super::print(&texts.collect::<String>())?;
    if arguments.stats {
        super::say(&all.iter().map(statistics).collect::<String>());
    }
    Ok(Exit::Success)
}

/// What came out.
struct Made {
    translation: Translation,
    atoms: Vec<String>,
    title: Option<String>,
    seconds: f64,
}

impl Made {
    /// The automata of a formula over these atoms.
    fn of(formula: &Formula, atoms: &AtomTable, limits: Limits) -> Result<Made, Refusal> {
        let started = Instant::now();
        let mut translation = translate(formula, limits).map_err(Refusal::Limit)?;
        // Atoms that were simplified away keep their number, so that the automaton fits the formula.
        translation.generalised.atom_count = atoms.names().len();
        translation.buchi.atom_count = atoms.names().len();
        Ok(Made {
            translation,
            atoms: atoms.names().to_vec(),
            title: Some(formula.display(atoms.names()).to_string()),
            seconds: started.elapsed().as_secs_f64(),
        })
    }
}

/// Why nothing did.
enum Refusal {
    /// Rendered diagnostics.
    Source(String),
    Limit(TranslateError),
}

impl Refusal {
    fn source(mistakes: &Mistakes, name: &str, text: &str) -> Refusal {
        Refusal::Source(mistakes.render(name, text))
    }
}

fn from_formula(text: &str, limits: Limits) -> Result<Vec<Made>, Refusal> {
    let mut atoms = AtomTable::new();
    let formula =
        parser::parse(text, &mut atoms).map_err(|mistakes| Refusal::source(&mistakes, "formula", text))?;
    Ok(vec![Made::of(&formula, &atoms, limits)?])
}

/// One automaton per property; all have the atoms of the whole file.
fn from_properties(path: &Path, limits: Limits) -> anyhow::Result<Result<Vec<Made>, Refusal>> {
    let text = read_text(path, user_file::FORMULAS)?;
    let refused = |mistakes: &Mistakes| Refusal::source(mistakes, &path.display().to_string(), &text);
    let mut atoms = AtomTable::new();
    let properties = match ltl_file::read(&text, &Definitions::new(), &mut atoms) {
        Ok(properties) => properties,
        Err(mistakes) => return Ok(Err(refused(&mistakes))),
    };
    anyhow::ensure!(!properties.is_empty(), "{} states no #property", path.display());
    let each = properties.iter().map(|property| Made::of(&property.formula, &atoms, limits));
    Ok(each.collect())
}

fn from_automaton(path: &Path, limits: Limits) -> anyhow::Result<Result<Vec<Made>, Refusal>> {
    let text = read_text(path, user_file::AUTOMATA)?;
    let file = match hoa::read(&text) {
        Ok(file) => file,
        Err(mistake) => return Ok(Err(Refusal::source(&mistake.into(), &path.display().to_string(), &text))),
    };
    let started = Instant::now();
    let made = simplify(&file.automaton, limits).map_err(Refusal::Limit).map(|translation| {
        let seconds = started.elapsed().as_secs_f64();
        vec![Made { translation, atoms: file.atoms, title: file.name, seconds }]
    });
    Ok(made)
}

fn read_text(path: &Path, sort: Sort) -> anyhow::Result<String> {
    let bytes = user_file::read(path, sort).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The form asked for; `process` is the name of a property process.
fn printed(arguments: &TranslateArguments, made: &Made, process: &str) -> String {
    let Made { translation, atoms, title, .. } = made;
    let title = title.as_deref();
    let automaton = if arguments.generalised { &translation.generalised } else { &translation.buchi };
    if arguments.dot {
        return print::dot(automaton, atoms, title);
    }
    let special = if arguments.never {
        print::never_claim(&translation.buchi, atoms, title)
    } else if arguments.dve {
        print::dve_process(&translation.buchi, atoms, process)
    } else {
        None
    };
    special.unwrap_or_else(|| print::hoa(automaton, atoms, title))
}

/// A few aligned lines.
fn statistics(made: &Made) -> String {
    let mut text = String::new();
    if let Some(title) = &made.title {
        let _ = writeln!(text, "{:<12}{title}", "formula");
    }
    line(&mut text, "büchi", &made.translation.buchi);
    line(&mut text, "generalised", &made.translation.generalised);
    let _ = writeln!(text, "{:<12}{:.3} ms", "time", made.seconds * 1000.0);
    text
}

fn line(text: &mut String, name: &str, automaton: &Automaton) {
    let many = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let size = [many(automaton.states.len(), "state"), many(automaton.edge_count(), "edge")];
    let _ = write!(text, "{name:<12}{}", size.join(", "));
    if let Some(Profile { marks, deterministic, complete, strength, components, .. }) = profile(automaton) {
        let yes = |fact: bool, word: &'static str| if fact { word } else { "" };
        let _ = write!(
            text,
            ", {}, {}, {}{}{}",
            many(marks as usize, "mark"),
            many(components.len(), "component"),
            strength.name(),
            yes(deterministic, ", deterministic"),
            yes(complete, ", complete"),
        );
    }
    text.push('\n');
}
