//! How many classes of states are there, as counted on the words for states? All permutations of the names of scalarset values are tried, in places and
//! in values, and slots of multisets are sorted. That shares no code with what it judges.

use std::collections::{BTreeMap, BTreeSet};

use fathom_check::model::assemble::Model;
use fathom_model::symmetry::Symmetric;
use fathom_model::system::{Query, TransitionSystem};
use oracle::bfs::{Limits, explore};

/// A state in words: places and values.
type Words = BTreeMap<String, String>;

/// All orders of the names of a scalarset, as replacements.
fn renamings(name: &str, size: u32) -> Vec<Vec<(String, String)>> {
    let mut orders: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 0..size {
        let longer = orders.iter().flat_map(|order| {
            (1..=size)
                .filter(|next| !order.contains(next))
                .map(move |next| [order.clone(), vec![next]].concat())
        });
        orders = longer.collect();
    }
    let name_of = |number: u32| format!("{name}_{number}");
    orders
        .iter()
        .map(|order| {
            order.iter().enumerate().map(|(at, to)| (name_of(at as u32 + 1), name_of(*to))).collect()
        })
        .collect()
}

/// A text with every whole word replaced.
fn renamed(text: &str, renaming: &[(String, String)]) -> String {
    let is_word = |it: char| it.is_alphanumeric() || it == '_';
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
        let (word, others) = rest.split_at(end);
        out.push_str(renaming.iter().find(|(from, _)| from == word).map_or(word, |(_, to)| to));
        let end = others.find(is_word).unwrap_or(others.len());
        out.push_str(&others[..end]);
        rest = &others[end..];
    }
    out
}

/// The state with the slots of multisets in order: `net[3].who` belongs to slot 3 of `net`.
fn sorted_slots(words: &Words, sets: &[&str]) -> Vec<(String, String)> {
    let mut plain = Vec::new();
    let mut slots: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
    for (place, value) in words {
        let set = sets.iter().find(|set| place.starts_with(&format!("{set}[")));
        match set.and_then(|set| Some((set, place[set.len() + 1..].split_once(']')?))) {
            Some((set, (slot, rest))) => {
                slots
                    .entry(((*set).to_owned(), slot.to_owned()))
                    .or_default()
                    .push((rest.to_owned(), value.clone()));
            }
            None => plain.push((place.clone(), value.clone())),
        }
    }
    let mut contents: Vec<(String, String)> =
        slots.into_iter().map(|((set, _), content)| (set, format!("{content:?}"))).collect();
    contents.sort();
    plain.extend(contents);
    plain
}

/// What there is to say about the reachable states of a model.
pub(crate) struct Judged {
    /// How many orbits they form.
    pub(crate) orbits: usize,
    /// How many states symmetry leaves.
    pub(crate) left: usize,
    /// Whether those of one orbit have steps to the same orbits, and faults if one of them has.
    pub(crate) is_symmetric: bool,
}

/// Judges a model; `sets` are the names of its multisets.
pub(crate) fn orbits(model: &Model, sets: &[&str]) -> Judged {
    let symmetry = model.symmetry().expect("a Murphi model says what is alike");
    let system = model.interpreter(Vec::new());
    let all = explore(&system, Limits::states(200_000)).expect("the models are small");
    let mut choices: Vec<Vec<(String, String)>> = vec![Vec::new()];
    for scalarset in &symmetry.scalarsets {
        let name = scalarset.name.as_deref().expect("the scalarsets here have names");
        let renamings = renamings(name, scalarset.size);
        choices = choices
            .iter()
            .flat_map(|choice| renamings.iter().map(move |it| [choice.clone(), it.clone()].concat()))
            .collect();
    }
    let mut least = BTreeMap::new();
    let mut orbit_of = Vec::new();
    for state in &all.states {
        let words = system.describe(Query::Record(&state.record)).values;
        let alike = choices.iter().map(|choice| {
            let words =
                words.iter().map(|(place, value)| (renamed(place, choice), renamed(value, choice))).collect();
            sorted_slots(&words, sets)
        });
        let least_words = alike.min().expect("there is the permutation that changes nothing");
        let next = least.len();
        orbit_of.push(*least.entry(least_words).or_insert(next));
    }
    let mut ways: Vec<Option<(BTreeSet<usize>, bool)>> = vec![None; least.len()];
    let is_symmetric = all.states.iter().zip(&orbit_of).all(|(state, orbit)| {
        let targets = state.steps.iter().map(|step| orbit_of[step.target]).collect();
        let own = (targets, !state.faults.is_empty());
        *ways[*orbit].get_or_insert_with(|| own.clone()) == own
    });
    let joined = Symmetric::new(model.interpreter(Vec::new()), symmetry);
    let reduced = explore(&joined, Limits::states(200_000)).expect("it is smaller");
    Judged { orbits: least.len(), left: reduced.states.len(), is_symmetric }
}
