//! What does an action do to one component of a state, as far as its text says?

use fathom_model::expression::{BinaryOperator, Domain, Expression, ExpressionKind, Overflow};
use fathom_model::layout::{Field, Layout};
use fathom_model::program::{Action, Assignment, Program, Role, Statement, VariableId};

/// A variable, or an element of an array.
#[derive(Clone, Debug)]
pub(super) struct Component {
    pub(super) name: String,
    pub(super) variable: VariableId,
    pub(super) element: u32,
    pub(super) field: Field,
}

/// What an action does to a component, whenever it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effect {
    pub(super) change: Change,
    /// Values that the component may have before.
    pub(super) from: Domain,
    /// Whether it does that always; if not, the component may also stay as it is.
    pub(super) certain: bool,
}

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It stays.
    None,
    /// It is one of these, whatever it was.
    Set(Domain),
    /// It is what it was and this number, which is within the declared values.
    Add(i64),
}

/// Elements of an array that are looked at: a larger one would be most of a measure.
const ELEMENTS_MAX: u32 = 64;

/// The components that a measure may be made of.
pub(super) fn components(program: &Program, layout: &Layout) -> Vec<Component> {
    let fields = program.variables.iter().zip(&layout.fields).enumerate();
    fields
        .filter(|(_, (variable, field))| {
            variable.role != Role::Temporary && field.element_bits > 0 && field.elements <= ELEMENTS_MAX
        })
        .flat_map(|(index, (variable, field))| {
            (0..field.elements).map(move |element| Component {
                name: match variable.length {
                    Some(_) => format!("{}[{element}]", variable.name),
                    None => variable.name.clone(),
                },
                variable: VariableId(index as u32),
                element,
                field: *field,
            })
        })
        .collect()
}

/// What an action does to a component.
pub(super) fn effect(program: &Program, layout: &Layout, action: &Action, component: &Component) -> Effect {
    let whole = component.field.domain;
    if let Role::Location(process) = program.variable(component.variable).role {
        return match action.movers.iter().find(|mover| mover.process == process) {
            Some(mover) => Effect {
                change: Change::Set(point(i64::from(mover.to))),
                from: point(i64::from(mover.from)),
                certain: true,
            },
            None => Effect { change: Change::None, from: whole, certain: true },
        };
    }
    let from = match &action.command.guard {
        Some(guard) => narrowed(guard, component, whole),
        None => whole,
    };
    let mut touching = assignments(action).filter(|assignment| may_touch(assignment, component));
    let (first, more) = (touching.next(), touching.next().is_some());
    let (change, certain) = match first {
        None => (Change::None, true),
        // Which of several counts, and what it reads, is not looked into.
        Some(_) if more => (Change::Set(whole), false),
        Some(assignment) => {
            let change = change(program, layout, action, component, (from, &assignment.value));
            (change, surely_touches(assignment, component))
        }
    };
    Effect { change, from, certain }
}

fn point(value: i64) -> Domain {
    Domain { low: value, high: value }
}

fn assignments(action: &Action) -> impl Iterator<Item = &Assignment> {
    action.command.body.iter().flat_map(|statement| match statement {
        Statement::Assign(assignments) => &assignments[..],
        _ => &[],
    })
}

/// The index of a place, if the text says it.
fn known_index(assignment: &Assignment) -> Option<i64> {
    match &assignment.place.index {
        None => Some(0),
        Some(Expression { kind: ExpressionKind::Constant(index), .. }) => Some(*index),
        Some(_) => None,
    }
}

fn may_touch(assignment: &Assignment, component: &Component) -> bool {
    assignment.place.variable == component.variable
        && known_index(assignment).is_none_or(|index| index == i64::from(component.element))
}

fn surely_touches(assignment: &Assignment, component: &Component) -> bool {
    known_index(assignment) == Some(i64::from(component.element))
}

/// How the value of an assignment comes about.
fn change(
    program: &Program,
    layout: &Layout,
    action: &Action,
    component: &Component,
    (from, value): (Domain, &Expression),
) -> Change {
    let whole = component.field.domain;
    let declared = program.variable(component.variable).domain;
    let add = |amount: i64| {
        let ends = (from.low.checked_add(amount), from.high.checked_add(amount));
        match (program.overflow, ends) {
            // What does not fit is a fault, and no step.
            (Overflow::Fault, _) => Change::Add(amount),
            (_, (Some(low), Some(high))) if declared.contains(low) && declared.contains(high) => {
                Change::Add(amount)
            }
            _ => Change::Set(whole),
        }
    };
    match &value.kind {
        ExpressionKind::Constant(constant) if declared.contains(*constant) => Change::Set(point(*constant)),
        _ if is_read(value, component) => Change::None,
        ExpressionKind::Read(other) => Change::Set(match read_values(layout, action, *other) {
            Some(Domain { low, high }) if declared.contains(low) && declared.contains(high) => {
                let (low, high) = (low.max(whole.low), high.min(whole.high));
                if low <= high { Domain { low, high } } else { whole }
            }
            _ => whole,
        }),
        ExpressionKind::Binary(BinaryOperator::Add, left, right) => match (&left.kind, &right.kind) {
            (ExpressionKind::Constant(amount), _) if is_read(right, component) => add(*amount),
            (_, ExpressionKind::Constant(amount)) if is_read(left, component) => add(*amount),
            _ => Change::Set(whole),
        },
        ExpressionKind::Binary(BinaryOperator::Subtract, left, right) => match &right.kind {
            ExpressionKind::Constant(amount) if is_read(left, component) && *amount > i64::MIN => {
                add(-amount)
            }
            _ => Change::Set(whole),
        },
        _ => Change::Set(whole),
    }
}

/// The values of a scalar that an assignment reads: those that the analysis of values knows, as far as the guard allows them. None if something may have assigned it before it is read.
fn read_values(layout: &Layout, action: &Action, variable: VariableId) -> Option<Domain> {
    let assigned = assignments(action).any(|assignment| assignment.place.variable == variable);
    (!assigned).then(|| {
        let field = layout.fields[variable.index()];
        let component = Component { name: String::new(), variable, element: 0, field };
        action.command.guard.as_ref().map_or(field.domain, |guard| narrowed(guard, &component, field.domain))
    })
}

fn is_read(expression: &Expression, component: &Component) -> bool {
    match &expression.kind {
        ExpressionKind::Read(variable) => *variable == component.variable && component.element == 0,
        ExpressionKind::Element(variable, index) => {
            *variable == component.variable
                && index.kind == ExpressionKind::Constant(i64::from(component.element))
        }
        _ => false,
    }
}

/// The values of a component that a condition allows, as far as comparisons with constants say.
fn narrowed(condition: &Expression, component: &Component, values: Domain) -> Domain {
    match &condition.kind {
        ExpressionKind::All(operands) => {
            operands.iter().fold(values, |values, operand| narrowed(operand, component, values))
        }
        ExpressionKind::Binary(operator, left, right) => match (&left.kind, &right.kind) {
            (_, ExpressionKind::Constant(constant)) if is_read(left, component) => {
                compared(values, *operator, *constant)
            }
            (ExpressionKind::Constant(constant), _) if is_read(right, component) => {
                compared(values, mirrored(*operator), *constant)
            }
            _ => values,
        },
        _ => values,
    }
}

/// The values of an interval of which a comparison is true; all of it if there are none, which is never wrong.
fn compared(values: Domain, operator: BinaryOperator, constant: i64) -> Domain {
    let (low, high) = match operator {
        BinaryOperator::Equal => (constant, constant),
        BinaryOperator::Less => (values.low, constant.saturating_sub(1)),
        BinaryOperator::LessEqual => (values.low, constant),
        BinaryOperator::Greater => (constant.saturating_add(1), values.high),
        BinaryOperator::GreaterEqual => (constant, values.high),
        BinaryOperator::NotEqual if constant == values.low => (values.low.saturating_add(1), values.high),
        BinaryOperator::NotEqual if constant == values.high => (values.low, values.high.saturating_sub(1)),
        _ => (values.low, values.high),
    };
    let (low, high) = (low.max(values.low), high.min(values.high));
    if low <= high { Domain { low, high } } else { values }
}

fn mirrored(operator: BinaryOperator) -> BinaryOperator {
    match operator {
        BinaryOperator::Less => BinaryOperator::Greater,
        BinaryOperator::LessEqual => BinaryOperator::GreaterEqual,
        BinaryOperator::Greater => BinaryOperator::Less,
        BinaryOperator::GreaterEqual => BinaryOperator::LessEqual,
        other => other,
    }
}
