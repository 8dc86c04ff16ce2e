//! A constrained system is the graph without the states that do not meet the constraint, and what has lost a step there is no deadlock.

use fathom_disk::budget::Budget;
use fathom_model::checked::Checked;
use fathom_search::bodies::stages::run;
use fathom_search::constrained::Constrained;
use fathom_search::engines::ram::RamTable;
use fathom_search::task::watch::Condition;
use fathom_search::task::{Settings, Task, Tuning};
use oracle::bfs::{Limits, explore};
use oracle::forms::random_graph;
use oracle::graph::Graph;
use oracle::random::Random;

#[test]
fn a_constrained_system_is_the_restricted_graph() {
    let mut deadlocks = 0;
    for seed in 0..400 {
        eprintln!("seed {seed}");
        let graph = random_graph(&mut Random::new(seed), 100);
        if graph.shape.labels.is_empty() {
            continue;
        }
        let end = (graph.shape.labels.len() > 1).then_some(1);
        let restricted = explore(&restrict(&graph), Limits::states(usize::MAX)).expect("graphs are small");
        let system = Constrained::new(graph.clone(), 0, end);
        let except = Some(system.excused());
        let system = Checked(system);
        for stuttering in [false, true] {
            let condition = Condition::Deadlock { stuttering, except };
            let expected = restricted.first(|state| is_deadlock(&graph, &state.record, stuttering, end));
            let outcome = search(&system, condition);
            assert_eq!(outcome.checksum, restricted.checksum());
            assert_eq!(outcome.transitions as usize, restricted.transitions());
            let found = outcome.findings.of(0).first().and_then(|finding| finding.record.as_ref());
            assert_eq!(found, expected.map(|state| &restricted.states[state].record));
            deadlocks += usize::from(found.is_some());
        }
    }
    assert!(deadlocks > 20, "{deadlocks}");
}

fn search(
    system: &dyn fathom_model::system::TransitionSystem,
    condition: Condition,
) -> fathom_search::task::Outcome {
    let settings = Settings {
        threads: 1,
        conditions: vec![condition],
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let budget = Budget::unlimited();
    let mut table = RamTable::new(system.shape(), &budget, 1).expect("the budget is unlimited");
    run(Task::new(system, &budget, &settings), &mut table).expect("the budget is unlimited")
}

/// The graph without steps to nodes that do not meet label 0, and without such initial nodes.
fn restrict(graph: &Graph) -> Graph {
    let mut restricted = graph.clone();
    let meets = |node: usize| {
        let labels = graph.nodes[node].labels;
        labels.faulted() || labels.holds(0)
    };
    restricted.starts.retain(|start| start.as_ref().is_err() || start.is_ok_and(meets));
    for node in &mut restricted.nodes {
        node.edges.retain(|edge| meets(edge.target));
    }
    restricted
}

/// Whether nothing can happen in the whole graph, and it is no valid end.
fn is_deadlock(graph: &Graph, record: &[u64], stuttering: bool, end: Option<usize>) -> bool {
    let number = graph.node(record);
    let node = &graph.nodes[number];
    let leaves = node.edges.iter().any(|edge| !stuttering || edge.target != number);
    let excused = node.labels.faulted() || end.is_some_and(|end| node.labels.holds(end));
    !leaves && node.faults.is_empty() && !excused
}
