//! Where do values wait that are in sorted files?
//!
//! ```text
//! kept       one sorted run: the states that are left, each with a number
//! offer      a target with a value, to a sort that joins the values of equal targets: their sum, where each step counts, however many lead to a state; or the greatest
//! settle     what was offered, in order, beside the kept states and beside what they were offered before; what is of a kept state is joined to its value
//! turn       a state for which the join says that what it was offered gives it one: it waits in a log, perhaps with a word
//! ```
//! At first states have a turn by the number that they have: the run is scanned. Unlike in RAM, what changes during a turn is known after the next settling only, so a state whose value changes before its turn has another.
//!
//! Memory: buffers alone, of whatever size the budget allows; nothing per state. I/O: an offer is written and read once per pass of a sort; settling reads what holds the states that were offered something, all of it where memory is scarce.

use std::sync::Mutex;

use fathom_disk::budget::ChargedVec;
use fathom_disk::log::{LogReader, Mark, Position, RecordLog};
use fathom_disk::run::{Run, RunWriter, Scan};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::{FileKind, Role};
use fathom_model::record::{RecordBuffer, Records};

use super::values::Values;
use crate::error::SearchError;
use crate::expansion::by_number::{Expander, Sending, Targets};
use crate::expansion::lock;
use crate::files::closed_set::Recurs;
use crate::files::value_runs::{Deltas, ValueRuns};
use crate::task::Observer;

/// States that are left, in one run, each with a number.
pub(crate) struct Kept<'r> {
    /// Which states may be among them.
    pub(crate) recurs: Recurs<'r>,
    pub(crate) run: Run,
}

impl Targets for Kept<'_> {
    type Number = ();
    type Sent = u64;

    #[inline]
    fn has(&self, record: &[u64]) -> bool {
        (self.recurs)(record)
    }

    fn numbers(&self, records: Records<'_>, numbers: &mut Vec<()>) {
        numbers.extend(std::iter::repeat_n((), records.len()));
    }

    fn block_keys_max(&self) -> usize {
        self.run.scan_keys_max()
    }

    fn len(&self) -> u64 {
        self.run.count()
    }
}

/// What values mean to states.
pub(crate) trait FileJoin: Sync {
    /// What a state has in its turn.
    type Turn: Copy;
    /// Words that wait with a state until it has a turn that it was given later: none, or one.
    const WORDS: usize = 0;

    /// What a state has in the first turn, if it has one, by the number that it has.
    fn first_turn(&self, number: u64) -> Option<Self::Turn>;

    /// What becomes of what a state with a number is offered, beside what it was offered before, if it was offered anything.
    fn settle(&self, number: u64, before: Option<u64>, offer: u64) -> Settled;

    /// What a state has in a later turn, by the word that waited with it.
    fn turn(&self, word: u64) -> Self::Turn;
}

/// What becomes of an offer.
pub(crate) struct Settled {
    /// Whether it is joined to the state's value: not if that is as great already.
    pub(crate) added: bool,
    /// The word that waits with the state until its turn, if this gives it one.
    pub(crate) turn: Option<u64>,
}

/// Values between two settlings, as files.
pub(crate) trait Snapshots: Sync {
    /// What there is after a settling, so that a commit can name it; none before the first one that is of offers.
    fn snapshot(&self) -> Result<Option<Snapshot>, SearchError>;
}

/// Values in files, of states that are kept.
pub(crate) struct ByFile<'a, J> {
    kept: &'a Kept<'a>,
    place: &'a ValueRuns,
    join: J,
    observer: &'a dyn Observer,
    /// Bytes that its files may take.
    room: u64,
    inner: Mutex<Inner<'a>>,
}

struct Inner<'a> {
    /// Sums of what was offered before the last settling.
    sums: Deltas,
    /// What was offered since.
    offers: Option<Sorter>,
    turns: Turns<'a>,
    /// How many have a turn, about.
    waiting: u64,
}

/// Who has a turn.
enum Turns<'a> {
    /// Those whose numbers say so, when it is settled.
    First,
    /// Those from here on.
    Scanned(Box<Scan<'a>>),
    /// Those in a log, when it is settled.
    TakenUp(TurnLog),
    /// The rest of a log.
    Waiting(TurnLog, LogReader),
    Nobody,
}

/// A log of states, and the bytes of a block of it.
struct TurnLog {
    log: RecordLog,
    block: usize,
}

/// What is between two settlings, as files.
pub(crate) struct Snapshot {
    /// Runs of values, the newest last: they last.
    pub(crate) values: Vec<String>,
    /// The log of those who have a turn, if it has a file, and how it stands.
    pub(crate) turns: Option<String>,
    pub(crate) log: LogPlace,
}

/// How a log stands: bytes of a block, blocks, records.
pub(crate) type LogPlace = [u64; 3];

/// Records that are handed out at a time, at most.
const BATCH: usize = 512;
/// The part of what is free that offers are sorted within.
const SORT_PART: usize = 2;
/// What sorting the offers of a state takes, by and large, and the least that a sort gets where there is more.
const STATE_BYTES: usize = 2 << 10;
const SORT_BYTES_MIN: usize = 64 << 10;
/// One in so many bytes of memory is a state that is looked up at a time: what was found of them takes some dozens of bytes each.
const FOUND_PART: usize = 1 << 10;
/// Bytes of a block of a log.
const BLOCK_BYTES_MIN: usize = 256;
const BLOCK_BYTES_MAX: usize = 1 << 16;
const KIND: FileKind = FileKind::new("turns", Role::Bulk);

impl<'a, J: FileJoin> ByFile<'a, J> {
    /// Nothing was offered yet.
    pub(crate) fn new(
        kept: &'a Kept<'a>,
        place: &'a ValueRuns,
        join: J,
        observer: &'a dyn Observer,
        room: u64,
    ) -> ByFile<'a, J> {
        let inner = Inner { sums: Deltas::default(), offers: None, turns: Turns::First, waiting: 0 };
        ByFile { kept, place, join, observer, room, inner: Mutex::new(inner) }
    }

    /// Goes on from a snapshot.
    pub(crate) fn taken_up(self, snapshot: &Snapshot) -> Result<Self, SearchError> {
        let sums = snapshot.values.iter().map(|name| self.place.open(name)).collect::<Result<_, _>>()?;
        let [block, blocks, count] = snapshot.log;
        let turns = match &snapshot.turns {
            Some(name) => {
                let block = usize::try_from(block).map_err(|_| SearchError::Boundary)?;
                let mark = Mark([blocks, count, 0, 0, 0, 0]);
                let (volume, budget) = (self.place.volume(), self.place.budget());
                let words = self.place.words() + J::WORDS;
                let log = RecordLog::resume(volume, name, KIND, words, block, mark, budget)?;
                Turns::TakenUp(TurnLog { log, block })
            }
            None => Turns::Nobody,
        };
        let inner = Inner { sums: Deltas::of(sums), offers: None, turns, waiting: 0 };
        Ok(ByFile { inner: Mutex::new(inner), ..self })
    }

    /// The sums.
    pub(crate) fn into_sums(self) -> Result<Deltas, SearchError> {
        let inner = self.inner.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        match inner.turns {
            Turns::Waiting(log, _) | Turns::TakenUp(log) => log.remove(self.place)?,
            Turns::First | Turns::Scanned(_) | Turns::Nobody => {}
        }
        Ok(inner.sums)
    }

    /// Adds what was offered to sums; gives the log of those who have a turn then.
    fn add_offers(&self, inner: &mut Inner<'a>) -> Result<TurnLog, SearchError> {
        let place = self.place;
        let mut turns = TurnLog::new(place, J::WORDS)?;
        let Some(offers) = inner.offers.take() else { return Ok(turns) };
        let offers = offers.finish()?;
        let mut delta = place.writer()?;
        self.settle_offers(&mut *offers.stream()?, &inner.sums, &mut delta, &mut turns.log)?;
        offers.remove()?;
        inner.sums.add(place, delta.finish_run(false)?)?;
        let used = self.kept.run.bytes() + inner.sums.bytes();
        if used > self.room {
            return Err(SearchError::DiskLimit { used, limit: self.room });
        }
        Ok(turns)
    }

    fn settle_offers(
        &self,
        offers: &mut dyn KeyStream,
        sums: &Deltas,
        delta: &mut RunWriter,
        turns: &mut RecordLog,
    ) -> Result<(), SearchError> {
        let (place, words) = (self.place, self.place.words());
        let (mut kept, mut before) = (place.look_up(&self.kept.run)?, sums.look_ups(place)?);
        let mut numbers = ChargedVec::with_capacity(place.budget(), "values found", 0)?;
        let mut summed = ChargedVec::with_capacity(place.budget(), "values found", 0)?;
        let mut waiting = vec![0; words + J::WORDS];
        let piece = (place.budget().limit() / FOUND_PART).max(1);
        while offers.advance()? {
            if self.observer.stop() {
                return Err(SearchError::Stopped);
            }
            for (keys, values) in offers.keys().chunks(piece * words).zip(offers.values().chunks(piece)) {
                kept.find(keys, words, &mut numbers)?;
                before.find(keys, words, &mut summed)?;
                let offered = keys.chunks_exact(words).zip(values);
                for ((key, offer), (number, before)) in offered.zip(numbers.iter().zip(summed.iter())) {
                    let Some(number) = *number else { continue };
                    let offer = *offer;
                    let Settled { added, turn } = self.join.settle(number, *before, offer);
                    if added {
                        delta.push_with(key, &[offer])?;
                    }
                    if let Some(word) = turn {
                        waiting[..words].copy_from_slice(key);
                        waiting[words..].fill(word);
                        turns.append(&waiting)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The next states that have a turn, with what they have in it.
    fn next(
        &self,
        turns: &mut Turns<'a>,
        most: usize,
        states: &mut RecordBuffer,
        has: &mut Vec<J::Turn>,
    ) -> Result<(), SearchError> {
        match turns {
            Turns::Scanned(scan) => {
                while states.is_empty() && scan.advance()? {
                    for (key, number) in scan.keys().chunks_exact(scan.words()).zip(scan.values()) {
                        if let Some(turn) = self.join.first_turn(*number) {
                            states.push(key);
                            has.push(turn);
                        }
                    }
                }
            }
            Turns::Waiting(log, reader) => {
                let words = self.place.words();
                let mut waiting = vec![0; words + J::WORDS];
                while states.len() < most && reader.next(&log.log, &mut waiting)? {
                    states.push(&waiting[..words]);
                    has.push(self.join.turn(waiting.get(words).copied().unwrap_or(0)));
                }
            }
            Turns::First | Turns::TakenUp(_) | Turns::Nobody => {
                unreachable!("it is settled before turns begin")
            }
        }
        Ok(())
    }
}

impl<J: FileJoin> Snapshots for ByFile<'_, J> {
    fn snapshot(&self) -> Result<Option<Snapshot>, SearchError> {
        let Inner { sums, turns, .. } = &mut *lock(&self.inner);
        let Turns::Waiting(TurnLog { log, block }, _) = turns else { return Ok(None) };
        let Mark([blocks, count, ..]) = log.mark()?;
        sums.runs().iter().try_for_each(Run::sync)?;
        Ok(Some(Snapshot {
            values: sums.runs().iter().map(|run| run.name().to_owned()).collect(),
            turns: log.file_name().map(str::to_owned),
            log: [*block as u64, blocks, count],
        }))
    }
}

impl<'a, J: FileJoin> Values for ByFile<'a, J> {
    type Set = Kept<'a>;
    type Turn = J::Turn;
    type Value = u64;

    fn settle(&self) -> Result<u64, SearchError> {
        let inner = &mut *lock(&self.inner);
        let (turns, waiting) = match std::mem::replace(&mut inner.turns, Turns::Nobody) {
            Turns::First => {
                (Turns::Scanned(Box::new(self.place.scan(&self.kept.run)?)), self.kept.run.count())
            }
            Turns::TakenUp(log) => log.waiting(self.place)?,
            over => {
                if let Turns::Waiting(log, reader) = over {
                    drop(reader);
                    log.remove(self.place)?;
                }
                self.add_offers(inner)?.waiting(self.place)?
            }
        };
        (inner.turns, inner.waiting) = (turns, waiting);
        Ok(waiting)
    }

    fn next_changed(
        &self,
        _: &mut Expander<'_, Kept<'a>>,
        states: &mut RecordBuffer,
        turns: &mut Vec<J::Turn>,
    ) -> Result<bool, SearchError> {
        states.clear();
        turns.clear();
        let most = self.kept.block_keys_max().clamp(1, BATCH);
        self.next(&mut lock(&self.inner).turns, most, states, turns)?;
        Ok(!states.is_empty())
    }

    #[inline]
    fn counts(&self, (): ()) -> bool {
        true
    }

    #[inline]
    fn offer(&self, (): (), value: u64) -> Result<Option<u64>, SearchError> {
        Ok(Some(value))
    }

    fn take_sent(&self, states: Sending<'_, u64>) -> Result<(), SearchError> {
        let Inner { offers, waiting, .. } = &mut *lock(&self.inner);
        let offers = match offers {
            Some(offers) => offers,
            None => {
                // Most levels are small, and large buffers are not had for nothing.
                let wanted = usize::try_from(*waiting).unwrap_or(usize::MAX).saturating_mul(STATE_BYTES);
                let most = self.place.budget().free() / SORT_PART;
                offers.insert(self.place.sorter(most.min(wanted.max(SORT_BYTES_MIN)))?)
            }
        };
        for (state, value) in states {
            offers.push_with(state, &[value])?;
        }
        Ok(())
    }
}

impl TurnLog {
    /// Nobody is in it.
    fn new(place: &ValueRuns, more_words: usize) -> Result<TurnLog, SearchError> {
        let block = (place.budget().limit() / 64).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let (name, words) = (place.fresh_name(), place.words() + more_words);
        let log = RecordLog::new(place.volume(), &name, KIND, words, block, place.budget())?;
        Ok(TurnLog { log, block })
    }

    /// Those who are in it have a turn: that, and how many they are.
    fn waiting<'a>(self, place: &ValueRuns) -> Result<(Turns<'a>, u64), SearchError> {
        let (count, reader) = (self.log.len(), self.log.reader(Position::default(), place.budget())?);
        Ok((Turns::Waiting(self, reader), count))
    }

    /// It is not needed any more.
    fn remove(self, place: &ValueRuns) -> Result<(), SearchError> {
        match self.log.file_name() {
            Some(name) if place.is_committed(name) => Ok(()),
            _ => Ok(self.log.remove()?),
        }
    }
}
