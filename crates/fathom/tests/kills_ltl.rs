//! Checks of infinite runs that are killed, whatever they are at: taken up again and again, with other memory and threads, they find what an undisturbed check finds, and leave the same proof.
//!
//! `FATHOM_LONG=1` kills 200 times in place of a few, and until 100 of those were over passes and merges of engines whose values are in files.

mod command;
mod search_folder;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use command::{Ran, fathom, model, run};
use oracle::random::Random;
use serde_json::Value;

/// A question about the bakery for four, and its answer.
struct Question {
    limit: &'static str,
    formula: &'static str,
    fair: bool,
    verdict: &'static str,
}

const QUESTIONS: [Question; 3] = [
    // Five marks, and several rounds.
    Question {
        limit: "LIMIT=2",
        formula: "G (P_0.draw -> F (P_0.outside || P_0.look))",
        fair: true,
        verdict: "holds",
    },
    Question { limit: "LIMIT=1", formula: "G F P_0.outside", fair: true, verdict: "violated" },
    // Weak: one trimming.
    Question {
        limit: "LIMIT=2",
        formula: "G !(P_0.critical && P_1.critical)",
        fair: false,
        verdict: "holds",
    },
];

/// Passes by number, and over files. The last one has no ranks, and counts marks, of which it is spared a question with many.
const ENGINES: [&str; 3] = ["semi-owcty", "owcty", "map"];

/// What every check of a product must find.
fn facts(ran: &Ran) -> [Value; 5] {
    ["states", "transitions", "depth", "layers", "checksum"].map(|field| ran.json()[field].clone())
}

impl Question {
    fn words(&self, engine: &str) -> Vec<String> {
        let model = model("bakery_four.dve");
        let mut words = vec!["check", &model, "--const", self.limit, "--only", "--ltl", self.formula];
        words.extend(["--engine", engine, "--json", "-", "--quiet"]);
        if self.fair {
            words.extend(["--fair", "weak"]);
        }
        words.into_iter().map(str::to_owned).collect()
    }

    fn ask(&self, engine: &str, more: &[&str]) -> std::process::Command {
        let words = self.words(engine);
        let mut command = fathom(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.args(more);
        command
    }

    fn assert_answered(&self, ran: &Ran, expected: &[Value; 5]) {
        let code = if self.verdict == "holds" { 0 } else { 1 };
        assert_eq!(ran.code, Some(code), "{}: {}{}", self.formula, ran.stdout, ran.stderr);
        assert_eq!(ran.json()["properties"][0]["verdict"], self.verdict, "{}", self.formula);
        assert_eq!(facts(ran), *expected, "{}", self.formula);
    }
}

/// What a run had come to when it was killed: by the files of its directory.
#[derive(Debug, Default)]
struct Moments {
    before: u64,
    generating: u64,
    ordering: u64,
    passes: u64,
    between: u64,
}

impl Moments {
    fn note(&mut self, folder: &Path) {
        let there = |place: &str| folder.join(place).exists();
        let manifest = |place: &str| search_folder::manifest(&folder.join(place));
        let committed = manifest("passes").map_or(Vec::new(), |path| std::fs::read(path).unwrap_or_default());
        let names = |name: &str| committed.windows(name.len()).any(|part| part == name.as_bytes());
        *(match () {
            () if names("left-") || names("kept-") || names("carried-") => &mut self.between,
            () if !committed.is_empty() => &mut self.passes,
            () if there("passes") => &mut self.ordering,
            () if manifest("states").is_some() => &mut self.generating,
            () => &mut self.before,
        }) += 1;
    }

    /// Those with passes to go on with.
    fn in_passes(&self) -> u64 {
        self.passes + self.between
    }

    fn sum(&self) -> u64 {
        self.before + self.generating + self.ordering + self.passes + self.between
    }
}

#[test]
fn a_check_that_is_killed_goes_on_and_finds_the_same() {
    let (kills, over_files) = if std::env::var_os("FATHOM_LONG").is_some() { (200, 100) } else { (15, 0) };
    let mut random = Random::new(23);
    let mut moments = Moments::default();
    let mut rounds = 0;
    // Kills between the order of states and the verdict, of engines over files.
    let mut in_passes = 0;
    while moments.sum() < kills || in_passes < over_files || rounds < QUESTIONS.len() * ENGINES.len() {
        let question = &QUESTIONS[rounds % QUESTIONS.len()];
        let engine = ENGINES[rounds / QUESTIONS.len() % ENGINES.len()];
        rounds += 1;
        if engine == "map" && question.fair && question.verdict == "holds" {
            continue;
        }
        let plain = Ran::of(question.ask(engine, &[]).output().expect("it runs"));
        let expected = facts(&plain);
        question.assert_answered(&plain, &expected);
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("run");
        let path = folder.display().to_string();
        // The longest wait grows, so that every run ends however slow the machine is.
        let mut longest = 500;
        let ran = loop {
            let (ram, threads) = (["24MiB", "40MiB", "80MiB"][random.below(3)], ["1", "2"][random.below(2)]);
            let store = ["tier", "auto"][random.below(2)];
            let more = ["--dir", &path, "--commit-every", "1ms", "--ram", ram];
            let mut command = question.ask(engine, &more);
            command.args(search_folder::resume(&path));
            command.args(["--threads", threads]);
            if store == "tier" {
                command.args(["--store", "tier"]);
            }
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
            std::thread::sleep(Duration::from_millis(random.below(longest) as u64));
            longest += longest / 6;
            // A process that has ended cannot be killed any more.
            child.kill().expect("it is ours");
            let output = child.wait_with_output().expect("it ends");
            if output.status.code().is_some() {
                break Ran::of(output);
            }
            let before = moments.in_passes();
            moments.note(&folder);
            in_passes += if engine == "semi-owcty" { 0 } else { moments.in_passes() - before };
        };
        question.assert_answered(&ran, &expected);
        if question.verdict == "holds" && engine != "map" {
            assert_eq!(ran.json()["properties"][0]["certificate"], "closed-set+ranks");
            let audit = run(&["audit", &path]);
            assert_eq!(audit.code, Some(0), "{}{}", audit.stdout, audit.stderr);
        }
    }
    eprintln!("{rounds} checks, killed at {moments:?}; {in_passes} times in passes over files");
    assert!(moments.generating + moments.ordering + moments.passes + moments.between > 0, "{moments:?}");
}
