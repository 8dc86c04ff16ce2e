//! Is a system that somebody hands over checked like any model: with every engine, at the smallest budget, against the judge?

use std::collections::HashSet;

use fathom_check::answers::check::{Answer, Checked, Verdict};
use fathom_check::resources::Resources;
use fathom_check::trace::TraceState;
use fathom_check::trace::value::Value;
use fathom_check::{Check, Given};
use fathom_model::rust::{
    Action, Array, Choice, RustModel, RustSystem, Starts, State, StepsFrom, SystemBuilder,
};
use fathom_search::engines::engine::{Engine, Files};
use fathom_search::engines::{registry, tier};
use oracle::bfs::{self, Limits};

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Idle,
    Waiting,
    Critical,
}

impl Choice for Phase {
    const ALL: &'static [(Phase, &'static str)] =
        &[(Phase::Idle, "idle"), (Phase::Waiting, "waiting"), (Phase::Critical, "critical")];
}

/// Processes that enter one at a time, in any order: who waits may wait for ever.
struct Lock {
    phases: Array<Phase>,
    actions: Vec<[Action; 3]>,
    /// Whether nobody looks whether another one is in.
    broken: bool,
}

impl RustModel for Lock {
    fn initial(&self, starts: &mut Starts<'_>) {
        starts.start(|_| {});
    }

    fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>) {
        let is_free = self.broken || self.phases.iter().all(|phase| state.get(phase) != Phase::Critical);
        for (phase, [wait, enter, leave]) in self.phases.iter().zip(&self.actions) {
            match state.get(phase) {
                Phase::Idle => steps.step(*wait, |next| next.set(phase, Phase::Waiting)),
                Phase::Waiting if is_free => steps.step(*enter, |next| next.set(phase, Phase::Critical)),
                Phase::Waiting => {}
                Phase::Critical => steps.step(*leave, |next| next.set(phase, Phase::Idle)),
            }
        }
    }
}

fn lock(processes: usize) -> RustSystem<Lock> {
    declared_lock(processes, false)
}

/// The same names and states, and more steps.
fn changed_lock(processes: usize) -> RustSystem<Lock> {
    declared_lock(processes, true)
}

fn declared_lock(processes: usize, broken: bool) -> RustSystem<Lock> {
    let mut declared = SystemBuilder::new("lock");
    let phases = declared.choices("phase", processes);
    let mut actions = Vec::new();
    for number in 0..processes {
        let process = declared.process(format!("P{number}"));
        actions.push(["wait", "enter", "leave"].map(|name| declared.action_of(process, name)));
    }
    let count =
        move |state: State<'_>, wanted| phases.iter().filter(|phase| state.get(*phase) == wanted).count();
    declared.label("alone", move |state| count(state, Phase::Critical) <= 1);
    declared.label("crowd", move |state| count(state, Phase::Waiting) == phases.len());
    declared.label("waiting", move |state| state.get(phases.at(0)) == Phase::Waiting);
    declared.label("critical", move |state| state.get(phases.at(0)) == Phase::Critical);
    declared.system(Lock { phases, actions, broken })
}

const PROCESSES: usize = 7;

fn resources(data_budget: u64) -> Resources {
    Resources { data_budget: Some(data_budget), threads: 2, ..Resources::of_this_machine() }
}

fn states(answer: &Answer, system: &RustSystem<Lock>) -> Vec<TraceState> {
    let (trace, subject) = (answer.trace.as_ref().expect("what is violated is shown"), Given(system));
    trace.states(&subject).expect("it can be read").map(|state| state.expect("it is read")).collect()
}

fn verdict(checked: &Checked, name: &str) -> Verdict {
    checked.answers.iter().find(|answer| answer.property.name == name).expect("it was asked").verdict
}

#[test]
fn every_engine_answers_questions_about_states_as_the_judge_does() {
    let system = lock(PROCESSES);
    let judged = bfs::explore(&system, Limits::states(100_000)).unwrap();
    let crowd = judged.first_label(1, true).expect("all can wait");
    // An expression of a model's language cannot be asked of a system that is handed over.
    let is_asked =
        |engine: &&Engine| engine.explores() && engine.options.iter().all(|option| !option.is_expression());
    let engines = registry::ENGINES.into_iter().filter(is_asked);
    // What has no files needs memory for all states.
    let budgets =
        |engine: &Engine| if engine.files == Files::None { vec![16 << 20] } else { vec![64 << 10, 16 << 20] };
    for (engine, budget) in
        engines.flat_map(|engine| budgets(engine).into_iter().map(move |budget| (engine, budget)))
    {
        let about = format!("{} with {budget} bytes", engine.name);
        let check = Check::new(&system).engine(engine).resources(resources(budget));
        let checked = check.invariant("alone").goal("crowd").deadlocks().everything().run().unwrap();
        assert_eq!(verdict(&checked, "alone"), Verdict::Holds, "{about}");
        assert_eq!(verdict(&checked, "deadlock"), Verdict::Holds, "{about}");
        assert_eq!(verdict(&checked, "crowd"), Verdict::Violated, "{about}");
        assert_eq!(checked.exploration.counts.states, Some(judged.states.len() as u64), "{about}");
        assert_eq!(checked.exploration.counts.checksum, Some(judged.checksum().to_string()), "{about}");
        let goal = checked.answers.iter().find(|answer| answer.property.name == "crowd").unwrap();
        let told = states(goal, &system);
        assert_eq!(told.len(), judged.path_to(crowd).len(), "{about}: as short as the judge's");
        told.last()
            .unwrap()
            .state
            .for_each(&mut |_, phase| assert_eq!(phase.to_string(), "waiting", "{about}"));
    }
}

#[test]
fn every_engine_answers_questions_about_infinite_runs() {
    let system = lock(PROCESSES);
    for engine in registry::ENGINES.into_iter().filter(|it| it.answers_runs() && it.is_exact()) {
        let check = || Check::new(&system).engine(engine).resources(resources(4 << 20));
        let starved = check().formula("G (waiting -> F critical)").run().unwrap();
        assert_eq!(starved.answers[0].verdict, Verdict::Violated, "{}", engine.name);
        let (told, trace) =
            (states(&starved.answers[0], &system), starved.answers[0].trace.as_ref().unwrap());
        let cycle = &told[told.len() - trace.cycle_length() as usize..];
        let first = |state: &TraceState| match state.state.parts().unwrap()[0].1 {
            Value::List(phases) => phases[0].to_string(),
            other => panic!("an array of phases: {other}"),
        };
        let phases: HashSet<String> = cycle.iter().map(first).collect();
        assert_eq!(phases, HashSet::from(["waiting".to_owned()]), "{}: it waits for ever", engine.name);
        assert!(cycle.iter().all(|state| state.atoms.as_ref().unwrap() == &["waiting"]));
        let unfair = check().formula("F waiting").run().unwrap();
        let fair = check().formula("F waiting").weakly_fair().run().unwrap();
        let both = (unfair.answers[0].verdict, fair.answers[0].verdict);
        assert_eq!(both, (Verdict::Violated, Verdict::Holds), "{}", engine.name);
    }
}

#[test]
fn what_lasts_is_gone_on_with_under_its_name() {
    let (system, folder) = (lock(PROCESSES), tempfile::tempdir().unwrap());
    let check = |name: &str, processes: &RustSystem<Lock>| {
        Check::new(processes)
            .engine(&tier::ENGINE)
            .resources(resources(1 << 20))
            .invariant("alone")
            .formula("F waiting")
            .weakly_fair()
            .everything()
            .lasting(name, folder.path())
            .run()
    };
    let first = check("a lock", &system).unwrap();
    assert_eq!(first.verdict(), Verdict::Holds);
    let again = check("a lock", &system).unwrap();
    assert_eq!(again.verdict(), Verdict::Holds);
    assert_eq!(again.exploration.counts.states, first.exploration.counts.states);
    let other = check("another lock", &system).unwrap_err().to_string();
    assert!(other.contains("it differs in"), "{other}");
    let larger = check("a lock", &lock(PROCESSES + 1)).unwrap_err().to_string();
    assert!(larger.contains("where variables lie in a state"), "{larger}");
}

#[test]
fn certificates_of_what_lasts_are_audited() {
    let (system, folder) = (lock(PROCESSES), tempfile::tempdir().unwrap());
    let check = |system, budget| {
        Check::new(system)
            .engine(&tier::ENGINE)
            .resources(resources(budget))
            .invariant("alone")
            .formula("F waiting")
            .weakly_fair()
            .everything()
            .lasting("a lock", folder.path())
    };
    assert!(Check::new(&system).invariant("alone").audit().unwrap().is_empty(), "nothing lasts");
    let missing = check(&system, 1 << 20).audit().unwrap_err().to_string();
    assert!(missing.contains("no"), "{missing}");
    assert_eq!(check(&system, 64 << 10).run().unwrap().verdict(), Verdict::Holds);
    let judged = bfs::explore(&system, Limits::states(100_000)).unwrap();
    let audits = check(&system, 64 << 10).audit().unwrap();
    let [states, formula] = &audits[..] else { panic!("both are audited: {audits:?}") };
    let audited = states.verdict.as_ref().expect("it is accepted");
    assert_eq!((audited.states, audited.checksum), (judged.states.len() as u64, judged.checksum()));
    assert_eq!(formula.formula.as_deref(), Some("F waiting"));
    formula.verdict.as_ref().expect("it is accepted");

    // What is another system by now is not proven by what was found out about the one before it.
    let other = changed_lock(PROCESSES);
    let audits = check(&other, 1 << 20).audit().unwrap();
    let refusals: Vec<&String> = audits.iter().filter_map(|audit| audit.verdict.as_ref().err()).collect();
    assert_eq!(refusals.len(), 2, "{audits:?}");
    let asked = check(&system, 1 << 20).deadlocks().audit().unwrap();
    let refusal = asked[0].verdict.as_ref().unwrap_err();
    assert!(refusal.contains("the questions"), "{refusal}");
}

#[test]
fn labels_that_are_not_there_are_told() {
    let system = lock(2);
    let told = |check: Check<'_>| check.run().unwrap_err().to_string();
    let state = told(Check::new(&system).invariant("alonee"));
    assert_eq!(state, "the system has no label called `alonee`; did you mean `alone`?");
    let formula = told(Check::new(&system).formula("G F critcal"));
    assert!(
        formula.contains("no label `critcal`") && formula.contains("did you mean `critical`?"),
        "{formula}"
    );
}
