//! Has somebody asked for an end in the middle of a step?
//!
//! A step of a model can take for ever: its loops are the model's. Whoever runs it looks here once in every round of a loop, so that it ends soon after the
//! flag went up: as a step that was neither made nor found to fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end a step before it is done; clones share it. Whoever holds the flag may raise it at any time, and lower it when nothing of what it ended is used
/// any more.
#[derive(Clone, Debug)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// One that nobody raises.
    pub fn never() -> StopFlag {
        StopFlag(Arc::default())
    }

    /// Whether steps are to end.
    #[inline]
    pub fn is_up(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Where compiled code finds it, as long as a clone is held: a byte that is not 0 while it is up.
    #[cfg(feature = "jit")]
    pub(crate) fn address(&self) -> *const AtomicBool {
        Arc::as_ptr(&self.0)
    }
}

impl From<Arc<AtomicBool>> for StopFlag {
    fn from(flag: Arc<AtomicBool>) -> StopFlag {
        StopFlag(flag)
    }
}
