//! In which order do records that do not fit in RAM come and go?
//!
//! [`RecordLog`] appends and reads in order; [`Stack`] is last in, first out; [`Queue`] first in, first out; [`LayerLog`]
//! is a log with a table of where each layer begins. All hold one or two blocks in RAM and move whole blocks.
//!
//! **Crash rule.** A block is written once between two marks and never changed after a mark that covers it. `mark` writes
//! what is in RAM, syncs the file and gives a [`Mark`] of a few numbers; a manifest that names the mark makes it last, and
//! `resume` goes on from exactly there. What came after the mark is overwritten.
//!
//! Format on disk: `docs/src/format-structures.md`.

pub(crate) mod blocks;
mod layers;
mod queue;
mod records;
mod stack;

pub use layers::{LayerLog, LayerReader};
pub use queue::Queue;
pub use records::{LogReader, Position, RecordLog};
pub use stack::Stack;

/// A few numbers that say how a structure stood; a manifest keeps them. Their meaning is the structure's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Mark(pub [u64; 6]);
