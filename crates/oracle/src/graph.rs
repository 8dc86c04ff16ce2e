//! How is a given digraph a system?
//!
//! Nodes are numbers; each has a record of its own, chosen by an [`Embedding`]. A record that is no node's makes the system panic: no search
//! that reads back what it wrote can ask for one.

use std::collections::{HashMap, HashSet};

use fathom_model::expression::Domain;
use fathom_model::record::{Records, words_for, write_bits};
use fathom_model::shape::{Component, ComponentKind, Shape};
use fathom_model::span::Span;
use fathom_model::steps::{Fault, Full, Labels, Marks, ProcessSet, Steps};
use fathom_model::system::{Description, Move, Query, TransitionSystem};

use crate::random::Random;

/// The record widths worth trying: around every word boundary up to 130 bits, and some wide ones.
pub const WIDTHS: [u32; 20] =
    [1, 2, 3, 7, 8, 16, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 130, 200, 1000];

/// A digraph as a system.
#[derive(Clone, Debug)]
pub struct Graph {
    /// What a search knows. Whoever changes the nodes keeps the counts here in step; see [`Graph::count_again`].
    pub shape: Shape,
    /// The nodes by number.
    pub nodes: Vec<Node>,
    /// The initial nodes and the starts that fault; the place in the list is the number of the start.
    pub starts: Vec<Result<usize, Fault>>,
    records: Vec<Vec<u64>>,
    numbers: HashMap<Vec<u64>, usize>,
}

/// A node and what leaves it.
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// Its steps.
    pub edges: Vec<Edge>,
    /// Its faults.
    pub faults: Vec<Fault>,
    /// Its labels.
    pub labels: Labels,
    /// Who can move.
    pub enabled: ProcessSet,
}

/// A step to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Where to.
    pub target: usize,
    /// How.
    pub action: u32,
    /// Who moves.
    pub movers: ProcessSet,
    /// Which acceptance sets it belongs to.
    pub marks: Marks,
}

/// How nodes become records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Embedding {
    /// The number in the lowest bits: records share all but their last bits.
    Low,
    /// The number in the highest bits: records differ in their first bits alone.
    High,
    /// All over the width in no order; often with the least and the greatest record among them.
    Scattered,
}

impl Graph {
    /// A graph of plain steps by its successor lists, the records as narrow as they can be. Step `i` of a node is action `i`.
    pub fn new(successors: &[Vec<usize>], starts: &[usize]) -> Graph {
        let edge = |(action, target): (usize, &usize)| Edge {
            target: *target,
            action: action as u32,
            movers: ProcessSet::default(),
            marks: Marks::default(),
        };
        let node = |list: &Vec<usize>| Node {
            edges: list.iter().enumerate().map(edge).collect(),
            ..Node::default()
        };
        let mut graph = Graph {
            shape: Shape::default(),
            nodes: successors.iter().map(node).collect(),
            starts: starts.iter().copied().map(Ok).collect(),
            records: Vec::new(),
            numbers: HashMap::new(),
        };
        let width_bits = bits_for(graph.nodes.len());
        graph.embed(width_bits, Embedding::Low, &mut Random::new(0));
        graph.count_again();
        graph
    }

    /// Gives the nodes other records. There must be enough of that width: see [`nodes_for`].
    pub fn embed(&mut self, width_bits: u32, embedding: Embedding, random: &mut Random) {
        let count = self.nodes.len();
        assert!(count <= nodes_for(width_bits), "{count} nodes do not fit {width_bits} bits");
        self.records = match embedding {
            Embedding::Low => (0..count).map(|node| placed(width_bits, 0, node)).collect(),
            Embedding::High => {
                let low = width_bits - bits_for(count).min(width_bits);
                (0..count).map(|node| placed(width_bits, low, node)).collect()
            }
            Embedding::Scattered => scattered(width_bits, count, random),
        };
        self.numbers =
            self.records.iter().enumerate().map(|(number, record)| (record.clone(), number)).collect();
        assert_eq!(self.numbers.len(), count, "every node has a record of its own");
        self.shape.width_bits = width_bits;
        self.shape.components = parts(width_bits, random);
    }

    /// Sets the shape's number of actions after a change of the nodes.
    pub fn count_again(&mut self) {
        let of_node = |node: &Node| {
            let edges = node.edges.iter().map(|edge| edge.action);
            edges.chain(node.faults.iter().map(|fault| fault.action)).max()
        };
        self.shape.action_count = self.nodes.iter().filter_map(of_node).max().map_or(0, |most| most + 1);
    }

    /// The record of a node.
    pub fn record(&self, node: usize) -> &[u64] {
        &self.records[node]
    }

    /// The node of a record.
    pub fn node(&self, record: &[u64]) -> usize {
        *self.numbers.get(record).unwrap_or_else(|| panic!("no node has the record {record:x?}"))
    }

    fn push_initial(&self, out: &mut Steps) -> Result<(), Full> {
        for (number, start) in self.starts.iter().enumerate() {
            let number = number as u32;
            match start {
                Ok(node) => {
                    out.push(self.record(*node), number, ProcessSet::default(), Marks::default())?;
                }
                Err(fault) => out.push_fault(Fault { action: number, ..*fault })?,
            }
        }
        out.finish_source(Labels::default(), ProcessSet::default())
    }

    fn push_steps(&self, record: &[u64], out: &mut Steps) -> Result<(), Full> {
        let node = &self.nodes[self.node(record)];
        for edge in &node.edges {
            out.push(self.record(edge.target), edge.action, edge.movers, edge.marks)?;
        }
        for fault in &node.faults {
            out.push_fault(*fault)?;
        }
        out.finish_source(node.labels, node.enabled)
    }
}

impl TransitionSystem for Graph {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        out.clear();
        if self.push_initial(out).is_err() {
            out.abandon_source();
        }
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        for record in sources.iter() {
            if self.push_steps(record, out).is_err() {
                out.abandon_source();
                break;
            }
        }
        out.source_count()
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        for (record, labels) in records.iter().zip(out) {
            *labels = self.nodes[self.node(record)].labels;
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        match what {
            Query::Record(record) => Description {
                title: format!("node {}", self.node(record)),
                values: self
                    .shape
                    .components
                    .iter()
                    .map(|part| (part.name.clone(), part.text(record, 0)))
                    .collect(),
                ..Description::default()
            },
            Query::Step { source, action } => self.describe_step(self.node(source), action),
            Query::Start(start) => match self.starts.get(start as usize) {
                Some(Ok(node)) => titled(format!("start {start}: node {node}")),
                Some(Err(fault)) => titled(format!("start {start}: {}", fault.kind.text())),
                None => titled(format!("no start {start}")),
            },
            Query::Fault { source, fault } => {
                titled(format!("node {}: {}", self.node(source), fault.kind.text()))
            }
            Query::Label { record, label } => {
                let faulted = self.nodes[self.node(record)].labels.faulted();
                titled(format!("{}{}", self.shape.labels[label], if faulted { " (faulted)" } else { "" }))
            }
        }
    }
}

impl Graph {
    fn describe_step(&self, source: usize, action: u32) -> Description {
        let Some(edge) = self.nodes[source].edges.iter().find(|edge| edge.action == action) else {
            return titled(format!("no step of node {source} is action {action}"));
        };
        let movers = (0..).zip(&self.shape.processes).filter(|(number, _)| edge.movers.contains(*number));
        let moves = movers.map(|(_, name)| Move {
            process: name.clone(),
            from: source.to_string(),
            to: edge.target.to_string(),
            span: Span::default(),
        });
        Description {
            title: format!("action {action}: {source} -> {}", edge.target),
            moves: moves.collect(),
            ..Description::default()
        }
    }
}

/// How many nodes fit a width at most.
pub fn nodes_for(width_bits: u32) -> usize {
    if width_bits >= 48 { 1 << 48 } else { 1 << width_bits }
}

/// The least width that so many nodes fit.
fn bits_for(nodes: usize) -> u32 {
    Domain::new(0, nodes.saturating_sub(1) as i64).bits().max(1)
}

fn titled(title: String) -> Description {
    Description { title, ..Description::default() }
}

/// The number written at a place, all else zero.
fn placed(width_bits: u32, low: u32, number: usize) -> Vec<u64> {
    let mut record = vec![0; words_for(width_bits)];
    write_bits(&mut record, low, (width_bits - low).min(64), number as u64);
    record
}

/// Distinct records in no order.
fn scattered(width_bits: u32, count: usize, random: &mut Random) -> Vec<Vec<u64>> {
    let words = words_for(width_bits);
    let top = u64::MAX >> (words as u32 * 64 - width_bits);
    let mut taken: HashSet<Vec<u64>> = HashSet::new();
    let mut records = Vec::new();
    if random.chance(50) {
        records.push(vec![0; words]);
        records.push((0..words).map(|word| if word == 0 { top } else { u64::MAX }).collect());
        records.truncate(count);
    }
    for record in &records {
        taken.insert(record.clone());
    }
    while records.len() < count {
        let mut record: Vec<u64> = (0..words).map(|_| random.word()).collect();
        record[0] &= top;
        if taken.insert(record.clone()) {
            records.push(record);
        }
    }
    random.shuffle(&mut records);
    records
}

/// A width cut into components of 1 to 64 bits, all of whose codes are values.
fn parts(width_bits: u32, random: &mut Random) -> Vec<Component> {
    let mut components = Vec::new();
    let mut left = width_bits;
    while left > 0 {
        let bits = random.between(1, i64::from(left.min(64))) as u32;
        left -= bits;
        let domain = match bits {
            64 => Domain::new(i64::MIN, i64::MAX),
            _ => {
                let low = random.between(-3, 0);
                // The greatest value is `low + (2^bits - 1)`, which fits since low is not positive.
                Domain::new(low, low.wrapping_add(((1u64 << bits) - 1) as i64))
            }
        };
        components.push(Component {
            name: format!("part{}", components.len()),
            kind: ComponentKind::Variable,
            domain,
            undefined: None,
            element_bits: bits,
            length: None,
            low: left,
        });
    }
    components
}
