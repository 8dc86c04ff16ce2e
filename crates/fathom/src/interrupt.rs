//! Has the user asked the run to stop?
//!
//! The first SIGINT or SIGTERM asks; a run then ends at its next batch and tells what it knows. The second one ends the process as the
//! system would have done.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

/// A flag that signals raise; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// A flag that no signal raises: only [`Interrupt::raise`] does.
    pub fn detached() -> Interrupt {
        Interrupt::default()
    }

    /// A flag that SIGINT and SIGTERM raise from now on.
    pub fn on_signals() -> io::Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM] {
            // The order matters: the default action is taken only if the flag was raised before.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&interrupt.0))?;
            signal_hook::flag::register(signal, Arc::clone(&interrupt.0))?;
        }
        Ok(interrupt)
    }

    /// Asks the run to stop.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to stop.
    pub fn raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
