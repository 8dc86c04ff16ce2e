//! What does the sweep-line with its queue on disk give on the instances of Evangelista and Kristensen?

use fathom_check::numbers::count;

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

/// What takes turns on the instances of Table 3: the paper's algorithm with its queue, the same in memory, ours as it is by default, and the search by layers with as much memory.
const CONTESTANTS: [(&str, &str); 4] = [
    (
        "SLext",
        "--engine sweep -E keep=no -E relaxed=1 -E queue=array --progress-measure sampled --data-budget 16MiB --threads 1",
    ),
    ("SL", "--engine sweep-ram --progress-measure sampled --threads 1"),
    ("sweep", "--engine sweep --progress-measure sampled --data-budget 16MiB --threads 1"),
    ("tier", "--engine tier --data-budget 16MiB --threads 1"),
];

fn repeat(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    report.paragraph(
        "SL is `sweep-ram`, SLext `sweep` with `-E keep=no -E relaxed=1 -E queue=array`: what the paper describes, corrected, with its parameters. Measures are `sampled`; the paper chose its own from all steps. \
         PART is an engine of its own and not here; its place in Figs 4 and 5 has `tier`. What a sample chooses differs from the paper's choice, so shares of steps do, too.",
    );
    table_1(program, report)?;
    table_3(program, report)
}

fn table_1(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    report.heading(2, "Table 1 and Fig. 2: steps by direction, and who is in memory");
    report.command(&format!("fathom explore MODEL {}", CONTESTANTS[1].1));
    let mut table = Table::new(
        "model | back | on | staying | in the paper: back, on, staying | largest bucket | most in memory | without what waits",
    );
    let mut names = Vec::new();
    let mut series = ["without what waits", "the bucket alone"]
        .map(|name| Series { name: name.into(), values: Vec::new() });
    for instance in instances(program, TABLE_1.iter().map(|row| row.0)) {
        let Some(model) = program.beem(instance) else { continue };
        let swept = program.run("explore", &model, CONTESTANTS[1].1)?;
        let paper = TABLE_1.iter().find(|row| row.0 == instance);
        let paper =
            paper.map_or_else(|| "-".to_owned(), |row| row.1.map(|it| format!("{it:.1} %")).join(", "));
        let counts = ["largest_bucket", "in_memory", "in_memory_but_waiting"]
            .map(|field| swept.count(&format!("/progress/{field}")));
        let name = if swept.gave_up() { format!("{instance}, given up") } else { instance.to_owned() };
        table.row([name].into_iter().chain(shares(&swept)).chain([paper]).chain(counts));
        if let (false, Some(most)) = (swept.gave_up(), swept.number("/progress/in_memory")) {
            names.push(instance.to_owned());
            series[0].values.push(swept.number("/progress/in_memory_but_waiting").map(|it| it / most));
            series[1].values.push(swept.number("/progress/largest_bucket").map(|it| it / most));
        }
    }
    report.table(&table);
    let title = "Fig. 2: states in memory, all with what waits is 1";
    report.plot("fig2", title, bars(title, &names, &series, Scale::Linear));
    Ok(())
}

fn table_3(program: &Program, report: &mut Report) -> anyhow::Result<()> {
    report.heading(2, "Tables 2, 3 and 4, Figs 4 and 5: what a sweep takes, beside others");
    for (_, words) in CONTESTANTS {
        report.command(&format!("fathom explore MODEL {words}"));
    }
    let mut found = Vec::new();
    for instance in instances(program, TABLE_3.iter().map(|row| row.instance)) {
        let Some(model) = program.beem(instance) else { continue };
        found.push((
            instance,
            program.in_turns("explore", &model, &CONTESTANTS.map(|contestant| contestant.1))?,
        ));
    }
    let mut table = Table::new(
        "model | states | most in memory | visits per state | back | on | staying | in the paper: peak, visits",
    );
    for (instance, all) in &found {
        let paper = TABLE_3.iter().find(|row| row.instance == *instance);
        let paper =
            paper.map_or_else(|| "-".to_owned(), |row| format!("{}, {}", count(row.peak), row.visits));
        let visits = all[0].number("/visits").zip(all[3].number("/states"));
        let visits =
            visits.map_or_else(|| "-".to_owned(), |(visits, states)| format!("{:.3}", visits / states));
        let cells = [all[3].count("/states"), all[0].count("/progress/in_memory"), visits];
        let name = if all[0].gave_up() { format!("{instance}, given up") } else { (*instance).to_owned() };
        table.row([name].into_iter().chain(cells).chain(shares(&all[0])).chain([paper]));
    }
    report.paragraph("Table 3, of SLext:");
    report.table(&table);
    costs(report, &found);
    bounds(report, &found);
    figures(report, &found);
    Ok(())
}

/// CPU seconds of all, and where those of a sweep go.
fn costs(report: &mut Report, found: &[(&str, Vec<Measured>)]) {
    let mut table = Table::new(
        "model | SLext CPU s | SL CPU s | `sweep` CPU s | `tier` CPU s | read MB: SLext, `sweep`, `tier` | SLext, ns per step: expand, measure and push, pop and bucket",
    );
    for (instance, all) in found {
        let read = [0, 2, 3].map(|which| {
            all[which].number("/disk/read").map_or_else(|| "-".into(), |it| format!("{:.0}", it / 1e6))
        });
        let parts = ["expand", "offer", "close"].map(|part| {
            all[0].number(&format!("/cost/{part}")).map_or_else(|| "-".into(), |it| format!("{it:.0}"))
        });
        let times = all.iter().map(Measured::seconds);
        table.row(
            [(*instance).to_owned()].into_iter().chain(times).chain([read.join(", "), parts.join(", ")]),
        );
    }
    report.paragraph("Time, and its parts:");
    report.table(&table);
}

/// What Table 2 bounds, in states read or written, beside what was.
fn bounds(report: &mut Report, found: &[(&str, Vec<Measured>)]) {
    let mut table = Table::new("model | bound of SLext | SLext | bound of BFSext | `tier`");
    for (instance, all) in found {
        let number = |pointer: &str| all[0].number(pointer).unwrap_or(f64::NAN);
        let (sweeps, forward) = (number("/progress/sweeps"), number("/progress/forward"));
        // Each step back may have a target of its own; steps forward are those of all sweeps.
        let queue = forward * 2.0 * (forward / 10_000.0 + 1.0).log(10.0).ceil();
        let bound = number("/progress/regress") * (sweeps + 2.0) + queue;
        let states = all[3].number("/states").unwrap_or(f64::NAN);
        let layers = states * (1.0 + all[3].number("/depth").unwrap_or(f64::NAN));
        let moved = |measured: &Measured| {
            let bytes = measured.number("/disk/read")? + measured.number("/disk/written")?;
            Some(bytes / (measured.number("/record_bits")? / 8.0))
        };
        let shown = |value: f64| if value.is_finite() { count(value as u64) } else { "-".to_owned() };
        let was = [&all[0], &all[3]].map(|measured| moved(measured).map_or_else(|| "-".into(), shown));
        let [swept, tier] = was;
        table.row([(*instance).to_owned(), shown(bound), swept, shown(layers), tier]);
    }
    report.paragraph(
        "Table 2: states read or written, at most and really (bytes divided by those of a state; steps back stand for persistent states, of which there are fewer):",
    );
    report.table(&table);
}

/// Figs 4 and 5, and Table 4.
fn figures(report: &mut Report, found: &[(&str, Vec<Measured>)]) {
    let finished: Vec<_> = found.iter().filter(|(_, all)| !all.iter().any(Measured::gave_up)).collect();
    let names: Vec<String> = finished.iter().map(|(name, _)| (*name).to_owned()).collect();
    let factor = |all: &[Measured]| {
        Some(all[1].number("/progress/in_memory")? / all[0].number("/progress/in_memory")?)
    };
    let memory = Series {
        name: "SLext, states in memory; SL is 1".to_owned(),
        values: finished.iter().map(|(_, all)| factor(all).map(|factor| 1.0 / factor)).collect(),
    };
    let read = |measured: &Measured| Some(measured.number("/disk/read")? + measured.number("/disk/written")?);
    let moved = Series {
        name: "SLext, bytes read and written; tier is 1".to_owned(),
        values: finished.iter().map(|(_, all)| Some(read(&all[0])? / read(&all[3])?)).collect(),
    };
    let title = "Fig. 4: memory against SL, input and output against tier";
    report.plot("fig4", title, bars(title, &names, &[memory, moved], Scale::Logarithmic));
    let slowest = |all: &[Measured]| all.iter().map(|measured| measured.cpu).fold(0.0, f64::max);
    let series: Vec<Series<Option<f64>>> = (0..CONTESTANTS.len())
        .map(|which| Series {
            name: CONTESTANTS[which].0.to_owned(),
            values: finished.iter().map(|(_, all)| Some(all[which].cpu / slowest(all))).collect(),
        })
        .collect();
    let title = "Fig. 5: CPU time, the slowest of an instance is 1";
    report.plot("fig5", title, bars(title, &names, &series, Scale::Linear));
    let mut table = Table::new(
        "pairs | number | states in memory: SL / SLext | CPU: SL / SLext | CPU: `tier` / SLext | CPU: `tier` / `sweep`",
    );
    for (name, least) in [("with five times or more", 5.0), ("all that ended", 0.0)] {
        let some: Vec<_> =
            finished.iter().filter(|(_, all)| factor(all).is_some_and(|it| it >= least)).collect();
        let mean = |of: &dyn Fn(&[Measured]) -> Option<f64>| {
            let values: Vec<f64> = some.iter().filter_map(|(_, all)| of(all)).collect();
            if values.is_empty() { "-".to_owned() } else { format!("{:.2}", mean_factor(&values)) }
        };
        let time = |one: usize, other: usize| move |all: &[Measured]| Some(all[one].cpu / all[other].cpu);
        table.row([
            name.to_owned(),
            some.len().to_string(),
            mean(&factor),
            mean(&time(1, 0)),
            mean(&time(3, 0)),
            mean(&time(3, 2)),
        ]);
    }
    report.paragraph("Table 4, geometric means (the paper: 27.74 times the memory, 0.40 of the time of SLext, over those pairs alone where SL takes five times the memory or more):");
    report.table(&table);
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
