//! Which states wait for their partition to be visited?
//!
//! Keys of value and record gather in memory; when that is full, they are sorted and become a run, in which those of a partition lie together. A partition that is visited takes its part of all
//! runs that were written since it was visited last, and of what is in memory, as one ascending stream without repeats. Files are never changed: what was taken stays in its run, and is left out
//! when the run is merged with another, or gone with it when nothing waits in it any more.
//!
//! Memory: the keys that gather, and a page of fences for each run. I/O: each key is written once, and again when runs are merged so that they stay few; read once.

use std::cell::Cell;
use std::ops::Range;

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan};
use fathom_disk::set::{KeyStream, Merge, SliceStream, sort_unique};

use super::parts::{Part, Parts};
use super::sizes::Sizes;
use crate::files::place::Place;

/// What waits, and for which partition.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) parts: Parts,
    /// Of keys of value and record.
    width: KeyWidth,
    /// Keys in any order, with repeats.
    gathered: ChargedVec<u64>,
    runs: Vec<WaitingRun>,
    /// Runs that nothing waits in any more.
    retired: Vec<String>,
    /// Goes on when a run is written and when a partition is visited.
    pub(super) time: u64,
}

/// A run, and what of it waits.
#[derive(Debug)]
pub(super) struct WaitingRun {
    pub(super) run: Run,
    /// When it was written.
    pub(super) written: u64,
    /// Keys of it that were not taken yet.
    pub(super) left: u64,
}

impl Pending {
    /// Nothing waits.
    pub(super) fn new(
        place: &Place,
        sizes: &Sizes,
        width: KeyWidth,
        parts: Parts,
    ) -> Result<Pending, DiskError> {
        let room = sizes.gathered_keys.max(2) * width.words();
        let gathered = ChargedVec::with_capacity(&place.budget, "waiting states", room)?;
        Ok(Pending { parts, width, gathered, runs: Vec::new(), retired: Vec::new(), time: 0 })
    }

    /// Takes up a run that was committed.
    pub(super) fn take_up(&mut self, run: WaitingRun) {
        self.runs.push(run);
    }

    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.gathered.is_empty() && self.runs.is_empty()
    }

    /// The runs in which something waits.
    pub(super) fn runs(&self) -> &[WaitingRun] {
        &self.runs
    }

    /// Takes a key.
    pub(super) fn gather(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        (value, record): (u64, &[u64]),
    ) -> Result<(), DiskError> {
        let words = self.width.words();
        if self.gathered.len() + words > self.gathered.capacity() {
            self.sort(&place.budget)?;
            let (used, room) = (self.gathered.len(), self.gathered.capacity());
            if used > room / 4 * 3 || used + words > room {
                self.spill(place, sizes)?;
            }
        }
        self.gathered.push(value)?;
        Ok(self.gathered.extend(record)?)
    }

    fn sort(&mut self, budget: &Budget) -> Result<(), DiskError> {
        let kept = sort_unique(budget, self.width.words(), &mut self.gathered)?;
        self.gathered.truncate(kept);
        Ok(())
    }

    /// Writes what has gathered, if something has.
    pub(super) fn spill(&mut self, place: &Place, sizes: &Sizes) -> Result<(), DiskError> {
        self.sort(&place.budget)?;
        if self.gathered.is_empty() {
            return Ok(());
        }
        let mut writer = place.run_writer(&self.config(place, sizes))?;
        writer.push(&self.gathered)?;
        let run = writer.finish_run(false)?;
        self.parts.wait(&self.gathered);
        self.gathered.clear();
        self.add(run);
        match self.merge_down(place, sizes) {
            // A state has many steps: there is more memory when they are all offered.
            Err(DiskError::Budget(_)) if self.runs.len() <= 2 * sizes.pending_runs => Ok(()),
            merged => merged,
        }
    }

    fn add(&mut self, run: Run) {
        self.time += 1;
        self.runs.push(WaitingRun { written: self.time, left: run.count(), run });
    }

    /// Merges the smallest runs until there are few.
    pub(super) fn merge_down(&mut self, place: &Place, sizes: &Sizes) -> Result<(), DiskError> {
        while self.runs.len() > sizes.pending_runs {
            // The smallest are the last.
            self.runs.sort_by_key(|run| std::cmp::Reverse(run.left));
            let first = self.runs.len() - 2;
            let merged = self.merged(place, sizes, &self.runs[first..])?;
            let names = self.runs.drain(first..).map(|waiting| waiting.run.name().to_owned());
            self.retired.extend(names);
            merged.into_iter().for_each(|run| self.add(run));
        }
        Ok(())
    }

    /// One run of what waits in some; none if nothing does.
    fn merged(&self, place: &Place, sizes: &Sizes, runs: &[WaitingRun]) -> Result<Option<Run>, DiskError> {
        let share = sizes.scan_bytes / (runs.len() + 1);
        let sources = runs
            .iter()
            .map(|WaitingRun { run, written, .. }| {
                let mut number = 0;
                let wants = move |key: &[u64]| {
                    number = self.parts.at_or_behind(number, key);
                    if self.parts.is_waiting(number, *written) { Wants::Yes } else { Wants::No }
                };
                Chosen::new(Scan::new(run, &place.budget, share)?, run, &place.budget, wants)
            })
            .collect::<Result<Vec<_>, DiskError>>()?;
        let mut keys = Merge::new(&place.budget, self.width.words(), sources, sizes.chunk_keys)?;
        let name = place.fresh_name("run");
        let written =
            write_some(&mut keys, &mut || place.named_run_writer(&name, &self.config(place, sizes)));
        if written.is_err() {
            // What was begun is ours alone; if it cannot be removed now, the next opening does that.
            let _ = place.volume.remove(&name);
        }
        written
    }

    /// The partition for which the most waits; none if nothing does.
    pub(super) fn most_work(&mut self, budget: &Budget) -> Result<Option<usize>, DiskError> {
        self.sort(budget)?;
        Ok(self.parts.most_work(&self.gathered))
    }

    /// Gives what waits for a partition to `take`, ascending and without repeats, some at a time. From then on it does not wait any more.
    pub(super) fn refill(
        &mut self,
        place: &Place,
        sizes: &Sizes,
        part: &Part,
        take: &mut dyn FnMut(&[u64]) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        self.sort(&place.budget)?;
        let words = self.width.words();
        let range = in_part(&self.gathered, words, part);
        let taken: Vec<Cell<u64>> = self.runs.iter().map(|_| Cell::new(0)).collect();
        {
            let mut sources: Vec<Box<dyn KeyStream + '_>> =
                vec![Box::new(SliceStream::new(words, &self.gathered[range.clone()]))];
            let runs = self.runs.iter().zip(&taken).filter(|(run, _)| self.has_some(run, part));
            let runs: Vec<_> = runs.collect();
            let share = sizes.scan_bytes / (runs.len() + 1);
            for (WaitingRun { run, .. }, taken) in runs {
                let scan = Scan::from(run, &place.budget, share, &part.low)?;
                let wants = move |key: &[u64]| match key {
                    _ if part.ends_before(key) => Wants::NoMore,
                    _ if key < &part.low[..] => Wants::No,
                    _ => {
                        taken.set(taken.get() + 1);
                        Wants::Yes
                    }
                };
                sources.push(Box::new(Chosen::new(scan, run, &place.budget, wants)?));
            }
            let mut keys = Merge::new(&place.budget, words, sources, sizes.chunk_keys)?;
            while keys.advance()? {
                take(keys.keys())?;
            }
        }
        self.taken(range, part, &taken, words);
        Ok(())
    }

    /// Whether something waits for a partition in a run.
    fn has_some(&self, WaitingRun { run, written, .. }: &WaitingRun, part: &Part) -> bool {
        self.parts.waits(part.number)
            && self.parts.is_waiting(part.number, *written)
            && run.first().is_some_and(|first| !part.ends_before(first))
            && run.last().is_some_and(|last| last >= &part.low[..])
    }

    /// What was taken does not wait any more.
    fn taken(&mut self, range: Range<usize>, part: &Part, taken: &[Cell<u64>], words: usize) {
        self.time += 1;
        self.parts.visit(part.number, self.time);
        let length = self.gathered.len();
        self.gathered.copy_within(range.end..length, range.start);
        self.gathered.truncate(length - range.len());
        debug_assert!(self.gathered.len().is_multiple_of(words), "keys are whole");
        for (run, taken) in self.runs.iter_mut().zip(taken) {
            run.left = run.left.saturating_sub(taken.get());
        }
        let retired = self.runs.extract_if(.., |run| run.left == 0);
        self.retired.extend(retired.map(|waiting| waiting.run.name().to_owned()));
    }

    /// Bytes on disk.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.runs.iter().map(|waiting| waiting.run.bytes()).sum()
    }

    /// Files that are not needed any more, since the last call.
    pub(super) fn retired(&mut self) -> Vec<String> {
        std::mem::take(&mut self.retired)
    }

    fn config(&self, place: &Place, sizes: &Sizes) -> RunConfig {
        RunConfig::within(self.width, place.tag, sizes.write_bytes)
    }
}

/// Writes a stream; none if there is nothing in it.
fn write_some(
    keys: &mut dyn KeyStream,
    writer: &mut dyn FnMut() -> Result<RunWriter, DiskError>,
) -> Result<Option<Run>, DiskError> {
    if !keys.advance()? {
        return Ok(None);
    }
    let mut writer = writer()?;
    writer.push(keys.keys())?;
    while keys.advance()? {
        writer.push(keys.keys())?;
    }
    writer.finish_run(false).map(Some)
}

/// Where the keys of a partition are among ascending ones.
fn in_part(keys: &[u64], words: usize, part: &Part) -> Range<usize> {
    let key = |index: usize| &keys[index * words..(index + 1) * words];
    let first = |is_before: &dyn Fn(&[u64]) -> bool| {
        let (mut from, mut to) = (0, keys.len() / words);
        while from < to {
            let middle = from.midpoint(to);
            if is_before(key(middle)) { from = middle + 1 } else { to = middle }
        }
        from
    };
    let low = first(&|key| key < &part.low[..]);
    let high = first(&|key| !part.ends_before(key));
    low * words..high.max(low) * words
}

/// Whether somebody wants a key.
enum Wants {
    Yes,
    No,
    /// Neither it nor any that follows.
    NoMore,
}

/// Those keys of a run that somebody wants.
struct Chosen<'a, W> {
    scan: Scan<'a>,
    kept: ChargedVec<u64>,
    wants: W,
    over: bool,
}

impl<'a, W> Chosen<'a, W> {
    fn new(scan: Scan<'a>, run: &Run, budget: &Budget, wants: W) -> Result<Chosen<'a, W>, DiskError> {
        let room = run.scan_keys_max() * run.width().words();
        let kept = ChargedVec::with_capacity(budget, "scan", room)?;
        Ok(Chosen { scan, kept, wants, over: false })
    }
}

impl<W: FnMut(&[u64]) -> Wants> KeyStream for Chosen<'_, W> {
    fn words(&self) -> usize {
        self.scan.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        self.kept.clear();
        while self.kept.is_empty() && !self.over {
            if !self.scan.advance()? {
                self.over = true;
            }
            let words = self.scan.words();
            for key in self.scan.keys().chunks_exact(words) {
                match (self.wants)(key) {
                    Wants::Yes => self.kept.extend(key)?,
                    Wants::No => {}
                    Wants::NoMore => {
                        self.over = true;
                        break;
                    }
                }
            }
        }
        Ok(!self.kept.is_empty())
    }

    fn keys(&self) -> &[u64] {
        &self.kept
    }
}
