//! `cargo xtask bench disk`: what do the structures on disk cost, side by side with what they are compared to?

use std::path::PathBuf;
use std::process::ExitCode;

use super::codecs::{self, Measured, VARIANTS};
use super::records::RecordSet;
use super::{device, disk_structures, sets};

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A folder of recorded state sets (`cargo xtask bench records`); without it codecs are not measured.
    #[arg(long)]
    records: Option<PathBuf>,
    /// Where to put files; on the device to be measured.
    #[arg(long, default_value = "target/bench-disk")]
    dir: PathBuf,
    /// Keys to sort and merge.
    #[arg(long, default_value_t = 4_000_000)]
    keys: usize,
    /// Size of the file for the device, in MiB.
    #[arg(long, default_value_t = 512)]
    mebibytes: usize,
    /// Only what needs state sets: codecs and tables.
    #[arg(long)]
    only_codecs: bool,
    /// Only tables on state sets.
    #[arg(long)]
    only_tables: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &arguments.records {
        if !arguments.only_tables {
            state_sets(folder)?;
        }
        disk_structures::state_sets(folder)?;
    }
    if arguments.only_tables {
        return Ok(ExitCode::SUCCESS);
    }
    if !arguments.only_codecs {
        sets::sorting(arguments.keys)?;
        sets::merging(arguments.keys)?;
        disk_structures::measure(arguments.keys)?;
        std::fs::create_dir_all(&arguments.dir)?;
        let folder = tempfile::tempdir_in(&arguments.dir)?;
        sets::insertion(folder.path(), arguments.keys / 2)?;
        device::measure(&folder.path().join("device"), arguments.mebibytes)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn state_sets(folder: &std::path::Path) -> anyhow::Result<()> {
    println!("### Bytes per state: whole / in eighths of the order found\n");
    let names: Vec<String> =
        VARIANTS.iter().map(|(codec, keys)| format!("{} {keys}", codec.name())).collect();
    let head = "| model | states | bits | ";
    println!("{head}{} | run live, eighths | run at rest |", names.join(" | "));
    println!("|---|---|---|{}---|---|", "---|".repeat(names.len()));
    let mut all: Vec<(String, Vec<Measured>)> = Vec::new();
    let (mut lives, mut rests) = (Vec::new(), Vec::new());
    for path in RecordSet::read_all(folder)? {
        let set = RecordSet::read(&path)?;
        let measured = codecs::measure(&set)?;
        let (live, rest) = codecs::run_bytes(&set)?;
        let cells: Vec<String> =
            measured.iter().map(|it| format!("{:.2} / {:.2}", it.bytes_whole, it.bytes_eighths)).collect();
        let states = set.records.len() / set.words;
        println!(
            "| {} | {states} | {} | {} | {live:.2} | {rest:.2} |",
            set.name,
            set.bits,
            cells.join(" | ")
        );
        all.push((set.name, measured));
        lives.push(live);
        rests.push(rest);
    }
    let median_of = |value: &dyn Fn(&Measured) -> f64, variant: usize| {
        median(all.iter().map(|(_, measured)| value(&measured[variant])).collect())
    };
    let cells: Vec<String> = (0..VARIANTS.len())
        .map(|variant| {
            let whole = median_of(&|it| it.bytes_whole, variant);
            format!("{whole:.2} / {:.2}", median_of(&|it| it.bytes_eighths, variant))
        })
        .collect();
    println!("| **median** | | | {} | {:.2} | {:.2} |", cells.join(" | "), median(lives), median(rests));
    println!("\n### Nanoseconds per key: encode / decode\n\n| model | {} |", names.join(" | "));
    println!("|---|{}", "---|".repeat(names.len()));
    for (name, measured) in &all {
        let cells: Vec<String> =
            measured.iter().map(|it| format!("{:.1} / {:.1}", it.encode_nanos, it.decode_nanos)).collect();
        println!("| {name} | {} |", cells.join(" | "));
    }
    let cells: Vec<String> = (0..VARIANTS.len())
        .map(|variant| {
            let encode = median_of(&|it| it.encode_nanos, variant);
            format!("{encode:.1} / {:.1}", median_of(&|it| it.decode_nanos, variant))
        })
        .collect();
    println!("| **median** | {} |", cells.join(" | "));
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
