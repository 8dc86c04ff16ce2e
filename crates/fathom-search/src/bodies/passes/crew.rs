//! How do threads share the states of a pass?
//!
//! Each takes turns: what there is to do is behind a lock, or counted, and a turn takes some of it and works on that alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Task;
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::task::Progress;

/// Each thread takes turns until one comes to nothing; false if the observer stopped it.
pub(super) fn in_turns<'a>(
    task: Task<'a>,
    expanders: &mut [Expander<'a>],
    round: u64,
    turn: &(dyn Fn(&mut Expander<'a>) -> Result<bool, SearchError> + Sync),
) -> Result<bool, SearchError> {
    let stopped = AtomicBool::new(false);
    let failure = Mutex::new(None);
    let share = |expander: &mut Expander<'a>| {
        let mut turns = || -> Result<(), SearchError> {
            while !stopped.load(Ordering::Relaxed) && turn(expander)? {
                if told(task, expander, round) {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        if let Err(error) = turns() {
            stopped.store(true, Ordering::Relaxed);
            failure.lock().expect("no thread panics while it reports").get_or_insert(error);
        }
    };
    let mut all = expanders.iter_mut();
    let own = all.next();
    std::thread::scope(|scope| {
        for expander in all {
            // A thread that cannot be started leaves its turns to the others.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || share(expander));
        }
        own.into_iter().for_each(share);
    });
    match failure.into_inner().expect("no thread panics while it reports") {
        Some(error) => Err(error),
        None => Ok(!stopped.into_inner()),
    }
}

/// Tells the observer; true if it wants the passes to stop.
fn told(task: Task<'_>, expander: &Expander<'_>, round: u64) -> bool {
    let states = task.set.len();
    task.observer.progress(Progress {
        layer: round,
        frontier: states,
        expanded: expander.visits,
        states,
        transitions: expander.edges,
        budget_used: task.budget.used() as u64,
    });
    task.observer.stop()
}
