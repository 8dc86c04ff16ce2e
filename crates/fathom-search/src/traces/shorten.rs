//! Is there a shorter lasso? What a search for accepting runs meets first may be long, and people have to read it.
//!
//! The states near the initial ones are held in memory as a graph (`graph`), more and more of them while they fit. The shortest lasso among them (`shortest`) is the shortest of all if it is no
//! longer than the graph is deep: then it is over. Where the graph ends before that, the shortest seen is taken; where nothing is seen, the states of the lasso itself are the graph, and its detours
//! go. What comes out is a claim like any other lasso: it is replayed before anybody sees it.

mod graph;
mod shortest;

use fathom_disk::budget::Budget;
use fathom_model::system::TransitionSystem;

use self::graph::Graph;
use self::shortest::{Best, shortest};
use crate::error::SearchError;
use crate::task::Observer;
use crate::traces::lasso::Lasso;
use crate::traces::path::PathBuilder;

/// States of the first graph, how many times more the next one has, and those of the last. A few thousand hold the shortest lasso of most violated formulas of BEEM; the last takes some seconds.
const STATES_FIRST: usize = 2_000;
const STATES_FACTOR: usize = 8;
const STATES_MAX: usize = 1_000_000;
/// How many edges are looked at in all graphs together: about two seconds. Eleven fair philosophers (12 marks, 1,089,942 states) took 40 s with 50,000,000 for each graph, for the lasso that this finds.
const EDGES_MAX: u64 = 20_000_000;

/// A lasso that is shorter, if one is found. `marks` are those that a cycle must meet.
pub fn shortened(
    system: &dyn TransitionSystem,
    marks: u64,
    lasso: &Lasso,
    observer: &dyn Observer,
) -> Result<Option<Lasso>, SearchError> {
    let all = lasso.path.room().budget();
    // Others may need some of what is free.
    let budget = all.leaving(all.free() / 2);
    match search(system, marks, lasso, &budget, observer) {
        Ok(shorter) => Ok(shorter),
        // Without the memory for it the lasso stays as it is; and nobody waits for a shorter one who wants an end.
        Err(SearchError::Budget(_) | SearchError::Stopped) => Ok(None),
        Err(error) => Err(error),
    }
}

fn search(
    system: &dyn TransitionSystem,
    marks: u64,
    lasso: &Lasso,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Option<Lasso>, SearchError> {
    let mut known = lasso.path.len();
    let mut graph = Graph::new(system, budget)?;
    let mut found = None;
    let mut states = STATES_FIRST;
    let mut edges_left = EDGES_MAX;
    // What is searched are pairs of a state and a mark.
    let states_max = STATES_MAX / marks.count_ones().max(1) as usize;
    loop {
        let ended = graph.grow(system, states, known, observer)?;
        if let Some(best) = shortest(&graph, marks, known, &mut edges_left, (budget, observer))? {
            known = best.length();
            found = Some(best);
        }
        // A lasso of so many states lies among those that were expanded.
        if ended || known <= graph.depth() || states >= states_max || edges_left == 0 {
            break;
        }
        states = (states * STATES_FACTOR).min(states_max);
    }
    match found {
        Some(best) => Ok(Some(written(&graph, &best, lasso)?)),
        None => within(system, marks, lasso, budget, observer),
    }
}

/// The shortest lasso among the states of one.
fn within(
    system: &dyn TransitionSystem,
    marks: u64,
    lasso: &Lasso,
    budget: &Budget,
    observer: &dyn Observer,
) -> Result<Option<Lasso>, SearchError> {
    if lasso.path.len() > STATES_MAX as u64 {
        return Ok(None);
    }
    let graph = Graph::of_lasso(system, lasso, budget, observer)?;
    let best = shortest(&graph, marks, lasso.path.len(), &mut { EDGES_MAX }, (budget, observer))?;
    best.map(|best| written(&graph, &best, lasso)).transpose()
}

fn written(graph: &Graph, best: &Best, lasso: &Lasso) -> Result<Lasso, SearchError> {
    let mut path = PathBuilder::new(lasso.path.room(), lasso.path.words())?;
    for &(state, action) in best.stem.iter().chain(&best.cycle) {
        path.push(graph.record(state), action)?;
    }
    let first = best.stem.first().or(best.cycle.first()).map_or(0, |(state, _)| *state);
    Ok(Lasso { path: path.finish(graph.start(first))?, cycle_start: best.stem.len() as u64 })
}
