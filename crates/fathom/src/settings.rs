//! What is a run asked to do? Validated settings: every combination that these types allow makes sense.

use std::path::PathBuf;
use std::time::Duration;

use fathom_search::engines::tier;

use crate::assemble::ModelOptions;
use crate::check::Stop;
use crate::layer_engine::LayerEngine;
use crate::liveness_search::LivenessEngine;
use crate::property::Questions;

/// What a run may use, and when it gives up.
#[derive(Clone, Debug)]
pub struct Resources {
    /// The most bytes of memory the process may have resident.
    pub ram: u64,
    /// Bytes for the structures of the search, in place of what `ram` leaves.
    pub data_budget: Option<u64>,
    /// How many threads expand states.
    pub threads: usize,
    /// Whether the model is compiled to machine code.
    pub jit: bool,
    /// How long the search may take.
    pub time_limit: Option<Duration>,
    /// The last layer whose states are expanded.
    pub max_depth: Option<u64>,
}

/// Where the files of a search go, and what becomes of them.
#[derive(Clone, Debug)]
pub struct DiskSettings {
    /// The directory; none lets the run choose a fresh one.
    pub folder: Option<PathBuf>,
    /// Whether a directory that the run chose stays when the verdict is in.
    pub keep: bool,
    /// Whether to go on with the run that is there.
    pub resume: bool,
    /// Bytes that files may take.
    pub limit: Option<u64>,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Where layers and candidates go, written and read in order, if not there, too.
    pub bulk: Option<PathBuf>,
    /// Where known states go, looked up here and there, if not there, too.
    pub index: Option<PathBuf>,
    /// Whether layers on disk are kept for traces; without them a trace takes more searches.
    pub keep_layers: bool,
}

/// A model file and what is chosen about it.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The file.
    pub path: PathBuf,
    /// Constants and overflow.
    pub options: ModelOptions,
}

/// Where something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output.
    Standard,
    /// A file.
    File(PathBuf),
}

/// What a run prints.
#[derive(Clone, Debug)]
pub struct OutputSettings {
    /// Where the report goes as JSON.
    pub json: Option<Destination>,
    /// Whether nothing but errors is printed.
    pub quiet: bool,
    /// How progress is told.
    pub progress: ProgressMode,
}

/// How progress is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// A live line on a terminal, timed lines elsewhere if the run takes long.
    #[default]
    Auto,
    /// Timed lines.
    Plain,
    /// Timed JSON objects, one per line.
    Json,
    /// Not at all.
    None,
}

/// Settings of `explore`.
#[derive(Clone, Debug)]
pub struct ExploreSettings {
    /// What to explore.
    pub model: ModelSettings,
    /// With which engine.
    pub engine: LayerEngine,
    /// With what.
    pub resources: Resources,
    /// Where files go, if the engine has any.
    pub disk: DiskSettings,
    /// What to print.
    pub output: OutputSettings,
    /// What to print of the model in place of exploring it.
    pub dump: Option<Dump>,
    /// Where the records go, in the order found. Needs one thread.
    pub records: Option<PathBuf>,
    /// Where the graph goes.
    pub graph: Option<(GraphFormat, Destination)>,
    /// Whether the product with an automaton is explored: of that formula, or of the model's property process.
    pub product: Option<Option<String>>,
}

/// Settings of `check`.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    /// What to check.
    pub model: ModelSettings,
    /// What is asked about it.
    pub questions: Questions,
    /// When to end.
    pub stop: Stop,
    /// With which engine.
    pub engine: CheckEngine,
    /// With what.
    pub resources: Resources,
    /// Where files go, if the engine has any.
    pub disk: DiskSettings,
    /// What to print.
    pub output: OutputSettings,
    /// Where violating runs go.
    pub trace: Option<TraceFile>,
}

/// An engine that checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckEngine {
    /// What suits each property; those about states are checked breadth-first, in RAM and then on disk.
    Auto(tier::Plan),
    /// Breadth-first and exact.
    Layers(LayerEngine),
    /// Depth-first, with three bits per state.
    Bitstate,
    /// For infinite runs.
    Liveness(LivenessEngine),
}

/// Settings of `audit`.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    /// The directory of the run.
    pub folder: PathBuf,
    /// The model, if not where the run found it.
    pub model: Option<PathBuf>,
    /// With what.
    pub resources: Resources,
    /// What to print.
    pub output: OutputSettings,
}

/// Settings of `simulate`.
#[derive(Clone, Debug)]
pub struct SimulateSettings {
    /// What to simulate.
    pub model: ModelSettings,
    /// What is asked about it.
    pub questions: Questions,
    /// Who chooses the steps.
    pub walk: Walk,
    /// With what.
    pub resources: Resources,
    /// What to print.
    pub output: OutputSettings,
    /// Where a violating run goes.
    pub trace: Option<TraceFile>,
}

/// Who chooses the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// The user.
    ByHand,
    /// Chance.
    Random {
        /// How many walks.
        walks: u64,
        /// What the choices are drawn from.
        seed: u64,
    },
}

/// A file for violating runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// The file.
    pub path: PathBuf,
    /// How they are written.
    pub format: TraceFormat,
}

/// How a run is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// What to print of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    /// The guarded commands.
    Program,
    /// The bits of a record.
    Layout,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Aldebaran.
    Aut,
}

impl DiskSettings {
    /// Whether the run is to be there when the verdict is in: then it is on disk from the start.
    pub fn lasts(&self) -> bool {
        self.folder.is_some() || self.keep
    }
}

impl Default for DiskSettings {
    fn default() -> DiskSettings {
        DiskSettings {
            folder: None,
            keep: false,
            resume: false,
            limit: None,
            commit_every: COMMIT_EVERY,
            bulk: None,
            index: None,
            keep_layers: true,
        }
    }
}

/// What is lost at most when a run is killed; a commit takes a twentieth of the time at most.
const COMMIT_EVERY: Duration = Duration::from_secs(5);

impl Resources {
    /// Half the machine's memory, all its processors, no limits.
    pub fn of_this_machine() -> Resources {
        Resources {
            ram: crate::machine::default_ram(),
            data_budget: None,
            threads: crate::machine::processors(),
            jit: true,
            time_limit: None,
            max_depth: None,
        }
    }
}
