//! If the power goes at any operation, and again while resuming: is what was committed there, and nothing else?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod log;
mod search;
#[path = "../support/mod.rs"]
mod support;
mod values;

use std::sync::atomic::{AtomicU64, Ordering};

/// Crashes that the tests of this suite have survived; they run in any order.
static SURVIVED: AtomicU64 = AtomicU64::new(0);

/// Adds up what a test survived, which must be enough to say something.
fn survived(subject: &str, crashes: u64, at_least: u64) {
    let sum = SURVIVED.fetch_add(crashes, Ordering::Relaxed) + crashes;
    eprintln!("{subject}: {crashes} crashes survived; the suite so far: {sum}");
    assert!(crashes >= at_least, "{subject}: {crashes} crash points are too few");
}
