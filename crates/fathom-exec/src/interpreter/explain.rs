//! Which values made a model misbehave, or a condition what it is?
//!
//! A fault says where it happened and of what kind it is. Here the action is run again up to that place, and the expression that stands there is looked at with the values it met. Cold, and for
//! people: what cannot be told is left out.

use fathom_model::expression::{
    BinaryOperator, Computation, Domain, Expression, ExpressionKind, FaultKind, UnaryOperator,
};
use fathom_model::program::{Action, Chosen, Command, Composition, Place, Role, Statement, VariableId};
use fathom_model::steps::Fault;

use super::evaluate::{evaluate, locate};
use super::halt::{Halt, Trouble};
use super::{Interpreter, execute, synchronous};

/// How many values are told.
const VALUES_MAX: usize = 12;

/// Why something is as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reason {
    /// What was wrong about the value, in words.
    pub(super) detail: Option<String>,
    /// Names and values that were read.
    pub(super) values: Vec<(String, String)>,
}

/// What stands where a fault happened.
enum Found<'a> {
    Store(&'a Place, Option<&'a Expression>),
    Place(&'a Place),
    Expression(&'a Expression),
}

/// Why a step from a record faults.
pub(super) fn fault(system: &Interpreter, source: &[u64], fault: Fault) -> Reason {
    let members = match system.program.composition {
        Composition::Asynchronous => vec![fault.action],
        Composition::Synchronous => synchronous::members(system, fault.action),
    };
    let actions = members.iter().map(|number| &system.program.actions[*number as usize]);
    let reasons = actions.filter_map(|action| in_action(system, source, action, fault));
    reasons.into_iter().next().unwrap_or_default()
}

fn in_action(system: &Interpreter, source: &[u64], action: &Action, fault: Fault) -> Option<Reason> {
    let trouble = Trouble { kind: fault.kind, span: fault.span };
    let candidates = in_command(&action.command, trouble);
    let mut values = Vec::new();
    system.unpack(source, &mut values);
    let passes = system.guard(action, &mut values).is_ok();
    // In a joint step all read the values from before it.
    if passes && system.program.composition == Composition::Asynchronous {
        let _ = execute::run_to_fault(system, &action.command.body, &mut values);
    }
    let mut teller = Teller { system, values: &mut values };
    let found = teller.met(candidates, trouble)?;
    Some(teller.reason(&found, fault.kind))
}

/// What an action has chosen out of multisets: names and elements, as they are before the step. What has no value is left out.
pub(super) fn chosen(system: &Interpreter, source: &[u64], action: &Action) -> Vec<(String, String)> {
    let mut values = Vec::new();
    if action.command.chosen.is_empty() {
        return values;
    }
    let mut unpacked = Vec::new();
    system.unpack(source, &mut unpacked);
    system.bind(&action.command, &action.arguments, &mut unpacked);
    let mut teller = Teller { system, values: &mut unpacked };
    for Chosen { name, parts } in &action.command.chosen {
        let told = parts.iter().filter_map(|(field, place)| {
            let word = teller.held(place)?;
            Some(if field.is_empty() { word } else { format!("{field} = {word}") })
        });
        let told: Vec<String> = told.collect();
        match parts.as_slice() {
            [(field, _)] if field.is_empty() => values.push((name.clone(), told.concat())),
            _ => values.push((name.clone(), format!("({})", told.join(", ")))),
        }
    }
    values
}

/// Why a condition has the value that it has in a state, or faults there.
pub(super) fn condition(
    system: &Interpreter,
    values: &mut [i64],
    condition: &Expression,
    fault: Option<Trouble>,
) -> Reason {
    let mut teller = Teller { system, values };
    match fault {
        Some(trouble) => {
            let _ = evaluate(system, teller.values, condition);
            let found = teller.met(vec![Found::Expression(condition)], trouble);
            found.map_or_else(Reason::default, |found| teller.reason(&found, trouble.kind))
        }
        None => {
            let mut read = Vec::new();
            teller.decisive(condition, &mut read);
            Reason { detail: None, values: read }
        }
    }
}

/// What may have faulted like that, in order: stores, places, and whole expressions. A quantifier over a few values is written out, so one place in the source may stand for several.
fn in_command(command: &Command, trouble: Trouble) -> Vec<Found<'_>> {
    let guard = command.guard.iter().filter(|guard| in_expression(guard, trouble).is_some());
    let mut found: Vec<Found<'_>> = guard.map(Found::Expression).collect();
    found.extend(in_body(&command.body, trouble));
    found
}

fn in_body(body: &[Statement], trouble: Trouble) -> Vec<Found<'_>> {
    let Trouble { kind, span } = trouble;
    let mut found = Vec::new();
    Statement::for_each(body, &mut |statement| {
        let here = match statement {
            Statement::Assign(assignments) => assignments.iter().find_map(|it| {
                let stores = it.span == span && matches!(kind, FaultKind::Range | FaultKind::DoubleWrite);
                let misses = it.place.span == span && kind == FaultKind::Index;
                let store = stores.then_some(Found::Store(&it.place, Some(&it.value)));
                store.or_else(|| misses.then_some(Found::Place(&it.place)))
            }),
            Statement::Fill { place, value, span: at, .. } if *at == span && kind == FaultKind::Range => {
                Some(Found::Store(place, value.as_ref()))
            }
            _ => None,
        };
        found.extend(here);
        statement.for_each_expression(&mut |expression| {
            if in_expression(expression, trouble).is_some() {
                found.push(Found::Expression(expression));
            }
        });
    });
    found
}

/// The innermost expression there that can fault in this way, and the first if there are several.
fn in_expression(expression: &Expression, trouble: Trouble) -> Option<Found<'_>> {
    let Trouble { kind, span } = trouble;
    if let ExpressionKind::Compute(computation) = &expression.kind {
        let Computation { body, value, .. } = &**computation;
        return in_body(body, trouble).into_iter().next().or_else(|| in_expression(value, trouble));
    }
    let mut found = None;
    expression
        .for_each_operand(&mut |operand| found = found.take().or_else(|| in_expression(operand, trouble)));
    let can_fault = match (&expression.kind, kind) {
        (ExpressionKind::Convert(..), FaultKind::Range) => true,
        (ExpressionKind::Checked(_, of, _), kind) => *of == kind,
        (ExpressionKind::Element(..), FaultKind::Index | FaultKind::Undefined) => true,
        (ExpressionKind::Read(_), FaultKind::Undefined) => true,
        (ExpressionKind::Unary(..), FaultKind::Overflow) => true,
        (ExpressionKind::Binary(..), FaultKind::Division | FaultKind::Shift | FaultKind::Overflow) => true,
        _ => false,
    };
    found.or_else(|| (can_fault && expression.span == span).then_some(Found::Expression(expression)))
}

/// Reads values, and has words for them.
struct Teller<'a> {
    system: &'a Interpreter,
    values: &'a mut [i64],
}

impl Teller<'_> {
    /// Which of several has faulted: an expression that does so again with the values it met, and within it the operand that does, down to the innermost.
    fn met<'a>(&mut self, mut candidates: Vec<Found<'a>>, trouble: Trouble) -> Option<Found<'a>> {
        let again = candidates.iter().position(|candidate| match candidate {
            Found::Expression(expression) => self.faults(expression, trouble),
            _ => false,
        });
        match candidates.swap_remove(again.or((!candidates.is_empty()).then_some(0))?) {
            Found::Expression(expression) => self.innermost(expression, trouble),
            found => Some(found),
        }
    }

    fn innermost<'a>(&mut self, expression: &'a Expression, trouble: Trouble) -> Option<Found<'a>> {
        if let ExpressionKind::Compute(computation) = &expression.kind {
            let Computation { body, value, .. } = &**computation;
            let mut candidates = in_body(body, trouble);
            candidates.extend(in_expression(value, trouble).map(|_| Found::Expression(value)));
            return self.met(candidates, trouble);
        }
        let mut operand = None;
        expression.for_each_operand(&mut |it| {
            if operand.is_none() && self.faults(it, trouble) {
                operand = Some(it);
            }
        });
        match operand {
            Some(operand) => self.innermost(operand, trouble),
            None => in_expression(expression, trouble),
        }
    }

    /// The word for what a place holds; none if it has no value.
    fn held(&mut self, place: &Place) -> Option<String> {
        let at = locate(self.system, self.values, place, 1).ok()?;
        let value = self.values[at];
        let undefined = self.system.program.variable(place.variable).undefined();
        (undefined != Some(value)).then(|| self.word(place.variable, value))
    }

    fn faults(&mut self, expression: &Expression, trouble: Trouble) -> bool {
        evaluate(self.system, self.values, expression) == Err(Halt::Fault(trouble))
    }

    fn reason(&mut self, found: &Found<'_>, kind: FaultKind) -> Reason {
        let mut read = Vec::new();
        let detail = match found {
            Found::Store(place, value) => {
                value.iter().for_each(|value| self.reads(value, &mut read));
                self.store(place, *value, kind)
            }
            Found::Place(place) => {
                place.index.iter().for_each(|index| self.reads(index, &mut read));
                place.index.as_ref().and_then(|index| self.no_element(place.variable, index))
            }
            Found::Expression(expression) => {
                self.operands(expression, &mut read);
                self.expression(expression)
            }
        };
        Reason { detail, values: read }
    }

    fn value(&mut self, expression: &Expression) -> Option<i64> {
        evaluate(self.system, self.values, expression).ok()
    }

    fn store(&mut self, place: &Place, value: Option<&Expression>, kind: FaultKind) -> Option<String> {
        let first = locate(self.system, self.values, place, 1).ok()?;
        let name = self.name(place.variable, first - self.system.bases[place.variable.index()]);
        if kind == FaultKind::DoubleWrite {
            return Some(format!("`{name}` is written by two processes"));
        }
        let (value, domain) = (self.value(value?)?, self.system.program.variable(place.variable).domain);
        Some(format!("`{name}` would become {value}, outside {}", range(domain)))
    }

    fn no_element(&mut self, array: VariableId, index: &Expression) -> Option<String> {
        let variable = self.system.program.variable(array);
        let last = i64::from(variable.elements()) - 1;
        Some(format!("`{}` has no element {}: it has 0..{last}", variable.name, self.value(index)?))
    }

    fn expression(&mut self, expression: &Expression) -> Option<String> {
        match &expression.kind {
            ExpressionKind::Convert(domain, operand) => {
                Some(format!("the value would be {}, outside {}", self.value(operand)?, range(*domain)))
            }
            ExpressionKind::Checked(domain, FaultKind::Index, operand) => {
                Some(format!("the index is {}, outside {}", self.value(operand)?, range(*domain)))
            }
            ExpressionKind::Checked(domain, _, operand) => {
                Some(format!("the value is {}, outside {}", self.value(operand)?, range(*domain)))
            }
            ExpressionKind::Element(array, index) => {
                let at = self.value(index)?;
                let inside = (0..i64::from(self.system.program.variable(*array).elements())).contains(&at);
                match inside {
                    true => Some(format!("`{}` has no value", self.name(*array, at as usize))),
                    false => self.no_element(*array, index),
                }
            }
            ExpressionKind::Read(variable) => Some(format!("`{}` has no value", self.name(*variable, 0))),
            ExpressionKind::Binary(_, left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Some(format!("of {left} and {right}"))
            }
            _ => None,
        }
    }

    /// Adds what decides a condition: of several that must all be true, the one that is not.
    fn decisive(&mut self, condition: &Expression, read: &mut Vec<(String, String)>) {
        let (operands, decides): (Vec<&Expression>, bool) = match &condition.kind {
            ExpressionKind::All(operands) => (operands.iter().collect(), false),
            ExpressionKind::Any(operands) => (operands.iter().collect(), true),
            // Quantifiers over values that are alike: all of them are evaluated.
            ExpressionKind::Binary(BinaryOperator::BitAnd, left, right) => (vec![left, right], false),
            ExpressionKind::Binary(BinaryOperator::BitOr, left, right) => (vec![left, right], true),
            ExpressionKind::Unary(UnaryOperator::Not, operand) => return self.decisive(operand, read),
            _ => return self.reads(condition, read),
        };
        let decided = operands.iter().find(|it| self.value(it).is_some_and(|value| (value != 0) == decides));
        match decided {
            Some(operand) => self.decisive(operand, read),
            None => operands.into_iter().for_each(|operand| self.decisive(operand, read)),
        }
    }

    fn operands(&mut self, expression: &Expression, read: &mut Vec<(String, String)>) {
        expression.for_each_operand(&mut |operand| self.reads(operand, read));
    }

    /// Adds the places that an expression reads, and what they hold.
    fn reads(&mut self, expression: &Expression, read: &mut Vec<(String, String)>) {
        match &expression.kind {
            ExpressionKind::Read(variable) => self.add(*variable, 0, read),
            ExpressionKind::Element(variable, index) => {
                self.reads(index, read);
                let length = i64::from(self.system.program.variable(*variable).elements());
                if let Some(index) = self.value(index).filter(|index| (0..length).contains(index)) {
                    self.add(*variable, index as usize, read);
                }
            }
            ExpressionKind::Compute(computation) => self.instance(expression, computation, read),
            _ => self.operands(expression, read),
        }
    }

    /// What a quantifier met where it was decided before its end: its names have those values still.
    fn instance(
        &mut self,
        expression: &Expression,
        computation: &Computation,
        read: &mut Vec<(String, String)>,
    ) {
        let (mut leaves, mut inner) = (false, Vec::new());
        Statement::for_each(&computation.body, &mut |statement| {
            leaves |= matches!(statement, Statement::Leave(_));
            if let Statement::If { arms, .. } = statement {
                inner.extend(arms.iter().map(|(condition, _)| condition));
            }
        });
        let begins = computation.body.first().and_then(|statement| match statement {
            Statement::Assign(assignments) => assignments.first(),
            _ => None,
        });
        let at_first = begins.and_then(|assignment| self.value(&assignment.value));
        let is_decided = at_first.is_some() && self.value(expression) != at_first;
        if leaves && is_decided {
            let met =
                inner.into_iter().find(|condition| self.value(condition).is_some_and(|value| value != 0));
            met.into_iter().for_each(|condition| self.decisive(condition, read));
        }
    }

    fn add(&mut self, variable: VariableId, element: usize, read: &mut Vec<(String, String)>) {
        let value = self.values[self.system.bases[variable.index()] + element];
        let pair = (self.name(variable, element), self.word(variable, value));
        if read.len() < VALUES_MAX && !read.contains(&pair) {
            read.push(pair);
        }
    }

    /// The name of an element, as the model has it.
    fn name(&self, variable: VariableId, element: usize) -> String {
        let (program, it) = (&self.system.program, self.system.program.variable(variable));
        let places = program.words.as_deref().and_then(|words| words.places.get(variable.index()));
        match places.and_then(|places| places.get(element)).filter(|_| it.role != Role::Temporary) {
            Some(name) => name.clone(),
            None if it.length.is_some() => format!("{}[{element}]", it.name),
            None => it.name.clone(),
        }
    }

    /// The word for a value of a variable.
    fn word(&self, variable: VariableId, value: i64) -> String {
        let (program, it) = (&self.system.program, self.system.program.variable(variable));
        if it.undefined() == Some(value) {
            return "-".to_owned();
        }
        let place = usize::try_from(value.wrapping_sub(it.domain.low)).ok();
        let word = match it.role {
            Role::Location(process) => place
                .and_then(|place| program.process(process).locations.get(place))
                .map(|it| it.name.clone()),
            _ => {
                let words = program.words.as_deref().and_then(|words| words.values.get(variable.index()));
                words.zip(place).and_then(|(words, place)| words.get(place).cloned())
            }
        };
        word.unwrap_or_else(|| value.to_string())
    }
}

fn range(domain: Domain) -> String {
    format!("{}..{}", domain.low, domain.high)
}
