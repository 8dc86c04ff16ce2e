//! How is the result of a run told, to people and to programs?

pub mod colour;
pub mod escape;
pub mod formats;
pub mod json;
pub mod page;
pub mod progress;
pub mod say;
pub mod state;
pub mod text;
pub mod trace;

use fathom_check::answers::check::{Checked, Verdict};
use fathom_check::model::assemble::Model;
use fathom_check::questions::unchecked::Unchecked;

/// What is told of a check.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// What was checked.
    pub model: &'a Model,
    /// What came of it.
    pub checked: &'a Checked,
    /// What the verdicts take for granted.
    pub assumptions: &'a [String],
    /// What was left out.
    pub unchecked: &'a [Unchecked],
    /// Whether it is told where time and memory went.
    pub stats: bool,
    /// Whether verdicts have colours.
    pub coloured: bool,
}

/// How a run ended, for the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything holds, or the exploration is finished.
    Success,
    /// Something is violated, or the model has a fault.
    Violated,
    /// Wrong usage, wrong source, or the machine failed.
    Error,
    /// A limit was reached.
    GaveUp,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Violated => 1,
            Exit::Error => 2,
            Exit::GaveUp => 3,
        }
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Exit {
        match verdict {
            Verdict::Holds => Exit::Success,
            Verdict::Violated | Verdict::Fault => Exit::Violated,
            Verdict::Unknown => Exit::GaveUp,
        }
    }
}
