//! Which guarded commands does a model stand for?
//!
//! First every transition of every process is given its meaning ([`Step`]); then they are put together: a plain one is an
//! action, a send and a receive on the same unbuffered channel in different processes are one action for each
//! pair, a send or receive on a buffered channel is an action that works on the buffer's variables. Actions come by the
//! process that owns them (of a rendezvous, the sender), then in the order of the text, then by receiver.

use std::collections::HashMap;

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind};
use fathom_model::program::{
    Action, Assignment, Composition, Label, LabelKind, Mover, Place, ProcessId, Program, PropertyEdge,
    PropertyProcess,
};
use fathom_model::span::Span;

use super::actions;
use super::ast::{self, Direction, Model, Name};
use super::fold;
use super::lint;
use super::resolve::{find_state, location};
use super::steps::{Message, Step, Sync};
use super::symbols::{Symbol, Symbols};
use super::typecheck::{Checker, Usage};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};

/// How many nodes (statements and parts of expressions) a program may have: pairs of senders and receivers multiply, and a
/// small text must not fill the memory.
const PROGRAM_NODES_MAX: usize = 4_000_000;
/// How many assertions are labels of their own: half of what a program may have, the rest is for the user's questions.
const ASSERTIONS_MAX: usize = 31;
/// What an action costs beside its parts.
const ACTION_COST: usize = 4;

/// Fills in the actions, labels and property of a program that has its variables and processes.
pub(crate) fn lower(
    model: &Model<'_>,
    symbols: &Symbols,
    program: &mut Program,
    usage: &mut Usage,
    diagnostics: &mut Diagnostics,
) {
    let Some(system) = &model.system else { return };
    if system.synchronous.is_some() {
        program.composition = Composition::Synchronous;
    }
    let property = system.property.and_then(|name| find_property(symbols, name, usage, diagnostics));
    let mut lowering = Lowering {
        symbols,
        program,
        usage,
        diagnostics,
        steps: Vec::new(),
        assertions: Vec::new(),
        nodes: 0,
    };
    for (number, process) in model.processes.iter().enumerate() {
        if property == Some(number) {
            lowering.property(number, process);
        } else {
            lowering.process(number, process);
        }
    }
    match system.synchronous {
        Some(span) => lowering.synchronous(span),
        None => lowering.asynchronous(),
    }
    // After an error a process may be missing from the program.
    if lowering.diagnostics.error_count() == 0 {
        lowering.labels();
    }
    let Lowering { program, usage, diagnostics, .. } = lowering;
    if program.processes.is_empty() && diagnostics.error_count() == 0 {
        let diagnostic = Diagnostic::error("the system has no process").at(system.keyword, "");
        diagnostics.push(diagnostic.help("a system needs at least one process beside its property"));
    }
    if diagnostics.error_count() == 0 {
        lint::lint(model, symbols, program, usage, diagnostics);
    }
}

/// The number of the process that a `system` line names as the property.
fn find_property(
    symbols: &Symbols,
    name: Name<'_>,
    usage: &mut Usage,
    diagnostics: &mut Diagnostics,
) -> Option<usize> {
    if let Some(&Symbol::Process(number)) = symbols.names.get(name.text) {
        return Some(number);
    }
    let help = usage.suggest(name.text, symbols.processes.iter().map(|process| &*process.name));
    let diagnostic = Diagnostic::error(format!("unknown property process {}", quoted(name.text)));
    diagnostics.push(diagnostic.at(name.span, "no process has this name").help_if(help));
    None
}

struct Lowering<'a> {
    symbols: &'a Symbols,
    program: &'a mut Program,
    usage: &'a mut Usage,
    diagnostics: &'a mut Diagnostics,
    /// The transitions of each process of the program.
    steps: Vec<Vec<Step>>,
    assertions: Vec<Assertion>,
    /// Nodes of the actions so far.
    nodes: usize,
}

struct Assertion {
    process: ProcessId,
    state: u32,
    condition: Expression,
}

impl Lowering<'_> {
    fn checker(&mut self, process: usize, foreign: bool) -> Checker<'_> {
        Checker::new(self.symbols, Some(process), foreign, self.usage, self.diagnostics)
    }

    fn state(&mut self, process: usize, state: Name<'_>) -> Option<u32> {
        find_state(&self.symbols.processes[process], state, self.usage, self.diagnostics)
    }

    /// Reads the transitions and assertions of a process; `number` counts all processes, the property among them.
    fn process(&mut self, number: usize, tree: &ast::Process<'_>) {
        let id = ProcessId(self.steps.len() as u32);
        for assert in &tree.asserts {
            let state = self.state(number, assert.state);
            let condition = self.checker(number, false).expression(&assert.condition);
            if let (Some(state), Some(condition)) = (state, condition) {
                self.assertions.push(Assertion { process: id, state, condition });
            }
        }
        let steps =
            tree.transitions.iter().filter_map(|transition| self.step(number, id, transition)).collect();
        self.steps.push(steps);
    }

    fn step(&mut self, number: usize, process: ProcessId, tree: &ast::Transition<'_>) -> Option<Step> {
        let from = self.state(number, tree.from);
        let to = self.state(number, tree.to);
        let guard = tree.guard.as_ref().map(|guard| self.checker(number, false).expression(guard));
        let sync = tree.sync.as_ref().map(|sync| self.sync(number, sync));
        let effects: Vec<_> = tree.effects.iter().map(|effect| self.effect(number, effect)).collect();
        let mover = Mover { process, from: from?, to: to?, span: tree.span };
        let guard = match guard {
            Some(guard) => Some(guard?).filter(|guard| fold::known(guard).is_none_or(|value| value == 0)),
            None => None,
        };
        let sync = match sync {
            Some(sync) => Some(sync?),
            None => None,
        };
        let mut step =
            Step { mover, guard, sync, effects: effects.into_iter().collect::<Option<_>>()?, nodes: 0 };
        step.nodes = nodes_of(&step);
        Some(step)
    }

    fn effect(&mut self, process: usize, tree: &ast::Effect<'_>) -> Option<Assignment> {
        let mut checker = self.checker(process, false);
        let place = checker.place(&tree.target);
        let value = checker.expression(&tree.value);
        let (place, value) = (place?, value?);
        let domain = self.program.variable(place.variable).domain;
        if let Some(constant) = fold::known(&value).filter(|constant| !domain.contains(*constant)) {
            let message = format!("the value {constant} does not fit the variable");
            let label = format!("the variable holds {} to {}", domain.low, domain.high);
            self.diagnostics.push(Diagnostic::warning(message).at(value.span, "").see(place.span, label));
        }
        let span = tree.target.span.to(tree.value.span);
        Some(Assignment { place, value, span })
    }

    fn sync(&mut self, process: usize, tree: &ast::Sync<'_>) -> Option<Sync> {
        let symbols = self.symbols;
        let mut checker = self.checker(process, false);
        let message = match tree.direction {
            Direction::Send => {
                let values: Vec<_> = tree.values.iter().map(|value| checker.expression(value)).collect();
                values.into_iter().collect::<Option<_>>().map(Message::Sent)
            }
            Direction::Receive => {
                let places: Vec<_> = tree.values.iter().map(|value| checker.place(value)).collect();
                places.into_iter().collect::<Option<_>>().map(Message::Received)
            }
        };
        let Some(&Symbol::Channel(channel)) = symbols.names.get(tree.channel.text) else {
            self.unknown_channel(tree.channel);
            return None;
        };
        let message = message?;
        let symbol = &symbols.channels[channel];
        if let Some(fields) = symbol.fields.as_ref().filter(|fields| fields.len() != message.arity()) {
            let (wanted, given) = (values(fields.len()), values(message.arity()));
            let text = format!("a message of {} has {wanted}, not {}", quoted(&symbol.name), message.arity());
            let diagnostic = Diagnostic::error(text).at(tree.span, format!("{given} here"));
            self.diagnostics.push(diagnostic.see(symbol.span, "declared here"));
            return None;
        }
        Some(Sync { channel, message, span: tree.span })
    }

    fn unknown_channel(&mut self, name: Name<'_>) {
        let symbols = self.symbols;
        let diagnostic = match symbols.names.get(name.text) {
            Some(_) => Diagnostic::error(format!("{} is not a channel", quoted(name.text))).at(name.span, ""),
            None => {
                let help =
                    self.usage.suggest(name.text, symbols.channels.iter().map(|channel| &*channel.name));
                let diagnostic = Diagnostic::error(format!("unknown channel {}", quoted(name.text)));
                diagnostic.at(name.span, "no channel has this name").help_if(help)
            }
        };
        self.diagnostics.push(diagnostic);
    }

    /// Takes from the budget of nodes; reports once when it is used up.
    fn charge(&mut self, nodes: usize, span: Span) -> bool {
        let before = self.nodes;
        self.nodes = self.nodes.saturating_add(nodes);
        if before <= PROGRAM_NODES_MAX && self.nodes > PROGRAM_NODES_MAX {
            let message = format!("the model is too large: more than {PROGRAM_NODES_MAX} parts of actions");
            let note = "every pair of a sender and a receiver is an action, and so is every use of a buffered channel";
            self.diagnostics.push(Diagnostic::error(message).at(span, "reached here").note(note));
        }
        self.nodes <= PROGRAM_NODES_MAX
    }

    fn asynchronous(&mut self) {
        if !self.arities_agree() {
            return;
        }
        let steps = std::mem::take(&mut self.steps);
        let mut receivers: HashMap<usize, Vec<&Step>> = HashMap::new();
        for step in steps.iter().flatten() {
            if let Some(Sync { channel, message: Message::Received(_), .. }) = &step.sync {
                receivers.entry(*channel).or_default().push(step);
            }
        }
        for step in steps.iter().flatten() {
            let Some(sync) = &step.sync else {
                self.emit(step.nodes, step.mover.span, || actions::plain(step, Vec::new(), None));
                continue;
            };
            let channel = &self.symbols.channels[sync.channel];
            match (&channel.buffer, &sync.message) {
                (Some(buffer), message) => {
                    let nodes = step.nodes + buffer.capacity as usize * buffer.fields.len();
                    self.emit(nodes, step.mover.span, || actions::buffered(step, channel, buffer, message));
                }
                (None, Message::Sent(values)) => {
                    for receiver in receivers.get(&sync.channel).into_iter().flatten() {
                        if receiver.mover.process != step.mover.process {
                            let nodes = step.nodes + receiver.nodes;
                            let more = self.emit(nodes, sync.span, || {
                                actions::rendezvous(step, receiver, channel, values)
                            });
                            if !more {
                                return;
                            }
                        }
                    }
                }
                (None, Message::Received(_)) => {}
            }
        }
    }

    /// Adds an action if the budget allows it, and says whether it does.
    fn emit(&mut self, nodes: usize, span: Span, action: impl FnOnce() -> Action) -> bool {
        let allowed = self.charge(nodes + ACTION_COST, span);
        if allowed {
            self.program.actions.push(action());
        }
        allowed
    }

    /// All uses of an untyped channel must carry equally many values.
    fn arities_agree(&mut self) -> bool {
        let mut first: HashMap<usize, &Sync> = HashMap::new();
        let mut agree = true;
        for sync in self.steps.iter().flatten().filter_map(|step| step.sync.as_ref()) {
            let earlier = *first.entry(sync.channel).or_insert(sync);
            let (here, there) = (sync.message.arity(), earlier.message.arity());
            if here != there {
                let name = quoted(&self.symbols.channels[sync.channel].name);
                let diagnostic =
                    Diagnostic::error(format!("messages of {name} differ in their number of values"));
                let diagnostic = diagnostic.at(sync.span, format!("{} here", values(here)));
                self.diagnostics.push(diagnostic.see(earlier.span, format!("{} here", values(there))));
                agree = false;
            }
        }
        agree
    }

    fn synchronous(&mut self, span: Span) {
        for channel in &self.symbols.channels {
            let message = format!("the synchronous system has a channel, {}", quoted(&channel.name));
            let diagnostic =
                Diagnostic::error(message).at(channel.span, "").see(span, "all processes move together");
            self.diagnostics.push(diagnostic.help("use global variables, or `system async;`"));
        }
        let steps = std::mem::take(&mut self.steps);
        let mut joint = Some(1u32);
        for steps in &steps {
            joint = joint.and_then(|joint| joint.checked_mul(u32::try_from(steps.len()).ok()?));
            for step in steps {
                self.emit(step.nodes, step.mover.span, || actions::joint(step));
            }
        }
        if joint.is_none() {
            let counts: Vec<String> = steps.iter().take(8).map(|steps| steps.len().to_string()).collect();
            let dots = if steps.len() > 8 { " * ..." } else { "" };
            let message =
                format!("too many joint transitions: {}{dots} is more than {}", counts.join(" * "), u32::MAX);
            self.diagnostics
                .push(Diagnostic::error(message).at(span, "every process takes part in every step"));
        }
    }

    /// Turns assertions into labels: one each, or folded together if they are too many.
    fn labels(&mut self) {
        let assertions = std::mem::take(&mut self.assertions);
        if assertions.len() <= ASSERTIONS_MAX {
            let mut counts: HashMap<String, u32> = HashMap::new();
            for assertion in assertions {
                let process = self.program.process(assertion.process);
                let state = &process.locations[assertion.state as usize].name;
                let mut name = format!("assert {}.{state}", process.name);
                let count = counts.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
                if *count > 1 {
                    name = format!("{name} #{count}");
                }
                self.label(name, vec![assertion]);
            }
            return;
        }
        let total = assertions.len();
        let mut groups: Vec<Vec<Assertion>> = Vec::new();
        for assertion in assertions {
            match groups.last_mut() {
                Some(group) if group[0].process == assertion.process => group.push(assertion),
                _ => groups.push(vec![assertion]),
            }
        }
        let by_process = groups.len() <= ASSERTIONS_MAX;
        let how = if by_process { "those of a process are" } else { "all are" };
        let message = format!("{total} assertions are more than {ASSERTIONS_MAX}: {how} checked as one");
        self.diagnostics.push(Diagnostic::warning(message).at(groups[0][0].condition.span, "the first"));
        if by_process {
            for group in groups {
                self.label(format!("assert {}", self.program.process(group[0].process).name), group);
            }
        } else {
            self.label("assert".to_owned(), groups.into_iter().flatten().collect());
        }
    }

    /// A label that says that all of the assertions hold.
    fn label(&mut self, name: String, assertions: Vec<Assertion>) {
        let span = assertions[0].condition.span;
        let conditions = assertions.into_iter().map(|assertion| {
            let Assertion { process, state, condition } = assertion;
            let span = condition.span;
            let location = Expression::read(self.program.process(process).variable, span);
            let elsewhere = Expression::constant(i64::from(state), span);
            let elsewhere = Expression::binary(BinaryOperator::NotEqual, location, elsewhere);
            Expression { kind: ExpressionKind::Any(vec![elsewhere, condition]), span }
        });
        let expression = Expression::all(conditions.collect(), span);
        self.program.labels.push(Label { name, kind: LabelKind::Assertion, expression, span });
    }

    fn property(&mut self, number: usize, tree: &ast::Process<'_>) {
        let initial = tree.initial.and_then(|state| self.state(number, state));
        if tree.states.is_empty() || tree.initial.is_none() {
            let message = format!("property process {} needs `state` and `init`", quoted(tree.name.text));
            self.diagnostics.push(Diagnostic::error(message).at(tree.name.span, ""));
        }
        let mut accepting = vec![false; tree.states.len()];
        for state in tree.accepting.iter().flat_map(|list| &list.states) {
            if let Some(code) = self.state(number, *state) {
                accepting[code as usize] = true;
            }
        }
        if let Some(keyword) = tree.committed.as_ref().map(|list| list.keyword) {
            self.refuse_in_property(keyword, "`commit`");
        }
        if let Some(assert) = tree.asserts.first() {
            self.refuse_in_property(assert.state.span, "`assert`");
        }
        let edges = tree.transitions.iter().filter_map(|transition| self.edge(number, transition)).collect();
        self.program.property = Some(PropertyProcess {
            name: tree.name.text.to_owned(),
            locations: tree.states.iter().map(location).collect(),
            initial: initial.unwrap_or(0),
            accepting,
            edges,
            span: tree.name.span,
        });
    }

    fn edge(&mut self, number: usize, tree: &ast::Transition<'_>) -> Option<PropertyEdge> {
        if let Some(sync) = &tree.sync {
            self.refuse_in_property(sync.span, "`sync`");
        }
        if let Some(effect) = tree.effects.first() {
            self.refuse_in_property(effect.target.span, "`effect`");
        }
        let (from, to) = (self.state(number, tree.from), self.state(number, tree.to));
        let guard = match &tree.guard {
            Some(guard) => Some(self.checker(number, true).expression(guard)?),
            None => None,
        };
        Some(PropertyEdge { from: from?, to: to?, guard, span: tree.span })
    }

    fn refuse_in_property(&mut self, span: Span, what: &str) {
        let diagnostic = Diagnostic::error(format!("{what} has no place in a property process")).at(span, "");
        self.diagnostics.push(diagnostic.help("its transitions have guards only: it watches the system"));
    }
}

/// "no values", "one value", "3 values".
fn values(count: usize) -> String {
    match count {
        0 => "no value".to_owned(),
        1 => "one value".to_owned(),
        _ => format!("{count} values"),
    }
}

fn nodes_of(step: &Step) -> usize {
    let guard = step.guard.as_ref().map_or(0, size);
    let place = |place: &Place| 1 + place.index.as_ref().map_or(0, size);
    let effects: usize = step.effects.iter().map(|effect| place(&effect.place) + size(&effect.value)).sum();
    let message = match step.sync.as_ref().map(|sync| &sync.message) {
        // Values stand in the assignment and in the exchange.
        Some(Message::Sent(values)) => 2 * values.iter().map(size).sum::<usize>(),
        Some(Message::Received(places)) => places.iter().map(place).sum(),
        None => 0,
    };
    1 + guard + effects + message
}

/// How many nodes an expression has.
fn size(expression: &Expression) -> usize {
    let mut nodes = 1;
    expression.for_each_operand(&mut |operand| nodes += size(operand));
    nodes
}
