//! Is a program well formed?
//!
//! Checked, whatever language it came from: every number names something; initial values are in their domains, one per element; scalars
//! are read as scalars and arrays as arrays; location variables fit their processes; each mover moves exactly once and
//! nothing else moves; locations are never assigned; synchronous actions have one mover and one parallel assignment; labels and
//! actions are few enough to be numbered. Temporaries are used in their scope and introduced once in it; nothing assigns parameters and
//! counters; computations assign their own temporaries alone; only what is optional is undefined; blocks that are left are there.
//!
//! Every command is looked at once, however many actions share it.

use std::collections::HashMap;
use std::sync::Arc;

use crate::expression::{Computation, Expression, ExpressionKind};
use crate::program::{
    Action, Command, Composition, LABELS_MAX, Place, ProcessId, Program, PropertyProcess, Role, Statement,
    Variable, VariableId,
};

/// All that is wrong with a program; empty if it is well formed. A front-end that produces a program with problems is wrong itself.
pub fn problems(program: &Program) -> Vec<String> {
    let mut verifier = Verifier {
        program,
        problems: Vec::new(),
        scopes: Vec::new(),
        places: HashMap::new(),
        borders: Vec::new(),
        blocks: Vec::new(),
        commands: HashMap::new(),
    };
    verifier.variables();
    verifier.processes();
    for (number, action) in program.actions.iter().enumerate() {
        verifier.action(number, action);
    }
    for (number, start) in program.starts.iter().enumerate() {
        let place = format!("start {number}");
        verifier.require(start.command.guard.is_none(), || format!("{place}: a start has no guard"));
        verifier.command(&place, &start.command, &start.arguments);
    }
    for label in &program.labels {
        verifier.question(&format!("label {}", label.name), &label.expression);
    }
    if let Some(property) = &program.property {
        verifier.property(property);
    }
    verifier.limits();
    verifier.problems
}

struct Verifier<'a> {
    program: &'a Program,
    problems: Vec<String>,
    /// The temporaries in scope, innermost last.
    scopes: Vec<Scope>,
    /// By variable: its place in the scopes, if it is in one.
    places: HashMap<VariableId, usize>,
    /// The places of the borders of computations, and of blocks.
    borders: Vec<usize>,
    blocks: Vec<usize>,
    /// By address: the commands that were looked at, and how many moves stand in each.
    commands: HashMap<*const Command, Vec<(ProcessId, u32)>>,
}

/// A temporary in scope, or the border of a computation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Local(VariableId),
    /// A parameter or counter.
    Fixed(VariableId),
    /// What is farther out cannot be assigned or left.
    Computation,
    /// Something that can be left.
    Block,
}

impl Verifier<'_> {
    fn require(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }

    fn variables(&mut self) {
        let program = self.program;
        for variable in &program.variables {
            let Variable { name, role, domain, length, initial, optional, .. } = variable;
            self.require(domain.low <= domain.high, || format!("{name}: empty domain"));
            self.require(*length != Some(0), || format!("{name}: array without elements"));
            self.require(initial.len() == length.unwrap_or(1) as usize, || {
                format!("{name}: one initial value per element")
            });
            self.require(!optional || domain.low > i64::MIN, || format!("{name}: no number for undefined"));
            let stored = variable.stored();
            self.require(initial.iter().all(|value| stored.contains(*value)), || {
                format!("{name}: initial value outside the domain")
            });
            if let Role::Location(process) | Role::Local(process) = role {
                self.require(process.index() < program.processes.len(), || {
                    format!("{name}: no such process")
                });
            }
        }
    }

    fn processes(&mut self) {
        let program = self.program;
        for (number, process) in program.processes.iter().enumerate() {
            let name = &process.name;
            let fits = program.variables.get(process.variable.index()).is_some_and(|variable| {
                variable.role == Role::Location(ProcessId(number as u32))
                    && variable.length.is_none()
                    && !variable.optional
                    && variable.domain.low == 0
                    && variable.domain.high == process.locations.len() as i64 - 1
            });
            self.require(fits, || format!("process {name}: its location variable does not fit it"));
        }
    }

    fn action(&mut self, number: usize, action: &Action) {
        let program = self.program;
        let place = format!("action {number}");
        for (position, mover) in action.movers.iter().enumerate() {
            let known = program.processes.get(mover.process.index()).is_some_and(|process| {
                (mover.from as usize) < process.locations.len()
                    && (mover.to as usize) < process.locations.len()
            });
            self.require(known, || format!("{place}: mover without such a process or location"));
            let first = action.movers.iter().position(|other| other.process == mover.process);
            self.require(first == Some(position), || format!("{place}: a process moves twice"));
        }
        let is_rule =
            action.rule.is_some_and(|rule| (rule as usize) < program.rules.len() && action.movers.is_empty());
        self.require(action.rule.is_none() || is_rule, || {
            format!("{place}: no such rule, or a rule that moves processes")
        });
        let moves = self.command(&place, &action.command, &action.arguments);
        let matches = moves.len() == action.movers.len()
            && action.movers.iter().all(|mover| moves.contains(&(mover.process, mover.to)));
        self.require(matches, || format!("{place}: the body's moves are not the movers'"));
        if program.composition == Composition::Synchronous {
            let rest = action.command.body.iter().filter(|statement| moved(statement).is_none());
            let rest: Vec<&Statement> = rest.collect();
            let fits = matches!(rest[..], [] | [Statement::Assign(_)]);
            self.require(action.movers.len() == 1 && fits, || {
                format!("{place}: a synchronous action has one mover and at most one parallel assignment")
            });
        }
        for value in action.exchange.iter().flat_map(|exchange| &exchange.values) {
            self.question(&place, value);
        }
    }

    /// An expression that is evaluated for its value alone: it cannot make a step vanish.
    fn question(&mut self, place: &str, expression: &Expression) {
        self.expression(place, expression);
        self.require(!assumes(expression), || format!("{place}: assumes where there is no step"));
    }

    /// Looks at a command, if it is new; gives its moves.
    fn command(&mut self, place: &str, command: &Arc<Command>, arguments: &[i64]) -> Vec<(ProcessId, u32)> {
        let program = self.program;
        let fits = command.parameters.len() == arguments.len()
            && command.parameters.iter().zip(arguments).all(|(parameter, argument)| {
                program.variables.get(parameter.index()).is_some_and(|it| it.domain.contains(*argument))
            });
        self.require(fits, || format!("{place}: the arguments are not the parameters'"));
        if let Some(moves) = self.commands.get(&Arc::as_ptr(command)) {
            return moves.clone();
        }
        for parameter in &command.parameters {
            self.introduce_fixed(place, *parameter);
        }
        if let Some(guard) = &command.guard {
            self.expression(place, guard);
        }
        for (_, part) in command.chosen.iter().flat_map(|chosen| &chosen.parts) {
            self.access(place, part.variable, part.index.is_some());
            part.index.iter().for_each(|index| self.question(place, index));
        }
        self.statements(place, &command.body, true);
        self.leave(0);
        let moves: Vec<_> = command.body.iter().filter_map(moved).collect();
        self.commands.insert(Arc::as_ptr(command), moves.clone());
        moves
    }

    fn introduce(&mut self, place: &str, variable: VariableId) {
        let known = self.program.variables.get(variable.index());
        self.require(known.is_some_and(|it| it.role == Role::Temporary), || {
            format!("{place}: a scope of what is no temporary")
        });
        let twice = self.places.contains_key(&variable);
        self.require(!twice, || format!("{place}: a temporary is introduced twice"));
        self.places.entry(variable).or_insert(self.scopes.len());
        self.scopes.push(Scope::Local(variable));
    }

    /// Takes temporaries and borders out of scope, those from a place on.
    fn leave(&mut self, depth: usize) {
        for (place, scope) in self.scopes.drain(depth..).enumerate() {
            match scope {
                Scope::Local(variable) | Scope::Fixed(variable)
                    if self.places.get(&variable) == Some(&(depth + place)) =>
                {
                    self.places.remove(&variable);
                }
                _ => {}
            }
        }
        self.borders.truncate(self.borders.partition_point(|place| *place < depth));
        self.blocks.truncate(self.blocks.partition_point(|place| *place < depth));
    }

    fn introduce_fixed(&mut self, place: &str, variable: VariableId) {
        self.introduce(place, variable);
        self.scopes.pop();
        self.scopes.push(Scope::Fixed(variable));
        self.access(place, variable, false);
        let optional = self.program.variables.get(variable.index()).is_some_and(|it| it.optional);
        self.require(!optional, || format!("{place}: a counter or parameter is optional"));
    }

    fn statements(&mut self, place: &str, body: &[Statement], outermost: bool) {
        for statement in body {
            let movable = outermost || moved(statement).is_none();
            self.require(movable, || format!("{place}: a move inside another statement"));
            self.statement(place, statement);
            statement.for_each_expression(&mut |expression| self.expression(place, expression));
        }
    }

    fn statement(&mut self, place: &str, statement: &Statement) {
        let depth = self.scopes.len();
        match statement {
            Statement::Move { process, to } => {
                let processes = &self.program.processes;
                let known =
                    processes.get(process.index()).is_some_and(|it| (*to as usize) < it.locations.len());
                self.require(known, || format!("{place}: move of no process or to no location"));
            }
            Statement::Assign(assignments) => {
                assignments.iter().for_each(|assignment| self.target(place, &assignment.place));
            }
            Statement::Copy { to, from, count, .. } => {
                self.target(place, to);
                self.access(place, from.variable, from.index.is_some());
                self.extent(place, to, *count);
                self.extent(place, from, *count);
            }
            Statement::Fill { place: to, count, value, .. } => {
                self.target(place, to);
                self.extent(place, to, *count);
                self.require(value.is_some() || self.is_optional(to.variable), || {
                    format!("{place}: undefined is put where it cannot be")
                });
            }
            Statement::If { arms, otherwise } => {
                self.require(!arms.is_empty(), || format!("{place}: no condition"));
                arms.iter().for_each(|(_, body)| self.statements(place, body, false));
                self.statements(place, otherwise, false);
            }
            Statement::While { body, .. } => self.statements(place, body, false),
            Statement::For { counter, from, to, step, body } => {
                self.introduce_fixed(place, *counter);
                let variable = self.program.variables.get(counter.index());
                let fits = variable.is_some_and(|it| {
                    let empty = if *step > 0 { from > to } else { from < to };
                    empty || (it.domain.contains(*from) && it.domain.contains(*to))
                });
                self.require(*step != 0 && fits, || format!("{place}: a counter leaves its domain"));
                self.statements(place, body, false);
            }
            Statement::Block { locals, body } => {
                self.blocks.push(depth);
                self.scopes.push(Scope::Block);
                locals.iter().for_each(|local| self.introduce(place, *local));
                self.statements(place, body, false);
            }
            Statement::Leave(blocks) => {
                let border = self.borders.last().copied();
                let outside = self.blocks.partition_point(|place| Some(*place) < border);
                let count = self.blocks.len() - outside;
                self.require((*blocks as usize) < count, || format!("{place}: no such block to leave"));
            }
            Statement::Fail { .. } | Statement::Assume(_) => {}
        }
        self.leave(depth);
    }

    /// Whether so many elements may ever lie there.
    fn extent(&mut self, place: &str, target: &Place, count: u32) {
        let elements = self.program.variables.get(target.variable.index()).map_or(0, Variable::elements);
        self.require(count >= 1 && count <= elements, || format!("{place}: more elements than there are"));
    }

    fn is_optional(&self, variable: VariableId) -> bool {
        self.program.variables.get(variable.index()).is_some_and(|it| it.optional)
    }

    fn target(&mut self, place: &str, target: &Place) {
        let variable = target.variable;
        self.access(place, variable, target.index.is_some());
        let role = self.program.variables.get(variable.index()).map(|variable| variable.role);
        self.require(!matches!(role, Some(Role::Location(_))), || {
            format!("{place}: a location is assigned like data")
        });
        let at = self.places.get(&variable).copied();
        let fixed = at.is_some_and(|at| self.scopes[at] == Scope::Fixed(variable));
        self.require(!fixed, || format!("{place}: a counter or parameter is assigned"));
        let own = match self.borders.last() {
            Some(border) => at.is_some_and(|at| at > *border),
            None => true,
        };
        self.require(own, || format!("{place}: a computation assigns what is not its own"));
    }

    fn expression(&mut self, place: &str, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Read(variable) => self.access(place, *variable, false),
            ExpressionKind::Element(variable, _) => self.access(place, *variable, true),
            ExpressionKind::IsUndefined(target) => {
                self.access(place, target.variable, target.index.is_some());
                self.require(self.is_optional(target.variable), || {
                    format!("{place}: asks whether something is undefined that cannot be")
                });
            }
            ExpressionKind::Convert(domain, _) | ExpressionKind::Checked(domain, ..) => {
                self.require(domain.low <= domain.high, || format!("{place}: conversion to an empty domain"));
            }
            ExpressionKind::Compute(computation) => return self.computation(place, computation),
            _ => {}
        }
        expression.for_each_operand(&mut |operand| self.expression(place, operand));
    }

    fn computation(&mut self, place: &str, Computation { locals, body, value }: &Computation) {
        let depth = self.scopes.len();
        self.borders.push(depth);
        self.scopes.push(Scope::Computation);
        locals.iter().for_each(|local| self.introduce(place, *local));
        self.statements(place, body, false);
        self.expression(place, value);
        self.leave(depth);
    }

    fn access(&mut self, place: &str, variable: VariableId, indexed: bool) {
        let known = self.program.variables.get(variable.index());
        self.require(known.is_some(), || format!("{place}: no such variable"));
        if let Some(Variable { name, length, role, .. }) = known {
            self.require(length.is_some() == indexed, || {
                format!("{place}: {name} is used as what it is not")
            });
            let in_scope = *role != Role::Temporary || self.places.contains_key(&variable);
            self.require(in_scope, || format!("{place}: {name} is used out of its scope"));
        }
    }

    fn property(&mut self, property: &PropertyProcess) {
        let count = property.locations.len();
        let known = |location: u32| (location as usize) < count;
        let fits = known(property.initial)
            && property.accepting.len() == count
            && property.edges.iter().all(|edge| known(edge.from) && known(edge.to));
        self.require(fits, || "property process: a state that does not exist".into());
        for guard in property.edges.iter().filter_map(|edge| edge.guard.as_ref()) {
            self.question("property process", guard);
        }
    }

    fn limits(&mut self) {
        let labels = self.program.labels.len();
        self.require(labels <= LABELS_MAX, || format!("{labels} labels, more than {LABELS_MAX}"));
        if self.problems.is_empty() {
            self.require(self.program.action_count().is_some(), || "actions do not fit 32 bits".into());
        }
    }
}

fn moved(statement: &Statement) -> Option<(ProcessId, u32)> {
    match statement {
        Statement::Move { process, to } => Some((*process, *to)),
        _ => None,
    }
}

/// Whether a statement inside the expression assumes something.
fn assumes(expression: &Expression) -> bool {
    let mut found = false;
    if let ExpressionKind::Compute(computation) = &expression.kind {
        Statement::for_each(&computation.body, &mut |it| found |= matches!(it, Statement::Assume(_)));
    }
    expression.for_each_operand(&mut |operand| found = found || assumes(operand));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Domain;
    use crate::program::Statement as S;
    use crate::program::{Assignment, Label, LabelKind, Location, Mover, Process, ProcessId, Start};
    use crate::span::Span;

    fn small() -> Program {
        let span = Span::default();
        let location = |name: &str| Location { name: name.into(), committed: false, span };
        let variable = |name: &str, role, high, length: Option<u32>| Variable {
            name: name.into(),
            role,
            domain: Domain::new(0, high),
            length,
            optional: false,
            initial: vec![0; length.unwrap_or(1) as usize],
            span,
        };
        let process = ProcessId(0);
        Program {
            variables: vec![
                variable("P", Role::Location(process), 1, None),
                variable("x", Role::Global, 255, None),
                variable("a", Role::Global, 3, Some(4)),
            ],
            processes: vec![Process {
                name: "P".into(),
                locations: vec![location("s"), location("t")],
                variable: VariableId(0),
                span,
            }],
            actions: vec![Action {
                name: None,
                rule: None,
                movers: vec![Mover { process, from: 0, to: 1, span }],
                command: Command::new(
                    Some(Expression::read(VariableId(1), span)),
                    vec![
                        Statement::Move { process, to: 1 },
                        Statement::Assign(vec![Assignment {
                            place: Place {
                                variable: VariableId(2),
                                index: Some(Expression::constant(0, span)),
                                span,
                            },
                            value: Expression::constant(1, span),
                            span,
                        }]),
                    ],
                ),
                arguments: Vec::new(),
                exchange: None,
                span,
            }],
            starts: vec![Start::default()],
            ..Program::default()
        }
    }

    fn command(program: &mut Program) -> &mut Command {
        Arc::get_mut(&mut program.actions[0].command).expect("one action has it")
    }

    type Damage = fn(&mut Program);

    const SPAN: Span = Span { start: 0, end: 0 };

    /// A rule with everything: parameter `p`, local `t`, counter `i`, and `o`, which may be undefined.
    fn structured() -> Program {
        let variable = |name: &str, role, optional| Variable {
            name: name.into(),
            role,
            domain: Domain::new(0, 3),
            length: None,
            optional,
            initial: vec![0],
            span: SPAN,
        };
        let [o, p, t, i] = [0, 1, 2, 3].map(VariableId);
        let assign =
            |variable, value| S::Assign(vec![Assignment { place: scalar(variable), value, span: SPAN }]);
        let body = vec![S::Block {
            locals: vec![t],
            body: vec![
                assign(t, Expression::read(p, SPAN)),
                S::For { counter: i, from: 0, to: 3, step: 1, body: vec![S::Leave(0)] },
                S::Fill { place: scalar(o), count: 1, value: None, span: SPAN },
            ],
        }];
        let command = Arc::new(Command { parameters: vec![p], body, ..Command::default() });
        Program {
            variables: vec![
                variable("o", Role::Global, true),
                variable("p", Role::Temporary, false),
                variable("t", Role::Temporary, false),
                variable("i", Role::Temporary, false),
            ],
            actions: vec![Action {
                name: None,
                rule: None,
                movers: Vec::new(),
                command,
                arguments: vec![2],
                exchange: None,
                span: SPAN,
            }],
            ..Program::default()
        }
    }

    fn scalar(variable: VariableId) -> Place {
        Place { variable, index: None, span: SPAN }
    }

    /// The statements inside the block of the structured program.
    fn inside(program: &mut Program) -> &mut Vec<S> {
        match &mut command(program).body[0] {
            S::Block { body, .. } => body,
            _ => unreachable!("the body is a block"),
        }
    }

    fn assign(variable: u32, value: Expression) -> S {
        S::Assign(vec![Assignment { place: scalar(VariableId(variable)), value, span: SPAN }])
    }

    #[test]
    fn each_defect_of_scopes_and_undefined_values_is_named() {
        assert_eq!(problems(&structured()), Vec::<String>::new());
        let defects: Vec<(&str, Damage)> = vec![
            ("out of its scope", |program| {
                let late = assign(0, Expression::read(VariableId(2), SPAN));
                command(program).body.push(late);
            }),
            ("introduced twice", |program| {
                inside(program).push(S::Block { locals: vec![VariableId(2)], body: Vec::new() });
            }),
            ("what is no temporary", |program| {
                inside(program).push(S::Block { locals: vec![VariableId(0)], body: Vec::new() });
            }),
            ("parameter is assigned", |program| {
                inside(program).push(assign(1, Expression::constant(0, SPAN)));
            }),
            ("not the parameters'", |program| program.actions[0].arguments[0] = 4),
            ("not the parameters'", |program| program.actions[0].arguments.clear()),
            ("leaves its domain", |program| {
                let counter = VariableId(3);
                inside(program)[1] = S::For { counter, from: 0, to: 4, step: 1, body: Vec::new() };
            }),
            ("no such block", |program| command(program).body.push(S::Leave(0))),
            ("assigns what is not its own", |program| {
                let body = vec![assign(2, Expression::constant(1, SPAN))];
                let value = Expression::compute(Vec::new(), body, Expression::constant(1, SPAN), SPAN);
                inside(program).push(assign(2, value));
            }),
            ("undefined is put", |program| program.variables[0].optional = false),
            ("no number for undefined", |program| program.variables[0].domain.low = i64::MIN),
            ("more elements", |program| {
                let place = scalar(VariableId(0));
                inside(program).push(S::Fill { place, count: 2, value: None, span: SPAN });
            }),
            ("cannot be", |program| {
                let kind = ExpressionKind::IsUndefined(Box::new(scalar(VariableId(2))));
                inside(program).push(S::Assume(Expression { kind, span: SPAN }));
            }),
            ("assumes where there is no step", |program| {
                let body = vec![S::Assume(Expression::constant(1, SPAN))];
                let expression = Expression::compute(Vec::new(), body, Expression::constant(1, SPAN), SPAN);
                let label = Label { name: "l".into(), kind: LabelKind::Atom, expression, span: SPAN };
                program.labels.push(label);
            }),
        ];
        complain(structured, defects);
    }

    #[test]
    fn a_well_formed_program_has_no_problems() {
        assert_eq!(problems(&small()), Vec::<String>::new());
    }

    #[test]
    fn each_defect_is_named() {
        let defects: Vec<(&str, Damage)> = vec![
            ("initial value", |program| program.variables[1].initial[0] = 256),
            ("one initial value", |program| program.variables[2].initial.truncate(3)),
            ("without elements", |program| program.variables[2].length = Some(0)),
            ("location variable", |program| program.variables[0].domain.high = 2),
            ("mover without", |program| program.actions[0].movers[0].from = 2),
            ("moves twice", |program| {
                let mover = program.actions[0].movers[0];
                program.actions[0].movers.push(mover);
            }),
            ("not the movers'", |program| drop(command(program).body.remove(0))),
            ("used as what it is not", |program| {
                command(program).guard = Some(Expression::read(VariableId(2), Span::default()));
            }),
            ("no such variable", |program| {
                command(program).guard = Some(Expression::read(VariableId(7), Span::default()));
            }),
            ("assigned like data", |program| {
                if let Statement::Assign(assignments) = &mut command(program).body[1] {
                    assignments[0].place =
                        Place { variable: VariableId(0), index: None, span: Span::default() };
                }
            }),
            ("labels, more than", |program| {
                let expression = Expression::constant(1, Span::default());
                let label =
                    Label { name: "l".into(), kind: LabelKind::Atom, expression, span: Span::default() };
                program.labels = vec![label; LABELS_MAX + 1];
            }),
        ];
        complain(small, defects);
    }

    fn complain(whole: fn() -> Program, defects: Vec<(&str, Damage)>) {
        for (words, damage) in defects {
            let mut program = whole();
            damage(&mut program);
            let found = problems(&program);
            assert!(found.iter().any(|problem| problem.contains(words)), "{words}: {found:?}");
        }
    }
}
