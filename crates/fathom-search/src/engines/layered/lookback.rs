//! With how many earlier layers are candidates compared, and when with all?
//!
//! Comparing with too few is never wrong: a state that was visited before is visited again, at a later layer, and every layer still has all states of its depth. But it costs, and without a rule it may never end. So it is
//! counted how often states were visited, and estimated, from a sample of fixed size, how many there are. While the visits, those that are about to come included, exceed one and a half times the states, candidates are
//! compared with all layers that are kept: what survives that is new, unless layers were dropped. Where layers were dropped, nothing is dropped any more from then on (*frozen*), and everything is compared for good: layers
//! from the first that is kept on are then disjoint from each that follows, so they come to an end.
//!
//! The length of the window is given, or follows from how far back edges reach: twice as far as the longest that was seen, on disk or by the sample, among candidates that were missed.

use crate::bytes::{Reader, put_u64};

/// How long the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many layers: any number, and none.
    Layers(u64),
    /// As many as back edges ask for.
    Auto,
}

/// How far a search looks back, and what it has seen there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookback {
    length: Length,
    /// Layers that were closed.
    pub(super) layers: u64,
    /// The longest back edge that was seen, in layers.
    longest: u64,
    /// States of all layers, with those that were visited before.
    pub(super) visits: u64,
    /// Whether layers before the window are dropped.
    pub(super) drops: bool,
    /// Whether nothing is dropped any more, for good.
    frozen: bool,
    /// Layers before this one were dropped.
    pub(super) kept_from: u64,
    /// Whether a state may have been visited twice.
    pub(super) revisits: bool,
    /// Times that a layer was compared with all that are kept.
    pub(super) full_checks: u64,
}

/// What the candidates for a layer are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compared {
    /// The layer that is closed.
    pub(super) layer: u64,
    /// The first layer that is compared.
    from: u64,
    /// Layers from this one on are in memory: what is in them was left out before.
    to: u64,
    /// Layers in the window.
    pub(super) window: u64,
}

/// What was seen while a layer was closed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// States that were new, or not known to be old.
    pub(super) states: u64,
    /// The longest back edge to a state on disk, in layers.
    longest: u64,
    /// The longest back edge to a state that was missed, of those that the sample knows.
    longest_missed: u64,
}

/// Visits for each state, about, before all layers are compared. Between it and one more a search may end up where layers were dropped.
const VISITS_PER_STATE: f64 = 1.5;
/// The window where nothing is known of back edges: undirected graphs need no more.
const WINDOW_MIN: u64 = 2;

impl Lookback {
    pub(super) fn new(length: Length, drops: bool) -> Lookback {
        Lookback {
            length,
            layers: 0,
            longest: 0,
            visits: 0,
            drops,
            frozen: false,
            kept_from: 0,
            revisits: false,
            full_checks: 0,
        }
    }

    /// Layers in the window.
    pub(super) fn window(&self) -> u64 {
        match self.length {
            Length::Layers(layers) => layers,
            Length::Auto => WINDOW_MIN.max(2 * self.longest + 2),
        }
    }

    /// The first layer of the window, for candidates of a layer.
    fn window_from(&self, layer: u64) -> u64 {
        layer.saturating_sub(self.window())
    }

    /// What so many candidates for the next layer are compared with, where about so many distinct states were visited, and layers from one on are in memory.
    pub(super) fn compared(&self, candidates: u64, states: f64, complete_from: u64) -> Compared {
        let layer = self.layers;
        let all = self.frozen || too_many(self.visits + candidates, states);
        let from = if all { 0 } else { self.window_from(layer) };
        Compared { layer, from: from.max(self.kept_from), to: complete_from, window: self.window() }
    }

    /// Takes note of a layer that was closed, if it has states. About so many distinct ones are visited then.
    pub(super) fn closed(&mut self, compared: Compared, seen: Seen, states: f64) {
        self.layers += u64::from(seen.states > 0);
        self.visits += seen.states;
        self.longest = self.longest.max(seen.longest).max(seen.longest_missed);
        self.full_checks += u64::from(compared.from == self.kept_from && compared.window < compared.layer);
        // Layers from the first that is in memory on need no comparing.
        self.revisits |= seen.states > 0 && compared.from.min(compared.to) > 0;
        self.frozen |= self.drops && too_many(self.visits, states);
    }

    /// The first layer of the window for the next candidates, and whether what is before it is dropped.
    pub(super) fn moves_on(&self) -> (u64, bool) {
        (self.window_from(self.layers), self.drops && !self.frozen)
    }

    /// Begins to drop layers; false if they are dropped already, or must stay.
    pub(super) fn begin_to_drop(&mut self) -> bool {
        let begins = !self.drops && !self.frozen;
        self.drops |= begins;
        begins
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let flags = u64::from(self.drops) | u64::from(self.frozen) << 1 | u64::from(self.revisits) << 2;
        for number in [self.layers, self.longest, self.visits, flags, self.kept_from, self.full_checks] {
            put_u64(out, number);
        }
    }

    /// What was written, with the options of the search that goes on: what was dropped stays so.
    pub(super) fn read(bytes: &mut Reader<'_>, length: Length, drops: bool) -> Option<Lookback> {
        let [layers, longest, visits] = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
        let (flags, kept_from, full_checks) = (bytes.u64()?, bytes.u64()?, bytes.u64()?);
        let is = |bit: u64| flags >> bit & 1 == 1;
        Some(Lookback {
            length,
            layers,
            longest,
            visits,
            drops: is(0) || drops,
            frozen: is(1),
            kept_from,
            revisits: is(2),
            full_checks,
        })
    }
}

impl Compared {
    /// Whether a group of layers is compared.
    pub(super) fn has(&self, from: u64, to: u64) -> bool {
        to >= self.from && from < self.to
    }
}

impl Seen {
    /// A candidate is in a layer so far back.
    pub(super) fn back_edge(&mut self, layers: u64) {
        self.longest = self.longest.max(layers);
    }

    /// A candidate was in a layer so far back, and is visited again.
    pub(super) fn missed(&mut self, layers: u64) {
        self.longest_missed = self.longest_missed.max(layers);
    }

    /// With what was seen in another shard.
    pub(super) fn and(self, other: Seen) -> Seen {
        Seen {
            states: self.states + other.states,
            longest: self.longest.max(other.longest),
            longest_missed: self.longest_missed.max(other.longest_missed),
        }
    }
}

fn too_many(visits: u64, states: f64) -> bool {
    visits as f64 > VISITS_PER_STATE * states
}
