//! What does the sweep-line with its queue on disk give on the instances of Evangelista and Kristensen?

use fathom_check::numbers::count;
use serde_json::Value;

use super::Paper;
use super::plot::{Scale, Series, bars};
use super::program::{Measured, Program, mean_factor};
use super::report::{Report, Table};

pub(super) static PAPER: Paper = Paper {
    name: "sweep",
    cited: "Evangelista, Kristensen: Combining the Sweep-Line Method with the Use of an External-Memory Priority Queue (2012)",
    repeat,
};

/// The instances of Table 1 with the shares of steps that the paper has, in percent: back, on, staying.
const TABLE_1: &[(&str, [f64; 3])] = &[
    ("bopdp.3", [0.0, 27.6, 72.4]),
    ("brp.3", [3.3, 38.6, 58.1]),
    ("cambridge.6", [3.5, 39.8, 56.7]),
    ("extinction.4", [0.0, 22.5, 77.5]),
    ("firewire_link.7", [0.0, 13.4, 86.6]),
    ("iprotocol.4", [0.0, 2.4, 97.6]),
    ("lann.5", [2.0, 17.3, 80.7]),
    ("lamport.5", [2.9, 19.4, 77.6]),
    ("leader_election.5", [0.0, 29.9, 70.1]),
    ("leader_filters.5", [0.0, 9.1, 90.9]),
    ("lifts.7", [0.5, 2.4, 97.1]),
    ("lup.4", [17.3, 82.7, 0.0]),
    ("mcs.6", [0.0, 40.2, 59.8]),
    ("needham.4", [0.0, 30.5, 69.5]),
    ("peterson.4", [1.8, 46.7, 51.5]),
    ("pgm_protocol.8", [0.0, 27.9, 72.1]),
    ("rether.6", [5.5, 47.4, 47.1]),
    ("synapse.6", [14.7, 60.7, 24.6]),
];

/// What the paper has of an instance in Table 3: the most states in memory, and visits per state.
struct Row3 {
    instance: &'static str,
    peak: u64,
    visits: f64,
}

/// The instances of Table 3.
const TABLE_3: &[Row3] = &[
    Row3 { instance: "bakery.6", peak: 30_119, visits: 1.305 },
    Row3 { instance: "bopdp.7", peak: 32_244, visits: 2.566 },
    Row3 { instance: "brp.4", peak: 43_892, visits: 1.122 },
    Row3 { instance: "cambridge.6", peak: 39_392, visits: 12.360 },
    Row3 { instance: "elevator2.3", peak: 30_811, visits: 1.172 },
    Row3 { instance: "extinction.7", peak: 85_764, visits: 1.215 },
    Row3 { instance: "firewire_link.5", peak: 128_620, visits: 1.0 },
    Row3 { instance: "firewire_tree.5", peak: 22_837, visits: 1.0 },
    Row3 { instance: "iprotocol.6", peak: 89_480, visits: 1.724 },
    Row3 { instance: "leader_election.5", peak: 32_400, visits: 1.0 },
    Row3 { instance: "needham.4", peak: 30_420, visits: 1.0 },
    Row3 { instance: "peterson.4", peak: 38_338, visits: 5.286 },
    Row3 { instance: "pgm_protocol.10", peak: 25_142, visits: 1.324 },
    Row3 { instance: "plc.4", peak: 2_447, visits: 1.043 },
    Row3 { instance: "rether.6", peak: 31_599, visits: 1.496 },
    Row3 { instance: "synapse.7", peak: 203_448, visits: 1.333 },
];

/// Small instances of the same families.
const QUICK: &[&str] = &["brp.1", "leader_election.1", "needham.1", "peterson.1"];

/// What takes turns on the instances of Table 3.
const CONTESTANTS: [(&str, &str); 3] = [
    (
        "sweep",
        "--engine sweep -E keep=no -E relaxed=1 --progress-measure sampled --data-budget 2MiB --threads 1",
    ),
    ("sweep-ram", "--engine sweep-ram --progress-measure sampled --threads 1"),
    ("tier", "--engine tier --data-budget 2MiB --threads 1"),
];

fn repeat(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    table_1(program, report)?;
    table_3(program, report)
}

fn table_1(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    report.heading(2, "Table 1: steps by direction");
    let mut table = Table::new("model | measure | back | on | staying | in the paper: back, on, staying");
    for instance in instances(program, TABLE_1.iter().map(|row| row.0)) {
        let Some(model) = program.beem(instance) else { continue };
        let swept = program.run("explore", &model, CONTESTANTS[1].1)?;
        let paper = TABLE_1.iter().find(|row| row.0 == instance);
        let paper =
            paper.map_or_else(|| "-".to_owned(), |row| row.1.map(|it| format!("{it:.1} %")).join(", "));
        let measure = swept.json.pointer("/progress/measure").and_then(Value::as_str).unwrap_or("-");
        table.row([instance.to_owned(), measure.to_owned()].into_iter().chain(shares(&swept)).chain([paper]));
    }
    report.table(&table);
    Ok(())
}

fn table_3(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    report.heading(2, "Table 3 and Fig. 5: what a sweep takes, beside others");
    for (_, words) in CONTESTANTS {
        report.command(&format!("fathom explore MODEL {words}"));
    }
    let mut table = Table::new(
        "model | states | largest bucket | visits per state | in the paper: peak, visits | `sweep` CPU s | `sweep-ram` CPU s | `tier` CPU s",
    );
    let (mut names, mut times, mut factors) = (Vec::new(), Vec::new(), Vec::new());
    for instance in instances(program, TABLE_3.iter().map(|row| row.instance)) {
        let Some(model) = program.beem(instance) else { continue };
        let all = program.in_turns("explore", &model, &CONTESTANTS.map(|contestant| contestant.1))?;
        let paper = TABLE_3.iter().find(|row| row.instance == instance);
        let paper =
            paper.map_or_else(|| "-".to_owned(), |row| format!("{}, {}", count(row.peak), row.visits));
        let visits = all[0].number("/visits").zip(all[2].number("/states"));
        let visits =
            visits.map_or_else(|| "-".to_owned(), |(visits, states)| format!("{:.3}", visits / states));
        let found = [all[2].count("/states"), all[0].count("/progress/largest_bucket"), visits, paper];
        table.row([instance.to_owned()].into_iter().chain(found).chain(all.iter().map(Measured::seconds)));
        if !all.iter().any(Measured::gave_up) {
            names.push(instance.to_owned());
            times.push(all.iter().map(|measured| measured.cpu).collect::<Vec<_>>());
            factors.push(all[2].cpu / all[0].cpu);
        }
    }
    report.table(&table);
    let slowest = |times: &Vec<f64>| times.iter().copied().fold(0.0, f64::max);
    let series: Vec<Series<Option<f64>>> = (0..CONTESTANTS.len())
        .map(|which| Series {
            name: CONTESTANTS[which].0.to_owned(),
            values: times.iter().map(|times| Some(times[which] / slowest(times))).collect(),
        })
        .collect();
    let title = "CPU time, the slowest of an instance is 1";
    report.plot("fig5", title, bars(title, &names, &series, Scale::Linear));
    report.paragraph(&format!(
        "`tier` takes {:.2} times the CPU seconds of `sweep`: the geometric mean of {} instances.",
        mean_factor(&factors),
        factors.len()
    ));
    Ok(())
}

/// Those of a table, or small ones.
fn instances(program: &Program, all: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    if program.quick() { QUICK.to_vec() } else { all.collect() }
}

/// Steps back, on and staying, of a hundred.
fn shares(swept: &Measured) -> [String; 3] {
    let steps = ["regress", "forward", "stationary"].map(|kind| swept.number(&format!("/progress/{kind}")));
    let sum: f64 = steps.iter().flatten().sum();
    steps.map(|it| it.map_or_else(|| "-".to_owned(), |it| format!("{:.1} %", 100.0 * it / sum)))
}
