//! Policy of the layer loop: new states gather in RAM, and all that is on disk is read past them when memory is full or the layer ends.
//!
//! Stern and Dill, "Using magnetic disk instead of main memory in the Murphi verifier" (CAV 1998), corrected: states are checked before they are expanded, so that
//! layers are exact. The states on disk are kept as sorted runs, so reading them through the table is a merge.
//!
//! ```text
//! offer   candidates --> by shard --> table of the shard --full--> minus all runs of the shard --> a run of the next layer
//! close   per shard: the same with what is left; the runs of the next layer --> layer log, and they are known
//! ```
//! Invariants, at every boundary: the tables are empty, the layers in the log are exactly those of breadth-first search, and a state of any layer is in exactly one run of its shard.
//!
//! Memory: the tables take half of what the budget leaves, the rest is buffers. I/O: everything known is read once per layer, and once more whenever a table is full. Commits, closing by several
//! threads and the closed set at rest are those of every engine on disk. It is here to be compared with.

mod shard;
mod sizes;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::run::Tag;
use fathom_disk::storage::{Phase, Volume};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{Answer, Ask, Body, Engine, FilePlace, Files, Kept, Run, Threads};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, OldestDuplicate, StagePolicy};
use crate::error::SearchError;
use crate::files::at_rest::AtRest;
use crate::files::candidates::shard_of;
use crate::files::closing::Closing;
use crate::files::commits::{Commits, Committed};
use crate::files::disk_use::DiskUse;
use crate::files::layer_store::{BlockEncoder, LayerCursor, LayerStore};
use crate::files::lock;
use crate::files::place::Place;
use crate::files::search_files::SearchFiles;
use crate::stores::{Layered, key_width};
use crate::task::{Duplicates, Ending, Outcome, Task};

pub use sizes::Sizes;

use shard::Shard;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "stern-dill",
    help: "Breadth-first as Stern and Dill published it: reads all states on disk for every layer; for comparison",
    search: "breadth-first, exact",
    memory: "what --ram leaves, for any number",
    io: "all states once per layer",
    certificate: "closed set (fathom audit)",
    origin: "Stern, Dill 1998: states gather in memory and are compared with all on disk; for comparison; --resume",
    threads: Threads::Many,
    files: Files::Always,
    resumes: true,
    revisits: false,
    body: Body::Stages,
    layers: true,
    stores: &[],
    options: &[],
    run: Run::States(search),
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let FilePlace { volume, tag, lasts, limit, commit_every, keep_layers, .. } = *ask.place;
    let keep_from = if keep_layers { 0 } else { u64::MAX };
    let options = Options { tag, commit_every, disk_limit: limit, keep_from, sizes: None };
    let place = (&volume()?, lasts);
    let (policy, outcome) = run(ask.task, place, options)?;
    let used = Some(policy.disk_use());
    // Searching again needs the memory that this one has.
    let kept = if policy.keeps_all_layers() { Kept::Layers(Box::new(policy)) } else { Kept::Dropped };
    Ok(Answer { engine: ENGINE.name, outcome, kept, used, closing: None, measure: None, figures: Vec::new() })
}

/// The policy.
#[derive(Debug)]
pub struct SternDill {
    files: SearchFiles,
    sizes: Sizes,
    shards: Vec<Mutex<Shard>>,
    /// Who checks a shard holds a set of tools: there is memory for so many.
    closing: Closing<(), BlockEncoder>,
    /// Candidates for closed layers that were known.
    duplicates: u64,
}

/// What a caller may choose.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Model, property and options that change meaning.
    pub tag: Tag,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Bytes that files may take, if there is a limit.
    pub disk_limit: Option<u64>,
    /// Layers before this one are dropped once they were expanded; 0 keeps all.
    pub keep_from: u64,
    /// Sizes of the parts, in place of those that suit the budget.
    pub sizes: Option<fn(Sizes) -> Sizes>,
}

impl Options {
    /// For a search that nobody goes on with.
    pub fn unlasting() -> Options {
        let (tag, commit_every) = (Tag::default(), Duration::MAX);
        Options { tag, commit_every, disk_limit: None, keep_from: 0, sizes: None }
    }
}

/// Candidates of one thread that wait to be handed over.
#[derive(Debug)]
pub struct Handed {
    /// By shard; none if there is one shard.
    shards: Vec<ChargedVec<u64>>,
    /// Candidates since the last layer was closed.
    offered: u64,
}

/// Searches breadth-first from the initial states, or goes on with what is committed in the volume. The closed set of a search that `lasts` is put to rest when it is complete.
pub fn run(
    task: Task<'_>,
    (volume, lasts): (&Volume, bool),
    options: Options,
) -> Result<(SternDill, Outcome), SearchError> {
    let (mut policy, boundary) =
        SternDill::open(volume, task.budget, task.system.shape(), task.settings.threads, options)?;
    let outcome = match boundary {
        Some(boundary) => stages::go_on(task, &mut policy, &boundary)?,
        None => stages::run(task, &mut policy)?,
    };
    if lasts && outcome.ending == Ending::Complete {
        policy.put_to_rest(&outcome.boundary)?;
    }
    Ok((policy, outcome))
}

impl SternDill {
    /// Takes up what is committed in the volume, or begins with nothing. With what was committed comes the boundary to go on from.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        shape: &Shape,
        threads: usize,
        options: Options,
    ) -> Result<(SternDill, Option<Vec<u8>>), SearchError> {
        let width = key_width(shape)?;
        let commits = Commits::open(volume, budget, options.tag, options.commit_every)?;
        let place = Place::new(volume, budget, width, options.tag, commits.sequence());
        // The rest is left to the body.
        let sizes = Sizes::of(budget.free() / 8 * 7, threads.max(1), width);
        let sizes = options.sizes.map_or(sizes, |choose| choose(sizes));
        commits.set_ballast(sizes.log_block_bytes)?;
        match commits.committed()? {
            Some(committed) => SternDill::take_up(place, commits, sizes, options, committed),
            None => {
                let name = place.fresh_name("layers");
                let store = LayerStore::new(volume, &name, sizes.log_block_bytes, budget)?;
                Ok((SternDill::assemble(place, commits, sizes, options, store)?, None))
            }
        }
    }

    fn assemble(
        place: Place,
        commits: Commits,
        sizes: Sizes,
        options: Options,
        store: LayerStore,
    ) -> Result<SternDill, SearchError> {
        let files = SearchFiles::new(place, commits, store, (options.keep_from, options.disk_limit))?;
        let shards = (0..sizes.shards)
            .map(|_| Ok(Mutex::new(Shard::new(&files.place, &sizes)?)))
            .collect::<Result<_, DiskError>>()?;
        let mut closing = Closing::default();
        let Place { budget, width, .. } = &files.place;
        closing.equip(sizes.checkers, || BlockEncoder::new(budget, *width, sizes.log_block_keys))?;
        Ok(SternDill { files, sizes, shards, closing, duplicates: 0 })
    }

    /// Takes up what a commit says, whichever engine has made it.
    fn take_up(
        place: Place,
        commits: Commits,
        sizes: Sizes,
        options: Options,
        Committed { cursor, runs, at_rest }: Committed,
    ) -> Result<(SternDill, Option<Vec<u8>>), SearchError> {
        let sizes = if cursor.shards == 0 { sizes } else { sizes.with_shards(cursor.shards) };
        let store = cursor.open_layers(&place.volume, &place.budget)?;
        let mut taken = SternDill::assemble(place, commits, sizes, options, store)?;
        for run in &runs {
            let opened = taken.files.place.open_run(&run.name)?;
            lock(&taken.shards[run.shard]).take_up(run.level, opened);
        }
        at_rest.map_or(Ok(()), |at_rest| taken.files.take_up_at_rest(at_rest))?;
        if cursor.shards == 0 {
            taken.know_layers()?;
        }
        taken.files.frontier().rewind()?;
        Ok((taken, Some(cursor.boundary)))
    }

    /// Makes known what is in the layers of the log, when nothing is known yet: that of a search that was in RAM.
    fn know_layers(&self) -> Result<(), SearchError> {
        let store = &self.files.frontier().store;
        let mut handed = self.worker()?;
        let mut cursor = LayerCursor::new(self.files.place.width, &self.files.place.budget)?;
        for layer in 0..store.layer_count() {
            cursor.open(store, layer)?;
            while let Some(records) = cursor.next_keys(store)? {
                self.offer(&mut handed, records)?;
            }
        }
        self.flush(&mut handed)?;
        for shard in &self.shards {
            lock(shard).close(&self.files.place, &self.sizes, &mut |_| Ok(()))?;
        }
        Ok(())
    }

    /// What files hold and have held.
    pub fn disk_use(&self) -> DiskUse {
        self.files.disk_use(&self.shards)
    }

    /// Whether no layer was dropped.
    pub fn keeps_all_layers(&self) -> bool {
        self.files.keep_all_layers()
    }

    /// Puts the closed set of a complete search to rest. Memory of the tables is given back: no layer can be closed any more. If room or memory does not suffice, everything stays as it is.
    pub fn put_to_rest(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("rest");
        if self.files.is_at_rest() {
            return Ok(());
        }
        let live_bytes = self.disk_use().closed_set;
        self.closing.put_tools_away();
        self.shards.iter().try_for_each(|shard| lock(shard).forget_table(&self.files.place))?;
        if let Some(run) = AtRest::try_write(&self.files.place, |name| self.merge_all(name))? {
            self.files.rest(run, live_bytes, self.disk_use().peak);
            self.commit(boundary)?;
        }
        Ok(())
    }

    /// Writes one run with all known keys.
    fn merge_all(&self, name: &str) -> Result<(), DiskError> {
        let bytes = AtRest::readable_bytes(&self.files.place);
        while self.shards.iter().map(|shard| lock(shard).reading_bytes()).sum::<usize>() > bytes {
            let most = self.shards.iter().max_by_key(|shard| lock(shard).known_runs().count());
            let Some(most) = most else { break };
            if !lock(most).merge_smallest(&self.files.place, &self.sizes)? {
                break;
            }
        }
        let shards: Vec<_> = self.shards.iter().map(lock).collect();
        let runs: Vec<_> = shards.iter().flat_map(|shard| shard.known_runs().map(|(_, run)| run)).collect();
        AtRest::merge(&self.files.place, name, &runs)
    }

    /// Makes everything up to the last closed layer last.
    fn commit(&mut self, boundary: &[u8]) -> Result<(), SearchError> {
        let _phase = Phase::enter("commit");
        self.files.commit(Instant::now(), &self.shards, boundary)
    }

    /// Adds candidates to the table of a shard, which is checked whenever it is full.
    fn gather(&self, number: usize, keys: &[u64]) -> Result<(), DiskError> {
        let mut shard = lock(&self.shards[number]);
        let mut rest = shard.gather(&self.files.place, keys)?;
        while !rest.is_empty() {
            let sets = self.closing.tools();
            let _turn = lock(&sets[number % sets.len()]);
            shard.check(&self.files.place, &self.sizes)?;
            rest = shard.gather(&self.files.place, rest)?;
        }
        Ok(())
    }

    /// Makes known what is new in a shard, as part of the layer; says how much that is.
    fn close_shard(&self, number: usize, encoder: &mut BlockEncoder) -> Result<u64, SearchError> {
        let _phase = Phase::enter("close");
        Ok(lock(&self.shards[number]).close(&self.files.place, &self.sizes, &mut |fresh| {
            encoder.encode(fresh, |keys, payload| self.files.frontier().store.append(keys, payload))
        })?)
    }
}

impl StagePolicy for SternDill {
    type Worker = Handed;

    fn worker(&self) -> Result<Handed, SearchError> {
        let shards = if self.shards.len() > 1 { self.shards.len() } else { 0 };
        let room = self.sizes.handed_keys * self.files.place.width.words();
        let buffer = |_| ChargedVec::with_capacity(&self.files.place.budget, "candidates", room);
        Ok(Handed { shards: (0..shards).map(buffer).collect::<Result<_, _>>()?, offered: 0 })
    }

    fn offer(&self, worker: &mut Handed, candidates: Records<'_>) -> Result<(), SearchError> {
        worker.offered += candidates.len() as u64;
        if self.shards.len() == 1 {
            return Ok(self.gather(0, candidates.words())?);
        }
        for record in candidates.iter() {
            let number = shard_of(record, self.files.place.width.bits(), self.shards.len());
            let keys = &mut worker.shards[number];
            keys.extend(record)?;
            if keys.len() == self.sizes.handed_keys * self.files.place.width.words() {
                self.gather(number, keys)?;
                keys.clear();
            }
        }
        Ok(())
    }

    fn flush(&self, worker: &mut Handed) -> Result<(), SearchError> {
        for (number, keys) in worker.shards.iter_mut().enumerate() {
            self.gather(number, keys)?;
            keys.clear();
        }
        Ok(())
    }

    fn prepare_close(&mut self, _workers: &mut [&mut Handed]) -> Result<bool, SearchError> {
        let words = self.files.place.width.words();
        let work: u64 = self.shards.iter().map(|shard| lock(shard).work(words)).sum();
        self.closing.begin(self.shards.iter().map(|_| ()));
        Ok(self.closing.tools().len() > 1 && work >= self.sizes.shared_keys_min)
    }

    fn close_share(&self, _worker: &mut Handed) -> Result<(), SearchError> {
        self.closing.share(|number, (), encoder| self.close_shard(number, encoder))
    }

    fn close_stage(&mut self, workers: &mut [&mut Handed]) -> Result<ClosedStage, SearchError> {
        let states = self.closing.end().1;
        let offered: u64 = workers.iter_mut().map(|worker| std::mem::take(&mut worker.offered)).sum();
        self.duplicates += offered - states;
        self.files.close(states, &self.shards, 0)?;
        Ok(ClosedStage { states, oldest_duplicate: OldestDuplicate::Unknown })
    }

    fn duplicates(&self) -> Duplicates {
        Duplicates::noticed(0, self.duplicates)
    }

    fn next_batch(
        &self,
        _worker: &mut Handed,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        self.files.next_batch(records, batch)
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        let due = self.files.due(reason == CheckpointReason::Passing);
        if due.commit {
            self.commit(&boundary())?;
        }
        due.over_limit.map_or(Ok(()), Err)
    }
}

impl Layered for SternDill {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        self.files.visit_layer(layer, visit)
    }
}
