//! Measures that are chosen from steps go back as seldom as they say, and components are those of the judge.

use std::collections::BTreeMap;

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::auto;
use fathom_search::engines::engine::{Ask, Chosen, FilePlace, Run};
use fathom_search::engines::sweep;
use fathom_search::graph::all_edges::AllEdges;
use fathom_search::graph::components::components;
use fathom_search::progress::choose::{Choice, Edges, LEVELS};
use fathom_search::progress::sample::Sample;
use fathom_search::task::{Ending, Settings, Task, Tuning, Unobserved};
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{deep_and_narrow, random_graph};
use oracle::graph::Graph;
use oracle::random::Random;
use oracle::tarjan;

fn judged(random: &mut Random, nodes: usize) -> (Graph, Explored) {
    let graph = random_graph(random, nodes);
    let judge = explore(&graph, Limits::states(10_000)).expect("it is small");
    (graph, judge)
}

#[test]
fn components_are_those_of_the_judge() {
    let mut random = Random::new(91);
    for _ in 0..60 {
        let (graph, judge) = judged(&mut random, 150);
        let budget = Budget::new(8 << 20);
        let all = AllEdges::of(&graph, &budget, 1, &Unobserved).expect("memory suffices");
        let found = components(&graph, &all, &budget, &Unobserved).expect("memory suffices");
        let expected = tarjan::components(&judge);
        let mut sizes: BTreeMap<usize, u64> = BTreeMap::new();
        expected.component_of.iter().for_each(|component| *sizes.entry(*component).or_default() += 1);
        let mut by_size: BTreeMap<u64, u64> = BTreeMap::new();
        sizes.values().for_each(|size| *by_size.entry(*size).or_default() += 1);
        assert_eq!(found.sizes, by_size);
        assert_eq!(found.states, judge.states.len() as u64);
        let loops = judge.states.iter().enumerate();
        let loops = loops.filter(|(number, state)| state.steps.iter().any(|step| step.target == *number));
        assert_eq!(found.loops, loops.count() as u64);
    }
}

#[test]
fn what_is_chosen_from_all_steps_goes_back_no_more_often_than_is_allowed() {
    let mut random = Random::new(92);
    let mut useful = 0;
    for _ in 0..40 {
        let (graph, judge) = judged(&mut random, 120);
        let budget = Budget::new(8 << 20);
        let all = AllEdges::of(&graph, &budget, 2, &Unobserved).expect("memory suffices");
        let mut steps = 0;
        all.visit(&mut |_, _| steps += 1).expect("memory suffices");
        assert_eq!(steps, judge.transitions());
        let choice = Choice { shape: graph.shape(), edges: &all, states: all.states(), budget: &budget };
        for level in LEVELS {
            let measure = choice.measure(level, 0.02).expect("memory suffices");
            let forecast = choice.forecast(&measure).expect("memory suffices");
            let value = |number: usize| measure.value(&judge.states[number].record);
            let pairs = judge.states.iter().enumerate();
            let pairs =
                pairs.flat_map(|(from, state)| state.steps.iter().map(move |step| (from, step.target)));
            let back = pairs.filter(|(from, to)| value(*to) < value(*from)).count();
            assert_eq!(forecast.regress, back as u64, "{measure}");
            assert!(back * 1000 <= steps * level as usize, "{back} of {steps} at {level}");
            useful += usize::from(!measure.is_empty());
        }
    }
    assert!(useful > 30, "{useful} measures");
}

#[test]
fn a_sample_has_steps_of_the_system() {
    let mut random = Random::new(93);
    for bytes in [4 << 10, 64 << 10, 4 << 20] {
        let (graph, judge) = judged(&mut random, 200);
        let budget = Budget::new(bytes);
        let Ok(sample) = Sample::of(&graph, &budget, &Unobserved, 1000) else {
            assert_eq!(bytes, 4 << 10, "only the least memory may not suffice");
            continue;
        };
        sample
            .visit(&mut |source, target| {
                let [from, to] =
                    [source, target].map(|record| judge.number_of(record).expect("it is reached"));
                assert!(judge.states[from].steps.iter().any(|step| step.target == to));
            })
            .expect("it is in memory");
        assert!(sample.steps() <= 1000);
    }
}

#[test]
fn by_itself_a_deep_and_narrow_search_goes_by_progress() {
    let graph = deep_and_narrow(1600, 150);
    let settings = Settings {
        threads: 1,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let volume = Volume::in_memory(4096);
    let place = FilePlace {
        volume: &|| Ok(volume.clone()),
        tag: [0; 16],
        lasts: false,
        limit: None,
        commit_every: std::time::Duration::MAX,
        keep_layers: true,
        count: true,
    };
    let budget = Budget::new(512 << 10);
    let chosen = Chosen::plain(&auto::ENGINE);
    let Run::Chooses { states: run, .. } = auto::ENGINE.run else { panic!("it chooses") };
    let task = Task::new(&graph, &budget, &settings);
    let answer = run(&Ask { task, place: &place, chosen: &chosen, measure: None }).expect("memory suffices");
    assert_eq!(answer.engine, sweep::ENGINE.name);
    assert_eq!(answer.outcome.ending, Ending::Complete);
    assert_eq!(answer.outcome.states(), Some(1600 * 150));
    assert_eq!(answer.outcome.transitions, 1599 * 150 * 2);
    let measure = answer.measure.expect("it is told");
    assert!(!measure.is_empty());
    let judge = explore(&graph, Limits::states(1_000_000)).expect("it is small");
    assert_eq!(answer.outcome.checksum, judge.checksum());
}
