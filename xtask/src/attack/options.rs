//! What do extreme values do? Every option with every extreme, on every engine: an answer, or a refusal, never an abort.

use std::process::Command;

use super::{Attack, Tally, trial};

/// Options that take a size, a number, a time or a text, with values that somebody may type.
const SIZES: &[&str] = &[
    "0",
    "1",
    "4095",
    "4KiB",
    "16MiB",
    "10TiB",
    "9223372036854775808",
    "18446744073709551615",
    "1e30",
    "-1",
    "",
];
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "33",
    "1024",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "-1",
    "x",
    "",
];
const TIMES: &[&str] = &["0", "0s", "1ms", "1d", "100000000000d", "1e300", "-1s", ""];
const TEXTS: &[&str] = &["", "(", "true", "false", "1/0", "x", "\u{1b}[31m", "\u{202e}", "P_0.critical"];

const OPTIONS: &[(&str, &[&str])] = &[
    ("--ram", SIZES),
    ("--data-budget", SIZES),
    ("--disk-limit", SIZES),
    ("--threads", NUMBERS),
    ("--max-depth", NUMBERS),
    ("--time-limit", TIMES),
    ("--commit-every", TIMES),
    ("--invariant", TEXTS),
    ("--reach", TEXTS),
    ("--constraint", TEXTS),
    ("--deadlock-except", TEXTS),
    ("--ltl", TEXTS),
    ("--const", TEXTS),
    ("--atom", TEXTS),
    ("--property", TEXTS),
    ("--fair", TEXTS),
    ("--random", NUMBERS),
    ("--seed", NUMBERS),
];

/// Beginnings of commands; those that do not know an option refuse it, which is right too.
const COMMANDS: &[&[&str]] = &[
    &["check", "MODEL", "--engine", "auto"],
    &["check", "MODEL", "--engine", "ram"],
    &["check", "MODEL", "--engine", "tier"],
    &["check", "MODEL", "--engine", "stern-dill"],
    &["check", "MODEL", "--engine", "layered"],
    &["check", "MODEL", "--engine", "partition"],
    &["check", "MODEL", "--engine", "positions"],
    &["check", "MODEL", "--engine", "bitstate"],
    &["check", "MODEL", "--only", "--ltl", "G F P_0.critical", "--engine", "auto"],
    &["check", "MODEL", "--only", "--ltl", "G F P_0.critical", "--engine", "ndfs"],
    &["check", "MODEL", "--only", "--ltl", "G F P_0.critical", "--engine", "ndfs", "--store", "tier"],
    &["check", "MODEL", "--only", "--ltl", "G F P_0.critical", "--engine", "semi-owcty"],
    &["check", "MODEL", "--only", "--ltl", "G F P_0.critical", "--engine", "ddfs"],
    &["explore", "MODEL"],
    &["simulate", "MODEL", "--random", "3"],
];

/// Nothing here takes longer.
const LIMIT: &[&str] = &["--time-limit", "10s"];

pub(super) fn run(attack: &mut Attack, tally: &mut Tally) -> anyhow::Result<()> {
    let mut trials: Vec<(&[&str], &str, &str)> = Vec::new();
    for command in COMMANDS {
        for (option, values) in OPTIONS {
            trials.extend(values.iter().map(|value| (*command, *option, *value)));
        }
    }
    attack.random.shuffle(&mut trials);
    let model = attack.model("peterson.dve");
    for (number, (command, option, value)) in trials.into_iter().enumerate() {
        if number >= LEAST_TRIES && !attack.has_time() {
            break;
        }
        let place = tempfile::tempdir()?;
        let mut words: Vec<&str> =
            command.iter().map(|word| if *word == "MODEL" { &*model } else { word }).collect();
        if option != "--time-limit" {
            words.extend(LIMIT);
        }
        words.extend([option, value]);
        let ran = trial::run(Command::new(&attack.binary).args(&words), place.path())?;
        tally.count(format!("{words:?}"), ran.behaves());
    }
    Ok(())
}

/// Trials that are made whatever the time.
const LEAST_TRIES: usize = 150;
