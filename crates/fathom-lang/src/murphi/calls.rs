//! Which calls stand in statements, and how often does a function call itself?

use super::tree::{
    Call, FunctionId, Place, Quantifier, Root, Statement, StatementKind, Step, Value, ValueKind, Values,
};

/// How many calls of a function stand in statements.
pub(crate) fn calls_of(body: &[Statement], function: FunctionId) -> usize {
    let mut count = 0;
    for statement in body {
        visit_statement(statement, &mut |call| count += usize::from(call.function == function));
    }
    count
}

/// The bodies inside a statement.
pub(crate) fn bodies(statement: &Statement) -> Vec<&[Statement]> {
    match &statement.kind {
        StatementKind::If(arms, otherwise) => {
            arms.iter().map(|(_, body)| body.as_slice()).chain([otherwise.as_slice()]).collect()
        }
        StatementKind::Switch(_, cases, otherwise) => {
            cases.iter().map(|(_, body)| body.as_slice()).chain([otherwise.as_slice()]).collect()
        }
        StatementKind::For(_, body) | StatementKind::While(_, body) | StatementKind::Alias(_, body) => {
            vec![body]
        }
        _ => Vec::new(),
    }
}

/// Visits the calls of a statement and of those inside it.
pub(crate) fn visit_statement(statement: &Statement, visit: &mut dyn FnMut(&Call)) {
    match &statement.kind {
        StatementKind::Assign(place, value)
        | StatementKind::MultisetAdd(value, place)
        | StatementKind::MultisetRemove(value, place) => {
            visit_place(place, visit);
            visit_value(value, visit);
        }
        StatementKind::If(arms, _) => arms.iter().for_each(|(condition, _)| visit_value(condition, visit)),
        StatementKind::Switch(value, cases, _) => {
            visit_value(value, visit);
            cases.iter().flat_map(|(values, _)| values).for_each(|value| visit_value(value, visit));
        }
        StatementKind::For(quantifier, _) => visit_quantifier(quantifier, visit),
        StatementKind::While(condition, _) => visit_value(condition, visit),
        StatementKind::Alias(aliases, _) => aliases.iter().for_each(|alias| visit_value(&alias.value, visit)),
        StatementKind::Call(call) => visit_call(call, visit),
        StatementKind::Clear(place) | StatementKind::Undefine(place) => visit_place(place, visit),
        StatementKind::Property(property) => visit_value(&property.condition, visit),
        StatementKind::MultisetRemoveWhere(_, place, condition) => {
            visit_place(place, visit);
            visit_value(condition, visit);
        }
        StatementKind::Put(value) | StatementKind::Return(value) => {
            value.iter().for_each(|value| visit_value(value, visit));
        }
        StatementKind::Error(_) => {}
    }
    bodies(statement).into_iter().flatten().for_each(|statement| visit_statement(statement, visit));
}

fn visit_call(call: &Call, visit: &mut dyn FnMut(&Call)) {
    visit(call);
    call.arguments.iter().for_each(|argument| visit_value(argument, visit));
}

fn visit_quantifier(quantifier: &Quantifier, visit: &mut dyn FnMut(&Call)) {
    if let Values::Steps { from, to, by } = &quantifier.values {
        [Some(from), Some(to), by.as_ref()].into_iter().flatten().for_each(|value| visit_value(value, visit));
    }
}

fn visit_place(place: &Place, visit: &mut dyn FnMut(&Call)) {
    if let Root::Value(value) = &place.root {
        visit_value(value, visit);
    }
    for step in &place.steps {
        if let Step::Element(index) = step {
            visit_value(index, visit);
        }
    }
}

fn visit_value(value: &Value, visit: &mut dyn FnMut(&Call)) {
    match &value.kind {
        ValueKind::Constant(_) | ValueKind::Undefined => {}
        ValueKind::Read(place) | ValueKind::IsUndefined(place) => visit_place(place, visit),
        ValueKind::Convert(operand) | ValueKind::Unary(_, operand) | ValueKind::IsMember(operand, _) => {
            visit_value(operand, visit);
        }
        ValueKind::Binary(_, left, right) | ValueKind::Same(left, right) => {
            visit_value(left, visit);
            visit_value(right, visit);
        }
        ValueKind::All(operands) | ValueKind::Any(operands) => {
            operands.iter().for_each(|operand| visit_value(operand, visit));
        }
        ValueKind::Conditional(operands) => operands.iter().for_each(|operand| visit_value(operand, visit)),
        ValueKind::Quantified(_, quantifier, condition) => {
            visit_quantifier(quantifier, visit);
            visit_value(condition, visit);
        }
        ValueKind::Call(call) => visit_call(call, visit),
        ValueKind::MultisetCount(_, place, condition) => {
            visit_place(place, visit);
            visit_value(condition, visit);
        }
    }
}
