//! Which components of a state make a measure that few steps go against, and that has small buckets?
//!
//! Greedy, from the first part to the last: of all components and orders that let no more steps go back than is allowed, the one that leaves the smallest buckets, and of those that no step goes against first; only
//! steps count that the parts chosen so far do not decide. An order is that of the numbers, up or down; that of which value leads to which; or that of when values were met first. Once buckets are small enough,
//! only parts are added that no step goes against.
//!
//! What is said of buckets is an estimate from states; what is said of steps is as true as the steps are many: all of them, or a sample.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};
use fathom_disk::hash::hash_key;
use fathom_model::record::{Records, read_bits};
use fathom_model::shape::{ComponentKind, Shape};

use super::measure::{Measure, Order, Part};
use super::ranks::{NODES_MAX, SmallGraph};
use crate::error::SearchError;

/// Shares of steps that may go back, in thousandths: the levels of the paper.
pub const LEVELS: [u32; 6] = [0, 10, 20, 50, 100, 200];

/// Steps, which can be looked at again and again.
pub trait Edges {
    /// Calls `visit` with the source and the target of each.
    fn visit(&self, visit: &mut dyn FnMut(&[u64], &[u64])) -> Result<(), SearchError>;
}

/// What is chosen from.
pub struct Choice<'a> {
    /// What states look like.
    pub shape: &'a Shape,
    /// The steps.
    pub edges: &'a dyn Edges,
    /// Some states, each once, in the order in which they were met.
    pub states: Records<'a>,
    /// Whose memory is taken.
    pub budget: &'a Budget,
}

/// What is known of a measure before anything is searched with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forecast {
    /// Steps that were looked at.
    pub steps: u64,
    /// Those of them that lead to greater values.
    pub forward: u64,
    /// To the same value.
    pub stationary: u64,
    /// To smaller values.
    pub regress: u64,
    /// The share of states that the largest bucket has.
    pub largest: f64,
    /// Buckets that were seen.
    pub buckets: u64,
}

/// Components are looked at up to so many: each takes a table of which value leads to which.
const COMPONENTS_MAX: usize = 256;
/// Elements of an array that are looked at.
const ELEMENTS_MAX: u32 = 64;
/// A part must make the expected size of a state's bucket smaller by this factor.
const GAIN_MIN: f64 = 0.98;

/// A level with more steps back must make the largest bucket smaller by this factor.
const LEVEL_GAIN: f64 = 0.5;

/// A component of the records.
struct Candidate {
    name: String,
    low: u32,
    bits: u32,
    most: u64,
    is_location: bool,
}

/// What the steps do to a component that no part decides so far.
struct Seen {
    up: u64,
    down: u64,
    /// Steps to values that were met earlier.
    earlier: u64,
    /// Which value leads to which, if there are few.
    leads: Option<SmallGraph>,
}

impl Forecast {
    /// A bound that the share of steps back exceeds in one of forty cases, if steps are a fair sample (Wilson).
    pub fn regress_bound(&self) -> f64 {
        let (steps, z) = (self.steps.max(1) as f64, 1.96_f64);
        let share = self.regress as f64 / steps;
        let middle = share + z * z / (2.0 * steps);
        let spread = z * (share * (1.0 - share) / steps + z * z / (4.0 * steps * steps)).sqrt();
        (middle + spread) / (1.0 + z * z / steps)
    }
}

impl Choice<'_> {
    /// The measure for a level of regress, in thousandths, whose largest bucket should have a share of at most `largest` of the states.
    pub fn measure(&self, thousandths: u32, largest: f64) -> Result<Measure, SearchError> {
        let candidates = candidates(self.shape);
        let _charge =
            self.budget.charge("progress measure", candidates.iter().map(Candidate::table_bytes).sum())?;
        let firsts = self.first_met(&candidates);
        let mut measure = Measure::default();
        let mut classes = Classes::new(self.budget, self.states.len())?;
        loop {
            let (seen, regress, steps) = self.look(&measure, &candidates, &firsts)?;
            let allowed = steps * u64::from(thousandths) / 1000;
            let spare = match classes.largest() <= largest {
                true => 0,
                false => allowed.saturating_sub(regress),
            };
            let Some(part) = self.best(&candidates, seen, &firsts, spare, (&measure, &mut classes)) else {
                return Ok(measure);
            };
            measure.push(part);
            classes.divide(self.states, &measure);
        }
    }

    /// The measure of the least level whose largest bucket has a share of at most `largest` of the states, or that of the level whose largest bucket is smallest; and what is to be expected of it.
    pub fn least_level(&self, largest: f64) -> Result<(Measure, Forecast), SearchError> {
        let mut best: Option<(Measure, Forecast)> = None;
        for level in LEVELS {
            let measure = self.measure(level, largest)?;
            let forecast = self.forecast(&measure)?;
            if best.as_ref().is_none_or(|(_, best)| forecast.largest < best.largest * LEVEL_GAIN) {
                best = Some((measure, forecast));
            }
            if best.as_ref().is_some_and(|(_, best)| best.largest <= largest) {
                break;
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// What is to be expected of a measure.
    pub fn forecast(&self, measure: &Measure) -> Result<Forecast, SearchError> {
        self.forecast_of(&|records, values| measure.values(records, values))
    }

    /// The same of any numbers.
    pub fn forecast_of(&self, measure: &dyn Fn(Records<'_>, &mut Vec<u64>)) -> Result<Forecast, SearchError> {
        let mut forecast = Forecast::default();
        let mut value = Vec::with_capacity(1);
        let mut value = |record: &[u64]| {
            value.clear();
            measure(Records::new(record, record.len()), &mut value);
            value[0]
        };
        self.edges.visit(&mut |source, target| {
            let (from, to) = (value(source), value(target));
            forecast.steps += 1;
            forecast.forward += u64::from(to > from);
            forecast.stationary += u64::from(to == from);
            forecast.regress += u64::from(to < from);
        })?;
        let mut classes = Classes::new(self.budget, self.states.len())?;
        classes.class.iter_mut().zip(self.states.iter()).for_each(|(class, state)| *class = value(state));
        (forecast.largest, forecast.buckets) = (classes.largest(), classes.count());
        Ok(forecast)
    }

    /// What the steps do to components that a measure does not decide; steps that it decides to the worse, and all steps.
    fn look(
        &self,
        measure: &Measure,
        candidates: &[Candidate],
        firsts: &[Option<Vec<u32>>],
    ) -> Result<(Vec<Seen>, u64, u64), SearchError> {
        let mut seen: Vec<Seen> = candidates.iter().map(Seen::nothing).collect();
        let (mut regress, mut steps) = (0, 0);
        self.edges.visit(&mut |source, target| {
            steps += 1;
            let (from, to) = (measure.value(source), measure.value(target));
            regress += u64::from(to < from);
            if from == to {
                for ((candidate, seen), first) in candidates.iter().zip(&mut seen).zip(firsts) {
                    seen.add(candidate.code(source), candidate.code(target), first.as_ref());
                }
            }
        })?;
        Ok((seen, regress, steps))
    }

    /// The order in which values of components were met, for those with few.
    fn first_met(&self, candidates: &[Candidate]) -> Vec<Option<Vec<u32>>> {
        let order = |candidate: &Candidate| {
            let values = usize::try_from(candidate.most).ok()?.checked_add(1)?;
            if values > NODES_MAX || !candidate.is_location {
                return None;
            }
            let mut places = vec![u32::MAX; values];
            let mut next = 0;
            for state in self.states.iter() {
                let place = &mut places[candidate.code(state) as usize];
                if *place == u32::MAX {
                    *place = next;
                    next += 1;
                }
            }
            places.iter_mut().for_each(|place| *place = (*place).min(next));
            Some(places)
        };
        candidates.iter().map(order).collect()
    }

    /// The part that leaves the smallest buckets, of those that at most `spare` steps go against.
    fn best(
        &self,
        candidates: &[Candidate],
        seen: Vec<Seen>,
        firsts: &[Option<Vec<u32>>],
        spare: u64,
        (measure, classes): (&Measure, &mut Classes),
    ) -> Option<Part> {
        let now = classes.expected();
        let mut best: Option<(f64, u64, Part)> = None;
        for ((candidate, seen), first) in candidates.iter().zip(seen).zip(firsts) {
            for (order, against) in seen.orders(candidate, first.as_ref(), spare) {
                let part = Part::new(candidate.name.clone(), (candidate.low, candidate.bits), order);
                if part.place_bits == 0 || !measure.has_room(&part) {
                    continue;
                }
                let expected = classes.expected_with(self.states, &part);
                // What no step goes against costs nothing, and counts most for that.
                let better = best.as_ref().is_none_or(|(least, steps, _)| {
                    (against > 0, expected, against) < (*steps > 0, *least, *steps)
                });
                if expected < now * GAIN_MIN && better {
                    best = Some((expected, against, part));
                }
            }
        }
        best.map(|(_, _, part)| part)
    }
}

fn candidates(shape: &Shape) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for component in &shape.components {
        let elements = component.length.unwrap_or(1);
        if component.element_bits == 0 || elements > ELEMENTS_MAX {
            continue;
        }
        for element in 0..elements {
            candidates.push(Candidate {
                name: match component.length {
                    Some(_) => format!("{}[{element}]", component.name),
                    None => component.name.clone(),
                },
                low: component.low - element * component.element_bits,
                bits: component.element_bits,
                most: component.domain.span(),
                is_location: matches!(component.kind, ComponentKind::Location { .. }),
            });
        }
    }
    candidates.truncate(COMPONENTS_MAX);
    candidates
}

impl Candidate {
    /// Bytes of the table of which value leads to which.
    fn table_bytes(&self) -> usize {
        usize::try_from(self.most).ok().filter(|most| *most < NODES_MAX).map_or(0, |most| {
            let values = most + 1;
            values * values.div_ceil(64) * 8
        })
    }

    fn code(&self, record: &[u64]) -> u64 {
        read_bits(record, self.low, self.bits).min(self.most)
    }
}

impl Seen {
    fn nothing(candidate: &Candidate) -> Seen {
        let values = usize::try_from(candidate.most).ok().and_then(|most| most.checked_add(1));
        let leads = values.filter(|values| *values <= NODES_MAX).map(SmallGraph::new);
        Seen { up: 0, down: 0, earlier: 0, leads }
    }

    #[inline]
    fn add(&mut self, from: u64, to: u64, first: Option<&Vec<u32>>) {
        if from == to {
            return;
        }
        self.up += u64::from(to > from);
        self.down += u64::from(to < from);
        if let Some(first) = first {
            self.earlier += u64::from(first[to as usize] < first[from as usize]);
        }
        if let Some(leads) = &mut self.leads {
            leads.add(from as usize, to as usize);
        }
    }

    /// The orders of a component that at most so many steps go against, and how many do.
    fn orders(self, candidate: &Candidate, first: Option<&Vec<u32>>, spare: u64) -> Vec<(Order, u64)> {
        let Seen { up, down, earlier, leads } = self;
        let mut orders = Vec::new();
        if down <= spare {
            orders.push((Order::Ascending(candidate.most), down));
        }
        if up <= spare && up + down > 0 {
            orders.push((Order::Descending(candidate.most), up));
        }
        if let Some(leads) = leads.filter(|_| up + down > 0) {
            let ranks = leads.ranks();
            if !ranks.is_empty() {
                orders.push((Order::Ranks(ranks), 0));
            }
        }
        if let Some(first) = first.filter(|_| earlier <= spare) {
            orders.push((Order::Ranks(first.clone()), earlier));
        }
        orders
    }
}

/// The states by the bucket that they are in.
struct Classes {
    /// The value of each state, as a number of its own.
    class: ChargedVec<u64>,
    /// Room to count them in.
    sorted: ChargedVec<u64>,
}

impl Classes {
    /// All in one.
    fn new(budget: &Budget, states: usize) -> Result<Classes, BudgetError> {
        let mut class = ChargedVec::with_capacity(budget, "progress measure", states)?;
        class.resize(states, 0)?;
        let sorted = ChargedVec::with_capacity(budget, "progress measure", states)?;
        Ok(Classes { class, sorted })
    }

    fn divide(&mut self, states: Records<'_>, measure: &Measure) {
        self.class.iter_mut().zip(states.iter()).for_each(|(class, state)| *class = measure.value(state));
    }

    /// Sizes of the classes, as a sum of something of each.
    fn sum(&mut self, of: impl Fn(usize) -> f64) -> f64 {
        self.sorted.sort_unstable();
        self.sorted.chunk_by(|left, right| left == right).map(|class| of(class.len())).sum()
    }

    fn load(&mut self, value: impl Fn(usize, u64) -> u64) {
        self.sorted.clear();
        for (place, class) in self.class.iter().enumerate() {
            self.sorted.push(value(place, *class)).expect("there is room for all");
        }
    }

    /// States that the bucket of a state has, expected over all states.
    fn expected(&mut self) -> f64 {
        self.load(|_, class| class);
        self.squares()
    }

    /// The same if a part were added.
    fn expected_with(&mut self, states: Records<'_>, part: &Part) -> f64 {
        let words = states.words_per_record();
        let place = |state: usize| part.place(&states.words()[state * words..][..words]);
        self.load(|state, class| hash_key(&[class, place(state)]));
        self.squares()
    }

    fn squares(&mut self) -> f64 {
        let states = self.class.len().max(1) as f64;
        self.sum(|size| (size * size) as f64) / states
    }

    /// The share of the largest.
    fn largest(&mut self) -> f64 {
        self.load(|_, class| class);
        self.sorted.sort_unstable();
        let largest = self.sorted.chunk_by(|left, right| left == right).map(<[u64]>::len).max();
        largest.unwrap_or(0) as f64 / self.class.len().max(1) as f64
    }

    fn count(&mut self) -> u64 {
        self.load(|_, class| class);
        self.sum(|_| 1.0) as u64
    }
}
