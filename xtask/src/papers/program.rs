//! What does one command of the program find, and what does it take?

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use serde_json::Value;

/// The program, and the models it is run on.
pub(crate) struct Program {
    fathom: PathBuf,
    folder: PathBuf,
    rounds: usize,
    limit: u64,
    quick: bool,
    /// Models that were asked for and are not there.
    missing: RefCell<BTreeSet<String>>,
    /// Where files of runs go.
    place: tempfile::TempDir,
}

/// What a command found, as it told in JSON, and what it took in the median of its runs.
pub(crate) struct Measured {
    /// The command as a reader would type it, the model by its name.
    pub(crate) command: String,
    pub(crate) json: Value,
    pub(crate) cpu: f64,
    #[allow(dead_code, reason = "for papers that compare threads or waiting")]
    pub(crate) wall: f64,
}

/// What one run took.
struct Run {
    json: Value,
    cpu: f64,
    wall: f64,
}

/// The status of a run that a limit has ended.
const GAVE_UP: i32 = 3;

impl Program {
    pub(super) fn new(
        fathom: &Path,
        folder: &Path,
        rounds: usize,
        limit: u64,
        quick: bool,
    ) -> anyhow::Result<Program> {
        let fathom = fathom
            .canonicalize()
            .with_context(|| format!("{} is not there: cargo build --release", fathom.display()))?;
        let folder = folder.canonicalize().with_context(|| format!("{} is not there", folder.display()))?;
        // In target/, which lies on the device that the user builds on: /tmp may be memory.
        std::fs::create_dir_all("target")?;
        let place = tempfile::Builder::new().prefix("papers-").tempdir_in("target")?;
        Ok(Program { fathom, folder, rounds, limit, quick, missing: RefCell::default(), place })
    }

    /// Whether only small instances are wanted.
    pub(crate) fn quick(&self) -> bool {
        self.quick
    }

    /// A BEEM instance, as in `brp.4`; none if it is not at hand.
    pub(crate) fn beem(&self, instance: &str) -> Option<PathBuf> {
        self.model("beem/models", &format!("{instance}.dve"))
    }

    #[allow(dead_code, reason = "for papers that have Murphi models")]
    /// A Murphi model, as in `ldash`; none if it is not at hand.
    pub(crate) fn murphi(&self, name: &str) -> Option<PathBuf> {
        self.model("murphi/models", &format!("{name}.m"))
    }

    fn model(&self, folder: &str, name: &str) -> Option<PathBuf> {
        let path = self.folder.join(folder).join(name);
        if path.exists() {
            return Some(path);
        }
        self.missing.borrow_mut().insert(name.to_owned());
        None
    }

    /// The text of a file beside the models.
    pub(crate) fn text(&self, name: &str) -> anyhow::Result<String> {
        let path = self.folder.join(name);
        std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))
    }

    /// What `fathom plan` says of a model.
    pub(crate) fn plan(&self, model: &Path, words: &str) -> anyhow::Result<Value> {
        let output = Command::new(&self.fathom)
            .args(["plan", "--quiet", "--json", "-"])
            .arg(model)
            .args(split(words))
            .current_dir(self.place.path())
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "plan {} {words}: {errors}", model.display());
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// What was asked for and was not at hand.
    pub(super) fn missing(&self) -> Vec<String> {
        self.missing.borrow().iter().cloned().collect()
    }

    /// Runs a command as often as was asked for; `words` follow `fathom COMMAND MODEL`.
    pub(crate) fn run(&self, command: &str, model: &Path, words: &str) -> anyhow::Result<Measured> {
        let mut all = self.in_turns(command, model, &[words])?;
        Ok(all.pop().expect("one command, one result"))
    }

    /// Runs commands on a model in turns, so that what else the machine does falls on all of them.
    pub(crate) fn in_turns(
        &self,
        command: &str,
        model: &Path,
        contestants: &[&str],
    ) -> anyhow::Result<Vec<Measured>> {
        let mut runs: Vec<Vec<Run>> = contestants.iter().map(|_| Vec::new()).collect();
        for _ in 0..self.rounds {
            for (words, runs) in contestants.iter().zip(&mut runs) {
                // What took all its time takes it again.
                if runs.first().is_none_or(|first| !out_of_time(&first.json)) {
                    runs.push(self.once(command, model, words)?);
                }
            }
        }
        let name = model.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let measured = contestants.iter().zip(runs).map(|(words, runs)| {
            let command = format!("fathom {command} {name} {words}");
            let (cpu, wall) =
                (median(runs.iter().map(|run| run.cpu)), median(runs.iter().map(|run| run.wall)));
            let json = runs.into_iter().next().map_or(Value::Null, |run| run.json);
            Measured { command, json, cpu, wall }
        });
        Ok(measured.collect())
    }

    /// One run in a process of its own. Status 1 (something is violated) and 3 (a limit was reached) are results too.
    fn once(&self, command: &str, model: &Path, words: &str) -> anyhow::Result<Run> {
        let shown = format!("{command} {} {words}", model.display());
        eprintln!("{shown}");
        let output = Command::new("bash")
            .args(["-c", "TIMEFORMAT='TIMES %U %S %R'; time \"$@\"", "bash"])
            .arg(&self.fathom)
            .arg(command)
            .arg(model)
            .args(split(words))
            .args(["--quiet", "--json", "-", "--time-limit"])
            .arg(format!("{}s", self.limit))
            .current_dir(self.place.path())
            .output()
            .context("bash is needed to measure")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(matches!(output.status.code(), Some(0 | 1 | 3)), "{shown}: {errors}");
        let times = errors.lines().find_map(|line| line.strip_prefix("TIMES "));
        let times = times.with_context(|| format!("{shown}: {errors}"))?;
        let times: Vec<f64> = times.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let json = match output.stdout.is_empty() && output.status.code() == Some(GAVE_UP) {
            // The time was over before the search began.
            true => serde_json::json!({"limit": "time"}),
            false => {
                serde_json::from_slice(&output.stdout).with_context(|| format!("{shown} told no JSON"))?
            }
        };
        Ok(Run { json, cpu: times[0] + times[1], wall: times[2] })
    }
}

impl Measured {
    /// A number of the report by its path, as in `/disk/read`; none if it is not there.
    pub(crate) fn number(&self, pointer: &str) -> Option<f64> {
        self.json.pointer(pointer)?.as_f64()
    }

    /// A whole number with separators, or a dash.
    pub(crate) fn count(&self, pointer: &str) -> String {
        let number = self.json.pointer(pointer).and_then(Value::as_u64);
        number.map_or_else(|| "-".to_owned(), fathom_check::numbers::count)
    }

    /// Whether it was given up.
    pub(crate) fn gave_up(&self) -> bool {
        out_of_time(&self.json)
    }

    /// Processor seconds, or how many had gone by when it was given up.
    pub(crate) fn seconds(&self) -> String {
        if self.gave_up() { format!("> {:.1}", self.cpu) } else { format!("{:.2}", self.cpu) }
    }
}

#[allow(dead_code, reason = "for papers whose contestants all tell states and checksums")]
/// All that were not given up have found the same.
pub(crate) fn agree(all: &[Measured], fields: &[&str]) -> anyhow::Result<()> {
    let mut finished = all.iter().filter(|measured| !measured.gave_up());
    let Some(first) = finished.next() else { return Ok(()) };
    for other in finished {
        for field in fields {
            let (one, two) = (first.json.pointer(field), other.json.pointer(field));
            ensure!(one == two, "{field}: {one:?} by {}, {two:?} by {}", first.command, other.command);
        }
    }
    Ok(())
}

/// The middle one of several; with an even number, the lower of the two.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// The geometric mean, as is right for factors.
pub(crate) fn mean_factor(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

fn out_of_time(json: &Value) -> bool {
    json["limit"] == "time"
}

/// Words as a shell would split them: single quotes keep spaces.
fn split(words: &str) -> Vec<String> {
    let mut all = Vec::new();
    for (number, part) in words.split('\'').enumerate() {
        match number % 2 {
            0 => all.extend(part.split_whitespace().map(str::to_owned)),
            _ => all.push(part.to_owned()),
        }
    }
    all
}
