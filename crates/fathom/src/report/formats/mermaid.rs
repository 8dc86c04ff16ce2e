//! How does Mermaid draw a run? As a sequence diagram: a line for each process and each channel that holds messages, an arrow for each message and each move.

use std::io::{self, Write};

use fathom_check::answers::check::Answer;
use fathom_check::model::assemble::Model;
use fathom_check::trace::{TraceMessage, TraceStep};
use fathom_model::structure::Part;

use super::walk::{Visited, walk};
use crate::report::escape::Printable;
use crate::report::trace::{heading, runs};

/// Who takes part, by name; the number is what the diagram calls them.
struct Participants(Vec<String>);

/// Writes all runs of a check as one diagram.
pub fn write(model: &Model, answers: &[Answer], out: &mut dyn Write) -> io::Result<()> {
    let participants = Participants::of(model);
    writeln!(out, "sequenceDiagram")?;
    for (number, name) in participants.0.iter().enumerate() {
        writeln!(out, "  participant p{number} as {}", encoded(name))?;
    }
    let all = match participants.0.len() {
        1 => "p0".to_owned(),
        several => format!("p0,p{}", several - 1),
    };
    for (answer, trace) in runs(answers) {
        writeln!(out, "  Note over {all}: {}", encoded(&heading(answer, Some(trace))))?;
        let mut open = false;
        walk(model, trace, &mut |Visited { repeats, state, .. }| {
            if repeats && !open {
                writeln!(out, "  loop for ever")?;
                open = true;
            }
            state.step.as_ref().map_or(Ok(()), |step| participants.write_step(step, &all, out))
        })?;
        if open {
            writeln!(out, "  end")?;
        }
        if let Some(fault) = &trace.fault {
            let text = format!("{}: {}", fault.during, fault.title);
            writeln!(out, "  Note over {all}: {}", encoded(&text))?;
        }
    }
    Ok(())
}

impl Participants {
    fn of(model: &Model) -> Participants {
        let program = model.program();
        let mut names: Vec<String> = program.processes.iter().map(|process| process.name.clone()).collect();
        let structure = program.structure.as_deref();
        let channels = structure.into_iter().flat_map(|structure| &structure.variables);
        let buffered = channels.filter(|(_, part)| matches!(part, Part::Channel { .. }));
        names.extend(buffered.map(|(name, _)| name.clone()));
        if names.is_empty() {
            names.push(program.name.clone());
        }
        Participants(names)
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|it| it == name)
    }

    fn write_step(&self, step: &TraceStep, all: &str, out: &mut dyn Write) -> io::Result<()> {
        if let Some(message) = &step.message {
            let end = |process: &Option<String>| {
                self.place(process.as_ref().unwrap_or(&message.channel)).unwrap_or(0)
            };
            let (from, to) = (end(&message.sender), end(&message.receiver));
            writeln!(out, "  p{from}->>p{to}: {}", encoded(&said(message)))?;
        }
        for it in step.moves.iter().filter(|it| step.message.is_none() || it.from != it.to) {
            let place = self.place(&it.process).unwrap_or(0);
            match step.message {
                Some(_) => writeln!(out, "  Note over p{place}: {}", encoded(&it.to))?,
                None => {
                    writeln!(
                        out,
                        "  p{place}->>p{place}: {}",
                        encoded(&format!("{} -> {}", it.from, it.to))
                    )?;
                }
            }
        }
        if step.moves.is_empty() {
            writeln!(out, "  Note over {all}: {}", encoded(&step.title))?;
        }
        Ok(())
    }
}

fn said(TraceMessage { channel, values, .. }: &TraceMessage) -> String {
    if values.is_empty() { channel.clone() } else { format!("{channel}({})", values.join(", ")) }
}

/// A text with everything that means something to Mermaid as a numbered character, and the word `end`, too.
fn encoded(text: &str) -> String {
    let text = Printable(text).to_string();
    let mut out = String::new();
    for (place, letter) in text.char_indices() {
        let plain = letter.is_alphanumeric() || " _.,()=[]/".contains(letter);
        let ends = text[place..].get(..3).is_some_and(|word| word.eq_ignore_ascii_case("end"));
        match plain && !ends {
            true => out.push(letter),
            false => out.push_str(&format!("#{};", u32::from(letter))),
        }
    }
    if out.trim().is_empty() { "#160;".to_owned() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_means_anything_to_mermaid() {
        assert_eq!(encoded("a;b#c\n<x>->>"), "a#59;b#35;c#92;n#60;x#62;#45;#62;#62;");
        assert_eq!(encoded("the end"), "the #101;nd");
        assert_eq!(encoded(" "), "#160;");
        assert_eq!(encoded("müde (1, 2)"), "müde (1, 2)");
    }
}
