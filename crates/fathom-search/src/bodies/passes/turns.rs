//! How do threads share the turns of a pass?
//!
//! What there is to do is behind a lock, or counted: each thread takes some of it and works on that alone, until there is nothing left. The threads are those of [`crate::expansion`], and stay for a whole propagation.

use std::sync::atomic::{AtomicBool, Ordering};

use super::{SHARED_MIN, Watched};
use crate::error::SearchError;
use crate::expansion::by_number::{Expander, Targets};
use crate::expansion::workers::{Shift, Workers};
use crate::files::closed_set::ClosedSet;
use crate::task::{Phase, Progress};

/// Does some of what there is to do; false if nothing is left.
pub(super) type Turn<'t, 'a, S = ClosedSet<'a>> =
    &'t (dyn Fn(&mut Expander<'a, S>) -> Result<bool, SearchError> + Sync);

/// Has everything done that there is to do, by all threads or by this one alone; false if the observer stopped it.
pub(super) type Order<'o> = &'o dyn Fn(bool) -> Result<bool, SearchError>;

/// Taking turns.
struct Turns<'t, 'a, S: Targets> {
    watched: Watched<'a>,
    turn: Turn<'t, 'a, S>,
    stopped: AtomicBool,
}

impl<'a, S: Targets + Sync> Shift for Turns<'_, 'a, S> {
    type Order = ();
    type Own = Expander<'a, S>;

    fn work(&self, (): &(), expander: &mut Expander<'a, S>) -> Result<(), SearchError> {
        let mut turns = || {
            while !self.stopped.load(Ordering::Relaxed) && (self.turn)(expander)? {
                if self.told(expander) {
                    self.stopped.store(true, Ordering::Relaxed);
                }
            }
            // Settling wants memory, and no steps.
            expander.give_back()
        };
        turns().inspect_err(|_| self.stopped.store(true, Ordering::Relaxed))
    }
}

impl<S: Targets> Turns<'_, '_, S> {
    /// Tells the observer; true if it wants the passes to stop.
    fn told(&self, expander: &Expander<'_, S>) -> bool {
        let Watched { observer, budget, round } = self.watched;
        let states = expander.set.len();
        observer.progress(Progress {
            layer: round,
            frontier: states,
            expanded: expander.visits,
            states,
            transitions: expander.edges,
            ..Progress::of(Phase::Passes, budget)
        });
        observer.stop()
    }
}

/// Does `lead` on this thread, which orders turns to be taken, with a thread for each expander at hand until it returns: as many as are worth starting.
pub(super) fn in_turns<'a, S: Targets + Sync>(
    watched: Watched<'a>,
    expanders: &mut Vec<Expander<'a, S>>,
    turn: Turn<'_, 'a, S>,
    lead: impl FnOnce(Order<'_>) -> Result<bool, SearchError>,
) -> Result<bool, SearchError> {
    let few = expanders.first().is_none_or(|expander| expander.set.len() < SHARED_MIN);
    let idle = expanders.split_off(if few { 1 } else { expanders.len() });
    let shift = Turns { watched, turn, stopped: AtomicBool::new(false) };
    let workers = Workers::new(shift, std::mem::take(expanders));
    let order = |by_all: bool| {
        workers.carry_out(&(), by_all)?;
        Ok(!workers.shift().stopped.load(Ordering::Relaxed))
    };
    let outcome = workers.together(|| lead(&order));
    *expanders = workers.into_owned();
    expanders.extend(idle);
    outcome
}
