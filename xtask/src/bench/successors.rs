//! How fast are successors: compiled code beside the interpreter, and beside the same program printed as C and compiled by gcc -O2?
//!
//! All three expand the same states, the first of a breadth-first search, in batches as a search does, writing targets and actions. They take
//! turns in every round; what is compared is processor time per successor.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode};
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::Compiled;
use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::program::Program;
use fathom_model::record::RecordBuffer;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some, initial_all};
use fathom_model::values::PossibleValues;

use super::thread_nanos;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many states to expand.
    #[arg(long, default_value_t = STATES)]
    states: usize,
    /// How often each contestant runs.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// How many steps the buffer holds.
    #[arg(long, default_value_t = CAPACITY)]
    capacity: usize,
    /// Leave gcc out.
    #[arg(long)]
    without_gcc: bool,
    /// The models; without any, some of our own and of ../shared/beem/models.
    models: Vec<PathBuf>,
}

const STATES: usize = 100_000;
const CAPACITY: usize = 4096;

impl Arguments {
    /// As many rounds on these models, or on those that are measured without any; everything else as it is by default.
    pub(crate) fn of(rounds: usize, models: &[PathBuf]) -> Arguments {
        Arguments { states: STATES, rounds, capacity: CAPACITY, without_gcc: false, models: models.to_vec() }
    }
}

const OWN: [&str; 4] = ["bakery", "philosophers", "sliding_window", "cache_mesi"];
const PUBLISHED: [&str; 10] = [
    "peterson.4",
    "rether.6",
    "elevator2.3",
    "lamport.6",
    "bakery.6",
    "anderson.6",
    "iprotocol.4",
    "leader_election.5",
    "firewire_link.5",
    "brp.4",
];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    println!(
        "| model | bits | states | successors | compile ms | ns JIT | ns gcc -O2 | ns interpreter | JIT / gcc | interpreter / JIT |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
    let mut ratios = Vec::new();
    for model in models(arguments) {
        if !model.exists() {
            println!("| {} | skipped: not there | | | | | | | | |", model.display());
            continue;
        }
        ratios.extend(measure(arguments, &model).with_context(|| model.display().to_string())?);
    }
    if !ratios.is_empty() {
        println!("\nJIT / gcc over the models: {}", spread(&ratios));
    }
    Ok(ExitCode::SUCCESS)
}

fn models(arguments: &Arguments) -> Vec<PathBuf> {
    if !arguments.models.is_empty() {
        return arguments.models.clone();
    }
    let own = OWN.iter().map(|name| PathBuf::from(format!("models/{name}.dve")));
    let published = PUBLISHED.iter().map(|name| PathBuf::from(format!("../shared/beem/models/{name}.dve")));
    own.chain(published).collect()
}

/// Measures one model; gives how much longer compiled code takes than gcc's.
fn measure(arguments: &Arguments, path: &Path) -> anyhow::Result<Option<f64>> {
    let program = read(path)?;
    let possible = PossibleValues::of(&program);
    let begin = Instant::now();
    let compiled = Compiled::new(program.clone(), &possible)?;
    let compile_ms = begin.elapsed().as_secs_f64() * 1e3;
    let interpreter = Interpreter::new(program, &possible);
    let (states, successors) = explore(&compiled, arguments.states);
    let work = tempfile::tempdir()?;
    let mut gcc = match arguments.without_gcc {
        true => None,
        false => Some(Gcc::start(&compiled, work.path())?),
    };
    // About a tenth of a second each.
    let repeats = (2_000_000 / successors.max(1)).clamp(1, 10_000);
    let (mut jit, mut c, mut slow) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        jit.push(expand_all(&compiled, &states, repeats, arguments.capacity, successors)?);
        if let Some(gcc) = &mut gcc {
            c.push(gcc.expand_all(&states, repeats, arguments.capacity, successors)?);
        }
        slow.push(expand_all(&interpreter, &states, repeats.div_ceil(20), arguments.capacity, successors)?);
    }
    let quotients = |left: &[f64], right: &[f64]| -> Vec<f64> {
        left.iter().zip(right).map(|(left, right)| left / right).collect()
    };
    let ratio = quotients(&jit, &c);
    println!(
        "| {} | {} | {} | {successors} | {compile_ms:.1} | {} | {} | {} | {} | {} |",
        path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned()),
        compiled.layout().width_bits,
        states.len(),
        spread(&jit),
        spread(&c),
        spread(&slow),
        spread(&ratio),
        spread(&quotients(&slow, &jit)),
    );
    Ok(median(&ratio))
}

/// Reads a DVE model.
pub(crate) fn read(path: &Path) -> anyhow::Result<Program> {
    let name = path.display().to_string();
    let source = SourceText::from_bytes(&name, std::fs::read(path)?)
        .map_err(|problems| anyhow!("{} problems in the text", problems.error_count()))?;
    let compiled = compile(&source, &DveOptions::default())
        .map_err(|problems| anyhow!("{}", problems.render(&source, false)))?;
    Ok(compiled.program)
}

/// The first states of a breadth-first search, and how many successors they have.
fn explore(system: &dyn TransitionSystem, states_max: usize) -> (RecordBuffer, usize) {
    let mut steps = Steps::new(system.shape(), Columns::NONE, 4096);
    let mut agree = |_: usize| -> Result<(), std::convert::Infallible> { Ok(()) };
    initial_all(system, &mut steps, &mut agree).expect("there is room, and nobody asks it to stop");
    let mut seen: HashSet<Vec<u64>> = HashSet::new();
    let mut states = RecordBuffer::new(system.shape().words());
    let (mut next, mut successors) = (0, 0);
    loop {
        for target in steps.targets().iter() {
            if states.len() < states_max && seen.insert(target.to_vec()) {
                states.push(target);
            }
        }
        if next == states.len() {
            return (states, successors);
        }
        let finished = expand_some(system, states.view().skip(next), &mut steps, &mut agree);
        let finished = finished.expect("there is room, and nobody asks it to stop");
        next += finished;
        successors += steps.step_count();
    }
}

/// Nanoseconds per successor.
fn expand_all(
    system: &dyn TransitionSystem,
    states: &RecordBuffer,
    repeats: usize,
    capacity: usize,
    successors: usize,
) -> anyhow::Result<f64> {
    let columns = Columns { actions: true, ..Columns::NONE };
    let mut steps = Steps::new(system.shape(), columns, capacity);
    let begin = thread_nanos();
    for _ in 0..repeats {
        let mut rest = states.view();
        let mut found = 0;
        while !rest.is_empty() {
            let finished = system.expand(rest, &mut steps);
            ensure!(finished > 0, "a state has more than {capacity} successors");
            found += steps.step_count();
            rest = rest.skip(finished);
        }
        ensure!(found == successors, "{found} successors, not {successors}");
    }
    Ok((thread_nanos() - begin) as f64 / (repeats * successors.max(1)) as f64)
}

/// The program as C, compiled and waiting.
struct Gcc(Child);

impl Gcc {
    fn start(system: &Compiled, folder: &Path) -> anyhow::Result<Gcc> {
        Ok(Gcc(crate::printed::start(system.program(), system.layout(), folder)?))
    }

    fn expand_all(
        &mut self,
        states: &RecordBuffer,
        repeats: usize,
        capacity: usize,
        successors: usize,
    ) -> anyhow::Result<f64> {
        let input = self.0.stdin.as_mut().context("it has an input")?;
        let mut request: Vec<u8> = Vec::new();
        for number in [0, states.len(), capacity, repeats + 1] {
            request.extend((number as u32).to_ne_bytes());
        }
        states.view().words().iter().for_each(|word| request.extend(word.to_ne_bytes()));
        input.write_all(&request)?;
        input.flush()?;
        let output = self.0.stdout.as_mut().context("it has an output")?;
        let (finished, nanos) = (read_word(output)?, read_word(output)?);
        let mut end = 0;
        for _ in 0..finished {
            end = read_word(output)?;
        }
        let (steps, faults) = (end & 0xffff_ffff, end >> 32);
        let record_bytes = states.view().words_per_record() as u64 * 8;
        let rest = steps * (record_bytes + 4) + faults * 16 + states.len() as u64 * 8;
        std::io::copy(&mut output.take(rest), &mut std::io::sink())?;
        Ok(nanos as f64 / (repeats * successors.max(1)) as f64)
    }
}

impl Drop for Gcc {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // Its input has ended, so it ends.
        let _ = self.0.wait();
    }
}

fn read_word(from: &mut impl Read) -> anyhow::Result<u64> {
    let mut bytes = [0; 8];
    from.read_exact(&mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

/// The median, and the least and the most.
fn spread(values: &[f64]) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    match median(values) {
        Some(median) => format!("{median:.2} ({least:.2}-{most:.2})"),
        None => "-".into(),
    }
}
