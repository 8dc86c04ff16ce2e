//! Can a goal always still be reached? The same answer and the same trap from disk as in memory, and at the least budget that the program takes.

use std::path::Path;

use fathom_check::answers::check::{Answer, Verdict};
use fathom_check::answers::possibility;
use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::resources::Resources;

/// What the only `liveness` of a model comes to within a data budget, and the engine that generated its states.
fn asked(model: &Model, threads: usize, data_budget: Option<u64>) -> (Answer, &'static str) {
    let plan = Plan::new(model, &Questions::default()).unwrap_or_else(|error| panic!("{error}"));
    let [possibility] = &plan.possibilities[..] else { panic!("one is stated") };
    let resources = Resources { threads, data_budget, ..Resources::of_this_machine() };
    let checked = possibility::check(model, possibility, &resources, &Clock::new(None));
    let mut checked = checked.unwrap_or_else(|error| panic!("{error}"));
    (checked.answers.remove(0), checked.exploration.engine)
}

#[test]
fn it_is_the_same_from_disk() {
    for (name, processes, expected) in
        [("dining.m", 12, Verdict::Violated), ("queue_lock.m", 5, Verdict::Holds)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
        let constants = [("N".to_owned(), processes)].into_iter().collect();
        let options = ModelOptions { constants, symmetry: false, ..ModelOptions::default() };
        let model = Model::read(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        let (in_memory, engine) = asked(&model, 1, None);
        assert_eq!((in_memory.verdict, engine), (expected, "ram"), "{name}");
        assert_eq!(in_memory.trace.is_some(), expected == Verdict::Violated, "{name}");
        for threads in [1, 2] {
            let (from_disk, engine) = asked(&model, threads, Some(256 << 10));
            assert_eq!((from_disk.verdict, engine), (expected, "tier"), "{name}, {threads} threads");
            assert_eq!(from_disk.trace, in_memory.trace, "{name}, {threads} threads");
        }
    }
}
