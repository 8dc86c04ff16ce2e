//! Greatest accepting predecessors where acceptance is of steps, not of states: against the judge, and the same run whatever the number of threads and wherever steps are read.

use fathom_search::files::closed_set::ALL_RECUR;
use fathom_search::files::successor_graph::GraphUse;
use oracle::bfs::{Limits, explore};
use oracle::forms::{Form, formed_graph};
use oracle::random::Random;
use oracle::tarjan::accepting_component;

use fathom_search::engines::engine::Chosen;
use fathom_search::engines::map;

use crate::engines::{carried_in_ram, maximal_once};
use crate::suite::{replay_marks, rounds};

#[test]
fn marks_on_steps_make_cycles_accepting() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..rounds(120) {
        let mut random = Random::new(seed ^ 0x3a9_0b5e);
        let form = *random.pick(&Form::ALL);
        // Every tenth is so large that threads share it. There are as many rounds as candidates on a path, at worst: so these have few.
        let (most, rare) = if seed % 10 == 0 { (12_000, 100) } else { (60, 1) };
        let mut graph = formed_graph(&mut random, form, most, 40);
        graph.shape.mark_count = u32::from(seed % 10 == 0 || seed % 9 != 1);
        let rare = rare + random.below(100);
        for node in &mut graph.nodes {
            node.labels.0 &= !fathom_model::steps::Labels::FAULT.0;
            node.edges.iter_mut().for_each(|edge| {
                edge.marks.0 = u64::from(graph.shape.mark_count == 1 && random.below(rare) == 0);
            });
        }
        let judge = explore(&graph, Limits::states(1 << 20)).expect("the graph is not that large");
        let expected = accepting_component(&judge, graph.shape.mark_count).is_some();
        accepted += u64::from(expected);
        refused += u64::from(!expected);
        let mut first = None;
        for (graph_use, threads) in [(GraphUse::Never, 1), (GraphUse::Never, 2), (GraphUse::Always, 2)] {
            let found = maximal_once(&graph, ALL_RECUR, graph_use, threads, false);
            assert_eq!(found.is_some(), expected, "seed {seed}, {graph_use:?}, {threads} threads");
            let Some(lasso) = found else { continue };
            let all = (1 << graph.shape.mark_count) - 1;
            assert_eq!(
                replay_marks(&graph, &lasso) & all,
                all,
                "seed {seed}, {graph_use:?}, {threads} threads"
            );
            let run = (lasso.path.records().expect("it is in memory"), lasso.cycle_start);
            assert_eq!(
                first.get_or_insert_with(|| run.clone()),
                &run,
                "seed {seed}, {graph_use:?}, {threads} threads"
            );
        }
    }
    eprintln!("{accepted} with an accepting cycle, {refused} without");
    assert!(accepted > 20 && refused > 20, "the mix is fair");
}

/// Over files, in whatever order and with candidates wherever: the same verdicts.
#[test]
fn the_order_and_the_place_of_candidates_do_not_matter() {
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..rounds(60) {
        let mut random = Random::new(seed ^ 0xca44);
        let form = *random.pick(&Form::ALL);
        let (most, rare) = if seed % 10 == 0 { (6_000, 100) } else { (60, 1) };
        let mut graph = formed_graph(&mut random, form, most, 40);
        graph.shape.mark_count = u32::from(seed % 9 != 1);
        let rare = rare + random.below(100);
        for node in &mut graph.nodes {
            node.labels.0 &= !fathom_model::steps::Labels::FAULT.0;
            node.edges.iter_mut().for_each(|edge| {
                edge.marks.0 = u64::from(graph.shape.mark_count == 1 && random.below(rare) == 0);
            });
        }
        let judge = explore(&graph, Limits::states(1 << 20)).expect("the graph is not that large");
        let expected = accepting_component(&judge, graph.shape.mark_count).is_some();
        accepted += u64::from(expected);
        refused += u64::from(!expected);
        for options in [&[][..], &["candidates=disk"], &["order=keys"], &["order=keys", "candidates=disk"]] {
            let chosen = Chosen::with(&map::ENGINE, options.iter().copied()).expect("it has such options");
            let threads = 1 + seed as usize % 2;
            let found = carried_in_ram(&graph, ALL_RECUR, &chosen, (2 << 20, threads), false);
            assert_eq!(found.is_some(), expected, "seed {seed}, {options:?}");
            if let Some(lasso) = found {
                let all = (1 << graph.shape.mark_count) - 1;
                assert_eq!(replay_marks(&graph, &lasso) & all, all, "seed {seed}, {options:?}");
            }
        }
    }
    eprintln!("{accepted} with an accepting cycle, {refused} without");
    assert!(accepted > 10 && refused > 10, "the mix is fair");
}
