//! Which accepting run goes round in the states that a fix-point has left, when nothing is known of states but what is in sorted files?
//!
//! The search is that of [`crate::liveness::cycle`]: from some state `a`, breadth-first among the states that are left; if `a` is not met again, what was met is taken away; if it is, for every mark that the cycle has not met a step with
//! it is looked for that leads back to `a`. A wave finds out what it has met for the first time not at once, but when a layer is over: what its steps lead to is sorted and merged with the states that are left and with what was met before.
//! So is whether a step with a mark stays among the states that are left; of several, the one with the least target is taken.
//!
//! Where there are pairs of requests and responses, the response is looked for the same way; if nothing that leads back has it, nothing that leads back may make the request.
//!
//! What does not lead back to `a` is taken away at once, whether `a` is on an accepting cycle or not: if it is not, everything that `a` leads to goes, and that was among it.
//!
//! Memory: buffers; the path. I/O: each state that is met is sorted and written; each layer is a merge with the runs that it touches.

use fathom_disk::budget::ChargedVec;
use fathom_disk::log::{Position, RecordLog};
use fathom_disk::set::{KeyStream, Sorter};
use fathom_disk::storage::{FileKind, Role};
use fathom_disk::value::Join;
use fathom_model::record::Records;
use fathom_model::steps::Steps;

use crate::bodies::passes::by_file::Kept;
use crate::bodies::waves::{OnVolume, Parent, Sink, Wave, Waves};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::value_runs::{Deltas, ValueRuns};
use crate::liveness::semi_external::Search as Task;
use crate::traces::path::{Path, PathBuilder};

/// A cycle that meets all marks, among states that a fix-point has left, which are not none: states, and the action that leaves each; the last leads to the first. The figures are states expanded and steps made.
pub(crate) fn find(
    task: &Task<'_>,
    left: &Kept<'_>,
    marks: u64,
    figures: &mut (u64, u64),
) -> Result<Path, SearchError> {
    let budget = task.room.budget();
    let place = ValueRuns::new(task.volume, budget, task.system.shape(), Join::Or, PREFIX)?;
    let mut expander = Expander::new(task.system, left, task.acceptance.is_weak(), 1, budget)?;
    let mut search = Search { task, place: &place, expander: &mut expander, left, gone: Deltas::default() };
    let cycle = search.cycle(marks)?;
    search.gone.remove(&place)?;
    *figures = (expander.visits, expander.edges);
    Ok(cycle)
}

/// A cycle through a state that meets all marks, among states that are left, where there is one.
pub(crate) fn through(
    task: &Task<'_>,
    left: &Kept<'_>,
    first: &[u64],
    marks: u64,
    figures: &mut (u64, u64),
) -> Result<Path, SearchError> {
    let budget = task.room.budget();
    let place = ValueRuns::new(task.volume, budget, task.system.shape(), Join::Or, PREFIX)?;
    let mut expander = Expander::new(task.system, left, task.acceptance.is_weak(), 1, budget)?;
    let mut search = Search { task, place: &place, expander: &mut expander, left, gone: Deltas::default() };
    let cycle = match search.leg(first, Goal::To(first))? {
        Found::Way(around, _) => search.meet(around, first, marks)?,
        Found::Nothing(_) => None,
    };
    search.gone.remove(&place)?;
    *figures = (expander.visits, expander.edges);
    Ok(cycle.expect("the state is on a cycle that meets all marks"))
}

const PREFIX: &str = "wave";
const KIND: FileKind = FileKind::new("goals", Role::Bulk);
/// The part of what is free that targets are sorted within.
const SORT_PART: usize = 3;
const BLOCK_BYTES_MIN: usize = 256;
const BLOCK_BYTES_MAX: usize = 1 << 16;

/// A way from a state: states, and the actions that leave them.
struct Leg {
    path: Path,
    /// All marks on it.
    marks: u64,
}

/// Which step a search looks for.
#[derive(Clone, Copy)]
enum Goal<'g> {
    /// One to this state.
    To(&'g [u64]),
    /// One with this mark, after which there is a way back to a state.
    Marked(u32, &'g [u64]),
    /// None: everything is met.
    Nothing,
}

impl Goal<'_> {
    fn is_met(self, steps: &Steps, step: usize) -> bool {
        match self {
            Goal::To(state) => steps.target(step) == state,
            Goal::Marked(mark, _) => steps.marks(step).0 >> mark & 1 == 1,
            Goal::Nothing => false,
        }
    }
}

/// What a search came to.
enum Found {
    /// A way, and the way back if there had to be one and it is not there already.
    Way(Leg, Option<Leg>),
    /// There is none; these are all states that were met.
    Nothing(Deltas),
}

struct Search<'s, 'a> {
    task: &'s Task<'s>,
    place: &'s ValueRuns,
    expander: &'s mut Expander<'a, Kept<'a>>,
    left: &'s Kept<'s>,
    /// What is not left any more.
    gone: Deltas,
}

impl Search<'_, '_> {
    fn cycle(&mut self, marks: u64) -> Result<Path, SearchError> {
        loop {
            let first = self.first()?.expect("a fix-point that is not empty has a cycle");
            let met = match self.leg(&first, Goal::To(&first))? {
                Found::Way(around, _) => {
                    if let Some(cycle) = self.meet(around, &first, marks)? {
                        return Ok(cycle);
                    }
                    // Everything that the state leads to goes.
                    self.closure(&first)?
                }
                Found::Nothing(met) => met,
            };
            self.gone.append(self.place, met)?;
        }
    }

    /// All states that are left and that a state leads to, and itself.
    fn closure(&mut self, from: &[u64]) -> Result<Deltas, SearchError> {
        match self.leg(from, Goal::Nothing)? {
            Found::Nothing(met) => Ok(met),
            Found::Way(..) => unreachable!("no step is a goal"),
        }
    }

    /// The least state that is left.
    fn first(&self) -> Result<Option<Vec<u64>>, SearchError> {
        let mut left = self.gone.beside(self.place, &self.left.run)?;
        while left.advance()? {
            let keys = left.keys().chunks_exact(left.words());
            if let Some((key, _)) = keys.zip(left.found()).find(|(_, gone)| gone.is_none()) {
                return Ok(Some(key.to_vec()));
            }
        }
        Ok(None)
    }

    /// Lengthens a cycle through `first` until it meets all marks; none if it cannot.
    fn meet(&mut self, around: Leg, first: &[u64], marks: u64) -> Result<Option<Path>, SearchError> {
        let mut met = around.marks;
        let pairs = self.task.system.shape().pair_count;
        if met & marks == marks && pairs == 0 {
            return Ok(Some(around.path));
        }
        let mut cycle = PathBuilder::new(self.task.room, first.len())?;
        cycle.extend(&around.path, 0)?;
        drop(around);
        while met & marks != marks {
            let mark = (marks & !met).trailing_zeros();
            match self.leg(first, Goal::Marked(mark, first))? {
                Found::Nothing(seen) => {
                    seen.remove(self.place)?;
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
        for pair in 0..pairs {
            if !self.serve(pair, first, &mut met, &mut cycle)? {
                return Ok(None);
            }
        }
        cycle.finish(0).map(Some)
    }

    /// Lengthens a cycle by the response of a pair, if it can be; else nothing that leads back may make the request: false if something does.
    fn serve(
        &mut self,
        pair: u32,
        first: &[u64],
        met: &mut u64,
        cycle: &mut PathBuilder,
    ) -> Result<bool, SearchError> {
        let (response, request) = self.task.system.shape().pair_marks(pair);
        if *met >> response & 1 == 1 {
            return Ok(true);
        }
        match self.leg(first, Goal::Marked(response, first))? {
            Found::Way(there, back) => {
                for leg in std::iter::once(there).chain(back) {
                    cycle.extend(&leg.path, 0)?;
                    *met |= leg.marks;
                }
                return Ok(true);
            }
            Found::Nothing(seen) => seen.remove(self.place)?,
        }
        match self.leg(first, Goal::Marked(request, first))? {
            Found::Way(..) => Ok(false),
            Found::Nothing(seen) => seen.remove(self.place).map(|()| true),
        }
    }

    /// A shortest way from a state, among those that are left, up to and including a step that is a goal and stays among them.
    fn leg(&mut self, from: &[u64], goal: Goal<'_>) -> Result<Found, SearchError> {
        let (budget, observer, room) = (self.place.budget(), self.task.observer, self.task.room);
        let layers = OnVolume::new(self.task.volume, &self.place.fresh_name(), from.len(), budget)?;
        let mut waves = Waves::new(layers, from.len(), budget, observer);
        let mut wave =
            LegWave { search: self, from, goal, met: Deltas::default(), targets: None, found: None };
        waves.spread(&mut wave)?;
        let found = match wave.found.take() {
            Some(Last { layer, target, back }) => {
                let last = waves.parent(&mut wave, layer, &target)?;
                let (record, Parent { action, marks, .. }) = last.expect("a step of the layer leads there");
                wave.goal = Goal::Nothing;
                let (path, marks) = waves.way(&mut wave, (layer, &record), (action, marks), room)?;
                Found::Way(Leg { path, marks }, back)
            }
            None => Found::Nothing(std::mem::take(&mut wave.met)),
        };
        let LegWave { met, .. } = wave;
        met.remove(self.place)?;
        waves.layers.remove()?;
        Ok(found)
    }

    /// Whether a state is left.
    fn is_left(&self, state: &[u64]) -> Result<bool, SearchError> {
        let mut found = ChargedVec::with_capacity(self.place.budget(), "values found", 1)?;
        self.gone.look_ups(self.place)?.find(state, state.len(), &mut found)?;
        Ok(found[0].is_none())
    }

    /// The way back from where a step ends, if there is to be one and it is not there; none if there is no way back. Then what it leads to is not left any more.
    fn returns(&mut self, target: &[u64], goal: Goal<'_>) -> Result<Option<Option<Leg>>, SearchError> {
        let Goal::Marked(_, back) = goal else { return Ok(Some(None)) };
        if target == back {
            return Ok(Some(None));
        }
        if !self.is_left(target)? {
            return Ok(None);
        }
        match self.leg(target, Goal::To(back))? {
            Found::Way(way, _) => Ok(Some(Some(way))),
            Found::Nothing(met) => {
                self.gone.append(self.place, met)?;
                Ok(None)
            }
        }
    }
}

/// A goal that was met: the layer of the state that its step leaves, where that leads, and the way back.
struct Last {
    layer: u64,
    target: Vec<u64>,
    back: Option<Leg>,
}

/// A wave from one state that looks for a step, and perhaps for the way back from where that leads.
struct LegWave<'l, 's, 'a> {
    search: &'l mut Search<'s, 'a>,
    from: &'l [u64],
    goal: Goal<'l>,
    /// What was met.
    met: Deltas,
    /// What steps of this layer lead to, with 1 if one of them is a goal.
    targets: Option<Sorter>,
    found: Option<Last>,
}

impl Wave for LegWave<'_, '_, '_> {
    /// What is found is noted when a layer is over.
    type Found = ();

    fn release(&mut self, layer: u64, sources: Sink<'_>) -> Result<bool, SearchError> {
        if layer == 0 {
            sources(self.from)?;
            let mut met = self.search.place.writer()?;
            met.push_with(self.from, &[0])?;
            self.met.add(self.search.place, met.finish_run(false)?)?;
            return Ok(false);
        }
        let Some(targets) = self.targets.take() else { return Ok(false) };
        let goals = self.settle(targets, sources)?;
        self.meet_goal(layer - 1, goals)?;
        Ok(false)
    }

    fn expand(&mut self, states: Records<'_>, _: Sink<'_>) -> Result<Option<()>, SearchError> {
        if self.found.is_some() {
            return Ok(Some(()));
        }
        let (place, goal) = (self.search.place, self.goal);
        let targets = match &mut self.targets {
            Some(targets) => targets,
            None => self.targets.insert(place.sorter(place.budget().free() / SORT_PART)?),
        };
        self.search.expander.each(states, |_, taken| {
            let is_goal = u64::from(goal.is_met(taken.steps, taken.step));
            Ok(targets.push_with(taken.steps.target(taken.step), &[is_goal])?)
        })?;
        Ok(None)
    }

    fn parent(&mut self, states: Records<'_>, target: &[u64]) -> Result<Option<Parent>, SearchError> {
        let (goal, mut parent) = (self.goal, None);
        self.search.expander.each(states, |place, taken| {
            let (steps, step) = (taken.steps, taken.step);
            let wanted = matches!(goal, Goal::Nothing) || goal.is_met(steps, step);
            if parent.is_none() && wanted && steps.target(step) == target {
                parent = Some(Parent { place, action: steps.action(step), marks: steps.marks(step).0 });
            }
            Ok(())
        })?;
        Ok(parent)
    }
}

impl LegWave<'_, '_, '_> {
    /// Hands out what was met for the first time; gives the log of targets of goals, ascending.
    fn settle(&mut self, targets: Sorter, fresh: Sink<'_>) -> Result<RecordLog, SearchError> {
        self.search.expander.give_back()?;
        let Search { place, left, gone, .. } = &*self.search;
        let (budget, words) = (place.budget(), place.words());
        let block = (budget.limit() / 64).clamp(BLOCK_BYTES_MIN, BLOCK_BYTES_MAX);
        let mut goals = RecordLog::new(place.volume(), &place.fresh_name(), KIND, words, block, budget)?;
        let targets = targets.finish()?;
        let mut new = place.writer()?;
        {
            let mut stream = targets.stream()?;
            let mut left = place.look_up(&left.run)?;
            let (mut gone, mut met) = (gone.look_ups(place)?, self.met.look_ups(place)?);
            let found = || ChargedVec::with_capacity(budget, "values found", 0);
            let (mut is_left, mut is_gone, mut is_met) = (found()?, found()?, found()?);
            while stream.advance()? {
                left.find(stream.keys(), words, &mut is_left)?;
                gone.find(stream.keys(), words, &mut is_gone)?;
                met.find(stream.keys(), words, &mut is_met)?;
                for (place, key) in stream.keys().chunks_exact(words).enumerate() {
                    if is_left[place].is_none() || is_gone[place].is_some() {
                        continue;
                    }
                    if stream.values()[place] == 1 {
                        goals.append(key)?;
                    }
                    if is_met[place].is_none() {
                        fresh(key)?;
                        new.push_with(key, &[0])?;
                    }
                }
            }
        }
        targets.remove()?;
        self.met.add(place, new.finish_run(false)?)?;
        Ok(goals)
    }

    /// Takes the first goal after which there is a way back, if there is to be one.
    fn meet_goal(&mut self, layer: u64, goals: RecordLog) -> Result<(), SearchError> {
        let mut reader = goals.reader(Position::default(), self.search.place.budget())?;
        let mut target = vec![0; self.from.len()];
        while self.found.is_none() && reader.next(&goals, &mut target)? {
            if let Some(back) = self.search.returns(&target, self.goal)? {
                self.found = Some(Last { layer, target: target.clone(), back });
            }
        }
        Ok(goals.remove()?)
    }
}
