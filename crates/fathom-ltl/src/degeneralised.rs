//! How does a search that knows accepting states search a system with several acceptance sets on steps?
//!
//! A counter rides in the low bits of the record: at level `l` the marks below `l` have been met, in order; a step goes on over all consecutive marks that it
//! carries. At level `k`, when all of `k` marks were met, the state is *accepting*, and counting starts over with its steps (Choueka 1974; levels may be
//! skipped, Gastin and Oddoux 2001). All steps of an accepting state carry the one mark of the result, and no others do.
//!
//! Memory and time: as [`Product`](crate::product::Product)'s. The space grows up to `k + 1` times.

use fathom_model::acceptance::Acceptance;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Full, Labels, Marks, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

use crate::tagged::{Source, Tagged};

/// A system with one acceptance set, of states.
#[derive(Debug)]
pub struct Degeneralised<S>(Tagged<S>);

impl<S: TransitionSystem> Degeneralised<S> {
    /// Counts the marks of a system, which has no pairs of requests and responses.
    pub fn new(system: S) -> Degeneralised<S> {
        assert_eq!(system.shape().pair_count, 0, "requests are not counted");
        let levels = system.shape().mark_count + 1;
        let mut tagged = Tagged::new(system, "marks met", levels);
        tagged.shape.mark_count = 1;
        tagged.shape.pair_count = 0;
        Degeneralised(tagged)
    }

    /// The system whose marks are counted.
    pub fn system(&self) -> &S {
        &self.0.system
    }

    /// The state of that system in a state of this.
    pub fn part(&self, record: &[u64]) -> Vec<u64> {
        self.0.parts(record).0
    }

    /// Whether a state is accepting: all its steps carry the mark.
    pub fn is_accepting(&self, record: &[u64]) -> bool {
        self.0.tag_of(record) == self.system().shape().mark_count
    }

    /// Pushes the steps from a state at a level.
    fn count(&self, source: &Source<'_>, target: &mut [u64], out: &mut Steps) -> Result<(), Full> {
        let marks = self.system().shape().mark_count;
        let accepting = source.tag == marks;
        let from = if accepting { 0 } else { source.tag };
        for step in source.steps.steps_of(source.number) {
            let level = advance(from, source.steps.marks(step), marks);
            source.push(step, level, Marks(u64::from(accepting)), target, out)?;
        }
        source.finish(out)
    }
}

impl<S: TransitionSystem + Acceptance> Acceptance for Degeneralised<S> {
    fn is_weak(&self) -> bool {
        self.system().is_weak()
    }

    fn is_of_states(&self) -> bool {
        true
    }

    fn recurs(&self, record: &[u64]) -> bool {
        self.system().recurs(&self.part(record))
    }

    fn is_terminal(&self, record: &[u64]) -> bool {
        self.system().is_terminal(&self.part(record))
    }

    fn is_accepting(&self, record: &[u64]) -> bool {
        Degeneralised::is_accepting(self, record)
    }
}

/// The level after a step that carries these marks, from a level below `marks`.
fn advance(level: u32, carried: Marks, marks: u32) -> u32 {
    (level..marks).find(|mark| carried.0 >> mark & 1 == 0).unwrap_or(marks)
}

impl<S: TransitionSystem> TransitionSystem for Degeneralised<S> {
    fn shape(&self) -> &Shape {
        &self.0.shape
    }

    fn initial(&self, out: &mut Steps) {
        self.0.initial(0, out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let columns = Columns { marks: true, ..out.columns() };
        self.0.expand(sources, columns, out, |source, target, out| self.count(source, target, out))
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.0.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.0.describe(what)
    }
}
