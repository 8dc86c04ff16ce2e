//! Which words does a Büchi automaton not accept, one step at a time?
//!
//! The complement of an explicit automaton, on the fly, in the cheapest of three ways. Deterministic: follow the one
//! run, and guess when it has seen its last accepting state. Weak: follow all runs, and see again and again that those
//! in accepting components have left them (Miyano and Hayashi 1984). Else: guess ranks, as Kupferman and Vardi (2001)
//! with the tight, maximal rankings of Schewe (2009).

/// A Büchi automaton over numbered letters, with accepting states; at most 64 states.
pub(crate) struct Explicit {
    pub(crate) initial: usize,
    /// Per state and letter, the set of targets.
    pub(crate) steps: Vec<Vec<u64>>,
    /// The accepting states.
    pub(crate) accepting: u64,
}

/// How the complement is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Deterministic,
    Weak,
    Ranks,
}

/// A state of the complement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The states some run is in.
    subset: u64,
    /// Those that still owe something before the next breakpoint.
    owing: u64,
    /// Ranks of the members of `subset`, ascending; empty before they were guessed.
    ranks: Vec<u8>,
    /// The even rank whose members owe.
    even: u8,
    /// The guess was made: from now on acceptance is watched.
    guessed: bool,
}

impl Explicit {
    /// The cheapest way.
    pub(crate) fn method(&self) -> Method {
        if self.steps.iter().flatten().all(|targets| targets.count_ones() <= 1) {
            Method::Deterministic
        } else if self.is_weak() {
            Method::Weak
        } else {
            Method::Ranks
        }
    }

    pub(crate) fn start(&self) -> Place {
        Place { subset: 1 << self.initial, owing: 0, ranks: Vec::new(), even: 0, guessed: false }
    }

    /// Must be met infinitely often for the word to be in the complement.
    pub(crate) fn is_accepting(&self, place: &Place, method: Method) -> bool {
        place.subset == 0
            || match method {
                Method::Deterministic => place.guessed,
                Method::Weak => place.owing == 0,
                Method::Ranks => place.guessed && place.owing == 0,
            }
    }

    /// The successors on a letter, appended to `out`; when there are more than `most`, only so many and one more.
    pub(crate) fn successors(
        &self,
        place: &Place,
        letter: usize,
        method: Method,
        most: usize,
        out: &mut Vec<Place>,
    ) {
        let subset = self.step(place.subset, letter);
        match method {
            Method::Deterministic => {
                let next = |guessed| Place { subset, owing: 0, ranks: Vec::new(), even: 0, guessed };
                if !place.guessed {
                    out.push(next(false));
                }
                if subset & self.accepting == 0 {
                    out.push(next(true));
                }
            }
            Method::Weak => {
                let from = if place.owing == 0 { subset } else { self.step(place.owing, letter) };
                let owing = from & self.accepting;
                out.push(Place { subset, owing, ranks: Vec::new(), even: 0, guessed: false });
            }
            Method::Ranks if place.guessed => self.ranked_successors(place, subset, letter, out),
            Method::Ranks => {
                out.push(Place { subset, ..self.start() });
                self.guess_ranks(subset, most, out);
            }
        }
    }

    fn step(&self, set: u64, letter: usize) -> u64 {
        members(set).fold(0, |targets, state| targets | self.steps[state][letter])
    }

    /// Is every component all accepting or all rejecting? By reachability: states are few.
    fn is_weak(&self) -> bool {
        let direct = |state: usize| self.steps[state].iter().fold(0, |all, targets| all | targets);
        let mut reach: Vec<u64> = (0..self.steps.len()).map(direct).collect();
        loop {
            let next: Vec<u64> =
                reach.iter().map(|&set| members(set).fold(set, |all, state| all | reach[state])).collect();
            if next == reach {
                break;
            }
            reach = next;
        }
        (0..reach.len()).all(|state| {
            let mut component = members(reach[state]).filter(|&other| reach[other] >> state & 1 == 1);
            component.all(|other| self.accepting >> other & 1 == self.accepting >> state & 1)
        })
    }

    /// All maximal tight rankings: each odd rank below the greatest belongs to one state, all others are as high as
    /// they may be.
    fn guess_ranks(&self, subset: u64, most: usize, out: &mut Vec<Place>) {
        let free: Vec<usize> = members(subset & !self.accepting).collect();
        self.guess_more(subset, &free, &mut Vec::new(), most, out);
    }

    /// `chosen` have the ranks 1, 3, 5 and so on. Every call but the first adds a place: so `most` bounds the time.
    fn guess_more(
        &self,
        subset: u64,
        free: &[usize],
        chosen: &mut Vec<usize>,
        most: usize,
        out: &mut Vec<Place>,
    ) {
        if out.len() > most {
            return;
        }
        if chosen.len() < free.len() {
            let top = 2 * chosen.len() as u8 + 1;
            let rank = |state: &usize| match chosen.iter().position(|other| other == state) {
                Some(place) => 2 * place as u8 + 1,
                None if self.accepting >> state & 1 == 1 => top - 1,
                None => top,
            };
            let ranks = members(subset).map(|state| rank(&state)).collect();
            out.push(Place { subset, owing: 0, ranks, even: 0, guessed: true });
        }
        // One free state must remain for the greatest rank.
        if chosen.len() + 1 < free.len() {
            for state in free {
                if !chosen.contains(state) {
                    chosen.push(*state);
                    self.guess_more(subset, free, chosen, most, out);
                    chosen.pop();
                }
            }
        }
    }

    /// Ranks stay as high as they may, or those who owe give up one.
    fn ranked_successors(&self, place: &Place, subset: u64, letter: usize, out: &mut Vec<Place>) {
        let mut highest = [u8::MAX; 64];
        for (state, &rank) in members(place.subset).zip(&place.ranks) {
            for target in members(self.steps[state][letter]) {
                highest[target] = highest[target].min(rank);
            }
        }
        for state in members(subset & self.accepting) {
            highest[state] &= !1;
        }
        let top = place.ranks.iter().copied().max().unwrap_or(0);
        let ranks: Vec<u8> = members(subset).map(|state| highest[state]).collect();
        if !is_tight(&ranks, top) {
            if subset == 0 {
                out.push(Place { subset, owing: 0, ranks, even: 0, guessed: true });
            }
            return;
        }
        let even = if place.owing == 0 { (place.even + 2) % (top + 1) } else { place.even };
        let candidates = if place.owing == 0 { subset } else { self.step(place.owing, letter) };
        let owing =
            members(candidates).filter(|&state| highest[state] == even).fold(0, |set, s| set | 1 << s);
        let lower = |state: usize| if owing >> state & 1 == 1 { highest[state] - 1 } else { highest[state] };
        if owing != 0 && even > 0 && owing & self.accepting == 0 {
            let lowered: Vec<u8> = members(subset).map(lower).collect();
            if is_tight(&lowered, top) {
                out.push(Place { subset, owing: 0, ranks: lowered, even, guessed: true });
            }
        }
        out.push(Place { subset, owing, ranks, even, guessed: true });
    }
}

/// The greatest rank is `top`, odd, and every smaller odd one occurs.
fn is_tight(ranks: &[u8], top: u8) -> bool {
    let occurring = ranks.iter().fold(0u128, |set, &rank| set | 1 << (rank & 127));
    top % 2 == 1 && (1..=top).step_by(2).all(|rank| occurring >> rank & 1 == 1)
}

fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if set == 0 {
            return None;
        }
        let state = set.trailing_zeros() as usize;
        set &= set - 1;
        Some(state)
    })
}
