//! How is a state space written for other programs?
//!
//! Records: `FATHREC1`, the width of a record in bits and its number of 64-bit words (both 32 bits, little-endian), then all records in
//! the order found, each word little-endian, the most significant word first. Graphs: Graphviz and Aldebaran, for small spaces.

use std::collections::HashMap;
use std::convert::Infallible;
use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};
use std::path::Path;

use fathom_model::record::{RecordBuffer, Records};
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{Query, TransitionSystem, expand_some, initial_all};

/// The first bytes of a file of records.
pub const RECORDS_MAGIC: &[u8; 8] = b"FATHREC1";
/// What lies before the records.
const HEADER_BYTES: u64 = 16;
/// The most states a graph is written of.
pub const GRAPH_STATES_MAX: usize = 100_000;

/// A file that records are written to.
#[derive(Debug)]
pub struct RecordFile {
    file: BufWriter<File>,
    /// Bytes written.
    written: u64,
    /// The layer that is being written, and where it begins.
    layer: (u64, u64),
    /// The first failure; told by [`RecordFile::finish`].
    failure: Option<io::Error>,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Aldebaran.
    Aut,
}

/// A graph, with every state once, the initial ones first.
#[derive(Clone, Debug)]
pub struct Graph {
    /// The states in the order found.
    pub records: RecordBuffer,
    /// How many of them are initial.
    pub initial: usize,
    /// Source, action and target of every step.
    pub edges: Vec<(usize, u32, usize)>,
}

/// The space has more states than are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the graph has more than {GRAPH_STATES_MAX} states, and no more are written: graphs are for small spaces"
)]
pub struct GraphTooLarge;

impl RecordFile {
    /// Makes the file; one that is there is replaced.
    pub fn create(path: &Path, shape: &Shape) -> io::Result<RecordFile> {
        let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
        file.write_all(RECORDS_MAGIC)?;
        file.write_all(&shape.width_bits.to_le_bytes())?;
        file.write_all(&(shape.words() as u32).to_le_bytes())?;
        Ok(RecordFile { file, written: HEADER_BYTES, layer: (0, HEADER_BYTES), failure: None })
    }

    /// Appends records of a layer, none of an earlier one. After a failure nothing more is written.
    pub fn write(&mut self, layer: u64, records: Records<'_>) {
        if self.failure.is_some() {
            return;
        }
        if layer > self.layer.0 {
            self.layer = (layer, self.written);
        }
        self.written += records.words().len() as u64 * 8;
        let written = records.words().iter().try_for_each(|word| self.file.write_all(&word.to_le_bytes()));
        self.failure = written.err();
    }

    /// Takes back what was written of a layer and those behind it: the last one, or all from the first one on.
    pub fn take_back(&mut self, layer: u64) {
        let begin = match layer {
            0 => HEADER_BYTES,
            _ if layer == self.layer.0 => self.layer.1,
            _ => return,
        };
        let cut = |file: &mut BufWriter<File>| {
            file.flush()?;
            file.get_ref().set_len(begin)?;
            file.seek(io::SeekFrom::Start(begin)).map(|_| ())
        };
        (self.written, self.layer) = (begin, (layer, begin));
        let failure = cut(&mut self.file).err();
        self.failure = self.failure.take().or(failure);
    }

    /// Everything is in the file, or the first failure is told.
    pub fn finish(&mut self) -> io::Result<()> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        }
    }
}

/// The graph of a small system.
pub fn graph(system: &dyn TransitionSystem) -> Result<Graph, GraphTooLarge> {
    let columns = Columns { actions: true, ..Columns::NONE };
    let mut steps = Steps::new(system.shape(), columns, 1024);
    let mut grow = |_| Ok::<(), Infallible>(());
    const READY: &str = "there is room, and nobody asks it to stop";
    let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut graph =
        Graph { records: RecordBuffer::new(system.shape().words()), initial: 0, edges: Vec::new() };
    let mut number = |records: &mut RecordBuffer, record: &[u64]| match numbers.get(record) {
        Some(number) => Ok(*number),
        None if records.len() == GRAPH_STATES_MAX => Err(GraphTooLarge),
        None => {
            numbers.insert(record.to_vec(), records.len());
            records.push(record);
            Ok(records.len() - 1)
        }
    };
    initial_all(system, &mut steps, &mut grow).expect(READY);
    for record in steps.targets().iter() {
        number(&mut graph.records, record)?;
    }
    graph.initial = graph.records.len();
    let mut source = 0;
    while source < graph.records.len() {
        let record = graph.records.view().get(source).to_vec();
        expand_some(system, Records::new(&record, record.len()), &mut steps, &mut grow).expect(READY);
        for step in steps.steps_of(0) {
            let target = number(&mut graph.records, steps.target(step))?;
            graph.edges.push((source, steps.action(step), target));
        }
        source += 1;
    }
    Ok(graph)
}

impl Graph {
    /// Writes the graph.
    pub fn write(
        &self,
        format: GraphFormat,
        system: &dyn TransitionSystem,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match format {
            GraphFormat::Dot => self.write_dot(system, out),
            GraphFormat::Aut => self.write_aut(system, out),
        }
    }

    /// Graphviz: states with their values, steps with their titles. Initial states have a double border.
    fn write_dot(&self, system: &dyn TransitionSystem, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "digraph {{")?;
        writeln!(out, "  node [shape=box];")?;
        for (number, record) in self.records.view().iter().enumerate() {
            let values = system.describe(Query::Record(record)).values;
            let lines: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            let border = if number < self.initial { ", peripheries=2" } else { "" };
            writeln!(out, "  {number} [label={}{border}];", quoted(&lines.join("\n")))?;
        }
        for &(source, action, target) in &self.edges {
            let title = system.describe(Query::Step { source: self.record(source), action }).title;
            writeln!(out, "  {source} -> {target} [label={}];", quoted(&title))?;
        }
        writeln!(out, "}}")
    }

    /// Aldebaran: one initial state. If there are several, an extra state 0 leads to them by steps called `start`.
    fn write_aut(&self, system: &dyn TransitionSystem, out: &mut dyn Write) -> io::Result<()> {
        let extra = usize::from(self.initial != 1);
        let starts = if extra == 1 { self.initial } else { 0 };
        writeln!(out, "des (0, {}, {})", self.edges.len() + starts, self.records.len() + extra)?;
        for target in 0..starts {
            writeln!(out, "(0, \"start\", {})", target + extra)?;
        }
        for &(source, action, target) in &self.edges {
            let title = system.describe(Query::Step { source: self.record(source), action }).title;
            writeln!(out, "({}, {}, {})", source + extra, quoted(&title), target + extra)?;
        }
        Ok(())
    }

    fn record(&self, number: usize) -> &[u64] {
        self.records.view().get(number)
    }
}

/// A text in double quotes.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
