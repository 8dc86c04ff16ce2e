//! What can be asked about a model that was read from a text? Everything that the library answers, asked of one small lock.
//!
//! `cargo run --release -p fathom-check --example tour`

mod proofs;

use std::error::Error;

use fathom_check::answers::check::{self, Stop, Verdict};
use fathom_check::answers::explore::explore;
use fathom_check::answers::hunt::{WALK_STEPS, check_bitstate, random_walks};
use fathom_check::answers::possibility::JUDGED_STATES_MAX;
use fathom_check::answers::progress_report;
use fathom_check::answers::widths;
use fathom_check::export::{self, GRAPH_STATES_MAX, GraphFormat, RECORDS_MAGIC, RecordFile};
use fathom_check::follow::{FollowedEnd, follow, observation};
use fathom_check::machine;
use fathom_check::model::assemble::{Language, Model, ModelOptions};
use fathom_check::model::held::held;
use fathom_check::monitor::Clock;
use fathom_check::numbers::{bytes, count, plural};
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::resources::Resources;
use fathom_check::simulate::Simulation;
use fathom_check::trace::value::LOCATION;
use fathom_disk::budget::Budget;
use fathom_lang::source::SourceText;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::{auto, ram};

/// Two processes look whether a flag is free and then set it: both can look before one sets.
const LOCK: &str = "byte taken;
process P { state idle, seen, critical; init idle;
  trans idle -> seen { guard not taken; }, seen -> critical { effect taken = 1; }, critical -> idle { effect taken = 0; }; }
process Q { state idle, seen, critical; init idle;
  trans idle -> seen { guard not taken; }, seen -> critical { effect taken = 1; }, critical -> idle { effect taken = 0; }; }
system async;";

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let model = Model::compile(SourceText::new("lock.dve", LOCK), Language::Dve, &ModelOptions::default())?;
    machine_told();
    counted(&model)?;
    violated(&model)?;
    walked(&model)?;
    followed(&model)?;
    written(&model)?;
    proofs::audited(&model)
}

/// What a search may use, unless it is told otherwise.
fn machine_told() {
    let (ram, threads) = (machine::default_ram(), machine::processors());
    let all = machine::memory().map_or("unknown".to_owned(), bytes);
    println!("{} of {all} for {}", bytes(ram), plural(threads as u64, "thread"));
    let least = machine::ram_floor() + machine::thread_bytes(threads);
    println!("at least {}, which holds {} threads", bytes(least), machine::threads_within(least, threads));
    if let (Some(resident), Some(device)) = (machine::resident(), machine::device_bytes()) {
        println!("{} resident, {} to and from devices", bytes(resident), bytes(device));
    }
}

/// How many states are there, and which values do variables have?
fn counted(model: &Model) -> Result<(), Box<dyn Error>> {
    let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
    let explored = explore(model, None, &Chosen::plain(&auto::ENGINE), &resources, &clock, None)?;
    println!("{} states", count(explored.counts.states.unwrap_or_default()));
    for part in held(model, &["taken"]) {
        println!("{} can hold {}", part.place, part.values);
    }
    print!("{}", widths::table(model, &widths::observe(model, &resources, &clock)?));
    // How far do states come, by measures that few steps go against, and which states lead to each other?
    let progress = progress_report::report(model, None, &resources, &clock)?;
    for row in &progress.rows {
        println!("{}: {:.0}% of states in the largest bucket", row.name, row.forecast.largest * 100.0);
    }
    let components = progress_report::scc(model, &resources, &clock)?;
    println!("{} components, the largest of {}", components.count(), plural(components.largest(), "state"));
    Ok(())
}

/// Does an invariant hold? Asked of all states, of most of them, and of some.
fn violated(model: &Model) -> Result<(), Box<dyn Error>> {
    let questions =
        Questions { invariants: vec!["P.critical + Q.critical <= 1".into()], ..Questions::default() };
    let plan = Plan::new(model, &questions)?;
    let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
    let chosen = Chosen::plain(&ram::ENGINE);
    let all = check::check(model, &plan, &chosen, Stop::First, &resources, &clock, None)?;
    let most = check_bitstate(model, &plan, Stop::First, &resources, &clock)?;
    let some = random_walks(model, &plan, 100, 1, &resources, &clock)?;
    println!("a hunt makes walks of {WALK_STEPS} steps; a judge looks at {JUDGED_STATES_MAX} states");
    for checked in [&all, &most, &some] {
        assert_eq!(checked.verdict(), Verdict::Violated);
    }
    if let Some(trace) = &all.answers[0].trace {
        trace.lines(model)?.iter().for_each(|line| println!("  {line}"));
    }
    Ok(())
}

/// Where can it go from here?
fn walked(model: &Model) -> Result<(), Box<dyn Error>> {
    let (plan, budget) = (Plan::new(model, &Questions::default())?, Budget::new(1 << 20));
    let mut simulation = Simulation::new(model, &plan, &budget)?;
    while simulation.length() < 3 && simulation.take(0)? {}
    println!("after {}: {:?}", plural(simulation.length() as u64, "step"), simulation.state());
    println!("the location of a process is its `{LOCATION}`");
    Ok(())
}

/// Is a recorded execution a behaviour of the model?
fn followed(model: &Model) -> Result<(), Box<dyn Error>> {
    let log =
        observation::read("{\"action\": \"P\"}\n{\"state\": {\"taken\": 1}}\n{\"state\": {\"taken\": 2}}")?;
    let followed = follow(model, &log, 4, &Resources::of_this_machine(), &Clock::new(None))?;
    match followed.end {
        FollowedEnd::Refused { line, .. } => println!("line {line} fits no execution of the model"),
        end => println!("{end:?}"),
    }
    Ok(())
}

/// How is the space handed to other programs?
fn written(model: &Model) -> Result<(), Box<dyn Error>> {
    let (system, folder) = (model.interpreter(Vec::new()), tempfile::tempdir()?);
    let graph = export::graph(&system)?;
    let mut dot = Vec::new();
    graph.write(GraphFormat::Dot, &system, &mut dot)?;
    println!("a graph of {} of at most {GRAPH_STATES_MAX}", plural(graph.records.len() as u64, "state"));
    let path = folder.path().join("lock.records");
    let mut file = RecordFile::create(&path, system.shape())?;
    file.write(0, graph.records.view());
    file.finish()?;
    assert!(std::fs::read(path)?.starts_with(RECORDS_MAGIC));
    Ok(())
}
