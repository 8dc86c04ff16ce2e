//! What is left of a system if only states that meet a constraint count?
//!
//! [`Constrained`] drops every step and every initial state whose record does not meet the constraint. A state whose evaluation faults is kept: the
//! fault is a finding there. A state that has lost a step is no deadlock, since the system could go on; so there is one more label, true where a
//! state is excused from being one.

use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

/// A system restricted to the states that meet a constraint.
#[derive(Debug)]
pub struct Constrained<S> {
    inner: S,
    shape: Shape,
    constraint: usize,
    end: Option<usize>,
}

/// Room for the steps of one source when labels are asked for, at first.
const STEPS: usize = 64;

impl<S: TransitionSystem> Constrained<S> {
    /// Restricts a system to the states where the label `constraint` is true. States where the label `end` is true are excused from being
    /// deadlocks, too. There must be room for one more label.
    pub fn new(inner: S, constraint: usize, end: Option<usize>) -> Constrained<S> {
        let mut shape = inner.shape().clone();
        assert!(shape.labels.len() < fathom_model::program::LABELS_MAX, "there is room for one more label");
        shape.labels.push("no deadlock".into());
        Constrained { inner, shape, constraint, end }
    }

    /// The label that excuses a state from being a deadlock: it has lost a step, or is a valid end.
    pub fn excused(&self) -> usize {
        self.shape.labels.len() - 1
    }

    /// By step: whether its target counts. None if the system was asked to stop.
    fn kept(&self, targets: Records<'_>) -> Option<Vec<bool>> {
        let mut labels = vec![Labels::default(); targets.len()];
        self.inner.label(targets, &mut labels);
        let counts = |labels: &Labels| {
            (!labels.interrupted()).then(|| labels.faulted() || labels.holds(self.constraint))
        };
        labels.iter().map(counts).collect()
    }

    fn with_excuse(&self, labels: Labels, lost: bool) -> Labels {
        let end = !labels.faulted() && self.end.is_some_and(|end| labels.holds(end));
        Labels(labels.0 | u64::from(lost || end) << self.excused())
    }
}

/// Takes everything back: the system was asked to stop before it was known what counts.
fn leave(out: &mut Steps) {
    out.clear();
    out.interrupt();
}

impl<S: TransitionSystem> TransitionSystem for Constrained<S> {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        self.inner.initial(out);
        let Some(kept) = self.kept(out.targets()) else { return leave(out) };
        out.retain(|step| kept[step]);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let finished = self.inner.expand(sources, out);
        let Some(kept) = self.kept(out.targets()) else {
            leave(out);
            return 0;
        };
        if out.columns().labels {
            for source in 0..finished {
                let lost = out.steps_of(source).any(|step| !kept[step]);
                out.set_labels(source, self.with_excuse(out.labels(source), lost));
            }
        }
        out.retain(|step| kept[step]);
        finished
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.inner.label(records, out);
        let mut steps = Steps::new(self.inner.shape(), Columns::NONE, STEPS);
        for (record, labels) in records.iter().zip(out) {
            let source = Records::new(record, record.len());
            while self.inner.expand(source, &mut steps) == 0 && !steps.is_interrupted() {
                steps.grow();
            }
            let kept =
                self.kept(steps.targets()).filter(|_| !steps.is_interrupted() && !labels.interrupted());
            *labels = match kept {
                Some(kept) => self.with_excuse(*labels, kept.contains(&false)),
                None => Labels::INTERRUPTED,
            };
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.inner.describe(what)
    }
}
