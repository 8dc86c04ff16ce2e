//! How near do inferred widths come to what runs really use? Bits per record, declared and inferred, beside what was observed.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::layout::{Declared, Layout};
use fathom_model::values::PossibleValues;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder with the models.
    #[arg(long, default_value = "../shared/beem/models")]
    folder: PathBuf,
    /// Models to measure instead of those with observed figures; no file ending.
    models: Vec<String>,
}

/// Models whose whole state space was observed: bits for 0 to the largest value seen, and for the number of distinct values seen, per variable.
const OBSERVED: [(&str, u32, u32); 15] = [
    ("peterson.4", 50, 50),
    ("szymanski.4", 40, 40),
    ("iprotocol.4", 58, 58),
    ("rether.6", 88, 88),
    ("elevator2.3", 39, 27),
    ("lamport.6", 48, 38),
    ("leader_filters.5", 58, 58),
    ("leader_election.5", 395, 176),
    ("synapse.7", 199, 61),
    ("brp.4", 51, 51),
    ("resistance.1", 29, 29),
    ("bakery.6", 52, 52),
    ("at.4", 72, 42),
    ("anderson.6", 52, 52),
    ("firewire_link.5", 203, 100),
];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    println!(
        "| model | declared | inferred | range | dict | inferred / range | ms |\n|---|---|---|---|---|---|---|"
    );
    let mut ratios = Vec::new();
    if arguments.models.is_empty() {
        for (model, range, dict) in OBSERVED {
            if !arguments.folder.join(format!("{model}.dve")).exists() {
                println!("| {model} | not there | | {range} | {dict} | | |");
                continue;
            }
            let (declared, inferred, milliseconds) = measure(arguments, model)?;
            let ratio = f64::from(inferred) / f64::from(range);
            ratios.push(ratio);
            println!(
                "| {model} | {declared} | {inferred} | {range} | {dict} | {ratio:.2} | {milliseconds:.1} |"
            );
        }
        ratios.sort_by(f64::total_cmp);
        println!(
            "\nmedian of inferred / range: {:.2} over {} models",
            ratios[ratios.len() / 2],
            ratios.len()
        );
    }
    for model in &arguments.models {
        let (declared, inferred, milliseconds) = measure(arguments, model)?;
        println!("| {model} | {declared} | {inferred} | | | | {milliseconds:.1} |");
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(arguments: &Arguments, model: &str) -> anyhow::Result<(u32, u32, f64)> {
    let path = arguments.folder.join(format!("{model}.dve"));
    let text = std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?;
    let source = SourceText::new(model, text);
    let Ok(compiled) = compile(&source, &DveOptions::default()) else { bail!("{model} is not accepted") };
    let began = Instant::now();
    let values = PossibleValues::of(&compiled.program);
    let milliseconds = began.elapsed().as_secs_f64() * 1000.0;
    let declared = Layout::new(&compiled.program, &Declared).width_bits;
    let inferred = Layout::new(&compiled.program, &values).width_bits;
    Ok((declared, inferred, milliseconds))
}
