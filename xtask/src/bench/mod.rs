//! How fast and how small is it, side by side with what it is compared to?

mod codecs;
mod device;
mod disk;
mod disk_engine;
mod disk_structures;
mod murphi;
mod queues;
mod ram;
mod records;
mod sets;
pub(crate) mod successors;
mod twins;

use std::process::ExitCode;

/// Which part to measure.
#[derive(clap::Subcommand)]
pub(crate) enum Part {
    /// Codecs on state sets, sorting, merging, the device, sets.
    Disk(disk::Arguments),
    /// The search on disk beside the one in RAM, at several sizes of memory, and beside other programs.
    DiskEngine(disk_engine::Arguments),
    /// Build one perfect hash and print what RAM that took; `disk` runs it in a process of its own.
    #[cfg(feature = "rivals")]
    #[command(hide = true)]
    PerfectHashPeak {
        /// Who builds it.
        contestant: disk_structures::rival::Contestant,
        /// Of how many keys.
        count: usize,
    },
    /// Murphi models beside rumur, and those that CMurphi was measured on.
    Murphi(murphi::Arguments),
    /// Priority queues on disk beside a binary heap in RAM.
    Queues(queues::Arguments),
    /// The RAM engine beside SPIN, and one thread beside two.
    Ram(ram::Arguments),
    /// Explore models and keep their records for `bench disk --records`.
    Records(records::Arguments),
    /// Compiled successors beside the interpreter and gcc -O2.
    Successors(successors::Arguments),
}

pub(crate) fn run(part: &Part) -> anyhow::Result<ExitCode> {
    match part {
        Part::Disk(arguments) => disk::run(arguments),
        Part::DiskEngine(arguments) => disk_engine::run(arguments),
        #[cfg(feature = "rivals")]
        Part::PerfectHashPeak { contestant, count } => {
            disk_structures::rival::print_peak(*contestant, *count)?;
            Ok(ExitCode::SUCCESS)
        }
        Part::Murphi(arguments) => murphi::run(arguments),
        Part::Queues(arguments) => queues::run(arguments),
        Part::Ram(arguments) => ram::run(arguments),
        Part::Records(arguments) => records::run(arguments),
        Part::Successors(arguments) => successors::run(arguments),
    }
}

/// The median of several times of this thread's processor, in nanoseconds per item, and the spread. Time of the
/// processor, because the machine may have other work.
pub(crate) struct Timing {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

/// Runs `work` five times on `items` items.
pub(crate) fn time(items: u64, mut work: impl FnMut()) -> Timing {
    let mut nanos: Vec<f64> = (0..5)
        .map(|_| {
            let start = thread_nanos();
            work();
            (thread_nanos() - start) as f64 / items.max(1) as f64
        })
        .collect();
    nanos.sort_by(f64::total_cmp);
    Timing { median: nanos[2], least: nanos[0], most: nanos[4] }
}

/// What this thread has used of the processor so far.
pub(crate) fn thread_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl std::fmt::Display for Timing {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{:.1} ({:.1}-{:.1})", self.median, self.least, self.most)
    }
}

/// A small generator (splitmix64), so that every run measures the same data.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
