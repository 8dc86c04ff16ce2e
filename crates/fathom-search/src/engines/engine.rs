//! What is an engine, what is one asked, and what does it answer?
//!
//! Each engine has a static [`Engine`] in its own file; [`super::registry`] lists them. Whoever offers engines to users reads names, capabilities and options there, and
//! nowhere else.

use std::fmt;
use std::time::Duration;

use fathom_disk::manifest::RunDirectory;
use fathom_disk::run::Tag;
use fathom_disk::storage::Volume;
use fathom_model::acceptance::Acceptance;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::files::closed_set::Reached;
use crate::files::closing_cost::ClosingCost;
use crate::files::disk_use::DiskUse;
use crate::liveness::on_the_fly;
use crate::liveness::semi_external::{self, Search};
use crate::stores::Layered;
use crate::task::{Observer, Outcome, Task};
use crate::traces::path::Room;

/// What is called so, what it answers, and what that costs.
pub struct Engine {
    /// What the user calls it.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// In which order it searches, and whether it may miss something.
    pub search: &'static str,
    /// Memory per state.
    pub memory: &'static str,
    /// What it reads and writes.
    pub io: &'static str,
    /// What it leaves that proves its answer.
    pub certificate: &'static str,
    /// Where it comes from.
    pub origin: &'static str,
    /// Whether it can use several threads.
    pub threads: Threads,
    /// When it has files.
    pub files: Files,
    /// Whether a search can be resumed, and leaves a certificate.
    pub resumes: bool,
    /// Whether it may expand a state more than once.
    pub revisits: bool,
    /// Which loop carries it.
    pub body: Body,
    /// Whether its stages are layers: then depths are known, and a run that is shown is the shortest.
    pub layers: bool,
    /// Where its states may be stored, if there is a choice.
    pub stores: &'static [Store],
    /// What can be chosen about it (`-E key=value`).
    pub options: &'static [EngineOption],
    /// What it answers, and how.
    pub run: Run,
}

/// How many threads an engine can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// One.
    One,
    /// As many as there are.
    Many,
}

/// Which loop carries an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Stage by stage.
    Stages,
    /// Depth-first, with a path.
    DepthFirst,
    /// Passes over all states.
    Passes,
    /// That of the engine it chooses.
    Chosen,
}

/// Where states are stored, beside the engine that looks at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// In memory.
    Ram,
    /// In sorted runs on disk.
    Tier,
}

impl Store {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Store::Ram => "ram",
            Store::Tier => "tier",
        }
    }
}

/// When an engine has files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// Never.
    None,
    /// When memory does not suffice, or the search is to last.
    WhenNeeded,
    /// From the start.
    Always,
}

/// What an engine answers, and how.
#[derive(Clone, Copy)]
pub enum Run {
    /// Questions about states, by expanding all of them.
    States(fn(&Ask<'_>) -> Result<Answer, SearchError>),
    /// Questions about infinite runs, on the fly.
    Runs(fn(&AskRuns<'_>) -> Result<on_the_fly::Outcome, SearchError>),
    /// Questions about infinite runs, over all states once they are generated.
    Generated {
        /// How many marks the system may have.
        marks: Marks,
        /// How it is done.
        run: fn(AskGenerated<'_>) -> Result<semi_external::Outcome, SearchError>,
    },
    /// Both, and it may miss something: questions about states by random bits, about infinite runs on the fly.
    Lossy(fn(&AskRuns<'_>) -> Result<on_the_fly::Outcome, SearchError>),
    /// Both, by choosing other engines.
    Chooses {
        /// What it does for questions about states.
        states: fn(&Ask<'_>) -> Result<Answer, SearchError>,
        /// What it does when states are counted, in a sentence.
        exploring: &'static str,
    },
}

/// How many marks a system may have that an engine looks for accepting runs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marks {
    /// One at most: several are counted before.
    One,
    /// Any number.
    Any,
}

/// Something that can be chosen about an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineOption {
    /// What it is called.
    pub key: &'static str,
    /// What it can be.
    pub value: OptionValue,
    /// Whether the engine cannot do without it.
    pub required: bool,
    /// What it does, in a sentence.
    pub help: &'static str,
}

/// What an option can be.
#[derive(Clone, Copy, Debug)]
pub enum OptionValue {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An expression of the model's language with a number as its value.
    Expression,
    /// A number that is not 0.
    Number,
    /// A number, 0 too, or a word: as help shows it, `N|word`.
    Count(&'static str),
    /// A number between 0 and 1, neither of them; or one of these words.
    Share(&'static [&'static str]),
    /// One of these words, or names of variables, separated by commas.
    Names(&'static [&'static str]),
}

/// What an engine is asked.
#[derive(Clone, Copy)]
pub struct Ask<'a> {
    /// What is searched, for what, within what.
    pub task: Task<'a>,
    /// Where files go.
    pub place: &'a FilePlace<'a>,
    /// What was chosen about the engine.
    pub chosen: &'a Chosen,
    /// A number for each state, if the engine takes one: how far it has come, by what an option of the kind [`OptionValue::Expression`] says, or how many steps a goal is away, at least.
    pub measure: Option<NamedMeasure<'a>>,
}

/// A number for each state, and what tells it from others.
#[derive(Clone, Copy)]
pub struct NamedMeasure<'a> {
    /// The numbers.
    pub values: Measure<'a>,
    /// What it is made of.
    pub name: &'a str,
    /// Beside the name, what tells it from others: what was begun with a measure is not gone on with by another.
    pub identity: u64,
}

/// What an engine is asked that looks for accepting runs on the fly.
#[derive(Clone, Copy)]
pub struct AskRuns<'a> {
    /// The system: it has one mark, and acceptance is of states.
    pub system: &'a dyn TransitionSystem,
    /// What is known of its accepting runs.
    pub acceptance: &'a dyn Acceptance,
    /// Whether to end at a fault.
    pub stop_at_fault: bool,
    /// The most steps of a path.
    pub max_depth: Option<u64>,
    /// What was chosen about the engine.
    pub chosen: &'a Chosen,
    /// Where its files go, if it has any: always if it is an engine with files, else if its states are to be stored on disk.
    pub volume: Option<&'a Volume>,
    /// Where the path goes, if not there, too.
    pub stack: Option<&'a Volume>,
    /// All memory that is taken, and where a run goes that is told.
    pub room: &'a Room,
    /// Who watches.
    pub observer: &'a dyn Observer,
    /// How many threads expand, if the engine can use several.
    pub threads: usize,
    /// How far states are from where a run may be accepting, as far as somebody knows.
    pub bounds: Option<&'a Bounds<'a>>,
    /// How far a state has come, if the engine takes a measure and somebody has one.
    pub measure: Option<NamedMeasure<'a>>,
}

/// How many steps a state is away from something, at least: consistent, so no step changes it by more than one.
#[derive(Clone, Copy)]
pub struct Bounds<'a> {
    /// From an accepting state.
    pub to_accepting: &'a (dyn Fn(&[u64]) -> u64 + Sync),
    /// The first from the second.
    pub between: &'a (dyn Fn(&[u64], &[u64]) -> u64 + Sync),
}

impl Bounds<'static> {
    /// Nothing is known.
    pub const NONE: Bounds<'static> = Bounds { to_accepting: &|_| 0, between: &|_, _| 0 };
}

/// What an engine is asked that looks for accepting runs among all states of a finished search.
pub struct AskGenerated<'a> {
    /// What is searched, and with what.
    pub search: &'a Search<'a>,
    /// The states.
    pub reached: &'a dyn Reached,
    /// What was chosen about the engine.
    pub chosen: &'a Chosen,
    /// Where it is committed what is to last, and what its files are marked with. Of engines that resume alone.
    pub lasting: Option<(&'a mut RunDirectory, Tag)>,
}

/// A number for each of some states.
pub type Measure<'a> = &'a (dyn Fn(Records<'_>, &mut Vec<u64>) + Sync);

/// Where the files of a search go.
pub struct FilePlace<'a> {
    /// Makes the volume, when it is needed.
    pub volume: &'a dyn Fn() -> Result<Volume, SearchError>,
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// Whether the search is to last.
    pub lasts: bool,
    /// Bytes that files may take, if there is a limit.
    pub limit: Option<u64>,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Whether layers stay for paths.
    pub keep_layers: bool,
    /// Whether an engine that may visit states twice counts them in the end.
    pub count: bool,
}

/// What an engine answers.
#[derive(Debug)]
pub struct Answer {
    /// The engine that searched; of several, the one that ended it.
    pub engine: &'static str,
    /// What was found out.
    pub outcome: Outcome,
    /// The states, for paths.
    pub kept: Kept,
    /// What files took, if there are any.
    pub used: Option<DiskUse>,
    /// What closing layers was made of, if the engine tells.
    pub closing: Option<ClosingCost>,
    /// The measure of progress that states were searched in the order of, or what they were parted by, if somebody has chosen it for them.
    pub measure: Option<String>,
    /// What the engine tells of itself in numbers, each by its name.
    pub figures: Vec<(&'static str, u64)>,
}

/// The states that a search has kept.
pub enum Kept {
    /// Layer by layer.
    Layers(Box<dyn Layered>),
    /// Stage by stage, which are no layers: each state comes from one of an earlier stage.
    Stages(Box<dyn Layered>),
    /// Not kept: its layers are searched again for a path.
    Dropped,
    /// Not kept, and stages were no layers: a path takes another search.
    NoLayers,
}

/// An engine, and what was chosen about it.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The engine.
    pub engine: &'static Engine,
    options: Vec<(&'static str, String)>,
}

/// An option makes no sense for an engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionError(String);

impl Engine {
    /// Whether it answers questions about states.
    pub fn answers_states(&self) -> bool {
        !matches!(self.run, Run::Runs(_) | Run::Generated { .. })
    }

    /// Whether it answers questions about infinite runs.
    pub fn answers_runs(&self) -> bool {
        !matches!(self.run, Run::States(_))
    }

    /// Whether it misses nothing.
    pub fn is_exact(&self) -> bool {
        !matches!(self.run, Run::Lossy(_))
    }

    /// Whether it looks for accepting runs on the fly.
    pub fn is_on_the_fly(&self) -> bool {
        matches!(self.run, Run::Runs(_) | Run::Lossy(_))
    }

    /// Whether it is for proofs as well as for violations: one whose states are pairs of states is not.
    pub fn is_for_proofs(&self) -> bool {
        !self.takes_bounds()
    }

    /// Whether it is directed to accepting runs by how far they are.
    pub fn takes_bounds(&self) -> bool {
        self.is_on_the_fly() && self.body == Body::Stages && !self.takes_measure()
    }

    /// Whether it goes by a number for each state, which an option tells.
    pub fn takes_measure(&self) -> bool {
        self.options.iter().any(EngineOption::is_expression)
    }

    /// Whether it takes a system with several marks as it is, to look for accepting runs.
    pub fn takes_any_marks(&self) -> bool {
        matches!(self.run, Run::Generated { marks: Marks::Any, .. })
    }

    /// Whether it searches depth-first, with a path that may be on disk.
    pub fn has_path(&self) -> bool {
        self.body == Body::DepthFirst && self.files != Files::None
    }

    /// Whether it expands all states, and can say how many there are.
    pub fn explores(&self) -> bool {
        matches!(self.run, Run::States(_) | Run::Chooses { .. })
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl PartialEq for Engine {
    fn eq(&self, other: &Engine) -> bool {
        self.name == other.name
    }
}

impl Eq for Engine {}

impl fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Kept::Layers(_) => "Layers",
            Kept::Stages(_) => "Stages",
            Kept::Dropped => "Dropped",
            Kept::NoLayers => "NoLayers",
        })
    }
}

impl EngineOption {
    /// Whether its value is an expression of the model's language.
    pub fn is_expression(&self) -> bool {
        matches!(self.value, OptionValue::Expression)
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionValue::OneOf(words) => formatter.write_str(&words.join("|")),
            OptionValue::Expression => formatter.write_str("EXPRESSION"),
            OptionValue::Number => formatter.write_str("N"),
            OptionValue::Count(form) => formatter.write_str(form),
            OptionValue::Names(words) => write!(formatter, "{}|VARIABLES", words.join("|")),
            OptionValue::Share(words) => {
                formatter.write_str("SHARE")?;
                words.iter().try_for_each(|word| write!(formatter, "|{word}"))
            }
        }
    }
}

impl Chosen {
    /// An engine as it is.
    pub fn plain(engine: &'static Engine) -> Chosen {
        Chosen { engine, options: Vec::new() }
    }

    /// An engine with options, each `key=value`.
    ///
    /// # Errors
    /// If it has no such option, or an option cannot be that.
    pub fn with<'o>(
        engine: &'static Engine,
        options: impl IntoIterator<Item = &'o str>,
    ) -> Result<Chosen, OptionError> {
        let mut chosen = Chosen::plain(engine);
        for option in options {
            chosen.set(option)?;
        }
        let missing = |option: &&EngineOption| option.required && chosen.option(option.key).is_none();
        match engine.options.iter().find(missing) {
            Some(option) => Err(OptionError(format!(
                "the engine {} needs -E {}={}: {}",
                engine.name, option.key, option.value, option.help
            ))),
            None => Ok(chosen),
        }
    }

    fn set(&mut self, option: &str) -> Result<(), OptionError> {
        let name = self.engine.name;
        let (key, value) = option.split_once('=').ok_or_else(|| {
            OptionError(format!("an option of an engine is KEY=VALUE, and {option:?} is not"))
        })?;
        let known = self.engine.options.iter().find(|known| known.key == key).ok_or_else(|| {
            let keys: Vec<String> =
                self.engine.options.iter().map(|known| format!("{}={}", known.key, known.value)).collect();
            OptionError(match keys.is_empty() {
                true => format!("the engine {name} has no options, so no {key:?}"),
                false => format!("the engine {name} has no option {key:?}; it has {}", keys.join(", ")),
            })
        })?;
        if let OptionValue::OneOf(words) = known.value
            && !words.contains(&value)
        {
            return Err(OptionError(format!(
                "the option {key} of the engine {name} is one of {}, not {value:?}",
                words.join(", ")
            )));
        }
        if matches!(known.value, OptionValue::Number) && !value.parse::<u64>().is_ok_and(|number| number > 0)
        {
            return Err(OptionError(format!(
                "the option {key} of the engine {name} is a number from 1 on, not {value:?}"
            )));
        }
        if let OptionValue::Count(form) = known.value
            && value.parse::<u64>().is_err()
            && !form.split('|').skip(1).any(|word| word == value)
        {
            return Err(OptionError(format!(
                "the option {key} of the engine {name} is a number or a word, {form}, not {value:?}"
            )));
        }
        if let OptionValue::Share(words) = known.value
            && !words.contains(&value)
            && share_of(value).is_none()
        {
            return Err(OptionError(format!(
                "the option {key} of the engine {name} is a number between 0 and 1, neither of them{}; {value:?} is not",
                words.iter().map(|word| format!(", or {word}")).collect::<String>()
            )));
        }
        if self.option(known.key).is_some() {
            return Err(OptionError(format!("the option {key} of the engine {name} is given twice")));
        }
        self.options.push((known.key, value.to_owned()));
        Ok(())
    }

    /// What was chosen for an option, if anything was.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().find(|(known, _)| *known == key).map(|(_, value)| value.as_str())
    }

    /// Whether that was chosen, `key=value`.
    pub fn says(&self, option: &str) -> bool {
        option.split_once('=').is_some_and(|(key, value)| self.option(key) == Some(value))
    }

    /// The number that was chosen for an option, if one was.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.option(key)?.parse().ok()
    }

    /// The share that was chosen for an option, if one was.
    pub fn share(&self, key: &str) -> Option<f64> {
        self.option(key).and_then(share_of)
    }

    /// The expression that was chosen, if the engine has an option of that kind.
    pub fn expression(&self) -> Option<&str> {
        self.option(self.engine.options.iter().find(|option| option.is_expression())?.key)
    }

    /// Every option that was chosen, in the order given.
    pub fn options(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.options.iter().map(|(key, value)| (*key, value.as_str()))
    }
}

/// The number between 0 and 1 that a text says.
fn share_of(text: &str) -> Option<f64> {
    text.parse().ok().filter(|share| (1e-6..1.0).contains(share))
}

impl Answer {
    /// Of a search that has no files.
    pub(crate) fn in_memory(engine: &Engine, outcome: Outcome, kept: Kept) -> Answer {
        Answer {
            engine: engine.name,
            outcome,
            kept,
            used: None,
            closing: None,
            measure: None,
            figures: Vec::new(),
        }
    }
}
