//! What has one thread found, and where does it belong: on the line, behind it, or before it?

use std::cmp::Ordering;
use std::sync::Mutex;

use fathom_disk::budget::Charge;
use fathom_disk::window::Window;
use fathom_model::record::Records;
use fathom_model::steps::Steps;

use super::line::Line;
use super::sizes::Sizes;
use super::spans::Spans;
use super::{Measure, Waiting};
use crate::error::SearchError;
use crate::files::candidates::Candidates;
use crate::files::lock;
use crate::files::place::Place;
use crate::task::ProgressFigures;

/// What one thread has for itself.
#[derive(Debug)]
pub struct Offered {
    pub(super) here: Candidates,
    pub(super) values: Vec<u64>,
    /// The value of one source.
    source_value: Vec<u64>,
    /// Candidates by where they belong, of what is measured at a time.
    same: Vec<u64>,
    ahead: Vec<u64>,
    ahead_values: Vec<u64>,
    back: Vec<u64>,
    back_values: Vec<u64>,
    missed: Vec<u32>,
    pub(super) figures: ProgressFigures,
    /// Candidates that were left out because they were met a moment ago.
    pub(super) recent: u64,
    /// Candidates on the line, left out or not.
    pub(super) within: u64,
    /// Across which values steps go back, if somebody wants to know.
    pub(super) spans: Option<Spans>,
    _charge: Charge,
}

impl Offered {
    pub(super) fn new(place: &Place, sizes: &Sizes) -> Result<Offered, SearchError> {
        let (measured, words) = (sizes.measured, place.width.words());
        let room = |items: usize| Vec::with_capacity(items);
        // Three lists of records, three of values, one of places.
        let bytes = measured * (3 * words * 8 + 3 * 8 + 4);
        Ok(Offered {
            here: Candidates::new(place, sizes.candidates())?,
            values: room(measured),
            source_value: room(1),
            same: room(measured * words),
            ahead: room(measured * words),
            ahead_values: room(measured),
            back: room(measured * words),
            back_values: room(measured),
            missed: Vec::with_capacity(measured),
            figures: ProgressFigures::default(),
            recent: 0,
            within: 0,
            spans: None,
            _charge: place.budget.charge("candidates", bytes)?,
        })
    }

    /// The same, and it notes across which values steps go back.
    pub(super) fn noting_spans(self, place: &Place, sizes: &Sizes) -> Result<Offered, SearchError> {
        Ok(Offered { spans: Some(Spans::new(&place.budget, sizes.spans)?), ..self })
    }

    /// Counts what steps do to the measure, whatever values are expanded together: those from one on whose targets were just measured, the first of which may be of the source `cursor`.
    pub(super) fn count(
        &mut self,
        measure: Measure<'_>,
        (sources, steps): (Records<'_>, &Steps),
        first: usize,
        cursor: &mut usize,
    ) {
        let Offered { values, source_value, figures, spans, .. } = self;
        let last = first + values.len();
        let mut step = first;
        while step < last && *cursor < steps.source_count() {
            let end = steps.steps_of(*cursor).end.min(last);
            if step < end {
                source_value.clear();
                measure(sources.skip(*cursor).take(1), source_value);
                for value in &values[step - first..end - first] {
                    match value.cmp(&source_value[0]) {
                        Ordering::Greater => figures.forward += 1,
                        Ordering::Equal => figures.stationary += 1,
                        Ordering::Less => {
                            figures.regress += 1;
                            if let Some(spans) = spans {
                                spans.note(*value, source_value[0]);
                            }
                        }
                    }
                }
                step = end;
            }
            *cursor += usize::from(steps.steps_of(*cursor).end <= last && step < last);
        }
    }

    /// Puts measured candidates where they belong.
    pub(super) fn sort_out(&mut self, at: Option<Line>, words: usize, candidates: &[u64]) {
        let Offered { values, same, ahead, ahead_values, back, back_values, within, .. } = self;
        [&mut *same, ahead, ahead_values, back, back_values].into_iter().for_each(|list| list.clear());
        for (record, &value) in candidates.chunks_exact(words).zip(&*values) {
            match at.map_or(Ordering::Less, |line| line.side(value)) {
                Ordering::Equal => same.extend_from_slice(record),
                Ordering::Greater => {
                    ahead.extend_from_slice(record);
                    ahead_values.push(value);
                }
                Ordering::Less => {
                    back.extend_from_slice(record);
                    back_values.push(value);
                }
            }
        }
        *within += (same.len() / words) as u64;
    }

    /// Hands what was sorted out to the queue, to what is sorted aside, and to the candidates of the next stage.
    pub(super) fn hand_over(
        &mut self,
        place: &Place,
        window: &Window,
        waiting: &Mutex<Waiting>,
    ) -> Result<(), SearchError> {
        let words = place.width.words();
        let Offered { here, same, ahead, ahead_values, back, back_values, missed, recent, .. } = self;
        here.offer(place, window, Records::new(same, words))?;
        for list in [(&mut *ahead, &mut *ahead_values), (&mut *back, &mut *back_values)] {
            *recent += retain_unmet(window, words, list, missed);
        }
        if ahead.is_empty() && back.is_empty() {
            return Ok(());
        }
        let Waiting { queue, regress, .. } = &mut *lock(waiting);
        queue.push(ahead_values, ahead)?;
        for (value, record) in back_values.iter().zip(back.chunks_exact(words)) {
            regress.push(std::slice::from_ref(value))?;
            regress.push(record)?;
        }
        Ok(())
    }
}

/// Keeps those of some candidates with values that the window has not met; says how many it has.
fn retain_unmet(
    window: &Window,
    words: usize,
    (records, values): (&mut Vec<u64>, &mut Vec<u64>),
    missed: &mut Vec<u32>,
) -> u64 {
    missed.clear();
    window.meet_batch(records, missed);
    let met = values.len() - missed.len();
    if met > 0 {
        for (kept, &index) in missed.iter().enumerate() {
            let index = index as usize;
            records.copy_within(index * words..(index + 1) * words, kept * words);
            values[kept] = values[index];
        }
        records.truncate(missed.len() * words);
        values.truncate(missed.len());
    }
    met as u64
}
