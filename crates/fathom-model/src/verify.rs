//! Is a program well formed?
//!
//! Checked, whatever language it came from: every number names something; initial values are in their domains, one per element; scalars
//! are read as scalars and arrays as arrays; location variables fit their processes; each mover moves exactly once and
//! nothing else moves; locations are never assigned; synchronous actions have one mover and one parallel assignment; labels and
//! actions are few enough to be numbered.

use crate::expression::{Expression, ExpressionKind};
use crate::program::{
    Action, Composition, LABELS_MAX, Place, Program, PropertyProcess, Role, Statement, Variable, VariableId,
};

/// All that is wrong with a program; empty if it is well formed. A front-end that produces a program with problems is wrong itself.
pub fn problems(program: &Program) -> Vec<String> {
    let mut verifier = Verifier { program, problems: Vec::new() };
    verifier.variables();
    verifier.processes();
    for (number, action) in program.actions.iter().enumerate() {
        verifier.action(number, action);
    }
    for (number, start) in program.starts.iter().enumerate() {
        verifier.statements(&format!("start {number}"), &start.body);
    }
    for label in &program.labels {
        verifier.expression(&format!("label {}", label.name), &label.expression);
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
}

impl Verifier<'_> {
    fn require(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        if !holds {
            self.problems.push(problem());
        }
    }

    fn variables(&mut self) {
        let program = self.program;
        for Variable { name, role, domain, length, initial, .. } in &program.variables {
            self.require(domain.low <= domain.high, || format!("{name}: empty domain"));
            self.require(*length != Some(0), || format!("{name}: array without elements"));
            self.require(initial.len() == length.unwrap_or(1) as usize, || {
                format!("{name}: one initial value per element")
            });
            self.require(initial.iter().all(|value| domain.contains(*value)), || {
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
                variable.role == Role::Location(crate::program::ProcessId(number as u32))
                    && variable.length.is_none()
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
        let moves: Vec<_> = action.body.iter().filter_map(moved).collect();
        let matches = moves.len() == action.movers.len()
            && action.movers.iter().all(|mover| moves.contains(&(mover.process, mover.to)));
        self.require(matches, || format!("{place}: the body's moves are not the movers'"));
        if program.composition == Composition::Synchronous {
            let assignments =
                action.body.iter().filter(|statement| matches!(statement, Statement::Assign(_))).count();
            self.require(action.movers.len() == 1 && assignments <= 1, || {
                format!("{place}: a synchronous action has one mover and at most one parallel assignment")
            });
        }
        if let Some(guard) = &action.guard {
            self.expression(&place, guard);
        }
        self.statements(&place, &action.body);
        for value in action.exchange.iter().flat_map(|exchange| &exchange.values) {
            self.expression(&place, value);
        }
    }

    fn statements(&mut self, place: &str, body: &[Statement]) {
        for statement in body {
            match statement {
                Statement::Move { process, to } => {
                    let known = self
                        .program
                        .processes
                        .get(process.index())
                        .is_some_and(|it| (*to as usize) < it.locations.len());
                    self.require(known, || format!("{place}: move of no process or to no location"));
                }
                Statement::Assign(assignments) => {
                    for assignment in assignments {
                        self.target(place, &assignment.place);
                        self.expression(place, &assignment.value);
                    }
                }
            }
        }
    }

    fn target(&mut self, place: &str, target: &Place) {
        self.access(place, target.variable, target.index.is_some());
        let location = self
            .program
            .variables
            .get(target.variable.index())
            .is_some_and(|variable| matches!(variable.role, Role::Location(_)));
        self.require(!location, || format!("{place}: a location is assigned like data"));
        if let Some(index) = &target.index {
            self.expression(place, index);
        }
    }

    fn expression(&mut self, place: &str, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Read(variable) => self.access(place, *variable, false),
            ExpressionKind::Element(variable, _) => self.access(place, *variable, true),
            ExpressionKind::Convert(domain, _) => {
                self.require(domain.low <= domain.high, || format!("{place}: conversion to an empty domain"));
            }
            _ => {}
        }
        expression.for_each_operand(&mut |operand| self.expression(place, operand));
    }

    fn access(&mut self, place: &str, variable: VariableId, indexed: bool) {
        let variable = self.program.variables.get(variable.index());
        self.require(variable.is_some(), || format!("{place}: no such variable"));
        if let Some(Variable { name, length, .. }) = variable {
            self.require(length.is_some() == indexed, || {
                format!("{place}: {name} is used as what it is not")
            });
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
            self.expression("property process", guard);
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

fn moved(statement: &Statement) -> Option<(crate::program::ProcessId, u32)> {
    match statement {
        Statement::Move { process, to } => Some((*process, *to)),
        Statement::Assign(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::Domain;
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
                movers: vec![Mover { process, from: 0, to: 1, span }],
                guard: Some(Expression::read(VariableId(1), span)),
                body: vec![
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
                exchange: None,
                span,
            }],
            starts: vec![Start::default()],
            ..Program::default()
        }
    }

    #[test]
    fn a_well_formed_program_has_no_problems() {
        assert_eq!(problems(&small()), Vec::<String>::new());
    }

    #[test]
    fn each_defect_is_named() {
        type Damage = fn(&mut Program);
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
            ("not the movers'", |program| drop(program.actions[0].body.remove(0))),
            ("used as what it is not", |program| {
                program.actions[0].guard = Some(Expression::read(VariableId(2), Span::default()));
            }),
            ("no such variable", |program| {
                program.actions[0].guard = Some(Expression::read(VariableId(7), Span::default()));
            }),
            ("assigned like data", |program| {
                if let Statement::Assign(assignments) = &mut program.actions[0].body[1] {
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
        for (words, damage) in defects {
            let mut program = small();
            damage(&mut program);
            let found = problems(&program);
            assert!(found.iter().any(|problem| problem.contains(words)), "{words}: {found:?}");
        }
    }
}
