//! How are closed layers kept in RAM, so that they can be handed out and replayed?
//!
//! Sorted and gap-coded, in blocks of up to [`BLOCK_KEYS`] records, one layer behind the other:
//!
//! ```text
//! block   records : u16 | payload bytes : u32 | payload (gap code)
//! ```
//! Blocks lie in chunks that never move, so nothing is copied when the space grows. Memory: 1 to 2.5 bytes per state on real models, 24 bytes per layer, and
//! 16 bytes per block of the current layer.

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
    budget: Budget,
    chunks: Vec<ChargedVec<u8>>,
    layers: ChargedVec<Entry>,
    /// The blocks of the layer that was closed last.
    current: ChargedVec<Place>,
}

/// A layer: where its blocks begin, and how many there are.
#[derive(Clone, Copy, Debug)]
struct Entry {
    first: Place,
    blocks: usize,
}

/// Where a block lies.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    chunk: usize,
    offset: usize,
}

/// Makes blocks of sorted records.
#[derive(Debug)]
pub(crate) struct LayerEncoder {
    width: KeyWidth,
    encoder: Encoder,
    payload: Vec<u8>,
    _charge: fathom_disk::budget::Charge,
}

impl LayerEncoder {
    pub(crate) fn new(budget: &Budget, width: KeyWidth) -> Result<LayerEncoder, BudgetError> {
        let room = payload_bytes_max(width, BLOCK_KEYS);
        Ok(LayerEncoder {
            width,
            encoder: Encoder::new(budget, OWNER, width, BLOCK_KEYS)?,
            _charge: budget.charge(OWNER, room)?,
            payload: Vec::with_capacity(room),
        })
    }

    /// Appends the blocks of sorted, distinct records.
    pub(crate) fn encode(&mut self, records: &[u64], out: &mut ChargedVec<u8>) -> Result<(), BudgetError> {
        let words = self.width.words();
        for block in records.chunks(BLOCK_KEYS * words) {
            self.payload.clear();
            self.encoder.encode(Codec::Gap, block, &mut self.payload);
            let needed = HEADER_BYTES + self.payload.len();
            if out.len() + needed > out.capacity() {
                out.reserve(needed.max(out.len()))?;
            }
            out.extend(&((block.len() / words) as u16).to_le_bytes())?;
            out.extend(&(self.payload.len() as u32).to_le_bytes())?;
            out.extend(&self.payload)?;
        }
        Ok(())
    }
}

impl Layers {
    pub(crate) fn new(budget: &Budget, width: KeyWidth) -> Result<Layers, BudgetError> {
        Ok(Layers {
            width,
            budget: budget.clone(),
            chunks: Vec::new(),
            layers: ChargedVec::with_capacity(budget, OWNER, 0)?,
            current: ChargedVec::with_capacity(budget, OWNER, 0)?,
        })
    }

    /// Adds a layer, given as encoded parts in order.
    pub(crate) fn push<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<(), BudgetError> {
        self.current.clear();
        for part in parts {
            let mut rest = part;
            while let Some((_, length)) = header(rest) {
                let (block, behind) = rest.split_at(HEADER_BYTES + length);
                let place = self.append(block)?;
                self.current.push(place)?;
                rest = behind;
            }
        }
        let first = self.current.first().copied().unwrap_or_default();
        self.layers.push(Entry { first, blocks: self.current.len() })
    }

    /// How many blocks the layer has that was closed last.
    pub(crate) fn current_blocks(&self) -> usize {
        self.current.len()
    }

    /// Decodes a block of the layer that was closed last.
    pub(crate) fn decode_current(&self, block: usize, decoder: &mut LayerDecoder) {
        let Place { chunk, offset } = self.current[block];
        decoder.decode(&self.chunks[chunk][offset..]);
    }

    /// How many layers there are.
    pub(crate) fn count(&self) -> usize {
        self.layers.len()
    }

    /// Where a layer begins, and how many blocks it has.
    pub(crate) fn begin(&self, layer: usize) -> (Place, usize) {
        let Entry { first, blocks } = self.layers[layer];
        (first, blocks)
    }

    /// Decodes a block; says where the next one of its layer is.
    pub(crate) fn decode(&self, place: Place, decoder: &mut LayerDecoder) -> Place {
        let (bytes, next) = self.block(place);
        decoder.decode(bytes);
        next
    }

    /// Visits the records of a layer in order.
    pub(crate) fn visit(&self, layer: usize, decoder: &mut LayerDecoder, visit: &mut dyn FnMut(Records<'_>)) {
        let (mut place, blocks) = self.begin(layer);
        for _ in 0..blocks {
            place = self.decode(place, decoder);
            visit(decoder.records());
        }
    }

    /// Calls `visit` with each block of a layer: how many records, and their payload (gap code).
    pub(crate) fn for_each_block(&self, layer: usize, visit: &mut dyn FnMut(usize, &[u8])) {
        let (mut place, blocks) = self.begin(layer);
        for _ in 0..blocks {
            let (bytes, next) = self.block(place);
            let (records, length) = header(bytes).expect("a place is where a block begins");
            visit(records, &bytes[HEADER_BYTES..][..length]);
            place = next;
        }
    }

    /// The bytes from a block on, and where the next one is.
    fn block(&self, place: Place) -> (&[u8], Place) {
        let Place { mut chunk, mut offset } = place;
        if offset == self.chunks[chunk].len() {
            (chunk, offset) = (chunk + 1, 0);
        }
        let bytes = &self.chunks[chunk][offset..];
        let (_, length) = header(bytes).expect("a layer has as many blocks as it says");
        (bytes, Place { chunk, offset: offset + HEADER_BYTES + length })
    }

    fn append(&mut self, block: &[u8]) -> Result<Place, BudgetError> {
        let fits = self.chunks.last().is_some_and(|chunk| chunk.len() + block.len() <= chunk.capacity());
        if !fits {
            let bytes = self
                .chunks
                .last()
                .map_or(CHUNK_BYTES_MIN, |chunk| (chunk.capacity() * 2).min(CHUNK_BYTES_MAX));
            self.chunks.push(ChargedVec::with_capacity(&self.budget, OWNER, bytes.max(block.len()))?);
        }
        let last = self.chunks.len() - 1;
        let offset = self.chunks[last].len();
        self.chunks[last].extend(block)?;
        Ok(Place { chunk: last, offset })
    }

    /// The width of the records.
    pub(crate) fn width(&self) -> KeyWidth {
        self.width
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
