//! Where do permutations act in a record, and what do they make of it?
//!
//! All values of all scalarsets that are permuted are numbered through: the *points*. A *place* is one element of a variable that some permutation
//! acts on: by moving it, since points are among its indices (its coordinates), or by changing its value, if that is a point, or by moving the slot of a
//! multiset that it belongs to. The codes of all places stand in one array, so a permutation moves place `e` by the sum of `stride * move` over its
//! coordinates, and adds the move of its point to its code: nothing is looked up but how far each point moves.
//!
//! A scalarset of which a variable has room for some values and not for others is left as it is: then the model tells its values apart.

use super::{Stretch, StretchKind, Symmetry, VariableSymmetry};
use crate::record::{read_bits, write_bits};
use crate::shape::{Component, Shape};

/// No slot, or no point whose key a place belongs to.
pub(super) const NONE: u32 = u32::MAX;
/// The most bits of a key that say where a point is held.
const HELD_BITS_MAX: u32 = 32;

/// What permutations of scalarsets and of slots do to the records of one shape.
#[derive(Clone, Debug)]
pub struct Orbits {
    /// Of each scalarset that is permuted, its points.
    pub(super) sets: Vec<std::ops::Range<u32>>,
    /// How many points there are; this number itself is the point of what is none, which never moves.
    pub(super) point_count: u32,
    pub(super) places: Vec<Place>,
    pub(super) coordinates: Vec<Coordinate>,
    /// What codes stand for, by `Place::table` and code: a point, or none.
    tables: Vec<u32>,
    /// Inner multisets first.
    multisets: Vec<Multiset>,
    pub(super) slot_count: u32,
    frozen: Vec<u32>,
}

/// An element of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    low: u32,
    width: u32,
    /// The first of its coordinates, or what never moves.
    first: Coordinate,
    first_coordinate: u32,
    coordinate_count: u32,
    table: u32,
    /// Equal for places that permutations may exchange.
    pub(super) name: u64,
    /// The slot it belongs to, the innermost one.
    pub(super) slot: u32,
    in_slot: bool,
    /// The point that is its only coordinate, if its code is part of that point's key; not if it belongs to a slot.
    pub(super) key_of: u32,
    /// Where its code stands there.
    key_shift: u32,
    /// What stands for all points of its table in keys.
    point_code: u64,
    /// What holding a point adds to that point's key: a bit, or one more in a number.
    pub(super) held: u64,
}

/// A point among the indices of a place, and how far apart in places its neighbours are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coordinate {
    pub(super) point: u32,
    stride: i64,
}

/// The slots of a multiset, or of several in an array: rows of places.
#[derive(Clone, Debug)]
struct Multiset {
    slots: usize,
    row: usize,
    /// The places of all slots, one row after the other.
    places: Vec<u32>,
}

/// Where each point goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation(pub(super) Vec<u32>);

impl Permutation {
    /// The one that undoes this one.
    #[must_use]
    pub fn inverse(&self) -> Permutation {
        let mut inverse = vec![0; self.0.len()];
        for (point, image) in self.0.iter().enumerate() {
            inverse[*image as usize] = point as u32;
        }
        Permutation(inverse)
    }

    /// First this one, then another.
    #[must_use]
    pub fn then(&self, next: &Permutation) -> Permutation {
        Permutation(self.0.iter().map(|image| next.0[*image as usize]).collect())
    }
}

impl Orbits {
    /// Makes tables of where permutations act. `symmetry` has one entry for each component of the shape.
    pub fn new(shape: &Shape, symmetry: &Symmetry) -> Orbits {
        let frozen = frozen(shape, symmetry);
        let mut sets = Vec::new();
        let mut first_points = Vec::new();
        let mut point_count = 0;
        for (number, scalarset) in symmetry.scalarsets.iter().enumerate() {
            let is_permuted = scalarset.size > 1 && !frozen.contains(&(number as u32));
            first_points.push(is_permuted.then_some(point_count));
            if is_permuted {
                sets.push(point_count..point_count + scalarset.size);
                point_count += scalarset.size;
            }
        }
        let key_bits = vec![0; point_count as usize];
        let mut builder = Builder { first_points, point_count, key_bits, ..Builder::default() };
        builder.held_room(shape, symmetry);
        for (number, (variable, component)) in symmetry.variables.iter().zip(&shape.components).enumerate() {
            builder.add(number as u32, variable, component);
        }
        let multisets = builder.multisets(symmetry);
        Orbits {
            sets,
            point_count,
            places: builder.places,
            coordinates: builder.coordinates,
            tables: builder.tables,
            multisets,
            slot_count: builder.slot_count,
            frozen,
        }
    }

    /// The scalarsets that are left as they are, since some variable has room for some of their values only.
    pub fn frozen(&self) -> &[u32] {
        &self.frozen
    }

    /// Whether every record is alike to itself alone.
    pub fn is_trivial(&self) -> bool {
        self.sets.is_empty() && self.multisets.is_empty()
    }

    /// The record after a permutation, slots in order.
    pub fn apply(&self, permutation: &Permutation, record: &mut [u64]) {
        let mut codes = vec![0; self.places.len()];
        self.read(record, &mut codes);
        let moves = self.moves(permutation);
        let mut moved = vec![0; codes.len()];
        self.permute(&codes, &moves, &mut moved);
        self.sort_slots(&mut moved);
        self.write(&moved, record);
    }

    /// The permutation that changes nothing.
    pub fn identity(&self) -> Permutation {
        Permutation((0..self.point_count).collect())
    }

    /// How far each point moves, and what is none.
    fn moves(&self, permutation: &Permutation) -> Vec<i64> {
        let moves = permutation.0.iter().enumerate().map(|(point, image)| i64::from(*image) - point as i64);
        moves.chain([0]).collect()
    }

    pub(super) fn coordinates_of(&self, place: &Place) -> &[Coordinate] {
        &self.coordinates[place.first_coordinate as usize..][..place.coordinate_count as usize]
    }

    /// The point that a code stands for, or the number of points.
    #[inline]
    pub(super) fn point(&self, place: &Place, code: u64) -> u32 {
        if place.table == NONE { self.point_count } else { self.tables[place.table as usize + code as usize] }
    }

    /// What codes say about each point alone, in one pass: the codes of places whose only coordinate it is, from the highest bit of its key on, and where or how often it is
    /// held, from the lowest. `keys` has one more entry, for what is no point.
    pub(super) fn keys(&self, codes: &[u64], keys: &mut [u64]) {
        for (place, code) in self.places.iter().zip(codes) {
            let point = self.point(place, *code);
            keys[point as usize] = keys[point as usize].wrapping_add(place.held);
            if place.key_of != NONE {
                let code = if point == self.point_count { *code } else { place.point_code };
                keys[place.key_of as usize] |= code << place.key_shift;
            }
        }
    }

    pub(super) fn read(&self, record: &[u64], codes: &mut [u64]) {
        for (place, code) in self.places.iter().zip(codes) {
            *code = read_bits(record, place.low, place.width);
        }
    }

    pub(super) fn write(&self, codes: &[u64], record: &mut [u64]) {
        for (place, code) in self.places.iter().zip(codes) {
            write_bits(record, place.low, place.width, *code);
        }
    }

    /// Writes codes into a record that has the codes of `before`, slots aside.
    pub(super) fn write_changed(&self, codes: &[u64], before: &[u64], record: &mut [u64]) {
        for (place, (code, before)) in self.places.iter().zip(codes.iter().zip(before)) {
            if code != before || place.in_slot {
                write_bits(record, place.low, place.width, *code);
            }
        }
    }

    /// Where a place goes if points move so far.
    #[inline]
    fn target(&self, number: usize, place: &Place, moves: &[i64]) -> usize {
        let mut target = number as i64 + moves[place.first.point as usize] * place.first.stride;
        if place.coordinate_count > 1 {
            for coordinate in &self.coordinates_of(place)[1..] {
                target += moves[coordinate.point as usize] * coordinate.stride;
            }
        }
        target as usize
    }

    /// Whether all codes that belong to no slot stay what they are if points move so far.
    pub(super) fn may_stay(&self, codes: &[u64], moves: &[i64]) -> bool {
        self.places.iter().zip(codes).enumerate().all(|(number, (place, code))| {
            let moved = code.wrapping_add(moves[self.point(place, *code) as usize] as u64);
            place.in_slot || codes[self.target(number, place, moves)] == moved
        })
    }

    /// What codes become if points move so far (and what is none does not move).
    pub(super) fn permute(&self, codes: &[u64], moves: &[i64], out: &mut [u64]) {
        for (number, (place, code)) in self.places.iter().zip(codes).enumerate() {
            let moved = code.wrapping_add(moves[self.point(place, *code) as usize] as u64);
            out[self.target(number, place, moves)] = moved;
        }
    }

    /// Puts the slots of every multiset in order.
    pub(super) fn sort_slots(&self, codes: &mut [u64]) {
        for multiset in &self.multisets {
            for slots in multiset.places.chunks_exact(multiset.slots * multiset.row) {
                sort_rows(slots, multiset.row, codes);
            }
        }
    }
}

/// Puts rows of places in the order of their codes, by insertion: most of them are in order already.
fn sort_rows(rows: &[u32], length: usize, codes: &mut [u64]) {
    let count = rows.len() / length;
    for last in 1..count {
        for row in (1..=last).rev() {
            let (before, after) = rows[(row - 1) * length..(row + 1) * length].split_at(length);
            let pairs =
                || before.iter().zip(after).map(|(before, after)| (*before as usize, *after as usize));
            let differs = pairs().find(|(before, after)| codes[*before] != codes[*after]);
            if differs.is_none_or(|(before, after)| codes[before] < codes[after]) {
                break;
            }
            pairs().for_each(|(before, after)| codes.swap(before, after));
        }
    }
}

/// The scalarsets of which some variable has room for some values and not for all.
fn frozen(shape: &Shape, symmetry: &Symmetry) -> Vec<u32> {
    let mut frozen = symmetry.told_apart.clone();
    for (variable, component) in symmetry.variables.iter().zip(&shape.components) {
        let mut start = 0i64;
        for stretch in &variable.values {
            let end = start + i64::from(stretch.size) - 1;
            let inside = component.domain.low.max(start)..=component.domain.high.min(end);
            let is_partial = !inside.is_empty() && (*inside.start(), *inside.end()) != (start, end);
            if let StretchKind::Scalarset(number) = stretch.kind
                && is_partial
            {
                frozen.push(number);
            }
            start = end + 1;
        }
    }
    frozen.sort_unstable();
    frozen.dedup();
    frozen
}

/// Tables that are being made.
#[derive(Default)]
struct Builder {
    /// Of each scalarset, its first point if it is permuted.
    first_points: Vec<Option<u32>>,
    point_count: u32,
    places: Vec<Place>,
    coordinates: Vec<Coordinate>,
    tables: Vec<u32>,
    slot_count: u32,
    /// Of each point, how many bits of its key are for codes.
    key_bits: Vec<u32>,
    /// How many bits of all keys are for where points are held, and how many are taken.
    held_bits: u32,
    held_taken: u32,
    /// Of each variable, its first place if it has any.
    first_places: Vec<Option<u32>>,
}

impl Builder {
    fn first_point(&self, stretch: &Stretch) -> Option<u32> {
        match stretch.kind {
            StretchKind::Scalarset(number) => self.first_points[number as usize],
            StretchKind::Plain | StretchKind::Slots(_) => None,
        }
    }

    fn add(&mut self, number: u32, variable: &VariableSymmetry, component: &Component) {
        let is_moved = |stretch: &Stretch| {
            self.first_point(stretch).is_some() || matches!(stretch.kind, StretchKind::Slots(_))
        };
        let mut stretches = variable.dimensions.iter().flatten().chain(&variable.values);
        // What has one value only is the same wherever it stands.
        if component.element_bits == 0 || !stretches.any(is_moved) {
            self.first_places.push(None);
            return;
        }
        self.first_places.push(Some(self.places.len() as u32));
        let (table, point_code) = self.table(variable, component);
        let first = self.places.len();
        for element in 0..component.elements() {
            self.add_place(number, variable, component, element, table, point_code);
        }
        if table != NONE {
            self.note_holders(first, component.elements());
        }
    }

    /// Bits for a bit per place, or for a number as large as there are places.
    fn holder_bits(elements: u32, apart: bool) -> u32 {
        if apart { elements } else { u32::BITS - elements.leading_zeros() }
    }

    /// Puts aside bits of keys for where points are held.
    fn held_room(&mut self, shape: &Shape, symmetry: &Symmetry) {
        for (variable, component) in symmetry.variables.iter().zip(&shape.components) {
            let holds = variable.values.iter().any(|stretch| self.first_point(stretch).is_some());
            if holds && component.element_bits > 0 {
                let apart = !variable.dimensions.iter().flatten().any(|it| it.kind != StretchKind::Plain);
                self.held_bits += Builder::holder_bits(component.elements(), apart);
            }
        }
        self.held_bits = self.held_bits.min(HELD_BITS_MAX);
    }

    /// Gives the places of a variable, from the first on, their part of the keys of points that they hold, as long as there is room.
    fn note_holders(&mut self, first: usize, elements: u32) {
        let apart = self.places[first..].iter().all(|place| place.coordinate_count == 0 && !place.in_slot);
        let bits = Builder::holder_bits(elements, apart);
        if self.held_taken + bits > self.held_bits {
            return;
        }
        for (number, place) in self.places[first..].iter_mut().enumerate() {
            place.held = 1 << (self.held_taken + if apart { number as u32 } else { 0 });
        }
        self.held_taken += bits;
    }

    /// What the codes of a variable stand for, if some stand for points; and the least code that does.
    fn table(&mut self, variable: &VariableSymmetry, component: &Component) -> (u32, u64) {
        if variable.values.iter().all(|stretch| self.first_point(stretch).is_none()) {
            return (NONE, 0);
        }
        let mut points: Vec<u32> = Vec::new();
        for stretch in &variable.values {
            let first = self.first_point(stretch);
            points
                .extend((0..stretch.size).map(|index| first.map_or(self.point_count, |first| first + index)));
        }
        let table = self.tables.len() as u32;
        let values = component.domain.low..=component.domain.high;
        let of_value = |value: i64| usize::try_from(value).ok().and_then(|value| points.get(value).copied());
        self.tables.extend(values.map(|value| of_value(value).unwrap_or(self.point_count)));
        let point_code = self.tables[table as usize..].iter().position(|point| *point != self.point_count);
        (table, point_code.unwrap_or(0) as u64)
    }

    fn add_place(
        &mut self,
        number: u32,
        variable: &VariableSymmetry,
        component: &Component,
        element: u32,
        table: u32,
        point_code: u64,
    ) {
        let first_coordinate = self.coordinates.len();
        let mut name = mixed(u64::from(number) + 1);
        let (mut rest, mut stride) = (element, 1u32);
        let mut in_slot = false;
        for dimension in variable.dimensions.iter().rev() {
            let size: u32 = dimension.iter().map(|stretch| stretch.size).sum();
            let mut index = rest % size;
            rest /= size;
            for (part, stretch) in dimension.iter().enumerate() {
                if index >= stretch.size {
                    index -= stretch.size;
                    continue;
                }
                in_slot |= matches!(stretch.kind, StretchKind::Slots(_));
                let point = self.first_point(stretch).map(|first| first + index);
                let is_moved = point.is_some() || matches!(stretch.kind, StretchKind::Slots(_));
                name = mixed(name ^ (part as u64) << 32 ^ if is_moved { 0 } else { u64::from(index) + 1 });
                if let Some(point) = point {
                    let earlier = &self.coordinates[first_coordinate..];
                    let same = earlier.iter().position(|it| it.point == point);
                    name = mixed(name ^ same.map_or(0, |same| same as u64 + 1));
                    self.coordinates.push(Coordinate { point, stride: i64::from(stride) });
                }
                break;
            }
            stride *= size;
        }
        let coordinate_count = self.coordinates.len() - first_coordinate;
        let (key_of, key_shift) = match self.coordinates[first_coordinate..] {
            [only] if !in_slot => self.key_part(only.point, component),
            _ => (NONE, 0),
        };
        let fixed = Coordinate { point: self.point_count, stride: 0 };
        self.places.push(Place {
            low: component.element_low(element),
            width: component.element_bits,
            first: self.coordinates.get(first_coordinate).copied().unwrap_or(fixed),
            first_coordinate: first_coordinate as u32,
            coordinate_count: coordinate_count as u32,
            table,
            name,
            slot: NONE,
            in_slot,
            key_of,
            key_shift,
            point_code,
            held: 0,
        });
    }

    /// The point, if its key has room for one more code, and where.
    fn key_part(&mut self, point: u32, component: &Component) -> (u32, u32) {
        let bits = &mut self.key_bits[point as usize];
        *bits += component.element_bits;
        if *bits <= u64::BITS - self.held_bits { (point, u64::BITS - *bits) } else { (NONE, 0) }
    }

    /// The rows of all multisets, those inside others first.
    fn multisets(&mut self, symmetry: &Symmetry) -> Vec<Multiset> {
        let mut found: Vec<(usize, Multiset)> = Vec::new();
        for number in 0..symmetry.multisets {
            let own = StretchKind::Slots(number);
            let (mut slots, mut depth, mut parts) = (0, 0, Vec::new());
            for (variable, first_place) in symmetry.variables.iter().zip(&self.first_places) {
                let Some(at) = variable.dimensions.iter().position(|it| it[0].kind == own) else { continue };
                let sizes =
                    variable.dimensions.iter().map(|dimension| dimension.iter().map(|it| it.size).sum());
                let sizes: Vec<u32> = sizes.collect();
                (slots, depth) = (sizes[at], at);
                let (count, width): (u32, u32) =
                    (sizes[..at].iter().product(), sizes[at + 1..].iter().product());
                parts.extend(first_place.map(|first| (first, count, width)));
            }
            let Some((_, count, _)) = parts.first().copied() else { continue };
            let row: u32 = parts.iter().map(|(_, _, width)| width).sum();
            let mut places = Vec::new();
            for slot in 0..count * slots {
                let own = parts
                    .iter()
                    .flat_map(|(first, _, width)| first + slot * width..first + (slot + 1) * width);
                places.extend(own);
            }
            found.push((depth, Multiset { slots: slots as usize, row: row as usize, places }));
        }
        found.sort_by_key(|(depth, _)| std::cmp::Reverse(*depth));
        for (_, multiset) in &found {
            for row in multiset.places.chunks_exact(multiset.row) {
                for place in row {
                    let slot = &mut self.places[*place as usize].slot;
                    *slot = if *slot == NONE { self.slot_count } else { *slot };
                }
                self.slot_count += 1;
            }
        }
        found.into_iter().map(|(_, multiset)| multiset).collect()
    }
}

/// A word of bits that depend on all bits of another.
#[inline]
pub(super) fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    word ^ word >> 32
}
