//! Where are the closed layers, so that they can be handed out and replayed?
//!
//! All layers lie one behind the other in one append-only log of words, in blocks of gap-coded keys:
//!
//! ```text
//! block   keys : u32 | payload bytes : u32      one word, keys in the upper half
//!         payload (gap code), padded to words
//! ```
//! A small layer costs no file and no sync; a large one is read as it was written, in order. Memory: four blocks of the log, one block of keys.

use std::sync::{Mutex, PoisonError};

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::codec::{Codec, Decoder, gap};
use fathom_disk::error::DiskError;
use fathom_disk::key::{KeyWidth, load_partial};
use fathom_disk::log::{LayerLog, LayerReader, Mark};
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};

use super::place::Place;

/// The closed layers and the one being written. Layers before `keep_from` are dropped when they are no longer the last one.
#[derive(Debug)]
pub(crate) struct LayerStore {
    volume: Volume,
    budget: Budget,
    block_bytes: usize,
    keep_from: u64,
    current: Log,
    /// The last closed layer is at its end, while the one behind it is written to a log of its own.
    earlier: Option<Log>,
    /// Files that hold no layer any more that is kept.
    retired: Vec<String>,
    /// Keys in the layer being written.
    open_keys: u64,
    /// Who visited a layer last; the first one is the last one that is visited on the way back, and takes it away.
    visitor: Mutex<Option<LayerCursor>>,
}

/// Some layers, one behind the other.
#[derive(Debug)]
struct Log {
    name: String,
    /// The number of its first layer.
    first: u64,
    log: LayerLog,
}

/// A log with dropped layers grows to so many blocks before another one is begun.
const DROPPED_BLOCKS: u64 = 4;

/// Words that go to the log or come from it in one go.
const WORDS_AT_ONCE: usize = 64;

/// Makes blocks of sorted keys, outside of any lock.
#[derive(Debug)]
pub(crate) struct BlockEncoder {
    width: KeyWidth,
    block_keys: usize,
    payload: Vec<u8>,
    _charge: Charge,
}

/// Hands out a closed layer in pieces.
#[derive(Debug)]
pub(crate) struct LayerCursor {
    words: usize,
    budget: Budget,
    /// Reads one log; there is none before a layer is opened.
    reader: Option<LayerReader>,
    /// The first layer of the log that it reads.
    first: u64,
    /// The layer that it reads.
    layer: u64,
    decoder: Decoder,
    payload: ChargedVec<u8>,
    keys: ChargedVec<u64>,
    /// How many words of `keys` were handed out.
    served: usize,
}

impl BlockEncoder {
    pub(crate) fn new(
        budget: &Budget,
        width: KeyWidth,
        block_keys: usize,
    ) -> Result<BlockEncoder, DiskError> {
        let room = gap::bytes_max(width, block_keys);
        Ok(BlockEncoder {
            width,
            block_keys,
            _charge: budget.charge("layer encoder", room)?,
            payload: Vec::with_capacity(room),
        })
    }

    /// Calls `write` with each block of the ascending keys: how many keys, and their payload.
    pub(crate) fn encode(
        &mut self,
        keys: &[u64],
        mut write: impl FnMut(usize, &[u8]) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let words = self.width.words();
        for block in keys.chunks(self.block_keys * words) {
            self.payload.clear();
            gap::encode_plain(self.width, block, &mut self.payload);
            write(block.len() / words, &self.payload)?;
        }
        Ok(())
    }
}

impl LayerStore {
    /// No layers yet, in files called `name`.
    pub(crate) fn new(
        volume: &Volume,
        name: &str,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<LayerStore, DiskError> {
        let log = LayerLog::new(volume, name, 1, block_bytes, budget)?;
        Ok(LayerStore::of(volume, budget, block_bytes, Log { name: name.to_owned(), first: 0, log }))
    }

    /// The layers as they were at a mark, the first of which has that number.
    pub(crate) fn resume(
        volume: &Volume,
        name: &str,
        first: u64,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<LayerStore, DiskError> {
        let log = LayerLog::resume(volume, name, 1, block_bytes, mark, budget)?;
        Ok(LayerStore::of(volume, budget, block_bytes, Log { name: name.to_owned(), first, log }))
    }

    fn of(volume: &Volume, budget: &Budget, block_bytes: usize, current: Log) -> LayerStore {
        LayerStore {
            volume: volume.clone(),
            budget: budget.clone(),
            block_bytes,
            keep_from: 0,
            current,
            earlier: None,
            retired: Vec::new(),
            open_keys: 0,
            visitor: Mutex::new(None),
        }
    }

    /// Drops layers before that one from now on, some time after they were expanded.
    pub(crate) fn drop_before(&mut self, layer: u64) {
        self.keep_from = layer;
    }

    /// Adds a block to the layer being written.
    pub(crate) fn append(&mut self, keys: usize, payload: &[u8]) -> Result<(), DiskError> {
        if self.open_keys == 0 {
            self.begin_layer()?;
        }
        let log = &mut self.current.log;
        log.append(&[(keys as u64) << 32 | payload.len() as u64])?;
        let mut words = [0; WORDS_AT_ONCE];
        for piece in payload.chunks(WORDS_AT_ONCE * 8) {
            let (whole, rest) = piece.as_chunks::<8>();
            for (word, bytes) in words.iter_mut().zip(whole) {
                *word = u64::from_le_bytes(*bytes);
            }
            if !rest.is_empty() {
                words[whole.len()] = load_partial(rest);
            }
            log.append(&words[..piece.len().div_ceil(8)])?;
        }
        self.open_keys += keys as u64;
        Ok(())
    }

    /// Begins another log if the one at hand is long, and all its layers will be dropped.
    fn begin_layer(&mut self) -> Result<(), DiskError> {
        let next = self.layer_count();
        let long = self.current.log.disk_bytes() >= DROPPED_BLOCKS * self.block_bytes as u64;
        if !long || next > self.keep_from || next == self.current.first {
            return Ok(());
        }
        let stem = self.current.name.split('.').next().unwrap_or("layers");
        let name = format!("{stem}.{next}");
        let log = LayerLog::new(&self.volume, &name, 1, self.block_bytes, &self.budget)?;
        self.earlier = Some(std::mem::replace(&mut self.current, Log { name, first: next, log }));
        Ok(())
    }

    /// Closes the layer being written; says how many keys it has.
    pub(crate) fn close(&mut self) -> Result<u64, DiskError> {
        self.current.log.close_layer()?;
        if let Some(earlier) = self.earlier.take() {
            self.retired.extend(earlier.log.file_names().map(str::to_owned));
        }
        Ok(std::mem::take(&mut self.open_keys))
    }

    /// Closed layers, those that were dropped among them.
    pub(crate) fn layer_count(&self) -> u64 {
        self.current.first + self.current.log.layer_count()
    }

    /// The first layer that is still there.
    pub(crate) fn first(&self) -> u64 {
        self.earlier.as_ref().unwrap_or(&self.current).first
    }

    /// Makes the last closed layers last, once a manifest names the mark.
    pub(crate) fn mark(&mut self) -> Result<Mark, DiskError> {
        self.current.log.mark()
    }

    /// What its files are called.
    pub(crate) fn name(&self) -> &str {
        &self.current.name
    }

    /// Files that are not needed any more, since the last call.
    pub(crate) fn retired(&mut self) -> Vec<String> {
        std::mem::take(&mut self.retired)
    }

    fn log_of(&self, layer: u64) -> Option<&Log> {
        let logs = [Some(&self.current), self.earlier.as_ref()];
        logs.into_iter().flatten().find(|log| log.first <= layer)
    }

    /// Bytes in a block of its log.
    pub(crate) fn block_bytes(&self) -> usize {
        self.block_bytes
    }

    /// Calls `visit` with the keys of a closed layer, in order. False if it was dropped.
    pub(crate) fn visit(
        &self,
        layer: u64,
        place: &Place,
        visit: &mut dyn FnMut(Records<'_>),
    ) -> Result<bool, DiskError> {
        if layer < self.first() {
            return Ok(false);
        }
        // Whoever visits one layer visits its neighbour next: small ones are in the block at hand.
        let mut kept = self.visitor.lock().unwrap_or_else(PoisonError::into_inner);
        let mut cursor = match kept.take() {
            Some(cursor) => cursor,
            None => LayerCursor::new(place.width, &place.budget)?,
        };
        cursor.open(self, layer)?;
        while let Some(records) = cursor.next_keys(self)? {
            visit(records);
        }
        if layer > self.first() {
            *kept = Some(cursor);
        }
        Ok(true)
    }

    /// The names of the files that are there.
    pub(crate) fn file_names(&self) -> impl Iterator<Item = &str> {
        self.current.log.file_names()
    }

    /// Bytes on disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.current.log.disk_bytes() + self.earlier.as_ref().map_or(0, |log| log.log.disk_bytes())
    }
}

impl LayerCursor {
    pub(crate) fn new(width: KeyWidth, budget: &Budget) -> Result<LayerCursor, DiskError> {
        Ok(LayerCursor {
            words: width.words(),
            budget: budget.clone(),
            reader: None,
            first: 0,
            layer: 0,
            decoder: Decoder::new(budget, "layer cursor", width)?,
            payload: ChargedVec::with_capacity(budget, "layer cursor", 0)?,
            keys: ChargedVec::with_capacity(budget, "layer cursor", 0)?,
            served: 0,
        })
    }

    /// Goes to the beginning of a closed layer.
    pub(crate) fn open(&mut self, store: &LayerStore, layer: u64) -> Result<(), DiskError> {
        self.keys.clear();
        self.served = 0;
        let Log { first, log, .. } = store.log_of(layer).ok_or_else(nonsense)?;
        if self.reader.is_none() || self.first != *first {
            // What it has of another log goes first.
            self.reader = None;
            self.reader = Some(log.reader(&self.budget)?);
        }
        (self.first, self.layer) = (*first, layer);
        self.reader.as_mut().expect("it was just made").open(log, layer - first)
    }

    /// Bytes of the log that are still to come of the layer.
    pub(crate) fn bytes_left(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| reader.left().saturating_mul(8))
    }

    /// Fills `batch` with up to `most` keys; empty at the end of the layer.
    pub(crate) fn take(
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
    pub(crate) fn next_keys(&mut self, store: &LayerStore) -> Result<Option<Records<'_>>, DiskError> {
        let more = self.next_block(store)?;
        self.served = self.keys.len();
        Ok(more.then(|| Records::new(&self.keys, self.words)))
    }

    fn next_block(&mut self, store: &LayerStore) -> Result<bool, DiskError> {
        let mut word = [0];
        self.keys.clear();
        self.served = 0;
        let (Some(reader), Some(Log { log, .. })) = (&mut self.reader, store.log_of(self.layer)) else {
            return Ok(false);
        };
        if !reader.next(log, &mut word)? {
            return Ok(false);
        }
        let (count, length) = ((word[0] >> 32) as usize, (word[0] & 0xffff_ffff) as usize);
        self.payload.clear();
        self.payload.reserve(length.next_multiple_of(8))?;
        let mut words = [0; WORDS_AT_ONCE];
        while self.payload.len() < length {
            let most = (length - self.payload.len()).div_ceil(8).min(WORDS_AT_ONCE);
            let count = reader.next_some(log, &mut words[..most])?;
            if count == 0 {
                return Err(nonsense());
            }
            self.payload.extend(words.map(u64::to_le_bytes)[..count].as_flattened())?;
        }
        self.keys.resize(count * self.words, 0)?;
        self.decoder.decode(Codec::Gap, &self.payload[..length], &mut self.keys).map_err(|_| nonsense())?;
        Ok(true)
    }
}

fn nonsense() -> DiskError {
    DiskError::Mismatch { file: "layer log".to_owned(), what: "a block of a layer makes no sense".to_owned() }
}
