//! How many states were there, and what would have been counted had none been visited twice?
//!
//! All layers are sorted by state and layer. A state is one of the first of its layers: what follows was visited again. These are sorted by layer and expanded once more, and what they add to the counts is taken away. So a
//! search that has visited states twice says in the end what one says that has not: states, layers, steps, deadlocks, faults, checksum.
//!
//! Memory: what the search gives back. I/O: the visits are written and read once or twice, and so are those that came again.

use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::set::{Sorted, Sorter};
use fathom_disk::storage::Phase as IoPhase;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::system::expand_some;

use super::{RecentLayers, is_complete};
use crate::bodies::stages;
use crate::error::SearchError;
use crate::expansion::buffers::Buffers;
use crate::expansion::tally::Tally;
use crate::files::layer_store::LayerCursor;
use crate::files::place::Place;
use crate::task::{LayerSizes, Outcome, Phase, Progress, Task};

impl RecentLayers {
    /// Counts the states of a complete search, if some may have been visited twice and it is asked for and can be done; and puts the closed set to rest, if it is to last.
    pub fn finish(&mut self, task: Task<'_>, outcome: Outcome, lasts: bool) -> Result<Outcome, SearchError> {
        if !is_complete(&outcome) {
            return Ok(outcome);
        }
        self.image.forget();
        self.closing.put_tools_away();
        let outcome = self.count(task, outcome)?;
        if lasts && outcome.exact {
            self.put_to_rest(&outcome.boundary)?;
        }
        Ok(outcome)
    }

    fn count(&mut self, task: Task<'_>, outcome: Outcome) -> Result<Outcome, SearchError> {
        if let Some(revisits) = self.counted {
            // An earlier process has counted them.
            return Ok(Outcome { visits: outcome.expanded + revisits, ..outcome });
        }
        let valued = KeyWidth::new((self.files.place.width.words() as u32 + 1) * 64);
        let (true, Some(width)) = (self.counts(), valued) else { return Ok(outcome) };
        let _phase = IoPhase::enter("count");
        let counted = self.revisited(task, width).and_then(|again| match again {
            Some(again) => without(task, &self.files.place, &again, &outcome).map(|tally| (again, tally)),
            None => Err(SearchError::Stopped),
        });
        let (again, (revisited, layers)) = match counted {
            Ok(counted) => counted,
            // What was found stands; only how many states there are is not known.
            Err(SearchError::Stopped) => return Ok(outcome),
            Err(error) => return Err(error),
        };
        again.remove()?;
        self.counted = Some(revisited.expanded);
        let (exact, duplicates) = (true, stages::StagePolicy::duplicates(self));
        let corrected = stages::without_visits(task, outcome, &revisited, layers)?;
        self.commit(&corrected.boundary)?;
        Ok(Outcome { exact, duplicates, ..corrected })
    }

    /// Whether states are to be counted, and can be.
    fn counts(&self) -> bool {
        self.lookback.revisits && self.options.count && self.keeps_all_layers()
    }

    /// The visits of states that had been visited before, by layer and record. None if the observer stopped it.
    fn revisited(&self, task: Task<'_>, width: KeyWidth) -> Result<Option<Sorted>, SearchError> {
        let Some(visits) = self.sort_visits(task, width)? else { return Ok(None) };
        let words = self.files.place.width.words();
        let mut again = sorter(&self.files.place, width, 4)?;
        let mut last: Vec<u64> = Vec::new();
        let mut stream = visits.stream()?;
        while stream.advance()? {
            if task.observer.stop() {
                return Ok(None);
            }
            for key in stream.keys().chunks_exact(words + 1) {
                let (record, layer) = key.split_at(words);
                if record != last {
                    last.clear();
                    last.extend_from_slice(record);
                } else if !is_chosen("visits") {
                    again.push(layer)?;
                    again.push(record)?;
                }
            }
        }
        drop(stream);
        visits.remove()?;
        Ok(Some(again.finish()?))
    }

    /// All visits, by record and layer. None if the observer stopped it.
    fn sort_visits(&self, task: Task<'_>, width: KeyWidth) -> Result<Option<Sorted>, SearchError> {
        let place = &self.files.place;
        let store = &self.files.frontier().store;
        let mut sorter = sorter(place, width, 2)?;
        let mut cursor = LayerCursor::new(place.width, &place.budget)?;
        let mut expanded = 0;
        for layer in 0..store.layer_count() {
            cursor.open(store, layer)?;
            while let Some(records) = cursor.next_keys(store)? {
                if task.observer.stop() {
                    return Ok(None);
                }
                for record in records.iter() {
                    sorter.push(record)?;
                    sorter.push(&[layer])?;
                }
                expanded += records.len() as u64;
                task.observer.progress(Progress {
                    layer: 1,
                    frontier: self.lookback.visits,
                    expanded,
                    states: self.lookback.visits,
                    ..Progress::of(Phase::Passes, task.budget)
                });
            }
        }
        drop(cursor);
        Ok(Some(sorter.finish()?))
    }
}

/// What sorts within a part of what is free.
fn sorter(place: &Place, width: KeyWidth, part: usize) -> Result<Sorter, DiskError> {
    let name = place.fresh_name("visits");
    let bytes = (place.budget.free() / part).min(SORT_BYTES_MAX);
    Sorter::new(&place.volume, &place.budget, &name, width, place.tag, bytes)
}

/// More memory makes no sort faster.
const SORT_BYTES_MAX: usize = 256 << 20;

/// What visits, by layer and record, have added to the counts of a search, and the sizes of its layers without them.
fn without(
    task: Task<'_>,
    place: &Place,
    again: &Sorted,
    outcome: &Outcome,
) -> Result<(Tally, LayerSizes), SearchError> {
    let words = place.width.words();
    let mut stream = again.stream()?;
    let mut expander = Expander { task, buffers: Buffers::new(task, 1)?, tally: Tally::default() };
    let mut sizes = LayerSizes::new(task.budget)?;
    let mut left = outcome.layers.iter().enumerate();
    let mut current = left.next();
    while stream.advance()? {
        if task.observer.stop() {
            return Err(SearchError::Stopped);
        }
        for key in stream.keys().chunks_exact(words + 1) {
            let (layer, record) = key.split_at(1);
            while let Some((number, states)) = current
                && (number as u64) < layer[0]
            {
                push(&mut sizes, states)?;
                current = left.next();
            }
            let (_, states) = current.as_mut().expect("the layer was closed");
            *states -= 1;
            expander.add(record)?;
        }
    }
    expander.expand()?;
    while let Some((_, states)) = current {
        push(&mut sizes, states)?;
        current = left.next();
    }
    Ok((expander.tally, sizes))
}

/// Adds a layer, unless none of its states is left: then it is behind the last one, and so are all that follow.
fn push(sizes: &mut LayerSizes, states: u64) -> Result<(), SearchError> {
    if states > 0 {
        sizes.push(states)?;
    }
    Ok(())
}

/// Expands states once more, and counts.
struct Expander<'a> {
    task: Task<'a>,
    buffers: Buffers,
    tally: Tally,
}

impl Expander<'_> {
    fn add(&mut self, record: &[u64]) -> Result<(), SearchError> {
        let Buffers { batch, batch_records, .. } = &mut self.buffers;
        batch.append(Records::new(record, record.len()));
        if batch.len() < *batch_records { Ok(()) } else { self.expand() }
    }

    fn expand(&mut self) -> Result<(), SearchError> {
        let Buffers { batch, steps, charge, .. } = &mut self.buffers;
        let mut rest = batch.view();
        while !rest.is_empty() {
            let held = charge.bytes() - steps.bytes();
            let finished =
                expand_some(self.task.system, rest, steps, &mut |bytes| charge.resize(held + bytes))?;
            self.tally.watch(rest.take(finished), steps, &[], 0);
            rest = rest.skip(finished);
        }
        RecordBuffer::clear(batch);
        Ok(())
    }
}
