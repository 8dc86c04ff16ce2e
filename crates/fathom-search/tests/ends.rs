//! How does a policy end a search? A wrapper of twenty lines that caps the frontier: the search ends with its words, at a boundary, and goes on from there without the cap.

use fathom_disk::budget::Budget;
use fathom_model::record::{RecordBuffer, Records};
use fathom_search::bodies::stages::{ClosedStage, StagePolicy, go_on, run};
use fathom_search::engines::ram::{self, RamTable};
use fathom_search::error::SearchError;
use fathom_search::task::{Ending, Settings, Task, Tuning};
use oracle::bfs::{Limits, explore};
use oracle::forms::random_graph;
use oracle::random::Random;

/// A table in memory that wants no layer of more states.
struct Capped {
    table: RamTable,
    most: u64,
    frontier: u64,
}

const WIDE: &str = "the frontier is wider than it may be";

impl StagePolicy for Capped {
    type Worker = ram::Worker;

    fn worker(&self) -> Result<ram::Worker, SearchError> {
        self.table.worker()
    }

    fn offer(&self, worker: &mut ram::Worker, candidates: Records<'_>) -> Result<(), SearchError> {
        self.table.offer(worker, candidates)
    }

    fn flush(&self, worker: &mut ram::Worker) -> Result<(), SearchError> {
        self.table.flush(worker)
    }

    fn prepare_close(&mut self, workers: &mut [&mut ram::Worker]) -> Result<bool, SearchError> {
        self.table.prepare_close(workers)
    }

    fn close_share(&self, worker: &mut ram::Worker) -> Result<(), SearchError> {
        self.table.close_share(worker)
    }

    fn close_stage(&mut self, workers: &mut [&mut ram::Worker]) -> Result<ClosedStage, SearchError> {
        let closed = self.table.close_stage(workers)?;
        self.frontier = closed.states;
        Ok(closed)
    }

    fn ends(&self) -> Option<&'static str> {
        (self.frontier > self.most).then_some(WIDE)
    }

    fn next_batch(
        &self,
        worker: &mut ram::Worker,
        records: usize,
        batch: &mut RecordBuffer,
    ) -> Result<(), SearchError> {
        self.table.next_batch(worker, records, batch)
    }
}

#[test]
fn a_policy_that_wants_no_more_ends_the_search_with_its_words() {
    let mut ended = 0;
    for seed in 0..200 {
        let graph = random_graph(&mut Random::new(seed), 200);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        for threads in [1, 2] {
            let settings = Settings {
                threads,
                conditions: Vec::new(),
                stop_at_first: false,
                findings_max: 1,
                max_depth: None,
                coverage: false,
                tuning: Tuning { shared_layer_min: 4, batch_records_max: 3, ..Tuning::default() },
            };
            let budget = Budget::new(1 << 30);
            let table = RamTable::new(&graph.shape, &budget, threads).expect("the budget suffices");
            let mut capped = Capped { table, most: 8, frontier: 0 };
            let task = Task::new(&graph, &budget, &settings);
            let outcome = run(task, &mut capped).expect("memory does not fail");
            let wide = judge.layers.iter().position(|layer| *layer > 8);
            let Some(wide) = wide else {
                assert_eq!(outcome.ending, Ending::Complete, "seed {seed}");
                continue;
            };
            ended += 1;
            assert_eq!(outcome.ending, Ending::Policy(WIDE), "seed {seed}");
            let before: usize = judge.layers[..wide].iter().sum();
            assert_eq!(outcome.expanded as usize, before, "seed {seed}: the wide layer was not expanded");
            capped.most = u64::MAX;
            let outcome = go_on(task, &mut capped, &outcome.boundary).expect("memory does not fail");
            assert_eq!(outcome.ending, Ending::Complete, "seed {seed}");
            assert_eq!(outcome.states(), Some(judge.states.len() as u64), "seed {seed}");
        }
    }
    assert!(ended > 50, "{ended} searches were ended");
}
