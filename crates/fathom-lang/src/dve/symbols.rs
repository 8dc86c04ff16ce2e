//! What stands behind each name of a model?

use std::collections::HashMap;

use fathom_model::expression::Domain;
use fathom_model::program::VariableId;
use fathom_model::span::Span;

use crate::diagnostic::quoted;
use crate::nearest::nearest;

/// The names of a model.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// The global scope.
    pub(crate) names: HashMap<String, Symbol>,
    pub(crate) variables: Vec<VariableSymbol>,
    pub(crate) channels: Vec<ChannelSymbol>,
    /// In the order of the text, the property process among them.
    pub(crate) processes: Vec<ProcessSymbol>,
}

/// What a global name stands for, by its place in the lists of [`Symbols`].
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    Variable(usize),
    Channel(usize),
    Process(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct VariableSymbol {
    pub(crate) name: String,
    pub(crate) constant: bool,
    pub(crate) meaning: Meaning,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Meaning {
    Constant(i64),
    Scalar(VariableId),
    Array(VariableId, u32),
}

#[derive(Clone, Debug)]
pub(crate) struct ChannelSymbol {
    pub(crate) name: String,
    pub(crate) span: Span,
    /// The types of what a message holds; none if the channel is untyped.
    pub(crate) fields: Option<Vec<Domain>>,
    /// Where messages wait, if the channel is buffered.
    pub(crate) buffer: Option<Buffer>,
}

#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) capacity: u32,
    pub(crate) length: VariableId,
    /// One array for each field.
    pub(crate) fields: Vec<VariableId>,
}

#[derive(Clone, Debug)]
pub(crate) struct ProcessSymbol {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) variables: HashMap<String, usize>,
    pub(crate) states: HashMap<String, u32>,
    /// The variable that holds where it is; none for the property process.
    pub(crate) location: Option<VariableId>,
}

/// How many states of a process a message lists.
const STATES_LISTED: usize = 12;

impl ProcessSymbol {
    /// Its states, in the order of the text, as a message lists them; none if it has none.
    pub(crate) fn states_in_words(&self) -> Option<String> {
        let mut states: Vec<(u32, &str)> = self.states.iter().map(|(name, code)| (*code, &**name)).collect();
        states.sort_unstable();
        let names: Vec<String> = states.iter().take(STATES_LISTED).map(|(_, name)| quoted(name)).collect();
        let more = if states.len() > STATES_LISTED { ", ..." } else { "" };
        (!names.is_empty()).then(|| format!("its states are {}{more}", names.join(", ")))
    }
}

impl Symbols {
    /// What a user may have meant by a state that a process does not have: the nearest one, or all of them. None if there is no such process.
    pub fn suggest_state(&self, process: &str, state: &str) -> Option<String> {
        let Some(&Symbol::Process(process)) = self.names.get(process) else { return None };
        let process = &self.processes[process];
        match nearest(state, process.states.keys().map(|name| &**name)) {
            Some(near) => Some(format!("did you mean {}?", quoted(near))),
            None => process.states_in_words(),
        }
    }

    /// The location variable of a process and the code of one of its states, if both exist.
    pub fn state(&self, process: &str, state: &str) -> Option<(VariableId, u32)> {
        let Some(&Symbol::Process(process)) = self.names.get(process) else { return None };
        let process = &self.processes[process];
        Some((process.location?, *process.states.get(state)?))
    }

    /// Whether a process of the system has that name.
    pub fn is_process(&self, name: &str) -> bool {
        let Some(&Symbol::Process(process)) = self.names.get(name) else { return false };
        self.processes[process].location.is_some()
    }
}
