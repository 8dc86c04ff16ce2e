//! How is a path written into JSON so that it can be read back?
//!
//! As text if it is text; else as its bytes, two digits each: names of files need not be UTF-8.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes { bytes: String },
}

impl Written {
    fn of(path: &Path) -> Written {
        match path.to_str() {
            Some(text) => Written::Text(text.to_owned()),
            None => {
                let bytes = path.as_os_str().as_bytes().iter();
                Written::Bytes { bytes: bytes.map(|byte| format!("{byte:02x}")).collect() }
            }
        }
    }

    fn path(self) -> Option<PathBuf> {
        let digits = match self {
            Written::Text(text) => return Some(PathBuf::from(text)),
            Written::Bytes { bytes } => bytes,
        };
        let pairs = digits.as_bytes().chunks(2).map(|pair| {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
            u8::from_str_radix(pair, 16).ok()
        });
        Some(PathBuf::from(OsString::from_vec(pairs.collect::<Option<_>>()?)))
    }
}

/// Writes a path.
pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Written::of(path).serialize(serializer)
}

/// Reads a path.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Written::deserialize(deserializer)?.path().ok_or_else(|| D::Error::custom("not the bytes of a path"))
}

/// The same of a path that there may be.
pub(crate) mod optional {
    use super::{Deserialize, Deserializer, PathBuf, Serialize, Serializer, Written};
    use serde::de::Error as _;

    pub(crate) fn serialize<S: Serializer>(path: &Option<PathBuf>, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_deref().map(Written::of).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<PathBuf>, D::Error> {
        let written = Option::<Written>::deserialize(deserializer)?;
        let path =
            |written: Written| written.path().ok_or_else(|| D::Error::custom("not the bytes of a path"));
        written.map(path).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize, PartialEq, Debug)]
    struct Paths {
        #[serde(with = "super")]
        one: PathBuf,
        #[serde(default, with = "super::optional")]
        other: Option<PathBuf>,
    }

    #[test]
    fn every_path_is_read_back_as_it_was() {
        for bytes in [&b"models/a.dve"[..], b"", b"a\xff\n\"/b", b"\xc3"] {
            let path = PathBuf::from(OsString::from_vec(bytes.to_vec()));
            let paths = Paths { one: path.clone(), other: Some(path) };
            let text = serde_json::to_string(&paths).unwrap();
            assert_eq!(serde_json::from_str::<Paths>(&text).unwrap(), paths, "{text}");
        }
        let paths = serde_json::from_str::<Paths>(r#"{"one":"a"}"#).unwrap();
        assert_eq!(paths, Paths { one: "a".into(), other: None });
        for wrong in [r#"{"one":{"bytes":"f"}}"#, r#"{"one":{"bytes":"fg"}}"#, r#"{"one":1}"#] {
            assert!(serde_json::from_str::<Paths>(wrong).is_err(), "{wrong}");
        }
    }
}
