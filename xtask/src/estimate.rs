//! How good is the estimate of the end? From half of each space on, at every layer: is anything said, how far off is it, and does the truth lie in the range that is told?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use fathom_check::forecast::Profile;

use crate::corpus;

/// Which spaces.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Leave out instances with more published states.
    #[arg(long, default_value_t = 10_000_000)]
    max_states: u64,
    /// Leave out instances with fewer published states.
    #[arg(long, default_value_t = 1_000_000)]
    min_states: u64,
    /// Only instances whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// How many threads explore.
    #[arg(long, default_value_t = 2)]
    threads: usize,
    /// The folder with reference.tsv and models/.
    #[arg(long, default_value = "../shared/beem")]
    folder: PathBuf,
    /// Take the sizes of layers from reports in this folder, NAME.json of `fathom explore --json`, instead of exploring.
    #[arg(long)]
    reports: Option<PathBuf>,
    /// Also write the table to this file, as Markdown.
    #[arg(long)]
    report: Option<PathBuf>,
}

/// How good the estimates of one space were.
struct Row {
    instance: String,
    states: u64,
    layers: usize,
    /// The part of the second half during which something was said.
    told: f64,
    /// The worst that the number of all states was off by, as a factor.
    worst: f64,
    /// How far the states left were off in the median, as a factor, while there was more than a fiftieth left.
    left: Option<f64>,
    /// How often they were in the range that was told, and of how many times.
    within: (usize, usize),
}

/// What is off by no more than this is good.
const GOOD: f64 = 2.0;
/// The part of a space that may be left when its estimates no longer matter.
const REST: f64 = 0.02;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut rows = Vec::new();
    let mut each = |instance: &str, sizes: &[u64]| {
        let row = judged(instance, sizes);
        println!("{}", cells(&row).join("  "));
        rows.push(row);
    };
    match &arguments.reports {
        Some(folder) => reported(folder, arguments.min_states, &mut each)?,
        None => corpus::layer_sizes(&corpus_arguments(arguments), &mut each)?,
    }
    let summary = summary(&rows);
    println!("{summary}");
    if let Some(report) = &arguments.report {
        std::fs::write(report, markdown(&rows, &summary)).with_context(|| format!("{}", report.display()))?;
    }
    let good = rows.iter().filter(|row| row.worst <= GOOD).count();
    Ok(ExitCode::from(u8::from(2 * good < rows.len())))
}

fn corpus_arguments(arguments: &Arguments) -> corpus::Arguments {
    let Arguments { max_states, min_states, only, threads, folder, .. } = arguments;
    corpus::Arguments::of_instances(*min_states..=*max_states, only, *threads, folder)
}

/// The sizes in reports of finished explorations.
fn reported(folder: &Path, min_states: u64, each: &mut dyn FnMut(&str, &[u64])) -> anyhow::Result<()> {
    let mut paths: Vec<PathBuf> =
        folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|it| it == "json")) {
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(path)?)?;
        let sizes: Vec<u64> = serde_json::from_value(report["layers"].clone()).unwrap_or_default();
        if report["verdict"] == "finished" && sizes.iter().sum::<u64>() >= min_states {
            each(&path.file_stem().unwrap_or_default().to_string_lossy(), &sizes);
        }
    }
    Ok(())
}

impl Row {
    /// How often the truth was in the range that was told.
    fn share_within(&self) -> Option<f64> {
        let (within, of) = self.within;
        (of > 0).then(|| within as f64 / of as f64)
    }
}

fn judged(instance: &str, sizes: &[u64]) -> Row {
    let states: u64 = sizes.iter().sum();
    let mut profile = Profile::default();
    let (mut known, mut second_half, mut told) = (0, 0, 0);
    let (mut worst, mut lefts, mut within) = (1f64, Vec::new(), 0);
    for &size in sizes {
        profile.push(size);
        known += size;
        if known * 2 < states {
            continue;
        }
        second_half += size;
        let Some(forecast) = profile.forecast() else { continue };
        told += size;
        let off = (known as f64 + forecast.likely) / states as f64;
        worst = worst.max(off).max(off.recip());
        let left = (states - known) as f64;
        if left > REST * states as f64 {
            let off = (forecast.likely + 1.0) / (left + 1.0);
            lefts.push(off.max(off.recip()));
            within += usize::from(forecast.low <= left && left <= forecast.high);
        }
    }
    lefts.sort_by(f64::total_cmp);
    Row {
        instance: instance.to_owned(),
        states,
        layers: sizes.len(),
        told: told as f64 / second_half.max(1) as f64,
        worst,
        left: lefts.get(lefts.len() / 2).copied(),
        within: (within, lefts.len()),
    }
}

fn cells(row: &Row) -> [String; 7] {
    let percent = |part: f64| format!("{:.0}%", part * 100.0);
    [
        row.instance.clone(),
        row.states.to_string(),
        row.layers.to_string(),
        percent(row.told),
        if row.told > 0.0 { format!("{:.2}", row.worst) } else { "-".into() },
        row.left.map_or("-".into(), |left| format!("{left:.2}")),
        row.share_within().map_or("-".into(), percent),
    ]
}

fn summary(rows: &[Row]) -> String {
    let count = |wanted: &dyn Fn(&&Row) -> bool| rows.iter().filter(wanted).count();
    let good = count(&|row| row.told > 0.0 && row.worst <= GOOD);
    let silent = count(&|row| row.told == 0.0);
    let shares: Vec<f64> = rows.iter().filter_map(Row::share_within).collect();
    let share = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
    format!(
        "{} instances: {good} within a factor of two whenever something was said, {silent} of which nothing was said, {} not; in the range that was told {:.0} of 100 times, in the mean of the instances",
        rows.len(),
        rows.len() - good - silent,
        share * 100.0
    )
}

const HEAD: &str = "# How good the estimates are

While layers are searched, [progress](progress.md) estimates the end from their sizes. This table, made by `cargo xtask estimate`, holds the estimates against BEEM instances whose sizes are known, at every layer from half of the states on:
*told* is the part of the second half during which something was said; *all off by* is the worst factor by which the estimated number of all states differed from the true one; *rest off by* is the median factor for the states still to come,
while they are more than a fiftieth of all; *in range* is how often these were in the range that was told.

";

fn markdown(rows: &[Row], summary: &str) -> String {
    let header = ["instance", "states", "layers", "told", "all off by", "rest off by", "in range"];
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("{HEAD}{summary}.\n\n");
    text += &line(&header.map(String::from));
    text += "|---|--:|--:|--:|--:|--:|--:|\n";
    rows.iter().for_each(|row| text += &line(&cells(row)));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_is_good_and_what_stops_all_of_a_sudden_is_not() {
        let bell: Vec<u64> =
            (0..60).map(|layer| (1e6 * (-((f64::from(layer) - 30.0) / 8.0).powi(2)).exp()) as u64).collect();
        let row = judged("bell", &bell);
        assert!(row.told > 0.5 && row.worst <= GOOD && row.within.0 == row.within.1, "{:?}", cells(&row));
        let wall: Vec<u64> = (0..60).map(|layer| 1000 + layer).collect();
        assert_eq!(judged("wall", &wall).told, 0.0);
    }
}
