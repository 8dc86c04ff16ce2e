//! What does a program mean? Its definition executed sentence by sentence, as a system: the judge of interpreters and compilers.
//!
//! It was written from the words of `fathom_model::program` and `fathom_model::expression` alone. Values are plain vectors, arithmetic is
//! exact in 128 bits and then asked whether it fits; every action is tried in every state. Slow, and meant to be.

use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, Overflow, UnaryOperator,
};
use fathom_model::layout::{Declared, Layout};
use fathom_model::program::{Action, Assignment, Composition, ProcessId, Program, Statement};
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

/// The values of all elements of all variables.
type Values = Vec<i64>;

/// What went wrong and where.
type Wrong = (FaultKind, Span);

/// What an action does in a state.
struct Outcome {
    action: u32,
    movers: ProcessSet,
    result: Result<Values, Wrong>,
}

/// One store: where among the values, what, and where it stands in the source.
type Store = (usize, i64, Span);

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
        let fields = self.layout.fields.iter();
        fields.flat_map(|field| (0..field.elements).map(|index| field.read(record, index))).collect()
    }

    fn encode(&self, values: &Values) -> Vec<u64> {
        let mut record = vec![0; self.layout.words()];
        for (field, first) in self.layout.fields.iter().zip(&self.first) {
            for index in 0..field.elements {
                field.write(&mut record, index, values[first + index as usize]);
            }
        }
        record
    }

    fn location(&self, process: usize, values: &Values) -> usize {
        values[self.first[self.program.processes[process].variable.index()]] as usize
    }

    fn go(&self, process: ProcessId, to: u32, values: &mut Values) {
        values[self.first[self.program.process(process).variable.index()]] = i64::from(to);
    }

    /// Whether all movers are at their places.
    fn is_there(&self, action: &Action, values: &Values) -> bool {
        action.movers.iter().all(|mover| self.location(mover.process.index(), values) == mover.from as usize)
    }

    /// Whether the guard is true.
    fn guard(&self, action: &Action, values: &Values) -> Result<bool, Wrong> {
        action.guard.as_ref().map_or(Ok(true), |guard| Ok(self.evaluate(guard, values)? != 0))
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
                        Ok(true) => self.run(&action.body, values),
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
        if !there || guards.contains(&Ok(false)) {
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
        for statement in chosen.iter().flat_map(|action| &action.body) {
            match statement {
                Statement::Move { process, to } => self.go(*process, *to, &mut after),
                Statement::Assign(assignments) => {
                    for assignment in assignments {
                        let (place, value, span) = self.store(assignment, values)?;
                        if written.contains(&place) {
                            return Err((FaultKind::DoubleWrite, span));
                        }
                        written.push(place);
                        after[place] = value;
                    }
                }
            }
        }
        Ok(after)
    }

    /// The statements one after the other.
    fn run(&self, body: &[Statement], values: &Values) -> Result<Values, Wrong> {
        let mut values = values.clone();
        for statement in body {
            match statement {
                Statement::Move { process, to } => self.go(*process, *to, &mut values),
                Statement::Assign(assignments) => {
                    let stores: Result<Vec<Store>, Wrong> =
                        assignments.iter().map(|assignment| self.store(assignment, &values)).collect();
                    for (place, value, _) in stores? {
                        values[place] = value;
                    }
                }
            }
        }
        Ok(values)
    }

    /// What an assignment stores: index, value and range in this order.
    fn store(&self, assignment: &Assignment, values: &Values) -> Result<Store, Wrong> {
        let place = &assignment.place;
        let variable = self.program.variable(place.variable);
        let index = match &place.index {
            None => 0,
            Some(index) => element(self.evaluate(index, values)?, variable.elements(), place.span)?,
        };
        let value = self.evaluate(&assignment.value, values)?;
        let value = self.convert(variable.domain, value, assignment.span)?;
        Ok((self.first[place.variable.index()] + index, value, assignment.span))
    }

    fn convert(&self, domain: Domain, value: i64, span: Span) -> Result<i64, Wrong> {
        if (domain.low..=domain.high).contains(&value) {
            return Ok(value);
        }
        match self.program.overflow {
            Overflow::Fault => Err((FaultKind::Range, span)),
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
            Err(_) => Err((FaultKind::Overflow, span)),
        }
    }

    fn evaluate(&self, expression: &Expression, values: &Values) -> Result<i64, Wrong> {
        let span = expression.span;
        match &expression.kind {
            ExpressionKind::Constant(value) => Ok(*value),
            ExpressionKind::Read(variable) => Ok(values[self.first[variable.index()]]),
            ExpressionKind::Element(variable, index) => {
                let index = self.evaluate(index, values)?;
                let index = element(index, self.program.variable(*variable).elements(), span)?;
                Ok(values[self.first[variable.index()] + index])
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
        }
    }

    fn binary(&self, operator: BinaryOperator, left: i128, right: i128, span: Span) -> Result<i64, Wrong> {
        let exact = match operator {
            BinaryOperator::Add => left + right,
            BinaryOperator::Subtract => left - right,
            BinaryOperator::Multiply => left * right,
            BinaryOperator::Divide | BinaryOperator::Remainder if right == 0 => {
                return Err((FaultKind::Division, span));
            }
            BinaryOperator::Divide => left / right,
            BinaryOperator::Remainder => left % right,
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight if !(0..=63).contains(&right) => {
                return Err((FaultKind::Shift, span));
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
        let values: Values =
            self.program.variables.iter().flat_map(|variable| variable.initial.clone()).collect();
        for (number, start) in (0..).zip(&self.program.starts) {
            let result = self.run(&start.body, &values);
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
            Err((kind, span)) => out.push_fault(Fault { action, kind, span }),
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

/// The element an index names.
fn element(index: i64, elements: u32, span: Span) -> Result<usize, Wrong> {
    if (0..i64::from(elements)).contains(&index) { Ok(index as usize) } else { Err((FaultKind::Index, span)) }
}

fn movers_of<'a>(actions: impl IntoIterator<Item = &'a Action>) -> ProcessSet {
    let mut movers = ProcessSet::default();
    for mover in actions.into_iter().flat_map(|action| &action.movers) {
        movers.insert(mover.process.0);
    }
    movers
}
