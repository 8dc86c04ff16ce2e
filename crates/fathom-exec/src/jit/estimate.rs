//! What is known of an expression before it is computed? The interval it lies in, and whether computing it may fault.

use fathom_model::expression::{Expression, ExpressionKind, Overflow};
use fathom_model::program::VariableId;

use super::emitter::Emitter;
use super::interval::{self, Estimate, Interval};

impl Emitter<'_, '_> {
    /// What is known of an expression before it is computed. Compiles nothing.
    pub(super) fn estimate(&mut self, expression: &Expression) -> Estimate {
        let overflow = self.program.overflow;
        if let Some((variable, element)) = self.place_of(expression) {
            return self.defined_estimate(variable, self.place_interval(variable, element), false);
        }
        match &expression.kind {
            ExpressionKind::Constant(value) => {
                Estimate { interval: Interval::exactly(*value), faults: false }
            }
            ExpressionKind::Read(variable) => {
                self.defined_estimate(*variable, self.temporary_interval(*variable), false)
            }
            ExpressionKind::Element(variable, index) => {
                let faults = self.estimate_index(*variable, index);
                let interval = if self.is_temporary(*variable) {
                    self.temporary_interval(*variable)
                } else {
                    Interval::of(self.field(*variable).domain)
                };
                self.defined_estimate(*variable, interval, faults)
            }
            ExpressionKind::IsUndefined(place) => {
                let faults = place.index.as_ref().is_some_and(|it| self.estimate_index(place.variable, it));
                Estimate { interval: Interval::TRUTH, faults }
            }
            ExpressionKind::Unary(operator, operand) => {
                let operand = self.estimate(operand);
                let result = interval::unary(overflow, *operator, operand.interval);
                Estimate { faults: operand.faults || result.faults, ..result }
            }
            ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (self.estimate(left), self.estimate(right));
                let result = interval::binary(overflow, *operator, left.interval, right.interval);
                Estimate { faults: left.faults || right.faults || result.faults, ..result }
            }
            ExpressionKind::All(operands) => self.estimate_logical(operands, true),
            ExpressionKind::Any(operands) => self.estimate_logical(operands, false),
            ExpressionKind::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let condition = self.estimate(condition);
                let (then, otherwise) = (self.estimate(then), self.estimate(otherwise));
                let faults = condition.faults || then.faults || otherwise.faults;
                Estimate { interval: then.interval.union(otherwise.interval), faults }
            }
            ExpressionKind::Convert(domain, operand) => {
                let operand = self.estimate(operand);
                let result = interval::convert(overflow, *domain, operand.interval);
                Estimate { faults: operand.faults || result.faults, ..result }
            }
            ExpressionKind::Checked(domain, _, operand) => {
                let operand = self.estimate(operand);
                let result = interval::convert(Overflow::Fault, *domain, operand.interval);
                Estimate { faults: operand.faults || result.faults, ..result }
            }
            // Its statements may do anything; what it is worth does not depend on how they came to it.
            ExpressionKind::Compute(computation) => {
                let Estimate { interval, .. } = self.estimate_unbound(&computation.value);
                Estimate { interval, faults: true }
            }
        }
    }

    /// An expression over temporaries that are not introduced yet: what they are bound to now, if anything, says nothing.
    fn estimate_unbound(&mut self, expression: &Expression) -> Estimate {
        let bindings = std::mem::take(&mut self.bindings);
        let estimate = self.estimate(expression);
        self.bindings = bindings;
        estimate
    }

    /// Whether an index may fault.
    fn estimate_index(&mut self, variable: VariableId, index: &Expression) -> bool {
        let index = self.estimate(index);
        let inside = Interval { low: 0, high: i64::from(self.program.variable(variable).elements()) - 1 };
        index.faults || !index.interval.within(inside)
    }

    /// A place that was read: its values, without the one for being undefined, which faults.
    fn defined_estimate(&self, variable: VariableId, interval: Interval, faults: bool) -> Estimate {
        let variable = self.program.variable(variable);
        match variable.undefined() {
            Some(undefined) if interval.contains(undefined) => {
                let domain = Interval::of(variable.domain);
                Estimate { interval: interval.meet(domain).unwrap_or(domain), faults: true }
            }
            _ => Estimate { interval, faults },
        }
    }

    /// A conjunction, or a disjunction, ends at the first operand that decides it; what comes later knows what the earlier ones were.
    fn estimate_logical(&mut self, operands: &[Expression], all: bool) -> Estimate {
        let facts = self.fact_count();
        let mut faults = false;
        let mut undecided = false;
        for operand in operands {
            let estimate = self.estimate(operand);
            faults |= estimate.faults;
            match estimate.interval.truth() {
                Some(truth) if truth == all => {}
                Some(truth) => {
                    self.forget_to(facts);
                    let interval = Interval::exactly(i64::from(truth));
                    return Estimate { interval, faults };
                }
                None => undecided = true,
            }
            self.learn(operand, all);
        }
        self.forget_to(facts);
        let interval = if undecided { Interval::TRUTH } else { Interval::exactly(i64::from(all)) };
        Estimate { interval, faults }
    }

    fn place_interval(&self, variable: VariableId, element: u32) -> Interval {
        match self.view.written(variable, element) {
            Some(operand) => operand.interval,
            None if self.view.touches(variable) => Interval::of(self.field(variable).domain),
            None => self.source_interval(variable, element),
        }
    }
}
