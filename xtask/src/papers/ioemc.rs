//! What does nested depth-first search with tables on disk give beside fix-points on disk, on families of Wu and others?
//!
//! The paper has four algorithms: DAC (here `owcty`), MAP (`map`), IDDFS (here `ddfs`, its semi-external search over all states at once) and IOEMC (`ioemc`). Beside them run `semi-owcty` and `auto`, all with memory for data of a twentieth
//! of the product's records, and one thread.

use std::path::{Path, PathBuf};

use anyhow::Context;
use fathom_check::numbers::{bytes, count};
use serde_json::Value;

use super::Paper;
use super::program::{Measured, Program};
use super::report::{Report, Table};

pub(super) static PAPER: Paper = Paper {
    name: "ioemc",
    cited: "Wu, Huang, Su, Cai, Zhang: An I/O Efficient Model Checking Algorithm for Large-Scale Systems (2015)",
    repeat,
};

/// A model and a formula about it.
struct Row {
    /// What the paper calls it; a dash for a row that it does not have.
    paper: &'static str,
    model: Model,
    /// Also where only small instances are wanted.
    quick: bool,
}

enum Model {
    /// A BEEM instance, and the number of a published formula.
    Beem(&'static str, &'static str),
    /// One of our own, its constants, and a formula.
    Own(&'static str, &'static str, &'static str),
}

const fn beem(paper: &'static str, instance: &'static str, formula: &'static str) -> Row {
    Row { paper, model: Model::Beem(instance, formula), quick: false }
}

const fn quick(row: Row) -> Row {
    Row { quick: true, ..row }
}

const SERVED: &str = "G (call[2] == 1 -> (F (Cabin.opens && at == 2) || F G !Cabin.opens))";

/// Rows of Table IV: what holds. Those without a name of the paper's are other members of its families, of a size that four engines can be compared on in an hour.
const VALID: &[Row] = &[
    quick(beem("-", "lamport.1", "6")),
    quick(beem("-", "mcs.1", "6")),
    beem("-", "elevator.3", "4"),
    beem("-", "mcs.3", "6"),
    beem("-", "leader_filters.5", "2"),
    beem("-", "lamport.5", "6"),
    beem("-", "peterson.4", "6"),
    Row {
        paper: "Elevator2(16), ours",
        model: Model::Own("elevator_sixteen", "FLOORS=11", SERVED),
        quick: false,
    },
    beem("Lamport(5),P4", "lamport.7", "6"),
];

/// Rows of Table V: what fails.
const INVALID: &[Row] = &[
    quick(beem("-", "bakery.4", "5")),
    quick(beem("-", "phils.3", "1")),
    beem("-", "lamport.5", "1"),
    beem("-", "phils.4", "1"),
    Row {
        paper: "Phils(16,1), ours",
        model: Model::Own("philosophers_sixteen", "GUESTS=12", "G F Phil_0.eats"),
        quick: false,
    },
    beem("Szyman(4),P2", "szymanski.4", "2"),
];

/// The four of the paper, by our names, and two beside them.
const ENGINES: [&str; 6] = ["owcty", "map", "ddfs", "ioemc", "semi-owcty", "auto"];
/// Those of them that the paper compares.
const FOUR: usize = 4;
/// The last one.
const AUTO: usize = 5;
/// Memory for data is one in so many parts of the product.
const PART: f64 = 20.0;
/// Less than this is no search that anyone would make: `ioemc` writes its tables anew for every few dozen states then.
const BUDGET_MIN: u64 = 256 << 10;

/// A row that can be run.
struct Instance {
    name: String,
    paper: &'static str,
    path: PathBuf,
    /// Options that say which model and formula.
    words: String,
    states: u64,
    record_bits: u64,
    budget: u64,
}

impl Instance {
    fn contestant(&self, engine: &str, more: &str) -> String {
        format!("{} --engine {engine} --threads 1 --data-budget {}B {more}", self.words, self.budget)
    }

    fn title(&self) -> [String; 3] {
        [self.paper.to_owned(), self.name.clone(), count(self.states)]
    }
}

fn repeat(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    report.paragraph("`--data-budget` is a twentieth of what the records of the product take, 256 KiB at least. A cell `memory` says that the engine's bits per state do not fit in that; `> s` that it was given up.");
    let (valid, invalid) = (instances(program, VALID)?, instances(program, INVALID)?);
    rates(program, report, &valid, &invalid)?;
    let mut won = Won::default();
    times(program, report, "Table IV: properties that hold", &valid, &mut won)?;
    times(program, report, "Table V: properties that fail", &invalid, &mut won)?;
    report.paragraph(&won.told());
    shares(program, report, &invalid)?;
    limit(program, report, &valid)
}

/// The rows that are wanted and at hand, with the sizes of their products.
fn instances(program: &Program, rows: &'static [Row]) -> anyhow::Result<Vec<Instance>> {
    let wanted = rows.iter().filter(|row| row.quick || !program.quick());
    let mut found = Vec::new();
    for row in wanted {
        let (name, path, options, formula, published) = match row.model {
            Model::Beem(instance, number) => {
                let Some(path) = program.beem(instance) else { continue };
                let (formula, states) = published(program, instance, number)?;
                (format!("{instance} formula {number}"), path, String::new(), formula, Some(states))
            }
            Model::Own(name, constants, formula) => {
                let path = Path::new("models").join(format!("{name}.dve")).canonicalize()?;
                let options = format!("--const {constants} ");
                (format!("{name} {constants}"), path, options, formula.to_owned(), None)
            }
        };
        // Where the size is published, a look at the first states tells the rest.
        let depth = if published.is_some() { " --max-depth 1" } else { "" };
        let explored =
            program.run("explore", &path, &format!("{options}--product --ltl '{formula}'{depth}"))?;
        let states = published.or(explored.json["states"].as_u64());
        let states = states.with_context(|| format!("{name} has more states than time allows"))?;
        let record_bits = explored.json["record_bits"].as_u64().context("a width")?;
        let budget = (states as f64 * record_bits as f64 / 8.0 / PART) as u64;
        found.push(Instance {
            name,
            paper: row.paper,
            path,
            words: format!("{options}--only --ltl '{formula}'"),
            states,
            record_bits,
            budget: budget.max(BUDGET_MIN),
        });
    }
    Ok(found)
}

/// A published formula by its number, and the states of its product.
fn published(program: &Program, instance: &str, number: &str) -> anyhow::Result<(String, u64)> {
    let table = program.text("beem/ltl.tsv")?;
    let mut rows = table.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let row = rows.find(|row| row[..2] == [instance, number]);
    let row = row.with_context(|| format!("{instance} has no formula {number}"))?;
    Ok((row[2].to_owned(), row[4].parse().with_context(|| format!("{instance} formula {number}"))?))
}

/// What was found, as a word.
fn verdict(measured: &Measured) -> &str {
    measured.json.pointer("/properties/0/verdict").and_then(Value::as_str).unwrap_or("-")
}

/// Processor seconds, or why there are none.
fn time(measured: &Measured) -> String {
    match measured.json["limit"].as_str() {
        Some("ram") => "memory".to_owned(),
        _ => measured.seconds(),
    }
}

/// Tables IV and V.
fn times(
    program: &Program,
    report: &mut Report,
    title: &str,
    instances: &[Instance],
    won: &mut Won,
) -> anyhow::Result<()> {
    report.heading(2, &format!("{title}: CPU seconds, and disk at peak of `ioemc` and `auto`"));
    report.command("fathom check MODEL --only --ltl FORMULA --engine NAME --threads 1 --data-budget BYTES");
    let mut table = Table::new(
        "in the paper | model | states | data | verdict | `owcty` | `map` | `ddfs` | `ioemc` | `semi-owcty` | `auto` | `auto` took | disk `ioemc` | disk `auto`",
    );
    for instance in instances {
        let words: Vec<String> = ENGINES.iter().map(|engine| instance.contestant(engine, "")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let all = program.in_turns("check", &instance.path, &words)?;
        let decided: Vec<&str> = all.iter().map(verdict).filter(|word| *word != "unknown").collect();
        anyhow::ensure!(decided.windows(2).all(|pair| pair[0] == pair[1]), "{}: {decided:?}", instance.name);
        won.note(&all);
        let disk = |measured: &Measured| {
            let peak = measured.number("/disk/peak");
            peak.map_or_else(|| "-".to_owned(), |peak| bytes(peak as u64))
        };
        let took = all[AUTO].json["engine"].as_str().unwrap_or("-").to_owned();
        let facts = [bytes(instance.budget), decided.first().unwrap_or(&"-").to_string()];
        let last = [took, disk(&all[FOUR - 1]), disk(&all[AUTO])];
        table.row(instance.title().into_iter().chain(facts).chain(all.iter().map(time)).chain(last));
    }
    report.table(&table);
    Ok(())
}

/// How often `auto` is as fast as the best of the four.
#[derive(Default)]
struct Won {
    rows: usize,
    /// As fast as the best, or faster, within what one run differs from the next.
    first: usize,
    slowest: f64,
}

/// Times that differ by less are one: runs of one command differ by as much on a busy machine.
const ALIKE: f64 = 1.05;
/// The same in seconds: reading the model and compiling it takes as long, whatever the engine.
const ALIKE_SECONDS: f64 = 0.02;

impl Won {
    fn note(&mut self, all: &[Measured]) {
        let decides = |measured: &&Measured| verdict(measured) != "unknown";
        let best = all[..FOUR].iter().filter(decides).map(|it| it.cpu).min_by(f64::total_cmp);
        let Some(best) = best.filter(|_| decides(&&all[AUTO])) else { return };
        let auto = all[AUTO].cpu;
        self.rows += 1;
        self.first += usize::from(auto <= best * ALIKE + ALIKE_SECONDS);
        self.slowest = self.slowest.max((auto - ALIKE_SECONDS) / best);
    }

    fn told(&self) -> String {
        format!(
            "`auto` is as fast as the best of the four, or faster, on {} of {} rows, and at worst takes {:.2} times as long (times within 5 % or 0.02 s are one).",
            self.first, self.rows, self.slowest
        )
    }
}

/// Table III: the rate of detections in memory, by rho1.
fn rates(
    program: &Program,
    report: &mut Report,
    valid: &[Instance],
    invalid: &[Instance],
) -> anyhow::Result<()> {
    report.heading(2, "Table III: known states that were found in memory, by rho1");
    report
        .command("fathom check MODEL --only --ltl FORMULA --engine ioemc -E rho1=SHARE --data-budget BYTES");
    let shares = ["0.01", "0.02", "0.03", "0.04", "0.05"];
    let mut table = Table::new(
        "in the paper | model | states | .01 | .02 | .03 | .04 | .05 | merges (.02) | blocks | Lemma 1",
    );
    for instance in valid.iter().chain(invalid).filter(|instance| instance.states <= SWEPT_STATES_MAX) {
        let words = shares.map(|share| instance.contestant("ioemc", &format!("-E rho1={share}")));
        let all = program.in_turns("check", &instance.path, &words.each_ref().map(String::as_str))?;
        let rate = |measured: &Measured| {
            let figure = |name: &str| measured.number(&format!("/figures/{name}")).unwrap_or(0.0);
            let (memory, disk) = (figure("known_in_memory"), figure("known_on_disk"));
            let known = memory + disk;
            let rate = if known > 0.0 { format!("{:.1} %", 100.0 * memory / known) } else { "-".to_owned() };
            if measured.gave_up() { format!("{rate} so far") } else { rate }
        };
        let figures = ["merges", "merged_blocks", "lemma_1_blocks"];
        let figures = figures.map(|name| all[1].count(&format!("/figures/{name}")));
        table.row(instance.title().into_iter().chain(all.iter().map(rate)).chain(figures));
    }
    report.table(&table);
    Ok(())
}

/// Larger products are left out where one engine runs five times.
const SWEPT_STATES_MAX: u64 = 500_000;

/// Table VI: time by rho2.
fn shares(program: &Program, report: &mut Report, instances: &[Instance]) -> anyhow::Result<()> {
    report.heading(2, "Table VI: CPU seconds by rho2, and states of the paths that moved");
    report
        .command("fathom check MODEL --only --ltl FORMULA --engine ioemc -E rho2=SHARE --data-budget BYTES");
    let shares = ["0.75", "0.80", "0.85", "0.90", "0.95", "auto"];
    let mut table = Table::new("in the paper | model | states | .75 | .80 | .85 | .90 | .95 | auto");
    for instance in instances.iter().filter(|instance| instance.states <= SWEPT_STATES_MAX) {
        let words = shares.map(|share| instance.contestant("ioemc", &format!("-E rho2={share}")));
        let all = program.in_turns("check", &instance.path, &words.each_ref().map(String::as_str))?;
        let cell = |measured: &Measured| {
            format!("{}; {}", time(measured), measured.count("/figures/path_states_moved"))
        };
        table.row(instance.title().into_iter().chain(all.iter().map(cell)));
    }
    report.table(&table);
    report.paragraph(
        "Where nothing moved, both paths fit in memory: what an engine of shares has to choose is void then.",
    );
    Ok(())
}

/// The state number limit.
fn limit(program: &Program, report: &mut Report, instances: &[Instance]) -> anyhow::Result<()> {
    report.heading(2, "The state number limit");
    report.paragraph("The paper multiplies the bandwidth of its disk with a day and divides by the bits of a state: 6.68e10. `fathom plan` samples a model and divides what there is by what a state takes.");
    report.command("fathom plan MODEL --ltl FORMULA --ram 256MiB --disk 100GiB --time 24h");
    let mut table = Table::new(
        "in the paper | model | states | bits | engine | states that could be searched | short of",
    );
    let Some(largest) = instances.iter().max_by_key(|instance| instance.states) else { return Ok(()) };
    let words = largest.words.replace("--only ", "");
    let planned = program.plan(&largest.path, &format!("{words} --ram 256MiB --disk 100GiB --time 24h"))?;
    let ways = planned["capacity"]["ways"].as_array().cloned().unwrap_or_default();
    for way in ways {
        let states = way["states"].as_u64().map_or_else(|| "-".to_owned(), count);
        let word = |key: &str| way[key].as_str().unwrap_or("-").to_owned();
        let bits = largest.record_bits.to_string();
        table.row(largest.title().into_iter().chain([bits, word("engine"), states, word("short_of")]));
    }
    report.table(&table);
    Ok(())
}
