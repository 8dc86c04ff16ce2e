//! Which words does the command line have? Raw: nothing here is checked against anything else.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use fathom_check::questions::liveness_property::Fairness;

use fathom_search::engines::engine::{Engine, Store};
use fathom_search::engines::registry;

use super::{engine, quantity};
use crate::report::page::HAS_EXPLORER;

/// A model checker for systems whose state space does not fit in memory.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "fathom",
    version,
    long_version = &**VERSION,
    about,
    arg_required_else_help = true,
    disable_help_subcommand = true
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What this program can, for those who report a bug in it.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let engines: Vec<&str> = registry::ENGINES.into_iter().map(|engine| engine.name).collect();
    let linked = if cfg!(target_feature = "crt-static") { "static" } else { "dynamic" };
    let pages = if HAS_EXPLORER { "with the explorer" } else { "without the explorer" };
    format!(
        "{}\nlanguages: DVE, Murphi\nengines: {}\nmachine code: Cranelift, or --no-jit\npages: {pages}\ntarget: {}-{}, {linked}",
        env!("CARGO_PKG_VERSION"),
        engines.join(", "),
        std::env::consts::ARCH,
        std::env::consts::OS,
    )
});

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Check a model: assertions, invariants, deadlocks, LTL formulas; counterexamples for what is violated
    Check(Box<CheckArguments>),
    /// Explore the state space of a model: count states, write it as a graph
    Explore(Box<ExploreArguments>),
    /// Translate an LTL formula to a Büchi automaton
    Translate(Box<TranslateArguments>),
    /// Step through a model by hand, or hunt for violations with random walks
    Simulate(Box<SimulateArguments>),
    /// Replay saved traces, perhaps on an edited model
    Replay(Box<ReplayArguments>),
    /// Check whether a recorded execution of a real system is a behaviour of the model
    Follow(Box<FollowArguments>),
    /// Check the certificate of a finished search independently, with the reference interpreter
    Audit(Box<AuditArguments>),
    /// Show a model, a saved trace or the folder of a search in the browser: explore, and search from any state
    View(Box<ViewArguments>),
    /// Report the progress of the search in a folder, or its result
    Report(Box<ReportArguments>),
    /// Estimate how large a state space could be searched here, from a short sample
    Plan(Box<PlanArguments>),
    /// List the search engines and their options
    Engines,
    /// Serve an editor: the Language Server Protocol on standard input and output
    Lsp,
    /// Print shell completions
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write all manual pages to a folder
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
    /// What to do about an implication whose left side is never true
    #[arg(long, value_name = "HOW", value_enum, default_value_t, help_heading = "Properties")]
    pub vacuity: VacuityArgument,
    /// When to stop
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, help_heading = "Search")]
    pub stop: StopArgument,
    /// The search engine: see `fathom engines`
    #[arg(long, value_name = "NAME", value_parser = engine::checking(), default_value = engine::DEFAULT, help_heading = "Search")]
    pub engine: &'static Engine,
    /// Set an option of the engine (repeatable): see `fathom engines`
    #[arg(
        short = 'E',
        long = "engine-option",
        value_name = "KEY=VALUE",
        help_heading = "Experts",
        hide_short_help = true
    )]
    pub engine_options: Vec<String>,
    /// The progress measure of the engines sweep, sweep-ram, sweep-ltl and auto: expressions, structural, sampled or exact
    #[arg(long, value_name = "MEASURE", help_heading = "Search", hide_short_help = true)]
    pub progress_measure: Option<String>,
    /// Where the engines ndfs, semi-owcty, owcty, map, ddfs and map-ram store states [default: in RAM while they fit]
    #[arg(long, value_name = "NAME", value_enum, help_heading = "Experts", hide_short_help = true)]
    pub store: Option<StoreArgument>,
    /// With what to search.
    #[command(flatten)]
    pub resources: ResourceArguments,
    /// Assume that no state is more than D steps deep: what is not violated up to there holds, on that assumption
    #[arg(
        long,
        value_name = "D",
        conflicts_with = "max_depth",
        help_heading = "Experts",
        hide_short_help = true
    )]
    pub assume_depth: Option<u64>,
    /// Where files go.
    #[command(flatten)]
    pub disk: DiskArguments,
    /// Put the stack of a depth-first search on disk, under this folder
    #[arg(long, value_name = "DIR", help_heading = "Experts", hide_short_help = true)]
    pub dir_stack: Option<PathBuf>,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Also print where time and memory went
    #[arg(long, help_heading = "Output")]
    pub stats: bool,
    /// Write counterexamples to a file, in the format that its extension names: .txt, .json, .html, .dot, .mmd (Mermaid), .vcd (waves), .itf.json (Apalache)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,
    /// Show up to N counterexamples of each property, shortest first, each to another state [default: 1]
    ///
    /// The search goes on after the first violation until it has N, or has seen all states. Of a formula one is shown.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Output")]
    pub traces: Option<u32>,
    /// Write a self-contained HTML report
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Leave the interactive explorer out of HTML pages, which makes them smaller
    #[arg(long, help_heading = "Output")]
    pub html_static: bool,
    /// Write the verdicts as a JUnit file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub junit: Option<PathBuf>,
    /// Write the findings as a SARIF log
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub sarif: Option<PathBuf>,
    /// Print annotations by which a code host shows each finding at its source line
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

/// Arguments of `view`.
#[derive(Clone, Debug, Args)]
pub struct ViewArguments {
    /// A model, a trace that check wrote (.json), or the folder of a search
    #[arg(value_name = "WHAT")]
    pub what: PathBuf,
    /// The model, if it is not where the trace or the search found it
    #[arg(long, value_name = "MODEL", help_heading = "Model")]
    pub model: Option<PathBuf>,
    /// What is chosen about the model.
    #[command(flatten)]
    pub options: ModelOptionArguments,
    /// The port to listen on, on 127.0.0.1 only [default: any free port]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Output")]
    pub port: u16,
    /// What searches may use.
    #[command(flatten)]
    pub resources: ResourceArguments,
}

/// Arguments of `report`.
#[derive(Clone, Debug, Args)]
pub struct ReportArguments {
    /// The folder of a search (check --dir, explore --dir), which may be running
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Also write an HTML page: verdict, counterexample, plots
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Leave the interactive explorer out of the page
    #[arg(long, requires = "html", help_heading = "Output")]
    pub html_static: bool,
    /// The model, if it is not where the search found it
    #[arg(long, value_name = "MODEL", help_heading = "Model")]
    pub model: Option<PathBuf>,
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
    /// Hunt for violations with N random walks, of at most --max-depth steps each [default: step by hand]
    #[arg(long, value_name = "N", help_heading = "Search")]
    pub random: Option<u64>,
    /// Use a plain prompt instead of the full screen
    #[arg(long, conflicts_with = "random", help_heading = "Output")]
    pub plain: bool,
    /// Seed of the random walks: the same seed gives the same walks
    #[arg(long, value_name = "S", requires = "random", default_value_t = 1, help_heading = "Search")]
    pub seed: u64,
    /// With what to search.
    #[command(flatten)]
    pub resources: ResourceArguments,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Write the counterexample to a file, in the format that its extension names: .txt, .json, .html, .dot, .mmd (Mermaid), .vcd (waves), .itf.json (Apalache)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub trace: Option<PathBuf>,
}

/// What is asked about a model, beside everything that it states.
#[derive(Clone, Debug, Args)]
pub struct QuestionArguments {
    /// Check that E holds in every state (repeatable)
    #[arg(long = "invariant", value_name = "E", help_heading = "Properties")]
    pub invariants: Vec<String>,
    /// Look for a state where E holds; finding one counts as a violation (repeatable)
    #[arg(long = "reach", value_name = "E", help_heading = "Properties")]
    pub goals: Vec<String>,
    /// Check that a state where E holds is reachable (repeatable)
    #[arg(long = "expect-reach", value_name = "E", help_heading = "Properties")]
    pub expected: Vec<String>,
    /// Check a property that the model states, by name; for use with --only (repeatable)
    #[arg(long = "property", value_name = "NAME", help_heading = "Properties")]
    pub stated: Vec<String>,
    /// Check only what the command line names
    ///
    /// Without it, everything the model states is checked as well (assertions, invariants, its property process), and deadlocks are looked for.
    #[arg(long, help_heading = "Properties")]
    pub only: bool,
    /// Look for deadlocks of this kind [default: stuck for DVE, stuttering for Murphi]
    #[arg(long, value_name = "KIND", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "stuck", help_heading = "Properties")]
    pub deadlock: Option<DeadlockArgument>,
    /// States where E holds are valid end states, not deadlocks
    #[arg(long, value_name = "E", help_heading = "Properties")]
    pub deadlock_except: Option<String>,
    /// Explore only states where E holds
    #[arg(long, value_name = "E", help_heading = "Properties")]
    pub constraint: Option<String>,
    /// What to do about faults of the model: overflow, division by zero, ... [default: stop]
    ///
    /// Formulas are checked in the product with an automaton, which may leave parts of the model out; `--faults stop` looks for faults everywhere.
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Properties")]
    pub faults: Option<FaultsArgument>,
}

/// What is asked about infinite runs.
#[derive(Clone, Debug, Args)]
pub struct LivenessArguments {
    /// Check that every run satisfies an LTL formula, as in '[] (P_0.wait -> <> P_0.CS)' (repeatable)
    #[arg(long = "ltl", value_name = "F", help_heading = "Properties")]
    pub formulas: Vec<String>,
    /// Check all formulas of an .ltl file (repeatable)
    #[arg(long = "ltl-file", value_name = "FILE", help_heading = "Properties")]
    pub formula_files: Vec<PathBuf>,
    /// Name an expression, for use in formulas (repeatable)
    #[arg(long = "atom", value_name = "NAME=E", value_parser = quantity::definition, help_heading = "Properties")]
    pub atoms: Vec<(String, String)>,
    /// Check formulas on fair runs only: weakly or strongly fair to every process, or to P, Q, ...
    ///
    /// A run is weakly fair to a process that takes infinitely many steps or is disabled infinitely often, and strongly fair to one that takes infinitely many steps or is enabled finitely often.
    #[arg(long, value_name = "weak|strong[=P,Q]", value_parser = quantity::fairness, help_heading = "Properties")]
    pub fair: Option<Fairness>,
}

/// Where a search for infinite runs stores states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StoreArgument {
    /// In memory
    Ram,
    /// On disk
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
    /// States without a successor
    Stuck,
    /// States without a successor other than themselves
    Stuttering,
    /// Do not look for deadlocks
    Off,
}

/// What a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FaultsArgument {
    /// They are errors, with a counterexample
    Stop,
    /// They are only counted
    Report,
}

/// What becomes of properties that say nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VacuityArgument {
    /// Print a note
    #[default]
    Note,
    /// Count the property as violated
    Error,
}

/// When to end.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum StopArgument {
    /// At the first violation
    #[default]
    First,
    /// Search all states, and decide every property
    Never,
}

/// How the engine tier compares new states with known ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanArgument {
    /// Read all known states for every layer
    Scan,
}

/// Where the files of the engines tier and auto go, and what becomes of them.
#[derive(Clone, Debug, Args)]
pub struct DiskArguments {
    /// Keep the search in this folder, so that it can be resumed
    ///
    /// Without it, files go to a fresh folder under .fathom when memory is full, and are removed when the verdict is known.
    #[arg(long, value_name = "DIR", help_heading = "Disk")]
    pub dir: Option<PathBuf>,
    /// Put layers and candidates, which are read and written sequentially, under this folder
    #[arg(long, value_name = "DIR", help_heading = "Experts", hide_short_help = true)]
    pub dir_bulk: Option<PathBuf>,
    /// Put known states, which are looked up at random, under this folder
    #[arg(long, value_name = "DIR", help_heading = "Experts", hide_short_help = true)]
    pub dir_index: Option<PathBuf>,
    /// Keep the files of the search when the verdict is known
    #[arg(long, help_heading = "Disk")]
    pub keep: bool,
    /// Resume the search in --dir
    ///
    /// Memory, threads and limits may differ from before. The files in the folder are trusted; `fathom audit` checks what a finished search claims.
    #[arg(long, requires = "dir", help_heading = "Disk")]
    pub resume: bool,
    /// Keep a certificate of what holds, for `fathom audit`
    #[arg(long, help_heading = "Disk")]
    pub certify: bool,
    /// Use at most this much disk space
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Disk")]
    pub disk_limit: Option<u64>,
    /// Write a checkpoint at least every T: no more work than that is lost when the process is killed [default: 5s]
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Experts", hide_short_help = true)]
    pub commit_every: Option<Duration>,
    /// Delete layers once they are expanded: half the disk space, but a counterexample takes a second search
    #[arg(long, help_heading = "Experts", hide_short_help = true)]
    pub no_trace: bool,
    /// Where an engine may have visited states twice, report visits instead of counting states at the end
    #[arg(long, help_heading = "Experts", hide_short_help = true)]
    pub no_count: bool,
    /// How new states are compared with known ones on disk [default: by looking them up]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Experts", hide_short_help = true)]
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
    /// The search engine: see `fathom engines`
    #[arg(long, value_name = "NAME", value_parser = engine::exploring(), default_value = engine::DEFAULT, help_heading = "Search")]
    pub engine: &'static Engine,
    /// Set an option of the engine (repeatable): see `fathom engines`
    #[arg(
        short = 'E',
        long = "engine-option",
        value_name = "KEY=VALUE",
        help_heading = "Experts",
        hide_short_help = true
    )]
    pub engine_options: Vec<String>,
    /// The progress measure of the engines sweep, sweep-ram and auto: expressions, structural, sampled or exact
    #[arg(long, value_name = "MEASURE", help_heading = "Search", hide_short_help = true)]
    pub progress_measure: Option<String>,
    /// With what to search.
    #[command(flatten)]
    pub resources: ResourceArguments,
    /// Where files go.
    #[command(flatten)]
    pub disk: DiskArguments,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
    /// Also print where time and memory went
    #[arg(long, help_heading = "Output")]
    pub stats: bool,
    /// Explore the product with the model's property process, or with the automaton of --ltl
    #[arg(long, conflicts_with_all = ["dump_program", "dump_layout", "dump_records", "dot", "aut"], help_heading = "Search")]
    pub product: bool,
    /// The formula for --product; the automaton accepts the runs that violate it
    #[arg(long, value_name = "F", requires = "product", help_heading = "Search")]
    pub ltl: Option<String>,
    /// Print the model as guarded commands instead of exploring it
    #[arg(long, conflicts_with_all = ["dump_layout", "dump_records", "dot", "aut", "json"], help_heading = "Output")]
    pub dump_program: bool,
    /// Print the bits of each variable: declared, inferred, and observed
    #[arg(long, conflicts_with_all = ["dump_records", "dot", "aut", "json"], help_heading = "Output")]
    pub dump_layout: bool,
    /// Rate progress measures on a sample of steps (on all with --progress-measure exact) instead of exploring
    #[arg(long, conflicts_with_all = ["scc", "product", "dump_program", "dump_layout", "dump_records", "dot", "aut", "json"], help_heading = "Output")]
    pub progress_report: bool,
    /// Print the strongly connected components by size instead of exploring
    #[arg(long, conflicts_with_all = ["product", "dump_program", "dump_layout", "dump_records", "dot", "aut", "json"], help_heading = "Output")]
    pub scc: bool,
    /// Write all packed states to FILE, in the order found (one thread)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub dump_records: Option<PathBuf>,
    /// Write the graph of a small state space for Graphviz
    #[arg(long, value_name = "FILE|-", conflicts_with = "aut", help_heading = "Output")]
    pub dot: Option<PathBuf>,
    /// Write the graph of a small state space in Aldebaran format
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    pub aut: Option<PathBuf>,
}

/// Arguments of `plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanArguments {
    /// The model, and what is chosen about it.
    #[command(flatten)]
    pub model: ModelArguments,
    /// Which of its states are one.
    #[command(flatten)]
    pub symmetry: SymmetryArguments,
    /// Plan for the product with the automaton of this formula
    #[arg(long, value_name = "F", help_heading = "Search")]
    pub ltl: Option<String>,
    /// Memory limit of the search, as in 512MiB or 2GiB [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Search")]
    pub ram: Option<u64>,
    /// Disk space for the search [default: what is free here]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Search")]
    pub disk: Option<u64>,
    /// Time for the search, as in 30s, 5m or 2h [default: 24h]
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Search")]
    pub time: Option<Duration>,
    /// How long to sample [default: 4s]
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Search")]
    pub sample: Option<Duration>,
    /// Number of threads [default: all processors]
    #[arg(long, short = 'j', value_name = "N", value_parser = quantity::threads, help_heading = "Search")]
    pub threads: Option<usize>,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// Arguments of `follow`.
#[derive(Clone, Debug, Args)]
pub struct FollowArguments {
    /// The model, and what is chosen about it.
    #[command(flatten)]
    pub model: ModelArguments,
    /// The log: a JSON object per line, as in {"action": "P_0", "state": {"x": 3}}
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// Allow at most N steps of the model from one line to the next, the observed one included
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Search")]
    pub steps: u64,
    /// With what to search.
    #[command(flatten)]
    pub resources: FollowResources,
    /// What to print.
    #[command(flatten)]
    pub output: OutputArguments,
}

/// What following a log may use.
#[derive(Clone, Debug, Args)]
pub struct FollowResources {
    /// Memory limit of the process, as in 512MiB or 2GiB [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Search")]
    pub ram: Option<u64>,
    /// Give up after this time, as in 30s, 5m or 2h
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Search")]
    pub time_limit: Option<Duration>,
    /// Interpret the model instead of compiling it to machine code
    #[arg(long, help_heading = "Experts", hide_short_help = true)]
    pub no_jit: bool,
}

/// Arguments of `audit`.
#[derive(Clone, Debug, Args)]
pub struct AuditArguments {
    /// The folder of the search, as given with --dir
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// The model, if it has moved since the search
    #[arg(long, value_name = "FILE")]
    pub model: Option<PathBuf>,
    /// Memory limit of the process, as in 512MiB or 2GiB [default: half of the machine's memory]
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
    /// Print sizes, strength and time to standard error
    #[arg(long, help_heading = "Output")]
    pub stats: bool,
    /// Give up after this time [default: 1m]
    #[arg(long, value_name = "T", value_parser = quantity::duration)]
    pub time_limit: Option<Duration>,
}

/// A model, and what is chosen about it.
#[derive(Clone, Debug, Args)]
pub struct ModelArguments {
    /// The model: a DVE (.dve) or Murphi (.m) file
    pub model: PathBuf,
    /// What is chosen about it.
    #[command(flatten)]
    pub options: ModelOptionArguments,
}

/// What is chosen about a model.
#[derive(Clone, Debug, Args)]
pub struct ModelOptionArguments {
    /// Set a constant of the model (repeatable)
    #[arg(long = "const", value_name = "NAME=V", value_parser = quantity::constant, help_heading = "Model")]
    pub constants: Vec<(String, i64)>,
    /// What happens when a value does not fit its type (DVE)
    #[arg(long, value_name = "HOW", value_enum, default_value_t, help_heading = "Model")]
    pub overflow: OverflowArgument,
    /// Iterations of a loop in a Murphi model after which it is a fault [default: 1000 for while; 1000000 for for, forall and exists]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Experts", hide_short_help = true)]
    pub max_loop: Option<u32>,
}

/// Which states are one.
#[derive(Clone, Debug, Args)]
pub struct SymmetryArguments {
    /// Symmetry reduction by scalarsets and multisets (Murphi) [default: on]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "Model")]
    pub symmetry: Option<SymmetryArgument>,
}

/// Whether states that are alike are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SymmetryArgument {
    /// Explore one state of each class of symmetric states
    On,
    /// Explore every state
    Off,
}

/// What happens to values that do not fit.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum OverflowArgument {
    /// The step is a fault
    #[default]
    Fault,
    /// The value wraps around
    Wrap,
}

/// With what to search, and how far.
#[derive(Clone, Debug, Args)]
pub struct ResourceArguments {
    /// Memory limit of the process, as in 512MiB or 2GiB [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Search")]
    pub ram: Option<u64>,
    /// Memory for states alone, instead of what --ram leaves for them
    #[arg(long, value_name = "SIZE", value_parser = quantity::size, help_heading = "Experts", hide_short_help = true)]
    pub data_budget: Option<u64>,
    /// Number of threads [default: all processors]
    #[arg(long, short = 'j', value_name = "N", value_parser = quantity::threads, help_heading = "Search")]
    pub threads: Option<usize>,
    /// Interpret the model instead of compiling it to machine code
    #[arg(long, help_heading = "Experts", hide_short_help = true)]
    pub no_jit: bool,
    /// Give up after this time, as in 30s, 5m or 2h
    #[arg(long, value_name = "T", value_parser = quantity::duration, help_heading = "Search")]
    pub time_limit: Option<Duration>,
    /// Explore at most D steps from the initial states
    #[arg(long, value_name = "D", help_heading = "Search")]
    pub max_depth: Option<u64>,
}

/// What to print.
#[derive(Clone, Debug, Args)]
pub struct OutputArguments {
    /// Write the report as JSON (- for standard output)
    #[arg(long, value_name = "FILE|-", help_heading = "Output")]
    pub json: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub quiet: bool,
    /// How to show progress
    #[arg(long, value_name = "HOW", value_enum, default_value_t, help_heading = "Output")]
    pub progress: ProgressArgument,
}

/// How to tell progress.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum ProgressArgument {
    /// A live display on a terminal, timed lines elsewhere
    #[default]
    Auto,
    /// Timed lines
    Plain,
    /// JSON lines
    Json,
    /// Nothing
    None,
}
