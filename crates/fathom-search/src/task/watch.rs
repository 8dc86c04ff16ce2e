//! What is looked for in every state, and what was found?
//!
//! Conditions are tested when a state is expanded, once per state. Of all states that meet a condition, the one reported is in the first layer that has any, and
//! there it is the least record: the same for every engine and every number of threads.

use fathom_model::steps::{Fault, Labels, Steps};

/// Something that a state may do and that is worth telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A label has this value.
    Label {
        /// Which label.
        label: usize,
        /// The value that is a finding.
        value: bool,
    },
    /// The state has no step and no fault, or, if `stuttering`, none that leaves it.
    Deadlock {
        /// Whether steps back to the same state count as none.
        stuttering: bool,
        /// A label that excuses the state: a valid end. Where labels fault, the fault is told and not the deadlock.
        except: Option<usize>,
    },
    /// A step from the state faults, or the evaluation of a label does.
    Fault,
    /// No state meets it: what is asked is answered by the labels that the whole search has seen.
    Never,
}

/// Where a condition was first met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// In which layer.
    pub layer: u64,
    /// The least record of that layer that meets it. None for a fault in a start: there is no state.
    pub record: Option<Vec<u64>>,
    /// The first fault of that record, if the condition is [`Condition::Fault`] and a step faulted.
    pub fault: Option<Fault>,
}

/// What has been found, one place per condition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings(pub Vec<Option<Finding>>);

impl Condition {
    /// Whether the `source`-th source of an expanded batch, which is `record`, meets the condition.
    #[inline]
    pub fn met(self, record: &[u64], steps: &Steps, source: usize) -> bool {
        match self {
            Condition::Label { label, value } => holds(steps.labels(source), label) == Some(value),
            Condition::Deadlock { stuttering, except } => {
                let range = steps.steps_of(source);
                let stays =
                    range.is_empty() || stuttering && range.clone().all(|step| steps.target(step) == record);
                stays
                    && steps.faults_of(source).is_empty()
                    && except.is_none_or(|label| holds(steps.labels(source), label) == Some(false))
            }
            Condition::Fault => {
                !steps.faults_of(source).is_empty()
                    || steps.columns().labels && steps.labels(source).faulted()
            }
            Condition::Never => false,
        }
    }

    /// Whether testing it needs the labels of a source.
    pub fn reads_labels(self) -> bool {
        match self {
            Condition::Label { .. } | Condition::Fault | Condition::Never => true,
            Condition::Deadlock { except, .. } => except.is_some(),
        }
    }
}

/// The value of a label; none if the state's labels faulted, which is a finding of its own.
fn holds(labels: Labels, label: usize) -> Option<bool> {
    (!labels.faulted()).then(|| labels.holds(label))
}

impl Findings {
    /// Nothing found yet for so many conditions.
    pub fn new(conditions: usize) -> Findings {
        Findings(vec![None; conditions])
    }

    /// Notes that a record of a layer meets a condition.
    pub fn note(&mut self, condition: usize, layer: u64, record: &[u64], fault: Option<Fault>) {
        let better = match &self.0[condition] {
            Some(known) => (layer, Some(record)) < (known.layer, known.record.as_deref()),
            None => true,
        };
        if better {
            self.0[condition] = Some(Finding { layer, record: Some(record.to_vec()), fault });
        }
    }

    /// Takes over what another has found.
    pub fn merge(&mut self, other: Findings) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            let better = match (&*mine, &theirs) {
                (_, None) => false,
                (None, Some(_)) => true,
                (Some(mine), Some(theirs)) => (theirs.layer, &theirs.record) < (mine.layer, &mine.record),
            };
            if better {
                *mine = theirs;
            }
        }
    }

    /// Whether anything was found.
    pub fn any(&self) -> bool {
        self.0.iter().any(Option::is_some)
    }
}
