//! Which variables of a program hold a variable of a model?
//!
//! A record or an array is spread over its *leaves*: one program variable for each path of fields to a simple type, an array over all
//! indices on the path together, the outermost counted slowest. So the part of a variable that an index chooses is one stretch of each of its leaves. A
//! multiset is an array of slots with one leaf more, which says of each slot whether there is an element in it.

use std::ops::{Deref, Range};
use std::sync::Arc;

use fathom_model::expression::{BinaryOperator, Expression, ExpressionKind};
use fathom_model::program::{Place, Role, Variable, VariableId};
use fathom_model::span::Span;

use super::simplify;
use super::types::{BOOLEAN, Form, TypeId, Types};

/// A simple part of a type.
#[derive(Clone, Debug)]
pub(crate) struct Leaf {
    /// How it is reached.
    pub(crate) path: Vec<Part>,
    /// The type of its values.
    pub(crate) value: TypeId,
    /// Whether it says of the slots of a multiset whether they are used.
    pub(crate) present: bool,
    /// How many there are.
    pub(crate) length: u32,
}

/// A way from a type to a part of it.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Field(String),
    Index(TypeId),
    /// A slot of a multiset of that size.
    Slot(u32),
}

/// Variables that hold the leaves of a type: all of a list that is shared, or a stretch of it.
#[derive(Clone, Debug)]
pub(crate) struct Leaves {
    all: Arc<[VariableId]>,
    range: Range<usize>,
}

impl From<Vec<VariableId>> for Leaves {
    fn from(all: Vec<VariableId>) -> Leaves {
        Leaves { range: 0..all.len(), all: all.into() }
    }
}

impl Deref for Leaves {
    type Target = [VariableId];

    fn deref(&self) -> &[VariableId] {
        &self.all[self.range.clone()]
    }
}

impl Leaves {
    /// So many of them, from one on.
    fn part(self, from: usize, count: usize) -> Leaves {
        let start = self.range.start + from;
        Leaves { all: self.all, range: start..start + count }
    }
}

/// Some or all of a variable of a model.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The leaves of its type.
    pub(crate) leaves: Leaves,
    /// Which stretch of each leaf; none if no index was given yet.
    pub(crate) index: Option<Expression>,
    pub(crate) type_id: TypeId,
}

/// The leaves of a type, in order: as many as [`Types::leaves`] says.
pub(crate) fn leaves(types: &Types, type_id: TypeId) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(types, type_id, &mut Vec::new(), 1, &mut found);
    found
}

fn collect(types: &Types, type_id: TypeId, path: &mut Vec<Part>, length: u32, out: &mut Vec<Leaf>) {
    match types.form(type_id) {
        Form::Record(fields) => {
            for (name, field) in fields.iter() {
                path.push(Part::Field(name.clone()));
                collect(types, *field, path, length, out);
                path.pop();
            }
        }
        Form::Array(index, element) => {
            path.push(Part::Index(*index));
            collect(types, *element, path, length * types.size(*index) as u32, out);
            path.pop();
        }
        Form::Multiset(size, element) => {
            path.push(Part::Slot(*size));
            collect(types, *element, path, length * size, out);
            out.push(Leaf { path: path.clone(), value: BOOLEAN, present: true, length: length * size });
            path.pop();
        }
        _ => out.push(Leaf { path: path.clone(), value: type_id, present: false, length }),
    }
}

/// The program variable of a leaf: undefined at first, or no element in any slot.
pub(crate) fn variable(types: &Types, name: &str, leaf: &Leaf, role: Role, span: Span) -> Variable {
    let mut full = name.to_owned();
    let mut is_array = false;
    for part in &leaf.path {
        match part {
            Part::Field(field) => {
                full.push('.');
                full.push_str(field);
            }
            Part::Index(_) | Part::Slot(_) => is_array = true,
        }
    }
    if leaf.present {
        full.push_str(".present");
    }
    let domain = types.domain(leaf.value).expect("leaves are of simple types");
    let initial = if leaf.present { 0 } else { domain.low.wrapping_sub(1) };
    Variable {
        name: full,
        role,
        domain,
        length: is_array.then_some(leaf.length),
        optional: !leaf.present,
        initial: vec![initial; leaf.length as usize],
        span,
    }
}

impl Region {
    /// A field of a record, by its position.
    pub(crate) fn field(mut self, types: &Types, position: usize) -> Region {
        let Form::Record(fields) = types.form(self.type_id) else { return self };
        let field = fields.type_of(position);
        let (before, count) = (fields.leaves_before(position), types.leaves(field));
        self.leaves = self.leaves.part(before as usize, count as usize);
        self.type_id = field;
        self
    }

    /// An element of an array or multiset, by its position from 0, which has been checked.
    pub(crate) fn element(mut self, types: &Types, position: Expression, span: Span) -> Region {
        let (size, element) = match *types.form(self.type_id) {
            Form::Array(index, element) => (types.size(index) as i64, element),
            Form::Multiset(size, element) => (i64::from(size), element),
            _ => return self,
        };
        self.index = Some(join(self.index.take(), size, position, span));
        self.leaves = self.leaves.part(0, types.leaves(element) as usize);
        self.type_id = element;
        self
    }

    /// Where a leaf of the region begins, and how many values of it belong to the region.
    pub(crate) fn stretch(&self, types: &Types, leaf: usize, is_array: bool, span: Span) -> (Place, u32) {
        let count = count(types, self.type_id, leaf as u64);
        let index =
            is_array.then(|| join(self.index.clone(), i64::from(count), Expression::constant(0, span), span));
        (Place { variable: self.leaves[leaf], index, span }, count)
    }
}

/// `index * size + position`
pub(crate) fn join(index: Option<Expression>, size: i64, position: Expression, span: Span) -> Expression {
    let Some(index) = index else { return position };
    let scaled = simplify::binary(BinaryOperator::Multiply, index, Expression::constant(size, span), span);
    simplify::binary(BinaryOperator::Add, scaled, position, span)
}

/// How many values of one leaf a value of the type holds.
fn count(types: &Types, type_id: TypeId, leaf: u64) -> u32 {
    match types.form(type_id) {
        Form::Record(fields) => fields.of_leaf(leaf).map_or(1, |(field, rest)| count(types, field, rest)),
        Form::Array(index, element) => types.size(*index) as u32 * count(types, *element, leaf),
        Form::Multiset(size, element) if leaf < types.leaves(*element) => size * count(types, *element, leaf),
        Form::Multiset(size, _) => *size,
        _ => 1,
    }
}

/// Whether an expression is the same all the time a name for it lives: constants, and reads of variables that nothing assigns meanwhile.
pub(crate) fn is_fixed(expression: &Expression, fixed: &dyn Fn(VariableId) -> bool) -> bool {
    match &expression.kind {
        ExpressionKind::Constant(_) => true,
        ExpressionKind::Read(variable) => fixed(*variable),
        ExpressionKind::Binary(_, left, right) => is_fixed(left, fixed) && is_fixed(right, fixed),
        _ => false,
    }
}
