//! Do we find what rumur finds? Random Murphi programs, checked by both: the same verdict and, where nothing is wrong, the same numbers of states and of
//! rules fired, interpreted and compiled. Without `rumur` and a C compiler this says so and checks nothing.
//!
//! `FATHOM_RUMUR_CASES` sets how many (60), `FATHOM_RUMUR_SEED` where to begin.

use std::path::Path;
use std::process::Command;

use fathom_check::answers::check::{Stop, Verdict, check};
use fathom_check::answers::possibility;
use fathom_check::model::assemble::{Language, Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::resources::Resources;
use fathom_lang::source::SourceText;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::ram;
use oracle::murphi_source::random_murphi;
use oracle::skip::skipped;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Whether something is wrong, states, and rules fired.
type Told = (bool, u64, u64);

fn rumur(folder: &Path, text: &str) -> Option<Told> {
    let [source, generated, program] = ["m.m", "m.c", "m"].map(|name| folder.join(name));
    std::fs::write(&source, text).expect("the folder is writable");
    let output = Command::new("rumur")
        .args(["--symmetry-reduction", "off", "--threads", "1", "--output"])
        .args([&generated, &source])
        .output()
        .ok()?;
    assert!(output.status.success(), "rumur refuses:\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new("cc")
        .args(["-O0", "-w", "-mcx16", "-pthread", "-o"])
        .args([&program, &generated])
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(&program).output().expect("it was just made");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = told.lines().rev().find(|line| line.contains(" rules fired in ")).expect("it counts");
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Some((!told.contains("No error found"), numbers[0], numbers[1]))
}

fn fathom(text: &str, jit: bool) -> (Told, String) {
    let source = SourceText::new("m.m", text);
    let model = Model::compile(source, Language::Murphi, &ModelOptions::default());
    let model = model.unwrap_or_else(|error| panic!("{error}\n{text}"));
    let plan = Plan::new(&model, &Questions::default()).expect("nothing in particular is asked");
    let resources = Resources { jit, threads: 1, ..Resources::of_this_machine() };
    let clock = Clock::new(None);
    let mut checked =
        check(&model, &plan, &Chosen::plain(&ram::ENGINE), Stop::First, &resources, &clock, None)
            .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let counts = checked.exploration.counts.clone();
    for possibility in &plan.possibilities {
        let next = possibility::check(&model, possibility, &resources, &clock);
        let next = next.unwrap_or_else(|error| panic!("{error}\n{text}"));
        checked = checked.and(next, Stop::First);
    }
    let wrong = checked.verdict() != Verdict::Holds;
    let traces: Vec<_> = checked.answers.iter().filter_map(|answer| answer.trace.as_ref()).collect();
    let states = counts.layers.iter().sum();
    ((wrong, counts.states.unwrap_or(states), counts.edges), format!("{traces:?}"))
}

#[test]
fn random_programs_are_what_rumur_says() {
    if Command::new("rumur").arg("--version").output().is_err()
        || Command::new("cc").arg("--version").output().is_err()
    {
        return skipped("random_programs_are_what_rumur_says", "there is no rumur, or no C compiler");
    }
    let folder = std::env::temp_dir().join(format!("fathom-rumur-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("there is a place for temporary files");
    let (cases, first) = (setting("FATHOM_RUMUR_CASES", 60), setting("FATHOM_RUMUR_SEED", 1));
    let mut wrong = 0;
    for seed in first..first + cases {
        let text = random_murphi(seed);
        let Some(expected) = rumur(&folder, &text) else { return };
        wrong += u64::from(expected.0);
        for jit in [false, true] {
            let (found, traces) = fathom(&text, jit);
            let context = format!(
                "seed {seed}, compiled: {jit}\n{text}\nfound {found:?}, rumur {expected:?}\n{traces}"
            );
            assert_eq!(found.0, expected.0, "verdict of {context}");
            if !expected.0 {
                assert_eq!(found, expected, "counts of {context}");
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    eprintln!("{cases} programs, {wrong} with something wrong");
    assert!(
        cases < 30 || wrong > 0 && wrong < cases,
        "{wrong} of {cases} have something wrong: nothing is told apart"
    );
}
