//! Which states are left when everything was taken away that no accepting run can repeat for ever?
//!
//! I. Černá and R. Pelánek ("Distributed explicit fair cycle detection", SPIN 2003): one way catch them young. Of the states that are left, in rounds:
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
//! What is taken away together is a *class*, in the order of their going; a [`RankLog`] is told of each state and its class. No step leads to an earlier class. Inside a class
//! there is no step with the mark that it was kept out by, or, if it was trimmed, no step at all: so the classes prove that there is no accepting run.
//!
//! Between two passes, and between two steps of trimming, the states that are left are all there is to know: that is a [`Checkpoint`], and passes that are taken up again go on from there. While
//! it is trimmed a state is left until it is expanded, so that those that wait in the queue are found again: they have no predecessor.
//!
//! Memory: beside the numbers of the closed set three bits and a counter per state. I/O: per round and mark a scan of the set and each state at most once through the queue, and the same for trimming.

use fathom_model::record::Records;

use super::checkpoint::{Checkpoint, CheckpointLog, Position};
use crate::bodies::passes::{Passes, Task};
use crate::error::SearchError;
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
    let (position, left) = match checkpoint {
        Some(Checkpoint { position, left, .. }) => (position, left),
        None => (Position { before: states, ..Position::default() }, Bits::new(task.budget, states, true)?),
    };
    passes.round = position.rounds;
    let lasts = log.is_some();
    let mut elimination = Elimination { passes, ranks, log, left, position };
    let finished = elimination.rounds()?;
    let Elimination { mut passes, left, position, .. } = elimination;
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
    pub(super) position: Position,
}

impl Elimination<'_, '_, '_> {
    /// Rounds until nothing changes; false if the observer stopped them.
    fn rounds(&mut self) -> Result<bool, SearchError> {
        let task = self.passes.task;
        let marks = if task.only_marked { 0 } else { task.system.shape().mark_count };
        loop {
            let mut counters = None;
            while self.position.marks < marks {
                if self.position.marks + 1 == marks {
                    counters = Some(Counters::new(task.budget, task.set.len())?);
                }
                let ahead = self.passes_ahead(marks);
                let written = self.passes.write_graph_if_it_pays(&self.left, ahead)?;
                if !written || !self.keep_reached(self.position.marks, counters.as_ref())? {
                    return Ok(false);
                }
                self.position.marks += 1;
                self.commit_if_due()?;
            }
            if !self.trim(counters)? {
                return Ok(false);
            }
            let (before, after) = (self.position.before, self.left.count());
            self.position = Position { rounds: self.position.rounds + 1, marks: 0, before: after };
            self.passes.round = self.position.rounds;
            if after == 0 || after == before || task.only_marked {
                return Ok(true);
            }
            self.commit_if_due()?;
        }
    }

    /// Passes over all steps that are still to come: those of this round, and after the first round as many again as there were. Nobody knows better.
    fn passes_ahead(&self, marks: u32) -> u64 {
        u64::from(marks - self.position.marks) + self.position.rounds * u64::from(marks)
    }

    /// Commits how far passes have come, if it is time to.
    fn commit_if_due(&mut self) -> Result<(), SearchError> {
        commit_if_due(&mut self.log, self.position, &self.left, self.passes.graph_name())
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
