//! What must be true of a product, said again in the plainest way; and fairness as a formula.

use fathom_ltl::atom::AtomId;
use fathom_ltl::formula::Formula;
use fathom_model::steps::{Labels, ProcessSet};
use oracle::graph::{Edge, Graph, Node};

/// The system with labels that tell, for each of some processes, whether it is enabled and whether it has just moved; and the formula that says of
/// every run: if it is weakly or strongly fair to them, then what `formula` says.
pub(crate) fn with_variables(
    graph: &Graph,
    formula: &Formula,
    (fair, strong): (&[u32], bool),
) -> (Graph, Formula) {
    let first = graph.shape.labels.len();
    // A node for every way to come to a node: by which of the processes moving.
    let subsets = 1 << fair.len();
    let moved = |movers: ProcessSet| {
        (0..).zip(fair).fold(0, |set, (place, process)| set | usize::from(movers.contains(*process)) << place)
    };
    let mut nodes = Vec::new();
    for node in &graph.nodes {
        for set in 0..subsets {
            nodes.push(told(node, set, first, fair, &moved, nodes.len() / subsets * subsets, subsets));
        }
    }
    let successors: Vec<Vec<usize>> =
        nodes.iter().map(|node| node.edges.iter().map(|edge| edge.target).collect()).collect();
    let mut told = Graph::new(&successors, &[]);
    told.starts = graph.starts.iter().map(|start| start.map(|node| node * subsets)).collect();
    told.nodes = nodes;
    told.shape.labels = (0..first + 2 * fair.len()).map(|label| format!("label{label}")).collect();
    told.shape.processes = graph.shape.processes.clone();
    told.count_again();
    let atom = |number: usize| Box::new(Formula::Atom(AtomId::new(number).expect("few atoms")));
    let conditions = (0..fair.len()).map(|place| {
        let enabled = match strong {
            true => Formula::Globally(Box::new(Formula::Finally(atom(first + place)))),
            false => Formula::Finally(Box::new(Formula::Globally(atom(first + place)))),
        };
        let moves = Formula::Globally(Box::new(Formula::Finally(atom(first + fair.len() + place))));
        Formula::Implies(Box::new(enabled), Box::new(moves))
    });
    let conditions = Formula::And(conditions.chain([Formula::True]).collect());
    (told, Formula::Implies(Box::new(conditions), Box::new(formula.clone())))
}

fn told(
    node: &Node,
    set: usize,
    first: usize,
    fair: &[u32],
    moved: &dyn Fn(ProcessSet) -> usize,
    own: usize,
    subsets: usize,
) -> Node {
    let stuck = node.edges.is_empty() && node.faults.is_empty();
    let enabled = (0..).zip(fair).fold(0, |bits, (place, process)| {
        bits | u64::from(node.enabled.contains(*process)) << (first + place)
    });
    let moves = (set as u64) << (first + fair.len());
    let mut edges: Vec<Edge> = node
        .edges
        .iter()
        .map(|edge| Edge { target: edge.target * subsets + moved(edge.movers), ..*edge })
        .collect();
    if stuck {
        // Who has just moved does not move again when nothing can.
        let [action, target] = [0, own];
        let (movers, marks) = (ProcessSet::default(), Default::default());
        edges.push(Edge { target, action: action as u32, movers, marks });
    }
    Node { edges, labels: Labels(node.labels.0 | enabled | moves), ..node.clone() }
}
