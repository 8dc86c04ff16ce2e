//! Does one automaton accept every word that another accepts?
//!
//! The product of the smaller language's automaton with the complement of the larger's (`complement.rs`), searched for a
//! component with all marks. Used to check that the automaton of a run misses no violation: the other one is then the
//! tableau of the negated formula. Shares no code with the translation. An answer "no" comes with a word.

use std::collections::{HashMap, VecDeque};

use crate::automaton::{Automaton, Cube, Guard, MARKS_MAX, mark_set};
use crate::complement::{Explicit, Method, Place};
use crate::word::Lasso;

/// Atoms beyond this give too many letters.
const ATOMS_MAX: u32 = 16;

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// Every word.
    Yes,
    /// Not this one.
    No(Lasso),
    /// The budget did not suffice to know.
    BeyondBudget,
}

/// Is every word of `smaller` accepted by `larger`? Explores at most `states_max` states of the product (and 16 times as
/// many edges); memory is a few hundred bytes for each.
pub fn included(smaller: &Automaton, larger: &Automaton, states_max: usize) -> Inclusion {
    let Some(letters) = letters(smaller, larger) else { return Inclusion::BeyondBudget };
    let Some(explicit) = explicit(larger, &letters) else { return Inclusion::BeyondBudget };
    if smaller.mark_count >= MARKS_MAX {
        return Inclusion::BeyondBudget;
    }
    let method = explicit.method();
    let Some(product) = explore(smaller, &explicit, method, &letters, states_max) else {
        return Inclusion::BeyondBudget;
    };
    match product.accepting_lasso(mark_set(smaller.mark_count + 1)) {
        None => Inclusion::Yes,
        Some((stem, cycle)) => {
            let letters_of =
                |path: &[usize]| path.iter().map(|&letter| letters[letter]).collect::<Vec<u64>>();
            Inclusion::No(Lasso::new(&letters_of(&stem), &letters_of(&cycle)).expect("a cycle has a letter"))
        }
    }
}

/// Is there a word that both accept?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Common {
    /// There is none.
    None,
    /// This one.
    Word(Lasso),
    /// The two have more than [`MARKS_MAX`] marks together: nothing is known.
    TooManyMarks,
}

/// A word that both accept, if there is one. Explores at most the product of their states.
pub fn common_word(a: &Automaton, b: &Automaton) -> Common {
    if a.mark_count + b.mark_count > MARKS_MAX {
        return Common::TooManyMarks;
    }
    let (product, letters) = intersection(a, b);
    let Some((stem, cycle)) = product.accepting_lasso(mark_set(a.mark_count + b.mark_count)) else {
        return Common::None;
    };
    let letters_of = |path: &[usize]| path.iter().map(|&letter| letters[letter]).collect::<Vec<u64>>();
    Common::Word(Lasso::new(&letters_of(&stem), &letters_of(&cycle)).expect("a cycle has a letter"))
}

/// The product of the two, and a letter for each of its edges.
fn intersection(a: &Automaton, b: &Automaton) -> (Product, Vec<u64>) {
    let start = (a.initial.index(), b.initial.index());
    let mut index = HashMap::from([(start, 0usize)]);
    let mut nodes = vec![start];
    let mut letters: Vec<u64> = Vec::new();
    let mut edges: Vec<Vec<ProductEdge>> = Vec::new();
    while edges.len() < nodes.len() {
        let (left, right) = nodes[edges.len()];
        let mut own = Vec::new();
        for x in &a.states[left] {
            for y in &b.states[right] {
                let Some(letter) = common_letter(&x.guard, &y.guard) else { continue };
                let node = (x.target.index(), y.target.index());
                let target = *index.entry(node).or_insert_with(|| {
                    nodes.push(node);
                    nodes.len() - 1
                });
                own.push(ProductEdge {
                    target,
                    letter: letters.len(),
                    marks: x.marks | y.marks << a.mark_count,
                });
                letters.push(letter);
            }
        }
        edges.push(own);
    }
    (Product { edges }, letters)
}

fn common_letter(a: &Guard, b: &Guard) -> Option<u64> {
    let pairs = a.cubes.iter().flat_map(|x| b.cubes.iter().map(move |y| (x, y)));
    let fits = |(x, y): &(&Cube, &Cube)| (x.positive | y.positive) & (x.negative | y.negative) == 0;
    pairs.filter(fits).map(|(x, y)| x.positive | y.positive).next()
}

/// One letter for each way in which the guards of both can be true together.
fn letters(a: &Automaton, b: &Automaton) -> Option<Vec<u64>> {
    let mut guards: Vec<_> = a.states.iter().chain(&b.states).flatten().map(|edge| &edge.guard).collect();
    guards.sort_unstable();
    guards.dedup();
    let atoms = guards.iter().fold(0, |atoms, guard| atoms | guard.atoms());
    if atoms.count_ones() > ATOMS_MAX {
        return None;
    }
    let mut seen = HashMap::new();
    let mut letter = 0u64;
    loop {
        let signature: Vec<bool> = guards.iter().map(|guard| guard.holds(letter)).collect();
        seen.entry(signature).or_insert(letter);
        // The next subset of the atoms.
        letter = letter.wrapping_sub(atoms) & atoms;
        if letter == 0 {
            break;
        }
    }
    let mut letters: Vec<u64> = seen.into_values().collect();
    letters.sort_unstable();
    Some(letters)
}

/// The automaton over the letters, with one kind of acceptance, on states: a counter of marks where there are several
/// or where they are on edges.
fn explicit(automaton: &Automaton, letters: &[u64]) -> Option<Explicit> {
    let counts = !automaton.is_state_based_buchi() && automaton.mark_count > 0;
    let levels = if counts { automaton.mark_count as usize + 1 } else { 1 };
    let mut numbers: HashMap<(usize, usize), usize> = HashMap::new();
    let mut nodes = vec![(automaton.initial.index(), 0usize)];
    numbers.insert(nodes[0], 0);
    let mut steps: Vec<Vec<Vec<usize>>> = Vec::new();
    while steps.len() < nodes.len() {
        let (state, level) = nodes[steps.len()];
        let mut own = vec![Vec::new(); letters.len()];
        for edge in &automaton.states[state] {
            let mut next = if level + 1 == levels { 0 } else { level };
            while counts && next + 1 < levels && edge.marks >> next & 1 == 1 {
                next += 1;
            }
            let node = (edge.target.index(), next);
            let number = *numbers.entry(node).or_insert_with(|| {
                nodes.push(node);
                nodes.len() - 1
            });
            for (letter, targets) in letters.iter().zip(&mut own) {
                if edge.guard.holds(*letter) {
                    targets.push(number);
                }
            }
        }
        steps.push(own);
        if nodes.len() > 4096 {
            return None;
        }
    }
    let is_accepting = |&(state, level): &(usize, usize)| {
        if counts {
            level + 1 == levels
        } else {
            automaton.states[state].iter().any(|edge| edge.marks & 1 == 1) || automaton.mark_count == 0
        }
    };
    let accepting: Vec<bool> = nodes.iter().map(is_accepting).collect();
    live_part(&steps, &accepting)
}

/// Without the states from which nothing is accepted: their runs only make the complement larger.
fn live_part(steps: &[Vec<Vec<usize>>], accepting: &[bool]) -> Option<Explicit> {
    let count = steps.len();
    let targets: Vec<Vec<usize>> = steps.iter().map(|own| own.concat()).collect();
    let reaches = |start: usize| {
        let mut seen = vec![false; count];
        let mut work = vec![start];
        while let Some(state) = work.pop() {
            for &target in &targets[state] {
                if !std::mem::replace(&mut seen[target], true) {
                    work.push(target);
                }
            }
        }
        seen
    };
    let reach: Vec<Vec<bool>> = (0..count).map(reaches).collect();
    let repeats: Vec<bool> = (0..count).map(|state| accepting[state] && reach[state][state]).collect();
    let live: Vec<bool> = (0..count)
        .map(|state| repeats[state] || (0..count).any(|other| repeats[other] && reach[state][other]))
        .collect();
    let kept: Vec<usize> = (0..count).filter(|&state| live[state] || state == 0).collect();
    if kept.len() > 64 {
        return None;
    }
    let place: HashMap<usize, usize> = kept.iter().enumerate().map(|(new, &old)| (old, new)).collect();
    let set = |targets: &Vec<usize>| {
        targets.iter().filter(|&&target| live[target]).fold(0u64, |set, target| set | 1 << place[target])
    };
    let new_steps = kept.iter().map(|&state| steps[state].iter().map(set).collect()).collect();
    // Acceptance matters on cycles only; elsewhere none is simpler.
    let marked = kept.iter().enumerate().filter(|(_, old)| repeats[**old]);
    let accepting = marked.fold(0u64, |set, (new, _)| set | 1 << new);
    Some(Explicit { initial: 0, steps: new_steps, accepting })
}

/// The product as far as it is reachable. The last mark is that of the complement.
struct Product {
    edges: Vec<Vec<ProductEdge>>,
}

#[derive(Clone, Copy)]
struct ProductEdge {
    target: usize,
    letter: usize,
    marks: u64,
}

fn explore(
    smaller: &Automaton,
    larger: &Explicit,
    method: Method,
    letters: &[u64],
    states_max: usize,
) -> Option<Product> {
    let start = (smaller.initial.index(), larger.start());
    let mut index: HashMap<(usize, Place), usize> = HashMap::from([(start.clone(), 0)]);
    let mut nodes = vec![start];
    let mut edges: Vec<Vec<ProductEdge>> = Vec::new();
    let mut edge_count = 0;
    let mut places = Vec::new();
    while edges.len() < nodes.len() {
        let (state, place) = nodes[edges.len()].clone();
        let own_mark = u64::from(larger.is_accepting(&place, method)) << smaller.mark_count;
        let mut own = Vec::new();
        for (letter, &value) in letters.iter().enumerate() {
            places.clear();
            for edge in smaller.states[state].iter().filter(|edge| edge.guard.holds(value)) {
                if places.is_empty() {
                    larger.successors(&place, letter, method, states_max, &mut places);
                }
                for next in &places {
                    let node = (edge.target.index(), next.clone());
                    let target = *index.entry(node).or_insert_with_key(|node| {
                        nodes.push(node.clone());
                        nodes.len() - 1
                    });
                    own.push(ProductEdge { target, letter, marks: edge.marks | own_mark });
                }
                if nodes.len() > states_max || edge_count + own.len() > 16 * states_max {
                    return None;
                }
            }
        }
        edge_count += own.len();
        edges.push(own);
    }
    Some(Product { edges })
}

impl Product {
    /// Letters of a path to a cycle with all marks, and of the cycle.
    fn accepting_lasso(&self, marks: u64) -> Option<(Vec<usize>, Vec<usize>)> {
        let component = self.components();
        let mut met: HashMap<usize, u64> = HashMap::new();
        for (source, edge) in self.all_edges() {
            if component[source] == component[edge.target] {
                *met.entry(component[source]).or_insert(0) |= edge.marks;
            }
        }
        let chosen = (0..self.edges.len()).find(|&node| met.get(&component[node]) == Some(&marks))?;
        let stem = self.path(0, |node| node == chosen, |_| true)?;
        let inside = |node: usize| component[node] == component[chosen];
        let (mut cycle, mut here, mut missing) = (Vec::new(), chosen, marks);
        if missing == 0 {
            let edge = self.edges[chosen].iter().find(|edge| inside(edge.target))?;
            cycle.push(edge.letter);
            here = edge.target;
        }
        while missing != 0 {
            // To a state with an edge that has a missing mark, and over it.
            let useful = |node: usize| {
                self.edges[node].iter().find(|edge| edge.marks & missing != 0 && inside(edge.target))
            };
            let (letters, last) = self.path(here, |node| useful(node).is_some(), inside)?;
            cycle.extend(letters);
            let edge = *useful(last)?;
            cycle.push(edge.letter);
            missing &= !edge.marks;
            here = edge.target;
        }
        cycle.extend(self.path(here, |node| node == chosen, inside)?.0);
        Some((stem.0, cycle))
    }

    fn all_edges(&self) -> impl Iterator<Item = (usize, &ProductEdge)> {
        self.edges.iter().enumerate().flat_map(|(source, edges)| edges.iter().map(move |edge| (source, edge)))
    }

    /// A shortest path to a node that `ends` it: its letters, and that node.
    fn path(
        &self,
        from: usize,
        ends: impl Fn(usize) -> bool,
        through: impl Fn(usize) -> bool,
    ) -> Option<(Vec<usize>, usize)> {
        let mut parent: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut work = VecDeque::from([from]);
        while let Some(node) = work.pop_front() {
            if ends(node) {
                let mut letters = Vec::new();
                let mut at = node;
                while at != from {
                    let (previous, letter) = parent[&at];
                    letters.push(letter);
                    at = previous;
                }
                letters.reverse();
                return Some((letters, node));
            }
            for edge in &self.edges[node] {
                if edge.target != from && through(edge.target) && !parent.contains_key(&edge.target) {
                    parent.insert(edge.target, (node, edge.letter));
                    work.push_back(edge.target);
                }
            }
        }
        None
    }

    /// A number per strongly connected component, by Kosaraju's algorithm: first and last visits, then backwards.
    fn components(&self) -> Vec<usize> {
        let count = self.edges.len();
        let mut finished = Vec::with_capacity(count);
        let mut seen = vec![false; count];
        let mut work: Vec<(usize, usize)> = vec![(0, 0)];
        seen[0] = true;
        while let Some((node, at)) = work.last_mut() {
            if let Some(edge) = self.edges[*node].get(*at) {
                *at += 1;
                if !std::mem::replace(&mut seen[edge.target], true) {
                    work.push((edge.target, 0));
                }
            } else {
                finished.push(*node);
                work.pop();
            }
        }
        let mut entering = vec![Vec::new(); count];
        for (source, edge) in self.all_edges() {
            entering[edge.target].push(source);
        }
        let mut component = vec![usize::MAX; count];
        for &root in finished.iter().rev() {
            if component[root] != usize::MAX {
                continue;
            }
            component[root] = root;
            let mut work = vec![root];
            while let Some(node) = work.pop() {
                for &source in &entering[node] {
                    if component[source] == usize::MAX {
                        component[source] = root;
                        work.push(source);
                    }
                }
            }
        }
        component
    }
}
