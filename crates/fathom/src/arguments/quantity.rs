//! How does a user write an amount of memory, a time, a constant, a name for an expression?

use std::time::Duration;

use fathom_check::questions::liveness_property::Fairness;

/// Bytes of `512MiB`, `2G`, `64k`, `1048576`: units are powers of 1024, with or without `iB` or `B`.
pub fn size(text: &str) -> Result<u64, String> {
    let refuse = || format!("`{text}` is not a size: write a number and a unit, as in 512MiB, 2GiB or 1G");
    let (number, unit) = split(text).ok_or_else(refuse)?;
    let unit = unit.to_ascii_lowercase();
    let letter = unit.strip_suffix("ib").or(unit.strip_suffix('b')).unwrap_or(&unit);
    let shift = match letter {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(refuse()),
    };
    scaled(number, (1u64 << shift) as f64).ok_or_else(refuse)
}

/// The time of `30s`, `5m`, `2h`, `1.5h`, `500ms`, `90`: seconds if no unit is given.
pub fn duration(text: &str) -> Result<Duration, String> {
    let refuse = || format!("`{text}` is not a time: write a number and a unit, as in 30s, 5m or 2h");
    let (number, unit) = split(text).ok_or_else(refuse)?;
    let milliseconds = match unit {
        "ms" => 1.0,
        "" | "s" => 1000.0,
        "m" | "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => return Err(refuse()),
    };
    scaled(number, milliseconds).map(Duration::from_millis).ok_or_else(refuse)
}

/// Name and value of `NAME=V`.
pub fn constant(text: &str) -> Result<(String, i64), String> {
    let refuse = || format!("`{text}` is not a constant: write NAME=VALUE with an integer, as in N=4");
    let (name, value) = text.split_once('=').ok_or_else(refuse)?;
    let value = value.trim().parse().map_err(|_| refuse())?;
    match name.trim() {
        "" => Err(refuse()),
        name => Ok((name.to_owned(), value)),
    }
}

/// Name and expression of `NAME=E`.
pub fn definition(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        name.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
            && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    match text.split_once('=') {
        Some((name, value)) if is_name(name.trim()) && !value.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err(format!("`{text}` names no expression: write NAME=E, as in far='x > 3'")),
    }
}

/// Which runs count: `weak`, or `weak=P,Q`; `strong` the same.
pub fn fairness(text: &str) -> Result<Fairness, String> {
    let refuse = || {
        format!(
            "`{text}` is no fairness: write weak or strong, or weak=P,Q or strong=P,Q with names of processes"
        )
    };
    let (kind, names) = text.split_once('=').map_or((text, None), |(kind, names)| (kind, Some(names)));
    let kind = match kind {
        "weak" => Fairness::Weak,
        "strong" => Fairness::Strong,
        _ => return Err(refuse()),
    };
    let Some(names) = names else { return Ok(kind(Vec::new())) };
    let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
    if names.iter().any(String::is_empty) { Err(refuse()) } else { Ok(kind(names)) }
}

/// How many threads: at least one, and no more than a machine has.
pub fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count @ 1..=1024) => Ok(count),
        _ => Err(format!("`{text}` is not a number of threads: 1 to 1024")),
    }
}

/// The number at the beginning and the unit behind it.
fn split(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let end = text.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (!number.is_empty()).then_some((number, unit.trim()))
}

/// A decimal number times a scale, if that is a whole number of 53 bits or an integer times it fits 64.
fn scaled(number: &str, scale: f64) -> Option<u64> {
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(scale as u64);
    }
    let value = number.parse::<f64>().ok()? * scale;
    (value.is_finite() && value < 9e15).then_some(value as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64k", 65536),
            ("512MiB", 512 << 20),
            ("2GiB", 2 << 30),
            ("1G", 1 << 30),
            ("1.5g", 3 << 29),
            ("3 MB", 3 << 20),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1X", "-1", "1e3", "1..2G", "99999999999T", "iB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_are_read_in_seconds_minutes_and_hours() {
        for (text, milliseconds) in [
            ("30s", 30_000),
            ("5m", 300_000),
            ("2h", 7_200_000),
            ("250ms", 250),
            ("1.5", 1500),
            ("1d", 86_400_000),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "s", "3 weeks", "-1s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn constants_are_a_name_and_an_integer() {
        assert_eq!(constant("N=4"), Ok(("N".into(), 4)));
        assert_eq!(constant(" N = -4 "), Ok(("N".into(), -4)));
        for text in ["N", "=4", "N=", "N=x", "N=1.5"] {
            assert!(constant(text).is_err(), "{text}");
        }
    }

    #[test]
    fn there_is_at_least_one_thread() {
        assert_eq!(threads("2"), Ok(2));
        for text in ["0", "-1", "many", "2000"] {
            assert!(threads(text).is_err(), "{text}");
        }
    }
}
