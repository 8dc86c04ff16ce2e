//! How many steps is a state away from one that is looked for, at least?
//!
//! A condition is reduced to what it says of *places*: the location of a process, a variable, or an element of one, of few values. From the text of the model follows which values of a place may follow one another in a
//! step: the edges of a process, or what an action assigns, where its guard says from which value. The fewest such changes that make the condition true are a lower bound, and no step lowers it by more than one:
//!
//! ```text
//! place            changes from its value to one that will do
//! this and that    the most of any part; or, if no action changes more than k of the places, the sum of all, divided by k
//! this or that     the least of any part
//! two of these     the greater of the two least; or the sum of these, divided by k
//! anything else    0
//! ```

use std::collections::VecDeque;

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, Statement, UnaryOperator};
use fathom_model::layout::{Field, Layout};
use fathom_model::program::{Action, Composition, Program, Role};

/// How far from everything that no change leads to.
pub(crate) const NEVER: u64 = 1 << 30;
/// Sums of more conditions say nothing.
const SEVERAL_MAX: usize = 64;
/// Places of more values say nothing.
const VALUES_MAX: i64 = 256;

/// A lower bound of the steps to a state where a condition is true.
#[derive(Debug)]
pub(crate) enum Distance {
    /// Nothing is known.
    Nothing,
    /// There is no such state.
    Never,
    /// Of a place, by its value.
    Place { field: Field, element: u32, changes: Vec<u64> },
    /// To where all are true; an action changes at most so many of the places among them.
    All { parts: Vec<Distance>, together: u64 },
    /// To where one of them is.
    Any(Vec<Distance>),
    /// To where at least so many of some places have values that will do; an action changes at most so many of them.
    Several { least: usize, places: Vec<Distance>, together: u64 },
}

impl Distance {
    /// To a state where an expression of the program is true, or where it is not.
    pub(crate) fn to(program: &Program, layout: &Layout, goal: &Expression, truth: bool) -> Distance {
        let flow = Flow { program, layout };
        flow.distance(flow.condition(goal, truth, None))
    }

    /// To a state where one of several conditions is met.
    pub(crate) fn to_any(goals: impl Iterator<Item = Distance>) -> Distance {
        Distance::Any(goals.collect())
    }

    /// Whether it says nothing of any state.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Distance::Nothing => true,
            Distance::Never | Distance::Place { .. } | Distance::Several { .. } => false,
            Distance::All { parts, .. } => parts.iter().all(Distance::is_nothing),
            Distance::Any(parts) => parts.iter().any(Distance::is_nothing),
        }
    }

    /// Of a state.
    pub(crate) fn of(&self, record: &[u64]) -> u64 {
        match self {
            Distance::Nothing => 0,
            Distance::Never => NEVER,
            Distance::Place { field, element, changes } => changes[code(field, record, *element)],
            Distance::All { parts, together } => {
                let (mut most, mut sum) = (0, 0);
                for part in parts {
                    let steps = part.of(record);
                    most = most.max(steps);
                    sum += if matches!(part, Distance::Place { .. }) { steps } else { 0 };
                }
                most.max(sum.div_ceil(*together))
            }
            Distance::Any(parts) => parts.iter().map(|part| part.of(record)).min().unwrap_or(0),
            Distance::Several { least, places, together } => {
                let mut steps = [NEVER; SEVERAL_MAX];
                let steps = &mut steps[..places.len()];
                steps.iter_mut().zip(places).for_each(|(steps, place)| *steps = place.of(record));
                steps.sort_unstable();
                let sum: u64 = steps[..*least].iter().sum();
                steps[*least - 1].max(sum.div_ceil(*together))
            }
        }
    }
}

/// For each process, the fewest moves from one location to another.
#[derive(Debug)]
pub struct Moves {
    processes: Vec<(Field, Vec<Vec<u64>>)>,
}

impl Moves {
    pub(crate) fn of(program: &Program, layout: &Layout) -> Moves {
        let flow = Flow { program, layout };
        let processes = program.processes.iter().map(|process| {
            let place = Place { variable: process.variable.index(), element: 0 };
            let field = layout.fields[place.variable];
            let values = flow.values(place);
            // Row by row: to each value.
            let to = (0..values).map(|value| {
                let mut wanted = vec![false; values];
                wanted[value] = true;
                flow.changes_to(place, &wanted)
            });
            (field, to.collect())
        });
        Moves { processes: processes.collect() }
    }

    /// The most moves that any process needs to get from where it is in one state to where it is in another.
    pub(crate) fn between(&self, from: &[u64], to: &[u64]) -> u64 {
        let moves =
            |(field, to_value): &(Field, Vec<Vec<u64>>)| to_value[code(field, to, 0)][code(field, from, 0)];
        self.processes.iter().map(moves).max().unwrap_or(0)
    }
}

/// The number of the value that a place has, from the least on.
fn code(field: &Field, record: &[u64], element: u32) -> usize {
    field.read(record, element).wrapping_sub(field.domain.low) as usize
}

/// A scalar variable, or an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    variable: usize,
    element: u32,
}

/// What a condition says of places.
#[derive(Clone, Debug)]
enum Condition {
    /// Nothing that is understood.
    Unknown,
    False,
    /// A place has one of these values, from the least on.
    Among(Place, Vec<bool>),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    /// At least so many of them.
    Several(usize, Vec<Condition>),
}

/// What an action does to a place.
enum Change {
    Any,
    To(usize),
}

/// What a program can do to a place in a step.
struct Flow<'p> {
    program: &'p Program,
    layout: &'p Layout,
}

impl Flow<'_> {
    /// How many values a place has.
    fn values(&self, place: Place) -> usize {
        let domain = self.layout.fields[place.variable].domain;
        (domain.high - domain.low + 1) as usize
    }

    /// The place that an expression reads, if it is part of the state and has few values.
    fn place(&self, expression: &Expression, action: Option<&Action>) -> Option<Place> {
        let (variable, element) = match &expression.kind {
            ExpressionKind::Read(variable) => (variable.index(), 0),
            ExpressionKind::Element(variable, index) => {
                (variable.index(), u32::try_from(constant(index, action)?).ok()?)
            }
            _ => return None,
        };
        let field = self.layout.fields[variable];
        let few = field.domain.high.checked_sub(field.domain.low).is_some_and(|span| span < VALUES_MAX);
        let stored = self.program.variables[variable].role != Role::Temporary;
        (stored && few && element < field.elements).then_some(Place { variable, element })
    }

    /// What an expression that is true, or not, says of places; in an action, whose parameters are known.
    fn condition(&self, expression: &Expression, truth: bool, action: Option<&Action>) -> Condition {
        if let Some(value) = constant(expression, action) {
            return if (value != 0) == truth { Condition::Unknown } else { Condition::False };
        }
        let parts = |parts: &[Expression]| -> Vec<Condition> {
            parts.iter().map(|part| self.condition(part, truth, action)).collect()
        };
        match &expression.kind {
            ExpressionKind::Unary(UnaryOperator::Not, inner) => self.condition(inner, !truth, action),
            ExpressionKind::All(all) if truth => self.all(parts(all)),
            ExpressionKind::Any(any) if !truth => self.all(parts(any)),
            ExpressionKind::All(some) | ExpressionKind::Any(some) => any(parts(some)),
            ExpressionKind::Binary(operator, left, right) => {
                let (read, value, turned) = match (constant(left, action), constant(right, action)) {
                    (Some(value), None) => (right, value, true),
                    (None, Some(value)) => (left, value, false),
                    _ => return Condition::Unknown,
                };
                let Some(test) = comparison(*operator) else { return Condition::Unknown };
                let Some(place) = self.place(read, action) else {
                    let holds =
                        |sum: i64| (if turned { test(value, sum) } else { test(sum, value) }) == truth;
                    return self.several(read, &holds, action);
                };
                let will_do =
                    |read: i64| (if turned { test(value, read) } else { test(read, value) }) == truth;
                self.among(place, &will_do)
            }
            _ => match self.place(expression, action) {
                Some(place) => self.among(place, &|read| (read != 0) == truth),
                None => Condition::Unknown,
            },
        }
    }

    /// How many of the conditions that an expression is the sum of must be true, if it is one, for the sum to be right.
    fn several(
        &self,
        sum: &Expression,
        is_right: &dyn Fn(i64) -> bool,
        action: Option<&Action>,
    ) -> Condition {
        let (mut open, mut terms) = (vec![sum], Vec::new());
        while let Some(term) = open.pop() {
            match &term.kind {
                ExpressionKind::Binary(BinaryOperator::Add, left, right) => open.extend([&**left, right]),
                ExpressionKind::Binary(operator, ..) if comparison(*operator).is_some() => {
                    terms.push(self.condition(term, true, action));
                }
                _ => return Condition::Unknown,
            }
        }
        let places = terms.iter().all(|term| matches!(term, Condition::Among(..)));
        match (0..=terms.len()).find(|count| is_right(*count as i64)) {
            _ if !places || terms.len() > SEVERAL_MAX => Condition::Unknown,
            Some(0) => Condition::Unknown,
            Some(least) => Condition::Several(least, terms),
            None => Condition::False,
        }
    }

    fn among(&self, place: Place, will_do: &dyn Fn(i64) -> bool) -> Condition {
        let domain = self.layout.fields[place.variable].domain;
        Condition::Among(place, (domain.low..=domain.high).map(will_do).collect())
    }

    /// All of some conditions: those of one place are one.
    fn all(&self, parts: Vec<Condition>) -> Condition {
        let mut flat: Vec<Condition> = Vec::new();
        let mut open = VecDeque::from(parts);
        while let Some(part) = open.pop_front() {
            match part {
                Condition::Unknown => {}
                Condition::False => return Condition::False,
                Condition::All(parts) => open.extend(parts),
                Condition::Among(place, values) => {
                    let same = flat.iter_mut().find_map(|other| match other {
                        Condition::Among(other, known) if *other == place => Some(known),
                        _ => None,
                    });
                    match same {
                        Some(known) => {
                            known.iter_mut().zip(&values).for_each(|(known, value)| *known &= value);
                        }
                        None => flat.push(Condition::Among(place, values)),
                    }
                }
                part @ (Condition::Any(_) | Condition::Several(..)) => flat.push(part),
            }
        }
        Condition::All(flat)
    }

    fn distance(&self, condition: Condition) -> Distance {
        match condition {
            Condition::Unknown => Distance::Nothing,
            Condition::False => Distance::Never,
            Condition::Among(place, wanted) => {
                let field = self.layout.fields[place.variable];
                Distance::Place { field, element: place.element, changes: self.changes_to(place, &wanted) }
            }
            Condition::Any(parts) => {
                Distance::Any(parts.into_iter().map(|part| self.distance(part)).collect())
            }
            Condition::Several(least, parts) => {
                let together = self.changed_together(&parts);
                let places = parts.into_iter().map(|part| self.distance(part)).collect();
                Distance::Several { least, places, together }
            }
            Condition::All(parts) if parts.is_empty() => Distance::Nothing,
            Condition::All(parts) => {
                let together = self.changed_together(&parts);
                Distance::All { parts: parts.into_iter().map(|part| self.distance(part)).collect(), together }
            }
        }
    }

    /// How many of the places that some conditions name a step changes at most; at least 1.
    fn changed_together(&self, parts: &[Condition]) -> u64 {
        let place = |part: &Condition| match part {
            Condition::Among(place, _) => Some(*place),
            _ => None,
        };
        let places: Vec<Place> = parts.iter().filter_map(place).collect();
        if self.program.composition == Composition::Synchronous {
            return places.len().max(1) as u64;
        }
        let changed = |action: &Action| {
            places.iter().filter(|place| !self.changes(action, **place).is_empty()).count() as u64
        };
        self.program.actions.iter().map(changed).max().unwrap_or(1).max(1)
    }

    /// The fewest changes from each value of a place to one that is wanted.
    fn changes_to(&self, place: Place, wanted: &[bool]) -> Vec<u64> {
        let edges: Vec<(Vec<bool>, Vec<Change>)> = self
            .program
            .actions
            .iter()
            .map(|action| (self.before(action, place), self.changes(action, place)))
            .filter(|(_, changes)| !changes.is_empty())
            .collect();
        let mut steps: Vec<u64> = wanted.iter().map(|wanted| if *wanted { 0 } else { NEVER }).collect();
        if steps.iter().all(|steps| *steps == NEVER) {
            return steps;
        }
        for round in 1.. {
            let reached: Vec<bool> = steps.iter().map(|steps| *steps < round).collect();
            let leads_there = |changes: &[Change]| {
                changes.iter().any(|change| match change {
                    Change::Any => true,
                    Change::To(value) => reached[*value],
                })
            };
            let mut changed = false;
            for (before, _) in edges.iter().filter(|(_, changes)| leads_there(changes)) {
                for (steps, _) in
                    steps.iter_mut().zip(before).filter(|(steps, before)| **before && **steps > round)
                {
                    *steps = round;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        steps
    }

    /// The values that a place may have before an action.
    fn before(&self, action: &Action, place: Place) -> Vec<bool> {
        let field = self.layout.fields[place.variable];
        let mut before = vec![true; self.values(place)];
        let mover = action
            .movers
            .iter()
            .find(|mover| self.program.process(mover.process).variable.index() == place.variable);
        if let Some(mover) = mover {
            before.fill(false);
            if let Some(from) = before.get_mut(i64::from(mover.from).wrapping_sub(field.domain.low) as usize)
            {
                *from = true;
            }
        }
        let guard = action.command.guard.as_ref().map(|guard| self.condition(guard, true, Some(action)));
        let parts = match guard {
            Some(Condition::All(parts)) => parts,
            other => other.into_iter().collect(),
        };
        for part in parts {
            match part {
                Condition::Among(of, values) if of == place => {
                    before.iter_mut().zip(values).for_each(|(before, value)| *before &= value);
                }
                Condition::False => before.fill(false),
                _ => {}
            }
        }
        before
    }

    /// What an action may do to a place; nothing if it leaves it alone.
    fn changes(&self, action: &Action, place: Place) -> Vec<Change> {
        let mut changes = Vec::new();
        self.collect(&action.command.body, action, place, &mut changes);
        changes
    }

    fn collect(&self, body: &[Statement], action: &Action, place: Place, changes: &mut Vec<Change>) {
        let to = |value: Option<&Expression>| {
            let domain = self.layout.fields[place.variable].domain;
            let value = value.and_then(|value| constant(value, Some(action)));
            // What does not fit is a fault, or becomes something else.
            let fits = value.filter(|value| (domain.low..=domain.high).contains(value));
            fits.map_or(Change::Any, |value| Change::To(value.wrapping_sub(domain.low) as usize))
        };
        let written = |written: &fathom_model::program::Place, count: u32| {
            let first = match &written.index {
                None => Some(0),
                Some(index) => constant(index, Some(action)),
            };
            let among =
                |first: i64| (first..first.saturating_add(count.into())).contains(&place.element.into());
            written.variable.index() == place.variable && first.is_none_or(among)
        };
        for statement in body {
            match statement {
                Statement::Move { process, to } => {
                    let variable = self.program.process(*process).variable.index();
                    let low = self.layout.fields[variable].domain.low;
                    let value = i64::from(*to).wrapping_sub(low) as usize;
                    if variable == place.variable && value < self.values(place) {
                        changes.push(Change::To(value));
                    }
                }
                Statement::Assign(assignments) => {
                    let ours = assignments.iter().filter(|assignment| written(&assignment.place, 1));
                    changes.extend(ours.map(|assignment| to(Some(&assignment.value))));
                }
                Statement::Copy { to, count, .. } if written(to, *count) => changes.push(Change::Any),
                Statement::Fill { place: filled, count, value, .. } if written(filled, *count) => {
                    changes.push(to(value.as_ref()));
                }
                Statement::If { arms, otherwise } => {
                    arms.iter().for_each(|(_, body)| self.collect(body, action, place, changes));
                    self.collect(otherwise, action, place, changes);
                }
                Statement::While { body, .. }
                | Statement::For { body, .. }
                | Statement::Block { body, .. } => {
                    self.collect(body, action, place, changes);
                }
                _ => {}
            }
        }
    }
}

fn any(parts: Vec<Condition>) -> Condition {
    let mut some: Vec<Condition> = Vec::new();
    for part in parts {
        match part {
            Condition::Unknown => return Condition::Unknown,
            Condition::False => {}
            Condition::Among(place, values) => {
                let same = some.iter_mut().find_map(|other| match other {
                    Condition::Among(other, known) if *other == place => Some(known),
                    _ => None,
                });
                match same {
                    Some(known) => known.iter_mut().zip(&values).for_each(|(known, value)| *known |= value),
                    None => some.push(Condition::Among(place, values)),
                }
            }
            part => some.push(part),
        }
    }
    match some.len() {
        0 => Condition::False,
        1 => some.remove(0),
        _ => Condition::Any(some),
    }
}

/// What an expression is worth in every state; in an action, whose parameters are known.
fn constant(expression: &Expression, action: Option<&Action>) -> Option<i64> {
    match &expression.kind {
        ExpressionKind::Constant(value) => Some(*value),
        ExpressionKind::Read(variable) => {
            let action = action?;
            let parameter = action.command.parameters.iter().position(|parameter| parameter == variable)?;
            action.arguments.get(parameter).copied()
        }
        ExpressionKind::Binary(operator, left, right) => {
            let (left, right) = (constant(left, action)?, constant(right, action)?);
            match operator {
                BinaryOperator::Add => left.checked_add(right),
                BinaryOperator::Subtract => left.checked_sub(right),
                BinaryOperator::Multiply => left.checked_mul(right),
                other => comparison(*other).map(|test| i64::from(test(left, right))),
            }
        }
        ExpressionKind::Convert(domain, inner) | ExpressionKind::Checked(domain, _, inner) => {
            constant(inner, action).filter(|value| (domain.low..=domain.high).contains(value))
        }
        _ => None,
    }
}

fn comparison(operator: BinaryOperator) -> Option<fn(i64, i64) -> bool> {
    Some(match operator {
        BinaryOperator::Equal => |left, right| left == right,
        BinaryOperator::NotEqual => |left, right| left != right,
        BinaryOperator::Less => |left, right| left < right,
        BinaryOperator::LessEqual => |left, right| left <= right,
        BinaryOperator::Greater => |left, right| left > right,
        BinaryOperator::GreaterEqual => |left, right| left >= right,
        _ => return None,
    })
}
