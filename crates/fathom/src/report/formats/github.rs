//! How does a build on GitHub show what was found at its place in the model's text?

use fathom_check::answers::check::{Answer, Checked, Verdict};
use fathom_check::model::assemble::Model;

use crate::report::escape::Printable;
use crate::report::trace::{because_line, heading};

/// A line for each property that does not hold, which the build obeys.
pub fn annotations(model: &Model, checked: &Checked) -> String {
    let found = |answer: &&Answer| matches!(answer.verdict, Verdict::Violated | Verdict::Fault);
    let line = |answer: &Answer| {
        let trace = answer.trace.as_ref();
        let fault =
            trace.and_then(|trace| trace.fault.as_ref()).and_then(|fault| fault.line.zip(fault.column));
        let stated = answer.property.span.map(|span| model.source().position(span.start));
        let (line, column) = fault.or(stated.map(|it| (it.line, it.column))).unwrap_or((1, 1));
        let file = property(model.source().name());
        let text = heading(answer, trace);
        let because = trace
            .and_then(|trace| trace.because.as_ref())
            .map_or(String::new(), |because| format!(": {}", because_line(because)));
        let message = message(&format!("{}{because}", text.trim_end_matches(':')));
        format!("::error file={file},line={line},col={column},title=fathom::{message}\n")
    };
    checked.answers.iter().filter(found).map(line).collect()
}

/// The text of an annotation: one line, whatever is in it.
fn message(text: &str) -> String {
    Printable(text).to_string().replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_would_obey_is_shown() {
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25\\n");
        assert_eq!(message("x\r::error::"), "x\\r::error::");
    }
}
