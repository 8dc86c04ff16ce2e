//! What comes from outside, and what fathom makes of it: hostile text, options at their extremes, signals and clocks, outputs that fail; and what it says of its own verdicts.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

#[path = "../command/mod.rs"]
mod command;
#[path = "../confines/mod.rs"]
mod confines;
#[path = "../endless/mod.rs"]
mod endless;

mod extremes;
mod hostile_text;
mod outputs;
mod signals;
mod verdicts;
