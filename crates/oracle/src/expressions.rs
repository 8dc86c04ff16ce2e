//! Which expressions are worth trying in a random program?
//!
//! *Tame* ones keep a program alive: comparisons with values a variable can have, assignments that mostly stay in range. *Wild* ones are any
//! operators on any operands, and fault in every way there is. Every expression has a span of its own, so that
//! two evaluators that blame different places are told apart.

use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, UnaryOperator,
};
use fathom_model::program::{Place, Variable, VariableId};

use crate::random::Random;
use crate::writer::Writer;

/// All operators of two operands.
pub const BINARY: [BinaryOperator; 16] = [
    BinaryOperator::Add,
    BinaryOperator::Subtract,
    BinaryOperator::Multiply,
    BinaryOperator::Divide,
    BinaryOperator::Remainder,
    BinaryOperator::ShiftLeft,
    BinaryOperator::ShiftRight,
    BinaryOperator::BitAnd,
    BinaryOperator::BitOr,
    BinaryOperator::BitXor,
    BinaryOperator::Equal,
    BinaryOperator::NotEqual,
    BinaryOperator::Less,
    BinaryOperator::LessEqual,
    BinaryOperator::Greater,
    BinaryOperator::GreaterEqual,
];

/// All operators of one operand.
pub const UNARY: [UnaryOperator; 3] = [UnaryOperator::Negate, UnaryOperator::Complement, UnaryOperator::Not];

/// Constants at the borders of what operators accept.
const BORDERS: [i64; 12] =
    [i64::MIN, i64::MIN + 1, -32769, -128, 62, 63, 64, 255, 256, 65_535, i64::MAX - 1, i64::MAX];

impl Writer<'_> {
    /// Something to be true or false.
    pub fn condition(&mut self) -> Expression {
        if self.surroundings.budget > 0 && self.random.chance(8) {
            self.surroundings.budget -= 1;
            return self.computation(1);
        }
        if self.random.chance(6)
            && let Some(asked) = self.is_undefined()
        {
            return asked;
        }
        if self.random.chance(self.wild_percent) {
            return self.wild(self.depth);
        }
        match self.random.below(8) {
            0 => {
                let operands = (0..self.random.below(3) + 1).map(|_| self.comparison()).collect();
                self.make(ExpressionKind::All(operands))
            }
            1 => {
                let operands = (0..self.random.below(3) + 1).map(|_| self.comparison()).collect();
                self.make(ExpressionKind::Any(operands))
            }
            2 => {
                let operand = self.comparison();
                self.make(ExpressionKind::Unary(UnaryOperator::Not, Box::new(operand)))
            }
            _ => self.comparison(),
        }
    }

    /// What to assign to a variable.
    pub fn value_for(&mut self, variable: VariableId) -> Expression {
        let (domain, initial) = {
            let variable = &self.variables[variable.index()];
            (variable.domain, variable.initial[0])
        };
        if self.random.chance(self.wild_percent) {
            return self.wild(self.depth);
        }
        if domain.bits() > 4 {
            return self.value_of_wide(variable, domain, initial);
        }
        match self.random.below(8) {
            0..=3 => self.next_value(variable, domain),
            4 => {
                let operand = self.wild(1);
                self.make(ExpressionKind::Convert(domain, Box::new(operand)))
            }
            5 => self.copy_into(domain),
            6 => self.remainder_into(domain),
            _ => {
                let value = self.random.between(domain.low, domain.high);
                self.constant(value)
            }
        }
    }

    /// A place of a variable. Indices are mostly good.
    pub fn place(&mut self, variable: VariableId) -> Place {
        let length = self.variables[variable.index()].length;
        let index = length.map(|length| self.index(length));
        Place { variable, index, span: self.span() }
    }

    /// Any operators on any operands.
    pub fn wild(&mut self, depth: usize) -> Expression {
        if depth == 0 || self.random.chance(20) {
            return self.leaf();
        }
        let kind = match self.random.below(16) {
            0 => ExpressionKind::Unary(*self.random.pick(&UNARY), Box::new(self.wild(depth - 1))),
            1 => ExpressionKind::All(self.several(depth)),
            2 => ExpressionKind::Any(self.several(depth)),
            3 => ExpressionKind::Conditional(Box::new([
                self.wild(depth - 1),
                self.wild(depth - 1),
                self.wild(depth - 1),
            ])),
            4 => {
                let bits = *self.random.pick(&[0, 1, 3, 8, 16, 63, 64]);
                ExpressionKind::Convert(domain_of_bits(self.random, bits), Box::new(self.wild(depth - 1)))
            }
            5 => match self.any_variable(true) {
                Some(array) => ExpressionKind::Element(array, Box::new(self.wild(depth - 1))),
                None => return self.leaf(),
            },
            6 => {
                let bits = *self.random.pick(&[0, 1, 3, 8, 63]);
                let domain = domain_of_bits(self.random, bits);
                let kind = *self.random.pick(&FaultKind::ALL);
                ExpressionKind::Checked(domain, kind, Box::new(self.wild(depth - 1)))
            }
            7 if self.surroundings.budget > 0 => {
                self.surroundings.budget -= 1;
                return self.computation(depth - 1);
            }
            8 => return self.is_undefined().unwrap_or_else(|| self.leaf()),
            _ => ExpressionKind::Binary(
                *self.random.pick(&BINARY),
                Box::new(self.wild(depth - 1)),
                Box::new(self.wild(depth - 1)),
            ),
        };
        self.make(kind)
    }

    /// A constant.
    pub fn constant(&mut self, value: i64) -> Expression {
        self.make(ExpressionKind::Constant(value))
    }

    fn several(&mut self, depth: usize) -> Vec<Expression> {
        (0..self.random.below(4)).map(|_| self.wild(depth - 1)).collect()
    }

    fn make(&mut self, kind: ExpressionKind) -> Expression {
        Expression { kind, span: self.span() }
    }

    fn binary(&mut self, operator: BinaryOperator, left: Expression, right: Expression) -> Expression {
        self.make(ExpressionKind::Binary(operator, Box::new(left), Box::new(right)))
    }

    /// Any scalar variable, or any array.
    fn any_variable(&mut self, array: bool) -> Option<VariableId> {
        let fitting: Vec<VariableId> = self
            .visible()
            .into_iter()
            .filter(|it| self.variable(*it).length.is_some() == array)
            .flat_map(|it| vec![it; if self.variable(it).domain.bits() == 0 { 1 } else { 4 }])
            .collect();
        if fitting.is_empty() { None } else { Some(*self.random.pick(&fitting)) }
    }

    /// Whether something that may be undefined is; none if nothing may be.
    fn is_undefined(&mut self) -> Option<Expression> {
        let optional: Vec<VariableId> =
            self.visible().into_iter().filter(|it| self.variable(*it).optional).collect();
        if optional.is_empty() {
            return None;
        }
        let variable = *self.random.pick(&optional);
        let place = Box::new(self.place(variable));
        Some(self.make(ExpressionKind::IsUndefined(place)))
    }

    /// The value of a variable, by a good index if it is an array.
    fn read(&mut self, variable: VariableId) -> Expression {
        match self.variables[variable.index()].length {
            None => self.make(ExpressionKind::Read(variable)),
            Some(length) => {
                let index = self.index(length);
                self.make(ExpressionKind::Element(variable, Box::new(index)))
            }
        }
    }

    fn leaf(&mut self) -> Expression {
        let variable = {
            let array = self.random.chance(20);
            self.any_variable(array)
        };
        match variable {
            Some(variable) if self.random.chance(60) => self.read(variable),
            _ if self.random.chance(20) => {
                let value = *self.random.pick(&BORDERS);
                self.constant(value)
            }
            _ => {
                let value = self.random.between(-2, 5);
                self.constant(value)
            }
        }
    }

    /// A variable against a value it can have.
    fn comparison(&mut self) -> Expression {
        let array = self.random.chance(25);
        let Some(variable) = self.any_variable(array).or_else(|| self.any_variable(!array)) else {
            let value = self.random.between(0, 1);
            return self.constant(value);
        };
        let Variable { domain, initial, .. } = self.variables[variable.index()].clone();
        let value = match self.random.below(3) {
            0 => initial[0],
            1 => domain.low,
            _ => self.random.between(domain.low, domain.high),
        };
        let operators = [
            BinaryOperator::Equal,
            BinaryOperator::NotEqual,
            BinaryOperator::LessEqual,
            BinaryOperator::GreaterEqual,
        ];
        let operator = *self.random.pick(&operators);
        let left = self.read(variable);
        let right = self.constant(value);
        self.binary(operator, left, right)
    }

    /// Mostly an index that is there.
    fn index(&mut self, length: u32) -> Expression {
        if self.random.chance(self.wild_percent) {
            return self.wild(1);
        }
        let last = i64::from(length) - 1;
        if self.random.chance(30) {
            return self.copy_into(Domain::new(0, last));
        }
        let value = *self.random.pick(&[0, 0, last, last / 2]);
        self.constant(value)
    }

    /// One of few values, so that the variable does not blow the state space up.
    fn value_of_wide(&mut self, variable: VariableId, domain: Domain, initial: i64) -> Expression {
        if self.random.chance(10) {
            return self.next_value(variable, domain);
        }
        let value = *self.random.pick(&[domain.low, domain.high, initial]);
        self.constant(value)
    }

    /// `x < high ? x + 1 : low`
    fn next_value(&mut self, variable: VariableId, domain: Domain) -> Expression {
        let read = self.read(variable);
        let high = self.constant(domain.high);
        let condition = self.binary(BinaryOperator::Less, read.clone(), high);
        let one = self.constant(1);
        let more = self.binary(BinaryOperator::Add, read, one);
        let low = self.constant(domain.low);
        self.make(ExpressionKind::Conditional(Box::new([condition, more, low])))
    }

    /// A variable all of whose values fit, if there is one.
    fn copy_into(&mut self, domain: Domain) -> Expression {
        let fits = |variable: &Variable| {
            variable.length.is_none()
                && domain.contains(variable.domain.low)
                && domain.contains(variable.domain.high)
        };
        let fitting: Vec<VariableId> =
            self.visible().into_iter().filter(|it| fits(self.variable(*it))).collect();
        if fitting.is_empty() {
            let value = self.random.between(domain.low, domain.high);
            return self.constant(value);
        }
        let variable = *self.random.pick(&fitting);
        self.make(ExpressionKind::Read(variable))
    }

    /// `low + e % size`: in range unless e is negative.
    fn remainder_into(&mut self, domain: Domain) -> Expression {
        let operand = self.wild(1);
        let size = self.constant(domain.span() as i64 + 1);
        let rest = self.binary(BinaryOperator::Remainder, operand, size);
        let low = self.constant(domain.low);
        self.binary(BinaryOperator::Add, low, rest)
    }
}

/// A domain whose codes take exactly that many bits (at most 64), anywhere among the integers.
pub fn domain_of_bits(random: &mut Random, bits: u32) -> Domain {
    let most = if bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
    let least = if bits == 0 { 0 } else { 1u64 << (bits - 1) };
    let span = match random.below(3) {
        0 => most,
        1 => least,
        _ => least + random.word() % (most - least + 1),
    };
    let last_low = (i128::from(i64::MAX) - i128::from(span)) as i64;
    let low = match random.below(8) {
        0 => i64::MIN,
        1 => last_low,
        2 => random.between(i64::MIN, last_low),
        3..=5 => random.between(-4, 4),
        _ => 0,
    }
    .min(last_low);
    Domain::new(low, low.wrapping_add(span as i64))
}
