//! How does GraphViz draw a run? A row of states with what changed in them, an edge for each step, and an edge back where a cycle closes.

use std::io::{self, Write};

use fathom_check::answers::check::Answer;
use fathom_check::model::subject::Subject;

use super::walk::{Visited, walk};
use crate::report::escape::Printable;
use crate::report::state;
use crate::report::trace::{heading, runs, step_line};

/// How wide the lines in a state are.
const WIDTH: usize = 50;

/// Writes all runs of a check as one graph.
pub fn write(subject: &dyn Subject, answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "digraph trace {{")?;
    writeln!(out, "  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];")?;
    for (run, (answer, trace)) in runs(answers).enumerate() {
        writeln!(out, "  subgraph cluster_{run} {{\n    label={};", quoted(&[heading(answer, Some(trace))]))?;
        let mut before = None;
        let mut from = None;
        walk(subject, trace, &mut |Visited { number, closes, repeats, state }| {
            if !closes {
                let mut lines = vec![number.to_string()];
                lines.extend(state::lines(before.as_ref(), &state.state, WIDTH));
                let bent = if repeats { ", style=rounded" } else { "" };
                writeln!(out, "    s{run}_{number} [label={}{bent}];", quoted(&lines))?;
            }
            if let (Some(from), Some(step)) = (from, &state.step) {
                let label = quoted(&[step_line(step)]);
                writeln!(out, "    s{run}_{from} -> s{run}_{number} [label={label}];")?;
            }
            (before, from) = (Some(state.state.clone()), Some(number));
            Ok(())
        })?;
        if let Some(fault) = &trace.fault {
            let text = format!("{}: {}", Printable(&fault.during), Printable(&fault.title));
            writeln!(out, "    s{run}_fault [label={}, color=red];", quoted(&[text]))?;
            if let Some(from) = from {
                writeln!(out, "    s{run}_{from} -> s{run}_fault;")?;
            }
        }
        writeln!(out, "  }}")?;
    }
    writeln!(out, "}}")
}

/// Lines as a string of GraphViz, flush left.
fn quoted(lines: &[String]) -> String {
    let escaped = |line: &String| {
        format!("{}\\l", Printable(line).to_string().replace('\\', "\\\\").replace('"', "\\\""))
    };
    format!("\"{}\"", lines.iter().map(escaped).collect::<String>())
}
