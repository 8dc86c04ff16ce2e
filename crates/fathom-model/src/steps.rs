//! Where do the steps of a batch go? Into a structure of arrays that the caller owns and that never grows by itself.
//!
//! Per source: its labels, its enabled processes, its range of steps and of faults. Per step: target record, action, movers, marks.
//! The caller says which columns it reads; the others stay empty and cost nothing.
//!
//! **Bound.** Everything is allocated when the buffer is made, or by [`Steps::grow`], so [`Steps::bytes`] is what it holds and its
//! owner charges it. What a wrapper holds of its own to fill the buffer is part of it: it is as large as the buffer, and as long-lived. A producer that runs out of room takes back the source it was at and returns.

use crate::fault::FaultKind;
use crate::record::Records;
use crate::shape::Shape;
use crate::span::Span;

/// The most labels a state may have: a word of bits, less one that says that evaluation faulted.
pub const LABELS_MAX: usize = 63;

/// Truth of each label on one state: bit `i` is label `i`, the top bit says that evaluating one of them faulted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels(pub u64);

/// A set of processes: bit `i` is process `i`. Processes from 64 on are in no set (fairness over them is refused).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ProcessSet(pub u64);

/// A set of acceptance sets that a step belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Marks(pub u64);

/// The model misbehaved in a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// Which action faulted (of an initial state: which start).
    pub action: u32,
    /// How.
    pub kind: FaultKind,
    /// Where in the source.
    pub span: Span,
}

/// Which columns a caller reads. Targets and faults are always there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// [`Steps::labels`].
    pub labels: bool,
    /// [`Steps::enabled`].
    pub enabled: bool,
    /// [`Steps::action`].
    pub actions: bool,
    /// [`Steps::movers`].
    pub movers: bool,
    /// [`Steps::marks`].
    pub marks: bool,
}

/// The buffer is full: take back the current source and return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The steps of some sources. Every column that is wanted is as long as the capacity; how much of it is filled is counted apart,
/// so that a producer may be handed plain slices ([`Steps::raw`]).
#[derive(Clone, Debug)]
pub struct Steps {
    words_per_record: usize,
    inner_buffers: u32,
    columns: Columns,
    capacity: usize,
    source_count: usize,
    step_count: usize,
    fault_count: usize,
    /// Whether the producer ended before it was done, since somebody asked it to.
    interrupted: bool,
    ends: Vec<SourceEnd>,
    labels: Vec<Labels>,
    enabled: Vec<ProcessSet>,
    targets: Vec<u64>,
    actions: Vec<u32>,
    movers: Vec<ProcessSet>,
    marks: Vec<Marks>,
    faults: Vec<Fault>,
}

/// Where a source's steps and faults end (they begin where the previous source's end).
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceEnd {
    /// How many steps this source and those before it have.
    pub step: u32,
    /// How many faults they have.
    pub fault: u32,
}

/// All room of a buffer as slices, for a producer that fills columns itself. Columns that are not wanted are empty, the others hold
/// [`Steps::capacity`] entries (targets: so many records) of old or zero content.
#[derive(Debug)]
pub struct RawColumns<'a> {
    /// Per source.
    pub ends: &'a mut [SourceEnd],
    /// Per source.
    pub labels: &'a mut [Labels],
    /// Per source.
    pub enabled: &'a mut [ProcessSet],
    /// Per step, all words of its target.
    pub targets: &'a mut [u64],
    /// Per step.
    pub actions: &'a mut [u32],
    /// Per step.
    pub movers: &'a mut [ProcessSet],
    /// Per step.
    pub marks: &'a mut [Marks],
    /// Per fault.
    pub faults: &'a mut [Fault],
}

impl Labels {
    /// The bit that says that a label's evaluation faulted.
    pub const FAULT: Labels = Labels(1 << LABELS_MAX);
    /// What stands for labels that were not evaluated to their end, since somebody asked for that: all are true and one of them
    /// faulted, which no state is like.
    pub const INTERRUPTED: Labels = Labels(u64::MAX);

    /// Whether a label is true.
    pub fn holds(self, label: usize) -> bool {
        debug_assert!(label < LABELS_MAX, "labels are below the fault bit");
        self.0 >> label & 1 == 1
    }

    /// Whether evaluating some label faulted.
    pub fn faulted(self) -> bool {
        self.0 >> LABELS_MAX == 1
    }

    /// Whether nothing is known since the evaluation was interrupted.
    pub fn interrupted(self) -> bool {
        self == Labels::INTERRUPTED
    }
}

impl ProcessSet {
    /// Adds a process.
    pub fn insert(&mut self, process: u32) {
        if process < 64 {
            self.0 |= 1 << process;
        }
    }

    /// Whether a process is in it.
    pub fn contains(self, process: u32) -> bool {
        process < 64 && self.0 >> process & 1 == 1
    }
}

impl Columns {
    /// Every column.
    pub const ALL: Columns =
        Columns { labels: true, enabled: true, actions: true, movers: true, marks: true };
    /// Targets and faults alone.
    pub const NONE: Columns =
        Columns { labels: false, enabled: false, actions: false, movers: false, marks: false };
}

impl Steps {
    /// A buffer for up to `capacity` sources, steps and faults each (at least 1).
    pub fn new(shape: &Shape, columns: Columns, capacity: usize) -> Steps {
        let mut steps = Steps {
            words_per_record: shape.words(),
            inner_buffers: shape.inner_buffers,
            columns,
            capacity: 0,
            source_count: 0,
            step_count: 0,
            fault_count: 0,
            interrupted: false,
            ends: Vec::new(),
            labels: Vec::new(),
            enabled: Vec::new(),
            targets: Vec::new(),
            actions: Vec::new(),
            movers: Vec::new(),
            marks: Vec::new(),
            faults: Vec::new(),
        };
        steps.reserve(capacity.max(1));
        steps
    }

    /// Makes more room: twice as much, or where that is little, a quarter more. What is in the buffer stays.
    pub fn grow(&mut self) {
        self.reserve(self.grown());
    }

    /// How many bytes are held when it has [grown](Steps::grow).
    pub fn grown_bytes(&self) -> usize {
        bytes_for(self.words_per_record, self.inner_buffers, self.columns, self.grown())
    }

    fn grown(&self) -> usize {
        // Twice the room is seldom used, and where there is so little memory that buffers are that small, others need it.
        let small = self.capacity < SMALL;
        if small { self.capacity + self.capacity / 4 + 1 } else { self.capacity * 2 }
    }

    /// How many sources, steps and faults fit, each.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many bytes are held now, here and by the systems that fill it.
    pub fn bytes(&self) -> usize {
        bytes_for(self.words_per_record, self.inner_buffers, self.columns, self.capacity)
    }

    /// How many bytes a buffer of that capacity for steps of that shape holds, and the systems that fill it.
    pub fn bytes_for(shape: &Shape, columns: Columns, capacity: usize) -> usize {
        bytes_for(shape.words(), shape.inner_buffers, columns, capacity)
    }

    /// Which columns are filled.
    pub fn columns(&self) -> Columns {
        self.columns
    }

    // What a producer calls.

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.source_count = 0;
        self.step_count = 0;
        self.fault_count = 0;
        self.interrupted = false;
    }

    /// Notes that the sources behind the finished ones were left since somebody asked for it: there may be room for them.
    pub fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Whether [`Steps::interrupt`] was called since the buffer was cleared. More room does not help then.
    pub fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Adds a step of the current source.
    pub fn push(
        &mut self,
        target: &[u64],
        action: u32,
        movers: ProcessSet,
        marks: Marks,
    ) -> Result<(), Full> {
        debug_assert_eq!(target.len(), self.words_per_record, "targets have the shape's width");
        let step = self.step_count;
        if step == self.capacity {
            return Err(Full);
        }
        self.targets[step * self.words_per_record..][..self.words_per_record].copy_from_slice(target);
        if self.columns.actions {
            self.actions[step] = action;
        }
        if self.columns.movers {
            self.movers[step] = movers;
        }
        if self.columns.marks {
            self.marks[step] = marks;
        }
        self.step_count += 1;
        Ok(())
    }

    /// Takes back the step of the current source that was added last.
    pub fn take_back_step(&mut self) {
        debug_assert!(self.step_count > 0, "a step was added");
        self.step_count -= 1;
    }

    /// Adds a fault of the current source.
    pub fn push_fault(&mut self, fault: Fault) -> Result<(), Full> {
        if self.fault_count == self.capacity {
            return Err(Full);
        }
        self.faults[self.fault_count] = fault;
        self.fault_count += 1;
        Ok(())
    }

    /// Ends the current source.
    pub fn finish_source(&mut self, labels: Labels, enabled: ProcessSet) -> Result<(), Full> {
        let source = self.source_count;
        if source == self.capacity {
            return Err(Full);
        }
        self.ends[source] = SourceEnd { step: self.step_count as u32, fault: self.fault_count as u32 };
        if self.columns.labels {
            self.labels[source] = labels;
        }
        if self.columns.enabled {
            self.enabled[source] = enabled;
        }
        self.source_count += 1;
        Ok(())
    }

    /// Takes back what the current, unfinished source has added.
    pub fn abandon_source(&mut self) {
        self.finish_raw(self.source_count);
    }

    /// All columns, to be filled by the caller; then [`Steps::finish_raw`] says how far that went.
    pub fn raw(&mut self) -> RawColumns<'_> {
        RawColumns {
            ends: &mut self.ends,
            labels: &mut self.labels,
            enabled: &mut self.enabled,
            targets: &mut self.targets,
            actions: &mut self.actions,
            movers: &mut self.movers,
            marks: &mut self.marks,
            faults: &mut self.faults,
        }
    }

    /// Declares the first so many sources finished, with the steps and faults that their ends tell, and nothing behind them.
    ///
    /// # Panics
    /// If the last end lies beyond the capacity: the producer is wrong.
    pub fn finish_raw(&mut self, sources: usize) {
        let end = self.ends[..sources].last().copied().unwrap_or_default();
        assert!(end.step as usize <= self.capacity && end.fault as usize <= self.capacity, "ends lie inside");
        self.source_count = sources;
        self.step_count = end.step as usize;
        self.fault_count = end.fault as usize;
    }

    // What a wrapper calls that changes what another system has produced.

    /// Removes the steps that `keep` is false of; the others keep their order and their sources.
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let words = self.words_per_record;
        let (mut kept, mut step) = (0, 0);
        for source in 0..self.source_count {
            let end = self.ends[source].step as usize;
            while step < end {
                if keep(step) {
                    self.targets.copy_within(step * words..(step + 1) * words, kept * words);
                    move_back(&mut self.actions, step, kept);
                    move_back(&mut self.movers, step, kept);
                    move_back(&mut self.marks, step, kept);
                    kept += 1;
                }
                step += 1;
            }
            self.ends[source].step = kept as u32;
        }
        self.step_count = kept;
    }

    /// Sets the labels of a source (column `labels`).
    pub fn set_labels(&mut self, source: usize, labels: Labels) {
        self.labels[source] = labels;
    }

    // What a consumer calls.

    /// How many sources are finished.
    pub fn source_count(&self) -> usize {
        self.source_count
    }

    /// How many steps there are.
    pub fn step_count(&self) -> usize {
        self.step_count
    }

    /// The steps of a source.
    pub fn steps_of(&self, source: usize) -> std::ops::Range<usize> {
        let ends = &self.ends[..self.source_count];
        let first = if source == 0 { 0 } else { ends[source - 1].step };
        first as usize..ends[source].step as usize
    }

    /// The faults of a source.
    pub fn faults_of(&self, source: usize) -> &[Fault] {
        let ends = &self.ends[..self.source_count];
        let first = if source == 0 { 0 } else { ends[source - 1].fault };
        &self.faults[first as usize..ends[source].fault as usize]
    }

    /// All faults.
    pub fn faults(&self) -> &[Fault] {
        &self.faults[..self.fault_count]
    }

    /// All targets.
    pub fn targets(&self) -> Records<'_> {
        Records::new(&self.targets[..self.step_count * self.words_per_record], self.words_per_record)
    }

    /// The target of a step.
    pub fn target(&self, step: usize) -> &[u64] {
        &self.targets[step * self.words_per_record..][..self.words_per_record]
    }

    /// The target of a step, to put another in its place.
    pub fn target_mut(&mut self, step: usize) -> &mut [u64] {
        &mut self.targets[step * self.words_per_record..][..self.words_per_record]
    }

    /// The action of a step (column `actions`).
    pub fn action(&self, step: usize) -> u32 {
        self.actions[step]
    }

    /// Who moves in a step (column `movers`).
    pub fn movers(&self, step: usize) -> ProcessSet {
        self.movers[step]
    }

    /// The acceptance sets of a step (column `marks`).
    pub fn marks(&self, step: usize) -> Marks {
        self.marks[step]
    }

    /// The labels of a source (column `labels`).
    pub fn labels(&self, source: usize) -> Labels {
        self.labels[source]
    }

    /// The processes that can move in a source, alone or with others (column `enabled`).
    pub fn enabled(&self, source: usize) -> ProcessSet {
        self.enabled[source]
    }

    fn reserve(&mut self, capacity: usize) {
        let wanted = |column: bool| if column { capacity } else { 0 };
        let no_fault = Fault { action: 0, kind: FaultKind::Range, span: Span::default() };
        lengthen(&mut self.ends, capacity, SourceEnd::default());
        lengthen(&mut self.labels, wanted(self.columns.labels), Labels::default());
        lengthen(&mut self.enabled, wanted(self.columns.enabled), ProcessSet::default());
        lengthen(&mut self.targets, capacity * self.words_per_record, 0);
        lengthen(&mut self.actions, wanted(self.columns.actions), 0);
        lengthen(&mut self.movers, wanted(self.columns.movers), ProcessSet::default());
        lengthen(&mut self.marks, wanted(self.columns.marks), Marks::default());
        lengthen(&mut self.faults, capacity, no_fault);
        self.capacity = capacity;
    }
}

/// Copies an entry to an earlier place; a column that is not wanted is empty.
fn move_back<T: Copy>(column: &mut [T], from: usize, to: usize) {
    if !column.is_empty() {
        column[to] = column[from];
    }
}

/// Makes a column that long, without a byte more than it needs.
fn lengthen<T: Copy>(column: &mut Vec<T>, length: usize, fill: T) {
    if column.is_empty() {
        // Fresh zeroes come from the system untouched, so pages that are never written are never resident.
        *column = vec![fill; length];
    } else {
        column.reserve_exact(length - column.len());
        column.resize(length, fill);
    }
}

/// Buffers for fewer steps than this grow by little at a time.
const SMALL: usize = 64;

/// An inner buffer has whatever columns its wrapper reads, and the records of its sources with their places.
fn bytes_for(words_per_record: usize, inner_buffers: u32, columns: Columns, capacity: usize) -> usize {
    let inner = entry_bytes(words_per_record, Columns { marks: false, ..Columns::ALL });
    let sources = words_per_record * size_of::<u64>() + size_of::<(u32, u32)>();
    (entry_bytes(words_per_record, columns) + inner_buffers as usize * (inner + sources)) * capacity
}

/// What a source, a step and a fault take together.
fn entry_bytes(words_per_record: usize, columns: Columns) -> usize {
    let column = |wanted: bool, bytes: usize| if wanted { bytes } else { 0 };
    size_of::<SourceEnd>()
        + column(columns.labels, size_of::<Labels>())
        + column(columns.enabled, size_of::<ProcessSet>())
        + words_per_record * size_of::<u64>()
        + column(columns.actions, size_of::<u32>())
        + column(columns.movers, size_of::<ProcessSet>())
        + column(columns.marks, size_of::<Marks>())
        + size_of::<Fault>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words per record; source `s` has `counts[s]` steps, step `i` of all has target `[i, i]` and action `i`.
    fn filled(counts: &[usize], columns: Columns) -> Steps {
        let shape = Shape { width_bits: 128, ..Shape::default() };
        let mut steps = Steps::new(&shape, columns, 16);
        let mut number = 0;
        for (source, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                let target = [number, number];
                steps.push(&target, number as u32, ProcessSet(number), Marks(number)).unwrap();
                number += 1;
            }
            steps.finish_source(Labels(source as u64), ProcessSet::default()).unwrap();
        }
        steps
    }

    #[test]
    fn retained_steps_keep_their_order_and_sources_for_every_choice() {
        let counts = [2, 0, 3, 1];
        for choice in 0u32..1 << 6 {
            for columns in [Columns::ALL, Columns::NONE] {
                let mut steps = filled(&counts, columns);
                steps.retain(|step| choice >> step & 1 == 1);
                let mut first = 0;
                for (source, count) in counts.iter().enumerate() {
                    let expected: Vec<usize> =
                        (first..first + count).filter(|step| choice >> step & 1 == 1).collect();
                    let range = steps.steps_of(source);
                    let targets: Vec<usize> =
                        range.clone().map(|step| steps.target(step)[1] as usize).collect();
                    assert_eq!(targets, expected, "choice {choice:b}");
                    if columns.actions {
                        assert!(
                            range.clone().zip(&expected).all(|(step, it)| steps.action(step) as usize == *it)
                        );
                        assert!(range.zip(&expected).all(|(step, it)| steps.marks(step).0 == *it as u64));
                    }
                    first += count;
                }
                assert_eq!(steps.step_count(), choice.count_ones() as usize);
            }
        }
    }
}
