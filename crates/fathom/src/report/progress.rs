//! What measures of progress promise, and how large components are, as text.

use std::fmt::Write as _;

use fathom_check::answers::progress_report::{ProgressReport, ProgressRow};
use fathom_search::graph::components::Components;

use super::escape::Printable;
use super::text::count;

/// A line for each measure, and what each is made of.
pub fn report(report: &ProgressReport) -> String {
    let ProgressReport { all_steps, steps, states, rows, components } = report;
    let mut text = match (all_steps, states) {
        (true, Some(states)) => format!("all {} steps of {} states\n\n", count(*steps), count(*states)),
        _ => format!("a sample of {} steps along random walks\n\n", count(*steps)),
    };
    let _ = writeln!(
        text,
        "  {:<14} {:>8} {:>8} {:>8} {:>9} {:>10} {:>10}",
        "measure", "forward", "same", "back", "at most", "buckets", "largest"
    );
    rows.iter().for_each(|row| line(&mut text, row, *states));
    text.push('\n');
    for ProgressRow { name, measure, .. } in rows {
        let _ = writeln!(text, "  {name:<14} {}", Printable(measure));
    }
    text.push_str("\n  Shares are of steps, and of states in the largest bucket: so many are in memory at once, beside what waits.\n");
    if let Some(components) = components {
        let largest = count(components.largest());
        let _ = writeln!(
            text,
            "  The largest strongly connected component has {largest} states: no measure without steps back has smaller buckets."
        );
    }
    text
}

fn line(text: &mut String, row: &ProgressRow, states: Option<u64>) {
    let forecast = &row.forecast;
    let share = |steps: u64| format!("{:.2}%", steps as f64 * 100.0 / forecast.steps.max(1) as f64);
    let bound = match states {
        Some(_) => share(forecast.regress),
        None => format!("{:.2}%", forecast.regress_bound() * 100.0),
    };
    let largest = format!("{:.3}%", forecast.largest * 100.0);
    let _ = writeln!(
        text,
        "  {:<14} {:>8} {:>8} {:>8} {bound:>9} {:>10} {largest:>10}",
        row.name,
        share(forecast.forward),
        share(forecast.stationary),
        share(forecast.regress),
        count(forecast.buckets),
    );
}

/// Sizes that are listed: the largest.
const SIZES_MAX: usize = 20;

/// Components by size, the largest first.
pub fn components(components: &Components) -> String {
    let mut text = format!(
        "{} states in {} strongly connected components, the largest of {}; {} with a step to themselves\n\n",
        count(components.states),
        count(components.count()),
        count(components.largest()),
        count(components.loops)
    );
    let _ = writeln!(text, "  {:>14} {:>14}", "states each", "components");
    for (size, number) in components.sizes.iter().rev().take(SIZES_MAX) {
        let _ = writeln!(text, "  {:>14} {:>14}", count(*size), count(*number));
    }
    let more = components.sizes.len().saturating_sub(SIZES_MAX);
    if more > 0 {
        let _ = writeln!(text, "  ... and {} smaller sizes", count(more as u64));
    }
    text
}
