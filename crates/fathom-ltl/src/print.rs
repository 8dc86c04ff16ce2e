//! How is an automaton written for other programs?
//!
//! HOA v1 (any automaton), DOT for pictures, SPIN's never claim and the property process of DVE (both for ordinary Büchi
//! automata with accepting states). `names[i]` is the text of atom `i`; where it is missing, `pi`.

use std::fmt::Write as _;

use crate::automaton::{Automaton, Cube, Edge, Guard, Placement, StateId};
use crate::parser;
use crate::strength;

/// The automaton in the Hanoi Omega-Automata format, version 1; `title` becomes its name.
pub fn hoa<S: AsRef<str>>(automaton: &Automaton, names: &[S], title: Option<&str>) -> String {
    let mut text = String::from("HOA: v1\n");
    if let Some(title) = title {
        let _ = writeln!(text, "name: \"{}\"", escape(title));
    }
    let _ = writeln!(text, "tool: \"fathom\" \"{}\"", env!("CARGO_PKG_VERSION"));
    let _ = writeln!(text, "States: {}\nStart: {}", automaton.states.len(), automaton.initial.0);
    let (name, condition) = acceptance(automaton.mark_count);
    let _ = writeln!(text, "acc-name: {name}\nAcceptance: {} {condition}", automaton.mark_count);
    let _ = write!(text, "AP: {}", automaton.atom_count);
    for atom in 0..automaton.atom_count {
        let _ = write!(text, " \"{}\"", escape(&name_of(atom, names)));
    }
    let state_based = automaton.placement == Placement::State;
    let placement = if state_based { "state-acc" } else { "trans-acc" };
    let deterministic = strength::profile(automaton).is_some_and(|profile| profile.deterministic);
    let determinism = if deterministic { " deterministic" } else { "" };
    let _ = writeln!(text, "\nproperties: trans-labels explicit-labels {placement}{determinism}\n--BODY--");
    for (state, edges) in automaton.states.iter().enumerate() {
        let own = edges.first().map_or(0, |edge| edge.marks);
        let _ = writeln!(text, "State: {state}{}", mark_list(if state_based { own } else { 0 }));
        for edge in edges {
            let marks = mark_list(if state_based { 0 } else { edge.marks });
            let _ = writeln!(text, "[{}] {}{marks}", hoa_guard(&edge.guard), edge.target.0);
        }
    }
    text.push_str("--END--\n");
    text
}

/// A picture for Graphviz: accepting states have two rings, marks on edges are numbers in braces.
pub fn dot<S: AsRef<str>>(automaton: &Automaton, names: &[S], title: Option<&str>) -> String {
    let mut text = String::from("digraph automaton {\n  rankdir=LR;\n  node [shape=circle];\n");
    if let Some(title) = title {
        let _ = writeln!(text, "  label=\"{}\";\n  labelloc=t;", escape(title));
    }
    let _ = writeln!(text, "  start [shape=point];\n  start -> q{};", automaton.initial.0);
    let buchi = automaton.is_state_based_buchi();
    for (state, edges) in automaton.states.iter().enumerate() {
        let accepting = buchi && automaton.is_accepting(StateId(state as u32));
        let shape = if accepting { "doublecircle" } else { "circle" };
        let _ = writeln!(text, "  q{state} [label=\"{state}\", shape={shape}];");
        for edge in edges {
            let marks = mark_list(if buchi { 0 } else { edge.marks });
            let label = guard_text(&edge.guard, " & ", " | ", "true", |atom, positive| {
                format!("{}{}", if positive { "" } else { "!" }, parenthesised(&name_of(atom, names)))
            });
            let _ = writeln!(text, "  q{state} -> q{} [label=\"{}{marks}\"];", edge.target.0, escape(&label));
        }
    }
    text.push_str("}\n");
    text
}

/// A never claim; nothing unless the automaton is Büchi with accepting states. Atoms that are not names in Promela are
/// called `atomN` by `#define` lines at the top (or `atom_N`, where an atom is called so itself).
pub fn never_claim<S: AsRef<str>>(automaton: &Automaton, names: &[S], title: Option<&str>) -> Option<String> {
    if !automaton.is_state_based_buchi() {
        return None;
    }
    let spellings = promela_names(automaton.atom_count, names);
    let mut text = String::new();
    for (spelling, name) in spellings.iter().zip(names) {
        if spelling != name.as_ref() {
            let _ = writeln!(text, "#define {spelling} ({})", name.as_ref());
        }
    }
    let _ = writeln!(text, "never {{ /* {} */", title.unwrap_or("").replace("*/", "* /"));
    let mut order: Vec<usize> = (0..automaton.states.len()).collect();
    // The claim begins with its first state.
    order.sort_by_key(|&state| state != automaton.initial.index());
    for state in order {
        let _ = writeln!(text, "{}:", claim_state(automaton, state));
        never_state(&mut text, automaton, &automaton.states[state], &spellings);
    }
    text.push_str("}\n");
    Some(text)
}

fn never_state(text: &mut String, automaton: &Automaton, edges: &[Edge], spellings: &[String]) {
    if edges.is_empty() {
        text.push_str("\tfalse;\n");
        return;
    }
    text.push_str("\tdo\n");
    for edge in edges {
        let guard = guard_text(&edge.guard, " && ", " || ", "1", |atom, positive| {
            format!("{}({})", if positive { "" } else { "!" }, name_of(atom, spellings))
        });
        let target = claim_state(automaton, edge.target.index());
        let _ = writeln!(text, "\t:: ({guard}) -> goto {target}");
    }
    text.push_str("\tod;\n");
}

/// A property process of DVE; nothing unless the automaton is Büchi with accepting states. Atoms written `L == "T"`
/// become `L.T`, or `L == T` for a number.
pub fn dve_process<S: AsRef<str>>(automaton: &Automaton, names: &[S], process: &str) -> Option<String> {
    if !automaton.is_state_based_buchi() {
        return None;
    }
    let list = |keep: &dyn Fn(usize) -> bool| -> String {
        let kept = (0..automaton.states.len()).filter(|&state| keep(state));
        kept.map(|state| format!("q{state}")).collect::<Vec<_>>().join(", ")
    };
    let accepting = list(&|state| automaton.is_accepting(StateId(state as u32)));
    let mut text =
        format!("process {process} {{\nstate {};\ninit q{};\n", list(&|_| true), automaton.initial.0);
    if !accepting.is_empty() {
        let _ = writeln!(text, "accept {accepting};");
    }
    let mut steps = Vec::new();
    for (state, edges) in automaton.states.iter().enumerate() {
        for edge in edges {
            let guard = guard_text(&edge.guard, " && ", " || ", "", |atom, positive| {
                let name = dve_atom(&name_of(atom, names));
                if positive { format!("({name})") } else { format!("not ({name})") }
            });
            let body = if guard.is_empty() { String::new() } else { format!(" guard {guard}; ") };
            steps.push(format!(" q{state} -> q{} {{{body}}}", edge.target.0));
        }
    }
    if !steps.is_empty() {
        let _ = writeln!(text, "trans\n{};", steps.join(",\n"));
    }
    text.push_str("}\n");
    Some(text)
}

fn name_of<S: AsRef<str>>(atom: usize, names: &[S]) -> String {
    names.get(atom).map_or_else(|| format!("p{atom}"), |name| name.as_ref().to_owned())
}

fn parenthesised(name: &str) -> String {
    if name.contains(' ') { format!("({name})") } else { name.to_owned() }
}

fn acceptance(marks: u32) -> (String, String) {
    let sets: Vec<String> = (0..marks).map(|mark| format!("Inf({mark})")).collect();
    match marks {
        0 => ("all".into(), "t".into()),
        1 => ("Buchi".into(), sets.join("")),
        _ => (format!("generalized-Buchi {marks}"), sets.join("&")),
    }
}

fn mark_list(marks: u64) -> String {
    if marks == 0 {
        return String::new();
    }
    let numbers: Vec<String> =
        (0..64).filter(|mark| marks >> mark & 1 == 1).map(|mark: u32| mark.to_string()).collect();
    format!(" {{{}}}", numbers.join(" "))
}

fn hoa_guard(guard: &Guard) -> String {
    if guard.cubes.is_empty() {
        return "f".into();
    }
    guard_text(guard, "&", " | ", "t", |atom, positive| format!("{}{atom}", if positive { "" } else { "!" }))
}

/// The disjunction of the cubes; cubes of several literals in parentheses where there is more than one.
fn guard_text(
    guard: &Guard,
    and: &str,
    or: &str,
    always: &str,
    literal: impl Fn(usize, bool) -> String,
) -> String {
    let cube_text = |cube: &Cube| {
        let literals: Vec<String> = (0..64)
            .filter(|atom| (cube.positive | cube.negative) >> atom & 1 == 1)
            .map(|atom| literal(atom, cube.positive >> atom & 1 == 1))
            .collect();
        literals.join(and)
    };
    if guard.cubes.contains(&Cube::default()) {
        return always.to_owned();
    }
    let several = guard.cubes.len() > 1;
    let wrap = |cube: &Cube| {
        let text = cube_text(cube);
        if several && (cube.positive | cube.negative).count_ones() > 1 { format!("({text})") } else { text }
    };
    guard.cubes.iter().map(wrap).collect::<Vec<_>>().join(or)
}

/// SPIN knows accepting states of a claim by the beginning of their names.
fn claim_state(automaton: &Automaton, state: usize) -> String {
    let accepting = automaton.is_accepting(StateId(state as u32));
    let prefix = if accepting { "accept" } else { "T0" };
    if state == automaton.initial.index() { format!("{prefix}_init") } else { format!("{prefix}_S{state}") }
}

fn promela_names<S: AsRef<str>>(atom_count: usize, names: &[S]) -> Vec<String> {
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    // The preprocessor would put one definition into another.
    let mut prefix = String::from("atom");
    while names.iter().any(|name| name.as_ref().contains(&prefix)) {
        prefix.push('_');
    }
    let names = (0..atom_count).map(|atom| name_of(atom, names));
    let spelling =
        |(atom, name): (usize, String)| if is_name(&name) { name } else { format!("{prefix}{atom}") };
    names.enumerate().map(spelling).collect()
}

fn dve_atom(name: &str) -> String {
    match parser::as_process_state(name) {
        Some((left, right)) if right.trim_start_matches('-').chars().all(|c| c.is_ascii_digit()) => {
            format!("{left} == {right}")
        }
        Some((left, right)) => format!("{left}.{right}"),
        None => name.to_owned(),
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}
