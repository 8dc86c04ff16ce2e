//! Which digraphs are worth trying? Shapes that are hard for one search or another, and random ones with everything the seam allows.

use fathom_model::expression::FaultKind;
use fathom_model::span::Span;
use fathom_model::steps::{Fault, Labels, Marks, ProcessSet};

use crate::graph::{Edge, Embedding, Graph, Node, WIDTHS, nodes_for};
use crate::random::Random;

/// A family of digraphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Successors drawn at random, about two per node: most nodes are reached, some are deadlocks.
    Sparse,
    /// Successors drawn at random, from none to many per node.
    Random,
    /// `0 -> 1 -> 2 ...`: one state per layer.
    Chain,
    /// Every node to every node, itself too. Quadratic: kept to 200 nodes.
    Complete,
    /// Node 0 to all others, and they back: more steps than a step buffer holds.
    Star,
    /// A square with steps right and down and around its borders: far back edges of exactly one length.
    Torus,
    /// `n -> 2n, 2n + 1` modulo a power of two: no locality.
    DeBruijn,
    /// A chain and back to its beginning.
    Cycle,
    /// Two cycles and one step from the first to the second.
    TwoCycles,
    /// `n -> 2n + 1, 2n + 2`, and deadlocks.
    Tree,
    /// No steps at all.
    Isolated,
    /// Every node to itself and to the next.
    Loops,
}

impl Form {
    /// All families.
    pub const ALL: [Form; 12] = [
        Form::Sparse,
        Form::Random,
        Form::Chain,
        Form::Complete,
        Form::Star,
        Form::Torus,
        Form::DeBruijn,
        Form::Cycle,
        Form::TwoCycles,
        Form::Tree,
        Form::Isolated,
        Form::Loops,
    ];

    /// The successor lists of a member with at most so many nodes (at least 1, and near that number where the family allows it).
    pub fn successors(self, nodes_max: usize, random: &mut Random) -> Vec<Vec<usize>> {
        let nodes = self.node_count(nodes_max);
        let half = nodes / 2;
        let side = nodes.isqrt();
        let list = |node: usize| -> Vec<usize> {
            match self {
                Form::Sparse => (0..random.below(5)).map(|_| random.below(nodes)).collect(),
                Form::Random => {
                    let most = if random.chance(5) { 300 } else { 9 };
                    (0..random.below(most)).map(|_| random.below(nodes)).collect()
                }
                Form::Chain => (node + 1..nodes.min(node + 2)).collect(),
                Form::Complete => (0..nodes).collect(),
                Form::Star => {
                    if node == 0 {
                        (1..nodes).collect()
                    } else {
                        vec![0]
                    }
                }
                Form::Torus => {
                    let (row, column) = (node / side, node % side);
                    vec![row * side + (column + 1) % side, (row + 1) % side * side + column]
                }
                Form::DeBruijn => vec![2 * node % nodes, (2 * node + 1) % nodes],
                Form::Cycle => vec![(node + 1) % nodes],
                Form::TwoCycles if node < half => {
                    let next = (node + 1) % half;
                    if next == 0 { vec![next, half] } else { vec![next] }
                }
                Form::TwoCycles => vec![if node + 1 == nodes { half } else { node + 1 }],
                Form::Tree => (2 * node + 1..nodes.min(2 * node + 3)).collect(),
                Form::Isolated => Vec::new(),
                Form::Loops => (node..nodes.min(node + 2)).collect(),
            }
        };
        (0..nodes).map(list).collect()
    }

    fn node_count(self, nodes_max: usize) -> usize {
        match self {
            Form::Complete => nodes_max.clamp(1, 200),
            Form::Torus => nodes_max.max(1).isqrt().pow(2),
            Form::DeBruijn => 1 << nodes_max.max(1).ilog2(),
            _ => nodes_max.max(1),
        }
    }
}

/// A random system: any family, width and embedding; none, one or many initial states; labels, marks, movers, faults and parallel steps.
/// At most `nodes_max` nodes, and no more than the width allows.
pub fn random_graph(random: &mut Random, nodes_max: usize) -> Graph {
    let width_bits = *random.pick(&WIDTHS);
    let form = *random.pick(&Form::ALL);
    let most = 1 + random.below(nodes_max.max(1));
    formed_graph(random, form, most, width_bits)
}

/// Layers of so many states each, every one of which leads to two of the next layer.
pub fn deep_and_narrow(layers: usize, width: usize) -> Graph {
    let successors: Vec<Vec<usize>> = (0..layers * width)
        .map(|node| {
            let (layer, place) = (node / width, node % width);
            let next = |place: usize| (layer + 1) * width + place % width;
            if layer + 1 < layers { vec![next(place), next(place + 1)] } else { Vec::new() }
        })
        .collect();
    Graph::new(&successors, &(0..width).collect::<Vec<_>>())
}

/// A random system of a given family and width.
pub fn formed_graph(random: &mut Random, form: Form, nodes_max: usize, width_bits: u32) -> Graph {
    let successors = form.successors(nodes_max.min(nodes_for(width_bits)), random);
    let starts = random_starts(random, successors.len());
    let mut graph = Graph::new(&successors, &starts);
    let embedding =
        *random.pick(&[Embedding::Scattered, Embedding::Scattered, Embedding::Low, Embedding::High]);
    graph.embed(width_bits, embedding, random);
    decorate(&mut graph, random);
    graph
}

/// Mostly node 0, sometimes many, sometimes one twice, sometimes none.
fn random_starts(random: &mut Random, nodes: usize) -> Vec<usize> {
    match random.below(10) {
        0 => Vec::new(),
        1..=2 => (0..1 + random.below(40)).map(|_| random.below(nodes)).collect(),
        3 => vec![0, 0],
        _ => vec![0],
    }
}

/// Adds labels, marks, movers, faults and parallel steps. Each is left out of some graphs, and (source, action) still names one step.
pub fn decorate(graph: &mut Graph, random: &mut Random) {
    graph.shape.labels = (0..random.below(5)).map(|number| format!("label{number}")).collect();
    graph.shape.processes = (0..random.below(5)).map(|number| format!("P{number}")).collect();
    graph.shape.mark_count = random.below(4) as u32;
    let parallel = if random.chance(40) { 10 } else { 0 };
    let faulty = if random.chance(40) { 1 + random.below(20) } else { 0 };
    let label_faults = if random.chance(20) { 1 + random.below(10) } else { 0 };
    let rare = *random.pick(&[2, 20, 50]);
    let (labels, processes, marks) =
        (graph.shape.labels.len(), graph.shape.processes.len(), graph.shape.mark_count as usize);
    for node in &mut graph.nodes {
        node.labels = Labels(random_bits(random, labels, 50));
        if labels > 0 && random.chance(label_faults) {
            node.labels.0 |= Labels::FAULT.0;
        }
        if random.chance(parallel) {
            let copies: Vec<Edge> = node.edges.iter().take(3).copied().collect();
            node.edges.extend(copies);
        }
        for edge in &mut node.edges {
            edge.movers = ProcessSet(random_bits(random, processes, 40));
            edge.marks = Marks(random_bits(random, marks, rare));
        }
        if random.chance(faulty) {
            node.faults = (0..1 + random.below(3)).map(|_| random_fault(random)).collect();
            if random.chance(30) {
                node.edges.clear();
            }
        }
        node.enabled = ProcessSet(node.edges.iter().fold(0, |all, edge| all | edge.movers.0));
        number_actions(node, random);
    }
    if faulty > 0 {
        for _ in 0..random.below(3) {
            let place = random.below(graph.starts.len() + 1);
            graph.starts.insert(place, Err(random_fault(random)));
        }
    }
    graph.count_again();
}

/// Gives the steps and faults of a node distinct actions, in any order.
fn number_actions(node: &mut Node, random: &mut Random) {
    let mut actions: Vec<u32> = (0..(node.edges.len() + node.faults.len()) as u32).collect();
    if random.chance(50) {
        random.shuffle(&mut actions);
    }
    let edges = node.edges.iter_mut().map(|edge| &mut edge.action);
    let places = edges.chain(node.faults.iter_mut().map(|fault| &mut fault.action));
    places.zip(actions).for_each(|(place, action)| *place = action);
}

fn random_bits(random: &mut Random, count: usize, percent: usize) -> u64 {
    (0..count).filter(|_| random.chance(percent)).fold(0, |bits, bit| bits | 1 << bit)
}

fn random_fault(random: &mut Random) -> Fault {
    let kinds = [
        FaultKind::Range,
        FaultKind::Index,
        FaultKind::Division,
        FaultKind::Shift,
        FaultKind::Overflow,
        FaultKind::DoubleWrite,
    ];
    let start = random.below(1000) as u32;
    Fault { action: 0, kind: *random.pick(&kinds), span: Span::new(start, start + 5) }
}
