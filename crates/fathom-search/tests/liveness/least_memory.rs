//! Is nothing held in memory for each state, when passes are over sorted files, and ranks come of them?

use fathom_disk::budget::Budget;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::storage::Volume;
use fathom_model::steps::{Columns, Labels, Marks, Steps};
use fathom_search::engines::engine::{AskGenerated, Chosen, Run};
use fathom_search::engines::{map, owcty};
use fathom_search::liveness::semi_external::Search;
use fathom_search::traces::path::Room;
use oracle::bfs::{Limits, explore};
use oracle::forms::{Form, formed_graph};
use oracle::graph::Graph;
use oracle::random::Random;
use oracle::tarjan::accepting_component;

use crate::engines::{Known, finished, search};

/// Few steps per state, of which some are marked; without an accepting cycle, only those to a state without steps are.
fn graph(accepting: bool) -> Graph {
    let mut graph = formed_graph(&mut Random::new(11), Form::Sparse, NODES, 53);
    graph.shape.mark_count = 1;
    for (number, node) in graph.nodes.iter_mut().enumerate() {
        node.labels.0 &= !Labels::FAULT.0;
        for edge in &mut node.edges {
            edge.marks = Marks(u64::from(accepting && number % 50 == 0));
        }
    }
    if !accepting {
        let mark = graph.nodes.iter().position(|node| node.edges.is_empty()).expect("some have no step");
        for node in &mut graph.nodes {
            for edge in node.edges.iter_mut().filter(|edge| edge.target == mark) {
                edge.marks = Marks(1);
            }
        }
    }
    graph
}

const NODES: usize = 40_000;
/// While a run is written, a page of fences of 96 bytes is held for each level of them: these are of nine more, for 4^9 times as many states.
const ASIDE: usize = 900;
const TAG: [u8; 16] = [9; 16];

#[test]
fn passes_over_files_hold_nothing_for_each_state() {
    for (accepting, weak) in [(false, true), (false, false), (true, false)] {
        let graph = graph(accepting);
        let judge = explore(&graph, Limits::states(1 << 20)).expect("the graph is not that large");
        assert_eq!(accepting_component(&judge, 1).is_some(), accepting);
        let widest = judge.states.iter().map(|state| state.steps.len()).max().unwrap_or(1);
        let columns = Columns { marks: true, actions: true, ..Columns::NONE };
        let steps = Steps::bytes_for(&graph.shape, columns, 3 * widest);
        // Blocks are small where they were written within as little.
        let reached = finished(&graph, &Budget::new((4 << 10) + 2 * steps), 1);
        for engine in [&owcty::ENGINE, &map::ENGINE] {
            let budget = Budget::new((4 << 10) + steps);
            let aside = budget.charge("fences of more states", ASIDE).expect("it is free");
            let volume = Volume::in_memory(512);
            let room = Room::in_memory(&budget);
            let known = Known { weak, ..Known::default() };
            let search = Search { acceptance: &known, ..search(&graph, &volume, &room) };
            let mut directory = RunDirectory::open(&volume, TAG).expect("memory does not fail");
            let chosen = Chosen::plain(engine);
            let lasting = Some((&mut directory, TAG));
            let ask = AskGenerated { search: &search, reached: &reached, chosen: &chosen, lasting };
            let Run::Generated { run, .. } = engine.run else { unreachable!("it wants all states") };
            match run(ask) {
                Ok(outcome) => assert_eq!(outcome.left > 0, accepting, "{}", engine.name),
                Err(error) => panic!("{}, weak {weak}: {error}: {:#?}", engine.name, budget.owners()),
            }
            drop(aside);
        }
    }
}
