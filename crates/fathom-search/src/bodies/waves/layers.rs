//! Where are the layers that waves have met?

use fathom_disk::budget::Budget;
use fathom_disk::log::{LayerLog, LayerReader};
use fathom_disk::storage::Volume;
use fathom_model::record::RecordBuffer;

use crate::error::SearchError;

/// Layers, of which the last one grows, while those before it are read.
pub(crate) trait Layers {
    /// Where somebody reads.
    type Reader;

    /// Adds a state to the last layer.
    fn append(&mut self, state: &[u64]) -> Result<(), SearchError>;

    /// The last layer grows no more, and another begins: how many states it has.
    fn close_layer(&mut self) -> Result<u64, SearchError>;

    /// Begins to read a closed layer.
    fn reader(&self, layer: u64) -> Result<Self::Reader, SearchError>;

    /// Appends the next states to some, as many as there are and `most` at most.
    fn read(
        &self,
        reader: &mut Self::Reader,
        states: &mut RecordBuffer,
        most: usize,
    ) -> Result<(), SearchError>;
}

/// Layers in a file.
#[derive(Debug)]
pub(crate) struct OnVolume<'a> {
    log: LayerLog,
    budget: &'a Budget,
    open: u64,
}

/// Layers in memory, for which the caller is charged.
#[derive(Debug)]
pub(crate) struct InMemory {
    states: RecordBuffer,
    /// Where closed layers end.
    ends: Vec<usize>,
}

/// Bytes of a block, at most.
const BLOCK_BYTES_MAX: usize = 1 << 16;

impl<'a> OnVolume<'a> {
    /// No layers yet, of states of so many words, in a file of that name.
    pub(crate) fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        budget: &'a Budget,
    ) -> Result<OnVolume<'a>, SearchError> {
        let block = (budget.free() / 64).clamp(256, BLOCK_BYTES_MAX);
        Ok(OnVolume { log: LayerLog::new(volume, name, words, block, budget)?, budget, open: 0 })
    }

    /// Removes the file.
    pub(crate) fn remove(self) -> Result<(), SearchError> {
        Ok(self.log.remove()?)
    }
}

impl Layers for OnVolume<'_> {
    /// With room for one state.
    type Reader = (LayerReader, Vec<u64>);

    fn append(&mut self, state: &[u64]) -> Result<(), SearchError> {
        self.open += 1;
        Ok(self.log.append(state)?)
    }

    fn close_layer(&mut self) -> Result<u64, SearchError> {
        self.log.close_layer()?;
        Ok(std::mem::take(&mut self.open))
    }

    fn reader(&self, layer: u64) -> Result<Self::Reader, SearchError> {
        let mut reader = self.log.reader(self.budget)?;
        reader.open(&self.log, layer)?;
        Ok((reader, Vec::new()))
    }

    fn read(
        &self,
        (reader, state): &mut Self::Reader,
        states: &mut RecordBuffer,
        most: usize,
    ) -> Result<(), SearchError> {
        state.resize(states.view().words_per_record(), 0);
        while states.len() < most && reader.next(&self.log, state)? {
            states.push(state);
        }
        Ok(())
    }
}

impl InMemory {
    /// No layers yet, of states of so many words.
    pub(crate) fn new(words: usize) -> InMemory {
        InMemory { states: RecordBuffer::new(words), ends: Vec::new() }
    }
}

impl Layers for InMemory {
    /// The states that are still to be read.
    type Reader = std::ops::Range<usize>;

    fn append(&mut self, state: &[u64]) -> Result<(), SearchError> {
        self.states.push(state);
        Ok(())
    }

    fn close_layer(&mut self) -> Result<u64, SearchError> {
        let before = self.ends.last().copied().unwrap_or(0);
        self.ends.push(self.states.len());
        Ok((self.states.len() - before) as u64)
    }

    fn reader(&self, layer: u64) -> Result<Self::Reader, SearchError> {
        let end = |layer: u64| self.ends[layer as usize];
        Ok(layer.checked_sub(1).map_or(0, end)..end(layer))
    }

    fn read(
        &self,
        reader: &mut Self::Reader,
        states: &mut RecordBuffer,
        most: usize,
    ) -> Result<(), SearchError> {
        let some = reader.by_ref().take(most - states.len().min(most));
        some.for_each(|place| states.push(self.states.view().get(place)));
        Ok(())
    }
}
