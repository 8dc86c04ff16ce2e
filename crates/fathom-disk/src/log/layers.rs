//! Layers of a search one after another in one file, with a table of where each begins.
//!
//! Two logs: records, and for each closed layer three words: the block and slot where it begins, and its count. A search
//! with tens of thousands of small layers thus has two files and no sync per layer.

use super::Mark;
use super::records::{LogReader, Position, RecordLog};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::storage::{FileKind, Role, Volume};

const RECORDS: FileKind = FileKind::new("layer log", Role::Bulk);
const OFFSETS: FileKind = FileKind::new("layer offsets", Role::Bulk);
const OFFSET_WORDS: usize = 3;

/// Append-only layers of records. RAM: two blocks, and two for each reader. I/O: one block per block's worth of records.
#[derive(Debug)]
pub struct LayerLog {
    records: RecordLog,
    offsets: RecordLog,
    /// Where the open layer begins, and how many records it has.
    open: (Position, u64),
}

/// Reads one closed layer after another, in any order of layers.
#[derive(Debug)]
pub struct LayerReader {
    offsets: LogReader,
    records: LogReader,
    /// Records of the layer that were not read yet.
    left: u64,
}

impl LayerLog {
    /// An empty log in the files `name` and `name.offsets`.
    pub fn new(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        budget: &Budget,
    ) -> Result<LayerLog, DiskError> {
        let records = RecordLog::new(volume, name, RECORDS, words, block_bytes, budget)?;
        let offsets =
            RecordLog::new(volume, &offsets_name(name), OFFSETS, OFFSET_WORDS, block_bytes, budget)?;
        Ok(LayerLog { records, offsets, open: (Position::default(), 0) })
    }

    /// The log as it stood at a mark, which only closed layers survive.
    pub fn resume(
        volume: &Volume,
        name: &str,
        words: usize,
        block_bytes: usize,
        mark: Mark,
        budget: &Budget,
    ) -> Result<LayerLog, DiskError> {
        let [blocks, count, offset_blocks, offset_count, ..] = mark.0;
        let half = |blocks, count| Mark([blocks, count, 0, 0, 0, 0]);
        let records =
            RecordLog::resume(volume, name, RECORDS, words, block_bytes, half(blocks, count), budget)?;
        let names = offsets_name(name);
        let offsets_mark = half(offset_blocks, offset_count);
        let offsets =
            RecordLog::resume(volume, &names, OFFSETS, OFFSET_WORDS, block_bytes, offsets_mark, budget)?;
        let open = (records.end(), 0);
        Ok(LayerLog { records, offsets, open })
    }

    /// Closed layers.
    pub fn layer_count(&self) -> u64 {
        self.offsets.len()
    }

    /// Records in all layers, the open one included.
    pub fn len(&self) -> u64 {
        self.records.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends records, which lie one behind the other, to the open layer.
    pub fn append(&mut self, records: &[u64]) -> Result<(), DiskError> {
        let before = self.records.len();
        let outcome = self.records.append(records);
        self.open.1 += self.records.len() - before;
        outcome
    }

    /// Closes the open layer, which may be empty, and gives its number.
    pub fn close_layer(&mut self) -> Result<u64, DiskError> {
        let (begin, count) = self.open;
        self.offsets.append(&[begin.block, begin.slot, count])?;
        self.open = (self.records.end(), 0);
        Ok(self.layer_count() - 1)
    }

    /// A reader of closed layers, at the end of none. RAM: a block of records and one of offsets.
    pub fn reader(&self, budget: &Budget) -> Result<LayerReader, DiskError> {
        let offsets = self.offsets.reader(Position::default(), budget)?;
        let records = self.records.reader(Position::default(), budget)?;
        Ok(LayerReader { offsets, records, left: 0 })
    }

    /// Calls `visit` with every record of a closed layer in order. RAM: a block of records and one of offsets.
    pub fn read_layer(
        &self,
        layer: u64,
        budget: &Budget,
        mut visit: impl FnMut(&[u64]) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let mut reader = self.reader(budget)?;
        reader.open(self, layer)?;
        let mut record = vec![0; self.records.words()];
        while reader.next(self, &mut record)? {
            visit(&record)?;
        }
        Ok(())
    }

    /// Writes what is in RAM, syncs both files, and says how the log stands. The open layer must be empty: a layer that was
    /// not closed would be lost, so it is refused.
    pub fn mark(&mut self) -> Result<Mark, DiskError> {
        assert_eq!(self.open.1, 0, "a mark is made between layers");
        let Mark([blocks, count, ..]) = self.records.mark()?;
        let Mark([offset_blocks, offset_count, ..]) = self.offsets.mark()?;
        self.open = (self.records.end(), 0);
        Ok(Mark([blocks, count, offset_blocks, offset_count, 0, 0]))
    }

    /// The names of the files that are there.
    pub fn file_names(&self) -> impl Iterator<Item = &str> {
        [&self.records, &self.offsets].into_iter().filter_map(RecordLog::file_name)
    }

    /// Bytes on disk.
    pub fn disk_bytes(&self) -> u64 {
        self.records.disk_bytes() + self.offsets.disk_bytes()
    }

    /// Removes both files.
    pub fn remove(self) -> Result<(), DiskError> {
        self.records.remove()?;
        self.offsets.remove()
    }
}

impl LayerReader {
    /// Goes to the beginning of a closed layer. A few block reads, none if the layer's entry is in the block at hand.
    pub fn open(&mut self, log: &LayerLog, layer: u64) -> Result<(), DiskError> {
        let mut offset = [0; OFFSET_WORDS];
        let at = log.offsets.find(layer, &mut self.offsets)?;
        self.offsets.seek(at);
        if layer >= log.layer_count() || !self.offsets.next(&log.offsets, &mut offset)? {
            let what = format!("layer {layer} is asked for, but there are {}", log.layer_count());
            return Err(DiskError::Mismatch { file: "layer log".to_owned(), what });
        }
        let [block, slot, count] = offset;
        self.records.seek(Position { block, slot });
        self.left = count;
        Ok(())
    }

    /// Records of the layer that are still to come.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Copies the next record of the layer; false at its end.
    pub fn next(&mut self, log: &LayerLog, record: &mut [u64]) -> Result<bool, DiskError> {
        Ok(self.next_some(log, &mut record[..log.records.words()])? == 1)
    }

    /// Copies the next records of the layer, as many as fit and a block has, and says how many; none at its end.
    pub fn next_some(&mut self, log: &LayerLog, records: &mut [u64]) -> Result<usize, DiskError> {
        let words = log.records.words();
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(records.len() / words);
        if most == 0 {
            return Ok(0);
        }
        let count = self.records.next_some(&log.records, &mut records[..most * words])?;
        if count == 0 {
            let what = "a layer ends too early".to_owned();
            return Err(DiskError::Mismatch { file: "layer log".to_owned(), what });
        }
        self.left -= count as u64;
        Ok(count)
    }
}

fn offsets_name(name: &str) -> String {
    format!("{name}.offsets")
}
