//! What does a program mean? Its definition executed sentence by sentence, as a system: the judge of interpreters and compilers.
//!
//! It was written from the words of `fathom_model::program` and `fathom_model::expression` alone. Values are plain vectors, arithmetic is
//! exact in 128 bits and then asked whether it fits; every action is tried in every state. Slow, and meant to be.

use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, Overflow, UnaryOperator,
};
use fathom_model::layout::{Declared, Layout};
use fathom_model::program::{
    Action, Assignment, Command, Composition, Place, ProcessId, Program, Role, Statement, Variable,
    VariableId,
};
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::span::Span;
use fathom_model::steps::{Fault, Full, Labels, Marks, ProcessSet, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

/// A program as a system, in the layout of its declared domains.
#[derive(Clone, Debug)]
pub struct Meaning {
    program: Program,
    layout: Layout,
    shape: Shape,
    /// Where the elements of each variable begin among the values.
    first: Vec<usize>,
}

/// The values of all elements of all variables, temporaries too; none where it is undefined.
type Values = Vec<Option<i64>>;

/// Why there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// What went wrong and where.
    Fault(FaultKind, Span),
    /// It is assumed that this does not happen.
    Never,
}

/// The values after statements, and how many blocks are being left by them.
struct After {
    values: Values,
    leaving: u32,
}

/// What an action does in a state.
struct Outcome {
    action: u32,
    movers: ProcessSet,
    result: Result<Values, Wrong>,
}

/// One store: where among the values, what, and where it stands in the source.
type Store = (usize, Option<i64>, Span);

impl Meaning {
    /// The meaning of a well-formed program.
    pub fn new(program: Program) -> Meaning {
        let layout = Layout::new(&program, &Declared);
        let shape = layout.shape(&program);
        let lengths: Vec<usize> =
            program.variables.iter().map(|variable| variable.elements() as usize).collect();
        let first = (0..lengths.len()).map(|variable| lengths[..variable].iter().sum()).collect();
        Meaning { program, layout, shape, first }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    fn decode(&self, record: &[u64]) -> Values {
        let mut values = self.initial();
        for part in 0..self.program.variables.len() {
            let (variable, field) = (&self.program.variables[part], &self.layout.fields[part]);
            if variable.role != Role::Temporary {
                for index in 0..field.elements {
                    let value = field.read(record, index);
                    let place = self.first[part] + index as usize;
                    values[place] = if value < variable.domain.low { None } else { Some(value) };
                }
            }
        }
        values
    }

    fn encode(&self, values: &Values) -> Vec<u64> {
        let mut record = vec![0; self.layout.words()];
        for part in 0..self.program.variables.len() {
            let (variable, field) = (&self.program.variables[part], &self.layout.fields[part]);
            if variable.role != Role::Temporary {
                for index in 0..field.elements {
                    let value = values[self.first[part] + index as usize];
                    field.write(&mut record, index, value.unwrap_or(variable.domain.low - 1));
                }
            }
        }
        record
    }

    /// The initial values of everything.
    fn initial(&self) -> Values {
        self.program.variables.iter().flat_map(initial_of).collect()
    }

    /// The values where temporaries have their initial ones.
    fn introduced(&self, temporaries: &[VariableId], mut values: Values) -> Values {
        for temporary in temporaries {
            let first = self.first[temporary.index()];
            let initial = initial_of(self.program.variable(*temporary));
            values[first..first + initial.len()].copy_from_slice(&initial);
        }
        values
    }

    /// The values where parameters have their arguments.
    fn bound(&self, command: &Command, arguments: &[i64], mut values: Values) -> Values {
        for (parameter, argument) in command.parameters.iter().zip(arguments) {
            values[self.first[parameter.index()]] = Some(*argument);
        }
        values
    }

    fn location(&self, process: usize, values: &Values) -> usize {
        let place = self.first[self.program.processes[process].variable.index()];
        values[place].expect("processes are somewhere") as usize
    }

    fn go(&self, process: ProcessId, to: u32, values: &mut Values) {
        values[self.first[self.program.process(process).variable.index()]] = Some(i64::from(to));
    }

    /// Whether all movers are at their places.
    fn is_there(&self, action: &Action, values: &Values) -> bool {
        action.movers.iter().all(|mover| self.location(mover.process.index(), values) == mover.from as usize)
    }

    /// Whether the guard is true.
    fn guard(&self, action: &Action, values: &Values) -> Result<bool, Wrong> {
        let values = self.bound(&action.command, &action.arguments, values.clone());
        action.command.guard.as_ref().map_or(Ok(true), |guard| Ok(self.evaluate(guard, &values)? != 0))
    }

    /// What happens in a state, in the order of the definition.
    fn outcomes(&self, values: &Values) -> Vec<Outcome> {
        match self.program.composition {
            Composition::Asynchronous => self.single_actions(values),
            Composition::Synchronous => self.joint_actions(values),
        }
    }

    fn single_actions(&self, values: &Values) -> Vec<Outcome> {
        let processes = 0..self.program.processes.len();
        let committed = processes.clone().any(|process| {
            self.program.processes[process].locations[self.location(process, values)].committed
        });
        let owners = processes.map(Some).chain([None]);
        let mut outcomes = Vec::new();
        for owner in owners {
            for (number, action) in (0..).zip(&self.program.actions) {
                let first = action.movers.first().map(|mover| mover.process.index());
                let allowed = !committed || self.program.is_committed(action);
                if first == owner && allowed && self.is_there(action, values) {
                    let result = match self.guard(action, values) {
                        Ok(false) => continue,
                        Ok(true) => self.run(&action.command, &action.arguments, values),
                        Err(Wrong::Never) => continue,
                        Err(wrong) => Err(wrong),
                    };
                    outcomes.push(Outcome { action: number, movers: movers_of([action]), result });
                }
            }
        }
        outcomes
    }

    fn joint_actions(&self, values: &Values) -> Vec<Outcome> {
        let owned = |process: usize| -> Vec<&Action> {
            let actions = self.program.actions.iter();
            actions.filter(|action| action.movers[0].process.index() == process).collect()
        };
        let actions: Vec<Vec<&Action>> = (0..self.program.processes.len()).map(owned).collect();
        let count = actions.iter().map(Vec::len).product::<usize>();
        let mut outcomes = Vec::new();
        for number in 0..count {
            // The digits of the number, the last process's first.
            let mut rest = number;
            let mut chosen: Vec<&Action> = Vec::new();
            for choices in actions.iter().rev() {
                chosen.push(choices[rest % choices.len()]);
                rest /= choices.len();
            }
            chosen.reverse();
            if let Some(result) = self.run_together(&chosen, values) {
                let movers = movers_of(chosen.iter().copied());
                outcomes.push(Outcome { action: number as u32, movers, result });
            }
        }
        outcomes
    }

    /// What several processes do at once; none if one of them cannot.
    fn run_together(&self, chosen: &[&Action], values: &Values) -> Option<Result<Values, Wrong>> {
        let there = chosen.iter().all(|action| self.is_there(action, values));
        let guards: Vec<Result<bool, Wrong>> =
            chosen.iter().map(|action| self.guard(action, values)).collect();
        if !there || guards.contains(&Ok(false)) || guards.contains(&Err(Wrong::Never)) {
            return None;
        }
        if let Some(wrong) = guards.into_iter().find_map(Result::err) {
            return Some(Err(wrong));
        }
        Some(self.store_together(chosen, values))
    }

    fn store_together(&self, chosen: &[&Action], values: &Values) -> Result<Values, Wrong> {
        let mut after = values.clone();
        let mut written: Vec<usize> = Vec::new();
        for action in chosen {
            let values = self.bound(&action.command, &action.arguments, values.clone());
            for statement in &action.command.body {
                match statement {
                    Statement::Move { process, to } => self.go(*process, *to, &mut after),
                    Statement::Assign(assignments) => {
                        for assignment in assignments {
                            let (place, value, span) = self.store(assignment, &values)?;
                            if written.contains(&place) {
                                return Err(Wrong::Fault(FaultKind::DoubleWrite, span));
                            }
                            written.push(place);
                            after[place] = value;
                        }
                    }
                    _ => unreachable!("synchronous actions move and assign"),
                }
            }
        }
        Ok(after)
    }

    /// What a command leads to.
    fn run(&self, command: &Command, arguments: &[i64], values: &Values) -> Result<Values, Wrong> {
        let values = self.bound(command, arguments, values.clone());
        Ok(self.run_all(&command.body, values)?.values)
    }

    /// The statements one after the other, until one leaves.
    fn run_all(&self, body: &[Statement], values: Values) -> Result<After, Wrong> {
        let mut after = After { values, leaving: 0 };
        for statement in body {
            if after.leaving == 0 {
                after = self.run_one(statement, after.values)?;
            }
        }
        Ok(after)
    }

    fn run_one(&self, statement: &Statement, mut values: Values) -> Result<After, Wrong> {
        let stores = match statement {
            Statement::Move { process, to } => {
                self.go(*process, *to, &mut values);
                Vec::new()
            }
            Statement::Assign(assignments) => {
                assignments.iter().map(|it| self.store(it, &values)).collect::<Result<_, _>>()?
            }
            Statement::Copy { to, from, count, span } => self.copies(to, from, *count, *span, &values)?,
            Statement::Fill { place, count, value, span } => {
                let first = self.place(place, *count, &values)?;
                let value = match value {
                    Some(value) => {
                        let value = self.evaluate(value, &values)?;
                        Some(self.convert(self.program.variable(place.variable).domain, value, *span)?)
                    }
                    None => None,
                };
                (first..first + *count as usize).map(|place| (place, value, *span)).collect()
            }
            Statement::If { arms, otherwise } => {
                for (condition, body) in arms {
                    if self.evaluate(condition, &values)? != 0 {
                        return self.run_all(body, values);
                    }
                }
                return self.run_all(otherwise, values);
            }
            Statement::While { condition, body, bound, span } => {
                return self.run_while(condition, body, *bound, *span, values);
            }
            Statement::For { counter, from, to, step, body } => {
                return self.run_for(*counter, [*from, *to, *step].map(i128::from), body, values);
            }
            Statement::Block { locals, body } => {
                let After { values, leaving } = self.run_all(body, self.introduced(locals, values))?;
                return Ok(After { values, leaving: leaving.saturating_sub(1) });
            }
            Statement::Leave(depth) => return Ok(After { values, leaving: depth + 1 }),
            Statement::Fail { kind, span, .. } => return Err(Wrong::Fault(*kind, *span)),
            Statement::Assume(condition) => {
                if self.evaluate(condition, &values)? == 0 {
                    return Err(Wrong::Never);
                }
                Vec::new()
            }
        };
        for (place, value, _) in stores {
            values[place] = value;
        }
        Ok(After { values, leaving: 0 })
    }

    fn run_while(
        &self,
        condition: &Expression,
        body: &[Statement],
        bound: u32,
        span: Span,
        values: Values,
    ) -> Result<After, Wrong> {
        let mut after = After { values, leaving: 0 };
        let mut rounds = 0;
        while after.leaving == 0 && self.evaluate(condition, &after.values)? != 0 {
            if rounds == bound {
                return Err(Wrong::Fault(FaultKind::Bound, span));
            }
            after = self.run_all(body, after.values)?;
            rounds += 1;
        }
        Ok(after)
    }

    fn run_for(
        &self,
        counter: VariableId,
        [from, to, step]: [i128; 3],
        body: &[Statement],
        values: Values,
    ) -> Result<After, Wrong> {
        let mut after = After { values, leaving: 0 };
        let mut now = from;
        while after.leaving == 0 && (to - now) * step.signum() >= 0 {
            after.values[self.first[counter.index()]] = Some(now as i64);
            after = self.run_all(body, after.values)?;
            now += step;
        }
        Ok(after)
    }

    /// Where among the values the first of so many elements is.
    fn place(&self, place: &Place, count: u32, values: &Values) -> Result<usize, Wrong> {
        let first = self.first[place.variable.index()];
        let Some(index) = &place.index else { return Ok(first) };
        let index = self.evaluate(index, values)?;
        // All of them must be there, so the last one must be, and the first.
        let elements = self.program.variable(place.variable).elements();
        element(index, elements, place.span)?;
        element(index + i64::from(count) - 1, elements, place.span)?;
        Ok(first + index as usize)
    }

    fn copies(
        &self,
        to: &Place,
        from: &Place,
        count: u32,
        span: Span,
        values: &Values,
    ) -> Result<Vec<Store>, Wrong> {
        let (first, source) = (self.place(to, count, values)?, self.place(from, count, values)?);
        let variable = self.program.variable(to.variable);
        let copy = |offset: usize| match values[source + offset] {
            Some(value) => Ok((first + offset, Some(self.convert(variable.domain, value, span)?), span)),
            None if variable.optional => Ok((first + offset, None, span)),
            None => Err(Wrong::Fault(FaultKind::Undefined, span)),
        };
        (0..count as usize).map(copy).collect()
    }

    /// What an assignment stores: index, value and range in this order.
    fn store(&self, assignment: &Assignment, values: &Values) -> Result<Store, Wrong> {
        let place = self.place(&assignment.place, 1, values)?;
        let value = self.evaluate(&assignment.value, values)?;
        let domain = self.program.variable(assignment.place.variable).domain;
        Ok((place, Some(self.convert(domain, value, assignment.span)?), assignment.span))
    }

    fn convert(&self, domain: Domain, value: i64, span: Span) -> Result<i64, Wrong> {
        if (domain.low..=domain.high).contains(&value) {
            return Ok(value);
        }
        match self.program.overflow {
            Overflow::Fault => Err(Wrong::Fault(FaultKind::Range, span)),
            Overflow::Wrap => {
                let (low, high) = (i128::from(domain.low), i128::from(domain.high));
                Ok((low + (i128::from(value) - low).rem_euclid(high - low + 1)) as i64)
            }
        }
    }

    /// The value, if it fits 64 bits or may be wrapped into them.
    fn fit(&self, value: i128, span: Span) -> Result<i64, Wrong> {
        match i64::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) if self.program.overflow == Overflow::Wrap => Ok(value as i64),
            Err(_) => Err(Wrong::Fault(FaultKind::Overflow, span)),
        }
    }

    fn evaluate(&self, expression: &Expression, values: &Values) -> Result<i64, Wrong> {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(*value),
            ExpressionKind::Read(variable) => {
                values[self.first[variable.index()]].ok_or(Wrong::Fault(FaultKind::Undefined, span))
            }
            ExpressionKind::Element(variable, index) => {
                let index = self.evaluate(index, values)?;
                let index = element(index, self.program.variable(*variable).elements(), span)?;
                let value = values[self.first[variable.index()] + index];
                value.ok_or(Wrong::Fault(FaultKind::Undefined, span))
            }
            ExpressionKind::IsUndefined(place) => {
                Ok(i64::from(values[self.place(place, 1, values)?].is_none()))
            }
            ExpressionKind::Unary(operator, operand) => {
                let value = self.evaluate(operand, values)?;
                match operator {
                    UnaryOperator::Negate => self.fit(-i128::from(value), span),
                    UnaryOperator::Complement => Ok(!value),
                    UnaryOperator::Not => Ok(i64::from(value == 0)),
                }
            }
            ExpressionKind::Binary(operator, left, right) => {
                let left = self.evaluate(left, values)?;
                let right = self.evaluate(right, values)?;
                self.binary(*operator, left.into(), right.into(), span)
            }
            ExpressionKind::All(operands) => {
                for operand in operands {
                    if self.evaluate(operand, values)? == 0 {
                        return Ok(0);
                    }
                }
                Ok(1)
            }
            ExpressionKind::Any(operands) => {
                for operand in operands {
                    if self.evaluate(operand, values)? != 0 {
                        return Ok(1);
                    }
                }
                Ok(0)
            }
            ExpressionKind::Conditional(operands) => {
                let [condition, yes, no] = &**operands;
                let chosen = if self.evaluate(condition, values)? != 0 { yes } else { no };
                self.evaluate(chosen, values)
            }
            ExpressionKind::Convert(domain, operand) => {
                let value = self.evaluate(operand, values)?;
                self.convert(*domain, value, span)
            }
            ExpressionKind::Checked(domain, kind, operand) => {
                let value = self.evaluate(operand, values)?;
                let inside = domain.low <= value && value <= domain.high;
                if inside { Ok(value) } else { Err(Wrong::Fault(*kind, span)) }
            }
            ExpressionKind::Compute(computation) => {
                let values = self.introduced(&computation.locals, values.clone());
                let after = self.run_all(&computation.body, values)?;
                self.evaluate(&computation.value, &after.values)
            }
        }
    }

    fn binary(&self, operator: BinaryOperator, left: i128, right: i128, span: Span) -> Result<i64, Wrong> {
        let exact = match operator {
            BinaryOperator::Add => left + right,
            BinaryOperator::Subtract => left - right,
            BinaryOperator::Multiply => left * right,
            BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => {
                return Err(Wrong::Fault(FaultKind::Division, span));
            }
            BinaryOperator::Divide => left / right,
            BinaryOperator::Remainder => left % right,
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if !(0..=63).contains(&right) => {
                return Err(Wrong::Fault(FaultKind::Shift, span));
            }
            BinaryOperator::ShiftLeft => left << right,
            BinaryOperator::ShiftRight => left >> right,
            BinaryOperator::BitAnd => left & right,
            BinaryOperator::BitOr => left | right,
            BinaryOperator::BitXor => left ^ right,
            BinaryOperator::Equal => i128::from(left == right),
            BinaryOperator::NotEqual => i128::from(left != right),
            BinaryOperator::Less => i128::from(left < right),
            BinaryOperator::LessEqual => i128::from(left <= right),
            BinaryOperator::Greater => i128::from(left > right),
            BinaryOperator::GreaterEqual => i128::from(left >= right),
        };
        self.fit(exact, span)
    }

    fn labels(&self, values: &Values) -> Labels {
        let mut labels = Labels::default();
        for (number, label) in self.program.labels.iter().enumerate() {
            match self.evaluate(&label.expression, values) {
                Ok(0) => {}
                Ok(_) => labels.0 |= 1 << number,
                Err(_) => labels.0 |= Labels::FAULT.0,
            }
        }
        labels
    }

    fn push_initial(&self, out: &mut Steps) -> Result<(), Full> {
        let values = self.initial();
        for (number, start) in (0..).zip(&self.program.starts) {
            let result = self.run(&start.command, &start.arguments, &values);
            self.push(Outcome { action: number, movers: ProcessSet::default(), result }, out)?;
        }
        out.finish_source(Labels::default(), ProcessSet::default())
    }

    fn push_steps(&self, record: &[u64], out: &mut Steps) -> Result<(), Full> {
        let values = self.decode(record);
        let mut enabled = ProcessSet::default();
        for outcome in self.outcomes(&values) {
            // Who would only fault cannot move.
            if outcome.result.is_ok() {
                enabled.0 |= outcome.movers.0;
            }
            self.push(outcome, out)?;
        }
        out.finish_source(self.labels(&values), enabled)
    }

    fn push(&self, outcome: Outcome, out: &mut Steps) -> Result<(), Full> {
        let Outcome { action, movers, result } = outcome;
        match result {
            Ok(values) => out.push(&self.encode(&values), action, movers, Marks::default()),
            Err(Wrong::Fault(kind, span)) => out.push_fault(Fault { action, kind, span }),
            Err(Wrong::Never) => Ok(()),
        }
    }
}

impl TransitionSystem for Meaning {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn initial(&self, out: &mut Steps) {
        out.clear();
        if self.push_initial(out).is_err() {
            out.abandon_source();
        }
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        for record in sources.iter() {
            if self.push_steps(record, out).is_err() {
                out.abandon_source();
                break;
            }
        }
        out.source_count()
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        for (record, labels) in records.iter().zip(out) {
            *labels = self.labels(&self.decode(record));
        }
    }

    /// The variables of a record; of everything else its number alone.
    fn describe(&self, what: Query<'_>) -> Description {
        let title = match what {
            Query::Record(_) => String::new(),
            Query::Step { action, .. } => format!("action {action}"),
            Query::Start(start) => format!("start {start}"),
            Query::Fault { fault, .. } => format!("action {}: {}", fault.action, fault.kind.text()),
            Query::Label { label, .. } => self.shape.labels[label].clone(),
        };
        let mut values = Vec::new();
        if let Query::Record(record) = what {
            for part in &self.shape.components {
                let elements = 0..part.elements();
                values.extend(elements.map(|index| (part.element_name(index), part.text(record, index))));
            }
        }
        Description { title, values, ..Description::default() }
    }
}

/// The initial values of a variable's elements.
fn initial_of(variable: &Variable) -> Values {
    let low = variable.domain.low;
    variable.initial.iter().map(|value| if *value < low { None } else { Some(*value) }).collect()
}

/// The element an index names.
fn element(index: i64, elements: u32, span: Span) -> Result<usize, Wrong> {
    if (0..i64::from(elements)).contains(&index) {
        Ok(index as usize)
    } else {
        Err(Wrong::Fault(FaultKind::Index, span))
    }
}

fn movers_of<'a>(actions: impl IntoIterator<Item = &'a Action>) -> ProcessSet {
    let mut movers = ProcessSet::default();
    for action in actions {
        action.movers.iter().for_each(|mover| movers.insert(mover.process.0));
        // A program of rules has no processes, and its rules are numbered as they would be.
        action.rule.iter().for_each(|rule| movers.insert(*rule));
    }
    movers
}
