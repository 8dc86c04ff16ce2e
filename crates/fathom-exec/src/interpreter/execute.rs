//! Which record does a body lead to?

use fathom_model::expression::{Expression, FaultKind};
use fathom_model::program::{Action, Assignment, Place, Role, Statement, VariableId};
use fathom_model::span::Span;

use super::evaluate::{Trouble, at, evaluate, introduce, locate};
use super::{Interpreter, Scratch};

/// Why there is no value or no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Halt {
    /// The model misbehaves.
    Fault(Trouble),
    /// The model says that there is no such step.
    Discard,
    /// Somebody asked for an end before this one.
    Interrupted,
    /// On the way out of so many blocks and one more. Comes out of statements only.
    Leave(u32),
}

/// A value on its way to its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Store {
    variable: VariableId,
    /// Which element.
    element: u32,
    /// Where that lies among the unpacked values.
    place: usize,
    value: i64,
}

/// Where stores go.
struct Machine<'a> {
    system: &'a Interpreter,
    values: &'a mut [i64],
    /// What a statement will store.
    pending: &'a mut Vec<Store>,
    /// None where only temporaries are stored.
    state: Option<Changes<'a>>,
}

/// What becomes of a state.
struct Changes<'a> {
    /// The record under change.
    target: &'a mut [u64],
    /// What was changed among the values: place and old value.
    undo: &'a mut Vec<(usize, i64)>,
}

/// Runs statements one after the other; `scratch.target` is the record they lead to. The values of the state are as before when it returns.
pub(super) fn run(
    system: &Interpreter,
    body: &[Statement],
    source: &[u64],
    scratch: &mut Scratch,
) -> Result<(), Halt> {
    let Scratch { values, undo, pending, target } = scratch;
    target.clear();
    target.extend_from_slice(source);
    undo.clear();
    pending.clear();
    let mut machine = Machine { system, values, pending, state: Some(Changes { target, undo }) };
    let outcome = machine.body(body);
    for &(place, value) in undo.iter().rev() {
        values[place] = value;
    }
    outcome
}

/// Runs statements for the values they met where they fault: these stay as they were there.
pub(super) fn run_to_fault(system: &Interpreter, body: &[Statement], values: &mut [i64]) -> Result<(), Halt> {
    let (mut target, mut undo) = (vec![0; system.layout.words()], Vec::new());
    let state = Some(Changes { target: &mut target, undo: &mut undo });
    Machine { system, values, pending: &mut Vec::new(), state }.body(body)
}

/// Runs statements that change temporaries only.
pub(super) fn run_on_temporaries(
    system: &Interpreter,
    body: &[Statement],
    values: &mut [i64],
) -> Result<(), Halt> {
    Machine { system, values, pending: &mut Vec::new(), state: None }.body(body)
}

/// Runs the bodies of a joint step: all read the old values, and no place is written twice.
pub(super) fn run_jointly<'a>(
    system: &Interpreter,
    actions: impl Iterator<Item = &'a Action>,
    source: &[u64],
    scratch: &mut Scratch,
) -> Result<(), Halt> {
    scratch.target.clear();
    scratch.target.extend_from_slice(source);
    scratch.pending.clear();
    for action in actions {
        system.bind(&action.command, &action.arguments, &mut scratch.values);
        let Scratch { values, pending, .. } = scratch;
        let mut machine = Machine { system, values, pending, state: None };
        action.command.body.iter().try_for_each(|statement| machine.joint_statement(statement))?;
    }
    for store in &scratch.pending {
        write(system, &mut scratch.target, store);
    }
    Ok(())
}

impl Machine<'_> {
    fn body(&mut self, body: &[Statement]) -> Result<(), Halt> {
        body.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Halt> {
        match statement {
            Statement::Move { process, to } => self.go(self.system.program.process(*process).variable, *to),
            Statement::Assign(assignments) => assignments.iter().try_for_each(|it| self.assign(it))?,
            Statement::Copy { to, from, count, span } => self.copy(to, from, *count, *span)?,
            Statement::Fill { place, count, value, span } => {
                self.fill(place, *count, value.as_ref(), *span)?;
            }
            Statement::If { arms, otherwise } => return self.choose(arms, otherwise),
            Statement::While { condition, body, bound, span } => {
                return self.repeat(condition, body, *bound, *span);
            }
            Statement::For { counter, from, to, step, body } => {
                return self.count(*counter, [*from, *to, *step], body);
            }
            Statement::Block { locals, body } => return self.block(locals, body),
            Statement::Leave(depth) => return Err(Halt::Leave(*depth)),
            Statement::Fail { kind, span, .. } => return at(*span, Err(*kind)),
            Statement::Assume(condition) => {
                return if self.value(condition)? == 0 { Err(Halt::Discard) } else { Ok(()) };
            }
        }
        self.commit();
        Ok(())
    }

    /// What an action of a joint step does waits until all have done theirs.
    fn joint_statement(&mut self, statement: &Statement) -> Result<(), Halt> {
        match statement {
            Statement::Assign(assignments) => {
                for assignment in assignments {
                    self.assign(assignment)?;
                    self.written_once(assignment.span)?;
                }
            }
            Statement::Move { process, to } => self.go(self.system.program.process(*process).variable, *to),
            _ => unreachable!("a verified synchronous action moves and assigns"),
        }
        Ok(())
    }

    fn value(&mut self, expression: &Expression) -> Result<i64, Halt> {
        evaluate(self.system, self.values, expression)
    }

    fn choose(&mut self, arms: &[(Expression, Vec<Statement>)], otherwise: &[Statement]) -> Result<(), Halt> {
        for (condition, body) in arms {
            if self.value(condition)? != 0 {
                return self.body(body);
            }
        }
        self.body(otherwise)
    }

    fn repeat(
        &mut self,
        condition: &Expression,
        body: &[Statement],
        bound: u32,
        span: Span,
    ) -> Result<(), Halt> {
        for _ in 0..bound {
            if self.value(condition)? == 0 {
                return Ok(());
            }
            self.body(body)?;
            self.go_on()?;
        }
        if self.value(condition)? == 0 { Ok(()) } else { at(span, Err(FaultKind::Bound)) }
    }

    fn count(
        &mut self,
        counter: VariableId,
        [from, to, step]: [i64; 3],
        body: &[Statement],
    ) -> Result<(), Halt> {
        let place = self.system.bases[counter.index()];
        let mut next = Some(from);
        while let Some(now) = next.filter(|now| if step > 0 { *now <= to } else { *now >= to }) {
            self.values[place] = now;
            self.body(body)?;
            self.go_on()?;
            next = now.checked_add(step);
        }
        Ok(())
    }

    /// Once more round a loop, unless somebody asks to stop.
    fn go_on(&self) -> Result<(), Halt> {
        if self.system.stop.is_up() { Err(Halt::Interrupted) } else { Ok(()) }
    }

    fn block(&mut self, locals: &[VariableId], body: &[Statement]) -> Result<(), Halt> {
        introduce(self.system, self.values, locals);
        match self.body(body) {
            Err(Halt::Leave(0)) => Ok(()),
            Err(Halt::Leave(depth)) => Err(Halt::Leave(depth - 1)),
            outcome => outcome,
        }
    }

    fn go(&mut self, variable: VariableId, to: u32) {
        let place = self.system.bases[variable.index()];
        self.pending.push(Store { variable, element: 0, place, value: i64::from(to) });
    }

    fn assign(&mut self, assignment: &Assignment) -> Result<(), Halt> {
        let Assignment { place, value, span } = assignment;
        let first = locate(self.system, self.values, place, 1)?;
        let value = self.value(value)?;
        let value = self.fitting(place.variable, value, *span)?;
        self.put(place.variable, first, value);
        Ok(())
    }

    fn copy(&mut self, to: &Place, from: &Place, count: u32, span: Span) -> Result<(), Halt> {
        let target = locate(self.system, self.values, to, count)?;
        let source = locate(self.system, self.values, from, count)?;
        let program = &self.system.program;
        let (none_there, none_here) =
            (program.variable(from.variable).undefined(), program.variable(to.variable).undefined());
        for offset in 0..count as usize {
            let value = self.values[source + offset];
            let value = match (Some(value) == none_there, none_here) {
                (false, _) => self.fitting(to.variable, value, span)?,
                (true, Some(none)) => none,
                (true, None) => return at(span, Err(FaultKind::Undefined)),
            };
            self.put(to.variable, target + offset, value);
        }
        Ok(())
    }

    fn fill(
        &mut self,
        place: &Place,
        count: u32,
        value: Option<&Expression>,
        span: Span,
    ) -> Result<(), Halt> {
        let first = locate(self.system, self.values, place, count)?;
        let value = match value {
            Some(value) => {
                let value = self.value(value)?;
                self.fitting(place.variable, value, span)?
            }
            None => {
                self.system.program.variable(place.variable).undefined().expect("verified to be optional")
            }
        };
        (0..count as usize).for_each(|offset| self.put(place.variable, first + offset, value));
        Ok(())
    }

    /// A value brought into the domain of a variable.
    fn fitting(&self, variable: VariableId, value: i64, span: Span) -> Result<i64, Halt> {
        let program = &self.system.program;
        at(span, program.variable(variable).domain.convert(program.overflow, value))
    }

    fn put(&mut self, variable: VariableId, place: usize, value: i64) {
        let element = (place - self.system.bases[variable.index()]) as u32;
        self.pending.push(Store { variable, element, place, value });
    }

    /// The last pending store goes where no earlier one goes.
    fn written_once(&self, span: Span) -> Result<(), Halt> {
        let (last, earlier) = self.pending.split_last().expect("just pushed");
        let twice = earlier.iter().any(|other| other.place == last.place);
        if twice { at(span, Err(FaultKind::DoubleWrite)) } else { Ok(()) }
    }

    /// Makes the pending stores.
    fn commit(&mut self) {
        for store in self.pending.drain(..) {
            let old = std::mem::replace(&mut self.values[store.place], store.value);
            if self.system.program.variable(store.variable).role == Role::Temporary {
                continue;
            }
            let Changes { target, undo } =
                self.state.as_mut().expect("verified: computations store temporaries only");
            undo.push((store.place, old));
            write(self.system, target, &store);
        }
    }
}

fn write(system: &Interpreter, target: &mut [u64], store: &Store) {
    system.layout.fields[store.variable.index()].write(target, store.element, store.value);
}
