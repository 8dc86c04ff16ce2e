//! How do threads share the turns of a pass?
//!
//! What there is to do is behind a lock, or counted: each thread takes some of it and works on that alone, until there is nothing left. The threads are those of [`crate::expansion`], and stay for a whole propagation.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Task;
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::expansion::workers::{Shift, Workers};
use crate::task::Progress;

/// Does some of what there is to do; false if nothing is left.
pub(super) type Turn<'t, 'a> = &'t (dyn Fn(&mut Expander<'a>) -> Result<bool, SearchError> + Sync);

/// Has everything done that there is to do, by all threads or by this one alone; false if the observer stopped it.
pub(super) type Order<'o> = &'o dyn Fn(bool) -> Result<bool, SearchError>;

/// Taking turns.
struct Turns<'t, 'a> {
    task: Task<'a>,
    round: u64,
    turn: Turn<'t, 'a>,
    stopped: AtomicBool,
}

impl<'a> Shift for Turns<'_, 'a> {
    type Order = ();
    type Own = Expander<'a>;

    fn work(&self, (): &(), expander: &mut Expander<'a>) -> Result<(), SearchError> {
        let mut turns = || {
            while !self.stopped.load(Ordering::Relaxed) && (self.turn)(expander)? {
                if self.told(expander) {
                    self.stopped.store(true, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        turns().inspect_err(|_| self.stopped.store(true, Ordering::Relaxed))
    }
}

impl Turns<'_, '_> {
    /// Tells the observer; true if it wants the passes to stop.
    fn told(&self, expander: &Expander<'_>) -> bool {
        let states = self.task.set.len();
        self.task.observer.progress(Progress {
            layer: self.round,
            frontier: states,
            expanded: expander.visits,
            states,
            transitions: expander.edges,
            budget_used: self.task.budget.used() as u64,
        });
        self.task.observer.stop()
    }
}

/// Does `lead` on this thread, which orders turns to be taken, with a thread for each expander at hand until it returns.
pub(super) fn in_turns<'a>(
    task: Task<'a>,
    round: u64,
    expanders: &mut Vec<Expander<'a>>,
    turn: Turn<'_, 'a>,
    lead: impl FnOnce(Order<'_>) -> Result<bool, SearchError>,
) -> Result<bool, SearchError> {
    let shift = Turns { task, round, turn, stopped: AtomicBool::new(false) };
    let workers = Workers::new(shift, std::mem::take(expanders));
    let order = |by_all: bool| {
        workers.carry_out(&(), by_all)?;
        Ok(!workers.shift().stopped.load(Ordering::Relaxed))
    };
    let outcome = workers.together(|| lead(&order));
    *expanders = workers.into_owned();
    outcome
}
