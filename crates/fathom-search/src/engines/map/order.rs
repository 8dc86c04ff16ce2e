//! In which order are accepting states, and which of them are candidates no more?
//!
//! Any order will do that stays the same for all rounds: that of the records, or that in which breadth-first search met the states, layer by layer. A candidate's number is its place in the order, from 1 on. What some state carries when a
//! round is over is on no accepting cycle; to strike these from the candidates, both are gone through in the order of numbers.

use fathom_disk::key::KeyWidth;
use fathom_disk::run::{Run, Tag};
use fathom_disk::set::{Beside, KeyStream, Sorted, Sorter};
use fathom_model::record::Records;

use super::carried::value_of;
use crate::bodies::passes::by_file::Kept;
use crate::error::SearchError;
use crate::files::closed_set::{Reached, Recurs};
use crate::files::value_runs::{Deltas, ValueRuns};
use crate::liveness::semi_external::Search;

/// An order of candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// That of the records.
    Keys,
    /// Layer by layer, and within a layer that of its file.
    Layers,
}

/// The part of memory that something is sorted with: one in so many.
const SORT_PART: usize = 4;
/// Bits of a number, beside the bit of an offer.
const NUMBER_BITS: u32 = 47;

/// What candidates are numbered by.
#[derive(Clone, Copy)]
pub(super) struct Numbering<'a> {
    pub(super) search: &'a Search<'a>,
    pub(super) reached: &'a dyn Reached,
    pub(super) place: &'a ValueRuns,
    pub(super) order: Order,
}

impl Order {
    /// As it is committed.
    pub(super) fn to_word(self) -> u64 {
        u64::from(self == Order::Layers)
    }

    /// The same, read again.
    pub(super) fn of_word(word: u64) -> Order {
        if word == 1 { Order::Layers } else { Order::Keys }
    }
}

impl Numbering<'_> {
    /// Whether a state is a candidate at first.
    fn is_candidate(&self, state: &[u64]) -> bool {
        let acceptance = self.search.acceptance;
        acceptance.is_weak() || !acceptance.is_of_states() || acceptance.is_accepting(state)
    }

    /// What was reached and may recur, in one run, each with its number if it is a candidate, else 0.
    pub(super) fn numbered(&self, recurs: Recurs<'_>) -> Result<Run, SearchError> {
        let Numbering { search, reached, place, order } = *self;
        let (budget, observer, words) = (place.budget(), search.observer, place.words());
        let bytes = budget.free() / SORT_PART;
        let mut last = 0;
        let mut number = |state: &[u64]| {
            let candidate = self.is_candidate(state);
            last += u64::from(candidate);
            if candidate { last } else { 0 }
        };
        if order == Order::Layers {
            let mut sorter = place.sorter(bytes)?;
            self.each_of_layers(recurs, &mut |state| Ok(sorter.push_with(state, &[number(state)])?))?;
            let sorted = sorter.finish()?;
            let mut writer = place.writer()?;
            {
                let mut stream = sorted.stream()?;
                while stream.advance()? {
                    writer.push_with(stream.keys(), stream.values())?;
                }
            }
            sorted.remove()?;
            return Ok(writer.finish_run(false)?);
        }
        let mut writer = place.writer()?;
        reached.visit_sorted(search.volume, budget, observer, bytes, &mut |keys| {
            if observer.stop() {
                return Err(SearchError::Stopped);
            }
            let mut recurring = keys.chunks_exact(words).filter(|key| recurs(key));
            Ok(recurring.try_for_each(|key| writer.push_with(key, &[number(key)]))?)
        })?;
        Ok(writer.finish_run(false)?)
    }

    /// Visits states that may recur, layer by layer.
    fn each_of_layers(
        &self,
        recurs: Recurs<'_>,
        visit: &mut dyn FnMut(&[u64]) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        for layer in 0..self.reached.layer_count() {
            let mut outcome = Ok(());
            self.reached.visit_layer(layer, &mut |records: Records<'_>| {
                if outcome.is_ok() && self.search.observer.stop() {
                    outcome = Err(SearchError::Stopped);
                }
                for state in records.iter().filter(|state| recurs(state)) {
                    if outcome.is_ok() {
                        outcome = visit(state);
                    }
                }
            })?;
            outcome?;
        }
        Ok(())
    }

    /// The states that carry something, with their numbers; those that are carried have none any more. None if nothing is carried.
    pub(super) fn struck(&self, kept: &Kept<'_>, carried: &Deltas) -> Result<Option<Run>, SearchError> {
        let Some(dead) = self.dead(carried)? else { return Ok(None) };
        let place = self.place;
        let states = self.states_of(kept, &dead)?;
        dead.remove()?;
        let mut writer = place.writer()?;
        {
            let mut struck = Beside::new(states.stream()?);
            let mut kept = carried.beside(place, &kept.run)?;
            while kept.advance()? {
                let keys = kept.keys().chunks_exact(kept.words());
                for (key, (number, value)) in keys.zip(kept.values().iter().zip(kept.found())) {
                    let is_struck = struck.reaches(key)?;
                    if value.is_some() {
                        writer.push_with(key, &[if is_struck { 0 } else { *number }])?;
                    }
                }
            }
        }
        states.remove()?;
        Ok(Some(writer.finish_run(false)?))
    }

    /// The numbers that are carried; none if nothing is.
    fn dead(&self, carried: &Deltas) -> Result<Option<Sorted>, SearchError> {
        let place = self.place;
        let width = KeyWidth::new(NUMBER_BITS).expect("it is no width that there is not");
        let (bytes, name) = (place.budget().free() / SORT_PART, place.fresh_name());
        let mut sorter = Sorter::new(place.volume(), place.budget(), &name, width, Tag::default(), bytes)?;
        let mut values = carried.stream(place)?;
        while values.advance()? {
            for value in values.values() {
                sorter.push(&[value_of(*value)])?;
            }
        }
        drop(values);
        if sorter.is_empty() { Ok(None) } else { Ok(Some(sorter.finish()?)) }
    }

    /// The states of some numbers.
    fn states_of(&self, kept: &Kept<'_>, dead: &Sorted) -> Result<Sorted, SearchError> {
        let place = self.place;
        let mut states = place.sorter(place.budget().free() / SORT_PART)?;
        let mut dead = Beside::new(dead.stream()?);
        let mut strike = |state: &[u64], number: u64| -> Result<(), SearchError> {
            if number > 0 && dead.reaches(&[number])? {
                states.push_with(state, &[0])?;
            }
            Ok(())
        };
        match self.order {
            Order::Keys => {
                let mut scan = place.scan(&kept.run)?;
                while scan.advance()? {
                    for (key, number) in scan.keys().chunks_exact(scan.words()).zip(scan.values()) {
                        strike(key, *number)?;
                    }
                }
            }
            Order::Layers => {
                let mut last = 0;
                self.each_of_layers(kept.recurs, &mut |state| {
                    let candidate = self.is_candidate(state);
                    last += u64::from(candidate);
                    strike(state, if candidate { last } else { 0 })
                })?;
            }
        }
        Ok(states.finish()?)
    }
}
