//! How do passes look at steps that are numbers on a volume?
//!
//! ```text
//! waiting chunks   all at first; each is read, and those of its states are looked at that were not scanned
//! a state          that is reached is followed; else what its steps with the mark lead to is reached
//! reached late     a state that was scanned before it was reached is to be scanned again, so its chunk waits again
//! ```
//! until no chunk waits. A chunk is one thread's at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fathom_disk::budget::Charge;
use fathom_model::record::Records;

use super::crew::{in_turns, next_of, work};
use super::{GRAPH, Passes, Task};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::successor_graph::{
    Abandoned, CHUNK_STATES, ENCODED_BYTES, Encoded, GraphBuilder, GraphUse, Room, SuccessorGraph,
};
use crate::stores::bits::{Bits, Progress as Scanned};
use crate::stores::counters::Counters;

/// What a step costs, in nanoseconds: made anew and its target numbered; written as a number; read.
const MAKE: u64 = 100;
const WRITE: u64 = 20;
const READ: u64 = 10;
/// The memory that must be free for a graph to be thought of; a part of it is for putting chunks together.
const FREE_MIN: usize = 1 << 20;
const MEMORY_PART: usize = 4;
/// So few chunks are for one thread.
const SHARED_MIN: u64 = 16;

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

impl<'a> Passes<'a, '_> {
    /// Writes the steps of what is left as numbers, if that was not done and pays; false if the observer stopped it.
    ///
    /// Ahead are the passes of this round, and after the first round as many again as there were: nobody knows better.
    pub(super) fn write_graph_if_it_pays(&mut self, marks: u32) -> Result<bool, SearchError> {
        let ahead = u64::from(marks - self.stand.marks) + self.stand.rounds * u64::from(marks);
        let wanted = match self.task.graph {
            GraphUse::WhenItPays => pays(ahead),
            GraphUse::Always => true,
            GraphUse::Never => false,
        };
        // With little memory the steps of one state may take most of it.
        if !wanted || self.graph.is_some() || self.no_graph || self.task.budget.free() < FREE_MIN {
            return Ok(true);
        }
        match self.write_graph() {
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
    fn write_graph(&mut self) -> Result<bool, Abandoned> {
        let Passes { expanders, left, task, stand, .. } = self;
        let (task, left) = (*task, &*left);
        let states = task.set.len();
        let room = Room { memory: task.budget.free() / MEMORY_PART, volume: task.room };
        let encoding = 2 * ENCODED_BYTES * expanders.len();
        let charge = task.budget.charge("encoding", encoding).map_err(|_| Abandoned::NoRoom)?;
        let builder = GraphBuilder::new(task.volume, GRAPH, (left, states), room, task.budget)?;
        let no_room = AtomicBool::new(false);
        let stream = std::sync::Mutex::new(task.set.stream().map_err(Abandoned::of)?);
        let write = |expander: &mut Expander<'a>, records: Records<'_>| {
            if no_room.load(Ordering::Relaxed) {
                return Ok(());
            }
            match encode(expander, records, left, &builder) {
                Err(Abandoned::NoRoom) => {
                    no_room.store(true, Ordering::Relaxed);
                    Ok(())
                }
                Err(Abandoned::Failed(error)) => Err(error),
                Ok(()) => Ok(()),
            }
        };
        let next = |batch: &mut _| next_of(&stream, batch);
        let finished = work(task, expanders, stand.rounds, states, &next, &write).map_err(Abandoned::of)?;
        drop((stream, charge));
        if no_room.into_inner() {
            return Err(Abandoned::NoRoom);
        }
        if finished {
            self.graph = Some(builder.finish()?);
        }
        Ok(finished)
    }

    /// Keeps what steps with a mark lead to, and counts the steps that lead to each state that is kept; false if the observer stopped it. The buffers are for the chunks that are read.
    pub(super) fn keep_reached_by_number(
        &mut self,
        graph: &SuccessorGraph,
        _buffers: Charge,
        mark: u32,
        counters: Option<&Counters>,
    ) -> Result<bool, SearchError> {
        let scanned = Scanned::new(self.task.budget, self.task.set.len())?;
        let finished = {
            let Passes { expanders, left, task, stand, .. } = self;
            let sweep = Sweep {
                graph,
                mark,
                left,
                scanned: &scanned,
                counters,
                waiting: Bits::new(task.budget, graph.chunk_count() as u64, true)?,
                next: AtomicUsize::new(0),
            };
            loop {
                let waiting = sweep.waiting.count();
                if waiting == 0 {
                    break true;
                }
                sweep.next.store(0, Ordering::Relaxed);
                let threads = if waiting < SHARED_MIN { 1 } else { expanders.len() };
                if !in_turns(*task, &mut expanders[..threads], stand.rounds, &|_| sweep.turn())? {
                    break false;
                }
            }
        };
        if finished {
            self.take_unreached(mark, &scanned)?;
        }
        Ok(finished)
    }
}

/// Writes where the steps of some states lead, of those that are left.
fn encode(
    expander: &mut Expander<'_>,
    records: Records<'_>,
    left: &Bits,
    builder: &GraphBuilder<'_>,
) -> Result<(), Abandoned> {
    let (sources, numbers) = expander.left_of(records, left);
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
    let expanded = expander.each(sources.view(), &mut |source, taken| {
        push(source, &mut steps);
        if left.get(taken.number) {
            steps.push((taken.steps.marks(taken.step).0, taken.number));
        }
        Ok(())
    });
    push(numbers.len(), &mut steps);
    expander.give_back(sources, numbers);
    expanded.map_err(Abandoned::of)?;
    abandoned.map_or(Ok(()), Err)
}

/// What threads share while they read the chunks that wait.
struct Sweep<'a> {
    graph: &'a SuccessorGraph,
    mark: u32,
    left: &'a Bits,
    scanned: &'a Scanned,
    counters: Option<&'a Counters>,
    waiting: Bits,
    /// The next chunk to look at.
    next: AtomicUsize,
}

impl Sweep<'_> {
    /// Reads the next chunk that waits; false if there is none before the end.
    fn turn(&self) -> Result<bool, SearchError> {
        let chunk = loop {
            let chunk = self.next.fetch_add(1, Ordering::Relaxed);
            if chunk >= self.graph.chunk_count() {
                return Ok(false);
            }
            // It waits no more: whatever is reached from here on makes it wait again.
            if self.waiting.get(chunk as u64) && self.waiting.clear(chunk as u64) {
                break chunk;
            }
        };
        let Sweep { left, scanned, counters, mark, .. } = *self;
        let mut wanted =
            |state: u64| (left.get(state) && !scanned.is_scanned(state)).then(|| scanned.scan(state));
        let mut step = |reached: bool, marks: u64, target: u64| {
            if !left.get(target) || !(reached || marks >> mark & 1 == 1) {
                return Ok(());
            }
            if let Some(counters) = counters.filter(|_| reached) {
                counters.increase(target)?;
            }
            if scanned.reach_again(target) {
                self.waiting.set(target / CHUNK_STATES);
            }
            Ok(())
        };
        self.graph.visit(chunk, &mut Vec::new(), &mut wanted, &mut step)?;
        Ok(true)
    }
}
