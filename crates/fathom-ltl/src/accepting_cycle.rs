//! Can a cycle that meets all marks be reached?
//!
//! By Couvreur's condition on strongly connected components, computed by Tarjan's algorithm without recursion: there is
//! such a cycle exactly if some component has an edge inside, and the edges inside meet all marks together.
//!
//! Memory: some ten bytes for every node there could be, and the edges of the nodes on the path of the search.

/// Can a cycle that meets all `marks` be reached from `start`? `successors` appends the edges of a node, as targets
/// and the marks they meet.
pub(crate) fn has_accepting_cycle(
    node_count: usize,
    start: usize,
    marks: u64,
    mut successors: impl FnMut(usize, &mut Vec<(usize, u64)>),
) -> bool {
    let mut edges_of = |node: usize| {
        let mut out = Vec::new();
        successors(node, &mut out);
        out
    };
    let mut search = Search::new(node_count);
    search.enter(start, edges_of(start));
    while let Some(visit) = search.path.last_mut() {
        let node = visit.node;
        if let Some(&(target, met)) = visit.out.get(visit.at) {
            visit.at += 1;
            if search.follow(node, target, met) {
                search.enter(target, edges_of(target));
            }
        } else if search.leave(node) && search.close(node, marks) {
            return true;
        }
    }
    false
}

/// Not numbered yet.
const NEW: u32 = 0;

/// A node on the path of the search, its edges, and how many of them are done.
struct Visit {
    node: usize,
    out: Vec<(usize, u64)>,
    at: usize,
}

/// An edge whose target was not in a closed component when it was followed.
struct Followed {
    source: usize,
    target: usize,
    marks: u64,
}

struct Search {
    number: Vec<u32>,
    low: Vec<u32>,
    /// In no closed component yet.
    open: Vec<bool>,
    counter: u32,
    path: Vec<Visit>,
    members: Vec<usize>,
    followed: Vec<Followed>,
}

impl Search {
    fn new(node_count: usize) -> Self {
        Search {
            number: vec![NEW; node_count],
            low: vec![NEW; node_count],
            open: vec![false; node_count],
            counter: NEW,
            path: Vec::new(),
            members: Vec::new(),
            followed: Vec::new(),
        }
    }

    fn enter(&mut self, node: usize, out: Vec<(usize, u64)>) {
        self.counter += 1;
        self.number[node] = self.counter;
        self.low[node] = self.counter;
        self.open[node] = true;
        self.members.push(node);
        self.path.push(Visit { node, out, at: 0 });
    }

    /// Takes note of an edge. Is its target new?
    fn follow(&mut self, source: usize, target: usize, marks: u64) -> bool {
        let new = self.number[target] == NEW;
        if new || self.open[target] {
            self.followed.push(Followed { source, target, marks });
        }
        if !new && self.open[target] {
            self.low[source] = self.low[source].min(self.number[target]);
        }
        new
    }

    /// All edges of the node are done. Is it the first of its component?
    fn leave(&mut self, node: usize) -> bool {
        self.path.pop();
        if let Some(parent) = self.path.last() {
            self.low[parent.node] = self.low[parent.node].min(self.low[node]);
        }
        self.low[node] == self.number[node]
    }

    /// Closes the component whose first node is `first`. Is there an edge inside, and do those meet all marks?
    fn close(&mut self, first: usize, marks: u64) -> bool {
        let least = self.number[first];
        let (mut met, mut inside) = (0, false);
        // Its edges are on top: older ones leave older nodes.
        while let Some(edge) = self.followed.pop_if(|edge| self.number[edge.source] >= least) {
            if self.open[edge.target] && self.number[edge.target] >= least {
                inside = true;
                met |= edge.marks;
            }
        }
        while let Some(member) = self.members.pop_if(|member| self.number[*member] >= least) {
            self.open[member] = false;
        }
        inside && met & marks == marks
    }
}
