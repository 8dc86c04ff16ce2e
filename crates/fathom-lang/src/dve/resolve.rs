//! Which names does a model declare, and what stands behind each?
//!
//! Global names (variables, channels, processes) share one scope. A local variable may hide a global variable, but
//! not a channel or a process. States are named only together with their process, so they may be called like anything else.
//! Variables of the program come in the order of the text: globals and channel buffers, then for each process its location and
//! its locals. After an error a name still stands for something, so that one mistake is reported once.

use std::collections::HashMap;

use fathom_model::expression::Domain;
use fathom_model::program::{Location, Process, ProcessId, Program, Role, Start, Variable, VariableId};
use fathom_model::span::Span;

use super::DveOptions;
use super::ast::{self, Declaration, Initial, Model, Name};
use super::symbols::{Buffer, ChannelSymbol, Meaning, ProcessSymbol, Symbol, Symbols, VariableSymbol};
use super::typecheck::{Checker, Usage};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};

/// The widest record of a model, in bits: 8 KiB for one state is far beyond what can be explored.
const RECORD_BITS_MAX: u64 = 65_536;
/// The longest array.
const ARRAY_LENGTH_MAX: i64 = 65_536;
/// The largest buffer of a channel: a receive moves every message up, and each move is a statement of its own.
const CAPACITY_MAX: i64 = 1_024;

/// The names of a model, and a program that has its variables and processes but no actions yet.
pub(crate) fn resolve(
    model: &Model<'_>,
    options: &DveOptions,
    usage: &mut Usage,
    diagnostics: &mut Diagnostics,
) -> (Symbols, Program) {
    let program = Program { starts: vec![Start::default()], ..Program::default() };
    let mut resolver =
        Resolver { symbols: Symbols::default(), program, bits: 0, options, usage, diagnostics };
    for declaration in &model.declarations {
        match declaration {
            Declaration::Variable(variable) => resolver.global(variable),
            Declaration::Channel(channel) => resolver.channel(channel),
        }
    }
    resolver.unknown_options();
    // Processes may name one another, so all names come before any body.
    for process in &model.processes {
        let symbol = resolver.process_symbol(process);
        resolver.declare(process.name, Symbol::Process(resolver.symbols.processes.len()));
        resolver.symbols.processes.push(symbol);
    }
    let property = model.system.as_ref().and_then(|system| system.property);
    let property = property.and_then(|name| resolver.symbols.names.get(name.text).copied());
    for (number, process) in model.processes.iter().enumerate() {
        match property {
            Some(Symbol::Process(property)) if property == number => {
                resolver.property_constants(number, process);
            }
            _ => resolver.process(number, process),
        }
    }
    (resolver.symbols, resolver.program)
}

struct Resolver<'a> {
    symbols: Symbols,
    program: Program,
    /// Bits of the record so far.
    bits: u64,
    options: &'a DveOptions,
    usage: &'a mut Usage,
    diagnostics: &'a mut Diagnostics,
}

impl Resolver<'_> {
    fn checker(&mut self, process: Option<usize>) -> Checker<'_> {
        Checker::new(&self.symbols, process, false, self.usage, self.diagnostics)
    }

    fn symbol_span(&self, symbol: Symbol) -> Span {
        match symbol {
            Symbol::Variable(number) => self.symbols.variables[number].span,
            Symbol::Channel(number) => self.symbols.channels[number].span,
            Symbol::Process(number) => self.symbols.processes[number].span,
        }
    }

    fn report_duplicate(&mut self, name: Name<'_>, earlier: Span) {
        let diagnostic = Diagnostic::error(format!("the name {} is declared twice", quoted(name.text)));
        let diagnostic = diagnostic.at(name.span, "declared again here").see(earlier, "first declared here");
        self.diagnostics.push(diagnostic);
    }

    /// Adds a name to the global scope; the first of two stays.
    fn declare(&mut self, name: Name<'_>, symbol: Symbol) {
        if let Some(&earlier) = self.symbols.names.get(name.text) {
            let span = self.symbol_span(earlier);
            self.report_duplicate(name, span);
        } else {
            self.symbols.names.insert(name.text.to_owned(), symbol);
        }
    }

    fn global(&mut self, variable: &ast::Variable<'_>) {
        let number = self.variable(variable, None);
        self.declare(variable.name, Symbol::Variable(number));
    }

    /// A variable of a process.
    fn local(&mut self, process: usize, variable: &ast::Variable<'_>) {
        let name = variable.name;
        let number = self.variable(variable, Some(process));
        let own = self.symbols.processes[process].variables.get(name.text).copied().map(Symbol::Variable);
        let global = self.symbols.names.get(name.text).copied();
        match own.or(global) {
            Some(Symbol::Variable(earlier)) if own.is_none() => {
                let diagnostic =
                    Diagnostic::warning(format!("{} hides a global variable", quoted(name.text)));
                let diagnostic = diagnostic.at(name.span, "this one is meant in the process");
                self.diagnostics.push(diagnostic.see(self.symbols.variables[earlier].span, "hidden"));
            }
            Some(earlier) => {
                let span = self.symbol_span(earlier);
                self.report_duplicate(name, span);
                return;
            }
            None => {}
        }
        self.symbols.processes[process].variables.insert(name.text.to_owned(), number);
    }

    /// Makes the symbol of a variable, and its variable in the program if it needs one; gives the symbol's number.
    fn variable(&mut self, tree: &ast::Variable<'_>, process: Option<usize>) -> usize {
        let length = tree.length.as_ref().map(|length| self.array_length(length, process));
        let values = self.initial_values(tree, length, process);
        let meaning = match length {
            None if tree.constant => Meaning::Constant(self.constant_value(tree, values[0], process)),
            _ => {
                let domain = if tree.constant { domain_of(&values) } else { tree.base.domain() };
                let (name, role) = match process {
                    None => (tree.name.text.to_owned(), Role::Global),
                    Some(process) => {
                        let owner = &self.symbols.processes[process].name;
                        let id = ProcessId(self.program.processes.len() as u32 - 1);
                        (format!("{owner}.{}", tree.name.text), Role::Local(id))
                    }
                };
                let span = tree.name.span;
                let id =
                    self.add(Variable { name, role, domain, length, optional: false, initial: values, span });
                length.map_or(Meaning::Scalar(id), |length| Meaning::Array(id, length))
            }
        };
        let symbol = VariableSymbol {
            name: tree.name.text.to_owned(),
            constant: tree.constant,
            meaning,
            span: tree.name.span,
        };
        self.symbols.variables.push(symbol);
        self.symbols.variables.len() - 1
    }

    /// Adds a variable to the program, unless the record would grow beyond its bound.
    fn add(&mut self, mut variable: Variable) -> VariableId {
        let before = self.bits;
        self.bits += u64::from(variable.elements()) * u64::from(variable.domain.bits());
        if self.bits > RECORD_BITS_MAX {
            if before <= RECORD_BITS_MAX {
                let message = format!("the state is too large: more than {RECORD_BITS_MAX} bits");
                let label = format!("with this there are {}", self.bits);
                self.diagnostics.push(Diagnostic::error(message).at(variable.span, label));
            }
            variable.initial.truncate(1);
            variable.length = variable.length.map(|_| 1);
        }
        self.program.variables.push(variable);
        VariableId(self.program.variables.len() as u32 - 1)
    }

    fn array_length(&mut self, tree: &ast::Expression<'_>, process: Option<usize>) -> u32 {
        let Some(length) = self.checker(process).constant(tree, "the length of an array") else { return 1 };
        if (1..=ARRAY_LENGTH_MAX).contains(&length) {
            return length as u32;
        }
        let message = match length {
            0 => "an array has at least one element".to_owned(),
            _ => format!("an array has 1 to {ARRAY_LENGTH_MAX} elements"),
        };
        self.diagnostics.push(Diagnostic::error(message).at(tree.span, format!("this is {length}")));
        1
    }

    /// One value for each element, 0 where none is given.
    fn initial_values(
        &mut self,
        tree: &ast::Variable<'_>,
        length: Option<u32>,
        process: Option<usize>,
    ) -> Vec<i64> {
        let elements = length.unwrap_or(1) as usize;
        let mut values = Vec::new();
        match (&tree.initial, length) {
            (None, _) => {
                if tree.constant {
                    let diagnostic =
                        Diagnostic::warning(format!("the constant {} is 0", quoted(tree.name.text)));
                    self.diagnostics.push(diagnostic.at(tree.name.span, "no value is given"));
                }
            }
            (Some(Initial::One(value)), None) => values.push(self.initial_value(tree, value, process)),
            (Some(Initial::Many(trees, span)), Some(_)) => {
                values.extend(trees.iter().map(|value| self.initial_value(tree, value, process)));
                if values.len() > elements {
                    let message =
                        format!("{} values for {elements} elements: the last are ignored", values.len());
                    let diagnostic = Diagnostic::warning(message).at(*span, "");
                    self.diagnostics.push(diagnostic.see(tree.name.span, "declared here"));
                }
            }
            (Some(Initial::One(value)), Some(_)) => {
                let diagnostic = Diagnostic::error("an array begins with a list of values, not a single one");
                let diagnostic = diagnostic.at(value.span, "").see(tree.name.span, "this is an array");
                self.diagnostics
                    .push(diagnostic.help("write the values in braces: `{1, 2, 3}`; the rest is 0"));
            }
            (Some(Initial::Many(_, span)), None) => {
                let diagnostic = Diagnostic::error("a single variable begins with one value, not a list");
                let diagnostic = diagnostic.at(*span, "").see(tree.name.span, "this is not an array");
                self.diagnostics.push(
                    diagnostic
                        .help(format!("an array is declared {}", quoted(&format!("{}[n]", tree.name.text)))),
                );
            }
        }
        values.resize(elements, 0);
        values
    }

    fn initial_value(
        &mut self,
        variable: &ast::Variable<'_>,
        tree: &ast::Expression<'_>,
        process: Option<usize>,
    ) -> i64 {
        let Some(value) = self.checker(process).constant(tree, "an initial value") else { return 0 };
        let domain = variable.base.domain();
        if domain.contains(value) {
            return value;
        }
        let base = variable.base.text();
        let diagnostic = Diagnostic::error(format!("the initial value {value} does not fit `{base}`"));
        let diagnostic = diagnostic.at(tree.span, format!("`{base}` is {} to {}", domain.low, domain.high));
        self.diagnostics.push(diagnostic.see(variable.name.span, "declared here"));
        domain.low
    }

    /// The value of a constant: from the options if it is global and named there.
    fn constant_value(&mut self, tree: &ast::Variable<'_>, written: i64, process: Option<usize>) -> i64 {
        let options = self.options.constants.iter().rev();
        let Some((_, value)) =
            options.into_iter().find(|(name, _)| process.is_none() && name == tree.name.text)
        else {
            return written;
        };
        let domain = tree.base.domain();
        if !domain.contains(*value) {
            let (name, base) = (quoted(tree.name.text), tree.base.text());
            let message = format!("the value {value} given for {name} does not fit `{base}`");
            let label = format!("`{base}` is {} to {}", domain.low, domain.high);
            self.diagnostics.push(Diagnostic::error(message).at(tree.name.span, label));
            return written;
        }
        *value
    }

    /// Reports options that name no global scalar constant.
    fn unknown_options(&mut self) {
        let options = self.options;
        for (name, _) in &options.constants {
            let symbols = &self.symbols;
            let is_constant = |symbol: &Symbol| match symbol {
                Symbol::Variable(number) => {
                    matches!(symbols.variables[*number].meaning, Meaning::Constant(_))
                }
                _ => false,
            };
            let diagnostic = match symbols.names.get(name) {
                Some(symbol) if is_constant(symbol) => continue,
                Some(symbol) => Diagnostic::error(format!(
                    "{} is not a constant: no value can be given for it",
                    quoted(name)
                ))
                .at(self.symbol_span(*symbol), "declared here")
                .help("only global `const` declarations of a single value can be given from outside"),
                None => {
                    let constants = symbols.names.iter().filter(|(_, symbol)| is_constant(symbol));
                    let help = self.usage.suggest(name, constants.map(|(name, _)| &**name));
                    let message =
                        format!("a value is given for {}, but the model has no such constant", quoted(name));
                    Diagnostic::error(message).help_if(help)
                }
            };
            self.diagnostics.push(diagnostic);
        }
    }

    fn channel(&mut self, tree: &ast::Channel<'_>) {
        let span = tree.name.span;
        let fields = tree.fields.as_ref();
        let fields: Option<Vec<Domain>> =
            fields.map(|fields| fields.iter().map(|base| base.domain()).collect());
        let capacity = tree.capacity.as_ref().map_or(0, |capacity| self.capacity(tree, capacity));
        let buffer = match &fields {
            Some(fields) if capacity > 0 => Some(self.buffer(tree.name, fields, capacity)),
            _ => None,
        };
        self.declare(tree.name, Symbol::Channel(self.symbols.channels.len()));
        let name = tree.name.text.to_owned();
        self.symbols.channels.push(ChannelSymbol { name, span, fields, buffer });
    }

    fn capacity(&mut self, channel: &ast::Channel<'_>, tree: &ast::Expression<'_>) -> u32 {
        if channel.fields.is_none() {
            let diagnostic = Diagnostic::error("a channel with a buffer needs the types of its messages");
            let help = format!(
                "write {}, or leave the size out",
                quoted(&format!("channel {{int}} {}[n]", channel.name.text))
            );
            self.diagnostics.push(diagnostic.at(channel.name.span.to(tree.span), "").help(help));
        }
        let Some(capacity) = self.checker(None).constant(tree, "the size of a channel's buffer") else {
            return 0;
        };
        if (0..=CAPACITY_MAX).contains(&capacity) {
            return capacity as u32;
        }
        let message = format!("a channel's buffer holds 0 to {CAPACITY_MAX} messages");
        self.diagnostics.push(Diagnostic::error(message).at(tree.span, format!("this is {capacity}")));
        0
    }

    fn buffer(&mut self, name: Name<'_>, fields: &[Domain], capacity: u32) -> Buffer {
        let variable = |part: &str, domain: Domain, length: Option<u32>| Variable {
            name: format!("{}.{part}", name.text),
            role: Role::Buffer,
            domain,
            length,
            optional: false,
            initial: vec![0; length.unwrap_or(1) as usize],
            span: name.span,
        };
        let length = self.add(variable("length", Domain::new(0, i64::from(capacity)), None));
        let fields = fields.iter().enumerate();
        let fields =
            fields.map(|(number, &field)| self.add(variable(&number.to_string(), field, Some(capacity))));
        Buffer { capacity, length, fields: fields.collect() }
    }

    /// The names of a process's states; its variables follow later.
    fn process_symbol(&mut self, process: &ast::Process<'_>) -> ProcessSymbol {
        let mut states: HashMap<String, u32> = HashMap::with_capacity(process.states.len());
        for (code, state) in process.states.iter().enumerate() {
            if let Some(&earlier) = states.get(state.text) {
                self.report_duplicate(*state, process.states[earlier as usize].span);
            } else {
                states.insert(state.text.to_owned(), code as u32);
            }
        }
        let name = process.name.text.to_owned();
        ProcessSymbol { name, span: process.name.span, variables: HashMap::new(), states, location: None }
    }

    /// The code of a state that a process names; none after an error.
    fn state(&mut self, number: usize, state: Name<'_>) -> Option<u32> {
        find_state(&self.symbols.processes[number], state, self.usage, self.diagnostics)
    }

    fn process(&mut self, number: usize, tree: &ast::Process<'_>) {
        let id = ProcessId(self.program.processes.len() as u32);
        let initial = self.initial_state(number, tree);
        let mut locations: Vec<Location> = tree.states.iter().map(location).collect();
        for state in tree.committed.iter().flat_map(|list| &list.states) {
            if let Some(code) = self.state(number, *state) {
                locations[code as usize].committed = true;
            }
        }
        let variable = self.add(Variable {
            name: tree.name.text.to_owned(),
            role: Role::Location(id),
            domain: Domain::new(0, locations.len().max(1) as i64 - 1),
            length: None,
            optional: false,
            initial: vec![i64::from(initial)],
            span: tree.name.span,
        });
        self.symbols.processes[number].location = Some(variable);
        let (name, span) = (tree.name.text.to_owned(), tree.name.span);
        self.program.processes.push(Process { name, locations, variable, span });
        for variable in &tree.variables {
            self.local(number, variable);
        }
    }

    fn initial_state(&mut self, number: usize, tree: &ast::Process<'_>) -> u32 {
        if tree.states.is_empty() {
            let diagnostic = Diagnostic::error(format!("process {} has no states", quoted(tree.name.text)));
            let help = "name its states with `state s;` and the initial one with `init s;`";
            self.diagnostics.push(diagnostic.at(tree.name.span, "`state` is missing").help(help));
            return 0;
        }
        let Some(initial) = tree.initial else {
            let diagnostic =
                Diagnostic::error(format!("process {} has no initial state", quoted(tree.name.text)));
            let help = format!("for example {}", quoted(&format!("init {};", tree.states[0].text)));
            self.diagnostics.push(diagnostic.at(tree.name.span, "`init` is missing").help(help));
            return 0;
        };
        self.state(number, initial).unwrap_or(0)
    }

    /// The property process has no variables of its own, but may have constants.
    fn property_constants(&mut self, number: usize, tree: &ast::Process<'_>) {
        for variable in &tree.variables {
            if variable.constant && variable.length.is_none() {
                self.local(number, variable);
            } else {
                let diagnostic =
                    Diagnostic::error("a property process has no variables").at(variable.name.span, "");
                let help =
                    "it watches the system: read its variables (`x`, `P->x`) and use states to remember";
                self.diagnostics.push(diagnostic.help(help));
            }
        }
    }
}

/// The code of a state by its name; none after an error.
pub(crate) fn find_state(
    process: &ProcessSymbol,
    state: Name<'_>,
    usage: &mut Usage,
    diagnostics: &mut Diagnostics,
) -> Option<u32> {
    let code = process.states.get(state.text).copied();
    if code.is_none() {
        let help = usage.suggest_state(state.text, process);
        let message = format!("process {} has no state {}", quoted(&process.name), quoted(state.text));
        diagnostics.push(Diagnostic::error(message).at(state.span, "no such state").help_if(help));
    }
    code
}

/// A location called like a state.
pub(crate) fn location(state: &Name<'_>) -> Location {
    Location { name: state.text.to_owned(), committed: false, span: state.span }
}

/// The least domain that holds the values.
fn domain_of(values: &[i64]) -> Domain {
    let low = values.iter().copied().min().unwrap_or(0);
    let high = values.iter().copied().max().unwrap_or(0);
    Domain::new(low, high)
}
