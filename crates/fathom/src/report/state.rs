//! How does a person read a state? What belongs together in a line: the global variables, a process, a record; and of a state that follows another, only what changed.

use std::io::IsTerminal;

use fathom_check::trace::value::Value;

use super::escape::Printable;

/// How wide lines are where there is no terminal that says so.
pub const WIDTH: usize = 120;
/// A terminal that is narrower than this gets lines of this width.
const WIDTH_MIN: usize = 40;

/// How wide what people read may be: as the terminal is, if it goes to one.
pub fn width() -> usize {
    let stdout = std::io::stdout();
    match rustix::termios::tcgetwinsize(&stdout) {
        Ok(size) if stdout.is_terminal() && size.ws_col > 0 => usize::from(size.ws_col).max(WIDTH_MIN),
        _ => WIDTH,
    }
}

/// What is told in one go, wrapped where it is long.
#[derive(Default)]
struct Group {
    /// Whose it is; empty for what belongs to nobody.
    owner: String,
    items: Vec<String>,
}

/// The lines for a state: all of it, or what differs from the state before.
pub fn lines(before: Option<&Value>, now: &Value, width: usize) -> Vec<String> {
    let (mut shared, mut groups) = (Group::default(), Vec::new());
    let parts = now.parts().unwrap_or_default();
    let earlier = before.and_then(Value::parts);
    for (number, (name, part)) in parts.iter().enumerate() {
        let before = earlier.as_ref().and_then(|earlier| earlier.get(number)).map(|(_, part)| *part);
        tell(name.trim_start_matches('.'), part, before, &mut shared, &mut groups);
    }
    groups.insert(0, shared);
    let mut lines: Vec<String> = groups.iter().flat_map(|group| group.lines(width)).collect();
    if lines.is_empty() {
        lines.push("nothing changes".to_owned());
    }
    lines
}

/// Adds what is to tell of a variable: to what is shared, or as a group of its own.
fn tell(name: &str, now: &Value, before: Option<&Value>, shared: &mut Group, groups: &mut Vec<Group>) {
    if before == Some(now) {
        return;
    }
    match now {
        _ if before.is_none() && now.is_empty_throughout() => shared.items.push(format!("{name} = -")),
        Value::Process(_) | Value::Record(_) => {
            let mut group = Group { owner: name.to_owned(), items: Vec::new() };
            let earlier = before.and_then(Value::parts);
            for (number, (way, part)) in now.parts().unwrap_or_default().iter().enumerate() {
                let before = earlier.as_ref().and_then(|earlier| earlier.get(number)).map(|(_, part)| *part);
                list(way.trim_start_matches('.'), part, before, &mut group.items);
            }
            groups.push(group);
        }
        Value::List(elements) if elements.iter().any(is_nested) => {
            elementwise(name, now, before, shared, groups)
        }
        Value::Map(elements) if elements.iter().any(|(_, it)| is_nested(it)) => {
            elementwise(name, now, before, shared, groups);
        }
        _ => list(name, now, before, &mut shared.items),
    }
}

/// Whether a value has a line of its own.
fn is_nested(value: &Value) -> bool {
    matches!(
        value,
        Value::Record(_) | Value::Process(_) | Value::List(_) | Value::Map(_) | Value::Multiset(_)
    )
}

/// Adds what is to tell of the elements of an array, those in a row that are alike as one.
fn elementwise(name: &str, now: &Value, before: Option<&Value>, shared: &mut Group, groups: &mut Vec<Group>) {
    let parts = now.parts().unwrap_or_default();
    let earlier = before.and_then(Value::parts).unwrap_or_default();
    let pairs: Vec<(&str, &Value, Option<&Value>)> = (0..)
        .zip(&parts)
        .map(|(number, (way, part))| (&**way, *part, earlier.get(number).map(|(_, part)| *part)))
        .collect();
    for run in pairs.chunk_by(|one, other| (one.1, one.2) == (other.1, other.2)) {
        let (first, now, before) = run[0];
        let name = match run.last() {
            Some((last, ..)) if run.len() > 1 => {
                format!("{name}{}..{}", first.trim_end_matches(']'), last.trim_start_matches('['))
            }
            _ => format!("{name}{first}"),
        };
        tell(&name, now, before, shared, groups);
    }
}

/// Adds `name = value`, or of an array or record that was there before, its parts that changed.
fn list(name: &str, now: &Value, before: Option<&Value>, items: &mut Vec<String>) {
    if before == Some(now) {
        return;
    }
    match (now.parts(), before.and_then(Value::parts)) {
        (Some(parts), Some(earlier)) if parts.len() == earlier.len() => {
            for ((way, part), (_, before)) in parts.iter().zip(earlier) {
                list(&format!("{name}{way}"), part, Some(before), items);
            }
        }
        _ if name.is_empty() => items.push(now.to_string()),
        _ => items.push(format!("{name} = {now}")),
    }
}

impl Group {
    /// Its items, as many in a line as fit; what does not fit a line by itself is longer.
    fn lines(&self, width: usize) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let owner =
            if self.owner.is_empty() { String::new() } else { format!("{}: ", Printable(&self.owner)) };
        let mut line = owner.clone();
        let last = self.items.len().saturating_sub(1);
        for (number, item) in self.items.iter().enumerate() {
            let item = format!("{}{}", Printable(item), if number < last { "," } else { "" });
            let is_empty = line.trim_start().is_empty() || line == owner;
            if !is_empty && line.chars().count() + 1 + item.chars().count() > width {
                lines.push(std::mem::replace(&mut line, "  ".to_owned()));
            } else if !is_empty {
                line.push(' ');
            }
            line.push_str(&item);
        }
        if !self.items.is_empty() {
            lines.push(line);
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use fathom_check::trace::value::LOCATION;

    use super::*;

    fn number(number: i64) -> Value {
        Value::Number(number)
    }

    fn cache(state: &str, data: Value) -> Value {
        Value::Record(vec![("state".into(), Value::Word(state.into())), ("data".into(), data)])
    }

    fn state(turn: i64, at: &str, caches: Vec<Value>) -> Value {
        let process = vec![(LOCATION.into(), Value::Word(at.into())), ("x".into(), number(turn))];
        Value::Record(vec![
            ("turn".into(), number(turn)),
            ("P".into(), Value::Process(process)),
            ("wants".into(), Value::List(vec![number(turn), number(1)])),
            ("cache".into(), Value::List(caches)),
        ])
    }

    #[test]
    fn what_belongs_together_stands_in_a_line() {
        let empty = || cache("I", Value::Undefined);
        let first = state(0, "idle", vec![empty(), empty(), empty()]);
        assert_eq!(
            lines(None, &first, 80),
            ["turn = 0, wants = [0, 1]", "P: idle, x = 0", "cache[0..2]: state = I, data = -"]
        );
        let next = state(1, "idle", vec![empty(), cache("M", number(3)), empty()]);
        assert_eq!(
            lines(Some(&first), &next, 80),
            ["turn = 1, wants[0] = 1", "P: x = 1", "cache[1]: state = M, data = 3"]
        );
        assert_eq!(lines(Some(&next), &next, 80), ["nothing changes"]);
    }

    #[test]
    fn lines_are_no_longer_than_they_may_be() {
        let values = (0..40).map(|it| (format!("variable_{it}"), number(it)));
        let state = Value::Record(vec![("r".into(), Value::Record(values.collect()))]);
        for width in [30, 50, 120] {
            let lines = lines(None, &state, width);
            assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:#?}");
            assert!(lines[0].starts_with("r: variable_0 = 0, ") || width == 30);
            assert_eq!(lines.iter().map(|line| line.matches('=').count()).sum::<usize>(), 40);
        }
    }

    #[test]
    fn hostile_names_do_nothing_to_a_terminal() {
        let state = Value::Record(vec![("a\u{1b}[2J\u{202e}".into(), Value::Word("\r\n".into()))]);
        assert_eq!(lines(None, &state, 80), [r"a\u{1b}[2J\u{202e} = \r\n"]);
    }
}
