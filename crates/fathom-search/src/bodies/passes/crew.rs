//! How do threads share the states of a pass?
//!
//! Each takes some from a scan or a queue, under a lock, and works on them alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_disk::log::Queue;
use fathom_disk::run::Scan;
use fathom_disk::set::KeyStream;
use fathom_model::record::{RecordBuffer, Records};

use super::Task;
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::task::Progress;

/// Gives the next records to be looked at; none at the end.
pub(super) type Next<'n> = &'n (dyn Fn(&mut RecordBuffer) -> Result<(), SearchError> + Sync);
/// What is done with some records.
pub(super) type Act<'n, 'a> = &'n (dyn Fn(&mut Expander<'a>, Records<'_>) -> Result<(), SearchError> + Sync);

/// Records of a queue that are handed out at a time, at most.
const BATCH: usize = 512;
/// Levels smaller than this are for one thread: starting others would cost more than they bring.
const SHARED_MIN: u64 = 4096;

/// Expands what is in a queue until there is nothing more in it; false if the observer stopped it.
pub(super) fn drain<'a>(
    task: Task<'a>,
    expanders: &mut [Expander<'a>],
    round: u64,
    queue: &Mutex<Queue>,
    act: Act<'_, 'a>,
) -> Result<bool, SearchError> {
    loop {
        let level = queue.lock().expect("no thread panics while it holds the queue").len();
        if level == 0 {
            return Ok(true);
        }
        let remaining = Mutex::new(level);
        let most = batch_records(task);
        if !work(task, expanders, round, level, &|batch| pop(queue, &remaining, most, batch), act)? {
            return Ok(false);
        }
    }
}

/// Hands records to threads until there are no more; false if the observer stopped it. So few that sharing does not pay are for one thread.
pub(super) fn work<'a>(
    task: Task<'a>,
    expanders: &mut [Expander<'a>],
    round: u64,
    records: u64,
    next: Next<'_>,
    act: Act<'_, 'a>,
) -> Result<bool, SearchError> {
    let threads = if records < SHARED_MIN { 1 } else { expanders.len() };
    in_turns(task, &mut expanders[..threads], round, &|expander| {
        let mut batch = expander.take_batch();
        batch.clear();
        next(&mut batch)?;
        let some = !batch.is_empty();
        if some {
            act(expander, batch.view())?;
        }
        expander.return_batch(batch);
        Ok(some)
    })
}

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

/// The next block of a scan.
pub(super) fn next_of(stream: &Mutex<Scan<'_>>, batch: &mut RecordBuffer) -> Result<(), SearchError> {
    let mut stream = stream.lock().expect("no thread panics while it reads");
    if stream.advance()? {
        batch.append(Records::new(stream.keys(), stream.words()));
    }
    Ok(())
}

/// The next records of a queue, of those that remain of a level.
pub(super) fn pop(
    queue: &Mutex<Queue>,
    remaining: &Mutex<u64>,
    most: usize,
    batch: &mut RecordBuffer,
) -> Result<(), SearchError> {
    let mut remaining = remaining.lock().expect("no thread panics while it reads");
    let mut queue = queue.lock().expect("no thread panics while it holds the queue");
    let mut record = vec![0; batch.view().words_per_record()];
    while *remaining > 0 && batch.len() < most && queue.pop(&mut record)? {
        batch.push(&record);
        *remaining -= 1;
    }
    Ok(())
}

/// Records of a queue that are handed out at a time: there is room for a block of the set.
pub(super) fn batch_records(task: Task<'_>) -> usize {
    task.set.block_keys_max().clamp(1, BATCH)
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
