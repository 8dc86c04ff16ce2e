//! Which states are near the initial ones, and how do they lead to each other? As lists of numbers in memory, charged.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};

use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::path::Path;

/// States by number, in the order in which a breadth-first search meets them.
pub(super) struct Graph {
    words: usize,
    records: ChargedVec<u64>,
    /// By state: how far it is from an initial one, the state it was met from, and by which edge; an initial state is its own, with its start in place of the edge.
    met: ChargedVec<Met>,
    /// By state that was expanded: where its edges end.
    ends: ChargedVec<u32>,
    pub(super) edges: ChargedVec<Edge>,
    /// Numbers of states by hash, and one more; 0 where there is none.
    table: ChargedVec<u32>,
    steps: Steps,
}

#[derive(Clone, Copy)]
pub(super) struct Met {
    pub(super) depth: u32,
    pub(super) from: u32,
    pub(super) by: u32,
}

#[derive(Clone, Copy)]
pub(super) struct Edge {
    pub(super) to: u32,
    pub(super) action: u32,
    pub(super) marks: u64,
}

/// How many states are expanded before the observer is asked again.
const PATIENCE: usize = 256;
const TABLE_FIRST: usize = 1 << 10;

impl Graph {
    /// The initial states.
    pub(super) fn new(system: &dyn TransitionSystem, budget: &Budget) -> Result<Graph, SearchError> {
        let mut graph = Graph::empty(system, budget)?;
        let mut steps = graph.steps.clone();
        initial_all(system, &mut steps, &mut |_| Ok::<_, SearchError>(()))?;
        for step in 0..steps.step_count() {
            let next = graph.len() as u32;
            graph.add(steps.target(step), Met { depth: 0, from: next, by: steps.action(step) })?;
        }
        Ok(graph)
    }

    /// The states of a path, and all steps between them.
    pub(super) fn of_path(
        system: &dyn TransitionSystem,
        path: &Path,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Graph, SearchError> {
        let mut members = Graph::empty(system, budget)?;
        let mut reader = path.reader()?;
        for state in 0..path.len() {
            members.add(reader.get(state)?.record, Met { depth: 0, from: 0, by: 0 })?;
        }
        let mut graph = Graph::empty(system, budget)?;
        graph.add(reader.get(0)?.record, Met { depth: 0, from: 0, by: path.start() })?;
        let mut next = 0;
        while next < graph.len() {
            graph.expand(system, next, Some(&members), observer)?;
            next += 1;
        }
        Ok(graph)
    }

    fn empty(system: &dyn TransitionSystem, budget: &Budget) -> Result<Graph, SearchError> {
        let columns = Columns { actions: true, marks: true, ..Columns::NONE };
        let mut table = ChargedVec::with_capacity(budget, "trace", 0)?;
        table.resize(TABLE_FIRST, 0)?;
        Ok(Graph {
            words: system.shape().words(),
            records: ChargedVec::with_capacity(budget, "trace", 0)?,
            met: ChargedVec::with_capacity(budget, "trace", 0)?,
            ends: ChargedVec::with_capacity(budget, "trace", 0)?,
            edges: ChargedVec::with_capacity(budget, "trace", 0)?,
            table,
            steps: Steps::new(system.shape(), columns, 64),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.met.len()
    }

    /// Expands states until there are so many, or those that are left are as far away as a lasso is long that is known. True if all are expanded.
    pub(super) fn grow(
        &mut self,
        system: &dyn TransitionSystem,
        states: usize,
        known: u64,
        observer: &dyn Observer,
    ) -> Result<bool, SearchError> {
        while self.ends.len() < self.len() {
            let next = self.ends.len();
            if next >= states || u64::from(self.met[next].depth) >= known {
                return Ok(false);
            }
            self.expand(system, next, None, observer)?;
        }
        Ok(true)
    }

    /// All states nearer than this were expanded.
    pub(super) fn depth(&self) -> u64 {
        self.met.get(self.ends.len()).map_or(u64::MAX, |met| u64::from(met.depth))
    }

    pub(super) fn record(&self, state: u32) -> &[u64] {
        &self.records[state as usize * self.words..][..self.words]
    }

    pub(super) fn met(&self, state: u32) -> Met {
        self.met[state as usize]
    }

    /// The start that made an initial state.
    pub(super) fn start(&self, state: u32) -> u32 {
        self.met(state).by
    }

    /// The edges that leave a state; none if it was not expanded.
    pub(super) fn leaving(&self, state: u32) -> std::ops::Range<usize> {
        let end = |state: usize| self.ends.get(state).map_or(self.edges.len(), |end| *end as usize);
        let from = (state as usize).checked_sub(1).map_or(0, end);
        from..end(state as usize)
    }

    fn expand(
        &mut self,
        system: &dyn TransitionSystem,
        state: usize,
        among: Option<&Graph>,
        observer: &dyn Observer,
    ) -> Result<(), SearchError> {
        if state.is_multiple_of(PATIENCE) && observer.stop() {
            return Err(SearchError::Stopped);
        }
        let mut steps = std::mem::replace(&mut self.steps, Steps::new(system.shape(), Columns::NONE, 0));
        let source = self.record(state as u32).to_vec();
        let expanded = expand_some(system, Records::new(&source, self.words), &mut steps, &mut |_| {
            Ok::<_, SearchError>(())
        });
        let depth = self.met[state].depth + 1;
        for step in 0..steps.step_count() {
            let target = steps.target(step);
            if among.is_some_and(|among| among.find(target).is_err()) {
                continue;
            }
            let to = self.add(target, Met { depth, from: state as u32, by: self.edges.len() as u32 })?;
            self.edges.push(Edge { to, action: steps.action(step), marks: steps.marks(step).0 })?;
        }
        self.ends.push(self.edges.len() as u32)?;
        self.steps = steps;
        expanded?;
        Ok(())
    }

    /// The number of a state, which is added if it is not there.
    fn add(&mut self, record: &[u64], met: Met) -> Result<u32, SearchError> {
        let place = match self.find(record) {
            Ok(number) => return Ok(number),
            Err(place) => place,
        };
        let number = self.len() as u32;
        if self.records.len() + self.words > self.records.capacity() {
            self.records.reserve(self.records.len().max(64 * self.words))?;
        }
        self.records.extend(record)?;
        self.met.push(met)?;
        self.table[place] = number + 1;
        if self.len() * 2 > self.table.len() {
            self.widen()?;
        }
        Ok(number)
    }

    /// The number of a state, or its place in the table.
    pub(super) fn find(&self, record: &[u64]) -> Result<u32, usize> {
        let mask = self.table.len() - 1;
        let mut place = hash_key(record) as usize & mask;
        loop {
            match self.table[place].checked_sub(1) {
                None => return Err(place),
                Some(number) if self.record(number) == record => return Ok(number),
                Some(_) => place = (place + 1) & mask,
            }
        }
    }

    fn widen(&mut self) -> Result<(), SearchError> {
        let wide = self.table.len() * 2;
        self.table.resize(wide, 0)?;
        self.table.fill(0);
        for number in 0..self.len() as u32 {
            if let Err(place) = self.find(self.record(number)) {
                self.table[place] = number + 1;
            }
        }
        Ok(())
    }
}
