//! Is the judge right? Graphs with answers known by hand, all tiny graphs, and random ones against slower definitions.

use fathom_model::checked::Checked;
use fathom_model::expression::FaultKind;
use fathom_model::record::Checksum;
use fathom_model::span::Span;
use fathom_model::steps::{Fault, Labels, Marks};
use oracle::bfs::{Explored, Limits, TooLarge, explore};
use oracle::forms::{Form, formed_graph, random_graph};
use oracle::graph::{Embedding, Graph, WIDTHS};
use oracle::random::Random;
use oracle::tarjan::{accepting_component, components, components_of};

const LIMITS: Limits = Limits { states: 100_000, transitions: 1_000_000 };

fn explored(graph: &Graph) -> Explored {
    explore(graph, LIMITS).expect("small")
}

fn plain(form: Form, nodes: usize) -> Explored {
    let successors = form.successors(nodes, &mut Random::new(0));
    explored(&Graph::new(&successors, &[0]))
}

const FAULT: Fault = Fault { action: 0, kind: FaultKind::Range, span: Span { start: 0, end: 0 } };

#[test]
fn no_start_no_state() {
    let explored = explored(&Graph::new(&[vec![0]], &[]));
    assert_eq!((explored.states.len(), explored.transitions(), explored.depth()), (0, 0, None));
    assert_eq!((explored.locality(), explored.checksum()), (None, Checksum::default()));
    assert_eq!((explored.first_deadlock(), components(&explored).count), (None, 0));
    assert_eq!(accepting_component(&explored, 0), None);
}

#[test]
fn a_chain_has_one_state_per_layer_and_one_deadlock() {
    let chain = plain(Form::Chain, 1000);
    assert_eq!((chain.states.len(), chain.transitions(), chain.depth()), (1000, 999, Some(999)));
    assert_eq!((chain.deadlocks(), chain.locality(), components(&chain).count), (1, Some(0), 1000));
    assert_eq!(chain.layers, vec![1; 1000]);
    let last = chain.first_deadlock().unwrap();
    assert_eq!(chain.path_to(last), (0..1000).collect::<Vec<_>>());
    assert_eq!(chain.actions_along(&chain.path_to(last)), vec![0; 1000]);
}

#[test]
fn a_cycle_is_one_component_with_one_long_step_back() {
    let cycle = plain(Form::Cycle, 100);
    assert_eq!((cycle.transitions(), cycle.depth(), cycle.locality()), (100, Some(99), Some(100)));
    assert_eq!((cycle.deadlocks(), components(&cycle).count), (0, 1));
    assert_eq!(accepting_component(&cycle, 0), Some(0));
    assert_eq!(accepting_component(&cycle, 1), None);
}

#[test]
fn a_torus_has_the_layers_of_its_diagonals() {
    let torus = plain(Form::Torus, 100);
    assert_eq!((torus.states.len(), torus.transitions(), torus.depth()), (100, 200, Some(18)));
    assert_eq!(torus.layers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!((torus.locality(), components(&torus).count), (Some(10), 1));
}

#[test]
fn the_other_forms_have_their_known_figures() {
    let complete = plain(Form::Complete, 50);
    assert_eq!((complete.transitions(), complete.layers.clone()), (2500, vec![1, 49]));
    assert_eq!((complete.locality(), components(&complete).count), (Some(2), 1));
    let star = plain(Form::Star, 500);
    assert_eq!((star.transitions(), star.layers.clone(), components(&star).count), (998, vec![1, 499], 1));
    let bruijn = plain(Form::DeBruijn, 1024);
    assert_eq!((bruijn.transitions(), bruijn.depth(), components(&bruijn).count), (2048, Some(10), 1));
    assert_eq!(bruijn.layers, [1, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]);
    let two = plain(Form::TwoCycles, 20);
    assert_eq!((two.transitions(), two.depth(), components(&two).count), (21, Some(19), 2));
    let tree = plain(Form::Tree, 127);
    assert_eq!((tree.transitions(), tree.depth(), tree.deadlocks()), (126, Some(6), 64));
    let isolated = plain(Form::Isolated, 9);
    assert_eq!((isolated.states.len(), isolated.transitions(), isolated.deadlocks()), (1, 0, 1));
    let loops = plain(Form::Loops, 30);
    assert_eq!((loops.transitions(), loops.locality(), components(&loops).count), (59, Some(1), 30));
}

#[test]
fn parallel_steps_count_each_and_states_once() {
    let explored = explored(&Graph::new(&[vec![1, 1, 1], vec![1]], &[0, 0, 1]));
    assert_eq!((explored.states.len(), explored.transitions(), explored.depth()), (2, 4, Some(0)));
    assert_eq!(explored.starts, [(0, 0), (1, 0), (2, 1)]);
}

#[test]
fn the_checksum_is_over_records_and_knows_no_numbering() {
    let mut graph = Graph::new(&[vec![1], vec![2], vec![0]], &[0]);
    graph.embed(130, Embedding::Scattered, &mut Random::new(5));
    let mut expected = Checksum::default();
    (0..3).for_each(|node| expected.add(graph.record(node)));
    assert_eq!(explored(&graph).checksum(), expected);
}

#[test]
fn faults_are_no_deadlocks_and_are_counted_apart() {
    let mut graph = Graph::new(&[vec![1, 2], vec![], vec![]], &[0]);
    graph.nodes[1].faults = vec![FAULT, Fault { action: 1, ..FAULT }];
    graph.starts.push(Err(FAULT));
    graph.count_again();
    let explored = explored(&graph);
    assert_eq!((explored.deadlocks(), explored.step_faults(), explored.faults()), (1, 2, 3));
    assert_eq!((explored.first_deadlock(), explored.first_fault()), (Some(2), Some(1)));
    assert_eq!(explored.start_faults, [Fault { action: 1, ..FAULT }]);
    assert_eq!(explored.transitions(), 2);
}

#[test]
fn the_least_record_of_the_first_layer_is_reported_with_the_least_parents() {
    // Two layers below the start, 4 and 5 are violating; 4 has the parents 2 and 3, of which 2 comes later in the steps.
    let mut graph =
        Graph::new(&[vec![3, 2, 1], vec![5], vec![4, 4], vec![5, 4], vec![], vec![6], vec![]], &[0]);
    graph.shape.labels = vec!["safe".into()];
    for node in [0, 1, 2, 3] {
        graph.nodes[node].labels = Labels(1);
    }
    graph.nodes[5].labels = Labels(1);
    let mut judged = explored(&graph);
    assert_eq!(judged.first_label(0, false), Some(4));
    assert_eq!(judged.path_to(4), [0, 2, 4]);
    assert_eq!(judged.actions_along(&[0, 2, 4]), [0, 1, 0]);
    assert_eq!(judged.records_along(&[0, 2, 4]), [[0], [2], [4]]);
    graph.nodes[4].labels = Labels::FAULT;
    judged = explored(&graph);
    assert_eq!((judged.first_label(0, false), judged.first_label_fault()), (Some(6), Some(4)));
    assert_eq!((judged.first_label(0, true), judged.path_to(6)), (Some(0), vec![0, 1, 5, 6]));
}

#[test]
fn limits_are_kept_exactly() {
    let graph = Graph::new(&Form::Complete.successors(10, &mut Random::new(0)), &[0]);
    let run = |states, transitions| explore(&graph, Limits { states, transitions }).map(|it| it.states.len());
    assert_eq!(run(10, 100), Ok(10));
    assert_eq!(run(9, 100), Err(TooLarge));
    assert_eq!(run(10, 99), Err(TooLarge));
    assert_eq!(explore(&graph, Limits::states(10)).map(|it| it.transitions()), Ok(100));
}

/// A lasso: stem 0 1 2, cycle 3 4 5 with marks on two different steps of it, and a third mark on the stem.
#[test]
fn marks_count_where_the_cycle_passes_them() {
    let mut graph = Graph::new(&[vec![1], vec![2], vec![3], vec![4], vec![5], vec![3]], &[0]);
    graph.shape.mark_count = 3;
    graph.nodes[3].edges[0].marks = Marks(1);
    graph.nodes[5].edges[0].marks = Marks(2);
    graph.nodes[2].edges[0].marks = Marks(4);
    let lasso = explored(&graph);
    assert_eq!(components(&lasso).count, 4);
    assert!(accepting_component(&lasso, 0).is_some());
    assert!(accepting_component(&lasso, 2).is_some());
    assert_eq!(accepting_component(&lasso, 3), None);
}

/// Which nodes reach which in at least one step: Warshall's closure.
fn reaches(successors: &[Vec<usize>]) -> Vec<Vec<bool>> {
    let count = successors.len();
    let mut reaches = vec![vec![false; count]; count];
    for (source, list) in successors.iter().enumerate() {
        list.iter().for_each(|target| reaches[source][*target] = true);
    }
    for middle in 0..count {
        for source in 0..count {
            for target in 0..count {
                reaches[source][target] |= reaches[source][middle] && reaches[middle][target];
            }
        }
    }
    reaches
}

fn components_are_right(successors: &[Vec<usize>]) {
    let found = components_of(successors);
    let reaches = reaches(successors);
    for (source, row) in reaches.iter().enumerate() {
        for (target, reached) in row.iter().enumerate() {
            let together = source == target || *reached && reaches[target][source];
            let (left, right) = (found.component_of[source], found.component_of[target]);
            assert_eq!(left == right, together, "{successors:?}: {source} {target}");
            assert!(!reached || left >= right, "reverse topological: {successors:?}");
        }
    }
    let used: std::collections::BTreeSet<usize> = found.component_of.iter().copied().collect();
    assert_eq!(used, (0..found.count).collect());
}

fn bits_to_graph(nodes: usize, bits: usize) -> Vec<Vec<usize>> {
    (0..nodes)
        .map(|source| (0..nodes).filter(|target| bits >> (source * nodes + target) & 1 == 1).collect())
        .collect()
}

#[test]
fn components_of_all_graphs_up_to_four_nodes_are_right() {
    for nodes in 0..=4 {
        for bits in 0..1 << (nodes * nodes) {
            components_are_right(&bits_to_graph(nodes, bits));
        }
    }
}

#[test]
fn components_of_random_graphs_are_right() {
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let form = *random.pick(&Form::ALL);
        let nodes = 1 + random.below(60);
        components_are_right(&form.successors(nodes, &mut random));
    }
}

/// Distances by relaxing every edge until nothing changes.
fn distances(graph: &Graph) -> Vec<Option<usize>> {
    let mut distances = vec![None; graph.nodes.len()];
    graph.starts.iter().flatten().for_each(|node| distances[*node] = Some(0));
    loop {
        let before = distances.clone();
        for (source, node) in graph.nodes.iter().enumerate() {
            let Some(distance) = distances[source] else { continue };
            for edge in &node.edges {
                let known = distances[edge.target].unwrap_or(usize::MAX);
                distances[edge.target] = Some(known.min(distance + 1));
            }
        }
        if before == distances {
            return distances;
        }
    }
}

#[test]
fn random_graphs_have_the_distances_and_counts_of_their_definition() {
    for seed in 0..400 {
        let graph = random_graph(&mut Random::new(seed), 150);
        let judged = explore(&Checked(graph.clone()), LIMITS).expect("small");
        let distances = distances(&graph);
        let reached: Vec<usize> = (0..graph.nodes.len()).filter(|node| distances[*node].is_some()).collect();
        assert_eq!(judged.states.len(), reached.len(), "seed {seed}");
        assert_eq!(judged.layers.iter().sum::<usize>(), reached.len(), "seed {seed}");
        for (number, state) in judged.states.iter().enumerate() {
            let node = graph.node(&state.record);
            assert_eq!(Some(state.layer), distances[node], "seed {seed}");
            assert_eq!(state.steps.len(), graph.nodes[node].edges.len(), "seed {seed}");
            assert_eq!(state.faults, graph.nodes[node].faults, "seed {seed}");
            assert_eq!(state.labels, graph.nodes[node].labels, "seed {seed}");
            for (step, edge) in state.steps.iter().zip(&graph.nodes[node].edges) {
                assert_eq!(judged.states[step.target].record, graph.record(edge.target), "seed {seed}");
                assert_eq!((step.action, step.marks), (edge.action, edge.marks), "seed {seed}");
            }
            assert_eq!(judged.number_of(&state.record), Some(number), "seed {seed}");
        }
        let sorted = judged
            .states
            .is_sorted_by(|left, right| (left.layer, &left.record) < (right.layer, &right.record));
        assert!(sorted, "seed {seed}");
        let sum = |count: fn(&oracle::graph::Node) -> usize| {
            reached.iter().map(|node| count(&graph.nodes[*node])).sum::<usize>()
        };
        assert_eq!(judged.transitions(), sum(|node| node.edges.len()), "seed {seed}");
        assert_eq!(judged.step_faults(), sum(|node| node.faults.len()), "seed {seed}");
        let quiet = sum(|node| usize::from(node.edges.is_empty() && node.faults.is_empty()));
        assert_eq!(judged.deadlocks(), quiet, "seed {seed}");
        let back = reached.iter().flat_map(|source| {
            let distances = &distances;
            graph.nodes[*source]
                .edges
                .iter()
                .map(move |edge| distances[*source].unwrap() + 1 - distances[edge.target].unwrap())
        });
        assert_eq!(judged.locality(), back.max(), "seed {seed}");
    }
}

#[test]
fn paths_are_paths_with_the_least_parents() {
    for seed in 0..200 {
        let judged = explored(&random_graph(&mut Random::new(seed), 60));
        for number in 0..judged.states.len() {
            let path = judged.path_to(number);
            assert_eq!(path.len(), judged.states[number].layer + 1, "seed {seed}");
            for pair in path.windows(2) {
                let parents = judged.states.iter().enumerate().filter(|(_, state)| {
                    state.layer + 1 == judged.states[pair[1]].layer
                        && state.steps.iter().any(|step| step.target == pair[1])
                });
                let least = parents.min_by(|left, right| left.1.record.cmp(&right.1.record)).unwrap().0;
                assert_eq!(pair[0], least, "seed {seed}");
            }
        }
    }
}

/// Every pair (state, set of marks seen since) as a graph of its own: an accepting cycle is a state reached from itself with all marks.
#[test]
fn accepting_components_are_where_a_closed_walk_sees_all_marks() {
    let (mut accepting, mut empty) = (0, 0);
    for seed in 0..400 {
        let graph = random_graph(&mut Random::new(seed), 12);
        let judged = explored(&graph);
        let marks = graph.shape.mark_count;
        let sets = 1usize << marks;
        let count = judged.states.len();
        let mut product = vec![Vec::new(); count * sets];
        for (source, state) in judged.states.iter().enumerate() {
            for set in 0..sets {
                let target = |step: &oracle::bfs::Step| step.target * sets + (set | step.marks.0 as usize);
                product[source * sets + set] = state.steps.iter().map(target).collect();
            }
        }
        let reaches = reaches(&product);
        let expected = (0..count).any(|state| reaches[state * sets][state * sets + sets - 1]);
        assert_eq!(accepting_component(&judged, marks).is_some(), expected, "seed {seed}");
        if expected { accepting += 1 } else { empty += 1 }
    }
    assert!(accepting > 50 && empty > 50, "both verdicts occur: {accepting} {empty}");
}

#[test]
fn every_form_fits_every_width() {
    for form in Form::ALL {
        for width in WIDTHS {
            let mut random = Random::new(u64::from(width));
            let graph = formed_graph(&mut random, form, 40, width);
            assert_eq!(graph.shape.width_bits, width);
            let bits: u32 = graph.shape.components.iter().map(|component| component.element_bits).sum();
            assert_eq!(bits, width, "the components cover the record");
            explore(&Checked(graph), LIMITS).expect("small");
        }
    }
}
