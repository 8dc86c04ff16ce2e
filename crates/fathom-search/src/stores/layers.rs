//! How are closed layers kept in RAM, so that they can be handed out and replayed?
//!
//! Sorted and gap-coded, in blocks of up to [`BLOCK_KEYS`] records, one layer behind the other:
//!
//! ```text
//! block   records : u16 | payload bytes : u32 | payload (gap code)
//! ```
//! Each thread that codes has chunks of its own, and blocks stay where they were coded: closing a layer is writing down where they are. A *stretch* is blocks of one layer
//! that follow one another in a chunk. Memory: 1 to 2.5 bytes per state on real models, 8 bytes per layer, 32 per stretch (a thread of its own for a layer makes
//! one, threads together a few each), and 16 bytes per block of the current layer.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::codec::{Codec, Decoder, Encoder, payload_bytes_max};
use fathom_disk::key::KeyWidth;
use fathom_model::record::{RecordBuffer, Records};

/// Records in a block, at most.
pub(crate) const BLOCK_KEYS: usize = 256;
const OWNER: &str = "layers";
const HEADER_BYTES: usize = 6;
const CHUNK_BYTES_MIN: usize = 1 << 12;
const CHUNK_BYTES_MAX: usize = 1 << 20;

/// All closed layers.
#[derive(Debug)]
pub(crate) struct Layers {
    width: KeyWidth,
    /// What each writer coded.
    arenas: Vec<Arena>,
    /// Of all layers, in order.
    stretches: ChargedVec<Stretch>,
    /// Just behind the stretches of each layer.
    layers: ChargedVec<usize>,
    /// The blocks of the layer that was closed last.
    current: ChargedVec<Place>,
}

/// The chunks of one writer; behind a lock since it writes while others read. Nobody waits for it: who codes reads nothing, and who reads only reads. No two share a cache
/// line, nor a pair of lines that are fetched together.
#[derive(Debug)]
#[repr(align(128))]
struct Arena {
    budget: Budget,
    chunks: RwLock<Vec<ChargedVec<u8>>>,
}

/// Blocks that follow one another in a chunk.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    first: Place,
    blocks: usize,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    arena: u32,
    chunk: u32,
    offset: usize,
}

/// Makes blocks of sorted records.
#[derive(Debug)]
pub(crate) struct LayerEncoder {
    width: KeyWidth,
    encoder: Encoder,
    bytes: Vec<u8>,
    _charge: fathom_disk::budget::Charge,
}

impl LayerEncoder {
    pub(crate) fn new(budget: &Budget, width: KeyWidth) -> Result<LayerEncoder, BudgetError> {
        let room = HEADER_BYTES + payload_bytes_max(width, BLOCK_KEYS);
        Ok(LayerEncoder {
            width,
            encoder: Encoder::new(budget, OWNER, width, BLOCK_KEYS)?,
            _charge: budget.charge(OWNER, room)?,
            bytes: Vec::with_capacity(room),
        })
    }

    /// Codes one block; it is there until the next one.
    fn block(&mut self, records: &[u64]) -> &[u8] {
        self.bytes.clear();
        self.bytes.resize(HEADER_BYTES, 0);
        self.encoder.encode(Codec::Gap, records, &mut self.bytes);
        let count = (records.len() / self.width.words()) as u16;
        let length = (self.bytes.len() - HEADER_BYTES) as u32;
        self.bytes[..2].copy_from_slice(&count.to_le_bytes());
        self.bytes[2..HEADER_BYTES].copy_from_slice(&length.to_le_bytes());
        &self.bytes
    }
}

impl Layers {
    /// Room for what so many writers code.
    pub(crate) fn new(budget: &Budget, width: KeyWidth, writers: usize) -> Result<Layers, BudgetError> {
        Ok(Layers {
            width,
            arenas: (0..writers)
                .map(|_| Arena { budget: budget.clone(), chunks: RwLock::default() })
                .collect(),
            stretches: ChargedVec::with_capacity(budget, OWNER, 0)?,
            layers: ChargedVec::with_capacity(budget, OWNER, 0)?,
            current: ChargedVec::with_capacity(budget, OWNER, 0)?,
        })
    }

    /// Codes sorted, distinct records, in a writer's chunks, and appends where their blocks are to `part`. They belong to no layer before they are
    /// [pushed](Layers::push).
    pub(crate) fn encode(
        &self,
        writer: usize,
        encoder: &mut LayerEncoder,
        records: &[u64],
        part: &mut ChargedVec<Place>,
    ) -> Result<(), BudgetError> {
        for block in records.chunks(BLOCK_KEYS * self.width.words()) {
            let (chunk, offset) = self.arenas[writer].append(encoder.block(block))?;
            part.push(Place { arena: writer as u32, chunk: chunk as u32, offset })?;
        }
        Ok(())
    }

    /// Adds a layer, given as parts in order.
    pub(crate) fn push<'a>(
        &mut self,
        parts: impl IntoIterator<Item = &'a [Place]>,
    ) -> Result<(), BudgetError> {
        self.current.clear();
        for part in parts {
            for blocks in part.chunk_by(|one, next| (one.arena, one.chunk) == (next.arena, next.chunk)) {
                self.stretches.push(Stretch { first: blocks[0], blocks: blocks.len() })?;
            }
            for place in part {
                self.current.push(*place)?;
            }
        }
        self.layers.push(self.stretches.len())
    }

    /// How many blocks the layer has that was closed last.
    pub(crate) fn current_blocks(&self) -> usize {
        self.current.len()
    }

    /// Decodes a block of the layer that was closed last.
    pub(crate) fn decode_current(&self, block: usize, decoder: &mut LayerDecoder) {
        let Place { arena, chunk, offset } = self.current[block];
        decoder.decode(&self.arenas[arena as usize].read()[chunk as usize][offset..]);
    }

    /// How many layers there are.
    pub(crate) fn count(&self) -> usize {
        self.layers.len()
    }

    /// How many blocks a layer has.
    pub(crate) fn blocks(&self, layer: usize) -> usize {
        self.stretches(layer).iter().map(|stretch| stretch.blocks).sum()
    }

    /// Visits the records of a layer in order.
    pub(crate) fn visit(&self, layer: usize, decoder: &mut LayerDecoder, visit: &mut dyn FnMut(Records<'_>)) {
        self.for_each(layer, |block| {
            decoder.decode(block);
            visit(decoder.records());
        });
    }

    /// Calls `visit` with each block of a layer: how many records, and their payload (gap code).
    pub(crate) fn for_each_block(&self, layer: usize, visit: &mut dyn FnMut(usize, &[u8])) {
        self.for_each(layer, |block| {
            let (records, length) = header(block).expect("a place is where a block begins");
            visit(records, &block[HEADER_BYTES..][..length]);
        });
    }

    fn stretches(&self, layer: usize) -> &[Stretch] {
        let begin = layer.checked_sub(1).map_or(0, |before| self.layers[before]);
        &self.stretches[begin..self.layers[layer]]
    }

    /// Calls `visit` with the bytes from each block of a layer on.
    fn for_each(&self, layer: usize, mut visit: impl FnMut(&[u8])) {
        for &Stretch { first: Place { arena, chunk, mut offset }, blocks } in self.stretches(layer) {
            let chunks = self.arenas[arena as usize].read();
            for _ in 0..blocks {
                let bytes = &chunks[chunk as usize][offset..];
                let (_, length) = header(bytes).expect("a stretch has as many blocks as it says");
                visit(bytes);
                offset += HEADER_BYTES + length;
            }
        }
    }

    /// The width of the records.
    pub(crate) fn width(&self) -> KeyWidth {
        self.width
    }
}

impl Arena {
    fn read(&self) -> RwLockReadGuard<'_, Vec<ChargedVec<u8>>> {
        self.chunks.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a block behind the others; says in which chunk, and where. Chunks never move, so nothing is copied when the space grows.
    fn append(&self, block: &[u8]) -> Result<(usize, usize), BudgetError> {
        let mut chunks = self.chunks.write().unwrap_or_else(PoisonError::into_inner);
        let fits = chunks.last().is_some_and(|chunk| chunk.len() + block.len() <= chunk.capacity());
        if !fits {
            let bytes =
                chunks.last().map_or(CHUNK_BYTES_MIN, |chunk| (chunk.capacity() * 2).min(CHUNK_BYTES_MAX));
            chunks.push(ChargedVec::with_capacity(&self.budget, OWNER, bytes.max(block.len()))?);
        }
        let last = chunks.len() - 1;
        let offset = chunks[last].len();
        chunks[last].extend(block)?;
        Ok((last, offset))
    }
}

/// Room for one decoded block.
#[derive(Debug)]
pub(crate) struct LayerDecoder {
    words: usize,
    decoder: Decoder,
    records: ChargedVec<u64>,
}

impl LayerDecoder {
    pub(crate) fn new(budget: &Budget, width: KeyWidth) -> Result<LayerDecoder, BudgetError> {
        let words = width.words();
        let records = ChargedVec::with_capacity(budget, OWNER, BLOCK_KEYS * words)?;
        Ok(LayerDecoder { words, decoder: Decoder::new(budget, OWNER, width)?, records })
    }

    /// The records of the block that was decoded last.
    pub(crate) fn records(&self) -> Records<'_> {
        Records::new(&self.records, self.words)
    }

    fn decode(&mut self, bytes: &[u8]) {
        let (records, length) = header(bytes).expect("a place is where a block begins");
        self.records.resize(records * self.words, 0).expect("there is room for the largest block");
        self.decoder
            .decode(Codec::Gap, &bytes[HEADER_BYTES..][..length], &mut self.records)
            .expect("nobody else writes these blocks");
    }
}

/// How many records a block has and how many bytes its payload; none at the end.
fn header(bytes: &[u8]) -> Option<(usize, usize)> {
    let (records, rest) = bytes.split_first_chunk::<2>()?;
    let length = rest.first_chunk::<4>()?;
    Some((usize::from(u16::from_le_bytes(*records)), u32::from_le_bytes(*length) as usize))
}

/// Serves the records of decoded blocks in pieces.
pub(crate) fn take_piece(decoder: &LayerDecoder, served: &mut usize, most: usize, batch: &mut RecordBuffer) {
    let records = decoder.records();
    let piece = records.skip((*served).min(records.len()));
    let piece = piece.take(piece.len().min(most));
    batch.append(piece);
    *served += piece.len();
}
