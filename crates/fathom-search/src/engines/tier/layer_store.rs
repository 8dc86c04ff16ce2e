//! Where are the closed layers, so that they can be handed out and replayed?
//!
//! All layers lie one behind the other in one append-only log of words, in blocks of gap-coded keys:
//!
//! ```text
//! block   keys : u32 | payload bytes : u32      one word, keys in the upper half
//!         payload (gap code), padded to words
//! ```
//! A small layer costs no file and no sync; a large one is read as it was written, in order. Memory: four blocks of the log, one block of keys.

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::codec::{Codec, Decoder, Encoder, payload_bytes_max};
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::log::{LayerLog, LayerReader, Mark};
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};

use super::place::Place;

/// The closed layers and the one being written.
#[derive(Debug)]
pub(in crate::engines) struct LayerStore {
    name: String,
    block_bytes: usize,
    log: LayerLog,
    /// Keys in the layer being written.
    open_keys: u64,
}

/// Makes blocks of sorted keys, outside of any lock.
#[derive(Debug)]
pub(in crate::engines) struct BlockEncoder {
    width: KeyWidth,
    block_keys: usize,
    encoder: Encoder,
    payload: Vec<u8>,
    _charge: Charge,
}

/// Hands out a closed layer in pieces.
#[derive(Debug)]
pub(in crate::engines) struct LayerCursor {
    words: usize,
    reader: LayerReader,
    decoder: Decoder,
    payload: ChargedVec<u8>,
    keys: ChargedVec<u64>,
    /// How many words of `keys` were handed out.
    served: usize,
}

impl BlockEncoder {
    pub(in crate::engines) fn new(
        budget: &Budget,
        width: KeyWidth,
        block_keys: usize,
    ) -> Result<BlockEncoder, DiskError> {
        let room = payload_bytes_max(width, block_keys);
        Ok(BlockEncoder {
            width,
            block_keys,
            encoder: Encoder::new(budget, "layer encoder", width, block_keys)?,
            _charge: budget.charge("layer encoder", room)?,
            payload: Vec::with_capacity(room),
        })
    }

    /// Calls `write` with each block of the ascending keys: how many keys, and their payload.
    pub(in crate::engines) fn encode(
        &mut self,
        keys: &[u64],
        mut write: impl FnMut(usize, &[u8]) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let words = self.width.words();
        for block in keys.chunks(self.block_keys * words) {
            self.payload.clear();
            self.encoder.encode_quickly(block, &mut self.payload);
            write(block.len() / words, &self.payload)?;
        }
        Ok(())
    }
}

impl LayerStore {
    /// No layers yet, in files called `name`.
    pub(in crate::engines) fn new(
        volume: &Volume,
        name: &str,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<LayerStore, DiskError> {
        let log = LayerLog::new(volume, name, 1, block_bytes, budget)?;
        Ok(LayerStore { name: name.to_owned(), block_bytes, log, open_keys: 0 })
    }

    /// The layers as they were at a mark.
    pub(in crate::engines) fn resume(
        volume: &Volume,
        name: &str,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<LayerStore, DiskError> {
        let log = LayerLog::resume(volume, name, 1, block_bytes, mark, budget)?;
        Ok(LayerStore { name: name.to_owned(), block_bytes, log, open_keys: 0 })
    }

    /// Adds a block to the layer being written.
    pub(in crate::engines) fn append(&mut self, keys: usize, payload: &[u8]) -> Result<(), DiskError> {
        self.log.append(&[(keys as u64) << 32 | payload.len() as u64])?;
        for piece in payload.chunks(8) {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.log.append(&[u64::from_le_bytes(word)])?;
        }
        self.open_keys += keys as u64;
        Ok(())
    }

    /// Closes the layer being written; says how many keys it has.
    pub(in crate::engines) fn close(&mut self) -> Result<u64, DiskError> {
        self.log.close_layer()?;
        Ok(std::mem::take(&mut self.open_keys))
    }

    /// Closed layers.
    pub(in crate::engines) fn layer_count(&self) -> u64 {
        self.log.layer_count()
    }

    /// Makes all closed layers last, once a manifest names the mark.
    pub(in crate::engines) fn mark(&mut self) -> Result<Mark, DiskError> {
        self.log.mark()
    }

    /// What its files are called.
    pub(in crate::engines) fn name(&self) -> &str {
        &self.name
    }

    /// Bytes in a block of its log.
    pub(in crate::engines) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Calls `visit` with the keys of a closed layer, in order.
    pub(in crate::engines) fn visit(
        &self,
        layer: u64,
        place: &Place,
        visit: &mut dyn FnMut(Records<'_>),
    ) -> Result<(), DiskError> {
        let mut cursor = LayerCursor::new(self, place.width, &place.budget)?;
        cursor.open(self, layer)?;
        while let Some(records) = cursor.next_keys(self)? {
            visit(records);
        }
        Ok(())
    }

    /// The names of the files that are there.
    pub(in crate::engines) fn file_names(&self) -> impl Iterator<Item = &str> {
        self.log.file_names()
    }

    /// Bytes on disk.
    pub(in crate::engines) fn disk_bytes(&self) -> u64 {
        self.log.disk_bytes()
    }
}

impl LayerCursor {
    pub(in crate::engines) fn new(
        store: &LayerStore,
        width: KeyWidth,
        budget: &Budget,
    ) -> Result<LayerCursor, DiskError> {
        Ok(LayerCursor {
            words: width.words(),
            reader: store.log.reader(budget)?,
            decoder: Decoder::new(budget, "layer cursor", width)?,
            payload: ChargedVec::with_capacity(budget, "layer cursor", 0)?,
            keys: ChargedVec::with_capacity(budget, "layer cursor", 0)?,
            served: 0,
        })
    }

    /// Goes to the beginning of a closed layer.
    pub(in crate::engines) fn open(&mut self, store: &LayerStore, layer: u64) -> Result<(), DiskError> {
        self.keys.clear();
        self.served = 0;
        self.reader.open(&store.log, layer)
    }

    /// Fills `batch` with up to `most` keys; empty at the end of the layer.
    pub(in crate::engines) fn take(
        &mut self,
        store: &LayerStore,
        most: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), DiskError> {
        if self.served == self.keys.len() && !self.next_block(store)? {
            return Ok(());
        }
        let end = self.keys.len().min(self.served + most * self.words);
        batch.append(Records::new(&self.keys[self.served..end], self.words));
        self.served = end;
        Ok(())
    }

    /// The keys of the next block; none at the end of the layer.
    pub(in crate::engines) fn next_keys(
        &mut self,
        store: &LayerStore,
    ) -> Result<Option<Records<'_>>, DiskError> {
        let more = self.next_block(store)?;
        self.served = self.keys.len();
        Ok(more.then(|| Records::new(&self.keys, self.words)))
    }

    fn next_block(&mut self, store: &LayerStore) -> Result<bool, DiskError> {
        let mut word = [0];
        self.keys.clear();
        self.served = 0;
        if !self.reader.next(&store.log, &mut word)? {
            return Ok(false);
        }
        let (count, length) = ((word[0] >> 32) as usize, (word[0] & 0xffff_ffff) as usize);
        self.payload.clear();
        self.payload.reserve(length.next_multiple_of(8))?;
        while self.payload.len() < length {
            if !self.reader.next(&store.log, &mut word)? {
                return Err(nonsense());
            }
            self.payload.extend(&word[0].to_le_bytes())?;
        }
        self.keys.resize(count * self.words, 0)?;
        self.decoder.decode(Codec::Gap, &self.payload[..length], &mut self.keys).map_err(|_| nonsense())?;
        Ok(true)
    }
}

fn nonsense() -> DiskError {
    DiskError::Mismatch { file: "layer log".to_owned(), what: "a block of a layer makes no sense".to_owned() }
}
