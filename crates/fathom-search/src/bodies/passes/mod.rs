//! Body: which states are left when everything was taken away that no accepting run can repeat for ever?
//!
//! I. Černá and R. Pelánek ("Distributed explicit fair cycle detection", SPIN 2003), semi-external as in J. Barnat, L. Brim and P. Šimeček ("I/O efficient accepting cycle
//! detection", CAV 2007): one way catch them young. Of the states that are left, in rounds:
//!
//! ```text
//! for every mark   keep what a step with the mark, between states that are left, leads to, in any number of steps
//! then             take away states without a predecessor among those that are left, until there is none
//! until            none is left (there is no accepting run), or a round takes nothing away (there is one)
//! ```
//! Marks are on steps, so acceptance may be generalised and nothing is added to states. In a round that takes nothing away, a component that no other component leads to is
//! a cycle, and what leads to its states with a mark is inside it.
//!
//! The start is all states that the automaton lets recur: an accepting cycle has no others.
//!
//! If the automaton is *weak*, so that the steps of a cycle all carry every mark or none does, steps without marks do not matter and one trimming decides.
//!
//! What is taken away together is a *class*, in the order of their going; a [`Witness`] is told of each state and its class. No step leads to an earlier class. Inside a class
//! there is no step with the mark that it was kept out by, or, if it was trimmed, no step at all: so the classes prove that there is no accepting run.
//!
//! Between two passes, and between two steps of trimming, the states that are left are all there is to know: a [`Keeper`] makes them last, and passes that are taken up again go on from there. While
//! it is trimmed a state is left until it is expanded, so that those that wait in the queue are found again: they have no predecessor.
//!
//! Passes over all steps are many where there are several marks or rounds: then the steps of what is left are written down once as numbers ([`crate::files::successor_graph`]), and read from then on.
//!
//! Memory: by [`ClosedSet`]; beside its numbers three bits and a counter per state. What is to be expanded waits in a queue on the volume. I/O: per round and mark a scan of the
//! set and each state at most once through the queue, and the same for trimming. Results are functions of sets, so they do not depend on the number of threads.

mod by_number;
mod crew;
mod reached;
mod trimming;

use fathom_disk::budget::Budget;
use fathom_disk::log::Queue;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::ClosedSet;
use crate::files::successor_graph::{GraphUse, SuccessorGraph};
use crate::stores::bits::Bits;
use crate::stores::counters::Counters;
use crate::task::Observer;

/// What a fix-point came to.
#[derive(Debug)]
pub struct Outcome {
    /// The states that are left: some exactly if there is an accepting run. None if the observer stopped it.
    pub left: Option<Bits>,
    /// Rounds.
    pub rounds: u64,
    /// States expanded.
    pub visits: u64,
    /// Steps made.
    pub edges: u64,
    /// Bytes of the graph of numbers, if one was written.
    pub graph_bytes: Option<u64>,
}

/// What is asked.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The system.
    pub system: &'a dyn TransitionSystem,
    /// Its states that may recur.
    pub set: &'a ClosedSet<'a>,
    /// Whether the steps of every cycle all carry every mark, or none does.
    pub weak: bool,
    /// How many threads expand.
    pub threads: usize,
    /// Whether steps become a graph of numbers.
    pub graph: GraphUse,
    /// The most bytes that this may take.
    pub room: u64,
    /// Where queues go, and the graph.
    pub volume: &'a Volume,
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// Who is told what is taken away, and when.
pub trait Witness: Sync {
    /// From here on, what is taken away is of a later class, kept out by a mark, or trimmed.
    fn class(&self, kept_out_by: Option<u32>) -> Result<(), SearchError>;

    /// Takes states of the class. From any thread.
    fn take(&self, states: Records<'_>) -> Result<(), SearchError>;
}

/// Where passes stand, between two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// Rounds that are over.
    pub rounds: u64,
    /// Marks of this round that nothing more is kept out by: after the last, states are trimmed.
    pub marks: u32,
    /// States that were left when the round began.
    pub before: u64,
}

/// What passes that are taken up again go on with.
#[derive(Debug)]
pub struct Begun {
    /// Where they stand.
    pub stand: Stand,
    /// The states that are left.
    pub left: Bits,
    /// Whether the volume has a graph of their steps.
    pub graph: bool,
}

/// Who makes it last what passes have come to.
pub trait Keeper {
    /// Whether it is time to.
    fn is_due(&self) -> bool;

    /// Passes stand so, and these states are left; of their steps there is a file, perhaps. What a witness was told before belongs to it.
    fn keep(&mut self, stand: Stand, left: &Bits, graph: Option<&str>) -> Result<(), SearchError>;
}

/// The name of the graph of numbers.
pub(crate) const GRAPH: &str = "graph";
/// Bytes of a block of the queue.
const BLOCK_BYTES: usize = 1 << 16;

/// Takes away what no accepting run repeats, from the beginning or from where earlier passes stood.
pub fn run(
    task: Task<'_>,
    begun: Option<Begun>,
    witness: Option<&dyn Witness>,
    keeper: Option<&mut dyn Keeper>,
) -> Result<Outcome, SearchError> {
    let threads = task.threads.max(1);
    let expanders = (0..threads)
        .map(|_| Expander::new(task.system, task.set, task.weak, threads, task.budget))
        .collect::<Result<_, _>>()?;
    let states = task.set.len();
    let Begun { stand, left, graph } = match begun {
        Some(begun) => begun,
        None => {
            let stand = Stand { before: states, ..Stand::default() };
            Begun { stand, left: Bits::new(task.budget, states, true)?, graph: false }
        }
    };
    let graph = if graph { by_number::opened(task)? } else { None };
    let keeps = keeper.is_some();
    let mut passes =
        Passes { task, witness, keeper, expanders, left, stand, graph, no_graph: false, files: 0 };
    let finished = passes.rounds()?;
    let Passes { expanders, left, stand, graph, .. } = passes;
    let graph_bytes = graph.as_ref().map(SuccessorGraph::bytes);
    drop(graph);
    if graph_bytes.is_some() && !keeps {
        // Where something lasts, it goes with the commit that no longer names it.
        task.volume.remove(GRAPH).map_err(fathom_disk::error::DiskError::from)?;
    }
    let sum = |each: fn(&Expander<'_>) -> u64| expanders.iter().map(each).sum();
    let (visits, edges) = (sum(|expander| expander.visits), sum(|expander| expander.edges));
    Ok(Outcome { left: finished.then_some(left), rounds: stand.rounds, visits, edges, graph_bytes })
}

struct Passes<'a, 'k> {
    task: Task<'a>,
    witness: Option<&'a dyn Witness>,
    keeper: Option<&'k mut dyn Keeper>,
    /// One for each thread.
    expanders: Vec<Expander<'a>>,
    left: Bits,
    stand: Stand,
    /// The steps of the states that are left, as numbers.
    graph: Option<SuccessorGraph>,
    /// Whether there was no room for it.
    no_graph: bool,
    files: u64,
}

impl Passes<'_, '_> {
    /// Rounds until nothing changes; false if the observer stopped them.
    fn rounds(&mut self) -> Result<bool, SearchError> {
        let marks = if self.task.weak { 0 } else { self.task.system.shape().mark_count };
        loop {
            let mut counters = None;
            while self.stand.marks < marks {
                if self.stand.marks + 1 == marks {
                    counters = Some(Counters::new(self.task.budget, self.task.set.len())?);
                }
                if !self.write_graph_if_it_pays(marks)? || !self.keep(self.stand.marks, counters.as_ref())? {
                    return Ok(false);
                }
                self.stand.marks += 1;
                self.make_last()?;
            }
            if !self.trim(counters)? {
                return Ok(false);
            }
            let (before, after) = (self.stand.before, self.left.count());
            self.stand = Stand { rounds: self.stand.rounds + 1, marks: 0, before: after };
            if after == 0 || after == before || self.task.weak {
                return Ok(true);
            }
            self.make_last()?;
        }
    }

    /// Keeps what steps with a mark lead to, and counts the steps that lead to each state that is kept; false if the observer stopped it.
    fn keep(&mut self, mark: u32, counters: Option<&Counters>) -> Result<bool, SearchError> {
        let Some(graph) = self.graph.take() else { return self.keep_reached(mark, counters) };
        let buffers = self.task.budget.charge("chunks being read", graph.longest() * self.expanders.len());
        let finished = match buffers {
            Ok(buffers) => self.keep_reached_by_number(&graph, buffers, mark, counters),
            Err(_) => self.keep_reached(mark, counters),
        };
        self.graph = Some(graph);
        finished
    }

    /// Makes it last how passes stand, if it is time to.
    fn make_last(&mut self) -> Result<(), SearchError> {
        match self.keeper.as_deref_mut().filter(|keeper| keeper.is_due()) {
            Some(keeper) => {
                keeper.keep(self.stand, &self.left, self.graph.as_ref().map(SuccessorGraph::name))
            }
            None => Ok(()),
        }
    }

    /// Tells a witness the states that are left so far and that `gone` is true of.
    fn tell(&self, witness: &dyn Witness, gone: &dyn Fn(u64) -> bool) -> Result<(), SearchError> {
        let (set, left) = (self.task.set, &self.left);
        let mut numbers = Vec::new();
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            for (record, number) in records.iter().zip(&numbers) {
                if left.get(*number) && gone(*number) {
                    witness.take(Records::new(record, record.len()))?;
                }
            }
            Ok(true)
        })
    }

    fn queue(&mut self) -> Result<Queue, SearchError> {
        self.files += 1;
        let name = format!("pass-{}", self.files);
        let block = (self.task.budget.free() / 64).clamp(256, BLOCK_BYTES);
        let words = self.task.system.shape().words();
        Ok(Queue::new(self.task.volume, &name, words, block, self.task.budget)?)
    }
}
