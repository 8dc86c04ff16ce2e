//! Whose file is this?
//!
//! Every search draws an [`Id`] by chance. The names of its files end in a [`Mark`], the first half of it: whatever else lies in the same folder is neither believed nor removed.

use std::fmt;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// What one search is known by, wherever its files lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u128);

/// What the names of one search's files end in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark(u64);

impl Id {
    /// One that nobody else has.
    pub fn draw() -> io::Result<Id> {
        let mut bytes = [0; 16];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
        }
        Ok(Id(u128::from_le_bytes(bytes)))
    }

    /// Reads what it is written as: 32 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Id> {
        is_hexadecimal(text, 32).then(|| u128::from_str_radix(text, 16).ok().map(Id))?
    }

    /// What the names of its files end in.
    pub fn mark(self) -> Mark {
        Mark((self.0 >> 64) as u64)
    }
}

impl Mark {
    /// Reads what it is written as: 16 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Mark> {
        is_hexadecimal(text, 16).then(|| u64::from_str_radix(text, 16).ok().map(Mark))?
    }

    /// The name that a file has in its folder.
    pub fn on_disk(self, name: &str) -> String {
        format!("{name}.{self}")
    }

    /// The name of a file that is ours by its name in the folder.
    pub fn strip(self, on_disk: &str) -> Option<&str> {
        let (name, mark) = on_disk.rsplit_once('.')?;
        (Mark::parse(mark) == Some(self)).then_some(name)
    }
}

/// One spelling only: a name that is read is the name that would be written.
fn is_hexadecimal(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:032x}", self.0)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}
