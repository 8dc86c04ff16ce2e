//! What holds a block or a page together, and says whether it is whole?

use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::error::DiskError;
use crate::sabotage::is_chosen;
use crate::storage::File;

/// Bytes before the payload.
pub(super) const FRAME_HEADER_BYTES: usize = 10;
/// The longest payload.
const PAYLOAD_BYTES_MAX: usize = (1 << 24) - 1;

/// A frame that has passed its checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    /// 0 for keys, 1 and up for fences.
    pub(super) level: u8,
    /// The number of the codec.
    pub(super) codec: u8,
    /// Keys or fences in it.
    pub(super) count: usize,
    pub(super) payload: &'a [u8],
}

/// Room for a header, to be filled by [`seal`] once the payload is there.
pub(super) fn begin(frame: &mut Vec<u8>) {
    frame.clear();
    frame.resize(FRAME_HEADER_BYTES, 0);
}

/// Fills in the header of a frame that will lie at `offset`.
pub(super) fn seal(frame: &mut [u8], offset: u64, level: u8, codec: u8, count: usize) {
    let payload = frame.len() - FRAME_HEADER_BYTES;
    assert!(payload <= PAYLOAD_BYTES_MAX && (1..=1 << 16).contains(&count) && level < 16);
    frame[4] = level << 4 | codec;
    frame[5..8].copy_from_slice(&(payload as u32).to_le_bytes()[..3]);
    frame[8..10].copy_from_slice(&((count - 1) as u16).to_le_bytes());
    let checksum = checksum(frame, offset);
    frame[..4].copy_from_slice(&checksum.to_le_bytes());
}

/// Length of the frame that starts with these bytes (at least a header), before anything about it is checked.
pub(super) fn length(header: &[u8]) -> usize {
    FRAME_HEADER_BYTES + u32::from_le_bytes([header[5], header[6], header[7], 0]) as usize
}

/// Checks that `bytes` are exactly the frame that was written at `offset`.
pub(super) fn check<'a>(file: &File, offset: u64, bytes: &'a [u8]) -> Result<Frame<'a>, DiskError> {
    if bytes.len() < FRAME_HEADER_BYTES || length(bytes) != bytes.len() {
        return Err(DiskError::corrupt(file, offset, "the length of a block does not fit"));
    }
    let stored = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    if checksum(bytes, offset) != stored && !is_chosen("checksum") {
        return Err(DiskError::corrupt(file, offset, "the checksum of a block does not fit"));
    }
    let count = usize::from(u16::from_le_bytes([bytes[8], bytes[9]])) + 1;
    Ok(Frame { level: bytes[4] >> 4, codec: bytes[4] & 15, count, payload: &bytes[FRAME_HEADER_BYTES..] })
}

fn checksum(frame: &[u8], offset: u64) -> u32 {
    xxh3_64_with_seed(&frame[4..], offset) as u32
}
