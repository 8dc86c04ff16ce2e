//! How does a search that began in RAM go on on disk, without starting over?
//!
//! The closed layers of [`crate::engines::ram`] are coded as the layer log codes them, so they are copied block by block. The known states are all layers merged,
//! a group of layers to a run. Nothing is expanded again but the layer that memory ended in.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::set::{KeyStream, Merge};
use fathom_model::record::Records;

use super::candidates::shard_of;
use super::known::Tools;
use super::{Layers as Store, Tier, lock};
use crate::error::SearchError;
use crate::layers::{LayerDecoder, Layers, Place};

/// Layers that are merged into one run.
const GROUP_LAYERS: usize = 32;

impl Tier {
    /// Takes over layers, all of them new to this engine, which has none yet. The last one is the one to be expanded next.
    pub(crate) fn adopt(&mut self, layers: &Layers) -> Result<(), SearchError> {
        self.copy_layers(layers)?;
        let mut tools = Tools::new(&self.place, &self.shares)?;
        let group = if self.shares.fan > 2 { GROUP_LAYERS } else { 2 };
        for number in 0..self.shards.len() {
            for first in (0..layers.count()).step_by(group) {
                let last = layers.count().min(first + group);
                let streams = (first..last)
                    .map(|layer| OfShard::new(&self.place.budget, layers, layer, number, self.shards.len()))
                    .collect::<Result<Vec<_>, DiskError>>()?;
                let words = self.place.width.words();
                let chunk = (self.shares.close_bytes / 8 / (words * 8)).clamp(1, 4096);
                let mut merged = Merge::new(&self.place.budget, words, streams, chunk)?;
                lock(&self.shards[number]).adopt(&self.place, &mut tools, &mut merged)?;
            }
        }
        self.remove_retired()
    }

    fn copy_layers(&self, layers: &Layers) -> Result<(), SearchError> {
        let Store { store, cursor } = &mut *self.layers();
        for layer in 0..layers.count() {
            let mut outcome = Ok(());
            layers.for_each_block(layer, &mut |keys, payload| {
                if outcome.is_ok() {
                    outcome = store.append(keys, payload);
                }
            });
            outcome?;
            store.close()?;
        }
        Ok(cursor.open(store, layers.count() as u64 - 1)?)
    }
}

/// The keys of a layer that belong to one shard.
struct OfShard<'a> {
    layers: &'a Layers,
    decoder: LayerDecoder,
    next: Place,
    blocks: usize,
    shard: usize,
    shards: usize,
    keys: ChargedVec<u64>,
}

impl<'a> OfShard<'a> {
    fn new(
        budget: &Budget,
        layers: &'a Layers,
        layer: usize,
        shard: usize,
        shards: usize,
    ) -> Result<OfShard<'a>, DiskError> {
        let (next, blocks) = layers.begin(layer);
        Ok(OfShard {
            layers,
            decoder: LayerDecoder::new(budget, layers.width())?,
            next,
            blocks,
            shard,
            shards,
            keys: ChargedVec::with_capacity(budget, "adopted layers", 0)?,
        })
    }
}

impl KeyStream for OfShard<'_> {
    fn words(&self) -> usize {
        self.layers.width().words()
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        self.keys.clear();
        while self.keys.is_empty() && self.blocks > 0 {
            self.blocks -= 1;
            self.next = self.layers.decode(self.next, &mut self.decoder);
            let records: Records<'_> = self.decoder.records();
            self.keys.reserve(records.words().len())?;
            for record in records.iter() {
                if shard_of(record, self.layers.width().bits(), self.shards) == self.shard {
                    self.keys.extend(record)?;
                }
            }
        }
        Ok(!self.keys.is_empty())
    }

    fn keys(&self) -> &[u64] {
        &self.keys
    }
}
