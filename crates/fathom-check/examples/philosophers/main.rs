//! Does a philosopher who is hungry eat? Not if both neighbours conspire, though everybody moves who can.
//!
//! `cargo run --release -p fathom-check --example philosophers`

mod table;

use fathom_check::{Check, Given};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = table::philosophers(11); // More than a million states.
    let checked = Check::new(&system).formula("G (hungry -> F eating)").weakly_fair().run()?;
    let answer = &checked.answers[0];
    println!("whoever is hungry eats: {:?}", answer.verdict);
    if let Some(trace) = &answer.trace {
        println!("the last {} steps go round for ever:", trace.cycle_length());
        trace.lines(&Given(&system))?.iter().for_each(|line| println!("  {line}"));
    }
    Ok(())
}
