//! How is a filter written to a file and read back, with a checksum?
//!
//! A header of [`HEADER_BYTES`], the payload, and 8 bytes of XXH3 over both: see `docs/src/format-structures.md`.

use crate::error::DiskError;
use crate::hash::HASH_VERSION;
use crate::storage::File;
use xxhash_rust::xxh3::Xxh3;

const MAGIC: [u8; 8] = *b"FTHMFLTR";
const VERSION: u32 = 1;
const PARAMETERS: usize = 5;
const PARAMETERS_AT: usize = 24;
/// Bytes before the payload.
pub(super) const HEADER_BYTES: usize = PARAMETERS_AT + 8 * PARAMETERS;

/// What a stored filter says of itself: its kind, numbers that its kind explains, and the bytes of its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u32,
    pub(super) parameters: [u64; PARAMETERS],
    pub(super) payload_bytes: u64,
}

/// Writes a filter at `offset`; gives the offset behind it. Three operations; lasts when the file is synced.
pub(super) fn write(file: &File, offset: u64, header: Header, payload: &[u8]) -> Result<u64, DiskError> {
    let head = encode(header);
    let mut checksum = Xxh3::new();
    checksum.update(&head);
    checksum.update(payload);
    file.write(offset, &head)?;
    let payload_at = offset + head.len() as u64;
    file.write(payload_at, payload)?;
    let checksum_at = payload_at + payload.len() as u64;
    file.write(checksum_at, &checksum.digest().to_le_bytes())?;
    Ok(checksum_at + 8)
}

/// Reads the header of a filter of this kind at `offset`; its checksum is tested by [`read_payload`].
pub(super) fn read_header(file: &File, offset: u64, kind: u32) -> Result<Header, DiskError> {
    let mut head = [0; HEADER_BYTES];
    file.read_exact(offset, &mut head)?;
    if head[..8] != MAGIC {
        return Err(DiskError::corrupt(file, offset, "not a filter"));
    }
    let word = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    if word(8) != VERSION || word(12) != HASH_VERSION || word(16) != kind {
        let what = "a filter of another version or kind; it must be built again".to_owned();
        return Err(DiskError::Mismatch { file: file.name().to_owned(), what });
    }
    if word(20) != 0 {
        return Err(DiskError::corrupt(file, offset, "reserved bytes of a filter are not zero"));
    }
    let long = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().expect("eight bytes"));
    let parameters = std::array::from_fn(|i| long(PARAMETERS_AT + 8 * i));
    let payload_bytes = parameters[PARAMETERS - 1];
    let size = file.size()?;
    if payload_bytes > size.saturating_sub(offset + HEADER_BYTES as u64 + 8) {
        return Err(DiskError::corrupt(file, offset, "a filter longer than its file"));
    }
    Ok(Header { kind, parameters, payload_bytes })
}

/// Reads the payload of a filter at `offset` and tests the checksum; gives the offset behind it.
pub(super) fn read_payload(
    file: &File,
    offset: u64,
    header: Header,
    payload: &mut [u8],
) -> Result<u64, DiskError> {
    let payload_at = offset + HEADER_BYTES as u64;
    file.read_exact(payload_at, payload)?;
    let checksum_at = payload_at + payload.len() as u64;
    let mut stored = [0; 8];
    file.read_exact(checksum_at, &mut stored)?;
    let mut checksum = Xxh3::new();
    checksum.update(&encode(header));
    checksum.update(payload);
    if checksum.digest().to_le_bytes() != stored {
        return Err(DiskError::corrupt(file, offset, "the checksum of a filter is wrong"));
    }
    Ok(checksum_at + 8)
}

fn encode(header: Header) -> [u8; HEADER_BYTES] {
    let mut head = [0; HEADER_BYTES];
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&HASH_VERSION.to_le_bytes());
    head[16..20].copy_from_slice(&header.kind.to_le_bytes());
    for (i, parameter) in header.parameters.iter().enumerate() {
        head[PARAMETERS_AT + 8 * i..PARAMETERS_AT + 8 * (i + 1)].copy_from_slice(&parameter.to_le_bytes());
    }
    let length_at = PARAMETERS_AT + 8 * (PARAMETERS - 1);
    head[length_at..].copy_from_slice(&header.payload_bytes.to_le_bytes());
    head
}
