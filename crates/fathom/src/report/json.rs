//! What does a program read of a run? One JSON object; its fields are described in the book, and [`SCHEMA`] changes when one of them does.

use fathom_lang::source::SourceText;
use serde::Serialize;

use crate::assemble::Model;
use crate::coverage::{Coverage, Uncovered};
use crate::run::{Exploration, Usage};

/// The version of the object.
pub const SCHEMA: u32 = 1;

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
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
    /// How it ended.
    pub verdict: &'static str,
    /// Which limit ended the search early, if one did.
    pub limit: Option<&'static str>,
    /// How many distinct states there are; null if that is not known.
    pub states: Option<u64>,
    /// An estimate of it, where an engine makes one.
    pub states_estimate: Option<u64>,
    /// States expanded.
    pub visits: u64,
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
    pub layers: Vec<u64>,
    /// Over all states, in hexadecimal; null if not all were expanded.
    pub checksum: Option<String>,
    /// Bits of a record.
    pub record_bits: u32,
    /// What never happened.
    pub coverage: Option<CoverageReport>,
    /// Memory.
    pub ram: Ram,
    /// Threads that expanded states.
    pub threads: usize,
    /// How long the search took.
    pub seconds: f64,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ram {
    /// What the process was allowed.
    pub budget: u64,
    /// The part for the structures of the search.
    pub data_budget: u64,
    /// The most of that which was taken.
    pub data_peak: u64,
    /// The most that was resident, if the system tells.
    pub peak: Option<u64>,
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

impl Report {
    /// The report of `explore`.
    pub fn of_exploration(model: &Model, exploration: &Exploration) -> Report {
        let outcome = &exploration.outcome;
        let complete = exploration.limit.is_none();
        Report {
            schema: SCHEMA,
            tool: "fathom",
            version: env!("CARGO_PKG_VERSION"),
            command: "explore",
            model: model.source().name().to_owned(),
            engine: "ram",
            store: None,
            verdict: if complete { "finished" } else { "unknown" },
            limit: exploration.limit.map(crate::run::Limit::word),
            states: exploration.states(),
            states_estimate: None,
            visits: outcome.expanded,
            edges: outcome.transitions,
            transitions: complete.then_some(outcome.transitions),
            depth: (outcome.layers.len() as u64).checked_sub(1),
            locality: if complete { outcome.locality } else { None },
            deadlocks: Some(outcome.deadlocks),
            faults: outcome.faults,
            layers: outcome.layers.clone(),
            checksum: complete.then(|| outcome.checksum.to_string()),
            record_bits: exploration.record_bits,
            coverage: exploration.coverage.as_ref().map(|it| CoverageReport::of(model.source(), it)),
            ram: Ram::of(&exploration.usage),
            threads: exploration.usage.threads,
            seconds: rounded(exploration.usage.elapsed.as_secs_f64()),
        }
    }

    /// The object, with a line end.
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a report is JSON");
        text.push('\n');
        text
    }
}

impl Ram {
    fn of(usage: &Usage) -> Ram {
        Ram {
            budget: usage.ram_budget,
            data_budget: usage.data_budget,
            data_peak: usage.data_peak,
            peak: usage.resident_peak,
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
