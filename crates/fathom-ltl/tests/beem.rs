//! Do BEEM's published formulas parse, and are our automata as small as those of the published products?
//!
//! Needs `../shared/beem/ltl.tsv` beside the project; skipped, and said so, where it is missing.

use std::path::Path;

use fathom_ltl::atom::AtomTable;
use fathom_ltl::limits::Limits;
use fathom_ltl::parser::parse;
use fathom_ltl::translate::translate;
use oracle::skip::skipped;

#[test]
fn published_formulas_parse_and_their_automata_are_small() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/beem/ltl.tsv");
    let Ok(table) = std::fs::read_to_string(&path) else {
        return skipped(
            "published_formulas_parse_and_their_automata_are_small",
            "../shared/beem/ltl.tsv is not there",
        );
    };
    let (mut ours, mut theirs, mut formulas) = (0, 0, 0);
    for row in table.lines().skip(1) {
        let columns: Vec<&str> = row.split('\t').collect();
        let text = columns[2];
        let formula = parse(text, &mut AtomTable::new())
            .unwrap_or_else(|mistakes| panic!("{}", mistakes[0].render(columns[0], text)));
        formulas += 1;
        // The column gives the states of Spot's automaton for the negation of the property in the row.
        if let Some(states) = columns.get(6).and_then(|column| column.parse::<usize>().ok()) {
            ours += translate(&formula.negated(), Limits::default()).unwrap().buchi.states.len();
            theirs += states;
        }
    }
    println!("{formulas} formulas parsed; states: ours {ours}, theirs {theirs}");
    assert!(formulas > 400 && theirs > 700, "the table has changed its shape");
    assert!(ours * 10 <= theirs * 11, "ours {ours}, theirs {theirs}");
}
