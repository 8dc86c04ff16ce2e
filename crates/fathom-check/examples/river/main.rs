//! How does a farmer bring a wolf, a goat and a cabbage across a river?
//!
//! `cargo run --release -p fathom-check --example river`

mod boat;

use fathom_check::{Check, Given};

pub(crate) fn main() -> Result<(), Box<dyn std::error::Error>> {
    let system = boat::river();
    let checked = Check::new(&system).goal("across").run()?;
    match &checked.answers[0].trace {
        Some(trace) => trace.lines(&Given(&system))?.iter().for_each(|line| println!("{line}")),
        None => println!("there is no way across"),
    }
    Ok(())
}
