//! How does a person read a run? One line per step, and below it only what changed.

use std::io::{self, Write};

use fathom_check::answers::check::{Answer, Verdict};
use fathom_check::model::assemble::Model;
use fathom_check::questions::property::PropertyKind;
use fathom_check::trace::value::Value;
use fathom_check::trace::{
    Because, SavedTrace, Told, Trace, TraceFault, TraceMessage, TraceState, TraceStep,
};
use serde::{Deserialize, Serialize};

use super::escape::Printable;
use super::state;

/// Runs in a file, as they are written.
#[derive(Clone, Debug, Serialize)]
pub struct TraceDocument<'a> {
    schema: u32,
    tool: &'static str,
    model: &'a str,
    traces: Vec<NamedTrace<'a>>,
}

/// A run and what it violates.
#[derive(Clone, Debug, Serialize)]
struct NamedTrace<'a> {
    property: &'a str,
    kind: &'static str,
    trace: Told<'a>,
}

/// Runs in a file, as they are read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedDocument {
    /// The version of the object.
    pub schema: u32,
    /// `fathom`.
    pub tool: String,
    /// The model's file.
    pub model: String,
    /// One per violated property.
    pub traces: Vec<SavedNamedTrace>,
}

/// A run that was read, and what it violates.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedNamedTrace {
    /// The property's name.
    pub property: String,
    /// Its kind.
    pub kind: String,
    /// The run.
    pub trace: SavedTrace,
}

/// How a run is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// How much of it is shown.
    pub shown: Shown,
    /// How wide lines may be.
    pub width: usize,
}

/// How much of a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Everything.
    All,
    /// Of a long run, its beginning and its end.
    Ends,
}

/// Runs of more steps than this are shown by their ends: so many states of each.
const STEPS_SHOWN_MAX: u64 = 2_000;
const END_STATES: u64 = STEPS_SHOWN_MAX / 2;
/// A faulting expression of more letters than this is not repeated: its line is told.
const EXPRESSION_SHOWN_MAX: usize = 100;

impl Sheet {
    /// What a terminal shows: of a long run its ends, as wide as the terminal is.
    pub fn on_screen() -> Sheet {
        Sheet { shown: Shown::Ends, width: state::width() }
    }

    /// What a file has: everything.
    pub const IN_FILE: Sheet = Sheet { shown: Shown::All, width: state::WIDTH };
}

impl<'a> TraceDocument<'a> {
    /// All runs of a check.
    pub fn of(model: &'a Model, answers: &'a [Answer]) -> TraceDocument<'a> {
        let named = |answer: &'a Answer| {
            answer.traces().map(|trace| NamedTrace {
                property: &answer.property.name,
                kind: answer.property.kind.word(),
                trace: trace.told(model),
            })
        };
        TraceDocument {
            schema: super::json::SCHEMA,
            tool: "fathom",
            model: model.source().name(),
            traces: answers.iter().flat_map(named).collect(),
        }
    }
}

/// Writes all runs of a check, one after the other.
pub fn write_all(model: &Model, answers: &[Answer], sheet: Sheet, out: &mut dyn Write) -> io::Result<()> {
    for (number, (answer, trace)) in runs(answers).enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}", heading(answer, Some(trace)))?;
        write_run(model, trace, sheet, out)?;
    }
    Ok(())
}

/// What has runs to show, and each of them.
pub fn runs(answers: &[Answer]) -> impl Iterator<Item = (&Answer, &Trace)> {
    answers.iter().flat_map(|answer| answer.traces().map(move |trace| (answer, trace)))
}

/// What is violated, and where if there is a run that shows it.
pub fn heading(answer: &Answer, trace: Option<&Trace>) -> String {
    let mut after = trace.map_or(String::new(), |trace| after(trace.length()));
    let number = trace.and_then(|trace| answer.traces().position(|one| std::ptr::eq(one, trace)));
    if let Some(number) = number.filter(|_| !answer.more.is_empty()) {
        after.push_str(&format!(" ({} of {})", number + 1, answer.more.len() + 1));
    }
    let (kind, faulted) = (answer.property.kind, answer.verdict != Verdict::Violated);
    let fault = trace.and_then(|trace| trace.fault.as_ref());
    let kind = if faulted && kind != PropertyKind::Fault { "" } else { kind.word() };
    sentence(&answer.property.name, kind, trace.map_or(0, Trace::cycle_length), &after, fault)
}

/// The same of a run, where nothing follows.
pub fn headline(answer: &Answer, trace: &Trace) -> String {
    heading(answer, Some(trace)).trim_end_matches(':').to_owned()
}

/// What a run violates that was saved, and where.
pub fn saved_headline(SavedNamedTrace { property, kind, trace }: &SavedNamedTrace) -> String {
    let SavedTrace { stem, cycle, fault, .. } = trace;
    let after = after((stem.len() + cycle.len()).saturating_sub(1) as u64);
    let kind = if fault.is_some() && kind != PropertyKind::Fault.word() { "" } else { kind };
    sentence(property, kind, cycle.len() as u64, &after, fault.as_ref()).trim_end_matches(':').to_owned()
}

fn after(steps: u64) -> String {
    match steps {
        0 => " in an initial state".to_owned(),
        1 => " after 1 step".to_owned(),
        steps => format!(" after {steps} steps"),
    }
}

/// What is violated, by its name and the word for its kind.
fn sentence(name: &str, kind: &str, cycle: u64, after: &str, fault: Option<&TraceFault>) -> String {
    let name = Printable(name);
    let is = |known: PropertyKind| kind == known.word();
    if cycle > 0 {
        let repeated = if cycle == 1 { "step repeats".to_owned() } else { format!("{cycle} steps repeat") };
        format!("{name} is violated by a run whose last {repeated} for ever:")
    } else if is(PropertyKind::Reach) {
        format!("{name} is reachable{after}:")
    } else if is(PropertyKind::Possible) {
        format!("{name} can no longer be reached{after}:")
    } else if is(PropertyKind::Deadlock) {
        format!("{name}{after}:")
    } else if is(PropertyKind::Fault) {
        format!("{}{after}:", fault.map_or("fault".into(), |fault| Printable(&fault.title).to_string()))
    } else {
        format!("{name} is violated{after}:")
    }
}

/// Writes the states and steps of a run.
pub fn write_run(model: &Model, trace: &Trace, sheet: Sheet, out: &mut dyn Write) -> io::Result<()> {
    let (length, stem) = (trace.length(), trace.stem_states());
    let width = length.to_string().len();
    let mut states = trace.states(model).map_err(io::Error::other)?;
    let left_out = match sheet.shown {
        Shown::Ends if length > STEPS_SHOWN_MAX => END_STATES..length + 1 - END_STATES,
        _ => 0..0,
    };
    let (mut number, mut truths) = (0, None);
    loop {
        let mut begins = number == stem && trace.cycle_length() > 0;
        if number == left_out.start && !left_out.is_empty() {
            let steps = fathom_check::numbers::plural(left_out.end - left_out.start, "step");
            writeln!(out, "  {:>width$}  ... {steps} left out; --trace FILE writes them all", "")?;
            begins |= left_out.contains(&stem);
            number = left_out.end;
            states.skip_to(number).map_err(io::Error::other)?;
        }
        let before = states.last_value().cloned();
        let Some(state) = states.next().transpose().map_err(io::Error::other)? else { break };
        if begins {
            writeln!(out, "  for ever, from state {}:", stem - 1)?;
        }
        match &state.step {
            None => writeln!(out, "  {number:>width$}  initial state")?,
            Some(step) => writeln!(out, "  {number:>width$}  {}", step_line(step))?,
        }
        for line in state::lines(before.as_ref(), &state.state, sheet.width.saturating_sub(width + 6)) {
            writeln!(out, "  {:>width$}    {line}", "")?;
        }
        let parts = state.subformulas.clone();
        let changed = truths.replace(parts.clone()).is_none_or(|before| before != parts);
        let about_formula = reading(&state).into_iter().chain(truth(trace, &state).filter(|_| changed));
        for line in about_formula {
            writeln!(out, "  {:>width$}    {line}", "")?;
        }
        number += 1;
    }
    if let Some(note) = trace.note() {
        writeln!(out, "  note: {}", Printable(note))?;
    }
    let reasons = trace.fault.iter().flat_map(fault_lines).chain(trace.because.iter().map(because_line));
    for (number, line) in reasons.enumerate() {
        writeln!(out, "  {:>width$}  {line}", if number == 0 { "!" } else { "" })?;
    }
    Ok(())
}

/// A step in one line: who moved, what passed, where it stands.
pub fn step_line(step: &TraceStep) -> String {
    let mut lines: Vec<String> =
        step.moves.iter().filter_map(|it| it.line).map(|it| it.to_string()).collect();
    if lines.is_empty() {
        lines.extend(step.line.map(|line| line.to_string()));
    }
    lines.dedup();
    let place = match lines.as_slice() {
        [] => String::new(),
        [line] => format!("  (line {line})"),
        lines => format!("  (lines {})", lines.join(" and ")),
    };
    let message = step.message.as_ref().map_or(String::new(), |it| format!(", {}", message(it)));
    format!("{}{}{message}{place}", Printable(&step.title), chosen(step))
}

/// What a step has chosen, behind the name that its title ends with, or by name.
fn chosen(step: &TraceStep) -> String {
    let last = step.title.rsplit_once(", ").map_or("", |(_, last)| last);
    let told = |(name, element): &(String, String)| {
        let element = Printable(element);
        match last.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with(": ")) {
            true => format!(" = {element}"),
            false => format!(", {} = {element}", Printable(name)),
        }
    };
    step.chosen.iter().map(told).collect()
}

fn message(message: &TraceMessage) -> String {
    let TraceMessage { channel, sender, receiver, values } = message;
    let values = if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
    let values = Printable(&values);
    match (sender, receiver) {
        (Some(sender), Some(receiver)) => format!("{channel}{values} from {sender} to {receiver}"),
        (Some(_), None) => format!("{channel}{values} into the buffer"),
        (None, Some(_)) => format!("{channel}{values} out of the buffer"),
        (None, None) => format!("{channel}{values}"),
    }
}

/// What the automaton reads in a state of a lasso, and where it is.
fn reading(state: &TraceState) -> Option<String> {
    let (atoms, automaton) = (state.atoms.as_ref()?, state.automaton.as_ref()?);
    let atoms = if atoms.is_empty() { "nothing".to_owned() } else { atoms.join(", ") };
    Some(format!("[{}] reads {}", Printable(automaton), Printable(&atoms)))
}

/// Which parts of the formula are true of the run from a state on, and which are not. The whole formula is left out: it is what is violated.
fn truth(trace: &Trace, state: &TraceState) -> Option<String> {
    let here = state.subformulas.as_ref()?;
    let parts = |wanted: bool| {
        let all = trace.subformulas().into_iter().skip(1);
        let those: Vec<String> = all
            .filter(|part| here.iter().any(|it| it == part) == wanted)
            .map(|part| Printable(part).to_string())
            .collect();
        (!those.is_empty())
            .then(|| format!("{}: {}", if wanted { "true" } else { "false" }, those.join(", ")))
    };
    let said: Vec<String> = [parts(true), parts(false)].into_iter().flatten().collect();
    (!said.is_empty()).then(|| format!("from here on, {}", said.join("; ")))
}

/// What went wrong, and below it the expression with the values it met.
fn fault_lines(fault: &TraceFault) -> Vec<String> {
    let place = fault.line.map_or(String::new(), |line| format!("  (line {line})"));
    let detail = fault.detail.as_ref().map_or(String::new(), |detail| format!(": {}", Printable(detail)));
    let first = format!("{}: {}{detail}{place}", Printable(&fault.during), Printable(&fault.title));
    let second =
        fault.expression.as_ref().filter(|text| text.chars().count() <= EXPRESSION_SHOWN_MAX).map(|text| {
            let values = values(&fault.values);
            let with = if values.is_empty() { String::new() } else { format!(", where {values}") };
            format!("  in `{}`{with}", Printable(text))
        });
    [Some(first), second].into_iter().flatten().collect()
}

/// Why a condition is met.
pub fn because_line(Because { condition, holds, values: read }: &Because) -> String {
    let values = values(read);
    let with = if values.is_empty() { String::new() } else { format!(": {values}") };
    format!("`{}` is {holds}{with}", Printable(condition))
}

/// Names and values in a row.
fn values(values: &Value) -> String {
    let mut items = Vec::new();
    values.for_each(&mut |name, value| {
        items.push(format!("{} = {}", Printable(name), Printable(&value.to_string())));
    });
    items.join(", ")
}

#[cfg(test)]
mod tests {
    use fathom_disk::budget::Budget;
    use fathom_lang::source::SourceText;
    use fathom_search::traces::path::Room;

    use super::*;
    use crate::report::json;
    use fathom_check::answers::check::{self, Checked, Stop};
    use fathom_check::answers::liveness::{self, LivenessSettings};
    use fathom_check::model::assemble::{Language, ModelOptions};
    use fathom_check::monitor::Clock;
    use fathom_check::questions::liveness_property::LivenessQuestions;
    use fathom_check::questions::plan::{Plan, Questions};
    use fathom_check::questions::property::Faults;
    use fathom_check::resources::Resources;
    use fathom_check::simulate::Simulation;
    use fathom_search::engines::engine::Chosen;
    use fathom_search::engines::{ndfs, ram};

    /// Counts to `last`, and then goes on from `again`, for ever.
    fn counter(last: u32, again: u32) -> Model {
        let text = format!(
            "int n = 0;\nprocess P {{ state s; init s; trans s -> s {{ guard n < {last}; effect n = n + 1; }}, s -> s {{ guard n == {last}; effect n = {again}; }}; }}\nsystem async;\n"
        );
        let source = SourceText::new("counter.dve", &text);
        Model::compile(source, Language::Dve, &ModelOptions::default()).unwrap()
    }

    fn invariant(model: &Model, expression: &str) -> Checked {
        let questions = Questions { invariants: vec![expression.to_owned()], ..Questions::default() };
        let plan = Plan::new(model, &questions).unwrap();
        let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
        check::check(model, &plan, &Chosen::plain(&ram::ENGINE), Stop::First, &resources, &clock, None)
            .unwrap()
    }

    fn formula(model: &Model, formula: &str) -> Checked {
        let questions =
            LivenessQuestions { formulas: vec![formula.to_owned()], ..LivenessQuestions::default() };
        let property = questions.properties(model).unwrap().pop().unwrap();
        let settings = LivenessSettings {
            engine: Chosen::plain(&ndfs::ENGINE),
            fair: Vec::new(),
            strong: false,
            faults: Faults::Stop,
            generation: Chosen::plain(&ram::ENGINE),
            stack: None,
        };
        let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
        liveness::check(model, &property, &settings, &resources, &clock, None).unwrap()
    }

    fn shown(model: &Model, checked: &Checked, shown: Shown) -> String {
        let sheet = Sheet { shown, width: 120 };
        let mut text = Vec::new();
        write_all(model, &checked.answers, sheet, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn what_is_streamed_is_byte_for_byte_what_is_written_at_once() {
        let model = counter(20, 7);
        for checked in
            [invariant(&model, "n < 13"), formula(&model, "F n == 100"), invariant(&model, "n >= 0")]
        {
            let streamed = json::to_text(&TraceDocument::of(&model, &checked.answers));
            let saved: SavedDocument = serde_json::from_str(&streamed).unwrap();
            assert_eq!(json::to_text(&saved), streamed);
            for named in &saved.traces {
                let trace = checked.answers[0].trace.as_ref().unwrap();
                let plain = |state: TraceState| TraceState { state: state.state.plain(), ..state };
                let told: Vec<_> = trace.states(&model).unwrap().map(Result::unwrap).map(plain).collect();
                assert_eq!([&named.trace.stem[..], &named.trace.cycle[..]].concat(), told);
                assert_eq!((named.trace.stem.len() + named.trace.cycle.len()) as u64, trace.length() + 1);
            }
        }
    }

    #[test]
    fn a_long_run_is_shown_by_its_ends_and_a_short_one_is_not() {
        let (short, long) = (counter(2_000, 0), counter(2_001, 0));
        let text = shown(&short, &invariant(&short, "n < 2000"), Shown::Ends);
        assert_eq!(text, shown(&short, &invariant(&short, "n < 2000"), Shown::All));
        let checked = invariant(&long, "n < 2001");
        let text = shown(&long, &checked, Shown::Ends);
        let all = shown(&long, &checked, Shown::All);
        assert!(text.contains("        ... 2 steps left out; --trace FILE writes them all\n"), "{text}");
        for (number, there) in [(999, true), (1000, false), (1001, false), (1002, true), (2001, true)] {
            let line = format!("n = {number}\n");
            assert_eq!((text.contains(&line), all.contains(&line)), (there, true), "{line}");
        }
    }

    #[test]
    fn a_cycle_is_told_wherever_it_starts() {
        for again in [3, 999, 1_000, 2_000, 2_998, 2_999, 3_000] {
            let model = counter(3_000, again);
            let checked = formula(&model, "F n == 4000");
            let text = shown(&model, &checked, Shown::Ends);
            let begins = text.matches("  for ever, from state ").count();
            assert_eq!(begins, 1, "{again}: {text}");
            assert!(text.contains(&format!("for ever, from state {again}:")), "{again}: {text}");
        }
    }

    #[test]
    fn a_run_by_hand_is_told_like_any_other() {
        let model = counter(20, 0);
        let plan = Plan::new(&model, &Questions::default()).unwrap();
        let budget = Budget::new(1 << 16);
        let mut simulation = Simulation::new(&model, &plan, &budget).unwrap();
        for _ in 0..5 {
            assert!(simulation.take(0).unwrap());
        }
        assert_eq!(simulation.state().changed(simulation.earlier().as_ref()), ["n"]);
        assert_eq!(simulation.back(2), 2);
        let mut text = Vec::new();
        let trace = simulation.trace(&Room::in_memory(&budget)).unwrap();
        write_run(&model, &trace, Sheet::IN_FILE, &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(text.ends_with("  3  P: s -> s  (line 2)\n       n = 3\n"), "{text}");
        // The budget ends a run that has no end.
        let more = (0..1_000_000).find_map(|_| simulation.take(0).err());
        assert!(more.is_some_and(|error| error.to_string().contains("too long for the memory")));
    }
}
