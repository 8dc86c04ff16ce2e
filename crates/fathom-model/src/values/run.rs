//! Which sets of values do statements lead to?

use std::rc::Rc;

use crate::expression::Expression;
use crate::program::{Assignment, Composition, Place, Role, Statement, VariableId};

use super::environment::Environment;
use super::pages::Pages;
use super::set::ValueSet;

/// Values on their way to a variable.
pub(super) struct Store {
    pub(super) variable: VariableId,
    pub(super) values: Rc<ValueSet>,
}

/// The sets with which each block around the current statement was left, the innermost last; none while it was not.
type Exits = Vec<Option<Pages>>;

/// What one statement stores: where from, how many, and sets for each or for all.
struct Pending {
    variable: VariableId,
    indices: ValueSet,
    count: u32,
    values: Vec<Rc<ValueSet>>,
}

/// After so many rounds of a loop, sets that still grow become all that can be stored.
const ROUNDS_MAX: usize = 4;
/// Loops of more rounds are not followed round by round.
const UNROLLED_MAX: usize = 256;

impl Environment<'_> {
    /// Runs the body of an action; false if it can only fault or is assumed away. Notes what it stored in the state, also on the way to a fault.
    pub(super) fn run_action(&mut self, body: &[Statement], stored: &mut Vec<Store>) -> bool {
        match self.program.composition {
            Composition::Asynchronous => self.run(body, stored),
            Composition::Synchronous => {
                let mut pending = Vec::new();
                let runs = body.iter().all(|statement| self.prepare(statement, &mut pending));
                self.make(pending, stored);
                runs
            }
        }
    }

    /// Runs statements one after the other; false if their end is not reached. Notes what they stored in the state, also on the way to a fault.
    pub(super) fn run(&mut self, body: &[Statement], stored: &mut Vec<Store>) -> bool {
        self.run_all(body, &mut Vec::new(), stored)
    }

    fn run_all(&mut self, body: &[Statement], exits: &mut Exits, stored: &mut Vec<Store>) -> bool {
        body.iter().all(|statement| self.run_one(statement, exits, stored))
    }

    fn run_one(&mut self, statement: &Statement, exits: &mut Exits, stored: &mut Vec<Store>) -> bool {
        if !self.spend_step() {
            return false;
        }
        match statement {
            Statement::If { arms, otherwise } => self.run_choice(arms, otherwise, exits, stored),
            Statement::While { condition, body, .. } => {
                let round = |it: &mut Self, exits: &mut Exits, stored: &mut Vec<Store>| {
                    it.assume(condition, true) && it.run_all(body, exits, stored)
                };
                self.repeat(round, exits, stored);
                self.assume(condition, false)
            }
            Statement::For { counter, from, to, step, body } => {
                self.count(*counter, [*from, *to, *step], body, exits, stored)
            }
            Statement::Block { locals, body } => {
                locals.iter().for_each(|local| self.introduce(*local));
                exits.push(None);
                let falls = self.run_all(body, exits, stored);
                let exit = exits.pop().expect("just pushed");
                match exit {
                    Some(sets) if falls => drop(self.join(&sets)),
                    Some(sets) => self.sets = sets,
                    None => return falls,
                }
                true
            }
            Statement::Leave(depth) => {
                let block = exits.len() - 1 - *depth as usize;
                match &mut exits[block] {
                    None => exits[block] = Some(self.sets.clone()),
                    Some(sets) => drop(sets.join(&self.sets)),
                }
                false
            }
            Statement::Fail { .. } => false,
            Statement::Assume(condition) => self.assume(condition, true),
            simple => {
                let mut pending = Vec::new();
                let runs = self.prepare(simple, &mut pending);
                self.make(pending, stored);
                runs
            }
        }
    }

    fn run_choice(
        &mut self,
        arms: &[(Expression, Vec<Statement>)],
        otherwise: &[Statement],
        exits: &mut Exits,
        stored: &mut Vec<Store>,
    ) -> bool {
        let mut after: Option<Pages> = None;
        let mut take = |chosen: Environment<'_>| match &mut after {
            None => after = Some(chosen.sets),
            Some(after) => drop(after.join(&chosen.sets)),
        };
        let mut rest = Some(self.clone());
        for (condition, body) in arms {
            let Some(before) = &mut rest else { break };
            if !self.spend_copy() {
                return false;
            }
            let mut chosen = before.clone();
            if chosen.assume(condition, true) && chosen.run_all(body, exits, stored) {
                take(chosen);
            }
            if !before.assume(condition, false) {
                rest = None;
            }
        }
        if let Some(mut chosen) = rest
            && chosen.run_all(otherwise, exits, stored)
        {
            take(chosen);
        }
        after.map(|after| self.sets = after).is_some()
    }

    /// Runs rounds until they bring nothing new: afterwards the sets are those before any round.
    fn repeat(
        &mut self,
        mut round: impl FnMut(&mut Self, &mut Exits, &mut Vec<Store>) -> bool,
        exits: &mut Exits,
        stored: &mut Vec<Store>,
    ) {
        for number in 0.. {
            if !self.spend_copy() {
                return;
            }
            let mut after = self.clone();
            if !round(&mut after, exits, stored) {
                return;
            }
            let before = self.sets.clone();
            if !self.join(&after.sets) {
                return;
            }
            if number >= ROUNDS_MAX {
                self.widen(&before);
            }
        }
    }

    /// Sets that have grown become all that can be stored.
    fn widen(&mut self, before: &Pages) {
        let program = self.program;
        self.spend(program.variables.len());
        for number in 0..program.variables.len() as u32 {
            let variable = VariableId(number);
            let stored = program.variable(variable).stored();
            for slot in self.slots_of(variable) {
                if **self.sets.at(slot) != **before.at(slot) {
                    self.sets.put(slot, Rc::new(ValueSet::interval(stored.low, stored.high)));
                }
            }
        }
    }

    fn count(
        &mut self,
        counter: VariableId,
        [from, to, step]: [i64; 3],
        body: &[Statement],
        exits: &mut Exits,
        stored: &mut Vec<Store>,
    ) -> bool {
        let goes_on = |now: &i64| if step > 0 { *now <= to } else { *now >= to };
        let mut values = std::iter::successors(Some(from), |now| now.checked_add(step)).take_while(goes_on);
        if self.unrolls {
            let few: Vec<i64> = values.by_ref().take(UNROLLED_MAX + 1).collect();
            if few.len() <= UNROLLED_MAX {
                return few.into_iter().all(|now| {
                    self.set(counter, &Rc::new(ValueSet::one(now)));
                    self.run_all(body, exits, stored)
                });
            }
        } else if values.next().is_none() {
            return true;
        }
        let all = Rc::new(ValueSet::interval(from.min(to), from.max(to)));
        let round = |it: &mut Self, exits: &mut Exits, stored: &mut Vec<Store>| {
            it.set(counter, &all);
            it.run_all(body, exits, stored)
        };
        self.repeat(round, exits, stored);
        true
    }

    /// Adds what a statement stores; false if it can only fault.
    fn prepare(&mut self, statement: &Statement, pending: &mut Vec<Pending>) -> bool {
        match statement {
            Statement::Move { process, to } => {
                let variable = self.program.process(*process).variable;
                let values = vec![Rc::new(ValueSet::one(i64::from(*to)))];
                pending.push(Pending { variable, indices: ValueSet::one(0), count: 1, values });
                true
            }
            Statement::Assign(assignments) => {
                assignments.iter().all(|Assignment { place, value, .. }| {
                    let indices = self.index(place.variable, place.index.as_ref(), 1);
                    let values = self.stored_value(place.variable, value);
                    self.pend(place, indices, 1, vec![values], pending)
                })
            }
            Statement::Copy { to, from, count, .. } => {
                let indices = self.index(to.variable, to.index.as_ref(), *count);
                let sources = self.index(from.variable, from.index.as_ref(), *count);
                if sources.is_none() {
                    return false;
                }
                let values = self.elements(from.variable, &sources, *count);
                let values = values.iter().map(|set| self.copied(from.variable, to.variable, set)).collect();
                self.pend(to, indices, *count, values, pending)
            }
            Statement::Fill { place, count, value, .. } => {
                let indices = self.index(place.variable, place.index.as_ref(), *count);
                let values = match value {
                    Some(value) => self.stored_value(place.variable, value),
                    None => {
                        let undefined = self.program.variable(place.variable).undefined();
                        Rc::new(undefined.map_or(ValueSet::NONE, ValueSet::one))
                    }
                };
                self.pend(place, indices, *count, vec![values], pending)
            }
            _ => unreachable!("only statements that store are prepared"),
        }
    }

    /// The values of an expression as they are stored.
    fn stored_value(&mut self, variable: VariableId, value: &Expression) -> Rc<ValueSet> {
        let domain = self.program.variable(variable).domain;
        Rc::new(self.evaluate(value).converted(self.overflow(), domain))
    }

    /// The values of an element as they are stored in another variable.
    fn copied(&self, from: VariableId, to: VariableId, set: &ValueSet) -> Rc<ValueSet> {
        let (source, target) = (self.program.variable(from), self.program.variable(to));
        let mut values = self.defined(from, set).converted(self.overflow(), target.domain);
        if let (Some(there), Some(here)) = (source.undefined(), target.undefined())
            && set.contains(there)
        {
            values.join(&ValueSet::one(here));
        }
        Rc::new(values)
    }

    fn pend(
        &mut self,
        place: &Place,
        indices: ValueSet,
        count: u32,
        values: Vec<Rc<ValueSet>>,
        pending: &mut Vec<Pending>,
    ) -> bool {
        if indices.is_none() || values.iter().any(|values| values.is_none()) {
            return false;
        }
        pending.push(Pending { variable: place.variable, indices, count, values });
        true
    }

    fn make(&mut self, pending: Vec<Pending>, stored: &mut Vec<Store>) {
        for Pending { variable, indices, count, values } in pending {
            self.store(variable, &indices, count, &values);
            if self.program.variable(variable).role != Role::Temporary {
                stored.extend(values.into_iter().map(|values| Store { variable, values }));
            }
        }
    }
}
