//! Which states are left, when all that is known of them is in sorted files?
//!
//! The order is that of [`crate::liveness::rounds`]. The states that are left are one run ([`Kept`]), each with a [number](Numbers): how many steps of states that are left lead to it, and whether one of these carries the mark that comes
//! next. Each pass makes another run of it:
//!
//! ```text
//! count    if nothing was counted yet: every state offers 1 to what its steps lead to, and whether they carry the first mark
//! reach    a state that a step with the mark leads to is reached, and what the steps of a reached state lead to; these offer 1, and whether they carry the mark after this one. What is not reached goes
//! trim     a state with no predecessor goes, and offers 1 to what its steps lead to; one that was offered as much as it had predecessors goes in the next step
//! ```
//! So each pass expands a state once: what reaching offers is, in the end, the count for trimming and the start of the next pass. Sums must not lose a step, so nothing is expanded twice in one pass.
//!
//! When states were trimmed, a step of one of them may have been the only one with the mark that led to a state which is left. The next pass keeps too much then, never too little: a round that began so decides nothing.

use fathom_disk::run::Run;
use fathom_disk::sabotage::is_chosen;
use fathom_disk::set::KeyStream;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;

use crate::bodies::passes::by_file::{ByFile, FileJoin, Kept, Settled, Snapshot};
use crate::bodies::passes::{Rule, Watched, propagate};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::value_runs::{Deltas, ValueRuns};
use crate::liveness::lasting::{Lasting, PassCommits};
use crate::liveness::rounds::{Left, Position};
use crate::proof::ranks::RankLog;
use crate::task::Observer;

/// What passes over files have in common.
#[derive(Clone, Copy)]
pub(super) struct Passes<'a> {
    pub(super) system: &'a dyn TransitionSystem,
    pub(super) only_marked: bool,
    pub(super) threads: usize,
    pub(super) place: &'a ValueRuns,
    /// Bytes that files may take.
    pub(super) room: u64,
    pub(super) observer: &'a dyn Observer,
}

/// States being taken away.
pub(super) struct Elimination<'a, 'k, 'd> {
    pub(super) passes: Passes<'k>,
    pub(super) kept: Kept<'a>,
    pub(super) numbers: Numbers,
    /// What a pass goes on from that was taken up.
    pub(super) taken_up: Option<Snapshot>,
    pub(super) ranks: Option<&'k RankLog>,
    pub(super) log: Option<&'k mut PassCommits<'d>>,
    pub(super) visits: u64,
    pub(super) edges: u64,
}

/// What the numbers of kept states mean. Twice a number is a count, and one more than that if the [`MARKED`] bit is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Whether they mean anything yet: the bit for reaching, and once something was reached, the count for trimming.
    pub(super) known: bool,
    /// Whether a bit is set only where a step of a state that is left leads to.
    pub(super) exact: bool,
    /// Whether they were exact when this round began: then it decides.
    pub(super) decides: bool,
    /// Whether a state was taken away since nothing serves its request: then there are steps to what went before, and ranks prove nothing.
    pub(super) served: bool,
}

impl Numbers {
    /// Nothing was counted.
    pub(super) const UNKNOWN: Numbers = Numbers { known: false, exact: false, decides: true, served: false };
    /// The bits are set where states are accepting, whatever leads to them: from there, reaching may begin.
    pub(super) const BY_STATE: Numbers = Numbers { known: true, exact: true, decides: true, served: false };

    /// As bits of a commit.
    pub(super) fn to_bits(self) -> u64 {
        let Numbers { known, exact, decides, served } = self;
        [known, exact, decides, served].into_iter().rev().fold(0, |bits, bit| bits << 1 | u64::from(bit))
    }

    /// The same, read again.
    pub(super) fn of_bits(bits: u64) -> Numbers {
        let [known, exact, decides, served] = [0, 1, 2, 3].map(|place| bits >> place & 1 == 1);
        Numbers { known, exact, decides, served }
    }
}

/// The bit that says that a step with the mark leads to a state.
pub(super) const MARKED: u64 = 1;
/// A count of one.
const ONE: u64 = 2;

/// How many steps a number counts.
fn count(number: u64) -> u64 {
    number >> 1
}

/// A state with the bit has a turn, and one that is offered something for the first time.
struct Reaching;

impl FileJoin for Reaching {
    type Turn = ();

    fn first_turn(&self, number: u64) -> Option<()> {
        (number & MARKED == MARKED).then_some(())
    }

    fn settle(&self, number: u64, before: Option<u64>, _: u64) -> Settled {
        Settled { added: true, turn: (number & MARKED == 0 && before.is_none()).then_some(0) }
    }

    fn turn(&self, _: u64) {}
}

/// Nothing follows from what is counted.
struct Counting;

impl FileJoin for Counting {
    type Turn = ();

    fn first_turn(&self, _: u64) -> Option<()> {
        Some(())
    }

    fn settle(&self, _: u64, _: Option<u64>, _: u64) -> Settled {
        Settled { added: true, turn: None }
    }

    fn turn(&self, _: u64) {}
}

/// A number is how many predecessors a state had, and a sum how many have gone.
struct Trimming;

impl FileJoin for Trimming {
    type Turn = ();

    fn first_turn(&self, number: u64) -> Option<()> {
        (count(number) == 0).then_some(())
    }

    fn settle(&self, number: u64, before: Option<u64>, offer: u64) -> Settled {
        // The defect takes one predecessor too many for gone.
        let gone = count(before.unwrap_or(0)) + count(offer) + u64::from(is_chosen("file-sums"));
        Settled { added: true, turn: (gone == count(number)).then_some(0) }
    }

    fn turn(&self, _: u64) {}
}

/// Every step counts for its target, with whether it carries a mark.
struct Steps(Option<u32>);

impl Rule for Steps {
    type Turn = ();
    type Value = u64;
    type Number = ();

    #[inline]
    fn along(&self, (): (), marks: u64, (): ()) -> Result<Option<u64>, SearchError> {
        Ok(Some(ONE | self.0.map_or(0, |mark| marks >> mark & 1)))
    }
}

impl Left for Elimination<'_, '_, '_> {
    fn keep_reached(&mut self, position: Position, _: bool) -> Result<bool, SearchError> {
        let (place, mark) = (self.passes.place, position.marks);
        if !self.numbers.known && !self.count_steps(position, Some(mark))? {
            return Ok(false);
        }
        if mark == 0 && self.taken_up.is_none() {
            self.numbers.decides = self.numbers.exact;
        }
        let next = (mark + 1) % self.passes.system.shape().mark_count;
        let Some(sums) = self.pass(position, Reaching, Steps(Some(next)), false)? else { return Ok(false) };
        if let Some(ranks) = self.ranks {
            ranks.class(Some(mark))?;
        }
        // One with the bit is reached, whether a state that is reached leads to it or not.
        let reached = |number, sum: Option<u64>| sum.or((number & MARKED == MARKED).then_some(0));
        let reached = self.rewritten(&sums, reached, self.ranks)?;
        sums.remove(place)?;
        self.numbers.exact = true;
        self.keep(reached)?;
        Ok(true)
    }

    fn trim(&mut self, position: Position) -> Result<bool, SearchError> {
        let (place, before) = (self.passes.place, self.count());
        if !self.numbers.known && !self.count_steps(position, None)? {
            return Ok(false);
        }
        let Some(sums) = self.pass(position, Trimming, Steps(None), true)? else { return Ok(false) };
        // One whose count is 0 went at first.
        let left = |number, sum: Option<u64>| {
            let left = count(number).saturating_sub(count(sum.unwrap_or(0)));
            (left > 0).then_some((left * ONE) | (number & MARKED))
        };
        let left = self.rewritten(&sums, left, None)?;
        sums.remove(place)?;
        self.keep(left)?;
        self.numbers.exact &= self.count() == before;
        Ok(true)
    }

    fn keep_served(&mut self, position: Position, pair: u32) -> Result<bool, SearchError> {
        // Passes that are taken up are those of marks: what is done here is done again.
        let log = self.log.take();
        let served = self.serve(position, pair);
        self.log = log;
        served
    }

    fn count(&self) -> u64 {
        self.kept.run.count()
    }

    fn decides(&self) -> bool {
        self.numbers.decides
    }

    fn come_to(&mut self, position: Position) -> Result<(), SearchError> {
        match self.log.as_deref_mut().filter(|log| log.is_due()) {
            Some(log) => log.commit(position, &self.kept.run, self.numbers.to_bits(), None),
            None => Ok(()),
        }
    }
}

impl Elimination<'_, '_, '_> {
    /// Counts the steps that lead to each state, and finds out where a mark does; false if the observer stopped it.
    fn count_steps(&mut self, position: Position, mark: Option<u32>) -> Result<bool, SearchError> {
        let Some(sums) = self.pass(position, Counting, Steps(mark), false)? else { return Ok(false) };
        let counted = self.rewritten(&sums, |_, sum| Some(sum.unwrap_or(0)), None)?;
        sums.remove(self.passes.place)?;
        self.numbers = Numbers { known: true, exact: true, ..self.numbers };
        self.keep(counted)?;
        self.come_to(position)?;
        Ok(true)
    }

    /// Takes away the states that make the request of a pair and that no response leads to; false if the observer stopped it.
    fn serve(&mut self, position: Position, pair: u32) -> Result<bool, SearchError> {
        let (response, request) = self.passes.system.shape().pair_marks(pair);
        if !self.count_steps(position, Some(response))? {
            return Ok(false);
        }
        let Some(sums) = self.pass(position, Reaching, Steps(None), false)? else { return Ok(false) };
        let (before, left) = (self.count(), self.without_requests(&sums, request)?);
        sums.remove(self.passes.place)?;
        let served = self.numbers.served || left.count() < before;
        self.keep(left)?;
        self.numbers = Numbers { served, ..Numbers::UNKNOWN };
        Ok(true)
    }

    /// The kept states but for those that make a request and were not reached. Only these are expanded.
    fn without_requests(&mut self, sums: &Deltas, request: u32) -> Result<Run, SearchError> {
        let Passes { system, place, .. } = self.passes;
        let mut expander = Expander::new(system, &self.kept, false, 1, place.budget())?;
        let (mut unserved, mut requests) = (expander.take_batch(), Vec::new());
        let mut writer = place.writer()?;
        let mut kept = sums.beside(place, &self.kept.run)?;
        while kept.advance()? {
            let is_reached = |(number, sum): (&u64, &Option<u64>)| number & MARKED == MARKED || sum.is_some();
            let reached = || kept.values().iter().zip(kept.found()).map(is_reached);
            let keys = || kept.keys().chunks_exact(kept.words()).zip(reached());
            unserved.clear();
            keys().filter(|(_, reached)| !reached).for_each(|(key, _)| unserved.push(key));
            requests.clear();
            requests.resize(unserved.len(), false);
            expander.each(unserved.view(), |source, taken| {
                requests[source] |= taken.steps.marks(taken.step).0 >> request & 1 == 1;
                Ok(())
            })?;
            let mut requests = requests.iter();
            for (key, reached) in keys() {
                // The defect keeps requests that nothing serves.
                if reached || requests.next() == Some(&false) || is_chosen("requests") {
                    writer.push_with(key, &[0])?;
                }
            }
        }
        drop(kept);
        let (visits, edges) = (expander.visits, expander.edges);
        drop(expander);
        (self.visits, self.edges) = (self.visits + visits, self.edges + edges);
        Ok(writer.finish_run(false)?)
    }

    /// Offers along steps until nobody has a turn: the sums; none if the observer stopped it. Those that have a turn go, perhaps.
    fn pass<J: FileJoin, R>(
        &mut self,
        position: Position,
        join: J,
        rule: R,
        going: bool,
    ) -> Result<Option<Deltas>, SearchError>
    where
        R: Rule<Turn = J::Turn, Value = u64, Number = ()> + Send,
    {
        let Elimination { passes, kept, numbers, taken_up, ranks, log, visits, edges } = self;
        let Passes { system, only_marked, threads, place, room, observer } = *passes;
        let (kept, budget) = (&*kept, place.budget());
        let expander = |_| Expander::new(system, kept, only_marked, threads, budget);
        let mut expanders = (0..threads).map(expander).collect::<Result<Vec<_>, _>>()?;
        let mut values = ByFile::new(kept, place, join, observer, room);
        if let Some(snapshot) = taken_up.take() {
            values = values.taken_up(&snapshot)?;
        }
        let (ranks, note) = (ranks.filter(|_| going), numbers.to_bits());
        let mut rule = Lasting { rule, values: &values, kept, position, note, ranks, log };
        let watched = Watched { observer, budget, round: position.rounds };
        let finished = propagate(watched, &mut expanders, &values, &mut rule)?;
        for expander in &expanders {
            (*visits, *edges) = (*visits + expander.visits, *edges + expander.edges);
        }
        drop(expanders);
        if finished { values.into_sums().map(Some) } else { Ok(None) }
    }

    /// The kept states with other numbers: by those that they have, and sums of what they were offered, if anything was. Those that get none are left out, and somebody is told of them, perhaps.
    fn rewritten(
        &self,
        sums: &Deltas,
        number: impl Fn(u64, Option<u64>) -> Option<u64>,
        gone: Option<&RankLog>,
    ) -> Result<Run, SearchError> {
        let place = self.passes.place;
        let mut writer = place.writer()?;
        let mut kept = sums.beside(place, &self.kept.run)?;
        while kept.advance()? {
            let keys = kept.keys().chunks_exact(kept.words());
            for (key, (before, sum)) in keys.zip(kept.values().iter().zip(kept.found())) {
                match (number(*before, *sum), gone) {
                    (Some(number), _) => writer.push_with(key, &[number])?,
                    (None, Some(ranks)) => ranks.take(Records::new(key, key.len()))?,
                    (None, None) => {}
                }
            }
        }
        Ok(writer.finish_run(false)?)
    }

    /// Other states are left now.
    fn keep(&mut self, run: Run) -> Result<(), SearchError> {
        self.passes.place.retire(std::mem::replace(&mut self.kept.run, run))
    }
}
