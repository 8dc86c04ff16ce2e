//! What does a search ask of what it has visited?
//!
//! A [`Visited`] is a set of records that only grows, or several of them: one for each *colour* that a search knows. Which record was met is asked and told in batches, so that a store may be anywhere.
//! A store that has no room for more says so, and how far it came: that is an answer, not a failure of the machine.

use fathom_disk::budget::BudgetError;
use fathom_model::record::Records;

use crate::error::SearchError;

/// What was visited: it only grows.
pub trait Visited {
    /// How many colours it has; those below that number are there.
    fn colours(&self) -> usize {
        1
    }

    /// Inserts records into the set of a colour, in order, and appends the places of those that were not there, ascending. Of one that comes twice, the first is new.
    ///
    /// # Errors
    /// If the machine fails. Memory that is used up is an answer.
    fn insert_batch(
        &mut self,
        colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError>;

    /// Appends the places of those among some records that are in the set of a colour, ascending.
    ///
    /// # Errors
    /// If the machine fails, or there is no memory to ask for so many at once.
    fn contains_batch(
        &mut self,
        colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError>;

    /// Records that will be asked for in a moment: a store may fetch what it needs for that.
    fn prepare(&self, _colour: Colour, _records: Records<'_>) {}

    /// How much there is of it.
    fn figures(&self) -> StoreFigures;
}

/// One of the sets of a store, by number. Searches that walk more than once have one for each time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Colour(pub u8);

impl Colour {
    /// The only one, or the first.
    pub const FIRST: Colour = Colour(0);
    /// The second.
    pub const SECOND: Colour = Colour(1);
}

/// What came of inserting records.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a store may be full"]
pub enum Insertion {
    /// All are there.
    All,
    /// There was no room for the one at this place, nor for those behind it; those before it are there.
    Full {
        /// How many are there.
        taken: usize,
        /// Who asked the budget for what.
        reason: BudgetError,
    },
}

/// How much there is of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// Records that were new when they were inserted, in all sets.
    pub records: u64,
    /// Bytes of memory that it holds.
    pub memory: u64,
    /// Bytes of its files.
    pub files: u64,
    /// Whether it may say that a record is there that is not.
    pub lossy: bool,
}

/// A store of its own for each colour.
#[derive(Debug)]
pub struct PerColour<V, const N: usize>(pub [V; N]);

impl<V: Visited, const N: usize> Visited for PerColour<V, N> {
    fn colours(&self) -> usize {
        N
    }

    fn insert_batch(
        &mut self,
        colour: Colour,
        records: Records<'_>,
        new: &mut Vec<u32>,
    ) -> Result<Insertion, SearchError> {
        self.0[usize::from(colour.0)].insert_batch(Colour::FIRST, records, new)
    }

    fn contains_batch(
        &mut self,
        colour: Colour,
        records: Records<'_>,
        present: &mut Vec<u32>,
    ) -> Result<(), SearchError> {
        self.0[usize::from(colour.0)].contains_batch(Colour::FIRST, records, present)
    }

    fn prepare(&self, colour: Colour, records: Records<'_>) {
        self.0[usize::from(colour.0)].prepare(Colour::FIRST, records);
    }

    fn figures(&self) -> StoreFigures {
        let sum = |sum: StoreFigures, one: StoreFigures| StoreFigures {
            records: sum.records + one.records,
            memory: sum.memory + one.memory,
            files: sum.files + one.files,
            lossy: sum.lossy || one.lossy,
        };
        self.0.iter().map(Visited::figures).fold(StoreFigures::default(), sum)
    }
}

/// Inserts one by one with a function that says whether a record is new; a budget that is used up makes the store full.
pub(crate) fn insert_each(
    records: Records<'_>,
    new: &mut Vec<u32>,
    mut insert: impl FnMut(&[u64]) -> Result<bool, SearchError>,
) -> Result<Insertion, SearchError> {
    for (place, record) in (0..).zip(records.iter()) {
        match insert(record) {
            Ok(true) => new.push(place),
            Ok(false) => {}
            Err(SearchError::Budget(reason)) => return Ok(Insertion::Full { taken: place as usize, reason }),
            Err(error) => return Err(error),
        }
    }
    Ok(Insertion::All)
}
