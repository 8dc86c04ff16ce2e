//! Every option at its extremes, with every engine: an exit code, and neither a panic nor an abort.
//!
//! The options are those that the parser knows. One whose values are neither numbers nor listed below makes the test fail, so that a new option says what its extremes are.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::{Arg, CommandFactory};
use fathom::arguments::raw::Arguments;
use fathom_search::engines::registry;

use crate::command::{Ran, fathom, model, run};
use crate::confines::{Group, skipped};

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1000000000000000000000000000000",
    "-1",
    "",
    "1.5",
    "nan",
];
const COUNTS: &[&str] = &["1024", "4096"];
const SIZES: &[&str] = &["4096", "64k", "10TiB", "8388607TiB", "16777215TiB", "0.5T", "1e30"];
const TIMES: &[&str] = &[
    "0s",
    "1ns",
    "1ms",
    "18446744073709551615ms",
    "18446744073709551s",
    "9223372036854775807ms",
    "1e30s",
    "213503982334d",
];

const OPTIONS: &[&str] = &[
    "",
    "=",
    "plan",
    "plan=",
    "=scan",
    "plan=scan",
    "plan=scan=scan",
    "measure=1",
    "measure=((((",
    "\u{1b}[2J=\u{202e}",
];

/// What an option may be given, by the word for its value.
fn extremes(argument: &Arg) -> Option<Vec<String>> {
    let listed: Vec<String> =
        argument.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    if !listed.is_empty() {
        return Some(listed);
    }
    let word = argument.get_value_names().map_or("", |names| names[0].as_str());
    if word == "KEY=VALUE" {
        return Some(OPTIONS.iter().map(|value| (*value).to_owned()).collect());
    }
    let more = match word {
        "N" | "S" | "D" => COUNTS,
        "SIZE" => SIZES,
        "T" => TIMES,
        // Text of some kind: the suites of formulas, models and files are about these.
        "E" | "F" | "NAME" | "FILE" | "FILE|-" | "DIR" | "NAME=E" | "NAME=V" | "MEASURE" | "MODEL"
        | "weak|strong[=P,Q]" => {
            return Some(Vec::new());
        }
        _ => return None,
    };
    Some(NUMBERS.iter().chain(more).map(|value| (*value).to_owned()).collect())
}

/// Words for a command that is over soon, without the option that is tried.
fn command_words(name: &str, tried: &str) -> Vec<String> {
    let peterson = model("peterson.dve");
    let words: &[(&str, &str)] = match name {
        "check" => &[("--ram", "64MiB"), ("--deadlock", "")],
        "explore" => &[("--ram", "64MiB")],
        "simulate" => &[("--random", "3"), ("--time-limit", "300ms"), ("--ram", "64MiB")],
        "translate" => return vec!["translate".into(), "G F a".into()],
        "audit" => return vec!["audit".into(), "/nowhere".into()],
        _ => return vec![name.into()],
    };
    // The data budget is a part of --ram; alone it is a part of what the machine has.
    let given = |option: &&(&str, &str)| option.0 != tried && (tried, option.0) != ("--data-budget", "--ram");
    let words = words.iter().filter(given).flat_map(|(option, value)| [*option, *value]);
    [name, &peterson].into_iter().chain(words).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn assert_ends_well(words: &[String], folder: &Path) -> Ran {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = Ran::of(fathom(&words).current_dir(folder).output().unwrap());
    assert!(matches!(ran.code, Some(0..=3)), "{words:?} ends with {:?}: {}", ran.code, ran.stderr);
    assert!(!ran.stderr.contains("panicked"), "{words:?}: {}", ran.stderr);
    ran
}

#[test]
fn every_option_of_every_command_takes_its_extremes() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for command in Arguments::command().get_subcommands() {
        for argument in command.get_arguments().filter(|argument| argument.get_action().takes_values()) {
            let Some(long) = argument.get_long() else { continue };
            let option = format!("--{long}");
            let values = extremes(argument)
                .unwrap_or_else(|| panic!("{option} of {} says nothing of its extremes", command.get_name()));
            for value in values {
                let mut words = command_words(command.get_name(), &option);
                words.push(format!("{option}={value}"));
                assert_ends_well(&words, folder.path());
                tried += 1;
            }
        }
    }
    assert!(tried > 200, "{tried} values were tried");
}

#[test]
fn every_engine_takes_extreme_resources() {
    let folder = tempfile::tempdir().unwrap();
    // All that the registry lists, with a value for every option that an engine cannot do without, and with every store.
    let mut engines: Vec<Vec<&str>> = Vec::new();
    for engine in registry::ENGINES {
        let mut words = vec!["--engine", engine.name];
        for option in engine.options.iter().filter(|option| option.required) {
            assert_eq!(option.key, "measure", "what a new option is given is said here");
            words.extend(["-E", "measure=1"]);
        }
        if engine.answers_states() {
            engines.push([&words[..], &["--deadlock"]].concat());
        }
        if engine.answers_runs() {
            let words = [&words[..], &["--only", "--ltl", "G F P_0.idle"]].concat();
            let stores = engine.stores.iter().map(|store| [&words[..], &["--store", store.name()]].concat());
            engines.extend(stores);
            engines.push(words);
        }
    }
    let resources: [(&str, &[&str]); 7] = [
        ("--ram", &["0", "1", "20MiB", "10TiB", "9223372036854775808", "18446744073709551615"]),
        ("--data-budget", &["0", "1", "4096", "10TiB", "9223372036854775808", "18446744073709551615"]),
        ("--threads", &["1", "3", "1024"]),
        ("--time-limit", &["0", "1ms", "18446744073709551615ms"]),
        ("--max-depth", &["0", "1", "18446744073709551615"]),
        ("--disk-limit", &["0", "1", "18446744073709551615"]),
        ("--commit-every", &["0", "18446744073709551615ms"]),
    ];
    for engine in engines {
        for (option, values) in resources {
            for value in values {
                let mut words = command_words("check", option);
                words.retain(|word| word != "--deadlock");
                words.extend(engine.iter().map(|word| (*word).to_owned()));
                words.extend([option.to_owned(), (*value).to_owned()]);
                assert_ends_well(&words, folder.path());
            }
        }
    }
}

#[test]
fn random_walks_take_extreme_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for walks in ["0", "1", "18446744073709551615"] {
        for seed in ["0", "18446744073709551615"] {
            for depth in ["0", "18446744073709551615"] {
                let mut words: Vec<String> = vec!["simulate".into(), model("peterson.dve")];
                let more = ["--random", walks, "--seed", seed, "--max-depth", depth, "--time-limit", "100ms"];
                words.extend(more.map(str::to_owned));
                // Whoever makes all walks that were asked for has cut nothing.
                let most = "18446744073709551615";
                let cut = walks == most || walks != "0" && depth == most;
                let code = if cut { Some(3) } else { Some(0) };
                assert_eq!(assert_ends_well(&words, folder.path()).code, code, "{words:?}");
            }
        }
    }
}

#[test]
fn more_memory_than_there_is_is_refused_in_plain_words() {
    for (option, size) in [("--ram", "10TiB"), ("--data-budget", "9223372036854775808")] {
        let ran = run(&["check", &model("peterson.dve"), option, size]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("this machine has"), "{}", ran.stderr);
    }
    let ran = run(&["check", &model("peterson.dve"), "--ram", "64MiB", "--data-budget", "65MiB"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("which it is a part of"), "{}", ran.stderr);
}

#[test]
fn threads_that_the_system_refuses_are_an_error_and_no_panic() {
    let Some(group) = Group::of_threads(6) else {
        let test = "threads_that_the_system_refuses_are_an_error_and_no_panic";
        return skipped(test, "no cgroup can be made here");
    };
    for engine in ["ram", "positions", "tier", "stern-dill", "auto"] {
        let folder = tempfile::tempdir().unwrap();
        let path = model("peterson.dve");
        let words = ["check", &path, "--deadlock", "--engine", engine, "--ram", "200MiB", "--threads", "24"];
        let output = group.fathom(&words).current_dir(folder.path()).output().unwrap();
        let ran = Ran::of(output);
        assert!(matches!(ran.code, Some(0..=3)), "{engine}: {:?}: {}", ran.code, ran.stderr);
        assert!(!ran.stderr.contains("panicked"), "{engine}: {}", ran.stderr);
    }
}

#[test]
fn a_path_that_is_no_text_is_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(OsStr::from_bytes(b"odd\xff.dve"));
    std::fs::copy(model("peterson.dve"), &path).unwrap();
    let place = folder.path().join("run");
    let with = |words: &[&str]| {
        let output = fathom(words).arg(&path).current_dir(folder.path()).output().unwrap();
        Ran::of(output)
    };
    let kept = place.display().to_string();
    for words in [
        &["check", "--deadlock", "--json", "-"][..],
        &["explore", "--dir", &kept],
        &["simulate", "--random", "2"],
    ] {
        let ran = with(words);
        assert!(matches!(ran.code, Some(0 | 3)), "{words:?}: {:?}: {}", ran.code, ran.stderr);
    }
    let audited = run(&["audit", &kept]);
    assert_eq!(audited.code, Some(0), "it finds the model again: {}", audited.stderr);
    let odd = folder.path().join(OsStr::from_bytes(b"bulk\xff"));
    let mut command = fathom(&["explore", &model("peterson.dve"), "--engine", "tier", "--dir-bulk"]);
    let ran = Ran::of(command.arg(&odd).current_dir(folder.path()).output().unwrap());
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}
