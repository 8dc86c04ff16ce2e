//! Which lasso of a graph has the fewest states?
//!
//! Marks are met in their order, so that what is searched are pairs of a state and the mark that is next; a step that meets the last one is *accepting*. A lasso is an entry `e`, an accepting step `u -> v`
//! and its length is `d(e) + (e to u) + 1 + (v to e)`. For each accepting step inside a component one search goes forwards from `v` and one backwards from `u`, no farther than what is known
//! already. Since the length is at least `d(u) + 1`, steps are tried by `d(u)`, and it is over when that is too long.

use fathom_disk::budget::{Budget, ChargedVec};

use super::graph::Graph;
use crate::error::SearchError;
use crate::task::Observer;

/// A lasso: states, and the actions that leave them.
pub(super) struct Best {
    pub(super) stem: Vec<(u32, u32)>,
    pub(super) cycle: Vec<(u32, u32)>,
}

impl Best {
    pub(super) fn length(&self) -> u64 {
        (self.stem.len() + self.cycle.len()) as u64
    }
}

const NONE: u32 = u32::MAX;

/// The shortest lasso with fewer states than `known`, if there is one. No more edges are looked at than are left, which bounds the time where accepting steps are many and lassos are long: then it is the
/// shortest of those that were seen.
pub(super) fn shortest(
    graph: &Graph,
    marks: u64,
    known: u64,
    edges_left: &mut u64,
    (budget, observer): (&Budget, &dyn Observer),
) -> Result<Option<Best>, SearchError> {
    let pairs = Pairs::new(graph, marks, budget)?;
    let components = components(&pairs, budget, observer)?;
    let mut accepting = ChargedVec::with_capacity(budget, "trace", 0)?;
    for from in 0..pairs.len() {
        for (edge, to, accepts) in pairs.leaving(from) {
            if accepts && components[from as usize] == components[to as usize] {
                accepting.push((pairs.depth(from), from, edge as u32, to))?;
            }
        }
    }
    accepting.sort_unstable();
    let mut search = Search::new(&pairs, &components, *edges_left, budget)?;
    let mut best: Option<(u64, Found)> = None;
    for &(depth, from, edge, to) in accepting.iter() {
        let bound = best.as_ref().map_or(known, |(length, _)| *length);
        if u64::from(depth) + 1 >= bound || search.edges_left == 0 {
            break;
        }
        if observer.stop() {
            return Err(SearchError::Stopped);
        }
        if let Some((length, entry)) = search.through(from, to, bound)? {
            // What leads there is written down at once: the next search has the same memory.
            let found = search.written(from, edge, to, entry);
            best = Some((length, found));
        }
    }
    *edges_left = search.edges_left;
    Ok(best.map(|(_, found)| pairs.lasso(&found)))
}

/// The edges of a cycle from its entry on.
struct Found {
    entry: u32,
    edges: Vec<(u32, u32)>,
}

/// States with the mark that is next.
struct Pairs<'g> {
    graph: &'g Graph,
    /// How many marks there are, at least one: without any, every step meets the only one.
    count: u32,
    marks: u64,
    /// By state: where the edges that lead to it begin among those.
    first_in: ChargedVec<u32>,
    /// Edges and where they come from, by where they lead to.
    ins: ChargedVec<(u32, u32)>,
}

impl<'g> Pairs<'g> {
    fn new(graph: &'g Graph, marks: u64, budget: &Budget) -> Result<Pairs<'g>, SearchError> {
        let states = graph.len();
        let mut first_in = ChargedVec::with_capacity(budget, "trace", states + 2)?;
        first_in.resize(states + 2, 0)?;
        graph.edges.iter().for_each(|edge| first_in[edge.to as usize + 2] += 1);
        (2..states + 2).for_each(|state| first_in[state] += first_in[state - 1]);
        let mut ins = ChargedVec::with_capacity(budget, "trace", graph.edges.len())?;
        ins.resize(graph.edges.len(), (0, 0))?;
        for from in 0..states as u32 {
            for edge in graph.leaving(from) {
                let place = &mut first_in[graph.edges[edge].to as usize + 1];
                ins[*place as usize] = (edge as u32, from);
                *place += 1;
            }
        }
        Ok(Pairs { graph, count: marks.count_ones().max(1), marks, first_in, ins })
    }

    fn len(&self) -> u32 {
        self.graph.len() as u32 * self.count
    }

    fn depth(&self, pair: u32) -> u32 {
        self.graph.met(pair / self.count).depth
    }

    /// The mark that is next after an edge, and whether the last was met.
    fn after(&self, next: u32, edge: usize) -> (u32, bool) {
        let mut wanted = self.marks;
        (0..next).for_each(|_| wanted &= wanted.wrapping_sub(1));
        let (mut next, met) = (next, self.graph.edges[edge].marks);
        while wanted != 0 && met & wanted & wanted.wrapping_neg() != 0 {
            wanted &= wanted - 1;
            next += 1;
        }
        if self.marks == 0 || next == self.count { (0, true) } else { (next, false) }
    }

    /// Edges that leave a pair, where they lead, and whether they accept.
    fn leaving(&self, pair: u32) -> impl Iterator<Item = (usize, u32, bool)> + '_ {
        let (state, next) = (pair / self.count, pair % self.count);
        self.graph.leaving(state).map(move |edge| {
            let (next, accepts) = self.after(next, edge);
            (edge, self.graph.edges[edge].to * self.count + next, accepts)
        })
    }

    /// Edges that lead to a pair, and where they come from.
    fn entering(&self, pair: u32) -> impl Iterator<Item = (usize, u32)> + '_ {
        let (state, next) = (pair / self.count, pair % self.count);
        let range = self.first_in[state as usize] as usize..self.first_in[state as usize + 1] as usize;
        self.ins[range].iter().flat_map(move |&(edge, from)| {
            let from_mark = (0..self.count).filter(move |mark| self.after(*mark, edge as usize).0 == next);
            from_mark.map(move |mark| (edge as usize, from * self.count + mark))
        })
    }

    fn lasso(&self, found: &Found) -> Best {
        let action = |edge: u32| self.graph.edges[edge as usize].action;
        let mut stem = Vec::new();
        let mut state = found.entry / self.count;
        while self.graph.met(state).depth > 0 {
            let met = self.graph.met(state);
            stem.push((met.from, action(met.by)));
            state = met.from;
        }
        stem.reverse();
        let cycle = found.edges.iter().map(|(from, edge)| (from / self.count, action(*edge))).collect();
        Best { stem, cycle }
    }
}

/// The strongly connected component of each pair, by Tarjan's algorithm without recursion.
fn components(
    pairs: &Pairs<'_>,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<ChargedVec<u32>, SearchError> {
    let length = pairs.len() as usize;
    let numbers = || -> Result<ChargedVec<u32>, SearchError> {
        let mut numbers = ChargedVec::with_capacity(budget, "trace", length)?;
        numbers.resize(length, NONE)?;
        Ok(numbers)
    };
    let (mut component, mut order, mut low) = (numbers()?, numbers()?, numbers()?);
    let mut open: ChargedVec<u32> = ChargedVec::with_capacity(budget, "trace", 0)?;
    let mut path: ChargedVec<(u32, u32)> = ChargedVec::with_capacity(budget, "trace", 0)?;
    let mut next = 0;
    for root in 0..pairs.len() {
        if order[root as usize] != NONE {
            continue;
        }
        path.push((root, 0))?;
        while let Some(&(pair, taken)) = path.last() {
            let at = pair as usize;
            if taken == 0 {
                if next % 4096 == 0 && observer.stop() {
                    return Err(SearchError::Stopped);
                }
                (order[at], low[at]) = (next, next);
                next += 1;
                open.push(pair)?;
            }
            let top = path.len() - 1;
            let step = pairs.graph.leaving(pair / pairs.count).nth(taken as usize);
            if let Some(edge) = step {
                path[top].1 += 1;
                let (mark, _) = pairs.after(pair % pairs.count, edge);
                let to = pairs.graph.edges[edge].to * pairs.count + mark;
                if order[to as usize] == NONE {
                    path.push((to, 0))?;
                } else if component[to as usize] == NONE {
                    low[at] = low[at].min(order[to as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(above, _)) = path.last() {
                low[above as usize] = low[above as usize].min(low[at]);
            }
            if low[at] == order[at] {
                while let Some(member) = open.pop() {
                    component[member as usize] = pair;
                    if member == pair {
                        break;
                    }
                }
            }
        }
    }
    Ok(component)
}

/// Searches from both ends of an accepting step.
struct Search<'p, 'g> {
    pairs: &'p Pairs<'g>,
    components: &'p [u32],
    forwards: Distances,
    backwards: Distances,
    /// How many more edges may be looked at.
    edges_left: u64,
}

/// How far pairs are, and the edge and pair before each on the way.
struct Distances {
    far: ChargedVec<u32>,
    before: ChargedVec<(u32, u32)>,
    /// Those that were reached, in order.
    reached: ChargedVec<u32>,
}

impl Distances {
    fn new(length: usize, budget: &Budget) -> Result<Distances, SearchError> {
        let mut far = ChargedVec::with_capacity(budget, "trace", length)?;
        far.resize(length, NONE)?;
        let mut before = ChargedVec::with_capacity(budget, "trace", length)?;
        before.resize(length, (NONE, NONE))?;
        Ok(Distances { far, before, reached: ChargedVec::with_capacity(budget, "trace", 0)? })
    }

    fn begin(&mut self, pair: u32) -> Result<(), SearchError> {
        for reached in self.reached.iter() {
            self.far[*reached as usize] = NONE;
        }
        self.reached.clear();
        self.reach(pair, 0, (NONE, NONE))
    }

    fn reach(&mut self, pair: u32, far: u32, before: (u32, u32)) -> Result<(), SearchError> {
        if self.far[pair as usize] == NONE {
            self.far[pair as usize] = far;
            self.before[pair as usize] = before;
            self.reached.push(pair)?;
        }
        Ok(())
    }
}

impl<'p, 'g> Search<'p, 'g> {
    fn new(
        pairs: &'p Pairs<'g>,
        components: &'p [u32],
        edges_left: u64,
        budget: &Budget,
    ) -> Result<Self, SearchError> {
        let length = pairs.len() as usize;
        let (forwards, backwards) = (Distances::new(length, budget)?, Distances::new(length, budget)?);
        Ok(Search { pairs, components, forwards, backwards, edges_left })
    }

    /// The length of the shortest lasso through an accepting step that is shorter than a bound, and where it enters its cycle.
    fn through(&mut self, from: u32, to: u32, bound: u64) -> Result<Option<(u64, u32)>, SearchError> {
        let Search { pairs, components, forwards, backwards, edges_left } = self;
        let inside = components[from as usize];
        let within = |far: u32| u64::from(far) + 1 < bound;
        forwards.begin(to)?;
        let mut next = 0;
        while let Some(&pair) = forwards.reached.get(next).filter(|_| *edges_left > 0) {
            next += 1;
            let far = forwards.far[pair as usize] + 1;
            for (edge, target, _) in pairs.leaving(pair).filter(|_| within(far)) {
                *edges_left = edges_left.saturating_sub(1);
                if components[target as usize] == inside {
                    forwards.reach(target, far, (edge as u32, pair))?;
                }
            }
        }
        backwards.begin(from)?;
        let (mut next, mut best) = (0, None);
        while let Some(&pair) = backwards.reached.get(next).filter(|_| *edges_left > 0) {
            next += 1;
            let back = backwards.far[pair as usize];
            if forwards.far[pair as usize] != NONE {
                let length = u64::from(pairs.depth(pair))
                    + u64::from(back)
                    + 1
                    + u64::from(forwards.far[pair as usize]);
                if length < best.map_or(bound, |(length, _)| length) {
                    best = Some((length, pair));
                }
            }
            for (edge, source) in pairs.entering(pair).filter(|_| within(back + 1)) {
                *edges_left = edges_left.saturating_sub(1);
                if components[source as usize] == inside {
                    backwards.reach(source, back + 1, (edge as u32, pair))?;
                }
            }
        }
        Ok(best)
    }

    /// The cycle of the last search, from its entry on: to the accepting step, and from there back.
    fn written(&self, from: u32, edge: u32, to: u32, entry: u32) -> Found {
        let mut edges = Vec::new();
        let mut pair = entry;
        while pair != from {
            let (edge, next) = self.backwards.before[pair as usize];
            edges.push((pair, edge));
            pair = next;
        }
        edges.push((from, edge));
        let mut back = Vec::new();
        let mut pair = entry;
        while pair != to {
            let (edge, before) = self.forwards.before[pair as usize];
            back.push((before, edge));
            pair = before;
        }
        edges.extend(back.into_iter().rev());
        Found { entry, edges }
    }
}
