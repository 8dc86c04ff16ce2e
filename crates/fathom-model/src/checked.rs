//! Does a system keep the promises of the seam?
//!
//! [`Checked`] passes everything through and asserts on the way: the same input gives the same output in the same order (also one record at a time
//! and with another buffer size), records have their padding zero and their codes in range, actions and marks are numbered below the shape's counts,
//! labels have no bits beyond the shape's. It costs a few times the system's own work: tests wear it, runs do not.

use crate::record::Records;
use crate::shape::Shape;
use crate::steps::{Columns, Labels, Steps};
use crate::system::{Description, Query, TransitionSystem};

/// A system that is watched.
#[derive(Debug)]
pub struct Checked<S>(pub S);

impl<S: TransitionSystem> TransitionSystem for Checked<S> {
    fn shape(&self) -> &Shape {
        self.0.shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.0.initial(out);
        let mut again = out.clone();
        self.0.initial(&mut again);
        assert_same(out, &again);
        check_targets(self.shape(), out, u32::MAX);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        sources.iter().for_each(|record| assert_in_range(self.shape(), record));
        let finished = self.0.expand(sources, out);
        assert_eq!(finished, out.source_count(), "what is finished is what is there");
        check_targets(self.shape(), out, self.shape().action_count);
        let mut again = Steps::new(self.shape(), out.columns(), out.capacity());
        assert_eq!(self.0.expand(sources, &mut again), finished);
        assert_same(out, &again);
        self.check_one_by_one(sources.take(finished), out);
        finished
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        assert_eq!(records.len(), out.len(), "one place per record");
        self.0.label(records, out);
        for (record, labels) in records.iter().zip(&*out) {
            let mut alone = [Labels::default()];
            self.0.label(Records::new(record, record.len()), &mut alone);
            assert_eq!(*labels, alone[0], "labels depend on the record alone");
            let known = Labels::FAULT.0 | ((1 << self.shape().labels.len()) - 1);
            assert_eq!(labels.0 & !known, 0, "only the shape's labels");
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.0.describe(what)
    }
}

impl<S: TransitionSystem> Checked<S> {
    /// Each source alone, in a buffer of another size, gives what it gave among the others.
    fn check_one_by_one(&self, sources: Records<'_>, out: &Steps) {
        let mut alone = Steps::new(self.shape(), Columns::ALL, out.capacity() + 1);
        for (source, record) in sources.iter().enumerate() {
            assert_eq!(self.0.expand(Records::new(record, record.len()), &mut alone), 1);
            let range = out.steps_of(source);
            assert_eq!(range.len(), alone.step_count(), "the same steps alone");
            for (step, other) in range.zip(0..) {
                assert_eq!(out.target(step), alone.target(other), "the same target alone");
                assert!(!out.columns().actions || out.action(step) == alone.action(other));
                assert!(!out.columns().movers || out.movers(step) == alone.movers(other));
                assert!(!out.columns().marks || out.marks(step) == alone.marks(other));
            }
            assert_eq!(out.faults_of(source), alone.faults_of(0), "the same faults alone");
            assert!(!out.columns().enabled || out.enabled(source) == alone.enabled(0));
            if out.columns().labels {
                let mut labels = [Labels::default()];
                self.0.label(Records::new(record, record.len()), &mut labels);
                assert_eq!(out.labels(source), labels[0], "expand and label agree");
            }
        }
    }
}

fn check_targets(shape: &Shape, out: &Steps, action_count: u32) {
    for step in 0..out.step_count() {
        assert_in_range(shape, out.target(step));
        assert!(!out.columns().actions || out.action(step) < action_count, "actions below the shape's count");
        let marks = if out.columns().marks { out.marks(step).0 } else { 0 };
        assert!(shape.mark_count >= 64 || marks >> shape.mark_count == 0, "marks below the shape's count");
    }
    assert!(
        out.faults().iter().all(|fault| fault.action < action_count),
        "faults name actions below the shape's count"
    );
}

/// Padding zero, every code in its domain.
fn assert_in_range(shape: &Shape, record: &[u64]) {
    assert_eq!(record.len(), shape.words(), "records have the shape's width");
    let padding = shape.words() as u32 * 64 - shape.width_bits;
    assert!(padding == 0 || record[0] >> (64 - padding) == 0, "padding is zero");
    for component in &shape.components {
        for index in 0..component.elements() {
            let code = component.code(record, index);
            assert!(
                code <= component.domain.span(),
                "{} has a code out of range",
                component.element_name(index)
            );
        }
    }
}

fn assert_same(left: &Steps, right: &Steps) {
    assert_eq!(left.source_count(), right.source_count(), "the same sources again");
    assert_eq!(left.targets().words(), right.targets().words(), "the same targets again");
    assert_eq!(left.faults(), right.faults(), "the same faults again");
    for source in 0..left.source_count() {
        assert_eq!(left.steps_of(source), right.steps_of(source), "the same ranges again");
    }
    if left.columns().actions {
        assert!(
            (0..left.step_count()).all(|step| left.action(step) == right.action(step)),
            "the same actions again"
        );
    }
}
