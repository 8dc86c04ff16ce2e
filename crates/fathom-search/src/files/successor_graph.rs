//! Where do the steps of the states that are left lead, as numbers on a volume?
//!
//! Passes that look at every step again and again need no records: to know the numbers of successors is enough. They are written once, a *chunk* of `CHUNK_STATES` consecutive numbers at a
//! time, and read from then on in place of making the steps, at some nanoseconds per step. Numbers are those of a perfect hash, which scatters neighbours inside its shards: a chunk is
//! put together in memory from whatever comes, and written when all its states have come.
//!
//! A chunk is a sequence of numbers, 7 bits to a byte, least significant first. For each state: its place in the chunk; how many bytes its steps take, so that they can be passed over; and for each group of steps the marks that all its steps
//! carry, how many there are, and the numbers of their targets in ascending order, as differences, the first from the number of the source, with its sign in the lowest bit.
//!
//! Memory: 16 bytes per chunk; while it is built, the chunks of about a shard of the perfect hash. I/O: about three bytes per step, written once and read once per pass.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::chunks::{ChunkWriter, Chunks};
use fathom_disk::error::DiskError;
use fathom_disk::storage::{FileKind, Role, Volume};

use crate::error::SearchError;
use crate::stores::bits::Bits;

/// Whether passes have a graph of numbers written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphUse {
    /// When that is likely to pay.
    #[default]
    WhenItPays,
    /// Before the first pass over steps.
    Always,
    /// Not at all.
    Never,
}

/// Steps between numbers, on a volume. Threads share it.
#[derive(Debug)]
pub(crate) struct SuccessorGraph {
    chunks: Chunks,
    states: u64,
}

/// Puts a graph together. Threads share it.
pub(crate) struct GraphBuilder<'a> {
    /// States whose steps come.
    left: &'a Bits,
    states: u64,
    room: Room,
    open: Mutex<Open>,
}

/// What a graph may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    /// Bytes of memory while it is built.
    pub(crate) memory: usize,
    /// Bytes on the volume.
    pub(crate) volume: u64,
}

/// What has come.
struct Open {
    writer: ChunkWriter,
    chunks: HashMap<usize, Chunk>,
    charge: Charge,
    bytes: usize,
}

/// States of a chunk, and how many are still to come.
struct Chunk {
    bytes: Vec<u8>,
    awaited: u64,
}

/// The steps of some states, in the form that they have in chunks. Of one thread.
#[derive(Debug, Default)]
pub(crate) struct Encoded {
    bytes: Vec<u8>,
    /// The steps of one state.
    steps: Vec<u8>,
    /// The chunk of each state, and where its bytes end.
    states: Vec<(usize, usize)>,
}

/// Why a graph is not finished.
pub(crate) enum Abandoned {
    /// There is no room for it, in memory or on the volume: whoever wanted it can do without.
    NoRoom,
    /// The machine failed.
    Failed(SearchError),
}

/// States of a chunk.
pub(crate) const CHUNK_STATES: u64 = 2048;
/// What a thread encodes before it hands it on, about.
pub(crate) const ENCODED_BYTES: usize = 8 << 10;
const KIND: FileKind = FileKind::new("successor graph", Role::Bulk);
/// The charge for chunks in memory grows by so much at a time.
const CHARGE_STEP: usize = 1 << 16;
/// What a chunk in memory takes beside its bytes.
const CHUNK_BYTES: usize = 64;

impl Abandoned {
    /// What an error means for a graph.
    pub(crate) fn of(error: SearchError) -> Abandoned {
        match error {
            SearchError::Budget(_) => Abandoned::NoRoom,
            SearchError::Disk(error) if error.is_full() => Abandoned::NoRoom,
            error => Abandoned::Failed(error),
        }
    }
}

impl From<DiskError> for Abandoned {
    fn from(error: DiskError) -> Abandoned {
        Abandoned::of(error.into())
    }
}

impl<'a> GraphBuilder<'a> {
    /// For the steps of those among so many states that are left.
    pub(crate) fn new(
        volume: &Volume,
        name: &str,
        (left, states): (&'a Bits, u64),
        room: Room,
        budget: &Budget,
    ) -> Result<GraphBuilder<'a>, Abandoned> {
        let count = states.div_ceil(CHUNK_STATES) as usize;
        let charge = budget.charge("chunks being built", 0).map_err(DiskError::from)?;
        let writer = ChunkWriter::new(volume, name, KIND, count, budget)?;
        let open = Open { writer, chunks: HashMap::new(), charge, bytes: 0 };
        Ok(GraphBuilder { left, states, room, open: Mutex::new(open) })
    }

    /// Takes what a thread has encoded, which is empty then.
    pub(crate) fn take(&self, encoded: &mut Encoded) -> Result<(), Abandoned> {
        let Open { writer, chunks, charge, bytes } =
            &mut *self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut begin = 0;
        for &(chunk, end) in &encoded.states {
            let there = chunks.entry(chunk).or_insert_with(|| {
                *bytes += CHUNK_BYTES;
                Chunk { bytes: Vec::new(), awaited: self.awaited(chunk) }
            });
            let before = there.bytes.capacity();
            there.bytes.extend_from_slice(&encoded.bytes[begin..end]);
            *bytes += there.bytes.capacity() - before;
            there.awaited -= 1;
            begin = end;
            if there.awaited == 0
                && let Some(mut whole) = chunks.remove(&chunk)
            {
                *bytes -= whole.bytes.capacity() + CHUNK_BYTES;
                writer.write(chunk, &mut whole.bytes)?;
            }
        }
        encoded.bytes.clear();
        encoded.states.clear();
        if *bytes > charge.bytes() || *bytes + 2 * CHARGE_STEP < charge.bytes() {
            charge.resize(bytes.next_multiple_of(CHARGE_STEP)).map_err(DiskError::from)?;
        }
        if writer.bytes() > self.room.volume || *bytes > self.room.memory {
            Err(Abandoned::NoRoom)
        } else {
            Ok(())
        }
    }

    /// All steps have come: the graph is whole, and lasts when the directory of the volume is synced.
    pub(crate) fn finish(self) -> Result<SuccessorGraph, Abandoned> {
        let Open { writer, chunks, .. } = self.open.into_inner().unwrap_or_else(PoisonError::into_inner);
        debug_assert!(chunks.is_empty(), "all states that are left have come");
        Ok(SuccessorGraph { chunks: writer.finish()?, states: self.states })
    }

    /// How many states of a chunk come.
    fn awaited(&self, chunk: usize) -> u64 {
        numbers_of(chunk, self.states).filter(|number| self.left.get(*number)).count() as u64
    }
}

impl Encoded {
    /// Adds a state and its steps: marks and targets, in any order, which is lost.
    pub(crate) fn push(&mut self, source: u64, steps: &mut [(u64, u64)]) {
        steps.sort_unstable();
        self.steps.clear();
        for group in steps.chunk_by(|left, right| left.0 == right.0) {
            put(&mut self.steps, group[0].0);
            put(&mut self.steps, group.len() as u64);
            let mut last = group[0].1;
            put(&mut self.steps, last.abs_diff(source) << 1 | u64::from(last < source));
            for (_, target) in &group[1..] {
                put(&mut self.steps, target - last);
                last = *target;
            }
        }
        put(&mut self.bytes, source % CHUNK_STATES);
        put(&mut self.bytes, self.steps.len() as u64);
        self.bytes.extend_from_slice(&self.steps);
        self.states.push(((source / CHUNK_STATES) as usize, self.bytes.len()));
    }

    /// Whether there is enough to be worth a lock.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= ENCODED_BYTES
    }
}

impl SuccessorGraph {
    /// A graph of so many states that was finished.
    pub(crate) fn open(
        volume: &Volume,
        name: &str,
        states: u64,
        budget: &Budget,
    ) -> Result<SuccessorGraph, SearchError> {
        let chunks = Chunks::open(volume, name, KIND, budget)?;
        let fits = chunks.len() as u64 == states.div_ceil(CHUNK_STATES);
        if fits { Ok(SuccessorGraph { chunks, states }) } else { Err(SearchError::Boundary) }
    }

    /// The file's name.
    pub(crate) fn name(&self) -> &str {
        self.chunks.name()
    }

    /// Bytes on the volume.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.bytes()
    }

    /// How many chunks there are.
    pub(crate) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// Bytes of the longest chunk.
    pub(crate) fn longest(&self) -> usize {
        self.chunks.longest()
    }

    /// Reads a chunk into `bytes` and visits those of its states that `wanted` is true of: whatever that gives is handed on with each of its steps, marks and target.
    pub(crate) fn visit<T: Copy>(
        &self,
        chunk: usize,
        bytes: &mut Vec<u8>,
        mut wanted: impl FnMut(u64) -> Option<T>,
        mut step: impl FnMut(T, u64, u64) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        self.chunks.read(chunk, bytes)?;
        let first = chunk as u64 * CHUNK_STATES;
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            if visit_state(&mut rest, first, self.states, &mut wanted, &mut step)?.is_none() {
                let what = "a chunk of successors makes no sense";
                let file = self.chunks.name().to_owned();
                return Err(SearchError::Disk(DiskError::Corrupt { file, offset: 0, what }));
            }
        }
        Ok(())
    }
}

/// The numbers of the states of a chunk.
fn numbers_of(chunk: usize, states: u64) -> std::ops::Range<u64> {
    let first = chunk as u64 * CHUNK_STATES;
    first..(first + CHUNK_STATES).min(states)
}

/// Takes one state off a chunk; none if the bytes make no sense, as those do that name a state which is none of so many.
fn visit_state<T: Copy>(
    rest: &mut &[u8],
    first: u64,
    states: u64,
    wanted: &mut impl FnMut(u64) -> Option<T>,
    step: &mut impl FnMut(T, u64, u64) -> Result<(), SearchError>,
) -> Result<Option<()>, SearchError> {
    let Some((place, length)) = get(rest).zip(get(rest)) else { return Ok(None) };
    let Some((mut steps, behind)) = rest.split_at_checked(length as usize) else { return Ok(None) };
    *rest = behind;
    let Some(source) = first.checked_add(place).filter(|&source| source < states) else { return Ok(None) };
    if let Some(wanted) = wanted(source) {
        while !steps.is_empty() {
            let mut each = |marks, target| step(wanted, marks, target);
            if visit_group(&mut steps, source, states, &mut each)?.is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(()))
}

/// Takes one group of steps off; none if the bytes make no sense.
fn visit_group(
    rest: &mut &[u8],
    source: u64,
    states: u64,
    step: &mut impl FnMut(u64, u64) -> Result<(), SearchError>,
) -> Result<Option<()>, SearchError> {
    let Some((marks, count)) = get(rest).zip(get(rest)) else { return Ok(None) };
    let Some(signed) = get(rest) else { return Ok(None) };
    let away = signed >> 1;
    let target = if signed & 1 == 1 { source.checked_sub(away) } else { source.checked_add(away) };
    let there = |target: &u64| *target < states;
    let Some(mut target) = target.filter(there) else { return Ok(None) };
    step(marks, target)?;
    for _ in 1..count {
        let next = get(rest).and_then(|more| target.checked_add(more)).filter(there);
        let Some(next) = next else { return Ok(None) };
        target = next;
        step(marks, target)?;
    }
    Ok(Some(()))
}

/// Appends a number, 7 bits to a byte.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Takes a number off.
#[inline]
fn get(rest: &mut &[u8]) -> Option<u64> {
    let (first, more) = rest.split_first()?;
    if *first < 0x80 {
        *rest = more;
        return Some(u64::from(*first));
    }
    let (mut number, mut shift) = (0, 0);
    loop {
        let (byte, more) = rest.split_first()?;
        *rest = more;
        if shift >= 64 {
            return None;
        }
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number drawn from a state that goes on.
    fn draw(state: &mut u64, below: u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        fathom_disk::hash::hash_word(*state) % below
    }

    #[test]
    fn steps_come_back_however_they_came() {
        for seed in 0..60u64 {
            let mut dice = seed;
            let states = 1 + draw(&mut dice, 6_000);
            let budget = Budget::unlimited();
            let left = Bits::new(&budget, states, false).unwrap();
            let mut steps: Vec<Vec<(u64, u64)>> = Vec::new();
            for number in 0..states {
                if draw(&mut dice, 4) > 0 {
                    left.set(number);
                }
                let count = draw(&mut dice, 6);
                let step = |_| (draw(&mut dice, 3) * u64::MAX / 2, draw(&mut dice, states));
                steps.push((0..count).map(step).collect());
            }
            let volume = Volume::in_memory(64);
            let builder = GraphBuilder::new(&volume, "graph", (&left, states), AMPLE, &budget);
            let builder = builder.ok().expect("there is room");
            let mut order: Vec<u64> = (0..states).filter(|number| left.get(*number)).collect();
            order.sort_by_key(|number| fathom_disk::hash::hash_word(*number ^ seed));
            let mut encoded = Encoded::default();
            for source in order {
                encoded.push(source, &mut steps[source as usize].clone());
                if draw(&mut dice, 10) == 0 {
                    assert!(builder.take(&mut encoded).is_ok());
                }
            }
            assert!(builder.take(&mut encoded).is_ok());
            assert!(builder.finish().is_ok());
            let graph = SuccessorGraph::open(&volume, "graph", states, &budget).unwrap();
            let mut seen = vec![None; states as usize];
            for chunk in 0..graph.chunk_count() {
                let read = std::cell::RefCell::new(&mut seen);
                let mut wanted = |source: u64| {
                    read.borrow_mut()[source as usize] = Some(Vec::new());
                    Some(source)
                };
                let mut step = |source: u64, marks, target| {
                    let mut seen = read.borrow_mut();
                    seen[source as usize].as_mut().expect("it was wanted").push((marks, target));
                    Ok(())
                };
                graph.visit(chunk, &mut Vec::new(), &mut wanted, &mut step).unwrap();
            }
            for (number, (seen, steps)) in (0..).zip(seen.iter().zip(&mut steps)) {
                steps.sort_unstable();
                assert_eq!(seen.as_ref(), left.get(number).then_some(&*steps), "seed {seed}, {number}");
            }
        }
    }

    const AMPLE: Room = Room { memory: usize::MAX, volume: u64::MAX };

    #[test]
    fn a_graph_that_has_no_room_is_abandoned() {
        let budget = Budget::unlimited();
        let left = Bits::new(&budget, 100, true).unwrap();
        for (small, states) in [(Room { volume: 50, ..AMPLE }, 100), (Room { memory: 50, ..AMPLE }, 99)] {
            let volume = Volume::in_memory(64);
            let Ok(builder) = GraphBuilder::new(&volume, "graph", (&left, 100), small, &budget) else {
                panic!("the budget is unlimited")
            };
            let mut encoded = Encoded::default();
            (0..states).for_each(|source| encoded.push(source, &mut [(0, 99 - source)]));
            assert!(matches!(builder.take(&mut encoded), Err(Abandoned::NoRoom)));
        }
        let volume = Volume::in_memory(64);
        let small = Budget::new(100);
        let refused = GraphBuilder::new(&volume, "other", (&left, 1 << 20), AMPLE, &small);
        assert!(matches!(refused, Err(Abandoned::NoRoom)));
    }

    /// Bytes that only a forger writes, with a checksum that fits: no state and no step outside of the graph is ever shown.
    #[test]
    fn a_chunk_that_names_other_states_is_refused() {
        let states = 10;
        let chunk = |place: u64, group: &[u64]| {
            let (mut steps, mut bytes) = (Vec::new(), Vec::new());
            group.iter().for_each(|&number| put(&mut steps, number));
            put(&mut bytes, place);
            put(&mut bytes, steps.len() as u64);
            bytes.extend(steps);
            bytes
        };
        let visited = |bytes: &[u8]| {
            let mut seen = Vec::new();
            let mut wanted =
                |source: u64| (source < states).then_some(()).or_else(|| panic!("state {source}"));
            let mut step = |(), _, target: u64| {
                seen.push(target);
                Ok(())
            };
            let whole = visit_state(&mut &bytes[..], 0, states, &mut wanted, &mut step).expect("no error");
            assert!(seen.iter().all(|&target| target < states), "{seen:?}");
            whole.is_some()
        };
        // Marks, how many steps, the first one away (twice the distance), then distances.
        assert!(visited(&chunk(3, &[0, 2, 4, 4])), "steps to 5 and 9");
        for (place, group) in [
            (10, &[0, 1, 0][..]),
            (u64::MAX, &[0, 1, 0]),
            (3, &[0, 1, 14]),
            (3, &[0, 1, 9]),
            (3, &[0, 2, 4, 5]),
            (3, &[0, 2, 4, u64::MAX]),
            (3, &[0, 3, 4, 1]),
        ] {
            assert!(!visited(&chunk(place, group)), "{place}, {group:?}");
        }
    }
}
