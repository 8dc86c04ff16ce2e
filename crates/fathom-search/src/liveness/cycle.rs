//! Which accepting run goes round in the states that a fix-point has left?
//!
//! Forward only, without predecessors: from some state `a`, breadth-first among the states that are left. If `a` is not met again, nothing that was met can lead to what
//! is looked for, and it is taken away. If it is, for every mark that the cycle has not met yet a step with the mark is looked for that leads back to `a`; if there is none,
//! what `a` leads to is taken away, too. A component that no other leads to is never taken away, so this ends with a cycle.
//!
//! A step with the mark that does not lead back is no reason to begin again: where it leads to is left out, and the search for others goes on. So for each mark every state is expanded twice at most, and
//! a few more times for the path: what is taken away is never looked at again.
//!
//! Each search is a wave ([`crate::bodies::waves`]) whose layers go to the volume. Memory: four bits per state, a batch of records, the path.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;
use fathom_model::steps::Steps;

use crate::bodies::waves::{OnVolume, Parent, Sink, Wave, Waves};
use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::stores::bits::Bits;
use crate::task::Observer;
use crate::traces::path::{Path, PathBuilder, Room};

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
    let mut search = Search::new(expander, volume, room, observer)?;
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

/// A cycle through a state that meets all marks, among states that are left, where there is one.
pub(crate) fn through(
    expander: &mut Expander<'_>,
    first: &[u64],
    mut left: Bits,
    marks: u64,
    volume: &Volume,
    room: &Room,
    observer: &dyn Observer,
) -> Result<Path, SearchError> {
    let mut search = Search::new(expander, volume, room, observer)?;
    let back = |steps: &Steps, step: usize| steps.target(step) == first;
    let cycle = match search.leg(first, &mut left, &back, None)? {
        Found::Way(around, _) => search.meet(around, first, marks, &mut left)?,
        Found::Nothing(_) => None,
    };
    Ok(cycle.expect("the state is on a cycle that meets all marks"))
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

impl<'s, 'a> Search<'s, 'a> {
    fn new(
        expander: &'s mut Expander<'a>,
        volume: &'s Volume,
        room: &'s Room,
        observer: &'s dyn Observer,
    ) -> Result<Self, SearchError> {
        let (budget, states) = (room.budget(), expander.set.len());
        let spare = vec![Bits::new(budget, states, false)?, Bits::new(budget, states, false)?];
        Ok(Search { expander, spare, volume, room, budget, observer, files: 0 })
    }

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
        let Search { volume, room, budget, observer, .. } = *self;
        let layers = OnVolume::new(volume, &format!("leg-{}", self.files), from.len(), budget)?;
        let mut seen = self.spare.pop().expect("searches are nested twice at most");
        seen.clear_all();
        let mut waves = Waves::new(layers, from.len(), budget, observer);
        let mut wave = LegWave { search: self, from, domain, goal, back, seen: &seen };
        let found = match waves.spread(&mut wave)? {
            Some((layer, (last, returns))) => {
                let end = (layer, &last.record[..]);
                let (path, marks) = waves.way(&mut wave, end, (last.action, last.marks), room)?;
                self.spare.push(seen);
                Found::Way(Leg { path, marks }, returns)
            }
            None => Found::Nothing(seen),
        };
        waves.layers.remove()?;
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
}

/// A wave from one state that looks for a step, and perhaps for the way back from where that leads.
struct LegWave<'l, 's, 'a> {
    search: &'l mut Search<'s, 'a>,
    from: &'l [u64],
    domain: &'l mut Bits,
    goal: Goal<'l>,
    back: Option<&'l [u64]>,
    /// What was met.
    seen: &'l Bits,
}

impl Wave for LegWave<'_, '_, '_> {
    /// A step that is a goal, and the way back, unless it is there already.
    type Found = (Last, Option<Leg>);

    fn release(&mut self, layer: u64, sources: Sink<'_>) -> Result<bool, SearchError> {
        if layer == 0 {
            self.seen.set(self.search.expander.set.number(self.from));
            sources(self.from)?;
        }
        Ok(false)
    }

    fn expand(&mut self, states: Records<'_>, fresh: Sink<'_>) -> Result<Option<Self::Found>, SearchError> {
        // A goal that does not lead back is out of the domain then, so the next one is another.
        while let Some(last) = self.expand_once(states, &mut *fresh)? {
            if let Some(returns) = self.search.returns(&last, self.domain, self.back)? {
                return Ok(Some((last, returns)));
            }
        }
        Ok(None)
    }

    fn parent(&mut self, states: Records<'_>, target: &[u64]) -> Result<Option<Parent>, SearchError> {
        let (domain, mut parent) = (&*self.domain, None);
        self.search.expander.each(states, |place, taken| {
            if parent.is_none() && domain.get(taken.number) && taken.steps.target(taken.step) == target {
                let (action, marks) = (taken.steps.action(taken.step), taken.steps.marks(taken.step).0);
                parent = Some(Parent { place, action, marks });
            }
            Ok(())
        })?;
        Ok(parent)
    }
}

impl LegWave<'_, '_, '_> {
    /// Expands some states: the first step that is a goal, and all new states.
    fn expand_once(&mut self, states: Records<'_>, fresh: Sink<'_>) -> Result<Option<Last>, SearchError> {
        let (domain, goal, seen, mut found) = (&*self.domain, self.goal, self.seen, None);
        self.search.expander.each(states, |source, taken| {
            let target = taken.steps.target(taken.step);
            if !domain.get(taken.number) {
                return Ok(());
            }
            if found.is_none() && goal(taken.steps, taken.step) {
                found = Some(Last {
                    record: states.get(source).to_vec(),
                    action: taken.steps.action(taken.step),
                    marks: taken.steps.marks(taken.step).0,
                    target: target.to_vec(),
                });
            }
            if seen.set(taken.number) { fresh(target) } else { Ok(()) }
        })?;
        Ok(found)
    }
}
