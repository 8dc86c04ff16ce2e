//! Which states are left when everything was taken away that no accepting run can repeat for ever?
//!
//! The order is that of [`crate::liveness::rounds`]; bits say which states are left.
//!
//! Between two passes, and between two steps of trimming, the states that are left are all there is to know: that is a [`Checkpoint`], and passes that are taken up again go on from there. While
//! it is trimmed a state is left until it is expanded, so that those that wait in the queue are found again: they have no predecessor.
//!
//! Memory: beside the numbers of the closed set three bits and a counter per state. I/O: per round and mark a scan of the set and each state at most once through the queue, and the same for trimming.

use fathom_model::record::Records;

use super::checkpoint::{Checkpoint, CheckpointLog};
use crate::bodies::passes::{Passes, Task};
use crate::error::SearchError;
use crate::liveness::rounds::{self, Left, Position, Wanted};
use crate::proof::ranks::RankLog;
use crate::stores::bits::Bits;
use crate::stores::counters::Counters;

/// What rounds came to.
#[derive(Debug)]
pub(super) struct Eliminated {
    /// The states that are left: some exactly if there is an accepting run. None if the observer stopped it.
    pub(super) left: Option<Bits>,
    /// Rounds.
    pub(super) rounds: u64,
    /// States expanded.
    pub(super) visits: u64,
    /// Steps made.
    pub(super) edges: u64,
    /// Bytes of the graph of numbers, if one was written.
    pub(super) graph_bytes: Option<u64>,
}

/// Takes away what no accepting run repeats, from the beginning or from a checkpoint.
pub(super) fn run(
    task: Task<'_>,
    checkpoint: Option<Checkpoint>,
    ranks: Option<&RankLog>,
    log: Option<&mut CheckpointLog<'_>>,
) -> Result<Eliminated, SearchError> {
    let states = task.set.len();
    let graph = checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.graph);
    let mut passes = Passes::new(task, graph)?;
    let (mut position, left) = match checkpoint {
        Some(Checkpoint { position, left, .. }) => (position, left),
        None => (Position { before: states, ..Position::default() }, Bits::new(task.budget, states, true)?),
    };
    passes.round = position.rounds;
    let lasts = log.is_some();
    let mut elimination = Elimination { passes, ranks, log, left, counters: None };
    let marks = if task.only_marked { 0 } else { task.system.shape().mark_count };
    let finished =
        rounds::run(&mut elimination, &mut position, Wanted { marks, pairs: 0, weak: task.only_marked })?;
    let Elimination { mut passes, left, .. } = elimination;
    let (visits, edges, graph_bytes) = passes.figures();
    if !lasts {
        // Where something lasts, it goes with the commit that no longer names it.
        passes.remove_graph()?;
    }
    Ok(Eliminated { left: finished.then_some(left), rounds: position.rounds, visits, edges, graph_bytes })
}

pub(super) struct Elimination<'a, 'k, 'd> {
    pub(super) passes: Passes<'a>,
    pub(super) ranks: Option<&'a RankLog>,
    pub(super) log: Option<&'k mut CheckpointLog<'d>>,
    pub(super) left: Bits,
    /// Steps that lead to each state that is left, if they were counted.
    pub(super) counters: Option<Counters>,
}

impl Left for Elimination<'_, '_, '_> {
    fn keep_reached(&mut self, position: Position, last: bool) -> Result<bool, SearchError> {
        let task = self.passes.task;
        if last {
            self.counters = Some(Counters::new(task.budget, task.set.len())?);
        }
        let ahead = self.passes_ahead(position);
        Ok(self.passes.write_graph_if_it_pays(&self.left, ahead)? && self.keep_marked(position.marks)?)
    }

    fn trim(&mut self, position: Position) -> Result<bool, SearchError> {
        let counters = self.counters.take();
        self.trim_counted(position, counters)
    }

    fn count(&self) -> u64 {
        self.left.count()
    }

    fn come_to(&mut self, position: Position) -> Result<(), SearchError> {
        self.passes.round = position.rounds;
        commit_if_due(&mut self.log, position, &self.left, self.passes.graph_name())
    }
}

impl Elimination<'_, '_, '_> {
    /// Passes over all steps that are still to come: those of this round, and after the first round as many again as there were. Nobody knows better.
    fn passes_ahead(&self, position: Position) -> u64 {
        let marks = self.passes.task.system.shape().mark_count;
        u64::from(marks - position.marks) + position.rounds * u64::from(marks)
    }

    /// Tells the states that are left so far and that `gone` is true of.
    pub(super) fn tell(&self, ranks: &RankLog, gone: &dyn Fn(u64) -> bool) -> Result<(), SearchError> {
        self.passes.visit_left(&self.left, |number, record| {
            if gone(number) { ranks.take(Records::new(record, record.len())) } else { Ok(()) }
        })
    }
}

/// Commits how far passes have come, if somebody wants that and it is time to.
pub(super) fn commit_if_due(
    log: &mut Option<&mut CheckpointLog<'_>>,
    position: Position,
    left: &Bits,
    graph: Option<&str>,
) -> Result<(), SearchError> {
    match log.as_deref_mut().filter(|log| log.is_due()) {
        Some(log) => log.commit(position, left, graph),
        None => Ok(()),
    }
}
