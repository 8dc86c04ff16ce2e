//! Who writes random programs, and what may be used where the writer stands?
//!
//! Expressions and statements are drawn by the same writer: see `expressions` and `statements`.

use fathom_model::program::{Role, Variable, VariableId};
use fathom_model::span::Span;

use crate::random::Random;

/// Writes expressions and statements over some variables.
#[derive(Debug)]
pub struct Writer<'a> {
    /// What is drawn from.
    pub random: &'a mut Random,
    /// What may be read.
    pub variables: Vec<Variable>,
    /// How many of 100 expressions are wild.
    pub wild_percent: usize,
    /// How deep wild expressions are nested.
    pub depth: usize,
    /// What statements may use.
    pub surroundings: Surroundings,
    /// Whether steps may be assumed away.
    pub assumes: bool,
    next_span: u32,
}

impl<'a> Writer<'a> {
    /// A writer.
    pub fn new(
        random: &'a mut Random,
        variables: Vec<Variable>,
        wild_percent: usize,
        depth: usize,
    ) -> Writer<'a> {
        let surroundings = Surroundings::default();
        Writer { random, variables, wild_percent, depth, surroundings, assumes: true, next_span: 0 }
    }

    /// A span that nothing else has.
    pub fn span(&mut self) -> Span {
        self.next_span += 2;
        Span::new(self.next_span, self.next_span + 1)
    }

    /// A variable.
    pub fn variable(&self, variable: VariableId) -> &Variable {
        &self.variables[variable.index()]
    }

    /// The variables that can be read here.
    pub fn visible(&self) -> Vec<VariableId> {
        let in_scope = |it: &VariableId| {
            self.variable(*it).role != Role::Temporary
                || self.surroundings.scope.iter().any(|(at, _)| at == it)
        };
        (0..self.variables.len() as u32).map(VariableId).filter(in_scope).collect()
    }
}

/// What statements may use where the writer stands.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// The temporaries in scope, and whether they can be assigned.
    pub scope: Vec<(VariableId, bool)>,
    /// What of the state is assigned to, as often as it should be. Nothing in computations.
    pub writable: Vec<VariableId>,
    /// How many blocks can be left.
    pub blocks: u32,
    /// How many statements may still be written: bounds the size of a program.
    pub budget: usize,
}
