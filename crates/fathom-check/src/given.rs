//! How is a system checked that somebody hands over, in a few lines?
//!
//! ```
//! use fathom_check::{Check, Given, Verdict};
//! use fathom_model::rust::{Action, Field, RustModel, Starts, State, StepsFrom, SystemBuilder};
//!
//! /// Counts to nine, and from there to five again.
//! struct Counter(Field<u32>, Action);
//!
//! impl RustModel for Counter {
//!     fn initial(&self, starts: &mut Starts<'_>) {
//!         starts.start(|_| {});
//!     }
//!
//!     fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>) {
//!         let count = state.get(self.0);
//!         steps.step(self.1, |next| next.set(self.0, if count == 9 { 5 } else { count + 1 }));
//!     }
//! }
//!
//! let mut declared = SystemBuilder::new("counter");
//! let count = declared.range("count", 0u32..=9);
//! let step = declared.action("count on");
//! declared.label("small", move |state| state.get(count) < 2);
//! declared.label("start", move |state| state.get(count) == 0);
//! let system = declared.system(Counter(count, step));
//!
//! let checked = Check::new(&system).invariant("small").deadlocks().run()?;
//! let [small, deadlock, ..] = &checked.answers[..] else { panic!("both are answered") };
//! assert_eq!((small.verdict, deadlock.verdict), (Verdict::Violated, Verdict::Unknown));
//! let trace = small.trace.as_ref().expect("what is violated is shown");
//! assert_eq!(
//!     trace.lines(&Given(&system))?,
//!     ["initial state: count = 0", "count on: count = 1", "count on: count = 2"]
//! );
//!
//! let checked = Check::new(&system).formula("G F start").run()?;
//! let trace = checked.answers[0].trace.as_ref().expect("it never starts again");
//! assert_eq!((checked.verdict(), trace.cycle_length()), (Verdict::Violated, 5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod audit;

use std::path::{Path, PathBuf};

use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::{Chosen, Engine, Files, Run};
use fathom_search::engines::{auto, tier};
use fathom_search::proof::audit::AuditError;

use crate::answers::check::{self, Checked, Stop};
use crate::answers::hunt;
use crate::answers::liveness::{self, LivenessSettings};
use crate::engines::liveness_search;
use crate::engines::liveness_task::automaton;
use crate::error::RunError;
use crate::folder::disk_settings::{DiskSettings, Resume};
use crate::folder::home::{Home, HomeError};
use crate::folder::identity::Identity;
use crate::model::execution::Execution;
use crate::model::subject::Given;
use crate::monitor::{Clock, Monitor};
use crate::questions::liveness_property::{LivenessError, LivenessProperty};
use crate::questions::plan::{Plan, PlanError, Questions};
use crate::questions::property::DeadlockKind;
use crate::resources::Resources;

pub use audit::CertificateAudit;

/// Questions about a system, and with what they are answered. Faults of the system are looked for in any case.
#[derive(Clone)]
#[must_use = "nothing is searched before it is run"]
pub struct Check<'a> {
    subject: Given<'a>,
    questions: Questions,
    formulas: Vec<String>,
    /// The processes that runs are fair to.
    fair: Vec<u32>,
    /// Whether strongly.
    strong: bool,
    stop: Stop,
    engine: &'static Engine,
    resources: Resources,
    lasting: Option<(String, PathBuf)>,
}

/// A system could not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A question about states cannot be asked.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A formula cannot be asked.
    #[error(transparent)]
    Formula(#[from] LivenessError),
    /// A search cannot live in the folder.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A search could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A certificate could not be checked to its end.
    #[error(transparent)]
    Audit(#[from] AuditError),
}

impl<'a> Check<'a> {
    /// Nothing is asked yet. `auto` searches, with half the machine's memory and all its processors.
    pub fn new(system: &'a dyn TransitionSystem) -> Check<'a> {
        Check {
            subject: Given(system),
            questions: Questions::default(),
            formulas: Vec::new(),
            fair: Vec::new(),
            strong: false,
            stop: Stop::First,
            engine: &auto::ENGINE,
            resources: Resources::of_this_machine(),
            lasting: None,
        }
    }

    /// Asks whether a label, by its name, is true of every state.
    pub fn invariant(mut self, label: impl Into<String>) -> Check<'a> {
        self.questions.invariants.push(label.into());
        self
    }

    /// Asks how a state is reached of which a label is true: such a state is a violation.
    pub fn goal(mut self, label: impl Into<String>) -> Check<'a> {
        self.questions.goals.push(label.into());
        self
    }

    /// Asks whether some state has no steps.
    pub fn deadlocks(mut self) -> Check<'a> {
        self.questions.deadlock = Some(DeadlockKind::Stuck);
        self
    }

    /// States of which a label is true are no deadlocks.
    pub fn valid_end(mut self, label: impl Into<String>) -> Check<'a> {
        self.questions.valid_end = Some(label.into());
        self
    }

    /// Asks whether a formula of linear temporal logic holds of every infinite run. Its atoms are names of labels, in double quotes if they are no plain words.
    pub fn formula(mut self, formula: impl Into<String>) -> Check<'a> {
        self.formulas.push(formula.into());
        self
    }

    /// Formulas speak of runs alone that are strongly fair to every process of the system: one that can move again and again does. Answered by the engine `owcty`, which `auto` takes.
    pub fn strongly_fair(mut self) -> Check<'a> {
        self = self.weakly_fair();
        self.strong = true;
        self
    }

    /// Formulas speak of runs alone that are weakly fair to every process of the system.
    pub fn weakly_fair(mut self) -> Check<'a> {
        self.fair = (0..self.subject.0.shape().processes.len() as u32).collect();
        self
    }

    /// Goes on after a violation, until everything is known.
    pub fn everything(mut self) -> Check<'a> {
        self.stop = Stop::Never;
        self
    }

    /// The engine, one of [`fathom_search::engines::registry`]. What it does not answer, `auto` answers: questions about states if it is for infinite runs, formulas if it is for states.
    pub fn engine(mut self, engine: &'static Engine) -> Check<'a> {
        self.engine = engine;
        self
    }

    /// What may be used: memory, threads, time.
    pub fn resources(mut self, resources: Resources) -> Check<'a> {
        self.resources = resources;
        self
    }

    /// Searches on disk live in folders under this one and stay there, each to be gone on with and with the certificate of what holds. The name stands for the system in them: whoever asks again
    /// under the same name vouches that it is the same system. Without a folder, files of a search lie in memory or go with it.
    pub fn lasting(mut self, name: impl Into<String>, folder: impl Into<PathBuf>) -> Check<'a> {
        self.lasting = Some((name.into(), folder.into()));
        self
    }

    /// Answers everything, and watches nothing but the clock.
    ///
    /// # Errors
    /// If a question cannot be asked, or the machine fails. A limit that was reached is no error: what is not known then is `Unknown`.
    pub fn run(&self) -> Result<Checked, CheckError> {
        self.run_watched(&Clock::new(self.resources.time_limit))
    }

    /// The same, watched by someone.
    ///
    /// # Errors
    /// As [`Check::run`].
    pub fn run_watched(&self, monitor: &dyn Monitor) -> Result<Checked, CheckError> {
        let (plan, formulas) = self.asked()?;
        let mut all = None;
        if let Some(plan) = plan {
            all = Some(self.states_checked(&plan, monitor)?);
        }
        for (number, property) in formulas.iter().enumerate() {
            all = Some(Checked::one_more(all, &property.property, self.stop, || {
                self.formula_checked(number, property, monitor)
            })?);
        }
        Ok(all.expect("something was checked"))
    }

    /// What is asked about states, if anything is, and about infinite runs.
    fn asked(&self) -> Result<(Option<Plan>, Vec<LivenessProperty>), CheckError> {
        let shape = self.subject.0.shape();
        let plan = Plan::of_labels(shape, &self.questions)?;
        let over = |text: &String| LivenessProperty::over_labels(shape, text);
        let formulas: Vec<LivenessProperty> = self.formulas.iter().map(over).collect::<Result<_, _>>()?;
        let asks = formulas.is_empty() || !plan.asks_nothing();
        Ok((asks.then_some(plan), formulas))
    }

    fn states_checked(&self, plan: &Plan, monitor: &dyn Monitor) -> Result<Checked, CheckError> {
        let home =
            self.lasting.as_ref().map(|(name, folder)| home(folder, STATES, self.states_identity(name)));
        let (subject, stop, resources) = (&self.subject, self.stop, &self.resources);
        let chosen = match self.engine.run {
            Run::States(_) | Run::Chooses { .. } => Chosen::plain(self.engine),
            Run::Lossy(_) => return Ok(hunt::check_bitstate(subject, plan, stop, resources, monitor)?),
            Run::Runs(_) | Run::Generated { .. } => Chosen::plain(&auto::ENGINE),
        };
        let home = home.filter(|_| chosen.engine.resumes);
        Ok(check::check(subject, plan, &chosen, stop, resources, monitor, home.as_ref())?)
    }

    fn formula_checked(
        &self,
        number: usize,
        property: &LivenessProperty,
        monitor: &dyn Monitor,
    ) -> Result<Checked, CheckError> {
        let settings = self.liveness_settings();
        let home = match &self.lasting {
            Some((name, folder)) if settings.engine.engine.resumes => {
                let identity = self.formula_identity(name, property, &settings)?;
                Some(home(folder, &formula_name(number), identity))
            }
            _ => None,
        };
        Ok(liveness::check(&self.subject, property, &settings, &self.resources, monitor, home.as_ref())?)
    }

    fn liveness_settings(&self) -> LivenessSettings {
        let engine = if self.engine.answers_runs() { self.engine } else { &auto::ENGINE };
        LivenessSettings {
            engine: Chosen::plain(engine),
            fair: self.fair.clone(),
            strong: self.strong,
            faults: self.questions.faults,
            // States are generated on disk from the start if they are to be found there.
            generation: Chosen::plain(match self.engine.files {
                Files::Always => &tier::ENGINE,
                Files::None | Files::WhenNeeded => &auto::ENGINE,
            }),
            stack: None,
        }
    }

    /// What a search is about that answers the questions about states, under a name.
    fn states_identity(&self, name: &str) -> Identity {
        Identity::of_system(name, Some(&self.questions), None, self.subject.0.shape())
    }

    /// What a search is about that answers a formula.
    fn formula_identity(
        &self,
        name: &str,
        property: &LivenessProperty,
        settings: &LivenessSettings,
    ) -> Result<Identity, RunError> {
        let automaton = automaton(settings.engine.engine, property);
        let given = Execution::Interpreted;
        let product =
            liveness_search::product(&self.subject, property, automaton, settings.fairness(), given)?;
        let labels: Vec<&str> = self.subject.0.shape().labels.iter().map(String::as_str).collect();
        let behaviour = settings.behaviour(property, &labels);
        Ok(Identity::of_system(name, None, Some(behaviour), product.shape()))
    }
}

/// The folder of the search that answers the questions about states.
const STATES: &str = "states";

/// The folder of the search that answers a formula.
fn formula_name(number: usize) -> String {
    format!("formula-{number}")
}

/// Where a search lives that is to last. One that is there already is gone on with, or asked again.
fn home(folder: &Path, search: &str, identity: Identity) -> Home {
    let folder = Some(folder.join(search));
    Home::new(&DiskSettings { folder, resume: Resume::IfThere, ..DiskSettings::default() }, identity)
}
