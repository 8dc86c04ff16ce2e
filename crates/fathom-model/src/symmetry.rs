//! Which states are alike, and which of them stands for all?
//!
//! A permutation of a scalarset acts on the values of that type and on the indices of arrays over it, everywhere at once; one of the
//! slots of a multiset acts on the slots of that multiset alone. Undefined values stay. [`Symmetric`] puts in place of every record the least
//! one that such permutations make of it, so two states are one if and only if they are alike. All permutations of the scalarsets are tried,
//! which is affordable up to [`PERMUTATIONS_MAX`] of them; slots are sorted.

use crate::record::Records;
use crate::shape::{Component, Shape};
use crate::steps::{Labels, Steps};
use crate::system::{Description, Query, TransitionSystem};

/// The most permutations that are tried for one record.
pub const PERMUTATIONS_MAX: u64 = 50_000;

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

/// A system in which states that are alike are one. Its steps lead to the representatives of their targets, so a path of it is not one of the
/// system inside.
#[derive(Debug)]
pub struct Symmetric<S> {
    inner: S,
    actions: Vec<Vec<VariableAction>>,
    multisets: Vec<Multiset>,
}

/// What a permutation does to one variable.
#[derive(Clone, Debug)]
struct VariableAction {
    /// Where each element goes.
    elements: Vec<u32>,
    /// What each value becomes, from the least of the domain on.
    values: Vec<i64>,
}

/// The slots of a multiset, or of several in an array.
#[derive(Clone, Debug)]
struct Multiset {
    slots: u32,
    /// Of each variable: its number, and how many of its values belong to one slot.
    variables: Vec<(usize, u32)>,
    /// How many multisets there are.
    count: u32,
}

impl<S: TransitionSystem> Symmetric<S> {
    /// Joins states that are alike. None if there are too many permutations to try, or a multiset holds multisets.
    pub fn new(inner: S, symmetry: &Symmetry) -> Option<Symmetric<S>> {
        let sizes: Vec<u32> = symmetry.scalarsets.iter().map(|it| it.size).collect();
        let count = sizes.iter().flat_map(|size| 2..=u64::from(*size)).try_fold(1u64, |product, factor| {
            product.checked_mul(factor).filter(|product| *product <= PERMUTATIONS_MAX)
        });
        count?;
        let components = &inner.shape().components;
        let permutations = products(&sizes);
        let actions = permutations.iter().map(|permutation| {
            let each = symmetry.variables.iter().zip(components);
            each.map(|(variable, component)| action(variable, component, permutation)).collect()
        });
        let actions = actions.collect();
        let multisets = multisets(symmetry)?;
        Some(Symmetric { inner, actions, multisets })
    }

    /// The least record that is alike. Time: permutations times values.
    pub fn canonical(&self, record: &mut [u64]) {
        let components = &self.inner.shape().components;
        let values: Vec<Vec<i64>> = components
            .iter()
            .map(|component| (0..component.elements()).map(|index| component.value(record, index)).collect())
            .collect();
        let mut least = values.clone();
        sort_slots(&self.multisets, &mut least);
        for action in &self.actions {
            let Some(mut candidate) = applied(action, components, &values) else { continue };
            sort_slots(&self.multisets, &mut candidate);
            if candidate < least {
                least = candidate;
            }
        }
        for (component, values) in components.iter().zip(&least) {
            for (index, value) in values.iter().enumerate() {
                component.store(record, index as u32, *value);
            }
        }
    }

    fn canonicalise(&self, out: &mut Steps) {
        for step in 0..out.step_count() {
            self.canonical(out.target_mut(step));
        }
    }
}

impl<S: TransitionSystem> TransitionSystem for Symmetric<S> {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.inner.initial(out);
        self.canonicalise(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let finished = self.inner.expand(sources, out);
        self.canonicalise(out);
        finished
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.inner.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.inner.describe(what)
    }
}

/// All choices of one permutation for each size.
fn products(sizes: &[u32]) -> Vec<Vec<Vec<u32>>> {
    let mut products = vec![Vec::new()];
    for size in sizes {
        let permutations = permutations(*size);
        let longer = products.iter().flat_map(|product: &Vec<Vec<u32>>| {
            permutations.iter().map(move |permutation| {
                let mut longer = product.clone();
                longer.push(permutation.clone());
                longer
            })
        });
        products = longer.collect();
    }
    products
}

/// All orders of `0..size`.
fn permutations(size: u32) -> Vec<Vec<u32>> {
    let mut orders = vec![Vec::new()];
    for next in 0..size {
        let longer = orders.iter().flat_map(|order: &Vec<u32>| {
            (0..=order.len()).map(move |at| {
                let mut longer = order.clone();
                longer.insert(at, next);
                longer
            })
        });
        orders = longer.collect();
    }
    orders
}

fn action(variable: &VariableSymmetry, component: &Component, permutation: &[Vec<u32>]) -> VariableAction {
    let dimensions: Vec<Vec<u32>> = variable.dimensions.iter().map(|it| moved(it, permutation)).collect();
    let elements = (0..component.elements()).map(|element| {
        let (mut rest, mut stride, mut target) = (element, 1, 0);
        for dimension in dimensions.iter().rev() {
            let size = dimension.len() as u32;
            target += dimension[(rest % size) as usize] * stride;
            rest /= size;
            stride *= size;
        }
        target
    });
    let is_plain = variable.values.iter().all(|stretch| stretch.kind == StretchKind::Plain);
    let values = if is_plain { Vec::new() } else { moved(&variable.values, permutation) };
    VariableAction { elements: elements.collect(), values: values.into_iter().map(i64::from).collect() }
}

/// Where each of the indices or values of neighbouring stretches goes.
fn moved(stretches: &[Stretch], permutation: &[Vec<u32>]) -> Vec<u32> {
    let mut targets = Vec::new();
    for stretch in stretches {
        let start = targets.len() as u32;
        match stretch.kind {
            StretchKind::Scalarset(number) => {
                targets.extend(permutation[number as usize].iter().map(|target| start + target));
            }
            StretchKind::Plain | StretchKind::Slots(_) => targets.extend(start..start + stretch.size),
        }
    }
    targets
}

/// The values after a permutation; none if the record has no room for one of them.
fn applied(
    action: &[VariableAction],
    components: &[Component],
    values: &[Vec<i64>],
) -> Option<Vec<Vec<i64>>> {
    let mut result = values.to_vec();
    for (number, VariableAction { elements, values: map }) in action.iter().enumerate() {
        for (element, target) in elements.iter().enumerate() {
            let value = values[number][element];
            let undefined = components[number].undefined == Some(value);
            let value =
                if map.is_empty() || undefined { value } else { *map.get(usize::try_from(value).ok()?)? };
            if !undefined && !components[number].domain.contains(value) {
                return None;
            }
            result[number][*target as usize] = value;
        }
    }
    Some(result)
}

fn multisets(symmetry: &Symmetry) -> Option<Vec<Multiset>> {
    let mut found = Vec::new();
    for number in 0..symmetry.multisets {
        let (mut slots, mut count, mut variables) = (0, 1, Vec::new());
        for (position, variable) in symmetry.variables.iter().enumerate() {
            let size = |dimension: &Vec<Stretch>| dimension.iter().map(|stretch| stretch.size).sum::<u32>();
            let is_slots = |dimension: &Vec<Stretch>| matches!(dimension[0].kind, StretchKind::Slots(_));
            let own = Stretch { size: 0, kind: StretchKind::Slots(number) }.kind;
            let Some(at) = variable.dimensions.iter().position(|it| it[0].kind == own) else { continue };
            if variable.dimensions.iter().filter(|it| is_slots(it)).count() > 1 {
                return None;
            }
            slots = size(&variable.dimensions[at]);
            count = variable.dimensions[..at].iter().map(size).product();
            variables.push((position, variable.dimensions[at + 1..].iter().map(size).product()));
        }
        found.push(Multiset { slots, variables, count });
    }
    Some(found)
}

/// Puts the slots of every multiset in order.
fn sort_slots(multisets: &[Multiset], values: &mut [Vec<i64>]) {
    for multiset in multisets {
        for which in 0..multiset.count {
            let mut contents: Vec<Vec<i64>> = Vec::new();
            for slot in which * multiset.slots..(which + 1) * multiset.slots {
                let of_slot = multiset.variables.iter().flat_map(|&(variable, width)| {
                    values[variable][(slot * width) as usize..((slot + 1) * width) as usize].iter().copied()
                });
                contents.push(of_slot.collect());
            }
            contents.sort_unstable();
            for (slot, content) in (which * multiset.slots..).zip(&contents) {
                let mut rest = content.as_slice();
                for &(variable, width) in &multiset.variables {
                    let (own, others) = rest.split_at(width as usize);
                    values[variable][(slot * width) as usize..((slot + 1) * width) as usize]
                        .copy_from_slice(own);
                    rest = others;
                }
            }
        }
    }
}
