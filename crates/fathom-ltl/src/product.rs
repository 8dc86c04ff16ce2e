//! What do a system and an automaton do together?
//!
//! A state of the product is a state of the system and one of the automaton, the latter in the low bits of the record. A step is a step of the system and an edge
//! of the automaton whose guard holds of the labels **of the source**. So a run of the product is a run of the system that the automaton reads, and it is
//! accepting if every mark occurs on it for ever.
//!
//! * A deadlock stutters: a state of the system without steps and without faults stays what it is, for ever, by an action of its own.
//! * A state that only faults neither deadlocks nor stutters. Its faults are faults of the product.
//! * Where evaluating a label faults, the product has no steps; the labels say that they faulted.
//! * Where no guard holds, the run is dropped: the product state has no step.
//!
//! **Weak fairness** adds a mark for each fair process: on steps where it moves, and on all steps of states where it cannot. Nothing is added to the state.
//!
//! **Strong fairness** adds a pair of marks for each fair process ([`Shape::pair_count`]): the response is on steps where it moves, the request on all steps of states where it can.
//!
//! Memory: for each thread that expands at a time, one buffer as large as the one it is given. Time: the system's; a system state that stands several
//! times in a row in a batch, with several states of the automaton, is expanded once.

use fathom_model::acceptance::Acceptance;
use fathom_model::program::LABELS_MAX;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Full, Labels, Marks, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

use crate::automaton::{Automaton, Edge, MARKS_MAX, StateId};
use crate::strength;
use crate::tagged::{Source, Tagged};

/// A system and an automaton in lock step: a system. Its labels are the system's.
#[derive(Debug)]
pub struct Product<S> {
    tagged: Tagged<S>,
    automaton: Automaton,
    names: AutomatonNames,
    /// By state of the automaton: whether an accepting run may come back to it for ever.
    recurring: Vec<bool>,
    /// The same way: whether every run from it is accepting, and whether all its edges carry all marks of the automaton.
    terminal: Vec<bool>,
    accepting: Vec<bool>,
    /// Whether the automaton is known to be weak.
    weak: bool,
    /// By fairness mark: the process.
    fair: Vec<u32>,
    /// By pair of marks: the process.
    strong: Vec<u32>,
}

/// What the automaton and its states are called in reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutomatonNames {
    /// The automaton, as a variable beside those of the model.
    pub automaton: String,
    /// Its states; those without a name are called by their number.
    pub states: Vec<String>,
}

/// The product cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProductError {
    /// More atoms than a state has labels.
    #[error(
        "there are {0} atoms, and a state has at most {LABELS_MAX} labels: name larger expressions as one atom"
    )]
    Atoms(usize),
    /// More acceptance sets than marks.
    #[error(
        "{0} fair processes and the formula together have more than {MARKS_MAX} acceptance sets: name the processes that matter"
    )]
    Marks(usize),
    /// A process that no set of processes has.
    #[error("process {0} cannot be fair: only the first 64 processes can")]
    Process(u32),
}

impl<S: TransitionSystem> Product<S> {
    /// The product of a system, whose first labels are the automaton's atoms, and an automaton; runs are fair to `fair` processes of the system.
    ///
    /// # Errors
    /// If the system has fewer labels than the automaton has atoms, or there are too many marks.
    pub fn new(
        system: S,
        automaton: Automaton,
        names: AutomatonNames,
        fair: &[u32],
    ) -> Result<Product<S>, ProductError> {
        if automaton.atom_count > system.shape().labels.len().min(LABELS_MAX) {
            return Err(ProductError::Atoms(automaton.atom_count));
        }
        if let Some(process) = fair.iter().find(|process| **process >= 64) {
            return Err(ProductError::Process(*process));
        }
        let mark_count = automaton.mark_count as usize + fair.len();
        if mark_count > MARKS_MAX as usize {
            return Err(ProductError::Marks(fair.len()));
        }
        let mut tagged = Tagged::new(system, &names.automaton, automaton.states.len() as u32);
        tagged.shape.action_count = tagged.shape.action_count.saturating_add(1);
        tagged.shape.mark_count = mark_count as u32;
        let recurring = strength::recurring(&automaton);
        let terminal = strength::terminal(&automaton);
        let all = automaton.all_marks();
        let accepting = automaton
            .states
            .iter()
            .map(|edges| !edges.is_empty() && edges.iter().all(|edge| edge.marks == all))
            .collect();
        Ok(Product {
            tagged,
            automaton,
            names,
            recurring,
            terminal,
            accepting,
            weak: false,
            fair: fair.to_vec(),
            strong: Vec::new(),
        })
    }

    /// The same; runs are strongly fair to these processes, too: one that can move for ever, now and then, does.
    ///
    /// # Errors
    /// If there are too many marks.
    pub fn strongly_fair(mut self, strong: &[u32]) -> Result<Product<S>, ProductError> {
        if let Some(process) = strong.iter().find(|process| **process >= 64) {
            return Err(ProductError::Process(*process));
        }
        if self.tagged.shape.mark_count as usize + 2 * strong.len() > MARKS_MAX as usize {
            return Err(ProductError::Marks(strong.len()));
        }
        self.tagged.shape.pair_count = strong.len() as u32;
        self.strong = strong.to_vec();
        Ok(self)
    }

    /// The same, of an automaton whose cycles carry all marks on all edges, or none on any: whoever made it says so.
    #[must_use]
    pub fn weak(self) -> Product<S> {
        Product { weak: true, ..self }
    }

    /// The system.
    pub fn system(&self) -> &S {
        &self.tagged.system
    }

    /// The automaton.
    pub fn automaton(&self) -> &Automaton {
        &self.automaton
    }

    /// What a state of the automaton is called.
    pub fn state_name(&self, state: StateId) -> String {
        self.names.states.get(state.index()).cloned().unwrap_or_else(|| state.0.to_string())
    }

    /// The action of a system that stays where it is since it cannot move.
    pub fn stutter(&self) -> u32 {
        self.tagged.shape.action_count - 1
    }

    /// The states of system and automaton in a state of the product.
    pub fn parts(&self, record: &[u64]) -> (Vec<u64>, StateId) {
        let (part, state) = self.tagged.parts(record);
        (part, StateId(state))
    }

    /// Pushes the product's steps from a state of the system and one of the automaton.
    fn combine(&self, source: &Source<'_>, target: &mut [u64], out: &mut Steps) -> Result<(), Full> {
        let (steps, number) = (source.steps, source.number);
        let labels = steps.labels(number);
        let edges = if labels.faulted() { &[] } else { self.automaton.edges(StateId(source.tag)) };
        let read = |edge: &&Edge| edge.guard.holds(labels.0);
        for step in steps.steps_of(number) {
            let fair = self.fairness(steps, number, Some(step));
            for edge in edges.iter().filter(read) {
                source.push(step, edge.target.0, Marks(edge.marks | fair), target, out)?;
            }
        }
        if steps.steps_of(number).is_empty() && steps.faults_of(number).is_empty() {
            let fair = self.fairness(steps, number, None);
            for edge in edges.iter().filter(read) {
                let marks = Marks(edge.marks | fair);
                source.push_stutter(self.stutter(), edge.target.0, marks, target, out)?;
            }
        }
        source.finish(out)
    }

    /// The marks of fairness on a step, or on staying.
    fn fairness(&self, steps: &Steps, source: usize, step: Option<usize>) -> u64 {
        if self.fair.is_empty() && self.strong.is_empty() || !steps.columns().enabled {
            return 0;
        }
        let moves = |process: u32| step.is_some_and(|step| steps.movers(step).contains(process));
        let can = |process: u32| steps.enabled(source).contains(process);
        let marks = self.automaton.mark_count..;
        let weak = marks
            .zip(&self.fair)
            .fold(0, |marks, (mark, process)| marks | u64::from(moves(*process) || !can(*process)) << mark);
        (0..).zip(&self.strong).fold(weak, |marks, (pair, process)| {
            let (response, request) = self.tagged.shape.pair_marks(pair);
            marks | u64::from(moves(*process)) << response | u64::from(can(*process)) << request
        })
    }

    /// What the system must tell for what is wanted of the product.
    fn columns(&self, wanted: Columns) -> Columns {
        let fair = !(self.fair.is_empty() && self.strong.is_empty()) && wanted.marks;
        Columns {
            labels: true,
            actions: wanted.actions,
            movers: wanted.movers || fair,
            enabled: wanted.enabled || fair,
            marks: false,
        }
    }
}

impl<S: TransitionSystem> Acceptance for Product<S> {
    fn is_weak(&self) -> bool {
        self.weak && self.fair.is_empty() && self.strong.is_empty()
    }

    fn is_of_states(&self) -> bool {
        let uniform = |edges: &[Edge]| edges.windows(2).all(|two| two[0].marks == two[1].marks);
        self.tagged.shape.mark_count == 1
            && self.fair.is_empty()
            && self.strong.is_empty()
            && self.automaton.states.iter().all(|edges| uniform(edges))
    }

    #[inline]
    fn recurs(&self, record: &[u64]) -> bool {
        self.recurring[self.tagged.tag_of(record) as usize]
    }

    #[inline]
    fn is_terminal(&self, record: &[u64]) -> bool {
        self.terminal[self.tagged.tag_of(record) as usize]
    }

    #[inline]
    fn is_accepting(&self, record: &[u64]) -> bool {
        self.accepting[self.tagged.tag_of(record) as usize]
    }
}

impl<S: TransitionSystem> TransitionSystem for Product<S> {
    fn shape(&self) -> &Shape {
        &self.tagged.shape
    }

    fn initial(&self, out: &mut Steps) {
        self.tagged.initial(self.automaton.initial.0, out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let columns = self.columns(out.columns());
        self.tagged.expand(sources, columns, out, |source, target, out| self.combine(source, target, out))
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.tagged.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        match what {
            Query::Step { action, .. } if action == self.stutter() => {
                Description { title: "nothing can move".into(), ..Description::default() }
            }
            Query::Record(record) => {
                let mut words = self.tagged.describe(what);
                words.values.push((self.names.automaton.clone(), self.state_name(self.parts(record).1)));
                words
            }
            _ => self.tagged.describe(what),
        }
    }
}
