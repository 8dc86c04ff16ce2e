//! What may an expression be worth where each variable has a set of values, and which of them make a condition true?

use crate::expression::{BinaryOperator, Expression, ExpressionKind, Overflow, UnaryOperator};
use crate::program::{Assignment, Composition, Program, Statement, VariableId};

use super::set::ValueSet;

/// A set of values for every variable; an array has one for all its elements.
#[derive(Clone, Debug)]
pub(super) struct Environment<'a> {
    pub(super) program: &'a Program,
    pub(super) sets: Vec<ValueSet>,
}

/// Conditions whose alternatives are looked at one by one, at most.
const ALTERNATIVES_MAX: usize = 16;

impl Environment<'_> {
    fn overflow(&self) -> Overflow {
        self.program.overflow
    }

    /// What an expression may be worth; nothing if it can only fault.
    pub(super) fn evaluate(&self, expression: &Expression) -> ValueSet {
        match &expression.kind {
            ExpressionKind::Constant(value) => ValueSet::one(*value),
            ExpressionKind::Read(variable) => self.sets[variable.index()].clone(),
            ExpressionKind::Element(variable, index) => {
                if self.index(*variable, index).is_none() {
                    ValueSet::NONE
                } else {
                    self.sets[variable.index()].clone()
                }
            }
            ExpressionKind::Unary(operator, operand) => {
                self.evaluate(operand).unary(self.overflow(), *operator)
            }
            ExpressionKind::Binary(operator, left, right) => {
                self.evaluate(left).binary(self.overflow(), *operator, &self.evaluate(right))
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
            ExpressionKind::IsUndefined(_) | ExpressionKind::Compute(_) => ValueSet::ANY,
        }
    }

    /// The indices an expression may name.
    fn index(&self, variable: VariableId, index: &Expression) -> ValueSet {
        self.evaluate(index).within(0, i64::from(self.program.variable(variable).elements()) - 1)
    }

    /// The outcomes of operands that are evaluated until one is `ending`.
    fn connective(&self, operands: &[Expression], ending: bool) -> ValueSet {
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
            ExpressionKind::Read(variable) => {
                let set = &mut self.sets[variable.index()];
                *set = if truth { set.without(0) } else { set.meet(&ValueSet::one(0)) };
                !set.is_none()
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
        let mut joined: Option<Vec<ValueSet>> = None;
        for operand in operands {
            let mut alternative = self.clone();
            if alternative.assume(operand, truth) {
                match &mut joined {
                    None => joined = Some(alternative.sets),
                    Some(sets) => sets.iter_mut().zip(&alternative.sets).for_each(|(set, other)| {
                        set.join(other);
                    }),
                }
            }
        }
        joined.map(|sets| self.sets = sets).is_some()
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
                let set = &mut self.sets[variable.index()];
                *set = set.meet(values);
            }
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

    /// All sets, as if they had just been stored.
    pub(super) fn everything(&self) -> impl Iterator<Item = Store> {
        let store = |(number, values): (u32, &ValueSet)| Store {
            variable: VariableId(number),
            element: false,
            values: values.clone(),
        };
        (0..).zip(&self.sets).map(store)
    }

    /// Runs the body of an action; false if it can only fault. Notes what it stored, also on the way to a fault.
    pub(super) fn run_action(&mut self, body: &[Statement], stored: &mut Vec<Store>) -> bool {
        match self.program.composition {
            Composition::Asynchronous => self.run_in_order(body, stored),
            Composition::Synchronous => {
                let runs = body.iter().all(|statement| self.prepare(statement, stored));
                self.store(stored);
                runs
            }
        }
    }

    /// Runs statements one after the other; false if they can only fault. Notes what they stored, also on the way to a fault.
    pub(super) fn run_in_order(&mut self, body: &[Statement], stored: &mut Vec<Store>) -> bool {
        body.iter().all(|statement| {
            let before = stored.len();
            let runs = self.prepare(statement, stored);
            self.store(&stored[before..]);
            runs
        })
    }

    /// Adds what a statement stores; false if it can only fault.
    fn prepare(&self, statement: &Statement, stored: &mut Vec<Store>) -> bool {
        let assignments = match statement {
            Statement::Move { process, to } => {
                let variable = self.program.process(*process).variable;
                stored.push(Store { variable, element: false, values: ValueSet::one(i64::from(*to)) });
                return true;
            }
            Statement::Assign(assignments) => assignments,
            _ => unreachable!("only plain programs are analysed"),
        };
        for Assignment { place, value, .. } in assignments {
            let variable = place.variable;
            if place.index.as_ref().is_some_and(|index| self.index(variable, index).is_none()) {
                return false;
            }
            let domain = self.program.variable(variable).domain;
            let values = self.evaluate(value).converted(self.overflow(), domain);
            if values.is_none() {
                return false;
            }
            stored.push(Store { variable, element: place.index.is_some(), values });
        }
        true
    }

    fn store(&mut self, stores: &[Store]) {
        for Store { variable, element, values } in stores {
            let set = &mut self.sets[variable.index()];
            if *element {
                set.join(values);
            } else {
                *set = values.clone();
            }
        }
    }
}

/// Values on their way to a variable.
pub(super) struct Store {
    pub(super) variable: VariableId,
    /// Whether they go to one of its elements, so that the others stay.
    element: bool,
    pub(super) values: ValueSet,
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
