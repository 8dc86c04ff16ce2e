//! Are states that are alike, and only they, one? The orbits are counted by `orbits`. And are questions answered as without symmetry?

mod orbits;

use std::path::Path;

use fathom_check::answers::check::{Stop, Verdict, check};
use fathom_check::answers::hunt::check_bitstate;
use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::answers::possibility;
use fathom_check::model::assemble::{Language, Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::liveness_property::{Fairness, LivenessQuestions};
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::questions::property::{DeadlockKind, Faults};
use fathom_check::resources::Resources;
use fathom_lang::source::SourceText;
use fathom_model::symmetry::{Orbits, Scratch};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::{Chosen, Engine};
use fathom_search::engines::{auto, ndfs, positions, ram, semi_owcty, tier};
use oracle::bfs::{Limits, explore};
use oracle::skip::skipped;

use crate::orbits::{Judged, orbits};

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
        let judged = orbits(&model.unwrap_or_else(|error| panic!("{error}")), sets);
        assert_eq!(judged.left, judged.orbits, "{name}");
        assert!(judged.is_symmetric, "{name}");
        eprintln!("{name}: {} orbits", judged.orbits);
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
    for question in 0..2 {
        text.push_str(&format!("liveness \"l{question}\" {};\n", random_question(seed * 7 + question)));
    }
    text.push_str("ruleset i: p; j: q do cover c[i] = 1 & a[i] = j; cover a[i] = i; end;\n");
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
        let judged = orbits(&model, &["m"]);
        assert_eq!(judged.left, judged.orbits, "seed {seed}\n{text}");
        assert!(judged.is_symmetric, "seed {seed}\n{text}");
        smaller += usize::from(judged.left < size.states.len());
    }
    assert!(smaller > 10, "only {smaller} programs had anything to join");
}

/// A random question about states that are alike or not, in words that do not tell them apart.
fn random_question(seed: u64) -> String {
    let mut random = oracle::random::Random::new(seed);
    let parts = [
        "forall i: p do a[i] = none end",
        "exists i: p do c[i] = 2 end",
        "exists i: p do exists j: p do i != j & c[i] = c[j] & c[i] > 0 end end",
        "f",
        "exists j: q do !isundefined(b[j]) & exists i: p do a[i] = j end end",
        "multisetcount(k: m, true) = 3",
        "multisetcount(k: m, !isundefined(m[k]) & ismember(m[k], p)) > 1",
    ];
    format!("({}) {} ({})", random.pick(&parts), random.pick(&["&", "|", "->"]), random.pick(&parts))
}

fn read(text: &str, symmetry: bool) -> Model {
    let options = ModelOptions { symmetry, ..ModelOptions::default() };
    Model::compile(SourceText::new("m.m", text), Language::Murphi, &options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The verdict and length of the run for each property.
fn verdicts(
    model: &Model,
    questions: &Questions,
    engine: &Chosen,
    jit: bool,
) -> Vec<(Verdict, Option<usize>)> {
    let plan = Plan::new(model, questions).unwrap_or_else(|error| panic!("{error}"));
    let resources = Resources { jit, threads: 2, ..Resources::of_this_machine() };
    let checked = check(model, &plan, engine, Stop::Never, &resources, &Clock::new(None), None)
        .unwrap_or_else(|error| panic!("{}: {error}", model.source().name()));
    let clock = Clock::new(None);
    let possible = plan.possibilities.iter().map(|it| possibility::check(model, it, &resources, &clock));
    let checked = possible
        .fold(checked, |checked, it| checked.and(it.unwrap_or_else(|error| panic!("{error}")), Stop::Never));
    let told =
        checked.answers.iter().map(|it| (it.verdict, it.trace.as_ref().map(|trace| trace.length() as usize)));
    told.collect()
}

/// Whether a formula is violated; the run that shows it has been judged.
fn is_violated(model: &Model, formula: &str, fair: bool, engine: &'static Engine) -> bool {
    let fairness = if fair { Fairness::Weak(Vec::new()) } else { Fairness::None };
    let questions =
        LivenessQuestions { formulas: vec![formula.to_owned()], fairness, ..LivenessQuestions::default() };
    let property = questions.properties(model).unwrap_or_else(|error| panic!("{error}")).remove(0);
    let fair = questions.fair_processes(model).expect("there are few rules");
    let settings = LivenessSettings {
        engine: Chosen::plain(engine),
        fair,
        faults: Faults::Report,
        strong: false,
        generation: Chosen::plain(&auto::ENGINE),
        stack: None,
    };
    let resources = Resources { threads: 1, ..Resources::of_this_machine() };
    let checked = liveness::check(model, &property, &settings, &resources, &Clock::new(None), None)
        .unwrap_or_else(|error| panic!("{formula}: {error}\n{}", model.source().text()));
    checked.answers[0].verdict == Verdict::Violated
}

/// Every question is answered alike with symmetry on and off, and the runs that show it have the same length.
#[test]
fn random_programs_have_the_same_verdicts() {
    let (mut violated, mut held, mut formulas) = (0, 0, 0);
    for seed in 0..24 {
        let text = random_program(seed);
        let [plain, joined] = [false, true].map(|symmetry| read(&text, symmetry));
        if explore(&plain.interpreter(Vec::new()), Limits::states(3_000)).is_err() {
            continue;
        }
        for kind in [DeadlockKind::Stuck, DeadlockKind::Stuttering] {
            let questions = Questions {
                only: true,
                stated: vec!["l0".into(), "l1".into()],
                invariants: vec![random_question(seed), random_question(seed + 1_000)],
                goals: vec![random_question(seed + 2_000)],
                deadlock: Some(kind),
                ..Questions::default()
            };
            let expected = verdicts(&plain, &questions, &Chosen::plain(&ram::ENGINE), true);
            for (engine, jit) in [
                (&Chosen::plain(&ram::ENGINE), true),
                (&Chosen::plain(&positions::ENGINE), false),
                (&Chosen::plain(&tier::ENGINE), true),
            ] {
                let found = verdicts(&joined, &questions, engine, jit);
                assert_eq!(
                    found, expected,
                    "seed {seed}, {kind:?}, {}\n{questions:?}\n{text}",
                    engine.engine.name
                );
            }
            violated += expected.iter().filter(|(verdict, _)| *verdict == Verdict::Violated).count();
            held += expected.iter().filter(|(verdict, _)| *verdict == Verdict::Holds).count();
        }
        let [left, right] = [seed + 3_000, seed + 4_000].map(random_question);
        for formula in [format!("[] <> \"{left}\""), format!("[] (\"{left}\" -> <> \"{right}\")")] {
            for fair in [false, true] {
                let expected = is_violated(&plain, &formula, fair, &ndfs::ENGINE);
                for engine in [&ndfs::ENGINE, &semi_owcty::ENGINE] {
                    let found = is_violated(&joined, &formula, fair, engine);
                    assert_eq!(found, expected, "seed {seed}, fair: {fair}: {formula}\n{text}");
                }
                formulas += usize::from(expected);
            }
        }
    }
    eprintln!("{violated} violated, {held} held, {formulas} formulas violated");
    assert!(
        violated > 20 && held > 20 && formulas > 3,
        "{violated} violated, {held} held, {formulas} formulas"
    );
}

/// What our models say of themselves is the same with symmetry on.
#[test]
fn the_models_have_the_same_verdicts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut smaller = 0;
    for entry in folder.read_dir().expect("there are models") {
        let path = entry.expect("readable").path();
        if path.extension().is_none_or(|extension| extension != "m") {
            continue;
        }
        let [plain, joined] = [false, true].map(|symmetry| {
            let options = ModelOptions { symmetry, ..ModelOptions::default() };
            Model::read(&path, &options).unwrap_or_else(|error| panic!("{error}"))
        });
        for deadlock in [None, Some(DeadlockKind::Stuck)] {
            let questions = Questions { deadlock, ..Questions::default() };
            let expected = verdicts(&plain, &questions, &Chosen::plain(&ram::ENGINE), true);
            assert_eq!(
                verdicts(&joined, &questions, &Chosen::plain(&ram::ENGINE), true),
                expected,
                "{}",
                path.display()
            );
        }
        smaller += usize::from(joined.is_symmetric());
    }
    assert!(smaller >= 7, "{smaller} models have something alike");
}

/// A token that goes from one to another leads to a state that is alike: with symmetry that looks like standing still, and is none.
#[test]
fn a_step_to_a_state_that_is_alike_is_no_deadlock() {
    let text = "type p: scalarset(3); var t: p;\n\
                ruleset i: p do startstate begin t := i; end; end;\n\
                ruleset i: p do rule \"passes on\" t != i ==> begin t := i; end; end;";
    for symmetry in [false, true] {
        let model = read(text, symmetry);
        let questions = Questions { deadlock: Some(DeadlockKind::Stuttering), ..Questions::default() };
        let found = verdicts(&model, &questions, &Chosen::plain(&ram::ENGINE), true);
        assert_eq!(found[0], (Verdict::Holds, None), "symmetry: {symmetry}");
        let questions = Questions { constraint: Some("true".into()), ..questions };
        assert_eq!(
            verdicts(&model, &questions, &Chosen::plain(&ram::ENGINE), true)[0],
            (Verdict::Holds, None)
        );
    }
}

/// Who names a value of a scalarset asks about one of those that are alike.
#[test]
fn what_tells_values_apart_is_refused_by_name() {
    let text = "type p: scalarset(2); var t: array [p] of boolean;\n\
                startstate begin for i: p do t[i] := false; end; end;\n\
                ruleset i: p do rule \"flips\" begin t[i] := !t[i]; end; end;";
    let [plain, joined] = [false, true].map(|symmetry| read(text, symmetry));
    assert!(plain.expression("--reach", "t[p_1] & !t[p_2]").is_ok());
    let refusal =
        joined.expression("--reach", "t[p_1] & !t[p_2]").expect_err("it tells them apart").to_string();
    assert!(refusal.contains("this distinguishes symmetric states") && refusal.contains("--symmetry off"));
    let atoms = vec![("first".to_owned(), "t[p_2]".to_owned())];
    let questions =
        LivenessQuestions { formulas: vec!["[] <> first".into()], atoms, ..LivenessQuestions::default() };
    let refusal = questions.properties(&joined).expect_err("it hides in an atom").to_string();
    assert!(refusal.contains("t[p_2]") && refusal.contains("--symmetry off"), "{refusal}");
    assert!(questions.properties(&plain).is_ok());
}

/// Representatives do not depend on which of the records that are alike is given, and are alike to it.
#[test]
fn records_that_are_alike_have_one_representative() {
    let mut random = oracle::random::Random::new(7);
    for seed in 0..30 {
        let model = read(&random_program(seed), false);
        let symmetry = model.symmetry().expect("Murphi");
        let system = model.interpreter(Vec::new());
        let orbits = Orbits::new(system.shape(), symmetry);
        let Ok(all) = explore(&system, Limits::states(2_000)) else { continue };
        let mut scratch = Scratch::default();
        for state in &all.states {
            let mut first = state.record.clone();
            assert!(orbits.canonical(&mut first, &mut scratch), "few permutations are tried");
            let permutation = scratch.permutation();
            let mut again = state.record.clone();
            orbits.apply(&permutation, &mut again);
            assert_eq!(again, first, "the permutation makes the representative");
            orbits.apply(&permutation.inverse(), &mut again);
            let mut sorted = state.record.clone();
            orbits.apply(&orbits.identity(), &mut sorted);
            assert_eq!(again, sorted, "and its inverse the record, slots in order");
            let mut other = state.record.clone();
            for _ in 0..3 {
                let mut third = all.states[random.below(all.states.len())].record.clone();
                orbits.canonical(&mut third, &mut scratch);
                orbits.apply(&scratch.permutation(), &mut other);
            }
            orbits.canonical(&mut other, &mut scratch);
            assert_eq!(other, first, "seed {seed}");
        }
    }
}

/// Five rings of four look alike from everywhere: more orders than are tried. What is taken is still alike.
#[test]
fn beyond_the_limit_a_representative_is_still_alike() {
    let text = "type p: scalarset(20); var next: array [p] of p; var k: array [p] of 0..1;\n\
                startstate begin for i: p do next[i] := i; k[i] := 0; end; end;\n\
                ruleset i: p; j: p do rule \"links\" begin next[i] := j; end; end;";
    let model = read(text, false);
    let system = model.interpreter(Vec::new());
    let orbits = Orbits::new(system.shape(), model.symmetry().expect("Murphi"));
    let component = &system.shape().components[0];
    let mut random = oracle::random::Random::new(11);
    let mut points: Vec<u32> = (0..20).collect();
    random.shuffle(&mut points);
    let mut record = vec![0; system.shape().words()];
    for ring in points.chunks(4) {
        for (at, point) in ring.iter().enumerate() {
            component.store(&mut record, *point, i64::from(ring[(at + 1) % 4]));
        }
    }
    let mut scratch = Scratch::default();
    assert!(!orbits.canonical(&mut record, &mut scratch), "there are too many orders");
    for point in 0..20 {
        let mut at = point;
        let lengths = (1..=20).find(|_| {
            at = component.value(&record, at) as u32;
            at == point
        });
        assert_eq!(lengths, Some(4), "it has rings of four");
    }
}

/// Published models at small constants have as many states as orbits, and the same verdicts with symmetry on and off.
#[test]
fn published_models_have_as_many_states_as_orbits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/murphi/models");
    if !folder.is_dir() {
        let test = "published_models_have_as_many_states_as_orbits";
        return skipped(test, "../shared/murphi/models is not there");
    }
    let models = [
        ("mux/n_peterson.m", "N", 3, 172),
        ("mux/mcslock1.m", "N", 3, 0),
        ("sym/list6.m", "CellCount", 3, 129),
        ("sym/list6.m", "CellCount", 4, 0),
        ("sym/cache3.m", "ProcCount", 2, 505),
        ("romp/german.m", "NODE_NUM", 2, 852),
    ];
    for (name, constant, value, known) in models {
        let [plain, joined] = [false, true].map(|symmetry| {
            let constants = vec![(constant.to_owned(), value)];
            let options = ModelOptions { constants, symmetry, ..ModelOptions::default() };
            Model::read(&folder.join(name), &options).unwrap_or_else(|error| panic!("{error}"))
        });
        let Judged { orbits, left, is_symmetric } = orbits(&plain, &[]);
        assert_eq!(left, orbits, "{name}, {constant} = {value}");
        assert!(known == 0 || known == left, "{name}, {constant} = {value}: {left} orbits");
        assert!(is_symmetric, "{name}");
        let questions = Questions::default();
        let expected = verdicts(&plain, &questions, &Chosen::plain(&ram::ENGINE), true);
        assert_eq!(verdicts(&joined, &questions, &Chosen::plain(&ram::ENGINE), true), expected, "{name}");
    }
}

/// Whether something is read that is undefined must not depend on which of several values is asked first.
#[test]
fn faults_in_quantifiers_are_found_with_symmetry() {
    let head = "type p: scalarset(3); var a: array [p] of boolean; x: boolean;\n\
        ruleset i: p do startstate begin undefine a; a[i] := true; x := false; end; end;\n";
    let rules = [
        "rule exists i: p do a[i] end ==> begin x := !x; end;",
        "rule forall i: p do !a[i] end ==> begin x := !x; end;",
        "rule begin x := exists i: p do a[i] end; end;",
        "rule begin x := !x; end; invariant exists i: p do a[i] end;",
        "rule begin x := !x; end; ruleset i: p do invariant !a[i]; end;",
        "function some(): boolean; begin return exists i: p do exists j: p do i != j & a[j] end end; end;\n\
         rule begin x := some(); end;",
        "rule exists i: p do !isundefined(a[i]) & a[i] end ==> begin x := !x; end;",
    ];
    for (number, rule) in rules.iter().enumerate() {
        let told = [false, true].map(|symmetry| {
            let found = verdicts(
                &read(&format!("{head}{rule}"), symmetry),
                &Questions::default(),
                &Chosen::plain(&ram::ENGINE),
                true,
            );
            found.iter().any(|(verdict, _)| *verdict == Verdict::Fault)
        });
        assert_eq!(told, [number < 6; 2], "{rule}");
    }
    let outside = |symmetry| {
        let questions =
            Questions { invariants: vec!["exists i: p do a[i] end".into()], ..Questions::default() };
        let model = read(&format!("{head}rule begin x := !x; end;"), symmetry);
        verdicts(&model, &questions, &Chosen::plain(&ram::ENGINE), true)
            .iter()
            .any(|(verdict, _)| *verdict == Verdict::Fault)
    };
    assert_eq!([false, true].map(outside), [true; 2]);
}

/// With bits for many more states than there are, a hunt meets one state of every orbit, and finds what a search without symmetry finds.
#[test]
fn hunts_with_symmetry_find_what_there_is() {
    let (mut violated, mut held) = (0, 0);
    for seed in 0..24 {
        let text = random_program(seed);
        let [plain, joined] = [false, true].map(|symmetry| read(&text, symmetry));
        if explore(&plain.interpreter(Vec::new()), Limits::states(3_000)).is_err() {
            continue;
        }
        let questions = Questions {
            only: true,
            invariants: vec![random_question(seed), random_question(seed + 1_000)],
            goals: vec![random_question(seed + 2_000)],
            deadlock: Some(DeadlockKind::Stuttering),
            ..Questions::default()
        };
        let exact = questions.clone();
        let plan = Plan::new(&joined, &questions).unwrap_or_else(|error| panic!("{error}"));
        let resources = Resources { data_budget: Some(16 << 20), threads: 1, ..Resources::of_this_machine() };
        let hunted = check_bitstate(&joined, &plan, Stop::Never, &resources, &Clock::new(None))
            .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        let expected = verdicts(&plain, &exact, &Chosen::plain(&ram::ENGINE), true);
        for (answer, (verdict, _)) in hunted.answers.iter().zip(&expected) {
            let found = matches!(answer.verdict, Verdict::Violated | Verdict::Fault);
            let there = matches!(verdict, Verdict::Violated | Verdict::Fault);
            assert_eq!(found, there, "seed {seed}: {:?}, {:?}\n{text}", answer.property.name, answer.verdict);
            assert!(
                found || answer.verdict != Verdict::Holds || answer.trace.is_some(),
                "a hunt proves nothing"
            );
            (violated, held) = (violated + usize::from(there), held + usize::from(!there));
        }
        assert_eq!(hunted.exploration.counts.visits, orbits(&joined, &["m"]).orbits as u64, "seed {seed}");
    }
    eprintln!("{violated} violations found, {held} not there");
    assert!(violated > 10 && held > 10, "{violated}, {held}");
}
