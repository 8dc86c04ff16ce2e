//! Fairness, weak and strong: is what engines say of fair runs what the implication says that spells fairness out with explicit variables?

use fathom_ltl::atom::AtomId;
use fathom_ltl::formula::Formula;
use fathom_model::acceptance::Acceptance;
use fathom_model::steps::{Labels, ProcessSet};
use fathom_search::files::closed_set::ALL_RECUR;
use oracle::graph::{Embedding, Graph};
use oracle::random::Random;

use crate::engines::{ENGINES, LEAST, by_files, product, projected};
use crate::formulas::{formula, judged};
use crate::products::with_variables;
use crate::ranks::{audited, ranked_by_files};
use crate::suite::{automata, drawn, explored, replayed, rounds, violates};

/// A system, a formula, and the processes that runs are fair to.
struct Case {
    graph: Graph,
    formula: Formula,
    fair: Vec<u32>,
}

/// Any system; half of the formulas want something to happen in the end, which is what fairness is for.
fn any(random: &mut Random) -> Case {
    let (graph, mut formula) = drawn(random, 8);
    if random.chance(50) {
        formula = Formula::Finally(Box::new(formula));
    }
    let count = graph.shape.processes.len() as u32;
    let fair = (0..count).filter(|_| random.chance(60)).take(2).collect();
    Case { graph, formula, fair }
}

/// One process goes round; one or two others can move at some of its states and cannot at others, and where they lead to there is something to see. A run that never lets them is weakly fair, not strongly.
fn contended(random: &mut Random) -> Case {
    let (ring, outside, clients) = (2 + random.below(4), 1 + random.below(4), 1 + random.below(2));
    let nodes = ring + outside;
    // Targets, and who moves.
    let mut steps: Vec<Vec<(usize, u32)>> = (0..ring).map(|node| vec![((node + 1) % ring, 0)]).collect();
    for _ in 0..random.below(3) {
        steps[random.below(ring)].push((random.below(ring), 0));
    }
    for client in 1..=clients as u32 {
        for _ in 0..1 + random.below(ring) {
            let target = if random.chance(80) { ring + random.below(outside) } else { random.below(ring) };
            steps[random.below(ring)].push((target, client));
        }
    }
    for _ in 0..outside {
        let moves = 1 + random.below(2);
        steps.push((0..moves).map(|_| (random.below(nodes), random.below(clients + 1) as u32)).collect());
    }
    let targets: Vec<Vec<usize>> =
        steps.iter().map(|steps| steps.iter().map(|(target, _)| *target).collect()).collect();
    let mut graph = Graph::new(&targets, &[random.below(ring)]);
    graph.shape.processes = (0..=clients).map(|number| format!("P{number}")).collect();
    graph.shape.labels = vec!["served".into(), "other".into()];
    for (number, (node, steps)) in graph.nodes.iter_mut().zip(&steps).enumerate() {
        let served = u64::from(number >= ring && random.chance(75));
        node.labels = Labels(served | u64::from(random.chance(40)) << 1);
        for (edge, (_, mover)) in node.edges.iter_mut().zip(steps) {
            edge.movers = ProcessSet(1 << mover);
            node.enabled.0 |= edge.movers.0;
        }
    }
    graph.embed(*random.pick(&[4, 31, 64, 65, 130]), Embedding::Scattered, random);
    let fair = (0..=clients as u32).filter(|process| *process > 0 || random.chance(20)).take(2).collect();
    Case { graph, formula: demand(random), fair }
}

/// Half of each.
fn mixed(random: &mut Random) -> Case {
    if random.chance(50) { contended(random) } else { any(random) }
}

/// What somebody might ask who waits for the first of two labels.
fn demand(random: &mut Random) -> Formula {
    let atom = |number| Box::new(Formula::Atom(AtomId::new(number).expect("few atoms")));
    let finally = |formula| Formula::Finally(formula);
    let always = |formula: Formula| Formula::Globally(Box::new(formula));
    match random.below(6) {
        0 | 1 => finally(atom(0)),
        2 => always(finally(atom(0))),
        3 => always(Formula::Implies(atom(1), Box::new(finally(atom(0))))),
        4 => Formula::Until(Box::new(Formula::Not(atom(0))), atom(0)),
        _ => {
            let operators = random.below(5);
            finally(Box::new(formula(random, operators, 2)))
        }
    }
}

#[test]
fn weak_fairness_is_the_implication_over_explicit_variables() {
    let (mut violated, mut held, mut different, mut skipped) = (0, 0, 0, 0);
    for seed in 0..rounds(7_000) {
        let mut random = Random::new(seed ^ 0xfa12);
        let Case { graph, formula, fair } = mixed(&mut random);
        if fair.is_empty() {
            continue;
        }
        let (told, implication) = with_variables(&graph, &formula, (&fair, false));
        let Some(expected) = judged(&explored(&told), &implication) else {
            skipped += 1;
            continue;
        };
        violated += u64::from(expected);
        held += u64::from(!expected);
        let [buchi, generalised] = automata(&formula, &graph);
        different +=
            u64::from((ENGINES[0].1)(&product(&graph, &buchi, &[]), ALL_RECUR).is_some() != expected);
        for automaton in [buchi, generalised] {
            let product = product(&graph, &automaton, &fair);
            for (name, engine) in &ENGINES[..2] {
                let found = engine(&product, &|record| product.recurs(record));
                assert_eq!(found.is_some(), expected, "seed {seed}, {name}, fair to {fair:?}");
                let Some(lasso) = found else { continue };
                let run = projected(&lasso, &graph, |record| product.parts(record).0);
                let stutter = product.stutter();
                assert_eq!(violates(&graph, &formula, &run, stutter), Ok(()), "seed {seed}, {name}");
                let seen = replayed(&graph, &run, Some(stutter)).expect("it was replayed");
                for process in &fair {
                    let met = seen[run.cycle_start as usize..]
                        .iter()
                        .any(|seen| seen.movers.contains(*process) || !seen.enabled.contains(*process));
                    assert!(met, "seed {seed}, {name}: not fair to {process}");
                }
            }
        }
    }
    eprintln!(
        "{violated} violated, {held} hold, {different} of them otherwise without fairness, {skipped} skipped"
    );
    assert!(
        violated + held >= 5_000 && violated > 1_000 && held > 1_000 && different > 120,
        "the mix is fair"
    );
}

#[test]
fn strong_fairness_is_the_implication_over_explicit_variables() {
    let (mut violated, mut held, mut different, mut ranked, mut skipped) = (0, 0, 0, 0, 0);
    for seed in 0..rounds(7_000) {
        let mut random = Random::new(seed ^ 0x0057_4095);
        let Case { graph, formula, fair } = mixed(&mut random);
        if fair.is_empty() {
            continue;
        }
        let (told, implication) = with_variables(&graph, &formula, (&fair, true));
        let Some(expected) = judged(&explored(&told), &implication) else {
            skipped += 1;
            continue;
        };
        violated += u64::from(expected);
        held += u64::from(!expected);
        let [buchi, generalised] = automata(&formula, &graph);
        let weakly = product(&graph, &buchi, &fair);
        different += u64::from((ENGINES[1].1)(&weakly, ALL_RECUR).is_some() != expected);
        let automaton = if seed / 2 % 2 == 0 { &buchi } else { &generalised };
        let product = product(&graph, automaton, &[]).strongly_fair(&fair).expect("few marks");
        let recurs = |record: &[u64]| product.recurs(record);
        let bytes = [LEAST, 64 << 10, 8 << 20][seed as usize % 3];
        let found = by_files(&product, &recurs, bytes, 1 + seed as usize / 3 % 2);
        assert_eq!(found.is_some(), expected, "seed {seed}, fair to {fair:?}: {implication:?}");
        if let Some(lasso) = found {
            let run = projected(&lasso, &graph, |record| product.parts(record).0);
            let stutter = product.stutter();
            assert_eq!(violates(&graph, &formula, &run, stutter), Ok(()), "seed {seed}");
            let seen = replayed(&graph, &run, Some(stutter)).expect("it was replayed");
            let cycle = &seen[run.cycle_start as usize..];
            for process in &fair {
                let moves = cycle.iter().any(|seen| seen.movers.contains(*process));
                let can = cycle.iter().any(|seen| seen.enabled.contains(*process));
                assert!(moves || !can, "seed {seed}: not fair to {process}");
            }
        } else if let Some(volume) = ranked_by_files(&product, 1 + seed as usize % 2) {
            // Ranks that are there are ranks of the product, whatever is fair.
            let audited = audited(&product, &volume, None);
            assert!(audited.is_ok(), "seed {seed}: {audited:?}");
            ranked += 1;
        }
    }
    eprintln!(
        "{violated} violated, {held} hold, {ranked} of them by ranks, {different} otherwise with weak fairness, {skipped} skipped"
    );
    assert!(
        violated + held >= 5_000
            && violated > 1_000
            && held > ranked + 50
            && ranked > 1_000
            && different > 500,
        "the mix is fair"
    );
}
