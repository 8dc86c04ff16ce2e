//! What was counted and found among states that were expanded?
//!
//! Tallies are sums and least elements, so they can be merged in any order. [`Tally::write`] and [`Tally::read`] are how one survives the process.

use fathom_model::record::{Checksum, Records};
use fathom_model::steps::{Labels, Steps};
use fathom_model::system::TransitionSystem;

use crate::bytes::{Reader, put_u64};
use crate::task::watch::{Condition, Finding, Findings};
use crate::task::{Cost, Settings};

/// Counts and findings.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) expanded: u64,
    pub(crate) transitions: u64,
    pub(crate) deadlocks: u64,
    pub(crate) faults: u64,
    pub(crate) label_faults: u64,
    pub(crate) labels_seen: Labels,
    pub(crate) checksum: Checksum,
    pub(crate) findings: Findings,
    pub(crate) actions_taken: Vec<u64>,
    pub(crate) cost: Cost,
}

/// Sets of taken actions larger than this are not kept.
const COVERAGE_ACTIONS_MAX: u32 = 1 << 24;

impl Tally {
    /// Nothing counted yet.
    pub(crate) fn new(system: &dyn TransitionSystem, settings: &Settings) -> Tally {
        Tally {
            findings: Findings::new(settings.conditions.len(), settings.findings_max),
            actions_taken: empty_coverage(system, settings),
            ..Tally::default()
        }
    }

    /// Counts what was expanded and tests the conditions on it.
    pub(crate) fn watch(
        &mut self,
        sources: Records<'_>,
        steps: &Steps,
        conditions: &[Condition],
        layer: u64,
    ) {
        self.expanded += sources.len() as u64;
        self.transitions += steps.step_count() as u64;
        self.faults += steps.faults().len() as u64;
        for (source, record) in sources.iter().enumerate() {
            self.checksum.add(record);
            let stuck = steps.steps_of(source).is_empty() && steps.faults_of(source).is_empty();
            self.deadlocks += u64::from(stuck);
            for (number, condition) in conditions.iter().enumerate() {
                if condition.met(record, steps, source) {
                    self.findings.note(number, layer, record, steps.faults_of(source).first().copied());
                }
            }
        }
        if steps.columns().labels {
            for source in 0..sources.len() {
                let labels = steps.labels(source);
                self.label_faults += u64::from(labels.faulted());
                self.labels_seen.0 |= labels.0;
            }
        }
        if !self.actions_taken.is_empty() {
            for step in 0..steps.step_count() {
                let action = steps.action(step);
                self.actions_taken[action as usize / 64] |= 1 << (action % 64);
            }
        }
    }

    /// Moves what another has counted into this one.
    pub(crate) fn take(&mut self, other: &mut Tally) {
        self.expanded += std::mem::take(&mut other.expanded);
        self.transitions += std::mem::take(&mut other.transitions);
        self.deadlocks += std::mem::take(&mut other.deadlocks);
        self.faults += std::mem::take(&mut other.faults);
        self.label_faults += std::mem::take(&mut other.label_faults);
        self.labels_seen.0 |= std::mem::take(&mut other.labels_seen.0);
        self.checksum.merge(std::mem::take(&mut other.checksum));
        self.findings.take(&mut other.findings);
        for (all, taken) in self.actions_taken.iter_mut().zip(&mut other.actions_taken) {
            *all |= std::mem::take(taken);
        }
        let cost = std::mem::take(&mut other.cost);
        self.cost.expand += cost.expand;
        self.cost.watch += cost.watch;
        self.cost.offer += cost.offer;
        self.cost.close += cost.close;
    }

    /// Takes away what others have counted of visits that are not to count. What was seen and found stays: it was seen of the same states.
    pub(crate) fn take_away(&mut self, visits: &Tally) {
        self.expanded -= visits.expanded;
        self.transitions -= visits.transitions;
        self.deadlocks -= visits.deadlocks;
        self.faults -= visits.faults;
        self.label_faults -= visits.label_faults;
        self.checksum.take_away(visits.checksum);
    }

    /// Appends everything but the cost. Faults are left out: they are found again by expanding the record.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for count in [self.expanded, self.transitions, self.deadlocks, self.faults, self.label_faults] {
            put_u64(out, count);
        }
        put_u64(out, self.labels_seen.0);
        out.extend_from_slice(&self.checksum.0.to_le_bytes());
        put_u64(out, self.findings.conditions() as u64);
        for condition in 0..self.findings.conditions() {
            put_u64(out, self.findings.of(condition).len() as u64);
            for finding in self.findings.of(condition) {
                put_u64(out, finding.layer);
                put_u64(out, u64::from(finding.record.is_some()));
                finding.record.iter().flatten().for_each(|word| put_u64(out, *word));
            }
        }
        put_u64(out, self.actions_taken.len() as u64);
        self.actions_taken.iter().for_each(|word| put_u64(out, *word));
    }

    /// Reads what [`Tally::write`] wrote for the same system and settings; none if it is not that.
    pub(crate) fn read(
        bytes: &mut Reader<'_>,
        system: &dyn TransitionSystem,
        settings: &Settings,
    ) -> Option<Tally> {
        let mut tally = Tally::new(system, settings);
        tally.expanded = bytes.u64()?;
        tally.transitions = bytes.u64()?;
        tally.deadlocks = bytes.u64()?;
        tally.faults = bytes.u64()?;
        tally.label_faults = bytes.u64()?;
        tally.labels_seen = Labels(bytes.u64()?);
        tally.checksum = Checksum(u128::from_le_bytes(bytes.take(16)?.try_into().ok()?));
        if bytes.u64()? != tally.findings.conditions() as u64 {
            return None;
        }
        let words = system.shape().words();
        for condition in 0..tally.findings.conditions() {
            for _ in 0..bytes.u64()? {
                let layer = bytes.u64()?;
                let record = match bytes.u64()? {
                    0 => None,
                    1 => Some((0..words).map(|_| bytes.u64()).collect::<Option<_>>()?),
                    _ => return None,
                };
                tally.findings.add(condition, Finding { layer, record, fault: None });
            }
        }
        if bytes.u64()? != tally.actions_taken.len() as u64 {
            return None;
        }
        for word in &mut tally.actions_taken {
            *word = bytes.u64()?;
        }
        Some(tally)
    }
}

fn empty_coverage(system: &dyn TransitionSystem, settings: &Settings) -> Vec<u64> {
    let count = system.shape().action_count;
    let wanted = settings.coverage && count <= COVERAGE_ACTIONS_MAX;
    vec![0; if wanted { count.div_ceil(64) as usize } else { 0 }]
}
