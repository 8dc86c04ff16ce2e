//! What is looked for in every state, and what was found?
//!
//! Conditions are tested when a state is expanded. Of all states that meet a condition, those kept are the first by layer and, within a layer, by record: the same for
//! every number of threads, and for every engine that has the same layers.

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

/// Where a condition was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// In which layer.
    pub layer: u64,
    /// The record that meets it. None for a fault in a start: there is no state.
    pub record: Option<Vec<u64>>,
    /// The first fault of that record, if the condition is [`Condition::Fault`] and a step faulted.
    pub fault: Option<Fault>,
}

/// What has been found: for each condition the first states that meet it, as many as are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    of: Vec<Vec<Finding>>,
    most: usize,
}

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
    /// Nothing found yet for so many conditions, of each of which at most so many states are kept.
    pub fn new(conditions: usize, most: usize) -> Findings {
        Findings { of: vec![Vec::new(); conditions], most: most.max(1) }
    }

    /// How many conditions there are.
    pub fn conditions(&self) -> usize {
        self.of.len()
    }

    /// Where a condition was met, first ones first.
    pub fn of(&self, condition: usize) -> &[Finding] {
        self.of.get(condition).map_or(&[], Vec::as_slice)
    }

    /// Where each condition was first met.
    pub fn firsts(&self) -> impl Iterator<Item = Option<&Finding>> {
        self.of.iter().map(|findings| findings.first())
    }

    /// Everything that is kept.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.of.iter_mut().flatten()
    }

    /// Notes that a record of a layer meets a condition.
    pub fn note(&mut self, condition: usize, layer: u64, record: &[u64], fault: Option<Fault>) {
        let full = self.of[condition].len() == self.most;
        let last = self.of[condition].last().filter(|_| full);
        if last.is_none_or(|last| (layer, Some(record)) < (last.layer, last.record.as_deref())) {
            self.add(condition, Finding { layer, record: Some(record.to_vec()), fault });
        }
    }

    /// Adds a finding where it belongs; a state that is found again counts where it was found first.
    pub(crate) fn add(&mut self, condition: usize, finding: Finding) {
        let findings = &mut self.of[condition];
        if let Some(known) = findings.iter().position(|known| known.record == finding.record) {
            if findings[known].layer <= finding.layer {
                return;
            }
            findings.remove(known);
        }
        let before = |known: &Finding| (known.layer, &known.record) < (finding.layer, &finding.record);
        let place = findings.partition_point(before);
        findings.insert(place, finding);
        findings.truncate(self.most);
    }

    /// Takes over what another has found, which has nothing then.
    pub fn take(&mut self, other: &mut Findings) {
        for (condition, findings) in other.of.iter_mut().enumerate() {
            findings.drain(..).for_each(|finding| self.add(condition, finding));
        }
    }

    /// Whether anything was found.
    pub fn any(&self) -> bool {
        self.of.iter().any(|findings| !findings.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_states_are_kept_in_order_however_they_come() {
        let all: Vec<(u64, u64)> =
            (0..6).flat_map(|layer| (0..5).map(move |word| (layer, word * 7 % 5))).collect();
        for most in 1..8 {
            // In two orders, in two parts, and some of them again in a later layer.
            for order in [1, 7, 11, 13] {
                let mut parts = [Findings::new(1, most), Findings::new(1, most)];
                for number in 0..all.len() {
                    let (layer, word) = all[number * order % all.len()];
                    let record = layer * 10 + word;
                    parts[number % 2].note(0, layer, &[record], None);
                    parts[1].note(0, layer + 3, &[record], None);
                }
                let [mut one, mut other] = parts;
                one.take(&mut other);
                assert!(!other.any());
                let kept: Vec<(u64, u64)> =
                    one.of(0).iter().map(|it| (it.layer, it.record.as_ref().unwrap()[0])).collect();
                let mut expected: Vec<(u64, u64)> =
                    all.iter().map(|(layer, word)| (*layer, layer * 10 + word)).collect();
                expected.sort_unstable();
                expected.truncate(most);
                assert_eq!(kept, expected, "{most} {order}");
            }
        }
    }
}
