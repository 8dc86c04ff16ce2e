//! How is something said beside the result? On standard error, in whole lines, and as nothing but text.

use std::io::{self, Write};

use super::escape;

/// Says something.
pub fn say(text: &str) {
    tell(&escape::text(text));
}

/// Says something that may have colours of our own.
pub fn say_coloured(text: &str) {
    tell(&escape::coloured(text));
}

/// What cannot be said is no reason to end a run.
fn tell(text: &str) {
    let mut stderr = io::stderr().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.write_all(end.as_bytes()));
}
