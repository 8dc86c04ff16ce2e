//! Body: which value does each state come to, when values go along steps until none changes?
//!
//! ```text
//! settle     what was offered has come to states; those whose values changed have a turn: all at first, then fewer
//! turn       a state is expanded; the rule says what each of its steps brings, from what the state has
//! offer      that is joined to the value of the target: or, sum, max
//! until      nobody has a turn
//! ```
//! Joins do not depend on order, so neither do the values that this ends with, nor on the number of threads. An engine says what values are ([`Join`]), what steps bring ([`Rule`]), and what follows from the values
//! that were come to: mostly that fewer states are left, and that it begins again with those. Where values are kept is [`Values`]: in RAM, by the numbers of a [`ClosedSet`] ([`by_number`]), or in sorted files, in as
//! little memory as there is ([`by_file`]).
//!
//! Passes over all steps are many where there are several marks or rounds: then the steps of what is left are written down once as numbers ([`crate::files::successor_graph`]), and read from then on ([`by_graph`]).
//!
//! Memory, by number: by [`ClosedSet`], and what the join takes. What is to be expanded waits in a queue on the volume. I/O: a scan of the set, and a state through the queue each time that its value changes after its turn.

pub(crate) mod by_file;
mod by_graph;
mod by_number;
mod turns;
pub(crate) mod values;

use std::sync::{PoisonError, RwLock};

use fathom_disk::budget::Budget;
use fathom_disk::log::Queue;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use self::by_number::ByNumber;
use self::turns::{Order, Turn};
use self::values::{Join, Revisited, Values};
use crate::error::SearchError;
use crate::expansion::by_number::{Expander, Targets};
use crate::files::closed_set::ClosedSet;
use crate::files::successor_graph::{GraphUse, SuccessorGraph};
use crate::stores::bits::Bits;
use crate::task::Observer;

/// What values go along, and with what.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    /// The system.
    pub(crate) system: &'a dyn TransitionSystem,
    /// Its states that have values.
    pub(crate) set: &'a ClosedSet<'a>,
    /// Whether only steps that carry all marks count.
    pub(crate) only_marked: bool,
    /// How many threads expand.
    pub(crate) threads: usize,
    /// Whether steps become a graph of numbers.
    pub(crate) graph: GraphUse,
    /// The most bytes that this may take.
    pub(crate) room: u64,
    /// Where queues go, and the graph.
    pub(crate) volume: &'a Volume,
    /// All memory that is taken.
    pub(crate) budget: &'a Budget,
    /// Who watches.
    pub(crate) observer: &'a dyn Observer,
}

/// What steps bring. Threads share it.
pub(crate) trait Rule: Sync {
    /// What a state has in its turn.
    type Turn: Copy;
    /// What is joined.
    type Value: Copy;
    /// What a state is known by.
    type Number: Copy;

    /// What a step with these marks brings its target, which counts, from a state that has `turn`; none if nothing. Asked once for each step of each turn.
    fn along(
        &self,
        turn: Self::Turn,
        marks: u64,
        target: Self::Number,
    ) -> Result<Option<Self::Value>, SearchError>;
}

/// A rule that wants to know when turns begin and end: those of all states that changed before any of them had its turn.
pub(crate) trait LevelRule<S: Targets>: Rule<Number = S::Number> + Send {
    /// They begin.
    fn begin(&mut self) -> Result<(), SearchError> {
        Ok(())
    }

    /// Some of the states are about to be expanded. From any thread.
    fn expanding(&self, _expander: &mut Expander<'_, S>, _states: Records<'_>) -> Result<(), SearchError> {
        Ok(())
    }

    /// They are over.
    fn end(&mut self) -> Result<(), SearchError> {
        Ok(())
    }
}

/// The name of the graph of numbers.
pub(crate) const GRAPH: &str = "graph";
/// Bytes of a block of the queue.
const BLOCK_BYTES: usize = 1 << 16;
/// Fewer turns than this are for one thread: waking others would cost more than they bring.
const SHARED_MIN: u64 = 4096;

/// Who watches passes, and what is told.
#[derive(Clone, Copy)]
pub(crate) struct Watched<'a> {
    pub(crate) observer: &'a dyn Observer,
    pub(crate) budget: &'a Budget,
    pub(crate) round: u64,
}

/// Everything that passes over the same numbered set have in common.
pub(crate) struct Passes<'a> {
    pub(crate) task: Task<'a>,
    /// One for each thread.
    expanders: Vec<Expander<'a>>,
    /// The steps of the states that are left, as numbers.
    graph: Option<SuccessorGraph>,
    /// Whether there was no room for it.
    no_graph: bool,
    /// Queues made so far.
    files: u64,
    /// What the observer is told.
    pub(crate) round: u64,
}

impl<'a> Passes<'a> {
    /// No pass yet. The volume has a graph of the steps of what is left, perhaps.
    pub(crate) fn new(task: Task<'a>, graph: bool) -> Result<Passes<'a>, SearchError> {
        let threads = task.threads.max(1);
        let expander = |_| Expander::new(task.system, task.set, task.only_marked, threads, task.budget);
        let expanders = (0..threads).map(expander).collect::<Result<_, _>>()?;
        let graph = if graph { by_graph::opened(task)? } else { None };
        Ok(Passes { task, expanders, graph, no_graph: false, files: 0, round: 0 })
    }

    /// Propagates from every state that is left; false if the observer stopped it. Reads the graph, if there is one.
    pub(crate) fn propagate_all<J: Revisited, R>(
        &mut self,
        left: &Bits,
        join: &J,
        rule: &R,
    ) -> Result<bool, SearchError>
    where
        R: Rule<Turn = J::Turn, Value = J::Value, Number = u64>,
    {
        if let Some(graph) = self.graph.take() {
            let buffers = graph.longest() * self.expanders.len();
            if let Ok(_buffers) = self.task.budget.charge("chunks being read", buffers) {
                let finished = self.by_graph(&graph, left, join, rule);
                self.graph = Some(graph);
                return finished;
            }
            self.graph = Some(graph);
        }
        self.expand_all(left, join, rule)
    }

    /// The same, without the graph.
    pub(crate) fn expand_all<J: Join, R>(
        &mut self,
        left: &Bits,
        join: &J,
        rule: &R,
    ) -> Result<bool, SearchError>
    where
        R: Rule<Turn = J::Turn, Value = J::Value, Number = u64>,
    {
        let values = ByNumber::of_all(self.task.set, left, join, self.queue()?);
        let finished = self.propagate(&values, &mut Plain(rule))?;
        values.into_queue().remove()?;
        Ok(finished)
    }

    /// Propagates from those states that are left whose numbers `first` is true of; false if the observer stopped it.
    pub(crate) fn expand_some<J: Join, R>(
        &mut self,
        left: &Bits,
        first: &dyn Fn(u64) -> bool,
        join: &J,
        rule: &mut R,
    ) -> Result<bool, SearchError>
    where
        R: LevelRule<ClosedSet<'a>, Turn = J::Turn, Value = J::Value>,
    {
        let mut queue = self.queue()?;
        self.visit_left(left, |number, record| if first(number) { Ok(queue.push(record)?) } else { Ok(()) })?;
        let values = ByNumber::of_queued(self.task.set, left, join, queue);
        let finished = self.propagate(&values, rule)?;
        values.into_queue().remove()?;
        Ok(finished)
    }

    fn propagate<V: Values<Set = ClosedSet<'a>>, R>(
        &mut self,
        values: &V,
        rule: &mut R,
    ) -> Result<bool, SearchError>
    where
        R: LevelRule<ClosedSet<'a>, Turn = V::Turn, Value = V::Value>,
    {
        propagate(self.watched(), &mut self.expanders, values, rule)
    }

    /// Has turns taken as `lead` orders, by as many threads as are worth starting.
    fn in_turns(
        &mut self,
        turn: Turn<'_, 'a>,
        lead: impl FnOnce(Order<'_>) -> Result<bool, SearchError>,
    ) -> Result<bool, SearchError> {
        turns::in_turns(self.watched(), &mut self.expanders, turn, lead)
    }

    fn watched(&self) -> Watched<'a> {
        Watched { observer: self.task.observer, budget: self.task.budget, round: self.round }
    }

    /// Visits the states that are left, in order, with their numbers.
    pub(crate) fn visit_left(
        &self,
        left: &Bits,
        mut visit: impl FnMut(u64, &[u64]) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let (set, mut numbers) = (self.task.set, Vec::new());
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            for (record, number) in records.iter().zip(&numbers).filter(|(_, number)| left.get(**number)) {
                visit(*number, record)?;
            }
            Ok(true)
        })
    }

    /// The name of the graph, if there is one.
    pub(crate) fn graph_name(&self) -> Option<&str> {
        self.graph.as_ref().map(SuccessorGraph::name)
    }

    /// States expanded, steps made, and bytes of the graph, if one was written.
    pub(crate) fn figures(&self) -> (u64, u64, Option<u64>) {
        let sum = |each: fn(&Expander<'_>) -> u64| self.expanders.iter().map(each).sum();
        let graph_bytes = self.graph.as_ref().map(SuccessorGraph::bytes);
        (sum(|expander| expander.visits), sum(|expander| expander.edges), graph_bytes)
    }

    /// Removes the graph, if there is one.
    pub(crate) fn remove_graph(&mut self) -> Result<(), SearchError> {
        if self.graph.take().is_some() {
            self.task.volume.remove(GRAPH).map_err(fathom_disk::error::DiskError::from)?;
        }
        Ok(())
    }

    fn queue(&mut self) -> Result<Queue, SearchError> {
        self.files += 1;
        let name = format!("pass-{}", self.files);
        let block = (self.task.budget.free() / 64).clamp(256, BLOCK_BYTES);
        let words = self.task.system.shape().words();
        Ok(Queue::new(self.task.volume, &name, words, block, self.task.budget)?)
    }
}

/// The loop: turns, until nobody has one; false if the observer stopped it. There is an expander for each thread.
pub(crate) fn propagate<'a, V: Values, R>(
    watched: Watched<'a>,
    expanders: &mut Vec<Expander<'a, V::Set>>,
    values: &V,
    rule: &mut R,
) -> Result<bool, SearchError>
where
    V::Set: Sync + 'a,
    R: LevelRule<V::Set, Turn = V::Turn, Value = V::Value>,
{
    let records = expanders.first().map_or(0, |expander| expander.set.block_keys_max().max(1));
    let each = records * size_of::<V::Turn>();
    let _turns = watched.budget.charge("turns", each * expanders.len())?;
    // All read it while states have their turns; between turns it is this thread's.
    let rule = RwLock::new(rule);
    let write = || rule.write().unwrap_or_else(PoisonError::into_inner);
    let one = |expander: &mut Expander<'a, V::Set>| {
        let rule = rule.read().unwrap_or_else(PoisonError::into_inner);
        turn(expander, values, &**rule)
    };
    turns::in_turns(watched, expanders, &one, |order| {
        loop {
            let changed = values.settle()?;
            if changed == 0 {
                return Ok(true);
            }
            write().begin()?;
            if !order(changed >= SHARED_MIN)? {
                return Ok(false);
            }
            write().end()?;
        }
    })
}

/// A rule that does not care when turns begin.
pub(crate) struct Plain<'r, R>(pub(crate) &'r R);

impl<R: Rule> Rule for Plain<'_, R> {
    type Turn = R::Turn;
    type Value = R::Value;
    type Number = R::Number;

    #[inline]
    fn along(&self, turn: R::Turn, marks: u64, target: R::Number) -> Result<Option<R::Value>, SearchError> {
        self.0.along(turn, marks, target)
    }
}

impl<S: Targets, R: Rule<Number = S::Number>> LevelRule<S> for Plain<'_, R> {}

/// Some states have their turn; false if none was left that has one.
fn turn<V: Values, R>(expander: &mut Expander<'_, V::Set>, values: &V, rule: &R) -> Result<bool, SearchError>
where
    R: LevelRule<V::Set, Turn = V::Turn, Value = V::Value>,
{
    let (mut states, mut turns) = (expander.take_batch(), Vec::new());
    let some = values.next_changed(expander, &mut states, &mut turns)?;
    if some {
        rule.expanding(expander, states.view())?;
        expander.each_then_send(
            states.view(),
            |sent| values.take_sent(sent),
            |source, taken| {
                let target = taken.number;
                if !values.counts(target) {
                    return Ok(None);
                }
                match rule.along(turns[source], taken.steps.marks(taken.step).0, target)? {
                    Some(value) => values.offer(target, value),
                    None => Ok(None),
                }
            },
        )?;
    }
    expander.return_batch(states);
    Ok(some)
}
