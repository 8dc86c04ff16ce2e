//! Where is a source turned into a program, a program into a system, and a system given to an engine? Here, and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

use fathom_disk::budget::{BUDGET_BYTES_MIN, Budget};
use fathom_disk::error::DiskError;
use fathom_disk::storage::Volume;
use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::Compiled;
use fathom_lang::diagnostic::Diagnostics;
use fathom_lang::dve::{self, DveOptions};
use fathom_lang::murphi::{self, MurphiOptions};
use fathom_lang::nearest::nearest;
use fathom_lang::source::SourceText;
use fathom_model::expression::{Expression, Overflow};
use fathom_model::program::{Label, Program, VariableId};
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Labels, Steps};
use fathom_model::symmetry::Symmetry;
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_model::values::PossibleValues;
use fathom_search::engines::positions::PositionTable;
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::tier::{self, Plan, Tier};
use fathom_search::error::SearchError;
use fathom_search::layer_loop::{self, Observer, Outcome};
use fathom_search::trace::{self, Path as RunPath};

use crate::figures::{CostFigures, DiskFigures, IoFigures};
use crate::home::Home;
use crate::machine;
use crate::run::{Limit, RunError};
use crate::settings::{DiskSettings, Resources};

/// What a user may choose about a model from outside.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// Values for constants, in place of those in the text.
    pub constants: Vec<(String, i64)>,
    /// What happens to values that do not fit their type.
    pub overflow: Overflow,
}

/// A language that models are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The language of DiVinE and BEEM.
    Dve,
    /// The language of CMurphi and rumur.
    Murphi,
}

/// The names of a model, in its own language.
#[derive(Clone, Debug)]
enum Symbols {
    Dve(dve::Symbols),
    Murphi(Box<murphi::Symbols>, Symmetry),
}

/// A model that was read and understood.
#[derive(Clone, Debug)]
pub struct Model {
    source: SourceText,
    program: Program,
    symbols: Symbols,
    warnings: Diagnostics,
    values: PossibleValues,
}

/// A model could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no such file.
    #[error("there is no file {}{}", path.display(), suggestion.as_ref().map_or(String::new(), |name| format!("; did you mean {name}?")))]
    Missing {
        /// The name that was given.
        path: PathBuf,
        /// A file beside it with a similar name.
        suggestion: Option<String>,
    },
    /// The file is there but cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The name does not say which language it is.
    #[error("{} is not a model that fathom knows: the name of a DVE model ends in .dve, that of a Murphi model in .m", path.display())]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// The text, or an expression given with it, is wrong.
    #[error("{}", diagnostics.render(text, false))]
    Source {
        /// The text the diagnostics are about.
        text: Box<SourceText>,
        /// What is wrong.
        diagnostics: Diagnostics,
    },
}

impl Language {
    /// The language of a file, by its name.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "dve" => Some(Language::Dve),
            "m" => Some(Language::Murphi),
            _ => None,
        }
    }
}

impl Model {
    /// Reads a model from a file whose name says its language.
    pub fn read(path: &Path, options: &ModelOptions) -> Result<Model, ModelError> {
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                ModelError::Missing { path: path.to_owned(), suggestion: similar_file(path) }
            }
            _ => ModelError::Unreadable { path: path.to_owned(), error },
        })?;
        let language = Language::of(path).ok_or_else(|| ModelError::Extension { path: path.to_owned() })?;
        let name = path.display().to_string();
        let source = SourceText::from_bytes(&name, bytes).map_err(|diagnostics| ModelError::Source {
            text: Box::new(SourceText::new(&name, "")),
            diagnostics,
        })?;
        Model::compile(source, language, options)
    }

    /// Understands a text.
    pub fn compile(
        source: SourceText,
        language: Language,
        options: &ModelOptions,
    ) -> Result<Model, ModelError> {
        let understood = match language {
            Language::Dve => {
                let options = DveOptions { constants: options.constants.clone(), overflow: options.overflow };
                dve::compile(&source, &options)
                    .map(|model| (model.program, Symbols::Dve(model.symbols), model.warnings))
            }
            Language::Murphi => {
                let options =
                    MurphiOptions { constants: options.constants.clone(), ..MurphiOptions::default() };
                murphi::compile(&source, &options).map(|model| {
                    (model.program, Symbols::Murphi(Box::new(model.symbols), model.symmetry), model.warnings)
                })
            }
        };
        match understood {
            Ok((program, symbols, warnings)) => {
                Ok(Model { source, values: PossibleValues::of(&program), program, symbols, warnings })
            }
            Err(diagnostics) => Err(ModelError::Source { text: Box::new(source), diagnostics }),
        }
    }

    /// The language it is written in.
    pub fn language(&self) -> Language {
        match self.symbols {
            Symbols::Dve(_) => Language::Dve,
            Symbols::Murphi(..) => Language::Murphi,
        }
    }

    /// An expression over the model's states, in the words of its language. `origin` names the text in messages, as in `--invariant`.
    /// Spans in it refer to `text`, not to the model.
    pub fn expression(&self, origin: &str, text: &str) -> Result<Expression, ModelError> {
        let source = SourceText::new(origin, text);
        let understood = match &self.symbols {
            Symbols::Dve(symbols) => dve::expression(symbols, &source),
            Symbols::Murphi(symbols, _) => murphi::expression(symbols, &source),
        };
        match understood {
            Ok(expression) => Ok(expression),
            Err(diagnostics) => Err(ModelError::Source { text: Box::new(source), diagnostics }),
        }
    }

    /// The location variable of a process and the code of one of its states, if both exist.
    pub fn state(&self, process: &str, state: &str) -> Option<(VariableId, u32)> {
        match &self.symbols {
            Symbols::Dve(symbols) => symbols.state(process, state),
            Symbols::Murphi(..) => None,
        }
    }

    /// Whether a process of the system has that name.
    pub fn is_process(&self, name: &str) -> bool {
        match &self.symbols {
            Symbols::Dve(symbols) => symbols.is_process(name),
            Symbols::Murphi(..) => false,
        }
    }

    /// Which of its values are alike; none if its language has no such thing.
    pub fn symmetry(&self) -> Option<&Symmetry> {
        match &self.symbols {
            Symbols::Dve(_) => None,
            Symbols::Murphi(_, symmetry) => Some(symmetry),
        }
    }

    /// The text it came from.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// What it says.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The values that its variables can ever hold; records have room for these.
    pub fn values(&self) -> &PossibleValues {
        &self.values
    }

    /// What looks odd in it.
    pub fn warnings(&self) -> &Diagnostics {
        &self.warnings
    }

    /// The reference system of the model, with these labels in place of its own.
    pub fn interpreter(&self, labels: Vec<Label>) -> Interpreter {
        Interpreter::new(Program { labels, ..self.program.clone() }, &self.values)
    }

    /// The system of the model that searches expand, with these labels in place of its own: compiled if that is wanted and this machine
    /// can, else the reference system. Both have the same records and take the same steps.
    pub fn system(&self, labels: Vec<Label>, jit: bool) -> System {
        if jit {
            let program = Program { labels: labels.clone(), ..self.program.clone() };
            if let Ok(compiled) = Compiled::new(program, &self.values) {
                return System::Compiled(compiled);
            }
        }
        System::Interpreted(self.interpreter(labels))
    }
}

/// A model's system, in one of two forms that differ in speed alone.
#[derive(Debug)]
pub enum System {
    /// Machine code.
    Compiled(Compiled),
    /// The reference.
    Interpreted(Interpreter),
}

impl System {
    fn form(&self) -> &dyn TransitionSystem {
        match self {
            System::Compiled(system) => system,
            System::Interpreted(system) => system,
        }
    }
}

impl TransitionSystem for System {
    fn shape(&self) -> &Shape {
        self.form().shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.form().initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        self.form().expand(sources, out)
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.form().label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.form().describe(what)
    }
}

/// The data budget of a run that begins now: what was asked for, or what the memory of the process leaves.
pub fn data_budget(resources: &Resources) -> Result<Budget, RunError> {
    let floor = machine::ram_floor();
    let least = floor + BUDGET_BYTES_MIN as u64;
    if resources.ram < least {
        return Err(RunError::RamTooSmall { given: resources.ram, least });
    }
    let bytes = resources.data_budget.unwrap_or(resources.ram - floor);
    Ok(Budget::new(usize::try_from(bytes).unwrap_or(usize::MAX)))
}

/// An engine that searches breadth-first, exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerEngine {
    /// A compact table.
    Ram,
    /// A table that knows how far back steps lead, for three times the memory.
    Positions,
    /// Sorted runs on disk.
    Tier(Plan),
}

/// The states that a breadth-first search has kept, layer by layer.
#[derive(Debug)]
pub enum Kept {
    /// By `ram`.
    Ram(RamTable),
    /// By `positions`.
    Positions(PositionTable),
    /// By `tier`.
    Tier(Box<Tier>),
}

/// What came of a breadth-first search.
#[derive(Debug)]
pub struct Searched {
    /// The states, for paths.
    pub kept: Kept,
    /// What was found out. If `gave_up`, up to the last commit.
    pub outcome: Outcome,
    /// Why the machine could not go on, if that is why it ended.
    pub gave_up: Option<Limit>,
    /// What files took, and the operations on them, if there are files.
    pub disk: Option<(DiskFigures, Vec<IoFigures>)>,
    /// Where the time went.
    pub cost: Option<CostFigures>,
}

impl LayerEngine {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            LayerEngine::Ram => "ram",
            LayerEngine::Positions => "positions",
            LayerEngine::Tier(_) => "tier",
        }
    }

    /// Searches a system. Files, if the engine has any, live in `home`; without one they live in memory and nothing lasts.
    pub fn search(
        self,
        system: &dyn TransitionSystem,
        budget: &Budget,
        settings: &layer_loop::Settings,
        observer: &dyn Observer,
        home: Option<&Home>,
    ) -> Result<Searched, SearchError> {
        let (kept, outcome) = match self {
            LayerEngine::Ram => {
                let mut table = RamTable::new(system.shape(), budget, settings.threads)?;
                let outcome = layer_loop::run(system, &mut table, budget, settings, observer)?;
                (Kept::Ram(table), outcome)
            }
            LayerEngine::Positions => {
                let mut table = PositionTable::new(system.shape(), budget, settings.threads)?;
                let outcome = layer_loop::run(system, &mut table, budget, settings, observer)?;
                (Kept::Positions(table), outcome)
            }
            LayerEngine::Tier(plan) => {
                return search_on_disk(plan, system, budget, settings, observer, home);
            }
        };
        let cost = CostFigures::of(outcome.cost, None, outcome.transitions);
        Ok(Searched { kept, outcome, gave_up: None, disk: None, cost })
    }
}

/// Searches with the states on disk, from the beginning or from what is committed in `home`.
fn search_on_disk(
    plan: Plan,
    system: &dyn TransitionSystem,
    budget: &Budget,
    settings: &layer_loop::Settings,
    observer: &dyn Observer,
    home: Option<&Home>,
) -> Result<Searched, SearchError> {
    let volume = home.map_or_else(|| Volume::in_memory(4096), |home| home.volume().clone());
    let DiskSettings { limit, commit_every, .. } =
        home.map_or_else(DiskSettings::default, |home| home.settings().clone());
    let tag = home.map_or([0; 16], Home::tag);
    let options = tier::Options { tag, plan, commit_every, disk_limit: limit, shares: None };
    let open = || Tier::open(&volume, budget, system.shape(), settings.threads, options);
    let (mut tier, boundary) = open()?;
    let mut steps_before = 0;
    let outcome = match &boundary {
        Some(boundary) => {
            let before = layer_loop::at_boundary(system, budget, settings, Some(boundary))?;
            steps_before = before.transitions;
            drop(before);
            layer_loop::go_on(system, &mut tier, budget, settings, observer, boundary)
        }
        None => layer_loop::run(system, &mut tier, budget, settings, observer),
    };
    let used = tier.disk_use()?;
    let closing = tier.cost();
    let (outcome, gave_up) = match outcome {
        Ok(outcome) => (outcome, None),
        Err(error) => {
            let Some(limit) = room_used_up(&error) else { return Err(error) };
            drop(tier);
            let boundary;
            (tier, boundary) = open().map_err(|_| error)?;
            let outcome = layer_loop::at_boundary(system, budget, settings, boundary.as_deref())?;
            (outcome, Some(limit))
        }
    };
    let counts = volume.counts();
    Ok(Searched {
        gave_up,
        disk: Some((DiskFigures::of(used, &counts, outcome.layers.sum()), IoFigures::of(&counts))),
        // Of a search that gave up, only what was committed is known.
        cost: CostFigures::of(outcome.cost, Some(closing), outcome.transitions.saturating_sub(steps_before))
            .filter(|_| gave_up.is_none()),
        kept: Kept::Tier(Box::new(tier)),
        outcome,
    })
}

/// Whether an error says that there is no more room for files.
fn room_used_up(error: &SearchError) -> Option<Limit> {
    match error {
        SearchError::DiskLimit { .. } => Some(Limit::Disk),
        SearchError::Disk(error) if DiskError::is_full(error) => Some(Limit::DiskFull),
        _ => None,
    }
}

impl Kept {
    /// The least shortest path to a state of a layer.
    pub fn path_to(
        &self,
        system: &dyn TransitionSystem,
        budget: &Budget,
        layer: u64,
        record: &[u64],
    ) -> Result<RunPath, SearchError> {
        let path = match self {
            Kept::Ram(table) => trace::path_to(system, table, budget, layer, record)?,
            Kept::Positions(table) => trace::path_to(system, table, budget, layer, record)?,
            Kept::Tier(tier) => trace::path_to(system, &**tier, budget, layer, record)?,
        };
        Ok(path.expect("all of them keep all layers"))
    }
}

fn similar_file(path: &Path) -> Option<String> {
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let names: Vec<String> =
        folder.read_dir().ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let name = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(name).display().to_string())
}
