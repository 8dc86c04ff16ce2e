//! How does a program read? Text for people, one command after the other; it is not a language that is read back.

use std::fmt::{self, Display, Formatter};

use crate::expression::{Expression, ExpressionKind, Overflow, UnaryOperator};
use crate::program::{Action, Command, Composition, Place, Program, Role, Statement, Variable, VariableId};

impl Display for Program {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let composition = match self.composition {
            Composition::Asynchronous => "asynchronous",
            Composition::Synchronous => "synchronous",
        };
        let overflow = match self.overflow {
            Overflow::Fault => "fault",
            Overflow::Wrap => "wrap",
        };
        writeln!(out, "program {} ({composition}, overflow {overflow})", self.name)?;
        for variable in &self.variables {
            self.write_variable(out, variable)?;
        }
        for (number, start) in self.starts.iter().enumerate() {
            writeln!(out, "start {number}{}", named(start.name.as_deref()))?;
            self.write_arguments(out, &start.command, &start.arguments)?;
            self.write_body(out, &start.command.body, 2)?;
        }
        for (number, action) in self.actions.iter().enumerate() {
            self.write_action(out, number, action)?;
        }
        for label in &self.labels {
            writeln!(out, "label {} ({:?}): {}", label.name, label.kind, self.show(&label.expression))?;
        }
        self.write_property(out)
    }
}

/// An expression with the names of its program.
struct Shown<'a> {
    program: &'a Program,
    expression: &'a Expression,
}

impl Program {
    /// An expression of this program in words.
    pub fn show(&self, expression: &Expression) -> String {
        Shown { program: self, expression }.to_string()
    }

    fn write_variable(&self, out: &mut Formatter<'_>, variable: &Variable) -> fmt::Result {
        let word = if variable.role == Role::Temporary { "temporary" } else { "var" };
        write!(out, "  {word} {}", variable.name)?;
        if let Some(length) = variable.length {
            write!(out, "[{length}]")?;
        }
        if let Role::Location(process) = variable.role {
            let names = self.process(process).locations.iter().map(|location| {
                if location.committed {
                    format!("{} (committed)", location.name)
                } else {
                    location.name.clone()
                }
            });
            write!(out, ": {{{}}}", names.collect::<Vec<_>>().join(", "))?;
        } else {
            write!(out, ": {}..{}", variable.domain.low, variable.domain.high)?;
        }
        let word = |value: &i64| match variable.undefined() {
            Some(undefined) if undefined == *value => "undefined".to_owned(),
            _ => value.to_string(),
        };
        let initial: Vec<String> = variable.initial.iter().map(word).collect();
        writeln!(out, " = {}", initial.join(", "))
    }

    fn write_action(&self, out: &mut Formatter<'_>, number: usize, action: &Action) -> fmt::Result {
        write!(out, "action {number}{}", named(action.name.as_deref()))?;
        for mover in &action.movers {
            let process = self.process(mover.process);
            let [from, to] =
                [mover.from, mover.to].map(|location| &process.locations[location as usize].name);
            write!(out, " {}: {from} -> {to}", process.name)?;
        }
        if let Some(exchange) = &action.exchange {
            let values: Vec<String> = exchange.values.iter().map(|value| self.show(value)).collect();
            write!(out, " over {}({})", exchange.channel, values.join(", "))?;
        }
        writeln!(out)?;
        self.write_arguments(out, &action.command, &action.arguments)?;
        if let Some(guard) = &action.command.guard {
            writeln!(out, "    when {}", self.show(guard))?;
        }
        self.write_body(out, &action.command.body, 2)
    }

    fn write_arguments(&self, out: &mut Formatter<'_>, command: &Command, arguments: &[i64]) -> fmt::Result {
        for (parameter, argument) in command.parameters.iter().zip(arguments) {
            writeln!(out, "    where {} = {argument}", self.variable(*parameter).name)?;
        }
        Ok(())
    }

    fn write_body(&self, out: &mut Formatter<'_>, body: &[Statement], depth: usize) -> fmt::Result {
        body.iter().try_for_each(|statement| self.write_statement(out, statement, depth))
    }

    fn write_statement(&self, out: &mut Formatter<'_>, statement: &Statement, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        match statement {
            Statement::If { arms, otherwise } => {
                for (number, (condition, body)) in arms.iter().enumerate() {
                    let word = if number == 0 { "if" } else { "else if" };
                    writeln!(out, "{indent}{word} {}", self.show(condition))?;
                    self.write_body(out, body, depth + 1)?;
                }
                if !otherwise.is_empty() {
                    writeln!(out, "{indent}else")?;
                }
                self.write_body(out, otherwise, depth + 1)
            }
            Statement::While { condition, body, bound, .. } => {
                writeln!(out, "{indent}while {} (at most {bound} times)", self.show(condition))?;
                self.write_body(out, body, depth + 1)
            }
            Statement::For { counter, from, to, step, body } => {
                let name = &self.variable(*counter).name;
                writeln!(out, "{indent}for {name} from {from} to {to} by {step}")?;
                self.write_body(out, body, depth + 1)
            }
            Statement::Block { locals, body } => {
                writeln!(out, "{indent}block {}", self.names(locals))?;
                self.write_body(out, body, depth + 1)
            }
            simple => writeln!(out, "{indent}{}", self.show_in_line(simple)),
        }
    }

    /// A statement in one line.
    fn show_in_line(&self, statement: &Statement) -> String {
        match statement {
            Statement::Move { process, to } => {
                let process = self.process(*process);
                format!("{} goes to {}", process.name, process.locations[*to as usize].name)
            }
            Statement::Assign(assignments) => {
                let places: Vec<String> = assignments.iter().map(|it| self.show_place(&it.place)).collect();
                let values: Vec<String> = assignments.iter().map(|it| self.show(&it.value)).collect();
                format!("{} := {}", places.join(", "), values.join(", "))
            }
            Statement::Copy { to, from, count, .. } => {
                format!("{} := copy of {} ({count})", self.show_place(to), self.show_place(from))
            }
            Statement::Fill { place, count, value, .. } => {
                let value = value.as_ref().map_or("undefined".into(), |value| self.show(value));
                format!("{} := all {value} ({count})", self.show_place(place))
            }
            Statement::Leave(depth) => format!("leave {depth}"),
            Statement::Fail { kind, message, .. } => {
                format!("fail: {}", message.as_deref().unwrap_or(kind.text()))
            }
            Statement::Assume(condition) => format!("assume {}", self.show(condition)),
            Statement::If { arms, otherwise } => {
                let arms: Vec<String> = arms
                    .iter()
                    .map(|(condition, body)| format!("if {} {}", self.show(condition), self.show_body(body)))
                    .collect();
                format!("{} else {}", arms.join(" else "), self.show_body(otherwise))
            }
            Statement::While { condition, body, bound, .. } => {
                format!("while {} (at most {bound} times) {}", self.show(condition), self.show_body(body))
            }
            Statement::For { counter, from, to, step, body } => {
                let name = &self.variable(*counter).name;
                format!("for {name} from {from} to {to} by {step} {}", self.show_body(body))
            }
            Statement::Block { locals, body } => {
                format!("block {} {}", self.names(locals), self.show_body(body))
            }
        }
    }

    /// A body in one line.
    fn show_body(&self, body: &[Statement]) -> String {
        let statements: Vec<String> = body.iter().map(|it| self.show_in_line(it)).collect();
        format!("{{ {} }}", statements.join("; "))
    }

    fn names(&self, variables: &[VariableId]) -> String {
        let names: Vec<&str> = variables.iter().map(|it| &*self.variable(*it).name).collect();
        names.join(", ")
    }

    fn write_property(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Some(property) = &self.property else { return Ok(()) };
        writeln!(out, "property {}", property.name)?;
        for (number, location) in property.locations.iter().enumerate() {
            let initial = if number as u32 == property.initial { " (initial)" } else { "" };
            let accepting = if property.accepting[number] { " (accepting)" } else { "" };
            writeln!(out, "    state {}{initial}{accepting}", location.name)?;
        }
        for edge in &property.edges {
            let [from, to] = [edge.from, edge.to].map(|location| &property.locations[location as usize].name);
            let guard = edge.guard.as_ref().map_or("1".into(), |guard| self.show(guard));
            writeln!(out, "    {from} -> {to} when {guard}")?;
        }
        Ok(())
    }

    fn show_place(&self, place: &Place) -> String {
        let name = &self.variable(place.variable).name;
        match &place.index {
            Some(index) => format!("{name}[{}]", self.show(index)),
            None => name.clone(),
        }
    }
}

impl Display for Shown<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Shown { program, expression } = *self;
        let show = |expression| Shown { program, expression };
        match &expression.kind {
            ExpressionKind::Constant(value) => write!(out, "{value}"),
            ExpressionKind::Read(variable) => write!(out, "{}", program.variable(*variable).name),
            ExpressionKind::Element(variable, index) => {
                write!(out, "{}[{}]", program.variable(*variable).name, show(index))
            }
            ExpressionKind::Unary(operator, operand) => {
                write!(out, "{}({})", unary_symbol(*operator), show(operand))
            }
            ExpressionKind::Binary(operator, left, right) => {
                write!(out, "({} {} {})", show(left), operator.symbol(), show(right))
            }
            ExpressionKind::All(operands) => write_joined(out, program, operands, "and", "1"),
            ExpressionKind::Any(operands) => write_joined(out, program, operands, "or", "0"),
            ExpressionKind::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                write!(out, "({} ? {} : {})", show(condition), show(then), show(otherwise))
            }
            ExpressionKind::Convert(domain, operand) => {
                write!(out, "({} as {}..{})", show(operand), domain.low, domain.high)
            }
            ExpressionKind::Checked(domain, kind, operand) => {
                let (low, high) = (domain.low, domain.high);
                write!(out, "({} in {low}..{high} or {})", show(operand), kind.text())
            }
            ExpressionKind::IsUndefined(place) => write!(out, "undefined({})", program.show_place(place)),
            ExpressionKind::Compute(computation) => {
                let (locals, body) =
                    (program.names(&computation.locals), program.show_body(&computation.body));
                write!(out, "(compute {locals} {body} {})", show(&computation.value))
            }
        }
    }
}

fn write_joined(
    out: &mut Formatter<'_>,
    program: &Program,
    operands: &[Expression],
    word: &str,
    empty: &str,
) -> fmt::Result {
    if operands.is_empty() {
        return out.write_str(empty);
    }
    for (position, expression) in operands.iter().enumerate() {
        let before = if position == 0 { "(" } else { " " };
        let joint = if position == 0 { "" } else { word };
        let gap = if position == 0 { "" } else { " " };
        write!(out, "{before}{joint}{gap}{}", Shown { program, expression })?;
    }
    out.write_str(")")
}

fn unary_symbol(operator: UnaryOperator) -> &'static str {
    match operator {
        UnaryOperator::Negate => "-",
        UnaryOperator::Complement => "~",
        UnaryOperator::Not => "not ",
    }
}

fn named(name: Option<&str>) -> String {
    name.map_or(String::new(), |name| format!(" \"{name}\""))
}
