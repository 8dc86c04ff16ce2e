//! Are states that are alike, and only they, one? The orbits are counted on the words for states: all permutations of the names of scalarset values,
//! in places and in values, and slots of multisets sorted. That shares no code with what it judges.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fathom::assemble::{Language, Model, ModelOptions};
use fathom_lang::source::SourceText;
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

/// How many orbits the reachable states form, and how many states symmetry leaves.
fn orbits(model: &Model, sets: &[&str]) -> (usize, usize) {
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
    let mut least = BTreeSet::new();
    for state in &all.states {
        let words = system.describe(Query::Record(&state.record)).values;
        let alike = choices.iter().map(|choice| {
            let words =
                words.iter().map(|(place, value)| (renamed(place, choice), renamed(value, choice))).collect();
            sorted_slots(&words, sets)
        });
        least.insert(alike.min().expect("there is the permutation that changes nothing"));
    }
    let joined = Symmetric::new(model.interpreter(Vec::new()), symmetry).expect("there are few permutations");
    let reduced = explore(&joined, Limits::states(200_000)).expect("it is smaller");
    assert!(reduced.states.len() <= all.states.len());
    (least.len(), reduced.states.len())
}

#[test]
fn the_models_have_as_many_states_as_orbits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let models: &[(&str, &[&str])] = &[
        ("peterson_scalarset", &[]),
        ("coherence_broken", &[]),
        ("queue_lock", &[]),
        ("linked_list", &[]),
        ("directory", &[]),
        ("coherence_multiset", &["net"]),
        ("two_phase_commit_set", &["mail"]),
    ];
    for (name, sets) in models {
        let model = Model::read(&folder.join(format!("{name}.m")), &ModelOptions::default());
        let (expected, found) = orbits(&model.unwrap_or_else(|error| panic!("{error}")), sets);
        assert_eq!(found, expected, "{name}");
        eprintln!("{name}: {found} orbits");
    }
}

/// A random program over two scalarsets, a union of them, and a multiset of it.
fn random_program(seed: u64) -> String {
    let mut random = oracle::random::Random::new(seed);
    let mut text = String::from(
        "type p: scalarset(3); q: scalarset(2); u: union { p, q, enum { none } };\n\
         var a: array [p] of u; b: array [q] of p; c: array [p] of 0..2; m: multiset [3] of u; f: boolean;\n\
         startstate begin for i: p do a[i] := none; c[i] := 0; end; undefine b; undefine m; f := false; end;\n",
    );
    let guards = [
        "a[i] = none",
        "isundefined(b[j])",
        "c[i] < 2",
        "f",
        "!f",
        "a[i] = j",
        "a[i] = i",
        "!isundefined(b[j]) & b[j] = i",
    ];
    let effects = [
        "a[i] := j",
        "a[i] := i",
        "b[j] := i",
        "undefine b[j]",
        "c[i] := (c[i] + 1) % 3",
        "f := !f",
        "a[i] := none",
        "if multisetcount(k: m, true) < 3 then multisetadd(a[i], m); end",
        "for k: p do if k != i then c[k] := c[i]; end; end",
        "multisetremovepred(k: m, m[k] = i)",
    ];
    for number in 0..2 + random.below(3) {
        let (guard, first, second) = (random.pick(&guards), random.pick(&effects), random.pick(&effects));
        text.push_str(&format!(
            "ruleset i: p; j: q do rule \"r{number}\" {guard} ==> begin {first}; {second}; end; end;\n"
        ));
    }
    text
}

#[test]
fn random_programs_have_as_many_states_as_orbits() {
    let mut smaller = 0;
    for seed in 0..40 {
        let text = random_program(seed);
        let model =
            Model::compile(SourceText::new("m.m", text.clone()), Language::Murphi, &ModelOptions::default());
        let model = model.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let Some(size) = explore(&model.interpreter(Vec::new()), Limits::states(20_000)).ok() else {
            continue;
        };
        let (expected, found) = orbits(&model, &["m"]);
        assert_eq!(found, expected, "seed {seed}\n{text}");
        smaller += usize::from(found < size.states.len());
    }
    assert!(smaller > 10, "only {smaller} programs had anything to join");
}
