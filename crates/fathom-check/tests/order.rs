//! Is a loop that depends on the order of a scalarset's values told of? Random loops: where nothing is said, states that are alike have steps to states
//! that are alike, as `orbits` tells from words, and symmetry leaves one of each. Where the order matters they mostly have not.

mod orbits;

use fathom_check::model::assemble::{Language, Model, ModelOptions};
use fathom_lang::source::SourceText;
use oracle::bfs::{Limits, explore};
use oracle::random::Random;

use crate::orbits::orbits;

const WARNING: &str = "this loop may depend on the order of the values of a scalarset";

fn read(text: &str, symmetry: bool) -> Model {
    let options = ModelOptions { symmetry, ..ModelOptions::default() };
    Model::compile(SourceText::new("m.m", text), Language::Murphi, &options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether the user is told of a loop.
fn is_told(text: &str) -> bool {
    let model = read(text, true);
    let told = model.warnings().items().iter().any(|it| it.message == WARNING);
    assert!(!read(text, false).warnings().items().iter().any(|it| it.message == WARNING), "{text}");
    told
}

const DECLARATIONS: &str = "type p: scalarset(3); pair: record at: 0..2; on: boolean; end;\n\
    var c: array [p] of 0..2; d: array [p] of p; r: array [p] of pair; s: pair; t: p; g: 0..2; f: boolean; m: multiset [3] of p;\n\
    procedure raise(var n: 0..2); begin n := (n + 1) % 3; end;\n\
    procedure mark(k: p); begin r[k].on := true; r[k].at := g; end;\n\
    procedure copy(var n: 0..2; v: 0..2); begin if v > 0 then n := v; end; end;\n\
    procedure forward(k: p; i: p); var n: 0..2; begin n := c[k]; if n = 1 then d[k] := i; end; end;\n\
    function some(k: p): boolean; begin for l: p do if c[l] = 2 & l != k then return true; end; end; return false; end;\n\
    function which(k: p): p; begin for l: p do if c[l] = 1 then return l; end; end; return k; end;\n\
    startstate begin for i: p do c[i] := 0; r[i].at := 0; r[i].on := false; end; undefine d; undefine t; undefine m;\n\
    s.at := 0; s.on := false; g := 0; f := false; end;\n";

/// What a round of `k` may do in a rule of `i`; in the variables of the rule, too.
const ROUNDS: &[&str] = &[
    "c[k] := (c[k] + 1) % 3",
    "c[k] := c[i]",
    "c[i] := c[k]",
    "c[k] := g",
    "g := c[k]",
    "t := k",
    "t := i",
    "undefine t",
    "f := true",
    "f := !f",
    "f := (c[k] = 1) | f",
    "f := f & (c[k] = 0)",
    "g := 2",
    "g := (g + 1) % 3",
    "if g < 2 then g := g + 1; end",
    "if c[k] = 0 then g := 1; end",
    "if c[k] = 0 then t := k; end",
    "if isundefined(t) then t := k; end",
    "d[k] := k",
    "d[k] := i",
    "d[i] := k",
    "if !isundefined(d[k]) then c[d[k]] := 1; end",
    "if !isundefined(d[k]) then c[d[k]] := c[k]; end",
    "raise(c[k])",
    "raise(g)",
    "mark(k)",
    "mark(i)",
    "copy(g, c[k])",
    "copy(c[k], g)",
    "copy(c[k], c[i])",
    "forward(k, i)",
    "forward(i, k)",
    "if some(k) then c[k] := 0; end",
    "if some(k) then f := true; end",
    "t := which(k)",
    "alias z: r[k] do z.at := (z.at + 1) % 3; z.on := f; end",
    "alias z: r[i] do z.at := c[k]; end",
    "r[k] := s",
    "s := r[k]",
    "s.on := true; r[k].at := s.at",
    "v := c[k]; r[k].at := v",
    "v := v + 1",
    "r[k].at := v",
    "if c[k] = 1 then return; end",
    "if multisetcount(j: m, true) < 3 then multisetadd(k, m); end",
    "if multisetcount(j: m, m[j] = k) = 0 & multisetcount(j: m, true) < 3 then multisetadd(k, m); end",
    "multisetremovepred(j: m, m[j] = k)",
    "multisetremovepred(j: m, c[m[j]] = 1)",
    "for l: p do if l != k then c[l] := 0; end; end",
    "for l: p do if l != k & c[l] = 1 then c[k] := 1; end; end",
    "for l: p do r[l].at := c[k]; end",
    "c[k] := (exists l: p do l != k & c[l] = 2 end) ? 1 : 0",
];

/// Rules with one loop each.
fn random_program(seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::from(DECLARATIONS);
    let body = |random: &mut Random| -> String {
        (0..1 + random.below(2)).map(|_| format!("{}; ", random.pick(ROUNDS))).collect()
    };
    let rounds = body(&mut random);
    text.push_str(&format!(
        "ruleset i: p do rule \"loops\" var v: 0..8; begin v := 0; for k: p do {rounds}end; end; end;\n"
    ));
    let others = [
        "c[i] := (c[i] + 1) % 3",
        "d[i] := j",
        "t := i",
        "g := (g + 1) % 3",
        "f := !f",
        "r[i].at := c[j]",
        "if multisetcount(k: m, true) < 3 then multisetadd(i, m); end",
    ];
    for number in 0..1 + random.below(2) {
        let step = random.pick(&others);
        text.push_str(&format!("ruleset i: p; j: p do rule \"r{number}\" begin {step}; end; end;\n"));
    }
    text
}

#[test]
fn loops_that_nothing_is_said_about_keep_the_symmetry() {
    let seeds = if std::env::var_os("FATHOM_LONG").is_some() { 0..6_000 } else { 0..300 };
    let (mut silent, mut told, mut broken) = (0, 0, 0);
    for seed in seeds {
        let text = random_program(seed);
        let model = read(&text, true);
        if explore(&model.interpreter(Vec::new()), Limits::states(4_000)).is_err() {
            continue;
        }
        let judged = orbits(&model, &["m"]);
        if is_told(&text) {
            told += 1;
            broken += usize::from(!judged.is_symmetric);
        } else {
            silent += 1;
            assert!(judged.is_symmetric, "seed {seed}\n{text}");
            assert_eq!(judged.left, judged.orbits, "seed {seed}\n{text}");
        }
    }
    eprintln!("{silent} loops are believed, {told} are told of, of which {broken} break the symmetry");
    assert!(silent > 50 && broken > 20, "{silent} believed, {told} told of, {broken} broken");
}

/// What looks dangerous and is not, and the other way round.
#[test]
fn loops_are_believed_for_a_reason() {
    let rule = |rounds: &str| {
        format!(
            "{DECLARATIONS}ruleset i: p do rule var v: 0..8; begin v := 0; for k: p do {rounds}; end; end; end;"
        )
    };
    let believed = [
        "c[k] := (c[k] + 1) % 3",
        "if c[k] = 0 then f := true; end",
        "if c[k] = 0 then v := v + 1; end",
        "t := i",
        "mark(k)",
        "forward(k, i)",
        "multisetadd(k, m)",
        "r[k].on := false; s.at := 0",
        "if some(k) then f := true; end",
    ];
    for rounds in believed {
        assert!(!is_told(&rule(rounds)), "{rounds}");
    }
    let doubted = [
        "t := k",
        "if isundefined(t) then t := k; end",
        "c[k] := c[i]",
        "v := v + 1; c[k] := v",
        "if c[k] = 1 then return; end; f := true",
        "s.at := c[k]",
        "r[k].at := s.at; s.at := 1",
        "copy(g, c[k])",
        "t := which(k)",
        "if multisetcount(j: m, true) < 3 then multisetadd(k, m); end",
    ];
    for rounds in doubted {
        assert!(is_told(&rule(rounds)), "{rounds}");
    }
}
