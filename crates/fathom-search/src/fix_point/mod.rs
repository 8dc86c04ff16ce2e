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
//! The start is all states that the automaton lets recur: an accepting cycle has no others.
//!
//! If the automaton is *weak*, so that the steps of a cycle all carry every mark or none does, steps without marks do not matter and one trimming decides.
//!
//! What is taken away together is a *class*, in the order of their going; a [`Witness`] is told of each state and its class. No step leads to an earlier class. Inside a class
//! there is no step with the mark that it was kept out by, or, if it was trimmed, no step at all: so the classes prove that there is no accepting run.
//!
//! Between two passes, and between two steps of trimming, the states that are left are all there is to know: a [`Keeper`] makes them last, and passes that are taken up again go on from there. While
//! it is trimmed a state is left until it is expanded, so that those that wait in the queue are found again: they have no predecessor.
//!
//! Memory: by [`ClosedSet`]; beside its numbers three bits and a counter per state. What is to be expanded waits in a queue on the volume. I/O: per round and mark a scan of the
//! set and each state at most once through the queue, and the same for trimming. Results are functions of sets, so they do not depend on the number of threads.

mod crew;

use std::sync::Mutex;

use fathom_disk::budget::Budget;
use fathom_disk::log::Queue;
use fathom_disk::storage::Volume;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::system::TransitionSystem;

use crate::bits::{Bits, Progress as Scanned};
use crate::closed_set::ClosedSet;
use crate::counters::Counters;
use crate::error::SearchError;
use crate::expander::Expander;
use crate::layer_loop::Observer;
use crew::{batch_records, drain, next_of, pop, work};

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

/// What is asked.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// The system.
    pub system: &'a dyn TransitionSystem,
    /// Its states that may recur.
    pub set: &'a ClosedSet<'a>,
    /// Whether the steps of every cycle all carry every mark, or none does.
    pub weak: bool,
    /// How many threads expand.
    pub threads: usize,
    /// Where queues go.
    pub volume: &'a Volume,
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// Who is told what is taken away, and when.
pub trait Witness: Sync {
    /// From here on, what is taken away is of a later class, kept out by a mark, or trimmed.
    fn class(&self, kept_out_by: Option<u32>) -> Result<(), SearchError>;

    /// Takes states of the class. From any thread.
    fn take(&self, states: Records<'_>) -> Result<(), SearchError>;
}

/// Where passes stand, between two of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stand {
    /// Rounds that are over.
    pub rounds: u64,
    /// Marks of this round that nothing more is kept out by: after the last, states are trimmed.
    pub marks: u32,
    /// States that were left when the round began.
    pub before: u64,
}

/// Who makes it last what passes have come to.
pub trait Keeper {
    /// Whether it is time to.
    fn is_due(&self) -> bool;

    /// Passes stand so, and these states are left. What a witness was told before belongs to it.
    fn keep(&mut self, stand: Stand, left: &Bits) -> Result<(), SearchError>;
}

/// Bytes of a block of the queue.
const BLOCK_BYTES: usize = 1 << 16;

/// Takes away what no accepting run repeats, from the beginning or from where earlier passes stood.
pub fn run(
    task: Task<'_>,
    taken_up: Option<(Stand, Bits)>,
    witness: Option<&dyn Witness>,
    keeper: Option<&mut dyn Keeper>,
) -> Result<Outcome, SearchError> {
    let threads = task.threads.max(1);
    let expanders = (0..threads)
        .map(|_| Expander::new(task.system, task.set, task.weak, threads, task.budget))
        .collect::<Result<_, _>>()?;
    let (stand, left) = match taken_up {
        Some(taken_up) => taken_up,
        None => {
            let stand = Stand { before: task.set.len(), ..Stand::default() };
            (stand, Bits::new(task.budget, task.set.len(), true)?)
        }
    };
    let mut passes = Passes { task, witness, keeper, expanders, left, stand, files: 0 };
    let finished = passes.rounds()?;
    let Passes { expanders, left, stand, .. } = passes;
    let sum = |each: fn(&Expander<'_>) -> u64| expanders.iter().map(each).sum();
    let (visits, edges) = (sum(|expander| expander.visits), sum(|expander| expander.edges));
    Ok(Outcome { left: finished.then_some(left), rounds: stand.rounds, visits, edges })
}

struct Passes<'a, 'k> {
    task: Task<'a>,
    witness: Option<&'a dyn Witness>,
    keeper: Option<&'k mut dyn Keeper>,
    /// One for each thread.
    expanders: Vec<Expander<'a>>,
    left: Bits,
    stand: Stand,
    files: u64,
}

impl<'a> Passes<'a, '_> {
    /// Rounds until nothing changes; false if the observer stopped them.
    fn rounds(&mut self) -> Result<bool, SearchError> {
        let marks = if self.task.weak { 0 } else { self.task.system.shape().mark_count };
        loop {
            let mut counters = None;
            while self.stand.marks < marks {
                if self.stand.marks + 1 == marks {
                    counters = Some(Counters::new(self.task.budget, self.task.set.len())?);
                }
                if !self.keep_reached(self.stand.marks, counters.as_ref())? {
                    return Ok(false);
                }
                self.stand.marks += 1;
                self.make_last()?;
            }
            if !self.trim(counters)? {
                return Ok(false);
            }
            let (before, after) = (self.stand.before, self.left.count());
            self.stand = Stand { rounds: self.stand.rounds + 1, marks: 0, before: after };
            if after == 0 || after == before || self.task.weak {
                return Ok(true);
            }
            self.make_last()?;
        }
    }

    /// Makes it last how passes stand, if it is time to.
    fn make_last(&mut self) -> Result<(), SearchError> {
        match self.keeper.as_deref_mut().filter(|keeper| keeper.is_due()) {
            Some(keeper) => keeper.keep(self.stand, &self.left),
            None => Ok(()),
        }
    }

    /// Keeps what steps with a mark lead to, and counts the steps that lead to each state that is kept; false if the observer stopped it.
    ///
    /// Every state is scanned once. One that is known to be reached by then is followed at once; one that turns out to be reached later waits in the queue.
    fn keep_reached(&mut self, mark: u32, counters: Option<&Counters>) -> Result<bool, SearchError> {
        let set = self.task.set;
        let scanned = Scanned::new(self.task.budget, set.len())?;
        let queue = Mutex::new(self.queue()?);
        let finished = {
            let Passes { expanders, left, task, stand, .. } = self;
            let left = &*left;
            // Follows all steps of a state that is reached.
            let follow = |expander: &mut Expander<'a>, records: Records<'_>, all: &dyn Fn(usize) -> bool| {
                expander.each_then_send(records, &queue, &mut |source, taken| {
                    let reached = all(source);
                    let counts = left.get(taken.number)
                        && (reached || taken.steps.marks(taken.step).0 >> mark & 1 == 1);
                    if counts
                        && reached
                        && let Some(counters) = counters
                    {
                        counters.increase(taken.number)?;
                    }
                    Ok(counts && scanned.reach(taken.number))
                })
            };
            let stream = Mutex::new(set.stream()?);
            let scan = |expander: &mut Expander<'a>, records: Records<'_>| {
                let (sources, numbers) = expander.left_of(records, left);
                let reached: Vec<bool> = numbers.iter().map(|number| scanned.scan(*number)).collect();
                let outcome = follow(expander, sources.view(), &|source| reached[source]);
                expander.give_back(sources, numbers);
                outcome
            };
            work(*task, expanders, stand.rounds, set.len(), &|batch| next_of(&stream, batch), &scan)? && {
                drop(stream);
                drain(*task, expanders, stand.rounds, &queue, &|expander, records| {
                    follow(expander, records, &|_| true)
                })?
            }
        };
        queue.into_inner().expect("no thread panics while it holds the queue").remove()?;
        if !finished {
            return Ok(false);
        }
        if let Some(witness) = self.witness {
            witness.class(Some(mark))?;
            self.tell(witness, &|number| !scanned.is_reached(number))?;
        }
        self.left.keep_reached(&scanned);
        Ok(true)
    }

    /// Takes away states without a predecessor, and those that have none then, step by step; false if the observer stopped it.
    fn trim(&mut self, counters: Option<Counters>) -> Result<bool, SearchError> {
        let set = self.task.set;
        let counters = match counters {
            Some(counters) => counters,
            None => {
                let counters = Counters::new(self.task.budget, set.len())?;
                if !self.count(&counters)? {
                    return Ok(false);
                }
                counters
            }
        };
        let queue = Mutex::new(self.queue()?);
        self.without_predecessor(&counters, &queue)?;
        let mut finished = true;
        while finished {
            let level = queue.lock().expect("no thread panics while it holds the queue").len();
            if level == 0 {
                break;
            }
            if let Some(witness) = self.witness {
                witness.class(None)?;
            }
            let witness = self.witness;
            let Passes { expanders, left, task, stand, .. } = self;
            let left = &*left;
            let remaining = Mutex::new(level);
            let most = batch_records(*task);
            let next = |batch: &mut RecordBuffer| pop(&queue, &remaining, most, batch);
            finished = work(*task, expanders, stand.rounds, level, &next, &|expander, records| {
                if let Some(witness) = witness {
                    witness.take(records)?;
                }
                expander.clear_in(left, records);
                expander.each_then_send(records, &queue, &mut |_, taken| {
                    Ok(left.get(taken.number) && counters.decrease(taken.number))
                })
            })?;
            if finished {
                self.make_last()?;
            }
        }
        queue.into_inner().expect("no thread panics while it holds the queue").remove()?;
        Ok(finished)
    }

    /// Counts the steps that lead to each state that is left; false if the observer stopped it.
    fn count(&mut self, counters: &Counters) -> Result<bool, SearchError> {
        let Passes { expanders, left, task, stand, .. } = self;
        let (left, set) = (&*left, task.set);
        let stream = Mutex::new(set.stream()?);
        work(
            *task,
            expanders,
            stand.rounds,
            set.len(),
            &|batch| next_of(&stream, batch),
            &|expander, records| {
                let (sources, numbers) = expander.left_of(records, left);
                let outcome = expander.each(sources.view(), &mut |_, taken| {
                    if left.get(taken.number) { counters.increase(taken.number) } else { Ok(()) }
                });
                expander.give_back(sources, numbers);
                outcome
            },
        )
    }

    /// Puts the states that no step leads to into a queue.
    fn without_predecessor(&mut self, counters: &Counters, queue: &Mutex<Queue>) -> Result<(), SearchError> {
        let (set, left) = (self.task.set, &self.left);
        let mut queue = queue.lock().expect("no thread panics while it holds the queue");
        let mut numbers = Vec::new();
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            for (record, number) in records.iter().zip(&numbers) {
                if left.get(*number) && counters.is_zero(*number) {
                    queue.push(record)?;
                }
            }
            Ok(true)
        })
    }

    /// Tells a witness the states that are left so far and that `gone` is true of.
    fn tell(&self, witness: &dyn Witness, gone: &dyn Fn(u64) -> bool) -> Result<(), SearchError> {
        let (set, left) = (self.task.set, &self.left);
        let mut numbers = Vec::new();
        set.scan(&mut |records| {
            numbers.clear();
            set.numbers(records, &mut numbers);
            for (record, number) in records.iter().zip(&numbers) {
                if left.get(*number) && gone(*number) {
                    witness.take(Records::new(record, record.len()))?;
                }
            }
            Ok(true)
        })
    }

    fn queue(&mut self) -> Result<Queue, SearchError> {
        self.files += 1;
        let name = format!("pass-{}", self.files);
        let block = (self.task.budget.free() / 64).clamp(256, BLOCK_BYTES);
        let words = self.task.system.shape().words();
        Ok(Queue::new(self.task.volume, &name, words, block, self.task.budget)?)
    }
}
