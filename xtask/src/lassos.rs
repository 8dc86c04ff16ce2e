//! `cargo xtask lassos`: how long are the lassos that are shown, against those that the search found, and against the shortest there are?
//!
//! All violated formulas of the published table, up to a number of states. The shortest lasso of a small product is found by brute force over the judge's explicit graph, which shares no code with the search or with
//! what shortens its lassos.

use std::collections::{HashMap, VecDeque};
use std::process::ExitCode;

use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::engines::liveness_search;
use fathom_check::model::assemble::Model;
use fathom_check::model::execution::Execution;
use fathom_check::monitor::Clock;
use fathom_check::questions::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom_check::questions::property::Faults;
use fathom_search::engines::auto;
use fathom_search::engines::engine::Chosen;
use oracle::bfs::{Explored, Limits, explore};

use crate::corpus_ltl::{Table, model, resources};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave out models with more published states.
    #[arg(long, default_value_t = 300_000)]
    max_states: u64,
    /// Only models whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Look for the shortest lasso of products of at most so many states.
    #[arg(long, default_value_t = 4_000)]
    brute: usize,
    /// The folder with the tables.
    #[arg(long, default_value = "../shared/beem")]
    folder: std::path::PathBuf,
}

/// A lasso that is shown.
struct Measured {
    found: u64,
    shown: u64,
    shortest: Option<u64>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let table = Table { folder: arguments.folder.clone() };
    let sizes: HashMap<String, u64> = table
        .rows("reference.tsv")?
        .into_iter()
        .filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?)))
        .collect();
    let mut all = Vec::new();
    println!("{:<28} {:>8} {:>8} {:>8}", "formula", "found", "shown", "shortest");
    for row in table.rows("ltl.tsv")? {
        let small = sizes.get(&row[0]).is_some_and(|states| *states <= arguments.max_states);
        if !small || !row[0].contains(&arguments.only) {
            continue;
        }
        let model = model(&arguments.folder.join("models").join(format!("{}.dve", row[0])), &row[0])?;
        let questions = LivenessQuestions { formulas: vec![row[2].clone()], ..LivenessQuestions::default() };
        for property in questions.properties(&model)? {
            let Some(measured) = measured(&model, &property, arguments.brute)? else { continue };
            let shortest = measured.shortest.map_or("-".to_owned(), |it| it.to_string());
            let name = format!("{} {}", row[0], row[1]);
            println!("{name:<28} {:>8} {:>8} {shortest:>8}", measured.found, measured.shown);
            all.push(measured);
        }
    }
    tell(&all);
    Ok(ExitCode::SUCCESS)
}

fn tell(all: &[Measured]) {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let worst = values.last().copied().unwrap_or_default();
        (values.get(values.len() / 2).copied().unwrap_or_default(), worst)
    };
    let lengths = |of: fn(&Measured) -> u64| middle(all.iter().map(|it| of(it) as f64).collect());
    let (found, shown) = (lengths(|it| it.found), lengths(|it| it.shown));
    println!("{} lassos", all.len());
    println!("found: median {} steps, longest {}", found.0, found.1);
    println!("shown: median {} steps, longest {}", shown.0, shown.1);
    let ratios: Vec<f64> = all.iter().filter_map(|it| Some(it.shown as f64 / it.shortest? as f64)).collect();
    let (count, ratio) = (ratios.len(), middle(ratios));
    println!("against the shortest, of {count} small ones: median {:.2}, worst {:.2}", ratio.0, ratio.1);
}

/// The lasso that a check shows; none if the formula holds.
fn measured(model: &Model, property: &LivenessProperty, brute: usize) -> anyhow::Result<Option<Measured>> {
    let settings = LivenessSettings {
        engine: Chosen::plain(&auto::ENGINE),
        fair: Vec::new(),
        faults: Faults::Report,
        generation: Chosen::plain(&auto::ENGINE),
        stack: None,
    };
    let checked = liveness::check(model, property, &settings, &resources(), &Clock::new(None), None)?;
    let Some(trace) = checked.answers.iter().find_map(|answer| answer.trace.as_ref()) else {
        return Ok(None);
    };
    if trace.kind != "lasso" {
        return Ok(None);
    }
    let product =
        liveness_search::product(model, property, &property.automaton, &[], Execution::Interpreted)?;
    let explored = explore(&product, Limits::states(brute)).ok();
    let shown = trace.length();
    let all_marks = u64::MAX.unbounded_shr(64 - property.automaton.mark_count);
    let shortest = explored.map(|explored| shortest_lasso(&explored, all_marks));
    Ok(Some(Measured { found: trace.found_length().unwrap_or(shown), shown, shortest: shortest.flatten() }))
}

/// The fewest steps of a lasso whose cycle meets all marks: for each state, how far it is, and how long the shortest such cycle through it.
fn shortest_lasso(explored: &Explored, all: u64) -> Option<u64> {
    let count = explored.states.len();
    let mut distance = vec![u64::MAX; count];
    let mut queue: VecDeque<usize> = VecDeque::new();
    for (_, start) in &explored.starts {
        if distance[*start] == u64::MAX {
            distance[*start] = 0;
            queue.push_back(*start);
        }
    }
    while let Some(state) = queue.pop_front() {
        for step in &explored.states[state].steps {
            if distance[step.target] == u64::MAX {
                distance[step.target] = distance[state] + 1;
                queue.push_back(step.target);
            }
        }
    }
    let mut best: Option<u64> = None;
    for (state, distance) in distance.into_iter().enumerate() {
        let limit = best.unwrap_or(u64::MAX).saturating_sub(distance);
        let cycle = shortest_cycle(explored, state, all, limit);
        best = best.into_iter().chain(cycle.map(|cycle| distance + cycle)).min();
    }
    best
}

/// The fewest steps from a state back to it that meet all marks, if they are fewer than so many.
fn shortest_cycle(explored: &Explored, from: usize, all: u64, limit: u64) -> Option<u64> {
    let mut seen = std::collections::HashSet::from([(from, 0u64)]);
    let mut layer = vec![(from, 0u64)];
    let mut steps = 0;
    while !layer.is_empty() && steps + 1 < limit {
        steps += 1;
        let mut next = Vec::new();
        for (state, met) in layer {
            for step in &explored.states[state].steps {
                let met = met | (step.marks.0 & all);
                if step.target == from && met == all {
                    return Some(steps);
                }
                if seen.insert((step.target, met)) {
                    next.push((step.target, met));
                }
            }
        }
        layer = next;
    }
    None
}
