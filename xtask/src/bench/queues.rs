//! What does it take to push a record and to pop it, on disk and beside it in RAM?
//!
//! A queue is filled and then works: each bucket that is popped is followed by as many pushes, none below it. Records of 16 bytes, processor time of this thread per push and pop, without what drawing them takes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::process::ExitCode;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::priority_queue::{ArrayHeap, ArrayHeapConfig, PriorityQueue, RadixHeap};
use fathom_disk::storage::{FileStorage, Volume};

use super::{Random, thread_nanos};

/// How much.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Records that wait at a time, in thousands.
    #[arg(long, default_value_t = 4000)]
    waiting: u64,
    /// Memory of a queue on disk, in MiB.
    #[arg(long, default_value_t = 64)]
    mib: usize,
}

const WORDS: usize = 2;
const BATCH: usize = 256;

/// What is pushed after `now`.
fn draw(random: &mut Random, now: u64, span: u64) -> (u64, [u64; WORDS]) {
    (now + 1 + random.next() % span, [random.next() >> 20, random.next()])
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let waiting = arguments.waiting * 1000;
    println!(
        "| records per bucket | queue | ns per push and pop | moves per record | peak memory, MiB |\n|---|---|---|---|---|"
    );
    let drawn = drawing(waiting);
    for span in [waiting / 1000, waiting / 10, waiting * 4] {
        let about = waiting / span.min(waiting);
        let nanos = in_ram(waiting, span) - drawn;
        println!(
            "| {about} | BinaryHeap in RAM | {nanos:.1} | 0 | {:.1} |",
            (waiting * 24) as f64 / 1048576.0
        );
        for radix in [true, false] {
            let folder = tempfile::tempdir()?;
            let volume = Volume::new(FileStorage::auto(folder.path())?);
            let (budget, bytes) = (Budget::unlimited(), arguments.mib << 20);
            let config = ArrayHeapConfig::within(bytes, WORDS);
            let mut queue: Box<dyn PriorityQueue> = match radix {
                true => Box::new(RadixHeap::new(&volume, "queue", WORDS, bytes, &budget)?),
                false => Box::new(ArrayHeap::new(&volume, "queue", WORDS, config, &budget)?),
            };
            let nanos = on_disk(&mut *queue, &volume, waiting, span)? - drawn;
            let moves = queue.moves() as f64 / (2 * waiting) as f64;
            let name = if radix { "radix heap" } else { "array heap" };
            let peak = budget.peak() as f64 / 1048576.0;
            println!("| {about} | {name} | {nanos:.1} | {moves:.2} | {peak:.1} |");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Nanoseconds to draw a record.
fn drawing(waiting: u64) -> f64 {
    let mut random = Random(7);
    let began = thread_nanos();
    for now in 0..2 * waiting {
        std::hint::black_box(draw(&mut random, now, waiting));
    }
    (thread_nanos() - began) as f64 / (2 * waiting) as f64
}

/// Nanoseconds per push and pop of twice as many records as wait.
fn in_ram(waiting: u64, span: u64) -> f64 {
    let mut random = Random(7);
    let mut heap = BinaryHeap::with_capacity(waiting as usize);
    let began = thread_nanos();
    (0..waiting).for_each(|_| heap.push(Reverse(draw(&mut random, 0, span))));
    for _ in 0..waiting {
        if let Some(Reverse((now, record))) = heap.pop() {
            std::hint::black_box(record);
            heap.push(Reverse(draw(&mut random, now, span)));
        }
    }
    while let Some(Reverse((_, record))) = heap.pop() {
        std::hint::black_box(record);
    }
    (thread_nanos() - began) as f64 / (2 * waiting) as f64
}

fn on_disk(
    queue: &mut dyn PriorityQueue,
    volume: &Volume,
    waiting: u64,
    span: u64,
) -> Result<f64, DiskError> {
    let mut random = Random(7);
    let (mut priorities, mut records) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH * WORDS));
    let mut push_some = |queue: &mut dyn PriorityQueue, now: u64, count: u64| {
        for start in (0..count).step_by(BATCH) {
            priorities.clear();
            records.clear();
            for _ in start..count.min(start + BATCH as u64) {
                let (priority, record) = draw(&mut random, now, span);
                priorities.push(priority);
                records.extend_from_slice(&record);
            }
            queue.push(&priorities, &records)?;
        }
        Ok::<(), DiskError>(())
    };
    let began = thread_nanos();
    push_some(queue, 0, waiting)?;
    let (mut more, mut popped) = (waiting, 0);
    while let Some(now) = queue.pop(&mut |_, records| {
        popped += (records.len() / WORDS) as u64;
        Ok(())
    })? {
        let count = std::mem::take(&mut popped).min(more);
        more -= count;
        push_some(queue, now, count)?;
        for name in queue.retired() {
            volume.remove(&name)?;
        }
    }
    Ok((thread_nanos() - began) as f64 / (2 * waiting) as f64)
}
