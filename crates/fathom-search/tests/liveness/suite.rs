//! The contract: every engine finds an accepting run exactly where the judge says that there is one, and what it finds is one.

use fathom_ltl::automaton::Automaton;
use fathom_ltl::evaluate;
use fathom_ltl::formula::Formula;
use fathom_ltl::limits::Limits as TranslationLimits;
use fathom_ltl::strength::{Strength, profile, saturated};
use fathom_ltl::translate::translate;
use fathom_ltl::word::Lasso as Word;
use fathom_model::acceptance::Acceptance;
use fathom_model::checked::Checked;
use fathom_model::system::TransitionSystem;
use fathom_search::engines::owcty;
use fathom_search::files::closed_set::ALL_RECUR;
use fathom_search::files::successor_graph::GraphUse;
use fathom_search::task::Unobserved;
use fathom_search::traces::lasso::{self, Lasso, LassoRefusal, Seen};
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::{Form, formed_graph, random_graph};
use oracle::graph::Graph;
use oracle::liveness::for_each_lasso;
use oracle::random::Random;
use oracle::tarjan::{accepting_component, components};

use crate::engines::{ENGINES, LEAST, WEAK_ENGINES, by_files, least, maximal, product, projected};
use crate::formulas::{formula, judged};
use crate::ranks::{audited, certified, certified_by, ranked_by_files};

/// How many systems; `FATHOM_LONG` makes it a hundred times as many.
pub(crate) fn rounds(few: u64) -> u64 {
    if std::env::var_os("FATHOM_LONG").is_some() { few * 100 } else { few }
}

fn explored(graph: &Graph) -> Explored {
    explore(graph, Limits::states(100_000)).expect("the graph is small")
}

/// A random system with at least one label, and a formula over its labels.
pub(crate) fn drawn(random: &mut Random, nodes: usize) -> (Graph, Formula) {
    loop {
        let graph = random_graph(random, nodes);
        if !graph.shape.labels.is_empty() {
            let operators = random.below(7);
            let formula = formula(random, operators, graph.shape.labels.len());
            return (graph, formula);
        }
    }
}

/// Both automata of the negation, with all labels of the system as atoms.
pub(crate) fn automata(formula: &Formula, graph: &Graph) -> [Automaton; 2] {
    let made = translate(&formula.negated(), TranslationLimits::default()).expect("the formula is small");
    [made.buchi, made.generalised]
        .map(|automaton| Automaton { atom_count: graph.shape.labels.len(), ..automaton })
}

/// Is this lasso of a product a run of the system of which the formula does not hold?
pub(crate) fn violates(
    system: &dyn TransitionSystem,
    formula: &Formula,
    lasso: &Lasso,
    stutter: u32,
) -> Result<(), String> {
    let seen = replayed(system, lasso, Some(stutter)).map_err(|refusal| refusal.to_string())?;
    let letters: Vec<u64> = seen.iter().map(|seen| seen.labels.0).collect();
    let (stem, cycle) = letters.split_at(lasso.cycle_start as usize);
    let word = Word::new(stem, cycle).ok_or("the cycle is empty")?;
    if evaluate::holds(formula, &word) { Err("the formula holds of it".into()) } else { Ok(()) }
}

/// What a system says of the states of a lasso that is a run of it.
fn replayed(
    system: &dyn TransitionSystem,
    lasso: &Lasso,
    stutter: Option<u32>,
) -> Result<Vec<Seen>, LassoRefusal> {
    let mut all = Vec::new();
    lasso::replay(system, lasso, stutter, &Unobserved, &mut |_, seen| all.push(seen))?;
    Ok(all)
}

#[test]
fn engines_agree_with_the_judge() {
    engines_agree((0..rounds(2_500)).step_by(2));
}

/// Two tests, so that two cores share them.
#[test]
fn engines_agree_with_the_judge_on_the_other_half() {
    engines_agree((1..rounds(2_500)).step_by(2));
}

fn engines_agree(seeds: impl Iterator<Item = u64>) {
    let (mut violated, mut held, mut skipped) = (0, 0, 0);
    for seed in seeds {
        let mut random = Random::new(seed);
        let (graph, formula) = drawn(&mut random, 30);
        let explored = explored(&graph);
        let Some(expected) = judged(&explored, &formula) else {
            skipped += 1;
            continue;
        };
        violated += u64::from(expected);
        held += u64::from(!expected);
        for automaton in automata(&formula, &graph) {
            let product = Checked(product(&graph, &automaton, &[]));
            // Each engine on every fourth system, the first on all.
            let turn = |place: usize| place == 0 || place as u64 % 4 == seed % 4;
            for (_, (name, engine)) in ENGINES.iter().enumerate().filter(|(place, _)| turn(*place)) {
                let found = engine(&product, &|record| product.0.recurs(record));
                let names = &graph.shape.labels;
                assert_eq!(found.is_some(), expected, "seed {seed}, {name}: {}", formula.display(names));
                if let Some(lasso) = found {
                    let run = projected(&lasso, &graph, |record| product.0.parts(record).0);
                    let judgement = violates(&graph, &formula, &run, product.0.stutter());
                    assert_eq!(judgement, Ok(()), "seed {seed}, {name}: {}", formula.display(names));
                    let accepting = replayed(&product, &lasso, None);
                    assert!(accepting.is_ok(), "seed {seed}, {name}: {accepting:?}");
                }
            }
        }
    }
    eprintln!("{violated} violated, {held} hold, {skipped} too large for the judge");
    assert!(violated > 200 && held > 200 && skipped * 20 < violated + held, "the mix is fair");
}

#[test]
fn the_least_memory_is_what_is_said() {
    let mut most = [0; 3];
    for seed in 0..rounds(40) {
        let (graph, formula) = drawn(&mut Random::new(seed ^ 0x001e_a577), 30);
        let [_, generalised] = automata(&formula, &graph);
        let product = product(&graph, &generalised, &[]);
        let counted = fathom_ltl::degeneralised::Degeneralised::new(&product);
        let found = [least(&product, 1, false), least(&product, 2, false), least(&counted, 1, true)];
        most = std::array::from_fn(|engine| most[engine].max(found[engine]));
        assert!(found.iter().all(|bytes| *bytes <= LEAST), "seed {seed}: {found:?}");
    }
    eprintln!("at most {most:?} bytes per word: semi-owcty, with two threads, ddfs");
}

#[test]
fn where_the_automaton_is_weak_one_pass_decides() {
    let (mut violated, mut held) = (0, 0);
    for seed in 0..rounds(2_000) {
        let mut random = Random::new(seed ^ 0x3ea7);
        let (graph, formula) = drawn(&mut random, 30);
        let [buchi, _] = automata(&formula, &graph);
        let profile = profile(&buchi).expect("the automaton is small");
        let (true, Some(expected)) =
            (profile.strength <= Strength::Weak, judged(&explored(&graph), &formula))
        else {
            continue;
        };
        violated += u64::from(expected);
        held += u64::from(!expected);
        let product = product(&graph, &saturated(&buchi, &profile), &[]);
        for (name, engine) in WEAK_ENGINES {
            let found = engine(&product, &|record| product.recurs(record));
            assert_eq!(found.is_some(), expected, "seed {seed}, {name}");
            if let Some(lasso) = found {
                let run = projected(&lasso, &graph, |record| product.parts(record).0);
                let judgement = violates(&graph, &formula, &run, product.stutter());
                assert_eq!(judgement, Ok(()), "seed {seed}, {name}");
            }
        }
    }
    eprintln!("{violated} violated, {held} hold");
    assert!(violated > 300 && held > 300, "the mix is fair");
}

#[test]
fn accepting_cycles_are_of_states_that_recur() {
    let (mut cycles, mut left_out) = (0, 0);
    for seed in 0..rounds(1_000) {
        let mut random = Random::new(seed ^ 0x4ec4);
        let (graph, formula) = drawn(&mut random, 20);
        for automaton in automata(&formula, &graph) {
            let product = product(&graph, &automaton, &[]);
            let explored = explore(&product, Limits::states(100_000)).expect("the product is small");
            let components = components(&explored);
            let recurs: Vec<bool> =
                explored.states.iter().map(|state| product.recurs(&state.record)).collect();
            left_out += recurs.iter().filter(|recurs| !**recurs).count();
            let mut met = vec![None; components.count];
            for (source, state) in explored.states.iter().enumerate() {
                let component = components.component_of[source];
                let inside = |step: &&oracle::bfs::Step| components.component_of[step.target] == component;
                for step in state.steps.iter().filter(inside) {
                    *met[component].get_or_insert(0) |= step.marks.0;
                }
            }
            for (state, recurs) in recurs.iter().enumerate() {
                let accepting = met[components.component_of[state]] == Some(automaton.all_marks());
                assert!(!accepting || *recurs, "seed {seed}, state {state}");
                cycles += u64::from(accepting);
            }
        }
    }
    eprintln!("{cycles} states on accepting cycles, {left_out} left out");
    assert!(cycles > 2_000 && left_out > 2_000, "the mix is fair");
}

#[test]
fn a_formula_and_its_negation_never_both_hold_unless_there_is_no_run() {
    for seed in 0..rounds(1_000) {
        let mut random = Random::new(seed ^ 0xab5e_11e5);
        let (graph, formula) = drawn(&mut random, 12);
        let holds = |formula: &Formula| {
            let [buchi, _] = automata(formula, &graph);
            (ENGINES[0].1)(&product(&graph, &buchi, &[]), ALL_RECUR).is_none()
        };
        let runs = !holds(&Formula::False);
        assert!(!(runs && holds(&formula) && holds(&formula.negated())), "seed {seed}");
    }
}

#[test]
fn tiny_graphs_have_no_lasso_that_was_missed() {
    let (mut lassos, mut violating) = (0u64, 0u64);
    for seed in 0..rounds(600) {
        let mut random = Random::new(seed ^ 0x0071_4e55);
        let (mut graph, formula) = drawn(&mut random, 6);
        // With two steps at most, there are few enough runs to look at all of them.
        graph.nodes.iter_mut().for_each(|node| node.edges.truncate(2));
        let explored = explored(&graph);
        let [buchi, _] = automata(&formula, &graph);
        let product = product(&graph, &buchi, &[]);
        let found = (ENGINES[0].1)(&product, ALL_RECUR);
        if let Some(lasso) = &found {
            let run = projected(lasso, &graph, |record| product.parts(record).0);
            assert_eq!(violates(&graph, &formula, &run, product.stutter()), Ok(()), "seed {seed}");
            violating += 1;
            continue;
        }
        let mut left = 20_000;
        for_each_lasso(&explored, 12, &mut |(stem, cycle)| {
            let word = Word::new(stem, cycle).expect("a cycle has a state");
            assert!(evaluate::holds(&formula, &word), "seed {seed}: {word} was missed");
            lassos += 1;
            left -= 1;
            left > 0
        });
    }
    eprintln!("{violating} violated; {lassos} lassos looked at where the formula holds");
    assert!(lassos > 10_000 && violating > 50, "there is something to look at");
}

#[test]
fn weak_fairness_is_the_implication_over_explicit_variables() {
    let (mut violated, mut held, mut different, mut skipped) = (0, 0, 0, 0);
    for seed in 0..rounds(9_000) {
        let mut random = Random::new(seed ^ 0xfa12);
        let (graph, mut formula) = drawn(&mut random, 8);
        if random.chance(50) {
            // Something happens in the end, which is what fairness is for.
            formula = Formula::Finally(Box::new(formula));
        }
        let count = graph.shape.processes.len() as u32;
        let fair: Vec<u32> = (0..count).filter(|_| random.chance(60)).take(2).collect();
        if fair.is_empty() {
            continue;
        }
        let (told, implication) = crate::products::with_variables(&graph, &formula, (&fair, false));
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
        violated + held >= 5_000 && violated > 1_000 && held > 1_000 && different > 50,
        "the mix is fair"
    );
}

#[test]
fn strong_fairness_is_the_implication_over_explicit_variables() {
    let (mut violated, mut held, mut different, mut ranked, mut skipped) = (0, 0, 0, 0, 0);
    for seed in 0..rounds(9_000) {
        let mut random = Random::new(seed ^ 0x0057_4095);
        let (graph, mut formula) = drawn(&mut random, 8);
        if random.chance(50) {
            formula = Formula::Finally(Box::new(formula));
        }
        let count = graph.shape.processes.len() as u32;
        let fair: Vec<u32> = (0..count).filter(|_| random.chance(60)).take(2).collect();
        if fair.is_empty() {
            continue;
        }
        let (told, implication) = crate::products::with_variables(&graph, &formula, (&fair, true));
        let Some(expected) = judged(&explored(&told), &implication) else {
            skipped += 1;
            continue;
        };
        violated += u64::from(expected);
        held += u64::from(!expected);
        let [buchi, generalised] = automata(&formula, &graph);
        let weakly = product(&graph, &buchi, &fair);
        different += u64::from((ENGINES[1].1)(&weakly, ALL_RECUR).is_some() != expected);
        let automaton = if seed % 2 == 0 { &buchi } else { &generalised };
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
            && different > 10,
        "the mix is fair"
    );
}

#[test]
fn larger_graphs_go_through_files() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..rounds(40) {
        let mut random = Random::new(seed ^ 0x001a_49e5);
        // Long cycles and few marks, so that rounds do not end at once.
        let form = *random.pick(&Form::ALL);
        let mut graph = formed_graph(&mut random, form, 20_000, 40);
        graph.shape.mark_count = 1 + random.below(3) as u32;
        let rare = 1 + random.below(200);
        for node in &mut graph.nodes {
            node.labels.0 &= !fathom_model::steps::Labels::FAULT.0;
            for edge in &mut node.edges {
                edge.marks.0 = (0..graph.shape.mark_count)
                    .filter(|_| random.below(rare) == 0)
                    .fold(0, |marks, mark| marks | 1 << mark);
            }
        }
        let judge = explore(&graph, Limits::states(1 << 20)).expect("the graph is not that large");
        let expected = accepting_component(&judge, graph.shape.mark_count).is_some();
        accepted += u64::from(expected);
        refused += u64::from(!expected);
        let certificate = certified(&graph, ALL_RECUR, false, 2);
        assert_eq!(certificate.is_none(), expected, "seed {seed}");
        let over_files =
            certified_by(owcty::run_certified, &graph, ALL_RECUR, false, (1 + seed as usize % 2, 4 << 20));
        assert_eq!(over_files.is_none(), expected, "seed {seed}");
        for volume in certificate.iter().chain(&over_files) {
            let audited = audited(&graph, volume, None);
            assert!(audited.is_ok(), "seed {seed}: {audited:?}");
        }
        // As many rounds as there are accepting states on a path, at worst.
        let rounds_are_few = rare > 100;
        let by_maximum = || ("map-ram", maximal(&graph, ALL_RECUR, GraphUse::WhenItPays, 2));
        for (name, found) in [
            ("semi-owcty", crate::engines::fix_point(&graph, ALL_RECUR, 8 << 20, 2)),
            ("semi-owcty by numbers", crate::engines::by_numbers(&graph, ALL_RECUR, 8 << 20, 2)),
            ("owcty", by_files(&graph, ALL_RECUR, 256 << 10, 2)),
            ("ddfs", crate::engines::double(&graph, ALL_RECUR, 8 << 20)),
            ("ndfs", (ENGINES[0].1)(&graph, ALL_RECUR)),
        ]
        .into_iter()
        .chain(rounds_are_few.then(by_maximum))
        {
            assert_eq!(found.is_some(), expected, "seed {seed}, {name}");
            let Some(lasso) = found else { continue };
            let seen = replay_marks(&graph, &lasso);
            let all = (1 << graph.shape.mark_count) - 1;
            assert_eq!(seen & all, all, "seed {seed}, {name}: marks {seen:b}");
        }
    }
    eprintln!("{accepted} with an accepting cycle, {refused} without");
    assert!(accepted > 5 && refused > 5, "the mix is fair");
}

/// All marks on the cycle of a lasso, which must be a run.
pub(crate) fn replay_marks(graph: &Graph, lasso: &Lasso) -> u64 {
    replayed(graph, lasso, None).expect("it is a run");
    let mut marks = 0;
    let (records, actions) = (lasso.path.records(), lasso.path.actions());
    let (records, actions) = (records.expect("memory does not fail"), actions.expect("memory does not fail"));
    for state in lasso.cycle_start..lasso.path.len() {
        let target = graph.node(&records[lasso.next(state) as usize]);
        let node = &graph.nodes[graph.node(&records[state as usize])];
        let taken =
            |edge: &&oracle::graph::Edge| edge.action == actions[state as usize] && edge.target == target;
        marks |= node.edges.iter().find(taken).expect("it is a run").marks.0;
    }
    marks
}

#[test]
fn the_product_is_a_system_for_every_width() {
    for seed in 0..rounds(400) {
        let mut random = Random::new(seed ^ 0x0009_d0c7);
        let (graph, formula) = drawn(&mut random, 40);
        let [_, generalised] = automata(&formula, &graph);
        let fair: Vec<u32> = (0..graph.shape.processes.len() as u32).collect();
        let product = Checked(product(&graph, &generalised, &fair));
        let judge = explore(&product, Limits::states(200_000)).expect("the product is small");
        let counted = Checked(fathom_ltl::degeneralised::Degeneralised::new(&product));
        let all = explore(&counted, Limits::states(400_000)).expect("the product is small");
        // Forgetting the counter gives the product back.
        let mut parts: Vec<Vec<u64>> = all.states.iter().map(|state| counted.0.part(&state.record)).collect();
        parts.sort();
        parts.dedup();
        let mut records: Vec<Vec<u64>> = judge.states.iter().map(|state| state.record.clone()).collect();
        records.sort();
        assert_eq!(parts, records, "seed {seed}");
        assert_eq!(product.shape().mark_count as usize, generalised.mark_count as usize + fair.len());
    }
}
