//! How is it checked again what a search said, by someone who does not trust it?

use std::error::Error;
use std::path::{Path, PathBuf};

use fathom_check::answers::audit::StateAudit;
use fathom_check::answers::behaviour_audit::{self, BehaviourAudit};
use fathom_check::answers::check::{self, Stop};
use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::folder::disk_settings::DiskSettings;
use fathom_check::folder::home::{Committed, Home};
use fathom_check::folder::identity::Identity;
use fathom_check::model::assemble::{Model, ModelOptions, ModelSettings};
use fathom_check::monitor::Clock;
use fathom_check::questions::assumption::Choices;
use fathom_check::questions::liveness_property::LivenessQuestions;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::questions::property::Faults;
use fathom_check::resources::Resources;
use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::{semi_owcty, tier};

/// Searches that stay in folders, and audits of what they say.
pub(crate) fn audited(model: &Model) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let source = ModelSettings { path: PathBuf::from("lock.dve"), options: ModelOptions::default() };
    states(model, &source, &folder.path().join("states"))?;
    runs(model, &source, &folder.path().join("runs"))
}

fn home(folder: PathBuf, identity: Identity) -> Home {
    Home::new(&DiskSettings { folder: Some(folder), ..DiskSettings::default() }, identity)
}

/// That an invariant holds is proven by the set of all states: nothing leads out of it, and nothing in it violates.
fn states(model: &Model, source: &ModelSettings, folder: &Path) -> Result<(), Box<dyn Error>> {
    let questions = Questions { invariants: vec!["taken < 2".into()], ..Questions::default() };
    let plan = Plan::new(model, &questions)?;
    let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
    let identity = Identity::of_check(model, source, &questions, model.interpreter(Vec::new()).shape());
    let home = home(folder.to_owned(), identity.clone());
    let chosen = Chosen::plain(&tier::ENGINE);
    check::check(model, &plan, &chosen, Stop::First, &resources, &clock, Some(&home))?;
    drop(home);

    let (scratch, budget) = (Volume::in_memory(4096), Budget::new(1 << 20));
    let Committed { states, .. } = &Home::look_at(folder)?;
    let (subject, plan) = (model, Some(&plan));
    let audit = StateAudit { subject, plan, states, scratch: &scratch, budget: &budget, observer: &clock };
    println!("{:?}", audit.run(&identity)?);
    let choices = Choices {
        options: &source.options,
        questions: Some(&questions),
        faults: Faults::Stop,
        fair: &[],
        strong: false,
        max_depth: None,
        assumed_depth: None,
    };
    println!("taken for granted: {:?}", choices.assumptions(model, None));
    Ok(())
}

/// That a formula holds is proven by ranks of the states of the product: no run through it is accepting.
fn runs(model: &Model, source: &ModelSettings, folder: &Path) -> Result<(), Box<dyn Error>> {
    let formulas = vec!["G (P.critical -> F P.idle)".to_owned()];
    let questions = LivenessQuestions { formulas, ..LivenessQuestions::default() };
    let (property, fair) = (&questions.properties(model)?[0], vec![0, 1]);
    let settings = LivenessSettings {
        engine: Chosen::plain(&semi_owcty::ENGINE),
        fair,
        strong: false,
        faults: Faults::Stop,
        generation: Chosen::plain(&tier::ENGINE),
        stack: None,
    };
    let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
    let identity = settings.identity(model, property, source)?;
    let home = home(folder.to_owned(), identity.clone());
    liveness::check(model, property, &settings, &resources, &clock, Some(&home))?;
    drop(home);

    let (scratch, budget) = (&Volume::in_memory(4096), &Budget::new(1 << 20));
    let Committed { states, passes, identity: said, .. } = &Home::look_at(folder)?;
    let behaviour = said.behaviour().ok_or("it is about infinite runs")?;
    let product = behaviour_audit::product(model, property, behaviour)?;
    let audit = BehaviourAudit { property, behaviour, states, passes, scratch, budget, observer: &clock };
    println!("{:?}", audit.run(&product, &identity)?);
    Ok(())
}
