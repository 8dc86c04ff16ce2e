//! What would a search in the order of progress meet, before anybody commits to it? And how large are the components of the graph?

use fathom_model::system::TransitionSystem;
use fathom_search::error::SearchError;
use fathom_search::graph::all_edges::AllEdges;
use fathom_search::graph::components::{Components, components};
use fathom_search::progress::choose::{Choice, Forecast};

use crate::engines::progress::{From, chosen_from, levels, named, with_steps};
use crate::error::RunError;
use crate::model::execution::Execution;
use crate::model::measure::STRUCTURAL;
use crate::model::subject::Subject;
use crate::monitor::Monitor;
use crate::resources::Resources;

/// What is to be expected of some measures.
#[derive(Clone, Debug)]
pub struct ProgressReport {
    /// Whether all steps were looked at, or a sample.
    pub all_steps: bool,
    /// Steps that were looked at.
    pub steps: u64,
    /// States, where all are known.
    pub states: Option<u64>,
    /// The measures.
    pub rows: Vec<ProgressRow>,
    /// The components of the graph, where all states are known and they fit in memory.
    pub components: Option<Components>,
}

/// What is to be expected of a measure.
#[derive(Clone, Debug)]
pub struct ProgressRow {
    /// How users ask for it.
    pub name: String,
    /// What it is made of.
    pub measure: String,
    /// What is to be expected.
    pub forecast: Forecast,
}

/// Looks at steps of a subject, and says what measures would do: the one that is asked for, the one that the text gives, and those of six levels of regress. Of all steps if the text asks for `exact`.
pub fn report(
    subject: &dyn Subject,
    text: Option<&str>,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<ProgressReport, RunError> {
    let system = subject.searched(&[], Execution::wanted(resources, monitor));
    let system: &dyn TransitionSystem = &system;
    let budget = resources.data_budget()?;
    let asked = text.map(chosen_from).transpose()?.flatten();
    let from = asked.map_or(From::Sample, |(from, _)| from);
    let own = match text {
        Some(text) if asked.is_none() && text.trim() != STRUCTURAL => named(subject, text)?,
        _ => None,
    };
    let structural = named(subject, STRUCTURAL)?;
    let rows = |choice: &Choice<'_>| {
        let mut rows = Vec::new();
        for (name, measure) in [("asked for", &own), (STRUCTURAL, &structural)] {
            let Some(measure) = measure.as_ref().filter(|measure| !measure.name.is_empty()) else { continue };
            rows.push(ProgressRow {
                name: name.to_owned(),
                measure: measure.name.clone(),
                forecast: choice.forecast_of(&*measure.values)?,
            });
        }
        let word = if from == From::Sample { "sampled" } else { "exact" };
        for (level, measure, forecast) in levels(choice)? {
            let name = format!("{word}:{}%", level / 10);
            rows.push(ProgressRow { name, measure: measure.to_string(), forecast });
        }
        Ok(rows)
    };
    if from == From::Sample {
        let rows = with_steps(system, &budget, resources.threads, monitor, from, &mut |choice| rows(choice))?;
        let steps = rows.first().map_or(0, |row: &ProgressRow| row.forecast.steps);
        return Ok(ProgressReport { all_steps: false, steps, states: None, rows, components: None });
    }
    let all = AllEdges::of(system, &budget, resources.threads, monitor)?;
    let choice = Choice { shape: system.shape(), edges: &all, states: all.states(), budget: &budget };
    let rows = rows(&choice)?;
    Ok(ProgressReport {
        all_steps: true,
        steps: rows.first().map_or(0, |row| row.forecast.steps),
        states: Some(all.count()),
        rows,
        components: match components(system, &all, &budget, monitor) {
            Ok(components) => Some(components),
            Err(SearchError::Budget(_)) => None,
            Err(error) => return Err(error.into()),
        },
    })
}

/// The components of the graph of a subject. Its states and what tells components must fit in memory.
pub fn scc(
    subject: &dyn Subject,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Components, RunError> {
    let system = subject.searched(&[], Execution::wanted(resources, monitor));
    let budget = resources.data_budget()?;
    let all = AllEdges::of(&system, &budget, resources.threads, monitor)?;
    Ok(components(&system, &all, &budget, monitor)?)
}
