//! How fast is the search on disk, beside the search in RAM, beside older ways to search on disk, and beside other programs?
//!
//! Contestants take turns in every round, each in a process of its own, so that what else the machine does falls on all of them. Those on disk run in a memory cgroup of the size
//! of their `--ram` where one can be made: the page cache counts there, so nothing hides in it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::ram::spread;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often each contestant runs.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// The program to measure.
    #[arg(long, default_value = "target/release/fathom")]
    fathom: PathBuf,
    /// What `tier` and `stern-dill` get, in MiB.
    #[arg(long, value_delimiter = ',', default_values_t = [32, 64])]
    ram: Vec<u64>,
    /// How many threads each has.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Leave `stern-dill` out: it reads everything for every layer.
    #[arg(long)]
    no_stern_dill: bool,
    /// Another program, as in 'name=command {model}'; its processor and wall time are taken.
    #[arg(long = "peer", value_name = "NAME=COMMAND")]
    peers: Vec<String>,
    /// Where files go.
    #[arg(long, default_value = ".")]
    place: PathBuf,
    /// Models to explore.
    #[arg(required = true)]
    models: Vec<PathBuf>,
}

/// One of those that take turns.
struct Contestant {
    name: String,
    command: Vec<String>,
    /// The size of its cgroup.
    cap: Option<u64>,
    /// Whether it tells what it found as JSON.
    ours: bool,
}

/// What one run took.
struct Taken {
    wall: f64,
    cpu: f64,
    /// The kernel's figure for the cgroup, with the page cache.
    group_peak: Option<f64>,
    report: Option<Value>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let fathom = std::fs::canonicalize(&arguments.fathom)
        .with_context(|| format!("{} is not there: cargo build --release", arguments.fathom.display()))?;
    println!(
        "| model | contestant | states | wall s | CPU s | CPU ns per step | RSS MB | cgroup MB | bytes per state live | disk peak, bytes per state | read MB | written MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    for model in &arguments.models {
        let model = std::fs::canonicalize(model).with_context(|| model.display().to_string())?;
        compare(arguments, &fathom, &model)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(arguments: &Arguments, fathom: &Path, model: &Path) -> anyhow::Result<()> {
    let contestants = contestants(arguments, fathom, model)?;
    let mut runs: Vec<Vec<Taken>> = contestants.iter().map(|_| Vec::new()).collect();
    for _ in 0..arguments.rounds {
        for (contestant, runs) in contestants.iter().zip(&mut runs) {
            let taken = contestant.run(&arguments.place)?;
            runs.push(taken);
        }
    }
    agree(&contestants, &runs)?;
    let name = model.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    for (contestant, taken) in contestants.iter().zip(&runs) {
        println!("| {name} | {} | {}", contestant.name, row(taken));
    }
    for (contestant, taken) in contestants.iter().zip(&runs).skip(1) {
        let ratio = |of: fn(&Taken) -> f64| {
            spread(&taken.iter().zip(&runs[0]).map(|(one, ram)| of(one) / of(ram)).collect::<Vec<_>>())
        };
        let (wall, cpu) = (ratio(|taken| taken.wall), ratio(|taken| taken.cpu));
        println!("| {name} | {} / ram | | {wall} | {cpu} | | | | | | | |", contestant.name);
    }
    Ok(())
}

/// `ram` first: others are compared with it.
fn contestants(arguments: &Arguments, fathom: &Path, model: &Path) -> anyhow::Result<Vec<Contestant>> {
    let words = |engine: &str, more: &[String]| {
        let threads = arguments.threads.to_string();
        let (fathom, model) = (fathom.display().to_string(), model.display().to_string());
        let fixed =
            [&fathom, "explore", &model, "--engine", engine, "--threads", &threads, "--quiet", "--json", "-"];
        fixed.into_iter().map(str::to_owned).chain(more.iter().cloned()).collect()
    };
    let mut all =
        vec![Contestant { name: "ram".to_owned(), command: words("ram", &[]), cap: None, ours: true }];
    for mebibytes in &arguments.ram {
        let engines = if arguments.no_stern_dill { &["tier"][..] } else { &["tier", "stern-dill"] };
        for engine in engines {
            let command = words(engine, &["--ram".to_owned(), format!("{mebibytes}MiB")]);
            let name = format!("{engine} {mebibytes} MiB");
            all.push(Contestant { name, command, cap: Some(mebibytes << 20), ours: true });
        }
    }
    for peer in &arguments.peers {
        let (name, command) = peer.split_once('=').context("--peer needs NAME=COMMAND")?;
        let command = command.replace("{model}", &model.display().to_string());
        let command = ["sh", "-c", &command].map(str::to_owned).to_vec();
        all.push(Contestant { name: name.to_owned(), command, cap: None, ours: false });
    }
    Ok(all)
}

/// All of ours have found the same.
fn agree(contestants: &[Contestant], runs: &[Vec<Taken>]) -> anyhow::Result<()> {
    let facts = |taken: &Taken| {
        let report = taken.report.as_ref()?;
        Some(["states", "transitions", "checksum"].map(|field| report[field].clone()))
    };
    let expected = runs[0].first().and_then(facts).context("the engine ram has found nothing")?;
    for (contestant, taken) in contestants.iter().zip(runs) {
        for found in taken.iter().filter_map(facts) {
            ensure!(found == expected, "{} has found {found:?}, ram {expected:?}", contestant.name);
        }
    }
    Ok(())
}

fn row(runs: &[Taken]) -> String {
    let column = |of: &dyn Fn(&Taken) -> Option<f64>| {
        let values: Option<Vec<f64>> = runs.iter().map(of).collect();
        values.map_or_else(|| "-".to_owned(), |values| spread(&values))
    };
    let told = |path: &'static [&'static str], scale: f64| {
        move |taken: &Taken| {
            let value = path.iter().fold(taken.report.as_ref()?, |value, field| &value[field]);
            Some(value.as_f64()? / scale)
        }
    };
    let per = |of: &'static [&'static str], by: &'static str| {
        move |taken: &Taken| Some(told(of, 1.0)(taken)? / taken.report.as_ref()?[by].as_f64()?)
    };
    let states = runs.first().and_then(|taken| Some(taken.report.as_ref()?["states"].to_string()));
    [
        states.unwrap_or_else(|| "-".to_owned()),
        column(&|taken| Some(taken.wall)),
        column(&|taken| Some(taken.cpu)),
        column(&|taken| Some(taken.cpu * 1e9 / taken.report.as_ref()?["transitions"].as_f64()?)),
        column(&told(&["ram", "peak"], 1e6)),
        column(&|taken| Some(taken.group_peak? / 1e6)),
        column(&told(&["disk", "bytes_per_state"], 1.0)),
        column(&per(&["disk", "peak"], "states")),
        column(&told(&["disk", "read"], 1e6)),
        column(&told(&["disk", "written"], 1e6)),
    ]
    .join(" | ")
        + " |"
}

impl Contestant {
    fn run(&self, place: &Path) -> anyhow::Result<Taken> {
        let group = self.cap.and_then(Group::new);
        let enter = group.as_ref().map_or_else(String::new, |group| {
            format!("echo $BASHPID > {}/cgroup.procs; ", group.folder.display())
        });
        let script = format!("TIMEFORMAT='TIMES %U %S %R'; time ({enter}exec \"$@\")");
        let output = Command::new("bash")
            .args(["-c", &script, "bash"])
            .args(&self.command)
            .current_dir(place)
            .output()
            .context("bash is needed to measure")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}: {errors}", self.command.join(" "));
        let times =
            errors.lines().find_map(|line| line.strip_prefix("TIMES ")).context("bash told no times")?;
        let times: Vec<f64> = times.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Taken {
            cpu: times[0] + times[1],
            wall: times[2],
            group_peak: group.as_ref().and_then(Group::peak),
            report: self.ours.then(|| serde_json::from_slice(&output.stdout)).transpose()?,
        })
    }
}

/// A memory cgroup of either version, removed when it is dropped.
struct Group {
    folder: PathBuf,
    peak: &'static str,
}

impl Group {
    /// None where none can be made.
    fn new(bytes: u64) -> Option<Group> {
        let versions = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"),
            ("/sys/fs/cgroup", "memory.max", "memory.peak"),
        ];
        versions.into_iter().find_map(|(root, limit, peak)| {
            let folder = Path::new(root).join(format!("fathom-bench-{}", std::process::id()));
            std::fs::create_dir(&folder).ok()?;
            let group = Group { folder, peak };
            std::fs::write(group.folder.join(limit), bytes.to_string()).ok()?;
            Some(group)
        })
    }

    /// The most memory that was charged to it.
    fn peak(&self) -> Option<f64> {
        std::fs::read_to_string(self.folder.join(self.peak)).ok()?.trim().parse().ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}
