//! Published formulas and property processes against their published verdicts and product sizes. They are not part of the project: without `../shared/beem` beside it these
//! tests say that they are skipped. Larger instances are left to `cargo xtask corpus ltl`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fathom_check::answers::check::Verdict;
use fathom_check::answers::explore::explore;
use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom_check::questions::property::Faults;
use fathom_check::resources::Resources;
use fathom_model::expression::Overflow;
use fathom_search::engines::engine::{Chosen, Engine};
use fathom_search::engines::{auto, l2s, map, owcty, ram, registry};
use oracle::skip::skipped;

/// Models with more states are left to the task.
const STATES_MAX: u64 = 300_000;
/// The same for engines that generate all states before they look.
const GENERATED_MAX: u64 = 30_000;
/// Instances whose published figures are of values that wrap around.
const WRAPPING: [&str; 4] = ["anderson.1", "anderson.3", "anderson.5", "anderson.7"];

/// Formulas about `leaders_num=="1"` whose published verdicts are those of an atom that is never true. Formulas about `p=="1"` (elevator2) have verdicts that only the integer 1 explains, so
/// that is what it means here, too; the verdicts are the opposite of the published ones, each with a lasso that was replayed or by every engine.
const OPPOSITE: [(&str, &str); 3] = [("extinction.1", "1"), ("extinction.2", "1"), ("extinction.2", "2")];

/// What is expected of a formula.
fn expected(row: &[String]) -> &str {
    match (OPPOSITE.contains(&(&row[0], &row[1])), &*row[3]) {
        (true, "holds") => "violated",
        (true, "violated") => "holds",
        (_, published) => published,
    }
}

fn corpus(test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/beem");
    if !folder.exists() {
        skipped(test, "../shared/beem is not there");
        return None;
    }
    Some(folder)
}

fn table(folder: &Path, name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder.join(name)).expect("the table is there");
    text.lines().skip(1).map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn model(path: &Path, instance: &str) -> Model {
    let wraps = WRAPPING.iter().any(|name| instance == *name || instance.starts_with(&format!("{name}.")));
    let overflow = if wraps { Overflow::Wrap } else { Overflow::Fault };
    let options = ModelOptions { overflow, ..ModelOptions::default() };
    Model::read(path, &options).expect("published models are read")
}

fn resources() -> Resources {
    Resources { threads: 2, ..Resources::of_this_machine() }
}

fn verdict(model: &Model, property: &LivenessProperty, engine: &'static Engine) -> Verdict {
    verdict_within(model, property, engine, &resources())
}

fn verdict_within(
    model: &Model,
    property: &LivenessProperty,
    engine: &'static Engine,
    resources: &Resources,
) -> Verdict {
    let settings = LivenessSettings {
        engine: Chosen::plain(engine),
        fair: Vec::new(),
        faults: Faults::Stop,
        strong: false,
        generation: Chosen::plain(&auto::ENGINE),
        stack: None,
    };
    let checked = liveness::check(model, property, &settings, resources, &Clock::new(None), None);
    checked.expect("the machine suffices").verdict()
}

#[test]
fn every_published_formula_has_its_meaning() {
    let Some(folder) = corpus("every_published_formula_has_its_meaning") else { return };
    let mut models: HashMap<String, Model> = HashMap::new();
    let mut typed = 0;
    for row in table(&folder, "ltl.tsv") {
        let path = folder.join("models").join(format!("{}.dve", row[0]));
        let model = models.entry(row[0].clone()).or_insert_with(|| model(&path, &row[0]));
        let questions = LivenessQuestions { formulas: vec![row[2].clone()], ..LivenessQuestions::default() };
        let properties = questions.properties(model);
        let properties = properties.unwrap_or_else(|error| panic!("{} {}: {error}", row[0], row[1]));
        assert_eq!(properties.len(), 1);
        typed += 1;
    }
    eprintln!("{typed} formulas");
    assert!(typed > 400, "the table has changed its shape");
}

#[test]
fn formulas_have_their_published_verdicts() {
    let Some(folder) = corpus("formulas_have_their_published_verdicts") else { return };
    let sizes: HashMap<String, u64> = table(&folder, "reference.tsv")
        .into_iter()
        .filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?)))
        .collect();
    let (mut violated, mut held, mut wrong) = (0, 0, Vec::new());
    for row in table(&folder, "ltl.tsv") {
        if sizes.get(&row[0]).is_none_or(|states| *states > STATES_MAX) {
            continue;
        }
        let model = model(&folder.join("models").join(format!("{}.dve", row[0])), &row[0]);
        let questions = LivenessQuestions { formulas: vec![row[2].clone()], ..LivenessQuestions::default() };
        let property = &questions.properties(&model).expect("published formulas are understood")[0];
        // Engines that generate everything first are left to the task where that is much.
        let small = sizes[&row[0]] <= GENERATED_MAX;
        for engine in registry::for_runs().filter(|it| small || it.is_on_the_fly()) {
            let found = verdict(&model, property, engine);
            if found.word() != expected(&row) {
                wrong.push(format!("{} {} with {}: {}", row[0], row[1], engine.name, row[2]));
            }
        }
        violated += usize::from(row[3] == "violated");
        held += usize::from(row[3] == "holds");
    }
    eprintln!("{violated} violated, {held} hold");
    assert!(wrong.is_empty(), "not as published: {wrong:#?}");
    assert!(violated > 100 && held > 20, "there are more formulas of that size");
}

#[test]
fn property_processes_have_their_published_verdicts_and_products() {
    let Some(folder) = corpus("property_processes_have_their_published_verdicts_and_products") else {
        return;
    };
    let mut compared = 0;
    for row in table(&folder, "property-processes.tsv") {
        let model = model(&folder.join("property-processes").join(&row[0]), &row[0]);
        let property = LivenessProperty::of_model(&model).expect("it is understood").expect("it is there");
        for engine in registry::for_runs() {
            assert_eq!(verdict(&model, &property, engine).word(), row[2], "{} with {}", row[0], engine.name);
        }
        let explored = explore(
            &model,
            Some(&property),
            &Chosen::plain(&ram::ENGINE),
            &resources(),
            &Clock::new(None),
            None,
        );
        let counts = explored.expect("the machine suffices").counts;
        let figures = [counts.states, counts.transitions].map(|figure| figure.map(|it| it.to_string()));
        assert_eq!(figures, [3, 4].map(|column| Some(row[column].clone())), "{}", row[0]);
        compared += 1;
    }
    eprintln!("{compared} property processes");
    assert!(compared >= 80, "the table has changed its shape");
}

/// Engines that need no memory per state, and `auto`: one of them for each row here, all with `FATHOM_LONG=1`.
fn in_little_memory(row: usize) -> Vec<&'static Engine> {
    let engines = vec![&owcty::ENGINE, &map::ENGINE, &auto::ENGINE];
    if std::env::var_os("FATHOM_LONG").is_some() { engines } else { vec![engines[row % 3]] }
}

/// Where a product of some hundred thousand states has no memory but for buffers, passes over files decide, chosen by the user or by `auto`.
#[test]
fn property_processes_have_their_published_verdicts_in_little_memory() {
    let Some(folder) = corpus("property_processes_have_their_published_verdicts_in_little_memory") else {
        return;
    };
    let resources = Resources { data_budget: Some(256 << 10), ..resources() };
    let mut compared = 0;
    for row in table(&folder, "property-processes.tsv") {
        if row[3].parse::<u64>().map_or(true, |states| states > STATES_MAX) {
            continue;
        }
        let model = model(&folder.join("property-processes").join(&row[0]), &row[0]);
        let property = LivenessProperty::of_model(&model).expect("it is understood").expect("it is there");
        for engine in in_little_memory(compared) {
            let found = verdict_within(&model, &property, engine, &resources);
            assert_eq!(found.word(), row[2], "{} with {}", row[0], engine.name);
        }
        compared += 1;
    }
    eprintln!("{compared} property processes");
    assert!(compared >= 60, "the table has changed its shape");
}

#[test]
fn formulas_have_their_published_verdicts_in_little_memory() {
    let Some(folder) = corpus("formulas_have_their_published_verdicts_in_little_memory") else { return };
    let resources = Resources { data_budget: Some(256 << 10), ..resources() };
    let sizes: HashMap<String, u64> = table(&folder, "reference.tsv")
        .into_iter()
        .filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?)))
        .collect();
    let mut compared = 0;
    // Every third formula on models of any size here, the others on small ones: the suite should not take an hour.
    let rows = table(&folder, "ltl.tsv").into_iter().enumerate();
    for (number, row) in rows {
        let all = number % 3 == 0 || std::env::var_os("FATHOM_LONG").is_some();
        let most = if all { STATES_MAX } else { GENERATED_MAX };
        if sizes.get(&row[0]).is_none_or(|states| *states > most) {
            continue;
        }
        let model = model(&folder.join("models").join(format!("{}.dve", row[0])), &row[0]);
        let questions = LivenessQuestions { formulas: vec![row[2].clone()], ..LivenessQuestions::default() };
        let property = &questions.properties(&model).expect("published formulas are understood")[0];
        for engine in in_little_memory(compared) {
            let found = verdict_within(&model, property, engine, &resources);
            assert_eq!(found.word(), expected(&row), "{} {} with {}", row[0], row[1], engine.name);
        }
        compared += 1;
    }
    eprintln!("{compared} formulas");
    assert!(compared > 100, "there are more formulas of that size");
}

/// A directed search for lassos, whose states are pairs, is for violations; on small models it proves, too.
#[test]
fn short_lassos_of_published_formulas_are_found() {
    let Some(folder) = corpus("short_lassos_of_published_formulas_are_found") else { return };
    let resources = Resources { data_budget: Some(4 << 20), ..resources() };
    let sizes: HashMap<String, u64> = table(&folder, "reference.tsv")
        .into_iter()
        .filter_map(|row| Some((row[0].clone(), row[1].parse().ok()?)))
        .collect();
    let (mut violated, mut held) = (0, 0);
    for row in table(&folder, "ltl.tsv") {
        let most = if row[3] == "violated" { 10_000 } else { 200 };
        if sizes.get(&row[0]).is_none_or(|states| *states > most) {
            continue;
        }
        let model = model(&folder.join("models").join(format!("{}.dve", row[0])), &row[0]);
        let questions = LivenessQuestions { formulas: vec![row[2].clone()], ..LivenessQuestions::default() };
        let property = &questions.properties(&model).expect("published formulas are understood")[0];
        let found = verdict_within(&model, property, &l2s::ENGINE, &resources);
        assert_eq!(found.word(), expected(&row), "{} {}: {}", row[0], row[1], row[2]);
        violated += usize::from(row[3] == "violated");
        held += usize::from(row[3] == "holds");
    }
    eprintln!("{violated} violated, {held} hold");
    assert!(violated > 10, "there are more formulas of that size");
}
