//! What have the layers of a shard shown so far, and what is worth doing about it?
//!
//! Everything here is counted, or follows from counts and the few prices below; nothing is timed while a search runs, so that a search does the same whatever the machine is busy with.

use fathom_disk::run::Run;

use super::super::run_shapes::LOOKED_UP_BLOCK_KEYS;
use super::super::shares::Shares;

/// A filter that was not asked for so many layers is let go, and a trie that spared nothing for as many. A guess: layers change slowly, and both are made again within a few layers.
pub(super) const UNUSED_LAYERS_MAX: u32 = 16;
/// Nanoseconds to ask a trie for a key: 26 (resistance.1) to 100 (rether.6) were measured, 64 to 75 where nodes are asked for ahead.
const ASK_NANOSECONDS: u64 = 60;
/// Nanoseconds to go through a key of a run in memory: decoding takes 1 to 3 (2.9 to 4.5 where gaps are literals, as in rether.6). Folding at half and at twice of what follows from it made no
/// difference: rether.6 is flat from two to three folds of 3 to 5.5 million keys.
const PASS_NANOSECONDS: u64 = 4;
/// The same on disk, with what reading costs beside it. A guess.
const READ_NANOSECONDS: u64 = 10;
/// A trie is tried when one candidate was looked up for so many keys: as many more will come if the search goes on for as long as it has, and each is worth a few keys folded. Without such a
/// bound brp.6 folded 41 million keys for its last million candidates, 2.5 s for nothing. The value itself is a guess.
const KEYS_PER_LOOK_UP: u64 = 4;

/// What was counted: of the last layer, and since something was last built.
#[derive(Debug)]
pub(super) struct Measures {
    /// The candidates of the last layer.
    pub(super) candidates: u64,
    /// Whether they were few enough for the table of small layers.
    pub(super) small_layer: bool,
    /// Whether they touched most of the runs.
    pub(super) dense: bool,
    /// Whether there were so many keys per candidate that asking a filter first is cheaper than going through the runs with all of them.
    pub(super) filter_first: bool,
    /// Whether runs were gone through for them.
    pub(super) swept: bool,
    /// Candidates that runs were gone through for, and those of them that were there.
    pub(super) sought: u64,
    pub(super) met: u64,
    /// Keys decoded since the filter was built for candidates that were in no run: what a better filter would have saved.
    wasted_decodes: u64,
    /// The same, since the runs were last folded or found not to fit.
    wasted_decodes_since_fold: u64,
    /// Candidates that were looked up since then.
    pub(super) looked_up_since_fold: u64,
    /// Nanoseconds that going through runs cost more, by and large, than asking a trie would have, since then.
    sweep_excess_ns: u64,
    /// Layers since the filter was last asked, or since the trie last cost less than going through what it has.
    unused_layers: u32,
}

impl Default for Measures {
    /// The first layers are taken for dense: there is nothing to look keys up in.
    fn default() -> Measures {
        Measures {
            candidates: 0,
            small_layer: false,
            dense: true,
            filter_first: false,
            swept: false,
            sought: 0,
            met: 0,
            wasted_decodes: 0,
            wasted_decodes_since_fold: 0,
            looked_up_since_fold: 0,
            sweep_excess_ns: 0,
            unused_layers: 0,
        }
    }
}

impl Measures {
    /// A layer of so many candidates is compared with runs of so many keys; `small` says that the table takes it.
    pub(super) fn begin_layer(&mut self, shares: &Shares, run_keys: u64, (candidates, small): (u64, bool)) {
        (self.candidates, self.small_layer) = (candidates, small);
        self.dense = candidates.saturating_mul(shares.dense_ratio) >= run_keys;
        self.filter_first = run_keys > candidates.saturating_mul(shares.filter_ratio);
        (self.sought, self.met, self.swept) = (0, 0, false);
    }

    /// Blocks were decoded for so many look-ups of candidates that were not there.
    pub(super) fn note_wasted_decodes(&mut self, look_ups: u64) {
        let keys = look_ups * LOOKED_UP_BLOCK_KEYS as u64;
        self.wasted_decodes += keys;
        self.wasted_decodes_since_fold += keys;
    }

    /// Adds what going through these runs has cost more than asking a trie for them; one that is there is asked anyway.
    pub(super) fn note_sweep<'a>(&mut self, runs: impl Iterator<Item = &'a Run>, trie_is_there: bool) {
        if !self.swept {
            return;
        }
        let pass = |run: &Run| {
            run.count() * if run.is_kept_in_memory() { PASS_NANOSECONDS } else { READ_NANOSECONDS }
        };
        let passed: u64 = runs.map(pass).sum();
        let asking = if trie_is_there { 0 } else { self.candidates * ASK_NANOSECONDS };
        self.sweep_excess_ns = self.sweep_excess_ns.saturating_add(passed.saturating_sub(asking));
    }

    /// Whether going through runs of so many keys has cost more than folding them does. If so, it is counted anew.
    pub(super) fn sweeps_paid_for_fold(&mut self, shares: &Shares, run_keys: u64) -> bool {
        let paid = self.sweep_excess_ns >= run_keys.saturating_mul(shares.sweep_excess_ns_per_key);
        if paid {
            self.sweep_excess_ns = 0;
        }
        paid
    }

    /// The runs are to be folded as soon as there is room: that was worth it before.
    pub(super) fn fold_soon(&mut self) {
        self.sweep_excess_ns = u64::MAX;
    }

    /// Whether look-ups in vain have cost more than folding so many keys does. If so, they are counted anew.
    pub(super) fn look_ups_paid_for_fold(&mut self, shares: &Shares, run_keys: u64) -> bool {
        let paid = self.wasted_decodes_since_fold >= run_keys * shares.wasted_decodes_per_key.1;
        if paid {
            (self.wasted_decodes_since_fold, self.looked_up_since_fold) = (0, 0);
        }
        paid
    }

    /// Whether so many candidates were looked up that folding so many keys early is worth a trial. If so, they are counted anew.
    pub(super) fn look_ups_ask_for_fold(&mut self, run_keys: u64) -> bool {
        let asked = self.looked_up_since_fold >= run_keys / KEYS_PER_LOOK_UP;
        if asked {
            self.looked_up_since_fold = 0;
        }
        asked
    }

    /// Whether look-ups in vain have cost more than a filter of so many keys does.
    pub(super) fn look_ups_paid_for_filter(&self, shares: &Shares, run_keys: u64) -> bool {
        self.wasted_decodes >= run_keys * shares.wasted_decodes_per_key.0
    }

    /// A filter is made, or found not to fit: what it would save is counted anew.
    pub(super) fn filter_considered(&mut self) {
        self.wasted_decodes = 0;
    }

    /// Memory is shared out anew: what was counted for the old shares counts no more.
    pub(super) fn forget_look_ups(&mut self) {
        (self.wasted_decodes, self.wasted_decodes_since_fold, self.looked_up_since_fold) = (0, 0, 0);
    }

    /// Whether asking a trie of so many keys has cost more than going through them, beside runs of so many others.
    pub(super) fn trie_asked_in_vain(&self, trie_keys: u64, other_keys: u64) -> bool {
        self.candidates * ASK_NANOSECONDS > trie_keys * PASS_NANOSECONDS || trie_keys < other_keys / 4
    }

    /// Notes whether filter or trie was of use for the last layer; says whether it has just been long enough that it was not.
    pub(super) fn note_use(&mut self, used: bool) -> bool {
        self.unused_layers = if used { 0 } else { self.unused_layers.saturating_add(1) };
        self.unused_layers == UNUSED_LAYERS_MAX
    }

    /// It was let go.
    pub(super) fn use_again(&mut self) {
        self.unused_layers = 0;
    }

    /// Whether nearly all candidates that runs were gone through for were new.
    pub(super) fn mostly_new(&self) -> bool {
        self.met <= self.sought / 4
    }
}
