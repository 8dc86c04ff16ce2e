//! Which measure of progress does a search take: one that somebody writes, one that the text gives, or one that is chosen from steps?
//!
//! ```text
//! e1, e2, …        expressions in the language of the model, the first counts most
//! structural       what the text proves that no step decreases
//! sampled[:P%]     chosen from steps along random walks, of which at most P of a hundred go back
//! exact[:P%]       chosen from all steps of a search in memory that comes first
//! ```
//! Without P, the least of six levels (0, 1, 2, 5, 10, 20) that makes buckets small.

use fathom_disk::budget::Budget;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::Chosen;
use fathom_search::graph::all_edges::AllEdges;
use fathom_search::progress::choose::{Choice, Forecast, LEVELS};
use fathom_search::progress::measure::Measure;
use fathom_search::progress::sample::Sample;
use fathom_search::task::Observer;

use crate::error::RunError;
use crate::model::measure::STRUCTURAL;
use crate::model::subject::{NamedMeasure, Subject};
use crate::resources::Resources;

/// Steps of a sample: enough to see a regress of one in some thousands.
const SAMPLE_STEPS: usize = 100_000;
/// The share of states that the largest bucket may have before steps back are worth a smaller one.
const LARGEST_SHARE: f64 = 0.02;

/// How a measure is chosen from steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Sample,
    AllSteps,
}

/// The measure that an engine was told to take, if it takes one. One that need not be told has that of the text, if there is one.
pub(crate) fn measure<'s>(
    chosen: &Chosen,
    subject: &'s dyn Subject,
    system: &dyn TransitionSystem,
    resources: &Resources,
    observer: &dyn Observer,
) -> Result<Option<NamedMeasure<'s>>, RunError> {
    let Some(text) = chosen.expression() else {
        let structural = if chosen.engine.takes_measure() { named(subject, STRUCTURAL)? } else { None };
        return Ok(structural.filter(|measure| !measure.name.is_empty()));
    };
    if let Some((from, level)) = chosen_from(text)? {
        return from_steps(system, resources, observer, (from, level)).map(Some);
    }
    let measure = named(subject, text)?;
    measure.ok_or(RunError::NoExpressions(chosen.engine.name)).map(Some)
}

/// The measure of a subject's own states that an engine for infinite runs was told to take, if it takes one and that is not chosen from steps.
pub(crate) fn of_subject<'s>(
    chosen: &Chosen,
    subject: &'s dyn Subject,
) -> Result<Option<NamedMeasure<'s>>, RunError> {
    if !chosen.engine.is_on_the_fly() || !chosen.engine.takes_measure() {
        return Ok(None);
    }
    match chosen.expression() {
        Some(text) if chosen_from(text)?.is_some() => Ok(None),
        Some(text) => named(subject, text)?.ok_or(RunError::NoExpressions(chosen.engine.name)).map(Some),
        None => Ok(named(subject, STRUCTURAL)?.filter(|measure| !measure.name.is_empty())),
    }
}

/// The same for the product of a subject and an automaton, which has no words of its own.
pub(crate) fn measure_of_product(
    chosen: &Chosen,
    system: &dyn TransitionSystem,
    resources: &Resources,
    observer: &dyn Observer,
) -> Result<Option<NamedMeasure<'static>>, RunError> {
    let Some(text) = chosen.expression() else { return Ok(None) };
    match chosen_from(text)? {
        Some(asked) => from_steps(system, resources, observer, asked).map(Some),
        None => Err(RunError::NoExpressions(chosen.engine.name)),
    }
}

fn from_steps(
    system: &dyn TransitionSystem,
    resources: &Resources,
    observer: &dyn Observer,
    (from, level): (From, Option<u32>),
) -> Result<NamedMeasure<'static>, RunError> {
    let budget = resources.data_budget()?;
    let measure = choose(system, &budget, resources.threads, observer, from, level)?;
    let origin = match from {
        From::Sample => "chosen from a sample of steps",
        From::AllSteps => "chosen from all steps",
    };
    Ok(NamedMeasure::of(measure, Some(origin)))
}

/// What users read of the measure that a search went by.
pub(crate) fn told(swept_by: Option<String>, known: Option<&NamedMeasure<'_>>) -> Option<String> {
    let name = swept_by?;
    Some(match known.filter(|known| known.name == name) {
        Some(known) => known.told(),
        None => format!("{name} (chosen from a sample of steps)"),
    })
}

/// The measure that a text means, in the words of the subject.
pub(crate) fn named<'s>(subject: &'s dyn Subject, text: &str) -> Result<Option<NamedMeasure<'s>>, RunError> {
    subject.measure(text).map_err(|error| {
        // Diagnostics begin with a word that whoever shows an error says, too.
        let text = error.to_string();
        RunError::Expression(text.strip_prefix("error: ").unwrap_or(&text).to_owned())
    })
}

/// Whether a text asks for a measure that is chosen from steps, and at which level in thousandths.
pub(crate) fn chosen_from(text: &str) -> Result<Option<(From, Option<u32>)>, RunError> {
    let text = text.trim();
    let (word, level) = match text.split_once(':') {
        Some((word, level)) => (word.trim(), Some(level.trim())),
        None => (text, None),
    };
    let from = match word {
        "sampled" => From::Sample,
        "exact" => From::AllSteps,
        _ => return Ok(None),
    };
    let level = level.map(|level| {
        let percent: Option<f64> = level.strip_suffix('%').unwrap_or(level).trim().parse().ok();
        let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
        percent.map(|percent| (percent * 10.0) as u32).ok_or_else(|| {
            RunError::Expression(format!(
                "a measure is {word} or {word}:P% with P from 0 to 100, not {text:?}"
            ))
        })
    });
    Ok(Some((from, level.transpose()?)))
}

/// A measure chosen from steps, at a level or at the least that makes buckets small.
fn choose(
    system: &dyn TransitionSystem,
    budget: &Budget,
    threads: usize,
    observer: &dyn Observer,
    from: From,
    level: Option<u32>,
) -> Result<Measure, RunError> {
    with_steps(system, budget, threads, observer, from, &mut |choice| match level {
        Some(level) => Ok(choice.measure(level, LARGEST_SHARE)?),
        None => Ok(choice.least_level(LARGEST_SHARE)?.0),
    })
}

/// Looks at steps, and has something chosen from them.
pub(crate) fn with_steps<T>(
    system: &dyn TransitionSystem,
    budget: &Budget,
    threads: usize,
    observer: &dyn Observer,
    from: From,
    work: &mut dyn FnMut(&Choice<'_>) -> Result<T, RunError>,
) -> Result<T, RunError> {
    let shape = system.shape();
    match from {
        From::Sample => {
            let sample = Sample::of(system, budget, observer, SAMPLE_STEPS)?;
            work(&Choice { shape, edges: &sample, states: sample.states(), budget })
        }
        From::AllSteps => {
            let all = AllEdges::of(system, budget, threads, observer)?;
            work(&Choice { shape, edges: &all, states: all.states(), budget })
        }
    }
}

/// What is to be expected of a measure at each of the six levels.
pub(crate) fn levels(choice: &Choice<'_>) -> Result<Vec<(u32, Measure, Forecast)>, RunError> {
    let mut levels = Vec::new();
    for level in LEVELS {
        let measure = choice.measure(level, LARGEST_SHARE)?;
        let forecast = choice.forecast(&measure)?;
        levels.push((level, measure, forecast));
    }
    Ok(levels)
}
