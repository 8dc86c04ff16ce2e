//! What does a state carry, and what do its steps bring?
//!
//! The number of the greatest candidate that leads to it. A candidate has its own number, and hands it on along steps with the mark; what it carries, a state hands on along all steps.

use std::sync::atomic::{AtomicU64, Ordering};

use fathom_disk::sabotage::is_chosen;

use crate::bodies::passes::Rule;
use crate::bodies::passes::by_file::{FileJoin, Settled};
use crate::error::SearchError;

/// What a state has in its turn: its own number, if it was not handed on yet, and what it carries; 0 for neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) own: u64,
    pub(super) value: u64,
}

/// The bit of an offer that says that the target had its turn with it already.
pub(super) const EXPANDED: u64 = 1;

/// A value as it is offered.
pub(super) fn offered(value: u64) -> u64 {
    value << 1
}

/// What an offer brings.
pub(super) fn value_of(offer: u64) -> u64 {
    offer >> 1
}

/// The greatest value. A number is that of a candidate, 0 for what is none.
pub(super) struct Carried<'f> {
    /// Whether all steps of a candidate have the mark.
    pub(super) by_state: bool,
    /// The greatest number that was brought to its own state; 0 for none.
    pub(super) found: &'f AtomicU64,
}

impl FileJoin for Carried<'_> {
    type Turn = Held;
    const WORDS: usize = 1;

    fn first_turn(&self, number: u64) -> Option<Held> {
        (number > 0).then_some(Held { own: number, value: 0 })
    }

    fn settle(&self, number: u64, before: Option<u64>, offer: u64) -> Settled {
        let value = value_of(offer);
        if value == number {
            self.found.fetch_max(number, Ordering::Relaxed);
        }
        // The defect keeps what came first.
        let greater = before.is_none_or(|before| value > value_of(before) && !is_chosen("carried"));
        // What is less than its own number a candidate hands on along steps without the mark alone.
        let hands_on = offer & EXPANDED == 0 && !(self.by_state && number > value);
        Settled { added: greater, turn: (greater && hands_on).then_some(value) }
    }

    fn turn(&self, value: u64) -> Held {
        Held { own: 0, value }
    }
}

/// What is carried goes along all steps, and a candidate along those with the mark.
pub(super) struct HandOn {
    /// The mark, if there is one.
    pub(super) mark: u64,
}

impl Rule for HandOn {
    type Turn = Held;
    type Value = u64;
    type Number = ();

    #[inline]
    fn along(&self, held: Held, marks: u64, (): ()) -> Result<Option<u64>, SearchError> {
        let marked = marks & self.mark == self.mark;
        let value = if marked { held.own.max(held.value) } else { held.value };
        Ok((value > 0).then_some(offered(value)))
    }
}
