//! Does `auto` decide formulas as the judge does, whatever memory it has, and are its proofs accepted? Random systems and random formulas, against Tarjan's algorithm on the explicit product with the
//! automaton of another translator.

#[path = "../../fathom-search/tests/liveness/formulas.rs"]
mod formulas;

use std::collections::BTreeMap;

use fathom_check::Check;
use fathom_check::answers::check::Verdict;
use fathom_check::resources::Resources;
use fathom_ltl::formula::Formula;
use fathom_model::steps::Labels;
use oracle::bfs::{Limits, explore};
use oracle::forms::{Form, formed_graph, random_graph};
use oracle::graph::Graph;
use oracle::random::Random;

use formulas::{formula, judged};

/// Families of which there are large members with few steps and few layers: each of these takes a byte or two, whatever the budget.
const LARGE: [Form; 3] = [Form::Sparse, Form::Torus, Form::DeBruijn];

/// A random system without faults and with a label at least, and a formula over its labels.
fn drawn(random: &mut Random, large: bool) -> (Graph, Formula) {
    loop {
        let mut graph = match large {
            true => {
                let (form, nodes) = (*random.pick(&LARGE), 6_000 + random.below(6_000));
                formed_graph(random, form, nodes, 20)
            }
            false => random_graph(random, 30),
        };
        if graph.shape.labels.is_empty() {
            continue;
        }
        graph.starts.retain(Result::is_ok);
        for node in &mut graph.nodes {
            node.faults.clear();
            node.labels.0 &= !Labels::FAULT.0;
        }
        graph.count_again();
        let labels = graph.shape.labels.len();
        // Of a large system the question is to be one that takes all of it.
        let operators = random.below(if large { 3 } else { 7 });
        let mut wanted = formula(random, operators, labels);
        if large {
            let asked = formula(random, 0, labels);
            let wanted_then = Formula::Finally(Box::new(wanted));
            wanted = Formula::Globally(Box::new(Formula::Implies(Box::new(asked), Box::new(wanted_then))));
        }
        return (graph, wanted);
    }
}

/// What the search of a product needs beside its structures: for each thread the steps of one state, twice over, with the automaton's.
fn beside(graph: &Graph, threads: usize) -> usize {
    let widest = graph.nodes.iter().map(|node| node.edges.len()).max().unwrap_or(0).max(1);
    threads * 8 * widest * (graph.shape.width_bits as usize / 8 + 96)
}

/// What `auto` has decided so far, and by which engine.
#[derive(Debug, Default)]
struct Tally {
    violated: u64,
    held: u64,
    proofs: u64,
    skipped: u64,
    decided_by: BTreeMap<&'static str, u64>,
}

impl Tally {
    /// Checks a formula in so many bytes, and compares. A search that lasts is decided by passes, and leaves a proof; another one often on the fly.
    fn compare(
        &mut self,
        name: &str,
        (graph, formula): (&Graph, &Formula),
        bytes: usize,
        threads: usize,
        lasts: bool,
    ) {
        let explored = explore(graph, Limits::states(100_000)).expect("the graph is small");
        let Some(expected) = judged(&explored, formula) else {
            self.skipped += 1;
            return;
        };
        self.violated += u64::from(expected);
        self.held += u64::from(!expected);
        let text = formula.display(&graph.shape.labels).to_string();
        let resources =
            Resources { data_budget: Some(bytes as u64), threads, ..Resources::of_this_machine() };
        let mut check = Check::new(graph).formula(text.as_str()).resources(resources);
        let folder = tempfile::tempdir().expect("a folder");
        if lasts {
            check = check.lasting("random", folder.path());
        }
        let name = format!("{name}, {text}, {bytes} bytes, {threads} threads, lasts: {lasts}");
        let checked = check.run().unwrap_or_else(|error| panic!("{name}: {error}"));
        let verdict = if expected { Verdict::Violated } else { Verdict::Holds };
        let answer = &checked.answers[0];
        assert_eq!(answer.verdict, verdict, "{name}, {:?}", checked.exploration.limit);
        assert_eq!(answer.trace.is_some(), expected, "{name}: a violation is shown");
        *self.decided_by.entry(checked.exploration.engine).or_default() += 1;
        if lasts && !expected {
            // An audit has memory of its own.
            let audits = check.resources(Resources::of_this_machine()).audit();
            for audit in audits.unwrap_or_else(|error| panic!("{name}: {error}")) {
                assert!(audit.verdict.is_ok(), "{name}: {:?}", audit.verdict);
                self.proofs += 1;
            }
        }
    }
}

/// How many systems; `FATHOM_LONG` makes it twenty times as many.
fn rounds(few: u64) -> u64 {
    if std::env::var_os("FATHOM_LONG").is_some() { few * 20 } else { few }
}

#[test]
fn auto_decides_as_the_judge_does_in_any_memory() {
    let mut tally = Tally::default();
    for seed in 0..rounds(900) {
        let (graph, formula) = drawn(&mut Random::new(seed ^ 0x00a0_7030), false);
        let threads = 1 + seed as usize % 2;
        let words = graph.shape.width_bits as usize / 64 + 2;
        let bytes = match seed / 2 % 3 {
            0 => 4096 * words + beside(&graph, threads),
            1 => (64 << 10) * words + beside(&graph, threads),
            _ => 64 << 20,
        };
        tally.compare(&format!("seed {seed}"), (&graph, &formula), bytes, threads, seed / 6 % 3 == 0);
    }
    eprintln!("{tally:?}");
    let Tally { violated, held, proofs, skipped, .. } = tally;
    assert!(violated > 200 && held > 200 && proofs > 50 && skipped * 20 < violated + held, "the mix is fair");
}

#[test]
fn auto_decides_where_no_bits_fit() {
    let mut tally = Tally::default();
    for seed in 0..rounds(40) {
        let (graph, formula) = drawn(&mut Random::new(seed ^ 0x0b17_5f17), true);
        let threads = 1 + seed as usize % 2;
        let bytes = 4096 + beside(&graph, threads);
        tally.compare(&format!("seed {seed}"), (&graph, &formula), bytes, threads, seed / 2 % 2 == 0);
    }
    eprintln!("{tally:?}");
    let decided = |engine: &str| tally.decided_by.get(engine).copied().unwrap_or(0);
    assert!(decided("owcty") > 3 && tally.decided_by.len() > 2, "bits do not fit: {tally:?}");
}
