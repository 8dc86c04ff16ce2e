//! How large a state space could be searched here, in so much memory, disk space and time?
//!
//! A short sample of the model tells what a state costs: in RAM, and on disk with so little memory that nearly everything is there. From that follows after how many states each limit is
//! reached. What is not sampled is how costs change with the size of the space: look-ups on disk get dearer as it grows, so what is said of time is the most that can be hoped for.

use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::{Chosen, Engine};
use fathom_search::engines::{ddfs, owcty, ram, semi_owcty, tier};
use fathom_search::task::{Ending, Observer, Settings, Tuning};
use serde::Serialize;

use crate::engines::layer_engine::{self, Task};
use crate::engines::liveness_search;
use crate::engines::semi_external::{DEPTH_FIRST_BITS, FIX_POINT_BITS};
use crate::error::RunError;
use crate::model::execution::Execution;
use crate::model::subject::Subject;
use crate::monitor::Monitor;
use crate::questions::liveness_property::LivenessProperty;
use crate::resources::Resources;

/// What a search may use, beside the memory of its [`Resources`].
///
/// ```
/// # use std::time::Duration;
/// # use fathom_check::answers::capacity::{Allowed, capacity};
/// # use fathom_check::model::assemble::{Model, ModelOptions};
/// # use fathom_check::monitor::Clock;
/// # use fathom_check::resources::Resources;
/// let text = "byte x; process P { state s; init s; trans s -> s { effect x = (x + 1) % 100; }; } system async;";
/// let path = std::env::temp_dir().join("capacity-example.dve");
/// std::fs::write(&path, text)?;
/// let model = Model::read(&path, &ModelOptions::default())?;
/// let allowed = Allowed { disk: 1 << 30, time: Duration::from_secs(3600), sample: Duration::from_secs(1) };
/// let found = capacity(&model, None, allowed, &Resources::of_this_machine(), &Clock::new(None))?;
/// // So small that the sample was all of it.
/// assert_eq!((found.complete, found.sampled), (true, 100));
/// assert!(found.ways.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// Bytes on disk.
    pub disk: u64,
    /// How long it may take.
    pub time: Duration,
    /// How long to sample.
    pub sample: Duration,
}

/// What could be searched.
#[derive(Clone, Debug, Serialize)]
pub struct Capacity {
    /// States that the sample met.
    pub sampled: u64,
    /// Whether these are all.
    pub complete: bool,
    /// How long it took.
    pub seconds: f64,
    /// Bits of a state.
    pub record_bits: u32,
    /// Ways to search, each with how far it would come; none where the sample was complete.
    pub ways: Vec<Way>,
}

/// How far one engine would come.
#[derive(Clone, Debug, Serialize)]
pub struct Way {
    /// The engine.
    pub engine: &'static str,
    /// What a state takes in memory and on disk, in bytes; nothing where that does not grow with the states.
    pub memory_bytes: f64,
    /// The same on disk.
    pub disk_bytes: f64,
    /// States in a second.
    pub rate: f64,
    /// After how many states memory is full, if ever.
    pub by_memory: Option<u64>,
    /// After how many states the disk is full, if ever.
    pub by_disk: Option<u64>,
    /// After how many states time is up.
    pub by_time: u64,
}

impl Way {
    /// How many states it could search, and what it would be short of for more.
    pub fn reach(&self) -> (u64, &'static str) {
        let limits = [(self.by_memory, "memory"), (self.by_disk, "disk space"), (Some(self.by_time), "time")];
        let known = limits.into_iter().filter_map(|(states, what)| Some((states?, what)));
        known.min_by_key(|(states, _)| *states).unwrap_or((self.by_time, "time"))
    }
}

/// The least memory that the sample on disk has: with less, files are in crumbs, as no search for use has them.
const DISK_SAMPLE_BYTES: usize = 1 << 20;
/// How many times as much memory the sample in RAM has taken. With so little, most of what is known is looked up on disk. A guess.
const DISK_SAMPLE_PART: usize = 16;
/// An engine for infinite runs goes over all states so many times after they were generated, by and large: once to put them in order, and a few passes. A guess; `--stats` tells of real ones.
const PASSES: f64 = 3.0;

/// What one sample showed.
struct Sample {
    states: u64,
    complete: bool,
    seconds: f64,
    memory: f64,
    disk: f64,
}

/// Samples a model, or its product with the automaton of a property, and says how far engines would come.
///
/// # Errors
/// If the machine fails.
pub fn capacity(
    subject: &dyn Subject,
    property: Option<&LivenessProperty>,
    allowed: Allowed,
    resources: &Resources,
    monitor: &dyn Monitor,
) -> Result<Capacity, RunError> {
    let execution = Execution::wanted(resources, monitor);
    let (product, plain);
    let system: &dyn TransitionSystem = match property {
        Some(property) => {
            let fair = (&[][..], false);
            product = liveness_search::product(subject, property, &property.automaton, fair, execution)?;
            &product
        }
        None => {
            plain = subject.searched(&[], execution);
            &plain
        }
    };
    let budget = resources.data_budget()?;
    let began = Instant::now();
    let sample = |engine: &'static Engine, budget: &Budget| {
        let ends = Ends { inner: monitor, end: Instant::now() + allowed.sample / 2 };
        sampled(system, engine, budget, resources.threads, &ends)
    };
    let in_ram = sample(&ram::ENGINE, &budget)?;
    let mut found = Capacity {
        sampled: in_ram.states,
        complete: in_ram.complete,
        seconds: began.elapsed().as_secs_f64(),
        record_bits: system.shape().width_bits,
        ways: Vec::new(),
    };
    if found.complete {
        return Ok(found);
    }
    let little = (budget.peak() / DISK_SAMPLE_PART).max(DISK_SAMPLE_BYTES).min(budget.limit());
    let on_disk = sample(&tier::ENGINE, &Budget::new(little))?;
    found.seconds = began.elapsed().as_secs_f64();
    found.ways = ways(&in_ram, &on_disk, (budget.limit() as u64, allowed), property.is_some());
    Ok(found)
}

/// How far engines would come.
fn ways(in_ram: &Sample, on_disk: &Sample, (memory, allowed): (u64, Allowed), runs: bool) -> Vec<Way> {
    let way = |engine: &'static Engine, sample: &Sample, (memory_bytes, passes): (f64, f64)| {
        let rate = sample.states as f64 / sample.seconds.max(1e-3) / passes;
        let within = |bytes: u64, each: f64| (each > 0.0).then(|| (bytes as f64 / each) as u64);
        Way {
            engine: engine.name,
            memory_bytes,
            disk_bytes: sample.disk,
            rate,
            by_memory: within(memory, memory_bytes),
            by_disk: within(allowed.disk, sample.disk),
            by_time: (rate * allowed.time.as_secs_f64()) as u64,
        }
    };
    // What runs have for bits; the rest is for buffers.
    let bits = |bits: u64| bits as f64 / 8.0 * 4.0 / 3.0;
    match runs {
        false => {
            vec![way(&ram::ENGINE, in_ram, (in_ram.memory, 1.0)), way(&tier::ENGINE, on_disk, (0.0, 1.0))]
        }
        true => vec![
            way(&semi_owcty::ENGINE, on_disk, (bits(FIX_POINT_BITS), PASSES)),
            way(&ddfs::ENGINE, on_disk, (bits(DEPTH_FIRST_BITS), PASSES)),
            way(&owcty::ENGINE, on_disk, (0.0, 2.0 * PASSES)),
        ],
    }
}

fn sampled(
    system: &dyn TransitionSystem,
    engine: &'static Engine,
    budget: &Budget,
    threads: usize,
    ends: &dyn Observer,
) -> Result<Sample, RunError> {
    let settings = Settings {
        threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let task = Task { in_scratch: true, ..Task::new(system, budget, &settings, ends) };
    let began = Instant::now();
    let searched = layer_engine::search(&Chosen::plain(engine), &task)?;
    let seconds = began.elapsed().as_secs_f64();
    let (expanded, known) = (searched.outcome.expanded, searched.outcome.layers.sum().max(1));
    Ok(Sample {
        states: expanded,
        complete: searched.outcome.ending == Ending::Complete && searched.gave_up.is_none(),
        seconds,
        memory: budget.peak() as f64 / known as f64,
        disk: searched.disk.map_or(0.0, |(figures, _)| figures.peak as f64 / known as f64),
    })
}

/// Ends a sample.
struct Ends<'a> {
    inner: &'a dyn Monitor,
    end: Instant,
}

impl Observer for Ends<'_> {
    fn stop(&self) -> bool {
        Instant::now() >= self.end || self.inner.stop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_limit_that_is_reached_is_told() {
        let sample = |disk| Sample { states: 1_000, complete: false, seconds: 0.5, memory: 10.0, disk };
        let allowed = Allowed { disk: 1 << 20, time: Duration::from_secs(100), sample: Duration::ZERO };
        let found = ways(&sample(0.0), &sample(4.0), (1_000_000, allowed), false);
        assert_eq!(found[0].reach(), (100_000, "memory"));
        assert_eq!(found[1].reach(), (200_000, "time"));
        let allowed = Allowed { disk: 1 << 10, ..allowed };
        assert_eq!(
            ways(&sample(0.0), &sample(4.0), (1_000_000, allowed), false)[1].reach(),
            (256, "disk space")
        );
        let runs = ways(&sample(0.0), &sample(4.0), (5_000, Allowed { disk: 1 << 40, ..allowed }), true);
        assert_eq!(runs.iter().map(|way| way.reach().1).collect::<Vec<_>>(), ["memory", "memory", "time"]);
    }
}
