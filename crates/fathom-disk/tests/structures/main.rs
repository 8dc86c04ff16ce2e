//! Contract suites of the structures that answer "seen before?" and "what is next?": each against a plain std model.

// Test code throughout, helpers included: a failure should stop the test.
#![allow(clippy::unwrap_used)]

mod filter;
mod log;
mod perfect_hash;
mod priority_queue;
mod random;
mod sketch;
mod table;
mod window;
