//! Certificates for properties of infinite runs, in the hands of a user: what a run leaves is accepted, and refused as soon as it is of something else, or proves nothing.

mod certificate;
mod command;

use std::path::{Path, PathBuf};

use certificate::Certificate;
use command::{Ran, model, run};
use fathom_check::answers::check::Verdict;
use fathom_check::answers::liveness::{self, LivenessSettings};
use fathom_check::folder::disk_settings::DiskSettings;
use fathom_check::folder::home::Home;
use fathom_check::model::assemble::{Model, ModelOptions, ModelSettings};
use fathom_check::monitor::Clock;
use fathom_check::questions::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom_check::questions::property::Faults;
use fathom_check::resources::Resources;
use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan};
use fathom_disk::set::KeyStream;
use fathom_disk::storage::{FileStorage, Folder, Id, Volume};
use fathom_ltl::automaton::{Automaton, Edge};
use fathom_ltl::word::Lasso as Word;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::{auto, semi_owcty};
use oracle::random::Random;

/// Whoever draws a number goes away, or is served in the end, if all move: strong, and it holds.
const SERVED: &str = "G F P_0.outside || F G (P_0.draw || P_0.look || P_0.compare || P_0.critical)";
/// Nobody is in the critical section with another: weak, and it holds.
const EXCLUSIVE: &str = "G !(P_0.critical && P_1.critical)";

impl Certificate {
    /// Changes the states with their ranks, which are the lowest 32 bits of the keys.
    fn edit_ranks(&self, edit: &dyn Fn(&mut Vec<Vec<u64>>)) {
        let folder = PathBuf::from(self.folder());
        let tag = Home::look_at(&folder).expect("it is there").identity.tag();
        let card = std::fs::read(folder.join("run.json")).expect("it is there");
        let card: serde_json::Value = serde_json::from_slice(&card).expect("it is JSON");
        let id = Id::parse(card["id"].as_str().expect("it has an id")).expect("it is one");
        let passes = Folder::open(&folder.join("passes")).expect("it is there");
        let volume = Volume::new(FileStorage::within(passes, Some(id.mark())));
        let budget = Budget::unlimited();
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
        &["--only", "--ltl", EXCLUSIVE][..],
        &["--only", "--ltl", SERVED],
        &["--only", "--ltl", SERVED, "--fair", "weak"],
        &["--only", "--ltl", SERVED, "--engine", "semi-owcty", "--store", "tier", "--data-budget", "2MiB"],
        &["--only", "--ltl", "G !both", "--atom", "both=P_0.critical and P_1.critical"],
        // The least memory that there is: everything on disk, and no more threads than it suffices for.
        &["--only", "--ltl", EXCLUSIVE, "--data-budget", "4KiB", "--threads", "4"],
        &["--only", "--ltl", SERVED, "--data-budget", "4KiB", "--threads", "2", "--engine", "owcty"],
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
    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    let (model, folder) = (certificate.model().display().to_string(), certificate.folder());
    let again = run(&[
        "check", &model, "--only", "--ltl", SERVED, "--dir", &folder, "--resume", "--json", "-", "--quiet",
    ]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    let json = again.json();
    assert_eq!(json["visits"], json["states"], "no pass was made");
    assert_eq!(json["properties"][0]["certificate"], "closed-set+ranks");
    assert_eq!(certificate.audit().code, Some(0));
}

#[test]
fn another_model_formula_or_policy_is_refused() {
    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    std::fs::copy(model("peterson.dve"), certificate.model()).expect("a file");
    let ran = certificate.audit();
    assert_ne!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);

    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    let text = std::fs::read_to_string(certificate.model()).expect("it is there");
    std::fs::write(certificate.model(), format!("{text}\n// another text\n")).expect("it can be written");
    certificate.assert_refused("the text of the model");

    let certificate = Certificate::new(&["--only", "--ltl", EXCLUSIVE]);
    certificate.edit_card(EXCLUSIVE, "G !(P_1.critical && P_0.critical)");
    let ran = certificate.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);

    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    certificate.edit_card("\"overflow\": \"fault\"", "\"overflow\": \"wrap\"");
    let ran = certificate.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);

    // The certificate of one formula under the name of another.
    let (one, other) =
        (Certificate::new(&["--only", "--ltl", SERVED]), Certificate::new(&["--only", "--ltl", EXCLUSIVE]));
    let card = |certificate: &Certificate| Path::new(&certificate.folder()).join("run.json");
    let read = |path: PathBuf| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path).expect("it is there")).expect("it is JSON")
    };
    let mut mixed = read(card(&one));
    mixed["run"] = read(card(&other))["run"].take();
    std::fs::write(card(&one), mixed.to_string()).expect("it can be written");
    let ran = one.audit();
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    // With its id, too, there are no files of that name.
    std::fs::copy(card(&other), card(&one)).expect("a file");
    let ran = one.audit();
    assert_eq!(ran.code, Some(2), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("there is no search in"), "{}", ran.stderr);
}

#[test]
fn ranks_that_prove_nothing_are_refused() {
    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    // All of the last class as if they had been taken away first.
    certificate.edit_ranks(&|keys| {
        let rank = |key: &[u64]| key[key.len() - 1] & 0xffff_ffff;
        let last = keys.iter().map(|key| rank(key)).max().expect("there are states");
        assert!(last > 0, "there are several classes");
        let lowered = keys.iter_mut().find(|key| rank(key) == last).expect("there is one");
        *lowered.last_mut().expect("a key has a word") -= last;
    });
    certificate.assert_refused("must have");

    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    certificate.edit_ranks(&|keys| {
        keys.remove(keys.len() / 2);
    });
    certificate.assert_refused("not closed");

    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    certificate.edit_ranks(&|keys| keys.truncate(0));
    certificate.assert_refused("not closed");

    let certificate = Certificate::new(&["--only", "--ltl", SERVED]);
    std::fs::remove_dir_all(Path::new(&certificate.folder()).join("passes")).expect("it is there");
    certificate.assert_refused("there are no ranks");
}

#[test]
fn a_violated_property_leaves_no_proof() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let bakery = model("bakery.dve");
    // On the fly, before anything is on disk; and when all states are.
    let hunted = ["check", &bakery, "--only", "--ltl", "G F P_0.critical", "--dir", &folder, "--quiet"];
    assert_eq!(run(&hunted).code, Some(1));
    assert_eq!(run(&["audit", &folder]).code, Some(2), "there is no run");
    let check = [&hunted[..], &["--engine", "semi-owcty"]].concat();
    assert_eq!(run(&check).code, Some(1));
    let ran = run(&["audit", &folder]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stdout.contains("there are no ranks"), "{}", ran.stdout);
}

/// What becomes of a certificate for a formula if the automaton that is searched with is another one. None if a lasso is found that does not violate the formula, which is noticed where it
/// is replayed.
fn with_automaton(formula: &str, automaton: &Automaton) -> Option<(Verdict, Ran)> {
    let place = tempfile::tempdir().expect("a folder");
    let path = PathBuf::from(model("bakery.dve"));
    let options = ModelOptions::default();
    let model = Model::read(&path, &options).expect("it is a model");
    let mut property = property(&model, formula);
    *searched(&mut property) = automaton.clone();
    let settings = LivenessSettings {
        engine: Chosen::plain(&semi_owcty::ENGINE),
        fair: Vec::new(),
        faults: Faults::Stop,
        strong: false,
        generation: Chosen::plain(&auto::ENGINE),
        stack: None,
    };
    let identity =
        settings.identity(&model, &property, &ModelSettings { path, options }).expect("there is a product");
    let folder = place.path().join("run");
    let home = Home::new(&DiskSettings { folder: Some(folder.clone()), ..DiskSettings::default() }, identity);
    home.volume().expect("a folder");
    let resources = Resources { threads: 1, data_budget: Some(64 << 20), ..Resources::of_this_machine() };
    let clock = Clock::new(None);
    let checked = liveness::check(&model, &property, &settings, &resources, &clock, Some(&home));
    let verdict = match checked {
        Ok(checked) => checked.answers[0].verdict,
        Err(error) => {
            assert!(error.to_string().contains("is not a run of the model"), "{error}");
            return None;
        }
    };
    drop(home);
    Some((verdict, run(&["audit", &folder.display().to_string(), "--ram", "128MiB"])))
}

fn property(model: &Model, formula: &str) -> LivenessProperty {
    let questions = LivenessQuestions { formulas: vec![formula.into()], ..LivenessQuestions::default() };
    questions.properties(model).expect("it is a formula").pop().expect("there is one")
}

/// The automaton that the fix-point searches with.
fn searched(property: &mut LivenessProperty) -> &mut Automaton {
    if property.is_weak() { &mut property.searched } else { &mut property.generalised }
}

/// All automata that differ from one in one edge: it is not there, or holds of fewer letters, or carries no mark.
fn mutants(automaton: &Automaton) -> Vec<(String, Automaton)> {
    let mut mutants = Vec::new();
    for (state, edges) in automaton.states.iter().enumerate() {
        for edge in 0..edges.len() {
            let mut add = |what: String, change: &dyn Fn(&mut Vec<Edge>)| {
                let mut mutant = automaton.clone();
                change(&mut mutant.states[state]);
                if mutant != *automaton {
                    mutants.push((format!("edge {edge} of state {state} {what}"), mutant));
                }
            };
            add("deleted".into(), &|edges| drop(edges.remove(edge)));
            add("unmarked".into(), &|edges| edges[edge].marks = 0);
            for atom in 0..automaton.atom_count {
                add(format!("narrowed to where {atom} holds"), &|edges| {
                    let cubes = &mut edges[edge].guard.cubes;
                    cubes.iter_mut().for_each(|cube| cube.positive |= 1 << atom);
                    cubes.retain(|cube| cube.positive & cube.negative == 0);
                });
            }
        }
    }
    mutants
}

/// A word that one automaton accepts and another does not, among many drawn ones.
fn missed(automaton: &Automaton, mutant: &Automaton, random: &mut Random) -> Option<Word> {
    (0..3_000).find_map(|_| {
        let mut letters = |count: usize| -> Vec<u64> {
            let letter = |random: &mut Random| {
                (0..automaton.atom_count)
                    .filter(|_| random.chance(30))
                    .fold(0, |letter, atom| letter | 1 << atom)
            };
            (0..count).map(|_| letter(random)).collect()
        };
        let (stem, cycle) = (letters(3), letters(2));
        let word = Word::new(&stem[..], &cycle[..]).expect("a cycle has a letter");
        (automaton.accepts(&word) && !mutant.accepts(&word)).then_some(word)
    })
}

#[test]
fn an_automaton_that_misses_violations_is_refused() {
    let model = Model::read(&PathBuf::from(model("bakery.dve")), &ModelOptions::default()).expect("a model");
    let violated = "G (P_0.draw -> F P_0.critical)";
    for formula in [SERVED, EXCLUSIVE, violated] {
        let automaton = searched(&mut property(&model, formula)).clone();
        let right = with_automaton(formula, &automaton).expect("nothing was changed");
        let holds = if formula == violated { Verdict::Violated } else { Verdict::Holds };
        assert_eq!(
            (right.0, right.1.code),
            (holds, Some(i32::from(formula == violated))),
            "{}",
            right.1.stdout
        );
        let (mut refused, mut found) = (0, 0);
        for (name, mutant) in mutants(&automaton) {
            // What loses nothing may be accepted, and what finds a violation has nothing to prove.
            let Some(word) = missed(&automaton, &mutant, &mut Random::new(7)) else { continue };
            let Some((verdict, ran)) = with_automaton(formula, &mutant) else { continue };
            if verdict == Verdict::Violated {
                found += 1;
                continue;
            }
            let words = "its automaton misses runs that violate the property";
            assert_eq!(ran.code, Some(1), "{formula}, {name}, which misses {word}: {}", ran.stdout);
            assert!(ran.stdout.contains(words), "{formula}, {name}, which misses {word}: {}", ran.stdout);
            refused += 1;
        }
        eprintln!("{formula}: {refused} refused, {found} find a violation all the same");
        assert!(refused >= 4, "{formula}: there are several that miss something");
    }
}
