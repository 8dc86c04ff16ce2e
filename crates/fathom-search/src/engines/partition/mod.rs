//! Policy of stages: one partition of the states is in memory at a time, and what leads to others waits on disk until they are.
//!
//! T. Bao, "Disk based model checking" (Brigham Young University 2004), corrected, with partitions that split. A stage is what is new in the partition that is visited:
//!
//! ```text
//! visit   the partition for which most waits: load its known states --> what waits for it and is not known is the first stage of the visit
//! expand  a step within the partition is a candidate for the next stage; a step to another one waits for that
//! leave   when there is nothing new: what was new is known from now on --> the next visit, until nothing waits
//! ```
//! Invariants, at every boundary: every state that was offered is in a stage, waits, or was found to be one of these; a state is in one stage at most; the states of all stages before `unknown_from` are in the
//! runs of known states, and no others are. A recent candidate is one of those, so a window may leave it out.
//!
//! So every state is expanded once, whatever states are parted by, and the stages lead back to where a state came from: each comes from one of an earlier stage. They are no layers: how deep a state is is not known.
//!
//! Memory: a table of one partition, the bounds of all, what gathers before it waits on disk, buffers: all from the budget, for any number of states. I/O: a partition is read once per visit, and what waits written and read once or
//! twice.

mod by;
mod choose;
mod commit;
mod figures;
mod offered;
mod parts;
mod pending;
mod sizes;
mod visited;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::Tag;
use fathom_disk::set::{KeyStream, Sorted, Sorter, sort_unique};
use fathom_disk::storage::{Phase, Volume};
use fathom_disk::window::Window;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{
    Answer, Ask, Body, Engine, EngineOption, FilePlace, Files, Kept, OptionValue, Run, Threads,
};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::candidates::{self, Candidates};
use crate::files::commits::Commits;
use crate::files::disk_use::{DiskMeter, DiskUse};
use crate::files::frontier::Frontier;
use crate::files::journal::StoredLayers;
use crate::files::layer_store::{BlockEncoder, LayerCursor, LayerStore};
use crate::files::lock;
use crate::files::place::Place;
use crate::stores::key_width;
use crate::task::{Duplicates, Ending, Outcome, Task};

pub use by::By;
pub use figures::PartitionFigures;
pub use sizes::Sizes;

use figures::{Tally, Times};
use offered::Offered;
use parts::{Part, Parts};
use pending::Pending;
use visited::Visited;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "partition",
    help: "On disk, one part of the states in memory at a time; what leads to others waits there",
    search: "partition by partition, exact",
    memory: "what --ram leaves, for any number",
    io: "a partition once per visit; each step to another once or twice",
    certificate: "closed set (fathom audit)",
    origin: "Bao 2004: disk based model checking, corrected, with partitions that split; -E by=...; --resume",
    threads: Threads::Many,
    files: Files::Always,
    resumes: true,
    revisits: false,
    body: Body::Stages,
    layers: false,
    stores: &[],
    options: &[EngineOption {
        key: "by",
        value: OptionValue::Names(&["hash", "bits", "auto"]),
        required: false,
        help: "what states are parted by: a hash, how many bits are set, variables that seldom change in a sample of steps (auto), or variables, separated by commas (hash)",
    }],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let FilePlace { volume, tag, lasts, limit, commit_every, keep_layers, .. } = *ask.place;
    let samples = ask.chosen.says("by=auto");
    let by = ask.chosen.option("by").unwrap_or("hash");
    let by = if samples { None } else { Some(By::named(by, ask.task.system.shape())?) };
    let options = Options { tag, commit_every, disk_limit: limit, keep: keep_layers, by, sizes: None };
    let place = (&volume()?, lasts);
    let (policy, outcome) = run(ask.task, place, options)?;
    let used = Some(policy.disk_use());
    let figures = policy.numbers(&outcome);
    let measure = samples.then(|| policy.by.name());
    let kept =
        if policy.keeps_stages() { Kept::Stages(Box::new(policy.into_stages())) } else { Kept::NoLayers };
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing: None, measure, figures })
}

/// What a caller may choose.
#[derive(Clone, Debug)]
pub struct Options {
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Bytes that files may take, if there is a limit.
    pub disk_limit: Option<u64>,
    /// Whether stages stay when they were expanded, for paths.
    pub keep: bool,
    /// By what states are parted; if that is not said, a sample of steps suggests it.
    pub by: Option<By>,
    /// Sizes of the parts, in place of those that suit the budget.
    pub sizes: Option<fn(Sizes) -> Sizes>,
}

impl Options {
    /// For a search that nobody goes on with.
    pub fn unlasting() -> Options {
        let (tag, commit_every) = (Tag::default(), Duration::MAX);
        Options { tag, commit_every, disk_limit: None, keep: true, by: Some(By::Hash), sizes: None }
    }
}

/// The policy.
#[derive(Debug)]
pub struct Partition {
    by: By,
    /// Whether that is settled.
    is_chosen: bool,
    keep: bool,
    place: Place,
    commits: Commits,
    sizes: Sizes,
    /// The width of keys of value and record.
    valued: KeyWidth,
    /// The partition that is visited; none between two visits.
    at: Option<Part>,
    pending: Mutex<Pending>,
    visited: Visited,
    window: Window,
    frontier: Mutex<Frontier>,
    encoder: BlockEncoder,
    /// What a piece of candidates has that is new.
    fresh: ChargedVec<u64>,
    /// The records of a piece of keys.
    records: ChargedVec<u64>,
    /// The first stage whose states are not among the known ones.
    unknown_from: u64,
    tally: Tally,
    at_rest: Option<AtRest>,
    disk_meter: DiskMeter,
}

/// The stage that is being made.
struct Stage<'a> {
    place: &'a Place,
    sizes: &'a Sizes,
    by: &'a By,
    visited: &'a mut Visited,
    frontier: &'a Mutex<Frontier>,
    encoder: &'a mut BlockEncoder,
    fresh: &'a mut ChargedVec<u64>,
    states: u64,
}

impl Stage<'_> {
    /// Takes ascending candidates, piece by piece.
    fn take(&mut self, records: &[u64]) -> Result<(), DiskError> {
        let Stage { place, sizes, by, visited, frontier, encoder, fresh, states } = self;
        let words = place.width.words();
        for piece in records.chunks(sizes.piece_keys * words) {
            visited.sift(place, sizes, by, piece, fresh)?;
            *states += (fresh.len() / words) as u64;
            encoder.encode(fresh, |keys, payload| lock(frontier).store.append(keys, payload))?;
        }
        Ok(())
    }

    /// Closes it; says how many states it has.
    fn end(self) -> Result<u64, DiskError> {
        self.visited.let_go();
        lock(self.frontier).close(self.states)?;
        Ok(self.states)
    }
}

/// Searches from the initial states, or goes on with what is committed in the volume. The closed set of a search that `lasts` is put to rest when it is complete.
pub fn run(
    task: Task<'_>,
    (volume, lasts): (&Volume, bool),
    options: Options,
) -> Result<(Partition, Outcome), SearchError> {
    let (mut policy, boundary) =
        Partition::open(volume, task.budget, task.system.shape(), task.settings.threads, options)?;
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut policy, &boundary)?,
        None => match policy.choose_by(task) {
            Err(SearchError::Stopped) => stages::at_boundary(task, None)?,
            chosen => {
                chosen?;
                stages::run(task, &mut policy)?
            }
        },
    };
    if lasts && outcome.ending == Ending::Complete {
        policy.put_to_rest(&outcome.boundary)?;
    }
    Ok((policy, outcome))
}

impl Partition {
    /// Takes up what is committed in the volume, or begins with nothing. With what was committed comes the boundary to go on from.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        options: Options,
    ) -> Result<(Partition, Option<Vec<u8>>), SearchError> {
        let width = key_width(shape)?;
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        let place = Place::new(volume, budget, width, options.tag, commits.sequence());
        // The rest is left to the body.
        let sizes = Sizes::of(budget.free() / 8 * 7, threads.max(1), width);
        let sizes = options.sizes.map_or(sizes, |choose| choose(sizes));
        commits.set_ballast(sizes.log_block_bytes)?;
        if let Some(cursor) = commits.cursor()? {
            return commit::take_up((place, commits, sizes), shape, options, cursor);
        }
        let name = place.fresh_name("stages");
        let store = LayerStore::new(volume, &name, sizes.log_block_bytes, budget)?;
        let parts = Parts::new(width.words() + 1, sizes.parts_max, budget)?;
        Ok((Partition::assemble((place, commits, sizes), options, store, parts)?, None))
    }

    fn assemble(
        (place, commits, sizes): (Place, Commits, Sizes),
        options: Options,
        store: LayerStore,
        parts: Parts,
    ) -> Result<Partition, SearchError> {
        let words = place.width.words();
        let bits = (words as u32 + 1) * 64;
        let valued = KeyWidth::new(bits).ok_or(SearchError::TooWide { bits })?;
        let piece = || ChargedVec::with_capacity(&place.budget, "partition", sizes.piece_keys * words);
        Ok(Partition {
            is_chosen: options.by.is_some(),
            by: options.by.unwrap_or(By::Hash),
            keep: options.keep,
            valued,
            at: None,
            pending: Mutex::new(Pending::new(&place, &sizes, valued, parts)?),
            visited: Visited::new(&place, &sizes, valued)?,
            window: place.window(sizes.window_keys)?,
            frontier: Mutex::new(Frontier::new(&place, store)?),
            encoder: BlockEncoder::new(&place.budget, place.width, sizes.log_block_keys)?,
            fresh: piece()?,
            records: piece()?,
            unknown_from: 0,
            tally: Tally::default(),
            at_rest: None,
            disk_meter: DiskMeter::new(options.disk_limit),
            place,
            commits,
            sizes,
        })
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        lock(&self.pending)
    }

    fn frontier(&self) -> MutexGuard<'_, Frontier> {
        lock(&self.frontier)
    }

    /// Has a sample of steps suggest by what states are parted, if nobody has said it.
    ///
    /// # Errors
    /// [`SearchError::Stopped`] if the observer says so.
    pub fn choose_by(&mut self, task: Task<'_>) -> Result<(), SearchError> {
        if !self.is_chosen {
            self.by = choose::choose(task)?;
            self.is_chosen = true;
        }
        Ok(())
    }

    /// What was seen of partitions so far.
    pub fn figures(&self) -> PartitionFigures {
        self.tally.figures(self.pending().parts.len())
    }

    /// The same in numbers with names, with where the time went.
    fn numbers(&self, outcome: &Outcome) -> Vec<(&'static str, u64)> {
        let Times { read, insert, check, .. } = self.visited.times;
        let Times { write, queue, .. } = self.tally.times;
        let times = Times { read, insert, check, write, queue: queue + self.tally.seen.queueing };
        let tally = Tally { times, ..self.tally };
        tally.numbers(self.pending().parts.len(), outcome.cost)
    }

    /// By what states are parted.
    pub fn by(&self) -> &By {
        &self.by
    }

    /// What files hold and have held.
    pub fn disk_use(&self) -> DiskUse {
        let layers = self.frontier().store.disk_bytes();
        match &self.at_rest {
            Some(AtRest { run, live_bytes }) => self.disk_meter.with(*live_bytes, Some(run.bytes()), layers),
            None => self.disk_meter.with(self.closed_set_bytes(), None, layers),
        }
    }

    fn closed_set_bytes(&self) -> u64 {
        self.visited.disk_bytes() + self.pending().disk_bytes()
    }

    /// Whether no stage was dropped.
    pub fn keeps_stages(&self) -> bool {
        self.frontier().store.first() == 0
    }

    /// The stages of a search that is over, which lead back to where a state came from.
    pub fn into_stages(self) -> StoredLayers {
        let Frontier { store, .. } = self.frontier.into_inner().unwrap_or_else(PoisonError::into_inner);
        StoredLayers::of_search(self.commits, self.place, store)
    }

    /// Goes on to what is expanded next, and says how many states that is; 0 if there is nothing more.
    fn advance(&mut self, workers: &mut [&mut Offered]) -> Result<u64, SearchError> {
        let mut states = self.close_here(workers)?;
        self.settle_stage(states)?;
        while states == 0 {
            self.end_visit()?;
            let next = lock(&self.pending).most_work(&self.place.budget)?;
            let Some(number) = next else { return Ok(0) };
            if self.enter(number)? {
                states = self.refill()?;
                self.settle_stage(states)?;
            }
        }
        self.tally.states += states;
        Ok(states)
    }

    /// Makes a stage of the candidates for the partition that is visited; says how many are new.
    fn close_here(&mut self, workers: &mut [&mut Offered]) -> Result<u64, SearchError> {
        let _phase = Phase::enter("close");
        let mut parts: Vec<&mut Candidates> = workers.iter_mut().map(|worker| &mut worker.here).collect();
        let mut work = candidates::take_by_shard(&mut parts);
        let scan_bytes = self.sizes.scan_bytes;
        let mut stage = self.stage();
        let place = stage.place;
        let outcome = work.iter_mut().try_for_each(|collected| {
            candidates::with_stream(place, collected, scan_bytes, |stream| {
                while stream.advance()? {
                    stage.take(stream.keys())?;
                }
                Ok(())
            })
        });
        candidates::give_back(&mut parts, work.into_iter());
        outcome?;
        Ok(stage.end()?)
    }

    /// The stage that is made next.
    fn stage(&mut self) -> Stage<'_> {
        let Partition { place, sizes, by, visited, frontier, encoder, fresh, .. } = self;
        Stage { place, sizes, by, visited, frontier, encoder, fresh, states: 0 }
    }

    /// Loads a partition, which is visited from now on; false if it was split instead.
    fn enter(&mut self, number: usize) -> Result<bool, SearchError> {
        let _phase = Phase::enter("load");
        let part = self.pending().parts.part(number);
        self.tally.visits.note(self.tally.states);
        let middle = self.visited.load(&self.place, &self.sizes, (&self.by, &part))?;
        if let Some(middle) = middle
            && self.split(&part, &middle)?
        {
            return Ok(false);
        }
        self.tally.looked_up += u64::from(self.visited.is_on_disk());
        self.at = Some(part);
        Ok(true)
    }

    /// Makes a stage of what waits for the partition that is visited; says how many states are new.
    fn refill(&mut self) -> Result<u64, SearchError> {
        let _phase = Phase::enter("refill");
        let Partition { place, sizes, by, visited, frontier, encoder, fresh, pending, records, at, .. } =
            self;
        let Some(part) = at else { return Ok(0) };
        let (began, checked) = (Instant::now(), visited.times.check);
        let (words, valued) = (place.width.words(), place.width.words() + 1);
        let mut stage = Stage { place, sizes, by, visited, frontier, encoder, fresh, states: 0 };
        lock(pending).refill(place, sizes, part, &mut |keys| {
            for piece in keys.chunks(sizes.piece_keys * valued) {
                records.clear();
                for key in piece.chunks_exact(valued) {
                    records.extend(&key[1..])?;
                }
                let kept = sort_unique(&place.budget, words, records)?;
                stage.take(&records[..kept])?;
            }
            Ok(())
        })?;
        let states = stage.end()?;
        self.tally.times.queue += began.elapsed().saturating_sub(self.visited.times.check - checked);
        Ok(states)
    }

    /// A stage of so many states is closed: what cannot be in the table goes to the known ones, and the visit is over if that is full.
    fn settle_stage(&mut self, states: u64) -> Result<(), SearchError> {
        if self.visited.is_full() {
            self.end_visit()
        } else if states > 0 && self.visited.is_on_disk() {
            self.know_stages()
        } else {
            Ok(())
        }
    }

    /// Makes known what the visit has found, and splits a partition that has outgrown the table.
    fn end_visit(&mut self) -> Result<(), SearchError> {
        let middle = self.visited.end_visit();
        self.know_stages()?;
        if let (Some(part), Some(middle)) = (self.at.take(), middle) {
            self.split(&part, &middle)?;
        }
        Ok(())
    }

    /// Splits a partition, if there is memory for one more; false if there is not.
    fn split(&mut self, part: &Part, middle: &[u64]) -> Result<bool, SearchError> {
        let parts = &mut lock(&self.pending).parts;
        let splits = parts.has_room();
        if splits {
            parts.split(part.number, middle)?;
            self.tally.splits += 1;
        }
        Ok(splits)
    }

    /// Makes the states of all stages known that are not yet.
    fn know_stages(&mut self) -> Result<(), SearchError> {
        let _phase = Phase::enter("store");
        let stages = self.frontier().store.layer_count();
        if self.unknown_from == stages {
            return Ok(());
        }
        let began = Instant::now();
        self.visited.let_go();
        let sorted = self.sorted_stages(self.unknown_from..stages)?;
        let Partition { place, sizes, visited, .. } = self;
        let mut writer = place.run_writer(&visited.config(place, sizes))?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        sorted.remove()?;
        visited.insert(place, sizes, writer.finish_run(false)?)?;
        self.tally.times.write += began.elapsed();
        self.unknown_from = stages;
        if !self.keep {
            self.frontier().store.drop_before(stages);
        }
        Ok(())
    }

    /// The states of some stages, in the order of value and record.
    fn sorted_stages(&self, stages: Range<u64>) -> Result<Sorted, DiskError> {
        let Partition { place, sizes, by, valued, .. } = self;
        let Place { volume, budget, width, tag, .. } = place;
        let name = place.fresh_name("stored");
        let mut sorter = Sorter::new(volume, budget, &name, *valued, *tag, sizes.sort_bytes)?;
        let store = &self.frontier().store;
        let mut cursor = LayerCursor::new(*width, budget)?;
        for stage in stages {
            cursor.open(store, stage)?;
            while let Some(records) = cursor.next_keys(store)? {
                for record in records.iter() {
                    sorter.push(&[by.value(record)])?;
                    sorter.push(record)?;
                }
            }
        }
        drop(cursor);
        sorter.finish()
    }

    fn remove_retired(&mut self) -> Result<(), SearchError> {
        let mut names = self.frontier().store.retired();
        names.extend(self.pending().retired());
        names.extend(self.visited.known.retired());
        Ok(self.commits.remove_retired(&names)?)
    }
}

impl StagePolicy for Partition {
    type Worker = Offered;

    fn worker(&self) -> Result<Offered, SearchError> {
        Offered::new(&self.place, &self.sizes)
    }

    fn offer(&self, worker: &mut Offered, candidates: Records<'_>) -> Result<(), SearchError> {
        let words = self.place.width.words();
        for piece in candidates.words().chunks(self.sizes.looked_at * words) {
            worker.sort_out(&self.by, self.at.as_ref(), words, piece);
            worker.hand_over((&self.place, &self.sizes), &self.window, &self.pending)?;
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Offered) -> Result<(), SearchError> {
        Ok(worker.here.settle(&self.place)?)
    }

    fn prepare_close(&mut self, workers: &mut [&mut Offered]) -> Result<bool, SearchError> {
        let words = self.place.width.words();
        for worker in workers.iter_mut() {
            let collected: u64 = worker.here.shards().map(|part| part.count(words)).sum();
            self.tally.recent += worker.here.offered() - collected;
            self.tally.seen.add(std::mem::take(&mut worker.seen));
        }
        lock(&self.pending).merge_down(&self.place, &self.sizes)?;
        Ok(false)
    }

    fn close_share(&self, _: &mut Offered) -> Result<(), SearchError> {
        Ok(())
    }

    fn close_stage(&mut self, workers: &mut [&mut Offered]) -> Result<ClosedStage, SearchError> {
        let states = self.advance(workers)?;
        self.remove_retired()?;
        let layers = self.frontier().store.disk_bytes();
        self.disk_meter.note(self.closed_set_bytes() + layers);
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn next_batch(
        &self,
        _: &mut Offered,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        Ok(self.frontier().next_batch(records, batch)?)
    }

    fn duplicates(&self) -> Duplicates {
        let Tally { seen, recent, states, taken_up, .. } = self.tally;
        let in_ram = seen.recent + recent;
        match taken_up || self.at.is_some() || !self.pending().is_empty() {
            // What waits may be new, and what waited was offered to an earlier process.
            true => Duplicates { in_ram: Some(in_ram), ..Duplicates::default() },
            false => Duplicates::noticed(in_ram, seen.offered.saturating_sub(in_ram + states)),
        }
    }

    fn has_layers(&self) -> bool {
        false
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        let limit = self.disk_meter.above_limit().filter(|_| reason == CheckpointReason::Passing);
        if self.at_rest.is_some() {
            // It was over when it was taken up.
            return Ok(());
        }
        if reason != CheckpointReason::Passing || limit.is_some() || self.commits.is_due() {
            self.commit(&boundary())?;
        }
        limit.map_or(Ok(()), Err)
    }
}
