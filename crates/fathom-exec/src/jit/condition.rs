//! Which way does a condition go? Branches in place of truth values.
//!
//! Operands of a conjunction that cannot fault may be tested in any order: those that ask for given bits of a word (`x == 3`, a location) are
//! tested together, one comparison for all bits of a word. Operands that may fault keep their place in the order.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind, UnaryOperator};
use fathom_model::program::VariableId;

use super::emitter::Emitter;
use super::expression::node_count;
use super::interval::{self, Interval};
use super::operand::Form;
use super::words::Bits;

/// How many nodes two tests may have together to be made into one.
const JOINED_NODES_MAX: usize = 10;

/// Something that must be true.
#[derive(Clone, Copy, Debug)]
pub(super) enum Test<'e> {
    /// A scalar of the source has a value.
    Equal(VariableId, i64),
    /// An expression is not zero.
    True(&'e Expression),
}

/// The bits under the mask are as wanted, in a word of the source.
#[derive(Clone, Copy, Debug)]
struct MaskTest {
    word: usize,
    mask: u64,
    wanted: u64,
}

impl Emitter<'_, '_> {
    /// Ends the block: goes to `yes` if the expression is not zero, else to `no`.
    pub(super) fn branch(&mut self, expression: &Expression, yes: Block, no: Block) {
        let facts = self.fact_count();
        match &expression.kind {
            ExpressionKind::Unary(UnaryOperator::Not, operand) => self.branch(operand, no, yes),
            ExpressionKind::All(_) => {
                let mut tests = Vec::new();
                flatten(expression, &mut tests);
                self.require(&tests, no);
                self.builder.ins().jump(yes, &[]);
            }
            ExpressionKind::Any(operands) => {
                for operand in operands {
                    let next = self.builder.create_block();
                    self.branch(operand, yes, next);
                    self.enter(next);
                    self.learn(operand, false);
                }
                self.builder.ins().jump(no, &[]);
            }
            _ => {
                let operand = self.value(expression);
                match operand.interval.truth() {
                    Some(true) => self.builder.ins().jump(yes, &[]),
                    Some(false) => self.builder.ins().jump(no, &[]),
                    None => {
                        let condition = match operand.form {
                            Form::Wide(value) | Form::Truth(value) => value,
                            Form::Constant(_) => unreachable!("a constant is true or false"),
                        };
                        self.builder.ins().brif(condition, yes, &[], no, &[])
                    }
                };
            }
        }
        self.forget_to(facts);
    }

    /// Goes on in a block where all tests hold, with what that tells of the source; goes to `no` if one does not.
    pub(super) fn require(&mut self, tests: &[Test<'_>], no: Block) {
        let mut rest = tests;
        while !rest.is_empty() {
            let free = self.free_run(rest);
            if free == 0 {
                let Test::True(expression) = rest[0] else { unreachable!("only an expression faults") };
                self.require_one(expression, no);
                rest = &rest[1..];
            } else {
                self.require_in_any_order(&rest[..free], no);
                rest = &rest[free..];
            }
        }
    }

    /// How many of the first tests cannot fault.
    pub(super) fn free_run(&mut self, tests: &[Test<'_>]) -> usize {
        let facts = self.fact_count();
        let cannot_fault = |test: &Test<'_>, emitter: &mut Self| match test {
            Test::Equal(variable, value) => {
                emitter.assume(*variable, 0, Interval::exactly(*value));
                true
            }
            Test::True(expression) => {
                let free = !emitter.estimate(expression).faults;
                emitter.learn(expression, true);
                free
            }
        };
        let run = tests.iter().take_while(|test| cannot_fault(test, self)).count();
        self.forget_to(facts);
        run
    }

    fn require_one(&mut self, expression: &Expression, no: Block) {
        let yes = self.builder.create_block();
        self.branch(expression, yes, no);
        self.enter(yes);
        self.learn(expression, true);
    }

    fn require_in_any_order(&mut self, tests: &[Test<'_>], no: Block) {
        let mut masks: Vec<MaskTest> = Vec::new();
        let mut others: Vec<&Expression> = Vec::new();
        for test in tests {
            match (self.mask_test(test), test) {
                (Some(test), _) => self.join(&mut masks, test),
                (None, Test::True(expression)) => others.push(expression),
                // A location that straddles two words, or has one value only.
                (None, Test::Equal(variable, value)) => self.require_equal(*variable, *value, no),
            }
        }
        for test in masks {
            let condition = self.mask_condition(test);
            self.go_on_if(condition, no);
        }
        for test in tests {
            match test {
                Test::Equal(variable, value) => self.assume(*variable, 0, Interval::exactly(*value)),
                Test::True(expression) if !others.iter().any(|other| std::ptr::eq(*other, *expression)) => {
                    self.learn(expression, true);
                }
                Test::True(_) => {}
            }
        }
        self.require_expressions(&others, no);
    }

    /// Small comparisons are made together, so that one branch stands for two that are hard to foresee.
    fn require_expressions(&mut self, expressions: &[&Expression], no: Block) {
        let mut rest = expressions;
        while let [first, others @ ..] = rest {
            let joined = match others {
                [second, ..] if self.is_joinable(first) && self.is_joinable(second) => {
                    node_count(first) + node_count(second) <= JOINED_NODES_MAX
                }
                _ => false,
            };
            if joined {
                let (first, second) = (self.value(first), self.value(others[0]));
                let (first, second) = (self.truth(first), self.truth(second));
                let both = self.builder.ins().band(first, second);
                self.go_on_if(both, no);
                self.learn(rest[0], true);
                self.learn(rest[1], true);
                rest = &rest[2..];
            } else {
                self.require_one(first, no);
                rest = others;
            }
        }
    }

    fn is_joinable(&mut self, expression: &Expression) -> bool {
        let simple = matches!(expression.kind, ExpressionKind::Binary(..) | ExpressionKind::Read(_));
        simple && !self.estimate(expression).faults
    }

    fn require_equal(&mut self, variable: VariableId, value: i64, no: Block) {
        let operand = self.read_place(variable, 0);
        let operand = self.wide(operand);
        let condition = self.builder.ins().icmp_imm_s(IntCC::Equal, operand, value);
        self.go_on_if(condition, no);
    }

    fn go_on_if(&mut self, condition: Value, no: Block) {
        let yes = self.builder.create_block();
        self.builder.ins().brif(condition, yes, &[], no, &[]);
        self.enter(yes);
    }

    fn mask_condition(&mut self, test: MaskTest) -> Value {
        let word = self.source_word(test.word);
        let bits = self.builder.ins().band_imm_s(word, test.mask as i64);
        self.builder.ins().icmp_imm_s(IntCC::Equal, bits, test.wanted as i64)
    }

    /// Adds a test to those of the same word. Bits that two tests want differently stay apart, and fail there.
    fn join(&mut self, tests: &mut Vec<MaskTest>, test: MaskTest) {
        let agrees = |other: &&mut MaskTest| {
            let common = other.mask & test.mask;
            other.word == test.word && other.wanted & common == test.wanted & common
        };
        match tests.iter_mut().find(agrees) {
            Some(other) => {
                other.mask |= test.mask;
                other.wanted |= test.wanted;
            }
            None => tests.push(test),
        }
    }

    /// A test as bits of one word of the source, if it asks for no more than that.
    fn mask_test(&self, test: &Test<'_>) -> Option<MaskTest> {
        let (variable, element, value) = match test {
            Test::Equal(variable, value) => (*variable, 0, *value),
            Test::True(expression) => self.equality(expression)?,
        };
        let field = self.field(variable);
        if self.view.touches(variable) || !field.domain.contains(value) || field.element_bits == 0 {
            return None;
        }
        let bits = Bits::of(&field, element, self.words())?;
        let code = value.wrapping_sub(field.domain.low) as u64;
        Some(MaskTest { word: bits.word, mask: bits.mask(), wanted: code << bits.shift })
    }

    /// The place and the value that an expression asks it to have.
    fn equality(&self, expression: &Expression) -> Option<(VariableId, u32, i64)> {
        let is_bit = |variable: VariableId| Interval::of(self.field(variable).domain) == Interval::TRUTH;
        match &expression.kind {
            ExpressionKind::Binary(BinaryOperator::Equal, left, right) => {
                let (place, value) = match (self.known_value(left), self.known_value(right)) {
                    (_, Some(value)) => (left, value),
                    (Some(value), None) => (right, value),
                    (None, None) => return None,
                };
                self.place_of(place).map(|(variable, element)| (variable, element, value))
            }
            ExpressionKind::Unary(UnaryOperator::Not, operand) => {
                self.place_of(operand).map(|(variable, element)| (variable, element, 0))
            }
            _ => self
                .place_of(expression)
                .filter(|(variable, _)| is_bit(*variable))
                .map(|(variable, element)| (variable, element, 1)),
        }
    }

    /// Takes note of what the source must be like if the expression was true (or false).
    pub(super) fn learn(&mut self, expression: &Expression, truth: bool) {
        match &expression.kind {
            ExpressionKind::Unary(UnaryOperator::Not, operand) => self.learn(operand, !truth),
            ExpressionKind::All(operands) if truth => {
                operands.iter().for_each(|operand| self.learn(operand, true));
            }
            ExpressionKind::Any(operands) if !truth => {
                operands.iter().for_each(|operand| self.learn(operand, false));
            }
            ExpressionKind::Binary(operator, left, right) => {
                let Some(operator) = (if truth { Some(*operator) } else { interval::negated(*operator) })
                else {
                    return;
                };
                match (self.known_value(left), self.known_value(right)) {
                    (_, Some(value)) => self.learn_comparison(left, operator, value),
                    (Some(value), None) => {
                        self.learn_comparison(right, interval::mirrored(operator), value);
                    }
                    (None, None) => {}
                }
            }
            _ => {
                let operator = if truth { BinaryOperator::NotEqual } else { BinaryOperator::Equal };
                self.learn_comparison(expression, operator, 0);
            }
        }
    }

    fn learn_comparison(&mut self, expression: &Expression, operator: BinaryOperator, constant: i64) {
        let Some((variable, element)) = self.place_of(expression) else { return };
        if self.view.touches(variable) {
            return;
        }
        // It was read without a fault, so it is defined.
        let declared = self.program.variable(variable);
        let before = self.source_interval(variable, element);
        let defined =
            if declared.optional { before.meet(Interval::of(declared.domain)) } else { Some(before) };
        let Some(defined) = defined else { return };
        if let Some(after) = interval::refined(defined, operator, constant)
            && after != before
        {
            self.assume(variable, element, after);
        }
    }
}

/// The conjuncts of an expression, those of conjunctions inside it too.
pub(super) fn flatten<'e>(expression: &'e Expression, tests: &mut Vec<Test<'e>>) {
    match &expression.kind {
        ExpressionKind::All(operands) => operands.iter().for_each(|operand| flatten(operand, tests)),
        _ => tests.push(Test::True(expression)),
    }
}
