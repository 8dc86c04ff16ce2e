//! Which words does the command line have? Raw: nothing here is checked against anything else.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fathom_check::questions::liveness_property::Fairness;

use fathom_search::engines::engine::{Engine, Store};

use super::{engine, quantity};

/// A model checker for systems whose state space is larger than memory.
#[derive(Clone, Debug, Parser)]
#[command(name = "fathom", version, about, arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Check properties of a model: verdicts, and the runs that violate them
    Check(Box<CheckArguments>),
    /// Count the states of a model: how many, how deep, how many deadlocks
    Explore(Box<ExploreArguments>),
    /// Translate an LTL formula to a Büchi automaton
    Translate(Box<TranslateArguments>),
    /// Walk through a model step by step, or at random as a bug hunt
    Simulate(Box<SimulateArguments>),
    /// Execute saved traces again, perhaps after an edit of the model
    Replay(Box<ReplayArguments>),
    /// Check the certificate of a finished run again, with the reference interpreter
    Audit(Box<AuditArguments>),
    /// List the engines that search
    Engines,
    /// Print the completions of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all pages to a folder
    Man {
        /// The folder
        folder: Option<PathBuf>,
    },
}

/// Arguments of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArguments {
    /// The model, and what is chosen about it.
    #[command(flatten)]
    pub model: ModelArguments,
    /// Which of its states are one.
    #[command(flatten)]
    pub symmetry: SymmetryArguments,
    /// What is asked about it.
    #[command(flatten)]
    pub questions: QuestionArguments,
    /// What is asked about its infinite runs.
    #[command(flatten)]
    pub liveness: LivenessArguments,
    /// When to end
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, help_heading = "Search")]
    pub stop: StopArgument,
    /// Which engine searches; see `fathom engines`
    #[arg(long, value_name = "NAME", value_parser = engine::checking(), default_value = engine::DEFAULT, help_heading = "Search")]
    pub engine: &'static Engine,
    /// Choose something about the engine (repeatable); see `fathom engines`
    #[arg(short = 'E', long = "engine-option", value_name = "KEY=VALUE", help_heading = "Search")]
    pub engine_options: Vec<String>,
    /// Where states are stored by ndfs (ram, tier), or while semi-owcty and ddfs generate them (tier) [default: ram as long as it suffices]
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Search")]
    pub store: Option<StoreArgument>,
    /// With what to search.
    #[command(flatten)]
    pub resources: ResourceArguments,
    /// Where files go.
    #[command(flatten)]
    pub disk: DiskArguments,
    /// Put the path of a depth-first search on disk, in a folder of its own under this one
    #[arg(long, value_name = "DIR", help_heading = "Disk")]
    pub dir_stack: Option<PathBuf>,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Write the runs that violate properties, in the form that the name says: .txt, .json, .html, .dot, .mmd (Mermaid), .vcd (waves), .itf.json (Apalache)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,
    /// Write everything as one page of HTML that needs nothing else
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the verdicts as a JUnit file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write what was found as a SARIF log
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print marks by which a code host shows what was found at its line
    #[arg(long, value_name = "HOST", value_enum, help_heading = "Output")]
    pub annotate: Option<AnnotateArgument>,
}

/// Who reads annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnnotateArgument {
    /// GitHub Actions
    Github,
}

/// Arguments of `replay`.
#[derive(Clone, Debug, Args)]
pub struct ReplayArguments {
    /// The model, and what is chosen about it.
    #[command(flatten)]
    pub model: ModelArguments,
    /// The runs, as `--trace FILE.json` wrote them
    #[arg(value_name = "TRACE.json")]
    pub trace: PathBuf,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
}

/// Arguments of `simulate`.
#[derive(Clone, Debug, Args)]
pub struct SimulateArguments {
    /// The model, and what is chosen about it.
    #[command(flatten)]
    pub model: ModelArguments,
    /// What is asked about it.
    #[command(flatten)]
    pub questions: QuestionArguments,
    /// Walk N times at random, on all threads, until a property is violated; --max-depth limits a walk [default: by hand]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub random: Option<u64>,
    /// Where random choices come from: the same seed, the same walks
    #[arg(long, value_name = "S", requires = "random", default_value_t = 1, help_heading = "Search")]
    pub seed: u64,
    /// With what to search.
    #[command(flatten)]
    pub resources: ResourceArguments,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Write a run that violates a property, in the form that the name says: .txt, .json, .html, .dot, .mmd (Mermaid), .vcd (waves), .itf.json (Apalache)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,
}

/// What is asked about a model. Without any of it, everything the model states is checked.
#[derive(Clone, Debug, Args)]
pub struct QuestionArguments {
    /// Check that E holds in every state (repeatable)
    #[arg(long = "invariant", value_name = "E", help_heading = "Properties")]
    pub invariants: Vec<String>,
    /// Ask whether a state where E holds can be reached (repeatable)
    #[arg(long = "reach", value_name = "E", help_heading = "Properties")]
    pub goals: Vec<String>,
    /// Check a property that the model states, by its name (repeatable)
    #[arg(long = "property", value_name = "NAME", help_heading = "Properties")]
    pub stated: Vec<String>,
    /// Look for deadlocks: states without a step, or without a step to another state [default: off]
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "stuck", help_heading = "Properties")]
    pub deadlock: Option<DeadlockArgument>,
    /// Where E holds, a state without a step is a valid end and no deadlock
    #[arg(long, value_name = "E", help_heading = "Properties")]
    pub deadlock_except: Option<String>,
    /// Only states where E holds count; steps to others are left out
    #[arg(long, value_name = "E", help_heading = "Properties")]
    pub constraint: Option<String>,
    /// What a fault of the model is: a finding that ends the check, or a number in the report [default: stop; said with --ltl, it looks for faults in all states]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Properties")]
    pub faults: Option<FaultsArgument>,
}

/// What is asked about infinite runs.
#[derive(Clone, Debug, Args)]
pub struct LivenessArguments {
    /// Check that a formula of LTL holds of every run, as '[] (P_0.wait -> <> P_0.CS)' (repeatable)
    #[arg(long = "ltl", value_name = "F", help_heading = "Properties")]
    pub formulas: Vec<String>,
    /// Check all properties of an .ltl file (repeatable)
    #[arg(long = "ltl-file", value_name = "FILE", help_heading = "Properties")]
    pub formula_files: Vec<PathBuf>,
    /// Let NAME stand for an expression in formulas (repeatable)
    #[arg(long = "atom", value_name = "NAME=E", value_parser = quantity::definition, help_heading = "Properties")]
    pub atoms: Vec<(String, String)>,
    /// Only runs count where every process, or each of P, Q, ..., moves again and again unless it is again and again disabled
    #[arg(long, value_name = "weak[=P,Q]", value_parser = quantity::fairness, help_heading = "Properties")]
    pub fair: Option<Fairness>,
}

/// Where a search for infinite runs stores states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreArgument {
    /// An exact table in memory.
    Ram,
    /// Sorted runs on disk.
    Tier,
}

impl StoreArgument {
    /// The store.
    pub fn store(self) -> Store {
        match self {
            StoreArgument::Ram => Store::Ram,
            StoreArgument::Tier => Store::Tier,
        }
    }
}

/// What a deadlock is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeadlockArgument {
    /// A state without a step.
    Stuck,
    /// A state without a step to another state.
    Stuttering,
    /// Deadlocks are not looked for.
    Off,
}

/// What a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FaultsArgument {
    /// A finding.
    Stop,
    /// A number.
    Report,
}

/// When to end.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum StopArgument {
    /// At the first violation: other properties may have no verdict then.
    #[default]
    First,
    /// When every property has its verdict.
    Never,
}

/// How the engine tier compares new states with known ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanArgument {
    /// Everything known is read for every layer.
    Scan,
}

/// Where the files of the engines tier and auto go, and what becomes of them.
#[derive(Clone, Debug, Args)]
pub struct DiskArguments {
    /// Where the run lives; it stays there [default: a fresh directory under .fathom, removed when the verdict is in]
    #[arg(long, value_name = "DIR", help_heading = "Disk")]
    pub dir: Option<PathBuf>,
    /// Put what is written and read in order, layers and candidates, on another device: in a folder of the run's own under this one
    #[arg(long, value_name = "DIR", help_heading = "Disk")]
    pub dir_bulk: Option<PathBuf>,
    /// Put what is looked up, known states, on another device, the same way
    #[arg(long, value_name = "DIR", help_heading = "Disk")]
    pub dir_index: Option<PathBuf>,
    /// Keep the run when the verdict is in
    #[arg(long, help_heading = "Disk")]
    pub keep: bool,
    /// Go on with the run in --dir; memory, threads and limits may be others than before. What the folder says is believed: it is as trustworthy as whoever made it, and `fathom audit` checks it
    #[arg(long, requires = "dir", help_heading = "Disk")]
    pub resume: bool,
    /// Keep what proves that a property holds, for `fathom audit`
    #[arg(long, help_heading = "Disk")]
    pub certify: bool,
    /// The most room that files may take
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Disk")]
    pub disk_limit: Option<u64>,
    /// Make what is known last every T, at least: that much is lost at most when the run is killed [default: 5s]
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Disk")]
    pub commit_every: Option<Duration>,
    /// Do not keep layers on disk for traces: less room is needed, and a trace takes some searches more
    #[arg(long, help_heading = "Disk")]
    pub no_trace: bool,
    /// How new states are compared with known ones: `scan` reads all that is known for every layer [default: looking up]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Disk")]
    pub plan: Option<PlanArgument>,
}

/// Arguments of `explore`.
#[derive(Clone, Debug, Args)]
pub struct ExploreArguments {
    /// The model, and what is chosen about it.
    #[command(flatten)]
    pub model: ModelArguments,
    /// Which of its states are one.
    #[command(flatten)]
    pub symmetry: SymmetryArguments,
    /// Which engine searches; see `fathom engines`
    #[arg(long, value_name = "NAME", value_parser = engine::exploring(), default_value = engine::DEFAULT, help_heading = "Search")]
    pub engine: &'static Engine,
    /// Choose something about the engine (repeatable); see `fathom engines`
    #[arg(short = 'E', long = "engine-option", value_name = "KEY=VALUE", help_heading = "Search")]
    pub engine_options: Vec<String>,
    /// With what to search.
    #[command(flatten)]
    pub resources: ResourceArguments,
    /// Where files go.
    #[command(flatten)]
    pub disk: DiskArguments,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Explore the product with the model's property process, or with the automaton of a formula given with --ltl
    #[arg(long, conflicts_with_all = ["dump_program", "dump_layout", "dump_records", "dot", "aut"], help_heading = "Search")]
    pub product: bool,
    /// The formula whose violations --product looks at
    #[arg(long, value_name = "F", requires = "product", help_heading = "Search")]
    pub ltl: Option<String>,
    /// Print the model as guarded commands, and do not explore it
    #[arg(long, conflicts_with_all = ["dump_layout", "dump_records", "dot", "aut", "json"], help_heading = "Output")]
    pub dump_program: bool,
    /// Print how many bits each variable takes: as declared, as inferred, and as observed in an exploration
    #[arg(long, conflicts_with_all = ["dump_records", "dot", "aut", "json"], help_heading = "Output")]
    pub dump_layout: bool,
    /// Write all packed states to FILE, in the order found (with one thread)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub dump_records: Option<PathBuf>,
    /// Write the graph of a small space for Graphviz
    #[arg(long, value_name = "FILE|-", conflicts_with = "aut", help_heading = "Output")]
    pub dot: Option<PathBuf>,
    /// Write the graph of a small space in the Aldebaran format
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    pub aut: Option<PathBuf>,
}

/// Arguments of `audit`.
#[derive(Clone, Debug, Args)]
pub struct AuditArguments {
    /// The directory of the run, as given with --dir
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The model, if it is no longer where the run found it
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// The most memory the process may use, as in 512MiB or 2GiB [default: half of what the machine allows]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size)]
    pub ram: Option<u64>,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Arguments of `translate`.
#[derive(Clone, Debug, Args)]
pub struct TranslateArguments {
    /// The formula, as in '[] (P_0.wait -> <> P_0.CS)'; it is not negated
    #[arg(required_unless_present_any = ["ltl_file", "hoa"])]
    pub formula: Option<String>,
    /// Translate all properties of an .ltl file, in order
    #[arg(long, value_name = "FILE", conflicts_with_all = ["formula", "hoa"])]
    pub ltl_file: Option<PathBuf>,
    /// Read an automaton in the HOA format instead, and reduce it
    #[arg(long, value_name = "FILE", conflicts_with = "formula")]
    pub hoa: Option<PathBuf>,
    /// Print a picture for Graphviz instead of HOA
    #[arg(long, conflicts_with_all = ["never", "dve"], help_heading = "Output")]
    pub dot: bool,
    /// Print a never claim for SPIN
    #[arg(long, conflicts_with_all = ["dve", "generalised"], help_heading = "Output")]
    pub never: bool,
    /// Print a property process of DVE
    #[arg(long, conflicts_with = "generalised", help_heading = "Output")]
    pub dve: bool,
    /// Print the generalised automaton, with marks on edges
    #[arg(long, help_heading = "Output")]
    pub generalised: bool,
    /// Tell sizes, strength and time on standard error
    #[arg(long, help_heading = "Output")]
    pub stats: bool,
    /// Give up after this time [default: 1m]
    #[arg(long, value_name = "T", value_parser = quantity::duration)]
    pub time_limit: Option<Duration>,
}

/// A model, and what is chosen about it.
#[derive(Clone, Debug, Args)]
pub struct ModelArguments {
    /// The model: a DVE file (.dve) or a Murphi file (.m)
    pub model: PathBuf,
    /// Give a constant of the model another value (repeatable)
    #[arg(long = "const", value_name = "NAME=V", value_parser = quantity::constant, help_heading = "Model")]
    pub constants: Vec<(String, i64)>,
    /// What happens when a value does not fit its type: the step faults, or the value wraps around
    #[arg(long, value_name = "HOW", value_enum, default_value_t, help_heading = "Model")]
    pub overflow: OverflowArgument,
    /// How often a loop of a Murphi model may go round before that is a fault [default: 1000 for `while`; 1000000 for `for`, `forall`, `exists`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Model")]
    pub max_loop: Option<u32>,
}

/// Which states are one.
#[derive(Clone, Debug, Args)]
pub struct SymmetryArguments {
    /// Whether states are one that differ only in the names of scalarset values and in the order of multisets [default: on for Murphi]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Model")]
    pub symmetry: Option<SymmetryArgument>,
}

/// Whether states that are alike are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymmetryArgument {
    /// They are.
    On,
    /// They are as many as they are.
    Off,
}

/// What happens to values that do not fit.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum OverflowArgument {
    /// The step is a fault.
    #[default]
    Fault,
    /// The value wraps around.
    Wrap,
}

/// With what to search, and how far.
#[derive(Clone, Debug, Args)]
pub struct ResourceArguments {
    /// The most memory the process may use, as in 512MiB or 2GiB [default: half of what the machine allows]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Search")]
    pub ram: Option<u64>,
    /// Memory for states alone, in place of what --ram leaves
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Search")]
    pub data_budget: Option<u64>,
    /// How many threads search [default: all processors]
    #[arg(long, short = 'j', value_name = "N", value_parser = quantity::threads, help_heading = "Search")]
    pub threads: Option<usize>,
    /// Interpret the model in place of compiling it to machine code
    #[arg(long, help_heading = "Search")]
    pub no_jit: bool,
    /// Give up after this time, as in 30s, 5m or 2h
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Search")]
    pub time_limit: Option<Duration>,
    /// Do not go further than D steps from the initial states
    #[arg(long, value_name = "D", help_heading = "Search")]
    pub max_depth: Option<u64>,
}

/// What to print.
#[derive(Clone, Debug, Args)]
pub struct OutputArguments {
    /// Write the result as JSON (- is standard output)
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// How to tell progress: a live line on a terminal and timed lines elsewhere, lines, JSON lines, or nothing
    #[arg(long, value_name = "HOW", value_enum, default_value_t, help_heading = "Output")]
    pub progress: ProgressArgument,
}

/// How to tell progress.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum ProgressArgument {
    /// As fits where standard error goes.
    #[default]
    Auto,
    /// Lines.
    Plain,
    /// JSON lines.
    Json,
    /// Nothing.
    None,
}
