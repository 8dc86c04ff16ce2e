//! Which expressions do values stand for, and which variables do places?
//!
//! A call that changes nothing becomes a computation where it stands; one that changes the state is made before the statement, whose result
//! the expression then reads. Quantifiers over few values are written out, others become loops.

use fathom_model::expression::{
    BinaryOperator, Domain, Expression, ExpressionKind, FaultKind, UnaryOperator,
};
use fathom_model::program::{Assignment, Place as Target, Statement, VariableId};
use fathom_model::span::Span;

use super::layout::{self, Region, is_fixed};
use super::lower::{Binding, Lowerer, WIDE};
use super::simplify;
use super::tree::{Alias, Call, LocalId, Place, Quantifier, Root, Step, Value, ValueKind, Values};
use super::types::{Form, TypeId};

/// The most values of a quantifier that is written out.
const WRITTEN_OUT_MAX: usize = 16;
/// How many calls that may call one another are written out.
const CALLS_MAX: usize = 4_096;
/// How deep calls of a function that calls itself once are written out.
const DEPTH_MAX: usize = 64;

impl<'t> Lowerer<'t> {
    /// The value as an expression; calls that change the state are put into `out`.
    pub(crate) fn expression(&mut self, value: &'t Value, out: &mut Vec<Statement>) -> Expression {
        if !self.spend() {
            return Expression::constant(0, value.span);
        }
        let made = self.deeper(|lowerer| lowerer.expression_inside(value, out));
        made.unwrap_or(Expression::constant(0, value.span))
    }

    fn expression_inside(&mut self, value: &'t Value, out: &mut Vec<Statement>) -> Expression {
        let span = value.span;
        match &value.kind {
            ValueKind::Constant(code) => Expression::constant(*code, span),
            ValueKind::Undefined => failure(FaultKind::Undefined, span),
            ValueKind::Read(place) => self.read(place, out),
            ValueKind::Convert(operand) => {
                let code = self.expression(operand, out);
                self.convert(code, operand.type_id, value.type_id, span)
            }
            ValueKind::Unary(operator, operand) => {
                let operand = self.expression(operand, out);
                simplify::unary(*operator, operand, span)
            }
            ValueKind::Binary(operator, left, right) => {
                let left = self.expression(left, out);
                let right = self.expression(right, out);
                match operator {
                    BinaryOperator::ShiftLeft | BinaryOperator::ShiftRight => {
                        shift(*operator, left, right, span)
                    }
                    _ => simplify::binary(*operator, left, right, span),
                }
            }
            ValueKind::Same(left, right) => {
                let (left, right) = (self.aggregate(left, out), self.aggregate(right, out));
                self.same(&left, &right, span)
            }
            ValueKind::All(operands) => {
                let operands = self.operands(operands, out);
                simplify::all(operands, span)
            }
            ValueKind::Any(operands) => {
                let operands = self.operands(operands, out);
                simplify::any(operands, span)
            }
            ValueKind::Conditional(operands) => {
                let [condition, then, otherwise] = &**operands;
                let condition = self.expression(condition, out);
                let (then, otherwise) = (self.apart(then), self.apart(otherwise));
                simplify::conditional(condition, then, otherwise, span)
            }
            ValueKind::Quantified(for_all, quantifier, condition) => {
                self.quantified(*for_all, quantifier, span, &mut |lowerer| lowerer.apart(condition))
            }
            ValueKind::Call(call) => self.called(call, value.type_id, span, out),
            ValueKind::IsUndefined(place) => self.is_undefined(place, out),
            ValueKind::IsMember(operand, member) => self.is_member(operand, *member, span, out),
            ValueKind::MultisetCount(local, set, condition) => self.count(*local, set, condition, span, out),
        }
    }

    /// An operand that is not always evaluated.
    pub(crate) fn apart(&mut self, value: &'t Value) -> Expression {
        self.computation(value.span, |lowerer, out| lowerer.expression(value, out))
    }

    /// The first operand is always evaluated, the others are not.
    fn operands(&mut self, values: &'t [Value], out: &mut Vec<Statement>) -> Vec<Expression> {
        let mut operands = Vec::with_capacity(values.len());
        for (position, value) in values.iter().enumerate() {
            operands.push(if position == 0 { self.expression(value, out) } else { self.apart(value) });
        }
        operands
    }

    /// What a local name is worth, if it is simple.
    pub(crate) fn read_local(&mut self, local: LocalId, span: Span) -> Expression {
        match self.bindings[local.index()].clone() {
            Some(Binding::Constant(code)) => Expression::constant(code, span),
            Some(Binding::Region(region)) => self.read_region(&region, span),
            None => Expression::constant(0, span),
        }
    }

    fn read(&mut self, place: &'t Place, out: &mut Vec<Statement>) -> Expression {
        if let Root::Local(local) = place.root
            && place.steps.is_empty()
        {
            return self.read_local(local, place.span);
        }
        let region = self.region(place, out);
        self.read_region(&region, place.span)
    }

    fn read_region(&self, region: &Region, span: Span) -> Expression {
        let target = self.target(region, 0, span).0;
        match target.index {
            None => Expression::read(target.variable, span),
            Some(index) => {
                Expression { kind: ExpressionKind::Element(target.variable, Box::new(index)), span }
            }
        }
    }

    /// Where a leaf of a region begins, and how many values of it belong to the region.
    pub(crate) fn target(&self, region: &Region, leaf: usize, span: Span) -> (Target, u32) {
        let is_array = self.program.variable(region.leaves[leaf]).length.is_some();
        region.stretch(&self.tree.types, leaf, is_array, span)
    }

    /// The variables a place stands for.
    pub(crate) fn region(&mut self, place: &'t Place, out: &mut Vec<Statement>) -> Region {
        let mut region = match &place.root {
            Root::Global(id) => self.state[id.index()].clone(),
            Root::Local(id) => match self.bindings[id.index()].clone() {
                Some(Binding::Region(region)) => region,
                binding => self.constant_region(binding.as_ref(), *id, out),
            },
            Root::Value(value) => self.aggregate(value, out),
        };
        for step in &place.steps {
            if !self.spend() {
                break;
            }
            region = match step {
                Step::Field(position) => region.field(&self.tree.types, *position),
                Step::Element(index) => {
                    let position = self.position(index, region.type_id, out);
                    region.element(&self.tree.types, position, place.span)
                }
            };
        }
        region
    }

    /// A constant where a place is needed.
    fn constant_region(
        &mut self,
        binding: Option<&Binding>,
        local: LocalId,
        out: &mut Vec<Statement>,
    ) -> Region {
        let variable = &self.tree.locals[local.index()];
        let region = self.temporary(&variable.name, variable.type_id, variable.span);
        if let Some(Binding::Constant(code)) = binding {
            let (place, _) = self.target(&region, 0, variable.span);
            let value = Expression::constant(*code, variable.span);
            out.push(Statement::Assign(vec![Assignment { place, value, span: variable.span }]));
        }
        region
    }

    /// An index as a position from 0, checked unless its type says that it fits.
    fn position(&mut self, index: &'t Value, array: TypeId, out: &mut Vec<Statement>) -> Expression {
        let types = &self.tree.types;
        let domain = match *types.form(array) {
            Form::Array(index_type, _) => types.domain(index_type).unwrap_or(Domain::new(0, 0)),
            Form::Multiset(size, _) => Domain::new(0, i64::from(size) - 1),
            _ => Domain::new(0, 0),
        };
        let span = index.span;
        let code = self.expression(index, out);
        let fits = match simplify::known(&code) {
            Some(code) => domain.contains(code),
            None => self.fits(&code, index.type_id, domain),
        };
        let checked = if fits { code } else { Expression::checked(domain, FaultKind::Index, code, span) };
        simplify::binary(BinaryOperator::Subtract, checked, Expression::constant(domain.low, span), span)
    }

    /// Whether the values of an expression are known to be in a domain.
    fn fits(&self, code: &Expression, type_id: TypeId, domain: Domain) -> bool {
        let inside = |it: Domain| domain.low <= it.low && it.high <= domain.high;
        if let ExpressionKind::Read(variable) = code.kind {
            return inside(self.program.variable(variable).domain);
        }
        self.tree.types.domain(type_id).is_some_and(inside)
    }

    /// A region whose index is computed now, once.
    pub(crate) fn settled(&mut self, mut region: Region, span: Span, out: &mut Vec<Statement>) -> Region {
        let Some(index) = region.index.take() else { return region };
        if is_fixed(&index, &|variable| self.fixed.contains(&variable)) {
            region.index = Some(index);
            return region;
        }
        let length =
            i64::from(region.leaves.first().map_or(1, |leaf| self.program.variable(*leaf).elements()));
        let id = self.number("index", Domain::new(0, length.max(1) - 1), span);
        self.fixed.insert(id);
        out.push(store(id, index, span));
        region.index = Some(Expression::read(id, span));
        region
    }

    /// A code of one type as one of another.
    pub(crate) fn convert(&self, code: Expression, from: TypeId, to: TypeId, span: Span) -> Expression {
        let types = &self.tree.types;
        let constant = |value| Expression::constant(value, span);
        if let Some(offset) = types.offset(to, from) {
            return simplify::binary(BinaryOperator::Add, code, constant(offset), span);
        }
        if let Some(offset) = types.offset(from, to) {
            let domain = Domain::new(offset, offset + types.size(to) as i64 - 1);
            let checked = match simplify::known(&code) {
                Some(value) if domain.contains(value) => code,
                _ => Expression::checked(domain, FaultKind::Range, code, span),
            };
            return simplify::binary(BinaryOperator::Subtract, checked, constant(offset), span);
        }
        let Form::Union(members) = types.form(from) else { return code };
        let shared = members
            .iter()
            .filter_map(|member| Some((*member, types.offset(from, *member)?, types.offset(to, *member)?)));
        shared.fold(failure(FaultKind::Range, span), |otherwise, (member, old, new)| {
            let inside = within(code.clone(), old, old + types.size(member) as i64 - 1, span);
            let shifted = simplify::binary(BinaryOperator::Add, code.clone(), constant(new - old), span);
            simplify::conditional(inside, shifted, otherwise, span)
        })
    }

    /// The variables that hold a record, an array or a multiset; a call leaves its result in temporaries.
    pub(crate) fn aggregate(&mut self, value: &'t Value, out: &mut Vec<Statement>) -> Region {
        match &value.kind {
            ValueKind::Read(place) => self.region(place, out),
            ValueKind::Call(call) => {
                let result = self.temporary("result", value.type_id, value.span);
                self.inline(call, Some(result.clone()), value.span, out);
                result
            }
            _ => self.temporary("value", value.type_id, value.span),
        }
    }

    fn same(&mut self, left: &Region, right: &Region, span: Span) -> Expression {
        let mut parts = Vec::new();
        for leaf in 0..left.leaves.len() {
            let ((left, count), (right, _)) = (self.target(left, leaf, span), self.target(right, leaf, span));
            for offset in 0..i64::from(count) {
                if !self.spend() {
                    break;
                }
                let (left, right) = (shifted(&left, offset), shifted(&right, offset));
                parts.push(self.same_cell(left, right, span));
            }
        }
        simplify::all(parts, span)
    }

    fn same_cell(&self, left: Target, right: Target, span: Span) -> Expression {
        let optional = [&left, &right].map(|it| self.program.variable(it.variable).optional);
        let undefined = |target: &Target, optional: bool| match optional {
            true => Expression { kind: ExpressionKind::IsUndefined(Box::new(target.clone())), span },
            false => Expression::constant(0, span),
        };
        let (left_undefined, right_undefined) =
            (undefined(&left, optional[0]), undefined(&right, optional[1]));
        let equal = simplify::binary(BinaryOperator::Equal, load(left, span), load(right, span), span);
        let defined = simplify::all(vec![simplify::not(right_undefined.clone()), equal], span);
        simplify::conditional(left_undefined, right_undefined, defined, span)
    }

    fn is_undefined(&mut self, place: &'t Place, out: &mut Vec<Statement>) -> Expression {
        let constant = match place.root {
            Root::Local(local) => matches!(self.bindings[local.index()], Some(Binding::Constant(_))),
            _ => false,
        };
        if constant {
            return Expression::constant(0, place.span);
        }
        let region = self.region(place, out);
        let target = self.target(&region, 0, place.span).0;
        if !self.program.variable(target.variable).optional {
            return Expression::constant(0, place.span);
        }
        Expression { kind: ExpressionKind::IsUndefined(Box::new(target)), span: place.span }
    }

    fn is_member(
        &mut self,
        operand: &'t Value,
        member: TypeId,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Expression {
        let types = &self.tree.types;
        let Some(offset) = types.offset(operand.type_id, member) else {
            return Expression::constant(1, span);
        };
        let high = offset + types.size(member) as i64 - 1;
        let code = self.expression(operand, out);
        within(code, offset, high, span)
    }

    /// Whether there is an element in a slot of a multiset.
    pub(crate) fn is_present(&mut self, set: &Region, slot: Expression, span: Span) -> Expression {
        load(self.present(set, slot, span), span)
    }

    /// What says whether there is an element in a slot.
    pub(crate) fn present(&self, set: &Region, slot: Expression, span: Span) -> Target {
        let Form::Multiset(size, _) = *self.tree.types.form(set.type_id) else {
            return self.target(set, 0, span).0;
        };
        let variable = *set.leaves.last().expect("a multiset has a leaf that says what is there");
        let index = layout::join(set.index.clone(), i64::from(size), slot, span);
        Target { variable, index: Some(index), span }
    }

    /// How many elements of a multiset satisfy a condition.
    fn count(
        &mut self,
        local: LocalId,
        set: &'t Place,
        condition: &'t Value,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Expression {
        let region = self.region(set, out);
        let Form::Multiset(size, _) = *self.tree.types.form(set.type_id) else {
            return Expression::constant(0, span);
        };
        let one = |lowerer: &mut Self, slot: Expression, binding: Binding| {
            let present = lowerer.is_present(&region, slot, span);
            let condition = lowerer.with(local, binding, |lowerer| lowerer.apart(condition));
            let both = simplify::all(vec![present, condition], span);
            simplify::conditional(both, Expression::constant(1, span), Expression::constant(0, span), span)
        };
        if size as usize <= WRITTEN_OUT_MAX {
            let mut sum = Expression::constant(0, span);
            for slot in 0..i64::from(size) {
                let next = one(self, Expression::constant(slot, span), Binding::Constant(slot));
                sum = simplify::binary(BinaryOperator::Add, sum, next, span);
            }
            return sum;
        }
        self.computation(span, |lowerer, out| {
            let sum = lowerer.number("count", Domain::new(0, i64::from(size)), span);
            let (counter, binding) = lowerer.counter(local, Domain::new(0, i64::from(size) - 1));
            let next = one(lowerer, Expression::read(counter, span), binding);
            let next = simplify::binary(BinaryOperator::Add, Expression::read(sum, span), next, span);
            let body = vec![store(sum, next, span)];
            out.push(store(sum, Expression::constant(0, span), span));
            out.push(Statement::For { counter, from: 0, to: i64::from(size) - 1, step: 1, body });
            Expression::read(sum, span)
        })
    }

    /// A temporary that counts for a local name.
    pub(crate) fn counter(&mut self, local: LocalId, domain: Domain) -> (VariableId, Binding) {
        let variable = &self.tree.locals[local.index()];
        let id = self.unscoped_number(&variable.name, domain, variable.span);
        self.fixed.insert(id);
        (id, Binding::Region(Region { leaves: vec![id].into(), index: None, type_id: variable.type_id }))
    }

    /// The values of a quantifier, in order, if they are known.
    pub(crate) fn known_values(&mut self, quantifier: &'t Quantifier) -> Option<Vec<i64>> {
        let (from, to, step) = self.known_steps(quantifier)?;
        let count = (i128::from(to) - i128::from(from)) / i128::from(step) + 1;
        let is_empty = if step > 0 { from > to } else { from < to };
        if is_empty || count > 1 << 20 {
            return is_empty.then(Vec::new);
        }
        Some((0..count as i64).map(|number| from + number * step).collect())
    }

    /// First value, last value and step of a quantifier, if they are known.
    pub(crate) fn known_steps(&mut self, quantifier: &'t Quantifier) -> Option<(i64, i64, i64)> {
        match &quantifier.values {
            Values::All => {
                let domain = self.tree.types.domain(self.tree.locals[quantifier.local.index()].type_id)?;
                Some((domain.low, domain.high, 1))
            }
            Values::Steps { from, to, by } => {
                let from = simplify::known(&self.apart(from))?;
                let to = simplify::known(&self.apart(to))?;
                let step = by.as_ref().map_or(Some(1), |by| simplify::known(&self.apart(by)))?;
                (step != 0).then_some((from, to, step))
            }
        }
    }

    /// Whether a condition holds for all values, or for some. Of values that are to be alike every one is looked at, so that whether one of them is at fault
    /// does not depend on which comes first.
    pub(crate) fn quantified(
        &mut self,
        for_all: bool,
        quantifier: &'t Quantifier,
        span: Span,
        condition: &mut dyn FnMut(&mut Self) -> Expression,
    ) -> Expression {
        let local = quantifier.local;
        let every = self.symmetric && self.tree.types.is_alike(self.tree.locals[local.index()].type_id);
        if let Some(values) = self.known_values(quantifier)
            && values.len() <= WRITTEN_OUT_MAX
        {
            let each = values
                .into_iter()
                .map(|code| self.with(local, Binding::Constant(code), |lowerer| condition(lowerer)));
            let each = each.collect();
            if every {
                return simplify::every(for_all, each, span);
            }
            return if for_all { simplify::all(each, span) } else { simplify::any(each, span) };
        }
        self.computation(span, |lowerer, out| {
            let result = lowerer.number("holds", Domain::new(0, 1), span);
            out.push(store(result, Expression::constant(i64::from(for_all), span), span));
            let block = lowerer.block(None, |lowerer, out| {
                lowerer.repeat(quantifier, out, &mut |lowerer, out| {
                    let holds = condition(lowerer);
                    let decides = if for_all { simplify::not(holds) } else { holds };
                    let decided = store(result, Expression::constant(i64::from(!for_all), span), span);
                    let leave = (!every).then_some(Statement::Leave(0));
                    let arms = vec![(decides, [decided].into_iter().chain(leave).collect())];
                    out.push(Statement::If { arms, otherwise: Vec::new() });
                });
            });
            out.push(block);
            Expression::read(result, span)
        })
    }

    /// A loop over the values of a quantifier, not written out.
    pub(crate) fn repeat(
        &mut self,
        quantifier: &'t Quantifier,
        out: &mut Vec<Statement>,
        round: &mut dyn FnMut(&mut Self, &mut Vec<Statement>),
    ) {
        let (local, span) = (quantifier.local, quantifier.span);
        if let Some((from, to, step)) = self.known_steps(quantifier) {
            if (step > 0) == (from > to) && from != to {
                return;
            }
            let last = last_round(from, step, self.count_bound);
            let over = if step > 0 { last < to } else { last > to };
            let to = if over { last } else { to };
            let (counter, binding) = self.counter(local, Domain::new(from.min(to), from.max(to)));
            let mut body = Vec::new();
            self.with(local, binding, |lowerer| round(lowerer, &mut body));
            out.push(Statement::For { counter, from, to, step, body });
            if over {
                out.push(Statement::Fail { kind: FaultKind::Bound, message: None, span });
            }
            return;
        }
        let Values::Steps { from, to, by } = &quantifier.values else { return };
        let first = self.expression(from, out);
        let last = self.expression(to, out);
        // What is wrong with the step stands there: the loop itself may be over its bound.
        let stuck_span = by.as_ref().map_or(span, |by| by.span);
        let step = by.as_ref().map_or(Expression::constant(1, span), |by| self.expression(by, out));
        let may_be_stuck = simplify::known(&step).is_none_or(|step| step == 0);
        let [counter, end, by] = ["counter", "end", "step"].map(|name| self.number(name, WIDE, span));
        self.fixed.insert(counter);
        out.extend([store(counter, first, span), store(end, last, span), store(by, step, span)]);
        let read = |id| Expression::read(id, span);
        let compare = |operator, left, right| simplify::binary(operator, left, right, span);
        let zero = || Expression::constant(0, span);
        let stuck = Statement::Fail {
            kind: FaultKind::Bound,
            message: Some("a step of 0 leads nowhere".to_owned()),
            span: stuck_span,
        };
        if may_be_stuck {
            out.push(Statement::If {
                arms: vec![(compare(BinaryOperator::Equal, read(by), zero()), vec![stuck])],
                otherwise: Vec::new(),
            });
        }
        let condition = simplify::conditional(
            compare(BinaryOperator::Greater, read(by), zero()),
            compare(BinaryOperator::LessEqual, read(counter), read(end)),
            compare(BinaryOperator::GreaterEqual, read(counter), read(end)),
            span,
        );
        let region = Region {
            leaves: vec![counter].into(),
            index: None,
            type_id: self.tree.locals[local.index()].type_id,
        };
        let mut body = Vec::new();
        self.with(local, Binding::Region(region), |lowerer| round(lowerer, &mut body));
        body.push(store(counter, compare(BinaryOperator::Add, read(counter), read(by)), span));
        out.push(Statement::While { condition, body, bound: self.count_bound, span });
    }

    fn called(
        &mut self,
        call: &'t Call,
        type_id: TypeId,
        span: Span,
        out: &mut Vec<Statement>,
    ) -> Expression {
        if call.writes {
            let result = self.temporary("result", type_id, span);
            self.inline(call, Some(result.clone()), span, out);
            return self.read_region(&result, span);
        }
        self.computation(span, |lowerer, out| {
            let result = lowerer.temporary("result", type_id, span);
            lowerer.inline(call, Some(result.clone()), span, out);
            lowerer.read_region(&result, span)
        })
    }

    /// Writes out a call.
    pub(crate) fn inline(
        &mut self,
        call: &'t Call,
        result: Option<Region>,
        span: Span,
        out: &mut Vec<Statement>,
    ) {
        let tree = self.tree;
        let function = &tree.functions[call.function.index()];
        let open = self.calls.iter().filter(|id| **id == call.function).count();
        if open > 0 && open >= self.depth_max(call.function) || !self.spend() {
            let message = Some(format!("`{}` calls itself too often", function.name));
            out.push(Statement::Fail { kind: FaultKind::Recursion, message, span });
            return;
        }
        let gives = result.is_some();
        let body = self.block(result, |lowerer, out| {
            let mut bound = Vec::new();
            for (parameter, argument) in function.parameters.iter().zip(&call.arguments) {
                bound.push((parameter.local, lowerer.argument(function, parameter, argument, out)));
            }
            let outer: Vec<_> = bound
                .into_iter()
                .map(|(local, binding)| (local, lowerer.bindings[local.index()].replace(binding)))
                .collect();
            let hidden: Vec<_> = function
                .variables
                .iter()
                .map(|local| (*local, lowerer.bindings[local.index()].take()))
                .collect();
            lowerer.declare(&function.variables);
            lowerer.calls.push(call.function);
            lowerer.statements(&function.body, out);
            lowerer.calls.pop();
            for (local, binding) in outer.into_iter().chain(hidden) {
                lowerer.bindings[local.index()] = binding;
            }
            if gives && function.result.is_some() && !matches!(out.last(), Some(Statement::Leave(_))) {
                let message =
                    Some(format!("the end of function `{}` is reached without a value", function.name));
                out.push(Statement::Fail { kind: FaultKind::Failure, message, span: function.span });
            }
        });
        out.extend(super::actions::flattened(body));
    }

    /// How deep a function that calls itself is written out.
    fn depth_max(&self, id: super::tree::FunctionId) -> usize {
        let calls = super::calls::calls_of(&self.tree.functions[id.index()].body, id);
        if calls < 2 {
            return DEPTH_MAX;
        }
        let mut depth = 1;
        let mut copies = calls;
        while copies * calls <= CALLS_MAX {
            copies *= calls;
            depth += 1;
        }
        depth
    }

    fn argument(
        &mut self,
        function: &super::tree::Function,
        parameter: &super::tree::Parameter,
        argument: &'t Value,
        out: &mut Vec<Statement>,
    ) -> Binding {
        let span = argument.span;
        let variable = &self.tree.locals[parameter.local.index()];
        let writes = function.writes_state || function.writes_parameters;
        if let ValueKind::Read(place) = &argument.kind {
            let same = self.tree.types.same(place.type_id, variable.type_id);
            if parameter.by_reference || same && !writes {
                return self.reference(place, span, out);
            }
        }
        if self.tree.types.is_simple(variable.type_id)
            && !argument.is_undefined()
            && !matches!(argument.kind, ValueKind::Read(_))
        {
            let code = self.expression(argument, out);
            let domain = self.tree.types.domain(variable.type_id);
            if let Some(code) =
                simplify::known(&code).filter(|code| domain.is_some_and(|domain| domain.contains(*code)))
            {
                return Binding::Constant(code);
            }
            let region = self.temporary(&variable.name, variable.type_id, span);
            let place = self.target(&region, 0, span).0;
            out.push(Statement::Assign(vec![Assignment { place, value: code, span }]));
            return Binding::Region(region);
        }
        if let ValueKind::Read(Place { root: Root::Local(local), steps, .. }) = &argument.kind
            && steps.is_empty()
            && let Some(binding @ Binding::Constant(_)) = self.bindings[local.index()].clone()
        {
            return binding;
        }
        let region = self.temporary(&variable.name, variable.type_id, span);
        self.assign(&region, argument, span, out);
        Binding::Region(region)
    }

    /// A name for a place, whose indices are computed now.
    pub(crate) fn reference(&mut self, place: &'t Place, span: Span, out: &mut Vec<Statement>) -> Binding {
        if let Root::Local(local) = place.root
            && place.steps.is_empty()
            && let Some(binding @ Binding::Constant(_)) = self.bindings[local.index()].clone()
        {
            return binding;
        }
        let region = self.region(place, out);
        Binding::Region(self.settled(region, span, out))
    }

    /// Binds names for places and values.
    pub(crate) fn bind_aliases(&mut self, aliases: &'t [Alias], out: &mut Vec<Statement>) {
        for Alias { local, value } in aliases {
            let binding = match &value.kind {
                ValueKind::Read(place) => self.reference(place, value.span, out),
                _ => {
                    let variable = &self.tree.locals[local.index()];
                    let region = self.temporary(&variable.name, value.type_id, value.span);
                    self.assign(&region, value, value.span, out);
                    Binding::Region(region)
                }
            };
            self.bindings[local.index()] = Some(binding);
        }
    }
}

/// An assignment to a temporary.
pub(crate) fn store(variable: VariableId, value: Expression, span: Span) -> Statement {
    Statement::Assign(vec![Assignment { place: Target { variable, index: None, span }, value, span }])
}

/// What a place holds.
pub(crate) fn load(target: Target, span: Span) -> Expression {
    match target.index {
        None => Expression::read(target.variable, span),
        Some(index) => Expression { kind: ExpressionKind::Element(target.variable, Box::new(index)), span },
    }
}

/// The place some elements further on.
fn shifted(target: &Target, offset: i64) -> Target {
    let span = target.span;
    let index = target
        .index
        .clone()
        .map(|index| simplify::binary(BinaryOperator::Add, index, Expression::constant(offset, span), span));
    Target { index, ..target.clone() }
}

fn within(code: Expression, low: i64, high: i64, span: Span) -> Expression {
    let constant = |value| Expression::constant(value, span);
    let above = simplify::binary(BinaryOperator::GreaterEqual, code.clone(), constant(low), span);
    let below = simplify::binary(BinaryOperator::LessEqual, code, constant(high), span);
    simplify::all(vec![above, below], span)
}

/// An expression that always faults.
pub(crate) fn failure(kind: FaultKind, span: Span) -> Expression {
    Expression::checked(Domain::new(0, 0), kind, Expression::constant(1, span), span)
}

/// A shift: by a negative amount it goes the other way, beyond the word nothing is left.
fn shift(operator: BinaryOperator, left: Expression, right: Expression, span: Span) -> Expression {
    let whole = simplify::binary(operator, left.clone(), right.clone(), span);
    if simplify::known(&whole).is_some() {
        return whole;
    }
    let other = match operator {
        BinaryOperator::ShiftLeft => BinaryOperator::ShiftRight,
        _ => BinaryOperator::ShiftLeft,
    };
    let constant = |value| Expression::constant(value, span);
    let back = simplify::unary(UnaryOperator::Negate, right.clone(), span);
    let is_back = within(right.clone(), -63, -1, span);
    let is_forth = within(right, 0, 63, span);
    let backwards =
        simplify::conditional(is_back, simplify::binary(other, left, back, span), constant(0), span);
    simplify::conditional(is_forth, whole, backwards, span)
}

/// The value of the counter in the last round that a loop may have.
fn last_round(from: i64, step: i64, bound: u32) -> i64 {
    let last = i128::from(from) + i128::from(step) * (i128::from(bound.max(1)) - 1);
    last.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
