//! What is a Büchi automaton, and which words does it accept?
//!
//! One type serves all: a generalised Büchi automaton whose marks sit on edges. A run is accepting when every mark is
//! met infinitely often; with no mark at all, every infinite run is. Where [`Placement::State`] is promised, all edges
//! of a state carry the same marks, which are then the state's own. There is one initial state; an automaton of the
//! empty language has a state without edges there.

use crate::accepting_cycle::has_accepting_cycle;
use crate::word::Lasso;

/// The greatest number of marks: they are one machine word per edge.
pub const MARKS_MAX: u32 = 64;

/// The number of a state, from zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateId(pub u32);

impl StateId {
    /// As a place in a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The letters that contain all of `positive` and none of `negative`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cube {
    /// Atoms that must be true.
    pub positive: u64,
    /// Atoms that must be false.
    pub negative: u64,
}

impl Cube {
    /// Is `letter` one of them?
    pub fn holds(self, letter: u64) -> bool {
        letter & self.positive == self.positive && letter & self.negative == 0
    }
}

/// A set of letters: those in one of the cubes. Without a cube it is empty; `true` is one cube without atoms.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// The cubes; they may overlap.
    pub cubes: Vec<Cube>,
}

impl Guard {
    /// Every letter.
    pub fn always() -> Self {
        Guard { cubes: vec![Cube::default()] }
    }

    /// Is `letter` in the set?
    pub fn holds(&self, letter: u64) -> bool {
        self.cubes.iter().any(|cube| cube.holds(letter))
    }

    /// The atoms it looks at, as a letter.
    pub fn atoms(&self) -> u64 {
        self.cubes.iter().fold(0, |atoms, cube| atoms | cube.positive | cube.negative)
    }
}

/// A step of the automaton on the letters of its guard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The letters.
    pub guard: Guard,
    /// Where it leads.
    pub target: StateId,
    /// The marks it meets, one bit each.
    pub marks: u64,
}

/// Where the marks belong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placement {
    /// All edges of a state have the same marks.
    State,
    /// Marks differ from edge to edge.
    Transition,
}

/// A generalised Büchi automaton; an ordinary one when `mark_count` is 1 and the placement is the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Automaton {
    /// Atoms are numbered below this.
    pub atom_count: usize,
    /// Marks are numbered below this.
    pub mark_count: u32,
    /// Where runs begin.
    pub initial: StateId,
    /// The edges of every state.
    pub states: Vec<Vec<Edge>>,
    /// A promise about the marks.
    pub placement: Placement,
}

impl Automaton {
    /// The edges that leave a state.
    pub fn edges(&self, state: StateId) -> &[Edge] {
        &self.states[state.index()]
    }

    /// The number of edges; one edge per guard, target and marks.
    pub fn edge_count(&self) -> usize {
        self.states.iter().map(Vec::len).sum()
    }

    /// The set of all marks.
    pub fn all_marks(&self) -> u64 {
        mark_set(self.mark_count)
    }

    /// Do all edges of the state carry all marks? For an ordinary Büchi automaton: is the state accepting? A state
    /// without edges, which no run visits infinitely often, is not.
    pub fn is_accepting(&self, state: StateId) -> bool {
        let edges = self.edges(state);
        !edges.is_empty() && edges.iter().all(|edge| edge.marks == self.all_marks())
    }

    /// Is it an ordinary Büchi automaton with accepting states?
    pub fn is_state_based_buchi(&self) -> bool {
        self.mark_count == 1 && self.placement == Placement::State
    }

    /// Does it accept the word? Explores states x letters of the word.
    pub fn accepts(&self, word: &Lasso) -> bool {
        let positions = word.letters().len();
        let successors = |node: usize| {
            let (state, position) = (node / positions, node % positions);
            self.states[state]
                .iter()
                .filter(move |edge| edge.guard.holds(word.letters()[position]))
                .map(move |edge| (edge.target.index() * positions + word.next(position), edge.marks))
        };
        let start = self.initial.index() * positions;
        has_accepting_cycle(self.states.len() * positions, start, self.all_marks(), |node, out| {
            out.extend(successors(node));
        })
    }
}

/// The set of the first `count` marks.
pub(crate) fn mark_set(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}
