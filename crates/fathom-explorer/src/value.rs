//! What is a state, as its model nests it? Records of arrays of numbers, rather than a row of names and texts.

use std::fmt;

use fathom_model::program::{Program, Words};
use fathom_model::shape::{ComponentKind, Shape};
use fathom_model::structure::{Indices, Part, Structure};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value of a model, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// No value.
    Undefined,
    /// True or false.
    Boolean(bool),
    /// A number.
    Number(i64),
    /// A value with a name: of an enumeration, a location.
    Word(String),
    /// Values with names.
    Record(Vec<(String, Value)>),
    /// The variables of a process, with its location before them by the name [`LOCATION`].
    Process(Vec<(String, Value)>),
    /// The elements of an array from index 0 on.
    List(Vec<Value>),
    /// The elements of an array by other indices.
    Map(Vec<(String, Value)>),
    /// The elements of a multiset.
    Multiset(Vec<Value>),
    /// The messages in a channel, those that were sent first in front. What has more parts than one is a list.
    Channel(Vec<Value>),
}

/// What the location of a process is called among its variables. It is a keyword of DVE, so no variable has this name.
pub const LOCATION: &str = "state";

impl Value {
    /// The state in a record of a model.
    pub fn of(program: &Program, shape: &Shape, record: &[u64]) -> Value {
        let words = program.words.as_deref();
        let reading = Reading { shape, words, record };
        let flat = || Structure {
            variables: (0..)
                .zip(&shape.components)
                .map(|(number, it)| (it.name.clone(), Part::plain(number, it.length)))
                .collect(),
        };
        match &program.structure {
            Some(structure) => Value::Record(reading.all(&structure.variables, 0)),
            None => Value::Record(reading.all(&flat().variables, 0)),
        }
    }

    /// A state of which only names and texts are known. Elements of an array are told by their names.
    pub fn of_texts(texts: Vec<(String, String)>) -> Value {
        let mut variables: Vec<(String, Value)> = Vec::new();
        for (name, text) in texts {
            let value = Value::of_text(text);
            let element = name.strip_suffix(']').and_then(|name| name.rsplit_once('['));
            match (element, variables.last_mut()) {
                (Some((array, index)), Some((last, Value::List(elements))))
                    if array == last && index == elements.len().to_string() =>
                {
                    elements.push(value);
                }
                (Some((array, "0")), _) => variables.push((array.to_owned(), Value::List(vec![value]))),
                _ => variables.push((name, value)),
            }
        }
        Value::Record(variables)
    }

    /// A single value of which only the text is known.
    pub fn of_text(text: String) -> Value {
        match (text.parse(), &*text) {
            (Ok(number), _) => Value::Number(number),
            (_, "true" | "false") => Value::Boolean(text == "true"),
            (_, "undefined" | "-") => Value::Undefined,
            _ => Value::Word(text),
        }
    }

    /// What it is made of, each part with the name that leads there from the whole; nothing if it is a single value or has no fixed parts.
    pub fn parts(&self) -> Option<Vec<(String, &Value)>> {
        match self {
            Value::Record(fields) => {
                Some(fields.iter().map(|(name, value)| (format!(".{name}"), value)).collect())
            }
            Value::Process(variables) => Some(
                variables
                    .iter()
                    .map(|(name, value)| {
                        (if name == LOCATION { String::new() } else { format!(".{name}") }, value)
                    })
                    .collect(),
            ),
            Value::List(elements) => Some(
                elements.iter().enumerate().map(|(index, value)| (format!("[{index}]"), value)).collect(),
            ),
            Value::Map(elements) => {
                Some(elements.iter().map(|(index, value)| (format!("[{index}]"), value)).collect())
            }
            _ => None,
        }
    }

    /// The names of the single values, multisets and channels in it that differ from those of the state before; of all of them if there is none.
    pub fn changed(&self, before: Option<&Value>) -> Vec<String> {
        let mut names = Vec::new();
        self.compare(before, "", &mut |name, _| names.push(name.to_owned()));
        names
    }

    /// Calls `visit` on each single value, multiset and channel in a state, with its name.
    pub fn for_each(&self, visit: &mut dyn FnMut(&str, &Value)) {
        self.compare(None, "", visit);
    }

    fn compare(&self, before: Option<&Value>, name: &str, visit: &mut dyn FnMut(&str, &Value)) {
        if before == Some(self) {
            return;
        }
        let Some(parts) = self.parts() else { return visit(name, self) };
        let earlier = before.and_then(Value::parts).filter(|earlier| earlier.len() == parts.len());
        for (number, (way, part)) in parts.into_iter().enumerate() {
            let name =
                if name.is_empty() { way.trim_start_matches('.').to_owned() } else { format!("{name}{way}") };
            part.compare(earlier.as_ref().map(|earlier| earlier[number].1), &name, visit);
        }
    }

    /// Whether nothing in it has a value.
    pub fn is_empty_throughout(&self) -> bool {
        match self {
            Value::Undefined => true,
            Value::Record(parts) | Value::Map(parts) => {
                !parts.is_empty() && parts.iter().all(|(_, part)| part.is_empty_throughout())
            }
            Value::List(parts) => !parts.is_empty() && parts.iter().all(Value::is_empty_throughout),
            _ => false,
        }
    }

    /// The same as a file has it, where records, processes and maps are alike, and so are lists, multisets and channels.
    #[must_use]
    pub fn plain(&self) -> Value {
        let named = |parts: &[(String, Value)]| {
            Value::Record(parts.iter().map(|(name, value)| (name.clone(), value.plain())).collect())
        };
        match self {
            Value::Record(parts) | Value::Process(parts) | Value::Map(parts) => named(parts),
            Value::List(parts) | Value::Multiset(parts) | Value::Channel(parts) => {
                Value::List(parts.iter().map(Value::plain).collect())
            }
            single => single.clone(),
        }
    }
}

/// How many equal elements of an array in a row are told as one.
const FOLDED_FROM: usize = 5;

/// In one line, as a person reads it: what is alike is told once, and what has no value is `-`.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Undefined => out.write_str("-"),
            Value::Boolean(value) => value.fmt(out),
            Value::Number(value) => value.fmt(out),
            Value::Word(word) => out.write_str(word),
            all if all.is_empty_throughout() => out.write_str("-"),
            Value::Record(parts) | Value::Process(parts) => {
                let fields: Vec<String> =
                    parts.iter().map(|(name, part)| format!("{name} = {part}")).collect();
                write!(out, "({})", fields.join(", "))
            }
            Value::Map(parts) => write!(out, "[{}]", folded_map(parts).join(", ")),
            Value::List(parts) => write!(out, "[{}]", folded(parts, FOLDED_FROM).join(", ")),
            Value::Channel(parts) => write!(out, "[{}]", folded(parts, usize::MAX).join(", ")),
            Value::Multiset(parts) => {
                // Its slots mean nothing, so that what is alike may stand together.
                let mut together: Vec<&Value> = parts.iter().collect();
                together.sort_by_cached_key(ToString::to_string);
                write!(out, "{{{}}}", folded(together, 2).join(", "))
            }
        }
    }
}

/// Values in words, runs of at least so many that are equal as one: `12 x 0`.
fn folded<'a>(parts: impl IntoIterator<Item = &'a Value>, from: usize) -> Vec<String> {
    let parts: Vec<&Value> = parts.into_iter().collect();
    let runs = parts.chunk_by(|one, other| one == other);
    let words = |run: &[&Value]| match run.len() {
        length if length >= from => vec![format!("{length} x {}", run[0])],
        length => vec![run[0].to_string(); length],
    };
    runs.flat_map(words).collect()
}

/// Values by their indices, runs of three and more that are equal as one: `cache_1..cache_3: invalid`.
fn folded_map(parts: &[(String, Value)]) -> Vec<String> {
    let runs = parts.chunk_by(|one, other| one.1 == other.1);
    let words = |run: &[(String, Value)]| match run {
        [(first, value), .., (last, _)] if run.len() > 2 => vec![format!("{first}..{last}: {value}")],
        _ => run.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
    };
    runs.flat_map(words).collect()
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Undefined => serializer.serialize_unit(),
            Value::Boolean(value) => serializer.serialize_bool(*value),
            Value::Number(value) => serializer.serialize_i64(*value),
            Value::Word(word) => serializer.serialize_str(word),
            Value::Record(parts) | Value::Process(parts) | Value::Map(parts) => {
                serializer.collect_map(parts.iter().map(|(name, value)| (name, value)))
            }
            Value::List(parts) | Value::Multiset(parts) | Value::Channel(parts) => {
                serializer.collect_seq(parts)
            }
        }
    }
}

/// As [`Value::plain`] makes it, in the order of the file.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(Parts)
    }
}

struct Parts;

impl<'de> Visitor<'de> for Parts {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of a model")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Undefined)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        i64::try_from(value).map(Value::Number).map_err(E::custom)
    }

    fn visit_str<E>(self, word: &str) -> Result<Value, E> {
        Ok(Value::Word(word.to_owned()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = map.next_entry()? {
            parts.push(part);
        }
        Ok(Value::Record(parts))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut parts = Vec::new();
        while let Some(part) = list.next_element()? {
            parts.push(part);
        }
        Ok(Value::List(parts))
    }
}

/// A record that is read.
struct Reading<'a> {
    shape: &'a Shape,
    words: Option<&'a Words>,
    record: &'a [u64],
}

impl Reading<'_> {
    fn all(&self, parts: &[(String, Part)], position: u32) -> Vec<(String, Value)> {
        parts.iter().map(|(name, part)| (name.clone(), self.part(part, position))).collect()
    }

    /// A part, as the element of that number among all there are on the way to it.
    fn part(&self, part: &Part, position: u32) -> Value {
        match part {
            Part::Value(component) => self.value(*component, position),
            Part::Record(fields) => Value::Record(self.all(fields, position)),
            Part::Process { location, variables } => {
                let location = (LOCATION.to_owned(), self.value(*location, 0));
                Value::Process(std::iter::once(location).chain(self.all(variables, 0)).collect())
            }
            Part::Array(indices, element) => {
                let elements =
                    (0..indices.len()).map(|index| self.part(element, position * indices.len() + index));
                match indices {
                    Indices::Upto(_) => Value::List(elements.collect()),
                    Indices::Named(words) => Value::Map(words.iter().cloned().zip(elements).collect()),
                }
            }
            Part::Multiset { size, element, present } => {
                let slots = (0..*size).map(|slot| position * size + slot);
                let used = slots.filter(|slot| self.number(*present, *slot) == Some(1));
                Value::Multiset(used.map(|slot| self.part(element, slot)).collect())
            }
            Part::Channel { length, fields } => {
                let waiting = self.number(*length, 0).map_or(0, |length| length as u32);
                let message = |place| match fields[..] {
                    [only] => self.value(only, place),
                    _ => Value::List(fields.iter().map(|field| self.value(*field, place)).collect()),
                };
                Value::Channel((0..waiting).map(message).collect())
            }
        }
    }

    fn number(&self, component: u32, element: u32) -> Option<i64> {
        let component = &self.shape.components[component as usize];
        Some(component.value(self.record, element)).filter(|value| component.undefined != Some(*value))
    }

    fn value(&self, number: u32, element: u32) -> Value {
        let component = &self.shape.components[number as usize];
        let Some(value) = self.number(number, element) else { return Value::Undefined };
        let named = |names: &[String], place: i64| {
            usize::try_from(place).ok().and_then(|place| names.get(place).cloned())
        };
        let word = match &component.kind {
            ComponentKind::Location { names, .. } | ComponentKind::Named(names) => named(names, value),
            // Values with words are numbered from 0 on, whatever they are.
            ComponentKind::Variable => {
                let words = self.words.and_then(|words| words.values.get(number as usize));
                words.and_then(|words| named(words, value))
            }
        };
        match word {
            Some(word) if word == "true" || word == "false" => Value::Boolean(word == "true"),
            Some(word) => Value::Word(word),
            None => Value::Number(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[i64]) -> Vec<Value> {
        numbers.iter().map(|number| Value::Number(*number)).collect()
    }

    #[test]
    fn what_is_alike_is_told_once() {
        let word = |word: &str| Value::Word(word.to_owned());
        let map = |words: &[(&str, &str)]| {
            Value::Map(words.iter().map(|(name, it)| ((*name).into(), word(it))).collect())
        };
        let record =
            |number| Value::Record(vec![("n".into(), Value::Number(number)), ("m".into(), Value::Undefined)]);
        let cases = [
            (Value::List(numbers(&[0, 0, 0, 0])), "[0, 0, 0, 0]"),
            (Value::List(numbers(&[7, 0, 0, 0, 0, 0, 1])), "[7, 5 x 0, 1]"),
            (map(&[("a", "x"), ("b", "x"), ("c", "x"), ("d", "y")]), "[a..c: x, d: y]"),
            (map(&[("a", "x"), ("b", "x")]), "[a: x, b: x]"),
            (Value::Multiset(vec![record(2), record(1), record(2)]), "{(n = 1, m = -), 2 x (n = 2, m = -)}"),
            (Value::Channel(numbers(&[1, 1])), "[1, 1]"),
            (Value::List(vec![Value::Undefined; 2]), "-"),
            (Value::Multiset(Vec::new()), "{}"),
        ];
        for (value, text) in cases {
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn what_changed_is_named_as_the_model_names_it() {
        let state = |location: &str, x: i64, queue: &[i64]| {
            let process =
                vec![(LOCATION.into(), Value::Word(location.into())), ("x".into(), Value::Number(x))];
            Value::Record(vec![
                ("a".into(), Value::List(numbers(&[x, 1]))),
                ("q".into(), Value::Channel(numbers(queue))),
                ("P".into(), Value::Process(process)),
            ])
        };
        let before = state("idle", 0, &[]);
        assert_eq!(before.changed(None), ["a[0]", "a[1]", "q", "P", "P.x"]);
        assert_eq!(state("busy", 0, &[4]).changed(Some(&before)), ["q", "P"]);
        assert_eq!(state("idle", 1, &[]).changed(Some(&before)), ["a[0]", "P.x"]);
        assert!(before.changed(Some(&before)).is_empty());
    }

    #[test]
    fn a_value_is_read_as_it_was_written() {
        let value = Value::Record(vec![
            (
                "z".into(),
                Value::Map(vec![("b".into(), Value::Undefined), ("a".into(), Value::Boolean(true))]),
            ),
            ("m".into(), Value::Multiset(vec![Value::Number(i64::MIN), Value::Word("x\"y".into())])),
        ]);
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(text, r#"{"z":{"b":null,"a":true},"m":[-9223372036854775808,"x\"y"]}"#);
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read, value.plain());
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
        assert!(serde_json::from_str::<Value>("18446744073709551615").is_err());
    }

    #[test]
    fn texts_make_arrays_where_their_names_do() {
        let texts = [("a[0]", "1"), ("a[1]", "true"), ("b", "undefined"), ("c[1]", "x"), ("a[0]", "2")];
        let value =
            Value::of_texts(texts.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect());
        assert_eq!(value.to_string(), "(a = [1, true], b = -, c[1] = x, a = [2])");
    }
}
