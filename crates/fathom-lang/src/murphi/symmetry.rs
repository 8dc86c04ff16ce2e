//! Which values of a model are alike, and where do they stand in its state?
//!
//! A permutation of a scalarset acts on the values of that type and on the indices of arrays over it, everywhere at once; one of the
//! slots of a multiset acts on the slots of that multiset alone. Undefined values stay.

use super::layout::{Leaf, Part};
use super::types::{Form, TypeId, Types};

/// Where the values of scalarsets and the slots of multisets stand in a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Symmetry {
    /// The scalarsets that the state uses.
    pub scalarsets: Vec<Scalarset>,
    /// How many multisets the state holds; those of one array count as one.
    pub multisets: u32,
    /// Of each variable of the program's state, in order.
    pub variables: Vec<VariableSymmetry>,
}

/// A type whose values are alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalarset {
    /// The name of the type, if it has one.
    pub name: Option<String>,
    /// How many values it has.
    pub size: u32,
}

/// Where permutations act on a variable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VariableSymmetry {
    /// Of each index of the array, the outermost first and counted slowest. None for a scalar.
    pub dimensions: Vec<Vec<Stretch>>,
    /// Of its values, from the least value of its domain on.
    pub values: Vec<Stretch>,
}

/// Neighbouring indices or values that one permutation acts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// How many.
    pub size: u32,
    /// What they are.
    pub kind: StretchKind,
}

/// What permutes indices or values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StretchKind {
    /// Nothing.
    Plain,
    /// A permutation of the scalarset of that number.
    Scalarset(u32),
    /// A permutation of the slots of the multiset of that number.
    Slots(u32),
}

/// Collects the symmetry of variables as they are laid out.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    pub(crate) symmetry: Symmetry,
    known: Vec<TypeId>,
}

impl Collector {
    /// Adds a variable of the state, by its leaves.
    pub(crate) fn add(&mut self, types: &Types, leaves: &[Leaf]) {
        let first_multiset = self.symmetry.multisets;
        let mut paths: Vec<String> = Vec::new();
        for leaf in leaves {
            let mut dimensions = Vec::new();
            let mut path = String::new();
            for part in &leaf.path {
                match part {
                    Part::Field(name) => path.push_str(&format!(".{name}")),
                    Part::Index(index) => {
                        path.push('#');
                        dimensions.push(self.stretches(types, *index));
                    }
                    Part::Slot(size) => {
                        path.push('*');
                        let number = paths.iter().position(|known| *known == path).unwrap_or_else(|| {
                            paths.push(path.clone());
                            paths.len() - 1
                        });
                        let kind = StretchKind::Slots(first_multiset + number as u32);
                        dimensions.push(vec![Stretch { size: *size, kind }]);
                    }
                }
            }
            let values = self.stretches(types, leaf.value);
            self.symmetry.variables.push(VariableSymmetry { dimensions, values });
        }
        self.symmetry.multisets = first_multiset + paths.len() as u32;
    }

    fn stretches(&mut self, types: &Types, type_id: TypeId) -> Vec<Stretch> {
        match types.form(type_id) {
            Form::Union(members) => {
                members.iter().flat_map(|member| self.stretches(types, *member)).collect()
            }
            Form::Scalarset(size) => {
                let known = self.known.iter().position(|known| *known == type_id);
                let number = known.unwrap_or_else(|| {
                    let name = types.declared_name(type_id).map(str::to_owned);
                    self.symmetry.scalarsets.push(Scalarset { name, size: *size });
                    self.known.push(type_id);
                    self.known.len() - 1
                });
                vec![Stretch { size: *size, kind: StretchKind::Scalarset(number as u32) }]
            }
            _ => {
                let size = u32::try_from(types.size(type_id)).unwrap_or(u32::MAX);
                vec![Stretch { size, kind: StretchKind::Plain }]
            }
        }
    }
}
