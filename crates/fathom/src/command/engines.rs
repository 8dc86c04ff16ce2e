//! `fathom engines`: which engines are there, and what do they cost?

use super::print;
use crate::report::Exit;

/// One row per engine: name, body, what it finds, memory, I/O, certificate, origin.
const ENGINES: [[&str; 6]; 9] = [
    [
        "auto",
        "breadth-first, exact",
        "that of ram, then what --ram leaves",
        "none, then that of tier",
        "closed set (--certify)",
        "ram until memory ends, tier from there on; the default for questions on states; --resume",
    ],
    [
        "ram",
        "breadth-first, exact",
        "a few bytes",
        "none",
        "none",
        "a compact table in memory, layers as gap code",
    ],
    [
        "positions",
        "breadth-first, exact",
        "the record, 12 to 24 bytes",
        "none",
        "none",
        "every record in memory in the order found; tells the locality",
    ],
    [
        "tier",
        "breadth-first, exact",
        "what --ram leaves, for any number",
        "sort(steps), few reads per layer",
        "closed set (fathom audit)",
        "Munagala, Ranade 1999; Korf 2004: sorted runs on disk in tiers, a filter in memory; --resume",
    ],
    [
        "stern-dill",
        "breadth-first, exact",
        "what --ram leaves, for any number",
        "all states once per layer",
        "closed set (fathom audit)",
        "Stern, Dill 1998: states gather in memory, all on disk are read past them; to compare with; --resume",
    ],
    [
        "bitstate",
        "depth-first, misses states",
        "3 bits",
        "none",
        "none: proves nothing",
        "Holzmann 1988, 1998: a quick hunt for violations",
    ],
    [
        "ndfs",
        "nested depth-first, exact",
        "a few bytes, and the path",
        "none, or a read per known state",
        "none",
        "Schwoon, Esparza 2005: infinite runs (--ltl), found on the fly; --store tier",
    ],
    [
        "semi-owcty",
        "fix-point, exact",
        "that of auto, then 10 bits",
        "scans, each state a few times",
        "closed set and ranks (--certify)",
        "Barnat, Brim, Simecek 2007: infinite runs, several acceptance sets",
    ],
    [
        "ddfs",
        "double depth-first, exact",
        "that of auto, then 4 bits",
        "accepting states once, the path",
        "none",
        "Edelkamp, Sanders, Simecek 2008: infinite runs",
    ],
];

/// Prints the table.
pub fn run() -> anyhow::Result<Exit> {
    print(&table())?;
    Ok(Exit::Success)
}

fn table() -> String {
    let head = ["engine", "search", "RAM per state", "I/O", "certificate", "what it is"];
    let rows = || std::iter::once(&head).chain(&ENGINES);
    let mut widths = [0; 6];
    for row in rows() {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let line = |row: &[&str; 6]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows().map(line).collect()
}
