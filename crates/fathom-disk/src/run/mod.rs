//! How does a sorted set of keys lie in one file, so that any key in it is found with one read?
//!
//! `header · frames · footer`; see "Runs" in the format document. [`writer`] builds a run from ascending keys, [`scan`]
//! gives them back in order, [`probe`] and [`sweep`] find out which of many keys are there. A run never changes. It may have a [value](crate::value) beside each key, in
//! the key's block.

mod block;
mod bounds;
mod fence;
mod forward;
mod frame;
pub mod pieces;
pub mod probe;
pub mod scan;
pub mod sweep;
pub mod writer;

use xxhash_rust::xxh3::xxh3_64;

use crate::budget::{Budget, ChargedVec};
use crate::codec::{self, Codec, Malformed, packed_bytes_max, payload_bytes_max};
use crate::error::DiskError;
use crate::key::KeyWidth;
use crate::storage::{AlignedBuffer, File, FileKind, Volume};
use crate::value::ValueWidth;

pub use probe::{ProbeConfig, ProbeCounts, Prober};
pub use scan::Scan;
pub use sweep::Sweep;
pub use writer::RunWriter;

use fence::ResidentFences;

/// What the keys of a run mean: a hash of model and record layout. Runs of another tag are refused.
pub type Tag = [u8; 16];

/// How a run is to be written.
#[derive(Clone, Debug)]
pub struct RunConfig {
    /// Bits per key.
    pub width: KeyWidth,
    /// Bits of the value beside each key, if there are values.
    pub values: Option<ValueWidth>,
    /// What the keys mean.
    pub tag: Tag,
    /// Keys per block at most, 1 to 32 768.
    pub keys_per_block: usize,
    /// Entries per fence page at most, 2 to 4096.
    pub fences_per_page: usize,
    /// Codecs to choose among, by trying; at least one.
    pub codecs: &'static [Codec],
    /// Bytes gathered before they are written.
    pub buffer_bytes: usize,
    /// A run of at most so many bytes stays in memory, if there is as much, and is written when that is needed.
    pub hold_bytes: usize,
    /// What must stay free of the budget beside it.
    pub hold_leaves: usize,
    /// What the file holds, for the counters.
    pub kind: FileKind,
}

/// A run that is open for reading. Holds its root page (a few KiB), and more fences if asked to.
#[derive(Debug)]
pub struct Run {
    file: File,
    width: KeyWidth,
    values: Option<ValueWidth>,
    tag: Tag,
    footer: Footer,
    keys_per_block: usize,
    fences_per_page: usize,
    bytes: u64,
    root: ChargedVec<u8>,
    ends: ChargedVec<u64>,
    resident: Option<ResidentFences>,
}

/// What the end of a run says about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Footer {
    keys: u64,
    blocks: u64,
    root_offset: u64,
    root_bytes: u32,
    root_level: u32,
    frame_bytes_max: u32,
    raw_bytes_max: u32,
    group_keys_max: u32,
    header_checksum: u64,
}

const HEADER_MAGIC: &[u8; 8] = b"FATHRUN1";
const FOOTER_MAGIC: &[u8; 8] = b"FATHEND1";
const VERSION: u32 = 4;
/// Of runs with values, so that who does not know values refuses them.
const VERSION_WITH_VALUES: u32 = 5;
const HEADER_BYTES: usize = 64;
const HEADER_CHECKED: usize = 56;
const FOOTER_FIXED: usize = 52;

/// The most keys of a block.
pub const KEYS_PER_BLOCK_MAX: usize = 1 << 15;
/// The most entries of a fence page.
pub const FENCES_PER_PAGE_MAX: usize = 4096;

impl RunConfig {
    /// For layers and young tiers: blocks of 1024 keys that decode fast. Measured on recorded state sets, tokens under lz4 in
    /// such blocks are smaller than gap bytes in blocks of 256, and decode in less than half the time per key.
    pub fn live(width: KeyWidth, tag: Tag) -> Self {
        let keys_per_block = (1 << 16) / (width.words() * 8);
        Self {
            width,
            values: None,
            tag,
            keys_per_block: keys_per_block.clamp(1, 1024),
            fences_per_page: 256,
            codecs: &[Codec::TokenLz4, Codec::Gap],
            buffer_bytes: 256 << 10,
            hold_bytes: 0,
            hold_leaves: 0,
            kind: FileKind::RUN,
        }
    }

    /// For the oldest tier and the final set: larger blocks, compressed by whatever suits the data.
    pub fn at_rest(width: KeyWidth, tag: Tag) -> Self {
        let keys_per_block = (1 << 18) / (width.words() * 8);
        let codecs = &[Codec::TokenZstd, Codec::ColumnsZstd, Codec::GapZstd];
        Self { keys_per_block: keys_per_block.clamp(1, 8192), codecs, ..Self::live(width, tag) }
    }

    /// For a set that is kept and hardly ever asked: blocks of 32 768 keys, a fifth smaller again. Writing takes about 2 MiB.
    pub fn archived(width: KeyWidth, tag: Tag) -> Self {
        let keys_per_block = (1 << 20) / (width.words() * 8);
        Self { keys_per_block: keys_per_block.clamp(1, KEYS_PER_BLOCK_MAX), ..Self::at_rest(width, tag) }
    }

    /// The smallest form of a set that is kept which can be written within about `bytes` of memory.
    pub fn resting_within(width: KeyWidth, tag: Tag, bytes: usize) -> Self {
        // The block and its gaps, and four forms of it: as coded, compressed, as a frame, and a rival's frame.
        let each = 16 + width.words() * 8 + 4 * (width.words() * 8 + 2);
        let fits = |config: &Self| config.keys_per_block * each + config.buffer_bytes + (320 << 10) <= bytes;
        [Self::archived(width, tag), Self::at_rest(width, tag)]
            .into_iter()
            .find(fits)
            .unwrap_or_else(|| Self::within(width, tag, bytes / 2))
    }

    /// For the smallest budgets: blocks of about `block_bytes` of keys, pages of a few fences, no compressor.
    pub fn tiny(width: KeyWidth, tag: Tag, block_bytes: usize) -> Self {
        let keys_per_block = (block_bytes / (width.words() * 8)).clamp(1, 256);
        let codecs = &[Codec::Gap];
        Self {
            keys_per_block,
            fences_per_page: 4,
            codecs,
            buffer_bytes: block_bytes,
            ..Self::live(width, tag)
        }
    }

    /// The same with a value beside each key.
    pub fn with_values(self, values: ValueWidth) -> Self {
        Self { values: Some(values), ..self }
    }

    /// What a run of this form takes at most that is open: its root, its ends and its footer.
    pub fn open_bytes(&self) -> usize {
        fence::page_bytes_max(self.width, self.fences_per_page)
            + footer_bytes(self.width)
            + self.width.words() * 16
    }

    /// What asking such a run, or going through it, takes at most beside what it is read into: a block and a frame, as they are coded and decoded, and a page.
    pub fn reading_bytes(&self) -> usize {
        let block = self.keys_per_block * self.width.words() * 8 + self.values_bytes_max() * 2;
        let fences = 2 * self.fences_per_page * fence_bytes(self.width);
        if !self.codecs.iter().any(|codec| codec.compresses()) {
            return block + payload_bytes_max(self.width, self.keys_per_block) + fences;
        }
        // With the first keys of groups and the names of tokens.
        block + block / 8 + 2 * packed_bytes_max(self.width, self.keys_per_block) + fences + (2 << 10)
    }

    /// What the values of a block take at most, coded or not.
    fn values_bytes_max(&self) -> usize {
        self.values.map_or(0, |values| {
            codec::values::bytes_max(values, self.keys_per_block).max(self.keys_per_block * 8)
        })
    }

    /// The least memory with which live blocks are written.
    pub fn live_bytes(width: KeyWidth) -> usize {
        // A writer holds the block, its gaps and counts, the frame, and a page of fences per level.
        2 * Self::live(width, Tag::default()).keys_per_block * (width.words() * 8 + 64)
    }

    /// What suits writing within about `bytes` of memory: live blocks where they fit, smaller ones where not.
    pub fn within(width: KeyWidth, tag: Tag, bytes: usize) -> Self {
        // A page of fences for each level is held, and the root of every run.
        let fences_per_page = (bytes / 8 / fence_bytes(width)).clamp(4, 256);
        let live = Self { fences_per_page, ..Self::live(width, tag) };
        if bytes >= Self::live_bytes(width) {
            return Self { buffer_bytes: (bytes / 4).clamp(4096, 1 << 20) & !4095, ..live };
        }
        if bytes >= 64 << 10 {
            let keys_per_block = ((1 << 15) / (width.words() * 8)).clamp(1, 256);
            return Self { keys_per_block, codecs: &[Codec::Gap], buffer_bytes: (bytes / 4) & !4095, ..live };
        }
        Self::tiny(width, tag, (bytes / 32).max(64))
    }
}

impl Run {
    /// Opens a run of keys of `width` that mean `tag`. Three reads (end, root, header); every byte read is checked.
    pub fn open(
        volume: &Volume,
        budget: &Budget,
        name: &str,
        width: KeyWidth,
        tag: Tag,
    ) -> Result<Self, DiskError> {
        Run::of(volume.open(name, FileKind::RUN)?, budget, (width, None), tag)
    }

    /// The same for a run with values of a width beside the keys.
    pub fn open_with_values(
        volume: &Volume,
        budget: &Budget,
        name: &str,
        (width, values): (KeyWidth, ValueWidth),
        tag: Tag,
    ) -> Result<Self, DiskError> {
        Run::of(volume.open(name, FileKind::RUN)?, budget, (width, Some(values)), tag)
    }

    /// The run in a file.
    fn of(
        file: File,
        budget: &Budget,
        (width, values): (KeyWidth, Option<ValueWidth>),
        tag: Tag,
    ) -> Result<Self, DiskError> {
        let mut header = [0; HEADER_BYTES];
        file.read_exact(0, &mut header)?;
        let (keys_per_block, fences_per_page) = check_header(&file, &header, (width, values), tag)?;
        let size = file.size()?;
        let footer_bytes = footer_bytes(width);
        let footer_offset = size
            .checked_sub(footer_bytes as u64)
            .filter(|&offset| offset >= HEADER_BYTES as u64)
            .ok_or_else(|| DiskError::corrupt(&file, size, "the file is too short"))?;
        let mut tail = ChargedVec::with_capacity(budget, "run footer", footer_bytes)?;
        tail.resize(footer_bytes, 0)?;
        file.read_exact(footer_offset, &mut tail)?;
        let (footer, keys) = Footer::parse(&file, footer_offset, &tail)?;
        if footer.header_checksum != u64_at(&header, HEADER_CHECKED) {
            return Err(DiskError::corrupt(&file, footer_offset, "header and footer do not belong together"));
        }
        let mut ends = ChargedVec::with_capacity(budget, "run ends", width.words() * 2)?;
        for bytes in keys.chunks_exact(8) {
            ends.push(u64_at(bytes, 0))?;
        }
        let mut root = ChargedVec::with_capacity(budget, "run root", footer.root_bytes as usize)?;
        root.resize(footer.root_bytes as usize, 0)?;
        if footer.keys > 0 {
            file.read_exact(footer.root_offset, &mut root)?;
            frame::check(&file, footer.root_offset, &root)?;
        }
        Ok(Self {
            file,
            width,
            values,
            tag,
            footer,
            keys_per_block,
            fences_per_page,
            bytes: size,
            root,
            ends,
            resident: None,
        })
    }

    /// Keeps fence pages below the root in memory too, upper levels first, as far as the budget allows. One read per
    /// page. Returns how many pages are held now.
    pub fn load_fences(&mut self, budget: &Budget) -> Result<usize, DiskError> {
        let resident = ResidentFences::load(self, budget)?;
        let pages = resident.pages();
        self.resident = Some(resident);
        Ok(pages)
    }

    /// Keeps the whole run in memory, as it is on disk: look-ups in it cost no operation. One read.
    pub fn keep_in_memory(&self, budget: &Budget) -> Result<(), DiskError> {
        let bytes = usize::try_from(self.bytes).unwrap_or(usize::MAX);
        Ok(self.file.keep_in_memory(AlignedBuffer::new(budget, "runs in memory", bytes)?)?)
    }

    /// Gives that memory back. What was in memory alone is written.
    pub fn forget_in_memory(&self) -> Result<(), DiskError> {
        Ok(self.file.forget_in_memory()?)
    }

    /// Makes the content last; what was in memory alone is written. The name lasts after [`Volume::sync_directory`].
    pub fn sync(&self) -> Result<(), DiskError> {
        Ok(self.file.sync()?)
    }

    /// Whether the whole run is in memory.
    pub fn is_kept_in_memory(&self) -> bool {
        self.file.is_kept_in_memory()
    }

    /// Whether fence pages below the root are in memory.
    pub fn has_fences(&self) -> bool {
        self.resident.is_some()
    }

    /// Number of keys.
    pub fn count(&self) -> u64 {
        self.footer.keys
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.footer.blocks
    }

    /// Least key, if there is one.
    pub fn first(&self) -> Option<&[u64]> {
        (self.footer.keys > 0).then(|| &self.ends[..self.width.words()])
    }

    /// Greatest key, if there is one.
    pub fn last(&self) -> Option<&[u64]> {
        (self.footer.keys > 0).then(|| &self.ends[self.width.words()..])
    }

    /// Bits per key.
    pub fn width(&self) -> KeyWidth {
        self.width
    }

    /// Bits of the value beside each key, if there are values.
    pub fn values(&self) -> Option<ValueWidth> {
        self.values
    }

    /// What the keys mean.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        self.file.name()
    }

    /// Bytes in the file.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The largest frame, in bytes: what a reader must have room for.
    pub fn frame_bytes_max(&self) -> usize {
        self.footer.frame_bytes_max as usize
    }

    /// The most keys of one block of this run.
    pub fn block_keys_max(&self) -> usize {
        self.keys_per_block.min(usize::try_from(self.footer.keys).unwrap_or(usize::MAX))
    }

    /// The most keys of one block of this run that are decoded at once.
    pub fn group_keys_max(&self) -> usize {
        (self.footer.group_keys_max as usize).min(self.block_keys_max())
    }

    /// The most keys that a [`Scan`] of this run holds.
    pub fn scan_keys_max(&self) -> usize {
        self.group_keys_max().max(scan::SPAN_KEYS.min(self.block_keys_max()))
    }

    /// The most bytes of one block of this run before it was compressed, 0 if none was.
    pub fn coded_bytes_max(&self) -> usize {
        self.footer.raw_bytes_max as usize
    }

    /// The code of the values of a block of `count` keys, empty if there are none, and that of its keys.
    fn split_values<'a>(&self, payload: &'a [u8], count: usize) -> Result<(&'a [u8], &'a [u8]), Malformed> {
        self.values.map_or(Ok((&[], payload)), |values| codec::values::split(values, payload, count))
    }

    /// No page of fences of this run is longer.
    fn page_bytes_max(&self) -> usize {
        let page = frame::FRAME_HEADER_BYTES + fence::page_bytes_max(self.width, self.fences_per_page);
        page.min(self.frame_bytes_max())
    }

    fn footer_offset(&self) -> u64 {
        self.bytes - footer_bytes(self.width) as u64
    }
}

impl Footer {
    fn parse<'a>(file: &File, offset: u64, bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DiskError> {
        let checked = bytes.len() - 8;
        if xxh3_64(&bytes[..checked]) != u64_at(bytes, checked) {
            return Err(DiskError::corrupt(file, offset, "the footer's checksum does not fit"));
        }
        if &bytes[checked - 8..checked] != FOOTER_MAGIC {
            return Err(DiskError::corrupt(file, offset, "this is not the footer of a run"));
        }
        let footer = Self {
            keys: u64_at(bytes, 0),
            blocks: u64_at(bytes, 8),
            root_offset: u64_at(bytes, 16),
            root_bytes: u32_at(bytes, 24),
            root_level: u32_at(bytes, 28),
            frame_bytes_max: u32_at(bytes, 32),
            raw_bytes_max: u32_at(bytes, 36),
            group_keys_max: u32_at(bytes, 40),
            header_checksum: u64_at(bytes, 44),
        };
        Ok((footer, &bytes[FOOTER_FIXED..checked - 8]))
    }

    fn to_bytes(self, first: &[u64], last: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FOOTER_FIXED + first.len() * 16 + 16);
        bytes.extend_from_slice(&self.keys.to_le_bytes());
        bytes.extend_from_slice(&self.blocks.to_le_bytes());
        bytes.extend_from_slice(&self.root_offset.to_le_bytes());
        bytes.extend_from_slice(&self.root_bytes.to_le_bytes());
        bytes.extend_from_slice(&self.root_level.to_le_bytes());
        bytes.extend_from_slice(&self.frame_bytes_max.to_le_bytes());
        bytes.extend_from_slice(&self.raw_bytes_max.to_le_bytes());
        bytes.extend_from_slice(&self.group_keys_max.to_le_bytes());
        bytes.extend_from_slice(&self.header_checksum.to_le_bytes());
        for word in first.iter().chain(last) {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(FOOTER_MAGIC);
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }
}

/// What an entry of a page takes while it is written or asked.
fn fence_bytes(width: KeyWidth) -> usize {
    width.words() * 8 + size_of::<fence::Place>()
}

fn footer_bytes(width: KeyWidth) -> usize {
    FOOTER_FIXED + width.words() * 16 + 16
}

fn header_bytes(config: &RunConfig) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(HEADER_MAGIC);
    let version = if config.values.is_some() { VERSION_WITH_VALUES } else { VERSION };
    header[8..12].copy_from_slice(&version.to_le_bytes());
    header[12..16].copy_from_slice(&config.width.bits().to_le_bytes());
    header[16..32].copy_from_slice(&config.tag);
    header[32..36].copy_from_slice(&(config.keys_per_block as u32).to_le_bytes());
    header[36..40].copy_from_slice(&(config.fences_per_page as u32).to_le_bytes());
    header[40..44].copy_from_slice(&config.values.map_or(0, ValueWidth::bits).to_le_bytes());
    let checksum = xxh3_64(&header[..HEADER_CHECKED]);
    header[HEADER_CHECKED..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Checks a header and gives keys per block and fences per page.
fn check_header(
    file: &File,
    header: &[u8; HEADER_BYTES],
    (width, values): (KeyWidth, Option<ValueWidth>),
    tag: Tag,
) -> Result<(usize, usize), DiskError> {
    let mismatch = |what: String| DiskError::Mismatch { file: file.name().to_owned(), what };
    if &header[..8] != HEADER_MAGIC {
        return Err(DiskError::corrupt(file, 0, "this is not a run"));
    }
    if xxh3_64(&header[..HEADER_CHECKED]) != u64_at(header, HEADER_CHECKED) {
        return Err(DiskError::corrupt(file, 0, "the header's checksum does not fit"));
    }
    let (version, bits, value_bits) = (u32_at(header, 8), u32_at(header, 12), u32_at(header, 40));
    if ![VERSION, VERSION_WITH_VALUES].contains(&version) {
        return Err(mismatch(format!(
            "written in version {version} of the format, this build reads {VERSION} and {VERSION_WITH_VALUES}"
        )));
    }
    if bits != width.bits() {
        return Err(mismatch(format!("keys of {bits} bits, expected {}", width.bits())));
    }
    let expected = values.map_or(0, ValueWidth::bits);
    if value_bits != expected {
        return Err(mismatch(format!("values of {value_bits} bits beside the keys, expected {expected}")));
    }
    if header[16..32] != tag {
        return Err(mismatch("written for another model or record layout".to_owned()));
    }
    let (keys, fences) = (u32_at(header, 32) as usize, u32_at(header, 36) as usize);
    if !(1..=KEYS_PER_BLOCK_MAX).contains(&keys) || !(2..=FENCES_PER_PAGE_MAX).contains(&fences) {
        return Err(DiskError::corrupt(file, 32, "block and page sizes are out of range"));
    }
    Ok((keys, fences))
}

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
