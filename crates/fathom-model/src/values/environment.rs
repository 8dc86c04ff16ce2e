//! What may an expression be worth where each variable has a set of values, and which of them make a condition true?
//!
//! The elements of short arrays have a set each, those of long ones share one. Being undefined is a number like any other here, until it
//! is read.

use std::cell::Cell;
use std::rc::Rc;

use crate::expression::{BinaryOperator, Computation, Expression, ExpressionKind, Overflow, UnaryOperator};
use crate::program::{Program, VariableId};

use super::pages::Pages;
use super::set::ValueSet;

/// Where the sets of each variable are.
#[derive(Debug)]
pub(super) struct Slots {
    /// By variable: its first set and how many it has.
    of: Vec<(usize, usize)>,
    total: usize,
    /// How much work is left: statements, operands, and sets that are copied, some at a time.
    work: Cell<u64>,
}

/// A set of values for every element (or for all elements of a long array). Sets are shared until they change.
#[derive(Clone, Debug)]
pub(super) struct Environment<'a> {
    pub(super) program: &'a Program,
    slots: &'a Slots,
    pub(super) sets: Pages,
    /// Whether counting loops are followed round by round.
    pub(super) unrolls: bool,
}

/// Conditions whose alternatives are looked at one by one, at most.
const ALTERNATIVES_MAX: usize = 16;
/// How much work is done before the declared values are taken for the possible ones. Larger than any real model needs, and a few seconds.
const WORK_MAX: u64 = 20_000_000;
/// Arrays of more elements have one set for all.
const APART_MAX: u32 = 64;

impl Slots {
    pub(super) fn new(program: &Program) -> Slots {
        let mut slots =
            Slots { of: Vec::with_capacity(program.variables.len()), total: 0, work: Cell::new(WORK_MAX) };
        for variable in &program.variables {
            let count = if variable.elements() <= APART_MAX { variable.elements() as usize } else { 1 };
            slots.of.push((slots.total, count));
            slots.total += count;
        }
        slots
    }

    /// Where the sets of a variable are.
    pub(super) fn of(&self, variable: VariableId) -> std::ops::Range<usize> {
        let (first, count) = self.of[variable.index()];
        first..first + count
    }

    /// Takes from the work that is left; says whether there was enough. Without, nothing that was found counts.
    pub(super) fn spend(&self, work: usize) -> bool {
        self.work.set(self.work.get().saturating_sub(work as u64));
        !self.is_exhausted()
    }

    /// Whether no work is left.
    pub(super) fn is_exhausted(&self) -> bool {
        self.work.get() == 0
    }
}

/// The sets of all elements where every variable has one.
pub(super) fn spread(slots: &Slots, sets: &[Rc<ValueSet>]) -> Pages {
    let mut all = Vec::with_capacity(slots.total);
    for (set, (_, count)) in sets.iter().zip(&slots.of) {
        all.extend((0..*count).map(|_| Rc::clone(set)));
    }
    Pages::new(&all)
}

impl<'a> Environment<'a> {
    /// Every element with a set.
    pub(super) fn new(program: &'a Program, slots: &'a Slots, sets: &Pages) -> Environment<'a> {
        slots.spend(sets.page_count());
        Environment { program, slots, sets: sets.clone(), unrolls: false }
    }

    /// Takes from the work that is left, for a copy of all sets.
    pub(super) fn spend_copy(&self) -> bool {
        self.slots.spend(1 + self.sets.page_count() / 4)
    }

    /// Takes from the work that is left.
    pub(super) fn spend(&self, work: usize) -> bool {
        self.slots.spend(work)
    }

    /// Takes from the work that is left, for one small step.
    pub(super) fn spend_step(&self) -> bool {
        self.slots.spend(1)
    }

    /// Every variable with its initial values.
    pub(super) fn initial(program: &'a Program, slots: &'a Slots) -> Environment<'a> {
        let nothing = nothings(program.variables.len());
        let mut environment = Environment::new(program, slots, &spread(slots, &nothing));
        (0..program.variables.len() as u32).for_each(|it| environment.introduce(VariableId(it)));
        environment
    }

    /// A variable has its initial values.
    pub(super) fn introduce(&mut self, variable: VariableId) {
        let initial = &self.program.variable(variable).initial;
        let (first, count) = self.slots.of[variable.index()];
        if count == initial.len() {
            for (slot, value) in (first..).zip(initial) {
                self.sets.put(slot, Rc::new(ValueSet::one(*value)));
            }
        } else {
            self.sets.put(first, Rc::new(ValueSet::of(initial.iter().copied())));
        }
    }

    /// What the elements of a variable may be, together.
    pub(super) fn get(&self, variable: VariableId) -> ValueSet {
        self.slots_of(variable).fold(ValueSet::NONE, |mut all, slot| {
            all.join(self.sets.at(slot));
            all
        })
    }

    /// All elements of a variable may be these.
    pub(super) fn set(&mut self, variable: VariableId, values: &Rc<ValueSet>) {
        self.slots_of(variable).for_each(|slot| self.sets.put(slot, Rc::clone(values)));
    }

    /// The sets of so many elements from one of these indices on, one for each if it is known which they are, else one for all.
    pub(super) fn elements(&self, variable: VariableId, indices: &ValueSet, count: u32) -> Vec<Rc<ValueSet>> {
        let (first, slots) = self.slots.of[variable.index()];
        if slots == 1 {
            return vec![Rc::clone(self.sets.at(first))];
        }
        if let Some((index, last)) = indices.bounds()
            && index == last
        {
            let first = first + index as usize;
            return (first..first + count as usize).map(|slot| Rc::clone(self.sets.at(slot))).collect();
        }
        let mut all = ValueSet::NONE;
        for (element, slot) in (0..).zip(first..first + slots) {
            if reaches(indices, count, element) {
                all.join(self.sets.at(slot));
            }
        }
        vec![Rc::new(all)]
    }

    /// So many elements from one of these indices on get one of the values: one set for each, or one for all.
    pub(super) fn store(
        &mut self,
        variable: VariableId,
        indices: &ValueSet,
        count: u32,
        values: &[Rc<ValueSet>],
    ) {
        let (first, slots) = self.slots.of[variable.index()];
        let all = count == self.program.variable(variable).elements();
        let exact = indices.bounds().is_some_and(|(low, high)| low == high);
        let value = |offset: usize| if values.len() == 1 { &values[0] } else { &values[offset] };
        if exact && slots > 1 {
            let start = indices.bounds().map_or(0, |(low, _)| low as usize);
            for offset in 0..count as usize {
                self.sets.put(first + start + offset, Rc::clone(value(offset)));
            }
            return;
        }
        if all && exact && values.len() == 1 {
            self.sets.put(first, Rc::clone(&values[0]));
            return;
        }
        for (element, slot) in (0..).zip(first..first + slots) {
            if slots == 1 || reaches(indices, count, element) {
                for values in values {
                    self.sets.join_at(slot, values);
                }
            }
        }
    }

    /// Where the sets of a variable are.
    pub(super) fn slots_of(&self, variable: VariableId) -> std::ops::Range<usize> {
        self.slots.of(variable)
    }

    /// Joins sets of the same variables; true if there was something new.
    pub(super) fn join(&mut self, other: &Pages) -> bool {
        self.sets.join(other)
    }

    pub(super) fn overflow(&self) -> Overflow {
        self.program.overflow
    }

    /// What an expression may be worth; nothing if it can only fault.
    pub(super) fn evaluate(&mut self, expression: &Expression) -> ValueSet {
        self.spend_step();
        match &expression.kind {
            ExpressionKind::Constant(value) => ValueSet::one(*value),
            ExpressionKind::Read(variable) => {
                let (first, _) = self.slots.of[variable.index()];
                self.defined(*variable, self.sets.at(first))
            }
            ExpressionKind::Element(variable, index) => {
                let indices = self.index(*variable, Some(index), 1);
                let mut values = ValueSet::NONE;
                for set in self.elements_of(*variable, &indices) {
                    values.join(&self.defined(*variable, &set));
                }
                values
            }
            ExpressionKind::IsUndefined(place) => {
                let indices = self.index(place.variable, place.index.as_ref(), 1);
                let undefined = self.program.variable(place.variable).undefined();
                let sets = self.elements_of(place.variable, &indices);
                let is = |set: &Rc<ValueSet>| undefined.is_some_and(|undefined| set.contains(undefined));
                let is_not = |set: &Rc<ValueSet>| !self.defined(place.variable, set).is_none();
                ValueSet::truth(sets.iter().any(is), sets.iter().any(is_not))
            }
            ExpressionKind::Unary(operator, operand) => {
                self.evaluate(operand).unary(self.overflow(), *operator)
            }
            ExpressionKind::Binary(operator, left, right) => {
                let left = self.evaluate(left);
                left.binary(self.overflow(), *operator, &self.evaluate(right))
            }
            ExpressionKind::All(operands) => self.connective(operands, false),
            ExpressionKind::Any(operands) => self.connective(operands, true),
            ExpressionKind::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let condition = self.evaluate(condition);
                let mut result = ValueSet::NONE;
                if condition.may_be_true() {
                    result.join(&self.evaluate(then));
                }
                if condition.may_be_false() {
                    result.join(&self.evaluate(otherwise));
                }
                result
            }
            ExpressionKind::Convert(domain, operand) => {
                self.evaluate(operand).converted(self.overflow(), *domain)
            }
            ExpressionKind::Checked(domain, _, operand) => {
                self.evaluate(operand).within(domain.low, domain.high)
            }
            ExpressionKind::Compute(computation) => self.compute(computation),
        }
    }

    /// Follows the statements on a copy: nothing but temporaries of the computation changes.
    fn compute(&mut self, Computation { locals, body, value }: &Computation) -> ValueSet {
        if !self.spend_copy() {
            return ValueSet::NONE;
        }
        let mut inside = self.clone();
        locals.iter().for_each(|local| inside.introduce(*local));
        if inside.run(body, &mut Vec::new()) { inside.evaluate(value) } else { ValueSet::NONE }
    }

    fn elements_of(&self, variable: VariableId, indices: &ValueSet) -> Vec<Rc<ValueSet>> {
        if indices.is_none() { Vec::new() } else { self.elements(variable, indices, 1) }
    }

    /// The values of a set without the one for being undefined.
    pub(super) fn defined(&self, variable: VariableId, set: &ValueSet) -> ValueSet {
        let variable = self.program.variable(variable);
        if variable.optional { set.within(variable.domain.low, variable.domain.high) } else { set.clone() }
    }

    /// The indices that an expression may name where so many elements follow; a scalar is its own element 0.
    pub(super) fn index(&mut self, variable: VariableId, index: Option<&Expression>, count: u32) -> ValueSet {
        let last = i64::from(self.program.variable(variable).elements()) - i64::from(count);
        match index {
            Some(index) => self.evaluate(index).within(0, last),
            None => ValueSet::one(0),
        }
    }

    /// The outcomes of operands that are evaluated until one is `ending`.
    fn connective(&mut self, operands: &[Expression], ending: bool) -> ValueSet {
        let outcome = |ended, exhausted| {
            if ending { ValueSet::truth(ended, exhausted) } else { ValueSet::truth(exhausted, ended) }
        };
        let mut may_end = false;
        for operand in operands {
            let value = self.evaluate(operand);
            let (may_be_true, may_be_false) = (value.may_be_true(), value.may_be_false());
            let (ends, goes_on) =
                if ending { (may_be_true, may_be_false) } else { (may_be_false, may_be_true) };
            may_end |= ends;
            if !goes_on {
                return outcome(may_end, false);
            }
        }
        outcome(may_end, true)
    }

    /// Leaves out values for which the condition cannot have this truth; false if there is no such state at all.
    pub(super) fn assume(&mut self, condition: &Expression, truth: bool) -> bool {
        match &condition.kind {
            ExpressionKind::Unary(UnaryOperator::Not, operand) => self.assume(operand, !truth),
            ExpressionKind::All(operands) if truth => {
                operands.iter().all(|operand| self.assume(operand, true))
            }
            ExpressionKind::Any(operands) if !truth => {
                operands.iter().all(|operand| self.assume(operand, false))
            }
            ExpressionKind::All(operands) | ExpressionKind::Any(operands) => {
                self.assume_some(operands, truth)
            }
            ExpressionKind::Binary(operator, left, right) if comparison(*operator).is_some() => {
                self.assume_comparison(*operator, left, right, truth)
            }
            ExpressionKind::Read(_) => {
                let value = self.evaluate(condition);
                let value = if truth { value.without(0) } else { value.meet(&ValueSet::one(0)) };
                self.learn(condition, &value);
                !value.is_none()
            }
            ExpressionKind::IsUndefined(place) if place.index.is_none() => {
                let variable = self.program.variable(place.variable);
                let (first, _) = self.slots.of[place.variable.index()];
                let set = if truth {
                    let undefined = variable.undefined().map_or(ValueSet::NONE, ValueSet::one);
                    self.sets.at(first).meet(&undefined)
                } else {
                    self.defined(place.variable, self.sets.at(first))
                };
                let possible = !set.is_none();
                self.sets.put(first, Rc::new(set));
                possible
            }
            _ => {
                let value = self.evaluate(condition);
                if truth { value.may_be_true() } else { value.may_be_false() }
            }
        }
    }

    /// At least one operand has this truth.
    fn assume_some(&mut self, operands: &[Expression], truth: bool) -> bool {
        if operands.len() > ALTERNATIVES_MAX {
            return operands.iter().any(|operand| {
                let value = self.evaluate(operand);
                if truth { value.may_be_true() } else { value.may_be_false() }
            });
        }
        let mut joined: Option<Environment<'_>> = None;
        for operand in operands {
            if !self.spend_copy() {
                return false;
            }
            let mut alternative = self.clone();
            if alternative.assume(operand, truth) {
                match &mut joined {
                    None => joined = Some(alternative),
                    Some(joined) => drop(joined.join(&alternative.sets)),
                }
            }
        }
        joined.map(|joined| self.sets = joined.sets).is_some()
    }

    fn assume_comparison(
        &mut self,
        operator: BinaryOperator,
        left: &Expression,
        right: &Expression,
        truth: bool,
    ) -> bool {
        let operator = if truth { Some(operator) } else { comparison(operator) };
        let operator = operator.expect("only comparisons come here");
        let (left_set, right_set) = (self.evaluate(left), self.evaluate(right));
        let new_left = restricted(&left_set, operator, &right_set);
        let new_right = restricted(&right_set, mirrored(operator), &left_set);
        if new_left.is_none() || new_right.is_none() {
            return false;
        }
        self.learn(left, &new_left);
        self.learn(right, &new_right);
        true
    }

    /// The expression's value is among these: what follows for its variable, if it is one, plus or minus a constant.
    fn learn(&mut self, expression: &Expression, values: &ValueSet) {
        match &expression.kind {
            ExpressionKind::Read(variable) => {
                let (first, _) = self.slots.of[variable.index()];
                let set = self.defined(*variable, self.sets.at(first)).meet(values);
                self.sets.put(first, Rc::new(set));
            }
            ExpressionKind::Checked(_, _, operand) => self.learn(operand, values),
            ExpressionKind::Binary(
                operator @ (BinaryOperator::Add | BinaryOperator::Subtract),
                operand,
                offset,
            ) if self.overflow() == Overflow::Fault => {
                if let ExpressionKind::Constant(_) = offset.kind {
                    let back = match operator {
                        BinaryOperator::Add => BinaryOperator::Subtract,
                        _ => BinaryOperator::Add,
                    };
                    // Saturation at the ends of 64 bits only leaves more values in.
                    let before = values.binary(Overflow::Fault, back, &self.evaluate(offset));
                    if !before.is_none() {
                        self.learn(operand, &before);
                    }
                }
            }
            _ => {}
        }
    }
}

/// So many sets of nothing.
pub(super) fn nothings(count: usize) -> Vec<Rc<ValueSet>> {
    let nothing = Rc::new(ValueSet::NONE);
    (0..count).map(|_| Rc::clone(&nothing)).collect()
}

/// Whether an element is among so many from one of the indices on.
fn reaches(indices: &ValueSet, count: u32, element: i64) -> bool {
    !indices.within(element - i64::from(count) + 1, element).is_none()
}

/// The comparison that is true where this one is false.
fn comparison(operator: BinaryOperator) -> Option<BinaryOperator> {
    match operator {
        BinaryOperator::Equal => Some(BinaryOperator::NotEqual),
        BinaryOperator::NotEqual => Some(BinaryOperator::Equal),
        BinaryOperator::Less => Some(BinaryOperator::GreaterEqual),
        BinaryOperator::LessEqual => Some(BinaryOperator::Greater),
        BinaryOperator::Greater => Some(BinaryOperator::LessEqual),
        BinaryOperator::GreaterEqual => Some(BinaryOperator::Less),
        _ => None,
    }
}

/// The comparison with its operands exchanged.
fn mirrored(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessEqual => BinaryOperator::GreaterEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterEqual => BinaryOperator::LessEqual,
        other => other,
    }
}

/// The members that compare so with some member of the other set.
fn restricted(set: &ValueSet, operator: BinaryOperator, other: &ValueSet) -> ValueSet {
    let Some((low, high)) = other.bounds() else { return ValueSet::NONE };
    match operator {
        BinaryOperator::Equal => set.meet(other),
        BinaryOperator::NotEqual if low == high => set.without(low),
        BinaryOperator::Less => high.checked_sub(1).map_or(ValueSet::NONE, |high| set.within(i64::MIN, high)),
        BinaryOperator::LessEqual => set.within(i64::MIN, high),
        BinaryOperator::Greater => low.checked_add(1).map_or(ValueSet::NONE, |low| set.within(low, i64::MAX)),
        BinaryOperator::GreaterEqual => set.within(low, i64::MAX),
        _ => set.clone(),
    }
}
