//! How does a program read? Text for people, one command after the other; it is not a language that is read back.

use std::fmt::{self, Display, Formatter};

use crate::expression::{Expression, ExpressionKind, Overflow, UnaryOperator};
use crate::program::{Action, Composition, Place, Program, Role, Statement, Variable};

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
            self.write_body(out, &start.body)?;
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
        write!(out, "  var {}", variable.name)?;
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
        let initial: Vec<String> = variable.initial.iter().map(i64::to_string).collect();
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
        if let Some(guard) = &action.guard {
            writeln!(out, "    when {}", self.show(guard))?;
        }
        self.write_body(out, &action.body)
    }

    fn write_body(&self, out: &mut Formatter<'_>, body: &[Statement]) -> fmt::Result {
        for statement in body {
            match statement {
                Statement::Move { process, to } => {
                    let process = self.process(*process);
                    writeln!(out, "    {} goes to {}", process.name, process.locations[*to as usize].name)?;
                }
                Statement::Assign(assignments) => {
                    let places: Vec<String> =
                        assignments.iter().map(|it| self.show_place(&it.place)).collect();
                    let values: Vec<String> = assignments.iter().map(|it| self.show(&it.value)).collect();
                    writeln!(out, "    {} := {}", places.join(", "), values.join(", "))?;
                }
            }
        }
        Ok(())
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
