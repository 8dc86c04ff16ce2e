//! How does a reader look into a run? One file of HTML that holds all it needs: verdict, runs, the model's text, the figures, and the programs that show them.
//!
//! The programs are the modules under `web/`, as they are: an import map gives each of them as a `data:` address, so that nothing has to be built and nothing is fetched.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Write};

use fathom_check::answers::check::Answer;
use fathom_check::model::assemble::Model;
use fathom_check::trace::value::Value;
use fathom_check::trace::{
    Because, SavedTrace, States, Trace, TraceFault, TraceMessage, TraceMove, TraceState,
};
use fathom_explorer::explorer::{Opening, hexadecimal, language_name};
use fathom_model::program::Process;
use fathom_model::structure::Part;
use fathom_search::error::SearchError;
use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::escape::Printable;
use super::json::Report;
use super::text::VerdictLine;
use super::trace::{SavedNamedTrace, headline, runs, saved_headline};
use crate::history::Point;
use crate::status::UnderWay;

const TEMPLATE: &str = include_str!("../../../../web/page.html");
const STYLE: &str = include_str!("../../../../web/page.css");
/// The modules, by the names they import each other by.
const MODULES: [(&str, &str); 13] = [
    ("fathom/main", include_str!("../../../../web/main.js")),
    ("fathom/branch", include_str!("../../../../web/branch.js")),
    ("fathom/chart", include_str!("../../../../web/chart.js")),
    ("fathom/dom", include_str!("../../../../web/dom.js")),
    ("fathom/explorer", include_str!("../../../../web/explorer.js")),
    ("fathom/expression", include_str!("../../../../web/expression.js")),
    ("fathom/locations", include_str!("../../../../web/locations.js")),
    ("fathom/next", include_str!("../../../../web/next.js")),
    ("fathom/plot", include_str!("../../../../web/plot.js")),
    ("fathom/run", include_str!("../../../../web/run.js")),
    ("fathom/section", include_str!("../../../../web/section.js")),
    ("fathom/source", include_str!("../../../../web/source.js")),
    ("fathom/table", include_str!("../../../../web/table.js")),
];

/// The part of the checker that a page carries: WebAssembly as base64 of gzip. None if it was not built for these sources (`cargo xtask explorer`).
const EXPLORER: Option<&str> = include!(concat!(env!("OUT_DIR"), "/explorer.rs"));

/// Whether a page goes on working: a reader may step on from any of its states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// The explorer, if there is one.
    Explorer,
    /// Nothing but what was found.
    Nothing,
}

/// Whether this program can make pages that carry the explorer.
pub const HAS_EXPLORER: bool = EXPLORER.is_some();

impl Carries {
    fn explorer(self) -> &'static str {
        EXPLORER.filter(|_| self == Carries::Explorer).unwrap_or_default()
    }

    /// Why there is no explorer although it is wanted.
    fn missing(self) -> &'static str {
        if self == Carries::Explorer && !HAS_EXPLORER { "build" } else { "" }
    }
}

/// Of a run of more states than this the page has the ends: so many of each. A browser holds all of them.
const END_STATES: u64 = 10_000;
/// The most words for values that a page has.
const WORDS_MAX: usize = 10_000;

/// A run that was saved, as a page has it that is served: its steps are taken again.
#[derive(Clone, Debug, Serialize)]
pub struct SavedRun {
    heading: String,
    /// The values of its first state, by name.
    first: Vec<(String, String)>,
    actions: Vec<u32>,
    /// How many of the steps are repeated for ever.
    cycle: usize,
    #[serde(flatten)]
    why: Why,
}

/// Why a run is shown, beside its heading.
#[derive(Clone, Debug, Serialize)]
pub struct Why {
    /// What goes wrong at its end.
    pub fault: Option<TraceFault>,
    /// Why the condition that was looked for is met there.
    pub because: Option<Because>,
    /// What a reader should know beside.
    pub note: Option<String>,
    /// The places whose values decide.
    pub decisive: Vec<String>,
}

impl SavedRun {
    /// A run of a file.
    pub fn of(named: &SavedNamedTrace) -> SavedRun {
        let SavedTrace { stem, cycle, .. } = &named.trace;
        let states = stem.iter().chain(cycle);
        let actions = states.skip(1).filter_map(|state| state.step.as_ref());
        // Where nothing can move time goes on, and there is no step to take.
        let taken = actions.filter(|step| step.line.is_some() || !step.moves.is_empty());
        let actions = taken.map(|step| step.action).collect();
        let mut first = Vec::new();
        if let Some(state) = stem.first() {
            state.state.for_each(&mut |name, value| first.push((name.to_owned(), value.to_string())));
        }
        let SavedTrace { fault, because, note, .. } = &named.trace;
        let mut decisive = Vec::new();
        let values = fault.iter().map(|it| &it.values).chain(because.iter().map(|it| &it.values));
        values.for_each(|values| values.for_each(&mut |name, _| decisive.push(name.to_owned())));
        let why = Why { fault: fault.clone(), because: because.clone(), note: note.clone(), decisive };
        SavedRun { heading: saved_headline(named), first, actions, cycle: cycle.len(), why }
    }
}

impl Why {
    /// Of a run that was found.
    pub fn of(model: &Model, trace: &Trace) -> Result<Why, SearchError> {
        let (fault, because) = (trace.fault.clone(), trace.because.clone());
        let (note, decisive) = (trace.note().map(str::to_owned), trace.decisive(model)?);
        Ok(Why { fault, because, note, decisive })
    }
}

/// Writes the page of a check.
pub fn write(page: &Page<'_>, carries: Carries, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("{}: {}", Printable(page.model.source().name()), page.report.verdict);
    fill(&title, "'none'", carries, page, out)
}

/// Writes what the page of a search shows, for [`write_kept`].
pub fn write_shown(page: &Page<'_>, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(out, page).map_err(io::Error::other)
}

/// Writes the page of a search that has ended, as it was kept.
pub fn write_kept(shown: &serde_json::Value, carries: Carries, out: &mut dyn Write) -> io::Result<()> {
    let words = |value: &serde_json::Value| Printable(value.as_str().unwrap_or_default()).to_string();
    let title = format!("{}: {}", words(&shown["source"]["name"]), words(&shown["report"]["verdict"]));
    fill(&title, "'none'", carries, shown, out)
}

/// Writes the page of a search that has not ended, as far as it said how far it is.
pub fn write_under_way(
    model: &Model,
    under_way: Option<&UnderWay>,
    held: bool,
    carries: Carries,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = Printable(model.source().name()).to_string();
    let data = json!({
        "report": null, "source": opening(model), "participants": participants(model),
        "processes": processes(model), "words": words(model), "traces": [], "saved": [],
        "under_way": { "held": held, "told": under_way },
        "history": under_way.map_or(&serde_json::Value::Null, |under_way| &under_way.history),
    });
    fill(&title, "'none'", carries, &data, out)
}

/// Writes the page that the checker serves: it has no results, and asks.
pub fn write_served(model: &Model, saved: &[SavedRun], watches: bool, out: &mut dyn Write) -> io::Result<()> {
    let title = Printable(model.source().name()).to_string();
    let data = json!({
        "report": null, "source": opening(model), "participants": participants(model),
        "processes": processes(model), "words": words(model), "traces": [], "saved": saved,
        "served": true, "watches": watches, "symmetry": symmetry(model),
    });
    fill(&title, "'self'", Carries::Nothing, &data, out)
}

/// Whether states that are alike are one in searches from a page that is served; none if the model has none.
fn symmetry(model: &Model) -> Option<bool> {
    model.symmetry().is_some().then(|| model.is_symmetric())
}

/// Writes a page; `connect` says whom it may talk to.
fn fill(
    title: &str,
    connect: &str,
    carries: Carries,
    data: &impl Serialize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut rest = TEMPLATE;
    while let Some((before, place, after)) = next_place(rest) {
        out.write_all(before.as_bytes())?;
        match place {
            "title" => out.write_all(title.replace('&', "&amp;").replace('<', "&lt;").as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "connect" => out.write_all(connect.as_bytes())?,
            "explorer" => out.write_all(carries.explorer().as_bytes())?,
            "missing" => out.write_all(carries.missing().as_bytes())?,
            "modules" => out.write_all(import_map().as_bytes())?,
            _ => write_data(data, out)?,
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

fn opening(model: &Model) -> Opening {
    Opening {
        name: model.source().name().to_owned(),
        text: model.source().text().to_owned(),
        language: language_name(model.language()).to_owned(),
        options: model.options().into(),
    }
}

/// The next `{{place}}` of a template: what stands before it, its name, what follows.
fn next_place(template: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = template.split_once("{{")?;
    let (place, after) = rest.split_once("}}")?;
    Some((before, place, after))
}

fn import_map() -> String {
    let address = |text: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let encode =
            |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        format!("data:text/javascript;charset=utf-8,{}", text.bytes().map(encode).collect::<String>())
    };
    let imports: serde_json::Map<String, serde_json::Value> =
        MODULES.iter().map(|(name, text)| ((*name).to_owned(), address(text).into())).collect();
    json!({ "imports": imports }).to_string()
}

/// Writes JSON that stands inside an element: no text in it ends the element.
fn write_data(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(Unmarked(out), value).map_err(io::Error::other)
}

/// Passes JSON on with `<` in its other form. It stands in strings alone.
struct Unmarked<'a>(&'a mut dyn Write);

impl Write for Unmarked<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        for (number, part) in piece.split(|byte| *byte == b'<').enumerate() {
            if number > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// What the page of a search shows.
#[derive(Debug)]
pub struct Page<'a> {
    model: &'a Model,
    answers: &'a [Answer],
    verdicts: Vec<VerdictLine>,
    report: Report<'a>,
    history: &'a [Point],
}

impl<'a> Page<'a> {
    /// What came of a search, and its verdicts in words.
    pub fn new(
        model: &'a Model,
        answers: &'a [Answer],
        verdicts: Vec<VerdictLine>,
        mut report: Report<'a>,
        history: &'a [Point],
    ) -> Page<'a> {
        // The page has the runs in a form of its own.
        for property in report.properties.iter_mut().flatten() {
            (property.trace, property.more_traces) = (None, Vec::new());
        }
        Page { model, answers, verdicts, report, history }
    }
}

impl Serialize for Page<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Page { model, answers, verdicts, report, history } = self;
        let runs: Vec<Run<'_>> = runs(answers).map(|(answer, trace)| Run { model, answer, trace }).collect();
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("report", report)?;
        object.serialize_entry("verdicts", verdicts)?;
        object.serialize_entry("source", &opening(model))?;
        object.serialize_entry("participants", &participants(model))?;
        object.serialize_entry("processes", &processes(model))?;
        object.serialize_entry("words", &words(model))?;
        object.serialize_entry("history", history)?;
        object.serialize_entry("traces", &runs)?;
        object.end()
    }
}

struct Run<'a> {
    model: &'a Model,
    answer: &'a Answer,
    trace: &'a Trace,
}

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Run { model, answer, trace } = *self;
        let mut states = trace.states(model).map_err(S::Error::custom)?;
        let first = states.next().transpose().map_err(S::Error::custom)?;
        let mut columns = Vec::new();
        first.iter().for_each(|first| first.state.for_each(&mut |name, _| columns.push(name.to_owned())));
        let places = columns.iter().cloned().zip(0..).collect();
        // Where a cycle closes, its first state comes again: the step that leads there is one of the run.
        let count = trace.length() + u64::from(trace.stem_states() > 0);
        let left_out = if count > 2 * END_STATES { END_STATES..count - END_STATES } else { count..count };
        let mut object = serializer.serialize_map(None)?;
        let Why { fault, because, note, decisive } = Why::of(model, trace).map_err(S::Error::custom)?;
        object.serialize_entry("heading", &headline(answer, trace))?;
        object.serialize_entry("verdict", answer.verdict.word())?;
        object.serialize_entry("note", &note)?;
        object.serialize_entry("decisive", &decisive)?;
        object.serialize_entry("stem", &trace.stem_states())?;
        object.serialize_entry("cycle", &trace.cycle_length())?;
        object.serialize_entry("atoms", &trace.atoms())?;
        object.serialize_entry("subformulas", &trace.subformulas())?;
        object.serialize_entry("fault", &fault)?;
        object.serialize_entry("because", &because)?;
        let record = trace.first_record().map_err(S::Error::custom)?;
        object.serialize_entry("record", &record.map(|record| hexadecimal(&record)))?;
        object.serialize_entry("columns", &columns)?;
        object.serialize_entry("participants", &participants(model))?;
        let gap = (!left_out.is_empty())
            .then(|| json!({ "at": left_out.start, "states": left_out.end - left_out.start }));
        object.serialize_entry("gap", &gap)?;
        let states = trace.states(model).map_err(S::Error::custom)?;
        object.serialize_entry(
            "states",
            &PageStates { states: RefCell::new(states), stutter: trace.stutter(), places, count, left_out },
        )?;
        object.end()
    }
}

/// The processes with their locations, and which lead to which.
fn processes(model: &Model) -> Vec<serde_json::Value> {
    let program = model.program();
    let mut edges = vec![BTreeSet::new(); program.processes.len()];
    for mover in program.actions.iter().flat_map(|action| &action.movers) {
        edges[mover.process.index()].insert((mover.from, mover.to));
    }
    let told = |(process, edges): (&Process, BTreeSet<(u32, u32)>)| {
        let locations: Vec<&str> = process.locations.iter().map(|location| &*location.name).collect();
        let initial = program.variable(process.variable).initial.first();
        json!({ "name": process.name, "locations": locations, "initial": initial, "edges": edges })
    };
    program.processes.iter().zip(edges).map(told).collect()
}

/// The words for values that a reader may compare variables with. None if there are too many for a page.
fn words(model: &Model) -> Option<BTreeSet<&str>> {
    let by_variable = model.program().words.iter().flat_map(|words| &words.values);
    let words: BTreeSet<&str> = by_variable.flat_map(|words| words.iter()).map(|word| &**word).collect();
    (words.len() <= WORDS_MAX).then_some(words)
}

/// Those who send and receive: the processes, and channels that hold messages.
fn participants(model: &Model) -> Vec<&str> {
    let program = model.program();
    let structure = program.structure.iter().flat_map(|structure| &structure.variables);
    let buffered =
        structure.filter(|(_, part)| matches!(part, Part::Channel { .. })).map(|(name, _)| &**name);
    program.processes.iter().map(|process| &*process.name).chain(buffered).collect()
}

struct PageStates<'a> {
    states: RefCell<States<'a>>,
    stutter: Option<u32>,
    places: HashMap<String, u32>,
    count: u64,
    left_out: std::ops::Range<u64>,
}

/// A state by what it changed.
#[derive(Serialize)]
struct PageState<'a> {
    step: Option<PageStep<'a>>,
    set: Vec<(u32, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    atoms: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subformulas: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    automaton: Option<&'a str>,
}

#[derive(Serialize)]
struct PageStep<'a> {
    title: &'a str,
    /// None where nothing can move and time goes on.
    action: Option<u32>,
    line: Option<usize>,
    moves: &'a [TraceMove],
    message: Option<&'a TraceMessage>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    chosen: &'a [(String, String)],
}

impl Serialize for PageStates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        let mut states = self.states.borrow_mut();
        let mut number = 0;
        while number < self.count {
            let before = states.last_value().cloned();
            if number == self.left_out.start {
                number = self.left_out.end;
                states.skip_to(number).map_err(S::Error::custom)?;
            }
            let Some(state) = states.next() else { break };
            let state = state.map_err(S::Error::custom)?;
            list.serialize_element(&self.state(before.as_ref(), &state))?;
            number += 1;
        }
        list.end()
    }
}

impl PageStates<'_> {
    fn state<'s>(&self, before: Option<&Value>, state: &'s TraceState) -> PageState<'s> {
        let changed = state.state.changed(before);
        let mut changed = changed.iter().peekable();
        let mut set = Vec::new();
        // Both go through the values in the same order.
        state.state.for_each(&mut |name, value| {
            if changed.next_if(|it| *it == name).is_some() {
                set.extend(self.places.get(name).map(|place| (*place, value.to_string())));
            }
        });
        let step = state.step.as_ref().map(|step| PageStep {
            title: &step.title,
            action: Some(step.action).filter(|action| Some(*action) != self.stutter),
            line: step.line,
            moves: &step.moves,
            message: step.message.as_ref(),
            chosen: &step.chosen,
        });
        PageState {
            step,
            set,
            atoms: state.atoms.as_deref(),
            subformulas: state.subformulas.as_deref(),
            automaton: state.automaton.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_the_element_it_stands_in() {
        let mut out = Vec::new();
        write_data(&json!({ "a": "</script><b>&\u{2028}" }), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains('<'));
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap()["a"], "</script><b>&\u{2028}");
    }

    #[test]
    fn every_module_is_there_and_imports_what_is_there() {
        let map = import_map();
        assert!(!map.contains('<'));
        for (name, text) in MODULES {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let from = line.rsplit_once('"').and_then(|(line, _)| line.rsplit_once('"')).unwrap().1;
                assert!(MODULES.iter().any(|(it, _)| *it == from), "{name} imports {from}");
            }
        }
    }
}
