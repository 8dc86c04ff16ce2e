//! What has one thread found, and where does it belong: to the partition that is visited, or to another?

use std::sync::Mutex;
use std::time::{Duration, Instant};

use fathom_disk::budget::Charge;
use fathom_disk::window::Window;
use fathom_model::record::Records;

use super::by::By;
use super::parts::Part;
use super::pending::Pending;
use super::sizes::Sizes;
use crate::error::SearchError;
use crate::files::candidates::Candidates;
use crate::files::lock;
use crate::files::place::Place;

/// What one thread has for itself.
#[derive(Debug)]
pub struct Offered {
    pub(super) here: Candidates,
    /// Candidates by where they belong, of what is looked at at a time.
    same: Vec<u64>,
    other: Vec<u64>,
    other_values: Vec<u64>,
    missed: Vec<u32>,
    pub(super) seen: Seen,
    _charge: Charge,
}

/// What was seen of candidates.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// All of them.
    pub(super) offered: u64,
    /// Those that lead to another partition than the one that is visited.
    pub(super) crossed: u64,
    /// Those of these that were left out because they were met a moment ago.
    pub(super) recent: u64,
    /// How long it took to let the others wait.
    pub(super) queueing: Duration,
}

impl Seen {
    pub(super) fn add(&mut self, other: Seen) {
        self.offered += other.offered;
        self.crossed += other.crossed;
        self.recent += other.recent;
        self.queueing += other.queueing;
    }
}

impl Offered {
    pub(super) fn new(place: &Place, sizes: &Sizes) -> Result<Offered, SearchError> {
        let (most, words) = (sizes.looked_at, place.width.words());
        // Two lists of records, one of values, one of places.
        let bytes = most * (2 * words * 8 + 8 + 4);
        Ok(Offered {
            here: Candidates::new(place, sizes.candidates())?,
            same: Vec::with_capacity(most * words),
            other: Vec::with_capacity(most * words),
            other_values: Vec::with_capacity(most),
            missed: Vec::with_capacity(most),
            seen: Seen::default(),
            _charge: place.budget.charge("candidates", bytes)?,
        })
    }

    /// Puts a piece of candidates where they belong.
    pub(super) fn sort_out(&mut self, by: &By, at: Option<&Part>, words: usize, candidates: &[u64]) {
        let Offered { same, other, other_values, seen, .. } = self;
        [&mut *same, other, other_values].into_iter().for_each(|list| list.clear());
        for record in candidates.chunks_exact(words) {
            let value = by.value(record);
            match at.is_some_and(|part| part.has(value, record)) {
                true => same.extend_from_slice(record),
                false => {
                    other.extend_from_slice(record);
                    other_values.push(value);
                }
            }
        }
        seen.offered += (candidates.len() / words) as u64;
        seen.crossed += other_values.len() as u64;
    }

    /// Hands what was sorted out to what waits, and to the candidates of the next stage.
    pub(super) fn hand_over(
        &mut self,
        (place, sizes): (&Place, &Sizes),
        window: &Window,
        pending: &Mutex<Pending>,
    ) -> Result<(), SearchError> {
        let words = place.width.words();
        let Offered { here, same, other, other_values, missed, seen, .. } = self;
        here.offer(place, window, Records::new(same, words))?;
        missed.clear();
        window.meet_batch(other, missed);
        seen.recent += (other_values.len() - missed.len()) as u64;
        if missed.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let pending = &mut *lock(pending);
        for index in missed.iter().map(|index| *index as usize) {
            let key = (other_values[index], &other[index * words..(index + 1) * words]);
            pending.gather(place, sizes, key)?;
        }
        seen.queueing += began.elapsed();
        Ok(())
    }
}
