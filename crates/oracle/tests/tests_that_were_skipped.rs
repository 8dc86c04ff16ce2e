//! How many tests of this run were not made, and why? It is the last test that `cargo test` starts (packages and suites come by name), and has no test runner, which would hide what it prints.

use oracle::skip::skipped_in_this_run;

fn main() {
    if std::env::args().any(|argument| argument == "--list") {
        return;
    }
    let skipped = skipped_in_this_run();
    match skipped.len() {
        0 => println!("\nno test was skipped\n"),
        1 => println!("\n1 test was SKIPPED, which is not a pass:"),
        count => println!("\n{count} tests were SKIPPED, which is not a pass:"),
    }
    skipped.iter().for_each(|line| println!("  {}", line.trim_start_matches("SKIPPED ")));
}
