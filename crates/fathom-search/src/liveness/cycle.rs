//! Which accepting run goes round in the states that a fix-point has left?
//!
//! Forward only, without predecessors: from some state `a`, breadth-first among the states that are left. If `a` is not met again, nothing that was met can lead to what
//! is looked for, and it is taken away. If it is, for every mark that the cycle has not met yet a step with the mark is looked for that leads back to `a`; if there is none,
//! what `a` leads to is taken away, too. A component that no other leads to is never taken away, so this ends with a cycle.
//!
//! A step with the mark that does not lead back is no reason to begin again: where it leads to is left out, and the search for others goes on. So for each mark every state is expanded twice at most, and
//! a few more times for the path: what is taken away is never looked at again.
//!
//! Layers of each search go to the volume, and its path is found backwards through them. Memory: four bits per state, one layer of records, the path.

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_disk::error::DiskError;
use fathom_disk::log::{LayerLog, LayerReader};
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::Steps;

use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::stores::bits::Bits;
use crate::task::Observer;
use crate::traces::path::{Path, PathBuilder, Room};

/// Records that are expanded at a time, at most.
const BATCH: usize = 256;

/// A way from a state: states, and the actions that leave them.
struct Leg {
    path: Path,
    /// All marks on it.
    marks: u64,
}

/// The last step of a way.
struct Last {
    record: Vec<u64>,
    action: u32,
    marks: u64,
    target: Vec<u64>,
}

/// A cycle that meets all marks, among states that a fix-point has left, which are not none: states, and the action that leaves each; the last leads to the first.
pub(crate) fn find(
    expander: &mut Expander<'_>,
    left: &mut Bits,
    marks: u64,
    volume: &Volume,
    room: &Room,
    observer: &dyn Observer,
) -> Result<Path, SearchError> {
    let budget = room.budget();
    let states = expander.set.len();
    let spare = vec![Bits::new(budget, states, false)?, Bits::new(budget, states, false)?];
    let mut search = Search { expander, spare, volume, room, budget, observer, files: 0 };
    let mut domain = Bits::new(budget, states, false)?;
    loop {
        let first = search.first(left)?.expect("a fix-point that is not empty has a cycle");
        let back = |steps: &Steps, step: usize| steps.target(step) == first;
        let seen = match search.leg(&first, left, &back, None)? {
            Found::Way(around, _) => {
                domain.copy_from(left);
                if let Some(cycle) = search.meet(around, &first, marks, &mut domain)? {
                    return Ok(cycle);
                }
                // Everything that the state leads to goes.
                search.closure(&first, left)?
            }
            Found::Nothing(seen) => seen,
        };
        left.subtract(&seen);
        search.spare.push(seen);
    }
}

struct Search<'s, 'a> {
    expander: &'s mut Expander<'a>,
    /// For what a search has met, and where it began: one for a search, and one for a search within it.
    spare: Vec<Bits>,
    volume: &'s Volume,
    room: &'s Room,
    budget: &'s Budget,
    observer: &'s dyn Observer,
    files: u64,
}

/// Whether a step is what a search looks for.
type Goal<'g> = &'g dyn Fn(&Steps, usize) -> bool;

/// What a search came to.
enum Found {
    /// A way, and if it had to lead back, the way back, unless it is there already.
    Way(Leg, Option<Leg>),
    /// There is none; these are all states that were met.
    Nothing(Bits),
}

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

    /// Lengthens a cycle through `first` until it meets all marks; none if it cannot. The domain shrinks to what may still lead back.
    fn meet(
        &mut self,
        around: Leg,
        first: &[u64],
        marks: u64,
        domain: &mut Bits,
    ) -> Result<Option<Path>, SearchError> {
        let mut met = around.marks;
        if met & marks == marks {
            return Ok(Some(around.path));
        }
        let mut cycle = PathBuilder::new(self.room, first.len())?;
        cycle.extend(&around.path, 0)?;
        drop(around);
        while met & marks != marks {
            let mark = (marks & !met).trailing_zeros();
            let marked = |steps: &Steps, step: usize| steps.marks(step).0 >> mark & 1 == 1;
            match self.leg(first, domain, &marked, Some(first))? {
                Found::Nothing(seen) => {
                    self.spare.push(seen);
                    return Ok(None);
                }
                Found::Way(there, back) => {
                    for leg in std::iter::once(there).chain(back) {
                        cycle.extend(&leg.path, 0)?;
                        met |= leg.marks;
                    }
                }
            }
        }
        cycle.finish(0).map(Some)
    }

    /// All states of a domain that a state leads to, and itself.
    fn closure(&mut self, from: &[u64], domain: &mut Bits) -> Result<Bits, SearchError> {
        match self.leg(from, domain, &|_, _| false, None)? {
            Found::Nothing(seen) => Ok(seen),
            Found::Way(..) => unreachable!("no step is a goal"),
        }
    }

    /// A shortest way from a state, inside a domain, up to and including a step that is a goal and stays inside. If it is to lead `back` to some state, too, a step after which no way does
    /// is no goal, and what it leads to is taken out of the domain: no state there is ever looked at again.
    fn leg(
        &mut self,
        from: &[u64],
        domain: &mut Bits,
        goal: Goal<'_>,
        back: Option<&[u64]>,
    ) -> Result<Found, SearchError> {
        self.files += 1;
        let block = (self.budget.free() / 64).clamp(256, 1 << 16);
        let name = format!("leg-{}", self.files);
        let mut log = LayerLog::new(self.volume, &name, from.len(), block, self.budget)?;
        let mut seen = self.spare.pop().expect("searches are nested twice at most");
        seen.clear_all();
        seen.set(self.expander.set.number(from));
        log.append(from)?;
        let mut layer = log.close_layer()?;
        let found = loop {
            let mut fresh = ChargedVec::with_capacity(self.budget, "next layer", 0)?;
            let found = self.expand_layer((&log, layer), domain, goal, back, (&seen, &mut fresh))?;
            if found.is_some() || fresh.is_empty() {
                break found;
            }
            for record in fresh.chunks_exact(from.len()) {
                log.append(record)?;
            }
            layer = log.close_layer()?;
        };
        let found = match found {
            Some((last, returns)) => {
                let way = self.backwards(&log, layer, domain, last)?;
                self.spare.push(seen);
                Found::Way(way, returns)
            }
            None => Found::Nothing(seen),
        };
        log.remove()?;
        Ok(found)
    }

    /// Expands a layer: a step that is a goal with its source, and the way back, or all new states.
    fn expand_layer(
        &mut self,
        (log, layer): (&LayerLog, u64),
        domain: &mut Bits,
        goal: Goal<'_>,
        back: Option<&[u64]>,
        (seen, fresh): (&Bits, &mut ChargedVec<u64>),
    ) -> Result<Option<(Last, Option<Leg>)>, SearchError> {
        let words = self.expander.system.shape().words();
        let mut batch = Batch::new(words, self.budget)?;
        let mut reader = log.reader(self.budget)?;
        reader.open(log, layer)?;
        while batch.fill(log, &mut reader)? {
            if self.observer.stop() {
                return Err(SearchError::Stopped);
            }
            // A goal that does not lead back is out of the domain then, so the next one is another.
            while let Some(last) = self.expand(batch.records.view(), domain, goal, (seen, &mut *fresh))? {
                if let Some(returns) = self.returns(&last, domain, back)? {
                    return Ok(Some((last, returns)));
                }
            }
        }
        Ok(None)
    }

    /// Expands some states: the first step that is a goal, and all new states.
    fn expand(
        &mut self,
        sources: Records<'_>,
        domain: &Bits,
        goal: Goal<'_>,
        (seen, fresh): (&Bits, &mut ChargedVec<u64>),
    ) -> Result<Option<Last>, SearchError> {
        let mut found = None;
        self.expander.each(sources, |source, taken| {
            let target = taken.steps.target(taken.step);
            if !domain.get(taken.number) {
                return Ok(());
            }
            if found.is_none() && goal(taken.steps, taken.step) {
                found = Some(Last {
                    record: sources.get(source).to_vec(),
                    action: taken.steps.action(taken.step),
                    marks: taken.steps.marks(taken.step).0,
                    target: target.to_vec(),
                });
            }
            if seen.set(taken.number) {
                if fresh.len() + target.len() > fresh.capacity() {
                    fresh.reserve(fresh.len().clamp(8 * target.len(), 1 << 20))?;
                }
                fresh.extend(target)?;
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// The way back from where a step ends, if there is to be one and it is not there; none if there is no way back. Then what it leads to is not in the domain any more.
    fn returns(
        &mut self,
        last: &Last,
        domain: &mut Bits,
        back: Option<&[u64]>,
    ) -> Result<Option<Option<Leg>>, SearchError> {
        let Some(first) = back.filter(|first| last.target != *first) else { return Ok(Some(None)) };
        if !domain.get(self.expander.set.number(&last.target)) {
            return Ok(None);
        }
        match self.leg(&last.target, domain, &|steps, step| steps.target(step) == first, None)? {
            Found::Way(way, _) => Ok(Some(Some(way))),
            Found::Nothing(seen) => {
                domain.subtract(&seen);
                self.spare.push(seen);
                Ok(None)
            }
        }
    }

    /// The way to the source of the last step, backwards through the layers.
    fn backwards(
        &mut self,
        log: &LayerLog,
        layer: u64,
        domain: &Bits,
        last: Last,
    ) -> Result<Leg, SearchError> {
        let Search { expander, room, budget, observer, .. } = self;
        let Last { record: mut later, action, mut marks, .. } = last;
        let mut path = PathBuilder::new(room, later.len())?;
        path.push(&later, action)?;
        for earlier in (0..layer).rev() {
            let mut before: Option<(Vec<u64>, u32, u64)> = None;
            in_batches(log, earlier, later.len(), budget, &mut |sources| {
                if before.is_some() {
                    return Ok(());
                }
                if observer.stop() {
                    return Err(SearchError::Stopped);
                }
                expander.each(sources, |source, taken| {
                    if before.is_none() && domain.get(taken.number) && taken.steps.target(taken.step) == later
                    {
                        let (action, marks) = (taken.steps.action(taken.step), taken.steps.marks(taken.step));
                        before = Some((sources.get(source).to_vec(), action, marks.0));
                    }
                    Ok(())
                })
            })?;
            let (record, action, more) = before.expect("a state of a later layer has a parent");
            path.push(&record, action)?;
            later = record;
            marks |= more;
        }
        Ok(Leg { path: path.finish_backwards(0), marks })
    }
}

/// Some records of a layer.
struct Batch {
    records: RecordBuffer,
    record: Vec<u64>,
    most: usize,
    _room: Charge,
}

impl Batch {
    fn new(words: usize, budget: &Budget) -> Result<Batch, SearchError> {
        let most = (budget.free() / 32 / (words * 8)).clamp(1, BATCH);
        let _room = budget.charge("batch", most * words * 8)?;
        Ok(Batch { records: RecordBuffer::with_capacity(words, most), record: vec![0; words], most, _room })
    }

    /// Takes the next records; false if there are none.
    fn fill(&mut self, log: &LayerLog, reader: &mut LayerReader) -> Result<bool, SearchError> {
        self.records.clear();
        while self.records.len() < self.most && reader.next(log, &mut self.record)? {
            self.records.push(&self.record);
        }
        Ok(!self.records.is_empty())
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
