//! `fathom engines`: which engines are there, and what do they cost?

use fathom_search::engines::engine::{Engine, EngineOption};
use fathom_search::engines::registry;

use super::print;
use crate::report::Exit;

/// Prints the table.
pub fn run() -> anyhow::Result<Exit> {
    print(&table())?;
    Ok(Exit::Success)
}

fn table() -> String {
    let head = ["engine", "search", "RAM per state", "I/O", "certificate", "what it is"];
    let rows = || std::iter::once(head).chain(registry::ENGINES.into_iter().map(row));
    let mut widths = [0; 6];
    for row in rows() {
        for (width, cell) in widths.iter_mut().zip(&row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |row: [&str; 6]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows().map(line).chain(std::iter::once(options())).collect()
}

fn row(engine: &'static Engine) -> [&'static str; 6] {
    let Engine { name, search, memory, io, certificate, origin, .. } = engine;
    [name, search, memory, io, certificate, origin]
}

/// One line per option of an engine.
fn options() -> String {
    let of = |engine: &'static Engine| engine.options.iter().map(move |option| (engine, option));
    let line = |(engine, option): (&Engine, &EngineOption)| {
        format!("  --engine {} -E {}={}  {}\n", engine.name, option.key, option.value, option.help)
    };
    let lines: String = registry::ENGINES.into_iter().flat_map(of).map(line).collect();
    format!("\noptions of one engine:\n{lines}")
}
