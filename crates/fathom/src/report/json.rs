//! What does a program read of a run? One JSON object; its fields are described in the book, and [`SCHEMA`] changes when one of them does.

use std::collections::BTreeMap;
use std::io::{self, Write};

use fathom_check::answers::check::{Answer, Verdict};
use fathom_check::answers::coverage::{Coverage, Uncovered};
use fathom_check::answers::exploration::{AutomatonFigures, Exploration, Usage, WalkFigures};
use fathom_check::engines::figures::{
    CostFigures, DiskFigures, IoFigures, Layers, PassFigures, StructureFigures,
};
use fathom_check::limit::Limit;
use fathom_check::model::assemble::Model;
use fathom_check::questions::unchecked::Unchecked;
use fathom_check::trace::{Told as ToldTrace, Trace};
use fathom_lang::source::SourceText;
use fathom_search::task::{Duplicates, ProgressFigures};
use serde::Serialize;
use serde_json::ser::Formatter;

use super::Told;

/// The version of the object.
pub const SCHEMA: u32 = 2;

/// Why a complete search for infinite runs does not know whether the model faults.
const PRUNED: &str = "not looked for everywhere: the formula's automaton prunes the search";

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// `fathom`.
    pub tool: &'static str,
    /// The version of the tool.
    pub version: &'static str,
    /// What was asked for: `explore`, ...
    pub command: &'static str,
    /// The model's file.
    pub model: String,
    /// Which engine searched.
    pub engine: &'static str,
    /// Where the engine stored states, if it has a choice.
    pub store: Option<&'static str>,
    /// The automaton that the model was searched with: then all figures are of the product.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub automaton: Option<AutomatonFigures>,
    /// Whether states that are alike are one; not there if they are not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub symmetry: bool,
    /// How it ended.
    pub verdict: &'static str,
    /// Which limit ended the search early, if one did.
    pub limit: Option<&'static str>,
    /// What a verdict takes for granted, a phrase each; not there unless something was to be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumptions: Option<Vec<String>>,
    /// What was checked; not there unless something was to be checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub properties: Option<Vec<PropertyReport<'a>>>,
    /// What was not checked although the model states it or a check asks it by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<Vec<UncheckedReport>>,
    /// How many distinct states there are; null if that is not known.
    pub states: Option<u64>,
    /// An estimate of it, where an engine makes one.
    pub states_estimate: Option<u64>,
    /// States expanded.
    pub visits: u64,
    /// Candidates that were known already; left out where the engine does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<DuplicateFigures>,
    /// What was seen of the measure of progress; left out where the search does not go by one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<ProgressReport>,
    /// How random walks ended, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub walks: Option<WalkFigures>,
    /// Steps generated.
    pub edges: u64,
    /// Steps from distinct states; null if not all were expanded.
    pub transitions: Option<u64>,
    /// The index of the last layer that is known.
    pub depth: Option<u64>,
    /// How many layers back a step leads, at most, plus one.
    pub locality: Option<u64>,
    /// States with neither a step nor a fault, among those expanded.
    pub deadlocks: Option<u64>,
    /// Faulting steps and starts, among those made.
    pub faults: u64,
    /// The sizes of the layers.
    pub layers: Layers,
    /// Over all states, in hexadecimal; null if not all were expanded.
    pub checksum: Option<String>,
    /// Bits of a record.
    pub record_bits: u32,
    /// What never happened.
    pub coverage: Option<CoverageReport>,
    /// Memory.
    pub ram: Ram,
    /// Room on disk, if the engine uses any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskFigures>,
    /// Operations on files, by class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub io: Option<Vec<IoFigures>>,
    /// Nanoseconds per step, by phase.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostFigures>,
    /// Passes over all states, if there were any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passes: Option<PassFigures>,
    /// What told of a violation while states were generated, if that is how it was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early: Option<&'static str>,
    /// What the engine tells of itself in numbers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<&'static str, u64>,
    /// The directory that the run stays in, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The command that goes on with the run, if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    /// Threads that expanded states.
    pub threads: usize,
    /// How long the search took.
    pub seconds: f64,
}

/// What was not checked.
#[derive(Clone, Debug, Serialize)]
pub struct UncheckedReport {
    /// What it is called.
    pub name: String,
    /// The line where the model states it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The option that left it out.
    pub option: &'static str,
}

/// What came of a property.
#[derive(Clone, Debug, Serialize)]
pub struct PropertyReport<'a> {
    /// Its name, or the expression.
    pub name: String,
    /// `assertion`, `invariant`, `reach`, `deadlock`, `fault`, `ltl` or `process`.
    pub kind: &'static str,
    /// `holds`, `violated`, `fault` or `unknown`.
    pub verdict: &'static str,
    /// Why a verdict is unknown although no limit was reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
    /// How many steps the trace has.
    pub length: Option<u64>,
    /// Whether it is an implication whose left side was never true.
    pub vacuous: bool,
    /// The run that violates it.
    pub trace: Option<ToldTrace<'a>>,
    /// Further ones, to other states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more_traces: Vec<ToldTrace<'a>>,
    /// Why there is no trace of a violation, if there is none: the limit that ended the search for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untraced: Option<&'static str>,
    /// What proves that it holds: `closed-set` in the directory of the run, or `none`.
    pub certificate: &'static str,
    /// The search of its own that it had, of the product with its automaton.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchReport>,
}

/// The figures of a search for one property.
#[derive(Clone, Debug, Serialize)]
pub struct SearchReport {
    /// Which engine searched.
    pub engine: &'static str,
    /// The automaton.
    pub automaton: Option<AutomatonFigures>,
    /// Which limit ended it early, if one did.
    pub limit: Option<&'static str>,
    /// How many distinct states the product has; null if that is not known.
    pub states: Option<u64>,
    /// States expanded.
    pub visits: u64,
    /// Steps generated.
    pub edges: u64,
    /// Steps from distinct states; null if not all were expanded.
    pub transitions: Option<u64>,
    /// Bits of a record.
    pub record_bits: u32,
    /// How long it took.
    pub seconds: f64,
}

/// Candidates that were known already, by how that was noticed; null where that is not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct DuplicateFigures {
    /// At once, in memory.
    pub ram: Option<u64>,
    /// Later, among many.
    pub delayed: Option<u64>,
    /// Not at all: these were visited again.
    pub missed: Option<u64>,
}

/// What was seen of the measure of progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgressReport {
    /// What it is made of; null if nobody knows.
    pub measure: Option<String>,
    /// Sweeps.
    pub sweeps: u64,
    /// Buckets that had states to expand.
    pub buckets: u64,
    /// States of the largest.
    pub largest_bucket: u64,
    /// Steps to greater values.
    pub forward: u64,
    /// Steps to the same value.
    pub stationary: u64,
    /// Steps to smaller values.
    pub regress: u64,
    /// The most states in memory at once.
    pub in_memory: u64,
    /// The same without what waits.
    pub in_memory_but_waiting: u64,
}

impl ProgressReport {
    fn of(figures: ProgressFigures, measure: Option<&str>) -> ProgressReport {
        ProgressReport {
            measure: measure.map(str::to_owned),
            sweeps: figures.sweeps,
            buckets: figures.buckets,
            largest_bucket: figures.largest_bucket,
            forward: figures.forward,
            stationary: figures.stationary,
            regress: figures.regress,
            in_memory: figures.in_memory,
            in_memory_but_waiting: figures.in_memory_but_waiting,
        }
    }
}

impl DuplicateFigures {
    /// None if nothing was counted.
    fn of(duplicates: Duplicates) -> Option<DuplicateFigures> {
        let Duplicates { in_ram: ram, delayed, missed } = duplicates;
        (duplicates != Duplicates::default()).then_some(DuplicateFigures { ram, delayed, missed })
    }
}

impl SearchReport {
    fn of(exploration: &Exploration) -> SearchReport {
        let counts = &exploration.counts;
        SearchReport {
            engine: exploration.engine,
            automaton: exploration.automaton,
            limit: exploration.limit.map(Limit::word),
            states: counts.states,
            visits: counts.visits,
            edges: counts.edges,
            transitions: counts.transitions,
            record_bits: exploration.record_bits,
            seconds: rounded(exploration.usage.elapsed.as_secs_f64()),
        }
    }
}

/// Memory, in bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Ram {
    /// What the process was allowed.
    pub budget: u64,
    /// The part for the structures of the search.
    pub data_budget: u64,
    /// The most of that which was taken.
    pub data_peak: u64,
    /// The most that was resident, if the system tells.
    pub peak: Option<u64>,
    /// What each structure held at most, of a search for infinite runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub structures: Vec<StructureFigures>,
}

/// What never happened.
#[derive(Clone, Debug, Serialize)]
pub struct CoverageReport {
    /// Transitions in the source.
    pub transitions: usize,
    /// Those never taken.
    pub never_taken: Vec<Place>,
    /// Locations in the source.
    pub locations: usize,
    /// Those never reached.
    pub never_reached: Vec<Place>,
}

/// Something in the source.
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// What.
    pub what: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
}

impl<'a> Report<'a> {
    /// The report of `explore`.
    pub fn of_exploration(model: &Model, exploration: &Exploration) -> Report<'a> {
        let verdict = if exploration.limit.is_none() { "finished" } else { "unknown" };
        Report::new("explore", model, exploration, verdict, None)
    }

    /// The report of `check` and other commands that check.
    pub fn of_check(command: &'static str, told: &Told<'a>) -> Report<'a> {
        let Told { model, checked, assumptions, unchecked, .. } = *told;
        let pruned = checked.exploration.limit.is_none();
        let property = |answer: &'a Answer| {
            let note = (pruned && answer.is_open()).then_some(PRUNED);
            let certificate = certificate(&checked.exploration, answer);
            PropertyReport { note, ..PropertyReport::of(model, answer, certificate) }
        };
        let properties = checked.answers.iter().map(property).collect();
        let verdict = checked.verdict().word();
        let report = Report::new(command, model, &checked.exploration, verdict, Some(properties));
        let unchecked = unchecked.iter().map(|it| UncheckedReport::of(model, it)).collect();
        Report { assumptions: Some(assumptions.to_vec()), unchecked: Some(unchecked), ..report }
    }

    fn new(
        command: &'static str,
        model: &Model,
        exploration: &Exploration,
        verdict: &'static str,
        properties: Option<Vec<PropertyReport<'a>>>,
    ) -> Report<'a> {
        let counts = &exploration.counts;
        Report {
            schema: SCHEMA,
            tool: "fathom",
            version: env!("CARGO_PKG_VERSION"),
            command,
            model: model.source().name().to_owned(),
            engine: exploration.engine,
            store: exploration.store,
            automaton: exploration.automaton,
            symmetry: model.is_symmetric(),
            verdict,
            limit: exploration.limit.map(Limit::word),
            assumptions: None,
            properties,
            unchecked: None,
            states: counts.states,
            states_estimate: counts.states_estimate,
            visits: counts.visits,
            duplicates: DuplicateFigures::of(counts.duplicates),
            progress: counts.progress.map(|figures| ProgressReport::of(figures, counts.measure.as_deref())),
            walks: counts.walks,
            edges: counts.edges,
            transitions: counts.transitions,
            depth: (counts.layers.len() as u64).checked_sub(1),
            locality: counts.locality,
            deadlocks: counts.deadlocks,
            faults: counts.faults,
            layers: counts.layers.clone(),
            checksum: counts.checksum.clone(),
            record_bits: exploration.record_bits,
            coverage: exploration.coverage.as_ref().map(|it| CoverageReport::of(model.source(), it)),
            ram: Ram::of(&exploration.usage),
            disk: exploration.disk.as_ref().map(|disk| disk.figures.clone()),
            io: exploration.disk.as_ref().map(|disk| disk.io.clone()),
            cost: exploration.cost,
            passes: exploration.passes.clone(),
            early: exploration.early,
            figures: exploration.figures.iter().copied().collect(),
            run: exploration.disk.as_ref().and_then(|disk| Some(disk.folder.as_ref()?.display().to_string())),
            resume: exploration.disk.as_ref().and_then(|disk| disk.resume.clone()),
            threads: exploration.usage.threads,
            seconds: rounded(exploration.usage.elapsed.as_secs_f64()),
        }
    }
}

impl UncheckedReport {
    fn of(model: &Model, unchecked: &Unchecked) -> UncheckedReport {
        UncheckedReport {
            name: unchecked.name.clone(),
            line: unchecked.span.map(|span| model.source().position(span.start).line),
            option: unchecked.option,
        }
    }
}

impl<'a> PropertyReport<'a> {
    fn of(model: &'a Model, answer: &'a Answer, certificate: &'static str) -> PropertyReport<'a> {
        PropertyReport {
            name: answer.property.name.clone(),
            kind: answer.property.kind.word(),
            verdict: answer.verdict.word(),
            note: None,
            length: answer.trace.as_ref().map(Trace::length),
            vacuous: answer.vacuous,
            trace: answer.trace.as_ref().map(|trace| trace.told(model)),
            more_traces: answer.more.iter().map(|trace| trace.told(model)).collect(),
            untraced: answer.untraced.map(Limit::word),
            certificate,
            search: answer.search.as_deref().map(SearchReport::of),
        }
    }
}

/// What proves that a property holds.
fn certificate(exploration: &Exploration, answer: &Answer) -> &'static str {
    let own = answer.search.as_deref().unwrap_or(exploration);
    let kept = own.disk.as_ref().filter(|disk| disk.folder.is_some() && answer.verdict == Verdict::Holds);
    match (kept, &answer.search) {
        (Some(_), None) => "closed-set",
        (Some(disk), Some(_)) if disk.ranks => "closed-set+ranks",
        _ => "none",
    }
}

/// Writes an object with a line end, as it is told. Objects are indented, lists stay on one line unless they hold objects or lists.
pub fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, Layout::default());
    value.serialize(&mut serializer)?;
    out.write_all(b"\n")
}

/// The same as a text, of an object that is small.
pub fn to_text(value: &impl Serialize) -> String {
    let mut text = Vec::new();
    write(value, &mut text).expect("a report is JSON");
    String::from_utf8(text).expect("JSON is UTF-8")
}

impl Ram {
    fn of(usage: &Usage) -> Ram {
        Ram {
            budget: usage.ram_budget,
            data_budget: usage.data_budget,
            data_peak: usage.data_peak,
            peak: usage.resident_peak,
            structures: usage.structures.clone(),
        }
    }
}

impl CoverageReport {
    fn of(source: &SourceText, coverage: &Coverage) -> CoverageReport {
        let places = |list: &[Uncovered]| list.iter().map(|it| Place::of(source, it)).collect();
        CoverageReport {
            transitions: coverage.transitions,
            never_taken: places(&coverage.never_taken),
            locations: coverage.locations,
            never_reached: places(&coverage.never_reached),
        }
    }
}

impl Place {
    fn of(source: &SourceText, uncovered: &Uncovered) -> Place {
        let position = source.position(uncovered.span.start);
        Place { what: uncovered.what.clone(), line: position.line, column: position.column }
    }
}

/// To the millisecond.
fn rounded(seconds: f64) -> f64 {
    (seconds * 1e3).round() / 1e3
}

/// Objects on lines of their own, other things in a row.
#[derive(Clone, Debug, Default)]
struct Layout {
    depth: usize,
    /// By open object: whether it has a member already.
    filled: Vec<bool>,
}

impl Layout {
    fn line<W: Write + ?Sized>(&self, writer: &mut W) -> io::Result<()> {
        write!(writer, "\n{:1$}", "", self.depth * 2)
    }
}

impl Formatter for Layout {
    fn begin_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.filled.push(false);
        writer.write_all(b"{")
    }

    fn end_object<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.filled.pop() == Some(true) {
            self.line(writer)?;
        }
        writer.write_all(b"}")
    }

    fn begin_object_key<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        if let Some(filled) = self.filled.last_mut() {
            *filled = true;
        }
        self.line(writer)
    }

    fn begin_object_value<W: Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn begin_array_value<W: Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_indented_and_lists_stay_in_a_row() {
        let value = serde_json::json!({ "a": [1, 2, 3], "b": { "c": null }, "d": {}, "e": [{ "f": "x" }] });
        let text = to_text(&value);
        let expected = "{\n  \"a\": [1, 2, 3],\n  \"b\": {\n    \"c\": null\n  },\n  \"d\": {},\n  \"e\": [{\n    \"f\": \"x\"\n  }]\n}\n";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
