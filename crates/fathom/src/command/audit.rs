//! `fathom audit`: does the certificate of a finished run prove what the run said?

use std::fmt::Write as _;

use anyhow::Context;
use fathom_disk::storage::{FileStorage, Volume};
use fathom_model::system::TransitionSystem;
use fathom_search::audit::{Audit, AuditError, Audited};
use fathom_search::layer_loop::{Settings, Tuning};

use super::{Output, plan, print_summary, read_model, watcher};
use crate::assemble::{self, Model};
use crate::check::CheckedSystem;
use crate::home::Home;
use crate::identity::Identity;
use crate::property::{Plan, Property};
use crate::report::text::{bytes, plural};
use crate::report::{Exit, json};
use crate::settings::{AuditSettings, ModelSettings};

/// Checks the certificate in a directory and reports.
pub fn run(settings: &AuditSettings) -> anyhow::Result<Exit> {
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let (volume, identity) = Home::look_at(&settings.folder)?;
    anyhow::ensure!(
        !identity.is_product(),
        "a run with an automaton leaves no certificate that can be audited"
    );
    let model_settings = ModelSettings {
        path: settings.model.clone().unwrap_or_else(|| identity.model().to_owned()),
        options: identity.model_options(),
    };
    let model = read_model(&model_settings, true)?;
    let questions = identity.questions();
    let plan = questions.as_ref().map(|questions| plan(&model, questions)).transpose()?;
    let system = model.interpreter(Vec::new());
    let here = match &questions {
        Some(questions) => Identity::of_check(&model, &model_settings, questions, system.shape()),
        None => Identity::of_exploration(&model, &model_settings, None, system.shape()),
    };
    let differences = identity.differences(&here);
    let verdict = if differences.is_empty() {
        audited(&model, plan.as_ref(), &here, &volume, settings)?
    } else {
        Err(format!("the certificate is of something else, it differs in {}", differences.join(", ")))
    };
    let taken = json_output.as_ref().is_some_and(Output::is_standard);
    print_summary(&summary(settings, &model, plan.as_ref(), &verdict), settings.output.quiet, taken)?;
    if let Some(output) = json_output {
        output.write(json::to_text(&report(settings, &model, &verdict)).as_bytes())?;
    }
    Ok(if verdict.is_ok() { Exit::Success } else { Exit::Violated })
}

/// What was checked, or why the certificate is refused. An error if it could not be checked.
fn audited(
    model: &Model,
    plan: Option<&Plan>,
    identity: &Identity,
    volume: &Volume,
    settings: &AuditSettings,
) -> anyhow::Result<Result<Audited, String>> {
    let checked = plan.map(|plan| CheckedSystem::new(model, plan, false));
    let plain = model.system(Vec::new(), false);
    let (system, conditions): (&dyn TransitionSystem, _) = match &checked {
        Some(checked) => (checked.system(), checked.conditions.clone()),
        None => (&plain, Vec::new()),
    };
    let budget = assemble::data_budget(&settings.resources)?;
    let folder = settings.folder.join("audit");
    let scratch = FileStorage::auto(&folder).with_context(|| format!("cannot use {}", folder.display()))?;
    let watcher = watcher(&settings.resources, &settings.output, std::convert::identity)?;
    let audit = Audit {
        system,
        settings: &Settings {
            threads: 1,
            conditions,
            stop_at_first: false,
            max_depth: None,
            coverage: true,
            tuning: Tuning::default(),
        },
        volume,
        tag: identity.tag(),
        scratch: &Volume::new(scratch),
        budget: &budget,
        observer: &watcher,
    };
    let outcome = audit.run();
    watcher.finish()?;
    std::fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    match outcome {
        Ok(audited) => Ok(Ok(audited)),
        Err(AuditError::Condition { condition, .. }) => {
            let name = plan.map_or("", |plan| &plan.properties[condition].name);
            Ok(Err(format!("a state in the set violates {name}")))
        }
        Err(error @ (AuditError::Machine(_) | AuditError::Stopped)) => Err(error.into()),
        Err(refusal) => Ok(Err(refusal.to_string())),
    }
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
        line(format!("{} {name}: violated in none of them", kind.word()));
    }
    line(format!(
        "states, transitions, {}, {} and checksum {} as the run said",
        plural(audited.deadlocks, "deadlock"),
        plural(audited.faults, "fault"),
        audited.checksum
    ));
    text
}

fn report(settings: &AuditSettings, model: &Model, verdict: &Result<Audited, String>) -> serde_json::Value {
    let common = serde_json::json!({
        "schema": json::SCHEMA,
        "tool": "fathom",
        "version": env!("CARGO_PKG_VERSION"),
        "command": "audit",
        "run": settings.folder.display().to_string(),
        "model": model.source().name(),
        "accepted": verdict.is_ok(),
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
