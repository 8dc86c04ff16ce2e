//! What is reachable, how far away, and by which shortest path?
//!
//! States are numbered by layer and inside a layer by record, so **the least number is the first to be reported**: the first state
//! with some property is the least record of the first layer that has one, and the first parent of a state is its least parent.

use std::collections::{BTreeSet, HashMap};

use fathom_model::record::{Checksum, Records};
use fathom_model::steps::{Columns, Fault, Labels, Marks, ProcessSet, Steps};
use fathom_model::system::TransitionSystem;

/// A state, by its place in [`Explored::states`].
pub type StateNumber = usize;

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most states.
    pub states: usize,
    /// The most steps.
    pub transitions: usize,
}

/// There are more states or steps than the limits allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

/// A whole reachable graph.
#[derive(Clone, Debug)]
pub struct Explored {
    /// Every reachable state once, by layer and then by record.
    pub states: Vec<State>,
    /// How many states each layer has.
    pub layers: Vec<usize>,
    /// The start and the state it gives, in the system's order.
    pub starts: Vec<(u32, StateNumber)>,
    /// Faults in starts.
    pub start_faults: Vec<Fault>,
}

/// A reachable state and what leaves it.
#[derive(Clone, Debug)]
pub struct State {
    /// Its record.
    pub record: Vec<u64>,
    /// How many steps the shortest path to it has.
    pub layer: usize,
    /// Its labels.
    pub labels: Labels,
    /// Who can move.
    pub enabled: ProcessSet,
    /// Its steps, in the system's order.
    pub steps: Vec<Step>,
    /// Its faults, in the system's order.
    pub faults: Vec<Fault>,
}

/// A step to a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Where to.
    pub target: StateNumber,
    /// How.
    pub action: u32,
    /// Who moves.
    pub movers: ProcessSet,
    /// Which acceptance sets it belongs to.
    pub marks: Marks,
}

/// Explores everything, one record at a time.
pub fn explore(system: &dyn TransitionSystem, limits: Limits) -> Result<Explored, TooLarge> {
    let mut buffer = Steps::new(system.shape(), Columns::ALL, 16);
    let mut explored =
        Explored { states: Vec::new(), layers: Vec::new(), starts: Vec::new(), start_faults: Vec::new() };
    system.initial(&mut buffer);
    while buffer.source_count() == 0 {
        buffer.grow();
        system.initial(&mut buffer);
    }
    explored.start_faults = buffer.faults().to_vec();
    let starts: Vec<(u32, Vec<u64>)> =
        (0..buffer.step_count()).map(|step| (buffer.action(step), buffer.target(step).to_vec())).collect();

    let mut numbers: HashMap<Vec<u64>, StateNumber> = HashMap::new();
    let mut targets: Vec<Vec<Vec<u64>>> = Vec::new();
    let mut layer: BTreeSet<Vec<u64>> = starts.iter().map(|(_, record)| record.clone()).collect();
    let mut transitions = 0;
    while !layer.is_empty() {
        for record in &layer {
            numbers.insert(record.clone(), numbers.len());
        }
        let mut next = BTreeSet::new();
        for record in &layer {
            let (state, records) = expand(system, record, explored.layers.len(), &mut buffer);
            next.extend(records.iter().filter(|target| !numbers.contains_key(*target)).cloned());
            transitions += records.len();
            explored.states.push(state);
            targets.push(records);
            if numbers.len() + next.len() > limits.states || transitions > limits.transitions {
                return Err(TooLarge);
            }
        }
        explored.layers.push(layer.len());
        layer = next;
    }
    for (state, records) in explored.states.iter_mut().zip(&targets) {
        for (step, target) in state.steps.iter_mut().zip(records) {
            step.target = numbers[target];
        }
    }
    explored.starts = starts.into_iter().map(|(start, record)| (start, numbers[&record])).collect();
    Ok(explored)
}

/// One state with its steps, and the records they lead to: the numbers of the targets are known only at the end.
fn expand(
    system: &dyn TransitionSystem,
    record: &[u64],
    layer: usize,
    buffer: &mut Steps,
) -> (State, Vec<Vec<u64>>) {
    let source = Records::new(record, record.len());
    while system.expand(source, buffer) == 0 {
        buffer.grow();
    }
    let mut labels = [Labels::default()];
    system.label(source, &mut labels);
    let step = |step: usize| Step {
        target: StateNumber::MAX,
        action: buffer.action(step),
        movers: buffer.movers(step),
        marks: buffer.marks(step),
    };
    let state = State {
        record: record.to_vec(),
        layer,
        labels: labels[0],
        enabled: buffer.enabled(0),
        steps: buffer.steps_of(0).map(step).collect(),
        faults: buffer.faults_of(0).to_vec(),
    };
    let targets = buffer.steps_of(0).map(|step| buffer.target(step).to_vec()).collect();
    (state, targets)
}

impl Limits {
    /// At most so many states, however many steps.
    pub fn states(states: usize) -> Limits {
        Limits { states, transitions: usize::MAX }
    }
}

impl Explored {
    /// How many steps there are from distinct states; parallel ones count each, faulting ones do not.
    pub fn transitions(&self) -> usize {
        self.states.iter().map(|state| state.steps.len()).sum()
    }

    /// The number of the last layer; none if there is no state.
    pub fn depth(&self) -> Option<usize> {
        self.layers.len().checked_sub(1)
    }

    /// How many states have neither a step nor a fault.
    pub fn deadlocks(&self) -> usize {
        self.states.iter().filter(|state| state.is_deadlock()).count()
    }

    /// How many pairs of a source and a fault there are, starts not counted.
    pub fn step_faults(&self) -> usize {
        self.states.iter().map(|state| state.faults.len()).sum()
    }

    /// All faults of steps and starts (those of labels are not among them).
    pub fn faults(&self) -> usize {
        self.start_faults.len() + self.step_faults()
    }

    /// The maximum of `layer(source) + 1 - layer(target)` over all steps; none if there is no step.
    pub fn locality(&self) -> Option<usize> {
        let backwards = |state: &State| {
            state.steps.iter().map(|step| state.layer + 1 - self.states[step.target].layer).max()
        };
        self.states.iter().filter_map(backwards).max()
    }

    /// The checksum of all states.
    pub fn checksum(&self) -> Checksum {
        let mut checksum = Checksum::default();
        self.states.iter().for_each(|state| checksum.add(&state.record));
        checksum
    }

    /// The least record of the first layer that has one of these.
    pub fn first(&self, wanted: impl Fn(&State) -> bool) -> Option<StateNumber> {
        self.states.iter().position(wanted)
    }

    /// The first state where a label has that truth. States where the evaluation of any label faulted are passed over.
    pub fn first_label(&self, label: usize, truth: bool) -> Option<StateNumber> {
        self.first(|state| !state.labels.faulted() && state.labels.holds(label) == truth)
    }

    /// The first state where the evaluation of a label faulted.
    pub fn first_label_fault(&self) -> Option<StateNumber> {
        self.first(|state| state.labels.faulted())
    }

    /// The first state with neither a step nor a fault.
    pub fn first_deadlock(&self) -> Option<StateNumber> {
        self.first(State::is_deadlock)
    }

    /// The first state from which something faults.
    pub fn first_fault(&self) -> Option<StateNumber> {
        self.first(|state| !state.faults.is_empty())
    }

    /// The number of a record; none if it is not reachable.
    pub fn number_of(&self, record: &[u64]) -> Option<StateNumber> {
        self.first(|state| state.record == record)
    }

    /// The shortest path to a state: backwards from it, always the least parent of the layer before.
    pub fn path_to(&self, state: StateNumber) -> Vec<StateNumber> {
        let mut path = vec![state];
        let mut current = state;
        let mut end: usize = self.layers[..self.states[state].layer].iter().sum();
        for layer in (0..self.states[state].layer).rev() {
            let start = end - self.layers[layer];
            current = (start..end)
                .find(|parent| self.states[*parent].steps.iter().any(|step| step.target == current))
                .expect("a state beyond layer 0 has a parent in the layer before");
            path.push(current);
            end = start;
        }
        path.reverse();
        path
    }

    /// The records along a path.
    pub fn records_along(&self, path: &[StateNumber]) -> Vec<Vec<u64>> {
        path.iter().map(|state| self.states[*state].record.clone()).collect()
    }

    /// The start of a path and then the actions along it: each the first, in the system's order, that does it.
    pub fn actions_along(&self, path: &[StateNumber]) -> Vec<u32> {
        let start =
            self.starts.iter().find(|(_, state)| Some(state) == path.first()).map(|(start, _)| *start);
        let actions = path.windows(2).map(|pair| {
            let step = self.states[pair[0]].steps.iter().find(|step| step.target == pair[1]);
            step.expect("a path follows steps").action
        });
        start.into_iter().chain(actions).collect()
    }
}

impl State {
    /// Whether nothing happens here, not even a fault.
    pub fn is_deadlock(&self) -> bool {
        self.steps.is_empty() && self.faults.is_empty()
    }
}
