//! Do machine code, interpreter and printed C span the same state space? Layers, counts, labels, actions and checksum of whole searches.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use fathom_disk::budget::Budget;
use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::Compiled;
use fathom_lang::dve::{self, DveOptions};
use fathom_lang::murphi::{self, MurphiOptions};
use fathom_lang::source::SourceText;
use fathom_model::expression::Overflow;
use fathom_model::program::{Composition, Program};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::bodies::stages::run as search;
use fathom_search::engines::ram::RamTable;
use fathom_search::task::watch::Condition;
use fathom_search::task::{Ending, Observer, Outcome, Progress, Settings, Task, Tuning};

use crate::printed::Printed;

/// What to compare.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Of larger spaces only the first layers are compared, up to about so many states.
    #[arg(long, default_value_t = 2_000_000)]
    max_states: u64,
    /// Leave the C out: gcc takes a while for large models.
    #[arg(long)]
    without_gcc: bool,
    /// Only files whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Models or folders of them; without any, our own and the published ones that are known to have no more states than `--max-states`.
    models: Vec<PathBuf>,
}

/// Where the published models are, if they are.
const PUBLISHED: &str = "../shared/beem";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut models = Vec::new();
    for path in &arguments.models {
        models.extend(files(path)?);
    }
    if arguments.models.is_empty() {
        models = files(Path::new("models"))?;
        models.extend(published(arguments.max_states)?);
    }
    models.retain(|path| path.to_string_lossy().contains(&arguments.only));
    let gcc = !arguments.without_gcc && gcc_is_there();
    let mut wrong = 0;
    for path in &models {
        let differences =
            compare(path, arguments.max_states, gcc).with_context(|| path.display().to_string())?;
        wrong += usize::from(differences);
    }
    println!("{} models, {wrong} with differences", models.len());
    Ok(ExitCode::from(u8::from(wrong > 0)))
}

/// The models in a folder, or the one that it is.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: Vec<_> = std::fs::read_dir(path)?.collect::<Result<_, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "dve") || is_murphi(path));
    files.sort();
    Ok(files)
}

/// The published models that have so many states at most.
fn published(states_max: u64) -> anyhow::Result<Vec<PathBuf>> {
    let folder = Path::new(PUBLISHED);
    let Ok(table) = std::fs::read_to_string(folder.join("reference.tsv")) else {
        eprintln!("published models: skipped, there is no {PUBLISHED}");
        return Ok(Vec::new());
    };
    let rows = table.lines().skip(1).filter_map(|line| {
        let mut cells = line.split('\t');
        let (instance, states) = (cells.next()?, cells.next()?.parse::<u64>().ok()?);
        (states <= states_max).then(|| folder.join("models").join(format!("{instance}.dve")))
    });
    Ok(rows.filter(|path| path.exists()).collect())
}

/// Whether there is a gcc to compile printed programs with.
pub(crate) fn gcc_is_there() -> bool {
    Command::new("gcc").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn is_murphi(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "m")
}

/// Compares one model, once more with values that wrap around if some step faults and the language has that; true if something differs.
pub(crate) fn compare(path: &Path, states_max: u64, gcc: bool) -> anyhow::Result<bool> {
    let (wrong, faults) = compare_with(path, Overflow::Fault, states_max, gcc)?;
    let wrapped = faults > 0 && !is_murphi(path) && compare_with(path, Overflow::Wrap, states_max, gcc)?.0;
    Ok(wrong || wrapped)
}

fn compare_with(path: &Path, overflow: Overflow, states_max: u64, gcc: bool) -> anyhow::Result<(bool, u64)> {
    let program = read(path, overflow)?;
    let values = PossibleValues::of(&program);
    let compiled = Compiled::new(program.clone(), &values)?;
    let (depth, machine_code) = explore_some(&compiled, states_max)?;
    let mut others = vec![("interpreter", explore(&Interpreter::new(program.clone(), &values), depth)?)];
    if gcc && program.composition == Composition::Asynchronous && program.is_plain() {
        let folder = tempfile::tempdir()?;
        let printed = Printed::new(&compiled, &program, compiled.layout(), folder.path())?;
        others.push(("C", explore(&printed, depth)?));
    }
    let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut wrong = false;
    for (who, outcome) in &others {
        for difference in differences(&machine_code, outcome) {
            println!("{name}: {who}, {difference}");
            wrong = true;
        }
    }
    println!(
        "{name:<22} {:>9} states {:>10} transitions {:>6} faults  {:032x}  {}{}{}",
        machine_code.expanded,
        machine_code.transitions,
        machine_code.faults,
        machine_code.checksum.0,
        match (wrong, others.len()) {
            (true, _) => "DIFFER",
            (false, 1) => "two agree, not printed as C",
            (false, _) => "three agree",
        },
        if overflow == Overflow::Wrap { ", values wrap around" } else { "" },
        depth.map_or_else(String::new, |depth| format!(", {depth} deep")),
    );
    Ok((wrong, machine_code.faults))
}

fn read(path: &Path, overflow: Overflow) -> anyhow::Result<Program> {
    let source = SourceText::from_bytes(path.display().to_string(), std::fs::read(path)?)
        .map_err(|problems| anyhow!("{} problems in the text", problems.error_count()))?;
    let program = if is_murphi(path) {
        murphi::compile(&source, &MurphiOptions::default()).map(|model| model.program)
    } else {
        dve::compile(&source, &DveOptions { overflow, ..DveOptions::default() }).map(|model| model.program)
    };
    program.map_err(|problems| anyhow!("{}", problems.render(&source, false)))
}

/// Stops a search that has seen too many states.
struct Limit {
    states_max: u64,
    reached: AtomicBool,
}

impl Observer for Limit {
    fn stop(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    fn progress(&self, progress: Progress) {
        self.reached.fetch_or(progress.states > self.states_max, Ordering::Relaxed);
    }
}

/// A search of everything, or of the layers that have not too many states, and then how deep it went.
fn explore_some(system: &dyn TransitionSystem, states_max: u64) -> anyhow::Result<(Option<u64>, Outcome)> {
    let outcome = explore_until(system, None, states_max)?;
    if outcome.ending == Ending::Complete {
        return Ok((None, outcome));
    }
    let depth = (outcome.layers.len() as u64).saturating_sub(3);
    Ok((Some(depth), explore(system, Some(depth))?))
}

fn explore(system: &dyn TransitionSystem, max_depth: Option<u64>) -> anyhow::Result<Outcome> {
    explore_until(system, max_depth, u64::MAX)
}

fn explore_until(
    system: &dyn TransitionSystem,
    max_depth: Option<u64>,
    states_max: u64,
) -> anyhow::Result<Outcome> {
    let budget = Budget::unlimited();
    let mut table = RamTable::new(system.shape(), &budget, 1)?;
    let labels = (0..system.shape().labels.len()).map(|label| Condition::Label { label, value: true });
    let settings = Settings {
        threads: 1,
        conditions: labels.chain([Condition::Fault]).collect(),
        stop_at_first: false,
        findings_max: 1,
        max_depth,
        coverage: true,
        tuning: Tuning::default(),
    };
    let limit = Limit { states_max, reached: AtomicBool::new(false) };
    Ok(search(Task::new(system, &budget, &settings).watched_by(&limit), &mut table)?)
}

/// What two searches found that is not the same.
fn differences(left: &Outcome, right: &Outcome) -> Vec<String> {
    let mut differences = Vec::new();
    let mut same = |what: &str, left: &dyn std::fmt::Debug, right: &dyn std::fmt::Debug| {
        let (left, right) = (format!("{left:x?}"), format!("{right:x?}"));
        if left != right {
            differences.push(format!("{what}: machine code {left}, here {right}"));
        }
    };
    same("ending", &left.ending, &right.ending);
    same("layers", &left.layers.iter().collect::<Vec<_>>(), &right.layers.iter().collect::<Vec<_>>());
    same("transitions", &left.transitions, &right.transitions);
    same("deadlocks", &left.deadlocks, &right.deadlocks);
    same("faults", &left.faults, &right.faults);
    same("states whose labels fault", &left.label_faults, &right.label_faults);
    same("labels", &left.labels_seen, &right.labels_seen);
    same("checksum", &left.checksum, &right.checksum);
    same("findings", &left.findings, &right.findings);
    same("actions", &left.actions_taken, &right.actions_taken);
    differences
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The root of the project, where the tasks run.
    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    #[test]
    fn our_own_models_and_small_published_ones_span_the_same_spaces() {
        let gcc = gcc_is_there();
        if !gcc {
            eprintln!(
                "our_own_models_and_small_published_ones_span_the_same_spaces: without C, there is no gcc"
            );
        }
        for path in files(&root().join("models")).unwrap() {
            assert!(!compare(&path, 20_000, gcc).unwrap(), "{}", path.display());
        }
        // One instance of each family; the task compares them all, whole.
        let mut published = files(&root().join(PUBLISHED).join("models")).unwrap_or_default();
        published.retain(|path| path.to_string_lossy().ends_with(".1.dve"));
        if published.is_empty() {
            eprintln!(
                "our_own_models_and_small_published_ones_span_the_same_spaces: no published models at {PUBLISHED}"
            );
        }
        for path in published {
            assert!(!compare(&path, 5_000, false).unwrap(), "{}", path.display());
        }
    }
}
