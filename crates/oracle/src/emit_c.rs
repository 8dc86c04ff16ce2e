//! What would a C compiler make of a program? Prints asynchronous programs as C, so that compiled code can be compared with gcc's, for equality and speed.
//!
//! Each program becomes two functions over packed records, straight from the meaning of programs: no analysis, every check written
//! out, and left to the C compiler to drop. Nothing is shared with the code generator it judges.
//!
//! ```c
//! size_t expand_N(const uint64_t *sources, size_t count, size_t capacity, uint64_t *targets, uint32_t *actions, struct end *ends, struct fault *faults);
//! uint64_t label_N(const uint64_t *record);
//! ```
//!
//! `expand_N` gives the number of finished sources, as the seam's `expand` does.

mod statements;

use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, Overflow, UnaryOperator,
};
use fathom_model::layout::Layout;
use fathom_model::program::{Action, Assignment, Composition, Program, VariableId};
use fathom_model::span::Span;
use fathom_model::steps::Labels;

use self::statements::Scene;

/// A whole translation unit that answers requests about asynchronous programs, by their numbers here, on standard input; `server.c` says how.
///
/// # Panics
/// If one of the programs is synchronous.
pub fn unit(programs: &[(&Program, &Layout)]) -> String {
    let mut text = include_str!("emit_c/prelude.h").to_owned();
    for (number, (program, layout)) in programs.iter().enumerate() {
        assert_eq!(program.composition, Composition::Asynchronous, "joint steps are not printed");
        let mut printer = Printer { program, layout, text, names: 0 };
        printer.expand(number);
        printer.label(number);
        text = printer.text;
    }
    text.push_str("static const struct program programs[] = {\n");
    for (number, (_, layout)) in programs.iter().enumerate() {
        text.push_str(&format!("  {{{}, expand_{number}, label_{number}}},\n", layout.words()));
    }
    text.push_str("};\n");
    text + include_str!("emit_c/server.c")
}

struct Printer<'a> {
    program: &'a Program,
    layout: &'a Layout,
    text: String,
    /// How many temporaries there are.
    names: usize,
}

/// Where a fault goes: a label of the function.
type Trap<'a> = &'a str;

impl Printer<'_> {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// A new temporary that holds what is given.
    fn let_be(&mut self, value: &str) -> String {
        let name = self.fresh();
        self.line(&format!("int64_t {name} = {value};"));
        name
    }

    fn expand(&mut self, number: usize) {
        let words = self.layout.words();
        self.line(&format!(
            "size_t expand_{number}(const uint64_t *restrict sources, size_t count, size_t capacity, \
             uint64_t *restrict targets, uint32_t *restrict actions, struct end *restrict ends, struct fault *restrict faults) {{"
        ));
        self.line("size_t steps = 0, fault_count = 0;");
        self.line("if (count > capacity) count = capacity;");
        self.line(&format!("for (size_t k = 0; k < count; k++, sources += {words}) {{"));
        if words <= 4 {
            let copy: Vec<String> = (0..words).map(|word| format!("sources[{word}]")).collect();
            self.line(&format!("const uint64_t s[{words}] = {{{}}};", copy.join(", ")));
        } else {
            self.line("const uint64_t *s = sources;");
        }
        self.line("struct fault trouble; (void)trouble;");
        let program = self.program;
        let commits = program.processes.iter().flat_map(|process| &process.locations).any(|it| it.committed);
        if commits {
            self.committed();
        }
        for (process, it) in program.processes.iter().enumerate() {
            let place = self.raw("s", it.variable, "0");
            self.line(&format!("switch ({place}) {{"));
            for location in 0..it.locations.len() as u32 {
                self.location(process, location, commits);
            }
            self.line("default: break;\n}");
        }
        let free = |action: &Action| action.movers.is_empty();
        self.line(if commits { "if (!committed) {" } else { "{" });
        for (number, action) in program.actions.iter().enumerate().filter(|(_, action)| free(action)) {
            self.action(number, action);
        }
        self.line("}");
        self.line("ends[k].step = (uint32_t)steps; ends[k].fault = (uint32_t)fault_count;");
        self.line("continue;\nfull: __attribute__((unused)); return k;\n}\nreturn count;\n}");
    }

    fn committed(&mut self) {
        let mut terms = vec!["0".to_owned()];
        for process in &self.program.processes {
            let place = self.raw("s", process.variable, "0");
            for (location, _) in process.locations.iter().enumerate().filter(|(_, it)| it.committed) {
                terms.push(format!("{place} == {location}"));
            }
        }
        self.line(&format!("int committed = {};", terms.join(" || ")));
    }

    fn location(&mut self, process: usize, location: u32, commits: bool) {
        let program = self.program;
        let owned = |action: &Action| {
            let first = action.movers.first();
            first.is_some_and(|it| it.process.index() == process && it.from == location)
        };
        if !program.actions.iter().any(owned) {
            return;
        }
        let committed = program.processes[process].locations[location as usize].committed;
        self.line(&format!("case {location}: {{"));
        if commits && !committed {
            self.line("if (committed) break;");
        }
        for (number, action) in program.actions.iter().enumerate().filter(|(_, action)| owned(action)) {
            if !committed || program.is_committed(action) {
                self.action(number, action);
            }
        }
        self.line("break; }");
    }

    fn action(&mut self, number: usize, action: &Action) {
        let words = self.layout.words();
        let (bad, next) = (format!("bad_{number}"), format!("next_{number}"));
        self.line("{");
        for mover in action.movers.iter().skip(1) {
            let place = self.raw("s", self.program.process(mover.process).variable, "0");
            self.line(&format!("if ({place} != {}) goto {next};", mover.from));
        }
        self.arguments(action);
        let mut scene = Scene { words: "s", trap: &bad, discard: Some(&next), exits: Vec::new() };
        if let Some(guard) = &action.command.guard {
            let value = self.value(guard, &mut scene);
            self.line(&format!("if (!({value})) goto {next};"));
        }
        self.line(&format!("uint64_t t[{words}]; for (int w = 0; w < {words}; w++) t[w] = s[w];"));
        scene.words = "t";
        self.statements(&action.command.body, &mut scene);
        self.line("if (steps == capacity) goto full;");
        self.line(&format!("for (int w = 0; w < {words}; w++) targets[steps * {words} + w] = t[w];"));
        self.line(&format!("actions[steps++] = {number};\ngoto {next};"));
        self.line(&format!("{bad}: __attribute__((unused));\nif (fault_count == capacity) goto full;"));
        self.line(&format!("trouble.action = {number}; faults[fault_count++] = trouble;"));
        self.line(&format!("{next}: __attribute__((unused)); ;\n}}"));
    }

    fn assign(&mut self, assignments: &[Assignment], scene: &mut Scene<'_>) {
        let trap = scene.trap;
        let mut stores = Vec::new();
        for Assignment { place, value, span } in assignments {
            let index = match &place.index {
                Some(index) => {
                    let index = self.value(index, scene);
                    self.index(place.variable, &index, place.span, trap)
                }
                None => "0".to_owned(),
            };
            let value = self.value(value, scene);
            let domain = self.program.variable(place.variable).domain;
            // A value may be the name of a temporary that another store changes.
            let value = self.convert(domain, &value, *span, trap);
            stores.push((place.variable, index, self.let_be(&value)));
        }
        for (variable, index, value) in stores {
            self.write(variable, &index, &value);
        }
    }

    fn label(&mut self, number: usize) {
        self.line(&format!("uint64_t label_{number}(const uint64_t *s) {{\n(void)s; uint64_t labels = 0;"));
        self.line("struct fault trouble; (void)trouble;");
        for (bit, label) in self.program.labels.iter().enumerate() {
            let (bad, next) = (format!("bad_{bit}"), format!("next_{bit}"));
            self.line("{");
            let mut scene = Scene { words: "s", trap: &bad, discard: None, exits: Vec::new() };
            let value = self.value(&label.expression, &mut scene);
            self.line(&format!("labels |= (uint64_t)({value} != 0) << {bit};\ngoto {next};"));
            self.line(&format!("{bad}: __attribute__((unused)); labels |= UINT64_C({});", Labels::FAULT.0));
            self.line(&format!("{next}: ;\n}}"));
        }
        self.line("return labels;\n}");
    }

    /// A scalar or an element as it is, undefined or not.
    fn raw(&mut self, words: &str, variable: VariableId, index: &str) -> String {
        if self.is_temporary(variable) {
            let element =
                self.program.variable(variable).length.map_or(String::new(), |_| format!("[{index}]"));
            return self.let_be(&format!("t{}{element}", variable.0));
        }
        let field = &self.layout.fields[variable.index()];
        let low = integer(field.domain.low);
        let (count, bits) = (self.layout.words(), field.element_bits);
        let at = format!("{} - (uint32_t)({index}) * {bits}", field.low);
        self.let_be(&format!("(int64_t)((uint64_t){low} + rd({words}, {count}, {at}, {bits}))"))
    }

    fn write(&mut self, variable: VariableId, index: &str, value: &str) {
        if self.is_temporary(variable) {
            let element =
                self.program.variable(variable).length.map_or(String::new(), |_| format!("[{index}]"));
            return self.line(&format!("t{}{element} = {value};", variable.0));
        }
        let field = &self.layout.fields[variable.index()];
        let (count, bits) = (self.layout.words(), field.element_bits);
        let code = format!("(uint64_t)({value}) - (uint64_t){}", integer(field.domain.low));
        let at = format!("{} - (uint32_t)({index}) * {bits}", field.low);
        self.line(&format!("wr(t, {count}, {at}, {bits}, {code});"));
    }

    /// Goes to the trap if the condition holds.
    fn fault_if(&mut self, condition: &str, kind: FaultKind, span: Span, trap: Trap<'_>) {
        let (kind, start, end) = (kind as u8, span.start, span.end);
        self.line(&format!(
            "if (__builtin_expect({condition}, 0)) {{ trouble.kind = {kind}; trouble.start = {start}; \
             trouble.end = {end}; goto {trap}; }}"
        ));
    }

    fn index(&mut self, variable: VariableId, index: &str, span: Span, trap: Trap<'_>) -> String {
        let elements = self.program.variable(variable).elements();
        self.fault_if(&format!("(uint64_t){index} >= {elements}"), FaultKind::Index, span, trap);
        index.to_owned()
    }

    fn convert(&mut self, domain: Domain, value: &str, span: Span, trap: Trap<'_>) -> String {
        match self.program.overflow {
            Overflow::Fault => self.inside(domain, value, FaultKind::Range, span, trap),
            Overflow::Wrap => {
                let (low, high) = (integer(domain.low), integer(domain.high));
                self.let_be(&format!("wrapped({value}, {low}, {high})"))
            }
        }
    }

    fn inside(&mut self, domain: Domain, value: &str, kind: FaultKind, span: Span, trap: Trap<'_>) -> String {
        let (low, high) = (integer(domain.low), integer(domain.high));
        self.fault_if(&format!("{value} < {low} || {value} > {high}"), kind, span, trap);
        value.to_owned()
    }

    /// The value of an expression.
    fn value(&mut self, expression: &Expression, scene: &mut Scene<'_>) -> String {
        let (span, trap) = (expression.span, scene.trap);
        match &expression.kind {
            ExpressionKind::Constant(value) => integer(*value),
            ExpressionKind::Read(variable) => {
                let value = self.raw(scene.words, *variable, "0");
                self.defined(*variable, value, span, trap)
            }
            ExpressionKind::Element(variable, index) => {
                let index = self.value(index, scene);
                let index = self.index(*variable, &index, span, trap);
                let value = self.raw(scene.words, *variable, &index);
                self.defined(*variable, value, span, trap)
            }
            ExpressionKind::Unary(operator, operand) => {
                let operand = self.value(operand, scene);
                match operator {
                    UnaryOperator::Negate => {
                        self.checked("__builtin_sub_overflow", "INT64_C(0)", &operand, span, trap)
                    }
                    UnaryOperator::Complement => self.let_be(&format!("~{operand}")),
                    UnaryOperator::Not => self.let_be(&format!("!{operand}")),
                }
            }
            ExpressionKind::Binary(operator, left, right) => {
                let left = self.value(left, scene);
                let right = self.value(right, scene);
                self.binary(*operator, &left, &right, span, trap)
            }
            ExpressionKind::All(operands) => self.logical(operands, scene, true),
            ExpressionKind::Any(operands) => self.logical(operands, scene, false),
            ExpressionKind::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let result = self.let_be("0");
                let condition = self.value(condition, scene);
                self.line(&format!("if ({condition}) {{"));
                let then = self.value(then, scene);
                self.line(&format!("{result} = {then};\n}} else {{"));
                let otherwise = self.value(otherwise, scene);
                self.line(&format!("{result} = {otherwise};\n}}"));
                result
            }
            ExpressionKind::Convert(domain, operand) => {
                let operand = self.value(operand, scene);
                self.convert(*domain, &operand, span, trap)
            }
            ExpressionKind::Checked(domain, kind, operand) => {
                let operand = self.value(operand, scene);
                self.inside(*domain, &operand, *kind, span, trap)
            }
            ExpressionKind::IsUndefined(place) => self.is_undefined(place, scene),
            ExpressionKind::Compute(computation) => self.compute(computation, scene),
        }
    }

    fn logical(&mut self, operands: &[Expression], scene: &mut Scene<'_>, all: bool) -> String {
        let result = self.let_be(if all { "0" } else { "1" });
        self.line("do {");
        for operand in operands {
            let value = self.value(operand, scene);
            self.line(&format!("if ({}{value}) break;", if all { "!" } else { "" }));
        }
        self.line(&format!("{result} = {};\n}} while (0);", i32::from(all)));
        result
    }

    /// Arithmetic by a builtin that tells whether something was lost.
    fn checked(&mut self, builtin: &str, left: &str, right: &str, span: Span, trap: Trap<'_>) -> String {
        let result = self.fresh();
        self.line(&format!("int64_t {result};"));
        let call = format!("{builtin}({left}, {right}, &{result})");
        match self.program.overflow {
            Overflow::Fault => self.fault_if(&call, FaultKind::Overflow, span, trap),
            Overflow::Wrap => self.line(&format!("(void){call};")),
        }
        result
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &str,
        right: &str,
        span: Span,
        trap: Trap<'_>,
    ) -> String {
        match operator {
            BinaryOperator::Add => self.checked("__builtin_add_overflow", left, right, span, trap),
            BinaryOperator::Subtract => self.checked("__builtin_sub_overflow", left, right, span, trap),
            BinaryOperator::Multiply => self.checked("__builtin_mul_overflow", left, right, span, trap),
            BinaryOperator::Divide => {
                self.fault_if(&format!("{right} == 0"), FaultKind::Division, span, trap);
                if self.program.overflow == Overflow::Fault {
                    let lost = format!("{left} == INT64_MIN && {right} == -1");
                    self.fault_if(&lost, FaultKind::Overflow, span, trap);
                }
                self.let_be(&format!("{right} == -1 ? (int64_t)(-(uint64_t){left}) : {left} / {right}"))
            }
            BinaryOperator::Remainder => {
                self.fault_if(&format!("{right} == 0"), FaultKind::Division, span, trap);
                self.let_be(&format!("{right} == -1 ? 0 : {left} % {right}"))
            }
            BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                self.fault_if(&format!("(uint64_t){right} > 63"), FaultKind::Shift, span, trap);
                if operator == BinaryOperator::ShiftRight {
                    return self.let_be(&format!("{left} >> {right}"));
                }
                let shifted = self.let_be(&format!("(int64_t)((uint64_t){left} << {right})"));
                if self.program.overflow == Overflow::Fault {
                    let lost = format!("{shifted} >> {right} != {left}");
                    self.fault_if(&lost, FaultKind::Overflow, span, trap);
                }
                shifted
            }
            // The rest is written as C has it, and cannot fault.
            _ => self.let_be(&format!("{left} {} {right}", operator.symbol())),
        }
    }
}

fn integer(value: i64) -> String {
    match value {
        i64::MIN => "INT64_MIN".to_owned(),
        _ => format!("INT64_C({value})"),
    }
}
