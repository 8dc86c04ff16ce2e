//! What is a run of a system, and where do its states live, which may be millions?
//!
//! A [`Path`] is a row of states, each with the action that leaves it. The row is flat: a record, and a word for the action and a note. While it is short it is in memory, charged; from
//! there on it is on a volume, which is made when it is needed, and one block of it is in memory. It is read at any place, cheaply from one state to the next or the one before.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::log::{LogReader, Position, RecordLog};
use fathom_disk::storage::{FileKind, Role, Volume};

use crate::error::SearchError;

/// What runs may take of memory, and where they go on when they are long. Clones share it.
#[derive(Clone)]
pub struct Room {
    budget: Budget,
    shared: Arc<Shared>,
}

struct Shared {
    place: Place,
    volume: OnceLock<Volume>,
    /// Files made so far.
    files: AtomicU64,
}

/// Makes the volume for long runs; it must be there as long as the volume is.
pub type Place = Box<dyn Fn() -> Result<Volume, SearchError> + Send + Sync>;

/// A run: from its first state, step by step. Clones share its states.
#[derive(Clone)]
pub struct Path {
    start: u32,
    row: Arc<Row>,
    /// Whether the last state was written first.
    backwards: bool,
}

/// A run that is being written down.
#[derive(Debug)]
pub struct PathBuilder {
    row: Row,
    /// A state that waits for the action that leaves it.
    waiting: Option<Vec<u64>>,
}

/// Reads the states of a run, at any place. Memory: one block of a run on a volume.
#[derive(Debug)]
pub struct PathReader<'a> {
    path: &'a Path,
    log: Option<LogReader>,
    /// What was read last.
    entry: Vec<u64>,
}

/// A state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State<'a> {
    /// The record.
    pub record: &'a [u64],
    /// The action that leaves it; of a last state that nothing leaves: 0.
    pub action: u32,
    /// What somebody noted.
    pub note: u32,
}

/// Entries one behind the other: a record, and a word with the action and the note.
struct Row {
    room: Room,
    words: usize,
    len: u64,
    here: ChargedVec<u64>,
    /// Where all of it is once it is not here.
    log: Option<RecordLog>,
}

/// Bytes of a run that stay in memory: one part in so many of the budget, within bounds.
const MEMORY_PART: usize = 64;
const MEMORY_BYTES_MIN: usize = 1 << 10;
const MEMORY_BYTES_MAX: usize = 1 << 20;
/// Bytes of a block on a volume.
const BLOCK_BYTES_MIN: usize = 256;
const BLOCK_BYTES_MAX: usize = 1 << 16;

impl Room {
    /// Memory of that budget, and files on the volume that `place` makes when it comes to that.
    pub fn new(budget: &Budget, place: Place) -> Room {
        let shared = Shared { place, volume: OnceLock::new(), files: AtomicU64::new(0) };
        Room { budget: budget.clone(), shared: Arc::new(shared) }
    }

    /// Files in memory, too, which nobody charges: for tests, and for runs that are short by their making.
    pub fn in_memory(budget: &Budget) -> Room {
        Room::new(budget, Box::new(|| Ok(Volume::in_memory(4096))))
    }

    /// The budget.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The same place, with the memory of another budget.
    #[must_use]
    pub fn within(&self, budget: &Budget) -> Room {
        Room { budget: budget.clone(), shared: Arc::clone(&self.shared) }
    }

    fn volume(&self) -> Result<&Volume, SearchError> {
        if self.shared.volume.get().is_none() {
            let made = (self.shared.place)()?;
            // Another thread may have been first.
            let _ = self.shared.volume.set(made);
        }
        Ok(self.shared.volume.get().expect("it was just made"))
    }
}

impl PathBuilder {
    /// An empty run of records of so many words.
    pub fn new(room: &Room, words: usize) -> Result<PathBuilder, SearchError> {
        let here = ChargedVec::with_capacity(&room.budget, "trace", 0)?;
        let row = Row { room: room.clone(), words, len: 0, here, log: None };
        Ok(PathBuilder { row, waiting: None })
    }

    /// How many states there are.
    pub fn len(&self) -> u64 {
        self.row.len + u64::from(self.waiting.is_some())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a state and the action that leaves it.
    pub fn push(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        self.push_noted(record, action, 0)
    }

    /// Adds a state, the action that leaves it, and a note.
    pub fn push_noted(&mut self, record: &[u64], action: u32, note: u32) -> Result<(), SearchError> {
        debug_assert!(self.waiting.is_none(), "the state before has its action");
        self.row.push(record, action, note)
    }

    /// Adds a state, and the action that leads to it from the one before; what that is of the first does not matter.
    pub fn arrive(&mut self, record: &[u64], action: u32) -> Result<(), SearchError> {
        match &mut self.waiting {
            Some(before) => {
                self.row.push(before, action, 0)?;
                before.copy_from_slice(record);
            }
            None => self.waiting = Some(record.to_vec()),
        }
        Ok(())
    }

    /// The action that leaves the state that was arrived at last.
    pub fn leave(&mut self, action: u32) -> Result<(), SearchError> {
        match self.waiting.take() {
            Some(before) => self.row.push(&before, action, 0),
            None => Ok(()),
        }
    }

    /// Adds all states of a run but the last `but` of them.
    pub fn extend(&mut self, path: &Path, but: u64) -> Result<(), SearchError> {
        let mut reader = path.reader()?;
        for state in 0..path.len().saturating_sub(but) {
            let State { record, action, note } = reader.get(state)?;
            self.row.push(record, action, note)?;
        }
        Ok(())
    }

    /// The run, which begins with what that start made.
    pub fn finish(mut self, start: u32) -> Result<Path, SearchError> {
        self.leave(0)?;
        Ok(Path { start, row: Arc::new(self.row), backwards: false })
    }

    /// The run whose states were added from the last to the first.
    pub fn finish_backwards(self, start: u32) -> Path {
        debug_assert!(self.waiting.is_none(), "nothing arrives backwards");
        Path { start, row: Arc::new(self.row), backwards: true }
    }
}

impl Path {
    /// A short run. `actions` leave the states, but the last perhaps; none if there are more or fewer, or states are not of one width.
    pub fn of(start: u32, records: &[Vec<u64>], actions: &[u32]) -> Option<Path> {
        let words = records.first()?.len();
        let missing = records.len().checked_sub(actions.len())?;
        if missing > 1 || records.iter().any(|record| record.len() != words) {
            return None;
        }
        let mut builder = PathBuilder::new(&Room::in_memory(&Budget::unlimited()), words).ok()?;
        for (record, action) in records.iter().zip(actions.iter().chain(&[0])) {
            builder.push(record, *action).ok()?;
        }
        builder.finish(start).ok()
    }

    /// Which start made the first state.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// How many states it has.
    pub fn len(&self) -> u64 {
        self.row.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.row.len == 0
    }

    /// Words of a record.
    pub fn words(&self) -> usize {
        self.row.words
    }

    /// Where others that are made of it may live.
    pub fn room(&self) -> &Room {
        &self.row.room
    }

    /// Reads it.
    pub fn reader(&self) -> Result<PathReader<'_>, SearchError> {
        let budget = &self.row.room.budget;
        let log = self.row.log.as_ref().map(|log| log.reader(Position::default(), budget)).transpose()?;
        Ok(PathReader { path: self, log, entry: vec![0; self.row.words + 1] })
    }

    /// The last record of a run that has one.
    pub fn last_record(&self) -> Result<Option<Vec<u64>>, SearchError> {
        match self.len().checked_sub(1) {
            Some(last) => Ok(Some(self.reader()?.get(last)?.record.to_vec())),
            None => Ok(None),
        }
    }

    /// All records, in memory: of a short run.
    pub fn records(&self) -> Result<Vec<Vec<u64>>, SearchError> {
        let mut reader = self.reader()?;
        (0..self.len()).map(|state| Ok(reader.get(state)?.record.to_vec())).collect()
    }

    /// The actions that leave the states, in memory: of a short run. Of a run that ends, the last is 0.
    pub fn actions(&self) -> Result<Vec<u32>, SearchError> {
        let mut reader = self.reader()?;
        (0..self.len()).map(|state| Ok(reader.get(state)?.action)).collect()
    }

    /// The same run in a system whose records are parts of these, with a note for each state.
    pub fn project(
        &self,
        words: usize,
        part: impl Fn(&[u64]) -> (Vec<u64>, u32),
    ) -> Result<Path, SearchError> {
        let mut builder = PathBuilder::new(&self.row.room, words)?;
        let mut reader = self.reader()?;
        for state in 0..self.len() {
            let State { record, action, .. } = reader.get(state)?;
            let (record, note) = part(record);
            builder.push_noted(&record, action, note)?;
        }
        builder.finish(self.start)
    }
}

impl PathReader<'_> {
    /// A state of the run, by its number.
    pub fn get(&mut self, state: u64) -> Result<State<'_>, SearchError> {
        let Path { row, backwards, .. } = self.path;
        debug_assert!(state < row.len, "the run has such a state");
        let place = if *backwards { row.len - 1 - state } else { state };
        let wide = row.words + 1;
        match (&row.log, &mut self.log) {
            (Some(log), Some(reader)) => {
                // No mark was ever set, so all blocks are full but the last.
                let each = log.block_records() as u64;
                reader.seek(Position { block: place / each, slot: place % each });
                let found = reader.next(log, &mut self.entry)?;
                debug_assert!(found, "the log has as many entries as the run has states");
            }
            _ => self.entry.copy_from_slice(&row.here[place as usize * wide..][..wide]),
        }
        let (word, record) = self.entry.split_last().expect("an entry has a word");
        Ok(State { record, action: *word as u32, note: (*word >> 32) as u32 })
    }
}

impl Row {
    fn push(&mut self, record: &[u64], action: u32, note: u32) -> Result<(), SearchError> {
        debug_assert_eq!(record.len(), self.words, "a run has records of one width");
        let word = u64::from(action) | u64::from(note) << 32;
        if self.log.is_none() && !self.has_room_here() {
            self.move_to_volume()?;
        }
        match &mut self.log {
            Some(log) => {
                // Two pieces would be cut at the end of a block.
                self.here.clear();
                self.here.extend(record)?;
                self.here.extend(&[word])?;
                log.append(&self.here)?;
            }
            None => {
                self.here.extend(record)?;
                self.here.extend(&[word])?;
            }
        }
        self.len += 1;
        Ok(())
    }

    /// Whether another entry stays in memory: there is room, or some more can be had.
    fn has_room_here(&mut self) -> bool {
        let (wide, used) = (self.words + 1, self.here.len());
        if used + wide <= self.here.capacity() {
            return true;
        }
        let bytes = (self.room.budget.limit() / MEMORY_PART).clamp(MEMORY_BYTES_MIN, MEMORY_BYTES_MAX);
        let more = used.max(4 * wide).min((bytes / 8).saturating_sub(used));
        more >= wide && self.here.reserve(more).is_ok()
    }

    fn move_to_volume(&mut self) -> Result<(), SearchError> {
        let budget = &self.room.budget;
        let volume = self.room.volume()?;
        let name = format!("run-{}", self.room.shared.files.fetch_add(1, Ordering::Relaxed));
        let block_bytes = (budget.free() / MEMORY_PART).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let kind = FileKind::new("trace", Role::Bulk);
        let mut log = RecordLog::new(volume, &name, kind, self.words + 1, block_bytes, budget)?;
        log.append(&self.here)?;
        self.log = Some(log);
        // Room for one entry, on its way to the log.
        self.here = ChargedVec::with_capacity(budget, "trace", self.words + 1)?;
        Ok(())
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if let Some(log) = self.log.take() {
            // What cannot be removed goes with its folder.
            let _ = log.remove();
        }
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Path) -> bool {
        let same = || -> Result<bool, SearchError> {
            let (mut own, mut others) = (self.reader()?, other.reader()?);
            for state in 0..self.len() {
                if own.get(state)? != others.get(state)? {
                    return Ok(false);
                }
            }
            Ok(true)
        };
        (self.start, self.len(), self.words()) == (other.start, other.len(), other.words())
            && same().unwrap_or(false)
    }
}

impl Eq for Path {}

impl fmt::Debug for Path {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = out.debug_struct("Path");
        words.field("start", &self.start).field("states", &self.len());
        if self.len() <= 100 {
            words.field("records", &self.records()).field("actions", &self.actions());
        }
        words.finish()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Row").field("words", &self.words).field("len", &self.len).finish_non_exhaustive()
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Room").field("budget", &self.budget).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(words: usize, state: u64) -> Vec<u64> {
        (0..words as u64).map(|word| state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word).collect()
    }

    /// Every state is where it was put, read forwards, backwards and anywhere, whatever of the run is in memory.
    #[test]
    fn a_run_is_read_as_it_was_written_in_memory_and_on_a_volume() {
        for (words, states, limit) in
            [(1, 5, 1 << 20), (1, 5_000, 4096), (3, 2_000, 8192), (2, 60_000, 1 << 20), (70, 300, 16_384)]
        {
            let budget = Budget::new(limit);
            let room = Room::in_memory(&budget);
            let write = |order: &mut dyn Iterator<Item = u64>| {
                let mut builder = PathBuilder::new(&room, words).unwrap();
                order.for_each(|state| {
                    builder.push_noted(&record(words, state), state as u32, !state as u32).unwrap();
                });
                builder
            };
            let forwards = write(&mut (0..states)).finish(7).unwrap();
            let backwards = write(&mut (0..states).rev()).finish_backwards(7);
            for path in [&forwards, &backwards] {
                assert_eq!((path.start(), path.len(), path.words()), (7, states, words));
                let mut reader = path.reader().unwrap();
                let anywhere = (0..states).map(|state| state * 7_919 % states);
                for state in (0..states).chain((0..states).rev()).chain(anywhere) {
                    let found = reader.get(state).unwrap();
                    assert_eq!(found.record, record(words, state));
                    assert_eq!((found.action, found.note), (state as u32, !state as u32));
                }
            }
            assert_eq!(forwards, backwards);
            drop((forwards, backwards));
            assert_eq!(budget.used(), 0, "everything is given back");
        }
    }

    #[test]
    fn arrivals_become_departures() {
        let room = Room::in_memory(&Budget::unlimited());
        let mut builder = PathBuilder::new(&room, 1).unwrap();
        for (state, action) in [(10, 99), (11, 1), (12, 2)] {
            builder.arrive(&[state], action).unwrap();
        }
        assert_eq!(builder.len(), 3);
        builder.leave(3).unwrap();
        let path = builder.finish(0).unwrap();
        assert_eq!(path, Path::of(0, &[vec![10], vec![11], vec![12]], &[1, 2, 3]).unwrap());
    }

    #[test]
    fn a_long_run_takes_little_of_a_budget() {
        let budget = Budget::new(1 << 20);
        let mut builder = PathBuilder::new(&Room::in_memory(&budget), 1).unwrap();
        (0..1_000_000u64).for_each(|state| builder.push(&[state], 0).unwrap());
        let path = builder.finish(0).unwrap();
        assert_eq!(path.reader().unwrap().get(999_999).unwrap().record, [999_999]);
        assert!(budget.peak() < 100_000, "{}", budget.peak());
    }
}
