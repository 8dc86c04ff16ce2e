//! How is a layer closed, shard by shard?
//!
//! What was collected is handed over by shard, and threads take shard after shard. A layer of few candidates is closed by the leader alone.

use std::time::Instant;

use fathom_disk::storage::Phase;

use super::known::Tools;
use super::{Plan, Tier};
use crate::error::SearchError;
use crate::files::candidates::{Candidates, Collected, give_back, take_by_shard, with_stream};
use crate::files::lock;

/// What there is to know about the layer that is being closed, before it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Offered {
    /// Bytes of candidates on disk, and of all their keys.
    pub(super) spilled_bytes: u64,
    pub(super) collected_bytes: u64,
    /// Candidates that were not set aside.
    pub(super) collected: u64,
    /// Candidates before any were set aside.
    pub(super) candidates: u64,
}

impl Tier {
    /// Takes over what was collected; says whether it is worth several threads.
    pub(super) fn begin_closing(&mut self, workers: &mut [&mut Candidates]) -> Result<bool, SearchError> {
        workers.iter_mut().try_for_each(|worker| worker.settle(&self.files.place))?;
        self.closing.equip(self.shares.closers, || Tools::new(&self.files.place, &self.shares))?;
        let words = self.files.place.width.words();
        let parts = || workers.iter().flat_map(|worker| worker.shards());
        let collected = parts().map(|part| part.count(words)).sum();
        self.offered = Offered {
            spilled_bytes: parts().map(Collected::spilled).sum(),
            collected_bytes: collected * words as u64 * 8,
            collected,
            candidates: workers.iter().map(|worker| worker.offered()).sum(),
        };
        let small = parts().all(|part| self.is_small(std::slice::from_ref(part)));
        self.closing.begin(take_by_shard(workers));
        Ok(!small && self.closing.tools().len() > 1)
    }

    /// Closes shards until there are no more, if there are tools.
    pub(super) fn close_shards(&self) -> Result<(), SearchError> {
        self.closing.share(|number, collected, tools| self.close_shard(number, collected, tools))
    }

    /// Gives the threads their buffers back; says how many states were new.
    pub(super) fn end_closing(&mut self, workers: &mut [&mut Candidates]) -> u64 {
        let (collected, states) = self.closing.end();
        give_back(workers, collected);
        for tools in self.closing.tools() {
            self.cost.add(std::mem::take(&mut lock(tools).cost));
        }
        states
    }

    /// Makes known what is new among the candidates of a shard.
    fn close_shard(
        &self,
        number: usize,
        collected: &mut [Collected],
        tools: &mut Tools,
    ) -> Result<u64, SearchError> {
        let _phase = Phase::enter("close");
        let began = Instant::now();
        let before = tools.cost;
        let mut known = lock(&self.shards[number]);
        let words = self.files.place.width.words();
        let candidates = collected.iter().map(|part| part.count(words)).sum();
        let size = (candidates, self.is_small(collected));
        let scan = self.options.plan == Plan::Scan;
        let absorbed = with_stream(&self.files.place, collected, self.shares.scan_bytes, |stream| {
            known.absorb(&self.files.place, tools, stream, size, scan, &mut |encoder, fresh| {
                encoder.encode(fresh, |keys, payload| self.files.frontier().store.append(keys, payload))
            })
        })?;
        let states = absorbed.states;
        known.settle(&self.files.place, tools, absorbed)?;
        let spent = tools.cost;
        let named = (spent.filter - before.filter)
            + (spent.look_up - before.look_up)
            + (spent.write - before.write)
            + (spent.merge - before.merge);
        tools.cost.sort += began.elapsed().saturating_sub(named);
        Ok(states)
    }

    /// Whether so few candidates were collected that the table of small layers should take them.
    fn is_small(&self, collected: &[Collected]) -> bool {
        let words = self.files.place.width.words();
        let keys: Option<usize> = collected.iter().map(|part| part.in_memory(words)).sum();
        keys.is_some_and(|keys| keys * (2 * words * 8) * 2 <= self.shares.table_bytes)
    }
}
