//! Layers of a search one after another in one file, with a table of where each begins.
//!
//! Two logs: records, and for each closed layer three words: the block and slot where it begins, and its count. A search
//! with tens of thousands of small layers thus has two files and no sync per layer.

use super::Mark;
use super::records::{LogReader, Position, RecordLog};
use crate::budget::Budget;
use crate::error::DiskError;
use crate::storage::{FileKind, Volume};

const RECORDS: FileKind = FileKind("layer log");
const OFFSETS: FileKind = FileKind("layer offsets");
const OFFSET_WORDS: usize = 3;

/// Append-only layers of records. RAM: two blocks, and two for each reader. I/O: one block per block's worth of records.
#[derive(Debug)]
pub struct LayerLog {
    records: RecordLog,
    offsets: RecordLog,
    /// Where the open layer begins, and how many records it has.
    open: (Position, u64),
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

    /// Appends a record to the open layer.
    pub fn append(&mut self, record: &[u64]) -> Result<(), DiskError> {
        self.records.append(record)?;
        self.open.1 += 1;
        Ok(())
    }

    /// Closes the open layer, which may be empty, and gives its number.
    pub fn close_layer(&mut self) -> Result<u64, DiskError> {
        let (begin, count) = self.open;
        self.offsets.append(&[begin.block, begin.slot, count])?;
        self.open = (self.records.end(), 0);
        Ok(self.layer_count() - 1)
    }

    /// Calls `visit` with every record of a closed layer in order. RAM: a block of records and one of offsets.
    pub fn read_layer(
        &self,
        layer: u64,
        budget: &Budget,
        mut visit: impl FnMut(&[u64]) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let mut offset = [0; OFFSET_WORDS];
        {
            let mut table: LogReader = self.offsets.reader(Position::default(), budget)?;
            let at = self.offsets.find(layer, &mut table)?;
            table.seek(at);
            if layer >= self.layer_count() || !table.next(&self.offsets, &mut offset)? {
                let what = format!("layer {layer} is asked for, but there are {}", self.layer_count());
                return Err(DiskError::Mismatch { file: "layer log".to_owned(), what });
            }
        }
        let [block, slot, count] = offset;
        let mut reader = self.records.reader(Position { block, slot }, budget)?;
        let mut record = vec![0; self.records.words()];
        for _ in 0..count {
            if !reader.next(&self.records, &mut record)? {
                let what = format!("layer {layer} ends too early");
                return Err(DiskError::Mismatch { file: "layer log".to_owned(), what });
            }
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

    /// Removes both files.
    pub fn remove(self) -> Result<(), DiskError> {
        self.records.remove()?;
        self.offsets.remove()
    }
}

fn offsets_name(name: &str) -> String {
    format!("{name}.offsets")
}
