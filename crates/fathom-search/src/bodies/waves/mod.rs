//! Body: what do waves from some states meet, layer by layer, inside a set?
//!
//! ```text
//! release    sources join the layer that comes next: all of them at first, or some later
//! expand     the states of a layer, in batches; what their steps meet for the first time is of the next layer
//! until      what was looked for is found, or a layer is empty and no source is to come
//! way        from a source to what was found: backwards through the layers, the first parent each time
//! ```
//! Which states are inside, which were met, and what is looked for is the [`Wave`]'s own. Layers are kept in the order in which their states were met, on a volume or in memory ([`Layers`]), so what is found and the way to it
//! depend on the steps alone.
//!
//! Memory: a batch, and what the layers take: on a volume, a block or two. I/O: every state that is met is written once and read once, and once more for the way.

mod layers;

use fathom_disk::budget::{Budget, Charge};
use fathom_model::record::{RecordBuffer, Records};

pub(crate) use self::layers::{InMemory, Layers, OnVolume};
use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::path::{Path, PathBuilder, Room};

/// Takes states.
pub(crate) type Sink<'s> = &'s mut dyn FnMut(&[u64]) -> Result<(), SearchError>;

/// What a wave looks for, and where.
pub(crate) trait Wave {
    /// What it may find.
    type Found;

    /// Hands out the sources that join a layer, each of them met then; true if others are to join a later one.
    fn release(&mut self, layer: u64, sources: Sink<'_>) -> Result<bool, SearchError>;

    /// Expands states of a layer. What is met for the first time is handed on, unless what is looked for is found.
    fn expand(&mut self, states: Records<'_>, fresh: Sink<'_>) -> Result<Option<Self::Found>, SearchError>;

    /// The first of some states that has a step to a state, inside the set; and its first such step.
    fn parent(&mut self, states: Records<'_>, target: &[u64]) -> Result<Option<Parent>, SearchError>;
}

/// A step to a state.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    /// The place of its source.
    pub(crate) place: usize,
    pub(crate) action: u32,
    pub(crate) marks: u64,
}

/// Layers of states that were met.
pub(crate) struct Waves<'w, L> {
    pub(crate) layers: L,
    words: usize,
    budget: &'w Budget,
    observer: &'w dyn Observer,
}

/// States that are expanded at a time, at most.
const BATCH: usize = 256;

impl<'w, L: Layers> Waves<'w, L> {
    /// Nothing met yet, of states of so many words.
    pub(crate) fn new(layers: L, words: usize, budget: &'w Budget, observer: &'w dyn Observer) -> Self {
        Waves { layers, words, budget, observer }
    }

    /// Spreads until a wave finds what it looks for: that, and the layer that it was found from. None if it is nowhere.
    ///
    /// # Errors
    /// [`SearchError::Stopped`] if the observer says so.
    pub(crate) fn spread<W: Wave>(&mut self, wave: &mut W) -> Result<Option<(u64, W::Found)>, SearchError> {
        for layer in 0.. {
            let more = wave.release(layer, &mut |source| self.layers.append(source))?;
            if self.layers.close_layer()? == 0 && !more {
                break;
            }
            let found = self
                .each_batch(layer, |layers, states| wave.expand(states, &mut |state| layers.append(state)))?;
            if let Some(found) = found {
                return Ok(Some((layer, found)));
            }
        }
        Ok(None)
    }

    /// The way from a source to a state of a layer, which an action leaves with some marks; and the marks of all its steps.
    pub(crate) fn way<W: Wave>(
        &mut self,
        wave: &mut W,
        (layer, state): (u64, &[u64]),
        (action, mut marks): (u32, u64),
        room: &Room,
    ) -> Result<(Path, u64), SearchError> {
        let mut path = PathBuilder::new(room, state.len())?;
        let mut later = state.to_vec();
        path.push(&later, action)?;
        for earlier in (0..layer).rev() {
            let before = self.each_batch(earlier, |_, states| {
                let parent = wave.parent(states, &later)?;
                Ok(parent.map(|parent| (states.get(parent.place).to_vec(), parent)))
            })?;
            // A source that joined this layer has none.
            let Some((record, Parent { action, marks: more, .. })) = before else { break };
            path.push(&record, action)?;
            later = record;
            marks |= more;
        }
        Ok((path.finish_backwards(0), marks))
    }

    /// Visits the states of a layer in order, some at a time, until `visit` gives something.
    fn each_batch<T>(
        &mut self,
        layer: u64,
        mut visit: impl FnMut(&mut L, Records<'_>) -> Result<Option<T>, SearchError>,
    ) -> Result<Option<T>, SearchError> {
        let mut batch = Batch::new(self.words, self.budget)?;
        let mut reader = self.layers.reader(layer)?;
        loop {
            batch.states.clear();
            self.layers.read(&mut reader, &mut batch.states, batch.most)?;
            if batch.states.is_empty() {
                return Ok(None);
            }
            if self.observer.stop() {
                return Err(SearchError::Stopped);
            }
            if let Some(found) = visit(&mut self.layers, batch.states.view())? {
                return Ok(Some(found));
            }
        }
    }
}

/// Some states of a layer.
struct Batch {
    states: RecordBuffer,
    most: usize,
    _room: Charge,
}

impl Batch {
    fn new(words: usize, budget: &Budget) -> Result<Batch, SearchError> {
        let most = (budget.free() / 32 / (words * 8)).clamp(1, BATCH);
        let _room = budget.charge("batch", most * words * 8)?;
        Ok(Batch { states: RecordBuffer::with_capacity(words, most), most, _room })
    }
}
