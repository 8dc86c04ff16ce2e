//! Which accepting run goes round in the states that a fix-point has left?
//!
//! Forward only, without predecessors: from some state `a`, breadth-first among the states that are left. If `a` is not met again, nothing that was met can lead to what
//! is looked for, and it is taken away. If it is, for every mark that the cycle has not met yet a step with the mark is looked for that leads back to `a`; if there is none,
//! what `a` leads to is taken away, too. A component that no other leads to is never taken away, so this ends with a cycle.
//!
//! Layers of each search go to the volume, and its path is found backwards through them. Memory: three bits per state, one layer of records, the path.

use fathom_disk::budget::{Budget, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::log::LayerLog;
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::Steps;

use crate::bits::Bits;
use crate::error::SearchError;
use crate::expander::Expander;

/// Records that are expanded at a time, at most.
const BATCH: usize = 256;

/// A cycle: states, and the action that leaves each; the last leads to the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cycle {
    pub(crate) records: Vec<Vec<u64>>,
    pub(crate) actions: Vec<u32>,
}

/// A way from a state: states and actions, and where the last action leads.
struct Leg {
    records: Vec<Vec<u64>>,
    actions: Vec<u32>,
    /// All marks on it.
    marks: u64,
    target: Vec<u64>,
}

/// A cycle that meets all marks, among states that a fix-point has left, which are not none.
pub(crate) fn find(
    expander: &mut Expander<'_>,
    left: &mut Bits,
    marks: u64,
    volume: &Volume,
    budget: &Budget,
) -> Result<Cycle, SearchError> {
    let states = expander.set.len();
    let mut search = Search { expander, seen: Bits::new(budget, states, false)?, volume, budget, files: 0 };
    let mut domain = Bits::new(budget, states, false)?;
    loop {
        let first = search.first(left)?.expect("a fix-point that is not empty has a cycle");
        let around = search.leg(&first, left, &|steps, step| steps.target(step) == first)?;
        if let Some(mut around) = around {
            domain.copy_from(left);
            if search.meet(&mut around, &first, marks, &mut domain)? {
                return Ok(Cycle { records: around.records, actions: around.actions });
            }
            // Everything that the state leads to goes.
            search.leg(&first, left, &|_, _| false)?;
        }
        left.subtract(&search.seen);
    }
}

struct Search<'s, 'a> {
    expander: &'s mut Expander<'a>,
    /// What the last search has met, and where it began.
    seen: Bits,
    volume: &'s Volume,
    budget: &'s Budget,
    files: u64,
}

/// Whether a step is what a search looks for.
type Goal<'g> = &'g dyn Fn(&Steps, usize) -> bool;

impl Search<'_, '_> {
    /// The least state that is left.
    fn first(&mut self, left: &Bits) -> Result<Option<Vec<u64>>, SearchError> {
        let (set, mut first, mut numbers) = (self.expander.set, None, Vec::new());
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            let mut pairs = records.iter().zip(&numbers);
            first = pairs.find(|(_, number)| left.get(**number)).map(|(record, _)| record.to_vec());
            Ok(first.is_none())
        })?;
        Ok(first)
    }

    /// Lengthens a cycle through `first` until it meets all marks; false if it cannot. The domain shrinks to what may still lead back.
    fn meet(
        &mut self,
        around: &mut Leg,
        first: &[u64],
        marks: u64,
        domain: &mut Bits,
    ) -> Result<bool, SearchError> {
        while around.marks & marks != marks {
            let mark = (marks & !around.marks).trailing_zeros();
            let marked = |steps: &Steps, step: usize| steps.marks(step).0 >> mark & 1 == 1;
            let Some(there) = self.leg(first, domain, &marked)? else { return Ok(false) };
            let back = if there.target == first {
                None
            } else {
                let Some(back) =
                    self.leg(&there.target, domain, &|steps, step| steps.target(step) == first)?
                else {
                    domain.subtract(&self.seen);
                    continue;
                };
                Some(back)
            };
            for leg in std::iter::once(there).chain(back) {
                around.records.extend(leg.records);
                around.actions.extend(leg.actions);
                around.marks |= leg.marks;
            }
        }
        Ok(true)
    }

    /// A shortest way from a state, inside a domain, up to and including a step that is a goal and stays inside. None if there is none: then `seen` is all
    /// that the state leads to.
    fn leg(&mut self, from: &[u64], domain: &Bits, goal: Goal<'_>) -> Result<Option<Leg>, SearchError> {
        self.files += 1;
        let block = (self.budget.free() / 64).clamp(256, 1 << 16);
        let name = format!("leg-{}", self.files);
        let mut log = LayerLog::new(self.volume, &name, from.len(), block, self.budget)?;
        self.seen.clear_all();
        self.seen.set(self.expander.set.number(from));
        log.append(from)?;
        let mut layer = log.close_layer()?;
        let found = loop {
            let mut fresh = ChargedVec::with_capacity(self.budget, "next layer", 0)?;
            let found = self.expand_layer(&log, layer, domain, goal, &mut fresh)?;
            if found.is_some() || fresh.is_empty() {
                break found;
            }
            for record in fresh.chunks_exact(from.len()) {
                log.append(record)?;
            }
            layer = log.close_layer()?;
        };
        let leg = match found {
            Some(last) => Some(self.backwards(&log, layer, domain, last)?),
            None => None,
        };
        log.remove()?;
        Ok(leg)
    }

    /// Expands a layer: a step that is a goal with its source, or all new states.
    fn expand_layer(
        &mut self,
        log: &LayerLog,
        layer: u64,
        domain: &Bits,
        goal: Goal<'_>,
        fresh: &mut ChargedVec<u64>,
    ) -> Result<Option<Leg>, SearchError> {
        let Search { expander, seen, budget, .. } = self;
        let mut found: Option<Leg> = None;
        in_batches(log, layer, expander.system.shape().words(), budget, &mut |sources| {
            if found.is_some() {
                return Ok(());
            }
            expander.each(sources, &mut |source, taken| {
                let target = taken.steps.target(taken.step);
                if found.is_some() || !domain.get(taken.number) {
                    return Ok(());
                }
                if goal(taken.steps, taken.step) {
                    found = Some(Leg {
                        records: vec![sources.get(source).to_vec()],
                        actions: vec![taken.steps.action(taken.step)],
                        marks: taken.steps.marks(taken.step).0,
                        target: target.to_vec(),
                    });
                } else if seen.set(taken.number) {
                    if fresh.len() + target.len() > fresh.capacity() {
                        fresh.reserve(fresh.len().clamp(8 * target.len(), 1 << 20))?;
                    }
                    fresh.extend(target)?;
                }
                Ok(())
            })
        })?;
        Ok(found)
    }

    /// The way to the source of the last step, backwards through the layers.
    fn backwards(
        &mut self,
        log: &LayerLog,
        layer: u64,
        domain: &Bits,
        last: Leg,
    ) -> Result<Leg, SearchError> {
        let Search { expander, budget, .. } = self;
        let mut leg = last;
        let (mut records, mut actions) = (leg.records, leg.actions);
        for earlier in (0..layer).rev() {
            let later = records.last().expect("a way has a state").clone();
            let mut before: Option<(Vec<u64>, u32, u64)> = None;
            in_batches(log, earlier, later.len(), budget, &mut |sources| {
                if before.is_some() {
                    return Ok(());
                }
                expander.each(sources, &mut |source, taken| {
                    if before.is_none() && domain.get(taken.number) && taken.steps.target(taken.step) == later
                    {
                        let (action, marks) = (taken.steps.action(taken.step), taken.steps.marks(taken.step));
                        before = Some((sources.get(source).to_vec(), action, marks.0));
                    }
                    Ok(())
                })
            })?;
            let (record, action, marks) = before.expect("a state of a later layer has a parent");
            records.push(record);
            actions.push(action);
            leg.marks |= marks;
        }
        records.reverse();
        actions.reverse();
        Ok(Leg { records, actions, ..leg })
    }
}

/// Records of a layer, some at a time.
fn in_batches(
    log: &LayerLog,
    layer: u64,
    words: usize,
    budget: &Budget,
    visit: &mut dyn FnMut(Records<'_>) -> Result<(), SearchError>,
) -> Result<(), SearchError> {
    let most = (budget.free() / 32 / (words * 8)).clamp(1, BATCH);
    let _room = budget.charge("batch", most * words * 8)?;
    let mut batch = RecordBuffer::with_capacity(words, most);
    let mut failure: Option<SearchError> = None;
    log.read_layer(layer, budget, |record| {
        if failure.is_some() {
            return Ok(());
        }
        batch.push(record);
        if batch.len() == most {
            failure = visit(batch.view()).err();
            batch.clear();
        }
        Ok::<(), DiskError>(())
    })?;
    match failure {
        Some(error) => Err(error),
        None => visit(batch.view()),
    }
}
