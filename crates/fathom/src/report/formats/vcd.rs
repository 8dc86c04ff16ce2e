//! How does a viewer of waves show a run? One tick for each step, a signal for each value, those of a process or record in a scope of their own.
//!
//! What kind of signal a value needs is known when all its values are: the run is read twice, and nothing but the signals is kept.

use std::collections::HashMap;
use std::io::{self, Write};

use fathom_check::model::subject::Subject;
use fathom_check::trace::Trace;
use fathom_check::trace::value::Value;

use super::walk::{Visited, walk};
use crate::report::escape::Printable;

/// What a signal carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nothing was seen but that there is no value.
    Unknown,
    Bit,
    Number,
    Text,
}

/// The signals, by name, in order.
#[derive(Default)]
struct Signals {
    names: Vec<(String, Kind)>,
    places: HashMap<String, usize>,
}

/// Writes a run; without one, a file without signals.
pub fn write(
    subject: &dyn Subject,
    name: &str,
    trace: Option<&Trace>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut signals = Signals::default();
    if let Some(trace) = trace {
        walk(subject, trace, &mut |Visited { state, .. }| {
            state.state.for_each(&mut |name, value| signals.see(name, value));
            Ok(())
        })?;
    }
    writeln!(out, "$version fathom $end\n$timescale 1 ns $end")?;
    writeln!(out, "$scope module {} $end", word(name))?;
    writeln!(out, "$var string 1 {} step $end\n$var wire 1 {} for_ever $end", code(0), code(1))?;
    signals.declare(out)?;
    writeln!(out, "$upscope $end\n$enddefinitions $end")?;
    let Some(trace) = trace else { return Ok(()) };
    let (mut tick, mut before) = (0u64, None::<Value>);
    walk(subject, trace, &mut |Visited { repeats, state, .. }| {
        writeln!(out, "#{tick}")?;
        let title = state.step.as_ref().map_or("initial_state", |step| &step.title);
        writeln!(out, "s{} {}\n{}{}", word(title), code(0), u8::from(repeats), code(1))?;
        let changed = state.state.changed(before.as_ref());
        let mut written = Ok(());
        state.state.for_each(&mut |name, value| {
            if before.is_none() || changed.iter().any(|it| it == name) {
                let line = signals.change(name, value);
                written = std::mem::replace(&mut written, Ok(())).and_then(|()| writeln!(out, "{line}"));
            }
        });
        (tick, before) = (tick + 1, Some(state.state.clone()));
        written
    })?;
    writeln!(out, "#{tick}")
}

impl Signals {
    fn see(&mut self, name: &str, value: &Value) {
        let kind = match value {
            Value::Undefined => Kind::Unknown,
            Value::Boolean(_) => Kind::Bit,
            Value::Number(_) => Kind::Number,
            _ => Kind::Text,
        };
        match self.places.get(name) {
            Some(place) => {
                let known = &mut self.names[*place].1;
                *known = match (*known, kind) {
                    (Kind::Unknown, kind) | (kind, Kind::Unknown) => kind,
                    (known, kind) if known == kind => kind,
                    _ => Kind::Text,
                };
            }
            None => {
                self.places.insert(name.to_owned(), self.names.len());
                self.names.push((name.to_owned(), kind));
            }
        }
    }

    /// Declares all, in the scope that the first part of the name is, if there are more parts.
    fn declare(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut open: Option<&str> = None;
        for (number, (name, kind)) in self.names.iter().enumerate() {
            let (scope, own) = match name.split_once('.') {
                Some((scope, own)) => (Some(scope), own),
                None => (None, &**name),
            };
            if scope != open {
                if open.is_some() {
                    writeln!(out, "$upscope $end")?;
                }
                if let Some(scope) = scope {
                    writeln!(out, "$scope module {} $end", word(scope))?;
                }
                open = scope;
            }
            let (kind, bits) = match kind {
                Kind::Bit => ("wire", 1),
                Kind::Number => ("integer", 64),
                Kind::Unknown | Kind::Text => ("string", 1),
            };
            writeln!(out, "$var {kind} {bits} {} {} $end", code(number + 2), word(own))?;
        }
        if open.is_some() { writeln!(out, "$upscope $end") } else { Ok(()) }
    }

    fn change(&self, name: &str, value: &Value) -> String {
        let Some(place) = self.places.get(name) else { return String::new() };
        let code = code(place + 2);
        match (self.names[*place].1, value) {
            (Kind::Bit, Value::Boolean(value)) => format!("{}{code}", u8::from(*value)),
            (Kind::Bit, _) => format!("x{code}"),
            (Kind::Number, Value::Number(value)) => format!("b{value:b} {code}"),
            (Kind::Number, _) => format!("bx {code}"),
            (_, value) => format!("s{} {code}", word(&value.to_string())),
        }
    }
}

/// A word without spaces: names and texts of this format have none.
fn word(text: &str) -> String {
    let text = Printable(text).to_string();
    let word: String = text.chars().map(|letter| if letter.is_whitespace() { '_' } else { letter }).collect();
    if word.is_empty() { "_".to_owned() } else { word }
}

/// A short name of printable characters.
fn code(mut number: usize) -> String {
    let mut code = String::new();
    loop {
        code.push(char::from(b'!' + (number % 94) as u8));
        number /= 94;
        if number == 0 {
            return code;
        }
        number -= 1;
    }
}
