//! What do statements compile to that are more than assignments?
//!
//! Where control splits and joins, the record under change is in memory, where the target is going to be: it is copied there before the
//! first statement. Statements inside computations change temporaries only, and have no record.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use fathom_model::expression::{Computation, Expression, ExpressionKind, FaultKind};
use fathom_model::program::{Command, Place, Statement, VariableId};
use fathom_model::span::Span;

use super::emitter::Emitter;
use super::expression::node_count;
use super::interval::Interval;
use super::operand::{Form, Operand};
use super::work::{of_body, of_expression};

/// How much a counting loop may weigh, all rounds together, to be written out.
const UNROLLED_MAX: usize = 120;
/// Up to how many elements are copied or filled without a loop.
const ELEMENTS_MAX: u32 = 16;

/// An element and whether its index was compared with the length of its array.
#[derive(Clone, Copy)]
struct First {
    index: Operand,
    checked: bool,
}

/// Whether a command needs no more than assignments one after the other.
pub(super) fn is_straight(command: &Command) -> bool {
    command.body.iter().all(|statement| {
        let mut computes = false;
        statement.for_each_expression(&mut |expression| computes |= has_computation(expression));
        matches!(statement, Statement::Move { .. } | Statement::Assign(_)) && !computes
    })
}

fn has_computation(expression: &Expression) -> bool {
    let mut found = matches!(expression.kind, ExpressionKind::Compute(_));
    expression.for_each_operand(&mut |operand| found = found || has_computation(operand));
    found
}

/// About how much code statements become.
pub(super) fn weight(body: &[Statement]) -> usize {
    let mut sum = 0;
    Statement::for_each(body, &mut |statement| {
        sum += match statement {
            Statement::Assign(assignments) => 2 * assignments.len(),
            Statement::Copy { count, .. } | Statement::Fill { count, .. } => {
                4 * (*count).min(ELEMENTS_MAX) as usize
            }
            _ => 2,
        };
        statement.for_each_expression(&mut |expression| sum += node_count(expression));
    });
    sum
}

impl Emitter<'_, '_> {
    /// Compiles statements one after the other.
    pub(super) fn statements(&mut self, body: &[Statement]) {
        for statement in body {
            if self.is_full() {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match statement {
            Statement::Move { process, to } => {
                let variable = self.program.process(*process).variable;
                self.write_place(variable, 0, Operand::constant(i64::from(*to)));
            }
            Statement::Assign(assignments) => self.assign(assignments),
            Statement::Copy { to, from, count, span } => self.copy(to, from, *count, *span),
            Statement::Fill { place, count, value, span } => self.fill(place, *count, value.as_ref(), *span),
            Statement::If { arms, otherwise } => self.choose(arms, otherwise),
            Statement::While { condition, body, bound, span } => self.repeat(condition, body, *bound, *span),
            Statement::For { counter, from, to, step, body } => {
                self.count(*counter, [*from, *to, *step], body);
            }
            Statement::Block { locals, body } => {
                let exit = self.builder.create_block();
                self.introduce(locals);
                self.exits.push(exit);
                self.statements(body);
                self.exits.pop();
                self.release(locals);
                self.builder.ins().jump(exit, &[]);
                self.enter(exit);
            }
            Statement::Leave(depth) => {
                let exit = self.exits[self.exits.len() - 1 - *depth as usize];
                self.go_away(exit);
            }
            Statement::Fail { kind, span, .. } => {
                let never = self.builder.ins().iconst(types::I8, 0);
                self.fault_unless(never, *kind, *span);
            }
            Statement::Assume(condition) => {
                let discard = self.discard.expect("verified: only steps are assumed away");
                let facts = self.fact_count();
                let yes = self.builder.create_block();
                self.branch(condition, yes, discard);
                self.enter(yes);
                self.forget_to(facts);
            }
        }
    }

    /// What statements compute. Blocks around the expression cannot be left from inside it.
    pub(super) fn compute(&mut self, Computation { locals, body, value }: &Computation) -> Operand {
        let exits = std::mem::take(&mut self.exits);
        let facts = self.fact_count();
        self.introduce(locals);
        self.statements(body);
        self.forget_to(facts);
        let value = self.value(value);
        self.release(locals);
        self.exits = exits;
        value
    }

    /// Ends the block; what follows is never reached.
    fn go_away(&mut self, to: Block) {
        self.builder.ins().jump(to, &[]);
        let dead = self.builder.create_block();
        self.enter(dead);
    }

    fn choose(&mut self, arms: &[(Expression, Vec<Statement>)], otherwise: &[Statement]) {
        let facts = self.fact_count();
        let join = self.builder.create_block();
        for (condition, body) in arms {
            let (yes, no) = (self.builder.create_block(), self.builder.create_block());
            self.branch(condition, yes, no);
            self.enter(yes);
            let outside = self.fact_count();
            self.learn(condition, true);
            self.statements(body);
            self.forget_to(outside);
            self.builder.ins().jump(join, &[]);
            self.enter(no);
            self.learn(condition, false);
        }
        self.statements(otherwise);
        self.forget_to(facts);
        self.builder.ins().jump(join, &[]);
        self.enter(join);
    }

    fn repeat(&mut self, condition: &Expression, body: &[Statement], bound: u32, span: Span) {
        let rounds = self.register();
        let none = self.integer(0);
        self.builder.def_var(rounds, none);
        let [head, round, exit] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let facts = self.fact_count();
        self.branch(condition, round, exit);
        self.enter(round);
        let before = self.builder.use_var(rounds);
        let good = self.builder.ins().icmp_imm_s(IntCC::NotEqual, before, i64::from(bound));
        self.fault_unless(good, FaultKind::Bound, span);
        let after = self.builder.ins().iadd_imm_s(before, 1);
        self.builder.def_var(rounds, after);
        self.learn(condition, true);
        self.statements(body);
        self.forget_to(facts);
        self.ask(of_body(body).saturating_add(of_expression(condition)).saturating_mul(u64::from(bound)));
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);
        self.release_register(rounds);
        self.enter(exit);
    }

    fn count(&mut self, counter: VariableId, [from, to, step]: [i64; 3], body: &[Statement]) {
        let distance = (i128::from(to) - i128::from(from)) * i128::from(step.signum());
        if distance < 0 {
            return;
        }
        let rounds = distance / i128::from(step).abs();
        let last = (i128::from(from) + rounds * i128::from(step)) as i64;
        if (rounds + 1).saturating_mul(weight(body) as i128) <= UNROLLED_MAX as i128 {
            for round in 0..=rounds {
                self.bind_constant(counter, (i128::from(from) + round * i128::from(step)) as i64);
                self.statements(body);
            }
            return;
        }
        let register = self.bind_register(counter, Interval { low: from.min(last), high: from.max(last) });
        let first = self.integer(from);
        self.builder.def_var(register, first);
        let [head, next, exit] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        self.statements(body);
        let now = self.builder.use_var(register);
        let done = self.builder.ins().icmp_imm_s(IntCC::Equal, now, last);
        self.builder.ins().brif(done, exit, &[], next, &[]);
        self.enter(next);
        let after = self.builder.ins().iadd_imm_s(now, step);
        self.builder.def_var(register, after);
        let rounds = u64::try_from(rounds).unwrap_or(u64::MAX);
        self.ask(of_body(body).saturating_add(1).saturating_mul(rounds));
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);
        self.release(&[counter]);
        self.enter(exit);
    }

    /// Compiles a loop over the offsets of elements.
    fn for_each_element(&mut self, count: u32, compile: impl FnOnce(&mut Self, Value)) {
        let register = self.register();
        let none = self.integer(0);
        self.builder.def_var(register, none);
        let [head, exit] = [(); 2].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let offset = self.builder.use_var(register);
        compile(self, offset);
        let next = self.builder.ins().iadd_imm_s(offset, 1);
        self.builder.def_var(register, next);
        let more = self.builder.ins().icmp_imm_s(IntCC::UnsignedLessThan, next, i64::from(count));
        self.builder.ins().brif(more, head, &[], exit, &[]);
        self.builder.seal_block(head);
        self.release_register(register);
        self.enter(exit);
    }

    /// The first of so many elements, all of which must be there.
    fn first_of(&mut self, place: &Place, count: u32) -> First {
        match &place.index {
            None => First { index: Operand::constant(0), checked: true },
            Some(index) => {
                let index = self.value(index);
                let elements = self.program.variable(place.variable).elements();
                let (index, checked) = self.checked_index(elements - count + 1, index, place.span);
                First { index, checked }
            }
        }
    }

    fn read_at(&mut self, variable: VariableId, first: First, offset: u32) -> Operand {
        let First { index, checked } = self.behind(first, offset);
        self.raw_element(variable, index, checked)
    }

    fn write_at(&mut self, variable: VariableId, first: First, offset: u32, value: Operand) {
        let First { index, checked } = self.behind(first, offset);
        let store = self.store_to(variable, index, checked);
        self.make_store(store, value);
    }

    /// The element so many behind another one.
    fn behind(&mut self, first: First, offset: u32) -> First {
        match first.index.form {
            Form::Constant(index) => First { index: Operand::constant(index + i64::from(offset)), ..first },
            _ if offset == 0 => first,
            _ => {
                let offset = self.integer(i64::from(offset));
                self.moved(first, offset)
            }
        }
    }

    /// The element so many behind another one; one that is there, since all of them are.
    fn moved(&mut self, first: First, offset: Value) -> First {
        let index = self.wide(first.index);
        let index = self.builder.ins().iadd(index, offset);
        First { index: Operand { form: Form::Wide(index), interval: Interval::ALL }, ..first }
    }

    /// What a copy makes of an element as it is.
    fn carried(&mut self, from: VariableId, to: VariableId, value: Operand, span: Span) -> Operand {
        let (source, target) = (self.program.variable(from), self.program.variable(to));
        let Some(there) = source.undefined().filter(|there| value.interval.contains(*there)) else {
            return self.convert(target.domain, value, span);
        };
        let Some(here) = target.undefined() else {
            let value = self.defined_by(Some(there), value, span);
            return self.convert(target.domain, value, span);
        };
        if here == there && value.interval.high <= target.domain.high {
            return value;
        }
        let wide = self.wide(value);
        let [defined, join] = [(); 2].map(|()| self.builder.create_block());
        let result = self.builder.append_block_param(join, types::I64);
        let is_undefined = self.builder.ins().icmp_imm_s(IntCC::Equal, wide, there);
        let here = self.integer(here);
        self.builder.ins().brif(is_undefined, join, &[here.into()], defined, &[]);
        self.enter(defined);
        let interval =
            value.interval.meet(Interval::of(source.domain)).unwrap_or(Interval::of(source.domain));
        let value = self.convert(target.domain, Operand { form: Form::Wide(wide), interval }, span);
        let value = self.wide(value);
        self.builder.ins().jump(join, &[value.into()]);
        self.enter(join);
        Operand::wide(result, Interval::of(target.stored()))
    }

    fn copy(&mut self, to: &Place, from: &Place, count: u32, span: Span) {
        let target = self.first_of(to, count);
        let source = self.first_of(from, count);
        if count <= ELEMENTS_MAX || to.variable == from.variable {
            let values: Vec<Operand> = (0..count)
                .map(|offset| {
                    let value = self.read_at(from.variable, source, offset);
                    self.carried(from.variable, to.variable, value, span)
                })
                .collect();
            for (offset, value) in (0..).zip(values) {
                self.write_at(to.variable, target, offset, value);
            }
            return;
        }
        self.for_each_element(count, |emitter, offset| {
            let place = emitter.moved(source, offset);
            let value = emitter.read_at(from.variable, place, 0);
            let value = emitter.carried(from.variable, to.variable, value, span);
            let place = emitter.moved(target, offset);
            emitter.write_at(to.variable, place, 0, value);
        });
    }

    fn fill(&mut self, place: &Place, count: u32, value: Option<&Expression>, span: Span) {
        let target = self.first_of(place, count);
        let variable = place.variable;
        let declared = self.program.variable(variable);
        let value = match value {
            Some(value) => {
                let value = self.value(value);
                self.convert(declared.domain, value, span)
            }
            None => Operand::constant(declared.undefined().expect("verified to be optional")),
        };
        if count <= ELEMENTS_MAX {
            (0..count).for_each(|offset| self.write_at(variable, target, offset, value));
            return;
        }
        // What is computed once is in a register when the loop begins.
        let value = Operand { form: Form::Wide(self.wide(value)), ..value };
        self.for_each_element(count, |emitter, offset| {
            let place = emitter.moved(target, offset);
            emitter.write_at(variable, place, 0, value);
        });
    }
}
