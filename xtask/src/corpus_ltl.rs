//! Do published formulas and property processes have their published verdicts, and products their published sizes?

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use fathom_check::answers::explore::explore;
use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom_check::questions::property::Faults;
use fathom_check::resources::Resources;
use fathom_model::expression::Overflow;
use fathom_search::engines::engine::{Chosen, Engine};
use fathom_search::engines::{auto, ram, registry};

/// What to check.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave out models with more published states.
    #[arg(long, default_value_t = 3_000_000)]
    max_states: u64,
    /// Leave out models with fewer published states.
    #[arg(long, default_value_t = 0)]
    min_states: u64,
    /// Only models whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Which engines check, by name; all exact ones if none is given.
    #[arg(long = "engine")]
    engines: Vec<String>,
    /// The folder with the tables.
    #[arg(long, default_value = "../shared/beem")]
    folder: PathBuf,
}

/// Instances whose published figures are of values that wrap around.
const WRAPPING: [&str; 4] = ["anderson.1", "anderson.3", "anderson.5", "anderson.7"];
/// Formulas whose published verdicts are those of an atom `x=="1"` that is never true, though others of the same table have verdicts that only the integer 1 explains: ours are the opposite.
const OPPOSITE: [(&str, &str); 3] = [("extinction.1", "1"), ("extinction.2", "1"), ("extinction.2", "2")];

/// What is expected of a formula.
fn expected(row: &[String]) -> &str {
    match (OPPOSITE.contains(&(&row[0], &row[1])), &*row[3]) {
        (true, "holds") => "violated",
        (true, "violated") => "holds",
        (_, published) => published,
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let wanted = |engine: &&'static Engine| {
        arguments.engines.is_empty() || arguments.engines.iter().any(|name| name == engine.name)
    };
    let engines: Vec<&'static Engine> = registry::for_runs().filter(wanted).collect();
    let table = Table { folder: arguments.folder.clone() };
    let sizes: HashMap<String, u64> = table
        .rows("reference.tsv")?
        .into_iter()
        .filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?)))
        .collect();
    let (mut rows, mut wrong) = (0, 0);
    for row in table.rows("ltl.tsv")? {
        let wanted = arguments.min_states..=arguments.max_states;
        let in_range = sizes.get(&row[0]).is_some_and(|states| wanted.contains(states));
        if !in_range || !row[0].contains(&arguments.only) {
            continue;
        }
        let model = model(&arguments.folder.join("models").join(format!("{}.dve", row[0])), &row[0])?;
        let formulas = vec![row[2].clone()];
        let questions = LivenessQuestions { formulas, ..LivenessQuestions::default() };
        for property in questions.properties(&model)? {
            let name = format!("{} {}", row[0], row[1]);
            wrong += compare(&name, &model, &property, expected(&row), &engines)?;
            rows += 1;
        }
    }
    for row in table.rows("property-processes.tsv")? {
        let states: u64 = row[3].parse().context("a number of states")?;
        let wanted = arguments.min_states..=arguments.max_states;
        if !wanted.contains(&states) || !row[0].contains(&arguments.only) {
            continue;
        }
        let model = model(&arguments.folder.join("property-processes").join(&row[0]), &row[0])?;
        let property = LivenessProperty::of_model(&model)?.context("there is a property process")?;
        wrong += compare(&row[0], &model, &property, &row[2], &engines)?;
        let counts = explore(
            &model,
            Some(&property),
            &Chosen::plain(&ram::ENGINE),
            &resources(),
            &Clock::new(None),
            None,
        )?
        .counts;
        let figures = [counts.states, counts.transitions].map(|figure| figure.map(|it| it.to_string()));
        if figures != [3, 4].map(|column| Some(row[column].clone())) {
            println!("{}: {figures:?}, published {:?}", row[0], &row[3..5]);
            wrong += 1;
        }
        rows += 1;
    }
    println!("{rows} rows, {wrong} differences");
    Ok(ExitCode::from(u8::from(wrong > 0)))
}

/// Checks with every engine; gives the number of verdicts that are not as published.
fn compare(
    name: &str,
    model: &Model,
    property: &LivenessProperty,
    published: &str,
    engines: &[&'static Engine],
) -> anyhow::Result<usize> {
    let mut wrong = 0;
    for engine in engines {
        let began = Instant::now();
        let settings = LivenessSettings {
            engine: Chosen::plain(engine),
            fair: Vec::new(),
            faults: Faults::Stop,
            generation: Chosen::plain(&auto::ENGINE),
            stack: None,
        };
        let checked = liveness::check(model, property, &settings, &resources(), &Clock::new(None), None)?;
        let verdict = checked.verdict().word();
        let counts = &checked.exploration.counts;
        let differs = if verdict == published { "" } else { "  NOT AS PUBLISHED" };
        wrong += usize::from(verdict != published);
        println!(
            "{name:<24} {:<10} {verdict:<9} {:>11} states {:>12} steps {:>5} MiB {:>8.2} s{differs}",
            engine.name,
            counts.known,
            counts.edges,
            checked.exploration.usage.data_peak >> 20,
            began.elapsed().as_secs_f64(),
        );
    }
    Ok(wrong)
}

/// A folder of published tables.
pub(crate) struct Table {
    pub(crate) folder: PathBuf,
}

impl Table {
    /// The rows of one of them.
    pub(crate) fn rows(&self, name: &str) -> anyhow::Result<Vec<Vec<String>>> {
        let path = self.folder.join(name);
        let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
        Ok(text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect())
    }
}

pub(crate) fn model(path: &Path, instance: &str) -> anyhow::Result<Model> {
    let wraps = WRAPPING.iter().any(|name| instance == *name || instance.starts_with(&format!("{name}.")));
    let overflow = if wraps { Overflow::Wrap } else { Overflow::Fault };
    Ok(Model::read(path, &ModelOptions { overflow, ..ModelOptions::default() })?)
}

pub(crate) fn resources() -> Resources {
    Resources { threads: 2, ..Resources::of_this_machine() }
}
