//! Which order of the nodes of a small graph does no edge decrease?
//!
//! The number of nodes that come strictly before one: it is the same within a strongly connected component, and grows along every edge between two.

/// A graph of at most [`NODES_MAX`] nodes.
#[derive(Clone, Debug)]
pub struct SmallGraph {
    nodes: usize,
    row: usize,
    /// Which nodes each one leads to, a bit each.
    bits: Vec<u64>,
}

/// Nodes at most: what each of them reaches is a table, made in as many rounds.
pub const NODES_MAX: usize = 256;

impl SmallGraph {
    /// So many nodes, no edges.
    pub fn new(nodes: usize) -> SmallGraph {
        assert!(nodes <= NODES_MAX, "the graph is small");
        let row = nodes.div_ceil(64).max(1);
        SmallGraph { nodes, row, bits: vec![0; nodes * row] }
    }

    /// Adds an edge.
    pub fn add(&mut self, from: usize, to: usize) {
        self.bits[from * self.row + to / 64] |= 1 << (to % 64);
    }

    fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.row + to / 64] >> (to % 64) & 1 == 1
    }

    /// The order, with places as small as they can be; empty if all nodes are alike.
    pub fn ranks(mut self) -> Vec<u32> {
        for middle in 0..self.nodes {
            let beyond = self.bits[middle * self.row..][..self.row].to_vec();
            for from in 0..self.nodes {
                if self.has(from, middle) {
                    let row = &mut self.bits[from * self.row..][..self.row];
                    row.iter_mut().zip(&beyond).for_each(|(reached, further)| *reached |= further);
                }
            }
        }
        let before = |from: usize, to: usize| self.has(from, to) && !self.has(to, from);
        let counts: Vec<usize> = (0..self.nodes)
            .map(|node| (0..self.nodes).filter(|&other| before(other, node)).count())
            .collect();
        let mut places = counts.clone();
        places.sort_unstable();
        places.dedup();
        if places.len() < 2 {
            return Vec::new();
        }
        counts.iter().map(|count| places.partition_point(|place| place < count) as u32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_never_decrease_along_edges_and_are_equal_within_components() {
        let edges = [(0, 1), (1, 2), (2, 1), (2, 3), (0, 4), (4, 3)];
        let mut graph = SmallGraph::new(5);
        edges.iter().for_each(|&(from, to)| graph.add(from, to));
        let ranks = graph.ranks();
        assert!(edges.iter().all(|&(from, to)| ranks[from] <= ranks[to]));
        assert_eq!(ranks[1], ranks[2]);
        assert!(ranks[0] < ranks[1] && ranks[2] < ranks[3] && ranks[0] < ranks[4]);
        assert!(SmallGraph::new(3).ranks().is_empty());
    }

    #[test]
    fn a_long_chain_is_in_its_order() {
        let mut graph = SmallGraph::new(200);
        (0..199).for_each(|node| graph.add(node, node + 1));
        assert!(graph.ranks().is_sorted_by(|left, right| left < right));
    }
}
