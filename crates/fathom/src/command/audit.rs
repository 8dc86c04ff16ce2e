//! `fathom audit`: does the certificate of a finished run prove what the run said?

use std::fmt::Write as _;

use anyhow::Context;
use fathom_check::answers::audit::StateAudit;
use fathom_check::answers::behaviour_audit::{self, AutomatonAudited, BehaviourAudit, BehaviourAudited};
use fathom_check::folder::home::{Committed, Home};
use fathom_check::folder::identity::{Behaviour, Identity};
use fathom_check::folder::scratch::Scratch;
use fathom_check::model::assemble::{Model, ModelSettings};
use fathom_check::questions::assumption::Choices;
use fathom_check::questions::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom_check::questions::plan::Plan;
use fathom_check::questions::property::{Faults, Property, PropertyKind};
use fathom_check::resources::Resources;
use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::system::TransitionSystem;
use fathom_search::proof::audit::{AuditError, Audited};

use super::{Output, plan, print_summary, read_model, say, watcher};
use crate::observer::Watcher;
use crate::report::text::{assuming, bytes, plural};
use crate::report::{Exit, json};
use crate::session::Session;
use crate::settings::AuditSettings;
use fathom_check::monitor::Monitor as _;

/// Checks the certificate in a directory and reports. One that could not be checked to its end is neither accepted nor refused.
pub fn run(settings: &AuditSettings, session: &Session) -> anyhow::Result<Exit> {
    match run_to_end(settings, session) {
        Err(error) if matches!(error.downcast_ref(), Some(AuditError::Stopped)) => {
            if !settings.output.quiet {
                say(&format!("{}: not finished: the audit was stopped", settings.folder.display()));
            }
            Ok(Exit::GaveUp)
        }
        other => other,
    }
}

fn run_to_end(settings: &AuditSettings, session: &Session) -> anyhow::Result<Exit> {
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let committed = Home::look_at(&settings.folder)?;
    let identity = &committed.identity;
    anyhow::ensure!(
        !identity.is_product(),
        "a run that explores a product proves nothing: check a formula, or a property process"
    );
    let model_settings = model_settings(settings, identity);
    let model = read_model(&model_settings, &settings.resources, true)?;
    if let Some(behaviour) = identity.behaviour() {
        return run_behaviour(settings, session, &model, &committed, behaviour, json_output);
    }
    let questions = identity.questions();
    let plan = questions.as_ref().map(|questions| plan(&model, questions)).transpose()?;
    let system = model.interpreter(Vec::new());
    let here = match &questions {
        Some(questions) => Identity::of_check(&model, &model_settings, questions, system.shape()),
        None => Identity::of_exploration(&model, &model_settings, None, system.shape()),
    };
    let differences = identity.differences(&here);
    let verdict = if differences.is_empty() {
        let audit = |scratch: &Volume, budget: &Budget, watcher: &Watcher| {
            let (plan, states) = (plan.as_ref(), &committed.states);
            let audit = StateAudit { subject: &model, plan, states, scratch, budget, observer: watcher };
            Ok(audit.run(&here)?)
        };
        in_scratch(settings, session, audit)?
    } else {
        Err(format!("the certificate is of something else, it differs in {}", differences.join(", ")))
    };
    let choices = Choices {
        options: &model_settings.options,
        questions: questions.as_ref(),
        faults: questions.as_ref().map_or(Faults::Stop, |questions| questions.faults),
        fair: &[],
        strong: false,
        max_depth: None,
        assumed_depth: None,
    };
    let assumptions = choices.assumptions(&model, None);
    let taken = json_output.as_ref().is_some_and(Output::is_standard);
    let mut text = summary(settings, &model, plan.as_ref(), &verdict);
    text.push_str(&assuming(&assumptions));
    print_summary(&text, settings.output.quiet, taken)?;
    if let Some(output) = json_output {
        output.write(json::to_text(&report(settings, &model, &verdict, &assumptions)).as_bytes())?;
    }
    Ok(if verdict.is_ok() { Exit::Success } else { Exit::Violated })
}

/// The model that a run is about, where the user says or where the run found it.
fn model_settings(settings: &AuditSettings, identity: &Identity) -> ModelSettings {
    ModelSettings {
        path: settings.model.clone().unwrap_or_else(|| identity.model().to_owned()),
        options: identity.model_options(),
    }
}

/// Checks the certificate of a run that answered a question about infinite runs.
fn run_behaviour(
    settings: &AuditSettings,
    session: &Session,
    model: &Model,
    committed: &Committed,
    behaviour: &Behaviour,
    json_output: Option<Output>,
) -> anyhow::Result<Exit> {
    let identity = &committed.identity;
    let model_settings = model_settings(settings, identity);
    let property = LivenessQuestions::stated(model, &behaviour.statement)?
        .context("the model has no property process any more")?;
    let verdict = match behaviour_audit::product(model, &property, behaviour) {
        Err(refusal) => Err(refusal),
        Ok(product) => {
            let here = Identity::of_behaviour(model, &model_settings, behaviour.clone(), product.shape());
            let differences = identity.differences(&here);
            if differences.is_empty() {
                let audit = |scratch: &Volume, budget: &Budget, watcher: &Watcher| {
                    let audit = BehaviourAudit {
                        property: &property,
                        behaviour,
                        states: &committed.states,
                        passes: &committed.passes,
                        scratch,
                        budget,
                        observer: watcher,
                    };
                    Ok(audit.run(&product, &here)?)
                };
                in_scratch(settings, session, audit)?
            } else {
                Err(format!("the certificate is of something else, it differs in {}", differences.join(", ")))
            }
        }
    };
    let choices = Choices {
        options: &model_settings.options,
        questions: None,
        faults: if behaviour.stop_at_fault { Faults::Stop } else { Faults::Report },
        fair: &behaviour.fair,
        strong: behaviour.strong,
        max_depth: None,
        assumed_depth: None,
    };
    let assumptions = choices.assumptions(model, None);
    let taken = json_output.as_ref().is_some_and(Output::is_standard);
    let mut text = behaviour_summary(settings, model, &property, &verdict);
    text.push_str(&assuming(&assumptions));
    print_summary(&text, settings.output.quiet, taken)?;
    if let Some(output) = json_output {
        let sets = verdict.as_ref().map(|audited| audited.closed_set.clone()).map_err(Clone::clone);
        let mut report = report(settings, model, &sets, &assumptions);
        if let (Ok(audited), Some(report)) = (&verdict, report.as_object_mut()) {
            report.insert("classes".to_owned(), audited.ranks.classes.into());
            report.insert("automaton".to_owned(), automaton_word(audited.automaton).into());
        }
        output.write(json::to_text(&report).as_bytes())?;
    }
    Ok(if verdict.is_ok() { Exit::Success } else { Exit::Violated })
}

fn automaton_word(automaton: AutomatonAudited) -> &'static str {
    match automaton {
        AutomatonAudited::Includes => "includes",
        AutomatonAudited::Stated => "stated",
        AutomatonAudited::Trusted => "trusted",
    }
}

fn behaviour_summary(
    settings: &AuditSettings,
    model: &Model,
    property: &LivenessProperty,
    verdict: &Result<BehaviourAudited, String>,
) -> String {
    let folder = settings.folder.display();
    let BehaviourAudited { closed_set, ranks, automaton } = match verdict {
        Ok(audited) => audited,
        Err(refusal) => return format!("{folder}: refused: {refusal}\n"),
    };
    let automaton = match automaton {
        AutomatonAudited::Includes => "accepts every run that violates it, by another translator's automaton",
        AutomatonAudited::Stated => "is the model's property process",
        AutomatonAudited::Trusted => "is trusted: it is too large to be compared with another translator's",
    };
    format!(
        "{folder}: accepted\n\nchecked with the reference interpreter of {}:\n  \
         {} of the product in {}, {}, every block against its checksum\n  \
         {} in the set\n  \
         {}, each from a state in the set to a state in the set\n  \
         ranks in {}: no run of the product is accepting\n  \
         {} {}: the automaton {automaton}\n  \
         states, transitions, faults and checksum {} as the run said\n",
        model.source().name(),
        plural(closed_set.states, "state"),
        plural(closed_set.files, "file"),
        bytes(closed_set.bytes + ranks.bytes),
        plural(closed_set.initial, "initial state"),
        plural(closed_set.transitions, "step"),
        plural(ranks.classes, "class").replace("classs", "classes"),
        property.property.kind.called(model.language()),
        property.property.name,
        closed_set.checksum,
    )
}

/// Calls something with room for files, memory and a watcher; the files are gone when it returns.
fn in_scratch<T>(
    settings: &AuditSettings,
    session: &Session,
    work: impl FnOnce(&Volume, &Budget, &Watcher) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    // One thread checks.
    let budget = Resources { threads: 1, ..settings.resources.clone() }.data_budget()?;
    let scratch = Scratch::anywhere().context("cannot make a folder for the files of the audit")?;
    let volume = scratch.volume().context("cannot use the folder for the files of the audit")?;
    let watcher = watcher(session, &settings.output, &settings.resources, None)?;
    let outcome = work(&volume, &budget, &watcher);
    watcher.finish()?;
    outcome
}

fn summary(
    settings: &AuditSettings,
    model: &Model,
    plan: Option<&Plan>,
    verdict: &Result<Audited, String>,
) -> String {
    let folder = settings.folder.display();
    let audited = match verdict {
        Ok(audited) => audited,
        Err(refusal) => return format!("{folder}: refused: {refusal}\n"),
    };
    let mut text = format!(
        "{folder}: accepted\n\nchecked with the reference interpreter of {}:\n",
        model.source().name()
    );
    let mut line = |words: String| {
        let _ = writeln!(text, "  {words}");
    };
    line(format!(
        "{} in {}, {}, every block against its checksum",
        plural(audited.states, "state"),
        plural(audited.files, "file"),
        bytes(audited.bytes)
    ));
    line(format!("{} in the set", plural(audited.initial, "initial state")));
    line(format!(
        "{}, each from a state in the set to a state in the set",
        plural(audited.transitions, "step")
    ));
    for Property { name, kind, .. } in plan.iter().flat_map(|plan| &plan.properties) {
        line(match kind {
            PropertyKind::Cover { .. } | PropertyKind::Expected { .. } => {
                format!(
                    "{} {name}: not audited: the states prove what never happens, not what does",
                    kind.word()
                )
            }
            _ if kind.is_event() => format!("{name}: in none of them"),
            _ => format!("{} {name}: violated in none of them", kind.called(model.language())),
        });
    }
    line(format!(
        "states, transitions, {}, {} and checksum {} as the run said",
        plural(audited.deadlocks, "deadlock"),
        plural(audited.faults, "fault"),
        audited.checksum
    ));
    text
}

fn report(
    settings: &AuditSettings,
    model: &Model,
    verdict: &Result<Audited, String>,
    assumptions: &[String],
) -> serde_json::Value {
    let common = serde_json::json!({
        "schema": json::SCHEMA,
        "tool": "fathom",
        "version": env!("CARGO_PKG_VERSION"),
        "command": "audit",
        "run": settings.folder.display().to_string(),
        "model": model.source().name(),
        "accepted": verdict.is_ok(),
        "assumptions": assumptions,
    });
    let rest = match verdict {
        Ok(audited) => serde_json::json!({
            "files": audited.files,
            "bytes": audited.bytes,
            "states": audited.states,
            "initial": audited.initial,
            "transitions": audited.transitions,
            "deadlocks": audited.deadlocks,
            "faults": audited.faults,
            "checksum": audited.checksum.to_string(),
        }),
        Err(refusal) => serde_json::json!({ "refusal": refusal }),
    };
    match (common, rest) {
        (serde_json::Value::Object(mut common), serde_json::Value::Object(rest)) => {
            common.extend(rest);
            serde_json::Value::Object(common)
        }
        (common, _) => common,
    }
}
