//! Body: which states are left when everything was taken away that no accepting run can repeat for ever?
//!
//! I. Černá and R. Pelánek ("Distributed explicit fair cycle detection", SPIN 2003), semi-external as in J. Barnat, L. Brim and P. Šimeček ("I/O efficient accepting cycle
//! detection", CAV 2007): one way catch them young. Of the states that are left, in rounds:
//!
//! ```text
//! for every mark   keep what a step with the mark, between states that are left, leads to, in any number of steps
//! then             take away states without a predecessor among those that are left, until there is none
//! until            none is left (there is no accepting run), or a round takes nothing away (there is one)
//! ```
//! Marks are on steps, so acceptance may be generalised and nothing is added to states. In a round that takes nothing away, a component that no other component leads to is
//! a cycle, and what leads to its states with a mark is inside it.
//!
//! If the automaton is *weak*, so that the steps of a cycle all carry every mark or none does, steps without marks do not matter and one trimming decides.
//!
//! Memory: by [`ClosedSet`]; beside its numbers two bits and a counter per state. What is to be expanded waits in a queue on the volume. I/O: per round and mark a scan of the
//! set and each state that is left once through the queue, and the same for trimming. One thread.

use fathom_disk::budget::{Budget, Charge};
use fathom_disk::log::Queue;
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use crate::closed_set::{Bits, ClosedSet};
use crate::counters::Counters;
use crate::error::SearchError;
use crate::layer_loop::{Observer, Progress};

/// What a fix-point came to.
#[derive(Debug)]
pub struct Outcome {
    /// The states that are left: some exactly if there is an accepting run. None if the observer stopped it.
    pub left: Option<Bits>,
    /// Rounds.
    pub rounds: u64,
    /// States expanded.
    pub visits: u64,
    /// Steps made.
    pub edges: u64,
}

/// Expands states of a closed set and gives the numbers of what their steps lead to.
pub(crate) struct Expander<'a> {
    pub(crate) system: &'a dyn TransitionSystem,
    pub(crate) set: &'a ClosedSet,
    /// Which steps count: all, or those that carry all marks.
    pub(crate) only_marked: bool,
    all_marks: u64,
    steps: Steps,
    charge: Charge,
    numbers: Vec<u64>,
    pub(crate) visits: u64,
    pub(crate) edges: u64,
}

/// A step of a source, by its place.
pub(crate) struct Taken<'a> {
    pub(crate) steps: &'a Steps,
    pub(crate) step: usize,
    /// The number of its target.
    pub(crate) number: u64,
}

/// Room for steps at first.
const STEPS: usize = 4096;
/// Records expanded at a time.
const BATCH: usize = 512;
/// Bytes of a block of the queue.
const BLOCK_BYTES: usize = 1 << 16;

impl<'a> Expander<'a> {
    pub(crate) fn new(
        system: &'a dyn TransitionSystem,
        set: &'a ClosedSet,
        only_marked: bool,
        budget: &Budget,
    ) -> Result<Expander<'a>, SearchError> {
        let shape = system.shape();
        let columns = Columns { marks: true, actions: true, ..Columns::NONE };
        let each = Steps::bytes_for(shape.words(), columns, 1);
        let capacity = (budget.free() / 16 / each).clamp(1, STEPS);
        Ok(Expander {
            system,
            set,
            only_marked,
            all_marks: if shape.mark_count >= 64 { u64::MAX } else { (1 << shape.mark_count) - 1 },
            charge: budget.charge("expansion", each * capacity)?,
            steps: Steps::new(shape, columns, capacity),
            numbers: Vec::new(),
            visits: 0,
            edges: 0,
        })
    }

    /// Expands sources and visits every step that counts, with the place of its source.
    pub(crate) fn each(
        &mut self,
        sources: Records<'_>,
        visit: &mut dyn FnMut(usize, Taken<'_>) -> Result<(), SearchError>,
    ) -> Result<(), SearchError> {
        let mut done = 0;
        while done < sources.len() {
            let charge = &mut self.charge;
            let rest = sources.skip(done);
            let finished =
                expand_some(self.system, rest, &mut self.steps, &mut |bytes| charge.resize(bytes))?;
            self.visits += finished as u64;
            self.edges += self.steps.step_count() as u64;
            self.numbers.clear();
            self.set.numbers(self.steps.targets(), &mut self.numbers);
            for source in 0..finished {
                for step in self.steps.steps_of(source) {
                    if !self.only_marked || self.steps.marks(step).0 & self.all_marks == self.all_marks {
                        let (steps, number) = (&self.steps, self.numbers[step]);
                        visit(done + source, Taken { steps, step, number })?;
                    }
                }
            }
            done += finished;
        }
        Ok(())
    }
}

/// Takes away what no accepting run repeats. `weak` says that the steps of every cycle all carry every mark, or none does.
pub fn run(
    system: &dyn TransitionSystem,
    set: &ClosedSet,
    weak: bool,
    volume: &Volume,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let mut passes = Passes {
        expander: Expander::new(system, set, weak, budget)?,
        left: Bits::new(budget, set.len(), true)?,
        volume,
        budget,
        observer,
        rounds: 0,
        files: 0,
    };
    let finished = passes.rounds(system.shape().mark_count, weak)?;
    let Passes { expander, left, rounds, .. } = passes;
    let left = finished.then_some(left);
    Ok(Outcome { left, rounds, visits: expander.visits, edges: expander.edges })
}

struct Passes<'a> {
    expander: Expander<'a>,
    left: Bits,
    volume: &'a Volume,
    budget: &'a Budget,
    observer: &'a dyn Observer,
    rounds: u64,
    files: u64,
}

impl Passes<'_> {
    /// Rounds until nothing changes; false if the observer stopped them.
    fn rounds(&mut self, marks: u32, weak: bool) -> Result<bool, SearchError> {
        loop {
            let before = self.left.count();
            for mark in 0..if weak { 0 } else { marks } {
                if !self.keep_reached(mark)? {
                    return Ok(false);
                }
            }
            if !self.trim()? {
                return Ok(false);
            }
            self.rounds += 1;
            let after = self.left.count();
            if after == 0 || after == before || weak {
                return Ok(true);
            }
        }
    }

    /// Keeps what steps with a mark lead to; false if the observer stopped it.
    fn keep_reached(&mut self, mark: u32) -> Result<bool, SearchError> {
        let mut reached = Bits::new(self.budget, self.expander.set.len(), false)?;
        let mut queue = self.queue()?;
        let Passes { expander, left, budget, observer, rounds, .. } = self;
        let finished = scan_left(expander, left, budget, *observer, *rounds, &mut |left, taken, _| {
            let marked = taken.steps.marks(taken.step).0 >> mark & 1 == 1;
            if marked && left.get(taken.number) && reached.set(taken.number) {
                queue.push(taken.steps.target(taken.step))?;
            }
            Ok(())
        })?;
        let finished = finished
            && drain(expander, &mut queue, left, *observer, *rounds, &mut |left, taken| {
                Ok(left.get(taken.number) && reached.set(taken.number))
            })?;
        queue.remove()?;
        self.left.intersect(&reached);
        Ok(finished)
    }

    /// Takes away states without a predecessor, and those that have none then; false if the observer stopped it.
    fn trim(&mut self) -> Result<bool, SearchError> {
        let set = self.expander.set;
        let mut counters = Counters::new(self.budget, set.len())?;
        let mut queue = self.queue()?;
        let Passes { expander, left, budget, observer, rounds, .. } = self;
        if !scan_left(expander, left, budget, *observer, *rounds, &mut |left, taken, _| {
            if left.get(taken.number) { counters.increase(taken.number) } else { Ok(()) }
        })? {
            return Ok(false);
        }
        let mut numbers = Vec::new();
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            for (record, number) in records.iter().zip(&numbers) {
                if left.get(*number) && counters.is_zero(*number) {
                    left.clear(*number);
                    queue.push(record)?;
                }
            }
            Ok(())
        })?;
        let finished = drain(expander, &mut queue, left, *observer, *rounds, &mut |left, taken| {
            let gone = left.get(taken.number) && counters.decrease(taken.number);
            if gone {
                left.clear(taken.number);
            }
            Ok(gone)
        })?;
        queue.remove()?;
        Ok(finished)
    }

    fn queue(&mut self) -> Result<Queue, SearchError> {
        self.files += 1;
        let name = format!("pass-{}", self.files);
        let block = (self.budget.free() / 64).clamp(256, BLOCK_BYTES);
        Ok(Queue::new(self.volume, &name, self.expander.system.shape().words(), block, self.budget)?)
    }
}

/// Expands every state of the set that is left, in order; false if the observer stopped it.
fn scan_left(
    expander: &mut Expander<'_>,
    left: &mut Bits,
    budget: &Budget,
    observer: &dyn Observer,
    round: u64,
    visit: &mut dyn FnMut(&mut Bits, Taken<'_>, usize) -> Result<(), SearchError>,
) -> Result<bool, SearchError> {
    let (set, words) = (expander.set, expander.system.shape().words());
    let records_max = (budget.free() / 32 / (words * 8)).clamp(1, BATCH);
    let _room = budget.charge("batch", records_max * words * 8)?;
    let mut batch = RecordBuffer::with_capacity(words, records_max);
    let mut numbers = Vec::new();
    let mut stopped = false;
    set.scan(&mut |records| {
        numbers.clear();
        set.numbers(records, &mut numbers);
        for (record, number) in records.iter().zip(&numbers) {
            if stopped || !left.get(*number) {
                continue;
            }
            batch.push(record);
            if batch.len() == records_max {
                expander.each(batch.view(), &mut |source, taken| visit(left, taken, source))?;
                batch.clear();
                stopped = told(expander, observer, round);
            }
        }
        Ok(())
    })?;
    expander.each(batch.view(), &mut |source, taken| visit(left, taken, source))?;
    Ok(!stopped)
}

/// Expands what is in a queue, and what `wanted` is true of is put into it; false if the observer stopped it.
fn drain(
    expander: &mut Expander<'_>,
    queue: &mut Queue,
    left: &mut Bits,
    observer: &dyn Observer,
    round: u64,
    wanted: &mut dyn FnMut(&mut Bits, &Taken<'_>) -> Result<bool, SearchError>,
) -> Result<bool, SearchError> {
    let words = expander.system.shape().words();
    let mut batch = RecordBuffer::with_capacity(words, BATCH);
    let mut record = vec![0; words];
    loop {
        batch.clear();
        while batch.len() < BATCH && queue.pop(&mut record)? {
            batch.push(&record);
        }
        if batch.is_empty() {
            return Ok(true);
        }
        expander.each(batch.view(), &mut |_, taken| {
            if wanted(left, &taken)? {
                queue.push(taken.steps.target(taken.step))?;
            }
            Ok(())
        })?;
        if told(expander, observer, round) {
            return Ok(false);
        }
    }
}

/// Tells the observer; true if it wants the passes to stop.
fn told(expander: &Expander<'_>, observer: &dyn Observer, round: u64) -> bool {
    let states = expander.set.len();
    observer.progress(Progress {
        layer: round,
        frontier: states,
        expanded: expander.visits,
        states,
        transitions: expander.edges,
        budget_used: 0,
    });
    observer.stop()
}
