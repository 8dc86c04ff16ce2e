//! The replay takes every true path and refuses every false one: paths of random graphs, whole and corrupted in each possible way, against the
//! explicit graph.

use fathom_model::steps::Labels;
use fathom_search::proof::replay::{self, Claim, Refusal};
use fathom_search::task::Unobserved;
use fathom_search::traces::path::Path;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::random_graph;
use oracle::graph::Graph;
use oracle::random::Random;

/// A path that can be corrupted.
#[derive(Clone, Debug)]
struct Plain {
    start: u32,
    records: Vec<Vec<u64>>,
    actions: Vec<u32>,
}

/// What the replay says of it; what has not even the form of a path is refused.
fn replay(graph: &Graph, plain: &Plain, constraint: Option<usize>, claim: Claim) -> Result<(), Refusal> {
    let Plain { start, records, actions } = plain;
    let path = Path::of(*start, records, actions).filter(|_| actions.len() + 1 == records.len());
    replay::replay(graph, &path.ok_or(Refusal::Empty)?, constraint, claim, &Unobserved)
}

/// The ways to corrupt a path.
const CORRUPTIONS: [&str; 8] = [
    "another state",
    "a bit of a state",
    "another action",
    "two states swapped",
    "a state missing",
    "a state twice",
    "an action missing",
    "another start",
];

#[test]
fn true_paths_pass_and_corrupted_ones_are_refused() {
    let mut refused = [0; CORRUPTIONS.len()];
    for seed in 0..400 {
        eprintln!("seed {seed}");
        let mut random = Random::new(seed);
        let graph = random_graph(&mut random, 60);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        for _ in 0..8.min(judge.states.len()) {
            let path = path_to(&judge, random.below(judge.states.len()));
            replay(&graph, &path, None, Claim::Reachable)
                .unwrap_or_else(|refusal| panic!("{refusal}: {path:?}"));
            for (number, corruption) in CORRUPTIONS.iter().enumerate() {
                let Some(corrupted) = corrupt(&path, corruption, &graph, &mut random) else { continue };
                let expected = is_run(&graph, &corrupted);
                let found = replay(&graph, &corrupted, None, Claim::Reachable).is_ok();
                assert_eq!(found, expected, "{corruption}: {corrupted:?}");
                refused[number] += usize::from(!found);
            }
        }
    }
    for (corruption, refused) in CORRUPTIONS.iter().zip(refused) {
        assert!(refused > 50, "{corruption} was refused {refused} times only");
    }
}

#[test]
fn claims_about_the_last_state_are_tested() {
    let (mut right, mut wrong) = (0, 0);
    for seed in 1000..1200 {
        eprintln!("seed {seed}");
        let mut random = Random::new(seed);
        let graph = random_graph(&mut random, 60);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        for number in 0..judge.states.len() {
            let path = path_to(&judge, number);
            for (claim, expected) in claims(&judge, number, graph.shape.labels.len(), &mut random) {
                let verdict = replay(&graph, &path, None, claim);
                assert!(
                    matches!((expected, verdict), (true, Ok(())) | (false, Err(Refusal::Claim))),
                    "{claim:?}"
                );
                if expected { right += 1 } else { wrong += 1 }
            }
        }
    }
    assert!(right > 100 && wrong > 100, "{right} right, {wrong} wrong");
}

#[test]
fn a_constraint_is_tested_on_every_state() {
    let mut refused = 0;
    for seed in 2000..2200 {
        eprintln!("seed {seed}");
        let mut random = Random::new(seed);
        let graph = random_graph(&mut random, 60);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        if graph.shape.labels.is_empty() {
            continue;
        }
        for number in 0..judge.states.len() {
            let states = judge.path_to(number);
            let meets = |labels: Labels| labels.faulted() || labels.holds(0);
            let first = states.iter().position(|state| !meets(judge.states[*state].labels));
            let found = match replay(&graph, &path_to(&judge, number), Some(0), Claim::Reachable) {
                Ok(()) => None,
                Err(Refusal::Constraint(state)) => Some(state as usize),
                Err(other) => panic!("{other}"),
            };
            assert_eq!(found, first);
            refused += usize::from(found.is_some());
        }
    }
    assert!(refused > 100);
}

fn path_to(judge: &Explored, state: usize) -> Plain {
    let states = judge.path_to(state);
    let mut actions = judge.actions_along(&states);
    let start = actions.remove(0);
    Plain { start, records: judge.records_along(&states), actions }
}

/// The path with one thing changed; none if it is too short for that.
fn corrupt(path: &Plain, corruption: &str, graph: &Graph, random: &mut Random) -> Option<Plain> {
    let mut path = path.clone();
    let length = path.records.len();
    let place = random.below(length);
    match corruption {
        "another state" => path.records[place] = graph.record(random.below(graph.nodes.len())).to_vec(),
        "a bit of a state" => {
            let record = &mut path.records[place];
            let word = random.below(record.len());
            record[word] ^= 1 << random.below(64);
        }
        "another action" => *path.actions.get_mut(place)? ^= 1 + random.below(3) as u32,
        "two states swapped" => path.records.swap(place, (place + 1).min(length - 1)),
        "a state missing" => {
            path.records.remove(place);
            path.actions.pop()?;
        }
        "a state twice" => {
            path.records.insert(place, path.records[place].clone());
            path.actions.insert(place.min(path.actions.len()), random.below(3) as u32);
        }
        "an action missing" => {
            path.actions.pop()?;
        }
        _ => path.start ^= 1 + random.below(3) as u32,
    }
    Some(path)
}

/// Whether a path is a run, by the nodes and edges of the graph.
fn is_run(graph: &Graph, path: &Plain) -> bool {
    let nodes: Option<Vec<usize>> = path
        .records
        .iter()
        .map(|record| (0..graph.nodes.len()).find(|node| graph.record(*node) == record))
        .collect();
    let Some(nodes) = nodes.filter(|nodes| nodes.len() == path.actions.len() + 1) else { return false };
    let starts = graph.starts.get(path.start as usize).is_some_and(|start| *start == Ok(nodes[0]));
    let follows = |(pair, action): (&[usize], &u32)| {
        graph.nodes[pair[0]].edges.iter().any(|edge| edge.target == pair[1] && edge.action == *action)
    };
    starts && nodes.windows(2).zip(&path.actions).all(follows)
}

/// Claims about a state, and whether they are true.
fn claims(judge: &Explored, number: usize, labels: usize, random: &mut Random) -> Vec<(Claim, bool)> {
    let state = &judge.states[number];
    let stays = state.steps.iter().all(|step| step.target == number);
    let quiet = state.faults.is_empty();
    let mut claims = vec![
        (Claim::Deadlock { stuttering: false, except: None }, quiet && state.steps.is_empty()),
        (Claim::Deadlock { stuttering: true, except: None }, quiet && stays),
        (Claim::LabelFault, state.labels.faulted()),
    ];
    if labels > 0 {
        let label = random.below(labels);
        let (holds, faulted) = (state.labels.holds(label), state.labels.faulted());
        claims.push((Claim::Label { label, value: true }, holds && !faulted));
        claims.push((Claim::Label { label, value: false }, !holds && !faulted));
        let excused = holds || faulted;
        let except = Some(label);
        claims.push((Claim::Deadlock { stuttering: true, except }, quiet && stays && !excused));
    }
    for other in judge.states.iter().flat_map(|state| &state.faults).take(3) {
        claims.push((Claim::StepFault(*other), state.faults.contains(other)));
    }
    claims
}
