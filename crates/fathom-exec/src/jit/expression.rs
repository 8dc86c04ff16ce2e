//! How is the value of an expression computed, and when does computing it fault?
//!
//! As the interpreter does it: operands from left to right, ending at the first fault. Checks that the intervals of the operands rule out are not
//! compiled. A division never reaches the machine's own trap: zero and the one overflow are tested on the very operands that it is given.

use cranelift_codegen::ir::condcodes::{CondCode, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, Overflow, UnaryOperator,
};
use fathom_model::program::{Place, VariableId};
use fathom_model::span::Span;

use super::emitter::Emitter;
use super::interval::{self, Estimate, Interval};
use super::operand::{Form, Operand};

/// How many nodes an expression may have to be computed without need, for the sake of having no branch.
const CHEAP_NODES_MAX: usize = 12;

impl Emitter<'_, '_> {
    /// Computes an expression.
    pub(super) fn value(&mut self, expression: &Expression) -> Operand {
        let span = expression.span;
        if let Some((variable, element)) = self.place_of(expression) {
            let operand = self.read_place(variable, element);
            return self.defined(variable, operand, span);
        }
        match &expression.kind {
            ExpressionKind::Constant(value) => Operand::constant(*value),
            ExpressionKind::Read(variable) => {
                let operand = self.raw_element(*variable, Operand::constant(0), true);
                self.defined(*variable, operand, span)
            }
            ExpressionKind::Element(variable, index) => {
                let index = self.value(index);
                self.element(*variable, index, span)
            }
            ExpressionKind::Unary(operator, operand) => {
                let operand = self.value(operand);
                self.unary(*operator, operand, span)
            }
            ExpressionKind::Binary(operator, left, right) => {
                let left = self.value(left);
                let right = self.value(right);
                self.binary(*operator, left, right, span)
            }
            ExpressionKind::All(operands) => self.logical(expression, operands, true),
            ExpressionKind::Any(operands) => self.logical(expression, operands, false),
            ExpressionKind::Conditional(operands) => self.conditional(operands),
            ExpressionKind::Convert(domain, operand) => {
                let operand = self.value(operand);
                self.convert(*domain, operand, span)
            }
            ExpressionKind::Checked(domain, kind, operand) => {
                let operand = self.value(operand);
                self.checked(*domain, *kind, operand, span)
            }
            ExpressionKind::IsUndefined(place) => self.is_undefined(place),
            ExpressionKind::Compute(computation) => self.compute(computation),
        }
    }

    /// A value that must be in a domain.
    fn checked(&mut self, domain: Domain, kind: FaultKind, operand: Operand, span: Span) -> Operand {
        let Estimate { interval, faults } = interval::convert(Overflow::Fault, domain, operand.interval);
        if !faults {
            return operand;
        }
        let value = self.wide(operand);
        let good = self.is_inside(value, operand.interval, Interval::of(domain));
        self.fault_unless(good, kind, span);
        Operand { form: Form::Wide(value), interval }
    }

    /// An element at an index, which faults if there is none.
    fn element(&mut self, variable: VariableId, index: Operand, span: Span) -> Operand {
        let (index, checked) = self.index(variable, index, span);
        let operand = self.raw_element(variable, index, checked);
        self.defined(variable, operand, span)
    }

    /// An element as it is, defined or not, at an index that was checked or cannot be wrong.
    pub(super) fn raw_element(&mut self, variable: VariableId, index: Operand, checked: bool) -> Operand {
        match index.form {
            _ if self.is_temporary(variable) => self.read_temporary(variable, index, checked),
            Form::Constant(index) => self.read_place(variable, index as u32),
            _ => {
                let index = self.wide(index);
                self.read_element(variable, index, checked)
            }
        }
    }

    /// A value that was read from a variable, which faults if it is undefined.
    fn defined(&mut self, variable: VariableId, operand: Operand, span: Span) -> Operand {
        self.defined_by(self.program.variable(variable).undefined(), operand, span)
    }

    /// A value that faults if it is the one that stands for being undefined.
    pub(super) fn defined_by(&mut self, undefined: Option<i64>, operand: Operand, span: Span) -> Operand {
        let Some(undefined) = undefined.filter(|it| operand.interval.contains(*it)) else { return operand };
        let value = self.wide(operand);
        let good = self.builder.ins().icmp_imm_s(IntCC::NotEqual, value, undefined);
        self.fault_unless(good, FaultKind::Undefined, span);
        // It is the least value there is. If it is the only one, what follows is never reached.
        let low = operand.interval.low.max(undefined + 1);
        let interval = Interval { low, high: operand.interval.high.max(low) };
        Operand { form: Form::Wide(value), interval }
    }

    fn is_undefined(&mut self, place: &Place) -> Operand {
        let (index, checked) = match &place.index {
            None => (Operand::constant(0), true),
            Some(index) => {
                let index = self.value(index);
                self.index(place.variable, index, place.span)
            }
        };
        let operand = self.raw_element(place.variable, index, checked);
        let undefined = self.program.variable(place.variable).undefined().expect("verified to be optional");
        match interval::binary(
            Overflow::Fault,
            BinaryOperator::Equal,
            operand.interval,
            Interval::exactly(undefined),
        )
        .interval
        .constant()
        {
            Some(known) => Operand::constant(known),
            None => self.compare(IntCC::Equal, operand, Operand::constant(undefined)),
        }
    }

    /// Checks an index unless it cannot be wrong, and says whether it did. A constant index that is given back lies in the array.
    pub(super) fn index(&mut self, variable: VariableId, index: Operand, span: Span) -> (Operand, bool) {
        self.checked_index(self.program.variable(variable).elements(), index, span)
    }

    /// Checks an index against a number of elements, as [`Emitter::index`] does.
    pub(super) fn checked_index(&mut self, elements: u32, index: Operand, span: Span) -> (Operand, bool) {
        let elements = i64::from(elements);
        let inside = Interval { low: 0, high: elements - 1 };
        if index.interval.within(inside) {
            return (index, false);
        }
        let wide = self.wide(index);
        let good = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, wide, elements);
        self.fault_unless(good, FaultKind::Index, span);
        match index.interval.meet(inside) {
            Some(interval) => (Operand { interval, ..index }, true),
            // It is never right: what follows is never reached, and any element does.
            None => (Operand::constant(0), true),
        }
    }

    /// Brings a value into a domain.
    pub(super) fn convert(&mut self, domain: Domain, operand: Operand, span: Span) -> Operand {
        let Estimate { interval, faults } =
            interval::convert(self.program.overflow, domain, operand.interval);
        if interval == operand.interval && !faults {
            return operand;
        }
        if let Form::Constant(value) = operand.form
            && !faults
        {
            return Operand::constant(domain.wrap(value));
        }
        let value = self.wide(operand);
        match self.program.overflow {
            Overflow::Fault => self.checked(domain, FaultKind::Range, operand, span),
            Overflow::Wrap => {
                let wrapped = self.wrapped(value, operand.interval, domain);
                Operand::wide(wrapped, interval)
            }
        }
    }

    /// Whether a value of one interval lies in another, in one comparison where one will do.
    fn is_inside(&mut self, value: Value, from: Interval, into: Interval) -> Value {
        if from.low >= into.low {
            return self.builder.ins().icmp_imm_s(IntCC::SignedLessThanOrEqual, value, into.high);
        }
        if from.high <= into.high {
            return self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, value, into.low);
        }
        let offset = self.builder.ins().iadd_imm_s(value, into.low.wrapping_neg());
        let span = into.high.wrapping_sub(into.low);
        self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThanOrEqual, offset, span)
    }

    /// The value of the domain that is congruent modulo its size.
    fn wrapped(&mut self, value: Value, from: Interval, domain: Domain) -> Value {
        let size = domain.span().wrapping_add(1);
        if domain.span() == u64::MAX {
            return value;
        }
        let fits = i128::from(from.low) - i128::from(domain.low) >= i128::from(i64::MIN)
            && i128::from(from.high) - i128::from(domain.low) <= i128::from(i64::MAX)
            && i64::try_from(size).is_ok();
        if size.is_power_of_two() {
            let offset = self.builder.ins().iadd_imm_s(value, domain.low.wrapping_neg());
            let code = self.builder.ins().band_imm_s(offset, domain.span() as i64);
            return self.builder.ins().iadd_imm_s(code, domain.low);
        }
        if !fits {
            let (low, high) = (self.integer(domain.low), self.integer(domain.high));
            let call = self.builder.ins().call(self.wrap, &[value, low, high]);
            return self.builder.inst_results(call)[0];
        }
        let offset = self.builder.ins().iadd_imm_s(value, domain.low.wrapping_neg());
        let rest = self.builder.ins().srem_imm_s(offset, size as i64);
        let raised = self.builder.ins().iadd_imm_s(rest, size as i64);
        let negative = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, rest, 0);
        let code = self.builder.ins().select(negative, raised, rest);
        self.builder.ins().iadd_imm_s(code, domain.low)
    }

    fn unary(&mut self, operator: UnaryOperator, operand: Operand, span: Span) -> Operand {
        let Estimate { interval, faults } =
            interval::unary(self.program.overflow, operator, operand.interval);
        match operator {
            UnaryOperator::Negate => {
                let value = self.wide(operand);
                if faults {
                    let good = self.builder.ins().icmp_imm_s(IntCC::NotEqual, value, i64::MIN);
                    self.fault_unless(good, FaultKind::Overflow, span);
                }
                Operand::wide(self.builder.ins().ineg(value), interval)
            }
            UnaryOperator::Complement => {
                let value = self.wide(operand);
                Operand::wide(self.builder.ins().bnot(value), interval)
            }
            UnaryOperator::Not => match (interval.constant(), operand.form) {
                (Some(constant), _) => Operand::constant(constant),
                (None, Form::Truth(value)) => Operand::truth(self.builder.ins().bxor_imm_s(value, 1)),
                _ => {
                    let value = self.wide(operand);
                    Operand::truth(self.builder.ins().icmp_imm_s(IntCC::Equal, value, 0))
                }
            },
        }
    }

    fn binary(&mut self, operator: BinaryOperator, left: Operand, right: Operand, span: Span) -> Operand {
        let overflow = self.program.overflow;
        let Estimate { interval, faults } =
            interval::binary(overflow, operator, left.interval, right.interval);
        if let (Some(constant), false) = (interval.constant(), faults) {
            return Operand::constant(constant);
        }
        if let Some(condition) = condition_code(operator) {
            return self.compare(condition, left, right);
        }
        let (a, b) = (self.wide(left), self.wide(right));
        let value = match operator {
            BinaryOperator::Add | BinaryOperator::Subtract | BinaryOperator::Multiply => {
                self.arithmetic(operator, a, b, faults, span)
            }
            BinaryOperator::Divide | BinaryOperator::Remainder => self.divide(operator, left, right, span),
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => self.shift(operator, left, right, span),
            BinaryOperator::BitAnd => self.builder.ins().band(a, b),
            BinaryOperator::BitOr => self.builder.ins().bor(a, b),
            _ => self.builder.ins().bxor(a, b),
        };
        Operand::wide(value, interval)
    }

    fn compare(&mut self, condition: IntCC, left: Operand, right: Operand) -> Operand {
        let compared = match (left.form, right.form) {
            (_, Form::Constant(constant)) => {
                let value = self.wide(left);
                self.builder.ins().icmp_imm_s(condition, value, constant)
            }
            (Form::Constant(constant), _) => {
                let value = self.wide(right);
                self.builder.ins().icmp_imm_s(condition.swap_args(), value, constant)
            }
            _ => {
                let (left, right) = (self.wide(left), self.wide(right));
                self.builder.ins().icmp(condition, left, right)
            }
        };
        Operand::truth(compared)
    }

    fn arithmetic(
        &mut self,
        operator: BinaryOperator,
        a: Value,
        b: Value,
        faults: bool,
        span: Span,
    ) -> Value {
        let value = match operator {
            BinaryOperator::Add => self.builder.ins().iadd(a, b),
            BinaryOperator::Subtract => self.builder.ins().isub(a, b),
            _ => self.builder.ins().imul(a, b),
        };
        if !faults {
            return value;
        }
        let good = if operator == BinaryOperator::Multiply {
            let high = self.builder.ins().smulhi(a, b);
            let sign = self.builder.ins().sshr_imm_u(value, 63);
            self.builder.ins().icmp(IntCC::Equal, high, sign)
        } else {
            // A sum overflows if it differs in sign from both operands; a difference if the operands differ and it differs from the first.
            let first = self.builder.ins().bxor(a, value);
            let second = if operator == BinaryOperator::Add {
                self.builder.ins().bxor(b, value)
            } else {
                self.builder.ins().bxor(a, b)
            };
            let both = self.builder.ins().band(first, second);
            self.builder.ins().icmp_imm_s(IntCC::SignedGreaterThanOrEqual, both, 0)
        };
        self.fault_unless(good, FaultKind::Overflow, span);
        value
    }

    fn divide(&mut self, operator: BinaryOperator, left: Operand, right: Operand, span: Span) -> Value {
        // The least value of 32 bits has no counterpart there, so it is divided in 64.
        let least = left.interval.low == i64::from(i32::MIN);
        let narrow = left.interval.is_narrow() && right.interval.is_narrow() && !least;
        let (mut a, mut b) = (self.wide(left), self.wide(right));
        if narrow {
            a = self.builder.ins().ireduce(types::I32, a);
            b = self.builder.ins().ireduce(types::I32, b);
        }
        if !matches!(right.form, Form::Constant(constant) if constant != 0) {
            let good = self.builder.ins().icmp_imm_s(IntCC::NotEqual, b, 0);
            self.fault_unless(good, FaultKind::Division, span);
        }
        let value = if left.interval.low >= 0 && right.interval.low >= 0 {
            match operator {
                BinaryOperator::Divide => self.builder.ins().udiv(a, b),
                _ => self.builder.ins().urem(a, b),
            }
        } else {
            self.divide_signed(operator, a, b, right, span)
        };
        match narrow {
            true => self.builder.ins().sextend(types::I64, value),
            false => value,
        }
    }

    /// Division of operands that may be negative: -1 is taken aside, because the least value has no counterpart.
    fn divide_signed(
        &mut self,
        operator: BinaryOperator,
        a: Value,
        b: Value,
        right: Operand,
        span: Span,
    ) -> Value {
        let kind = self.builder.func.dfg.value_type(a);
        let constant = matches!(right.form, Form::Constant(constant) if constant != -1);
        let mut divisor = b;
        let minus_one = self.builder.ins().icmp_imm_s(IntCC::Equal, b, -1);
        if !constant {
            let one = self.builder.ins().iconst(kind, 1);
            divisor = self.builder.ins().select(minus_one, one, b);
        }
        if operator == BinaryOperator::Remainder {
            // Modulo -1 is 0, and so is modulo 1.
            return self.builder.ins().srem(a, divisor);
        }
        let quotient = self.builder.ins().sdiv(a, divisor);
        if constant {
            return quotient;
        }
        if kind == types::I64 && self.program.overflow == Overflow::Fault {
            let least = self.builder.ins().icmp_imm_s(IntCC::Equal, a, i64::MIN);
            let both = self.builder.ins().band(least, minus_one);
            let good = self.builder.ins().bxor_imm_s(both, 1);
            self.fault_unless(good, FaultKind::Overflow, span);
        }
        let negated = self.builder.ins().ineg(a);
        self.builder.ins().select(minus_one, negated, quotient)
    }

    fn shift(&mut self, operator: BinaryOperator, left: Operand, right: Operand, span: Span) -> Value {
        let (a, b) = (self.wide(left), self.wide(right));
        if !right.interval.within(Interval { low: 0, high: 63 }) {
            let good = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, b, 64);
            self.fault_unless(good, FaultKind::Shift, span);
        }
        if operator == BinaryOperator::ShiftRight {
            return self.builder.ins().sshr(a, b);
        }
        let value = self.builder.ins().ishl(a, b);
        let amount = right.interval.meet(Interval { low: 0, high: 63 }).unwrap_or(Interval::exactly(0));
        let exact = interval::binary(self.program.overflow, operator, left.interval, amount);
        if exact.faults {
            let back = self.builder.ins().sshr(value, b);
            let good = self.builder.ins().icmp(IntCC::Equal, back, a);
            self.fault_unless(good, FaultKind::Overflow, span);
        }
        value
    }

    /// `All` (or `Any`) as a value.
    fn logical(&mut self, expression: &Expression, operands: &[Expression], all: bool) -> Operand {
        let Estimate { interval, faults } = self.estimate(expression);
        if let (Some(constant), false) = (interval.constant(), faults) {
            return Operand::constant(constant);
        }
        // Without branches every operand is computed, so none may rely on an earlier one to keep it from faulting.
        let alone = |emitter: &mut Self, operand: &Expression| !emitter.estimate(operand).faults;
        if node_count(expression) <= CHEAP_NODES_MAX && operands.iter().all(|operand| alone(self, operand)) {
            let mut sum: Option<Value> = None;
            for operand in operands {
                let operand = self.value(operand);
                let truth = self.truth(operand);
                sum = Some(match sum {
                    None => truth,
                    Some(sum) if all => self.builder.ins().band(sum, truth),
                    Some(sum) => self.builder.ins().bor(sum, truth),
                });
            }
            return sum.map_or(Operand::constant(i64::from(all)), Operand::truth);
        }
        let (yes, no, join) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let result = self.builder.append_block_param(join, types::I8);
        self.branch(expression, yes, no);
        for (block, truth) in [(yes, 1), (no, 0)] {
            self.enter(block);
            let truth = self.builder.ins().iconst(types::I8, truth);
            self.builder.ins().jump(join, &[truth.into()]);
        }
        self.enter(join);
        Operand::truth(result)
    }

    fn conditional(&mut self, operands: &[Expression; 3]) -> Operand {
        let [condition, then, otherwise] = operands;
        let cheap = |emitter: &mut Self, expression: &Expression| {
            !emitter.estimate(expression).faults && node_count(expression) <= CHEAP_NODES_MAX
        };
        if cheap(self, then) && cheap(self, otherwise) {
            let condition = self.value(condition);
            match condition.interval.truth() {
                Some(true) => return self.value(then),
                Some(false) => return self.value(otherwise),
                None => {}
            }
            let condition = self.truth(condition);
            let (then, otherwise) = (self.value(then), self.value(otherwise));
            let interval = then.interval.union(otherwise.interval);
            let (then, otherwise) = (self.wide(then), self.wide(otherwise));
            let chosen = self.builder.ins().select(condition, then, otherwise);
            return Operand::wide(chosen, interval);
        }
        let (yes, no, join) =
            (self.builder.create_block(), self.builder.create_block(), self.builder.create_block());
        let result = self.builder.append_block_param(join, types::I64);
        let facts = self.fact_count();
        self.branch(condition, yes, no);
        let mut interval: Option<Interval> = None;
        for (block, truth, expression) in [(yes, true, then), (no, false, otherwise)] {
            self.enter(block);
            self.learn(condition, truth);
            let value = self.value(expression);
            self.forget_to(facts);
            interval = Some(interval.map_or(value.interval, |other| other.union(value.interval)));
            let value = self.wide(value);
            self.builder.ins().jump(join, &[value.into()]);
        }
        self.enter(join);
        Operand::wide(result, interval.expect("two branches"))
    }
}

/// How many nodes an expression has.
pub(super) fn node_count(expression: &Expression) -> usize {
    let mut nodes = 1;
    expression.for_each_operand(&mut |operand| nodes += node_count(operand));
    nodes
}

fn condition_code(operator: BinaryOperator) -> Option<IntCC> {
    Some(match operator {
        BinaryOperator::Equal => IntCC::Equal,
        BinaryOperator::NotEqual => IntCC::NotEqual,
        BinaryOperator::Less => IntCC::SignedLessThan,
        BinaryOperator::LessEqual => IntCC::SignedLessThanOrEqual,
        BinaryOperator::Greater => IntCC::SignedGreaterThan,
        BinaryOperator::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        _ => return None,
    })
}
