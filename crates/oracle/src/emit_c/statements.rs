//! How are statements and temporaries written in C?
//!
//! A temporary is a variable of the block that introduces it, an array of them an array. Undefined is the number below the domain, as in records.

use fathom_model::expression::{Computation, Expression, FaultKind};
use fathom_model::program::{Action, Place, Role, Statement, VariableId};
use fathom_model::span::Span;

use super::{Printer, Trap, integer};

/// Where a statement stands.
#[derive(Clone)]
pub(super) struct Scene<'a> {
    /// The words that are read: `s` of the source, `t` of the record under change.
    pub(super) words: &'a str,
    /// Where a fault goes.
    pub(super) trap: Trap<'a>,
    /// Where a step goes that is assumed away.
    pub(super) discard: Option<&'a str>,
    /// The ends of the blocks around it, the innermost last.
    pub(super) exits: Vec<String>,
}

impl Printer<'_> {
    pub(super) fn is_temporary(&self, variable: VariableId) -> bool {
        self.program.variable(variable).role == Role::Temporary
    }

    /// The arguments of an action.
    pub(super) fn arguments(&mut self, action: &Action) {
        for (parameter, argument) in action.command.parameters.iter().zip(&action.arguments) {
            self.line(&format!("int64_t t{} = {}; (void)t{0};", parameter.0, integer(*argument)));
        }
    }

    /// Temporaries whose scope begins.
    fn introduce(&mut self, locals: &[VariableId]) {
        for local in locals {
            let variable = self.program.variable(*local);
            let values: Vec<String> = variable.initial.iter().map(|value| integer(*value)).collect();
            let name = local.0;
            match variable.length {
                None => self.line(&format!("int64_t t{name} = {}; (void)t{name};", values[0])),
                Some(length) => {
                    let values = values.join(", ");
                    self.line(&format!("int64_t t{name}[{length}] = {{{values}}}; (void)t{name};"));
                }
            }
        }
    }

    pub(super) fn statements(&mut self, body: &[Statement], scene: &mut Scene<'_>) {
        body.iter().for_each(|statement| self.statement(statement, scene));
    }

    fn statement(&mut self, statement: &Statement, scene: &mut Scene<'_>) {
        let trap = scene.trap;
        match statement {
            Statement::Move { process, to } => {
                let variable = self.program.process(*process).variable;
                self.write(variable, "0", &to.to_string());
            }
            Statement::Assign(assignments) => self.assign(assignments, scene),
            Statement::Copy { to, from, count, span } => self.copy(to, from, *count, *span, scene),
            Statement::Fill { place, count, value, span } => {
                self.fill(place, *count, value.as_ref(), *span, scene);
            }
            Statement::If { arms, otherwise } => {
                for (condition, body) in arms {
                    let condition = self.value(condition, scene);
                    self.line(&format!("if ({condition}) {{"));
                    self.statements(body, scene);
                    self.line("} else {");
                }
                self.statements(otherwise, scene);
                self.line(&"}".repeat(arms.len()));
            }
            Statement::While { condition, body, bound, span } => {
                self.line("for (uint64_t round = 0;; round++) {");
                let condition = self.value(condition, scene);
                self.line(&format!("if (!{condition}) break;"));
                self.fault_if(&format!("round == {bound}u"), FaultKind::Bound, *span, trap);
                self.statements(body, scene);
                self.line("}");
            }
            Statement::For { counter, from, to, step, body } => {
                self.count(*counter, [*from, *to, *step], body, scene);
            }
            Statement::Block { locals, body } => {
                let exit = self.fresh();
                self.line("{");
                self.introduce(locals);
                scene.exits.push(exit.clone());
                self.statements(body, scene);
                scene.exits.pop();
                self.line(&format!("}}\n{exit}: __attribute__((unused)); ;"));
            }
            Statement::Leave(depth) => {
                let exit = &scene.exits[scene.exits.len() - 1 - *depth as usize];
                self.line(&format!("goto {exit};"));
            }
            Statement::Fail { kind, span, .. } => self.fault_if("1", *kind, *span, trap),
            Statement::Assume(condition) => {
                let condition = self.value(condition, scene);
                let discard = scene.discard.expect("verified: only steps are assumed away");
                self.line(&format!("if (!{condition}) goto {discard};"));
            }
        }
    }

    fn count(
        &mut self,
        counter: VariableId,
        [from, to, step]: [i64; 3],
        body: &[Statement],
        scene: &mut Scene<'_>,
    ) {
        let distance = (i128::from(to) - i128::from(from)) * i128::from(step.signum());
        if distance >= 0 {
            let rounds = distance / i128::from(step).abs();
            let (name, from, step) = (format!("t{}", counter.0), integer(from), integer(step));
            let next = format!("{name} = (int64_t)((uint64_t){name} + (uint64_t){step})");
            self.line(&format!("{{ int64_t {name} = {from}; (void){name};"));
            self.line(&format!("for (uint64_t round = 0; round <= {rounds}u; round++, {next}) {{"));
            self.statements(body, scene);
            self.line("} }");
        }
    }

    /// The number of the first of so many elements, all of which must be there.
    fn first_of(&mut self, place: &Place, count: u32, scene: &mut Scene<'_>) -> String {
        match &place.index {
            None => "0".to_owned(),
            Some(index) => {
                let index = self.value(index, scene);
                let last = self.program.variable(place.variable).elements() - count;
                self.fault_if(
                    &format!("(uint64_t){index} > {last}"),
                    FaultKind::Index,
                    place.span,
                    scene.trap,
                );
                index
            }
        }
    }

    fn copy(&mut self, to: &Place, from: &Place, count: u32, span: Span, scene: &mut Scene<'_>) {
        let target = self.first_of(to, count, scene);
        let source = self.first_of(from, count, scene);
        let (there, here) = (
            self.program.variable(from.variable).undefined(),
            self.program.variable(to.variable).undefined(),
        );
        let mut values = Vec::new();
        for offset in 0..count {
            let value = self.raw(scene.words, from.variable, &format!("({source} + {offset})"));
            let result = self.let_be(&value);
            let Some(there) = there else {
                let fitting =
                    self.convert(self.program.variable(to.variable).domain, &value, span, scene.trap);
                self.line(&format!("{result} = {fitting};"));
                values.push(result);
                continue;
            };
            self.line(&format!("if ({value} == {}) {{", integer(there)));
            match here {
                Some(here) => self.line(&format!("{result} = {};", integer(here))),
                None => self.fault_if("1", FaultKind::Undefined, span, scene.trap),
            }
            self.line("} else {");
            let fitting = self.convert(self.program.variable(to.variable).domain, &value, span, scene.trap);
            self.line(&format!("{result} = {fitting};\n}}"));
            values.push(result);
        }
        for (offset, value) in values.iter().enumerate() {
            self.write(to.variable, &format!("({target} + {offset})"), value);
        }
    }

    fn fill(
        &mut self,
        place: &Place,
        count: u32,
        value: Option<&Expression>,
        span: Span,
        scene: &mut Scene<'_>,
    ) {
        let target = self.first_of(place, count, scene);
        let variable = self.program.variable(place.variable);
        let value = match value {
            Some(value) => {
                let value = self.value(value, scene);
                self.convert(variable.domain, &value, span, scene.trap)
            }
            None => integer(variable.undefined().expect("verified to be optional")),
        };
        let value = self.let_be(&value);
        self.line(&format!("for (int64_t element = 0; element < {count}; element++) {{"));
        self.write(place.variable, &format!("({target} + element)"), &value);
        self.line("}");
    }

    pub(super) fn compute(&mut self, computation: &Computation, scene: &Scene<'_>) -> String {
        let Computation { locals, body, value } = computation;
        let result = self.let_be("0");
        self.line("{");
        self.introduce(locals);
        let mut inside = Scene { exits: Vec::new(), ..scene.clone() };
        self.statements(body, &mut inside);
        let value = self.value(value, &mut inside);
        self.line(&format!("{result} = {value};\n}}"));
        result
    }

    /// A value that was read from a variable, which must not be undefined.
    pub(super) fn defined(
        &mut self,
        variable: VariableId,
        value: String,
        span: Span,
        trap: Trap<'_>,
    ) -> String {
        if let Some(undefined) = self.program.variable(variable).undefined() {
            let wrong = format!("{value} == {}", integer(undefined));
            self.fault_if(&wrong, FaultKind::Undefined, span, trap);
        }
        value
    }

    pub(super) fn is_undefined(&mut self, place: &Place, scene: &mut Scene<'_>) -> String {
        let index = self.first_of(place, 1, scene);
        let value = self.raw(scene.words, place.variable, &index);
        let undefined = self.program.variable(place.variable).undefined().expect("verified to be optional");
        self.let_be(&format!("{value} == {}", integer(undefined)))
    }
}
