//! Are lassos and paths that are shown as short as they can be? Random graphs, against an exhaustive search that shares no code with the one that shortens.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

use std::collections::{HashMap, VecDeque};

use fathom_disk::budget::Budget;
use fathom_model::steps::{Marks, ProcessSet};
use fathom_search::task::Observer;
use fathom_search::traces::lasso::{self, Lasso};
use fathom_search::traces::path::{PathBuilder, Room};
use fathom_search::traces::shorten::{shortened, shortened_path};
use oracle::graph::{Edge, Embedding, Graph};
use oracle::random::Random;

struct Nobody;

impl Observer for Nobody {}

fn random_graph(random: &mut Random, nodes: usize, marks: u32) -> Graph {
    let mut successors = vec![Vec::new(); nodes];
    for list in &mut successors {
        let count = 1 + random.below(3);
        list.extend((0..count).map(|_| random.below(nodes)));
    }
    let mut graph = Graph::new(&successors, &[random.below(nodes)]);
    for node in &mut graph.nodes {
        for edge in &mut node.edges {
            let met = (0..marks).filter(|_| random.chance(15)).fold(0, |all, mark| all | 1 << mark);
            *edge = Edge { marks: Marks(met), movers: ProcessSet::default(), ..*edge };
        }
    }
    graph.embed(70, Embedding::Scattered, random);
    graph.count_again();
    graph.shape.mark_count = marks;
    graph
}

/// A lasso as somebody finds it who walks at random, and how many states it has; none if the walk meets none.
fn wandering(graph: &Graph, marks: u64, random: &mut Random, room: &Room) -> Option<Lasso> {
    let mut node = *graph.starts[0].as_ref().unwrap();
    let mut walk = Vec::new();
    for _ in 0..400 {
        let edge = *random.pick(&graph.nodes[node].edges);
        walk.push((node, edge));
        node = edge.target;
    }
    let closes = |from: usize, to: usize| {
        let met = walk[from..to].iter().fold(0, |all, (_, edge)| all | edge.marks.0);
        walk[from].0 == walk[to].0 && met & marks == marks
    };
    let (from, to) = (100..300)
        .flat_map(|from| (from + 1..400).map(move |to| (from, to)))
        .find(|(from, to)| closes(*from, *to))?;
    let mut path = PathBuilder::new(room, graph.shape.words()).unwrap();
    for (node, edge) in &walk[..to] {
        path.push(graph.record(*node), edge.action).unwrap();
    }
    Some(Lasso { path: path.finish(0).unwrap(), cycle_start: from as u64 })
}

/// The fewest states of an accepting lasso, by trying every entry with every set of marks.
fn fewest(graph: &Graph, marks: u64) -> usize {
    let distances = |from: (usize, u64), marked: bool| {
        let mut far = HashMap::from([(from, 0)]);
        let mut back = None;
        let mut waiting = VecDeque::from([from]);
        while let Some((node, met)) = waiting.pop_front() {
            let next = far[&(node, met)] + 1;
            for edge in &graph.nodes[node].edges {
                let met = if marked { met | edge.marks.0 & marks } else { 0 };
                if marked && edge.target == from.0 && met == marks && back.is_none() {
                    back = Some(next);
                }
                far.entry((edge.target, met)).or_insert_with(|| {
                    waiting.push_back((edge.target, met));
                    next
                });
            }
        }
        (far, back)
    };
    let (depths, _) = distances((*graph.starts[0].as_ref().unwrap(), 0), false);
    let lengths =
        depths.iter().filter_map(|((entry, _), depth)| Some(depth + distances((*entry, 0), true).1?));
    lengths.min().expect("there is a lasso")
}

/// A fresh system runs it, and its cycle meets all marks.
fn is_accepting(graph: &Graph, lasso: &Lasso, marks: u64) -> bool {
    lasso::replay(graph, lasso, None, &Nobody, &mut |_, _| {}).expect("it is a run");
    let (records, actions) = (lasso.path.records().unwrap(), lasso.path.actions().unwrap());
    let cycle = lasso.cycle_start as usize..records.len();
    let met = cycle.fold(0, |all, state| {
        let next = records.get(state + 1).unwrap_or(&records[lasso.cycle_start as usize]);
        let edges = &graph.nodes[graph.node(&records[state])].edges;
        let edge = edges.iter().find(|it| it.action == actions[state] && graph.record(it.target) == next);
        all | edge.expect("there is such a step").marks.0
    });
    met & marks == marks
}

#[test]
fn lassos_become_as_short_as_they_can_be() {
    let mut random = Random::new(24);
    let room = Room::in_memory(&Budget::new(16 << 20));
    let mut ratios = Vec::new();
    for round in 0..600 {
        let (count, nodes) = (round % 4, 3 + random.below(60));
        let marks = (1u64 << count) - 1;
        let graph = random_graph(&mut random, nodes, count as u32);
        let Some(found) = wandering(&graph, marks, &mut random, &room) else { continue };
        let shorter = shortened(&graph, marks, &found, &Nobody).unwrap().expect("it has a detour");
        assert!(is_accepting(&graph, &shorter, marks), "round {round}");
        let (length, fewest) = (shorter.path.len() as usize, fewest(&graph, marks));
        assert!(length >= fewest && length < found.path.len() as usize, "round {round}");
        assert!(count > 1 || length == fewest, "round {round}: {length} states where {fewest} will do");
        ratios.push(length as f64 / fewest as f64);
    }
    ratios.sort_by(f64::total_cmp);
    assert!(ratios.len() > 300, "{} rounds had a lasso", ratios.len());
    assert!(ratios[ratios.len() / 2] <= 1.2, "the median is {}", ratios[ratios.len() / 2]);
}

/// Where there is no memory for a graph the lasso stays as it is, and nothing fails.
#[test]
fn without_memory_a_lasso_stays_as_it_is() {
    let mut random = Random::new(7);
    let graph = random_graph(&mut random, 50, 1);
    for bytes in [0, 1 << 10, 1 << 13, 1 << 16, 1 << 20] {
        let budget = Budget::new((64 << 10) + bytes);
        let room = Room::in_memory(&budget);
        let found = wandering(&graph, 1, &mut random, &room).expect("there is one");
        let held = budget.charge("test", budget.free() - bytes.min(budget.free())).unwrap();
        let used = budget.used();
        if let Some(shorter) = shortened(&graph, 1, &found, &Nobody).unwrap() {
            drop(held);
            assert!(is_accepting(&graph, &shorter, 1), "{bytes} bytes");
        } else {
            assert!(bytes < 1 << 20 && budget.used() == used, "{bytes} bytes");
        }
    }
}

#[test]
fn paths_become_as_short_as_they_can_be() {
    let mut random = Random::new(26);
    let room = Room::in_memory(&Budget::new(16 << 20));
    for round in 0..300 {
        let nodes = 3 + random.below(60);
        let graph = random_graph(&mut random, nodes, 0);
        let start = *graph.starts[0].as_ref().unwrap();
        let (mut node, mut path) = (start, PathBuilder::new(&room, graph.shape.words()).unwrap());
        path.arrive(graph.record(node), 0).unwrap();
        for _ in 0..200 {
            let edge = *random.pick(&graph.nodes[node].edges);
            node = edge.target;
            path.arrive(graph.record(node), edge.action).unwrap();
        }
        let path = path.finish(0).unwrap();
        let shorter = shortened_path(&graph, &path, &Nobody).unwrap().expect("it has a detour");
        let (records, actions) = (shorter.records().unwrap(), shorter.actions().unwrap());
        assert_eq!(records[0], graph.record(start), "round {round}");
        assert_eq!(records[records.len() - 1], graph.record(node), "round {round}");
        for (step, pair) in records.windows(2).enumerate() {
            let edges = &graph.nodes[graph.node(&pair[0])].edges;
            let is_step = |it: &Edge| it.action == actions[step] && graph.record(it.target) == pair[1];
            assert!(edges.iter().any(is_step), "round {round}, step {step}");
        }
        let mut far = HashMap::from([(start, 0)]);
        let mut waiting = VecDeque::from([start]);
        while let Some(next) = waiting.pop_front() {
            for edge in &graph.nodes[next].edges {
                if !far.contains_key(&edge.target) {
                    far.insert(edge.target, far[&next] + 1);
                    waiting.push_back(edge.target);
                }
            }
        }
        assert_eq!(records.len() - 1, far[&node], "round {round}");
    }
}
