//! Does the whole process stay within `--ram`? Each trial runs in a memory cgroup of that size: what takes more is killed by the system, and that is a failure.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Attack, Tally, trial};

/// A memory cgroup of either version, removed when it is dropped.
struct Group(PathBuf);

impl Group {
    fn new(bytes: u64) -> Option<Group> {
        let name = format!("fathom-attack-{}", std::process::id());
        let versions = [("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")];
        versions.into_iter().find_map(|(root, file)| {
            let folder = Path::new(root).join(&name);
            fs::create_dir(&folder).ok()?;
            let group = Group(folder);
            fs::write(group.0.join(file), bytes.to_string()).ok()?;
            Some(group)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A thing that might take more memory than it was given.
struct Temptation {
    name: &'static str,
    /// A model of its own, or the name of one of ours.
    model: (&'static str, &'static str),
    words: &'static [&'static str],
}

/// A path of a million steps.
const LONG: &str = "int low = 0, high = 0;
process P {
state run, stop;
init run;
trans
  run -> run { guard low < 999; effect low = low + 1; },
  run -> run { guard low == 999 && high < 999; effect low = 0, high = high + 1; },
  run -> stop { guard low == 999 && high == 999; };
}
system async;
";

/// A state with half a million successors.
const FAN: &str = "var x: 0..500000;
startstate begin x := 0; end;
ruleset i: 1..500000 do rule x = 0 ==> begin x := i; end; end;
";

/// Half a million initial states.
const STARTS: &str = "var x: 0..500000;
ruleset i: 0..499999 do startstate begin x := i; end; end;
rule x < 500000 ==> begin x := x + 1; end;
";

const TEMPTATIONS: &[Temptation] = &[
    Temptation {
        name: "a trace of a million steps",
        model: ("long.dve", LONG),
        words: &["check", "MODEL", "--reach", "P.stop", "--json", "out.json", "--trace", "out.txt"],
    },
    Temptation {
        name: "a trace of a million steps, from disk",
        model: ("long.dve", LONG),
        words: &["check", "MODEL", "--reach", "P.stop", "--engine", "tier", "--trace", "out.json", "--quiet"],
    },
    Temptation {
        name: "a lasso of a million steps",
        model: ("long.dve", LONG),
        words: &[
            "check",
            "MODEL",
            "--only",
            "--ltl",
            "G !(P.stop)",
            "--engine",
            "ndfs",
            "--json",
            "out.json",
            "--quiet",
        ],
    },
    Temptation { name: "half a million successors", model: ("fan.m", FAN), words: &["check", "MODEL"] },
    Temptation {
        name: "half a million initial states",
        model: ("starts.m", STARTS),
        words: &["check", "MODEL"],
    },
    Temptation {
        name: "half a million initial states, on disk",
        model: ("starts.m", STARTS),
        words: &["check", "MODEL", "--engine", "tier"],
    },
    Temptation {
        name: "many threads",
        model: ("", "torus_3d.dve"),
        words: &["explore", "MODEL", "-j", "32"],
    },
    Temptation {
        name: "many threads, on disk",
        model: ("", "torus_3d.dve"),
        words: &["explore", "MODEL", "-j", "32", "--engine", "tier"],
    },
    Temptation {
        name: "long random walks",
        model: ("long.dve", LONG),
        words: &[
            "simulate",
            "MODEL",
            "--random",
            "20",
            "--max-depth",
            "18446744073709551615",
            "--reach",
            "P.stop",
        ],
    },
    Temptation {
        name: "a large model",
        model: ("", "../../shared/beem/models/plc.4.dve"),
        words: &["explore", "MODEL"],
    },
    Temptation {
        name: "a model of many rules",
        model: ("", "../../shared/murphi/models/sci/sci.m"),
        words: &["check", "MODEL"],
    },
];

pub(super) fn run(attack: &mut Attack, tally: &mut Tally) -> anyhow::Result<()> {
    for mebibytes in [32u64, 64] {
        let Some(group) = Group::new(mebibytes << 20) else {
            tally.skip("no memory cgroup can be made here");
            return Ok(());
        };
        for temptation in TEMPTATIONS {
            let place = tempfile::tempdir()?;
            let Some(model) = model_file(attack, temptation, place.path())? else {
                println!("  SKIPPED {}: its model is not here", temptation.name);
                continue;
            };
            let script = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", group.0.display());
            let mut child = Command::new("sh");
            child.args(["-c", &script, "sh"]).arg(&attack.binary);
            child.args(temptation.words.iter().map(|word| if *word == "MODEL" { &*model } else { word }));
            child.args(["--time-limit", "60s", "--ram", &format!("{mebibytes}MiB")]);
            let ran = trial::run(&mut child, place.path())?;
            let killed = ran.status.and_then(|status| status.signal()) == Some(9);
            let outcome = if killed { Err("out of memory".into()) } else { ran.behaves() };
            let what = format!("{} in {mebibytes} MiB", temptation.name);
            if outcome.is_ok() {
                println!("  {what}: {}", came_to(&ran));
            }
            tally.count(what, outcome);
        }
    }
    Ok(())
}

/// What a trial came to that was not killed: an answer, an end at a limit, or a refusal, in its own words.
fn came_to(ran: &trial::Ran) -> String {
    let line = |text: &str, what: &str| {
        text.lines().find(|line| line.contains(what)).map_or(String::new(), |line| line.trim().to_owned())
    };
    match ran.code() {
        Some(0) => "finished".to_owned(),
        Some(1) => "finished, with a violation".to_owned(),
        Some(3) => {
            format!("gave up: {}", line(&ran.stdout, "not finished").trim_start_matches("not finished: "))
        }
        _ => format!("refused: {}", line(&ran.stderr, "error").trim_start_matches("error: ")),
    }
}

/// The model of a temptation: written, or one that is there.
fn model_file(attack: &Attack, temptation: &Temptation, place: &Path) -> anyhow::Result<Option<String>> {
    let (name, text) = temptation.model;
    if name.is_empty() {
        let path = attack.model(text);
        return Ok(Path::new(&path).is_file().then_some(path));
    }
    let path = place.join(name);
    fs::write(&path, text)?;
    Ok(Some(path.display().to_string()))
}
