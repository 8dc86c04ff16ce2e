//! Where do candidates wait until their layer is closed?
//!
//! A thread has a buffer per shard. A full one is sorted and freed of equal keys; if that does not make much room, it becomes a sorted piece: coded in memory if it fits there, else on disk. When the
//! layer is closed, all that was collected for a shard is one ascending stream.

use fathom_disk::budget::{Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::hash::{for_caches, hash_leading_half};
use fathom_disk::run::pieces::{PieceFormat, PieceScan, PieceWriter, Pieces};
use fathom_disk::set::sorter::CANDIDATES;
use fathom_disk::set::{CodedPieces, CodedScan, KeyStream, Merge, SliceStream, sort_unique};
use fathom_disk::window::Window;
use fathom_model::record::Records;

use super::place::Place;

/// What has met keys in memory, shared by threads.
pub(crate) trait Meets: Sync {
    /// Appends which of some keys were not met before, or may not have been; all are met from now on.
    fn meet_batch(&self, keys: &[u64], missed: &mut Vec<u32>);
}

impl Meets for Window {
    fn meet_batch(&self, keys: &[u64], missed: &mut Vec<u32>) {
        Window::meet_batch(self, keys, missed);
    }
}

/// What one thread has collected.
#[derive(Debug)]
pub struct Candidates {
    shards: Vec<Collected>,
    latest: Latest,
    /// Which of a piece were not met.
    missed: Vec<u32>,
    /// Candidates of this layer, with those that were set aside.
    offered: u64,
    spill: Spill,
    _charge: Charge,
}

/// What one thread has collected for one shard.
#[derive(Debug)]
pub(crate) struct Collected {
    keys: ChargedVec<u64>,
    /// Sorted keys in memory and on disk; the same key may be in several pieces.
    coded: CodedPieces,
    pieces: Pieces,
}

/// How a thread writes what does not fit.
#[derive(Debug)]
struct Spill {
    /// There while a layer is expanded, once something was written.
    writer: Option<PieceWriter>,
    format: PieceFormat,
    bytes: usize,
    pieces_max: usize,
    coded_max: usize,
}

/// What room candidates have, each thread the same.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CandidateSizes {
    /// Parts of the state space that are closed on their own.
    pub(crate) shards: usize,
    /// Candidates that a thread holds for a shard.
    pub(crate) keys: usize,
    /// Candidates of a thread and a shard that are coded in memory before any go to disk, in bytes.
    pub(crate) coded_bytes: usize,
    /// Memory for writing candidates to disk, per thread.
    pub(crate) spill_bytes: usize,
    /// Pieces of a thread and a shard that are read at once.
    pub(crate) pieces_max: usize,
    /// The same of those that are coded in memory.
    pub(crate) coded_pieces_max: usize,
}

/// Candidates that are shown to what has met keys at one time.
const PIECE_KEYS: usize = 256;
/// Where fewer pieces than this can be read at once, two are merged at a time when they are alike. Merging all each time one came, a layer of n candidates took n^2 / 28 writes in 4 KiB: 131,000 states of peterson.4
/// read 412 MB of candidates.
const FEW_PIECES: usize = 4;

impl Candidates {
    pub(crate) fn new(place: &Place, sizes: CandidateSizes) -> Result<Candidates, DiskError> {
        let words = place.width.words();
        let buffer = || ChargedVec::with_capacity(&place.budget, "candidates", sizes.keys.max(1) * words);
        let format = PieceFormat::within(place.width, sizes.spill_bytes);
        let shards = (0..sizes.shards)
            .map(|_| {
                let pieces = Pieces::new(&place.volume, &place.budget, format)?;
                let coded = CodedPieces::new(place.width, &place.spare, sizes.coded_bytes)?;
                Ok(Collected { keys: buffer()?, coded, pieces })
            })
            .collect::<Result<_, DiskError>>()?;
        let piece = PIECE_KEYS.min(sizes.keys.max(1));
        Ok(Candidates {
            shards,
            latest: Latest::new(place, piece)?,
            _charge: place.budget.charge("candidates", piece * 4)?,
            missed: Vec::with_capacity(piece),
            offered: 0,
            spill: Spill {
                writer: None,
                format,
                bytes: sizes.spill_bytes,
                pieces_max: sizes.pieces_max,
                coded_max: sizes.coded_pieces_max,
            },
        })
    }

    /// Lets go of its buffers, which are empty; [`Candidates::reshare`] follows.
    pub(crate) fn give_back(&mut self, place: &Place) -> Result<(), DiskError> {
        for collected in &mut self.shards {
            assert!(collected.count(place.width.words()) == 0, "a layer was closed");
            collected.keys = ChargedVec::with_capacity(&place.budget, "candidates", 0)?;
        }
        Ok(())
    }

    /// Takes other shares.
    pub(crate) fn reshare(&mut self, place: &Place, sizes: CandidateSizes) -> Result<(), DiskError> {
        *self = Candidates::new(place, sizes)?;
        Ok(())
    }

    /// Takes candidates, those aside that were met in memory.
    pub(crate) fn offer(
        &mut self,
        place: &Place,
        window: &impl Meets,
        candidates: Records<'_>,
    ) -> Result<(), DiskError> {
        let words = place.width.words();
        self.offered += candidates.len() as u64;
        for piece in candidates.words().chunks(self.missed.capacity() * words) {
            self.missed.clear();
            let others = self.latest.keep_others(words, piece);
            window.meet_batch(others, &mut self.missed);
            for index in 0..self.missed.len() {
                let key = &others[self.missed[index] as usize * words..][..words];
                let shard = shard_of(key, place.width.bits(), self.shards.len());
                let collected = &mut self.shards[shard];
                if collected.keys.len() == collected.keys.capacity() {
                    collected.make_room(place, &mut self.spill)?;
                }
                match *key {
                    [only] => collected.keys.push(only)?,
                    [high, low] => collected.keys.extend(&[high, low])?,
                    _ => collected.keys.extend(key)?,
                }
            }
        }
        Ok(())
    }

    /// Waits until all that goes to disk is there, in no more pieces than are read at once, and gives the writer's memory back.
    pub(crate) fn settle(&mut self, place: &Place) -> Result<(), DiskError> {
        let Candidates { shards, spill, .. } = self;
        let _turn = place.turn_to_write();
        for collected in shards {
            while collected.pieces.len() > spill.pieces_max {
                let bytes = spill.bytes;
                let writer = spill.writer(place)?;
                collected.pieces.merge_last_two(writer, &place.budget, bytes)?;
            }
        }
        spill.settle()
    }

    /// Candidates of this layer, with those that were set aside.
    pub(crate) fn offered(&self) -> u64 {
        self.offered
    }

    /// What was collected, shard by shard.
    pub(crate) fn shards(&self) -> impl Iterator<Item = &Collected> {
        self.shards.iter()
    }
}

/// Takes what all threads have collected, by shard and by thread; [`give_back`] brings the buffers back.
pub(crate) fn take_by_shard(workers: &mut [&mut Candidates]) -> Vec<Vec<Collected>> {
    let shards = workers.iter().map(|worker| worker.shards.len()).max().unwrap_or(0);
    let mut work: Vec<Vec<Collected>> = (0..shards).map(|_| Vec::new()).collect();
    for worker in workers {
        worker.offered = 0;
        worker.shards.drain(..).zip(&mut work).for_each(|(part, parts)| parts.push(part));
    }
    work
}

/// Gives the threads their buffers back, which are empty, shard after shard.
pub(crate) fn give_back(workers: &mut [&mut Candidates], work: impl Iterator<Item = Vec<Collected>>) {
    for parts in work {
        workers.iter_mut().zip(parts).for_each(|(worker, part)| worker.shards.push(part));
    }
}

/// The shard of a key: neighbours share it mostly, so gaps stay small.
#[inline]
pub(crate) fn shard_of(key: &[u64], bits: u32, shards: usize) -> usize {
    if shards == 1 {
        return 0;
    }
    ((u128::from(for_caches(hash_leading_half(key, bits))) * shards as u128) >> 64) as usize
}

/// The very latest candidates of a thread, one for each value of a hash: a step aside from the window, in the nearest cache. Keys of one and two words only.
#[derive(Debug)]
struct Latest {
    keys: ChargedVec<u64>,
    /// Candidates of a piece that are not among them.
    others: ChargedVec<u64>,
}

impl Latest {
    /// For pieces of at most `piece` keys. Takes 32 KiB, or nothing if keys are wide or the budget is small.
    fn new(place: &Place, piece: usize) -> Result<Latest, DiskError> {
        let budget = &place.budget;
        let mut keys = ChargedVec::with_capacity(budget, "candidates", 0)?;
        let mut others = ChargedVec::with_capacity(budget, "candidates", 0)?;
        let words = place.width.words();
        if budget.limit() >= LATEST_BUDGET && words <= 2 {
            // Each place begins with a key that belongs elsewhere: zero, and in the place of zero another.
            keys.resize(LATEST_WORDS, 0)?;
            let elsewhere = (1..).find(|&key| latest_place(key) >= 2).expect("the hash is no constant");
            keys[words - 1] = elsewhere;
            others.resize(piece * words, 0)?;
        }
        Ok(Latest { keys, others })
    }

    /// The candidates that are not among the latest, which they become; in order.
    fn keep_others<'a>(&'a mut self, words: usize, candidates: &'a [u64]) -> &'a [u64] {
        let Latest { keys, others } = self;
        let mut kept = 0;
        match words {
            _ if keys.is_empty() => return candidates,
            1 => {
                for &key in candidates {
                    let place = &mut keys[latest_place(key)];
                    others[kept] = key;
                    kept += usize::from(*place != key);
                    *place = key;
                }
            }
            _ => {
                for pair in candidates.chunks_exact(2) {
                    let place = latest_place(pair[1] ^ pair[0].rotate_left(32)) & !1;
                    let latest = &mut keys[place..place + 2];
                    others[kept..kept + 2].copy_from_slice(pair);
                    kept += 2 * usize::from(latest[0] != pair[0] || latest[1] != pair[1]);
                    latest.copy_from_slice(pair);
                }
            }
        }
        &others[..kept]
    }
}

const LATEST_WORDS: usize = 4096;
/// With less memory than this the latest candidates are not worth their place.
const LATEST_BUDGET: usize = 4 << 20;

#[inline(always)]
fn latest_place(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52) as usize
}

impl Spill {
    /// What writes, from now on until it is settled.
    fn writer(&mut self, place: &Place) -> Result<&mut PieceWriter, DiskError> {
        Ok(match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(PieceWriter::new(&place.budget, self.format, self.bytes)?),
        })
    }

    fn settle(&mut self) -> Result<(), DiskError> {
        self.writer.take().map_or(Ok(()), |mut writer| writer.settle())
    }
}

impl Collected {
    /// How many keys it holds; none if there are pieces of them.
    pub(crate) fn in_memory(&self, words: usize) -> Option<usize> {
        (self.pieces.is_empty() && self.coded.is_empty()).then_some(self.keys.len() / words)
    }

    /// How many keys it holds, repeats counted.
    pub(crate) fn count(&self, words: usize) -> u64 {
        self.pieces.count() + self.coded.count() + (self.keys.len() / words) as u64
    }

    /// Bytes that were written.
    pub(crate) fn spilled(&self) -> u64 {
        self.pieces.bytes()
    }

    fn make_room(&mut self, place: &Place, spill: &mut Spill) -> Result<(), DiskError> {
        self.sort(place)?;
        let (used, room) = (self.keys.len(), self.keys.capacity());
        if used <= room / 4 * 3 && used < room {
            return Ok(());
        }
        if self.coded.len() < spill.coded_max && self.coded.add(&self.keys) {
            self.keys.clear();
            return Ok(());
        }
        let turn = place.turn_to_write();
        let (bytes, pieces_max) = (spill.bytes, spill.pieces_max);
        let writer = spill.writer(place)?;
        let mut keys = SliceStream::new(place.width.words(), &self.keys);
        self.pieces.add(writer, &mut keys, CANDIDATES, || place.fresh_name("candidates"))?;
        self.keys.clear();
        if pieces_max < FEW_PIECES {
            while self.pieces.last_two_are_alike() {
                match self.pieces.merge_last_two(writer, &place.budget, bytes) {
                    // A state has many steps: there is more memory when they are all offered.
                    Err(DiskError::Budget(_)) => break,
                    merged => merged?,
                }
            }
        } else {
            while self.pieces.len() > pieces_max {
                self.pieces.merge_half(writer, &place.budget, bytes)?;
            }
        }
        if turn.is_some() {
            spill.settle()?;
        }
        Ok(())
    }

    fn sort(&mut self, place: &Place) -> Result<(), DiskError> {
        let kept = sort_unique(&place.budget, place.width.words(), &mut self.keys)?;
        self.keys.truncate(kept);
        Ok(())
    }

    /// Forgets everything; the room stays.
    fn clear(&mut self) -> Result<(), DiskError> {
        self.keys.clear();
        self.coded.clear()?;
        self.pieces.clear()
    }
}

/// Gives all that was collected for a shard to `work` as one ascending stream without repeats, reading within `bytes` of memory; then
/// forgets it.
pub(crate) fn with_stream<T>(
    place: &Place,
    collected: &mut [Collected],
    bytes: usize,
    work: impl FnOnce(&mut dyn KeyStream) -> Result<T, DiskError>,
) -> Result<T, DiskError> {
    let words = place.width.words();
    for part in &mut *collected {
        part.sort(place)?;
    }
    let buffers: Vec<&[u64]> =
        collected.iter().map(|part| &*part.keys).filter(|keys| !keys.is_empty()).collect();
    let pieces: usize = collected.iter().map(|part| part.pieces.len()).sum();
    let coded: usize = collected.iter().map(|part| part.coded.len()).sum();
    let outcome = if pieces + coded == 0 && buffers.len() < 2 {
        work(&mut SliceStream::new(words, buffers.first().copied().unwrap_or(&[])))?
    } else {
        let share = bytes / (pieces + 1);
        let memory = buffers.iter().map(|keys| Source::Memory(SliceStream::new(words, keys)));
        let coded = collected.iter().flat_map(|part| part.coded.scans(&place.budget));
        let sources = collected
            .iter()
            .flat_map(|part| part.pieces.scans(&place.budget, share))
            .map(|scan| Ok(Source::Piece(Box::new(scan?))))
            .chain(coded.map(|scan| Ok(Source::Coded(Box::new(scan?)))))
            .chain(memory.map(Ok))
            .collect::<Result<Vec<_>, DiskError>>()?;
        let chunk = (share / (words * 8)).clamp(1, 4096);
        work(&mut Merge::new(&place.budget, words, sources, chunk)?)?
    };
    collected.iter_mut().try_for_each(|part| part.clear())?;
    Ok(outcome)
}

/// A stream of candidates, from memory or from disk.
enum Source<'a> {
    Memory(SliceStream<'a>),
    Coded(Box<CodedScan<'a>>),
    Piece(Box<PieceScan<'a>>),
}

impl KeyStream for Source<'_> {
    fn words(&self) -> usize {
        match self {
            Source::Memory(stream) => stream.words(),
            Source::Coded(stream) => stream.words(),
            Source::Piece(stream) => stream.words(),
        }
    }

    fn advance(&mut self) -> Result<bool, DiskError> {
        match self {
            Source::Memory(stream) => stream.advance(),
            Source::Coded(stream) => stream.advance(),
            Source::Piece(stream) => stream.advance(),
        }
    }

    fn keys(&self) -> &[u64] {
        match self {
            Source::Memory(stream) => stream.keys(),
            Source::Coded(stream) => stream.keys(),
            Source::Piece(stream) => stream.keys(),
        }
    }
}
