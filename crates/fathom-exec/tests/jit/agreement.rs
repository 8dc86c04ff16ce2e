//! What must be equal, and how is it found unequal?

use std::collections::HashSet;

use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::{Bounds, Compiled, Unsupported};
use fathom_model::layout::Possible;
use fathom_model::program::Program;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{TransitionSystem, initial_all};

/// What a comparison saw, so that a test can say that it saw enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) states: usize,
    pub(crate) steps: usize,
    pub(crate) faults: usize,
    pub(crate) refusals: usize,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Seen) {
        self.states += other.states;
        self.steps += other.steps;
        self.faults += other.faults;
        self.refusals += other.refusals;
    }
}

/// Compares the two over the first states of a breadth-first search, with large and with small buffers.
pub(crate) fn compare(program: &Program, possible: &dyn Possible, states_max: usize, name: &str) -> Seen {
    let compiled = Compiled::new(program.clone(), possible).unwrap_or_else(|error| panic!("{name}: {error}"));
    compare_with(&compiled, possible, states_max, name)
}

/// As [`compare`], with one piece of code for all instances of a rule.
pub(crate) fn compare_compact(
    program: &Program,
    possible: &dyn Possible,
    states_max: usize,
    name: &str,
) -> Seen {
    let compiled =
        Compiled::compact(program.clone(), possible).unwrap_or_else(|error| panic!("{name}: {error}"));
    compare_with(&compiled, possible, states_max, name)
}

/// How often a program was compiled within little memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Within {
    /// All of its actions.
    pub(crate) whole: usize,
    /// Some of them; the others were interpreted.
    pub(crate) mixed: usize,
    /// The code around them; all actions were interpreted.
    pub(crate) hollow: usize,
    /// Not at all.
    pub(crate) refused: usize,
}

/// Compiles within so many bytes: what is compiled is equal, and what is not says that it is for want of memory.
pub(crate) fn compare_within(
    program: &Program,
    possible: &dyn Possible,
    bytes: usize,
    name: &str,
    within: &mut Within,
) -> Seen {
    let bounds = Bounds { bytes, ..Bounds::default() };
    let compiled = match Compiled::within(&bounds, program.clone(), possible) {
        Ok(compiled) => compiled,
        Err(Unsupported::Memory) => {
            within.refused += 1;
            return Seen::default();
        }
        Err(error) => panic!("{name}: {error}"),
    };
    match compiled.interpreted_actions() {
        0 => within.whole += 1,
        interpreted if interpreted < program.actions.len() => within.mixed += 1,
        _ => within.hollow += 1,
    }
    compare_with(&compiled, possible, 100, name)
}

/// As [`compare_within`], with less and less memory.
pub(crate) fn compare_within_less_and_less(program: &Program, possible: &dyn Possible, name: &str) -> Within {
    let mut within = Within::default();
    for bytes in [usize::MAX, 64 << 20, 16 << 20, 8 << 20, 5 << 20, 4 << 20, 1 << 20, 0] {
        let refused = within.refused;
        compare_within(program, possible, bytes, name, &mut within);
        assert!(refused == 0 || within.refused > refused, "{name}: less memory does not help");
    }
    within
}

fn compare_with(compiled: &Compiled, possible: &dyn Possible, states_max: usize, name: &str) -> Seen {
    let interpreter = Interpreter::new(compiled.program().clone(), possible);
    assert_eq!(compiled.shape(), interpreter.shape(), "{name}");
    let mut seen = Seen::default();
    let mut sides = Sides::new(&interpreter, compiled, Columns::ALL, 64);
    let mut found: HashSet<Vec<u64>> = HashSet::new();
    let mut queue = RecordBuffer::new(interpreter.shape().words());
    let grown = initial_all(&interpreter, &mut sides.expected, &mut |_| Ok::<_, ()>(()));
    grown.unwrap();
    for record in sides.expected.targets().iter() {
        if found.insert(record.to_vec()) {
            queue.push(record);
        }
    }
    while sides.found.capacity() < sides.expected.capacity() {
        sides.found.grow();
    }
    let mut next = 0;
    while next < queue.len() {
        let batch: Vec<u64> = queue.view().skip(next).words().to_vec();
        let batch = Records::new(&batch, queue.view().words_per_record());
        let finished = sides.compare(batch, name, &mut seen);
        for record in sides.expected.targets().iter() {
            if found.len() < states_max && !found.contains(record) {
                found.insert(record.to_vec());
                queue.push(record);
            }
        }
        next += finished;
    }
    seen.states = queue.len();
    compare_labels(&interpreter, compiled, queue.view(), name);
    // Small buffers: every capacity at which something is refused, on the first states.
    let first = queue.view().take(queue.len().min(40));
    for columns in [Columns::NONE, Columns { movers: true, enabled: true, ..Columns::NONE }] {
        for capacity in [1, 2, 3, 5] {
            let mut small = Sides::new(&interpreter, compiled, columns, capacity);
            let mut rest = first;
            while !rest.is_empty() {
                let finished = small.compare_without_growing(rest, name);
                seen.refusals += usize::from(finished == 0);
                rest = rest.skip(finished.max(1));
            }
        }
    }
    seen
}

fn compare_labels(interpreter: &Interpreter, compiled: &Compiled, records: Records<'_>, name: &str) {
    let mut expected = vec![Labels::default(); records.len()];
    let mut found = vec![Labels(u64::MAX); records.len()];
    interpreter.label(records, &mut expected);
    compiled.label(records, &mut found);
    assert_eq!(found, expected, "{name}: labels");
}

/// One buffer for each side.
struct Sides<'a> {
    interpreter: &'a Interpreter,
    compiled: &'a Compiled,
    expected: Steps,
    found: Steps,
}

impl Sides<'_> {
    fn new<'a>(
        interpreter: &'a Interpreter,
        compiled: &'a Compiled,
        columns: Columns,
        capacity: usize,
    ) -> Sides<'a> {
        let steps = || Steps::new(interpreter.shape(), columns, capacity);
        Sides { interpreter, compiled, expected: steps(), found: steps() }
    }

    /// Expands and compares, growing the buffers until one source fits.
    fn compare(&mut self, batch: Records<'_>, name: &str, seen: &mut Seen) -> usize {
        loop {
            let finished = self.compare_without_growing(batch, name);
            if finished > 0 {
                seen.steps += self.expected.step_count();
                seen.faults += self.expected.faults().len();
                return finished;
            }
            self.expected.grow();
            self.found.grow();
        }
    }

    fn compare_without_growing(&mut self, batch: Records<'_>, name: &str) -> usize {
        let expected = self.interpreter.expand(batch, &mut self.expected);
        let found = self.compiled.expand(batch, &mut self.found);
        assert_eq!(found, expected, "{name}: finished sources, capacity {}", self.expected.capacity());
        assert_equal(&self.found, &self.expected, batch, name);
        found
    }
}

/// Asserts that all columns are equal.
fn assert_equal(found: &Steps, expected: &Steps, batch: Records<'_>, name: &str) {
    assert_eq!(found.source_count(), expected.source_count(), "{name}");
    let columns = expected.columns();
    for source in 0..expected.source_count() {
        let record = batch.get(source);
        let actions = |steps: &Steps| -> Vec<u32> {
            if columns.actions {
                steps.steps_of(source).map(|step| steps.action(step)).collect()
            } else {
                Vec::new()
            }
        };
        let context = || {
            let (found, expected) = (actions(found), actions(expected));
            format!("{name}: source {record:x?}, actions {found:?}, expected {expected:?}")
        };
        assert_eq!(found.steps_of(source), expected.steps_of(source), "{}", context());
        assert_eq!(found.faults_of(source), expected.faults_of(source), "{}", context());
        if columns.labels {
            assert_eq!(found.labels(source), expected.labels(source), "{}", context());
        }
        if columns.enabled {
            assert_eq!(found.enabled(source), expected.enabled(source), "{}", context());
        }
        for step in expected.steps_of(source) {
            if columns.actions {
                assert_eq!(found.action(step), expected.action(step), "{}", context());
            }
            let action = if columns.actions { expected.action(step) } else { 0 };
            assert_eq!(
                found.target(step),
                expected.target(step),
                "{}: step {step}, action {action}",
                context()
            );
            if columns.movers {
                assert_eq!(found.movers(step), expected.movers(step), "{}", context());
            }
            if columns.marks {
                assert_eq!(found.marks(step), expected.marks(step), "{}", context());
            }
        }
    }
}
