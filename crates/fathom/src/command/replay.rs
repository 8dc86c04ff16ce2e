//! `fathom replay`: is a run that was saved still one of the model? If not, where does it end, and why?

use std::fmt::Write as _;

use anyhow::Context;
use fathom_check::model::user_file;
use fathom_check::questions::plan::Questions;
use fathom_check::simulate::{Choice, Simulation};
use fathom_check::trace::value::Value;
use fathom_check::trace::{SavedTrace, TraceState};

use super::{plan, print, read_model};
use crate::report::Exit;
use crate::report::escape::Printable;
use crate::report::state;
use crate::report::text::plural;
use crate::report::trace::{SavedDocument, step_line};
use crate::settings::ReplaySettings;

/// How many of the steps that are possible are listed.
const CHOICES_SHOWN: usize = 10;

/// Executes all runs of a file again. Each is taken as far as the model goes.
pub fn run(settings: &ReplaySettings) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, &settings.resources, settings.quiet)?;
    let text = user_file::read(&settings.trace, user_file::TRACES)
        .with_context(|| format!("cannot read {}", settings.trace.display()))?;
    let saved: SavedDocument = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not a trace that check wrote", settings.trace.display()))?;
    let plan = plan(&model, &Questions::default())?;
    let budget = settings.resources.data_budget()?;
    let mut exit = Exit::Success;
    for named in &saved.traces {
        let mut simulation = Simulation::new(&model, &plan, &budget)?;
        let words = match replayed(&mut simulation, &named.trace)? {
            Ok(steps) => format!("all of it is possible, {}\n", plural(steps, "step")),
            Err(why) => {
                exit = Exit::Violated;
                why
            }
        };
        if !settings.quiet {
            print(&format!("{}: {words}", Printable(&named.property)))?;
        }
    }
    if saved.traces.is_empty() && !settings.quiet {
        print("there is no run in it\n")?;
    }
    Ok(exit)
}

/// How many steps were taken, which is all of them, or why it ends.
fn replayed(simulation: &mut Simulation<'_>, saved: &SavedTrace) -> anyhow::Result<Result<u64, String>> {
    let mut states = saved.stem.iter().chain(&saved.cycle);
    let Some(first) = states.next() else { return Ok(Ok(0)) };
    if !simulation.begin_at(&first.state)? {
        let text = differing("no initial state is like that of the run", &simulation.state(), &first.state);
        return Ok(Err(text));
    }
    for (number, state) in (1u64..).zip(states) {
        let Some(step) = &state.step else { continue };
        let stays = simulation.choices().is_empty() && simulation.state().plain() == state.state.plain();
        // Where nothing can move time goes on, and there is no step to take.
        if step.moves.is_empty() && stays {
            continue;
        }
        match chosen(simulation, state) {
            Some(choice) => {
                simulation.take(choice)?;
            }
            None => return Ok(Err(impossible(simulation, number, state))),
        }
        if simulation.state().plain() != state.state.plain() {
            let what = format!("step {number}, {}, leads elsewhere", step_line(step));
            return Ok(Err(differing(&what, &simulation.state(), &state.state)));
        }
    }
    Ok(Ok((saved.stem.len() + saved.cycle.len()) as u64 - 1))
}

/// The step that the run takes, by its name and message, and among several of that name by its number.
fn chosen(simulation: &Simulation<'_>, state: &TraceState) -> Option<usize> {
    let step = state.step.as_ref()?;
    let choices = simulation.choices();
    let alike = |choice: &Choice| match choice {
        Choice::Step(it) => it.title == step.title && it.message == step.message,
        Choice::Fault(..) => false,
    };
    let same =
        |choice: &Choice| matches!(choice, Choice::Step(it) if it.action == step.action) && alike(choice);
    choices.iter().position(same).or_else(|| choices.iter().position(alike))
}

fn impossible(simulation: &Simulation<'_>, number: u64, state: &TraceState) -> String {
    let step = state.step.as_ref().map_or(String::new(), step_line);
    let mut text = format!("step {number} is not possible any more: {step}\n");
    let choices = simulation.choices();
    text.push_str(match choices.is_empty() {
        true => "  nothing is possible there: a deadlock\n",
        false => "  what is possible there:\n",
    });
    for choice in choices.iter().take(CHOICES_SHOWN) {
        let _ = match choice {
            Choice::Step(step) => writeln!(text, "    {}", step_line(step)),
            Choice::Fault(step, fault) => writeln!(text, "    {}: {fault}", step_line(step)),
        };
    }
    if choices.len() > CHOICES_SHOWN {
        let _ = writeln!(text, "    ... and {} more", choices.len() - CHOICES_SHOWN);
    }
    text
}

/// What a state has that the saved one has not, and the other way round.
fn differing(what: &str, now: &Value, saved: &Value) -> String {
    let (now, saved) = (now.plain(), saved.plain());
    let mut text = format!("{what}; here it is\n");
    let width = state::width().saturating_sub(4);
    for (before, shown, then) in [(&saved, &now, "  and in the trace\n"), (&now, &saved, "")] {
        for line in state::lines(Some(before), shown, width) {
            let _ = writeln!(text, "    {line}");
        }
        text.push_str(then);
    }
    text
}
