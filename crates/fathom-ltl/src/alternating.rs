//! How does a formula become a very weak alternating automaton?
//!
//! Its states are formulas; a move reads a set of letters and obliges a set of states (Gastin and Oddoux 2001). Two
//! departures: a disjunction is a state of its own, so that the choice is made as late as possible; and `G F x` is one
//! state that carries its own obligation, instead of spawning `F x` at every step (Babiak et al. 2012).
//!
//! A set of states is a `u128`: hence at most [`STATES_MAX`] of them, numbered as they are met.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::label::{self, Label, Labels};
use crate::limits::{Budget, TranslateError};
use crate::normal_form::{Arena, Id, Node, TRUE};

/// How many states may occur.
pub(crate) const STATES_MAX: usize = 128;

/// A set of states of the alternating automaton.
pub(crate) type StateSet = u128;

/// The letters on which each set of states may be obliged next.
pub(crate) type Moves = BTreeMap<StateSet, Label>;

/// The automaton, built as far as it was asked for.
pub(crate) struct Alternating<'a> {
    pub(crate) arena: &'a mut Arena,
    budget: &'a Budget,
    states: Vec<Id>,
    index: HashMap<Id, usize>,
    moves: HashMap<Id, Rc<Moves>>,
    met: HashMap<(usize, StateSet), Label>,
}

impl<'a> Alternating<'a> {
    pub(crate) fn new(arena: &'a mut Arena, budget: &'a Budget) -> Self {
        Alternating {
            arena,
            budget,
            states: Vec::new(),
            index: HashMap::new(),
            moves: HashMap::new(),
            met: HashMap::new(),
        }
    }

    /// The states whose conjunction is the formula.
    pub(crate) fn set(&mut self, id: Id) -> Result<StateSet, TranslateError> {
        match self.arena.node(id).clone() {
            Node::And(operands) => {
                let mut set = 0;
                for operand in operands {
                    set |= self.set(operand)?;
                }
                Ok(set)
            }
            _ if id == TRUE => Ok(0),
            _ => Ok(1 << self.state(id)?),
        }
    }

    /// The moves of a conjunction of states.
    pub(crate) fn moves_of_set(&mut self, set: StateSet) -> Result<Moves, TranslateError> {
        let mut result = Moves::from([(0, label::ALL)]);
        for state in members(set) {
            let moves = self.moves(self.states[state])?;
            result = self.both(&result, &moves)?;
        }
        Ok(result)
    }

    /// The states of `target` that oblige something to happen at some time.
    pub(crate) fn obligations(&self, target: StateSet) -> StateSet {
        let obliges = |&state: &usize| {
            let id = self.states[state];
            matches!(self.arena.node(id), Node::Until(..)) || self.arena.as_infinitely_often(id).is_some()
        };
        members(target).filter(obliges).fold(0, |set, state| set | 1 << state)
    }

    /// The letters on which the obligation of `state` is met by a step into `target`.
    pub(crate) fn met(&mut self, state: usize, target: StateSet) -> Result<Label, TranslateError> {
        if let Some(&known) = self.met.get(&(state, target)) {
            return Ok(known);
        }
        let id = self.states[state];
        // Of `a U b`, the moves of `b`; of `G F x`, those of `x`.
        let moves = match (self.arena.as_infinitely_often(id), self.arena.node(id).clone()) {
            (Some(inner), _) => self.moves(inner)?,
            (None, Node::Until(_, b)) => self.moves(b)?,
            _ => Rc::new(Moves::new()),
        };
        let mut result = label::NONE;
        for (&obliged, &label) in moves.iter() {
            if obliged & !target == 0 {
                result = self.labels().or(result, label);
            }
        }
        self.met.insert((state, target), result);
        Ok(result)
    }

    pub(crate) fn labels(&mut self) -> &mut Labels {
        &mut self.arena.labels
    }

    fn state(&mut self, id: Id) -> Result<usize, TranslateError> {
        if let Some(&known) = self.index.get(&id) {
            return Ok(known);
        }
        if self.states.len() == STATES_MAX {
            return Err(TranslateError::Subformulas(STATES_MAX));
        }
        let number = self.states.len();
        self.states.push(id);
        self.index.insert(id, number);
        Ok(number)
    }

    fn moves(&mut self, id: Id) -> Result<Rc<Moves>, TranslateError> {
        if let Some(known) = self.moves.get(&id) {
            return Ok(Rc::clone(known));
        }
        let moves = Rc::new(self.find_moves(id)?);
        self.moves.insert(id, Rc::clone(&moves));
        Ok(moves)
    }

    fn find_moves(&mut self, id: Id) -> Result<Moves, TranslateError> {
        if let Some(inner) = self.arena.as_infinitely_often(id) {
            let stay = Moves::from([(1 << self.state(id)?, label::ALL)]);
            let inner = self.moves(inner)?;
            let meet = self.both(&inner, &stay)?;
            return Ok(self.either(&stay, &meet));
        }
        match self.arena.node(id).clone() {
            Node::Boolean(label::NONE) => Ok(Moves::new()),
            Node::Boolean(label) => Ok(Moves::from([(0, label)])),
            Node::And(operands) => {
                let mut result = Moves::from([(0, label::ALL)]);
                for operand in operands {
                    let moves = self.moves(operand)?;
                    result = self.both(&result, &moves)?;
                }
                Ok(result)
            }
            Node::Or(operands) => {
                let mut result = Moves::new();
                for operand in operands {
                    let moves = self.moves(operand)?;
                    result = self.either(&result, &moves);
                }
                Ok(result)
            }
            Node::Next(a) => Ok(Moves::from([(self.set(a)?, label::ALL)])),
            Node::Until(a, b) => {
                let (a, b) = (self.moves(a)?, self.moves(b)?);
                let stay = Moves::from([(1 << self.state(id)?, label::ALL)]);
                let go_on = self.both(&a, &stay)?;
                Ok(self.either(&b, &go_on))
            }
            Node::Release(a, b) => {
                let (a, b) = (self.moves(a)?, self.moves(b)?);
                let stay = Moves::from([(1 << self.state(id)?, label::ALL)]);
                let end_or_stay = self.either(&a, &stay);
                self.both(&b, &end_or_stay)
            }
        }
    }

    fn either(&mut self, x: &Moves, y: &Moves) -> Moves {
        let mut result = x.clone();
        for (&target, &label) in y {
            let entry = result.entry(target).or_insert(label::NONE);
            *entry = self.arena.labels.or(*entry, label);
        }
        result
    }

    fn both(&mut self, x: &Moves, y: &Moves) -> Result<Moves, TranslateError> {
        let mut result = Moves::new();
        for (&first, &a) in x {
            for (&second, &b) in y {
                let label = self.arena.labels.and(a, b);
                if label != label::NONE {
                    let entry = result.entry(first | second).or_insert(label::NONE);
                    *entry = self.arena.labels.or(*entry, label);
                }
            }
            self.budget.check(0, result.len())?;
        }
        self.budget.check_labels(&self.arena.labels)?;
        Ok(result)
    }
}

/// The members of a set, ascending.
pub(crate) fn members(set: StateSet) -> impl Iterator<Item = usize> {
    (0..STATES_MAX).filter(move |state| set >> state & 1 == 1)
}
