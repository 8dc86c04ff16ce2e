//! How does a build server read verdicts? As the test cases of a JUnit file: a property each, with the run in the body of what failed.

use std::io::{self, Write};

use fathom_check::answers::check::{Answer, Checked, Verdict};
use fathom_check::model::assemble::Model;

use crate::report::escape::Printable;
use crate::report::text;
use crate::report::trace::{Sheet, heading, write_run};

/// Writes the verdicts of a check.
pub fn write(model: &Model, checked: &Checked, out: &mut dyn Write) -> io::Result<()> {
    let asked: Vec<&Answer> = checked.answers.iter().collect();
    let count = |verdict: Verdict| asked.iter().filter(|answer| answer.verdict == verdict).count();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\"",
        asked.len(),
        count(Verdict::Violated),
        count(Verdict::Fault),
        count(Verdict::Unknown),
        checked.exploration.usage.elapsed.as_secs_f64()
    );
    let name = escaped(model.source().name());
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"fathom\" {totals}>\n  <testsuite name=\"{name}\" {totals}>")?;
    for answer in asked {
        let seconds = answer.search.as_deref().unwrap_or(&checked.exploration).usage.elapsed;
        let property = escaped(&answer.property.name);
        let kind = answer.property.kind.word();
        let time = seconds.as_secs_f64();
        write!(out, "    <testcase classname=\"{name}\" name=\"{kind}: {property}\" time=\"{time:.3}\"")?;
        match answer.verdict {
            Verdict::Holds => writeln!(out, "/>")?,
            Verdict::Unknown => {
                let why = checked.exploration.limit.map_or("not decided", text::limit_sentence);
                writeln!(out, ">\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(why))?;
            }
            Verdict::Violated => write_failure(model, answer, "failure", out)?,
            Verdict::Fault => write_failure(model, answer, "error", out)?,
        }
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn write_failure(model: &Model, answer: &Answer, element: &str, out: &mut dyn Write) -> io::Result<()> {
    let message = heading(answer, answer.trace.as_ref());
    let kind = answer.property.kind.word();
    write!(
        out,
        ">\n      <{element} type=\"{kind}\" message=\"{}\">",
        escaped(message.trim_end_matches(':'))
    )?;
    for (number, trace) in answer.traces().enumerate() {
        writeln!(out)?;
        if number > 0 {
            writeln!(out, "{}", escaped(&heading(answer, Some(trace))))?;
        }
        write_run(model, trace, Sheet::IN_FILE, &mut Escaping(out))?;
    }
    writeln!(out, "</{element}>\n    </testcase>")
}

/// A text within an attribute or an element. What XML cannot hold at all is shown as on a terminal.
fn escaped(text: &str) -> String {
    marked_up(&Printable(text).to_string())
}

fn marked_up(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Escapes what is written, in pieces none of which ends within a character.
struct Escaping<'a>(&'a mut dyn Write);

impl Write for Escaping<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.write_all(marked_up(&String::from_utf8_lossy(piece)).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
