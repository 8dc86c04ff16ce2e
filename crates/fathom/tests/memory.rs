//! Does the memory of the whole process stay within `--ram`, whatever the model is like: too large to compile, too large to read, wide? And do its loops end?
//!
//! Each run has a memory cgroup of the size of `--ram`, where one can be made: what takes more is killed.

mod command;
mod confines;

use std::path::Path;

use command::{Ran, fathom, model, run};
use confines::{Group, skipped};

/// Runs the binary with so many MiB, in a cgroup of that size, in a folder of its own. Whatever comes of it, it was not killed.
fn run_within(mebibytes: u64, words: &[&str]) -> Ran {
    let place = tempfile::tempdir().expect("a folder");
    let ram = format!("{mebibytes}MiB");
    let group = Group::of_memory(mebibytes << 20);
    let mut command = match &group {
        Some(group) => group.fathom(&[]),
        None => fathom(&[]),
    };
    let output = command.args(words).args(["--ram", &ram]).current_dir(place.path()).output();
    let ran = Ran::of(output.expect("it runs"));
    assert!(ran.code.is_some(), "{words:?} with {ram} was killed: {}{}", ran.stdout, ran.stderr);
    if ran.code == Some(2) {
        assert!(ran.stderr.contains("is too little"), "{words:?} with {ram}: {}", ran.stderr);
        assert!(ran.stderr.contains("needs"), "it says what it needs: {}", ran.stderr);
    }
    ran
}

/// A model of the corpus, where that is there.
fn of_corpus(name: &str) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(name);
    if !path.exists() {
        skipped("tests of memory", &format!("no corpus at ../shared for {name}"));
        return None;
    }
    Some(path.canonicalize().expect("it is there").display().to_string())
}

/// Writes a model.
fn written(folder: &Path, text: &str) -> String {
    let path = folder.join("model.m");
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}

#[test]
fn a_model_too_large_to_compile_is_interpreted_within_its_memory() {
    for name in ["murphi/models/sci/sci.m", "murphi/models/sci/scierr.m"] {
        let Some(path) = of_corpus(name) else { return };
        // Time enough to read it on a busy machine.
        let small = run_within(32, &["check", &path, "--time-limit", "60s"]);
        assert_eq!(small.code, Some(2), "{}", small.stderr);
        let ran = run_within(64, &["check", &path, "--time-limit", "12s"]);
        assert!(matches!(ran.code, Some(0 | 1 | 3)), "{}", ran.stderr);
        assert!(ran.stderr.contains("too large to be compiled within its memory"), "{}", ran.stderr);
    }
}

#[test]
fn too_little_memory_for_any_run_is_told_with_what_a_run_needs() {
    for ram in ["1", "4KiB", "1MiB", "6MiB"] {
        let ran = run(&["explore", &model("peterson.dve"), "--ram", ram]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("before it stores a single state"), "--ram {ram}: {}", ran.stderr);
    }
}

#[test]
fn large_texts_keep_within_their_memory_or_are_refused() {
    let Some(path) = of_corpus("beem/models/plc.4.dve") else { return };
    assert_eq!(run_within(32, &["explore", &path, "--time-limit", "2s"]).code, Some(2));
    let ran = run_within(64, &["explore", &path, "--time-limit", "2s"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let Some(path) = of_corpus("beem/models/firewire_tree.5.dve") else { return };
    for mebibytes in [32, 64] {
        let ran = run_within(mebibytes, &["explore", &path, "--time-limit", "2s"]);
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(!ran.stderr.contains("interpreted"), "its functions are small: {}", ran.stderr);
    }
}

#[test]
fn half_a_million_initial_states_keep_within_their_memory_or_are_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let text = "type N: 0..499999; var x: N;\n\
        ruleset n: N do startstate \"s\" begin x := n; end; end;\n\
        rule \"back\" x > 0 ==> begin x := 0; end;\n";
    let path = written(place.path(), text);
    for mebibytes in [32, 64] {
        assert_eq!(run_within(mebibytes, &["explore", &path]).code, Some(2));
    }
    let ran = run_within(320, &["explore", &path, "--json", "-", "--quiet"]);
    assert_eq!((ran.code, &ran.json()["states"]), (Some(0), &500_000.into()), "{}", ran.stderr);
    let ran = run(&["explore", &path, "--time-limit", "1ms"]);
    assert_eq!(ran.code, Some(3), "reading it takes longer: {}", ran.stderr);
}

#[test]
fn the_steps_of_a_wide_state_are_charged() {
    let place = tempfile::tempdir().expect("a folder");
    let text = "type N: 0..99999; var x: N;\n\
        startstate begin x := 0; end;\n\
        ruleset n: N do rule \"go\" x = 0 ==> begin x := n; end; end;\n";
    let path = written(place.path(), text);
    for engine in ["ram", "tier", "stern-dill"] {
        for jit in [true, false] {
            let mut words =
                vec!["explore", &path, "--engine", engine, "--data-budget", "2MiB", "--json", "-"];
            words.extend((!jit).then_some("--no-jit"));
            let ran = run_within(200, &words);
            assert_eq!(
                (ran.code, &ran.json()["limit"]),
                (Some(3), &"ram".into()),
                "{words:?}: {}",
                ran.stderr
            );
            assert!(ran.stderr.contains("raise --ram"), "{words:?}: {}", ran.stderr);
        }
    }
}

/// A step whose loop would take years.
const LOOPS: [&str; 5] = [
    "for i := 1 to 2000000000000 do y := (y + 1) % 10; end",
    "for i := 2000000000000 to 1 by -1 do y := (y + 1) % 10; end",
    "for i := y to 2000000000000 do y := i % 10; end",
    "while true do y := (y + 1) % 10; end",
    "if forall i: N do i >= y end then y := 1; end",
];

#[test]
fn a_loop_over_its_bound_is_a_fault_with_a_trace_compiled_or_not() {
    let place = tempfile::tempdir().expect("a folder");
    for body in LOOPS {
        let text = format!(
            "type N: 0..2000000000; var x: 0..1; y: 0..10;\n\
            startstate begin x := 0; y := 0; end;\n\
            rule \"loop\" x = 0 ==> begin {body}; x := 1; end;\n"
        );
        let path = written(place.path(), &text);
        for options in [&[][..], &["--no-jit"], &["--max-loop", "50"], &["--max-loop", "50", "--no-jit"]] {
            let mut words = vec!["check", &path, "--time-limit", "30s"];
            words.extend(options);
            let ran = run(&words);
            assert_eq!(ran.code, Some(1), "{body} {options:?}: {}{}", ran.stdout, ran.stderr);
            assert!(ran.stdout.contains("loop over its bound"), "{body} {options:?}: {}", ran.stdout);
        }
    }
}

#[test]
fn a_loop_within_its_bound_is_run_to_its_end() {
    let place = tempfile::tempdir().expect("a folder");
    let text = "var x: 0..5000;\n\
        startstate begin x := 0; end;\n\
        rule \"count\" x = 0 ==> begin for i := 1 to 5000 do x := x + 1; end; end;\n\
        rule \"again\" x = 5000 ==> begin x := 0; for i := 1 to x + 10 do x := x + 1; end; while x > 0 do x := x - 1; end; end;\n";
    let path = written(place.path(), text);
    for jit in [&[][..], &["--no-jit"]] {
        let words = |rounds: &'static str| {
            [&["check", &path, "--max-loop", rounds, "--json", "-", "--quiet"][..], jit].concat()
        };
        let ran = run(&words("5000"));
        assert_eq!((ran.code, &ran.json()["states"]), (Some(0), &2.into()), "{}", ran.stderr);
        assert_eq!(run(&words("4999")).code, Some(1));
    }
}
