//! How do values go along steps that are numbers on a volume?
//!
//! ```text
//! waiting chunks   all at first; each is read, and those of its states have their turn that did not have it yet
//! changed late     a state whose value changes after its turn is to have another, so its chunk waits again
//! ```
//! until no chunk waits. A chunk is one thread's at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use fathom_disk::run::Scan;
use fathom_disk::set::KeyStream;
use fathom_model::record::{RecordBuffer, Records};

use super::values::Revisited;
use super::{GRAPH, Passes, Rule, Task};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::successor_graph::{
    Abandoned, CHUNK_STATES, ENCODED_BYTES, Encoded, GraphBuilder, GraphUse, Room, SuccessorGraph,
};
use crate::stores::bits::Bits;

/// What a step costs, in nanoseconds: made anew and its target numbered; written as a number; read.
const MAKE: u64 = 100;
const WRITE: u64 = 20;
const READ: u64 = 10;
/// The memory that must be free for a graph to be thought of; a part of it is for putting chunks together.
const FREE_MIN: usize = 1 << 20;
const MEMORY_PART: usize = 4;
/// Fewer chunks are for one thread.
const SHARED_CHUNKS_MIN: u64 = 16;

/// The graph that is on the volume of a task; none if memory does not suffice for it.
pub(super) fn opened(task: Task<'_>) -> Result<Option<SuccessorGraph>, SearchError> {
    match SuccessorGraph::open(task.volume, GRAPH, task.set.len(), task.budget) {
        Err(SearchError::Budget(_)) => Ok(None),
        other => other.map(Some),
    }
}

/// Whether it pays to write the steps down before this pass and `ahead - 1` more.
fn pays(ahead: u64) -> bool {
    MAKE * ahead > MAKE + WRITE + READ * ahead
}

impl<'a> Passes<'a> {
    /// Writes the steps of what is left as numbers, if that was not done and pays for so many passes that are ahead; false if the observer stopped it.
    pub(crate) fn write_graph_if_it_pays(&mut self, left: &Bits, ahead: u64) -> Result<bool, SearchError> {
        let wanted = match self.task.graph {
            GraphUse::WhenItPays => pays(ahead),
            GraphUse::Always => true,
            GraphUse::Never => false,
        };
        // With little memory the steps of one state may take most of it.
        if !wanted || self.graph.is_some() || self.no_graph || self.task.budget.free() < FREE_MIN {
            return Ok(true);
        }
        match self.write_graph(left) {
            Ok(finished) => Ok(finished),
            Err(Abandoned::Failed(error)) => Err(error),
            Err(Abandoned::NoRoom) => {
                self.no_graph = true;
                let there = self.task.volume.list().map_err(fathom_disk::error::DiskError::from)?;
                if there.iter().any(|name| name == GRAPH) {
                    self.task.volume.remove(GRAPH).map_err(fathom_disk::error::DiskError::from)?;
                }
                Ok(true)
            }
        }
    }

    /// Expands everything that is left once, and writes where its steps lead.
    fn write_graph(&mut self, left: &Bits) -> Result<bool, Abandoned> {
        let (task, states) = (self.task, self.task.set.len());
        let room = Room { memory: task.budget.free() / MEMORY_PART, volume: task.room };
        let encoding = 2 * ENCODED_BYTES * self.expanders.len();
        let charge = task.budget.charge("encoding", encoding).map_err(|_| Abandoned::NoRoom)?;
        let builder = GraphBuilder::new(task.volume, GRAPH, (left, states), room, task.budget)?;
        let no_room = AtomicBool::new(false);
        let stream = Mutex::new(task.set.stream().map_err(Abandoned::of)?);
        let write = |expander: &mut Expander<'a>| {
            let mut batch = expander.take_batch();
            batch.clear();
            next_of(&stream, &mut batch)?;
            let some = !batch.is_empty() && !no_room.load(Ordering::Relaxed);
            if some {
                match encode(expander, &mut batch, left, &builder) {
                    Err(Abandoned::NoRoom) => no_room.store(true, Ordering::Relaxed),
                    Err(Abandoned::Failed(error)) => return Err(error),
                    Ok(()) => {}
                }
            }
            expander.return_batch(batch);
            Ok(some)
        };
        let finished = self.in_turns(&write, |order| order(true)).map_err(Abandoned::of)?;
        drop((stream, charge));
        if no_room.into_inner() {
            return Err(Abandoned::NoRoom);
        }
        if finished {
            self.graph = Some(builder.finish()?);
        }
        Ok(finished)
    }

    /// Propagates from every state that is left, along the steps of a graph; false if the observer stopped it.
    pub(super) fn by_graph<J: Revisited, R>(
        &mut self,
        graph: &SuccessorGraph,
        left: &Bits,
        join: &J,
        rule: &R,
    ) -> Result<bool, SearchError>
    where
        R: Rule<Turn = J::Turn, Value = J::Value, Number = u64>,
    {
        let waiting = Bits::new(self.task.budget, graph.chunk_count() as u64, true)?;
        let sweep = Sweep { graph, left, join, rule, waiting, next: AtomicUsize::new(0) };
        self.in_turns(&|_| sweep.turn(), |order| {
            loop {
                let waiting = sweep.waiting.count();
                if waiting == 0 {
                    return Ok(true);
                }
                sweep.next.store(0, Ordering::Relaxed);
                if !order(waiting >= SHARED_CHUNKS_MIN)? {
                    return Ok(false);
                }
            }
        })
    }
}

/// The next block of a scan.
fn next_of(stream: &Mutex<Scan<'_>>, batch: &mut RecordBuffer) -> Result<(), SearchError> {
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    if stream.advance()? {
        batch.append(Records::new(stream.keys(), stream.words()));
    }
    Ok(())
}

/// Writes where the steps of some states lead, of those that are left.
fn encode(
    expander: &mut Expander<'_>,
    states: &mut RecordBuffer,
    left: &Bits,
    builder: &GraphBuilder<'_>,
) -> Result<(), Abandoned> {
    expander.keep(states, |number| left.get(number));
    let mut numbers = Vec::new();
    expander.swap_kept(&mut numbers);
    let (mut encoded, mut steps, mut current) = (Encoded::default(), Vec::new(), 0);
    let mut abandoned = None;
    let mut push = |upto: usize, steps: &mut Vec<(u64, u64)>| {
        while current < upto && abandoned.is_none() {
            encoded.push(numbers[current], steps);
            steps.clear();
            current += 1;
            if encoded.is_full() || current == numbers.len() {
                abandoned = builder.take(&mut encoded).err();
            }
        }
    };
    let expanded = expander.each(states.view(), |source, taken| {
        push(source, &mut steps);
        if left.get(taken.number) {
            steps.push((taken.steps.marks(taken.step).0, taken.number));
        }
        Ok(())
    });
    push(numbers.len(), &mut steps);
    expander.swap_kept(&mut numbers);
    expanded.map_err(Abandoned::of)?;
    abandoned.map_or(Ok(()), Err)
}

/// What threads share while they read the chunks that wait.
struct Sweep<'a, J, R> {
    graph: &'a SuccessorGraph,
    left: &'a Bits,
    join: &'a J,
    rule: &'a R,
    waiting: Bits,
    /// The next chunk to look at.
    next: AtomicUsize,
}

impl<J: Revisited, R: Rule<Turn = J::Turn, Value = J::Value, Number = u64>> Sweep<'_, J, R> {
    /// Reads the next chunk that waits; false if there is none before the end.
    fn turn(&self) -> Result<bool, SearchError> {
        let chunk = loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= self.graph.chunk_count() {
                return Ok(false);
            }
            // It waits no more: whatever changes from here on makes it wait again.
            if self.waiting.get(chunk as u64) && self.waiting.clear(chunk as u64) {
                break chunk;
            }
        };
        let Sweep { left, join, rule, .. } = *self;
        let wanted = |state: u64| (left.get(state) && join.is_due(state)).then(|| join.turn(state));
        let step = |turn: J::Turn, marks: u64, target: u64| {
            if left.get(target)
                && let Some(value) = rule.along(turn, marks, target)?
                && join.join(target, value)?
            {
                self.waiting.set(target / CHUNK_STATES);
            }
            Ok(())
        };
        self.graph.visit(chunk, &mut Vec::new(), wanted, step)?;
        Ok(true)
    }
}
