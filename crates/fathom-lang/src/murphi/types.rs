//! What values can a place hold?
//!
//! Simple types stand for intervals of integers, their *codes*: a range for its numbers, a boolean for 0 and 1, an enumeration and a scalarset for
//! `0..n`, a union for its members' codes one after the other. Two types are equivalent if they have the same structure;
//! scalarsets only if they are the same declaration.

use std::collections::HashMap;

use fathom_model::expression::Domain;

/// A type, by its place in [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct TypeId(pub(crate) u32);

/// All integers: the type of numbers.
pub(crate) const INTEGER: TypeId = TypeId(0);
/// False and true.
pub(crate) const BOOLEAN: TypeId = TypeId(1);
/// What is wrong, and what is undefined.
pub(crate) const UNKNOWN: TypeId = TypeId(2);

/// The form of a type.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Range(Domain),
    Boolean,
    Enum(Vec<String>),
    /// Values that are alike.
    Scalarset(u32),
    /// The values of several scalarsets and enumerations.
    Union(Vec<TypeId>),
    Record(Fields),
    Array(TypeId, TypeId),
    Multiset(u32, TypeId),
    /// The places of a multiset of that many elements.
    Slot(u32),
    /// What is wrong has been reported; it goes with everything.
    Unknown,
}

/// The fields of a record, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields {
    list: Vec<(String, TypeId)>,
    /// The first field of each name.
    places: HashMap<String, usize>,
    /// Of each field, how many leaves those before it have; saturates.
    before: Vec<u64>,
}

impl Fields {
    pub(crate) fn new(list: Vec<(String, TypeId)>, types: &Types) -> Fields {
        let mut fields = Fields::default();
        let mut leaves = 0u64;
        for (place, (name, type_id)) in list.iter().enumerate() {
            fields.places.entry(name.clone()).or_insert(place);
            fields.before.push(leaves);
            leaves = leaves.saturating_add(types.leaves(*type_id));
        }
        Fields { list, ..fields }
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, (String, TypeId)> {
        self.list.iter()
    }

    /// The place of the field of that name.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The type of a field, by its place.
    pub(crate) fn type_of(&self, place: usize) -> TypeId {
        self.list[place].1
    }

    /// How many leaves the fields before one have.
    pub(crate) fn leaves_before(&self, place: usize) -> u64 {
        self.before[place]
    }

    /// The field that a leaf of the record belongs to, and the number of the leaf there.
    pub(crate) fn of_leaf(&self, leaf: u64) -> Option<(TypeId, u64)> {
        // The last field that begins there: fields without leaves begin where the next one does.
        let place = self.before.partition_point(|before| *before <= leaf).checked_sub(1)?;
        Some((self.list[place].1, leaf - self.before[place]))
    }
}

/// The types of a model.
#[derive(Clone, Debug)]
pub(crate) struct Types {
    forms: Vec<Form>,
    names: Vec<Option<String>>,
    /// Of each type, how many simple values one of it holds; saturates.
    cells: Vec<u64>,
    /// Of each type, how many leaves it has: simple parts, those of all elements of an array counted once; saturates.
    leaves: Vec<u64>,
    /// Of each type, how many types lie inside one another in it.
    depths: Vec<u32>,
}

impl Default for Types {
    fn default() -> Types {
        let mut types = Types {
            forms: Vec::new(),
            names: Vec::new(),
            cells: Vec::new(),
            leaves: Vec::new(),
            depths: Vec::new(),
        };
        types.add(Form::Range(Domain::new(i64::MIN, i64::MAX)));
        types.add(Form::Boolean);
        types.add(Form::Unknown);
        types
    }
}

impl Types {
    pub(crate) fn add(&mut self, form: Form) -> TypeId {
        let (cells, leaves) = self.extent(&form);
        let parts = match &form {
            Form::Record(fields) => fields.iter().map(|(_, field)| self.depth(*field)).max(),
            Form::Array(_, element) | Form::Multiset(_, element) => Some(self.depth(*element)),
            _ => None,
        };
        self.depths.push(1 + parts.unwrap_or(0));
        self.forms.push(form);
        self.names.push(None);
        self.cells.push(cells);
        self.leaves.push(leaves);
        TypeId(self.forms.len() as u32 - 1)
    }

    fn extent(&self, form: &Form) -> (u64, u64) {
        match form {
            Form::Record(fields) => fields.iter().fold((0, 0), |(cells, leaves): (u64, u64), (_, field)| {
                (cells.saturating_add(self.cells(*field)), leaves.saturating_add(self.leaves(*field)))
            }),
            Form::Array(index, element) => {
                (self.size(*index).saturating_mul(self.cells(*element)), self.leaves(*element))
            }
            Form::Multiset(size, element) => {
                let cells = self.cells(*element).saturating_add(1).saturating_mul(u64::from(*size));
                (cells, self.leaves(*element).saturating_add(1))
            }
            _ => (1, 1),
        }
    }

    /// How many simple values one of this type holds.
    pub(crate) fn cells(&self, id: TypeId) -> u64 {
        self.cells[id.0 as usize]
    }

    /// How many types lie inside one another in it.
    pub(crate) fn depth(&self, id: TypeId) -> u32 {
        self.depths[id.0 as usize]
    }

    /// How many leaves it has.
    pub(crate) fn leaves(&self, id: TypeId) -> u64 {
        self.leaves[id.0 as usize]
    }

    pub(crate) fn form(&self, id: TypeId) -> &Form {
        &self.forms[id.0 as usize]
    }

    /// The name it was declared by first.
    pub(crate) fn declared_name(&self, id: TypeId) -> Option<&str> {
        self.names[id.0 as usize].as_deref()
    }

    /// Gives a type a name, unless it has one.
    pub(crate) fn name(&mut self, id: TypeId, name: &str) {
        if id.0 > UNKNOWN.0 {
            self.names[id.0 as usize].get_or_insert_with(|| name.to_owned());
        }
    }

    /// The codes of a simple type; none for others.
    pub(crate) fn domain(&self, id: TypeId) -> Option<Domain> {
        let upto = |count: u64| Domain::new(0, count.max(1) as i64 - 1);
        Some(match self.form(id) {
            Form::Range(domain) => *domain,
            Form::Boolean => Domain::new(0, 1),
            Form::Enum(members) => upto(members.len() as u64),
            Form::Scalarset(size) | Form::Slot(size) => upto(u64::from(*size)),
            Form::Union(members) => upto(members.iter().map(|member| self.size(*member)).sum()),
            Form::Record(_) | Form::Array(..) | Form::Multiset(..) => return None,
            Form::Unknown => Domain::new(0, 0),
        })
    }

    /// Whether a simple type has values that are alike.
    pub(crate) fn is_alike(&self, id: TypeId) -> bool {
        match self.form(id) {
            Form::Scalarset(size) => *size > 1,
            Form::Union(members) => members.iter().any(|member| self.is_alike(*member)),
            _ => false,
        }
    }

    /// How many values a simple type has; saturates, and is 0 for other types.
    pub(crate) fn size(&self, id: TypeId) -> u64 {
        let Some(domain) = self.domain(id) else { return 0 };
        (i128::from(domain.high) - i128::from(domain.low) + 1).clamp(0, i128::from(u64::MAX)) as u64
    }

    pub(crate) fn is_simple(&self, id: TypeId) -> bool {
        self.domain(id).is_some()
    }

    pub(crate) fn is_unknown(&self, id: TypeId) -> bool {
        matches!(self.form(id), Form::Unknown)
    }

    pub(crate) fn is_number(&self, id: TypeId) -> bool {
        matches!(self.form(id), Form::Range(_) | Form::Unknown)
    }

    pub(crate) fn is_boolean(&self, id: TypeId) -> bool {
        matches!(self.form(id), Form::Boolean | Form::Unknown)
    }

    /// The member of a union that a code belongs to, and its code there; a type that is no union is its own member.
    pub(crate) fn member(&self, id: TypeId, code: i64) -> (TypeId, i64) {
        let Form::Union(members) = self.form(id) else { return (id, code) };
        let mut rest = code;
        for member in members {
            let size = self.size(*member) as i64;
            if rest < size {
                return (*member, rest);
            }
            rest -= size;
        }
        (id, code)
    }

    /// What is added to a code of `member` to make it one of `union`; none if it is not a member.
    pub(crate) fn offset(&self, union: TypeId, member: TypeId) -> Option<i64> {
        let Form::Union(members) = self.form(union) else { return None };
        let position = members.iter().position(|it| self.same(*it, member))?;
        Some(members[..position].iter().map(|it| self.size(*it) as i64).sum())
    }

    /// Whether two types have the same values.
    pub(crate) fn same(&self, left: TypeId, right: TypeId) -> bool {
        if left == right {
            return true;
        }
        match (self.form(left), self.form(right)) {
            (Form::Unknown, _) | (_, Form::Unknown) | (Form::Boolean, Form::Boolean) => true,
            (Form::Range(left), Form::Range(right)) => left == right,
            (Form::Enum(left), Form::Enum(right)) => left == right,
            (Form::Slot(left), Form::Slot(right)) => left == right,
            (Form::Union(left), Form::Union(right)) => {
                left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| self.same(*left, *right))
            }
            (Form::Record(left), Form::Record(right)) => {
                let same = |left: &(String, TypeId), right: &(String, TypeId)| {
                    left.0 == right.0 && self.same(left.1, right.1)
                };
                left.list.len() == right.list.len()
                    && left.iter().zip(right.iter()).all(|(left, right)| same(left, right))
            }
            (Form::Array(index, element), Form::Array(other_index, other_element)) => {
                self.same(*index, *other_index) && self.same(*element, *other_element)
            }
            (Form::Multiset(size, element), Form::Multiset(other_size, other_element)) => {
                size == other_size && self.same(*element, *other_element)
            }
            _ => false,
        }
    }

    /// Whether values of the two types can be assigned and compared to one another.
    pub(crate) fn compatible(&self, left: TypeId, right: TypeId) -> bool {
        if self.same(left, right) {
            return true;
        }
        match (self.form(left), self.form(right)) {
            (Form::Range(_), Form::Range(_)) => true,
            (Form::Union(members), Form::Union(_)) => {
                members.iter().any(|member| self.offset(right, *member).is_some())
            }
            (Form::Union(_), _) => self.offset(left, right).is_some(),
            (_, Form::Union(_)) => self.offset(right, left).is_some(),
            _ => false,
        }
    }

    /// The type as a message names it.
    pub(crate) fn describe(&self, id: TypeId) -> String {
        let kind = match self.form(id) {
            Form::Range(_) if id == INTEGER => return "a number".to_owned(),
            Form::Range(domain) => format!("a number of {}..{}", domain.low, domain.high),
            Form::Boolean => return "a boolean".to_owned(),
            Form::Enum(_) => "an enumeration".to_owned(),
            Form::Scalarset(_) => "a scalarset".to_owned(),
            Form::Union(_) => "a union".to_owned(),
            Form::Record(_) => "a record".to_owned(),
            Form::Array(..) => "an array".to_owned(),
            Form::Multiset(..) => "a multiset".to_owned(),
            Form::Slot(_) => return "an element of a multiset".to_owned(),
            Form::Unknown => return "unknown".to_owned(),
        };
        match self.declared_name(id) {
            Some(name) => format!("`{name}`, {kind}"),
            None => kind,
        }
    }

    /// A code of a simple type in the model's own words.
    pub(crate) fn word(&self, id: TypeId, code: i64) -> String {
        match self.form(id) {
            Form::Boolean => if code == 0 { "false" } else { "true" }.to_owned(),
            Form::Enum(members) => {
                let member = usize::try_from(code).ok().and_then(|position| members.get(position));
                member.cloned().unwrap_or_else(|| code.to_string())
            }
            Form::Scalarset(_) => format!("{}_{}", self.declared_name(id).unwrap_or("value"), code + 1),
            Form::Union(_) => match self.member(id, code) {
                (member, rest) if member != id => self.word(member, rest),
                _ => code.to_string(),
            },
            _ => code.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_numbers_its_members_one_after_the_other() {
        let mut types = Types::default();
        let home = types.add(Form::Scalarset(2));
        types.name(home, "Home");
        let colour = types.add(Form::Enum(vec!["red".into(), "blue".into()]));
        let other = types.add(Form::Scalarset(2));
        let union = types.add(Form::Union(vec![home, colour]));
        assert_eq!((types.offset(union, home), types.offset(union, colour)), (Some(0), Some(2)));
        assert_eq!(types.offset(union, other), None, "scalarsets are equal only to themselves");
        assert_eq!(types.domain(union), Some(Domain::new(0, 3)));
        let words: Vec<String> = (0..4).map(|code| types.word(union, code)).collect();
        assert_eq!(words, ["Home_1", "Home_2", "red", "blue"]);
        assert!(types.compatible(union, home) && types.compatible(colour, union));
        assert!(!types.compatible(union, other) && !types.compatible(home, other));
    }

    #[test]
    fn numbers_go_together_and_booleans_are_none() {
        let mut types = Types::default();
        let small = types.add(Form::Range(Domain::new(0, 3)));
        assert!(types.compatible(small, INTEGER));
        assert!(!types.same(small, INTEGER));
        assert!(!types.compatible(small, BOOLEAN));
        assert_eq!(types.size(INTEGER), u64::MAX);
    }
}
