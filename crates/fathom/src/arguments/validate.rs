//! Do the arguments make sense together? Raw arguments in, settings out, or what is wrong and what to do.

use std::path::PathBuf;
use std::time::Duration;

use fathom_check::answers::check::Stop;
use fathom_check::export::GraphFormat;
use fathom_check::folder::disk_settings::{DiskSettings, Resume};
use fathom_check::machine;
use fathom_check::model::assemble::{Language, ModelOptions, ModelSettings};
use fathom_check::questions::liveness_property::LivenessQuestions;
use fathom_check::questions::plan::Questions;
use fathom_check::questions::property::{DeadlockKind, Faults};
use fathom_check::resources::Resources;
use fathom_model::expression::Overflow;
use fathom_search::engines::engine::{Body, Chosen, Engine, Run, Threads};
use fathom_search::engines::{auto, registry, tier};

use super::raw::{
    AuditArguments, CheckArguments, DeadlockArgument, DiskArguments, ExploreArguments, FaultsArgument,
    FollowArguments, FollowResources, LivenessArguments, ModelArguments, ModelOptionArguments,
    OutputArguments, OverflowArgument, PlanArguments, ProgressArgument, QuestionArguments, ReplayArguments,
    ReportArguments, ResourceArguments, SimulateArguments, StopArgument, StoreArgument, SymmetryArgument,
    SymmetryArguments, VacuityArgument, ViewArguments,
};
use crate::report::text::bytes;
use crate::settings::{
    AuditSettings, CheckSettings, Destination, Dump, ExploreSettings, FollowSettings, OutputSettings,
    PlanSettings, ProgressMode, ReplaySettings, ReportFiles, ReportSettings, SimulateSettings, TraceFile,
    TraceFormat, ViewSettings, Walk,
};

/// The arguments do not make sense together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl From<ReportArguments> for ReportSettings {
    fn from(arguments: ReportArguments) -> ReportSettings {
        let ReportArguments { folder, html, html_static, model } = arguments;
        ReportSettings { folder, html, html_static, model }
    }
}

impl ExploreArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<ExploreSettings, UsageError> {
        let mut resources = self.resources.clone().validate()?;
        if self.dump_records.is_some() {
            if self.resources.threads.is_some_and(|threads| threads > 1) {
                return Err(UsageError(
                    "--dump-records writes states in the order found, which needs one thread: leave --threads out, or set it to 1"
                        .into(),
                ));
            }
            resources.threads = 1;
        }
        let engine = self.disk.chosen(self.engine, &self.engine_options, self.progress_measure.as_deref())?;
        refuse_depth(engine.engine, self.resources.max_depth)?;
        let disk = self.disk.validate(engine.engine)?;
        let graph = match (self.dot, self.aut) {
            (Some(path), _) => Some((GraphFormat::Dot, destination(path))),
            (None, Some(path)) => Some((GraphFormat::Aut, destination(path))),
            (None, None) => None,
        };
        let output = self.output.validate(self.stats);
        if output.json == Some(Destination::Standard) && matches!(graph, Some((_, Destination::Standard))) {
            return Err(UsageError(
                "--json and the graph cannot both go to standard output: give one of them a file".into(),
            ));
        }
        let dumps = [
            (self.dump_program, Dump::Program),
            (self.dump_layout, Dump::Layout),
            (self.progress_report, Dump::Progress),
            (self.scc, Dump::Components),
        ];
        let dump = dumps.into_iter().find(|(asked, _)| *asked).map(|(_, dump)| dump);
        Ok(ExploreSettings {
            model: self.symmetry.choose(self.model.validate())?,
            engine,
            resources,
            disk,
            output,
            dump,
            records: self.dump_records,
            graph,
            product: self.product.then_some(self.ltl),
        })
    }
}

impl CheckArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<CheckSettings, UsageError> {
        let engine = self.disk.chosen(self.engine, &self.engine_options, self.progress_measure.as_deref())?;
        refuse_depth(engine.engine, self.resources.max_depth.or(self.assume_depth))?;
        let Engine { name, threads, stores, .. } = engine.engine;
        if *threads == Threads::One && self.resources.threads.is_some_and(|threads| threads > 1) {
            return Err(UsageError(format!(
                "the engine {name} uses one thread: leave --threads out, or set it to 1"
            )));
        }
        if self.store.is_some_and(|store| !stores.contains(&store.store())) {
            let of = |store: StoreArgument| engines(|engine| engine.stores.contains(&store.store()));
            return Err(UsageError(format!(
                "--store ram is for the engine {}, --store tier for {}: choose one with --engine",
                of(StoreArgument::Ram),
                of(StoreArgument::Tier)
            )));
        }
        if self.dir_stack.is_some() && !engine.engine.has_path() {
            return Err(UsageError(format!(
                "--dir-stack is for the engines {}, which search depth-first: choose one with --engine",
                engines(Engine::has_path)
            )));
        }
        let generation = match self.store {
            Some(StoreArgument::Tier) => &tier::ENGINE,
            _ => &auto::ENGINE,
        };
        let generation = self.disk.chosen(generation, &[], None)?;
        let disk = self.disk.validate(engine.engine)?;
        let mut questions = self.questions.validate()?;
        questions.liveness = self.liveness.validate()?;
        questions.traces = self.traces.unwrap_or(1) as usize;
        if questions.traces > 1 && matches!(engine.engine.run, Run::Lossy(_)) {
            return Err(UsageError(format!(
                "the engine {name} shows one counterexample of each property: leave --traces out, or --engine"
            )));
        }
        refuse_only_nothing(&questions)?;
        let stop = match self.stop {
            StopArgument::First => Stop::First,
            StopArgument::Never => Stop::Never,
        };
        Ok(CheckSettings {
            model: self.symmetry.choose(self.model.validate())?,
            questions,
            stop,
            refuse_vacuous: self.vacuity == VacuityArgument::Error,
            engine,
            generation,
            stack: self.dir_stack,
            resources: assuming_depth(self.resources.validate()?, self.assume_depth),
            disk,
            output: self.output.validate(self.stats),
            trace: self.trace.map(trace_file).transpose()?,
            files: ReportFiles {
                html: self.html,
                html_static: self.html_static,
                junit: self.junit,
                sarif: self.sarif,
                annotate: self.annotate.is_some(),
            },
        })
    }
}

impl AuditArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<AuditSettings, UsageError> {
        let machine = Resources::of_this_machine();
        refuse_more_than_there_is("--ram", self.ram)?;
        Ok(AuditSettings {
            folder: self.folder,
            model: self.model,
            resources: Resources { ram: self.ram.unwrap_or(machine.ram), threads: 1, ..machine },
            output: self.output.validate(false),
        })
    }
}

impl PlanArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<PlanSettings, UsageError> {
        refuse_more_than_there_is("--ram", self.ram)?;
        let machine = Resources::of_this_machine();
        Ok(PlanSettings {
            model: self.symmetry.choose(self.model.validate())?,
            formula: self.ltl,
            disk: self.disk,
            time: self.time.unwrap_or(PLANNED_TIME),
            sample: self.sample.unwrap_or(SAMPLE_TIME),
            resources: Resources {
                ram: self.ram.unwrap_or(machine.ram),
                threads: self.threads.unwrap_or(machine.threads),
                ..machine
            },
            output: self.output.validate(false),
        })
    }
}

/// How long a search may take for which somebody plans.
const PLANNED_TIME: Duration = Duration::from_secs(24 * 3600);
/// How long to sample for that.
const SAMPLE_TIME: Duration = Duration::from_secs(4);

impl FollowArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<FollowSettings, UsageError> {
        let FollowResources { ram, time_limit, no_jit } = self.resources;
        refuse_more_than_there_is("--ram", ram)?;
        let machine = Resources::of_this_machine();
        let ram = ram.unwrap_or(machine.ram);
        Ok(FollowSettings {
            model: self.model.validate(),
            log: self.log,
            steps: self.steps,
            resources: Resources { ram, threads: 1, jit: !no_jit, time_limit, ..machine },
            output: self.output.validate(false),
        })
    }
}

/// Only nothing is no question.
fn refuse_only_nothing(questions: &Questions) -> Result<(), UsageError> {
    let Questions { invariants, goals, expected, stated, deadlock, valid_end, .. } = questions;
    let lists = [invariants, goals, expected, stated];
    let named = lists.iter().any(|list| !list.is_empty())
        || !questions.liveness.is_empty()
        || deadlock.is_some_and(|kind| kind != DeadlockKind::Off)
        || valid_end.is_some()
        || questions.faults_asked;
    if questions.only && !named {
        return Err(UsageError(
            "--only checks what the command line names, and it names nothing: add --property NAME, --invariant E, --reach E, --ltl F or --deadlock, or leave --only out"
                .into(),
        ));
    }
    Ok(())
}

/// The same, with no state taken to be deeper than that.
fn assuming_depth(mut resources: Resources, depth: Option<u64>) -> Resources {
    resources.max_depth = resources.max_depth.or(depth);
    resources.assume_depth = depth.is_some();
    resources
}

/// Where stages are no layers, nobody knows how deep a state is.
fn refuse_depth(engine: &Engine, max_depth: Option<u64>) -> Result<(), UsageError> {
    if max_depth.is_some() && engine.body == Body::Stages && !engine.layers {
        return Err(UsageError(format!(
            "the engine {} does not search in layers and has no depth: leave --max-depth and --assume-depth out",
            engine.name
        )));
    }
    Ok(())
}

/// The names of some engines, as a sentence lists them.
fn engines(are: impl Fn(&Engine) -> bool) -> String {
    let names: Vec<&str> =
        registry::ENGINES.iter().filter(|engine| are(engine)).map(|engine| engine.name).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((last, _)) => (*last).to_owned(),
        None => "none".to_owned(),
    }
}

impl DiskArguments {
    /// An engine with its options. What is said in one word beside them is one of them.
    fn chosen(
        &self,
        engine: &'static Engine,
        options: &[String],
        measure: Option<&str>,
    ) -> Result<Chosen, UsageError> {
        if measure.is_some() && !engine.takes_measure() {
            return Err(UsageError(format!(
                "--progress-measure is for the engines {}, not for {}: choose one with --engine",
                engines(Engine::takes_measure),
                engine.name
            )));
        }
        let measure = measure.map(|measure| format!("measure={measure}"));
        let scans = self.plan.is_some() && engine.options.iter().any(|option| option.key == "plan");
        let options = options.iter().map(String::as_str).chain(scans.then_some("plan=scan"));
        let options = options.chain(measure.as_deref());
        Chosen::with(engine, options).map_err(|error| UsageError(error.to_string()))
    }

    /// The settings that these arguments mean for an engine.
    fn validate(self, engine: &Engine) -> Result<DiskSettings, UsageError> {
        let given = [
            ("--dir", self.dir.is_some()),
            ("--dir-bulk", self.dir_bulk.is_some()),
            ("--dir-index", self.dir_index.is_some()),
            ("--keep", self.keep),
            ("--certify", self.certify),
            ("--disk-limit", self.disk_limit.is_some()),
            ("--commit-every", self.commit_every.is_some()),
            ("--no-trace", self.no_trace),
            ("--no-count", self.no_count),
            ("--plan", self.plan.is_some()),
        ];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given && !engine.resumes) {
            return Err(UsageError(match engine.body {
                Body::DepthFirst => format!(
                    "{name} is for searches that can be resumed, and a depth-first search cannot: leave --engine out, or choose semi-owcty, which answers the same questions"
                ),
                _ => format!(
                    "{name} is for searches that can be resumed: leave --engine out, or choose one of {}",
                    engines(|engine| engine.resumes)
                ),
            }));
        }
        if self.certify && engine.certificate == "none" {
            let name = engine.name;
            return Err(UsageError(format!(
                "the engine {name} leaves no certificate: leave --certify or --engine out"
            )));
        }
        let has_plan = engine.options.iter().any(|option| option.key == "plan");
        if self.plan.is_some() && matches!(engine.run, Run::States(_)) && !has_plan {
            let name = engine.name;
            return Err(UsageError(format!("--plan does not apply to the engine {name}: leave it out")));
        }
        for (name, folder) in [("--dir-bulk", &self.dir_bulk), ("--dir-index", &self.dir_index)] {
            if folder.as_ref().is_some_and(|folder| folder.to_str().is_none()) {
                return Err(UsageError(format!(
                    "{name} is stored with the search as text: choose a name in UTF-8"
                )));
            }
        }
        let default = DiskSettings::default();
        Ok(DiskSettings {
            folder: self.dir,
            keep: self.keep || self.certify,
            resume: if self.resume { Resume::Always } else { Resume::Never },
            limit: self.disk_limit,
            commit_every: self.commit_every.unwrap_or(default.commit_every),
            bulk: self.dir_bulk,
            index: self.dir_index,
            keep_layers: !self.no_trace,
            count: !self.no_count,
        })
    }
}

impl SimulateArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<SimulateSettings, UsageError> {
        let walk = match self.random {
            Some(walks) => Walk::Random { walks, seed: self.seed },
            None if self.output.json.is_some() || self.trace.is_some() => {
                return Err(UsageError(
                    "--json and --trace need --random: stepping by hand has no result".into(),
                ));
            }
            None if self.questions.constraint.is_some() => {
                return Err(UsageError(
                    "--constraint needs --random: by hand every step can be taken".into(),
                ));
            }
            None => Walk::ByHand { plain: self.plain },
        };
        let questions = self.questions.validate()?;
        refuse_only_nothing(&questions)?;
        Ok(SimulateSettings {
            model: self.model.validate(),
            questions,
            walk,
            resources: self.resources.validate()?,
            output: self.output.validate(false),
            trace: self.trace.map(trace_file).transpose()?,
        })
    }
}

impl QuestionArguments {
    pub(super) fn validate(self) -> Result<Questions, UsageError> {
        if self.deadlock == Some(DeadlockArgument::Off) && self.deadlock_except.is_some() {
            return Err(UsageError(
                "--deadlock=off and --deadlock-except contradict each other: leave one of them out".into(),
            ));
        }
        let deadlock = match self.deadlock {
            Some(DeadlockArgument::Stuck) => Some(DeadlockKind::Stuck),
            Some(DeadlockArgument::Stuttering) => Some(DeadlockKind::Stuttering),
            Some(DeadlockArgument::Off) => Some(DeadlockKind::Off),
            None => None,
        };
        let faults = match self.faults {
            None | Some(FaultsArgument::Stop) => Faults::Stop,
            Some(FaultsArgument::Report) => Faults::Report,
        };
        Ok(Questions {
            invariants: self.invariants,
            goals: self.goals,
            expected: self.expected,
            only: self.only,
            stated: self.stated,
            deadlock,
            valid_end: self.deadlock_except,
            constraint: self.constraint,
            faults,
            faults_asked: self.faults == Some(FaultsArgument::Stop),
            liveness: LivenessQuestions::default(),
            traces: 1,
        })
    }
}

impl LivenessArguments {
    fn validate(self) -> Result<LivenessQuestions, UsageError> {
        if !self.atoms.is_empty() && self.formulas.is_empty() && self.formula_files.is_empty() {
            return Err(UsageError(
                "--atom names expressions for formulas, and there is none: add --ltl F".into(),
            ));
        }
        Ok(LivenessQuestions {
            formulas: self.formulas,
            files: self.formula_files,
            atoms: self.atoms,
            fairness: self.fair.unwrap_or_default(),
        })
    }
}

impl ModelArguments {
    fn validate(self) -> ModelSettings {
        ModelSettings { path: self.model, options: self.options.validate() }
    }
}

impl ModelOptionArguments {
    fn validate(self) -> ModelOptions {
        let overflow = match self.overflow {
            OverflowArgument::Fault => Overflow::Fault,
            OverflowArgument::Wrap => Overflow::Wrap,
        };
        ModelOptions { constants: self.constants, overflow, symmetry: false, max_loop: self.max_loop }
    }
}

impl SymmetryArguments {
    /// The settings of a model with the choice made.
    fn choose(&self, mut model: ModelSettings) -> Result<ModelSettings, UsageError> {
        let is_dve = Language::of(&model.path) == Some(Language::Dve);
        if is_dve && self.symmetry == Some(SymmetryArgument::On) {
            return Err(UsageError(
                "--symmetry on is for Murphi: DVE has no scalarsets and no multisets to reduce by".into(),
            ));
        }
        model.options.symmetry = !is_dve && self.symmetry != Some(SymmetryArgument::Off);
        Ok(model)
    }
}

impl ResourceArguments {
    fn validate(self) -> Result<Resources, UsageError> {
        refuse_more_than_there_is("--ram", self.ram)?;
        refuse_more_than_there_is("--data-budget", self.data_budget)?;
        if let (Some(data), Some(ram)) = (self.data_budget, self.ram)
            && data > ram
        {
            return Err(UsageError(format!(
                "--data-budget {} is more than --ram {}, which it is a part of: lower the first, or raise the second",
                bytes(data),
                bytes(ram)
            )));
        }
        Ok(Resources {
            ram: self.ram.unwrap_or_else(machine::default_ram),
            data_budget: self.data_budget,
            threads: self.threads.unwrap_or_else(machine::processors),
            jit: !self.no_jit,
            time_limit: self.time_limit,
            max_depth: self.max_depth,
            assume_depth: false,
        })
    }
}

/// Memory that is not there would be missed in the middle of a run.
fn refuse_more_than_there_is(option: &str, asked: Option<u64>) -> Result<(), UsageError> {
    match (asked, machine::memory()) {
        (Some(asked), Some(there)) if asked > there => Err(UsageError(format!(
            "{option} {} is more than the {} that this machine has for the process: lower it, or leave {option} out",
            bytes(asked),
            bytes(there)
        ))),
        _ => Ok(()),
    }
}

impl OutputArguments {
    fn validate(self, stats: bool) -> OutputSettings {
        let progress = match self.progress {
            ProgressArgument::Auto if self.quiet => ProgressMode::None,
            ProgressArgument::Auto => ProgressMode::Auto,
            ProgressArgument::Plain => ProgressMode::Plain,
            ProgressArgument::Json => ProgressMode::Json,
            ProgressArgument::None => ProgressMode::None,
        };
        OutputSettings { json: self.json.map(destination), quiet: self.quiet, progress, stats }
    }
}

/// `-` is standard output.
fn destination(path: PathBuf) -> Destination {
    if path.as_os_str() == "-" { Destination::Standard } else { Destination::File(path) }
}

/// How the names of files of runs end; a longer end comes before one that it ends in.
const TRACE_FORMATS: [(&str, TraceFormat); 7] = [
    (".txt", TraceFormat::Text),
    (".itf.json", TraceFormat::Itf),
    (".json", TraceFormat::Json),
    (".html", TraceFormat::Html),
    (".dot", TraceFormat::Dot),
    (".mmd", TraceFormat::Mermaid),
    (".vcd", TraceFormat::Vcd),
];

impl ViewArguments {
    /// What is meant.
    pub fn validate(self) -> Result<ViewSettings, UsageError> {
        let (options, resources) = (self.options.validate(), self.resources.validate()?);
        Ok(ViewSettings { what: self.what, model: self.model, options, port: self.port, resources })
    }
}

impl ReplayArguments {
    /// What is meant.
    pub fn validate(self) -> Result<ReplaySettings, UsageError> {
        let resources = Resources::of_this_machine();
        Ok(ReplaySettings { model: self.model.validate(), trace: self.trace, resources, quiet: self.quiet })
    }
}

/// The format of a file of runs, by its name.
fn trace_file(path: PathBuf) -> Result<TraceFile, UsageError> {
    let name = path.to_string_lossy();
    let known = TRACE_FORMATS.iter().find(|(suffix, _)| name.ends_with(suffix));
    match known {
        Some((_, format)) => Ok(TraceFile { format: *format, path }),
        None => {
            let suffixes: Vec<&str> = TRACE_FORMATS.iter().map(|(suffix, _)| *suffix).collect();
            Err(UsageError(format!(
                "--trace {}: the name says the format, so it must end in one of {}",
                path.display(),
                suffixes.join(", ")
            )))
        }
    }
}
