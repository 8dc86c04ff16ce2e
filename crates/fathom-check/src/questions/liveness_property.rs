//! What is asked about the infinite runs of a model, and which automaton finds runs that violate it?
//!
//! A formula becomes labels, one per atom, and the automaton of its negation. A property process of the model is an automaton already; its guards become labels.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fathom_lang::nearest::nearest;
use fathom_ltl::atom::{AtomId, AtomLanguage, AtomText};
use fathom_ltl::automaton::{Automaton, Cube, Edge, Guard, Placement, StateId};
use fathom_ltl::diagnostic::{Diagnostic, Mistakes, Span};
use fathom_ltl::formula::Formula;
use fathom_ltl::limits::{Limits, TranslateError};
use fathom_ltl::ltl_file;
use fathom_ltl::parser::{Definitions, parse_part};
use fathom_ltl::product::AutomatonNames;
use fathom_ltl::strength::{Strength, profile, saturated};
use fathom_ltl::translate::translate;
use fathom_model::expression::{BinaryOperator, Expression};
use fathom_model::program::{LABELS_MAX, Label, LabelKind, PropertyProcess};
use fathom_model::shape::Shape;
use fathom_model::span::Span as ModelSpan;
use serde::{Deserialize, Serialize};

use crate::model::assemble::{Model, ModelError};
use crate::model::user_file::{self, ReadError};
use crate::questions::property::{Property, PropertyKind};

/// The most bytes that the properties of a file hold of its text.
const STATED_BYTES_MAX: usize = 64 << 20;

/// What a user asks about infinite runs.
#[derive(Clone, Debug, Default)]
pub struct LivenessQuestions {
    /// Formulas.
    pub formulas: Vec<String>,
    /// Files of formulas.
    pub files: Vec<PathBuf>,
    /// Names for expressions, for formulas to use.
    pub atoms: Vec<(String, String)>,
    /// Which runs count.
    pub fairness: Fairness,
}

/// Which runs count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// All.
    #[default]
    None,
    /// Those where each of these processes, or of all if none is named, moves for ever or is for ever disabled again.
    Weak(Vec<String>),
    /// Strongly fair to these processes, to all if none is named: one that can move again and again does.
    Strong(Vec<String>),
}

/// Where a property of infinite runs is stated: enough to state it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Statement {
    /// As a formula.
    Formula {
        /// It.
        text: String,
        /// Names for expressions, for it to use.
        atoms: Vec<(String, String)>,
    },
    /// In a file.
    File {
        /// What is in the file.
        text: String,
        /// Which of the properties there.
        number: usize,
        /// Names for expressions, for it to use.
        atoms: Vec<(String, String)>,
    },
    /// As the property process of the model.
    Process,
}

/// A property of infinite runs.
#[derive(Clone, Debug)]
pub struct LivenessProperty {
    /// How it is told of.
    pub property: Property,
    /// Where it is stated.
    pub statement: Statement,
    /// What it says; none for a property process.
    pub formula: Option<Formula>,
    /// The labels that the automaton reads, which are the atoms of the formula.
    pub labels: Vec<Label>,
    /// Accepts what violates the property; its acceptance is of states.
    pub automaton: Automaton,
    /// The same with marks on edges, the smaller form.
    pub generalised: Automaton,
    /// The first with plainer marks, for searches: where it is weak, all edges of a cycle carry the mark, or none does.
    pub searched: Automaton,
    /// How hard a search for an accepted run is; none if that is not known.
    pub strength: Option<Strength>,
    /// What the automaton's states are called.
    pub names: AutomatonNames,
    /// What looks odd in the formula.
    pub warnings: Vec<String>,
}

/// The questions cannot be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LivenessError {
    /// A formula is wrong; rendered, with its place.
    #[error("{0}")]
    Formula(String),
    /// A named atom is wrong.
    #[error(transparent)]
    Atom(#[from] ModelError),
    /// A file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
    /// A file states too much.
    #[error("{} states {count} properties in too long a text: split it", path.display())]
    TooManyStated {
        /// The file.
        path: PathBuf,
        /// How many.
        count: usize,
    },
    /// A file states nothing.
    #[error("{} states no #property", .0.display())]
    Empty(PathBuf),
    /// A formula is too large.
    #[error("{name}: {error}")]
    Limit {
        /// The formula.
        name: String,
        /// Which limit was met.
        error: TranslateError,
    },
    /// The automaton reads too many labels.
    #[error("{name} reads {count} expressions of the model, and at most {LABELS_MAX} can be read at once")]
    Labels {
        /// The formula, or the property process.
        name: String,
        /// How many.
        count: usize,
    },
    /// No process, or rule of a model without processes, has that name.
    #[error("the model has no process or rule `{name}`{help}")]
    Process {
        /// The name.
        name: String,
        /// What to do.
        help: String,
    },
    /// A process beyond those that a set of processes can have.
    #[error(
        "runs can be fair to the first 64 processes or rules of a model alone, and `{0}` is none of them; name others"
    )]
    TooManyProcesses(String),
}

impl LivenessQuestions {
    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.formulas.is_empty() && self.files.is_empty()
    }

    /// All formulas, in the order given, those of files last.
    pub fn properties(&self, model: &Model) -> Result<Vec<LivenessProperty>, LivenessError> {
        let (mut atoms, definitions) = self.atoms(model)?;
        let mut stated: Vec<(String, Formula, Statement)> = Vec::new();
        for text in &self.formulas {
            let formula = parse_part(text, Span::new(0, text.len()), &definitions, &mut atoms)
                .map_err(|mistakes| rendered(&mistakes, "--ltl", text))?;
            let statement = Statement::Formula { text: text.clone(), atoms: self.atoms.clone() };
            stated.push((text.trim().to_owned(), formula, statement));
        }
        for path in &self.files {
            let text = file_text(path)?;
            let found = read_text(path, &text, &definitions, &mut atoms)?;
            // Each property holds the text of its file.
            if found.len().saturating_mul(text.len()) > STATED_BYTES_MAX {
                return Err(LivenessError::TooManyStated { path: path.clone(), count: found.len() });
            }
            for (number, (name, formula)) in found.into_iter().enumerate() {
                let (text, atoms) = (text.clone(), self.atoms.clone());
                stated.push((name, formula, Statement::File { text, number, atoms }));
            }
        }
        stated
            .into_iter()
            .map(|(name, formula, statement)| LivenessProperty::of_formula(name, &formula, statement, &atoms))
            .collect()
    }

    /// A property as it was stated. None if the statement has no such property.
    pub fn stated(model: &Model, statement: &Statement) -> Result<Option<LivenessProperty>, LivenessError> {
        let (text, atoms) = match statement {
            Statement::Process => return LivenessProperty::of_model(model),
            Statement::Formula { text, atoms } => {
                let questions = LivenessQuestions {
                    formulas: vec![text.clone()],
                    atoms: atoms.clone(),
                    ..LivenessQuestions::default()
                };
                return Ok(questions.properties(model)?.pop());
            }
            Statement::File { text, atoms, .. } => (text, atoms),
        };
        let questions = LivenessQuestions { atoms: atoms.clone(), ..LivenessQuestions::default() };
        let (mut atoms, definitions) = questions.atoms(model)?;
        let found = read_text(Path::new("--ltl-file"), text, &definitions, &mut atoms)?;
        let Statement::File { number, .. } = statement else { return Ok(None) };
        let named = found.into_iter().nth(*number);
        named
            .map(|(name, formula)| LivenessProperty::of_formula(name, &formula, statement.clone(), &atoms))
            .transpose()
    }

    /// The atoms that were named.
    fn atoms<'m>(&self, model: &'m Model) -> Result<(ModelAtoms<'m>, Definitions), LivenessError> {
        let mut atoms = ModelAtoms { model, labels: Vec::new(), warnings: Vec::new(), known: HashMap::new() };
        let mut definitions = Definitions::new();
        for (name, text) in &self.atoms {
            let expression = model.expression("--atom", text)?;
            let atom = atoms
                .number(text.trim(), expression)
                .ok_or_else(|| LivenessError::Labels { name: "--atom".into(), count: self.atoms.len() })?;
            definitions.define(name, Formula::Atom(atom));
        }
        Ok((atoms, definitions))
    }

    /// The processes that runs must be fair to.
    pub fn fair_processes(&self, model: &Model) -> Result<Vec<u32>, LivenessError> {
        let (Fairness::Weak(names) | Fairness::Strong(names)) = &self.fairness else { return Ok(Vec::new()) };
        let agents = model.program().agents();
        let all = || agents.iter();
        let chosen: Vec<&String> = if names.is_empty() { all().collect() } else { names.iter().collect() };
        let mut places: HashMap<&String, usize> = HashMap::new();
        for (place, name) in all().enumerate() {
            places.entry(name).or_insert(place);
        }
        let number = |name: &String| match places.get(name).copied() {
            Some(number) if number < 64 => Ok(number as u32),
            Some(_) => Err(LivenessError::TooManyProcesses(name.clone())),
            None => {
                let near = nearest(name, all().map(String::as_str));
                let help = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                Err(LivenessError::Process { name: name.clone(), help })
            }
        };
        chosen.into_iter().map(number).collect()
    }
}

impl LivenessProperty {
    /// A formula over atoms of a model.
    fn of_formula(
        name: String,
        formula: &Formula,
        statement: Statement,
        atoms: &ModelAtoms<'_>,
    ) -> Result<LivenessProperty, LivenessError> {
        // Only the formula's own atoms are evaluated.
        let used: Vec<usize> =
            (0..atoms.labels.len()).filter(|atom| formula.atoms() >> atom & 1 == 1).collect();
        let labels: Vec<Label> = used.iter().map(|atom| atoms.labels[*atom].clone()).collect();
        let formula = formula.renumbered(&|atom| {
            let place = used.iter().position(|other| *other == atom.index());
            place.and_then(AtomId::new).expect("the formula's own atoms are there")
        });
        let (count, warnings) = (labels.len(), atoms.warnings.clone());
        let property = LivenessProperty::translated(name, formula, statement, count)?;
        Ok(LivenessProperty { labels, warnings, ..property })
    }

    /// A formula whose atoms are the names of a system's labels.
    ///
    /// # Errors
    /// If it is no formula, speaks of a label that the system does not have, or is too large.
    pub fn over_labels(shape: &Shape, text: &str) -> Result<LivenessProperty, LivenessError> {
        let formula = parse_part(text, Span::new(0, text.len()), &Definitions::new(), &mut LabelAtoms(shape))
            .map_err(|mistakes| rendered(&mistakes, "formula", text))?;
        let statement = Statement::Formula { text: text.to_owned(), atoms: Vec::new() };
        LivenessProperty::translated(text.trim().to_owned(), formula, statement, shape.labels.len())
    }

    /// A formula over so many labels, which are still to be given.
    fn translated(
        name: String,
        formula: Formula,
        statement: Statement,
        label_count: usize,
    ) -> Result<LivenessProperty, LivenessError> {
        let made = translate(&formula.negated(), Limits::default());
        let mut made = made.map_err(|error| LivenessError::Limit { name: name.clone(), error })?;
        made.buchi.atom_count = label_count;
        made.generalised.atom_count = label_count;
        let (strength, searched) = plain(&made.buchi);
        let names = AutomatonNames { automaton: "automaton".into(), states: Vec::new() };
        let property = Property { name, kind: PropertyKind::Ltl, span: None, antecedent: None };
        Ok(LivenessProperty {
            property,
            statement,
            formula: Some(formula),
            labels: Vec::new(),
            strength,
            searched,
            automaton: made.buchi,
            generalised: made.generalised,
            names,
            warnings: Vec::new(),
        })
    }

    /// Whether, on the steps of every cycle, all carry the mark or none does.
    pub fn is_weak(&self) -> bool {
        self.strength.is_some_and(|strength| strength <= Strength::Weak)
    }

    /// The property process that a model states, if it does.
    pub fn of_model(model: &Model) -> Result<Option<LivenessProperty>, LivenessError> {
        let Some(process) = &model.program().property else { return Ok(None) };
        let mut labels: Vec<Label> = Vec::new();
        let automaton = automaton_of(process, model, &mut labels);
        if labels.len() > LABELS_MAX {
            return Err(LivenessError::Labels { name: process.name.clone(), count: labels.len() });
        }
        let automaton = Automaton { atom_count: labels.len(), ..automaton };
        let (strength, searched) = plain(&automaton);
        let (kind, span) = (PropertyKind::Process, Some(process.span));
        Ok(Some(LivenessProperty {
            property: Property { name: process.name.clone(), kind, span, antecedent: None },
            statement: Statement::Process,
            formula: None,
            labels,
            strength,
            searched,
            generalised: automaton.clone(),
            automaton,
            names: AutomatonNames {
                automaton: process.name.clone(),
                states: process.locations.iter().map(|location| location.name.clone()).collect(),
            },
            warnings: Vec::new(),
        }))
    }
}

/// The strength of an automaton, and the automaton with marks as plain as that allows.
fn plain(automaton: &Automaton) -> (Option<Strength>, Automaton) {
    match profile(automaton) {
        Some(profile) => (Some(profile.strength), saturated(automaton, &profile)),
        None => (None, automaton.clone()),
    }
}

/// A property process as an automaton. Edges stay as many as they are; equal guards are one label.
fn automaton_of(process: &PropertyProcess, model: &Model, labels: &mut Vec<Label>) -> Automaton {
    let mut states: Vec<Vec<Edge>> = vec![Vec::new(); process.locations.len()];
    let mut places: HashMap<String, usize> = HashMap::new();
    for edge in &process.edges {
        let guard = match &edge.guard {
            None => Guard::always(),
            Some(guard) => {
                let text = match model.source().slice(guard.span) {
                    "" => model.program().show(guard),
                    text => text.to_owned(),
                };
                let place = *places.entry(text).or_insert_with_key(|text| {
                    labels.push(atom_label(text, guard.clone(), guard.span));
                    labels.len() - 1
                });
                // Beyond what a letter has; the caller refuses that many.
                let positive = 1u64.checked_shl(place as u32).unwrap_or(0);
                Guard { cubes: vec![Cube { positive, negative: 0 }] }
            }
        };
        let marks = u64::from(process.accepting[edge.from as usize]);
        states[edge.from as usize].push(Edge { guard, target: StateId(edge.to), marks });
    }
    let (initial, placement) = (StateId(process.initial), Placement::State);
    Automaton { atom_count: 0, mark_count: 1, initial, states, placement }
}

/// The text of a file of formulas.
fn file_text(path: &Path) -> Result<String, LivenessError> {
    let unreadable = |error| LivenessError::Unreadable { path: path.to_owned(), error };
    let bytes = user_file::read(path, user_file::FORMULAS).map_err(unreadable)?;
    String::from_utf8(bytes).map_err(|error| {
        let text = format!("it is not UTF-8 text from byte {} on", error.utf8_error().valid_up_to());
        unreadable(std::io::Error::new(std::io::ErrorKind::InvalidData, text).into())
    })
}

/// The properties of a file, each with its text as its name.
fn read_text(
    path: &Path,
    text: &str,
    definitions: &Definitions,
    atoms: &mut ModelAtoms<'_>,
) -> Result<Vec<(String, Formula)>, LivenessError> {
    let properties = ltl_file::read(text, definitions, atoms)
        .map_err(|mistakes| rendered(&mistakes, &path.display().to_string(), text))?;
    if properties.is_empty() {
        return Err(LivenessError::Empty(path.to_owned()));
    }
    let named = |property: ltl_file::LtlProperty| {
        let name = text.get(property.span.start..property.span.end).unwrap_or("").to_owned();
        (name, property.formula)
    };
    Ok(properties.into_iter().map(named).collect())
}

fn rendered(mistakes: &Mistakes, origin: &str, text: &str) -> LivenessError {
    LivenessError::Formula(mistakes.render(origin, text).trim_end().to_owned())
}

/// Atoms in the words of the model's language.
struct ModelAtoms<'m> {
    model: &'m Model,
    /// By atom.
    labels: Vec<Label>,
    /// What looks odd in them.
    warnings: Vec<String>,
    /// The atoms by their text: one that is written often is read once.
    known: HashMap<String, usize>,
}

impl ModelAtoms<'_> {
    /// The number of an atom that reads so and means that; none if there are too many.
    fn number(&mut self, text: &str, expression: Expression) -> Option<AtomId> {
        let place = self.known.get(text).copied().unwrap_or(self.labels.len());
        let number = AtomId::new(place)?;
        if place == self.labels.len() {
            self.labels.push(atom_label(text, expression, ModelSpan::default()));
            self.known.insert(text.to_owned(), place);
        }
        Some(number)
    }

    /// What an atom means.
    fn meaning(&mut self, atom: &AtomText) -> Result<Expression, Diagnostic> {
        let Some((left, right)) = &atom.equals else { return self.read(&atom.text, atom.span) };
        if let Some((variable, code)) = self.model.state(left, right) {
            let span = ModelSpan::default();
            let location = Expression::read(variable, span);
            let code = Expression::constant(i64::from(code), span);
            return Ok(Expression::binary(BinaryOperator::Equal, location, code));
        }
        if self.model.is_process(left) {
            // Published formulas name states that their models do not have, and mean by it what is never true.
            if self.warnings.len() < LABELS_MAX {
                let help = self.model.suggest_state(left, right);
                self.warnings.push(format!(
                    "process `{left}` has no state `{right}`, so `{}` is never true{}",
                    atom.text,
                    help.map_or(String::new(), |help| format!("; {help}"))
                ));
            }
            return Ok(Expression::constant(0, ModelSpan::default()));
        }
        if right.trim().parse::<i64>().is_err() {
            let message = format!("`{left}` is no process, and `{right}` is no integer");
            return Err(Diagnostic::new(atom.span, message).help(
                "`L==\"T\"` says that process L is in its state T, or that variable L equals the integer T",
            ));
        }
        self.read(&format!("{left} == {right}"), atom.span)
    }

    fn read(&self, text: &str, span: Span) -> Result<Expression, Diagnostic> {
        let diagnostics = match self.model.expression("atom", text) {
            Ok(expression) => return Ok(expression),
            Err(ModelError::Source { diagnostics, .. }) => diagnostics,
            Err(other) => return Err(Diagnostic::new(span, other.to_string())),
        };
        let Some(first) = diagnostics.items().first() else {
            return Err(Diagnostic::new(span, "this is no expression of the model's language"));
        };
        // Where the text stands in the formula as it is, the place inside it is known.
        let place = match first.span() {
            Some(inner) if span.end - span.start == text.len() => {
                Span::new(span.start + inner.start as usize, span.start + inner.end as usize)
            }
            _ => span,
        };
        let diagnostic = Diagnostic::new(place, first.message.clone());
        Err(match &first.help {
            Some(help) => diagnostic.help(help.clone()),
            None => diagnostic,
        })
    }
}

impl AtomLanguage for ModelAtoms<'_> {
    fn atom(&mut self, atom: &AtomText) -> Result<AtomId, Diagnostic> {
        if let Some(number) = self.known.get(&atom.text).copied().and_then(AtomId::new) {
            return Ok(number);
        }
        let expression = self.meaning(atom)?;
        self.number(&atom.text, expression).filter(|number| number.index() < LABELS_MAX).ok_or_else(|| {
            Diagnostic::new(atom.span, format!("more than {LABELS_MAX} different atoms"))
                .help("name a larger boolean expression as one atom, in double quotes")
        })
    }
}

/// The labels of a system as atoms: the number of a label is that of its atom.
struct LabelAtoms<'a>(&'a Shape);

impl AtomLanguage for LabelAtoms<'_> {
    fn atom(&mut self, atom: &AtomText) -> Result<AtomId, Diagnostic> {
        let labels = &self.0.labels;
        let place = labels.iter().position(|label| *label == atom.text);
        place.and_then(AtomId::new).ok_or_else(|| {
            let diagnostic = Diagnostic::new(atom.span, format!("the system has no label `{}`", atom.text));
            match nearest(&atom.text, labels.iter().map(String::as_str)) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic,
            }
        })
    }
}

fn atom_label(text: &str, expression: Expression, span: ModelSpan) -> Label {
    Label { name: text.to_owned(), kind: LabelKind::Atom, expression, span }
}
