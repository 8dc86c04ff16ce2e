//! How does a search that began in RAM go on on disk, without starting over?
//!
//! Its layers are in the log already; the known states are all layers together. Small layers, of which a deep space has hundreds of thousands, are read one after the other and sorted in memory, as many as fit
//! to a run; of large ones a group is merged to a run. Nothing is expanded again but the layer that memory ended in.
//!
//! Memory: the share for closing a shard. I/O: the layers are read once per shard.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::codec::payload_bytes_max;
use fathom_disk::error::DiskError;
use fathom_disk::key::KeyWidth;
use fathom_disk::set::sort::sort_unique;
use fathom_disk::set::{KeyStream, Merge, SliceStream};

use super::Tier;
use super::known::Tools;
use crate::error::SearchError;
use crate::files::candidates::shard_of;
use crate::files::layer_store::{LayerCursor, LayerStore};
use crate::files::lock;
use crate::stores::layers::BLOCK_KEYS;

/// Layers that are merged into one run, at most.
const GROUP_LAYERS_MAX: usize = 32;

impl Tier {
    /// Makes known what is in the layers of the log, when nothing is known yet.
    pub(super) fn know_layers(&mut self) -> Result<(), SearchError> {
        let (width, shards) = (self.files.place.width, self.shards.len());
        let mut tools = Tools::new(&self.files.place, &self.shares)?;
        let each = 2 * self.shares.log_block_bytes
            + 2 * BLOCK_KEYS * width.words() * 8
            + payload_bytes_max(width, BLOCK_KEYS);
        let group = (self.shares.close_bytes / each).clamp(1, GROUP_LAYERS_MAX);
        let chunk = self.chunk_keys();
        let store = &self.files.frontier().store;
        for number in 0..shards {
            let shard = (number, shards);
            let large = self.know_small_layers(store, shard, &mut tools)?;
            for group in large.chunks(group) {
                let streams = group
                    .iter()
                    .map(|layer| OfShard::new(&self.files.place.budget, store, width, *layer, shard))
                    .collect::<Result<Vec<_>, DiskError>>()?;
                let mut merged = Merge::new(&self.files.place.budget, width.words(), streams, chunk)?;
                lock(&self.shards[number]).adopt(&self.files.place, &mut tools, &mut merged)?;
            }
        }
        Ok(())
    }

    /// Makes known what of a shard is in layers that are less than a block of the log; gives the others, which are no more than that has blocks.
    fn know_small_layers(
        &self,
        store: &LayerStore,
        (number, shards): (usize, usize),
        tools: &mut Tools,
    ) -> Result<Vec<u64>, SearchError> {
        let (width, budget) = (self.files.place.width, &self.files.place.budget);
        let words = width.words();
        let room = (self.shares.close_bytes / 8 / 8).max(words) / words * words;
        let mut keys = ChargedVec::with_capacity(budget, "adopted layers", room)?;
        let mut cursor = LayerCursor::new(width, budget)?;
        let mut large = Vec::new();
        for layer in 0..store.layer_count() {
            cursor.open(store, layer)?;
            if cursor.bytes_left() > store.block_bytes() as u64 {
                large.push(layer);
                continue;
            }
            while let Some(records) = cursor.next_keys(store)? {
                for record in records.iter().filter(|record| shard_of(record, width.bits(), shards) == number)
                {
                    if keys.len() == room {
                        self.adopt_keys(number, &mut keys, tools)?;
                    }
                    keys.extend(record)?;
                }
            }
        }
        self.adopt_keys(number, &mut keys, tools)?;
        Ok(large)
    }

    /// Keys that are made known at once.
    fn chunk_keys(&self) -> usize {
        (self.shares.close_bytes / 8 / (self.files.place.width.words() * 8)).clamp(1, 4096)
    }

    /// Makes some keys of a shard known, in any order, each there once.
    fn adopt_keys(
        &self,
        number: usize,
        keys: &mut ChargedVec<u64>,
        tools: &mut Tools,
    ) -> Result<(), SearchError> {
        let words = self.files.place.width.words();
        let kept = sort_unique(&self.files.place.budget, words, keys)?;
        debug_assert_eq!(kept, keys.len(), "no state is in two layers");
        if kept > 0 {
            let streams = vec![SliceStream::new(words, keys)];
            let mut sorted = Merge::new(&self.files.place.budget, words, streams, self.chunk_keys())?;
            lock(&self.shards[number]).adopt(&self.files.place, tools, &mut sorted)?;
        }
        keys.clear();
        Ok(())
    }
}

/// The keys of a layer that belong to one shard.
struct OfShard<'a> {
    store: &'a LayerStore,
    cursor: LayerCursor,
    width: KeyWidth,
    /// Which shard, of how many.
    shard: (usize, usize),
    keys: ChargedVec<u64>,
}

impl<'a> OfShard<'a> {
    fn new(
        budget: &Budget,
        store: &'a LayerStore,
        width: KeyWidth,
        layer: u64,
        shard: (usize, usize),
    ) -> Result<OfShard<'a>, DiskError> {
        let mut cursor = LayerCursor::new(width, budget)?;
        cursor.open(store, layer)?;
        let keys = ChargedVec::with_capacity(budget, "adopted layers", 0)?;
        Ok(OfShard { store, cursor, width, shard, keys })
    }
}

impl KeyStream for OfShard<'_> {
    fn words(&self) -> usize {
        self.width.words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        let (shard, shards) = self.shard;
        self.keys.clear();
        while self.keys.is_empty() {
            let Some(records) = self.cursor.next_keys(self.store)? else { return Ok(false) };
            self.keys.reserve(records.words().len())?;
            for record in records.iter() {
                if shard_of(record, self.width.bits(), shards) == shard {
                    self.keys.extend(record)?;
                }
            }
        }
        Ok(true)
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }
}
