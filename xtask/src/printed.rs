//! How does a search run on what gcc makes of a printed program? A step relation whose answers come from another process.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, ensure};
use fathom_model::expression::FaultKind;
use fathom_model::layout::Layout;
use fathom_model::program::Program;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::span::Span;
use fathom_model::steps::{Fault, Full, Labels, Marks, ProcessSet, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use oracle::emit_c;

/// Prints a program as C, compiles it, and starts what comes of it; `server.c` says how it is asked.
pub(crate) fn start(program: &Program, layout: &Layout, folder: &Path) -> anyhow::Result<Child> {
    let (text, binary) = (folder.join("model.c"), folder.join("model"));
    std::fs::write(&text, emit_c::unit(&[(program, layout)]))?;
    let made = Command::new("gcc").args(["-O2", "-w", "-o"]).arg(&binary).arg(&text).status()?;
    ensure!(made.success(), "gcc failed");
    Ok(Command::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// A printed program as a step relation. What C is not printed for, the starts and the words, comes from the system it was printed from.
pub(crate) struct Printed<'a> {
    original: &'a dyn TransitionSystem,
    server: Mutex<Child>,
}

impl<'a> Printed<'a> {
    /// Compiles and starts the C of a program; `original` has the same program and layout.
    pub(crate) fn new(
        original: &'a dyn TransitionSystem,
        program: &Program,
        layout: &Layout,
        folder: &Path,
    ) -> anyhow::Result<Printed<'a>> {
        Ok(Printed { original, server: Mutex::new(start(program, layout, folder)?) })
    }

    /// Asks for the steps of some sources, and for their labels.
    fn ask(&self, sources: Records<'_>, capacity: usize) -> anyhow::Result<Answer> {
        let mut server = self.server.lock().expect("nobody panics while asking");
        let mut request: Vec<u8> = Vec::new();
        for number in [0, sources.len(), capacity, 1] {
            request.extend((number as u32).to_ne_bytes());
        }
        sources.words().iter().for_each(|word| request.extend(word.to_ne_bytes()));
        let input = server.stdin.as_mut().context("it has an input")?;
        input.write_all(&request)?;
        input.flush()?;
        let output = server.stdout.as_mut().context("it has an output")?;
        let [finished, _nanos] = read_words(output, 2)?[..] else { unreachable!("two words were read") };
        let ends = read_words(output, finished as usize)?;
        let last = ends.last().copied().unwrap_or(0);
        let (steps, faults) = ((last & 0xffff_ffff) as usize, (last >> 32) as usize);
        let targets = read_words(output, steps * sources.words_per_record())?;
        let actions = read_halves(output, steps)?;
        let faults = read_halves(output, 4 * faults)?;
        let labels = read_words(output, sources.len())?;
        Ok(Answer { ends, targets, actions, faults, labels })
    }
}

/// What the server says about a batch.
struct Answer {
    /// Per source: the steps and, in the upper half, the faults of it and of those before it.
    ends: Vec<u64>,
    targets: Vec<u64>,
    actions: Vec<u32>,
    /// Action, kind, start and end of each.
    faults: Vec<u32>,
    labels: Vec<u64>,
}

impl Answer {
    /// Adds one finished source to a buffer.
    fn copy(&self, source: usize, words: usize, out: &mut Steps) -> Result<(), Full> {
        let begin = if source == 0 { 0 } else { self.ends[source - 1] };
        let halves = |end: u64| ((end & 0xffff_ffff) as usize, (end >> 32) as usize);
        let ((step, fault), (step_end, fault_end)) = (halves(begin), halves(self.ends[source]));
        for step in step..step_end {
            let target = &self.targets[step * words..][..words];
            out.push(target, self.actions[step], ProcessSet::default(), Marks::default())?;
        }
        for fault in self.faults[4 * fault..4 * fault_end].chunks_exact(4) {
            let span = Span { start: fault[2], end: fault[3] };
            out.push_fault(Fault { action: fault[0], kind: FaultKind::ALL[fault[1] as usize], span })?;
        }
        out.finish_source(Labels(self.labels[source]), ProcessSet::default())
    }
}

impl TransitionSystem for Printed<'_> {
    fn shape(&self) -> &Shape {
        self.original.shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.original.initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        let answer = self.ask(sources, out.capacity()).expect("the compiled program answers");
        for source in 0..answer.ends.len() {
            if answer.copy(source, sources.words_per_record(), out).is_err() {
                out.abandon_source();
                return source;
            }
        }
        answer.ends.len()
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        let answer = self.ask(records, 1).expect("the compiled program answers");
        out.iter_mut().zip(answer.labels).for_each(|(out, labels)| *out = Labels(labels));
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.original.describe(what)
    }
}

impl Drop for Printed<'_> {
    fn drop(&mut self) {
        if let Ok(server) = self.server.get_mut() {
            drop(server.stdin.take());
            // Its input has ended, so it ends.
            let _ = server.wait();
        }
    }
}

fn read_words(from: &mut impl Read, count: usize) -> anyhow::Result<Vec<u64>> {
    let mut bytes = vec![0; 8 * count];
    from.read_exact(&mut bytes)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

fn read_halves(from: &mut impl Read, count: usize) -> anyhow::Result<Vec<u32>> {
    let mut bytes = vec![0; 4 * count];
    from.read_exact(&mut bytes)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|half| u32::from_ne_bytes(*half)).collect())
}
