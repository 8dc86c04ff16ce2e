//! What records does a model have, in the order they are found? Kept in files, so that codecs can be tried on real sets.
//!
//! `FATHREC1`, u32 bits per record, u32 words per record, then the records as little-endian words, most significant first.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use fathom_exec::interpreter::Interpreter;
use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::layout::{Declared, Possible};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};
use fathom_model::values::PossibleValues;

/// Which models, and where to.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// DVE models to explore breadth-first.
    models: Vec<PathBuf>,
    /// Where the records go, one file per model.
    #[arg(long)]
    into: PathBuf,
    /// Stop after so many states.
    #[arg(long, default_value_t = 20_000_000)]
    max_states: usize,
    /// Give every variable the bits of its declared type, not of the values it can hold.
    #[arg(long)]
    declared: bool,
}

/// Records of one model in the order found.
pub(crate) struct RecordSet {
    pub(crate) name: String,
    pub(crate) bits: u32,
    pub(crate) words: usize,
    pub(crate) records: Vec<u64>,
}

const MAGIC: &[u8; 8] = b"FATHREC1";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(&arguments.into)?;
    for model in &arguments.models {
        let set = explore(model, arguments)?;
        let path = arguments.into.join(format!("{}.rec", set.name));
        set.write(&path).with_context(|| format!("{}", path.display()))?;
        println!("{}: {} records of {} bits", set.name, set.records.len() / set.words, set.bits);
    }
    Ok(ExitCode::SUCCESS)
}

impl RecordSet {
    /// All sets in a folder, by name.
    pub(crate) fn read_all(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(|| format!("{}", folder.display()))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "rec") {
                paths.push(path);
            }
        }
        paths.sort();
        Ok(paths)
    }

    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let mut bytes = Vec::new();
        std::fs::File::open(path)?.read_to_end(&mut bytes)?;
        ensure!(bytes.len() >= 16 && &bytes[..8] == MAGIC, "{} is not a file of records", path.display());
        let bits = u32::from_le_bytes(bytes[8..12].try_into()?);
        let words = u32::from_le_bytes(bytes[12..16].try_into()?) as usize;
        let (chunks, rest) = bytes[16..].as_chunks::<8>();
        ensure!(words > 0 && rest.is_empty() && chunks.len() % words == 0, "{} is cut", path.display());
        let records = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
        let name = path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
        Ok(Self { name, bits, words, records })
    }

    fn write(&self, path: &Path) -> anyhow::Result<()> {
        let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
        file.write_all(MAGIC)?;
        file.write_all(&self.bits.to_le_bytes())?;
        file.write_all(&u32::try_from(self.words)?.to_le_bytes())?;
        for word in &self.records {
            file.write_all(&word.to_le_bytes())?;
        }
        Ok(file.flush()?)
    }
}

/// Places of records already found: open addressing, at most half full.
struct Seen {
    slots: Vec<u32>,
    count: usize,
}

impl Seen {
    /// Adds `record` to `records` unless it is there.
    fn insert(&mut self, record: &[u64], records: &mut Vec<u64>) {
        let words = record.len();
        if self.count * 2 >= self.slots.len() {
            let doubled = vec![u32::MAX; self.slots.len() * 2];
            let old = std::mem::replace(&mut self.slots, doubled);
            for place in old.into_iter().filter(|&place| place != u32::MAX) {
                let slot = self.find(&records[place as usize * words..(place as usize + 1) * words], &[]);
                self.slots[slot] = place;
            }
        }
        let slot = self.find(record, records);
        if self.slots[slot] == u32::MAX {
            self.slots[slot] = (records.len() / words) as u32;
            records.extend_from_slice(record);
            self.count += 1;
        }
    }

    /// The slot of the record, or a free one. With no records to compare, the first free one.
    fn find(&self, record: &[u64], records: &[u64]) -> usize {
        let words = record.len();
        let mixed = record
            .iter()
            .fold(0u64, |mixed, &word| (mixed ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ mixed >> 29);
        let mut slot = (mixed ^ mixed >> 32) as usize & (self.slots.len() - 1);
        loop {
            let place = self.slots[slot] as usize;
            if place == u32::MAX as usize
                || !records.is_empty() && records[place * words..(place + 1) * words] == *record
            {
                return slot;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

const READY: &str = "there is room, and nobody asks it to stop";

fn explore(model: &Path, arguments: &Arguments) -> anyhow::Result<RecordSet> {
    let text = std::fs::read_to_string(model).with_context(|| format!("{}", model.display()))?;
    let name = model.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned());
    let source = SourceText::new(&name, text);
    let Ok(compiled) = compile(&source, &DveOptions::default()) else { bail!("{name} is not accepted") };
    let values = PossibleValues::of(&compiled.program);
    let possible: &dyn Possible = if arguments.declared { &Declared } else { &values };
    let system = Interpreter::new(compiled.program, possible);
    let (bits, words) = (system.shape().width_bits, system.shape().words());
    let mut steps = Steps::new(
        system.shape(),
        Columns { labels: false, enabled: false, actions: false, movers: false, marks: false },
        1 << 14,
    );
    let mut free = |_: usize| Ok::<(), std::convert::Infallible>(());
    let mut seen = Seen { slots: vec![u32::MAX; 1 << 16], count: 0 };
    let mut records = Vec::new();
    initial_all(&system, &mut steps, &mut free).expect(READY);
    for target in steps.targets().iter() {
        seen.insert(target, &mut records);
    }
    let mut expanded = 0;
    while expanded * words < records.len() && seen.count < arguments.max_states {
        let end = records.len().min((expanded + 512) * words);
        let sources = Records::new(&records[expanded * words..end], words);
        let finished = expand_some(&system, sources, &mut steps, &mut free).expect(READY);
        expanded += finished;
        for target in steps.targets().iter() {
            seen.insert(target, &mut records);
        }
    }
    Ok(RecordSet { name, bits, words, records })
}
