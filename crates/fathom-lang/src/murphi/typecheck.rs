//! What does an expression mean where it stands, and of which type is it?
//!
//! Operators are told apart by the types of their operands (`&` of booleans is logical, of numbers bitwise). Where a value of a union meets one of a
//! member, a conversion is put in. A value of unknown type is wrong and has been reported; it goes with everything.

use fathom_model::expression::{BinaryOperator, UnaryOperator};
use fathom_model::span::Span;

use super::ast::{self, Chain, ExpressionKind, Name, Selection};
use super::resolve::{Checker, Owner, Symbol};
use super::tree::{Call, FunctionId, LocalId, Place, Quantifier, Root, Step, Value, ValueKind, Values};
use super::types::{BOOLEAN, Form, INTEGER, TypeId, UNKNOWN};
use crate::diagnostic::{Diagnostic, quoted};
use crate::nearest::nearest;

impl Checker<'_> {
    /// The meaning of an expression.
    pub(crate) fn value(&mut self, tree: &ast::Expression<'_>) -> Value {
        let span = tree.span;
        let (kind, type_id) = match &tree.kind {
            ExpressionKind::Number(value) => (ValueKind::Constant(*value), INTEGER),
            ExpressionKind::Boolean(value) => (ValueKind::Constant(i64::from(*value)), BOOLEAN),
            ExpressionKind::Undefined => (ValueKind::Undefined, UNKNOWN),
            ExpressionKind::Name(_) | ExpressionKind::Field(..) | ExpressionKind::Element(..) => {
                return self.designated(tree);
            }
            ExpressionKind::Call(name, arguments) => return self.call_value(*name, arguments, span),
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExpressionKind::Binary(operator, left, right) => self.binary(*operator, left, right, span),
            ExpressionKind::Chain(chain, operands) => self.chain(*chain, operands),
            ExpressionKind::Imply(left, right) => {
                let left = self.condition(left, "the left side of `->`");
                let right = self.conditional(|checker| checker.condition(right, "the right side of `->`"));
                let not_left = Value {
                    span: left.span,
                    type_id: BOOLEAN,
                    kind: ValueKind::Unary(UnaryOperator::Not, Box::new(left)),
                };
                (ValueKind::Any(vec![not_left, right]), BOOLEAN)
            }
            ExpressionKind::Conditional(operands) => self.ternary(operands),
            ExpressionKind::Quantified(for_all, quantifier, condition) => self.scoped(|checker| {
                let quantifier = checker.quantifier(quantifier);
                let condition =
                    checker.conditional(|checker| checker.condition(condition, "a quantified condition"));
                (ValueKind::Quantified(*for_all, Box::new(quantifier), Box::new(condition)), BOOLEAN)
            }),
            ExpressionKind::IsUndefined(operand) => match self.place(operand) {
                Some(place) => {
                    if !self.tree.types.is_simple(place.type_id) {
                        let label = format!("this is {}", self.tree.types.describe(place.type_id));
                        self.error(operand.span, "`isundefined` is asked of a simple variable", label);
                    }
                    (ValueKind::IsUndefined(place), BOOLEAN)
                }
                None => (ValueKind::Constant(0), UNKNOWN),
            },
            ExpressionKind::IsMember(operand, member) => self.is_member(operand, member),
            ExpressionKind::MultisetCount(selection) => match self.selection(selection) {
                Some((local, set, condition)) => {
                    (ValueKind::MultisetCount(local, Box::new(set), Box::new(condition)), INTEGER)
                }
                None => (ValueKind::Constant(0), UNKNOWN),
            },
        };
        Value { kind, type_id, span }
    }

    /// A boolean value; `what` names it in a report.
    pub(crate) fn condition(&mut self, tree: &ast::Expression<'_>, what: &str) -> Value {
        let value = self.value(tree);
        self.require_defined(&value);
        if !self.tree.types.is_boolean(value.type_id) {
            let label = format!("this is {}", self.tree.types.describe(value.type_id));
            self.error(tree.span, format!("{what} must be a boolean"), label);
        }
        value
    }

    /// A number; `what` names it in a report.
    pub(crate) fn numeric(&mut self, tree: &ast::Expression<'_>, what: &str) -> Value {
        let value = self.value(tree);
        self.require_defined(&value);
        if !self.tree.types.is_number(value.type_id) {
            let label = format!("this is {}", self.tree.types.describe(value.type_id));
            self.error(tree.span, format!("{what} must be a number"), label);
        }
        value
    }

    fn require_defined(&mut self, value: &Value) {
        if matches!(value.kind, ValueKind::Undefined) {
            let diagnostic = Diagnostic::error("`undefined` is no operand").at(value.span, "");
            self.diagnostics.push(diagnostic.help("ask with `isundefined(x)`"));
        }
    }

    /// Reads a part that is not evaluated always; it must not change the state.
    pub(crate) fn conditional<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.writing_call.take();
        let result = part(self);
        if let Some(span) = self.writing_call {
            let diagnostic =
                Diagnostic::error("this call changes the state, but is not always made").at(span, "");
            let help = "call it in a statement of its own, and use what it gives";
            self.diagnostics.push(diagnostic.help(help));
        }
        self.writing_call = outer;
        result
    }

    /// Reads an expression that must not change the state.
    pub(crate) fn pure<T>(&mut self, what: &str, part: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.writing_call.take();
        let result = part(self);
        if let Some(span) = self.writing_call {
            self.error(span, format!("{what} must not change the state"), "this call does");
        }
        self.writing_call = outer;
        result
    }

    fn unary(&mut self, operator: UnaryOperator, tree: &ast::Expression<'_>) -> (ValueKind, TypeId) {
        let (operand, type_id) = match operator {
            UnaryOperator::Not => (self.condition(tree, "the operand of `!`"), BOOLEAN),
            UnaryOperator::Negate => (self.numeric(tree, "the operand of `-`"), INTEGER),
            UnaryOperator::Complement => (self.numeric(tree, "the operand of `~`"), INTEGER),
        };
        (ValueKind::Unary(operator, Box::new(operand)), type_id)
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        left: &ast::Expression<'_>,
        right: &ast::Expression<'_>,
        span: Span,
    ) -> (ValueKind, TypeId) {
        use BinaryOperator::{BitXor, Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        match operator {
            Equal | NotEqual => return self.equality(operator == Equal, left, right, span),
            BitXor => {
                let (left, right) = (self.value(left), self.value(right));
                let types = &self.tree.types;
                if types.is_boolean(left.type_id) && types.is_boolean(right.type_id) {
                    return (ValueKind::Binary(NotEqual, Box::new(left), Box::new(right)), BOOLEAN);
                }
                self.require_alike(&left, &right, "`^`");
                return (ValueKind::Binary(BitXor, Box::new(left), Box::new(right)), INTEGER);
            }
            _ => {}
        }
        let what = format!("an operand of `{}`", operator.symbol());
        let (left, right) = (self.numeric(left, &what), self.numeric(right, &what));
        let compares = matches!(operator, Less | LessEqual | Greater | GreaterEqual);
        let numbers = [&left, &right].iter().all(|value| self.tree.types.is_number(value.type_id));
        let type_id = match (numbers, compares) {
            (false, _) => UNKNOWN,
            (true, true) => BOOLEAN,
            (true, false) => INTEGER,
        };
        (ValueKind::Binary(operator, Box::new(left), Box::new(right)), type_id)
    }

    /// Both operands of a sign that is logical or bitwise must be numbers if they are not booleans.
    fn require_alike(&mut self, left: &Value, right: &Value, sign: &str) {
        for value in [left, right] {
            if !self.tree.types.is_number(value.type_id) {
                let message = format!("both operands of {sign} must be booleans, or both numbers");
                let [left_type, right_type] = [left, right].map(|it| self.tree.types.describe(it.type_id));
                let diagnostic = Diagnostic::error(message).at(left.span, format!("this is {left_type}"));
                self.diagnostics.push(diagnostic.see(right.span, format!("this is {right_type}")));
                return;
            }
        }
    }

    fn equality(
        &mut self,
        equal: bool,
        left: &ast::Expression<'_>,
        right: &ast::Expression<'_>,
        span: Span,
    ) -> (ValueKind, TypeId) {
        let (left, right) = (self.value(left), self.value(right));
        self.require_defined(&left);
        self.require_defined(&right);
        let types = &self.tree.types;
        let two_unions = |left, right| matches!((types.form(left), types.form(right)), (Form::Union(_), Form::Union(_)) if !types.same(left, right));
        if !types.compatible(left.type_id, right.type_id) || two_unions(left.type_id, right.type_id) {
            let [left_type, right_type] = [&left, &right].map(|it| types.describe(it.type_id));
            let diagnostic = Diagnostic::error("these two are of different types and cannot be compared");
            let diagnostic = diagnostic.at(left.span, format!("this is {left_type}"));
            self.diagnostics.push(diagnostic.see(right.span, format!("this is {right_type}")));
            return (ValueKind::Constant(0), UNKNOWN);
        }
        if !types.is_simple(left.type_id) {
            let same = ValueKind::Same(Box::new(left), Box::new(right));
            if equal {
                return (same, BOOLEAN);
            }
            let same = Box::new(Value { kind: same, type_id: BOOLEAN, span });
            return (ValueKind::Unary(UnaryOperator::Not, same), BOOLEAN);
        }
        let is_union = |value: &Value| matches!(types.form(value.type_id), Form::Union(_));
        let common = if is_union(&right) { right.type_id } else { left.type_id };
        let (left, right) = (self.converted(left, common), self.converted(right, common));
        let operator = if equal { BinaryOperator::Equal } else { BinaryOperator::NotEqual };
        (ValueKind::Binary(operator, Box::new(left), Box::new(right)), BOOLEAN)
    }

    fn chain(&mut self, chain: Chain, operands: &[ast::Expression<'_>]) -> (ValueKind, TypeId) {
        let (sign, is_and) = match chain {
            Chain::And => ("&&", true),
            Chain::Or => ("||", false),
            Chain::Ampersand => ("&", true),
            Chain::Bar => ("|", false),
        };
        let first = self.value(&operands[0]);
        self.require_defined(&first);
        let is_bitwise = matches!(chain, Chain::Ampersand | Chain::Bar)
            && matches!(self.tree.types.form(first.type_id), Form::Range(_));
        if is_bitwise {
            let operator = if is_and { BinaryOperator::BitAnd } else { BinaryOperator::BitOr };
            return self.bitwise(operator, first, &operands[1..]);
        }
        let what = format!("an operand of `{sign}`");
        if !self.tree.types.is_boolean(first.type_id) {
            let label = format!("this is {}", self.tree.types.describe(first.type_id));
            self.error(first.span, format!("{what} must be a boolean"), label);
        }
        let mut values = vec![first];
        self.conditional(|checker| {
            values.extend(operands[1..].iter().map(|operand| checker.condition(operand, &what)));
        });
        (if is_and { ValueKind::All(values) } else { ValueKind::Any(values) }, BOOLEAN)
    }

    fn bitwise(
        &mut self,
        operator: BinaryOperator,
        first: Value,
        rest: &[ast::Expression<'_>],
    ) -> (ValueKind, TypeId) {
        let mut left = first;
        for operand in rest {
            let right = self.value(operand);
            self.require_alike(&left, &right, &format!("`{}`", operator.symbol()));
            let span = left.span.to(right.span);
            let kind = ValueKind::Binary(operator, Box::new(left), Box::new(right));
            left = Value { kind, type_id: INTEGER, span };
        }
        (left.kind, INTEGER)
    }

    fn ternary(&mut self, operands: &[ast::Expression<'_>; 3]) -> (ValueKind, TypeId) {
        let [condition, then, otherwise] = operands;
        let condition = self.condition(condition, "the condition of `?`");
        let (then, otherwise) = self.conditional(|checker| (checker.value(then), checker.value(otherwise)));
        let types = &self.tree.types;
        if !types.compatible(then.type_id, otherwise.type_id) || !types.is_simple(then.type_id) {
            let [then_type, other_type] = [&then, &otherwise].map(|it| types.describe(it.type_id));
            let diagnostic = Diagnostic::error("the two values of `?` must be simple and of one type");
            let diagnostic = diagnostic.at(then.span, format!("this is {then_type}"));
            self.diagnostics.push(diagnostic.see(otherwise.span, format!("this is {other_type}")));
            return (ValueKind::Constant(0), UNKNOWN);
        }
        let is_union = matches!(types.form(otherwise.type_id), Form::Union(_));
        let both_numbers = types.is_number(then.type_id) && types.is_number(otherwise.type_id);
        let type_id = match (both_numbers, is_union) {
            (true, _) => INTEGER,
            (false, true) => otherwise.type_id,
            (false, false) => then.type_id,
        };
        let (then, otherwise) = (self.converted(then, type_id), self.converted(otherwise, type_id));
        (ValueKind::Conditional(Box::new([condition, then, otherwise])), type_id)
    }

    fn is_member(&mut self, operand: &ast::Expression<'_>, member: &ast::Type<'_>) -> (ValueKind, TypeId) {
        let value = self.value(operand);
        let member_type = self.type_id(member);
        let types = &self.tree.types;
        let fits =
            types.same(value.type_id, member_type) || types.offset(value.type_id, member_type).is_some();
        if !fits {
            let diagnostic = Diagnostic::error("this type is no member of the union").at(member.span, "");
            let label = format!("this is {}", types.describe(value.type_id));
            self.diagnostics.push(diagnostic.see(value.span, label));
            return (ValueKind::Constant(0), UNKNOWN);
        }
        (ValueKind::IsMember(Box::new(value), member_type), BOOLEAN)
    }

    /// `i: set, condition`; the name is known in the condition only.
    pub(crate) fn selection(&mut self, selection: &Selection<'_>) -> Option<(LocalId, Place, Value)> {
        let set = self.multiset(&selection.set)?;
        let Form::Multiset(size, _) = *self.tree.types.form(set.type_id) else { return None };
        let slot = self.tree.types.add(Form::Slot(size));
        Some(self.scoped(|checker| {
            let local = checker.local(selection.name, slot, false, Owner::Block);
            let condition =
                checker.conditional(|checker| checker.condition(&selection.condition, "this condition"));
            (local, set, condition)
        }))
    }

    /// A place that is a multiset.
    pub(crate) fn multiset(&mut self, tree: &ast::Expression<'_>) -> Option<Place> {
        let place = self.place(tree)?;
        if matches!(self.tree.types.form(place.type_id), Form::Multiset(..)) {
            return Some(place);
        }
        if !self.tree.types.is_unknown(place.type_id) {
            let label = format!("this is {}", self.tree.types.describe(place.type_id));
            self.error(tree.span, "this must be a multiset", label);
        }
        None
    }

    /// A quantifier; its name is declared in the current scope.
    pub(crate) fn quantifier(&mut self, tree: &ast::Quantifier<'_>) -> Quantifier {
        let (type_id, values) = match &tree.values {
            ast::Values::Of(type_tree) => {
                let type_id = self.type_id(type_tree);
                if !self.tree.types.is_simple(type_id) {
                    let label = format!("this is {}", self.tree.types.describe(type_id));
                    self.error(type_tree.span, "a name runs over the values of a simple type", label);
                }
                (type_id, Values::All)
            }
            ast::Values::Steps { from, to, by } => {
                let from = Box::new(self.numeric(from, "the first value"));
                let to = Box::new(self.numeric(to, "the last value"));
                let by = by.as_ref().map(|by| Box::new(self.numeric(by, "the step")));
                self.check_steps(&from, &to, by.as_deref(), tree.span);
                (INTEGER, Values::Steps { from, to, by })
            }
        };
        let local = self.local(tree.name, type_id, false, Owner::Block);
        Quantifier { local, values, span: tree.span }
    }

    /// Refuses steps that are known to lead nowhere.
    fn check_steps(&mut self, from: &Value, to: &Value, by: Option<&Value>, span: Span) {
        let known = |value: &Value| super::fold::fold(&self.tree.types, value);
        let by_known = by.map_or(Some(1), known);
        let endless = match (known(from), known(to), by_known) {
            (_, _, Some(0)) => true,
            (Some(from), Some(to), Some(by)) => from < to && by < 0 || from > to && by > 0,
            _ => false,
        };
        if endless && by.is_some() {
            self.error(span, "these steps never arrive", "");
        }
    }

    /// What a name with fields and indices means: a constant or a place.
    fn designated(&mut self, tree: &ast::Expression<'_>) -> Value {
        let span = tree.span;
        let wrong = Value { kind: ValueKind::Constant(0), type_id: UNKNOWN, span };
        if let ExpressionKind::Name(name) = &tree.kind {
            match self.look_up(*name, "name") {
                Symbol::Constant(type_id, code) => {
                    if matches!(self.tree.types.form(type_id), Form::Scalarset(_)) {
                        self.named_values.push((span, type_id));
                    }
                    return Value { kind: ValueKind::Constant(code), type_id, span };
                }
                Symbol::Wrong => return wrong,
                _ => {}
            }
        }
        match self.place(tree) {
            Some(place) => Value { type_id: place.type_id, kind: ValueKind::Read(place), span },
            None => wrong,
        }
    }

    /// The place an expression stands for; reports one that stands for none.
    pub(crate) fn place(&mut self, tree: &ast::Expression<'_>) -> Option<Place> {
        let span = tree.span;
        match &tree.kind {
            ExpressionKind::Name(name) => self.named_place(*name),
            ExpressionKind::Field(base, field) => {
                let base = self.place(base)?;
                self.field(base, *field, span)
            }
            ExpressionKind::Element(base, index) => {
                let base = self.place(base)?;
                self.element(base, index, span)
            }
            ExpressionKind::Call(name, arguments) => {
                let value = self.call_value(*name, arguments, span);
                let type_id = value.type_id;
                Some(Place {
                    root: Root::Value(Box::new(value)),
                    steps: Vec::new(),
                    type_id,
                    writable: false,
                    span,
                })
            }
            _ => {
                self.error(span, "expected a variable", "this is a value");
                None
            }
        }
    }

    fn named_place(&mut self, name: Name<'_>) -> Option<Place> {
        let span = name.span;
        let (root, type_id, writable) = match self.look_up(name, "name") {
            Symbol::Global(id) => (Root::Global(id), self.tree.globals[id.index()].type_id, true),
            Symbol::Local(id, writable) => (Root::Local(id), self.tree.locals[id.index()].type_id, writable),
            Symbol::Wrong => return None,
            Symbol::Constant(..) => {
                self.error(span, format!("{} is a constant, not a variable", quoted(name.text)), "");
                return None;
            }
            Symbol::Type(_) => {
                self.error(span, format!("{} is a type, not a variable", quoted(name.text)), "");
                return None;
            }
            Symbol::Function(_) => {
                let diagnostic =
                    Diagnostic::error(format!("{} is a function, not a variable", quoted(name.text)));
                let help = format!("a call is written {}", quoted(&format!("{}()", name.text)));
                self.diagnostics.push(diagnostic.at(span, "").help(help));
                return None;
            }
        };
        Some(Place { root, steps: Vec::new(), type_id, writable, span })
    }

    fn field(&mut self, mut base: Place, field: Name<'_>, span: Span) -> Option<Place> {
        let Form::Record(fields) = self.tree.types.form(base.type_id) else {
            if !self.tree.types.is_unknown(base.type_id) {
                let label = format!("this is {}", self.tree.types.describe(base.type_id));
                let message = format!("no field {}: this is not a record", quoted(field.text));
                self.diagnostics.push(Diagnostic::error(message).at(field.span, "").see(base.span, label));
            }
            return None;
        };
        let Some(position) = fields.place(field.text) else {
            self.diagnostics.error_with(|| {
                let help = nearest(field.text, fields.iter().map(|(name, _)| name.as_str()));
                let help = help.map(|near| format!("did you mean {}?", quoted(near)));
                let label = format!("this is {}", self.tree.types.describe(base.type_id));
                let diagnostic = Diagnostic::error(format!("there is no field {}", quoted(field.text)));
                diagnostic.at(field.span, "").see(base.span, label).help_if(help)
            });
            return None;
        };
        base.type_id = fields.type_of(position);
        base.steps.push(Step::Field(position));
        base.span = span;
        Some(base)
    }

    fn element(&mut self, mut base: Place, index: &ast::Expression<'_>, span: Span) -> Option<Place> {
        let index = self.value(index);
        self.require_defined(&index);
        let (index_type, element) = match *self.tree.types.form(base.type_id) {
            Form::Array(index_type, element) => (index_type, element),
            Form::Multiset(size, element) => (self.tree.types.add(Form::Slot(size)), element),
            Form::Unknown => return None,
            _ => {
                let label = format!("this is {}", self.tree.types.describe(base.type_id));
                self.error(base.span, "only arrays and multisets have elements", label);
                return None;
            }
        };
        if !self.tree.types.compatible(index_type, index.type_id) {
            let [wanted, found] = [index_type, index.type_id].map(|it| self.tree.types.describe(it));
            let diagnostic = Diagnostic::error("the index is of the wrong type")
                .at(index.span, format!("this is {found}"));
            self.diagnostics.push(diagnostic.see(base.span, format!("the index of this is {wanted}")));
            return None;
        }
        let index = self.converted(index, index_type);
        base.type_id = element;
        base.steps.push(Step::Element(index));
        base.span = span;
        Some(base)
    }

    /// A value as one of a compatible type: itself, unless a union is met.
    pub(crate) fn converted(&self, value: Value, type_id: TypeId) -> Value {
        let types = &self.tree.types;
        let is_union = |id| matches!(types.form(id), Form::Union(_));
        if types.same(value.type_id, type_id) || !is_union(type_id) && !is_union(value.type_id) {
            return value;
        }
        let span = value.span;
        Value { kind: ValueKind::Convert(Box::new(value)), type_id, span }
    }

    /// A value that is stored in or passed to something of a type; reports one that is of another type.
    pub(crate) fn assigned(
        &mut self,
        tree: &ast::Expression<'_>,
        target: TypeId,
        what: &str,
        see: (Span, &str),
    ) -> Value {
        let value = self.value(tree);
        if !self.tree.types.compatible(value.type_id, target) {
            let [wanted, found] = [target, value.type_id].map(|it| self.tree.types.describe(it));
            let diagnostic = Diagnostic::error(format!("{what} is of the wrong type"))
                .at(value.span, format!("this is {found}"));
            self.diagnostics.push(diagnostic.see(see.0, format!("{} {wanted}", see.1)));
            return Value { type_id: UNKNOWN, ..value };
        }
        self.converted(value, target)
    }

    fn call_value(&mut self, name: Name<'_>, arguments: &[ast::Expression<'_>], span: Span) -> Value {
        let wrong = Value { kind: ValueKind::Constant(0), type_id: UNKNOWN, span };
        let Some(call) = self.call(name, arguments, span) else { return wrong };
        if call.writes {
            self.writing_call = self.writing_call.or(Some(span));
        }
        let function = &self.tree.functions[call.function.index()];
        let Some(type_id) = function.result else {
            let declared = function.span;
            let diagnostic = Diagnostic::error(format!("the procedure {} gives no value", quoted(name.text)));
            self.diagnostics.push(diagnostic.at(span, "").see(declared, "declared here"));
            return wrong;
        };
        Value { kind: ValueKind::Call(call), type_id, span }
    }

    /// A call of a function or procedure.
    pub(crate) fn call(&mut self, name: Name<'_>, trees: &[ast::Expression<'_>], span: Span) -> Option<Call> {
        let id = match self.look_up(name, "function") {
            Symbol::Function(id) => id,
            Symbol::Wrong => return None,
            _ => {
                self.error(name.span, format!("{} is not a function", quoted(name.text)), "");
                return None;
            }
        };
        let function = &self.tree.functions[id.index()];
        let (declared, count) = (function.span, function.parameters.len());
        if trees.len() != count {
            let message =
                format!("{} takes {}, not {}", quoted(name.text), arguments_text(count), trees.len());
            self.diagnostics.push(Diagnostic::error(message).at(span, "").see(declared, "declared here"));
            return None;
        }
        let mut arguments = Vec::new();
        let mut passes_outside = Owner::Block;
        for (position, tree) in trees.iter().enumerate() {
            let parameter = self.tree.functions[id.index()].parameters[position].clone();
            let target = self.tree.locals[parameter.local.index()].clone();
            if parameter.by_reference {
                let (argument, owner) = self.reference(tree, &target)?;
                passes_outside = match (passes_outside, owner) {
                    (Owner::State, _) | (_, Owner::State) => Owner::State,
                    (Owner::Caller, _) | (_, Owner::Caller) => Owner::Caller,
                    _ => Owner::Block,
                };
                arguments.push(argument);
            } else {
                let see = (target.span, "the parameter is");
                arguments.push(self.assigned(tree, target.type_id, "this argument", see));
            }
        }
        let writes = self.note_call(id, passes_outside);
        Some(Call { function: id, arguments, writes })
    }

    /// Keeps track of what a call changes; says whether it may change anything outside the current block.
    fn note_call(&mut self, id: FunctionId, passes: Owner) -> bool {
        let function = &self.tree.functions[id.index()];
        // Of a function that calls itself it is not known yet what it does to what is passed.
        let itself = self.body.function == Some(id);
        let through = function.writes_parameters || itself;
        let state = function.writes_state || through && passes == Owner::State;
        let caller = through && passes == Owner::Caller;
        self.body.writes_state |= state;
        self.body.writes_parameters |= caller;
        state || caller || itself && self.body.writes_state
    }

    /// An argument that is passed by reference, and what it belongs to.
    fn reference(
        &mut self,
        tree: &ast::Expression<'_>,
        parameter: &super::tree::Variable,
    ) -> Option<(Value, Owner)> {
        let place = self.place(tree)?;
        if !place.writable {
            let diagnostic = Diagnostic::error("this cannot be changed, but is passed to a `var` parameter");
            self.diagnostics.push(diagnostic.at(tree.span, "").see(parameter.span, "the parameter"));
            return None;
        }
        let types = &self.tree.types;
        let both_numbers = types.is_number(place.type_id) && types.is_number(parameter.type_id);
        if !types.same(place.type_id, parameter.type_id) && !both_numbers {
            let [wanted, found] = [parameter.type_id, place.type_id].map(|it| types.describe(it));
            let diagnostic = Diagnostic::error("this argument is of the wrong type");
            let diagnostic = diagnostic.at(tree.span, format!("this is {found}"));
            self.diagnostics.push(diagnostic.see(parameter.span, format!("the parameter is {wanted}")));
            return None;
        }
        let owner = self.owner(&place);
        Some((Value { type_id: place.type_id, kind: ValueKind::Read(place), span: tree.span }, owner))
    }

    /// What a place belongs to.
    pub(crate) fn owner(&self, place: &Place) -> Owner {
        match place.root {
            Root::Global(_) => Owner::State,
            Root::Local(id) => self.owners[id.index()],
            Root::Value(_) => Owner::Block,
        }
    }
}

fn arguments_text(count: usize) -> String {
    match count {
        0 => "no argument".to_owned(),
        1 => "one argument".to_owned(),
        _ => format!("{count} arguments"),
    }
}
