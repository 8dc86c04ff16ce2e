//! Two policies of the layer loop, one after the other: in RAM as long as that suffices, then on disk from there on.
//!
//! ```text
//! ram --data budget used up--> layers to disk, committed --> tier takes them up
//! ```
//! When the data budget refuses [`super::ram`] what it needs, its closed layers go to disk, its memory is given back, and [`super::tier`] takes up the run as it would in another process; the
//! layer that was being expanded is expanded again. A search that is to last commits its layers while it is in RAM, too, and is taken up in RAM if it fits there.
//! Results are those of either engine: the same layers, counts, checksum, findings and paths.
//!
//! A search on disk that turns out to be deep and narrow goes on in the order of progress (`sweeping`), if it is not to last: the same states, counts and checksum, but no layers.

mod patience;
mod sweeping;

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_disk::storage::direct::heap;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;

use super::engine::{self, Answer, Ask, Body, Engine, EngineOption, Files, OptionValue, Run, Threads};
use super::ram::{self, RamTable};
use super::tier::{self, Options, PLAN, Tier};
use crate::bodies::stages::{self, CheckpointReason, ClosedStage, StagePolicy, close_alone};
use crate::error::SearchError;
use crate::files::disk_use::DiskUse;
use crate::files::finished::Finished;
use crate::files::journal::{Journal, JournalOptions, Opened, StoredLayers};
use crate::stores::Layered;
use crate::task::{Duplicates, Ending, Outcome, Task};

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "auto",
    help: "For states: ram, then tier when memory is full. For infinite runs: ndfs, then semi-owcty",
    search: "breadth-first, exact",
    memory: "that of ram, then what --ram leaves",
    io: "none, then that of tier",
    certificate: "closed set (--certify)",
    origin: "ram until memory is full, then tier, or sweep if the space is deep and narrow; infinite runs: ndfs, then semi-owcty; the default; --resume",
    threads: Threads::Many,
    files: Files::WhenNeeded,
    resumes: true,
    revisits: false,
    body: Body::Chosen,
    layers: true,
    stores: &[],
    options: &[PLAN[0], MEASURE],
    run: Run::Chooses {
        states: search,
        exploring: "positions while it fits, else ram, then tier when memory is full",
    },
};

/// The measure that it goes by if it comes to that.
const MEASURE: EngineOption = EngineOption {
    key: "measure",
    value: OptionValue::Expression,
    required: false,
    help: "the progress measure, for a search that turns out to be deep and narrow (structural, else chosen from a sample of steps)",
};

fn search(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let disk = Disk { volume: ask.place.volume, lasts: ask.place.lasts, options: tier::options(ask) };
    // What a sweep leaves cannot be gone on with by layers, and it knows no depths.
    let leaves = !disk.lasts && ask.task.settings.max_depth.is_none();
    let (kept, outcome) = Moving { task: ask.task, disk: &disk, leaves }.run()?;
    if outcome.ending == Ending::Policy(patience::DEEP_AND_NARROW) {
        drop((kept, outcome));
        return sweeping::instead(ask);
    }
    answer(kept, outcome)
}

fn answer(kept: Kept, outcome: Outcome) -> Result<Answer, SearchError> {
    let used = kept.disk_use();
    let (engine, closing) = match &kept {
        Kept::Ram(_) => (ram::ENGINE.name, None),
        Kept::Tier(tier) => (tier::ENGINE.name, Some(tier.cost())),
    };
    let kept = match kept {
        // Searching again needs the memory that this one has.
        Kept::Tier(tier) if !tier.keeps_all_layers() => engine::Kept::Dropped,
        kept => engine::Kept::Layers(Box::new(kept)),
    };
    Ok(Answer { engine, outcome, kept, used, closing, measure: None, figures: Vec::new() })
}

/// What was kept of a search, for paths.
#[derive(Debug)]
pub enum Kept {
    /// It ended in RAM.
    Ram(Box<InRam>),
    /// It ended on disk.
    Tier(Box<Tier>),
}

/// What the disk side needs when it comes to that.
pub struct Disk<'a> {
    /// Makes the volume, when it is needed.
    pub volume: &'a dyn Fn() -> Result<Volume, SearchError>,
    /// Whether the run is to last: then there are commits from the start, and the closed set is on disk in the end.
    pub lasts: bool,
    /// How to use it.
    pub options: Options,
}

/// The search in RAM, with its layers on disk if it is to last.
#[derive(Debug)]
pub struct InRam {
    table: RamTable,
    journal: Option<Journal>,
}

/// What is asked, and with what it is answered.
#[derive(Clone, Copy)]
struct Moving<'a> {
    task: Task<'a>,
    disk: &'a Disk<'a>,
    /// Whether a search by layers may be left that is deep and narrow.
    leaves: bool,
}

/// Searches breadth-first from the initial states, in RAM first; or goes on with what is committed in the volume of a search that is to last.
pub fn run(task: Task<'_>, disk: &Disk<'_>) -> Result<(Kept, Outcome), SearchError> {
    Moving { task, disk, leaves: false }.run()
}

/// The states of a search that is complete, on disk if they are not there yet, with all memory of the search given back.
pub fn finished(
    kept: Kept,
    boundary: &[u8],
    shape: &Shape,
    budget: &Budget,
    disk: &Disk<'_>,
) -> Result<Finished, SearchError> {
    let InRam { table, journal } = match kept {
        Kept::Tier(tier) => return tier.into_finished(),
        Kept::Ram(in_ram) => *in_ram,
    };
    let volume = (disk.volume)()?;
    let layers = table.into_layers();
    let journal = match journal {
        Some(journal) => Some(journal),
        None => open_journal(&volume, budget, shape, 1, &disk.options)?.map(|(journal, _)| journal),
    };
    let mut journal = journal.ok_or(SearchError::Boundary)?;
    journal.commit(&layers, boundary)?;
    // The lock is given back.
    drop(journal);
    drop(layers);
    Finished::open(&volume, budget, shape, disk.options.tag)?.ok_or(SearchError::Boundary)
}

/// The journal of a search in RAM, in blocks that suit its search on disk, should it come to that.
fn open_journal(
    volume: &Volume,
    budget: &Budget,
    shape: &Shape,
    threads: usize,
    options: &Options,
) -> Result<Option<Opened>, SearchError> {
    let log_block_bytes = Tier::log_block_bytes(budget, shape, threads, options)?;
    let Options { tag, commit_every, .. } = *options;
    Journal::open(volume, budget, shape, JournalOptions { tag, commit_every, log_block_bytes })
}

/// Makes layers those of a policy that has none yet.
fn restore<P: StagePolicy>(layers: &StoredLayers, policy: &mut P) -> Result<(), SearchError> {
    let mut worker = policy.worker()?;
    layers.visit_all(&mut |records| match records {
        Some(records) => policy.offer(&mut worker, records),
        None => {
            policy.flush(&mut worker)?;
            close_alone(policy, &mut worker).map(|_| ())
        }
    })
}

impl Moving<'_> {
    fn run(self) -> Result<(Kept, Outcome), SearchError> {
        let (journal, boundary) = if self.disk.lasts {
            match self.journal()? {
                Some((journal, boundary)) => (Some(journal), boundary),
                None => return self.on_disk((0, 0)),
            }
        } else {
            (None, None)
        };
        let committed = boundary.is_some();
        let (in_ram, outcome) = match self.in_ram(journal, boundary) {
            // Not even the buffers fit, or what is to be taken up does not.
            Err(SearchError::Budget(_)) => {
                if !committed {
                    self.task.observer.moved_to_disk(0, 0);
                }
                return self.on_disk((0, 0));
            }
            other => other?,
        };
        match outcome.ending {
            Ending::Budget => self.move_to_disk(in_ram, outcome),
            Ending::Complete if self.disk.lasts => {
                drop(in_ram);
                Ok((Kept::Tier(Box::new(self.closed(&outcome)?)), outcome))
            }
            _ => Ok((Kept::Ram(Box::new(in_ram)), outcome)),
        }
    }

    fn journal(&self) -> Result<Option<Opened>, SearchError> {
        let volume = (self.disk.volume)()?;
        let Task { system, budget, settings, .. } = self.task;
        open_journal(&volume, budget, system.shape(), settings.threads, &self.disk.options)
    }

    /// Searches as far as memory suffices.
    fn in_ram(
        &self,
        journal: Option<Journal>,
        boundary: Option<Vec<u8>>,
    ) -> Result<(InRam, Outcome), SearchError> {
        let Task { system, budget, settings, .. } = self.task;
        let mut table = RamTable::new(system.shape(), budget, settings.threads)?;
        if let (Some(journal), Some(_)) = (&journal, &boundary) {
            restore(journal.layers(), &mut table)?;
        }
        let mut in_ram = InRam { table, journal };
        let outcome = match boundary {
            Some(boundary) => stages::go_on(self.task, &mut in_ram, &boundary)?,
            None => stages::run(self.task, &mut in_ram)?,
        };
        Ok((in_ram, outcome))
    }

    /// Searches on disk, from the start or from what is committed: these layers and states.
    fn on_disk(&self, before: (u64, u64)) -> Result<(Kept, Outcome), SearchError> {
        let Disk { volume, lasts, options } = *self.disk;
        let (tier, outcome) = match self.leaves {
            true => patience::run(self.task, &volume()?, options, before)?,
            false => tier::run(self.task, (&volume()?, lasts), options)?,
        };
        Ok((Kept::Tier(Box::new(tier)), outcome))
    }

    /// Goes on on disk where memory ended.
    fn move_to_disk(&self, in_ram: InRam, outcome: Outcome) -> Result<(Kept, Outcome), SearchError> {
        let Outcome { boundary, layers: sizes, duplicates, expanded_before, .. } = outcome;
        let states = sizes.sum();
        drop(sizes);
        let InRam { table, journal } = in_ram;
        let layers = table.into_layers();
        self.task.observer.moved_to_disk(layers.count() as u64, states);
        if let Some(last) = layers.count().checked_sub(1) {
            self.task.observer.abandoned(last as u64);
            let journal = match journal {
                Some(journal) => Some(journal),
                None => self.journal()?.map(|(journal, _)| journal),
            };
            journal.ok_or(SearchError::Boundary)?.commit(&layers, &boundary)?;
        } else {
            // Nobody else may hold the lock.
            drop(journal);
        }
        let before = (layers.count() as u64, states);
        drop(layers);
        // What the table and the layers had in small pieces would stay resident beside what the search on disk takes.
        heap::give_free_pages_back();
        // What was expanded in RAM was expanded by this process.
        let (kept, outcome) = self.on_disk(before)?;
        let duplicates = duplicates.and(outcome.duplicates);
        Ok((kept, Outcome { duplicates, expanded_before, ..outcome }))
    }

    /// The closed set of a search that is complete, committed and at rest.
    fn closed(&self, outcome: &Outcome) -> Result<Tier, SearchError> {
        let (mut tier, _) = self.tier()?;
        tier.checkpoint(&|| outcome.boundary.clone(), CheckpointReason::Complete)?;
        tier.put_to_rest(&outcome.boundary)?;
        Ok(tier)
    }

    fn tier(&self) -> Result<(Tier, Option<Vec<u8>>), SearchError> {
        let Task { system, budget, settings, .. } = self.task;
        Tier::open(&(self.disk.volume)()?, budget, system.shape(), settings.threads, self.disk.options)
    }
}

impl StagePolicy for InRam {
    type Worker = ram::Worker;

    fn worker(&self) -> Result<ram::Worker, SearchError> {
        self.table.worker()
    }

    fn offer(&self, worker: &mut ram::Worker, candidates: Records<'_>) -> Result<(), SearchError> {
        self.table.offer(worker, candidates)
    }

    fn flush(&self, worker: &mut ram::Worker) -> Result<(), SearchError> {
        self.table.flush(worker)
    }

    fn prepare_close(&mut self, workers: &mut [&mut ram::Worker]) -> Result<bool, SearchError> {
        self.table.prepare_close(workers)
    }

    fn close_share(&self, worker: &mut ram::Worker) -> Result<(), SearchError> {
        self.table.close_share(worker)
    }

    fn close_stage(&mut self, workers: &mut [&mut ram::Worker]) -> Result<ClosedStage, SearchError> {
        self.table.close_stage(workers)
    }

    fn next_batch(
        &self,
        worker: &mut ram::Worker,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        self.table.next_batch(worker, records, batch)
    }

    fn duplicates(&self) -> Duplicates {
        self.table.duplicates()
    }

    fn checkpoint(
        &mut self,
        boundary: &dyn Fn() -> Vec<u8>,
        reason: CheckpointReason,
    ) -> Result<(), SearchError> {
        match &mut self.journal {
            Some(journal) if reason != CheckpointReason::Passing || journal.is_due() => {
                journal.commit(self.table.layers(), &boundary())
            }
            _ => Ok(()),
        }
    }
}

impl Layered for InRam {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        self.table.visit_layer(layer, visit)
    }
}

impl InRam {
    /// Gives the memory of the table back once a search is over: from now on only the layers are known.
    pub fn forget_table(&mut self) -> Result<(), SearchError> {
        self.table.forget_table()
    }
}

impl Kept {
    /// What files hold and have held; none if there are none.
    pub fn disk_use(&self) -> Option<DiskUse> {
        match self {
            Kept::Ram(in_ram) => in_ram.journal.as_ref().map(Journal::disk_use),
            Kept::Tier(tier) => Some(tier.disk_use()),
        }
    }
}

impl Layered for Kept {
    fn visit_layer(&self, layer: u64, visit: &mut dyn FnMut(Records<'_>)) -> Result<bool, SearchError> {
        match self {
            Kept::Ram(in_ram) => in_ram.visit_layer(layer, visit),
            Kept::Tier(tier) => tier.visit_layer(layer, visit),
        }
    }
}
