//! Which statements are worth trying in a random program?
//!
//! All of them, nested a few deep, over temporaries that come into scope and go. Loops are short, or at their bound on purpose.

use fathom_model::expression::{Domain, Expression, FaultKind};
use fathom_model::program::{Assignment, Place, Role, Statement, VariableId};

use crate::writer::{Surroundings, Writer};

impl Writer<'_> {
    /// A few statements, nested at most so deep.
    pub fn body(&mut self, depth: usize) -> Vec<Statement> {
        let count = self.random.below(4);
        (0..count).filter_map(|_| self.statement(depth)).collect()
    }

    /// A statement; none if there is nothing it could be about.
    pub fn statement(&mut self, depth: usize) -> Option<Statement> {
        self.surroundings.budget = self.surroundings.budget.checked_sub(1)?;
        match self.random.below(if depth == 0 { 8 } else { 14 }) {
            0..=3 => self.assign(),
            4 => self.copy(),
            5 => self.fill(),
            6 => self.rare(),
            7 => {
                let blocks = self.surroundings.blocks;
                let leave = blocks > 0 && self.random.chance(70);
                leave.then(|| Statement::Leave(self.random.below(blocks as usize) as u32))
            }
            8 | 9 => Some(self.choice(depth)),
            10 => Some(self.repetition(depth)),
            11 => self.counting(depth),
            _ => Some(self.block(depth)),
        }
    }

    /// Statements and a value, as an expression.
    pub fn computation(&mut self, depth: usize) -> Expression {
        let outside = self.surroundings.clone();
        self.surroundings.writable.clear();
        self.surroundings.scope.iter_mut().for_each(|(_, assignable)| *assignable = false);
        self.surroundings.blocks = 0;
        let locals = self.introduce();
        let body = if self.surroundings.budget > 0 { self.body(depth) } else { Vec::new() };
        let value = if self.random.chance(50) { self.wild(1) } else { self.condition() };
        self.surroundings = Surroundings { budget: self.surroundings.budget, ..outside };
        let span = self.span();
        Expression::compute(locals, body, value, span)
    }

    /// Takes some temporaries that are not in scope into it.
    pub fn introduce(&mut self) -> Vec<VariableId> {
        let mut locals = Vec::new();
        for _ in 0..self.random.below(3) {
            let outside: Vec<VariableId> = self.outside(|_| true);
            if !outside.is_empty() {
                let local = *self.random.pick(&outside);
                self.surroundings.scope.push((local, true));
                locals.push(local);
            }
        }
        locals
    }

    /// Takes a scalar temporary that can be a parameter or a counter into scope.
    pub fn introduce_fixed(&mut self) -> Option<VariableId> {
        let fixed = |writer: &Self, it: VariableId| {
            writer.variable(it).length.is_none() && !writer.variable(it).optional
        };
        let outside = self.outside(|it| fixed(self, it));
        if outside.is_empty() {
            return None;
        }
        let variable = *self.random.pick(&outside);
        self.surroundings.scope.push((variable, false));
        Some(variable)
    }

    /// The temporaries that are not in scope.
    fn outside(&self, fits: impl Fn(VariableId) -> bool) -> Vec<VariableId> {
        let all = (0..self.variables.len() as u32).map(VariableId);
        let inside = |it: VariableId| self.surroundings.scope.iter().any(|(at, _)| *at == it);
        all.filter(|it| self.variable(*it).role == Role::Temporary && !inside(*it) && fits(*it)).collect()
    }

    /// Something that can be assigned to.
    fn target(&mut self) -> Option<VariableId> {
        let surroundings = &self.surroundings;
        let locals = surroundings.scope.iter().filter(|(_, assignable)| *assignable).map(|(it, _)| *it);
        let locals: Vec<VariableId> = locals.collect();
        let writable = &surroundings.writable;
        let use_local = !locals.is_empty() && (writable.is_empty() || self.random.chance(40));
        match (use_local, writable.is_empty()) {
            (true, _) => Some(*self.random.pick(&locals)),
            (false, false) => Some(*self.random.pick(&self.surroundings.writable)),
            (false, true) => None,
        }
    }

    /// Parallel assignments.
    pub fn assign(&mut self) -> Option<Statement> {
        let mut assignments = Vec::new();
        for _ in 0..*self.random.pick(&[1, 1, 1, 2, 3]) {
            let variable = self.target()?;
            let value = self.value_for(variable);
            let place = self.place(variable);
            assignments.push(Assignment { place, value, span: self.span() });
        }
        Some(Statement::Assign(assignments))
    }

    fn copy(&mut self) -> Option<Statement> {
        let to = self.target()?;
        let from = self.visible();
        let from = *self.random.pick(&from);
        let [to, from] = [to, from].map(|variable| self.place(variable));
        let most = [&to, &from].map(|it| self.variable(it.variable).elements()).into_iter().min();
        let count = 1 + self.random.below(most.unwrap_or(1).min(3) as usize) as u32;
        Some(Statement::Copy { to, from, count, span: self.span() })
    }

    fn fill(&mut self) -> Option<Statement> {
        let variable = self.target()?;
        let (elements, optional) = (self.variable(variable).elements(), self.variable(variable).optional);
        let none = optional && self.random.chance(50);
        let value = if none { None } else { Some(self.value_for(variable)) };
        let place: Place = self.place(variable);
        let count =
            if self.random.chance(30) { elements } else { 1 + self.random.below(elements as usize) as u32 };
        Some(Statement::Fill { place, count, value, span: self.span() })
    }

    /// Mostly nothing: what ends a run.
    fn rare(&mut self) -> Option<Statement> {
        match self.random.below(12) {
            0 => {
                let kind = *self.random.pick(&FaultKind::ALL);
                let message = if self.random.chance(50) { Some("no".to_owned()) } else { None };
                Some(Statement::Fail { kind, message, span: self.span() })
            }
            1..=3 if self.assumes => Some(Statement::Assume(self.condition())),
            _ => None,
        }
    }

    fn choice(&mut self, depth: usize) -> Statement {
        let mut arms = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let condition = self.condition();
            arms.push((condition, self.body(depth - 1)));
        }
        Statement::If { arms, otherwise: self.body(depth - 1) }
    }

    fn repetition(&mut self, depth: usize) -> Statement {
        let condition = self.condition();
        let body = self.body(depth - 1);
        let bound = *self.random.pick(&[0, 1, 2, 3, 5, 9]);
        Statement::While { condition, body, bound, span: self.span() }
    }

    fn counting(&mut self, depth: usize) -> Option<Statement> {
        let counter = self.introduce_fixed()?;
        let Domain { low, high } = self.variable(counter).domain;
        let from = match self.random.below(4) {
            0 => high,
            1 => self.random.between(low, high),
            _ => low,
        };
        let step = *self.random.pick(&[1, 1, 1, -1, 2, -3, i64::MAX, i64::MIN]);
        let rounds = self.random.between(-1, 4);
        let to = i128::from(from) + i128::from(step.clamp(-3, 3)) * i128::from(rounds);
        let to = to.clamp(i128::from(low), i128::from(high)) as i64;
        let body = self.body(depth - 1);
        self.surroundings.scope.pop();
        Some(Statement::For { counter, from, to, step, body })
    }

    fn block(&mut self, depth: usize) -> Statement {
        let before = self.surroundings.scope.len();
        self.surroundings.blocks += 1;
        let locals = self.introduce();
        let body = self.body(depth - 1);
        self.surroundings.blocks -= 1;
        self.surroundings.scope.truncate(before);
        Statement::Block { locals, body }
    }
}
