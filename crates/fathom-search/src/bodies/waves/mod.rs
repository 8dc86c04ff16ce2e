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
//! Waves go backwards, too, along steps that lead to what was met, though steps are made forwards only: [`backward`].
//!
//! Memory: a batch, and what the layers take: on a volume, a block or two. I/O: every state that is met is written once and read once, and once more for the way.

pub(crate) mod backward;
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
            // A source that joined this layer has none.
            let Some((record, Parent { action, marks: more, .. })) = self.parent(wave, earlier, &later)?
            else {
                break;
            };
            path.push(&record, action)?;
            later = record;
            marks |= more;
        }
        Ok((path.finish_backwards(0), marks))
    }

    /// The first state of a layer that has a step to a state, as the wave says; and that step.
    pub(crate) fn parent<W: Wave>(
        &mut self,
        wave: &mut W,
        layer: u64,
        target: &[u64],
    ) -> Result<Option<(Vec<u64>, Parent)>, SearchError> {
        self.each_batch(layer, |_, states| {
            let parent = wave.parent(states, target)?;
            Ok(parent.map(|parent| (states.get(parent.place).to_vec(), parent)))
        })
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

#[cfg(test)]
mod tests {
    use fathom_disk::storage::Volume;

    use super::*;
    use crate::task::Unobserved;

    /// Numbers with steps between them; some are released, each at its time. It looks for a step to `goal`.
    struct Numbers {
        steps: Vec<Vec<u64>>,
        released: Vec<(u64, u64)>,
        met: Vec<bool>,
        goal: u64,
    }

    impl Wave for Numbers {
        type Found = u64;

        fn release(&mut self, layer: u64, sources: Sink<'_>) -> Result<bool, SearchError> {
            for (time, source) in &self.released {
                if *time == layer && !std::mem::replace(&mut self.met[*source as usize], true) {
                    sources(&[*source])?;
                }
            }
            Ok(self.released.iter().any(|(time, _)| *time > layer))
        }

        fn expand(&mut self, states: Records<'_>, fresh: Sink<'_>) -> Result<Option<u64>, SearchError> {
            for state in states.iter() {
                for target in &self.steps[state[0] as usize] {
                    if *target == self.goal {
                        return Ok(Some(state[0]));
                    }
                    if !std::mem::replace(&mut self.met[*target as usize], true) {
                        fresh(&[*target])?;
                    }
                }
            }
            Ok(None)
        }

        fn parent(&mut self, states: Records<'_>, target: &[u64]) -> Result<Option<Parent>, SearchError> {
            let leads = |state: &[u64]| self.steps[state[0] as usize].contains(&target[0]);
            let place = states.iter().position(leads);
            Ok(place.map(|place| Parent { place, action: 7, marks: 1 << states.get(place)[0] }))
        }
    }

    /// Numbers with steps drawn by a seed.
    fn drawn(seed: u64, goal: u64) -> Numbers {
        let draw = |place: u64| (seed * 1_000 + place).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let steps = (0..30).map(|from| (0..draw(from) % 3).map(|step| draw(from * 5 + step) % 30).collect());
        let released = (0..3).map(|source| (draw(900 + source) % 6, draw(800 + source) % 30)).collect();
        Numbers { steps: steps.collect(), released, met: vec![false; 30], goal }
    }

    /// When each number is met at the earliest, by looking again and again.
    fn earliest(numbers: &Numbers) -> Vec<Option<u64>> {
        let mut times = vec![None; numbers.steps.len()];
        let join = |time: &mut Option<u64>, new: u64| *time = Some(time.map_or(new, |time| time.min(new)));
        numbers.released.iter().for_each(|(time, source)| join(&mut times[*source as usize], *time));
        for _ in 0..numbers.steps.len() {
            for (from, targets) in numbers.steps.iter().enumerate() {
                let Some(time) = times[from] else { continue };
                targets.iter().for_each(|target| join(&mut times[*target as usize], time + 1));
            }
        }
        times
    }

    fn check(seed: u64, goal: u64, layers: impl Layers) -> bool {
        let (mut numbers, budget) = (drawn(seed, goal), Budget::unlimited());
        let times = earliest(&numbers);
        let leads = |from: &usize| numbers.steps[*from].contains(&goal);
        let expected = (0..30).filter(leads).filter_map(|from| times[from]).min();
        let mut waves = Waves::new(layers, 1, &budget, &Unobserved);
        let found = waves.spread(&mut numbers).unwrap();
        assert_eq!(found.map(|(layer, _)| layer), expected, "seed {seed}, goal {goal}");
        let Some((layer, last)) = found else { return false };
        let room = Room::in_memory(&budget);
        let (path, marks) = waves.way(&mut numbers, (layer, &[last]), (9, 1 << goal), &room).unwrap();
        let states: Vec<u64> = path.records().unwrap().iter().map(|record| record[0]).collect();
        let source = (layer + 1 - states.len() as u64, states[0]);
        assert!(numbers.released.contains(&source), "seed {seed}, goal {goal}: {states:?}");
        let are_steps = |pair: &[u64]| numbers.steps[pair[0] as usize].contains(&pair[1]);
        assert!(states.windows(2).all(are_steps), "seed {seed}, goal {goal}: {states:?}");
        let all = states[..states.len() - 1].iter().fold(1 << goal, |all, state| all | 1 << state);
        assert_eq!((marks, path.actions().unwrap().last()), (all, Some(&9)), "seed {seed}, goal {goal}");
        true
    }

    #[test]
    fn waves_meet_everything_as_early_as_can_be() {
        let mut found = 0;
        for seed in 0..40 {
            for goal in 0..30 {
                let (budget, volume) = (Budget::unlimited(), Volume::in_memory(64));
                let on_volume = OnVolume::new(&volume, "layers", 1, &budget).unwrap();
                let is_found = check(seed, goal, on_volume);
                assert_eq!(check(seed, goal, InMemory::new(1)), is_found);
                found += u32::from(is_found);
            }
        }
        assert!((200..1_100).contains(&found), "the mix is fair: {found}");
    }
}
