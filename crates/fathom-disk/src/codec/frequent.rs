//! Which gaps of a block are so frequent that a short name for them pays?
//!
//! Gaps of one word only. An open-addressed table of positions counts them; the best by bytes saved get a name.
//! Memory: 16 bytes per key of the block.

/// Gaps of a block with their counts; reused from block to block.
#[derive(Debug)]
pub(super) struct FrequentGaps {
    /// Distinct gaps of one word, in order of appearance, then (after `select`) by falling worth.
    gaps: Vec<u64>,
    /// Per slot: 0 if free, else index of the gap + 1 in the high half, its count in the low half.
    slots: Vec<u32>,
}

impl FrequentGaps {
    /// Bytes taken by a table for blocks of `keys_max` keys.
    pub(super) fn bytes(keys_max: usize) -> usize {
        keys_max * 8 + slots(keys_max) * 4
    }

    pub(super) fn new(keys_max: usize) -> Self {
        assert!(keys_max <= 1 << 15, "positions and counts fit 16 bits");
        Self { gaps: Vec::with_capacity(keys_max), slots: vec![0; slots(keys_max)] }
    }

    /// Forgets the last block.
    pub(super) fn clear(&mut self) {
        self.gaps.clear();
        self.slots.fill(0);
    }

    /// Counts one gap.
    pub(super) fn count(&mut self, gap: u64) {
        let slot = self.find(gap);
        if self.slots[slot] == 0 {
            self.gaps.push(gap);
            self.slots[slot] = (self.gaps.len() as u32) << 16;
        }
        self.slots[slot] += 1;
    }

    /// The at most `names.len()` gaps that save most, where naming one saves `saved(gap)` bytes each time and costs
    /// `cost(gap)` once; best first. Returns how many pay.
    pub(super) fn select(
        &mut self,
        names: &mut [u64],
        saved: impl Fn(u64) -> i64,
        cost: impl Fn(u64) -> i64,
    ) -> usize {
        let worth = |gap: u64, count: u32| i64::from(count) * saved(gap) - cost(gap);
        let mut best: [(i64, u64); 256] = [(0, 0); 256];
        let mut kept = 0;
        for &slot in self.slots.iter().filter(|&&slot| slot & 0xffff > 1) {
            let gap = self.gaps[(slot >> 16) as usize - 1];
            let worth = worth(gap, slot & 0xffff);
            if worth > 0 {
                kept = insert_best(&mut best[..names.len()], kept, (worth, gap));
            }
        }
        for (name, (_, gap)) in names.iter_mut().zip(&best[..kept]) {
            *name = *gap;
        }
        kept
    }

    /// Gives names 0, 1, … to `names`, to be asked for by [`FrequentGaps::name`].
    pub(super) fn assign(&mut self, names: &[u64]) {
        self.clear();
        for &gap in names {
            self.count(gap);
        }
    }

    /// The name of a gap, if it has one.
    pub(super) fn name(&self, gap: u64) -> Option<usize> {
        let slot = self.slots[self.find(gap)];
        (slot != 0).then(|| (slot >> 16) as usize - 1)
    }

    /// The slot that holds `gap`, or the free one where it would go. There is always a free one: twice as many slots as keys.
    fn find(&self, gap: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (gap.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
        while self.slots[slot] != 0 && self.gaps[(self.slots[slot] >> 16) as usize - 1] != gap {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

fn slots(keys_max: usize) -> usize {
    (keys_max * 2).next_power_of_two().max(2)
}

/// Inserts into a list sorted by falling worth (ties: rising gap, so that the result is one), keeping the best. Returns its length.
fn insert_best(best: &mut [(i64, u64)], kept: usize, entry: (i64, u64)) -> usize {
    let better = |&(worth, gap): &(i64, u64)| worth > entry.0 || worth == entry.0 && gap < entry.1;
    let place = best[..kept].partition_point(better);
    if place == best.len() {
        return kept;
    }
    let end = (kept + 1).min(best.len());
    best[place..end].rotate_right(1);
    best[place] = entry;
    end
}
