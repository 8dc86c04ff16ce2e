//! What does a writer need of the states of a run, one after the other?

use std::io;

use fathom_check::model::subject::Subject;
use fathom_check::trace::{Trace, TraceState};

/// A state on the way through a run.
pub(super) struct Visited<'a> {
    /// Its number, from 0. Where a cycle closes it is that of the state that comes again.
    pub(super) number: u64,
    /// Whether it is the first state of a cycle once more.
    pub(super) closes: bool,
    /// Whether the step that leads here is one that is repeated for ever.
    pub(super) repeats: bool,
    /// The state.
    pub(super) state: &'a TraceState,
}

/// Calls `visit` on each state of a run.
pub(super) fn walk(
    subject: &dyn Subject,
    trace: &Trace,
    visit: &mut dyn FnMut(Visited<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let (stem, length) = (trace.stem_states(), trace.length());
    for (place, state) in (0..).zip(trace.states(subject).map_err(io::Error::other)?) {
        let state = state.map_err(io::Error::other)?;
        let closes = trace.cycle_length() > 0 && place == length;
        let number = if closes { stem - 1 } else { place };
        visit(Visited { number, closes, repeats: place >= stem, state: &state })?;
    }
    Ok(())
}
