//! When a sweep has come to its end, from where does the next one start?
//!
//! From the targets of its steps back that no sweep has expanded. What it has expanded itself is known from now on: all its states where stages are kept, its roots where they are not.

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::run::{Run, RunWriter};
use fathom_disk::sabotage::is_chosen;
use fathom_disk::set::{KeyStream, Sorted, Sorter};
use fathom_model::record::Records;

use super::sizes::Sizes;
use super::{Sweep, Waiting};
use crate::error::SearchError;
use crate::files::layer_store::{LayerCursor, LayerStore};
use crate::files::lock;
use crate::files::place::Place;

/// Sorts what steps back.
pub(super) fn regress_sorter(place: &Place, sizes: &Sizes, width: KeyWidth) -> Result<Sorter, DiskError> {
    let name = place.fresh_name("regress");
    Sorter::new(&place.volume, &place.budget, &name, width, place.tag, sizes.regress_bytes)
}

impl Sweep<'_> {
    /// Queues the roots of the next sweep; false if there are none.
    pub(super) fn begin_sweep(&mut self) -> Result<bool, SearchError> {
        if self.waiting().regress.is_empty() {
            return Ok(false);
        }
        self.know_sweep()?;
        let next = regress_sorter(&self.place, &self.sizes, self.valued)?;
        let regress = std::mem::replace(&mut self.waiting().regress, next).finish()?;
        let mut stream = regress.stream()?;
        let found = self.queue_roots(&mut *stream)?;
        drop(stream);
        regress.remove()?;
        self.figures.sweeps += u64::from(found);
        let stages = self.frontier().store.layer_count();
        self.sweep_from = stages;
        Ok(found)
    }

    /// Queues those of some ascending values and records that are not known; false if there are none.
    fn queue_roots(&mut self, stream: &mut dyn KeyStream) -> Result<bool, SearchError> {
        let Sweep { place, sizes, earlier, waiting, valued, keep, roots, .. } = self;
        let Waiting { queue, .. } = &mut *lock(waiting);
        queue.restart();
        let words = valued.words();
        let mut piece = ChargedVec::with_capacity(&place.budget, "roots", sizes.piece_keys * words)?;
        let mut records = ChargedVec::with_capacity(&place.budget, "roots", sizes.piece_keys * (words - 1))?;
        let mut values = ChargedVec::with_capacity(&place.budget, "roots", sizes.piece_keys)?;
        let mut writer: Option<RunWriter> = None;
        let mut found = false;
        while stream.advance()? {
            for keys in stream.keys().chunks(sizes.piece_keys * words) {
                piece.clear();
                piece.extend(keys)?;
                let kept = earlier.retain_unknown(place, sizes, &mut piece)?;
                let kept = if is_chosen("regress") && found { 0 } else { kept };
                if kept == 0 {
                    continue;
                }
                found = true;
                records.clear();
                values.clear();
                for key in piece[..kept].chunks_exact(words) {
                    values.extend(&key[..1])?;
                    records.extend(&key[1..])?;
                }
                queue.push(&values, &records)?;
                if !*keep {
                    let config = earlier.config(place, sizes);
                    let writer = match &mut writer {
                        Some(writer) => writer,
                        none => none.insert(place.run_writer(&config)?),
                    };
                    writer.push(&piece[..kept])?;
                }
            }
        }
        *roots = writer.map(|writer| writer.finish_run(false)).transpose()?;
        Ok(found)
    }

    /// Makes known what the sweep that is over has expanded.
    fn know_sweep(&mut self) -> Result<(), SearchError> {
        self.earlier.let_go(&self.place)?;
        self.bucket.let_go();
        let run = match self.keep {
            true => self.sort_stages()?,
            false => self.roots.take(),
        };
        if let Some(run) = run {
            self.earlier.insert(&self.place, &self.sizes, run)?;
        }
        Ok(())
    }

    /// The states of this sweep in the order of value and record; none if there are none.
    fn sort_stages(&self) -> Result<Option<Run>, SearchError> {
        let Sweep { place, sizes, .. } = self;
        let words = place.width.words();
        let store = &self.frontier().store;
        if self.sweep_from == store.layer_count() {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(sizes.log_block_keys);
        let _charge = place.budget.charge("swept states", sizes.log_block_keys * 8)?;
        let sorted =
            sorted_stages(place, self.valued, sizes, store, self.sweep_from, &mut |records, sorter| {
                values.clear();
                (self.measure)(records, &mut values);
                for (value, record) in values.iter().zip(records.words().chunks_exact(words)) {
                    sorter.push(std::slice::from_ref(value))?;
                    sorter.push(record)?;
                }
                Ok(())
            })?;
        let mut writer = place.run_writer(&self.earlier.config(place, sizes))?;
        let mut stream = sorted.stream()?;
        while stream.advance()? {
            writer.push(stream.keys())?;
        }
        drop(stream);
        sorted.remove()?;
        Ok(Some(writer.finish_run(false)?))
    }
}

/// Sorts the stages of a log from one on; `push` makes keys of records.
pub(super) fn sorted_stages(
    place: &Place,
    width: KeyWidth,
    sizes: &Sizes,
    store: &LayerStore,
    from: u64,
    push: &mut dyn FnMut(Records<'_>, &mut Sorter) -> Result<(), DiskError>,
) -> Result<Sorted, DiskError> {
    let name = place.fresh_name("swept");
    let mut sorter = Sorter::new(&place.volume, &place.budget, &name, width, place.tag, sizes.sort_bytes)?;
    let mut cursor = LayerCursor::new(place.width, &place.budget)?;
    for stage in from..store.layer_count() {
        cursor.open(store, stage)?;
        while let Some(records) = cursor.next_keys(store)? {
            push(records, &mut sorter)?;
        }
    }
    drop(cursor);
    sorter.finish()
}
