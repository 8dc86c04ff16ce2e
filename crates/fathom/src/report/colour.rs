//! What is coloured, and when? Verdicts, on a terminal that has colours, unless the user wants none (<https://no-color.org>).

use std::io::IsTerminal;

use fathom_check::answers::check::Verdict;

/// Whether what is written there may have colours.
pub fn wanted(stream: &impl IsTerminal) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    stream.is_terminal() && set("NO_COLOR").is_none() && set("TERM").is_none_or(|terminal| terminal != "dumb")
}

/// A word in the colour of a verdict.
pub fn verdict(verdict: Verdict, word: &str) -> String {
    let colour = match verdict {
        Verdict::Holds => 32,
        Verdict::Violated | Verdict::Fault => 31,
        Verdict::Unknown => 33,
    };
    format!("\u{1b}[1;{colour}m{word}\u{1b}[0m")
}
