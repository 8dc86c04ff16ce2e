//! What of a correct model looks like a mistake?
//!
//! Only what is cheap and seldom wrong: variables that nothing uses, states that no transition leads to, channels with one
//! end, acceptance where nobody looks.

use std::collections::HashMap;

use fathom_model::program::{Program, Role, VariableId};

use super::ast::{self, Declaration, Direction, Model};
use super::symbols::{Meaning, Symbols};
use super::typecheck::Usage;
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};

/// Adds warnings about a model that has no errors.
pub(crate) fn lint(
    model: &Model<'_>,
    symbols: &Symbols,
    program: &Program,
    usage: &Usage,
    diagnostics: &mut Diagnostics,
) {
    unused_variables(symbols, program, usage, diagnostics);
    one_ended_channels(model, diagnostics);
    let property = model.system.as_ref().and_then(|system| system.property);
    for process in &model.processes {
        unreached_states(process, diagnostics);
        let is_property = property.is_some_and(|property| property.text == process.name.text);
        if let Some(list) = process.accepting.as_ref().filter(|_| !is_property) {
            let diagnostic = Diagnostic::warning("`accept` has no effect here").at(list.keyword, "");
            let note = format!("process {} is not the property of the system", quoted(process.name.text));
            diagnostics.push(diagnostic.note(note));
        }
    }
}

fn unused_variables(symbols: &Symbols, program: &Program, usage: &Usage, diagnostics: &mut Diagnostics) {
    for (number, symbol) in symbols.variables.iter().enumerate() {
        if !usage.is_used(number) && !symbol.constant {
            let owner = match symbol.meaning {
                Meaning::Scalar(id) | Meaning::Array(id, _) => owner(program, id),
                Meaning::Constant(_) => None,
            };
            let of = owner.map_or(String::new(), |owner| format!(" of process {}", quoted(owner)));
            let message = format!("the variable {}{of} is never used", quoted(&symbol.name));
            diagnostics.push(Diagnostic::warning(message).at(symbol.span, ""));
        }
    }
}

/// The name of the process that a variable belongs to.
fn owner(program: &Program, variable: VariableId) -> Option<&str> {
    match program.variable(variable).role {
        Role::Local(process) => Some(&program.process(process).name),
        _ => None,
    }
}

/// Which processes use an end of a channel: none, one, or several.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Users {
    #[default]
    None,
    One(usize),
    Several,
}

impl Users {
    fn add(&mut self, process: usize) {
        *self = match *self {
            Users::None => Users::One(process),
            Users::One(same) if same == process => Users::One(same),
            _ => Users::Several,
        };
    }
}

/// Channels whose use can never come to anything because the other end is missing. On a buffered channel a process may talk to
/// itself, and a message may stay for ever: only a buffer that nobody fills is odd.
fn one_ended_channels(model: &Model<'_>, diagnostics: &mut Diagnostics) {
    let mut users: HashMap<&str, [Users; 2]> = HashMap::new();
    for (number, process) in model.processes.iter().enumerate() {
        for sync in process.transitions.iter().filter_map(|transition| transition.sync.as_ref()) {
            users.entry(sync.channel.text).or_default()[usize::from(sync.direction == Direction::Receive)]
                .add(number);
        }
    }
    for declaration in &model.declarations {
        let Declaration::Channel(channel) = declaration else { continue };
        let [senders, receivers] = users.get(channel.name.text).copied().unwrap_or_default();
        let fault = match (senders, receivers) {
            (Users::None, Users::None) => "is never used",
            (Users::None, _) => "has no sender",
            (_, Users::None) => "has no receiver",
            (Users::One(sender), Users::One(receiver))
                if sender == receiver && channel.capacity.is_none() =>
            {
                "connects a process only with itself, which never happens"
            }
            _ => continue,
        };
        let message = format!("the channel {} {fault}", quoted(channel.name.text));
        diagnostics.push(Diagnostic::warning(message).at(channel.name.span, ""));
    }
}

/// States that the transitions do not lead to, whatever their guards say.
fn unreached_states(process: &ast::Process<'_>, diagnostics: &mut Diagnostics) {
    let codes: HashMap<&str, usize> =
        process.states.iter().enumerate().map(|(code, state)| (state.text, code)).collect();
    let code = |name: &str| codes.get(name).copied();
    let mut targets: Vec<Vec<usize>> = vec![Vec::new(); process.states.len()];
    for transition in &process.transitions {
        if let (Some(from), Some(to)) = (code(transition.from.text), code(transition.to.text)) {
            targets[from].push(to);
        }
    }
    let mut reached = vec![false; process.states.len()];
    let mut open: Vec<usize> = process.initial.and_then(|initial| code(initial.text)).into_iter().collect();
    while let Some(state) = open.pop() {
        if !std::mem::replace(&mut reached[state], true) {
            open.extend(&targets[state]);
        }
    }
    for (state, _) in process.states.iter().zip(reached).filter(|(_, reached)| !reached) {
        let message =
            format!("no transition leads to state {} of {}", quoted(state.text), quoted(process.name.text));
        diagnostics.push(Diagnostic::warning(message).at(state.span, ""));
    }
}
