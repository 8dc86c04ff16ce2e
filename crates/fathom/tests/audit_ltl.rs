//! Certificates for properties of infinite runs, in the hands of a user: what a run leaves is accepted, and refused as soon as it is of something else, or proves nothing.

mod command;

use std::path::{Path, PathBuf};

use command::{Ran, model, run};
use fathom::assemble::{Model, ModelOptions};
use fathom::check::Verdict;
use fathom::home::Home;
use fathom::layer_engine::LayerEngine;
use fathom::liveness::{self, LivenessEngine, LivenessSettings};
use fathom::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom::observer::Watcher;
use fathom::property::Faults;
use fathom::settings::{DiskSettings, ModelSettings, Resources};
use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan};
use fathom_disk::set::KeyStream;
use fathom_disk::storage::{FileStorage, Volume};
use fathom_ltl::automaton::Automaton;
use fathom_search::engines::tier::Plan;

/// Whoever draws a number goes away, or is served in the end, if all move: strong, and it holds.
const SERVED: &str = "G F P_0.outside || F G (P_0.draw || P_0.look || P_0.compare || P_0.critical)";
/// Nobody is in the critical section with another: weak, and it holds.
const EXCLUSIVE: &str = "G !(P_0.critical && P_1.critical)";

/// A certificate for a formula about a model, and the text it is about.
struct Certificate {
    place: tempfile::TempDir,
}

impl Certificate {
    fn new(more: &[&str]) -> Certificate {
        let certificate = Certificate { place: tempfile::tempdir().expect("a folder") };
        std::fs::copy(model("bakery.dve"), certificate.model()).expect("a file");
        let (model, folder) = (certificate.model().display().to_string(), certificate.folder());
        let mut words = vec!["check", &model, "--dir", &folder, "--certify", "--quiet"];
        words.extend(more);
        let ran = run(&words);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        certificate
    }

    fn model(&self) -> PathBuf {
        self.place.path().join("model.dve")
    }

    fn folder(&self) -> String {
        self.place.path().join("run").display().to_string()
    }

    fn audit(&self) -> Ran {
        run(&["audit", &self.folder()])
    }

    fn assert_refused(&self, part: &str) {
        let ran = self.audit();
        assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.contains("refused") && ran.stdout.contains(part), "{}", ran.stdout);
    }

    fn edit_card(&self, old: &str, new: &str) {
        let path = Path::new(&self.folder()).join("run.json");
        let text = std::fs::read_to_string(&path).expect("it is there");
        assert!(text.contains(old), "{text}");
        std::fs::write(path, text.replace(old, new)).expect("it can be written");
    }

    /// Changes the states with their ranks, which are the lowest 32 bits of the keys.
    fn edit_ranks(&self, edit: &dyn Fn(&mut Vec<Vec<u64>>)) {
        let folder = PathBuf::from(self.folder());
        let (_, identity) = Home::look_at(&folder).expect("it is there");
        let volume = Volume::new(FileStorage::auto(&folder.join("passes")).expect("it is there"));
        let (budget, tag) = (Budget::unlimited(), identity.tag());
        let mut directory = RunDirectory::open(&volume, tag).expect("it is whole");
        let cursor = directory.committed().expect("there are ranks").cursor.clone();
        let width = (33..200)
            .filter_map(KeyWidth::new)
            .find(|width| Run::open(&volume, &budget, "ranks", *width, tag).is_ok());
        let width = width.expect("one of them fits");
        let mut keys = Vec::new();
        {
            let run = Run::open(&volume, &budget, "ranks", width, tag).expect("it is whole");
            let mut scan = Scan::new(&run, &budget, 1 << 16).expect("it is whole");
            while scan.advance().expect("it is whole") {
                keys.extend(scan.keys().chunks_exact(width.words()).map(<[u64]>::to_vec));
            }
        }
        edit(&mut keys);
        directory.commit(&cursor, &[]).expect("the disk does not fail");
        let config = RunConfig::live(width, tag);
        let mut writer = RunWriter::new(&volume, &budget, "ranks", &config).expect("the disk does not fail");
        keys.iter().for_each(|key| writer.push(key).expect("the keys ascend"));
        writer.finish(true).expect("the disk does not fail");
        let ranks = Named { name: "ranks".into(), grows: false, note: Vec::new() };
        directory.commit(&cursor, &[ranks]).expect("the disk does not fail");
    }
}

#[test]
fn what_a_check_leaves_is_accepted_and_says_what_was_checked() {
    for more in [
        &["--ltl", EXCLUSIVE][..],
        &["--ltl", SERVED],
        &["--ltl", SERVED, "--fair", "weak"],
        &["--ltl", SERVED, "--engine", "semi-owcty", "--store", "tier", "--data-budget", "2MiB"],
        &["--ltl", "G !both", "--atom", "both=P_0.critical and P_1.critical"],
    ] {
        let certificate = Certificate::new(more);
        let ran = certificate.audit();
        assert_eq!(ran.code, Some(0), "{more:?}: {}{}", ran.stdout, ran.stderr);
        for part in ["accepted", "no run of the product is accepting", "accepts every run that violates it"] {
            assert!(ran.stdout.contains(part), "{part}: {}", ran.stdout);
        }
        let json = run(&["audit", &certificate.folder(), "--json", "-", "--quiet"]).json();
        assert_eq!((&json["accepted"], &json["automaton"]), (&true.into(), &"includes".into()));
    }
}

#[test]
fn a_run_that_has_come_to_its_end_is_not_made_again() {
    let certificate = Certificate::new(&["--ltl", SERVED]);
    let (model, folder) = (certificate.model().display().to_string(), certificate.folder());
    let again =
        run(&["check", &model, "--ltl", SERVED, "--dir", &folder, "--resume", "--json", "-", "--quiet"]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    let json = again.json();
    assert_eq!(json["visits"], json["states"], "no pass was made");
    assert_eq!(json["properties"][0]["certificate"], "closed-set+ranks");
    assert_eq!(certificate.audit().code, Some(0));
}

#[test]
fn another_model_formula_or_policy_is_refused() {
    let certificate = Certificate::new(&["--ltl", SERVED]);
    std::fs::copy(model("peterson.dve"), certificate.model()).expect("a file");
    let ran = certificate.audit();
    assert_ne!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);

    let certificate = Certificate::new(&["--ltl", SERVED]);
    let text = std::fs::read_to_string(certificate.model()).expect("it is there");
    std::fs::write(certificate.model(), format!("{text}\n// another text\n")).expect("it can be written");
    certificate.assert_refused("the text of the model");

    let certificate = Certificate::new(&["--ltl", EXCLUSIVE]);
    certificate.edit_card(EXCLUSIVE, "G !(P_1.critical && P_0.critical)");
    let ran = certificate.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);

    let certificate = Certificate::new(&["--ltl", SERVED]);
    certificate.edit_card("\"overflow\": \"fault\"", "\"overflow\": \"wrap\"");
    let ran = certificate.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);

    // The certificate of one formula under the name of another.
    let (one, other) = (Certificate::new(&["--ltl", SERVED]), Certificate::new(&["--ltl", EXCLUSIVE]));
    let card = |certificate: &Certificate| Path::new(&certificate.folder()).join("run.json");
    std::fs::copy(card(&other), card(&one)).expect("a file");
    let ran = one.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn ranks_that_prove_nothing_are_refused() {
    let certificate = Certificate::new(&["--ltl", SERVED]);
    // All of the last class as if they had been taken away first.
    certificate.edit_ranks(&|keys| {
        let rank = |key: &[u64]| key[key.len() - 1] & 0xffff_ffff;
        let last = keys.iter().map(|key| rank(key)).max().expect("there are states");
        assert!(last > 0, "there are several classes");
        let lowered = keys.iter_mut().find(|key| rank(key) == last).expect("there is one");
        *lowered.last_mut().expect("a key has a word") -= last;
    });
    certificate.assert_refused("must have");

    let certificate = Certificate::new(&["--ltl", SERVED]);
    certificate.edit_ranks(&|keys| {
        keys.remove(keys.len() / 2);
    });
    certificate.assert_refused("not closed");

    let certificate = Certificate::new(&["--ltl", SERVED]);
    certificate.edit_ranks(&|keys| keys.truncate(0));
    certificate.assert_refused("not closed");

    let certificate = Certificate::new(&["--ltl", SERVED]);
    std::fs::remove_dir_all(Path::new(&certificate.folder()).join("passes")).expect("it is there");
    certificate.assert_refused("there are no ranks");
}

#[test]
fn a_violated_property_leaves_no_proof() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let bakery = model("bakery.dve");
    // On the fly, before anything is on disk; and when all states are.
    let hunted = ["check", &bakery, "--ltl", "G F P_0.critical", "--dir", &folder, "--quiet"];
    assert_eq!(run(&hunted).code, Some(1));
    assert_eq!(run(&["audit", &folder]).code, Some(2), "there is no run");
    let check = [&hunted[..], &["--engine", "semi-owcty"]].concat();
    assert_eq!(run(&check).code, Some(1));
    let ran = run(&["audit", &folder]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("there are no ranks"), "{}", ran.stdout);
}

/// What becomes of a certificate for a formula if the automaton that is searched with is another one.
fn with_automaton(formula: &str, change: &dyn Fn(&mut Automaton) -> bool) -> Option<(Verdict, Ran)> {
    let place = tempfile::tempdir().expect("a folder");
    let path = PathBuf::from(model("bakery.dve"));
    let options = ModelOptions::default();
    let model = Model::read(&path, &options).expect("it is a model");
    let questions = LivenessQuestions { formulas: vec![formula.into()], ..LivenessQuestions::default() };
    let mut property: LivenessProperty =
        questions.properties(&model).expect("it is a formula").pop().expect("there is one");
    let (searched, generalised) = (&mut property.searched, &mut property.generalised);
    if !(change(searched) & change(generalised)) {
        return None;
    }
    let settings = LivenessSettings {
        engine: LivenessEngine::SemiOwcty,
        fair: Vec::new(),
        faults: Faults::Stop,
        generation: LayerEngine::Auto(Plan::LookUp),
        stack: None,
    };
    let identity =
        settings.identity(&model, &property, &ModelSettings { path, options }).expect("there is a product");
    let folder = place.path().join("run");
    let home = Home::new(&DiskSettings { folder: Some(folder.clone()), ..DiskSettings::default() }, identity);
    home.volume().expect("a folder");
    let resources = Resources { threads: 1, ..Resources::of_this_machine() };
    let watcher = Watcher::silent(None);
    let checked = liveness::check(&model, &property, &settings, &resources, &watcher, Some(&home));
    let verdict = match checked {
        Ok(checked) => checked.answers[0].verdict,
        // A lasso that does not violate the formula is noticed where it is replayed.
        Err(error) => {
            assert!(error.to_string().contains("is not a run of the model"), "{error}");
            return None;
        }
    };
    drop(home);
    Some((verdict, run(&["audit", &folder.display().to_string()])))
}

#[test]
fn an_automaton_that_misses_violations_is_refused() {
    let violated = "G (P_0.draw -> F P_0.critical)";
    for formula in [SERVED, EXCLUSIVE, violated] {
        let right = with_automaton(formula, &|_| true).expect("nothing was changed");
        let holds = if formula == violated { Verdict::Violated } else { Verdict::Holds };
        assert_eq!(right.0, holds);
        assert_eq!(
            right.1.code,
            Some(i32::from(formula == violated)),
            "{}{}",
            right.1.stdout,
            right.1.stderr
        );
        let mut refused = 0;
        for state in 0..4 {
            let deleted = move |automaton: &mut Automaton| {
                automaton.states.get_mut(state).is_some_and(|edges| edges.pop().is_some())
            };
            let narrowed = move |automaton: &mut Automaton| {
                let edge = automaton.states.get_mut(state).and_then(|edges| edges.first_mut());
                edge.is_some_and(|edge| {
                    edge.guard.cubes.iter_mut().for_each(|cube| cube.positive |= 1);
                    edge.guard.cubes.retain(|cube| cube.positive & cube.negative == 0);
                    true
                })
            };
            let unmarked = move |automaton: &mut Automaton| {
                let marked = |edge: &fathom_ltl::automaton::Edge| edge.marks != 0;
                automaton.states.get_mut(state).is_some_and(|edges| {
                    let any = edges.iter().any(marked);
                    edges.iter_mut().for_each(|edge| edge.marks = 0);
                    any
                })
            };
            let changes: [&dyn Fn(&mut Automaton) -> bool; 3] = [&deleted, &narrowed, &unmarked];
            for change in changes {
                // Where a violation is found all the same there is nothing to prove.
                let Some((Verdict::Holds, ran)) = with_automaton(formula, change) else { continue };
                // A change that makes no difference to the language is accepted, and rightly so.
                if ran.code == Some(1) {
                    // One that is not weak any more is noticed before that.
                    let reasons = ["misses runs that violate", "an automaton of another strength"];
                    assert!(reasons.iter().any(|reason| ran.stdout.contains(reason)), "{}", ran.stdout);
                    refused += 1;
                }
                assert!(ran.code != Some(0) || formula != violated, "{}", ran.stdout);
            }
        }
        assert!(refused > 0, "{formula}: some changes matter");
    }
}
