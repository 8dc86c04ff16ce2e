//! Which of the records that are alike stands for all?
//!
//! Points of a scalarset are put in an order that no permutation changes, and take numbers in that order. Cheap things are asked first:
//!
//! 1. The *key* of a point: the codes of the places whose only coordinate it is, and where or how often it is held, as one number. Where keys differ, they are the order.
//! 2. Else its *colour*: what it has to do with other points, by key, then by colour, until no more points differ (colour refinement). Colours are
//!    hashes; a collision costs time, not truth.
//! 3. Points that still look the same are tried, one after the other, as the first of their like, and of all orders that come of it the one counts that
//!    makes the least record. Points whose exchange changes nothing are tried once. At most [`TRIES_MAX`] permutations are tried: beyond that
//!    the least record so far is taken, which is alike to the given one but may not be the same for all that are.

use super::orbits::{NONE, Orbits, Permutation, Place, mixed};

/// The most permutations that are tried for one record.
pub const TRIES_MAX: u32 = 2_048;

/// Up to so many points are sorted by insertion.
const SMALL: usize = 16;

/// Room to work in.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    codes: Vec<u64>,
    moved: Vec<u64>,
    moves: Vec<i64>,
    keys: Vec<u64>,
    colours: Vec<u64>,
    slot_sums: Vec<u64>,
    /// The points of each set, in order.
    order: Vec<u32>,
    /// The least codes so far, and how points move to make them.
    best: Vec<u64>,
    best_moves: Vec<i64>,
    has_best: bool,
    tries: u32,
}

impl Scratch {
    /// The permutation that made the last representative, slots aside.
    pub fn permutation(&self) -> Permutation {
        let moves = &self.best_moves[..self.best_moves.len().saturating_sub(1)];
        Permutation(moves.iter().enumerate().map(|(point, far)| (point as i64 + far) as u32).collect())
    }
}

impl Orbits {
    /// Puts the representative of a record in its place; says whether it is the same for all records that are alike.
    pub fn canonical(&self, record: &mut [u64], scratch: &mut Scratch) -> bool {
        if self.is_trivial() {
            return true;
        }
        scratch.codes.resize(self.places.len(), 0);
        self.read(record, &mut scratch.codes);
        self.sort_slots(&mut scratch.codes);
        if self.sets.is_empty() {
            self.write(&scratch.codes, record);
            return true;
        }
        scratch.moved.resize(self.places.len(), 0);
        scratch.moves.resize(self.point_count as usize + 1, 0);
        scratch.keys.clear();
        scratch.keys.resize(self.point_count as usize + 1, 0);
        self.keys(&scratch.codes, &mut scratch.keys);
        scratch.keys.truncate(self.point_count as usize);
        (scratch.has_best, scratch.tries) = (false, 0);
        let Scratch { keys, order, .. } = scratch;
        if self.sort_points(order, |point| keys[point as usize]) {
            self.take_order(scratch);
        } else {
            let mut colours = std::mem::take(&mut scratch.colours);
            colours.clear();
            colours.extend(scratch.keys.iter().map(|key| mixed(*key)));
            self.search(scratch, &mut colours, false);
            scratch.colours = colours;
        }
        self.write_changed(&scratch.best, &scratch.codes, record);
        scratch.tries <= TRIES_MAX
    }

    /// Puts the points of each set in order by keys and colours; says whether no two of them are the same.
    fn sort_by_colour(&self, scratch: &mut Scratch, colours: &[u64]) -> bool {
        let Scratch { keys, order, .. } = scratch;
        self.sort_points(order, |point| (keys[point as usize], colours[point as usize]))
    }

    /// Puts the points of each set in order by rank; says whether no two of them are the same.
    fn sort_points<R: Ord + Copy>(&self, order: &mut Vec<u32>, rank: impl Fn(u32) -> R) -> bool {
        order.clear();
        order.extend(0..self.point_count);
        let mut all_differ = true;
        for set in &self.sets {
            let points = &mut order[set.start as usize..set.end as usize];
            if points.len() > SMALL {
                points.sort_unstable_by_key(|point| (rank(*point), *point));
                all_differ &= points.windows(2).all(|pair| rank(pair[0]) != rank(pair[1]));
                continue;
            }
            // By insertion: there are few, and most are in order already.
            for last in 1..points.len() {
                let own = rank(points[last]);
                let mut at = last;
                while at > 0 && rank(points[at - 1]) > own {
                    points.swap(at - 1, at);
                    at -= 1;
                }
                all_differ &= at == 0 || rank(points[at - 1]) != own;
            }
        }
        all_differ
    }

    /// Keeps what the current order of points makes of the codes, if it is the least so far.
    fn take_order(&self, scratch: &mut Scratch) {
        let mut moves = false;
        for (position, point) in scratch.order.iter().enumerate() {
            let far = position as i64 - i64::from(*point);
            scratch.moves[*point as usize] = far;
            moves |= far != 0;
        }
        if moves {
            self.permute(&scratch.codes, &scratch.moves, &mut scratch.moved);
            self.sort_slots(&mut scratch.moved);
        } else {
            scratch.moved.clone_from(&scratch.codes);
        }
        if !scratch.has_best || scratch.moved < scratch.best {
            scratch.has_best = true;
            std::mem::swap(&mut scratch.best, &mut scratch.moved);
            scratch.moved.resize(scratch.best.len(), 0);
            scratch.best_moves.clone_from(&scratch.moves);
        }
        scratch.tries += 1;
    }

    /// Tells points apart by what they have to do with others, as far as that goes.
    fn refine(&self, scratch: &mut Scratch, colours: &mut [u64]) {
        let mut known = self.classes(scratch, colours);
        let mut sums = vec![0u64; colours.len() + 1];
        while known < colours.len() {
            sums.fill(0);
            self.add_up(scratch, colours, &mut sums);
            for (colour, sum) in colours.iter_mut().zip(&sums) {
                *colour = mixed(colour.rotate_left(17) ^ sum);
            }
            let now = self.classes(scratch, colours);
            if now <= known {
                return;
            }
            known = now;
        }
    }

    /// How many points differ.
    fn classes(&self, scratch: &mut Scratch, colours: &[u64]) -> usize {
        self.sort_by_colour(scratch, colours);
        let differ = |pair: &[u32]| colours[pair[0] as usize] != colours[pair[1] as usize];
        let of_set = |set: &std::ops::Range<u32>| {
            1 + scratch.order[set.start as usize..set.end as usize]
                .windows(2)
                .filter(|pair| differ(pair))
                .count()
        };
        self.sets.iter().map(of_set).sum()
    }

    /// For each point, the sum of what it has to do with others, each with its part in it.
    fn add_up(&self, scratch: &mut Scratch, colours: &[u64], sums: &mut [u64]) {
        let Scratch { codes, slot_sums, .. } = scratch;
        if self.slot_count > 0 {
            slot_sums.clear();
            slot_sums.resize(self.slot_count as usize, 0);
            for (number, place) in self.places.iter().enumerate().filter(|(_, place)| place.slot != NONE) {
                if self.says_nothing(place, codes[number]) {
                    continue;
                }
                let own = self.sight(number, codes[number], colours);
                let sum = &mut slot_sums[place.slot as usize];
                *sum = sum.wrapping_add(mixed(own));
            }
        }
        for (number, place) in self.places.iter().enumerate() {
            let code = codes[number];
            if self.says_nothing(place, code) {
                continue;
            }
            let mut sight = self.sight(number, code, colours);
            if place.slot != NONE {
                sight = mixed(sight ^ slot_sums[place.slot as usize].rotate_left(9));
            }
            for (part, coordinate) in self.coordinates_of(place).iter().enumerate() {
                let sum = &mut sums[coordinate.point as usize];
                *sum = sum.wrapping_add(mixed(sight.wrapping_add(part as u64 + 2)));
            }
            let point = self.point(place, code);
            sums[point as usize] = sums[point as usize].wrapping_add(mixed(sight.wrapping_add(1)));
        }
    }

    /// Whether a place of a slot can be left out, as those of empty slots: no point has to do with it, and its code is the least.
    #[inline]
    fn says_nothing(&self, place: &Place, code: u64) -> bool {
        code == 0
            && place.slot != NONE
            && self.coordinates_of(place).is_empty()
            && self.point(place, code) == self.point_count
    }

    /// What can be seen of a place: where it stands and what it holds, by colours.
    #[inline]
    fn sight(&self, number: usize, code: u64, colours: &[u64]) -> u64 {
        let place = &self.places[number];
        let point = self.point(place, code);
        let mut sight = place.name;
        for (part, coordinate) in self.coordinates_of(place).iter().enumerate() {
            let same = u64::from(coordinate.point == point);
            sight = mixed(sight ^ colours[coordinate.point as usize].rotate_left(part as u32) ^ same);
        }
        let value = if point == self.point_count { code + 1 } else { !colours[point as usize] };
        mixed(sight ^ value.rotate_left(29))
    }

    /// Tries the orders that colours leave open. Colours are refined when they are needed: mostly, points that look the same are the same.
    fn search(&self, scratch: &mut Scratch, colours: &mut [u64], mut refined: bool) {
        loop {
            let is_over = scratch.tries > TRIES_MAX;
            if is_over && scratch.has_best {
                return;
            }
            if self.sort_by_colour(scratch, colours) || is_over {
                self.take_order(scratch);
                return;
            }
            let alike = self.first_alike(scratch, colours);
            let leaders = self.leaders(scratch, &alike);
            if let [_] = leaders[..] {
                // Their exchange changes nothing for anyone: any order of them will do.
                for (position, point) in alike.iter().enumerate() {
                    let colour = &mut colours[*point as usize];
                    *colour = mixed(colour.wrapping_add(position as u64 + 1));
                }
                continue;
            }
            if !refined {
                self.refine(scratch, colours);
                refined = true;
                continue;
            }
            for leader in leaders {
                let mut next = colours.to_vec();
                next[leader as usize] = mixed(next[leader as usize] ^ 1);
                self.refine(scratch, &mut next);
                self.search(scratch, &mut next, true);
            }
            return;
        }
    }

    /// The first points in order that look the same.
    fn first_alike(&self, scratch: &Scratch, colours: &[u64]) -> Vec<u32> {
        let rank = |point: u32| (scratch.keys[point as usize], colours[point as usize]);
        for set in &self.sets {
            let points = &scratch.order[set.start as usize..set.end as usize];
            if let Some(alike) =
                points.chunk_by(|left, right| rank(*left) == rank(*right)).find(|alike| alike.len() > 1)
            {
                return alike.to_vec();
            }
        }
        Vec::new()
    }

    /// Of points that look the same, one of each that can be exchanged without changing anything.
    fn leaders(&self, scratch: &mut Scratch, alike: &[u32]) -> Vec<u32> {
        let mut leaders: Vec<u32> = Vec::new();
        for point in alike {
            if scratch.tries > TRIES_MAX {
                break;
            }
            if !leaders.iter().any(|leader| self.is_exchange_idle(scratch, *leader, *point)) {
                leaders.push(*point);
            }
        }
        leaders
    }

    fn is_exchange_idle(&self, scratch: &mut Scratch, left: u32, right: u32) -> bool {
        scratch.tries += 1;
        scratch.moves.fill(0);
        scratch.moves[left as usize] = i64::from(right) - i64::from(left);
        scratch.moves[right as usize] = i64::from(left) - i64::from(right);
        if !self.may_stay(&scratch.codes, &scratch.moves) {
            return false;
        }
        if self.slot_count == 0 {
            return true;
        }
        self.permute(&scratch.codes, &scratch.moves, &mut scratch.moved);
        self.sort_slots(&mut scratch.moved);
        scratch.moved == scratch.codes
    }
}
