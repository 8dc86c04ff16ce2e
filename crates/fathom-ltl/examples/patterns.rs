//! How large are the automata of the usual patterns? Prints `docs/results/ltl-patterns.md`:
//!
//! ```text
//! cargo run --release -p fathom-ltl --example patterns > docs/results/ltl-patterns.md
//! ```

use fathom_ltl::atom::AtomTable;
use fathom_ltl::limits::Limits;
use fathom_ltl::parser::parse;
use fathom_ltl::strength::profile;
use fathom_ltl::translate::translate;

const PATTERNS: &[(&str, &str)] = &[
    ("absence", "G !p"),
    ("absence before r", "F r -> (!p U r)"),
    ("absence after q", "G(q -> G !p)"),
    ("absence between q and r", "G((q && !r && F r) -> (!p U r))"),
    ("absence after q until r", "G(q && !r -> (!p W r))"),
    ("existence", "F p"),
    ("existence before r", "!r W (p && !r)"),
    ("existence after q", "G !q || F(q && F p)"),
    ("existence between q and r", "G(q && !r -> (!r W (p && !r)))"),
    ("existence after q until r", "G(q && !r -> (!r U (p && !r)))"),
    ("bounded existence (twice)", "!p W (p W (!p W (p W G !p)))"),
    ("universality", "G p"),
    ("universality before r", "F r -> (p U r)"),
    ("universality after q", "G(q -> G p)"),
    ("universality between q and r", "G((q && !r && F r) -> (p U r))"),
    ("precedence", "!p W s"),
    ("precedence before r", "F r -> (!p U (s || r))"),
    ("precedence after q", "G !q || F(q && (!p W s))"),
    ("precedence between q and r", "G((q && !r && F r) -> (!p U (s || r)))"),
    ("response", "G(p -> F s)"),
    ("response before r", "F r -> (p -> (!r U (s && !r))) U r"),
    ("response after q", "G(q -> G(p -> F s))"),
    ("response between q and r", "G((q && !r && F r) -> (p -> (!r U (s && !r))) U r)"),
    ("response after q until r", "G(q && !r -> ((p -> (!r U (s && !r))) W r))"),
    ("response chain, 2 answers", "G(p -> F(s && X F t))"),
    ("response chain, 2 causes", "G(s && X F t -> X F(t && F p))"),
    ("infinitely often", "G F p"),
    ("stability", "F G p"),
    ("recurrence of one of three", "G F p || G F q || G F r"),
    ("strong fairness", "G F p -> G F s"),
    ("not strongly fair", "!(G F p -> G F s)"),
    ("weak fairness", "F G p -> G F s"),
    ("two strong fairnesses", "(G F p -> G F s) && (G F q -> G F t)"),
    ("response under fairness", "G F q -> G(p -> F s)"),
    ("next response", "G(p -> X X s)"),
    ("nested until", "p U (q U (r U s))"),
    ("fairness, 2", "G F p && G F q"),
    ("fairness, 4", "G F p && G F q && G F r && G F s"),
    ("fairness, 6", "G F a && G F b && G F c && G F d && G F e && G F f"),
    ("fairness, 8", "G F a && G F b && G F c && G F d && G F e && G F f && G F g && G F h"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("# Automata of usual LTL patterns\n");
    println!(
        "States and edges of the automaton that accepts the words of which the formula holds, and of the one for its"
    );
    println!(
        "negation (which is what a search for violations uses): with accepting states (Büchi), and with marks on edges"
    );
    println!("(generalised, states/marks). D: deterministic. Written by");
    println!("`cargo run --release -p fathom-ltl --example patterns`.\n");
    println!(
        "| pattern | formula | Büchi | strength | generalised | negation: Büchi | strength | generalised |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, text) in PATTERNS {
        let formula =
            parse(text, &mut AtomTable::new()).map_err(|mistakes| mistakes[0].render(name, text))?;
        let mut row = format!("| {name} | `{}` |", text.replace('|', "\\|"));
        for formula in [formula.clone(), formula.negated()] {
            let both = translate(&formula, Limits::default())?;
            let (buchi, generalised) = (profile(&both.buchi), profile(&both.generalised));
            let (Some(buchi), Some(generalised)) = (buchi, generalised) else {
                return Err("labels too large".into());
            };
            let sure = |deterministic: bool| if deterministic { " D" } else { "" };
            row += &format!(" {}, {}{} |", buchi.states, buchi.edges, sure(buchi.deterministic));
            row += &format!(" {} |", buchi.strength.name());
            row += &format!(
                " {}/{}{} |",
                generalised.states,
                generalised.marks,
                sure(generalised.deterministic)
            );
        }
        println!("{row}");
    }
    Ok(())
}
