//! What tells, while states are generated, that there is an accepting run?
//!
//! [`Early`] is a system that does what the one it wraps does, and looks at the steps as they are made, whoever makes them:
//!
//! * a state whose automaton accepts whatever comes (*terminal*): any run from there is accepting;
//! * values that are *carried* along (L. Brim, I. Černá, P. Moravec, J. Šimša, "Accepting predecessors are better than back edges", 2004): each state has the greatest accepting state that it is known
//!   to be reached from, by a hash; a step that offers an accepting state to itself closes a cycle.
//!
//! A sign is followed up at once, from that state, as far as some memory goes; if that comes to an accepting run, it is kept, and whoever watches the generation ends it. If not, nothing was lost: a sign
//! is a hint, and so values are kept in a table that forgets. Verdicts that there is no accepting run do not come from here.
//!
//! Acceptance is of states. Memory: what it is given, charged. Time: two look-ups in the table per step.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::budget::{Charge, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_model::acceptance::Acceptance;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

use crate::bodies::waves::{InMemory, Parent, Sink, Wave, Waves};
use crate::error::SearchError;
use crate::stores::bits::zeroed;
use crate::task::Unobserved;
use crate::traces::lasso::Lasso;
use crate::traces::one_state::OneState;
use crate::traces::path::{PathBuilder, Room};

/// A system that is watched for signs of an accepting run.
pub struct Early<'a> {
    system: &'a dyn TransitionSystem,
    acceptance: &'a dyn Acceptance,
    /// By hash of a state: some bits of that, and the value that it carries.
    carried: ChargedVec<AtomicU64>,
    /// States that a sign is followed up for, at most.
    states_max: usize,
    /// Where a run goes.
    room: Room,
    /// Signs that were followed up.
    followed: AtomicU64,
    found: OnceLock<(Sign, Lasso)>,
    _charge: Charge,
}

/// What told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A state from which every run is accepting.
    Terminal,
    /// An accepting state that was carried back to itself.
    Carried,
}

/// Bits of an entry that are the value: the others are of the state's hash.
const VALUE_BITS: u32 = 40;
const VALUE_MASK: u64 = (1 << VALUE_BITS) - 1;
/// What a state that is being followed up takes beside its record, twice.
const STATE_BYTES: usize = 96;
/// Signs that are followed up, at most.
const FOLLOWED_MAX: u64 = 16;
/// What is read of the steps of a state that is followed up.
const COLUMNS: Columns = Columns { actions: true, ..Columns::NONE };

impl<'a> Early<'a> {
    /// Watches a system with one mark within `bytes` of the budget.
    pub fn new(
        system: &'a dyn TransitionSystem,
        acceptance: &'a dyn Acceptance,
        bytes: usize,
        room: &Room,
    ) -> Result<Early<'a>, SearchError> {
        let budget = room.budget();
        let entries = (bytes / 2 / 8).max(1);
        let each = system.shape().words() * 16 + STATE_BYTES;
        Ok(Early {
            system,
            acceptance,
            carried: zeroed(budget, entries as u64)?,
            states_max: bytes / 2 / each,
            room: room.clone(),
            followed: AtomicU64::new(0),
            found: OnceLock::new(),
            _charge: budget.charge("signs", bytes / 2)?,
        })
    }

    /// An accepting run from one of the states that were expanded, as if that were initial, and what told.
    pub fn found(&self) -> Option<&(Sign, Lasso)> {
        self.found.get()
    }

    /// Looks at the steps of a state.
    fn look(&self, source: &[u64], place: usize, steps: &Steps) {
        if self.acceptance.is_terminal(source) {
            self.follow(Sign::Terminal, source);
            return;
        }
        let own = if self.acceptance.is_accepting(source) { value(hash_key(source)) } else { 0 };
        let out = own.max(self.get(hash_key(source)));
        if out == 0 {
            return;
        }
        for step in steps.steps_of(place) {
            let target = steps.target(step);
            let hash = hash_key(target);
            if value(hash) == out && self.acceptance.is_accepting(target) {
                self.follow(Sign::Carried, target);
            }
            self.carry(hash, out);
        }
    }

    /// The value that a state carries; 0 if none is known.
    fn get(&self, hash: u64) -> u64 {
        let entry = self.carried[self.place(hash)].load(Ordering::Relaxed);
        if entry >> VALUE_BITS == hash & !0 >> VALUE_BITS { entry & VALUE_MASK } else { 0 }
    }

    /// A state carries a value, unless it carries a greater one.
    fn carry(&self, hash: u64, value: u64) {
        if value > self.get(hash) {
            // What another thread wrote meanwhile, or another state, is forgotten.
            let entry = (hash & !0 >> VALUE_BITS) << VALUE_BITS | value;
            self.carried[self.place(hash)].store(entry, Ordering::Relaxed);
        }
    }

    fn place(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.carried.len() as u128) >> 64) as usize
    }

    /// Tries to make a run of a sign.
    fn follow(&self, sign: Sign, record: &[u64]) {
        if self.found.get().is_some() || self.followed.fetch_add(1, Ordering::Relaxed) >= FOLLOWED_MAX {
            return;
        }
        let lasso = match sign {
            Sign::Terminal => walk_round(self.system, record, self.acceptance, self.states_max, &self.room),
            Sign::Carried => way_back(self.system, record, self.states_max, &self.room),
        };
        // A run that there is no room for is a hint that came to nothing.
        if let Ok(Some(lasso)) = lasso {
            // Another thread may have been first.
            let _ = self.found.set((sign, lasso));
        }
    }
}

impl TransitionSystem for Early<'_> {
    fn shape(&self) -> &Shape {
        self.system.shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.system.initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let finished = self.system.expand(sources, out);
        if self.found.get().is_none() {
            for (place, source) in sources.iter().take(finished).enumerate() {
                self.look(source, place, out);
            }
        }
        finished
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.system.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.system.describe(what)
    }
}

/// What stands for an accepting state: never 0.
fn value(hash: u64) -> u64 {
    (hash >> (64 - VALUE_BITS)).max(1)
}

/// Any steps from a state, to terminal ones, until one leads to a state of the walk; none if they end, or are too many.
fn walk_round(
    system: &dyn TransitionSystem,
    record: &[u64],
    acceptance: &dyn Acceptance,
    states_max: usize,
    room: &Room,
) -> Result<Option<Lasso>, SearchError> {
    let mut state = OneState::new(system, COLUMNS, room.budget(), "signs")?;
    let mut path = PathBuilder::new(room, record.len())?;
    let mut places = HashMap::new();
    let mut next = record.to_vec();
    while path.len() < states_max as u64 {
        if let Some(place) = places.get(&next) {
            return Ok(Some(Lasso { path: path.finish(0)?, cycle_start: *place }));
        }
        places.insert(next.clone(), path.len());
        let steps = state.expand(&next)?;
        let Some(step) = steps.steps_of(0).find(|step| acceptance.is_terminal(steps.target(*step))) else {
            return Ok(None);
        };
        path.push(&next, steps.action(step))?;
        next.copy_from_slice(steps.target(step));
    }
    Ok(None)
}

/// A shortest way from a state back to it; none if there is none, or too many states are closer.
fn way_back(
    system: &dyn TransitionSystem,
    record: &[u64],
    states_max: usize,
    room: &Room,
) -> Result<Option<Lasso>, SearchError> {
    let state = OneState::new(system, COLUMNS, room.budget(), "signs")?;
    let mut wave = BackWave { state, record, states_max, known: HashSet::new() };
    // Whoever watches the generation ends it; a sign is small.
    let mut waves = Waves::new(InMemory::new(record.len()), record.len(), room.budget(), &Unobserved);
    let Some((layer, (last, action))) = waves.spread(&mut wave)? else { return Ok(None) };
    let (path, _) = waves.way(&mut wave, (layer, &last), (action, 0), room)?;
    Ok(Some(Lasso { path, cycle_start: 0 }))
}

/// A wave from a state that looks for a step back to it.
struct BackWave<'a> {
    state: OneState<'a>,
    record: &'a [u64],
    states_max: usize,
    known: HashSet<Vec<u64>>,
}

impl Wave for BackWave<'_> {
    /// The last state of the way, and the action that leads back.
    type Found = (Vec<u64>, u32);

    fn release(&mut self, layer: u64, sources: Sink<'_>) -> Result<bool, SearchError> {
        if layer == 0 {
            self.known.insert(self.record.to_vec());
            sources(self.record)?;
        }
        Ok(false)
    }

    fn expand(&mut self, states: Records<'_>, fresh: Sink<'_>) -> Result<Option<Self::Found>, SearchError> {
        for state in states.iter() {
            let steps = self.state.expand(state)?;
            for step in steps.steps_of(0) {
                let target = steps.target(step);
                if target == self.record {
                    return Ok(Some((state.to_vec(), steps.action(step))));
                }
                if self.known.len() < self.states_max && self.known.insert(target.to_vec()) {
                    fresh(target)?;
                }
            }
        }
        Ok(None)
    }

    fn parent(&mut self, states: Records<'_>, target: &[u64]) -> Result<Option<Parent>, SearchError> {
        for (place, state) in states.iter().enumerate() {
            let steps = self.state.expand(state)?;
            if let Some(step) = steps.steps_of(0).find(|step| steps.target(*step) == target) {
                return Ok(Some(Parent { place, action: steps.action(step), marks: 0 }));
            }
        }
        Ok(None)
    }
}
