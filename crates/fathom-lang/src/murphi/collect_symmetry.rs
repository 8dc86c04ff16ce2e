//! Which values of a model are alike, and where do they stand in its state?

use fathom_model::symmetry::{Scalarset, Stretch, StretchKind, Symmetry, VariableSymmetry};

use super::layout::{Leaf, Part};
use super::types::{Form, TypeId, Types};

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

    /// Notes that values of scalarsets are told apart.
    pub(crate) fn tell_apart(&mut self, types: &[TypeId]) {
        let number = |type_id: &TypeId| self.known.iter().position(|known| known == type_id);
        self.symmetry.told_apart = types.iter().filter_map(number).map(|number| number as u32).collect();
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
