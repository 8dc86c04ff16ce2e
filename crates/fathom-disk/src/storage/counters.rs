//! How many operations and bytes went to the device, of which class?
//!
//! A class is direction, kind of file, phase of the caller's work, and whether the operation followed on from the one
//! before it on the same file. Counts only grow, so the difference of two snapshots is what happened in between.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Sub;
use std::sync::{Mutex, PoisonError};

use super::role::FileKind;

/// A named phase of work on the current thread; the previous one is back when it is dropped.
#[derive(Debug)]
#[must_use = "the phase ends when this is dropped"]
pub struct Phase {
    previous: &'static str,
}

/// Does an operation start where the last one on that file ended?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It does.
    Sequential,
    /// It does not.
    Random,
}

/// Which way the bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
    /// A request to make them last.
    Sync,
}

/// Operations, bytes and time of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IoCount {
    /// How many operations.
    pub operations: u64,
    /// How many bytes.
    pub bytes: u64,
    /// How long callers waited, in nanoseconds; operations of one batch share its time.
    pub nanos: u64,
}

/// The class of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class {
    /// Which way.
    pub direction: Direction,
    /// What the file holds.
    pub kind: FileKind,
    /// During which phase.
    pub phase: &'static str,
    /// Sequential or random.
    pub access: Access,
}

/// A snapshot of all counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoCounts {
    classes: BTreeMap<Class, IoCount>,
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    classes: Mutex<BTreeMap<Class, IoCount>>,
}

thread_local! {
    static PHASE: Cell<&'static str> = const { Cell::new("") };
}

impl Phase {
    /// Operations of this thread are counted under `name` from now on.
    pub fn enter(name: &'static str) -> Self {
        Self { previous: PHASE.replace(name) }
    }
}

impl Drop for Phase {
    fn drop(&mut self) {
        PHASE.set(self.previous);
    }
}

impl IoCounts {
    /// Each class that was used, with its counts.
    pub fn classes(&self) -> impl Iterator<Item = (&Class, &IoCount)> {
        self.classes.iter()
    }

    /// The sum over all classes that `chosen` accepts.
    pub fn sum(&self, chosen: impl Fn(&Class) -> bool) -> IoCount {
        let mut sum = IoCount::default();
        for (_, count) in self.classes.iter().filter(|(class, _)| chosen(class)) {
            sum.operations += count.operations;
            sum.bytes += count.bytes;
            sum.nanos += count.nanos;
        }
        sum
    }

    /// Everything read.
    pub fn read(&self) -> IoCount {
        self.sum(|class| class.direction == Direction::Read)
    }

    /// Everything written.
    pub fn written(&self) -> IoCount {
        self.sum(|class| class.direction == Direction::Write)
    }
}

impl Sub for &IoCounts {
    type Output = IoCounts;

    /// What happened between `earlier` and `self`; classes without operations are left out.
    fn sub(self, earlier: &IoCounts) -> IoCounts {
        let mut classes = BTreeMap::new();
        for (class, later) in &self.classes {
            let before = earlier.classes.get(class).copied().unwrap_or_default();
            let count = IoCount {
                operations: later.operations - before.operations,
                bytes: later.bytes - before.bytes,
                nanos: later.nanos - before.nanos,
            };
            if count.operations > 0 {
                classes.insert(*class, count);
            }
        }
        IoCounts { classes }
    }
}

impl Counters {
    pub(super) fn add(&self, kind: FileKind, direction: Direction, access: Access, bytes: u64, nanos: u64) {
        let class = Class { direction, kind, phase: PHASE.get(), access };
        let mut classes = self.classes.lock().unwrap_or_else(PoisonError::into_inner);
        let count = classes.entry(class).or_default();
        count.operations += 1;
        count.bytes += bytes;
        count.nanos += nanos;
    }

    pub(super) fn snapshot(&self) -> IoCounts {
        IoCounts { classes: self.classes.lock().unwrap_or_else(PoisonError::into_inner).clone() }
    }
}

#[cfg(test)]
mod tests {
    use crate::storage::{Access, FileKind, Phase, Volume};

    #[test]
    fn operations_are_classed_and_subtracted() {
        let volume = Volume::in_memory(64);
        let file = volume.create("a", FileKind::RUN).unwrap();
        file.write(0, &[1; 100]).unwrap();
        file.write(100, &[2; 50]).unwrap();
        let before = volume.counts();
        let mut buffer = [0; 10];
        {
            let _phase = Phase::enter("look-up");
            file.read_exact(0, &mut buffer).unwrap();
            file.read_exact(10, &mut buffer).unwrap();
            file.read_exact(90, &mut buffer).unwrap();
        }
        file.sync().unwrap();
        let counts = &volume.counts() - &before;
        assert_eq!(counts.written().operations, 0);
        assert_eq!(counts.read().bytes, 30);
        let random = counts.sum(|class| class.access == Access::Random && class.phase == "look-up");
        assert_eq!((random.operations, random.bytes), (1, 10));
        assert_eq!(before.written().bytes, 150);
        assert_eq!(counts.classes().count(), 3);
    }
}
