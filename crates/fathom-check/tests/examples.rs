//! The examples run, and the book shows them as they are.

#[path = "../examples/philosophers/main.rs"]
mod philosophers;
#[path = "../examples/river/main.rs"]
mod river;
#[path = "../examples/tour/main.rs"]
mod tour;

#[test]
fn the_programs_run() {
    tour::main().expect("everything is answered");
    river::main().expect("there is a way across");
    philosophers::main().expect("a philosopher starves");
}

#[test]
fn the_book_shows_the_example_as_it_is() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).expect("it is part of the tree");
    let chapter = read("../../docs/src/rust-systems.md");
    let example = read("examples/philosophers/table.rs") + &read("examples/philosophers/main.rs");
    let blocks: Vec<&str> =
        chapter.split("```rust\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() > 5, "the chapter shows the code");
    for block in blocks {
        assert!(example.contains(block), "the example has no such lines:\n{block}");
    }
    let lines = example.lines().count();
    assert!(chapter.contains(&format!("{lines} lines")) && lines < 120, "the example has {lines} lines");
}
