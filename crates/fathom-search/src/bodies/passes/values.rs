//! What is known of each state while values are propagated, and how does what a step brings change it?
//!
//! [`Values`] is what the body knows: which states have their turn, and where to offer what their steps bring. [`Join`] is a value for each number in RAM, where threads join at one time:
//!
//! | join | of | used for |
//! |---|---|---|
//! | or | two bits ([`Progress`]) | what is reached |
//! | sum | four bits and a map ([`Counters`]) | predecessors that are left |
//! | max | a word ([`Greatest`]) | the greatest accepting predecessor |
//!
//! In sorted files ([`super::by_file`]) an offer is a record with a number ([`fathom_disk::value`] has the same joins); to settle is to sort, join and merge them.

use fathom_model::record::RecordBuffer;

use crate::error::SearchError;
use crate::expansion::by_number::{Expander, Sending, Targets};
use crate::stores::bits::Progress;
use crate::stores::counters::Counters;
use crate::stores::greatest::Greatest;

/// A value for each state of a set. A state whose value has changed has a turn, in which its steps bring something to others.
pub(crate) trait Values: Sync {
    /// The states, and what they are known by.
    type Set: Targets;
    /// What a state has in its turn.
    type Turn: Copy;
    /// What a step brings.
    type Value: Copy;

    /// Everything that was offered has come to where it was brought: how many states have a turn now, about. None has if that is 0.
    fn settle(&self) -> Result<u64, SearchError>;

    /// The next states that have their turn, and what they have in it; false if all have had it. From any thread, whose expander has buffers for it.
    fn next_changed(
        &self,
        expander: &mut Expander<'_, Self::Set>,
        states: &mut RecordBuffer,
        turns: &mut Vec<Self::Turn>,
    ) -> Result<bool, SearchError>;

    /// Whether a state counts, as far as its number tells: nothing is brought to others.
    fn counts(&self, state: NumberOf<Self>) -> bool;

    /// Joins what a step brings to the value of a state, where its number tells where that is. If something is left to do then it is handed to [`Values::take_sent`] with the state.
    fn offer(&self, state: NumberOf<Self>, value: Self::Value) -> Result<Option<SentOf<Self>>, SearchError>;

    /// Takes states with what is left to do for them: before the next settling, from any thread.
    fn take_sent(&self, states: Sending<'_, SentOf<Self>>) -> Result<(), SearchError>;
}

/// What states of values are known by.
pub(crate) type NumberOf<V> = <<V as Values>::Set as Targets>::Number;
/// What is sent on with a state of values.
pub(crate) type SentOf<V> = <<V as Values>::Set as Targets>::Sent;

/// A value in RAM for each number, which any thread may change at any time.
pub(crate) trait Join: Sync {
    /// What a state has in its turn.
    type Turn: Copy;
    /// What is joined.
    type Value: Copy;
    /// What every state has in a turn that a join gave it, if it is the same for all: then nobody looks for its number.
    const LATER_TURN: Option<Self::Turn>;

    /// A state has its turn. Whatever changes its value from here on gives it another.
    fn turn(&self, state: u64) -> Self::Turn;

    /// Joins a value to that of a state; true if it has changed, and the turn that the state had was over.
    fn join(&self, state: u64, value: Self::Value) -> Result<bool, SearchError>;
}

/// A join that knows which turns are still to come, so that what is propagated needs no queue of states: whoever comes by looks.
pub(crate) trait Revisited: Join {
    /// Whether the turn of a state is still to come.
    fn is_due(&self, state: u64) -> bool;
}

/// Or: whether a state is reached.
impl Join for Progress {
    type Turn = bool;
    type Value = ();
    const LATER_TURN: Option<bool> = Some(true);

    #[inline]
    fn turn(&self, state: u64) -> bool {
        self.scan(state)
    }

    #[inline]
    fn join(&self, state: u64, (): ()) -> Result<bool, SearchError> {
        Ok(self.reach(state))
    }
}

impl Revisited for Progress {
    #[inline]
    fn is_due(&self, state: u64) -> bool {
        !self.is_scanned(state)
    }
}

/// A term of a sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    One,
    MinusOne,
}

/// Sum: a state whose sum comes down to 0 has a turn.
impl Join for Counters {
    type Turn = ();
    type Value = Term;
    const LATER_TURN: Option<()> = Some(());

    #[inline]
    fn turn(&self, _: u64) {}

    #[inline]
    fn join(&self, state: u64, term: Term) -> Result<bool, SearchError> {
        match term {
            Term::One => self.increase(state).map(|()| false),
            Term::MinusOne => Ok(self.decrease(state)),
        }
    }
}

/// A state that has its turn, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) state: u64,
    pub(crate) value: u64,
}

/// Max.
impl Join for Greatest {
    type Turn = Held;
    type Value = u64;
    const LATER_TURN: Option<Held> = None;

    #[inline]
    fn turn(&self, state: u64) -> Held {
        Held { state, value: self.take(state) }
    }

    #[inline]
    fn join(&self, state: u64, value: u64) -> Result<bool, SearchError> {
        Ok(self.raise(state, value))
    }
}

impl Revisited for Greatest {
    #[inline]
    fn is_due(&self, state: u64) -> bool {
        !self.is_taken(state)
    }
}
