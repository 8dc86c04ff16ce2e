//! What users see of the engine that compares with recent layers: traces are those of other engines, to the byte; states are counted, or not; a depth that is assumed is told.

mod command;

use std::path::{Path, PathBuf};

use serde_json::Value;

use command::{Ran, fathom, model, run};

/// What is violated or reached in models of at most so many states, as they say themselves: model and options.
fn goals(states_max: u64) -> Vec<(PathBuf, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut models: Vec<PathBuf> = folder
        .read_dir()
        .expect("there are models")
        .map(|file| file.expect("it can be read").path())
        .collect();
    models.sort();
    let mut goals = Vec::new();
    for model in models.into_iter().filter(|path| path.extension().is_some_and(|it| it == "dve")) {
        let text = std::fs::read_to_string(&model).expect("a model is text");
        let states = text.lines().find_map(|line| line.strip_prefix("// states: "));
        let small = states
            .and_then(|states| states.trim().parse().ok())
            .is_some_and(|states: u64| states <= states_max);
        if !small || text.contains("// overflow: wrap") {
            continue;
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("// property: ")) {
            let Some((_, claim)) = line.split_once(": ") else { continue };
            let Some((asked, answer)) = claim.rsplit_once(" => ") else { continue };
            let found = answer.starts_with("reachable") || answer.starts_with("violated");
            let option = match asked.split_once(' ') {
                Some(("reach", goal)) if found => vec!["--reach".to_owned(), goal.to_owned()],
                Some(("invariant", it)) if found => vec!["--invariant".to_owned(), it.to_owned()],
                None if asked == "deadlock" && found => vec!["--deadlock".to_owned()],
                _ => continue,
            };
            goals.push((model.clone(), option));
        }
    }
    goals
}

/// The trace that is written, with some options.
fn trace(model: &Path, goal: &[String], folder: &Path, options: &[&str]) -> String {
    let file = folder.join("trace.txt");
    let mut command = fathom(&["check"]);
    command.current_dir(folder).arg(model).arg("--only").args(goal).args(options).arg("--trace").arg(&file);
    let output = command.output().expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{command:?}: {error} {told}"))
}

#[test]
fn traces_are_those_of_a_search_that_keeps_everything() {
    let folder = tempfile::tempdir().expect("there is room");
    let all = goals(20_000);
    assert!(all.len() >= 50, "{} goals are few", all.len());
    // A search in a folder waits for the device; with `FATHOM_LONG=1` all goals are tried.
    let step = if std::env::var_os("FATHOM_LONG").is_some() { 1 } else { 7 };
    for (number, (model, goal)) in all.iter().enumerate().step_by(step) {
        let budget = ["--data-budget=256KiB", "--data-budget=4MiB"][usize::from(model.ends_with("fan.dve"))];
        let threads = ["-j1", "-j2"][number % 2];
        let exact = trace(model, goal, folder.path(), &["--engine=tier", "--no-trace", budget, threads]);
        let lean = ["--engine=layered", "-Elayers=2", "--no-trace", budget, threads];
        // Layers stay for the count, or are gone: then the way is searched for again.
        let count = if number % 2 == 0 { &["--no-count", "-Edrop=yes"][..] } else { &[] };
        assert_eq!(
            trace(model, goal, folder.path(), &[&lean[..], count].concat()),
            exact,
            "{}",
            model.display()
        );
    }
}

fn report(arguments: &[&str]) -> (Option<i32>, Value) {
    let folder = tempfile::tempdir().expect("there is room");
    let mut command = fathom(&[arguments, &["--json", "-", "-q"]].concat());
    let ran = Ran::of(command.current_dir(folder.path()).output().expect("the binary runs"));
    (ran.code, ran.json())
}

#[test]
fn states_are_counted_unless_nobody_wants_to_know() {
    let graph = model("torus.dve");
    let engine = ["explore", &graph, "--engine", "layered", "-Elayers=0", "-Eram-image=off", "-j1"];
    let (_, counted) = report(&engine);
    let (_, exact) = report(&["explore", &graph, "--engine", "tier"]);
    for key in ["states", "transitions", "depth", "deadlocks", "layers", "checksum"] {
        assert_eq!(counted[key], exact[key], "{key}");
    }
    let visits = |report: &Value| report["visits"].as_u64().expect("they are counted");
    assert!(visits(&counted) > visits(&exact), "some states are visited twice");
    assert_eq!(
        counted["duplicates"]["missed"].as_u64(),
        Some(visits(&counted) - visits(&exact)),
        "and it is told how many"
    );
    let (code, uncounted) = report(&[&engine[..], &["--no-count"]].concat());
    assert_eq!((code, visits(&uncounted)), (Some(0), visits(&counted)));
    assert!(uncounted["states"].is_null() && uncounted["checksum"].is_null());
}

#[test]
fn what_holds_up_to_a_depth_that_is_assumed_holds_on_that_assumption() {
    let frogs = model("frogs.dve");
    let goal = "pad[0] == 2 and pad[1] == 2 and pad[2] == 2 and pad[3] == 2";
    let ask = |option: &str, depth: &str, engine: &str| {
        report(&[
            "check",
            &frogs,
            "--only",
            "--invariant",
            &format!("not ({goal})"),
            option,
            depth,
            "--engine",
            engine,
        ])
    };
    for engine in ["layered", "tier", "ram"] {
        let (code, unknown) = ask("--max-depth", "10", engine);
        assert_eq!((code, unknown["verdict"].as_str()), (Some(3), Some("unknown")), "{engine}");
        let (code, assumed) = ask("--assume-depth", "10", engine);
        assert_eq!((code, assumed["verdict"].as_str()), (Some(0), Some("holds")), "{engine}");
        let assumptions = assumed["assumptions"].as_array().expect("they are told");
        assert_eq!(assumptions, &["no state is more than 10 steps deep (--assume-depth)"], "{engine}");
        assert!(assumed["states"].is_null(), "nobody has seen all states");
        // Where all states were seen nothing is assumed, and a violation within the depth is one.
        let (code, violated) = ask("--assume-depth", "30", engine);
        assert_eq!((code, violated["verdict"].as_str()), (Some(1), Some("violated")), "{engine}");
        let (_, seen) = report(&[
            "check",
            &frogs,
            "--only",
            "--invariant",
            "free <= 8",
            "--assume-depth",
            "30",
            "--engine",
            engine,
        ]);
        assert_eq!(seen["assumptions"].as_array().map(Vec::len), Some(0), "{engine}");
        assert_eq!(seen["states"], 195, "{engine}");
    }
}

#[test]
fn a_window_is_a_number_or_follows_by_itself() {
    let ran = run(&["explore", &model("frogs.dve"), "--engine", "layered", "-E", "layers=some"]);
    assert_eq!(ran.code, Some(2));
    let told = "the option layers of the engine layered is a number or a word, N|auto, not \"some\"";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
}
