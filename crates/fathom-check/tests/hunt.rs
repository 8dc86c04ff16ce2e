//! Hunts tell the truth: what they find is a violation, the same for every number of threads; what they estimate is near the number of states.

use std::path::Path;

use fathom_check::answers::check::{Stop, Verdict};
use fathom_check::answers::hunt::{check_bitstate, random_walks};
use fathom_check::limit::Limit;
use fathom_check::model::assemble::{Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::resources::Resources;
use fathom_disk::budget::Budget;
use fathom_search::bodies::dive;
use fathom_search::engines::bitstate::{Bitstate, MISSED_GOOD};
use fathom_search::task::Unobserved;
use fathom_search::traces::path::Room;

fn model(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(format!("{name}.dve"));
    Model::read(&path, &ModelOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(model: &Model, invariant: &str) -> Plan {
    let questions = Questions { invariants: vec![invariant.into()], only: true, ..Questions::default() };
    Plan::new(model, &questions).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn random_walks_are_the_same_for_every_number_of_threads() {
    let model = model("lost_update");
    let plan = plan(&model, "not (Judge.done and counter == 3)");
    for seed in 0..5 {
        let walk = |threads| {
            let resources = Resources { threads, ..Resources::of_this_machine() };
            let checked = random_walks(&model, &plan, 100_000, seed, &resources, &Clock::new(None));
            checked.unwrap_or_else(|error| panic!("{error}"))
        };
        let (one, two) = (walk(1), walk(2));
        assert_eq!(one.verdict(), Verdict::Violated, "seed {seed}");
        assert!(one.answers[0].trace.is_some());
        assert_eq!(one.answers[0].trace, two.answers[0].trace, "seed {seed}");
    }
}

#[test]
fn what_a_walk_finds_is_shortened() {
    let model = model("lost_update");
    let plan = plan(&model, "not (Judge.done and counter == 3)");
    let resources = Resources { threads: 1, ..Resources::of_this_machine() };
    let mut shortened = 0;
    for seed in 0..5 {
        let checked = random_walks(&model, &plan, 100_000, seed, &resources, &Clock::new(None));
        let checked = checked.unwrap_or_else(|error| panic!("{error}"));
        let trace = checked.answers[0].trace.as_ref().expect("it is violated");
        let walks = checked.exploration.counts.walks.expect("there were walks");
        let walked = walks.found_after.expect("one found it");
        assert!(trace.length() <= walked, "seed {seed}: {} of {walked}", trace.length());
        assert_eq!(walks.made, walks.ended + walks.cut + 1, "seed {seed}");
        shortened += u64::from(trace.length() < walked);
    }
    // Most walks have detours only where the model has cycles: here some orders of the same steps are as good.
    eprintln!("{shortened} of 5 became shorter");
    let starving = self::model("peterson");
    let plan = self::plan(&starving, "not P_1.critical");
    for seed in 0..20 {
        let checked = random_walks(&starving, &plan, 10, seed, &resources, &Clock::new(None));
        let checked = checked.unwrap_or_else(|error| panic!("{error}"));
        let trace = checked.answers[0].trace.as_ref().expect("it is violated");
        // To the critical section of one, whatever the other does meanwhile.
        assert!(trace.length() <= 8, "seed {seed}: {} steps", trace.length());
    }
}

#[test]
fn walks_say_how_they_ended() {
    let model = model("lost_update");
    let plan = plan(&model, "true");
    let walked = |max_depth| {
        let resources = Resources { threads: 2, max_depth, ..Resources::of_this_machine() };
        let checked = random_walks(&model, &plan, 50, 3, &resources, &Clock::new(None));
        let checked = checked.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(checked.exploration.limit, Some(Limit::Lossy));
        let walks = checked.exploration.counts.walks.expect("there were walks");
        assert_eq!((walks.wanted, walks.made, walks.found_after), (50, 50, None));
        (walks.ended, walks.cut)
    };
    assert_eq!(walked(None), (50, 0));
    assert_eq!(walked(Some(2)), (0, 50));
}

#[test]
fn walks_that_find_nothing_prove_nothing() {
    let model = model("peterson");
    let plan = plan(&model, "not (P_0.critical and P_1.critical)");
    let resources = Resources { threads: 2, max_depth: Some(50), ..Resources::of_this_machine() };
    let checked = random_walks(&model, &plan, 100, 1, &resources, &Clock::new(None));
    let checked = checked.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(checked.verdict(), Verdict::Unknown);
    assert_eq!(checked.exploration.limit, Some(Limit::Lossy));
    assert_eq!(checked.exploration.counts.visits, 100 * 51);
}

#[test]
fn bits_estimate_the_size_of_known_spaces() {
    let spaces =
        [("philosophers_ordered", 19_683), ("de_bruijn", 32_768), ("lights_out", 4_096), ("bakery", 12_454)];
    for (name, states) in spaces {
        let system = model(name).interpreter(Vec::new());
        for bits_per_state in [4, 6, 10, 100] {
            let budget = Budget::unlimited();
            let mut bits = Bitstate::new(&budget, states * bits_per_state / 8).expect("there is memory");
            let settings = dive::Settings {
                conditions: Vec::new(),
                stop_at_first: false,
                max_depth: None,
                stack_bytes: 64 << 20,
            };
            let outcome = dive::run(&system, &mut bits, &Room::in_memory(&budget), &settings, &Unobserved);
            let outcome = outcome.expect("there is memory");
            let truth = outcome.visits as f64 / states as f64;
            let estimate = outcome.visits as f64 / bits.estimate(outcome.transitions) as f64;
            eprintln!(
                "{name}, {bits_per_state} bits per state: {truth:.3} visited, {estimate:.3} estimated, {:.3} missed at the end",
                bits.probability_missed()
            );
            assert!(
                bits.probability_missed() > MISSED_GOOD || (estimate - truth).abs() <= 0.1 * truth,
                "{name}"
            );
        }
    }
}

#[test]
fn bits_find_violations_and_prove_nothing() {
    let model = model("lost_update");
    let resources = Resources { data_budget: Some(4 << 20), ..Resources::of_this_machine() };
    let check = |plan: &Plan| {
        let checked = check_bitstate(&model, plan, Stop::Never, &resources, &Clock::new(None));
        checked.unwrap_or_else(|error| panic!("{error}"))
    };
    let violated = check(&plan(&model, "not (Judge.done and counter == 2)"));
    assert_eq!(violated.verdict(), Verdict::Violated);
    assert!(violated.answers[0].trace.as_ref().is_some_and(|trace| trace.minimal == "none"));
    let holds = check(&plan(&model, "counter < 100"));
    assert_eq!(holds.verdict(), Verdict::Unknown);
    assert_eq!(holds.exploration.counts.states, None);
    assert_eq!(holds.exploration.counts.states_estimate, Some(1621));
}

#[test]
fn bits_that_are_nearly_all_set_estimate_nothing() {
    let model = model("hypercube");
    // About as many bits as states.
    let resources = Resources { data_budget: Some(128 << 10), ..Resources::of_this_machine() };
    let checked = check_bitstate(&model, &plan(&model, "1"), Stop::Never, &resources, &Clock::new(None));
    let checked = checked.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(checked.verdict(), Verdict::Unknown);
    assert_eq!(checked.exploration.counts.states_estimate, None);
}
