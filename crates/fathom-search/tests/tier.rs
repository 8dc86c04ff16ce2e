//! Contract of the layer loop on disk: whatever the budget, the plan and the sizes of its parts, `tier`, `stern-dill` and `auto` find what the judge finds.
//!
//! Every system is explored in a few of all combinations, chosen by its seed, so that all systems together go through each many times.

mod contract;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contract::{
    TUNINGS, actions_of, check_against_judge, compare_counts, compare_duplicates, conditions,
    expected_finding, widest,
};
use fathom_disk::budget::Budget;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::storage::Volume;
use fathom_exec::interpreter::Interpreter;
use fathom_model::checked::Checked;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::bodies::stages::run;
use fathom_search::engines::auto::{self, Disk, Kept};
use fathom_search::engines::retrace;
use fathom_search::engines::stern_dill::{self, Sizes, SternDill};
use fathom_search::engines::tier::{Options, Plan, Shares, Tier};
use fathom_search::files::closing_cost::ClosingCost;
use fathom_search::task::watch::Finding;
use fathom_search::task::{Ending, Observer, Settings, Task, Tuning, Unobserved};
use fathom_search::traces::path::Room;
use fathom_search::traces::trace::path_to;
use oracle::bfs::{Explored, Limits, explore};
use oracle::forms::random_graph;
use oracle::graph::{Embedding, Graph};
use oracle::program::random_program;
use oracle::random::Random;

/// The smallest data budgets, and one that suffices for everything.
const BUDGETS: [usize; 3] = [4 << 10, 64 << 10, 1 << 20];

type Choice = Option<fn(Shares) -> Shares>;

/// Sizes of the parts that are legal and make things hard.
const SHARES: [Choice; 14] = [
    None,
    Some(|shares| Shares { filter_bytes: 0, dense_ratio: 0, ..shares }),
    Some(filtered),
    Some(|shares| Shares { filter_ratio: 0, dense_ratio: u64::MAX, ..shares }),
    Some(|shares| Shares { dense_ratio: u64::MAX, run_bytes: 0, ..shares }),
    // All runs fold into a trie as soon as there is one, and the table of small layers is full soon.
    Some(eager),
    Some(|shares| Shares { table_bytes: 0, ..eager(shares) }),
    // They do after every layer, or after some: then runs come beside it that are not in it.
    Some(folding::<0>),
    Some(folding::<5>),
    Some(|shares| Shares { window_keys: 0, ..shares }),
    Some(|shares| Shares { window_keys: 1, table_bytes: 0, ..shares }),
    Some(|shares| Shares { shards: 1, closers: 1, candidate_keys: 3, ..shares }),
    Some(|shares| Shares { log_block_keys: 1, fan: 2, ..shares }),
    // Every layer but the smallest is wide beside that.
    Some(|shares| Shares { candidate_keys: shares.candidate_keys.min(20), run_bytes: 0, ..shares }),
];

/// Sizes in place of those that suit the budget.
type Resized = Option<fn(Sizes) -> Sizes>;

/// The same for `stern-dill`: as they are; tables that are full after a few keys; all threads close every layer; both, with many shards.
const SIZES: [Resized; 4] = [
    None,
    Some(|sizes| Sizes { gathered_keys: 3, ..sizes }),
    Some(|sizes| Sizes { shared_keys_min: 0, ..sizes }),
    Some(|sizes| {
        let sizes = if sizes.checkers > 1 { Sizes { shards: 8, ..sizes } } else { sizes };
        Sizes { gathered_keys: 5, handed_keys: 2, shared_keys_min: 0, log_block_keys: 1, ..sizes }
    }),
];

fn stern_dill(
    shape: &Shape,
    budget: &Budget,
    threads: usize,
    sizes: Option<fn(Sizes) -> Sizes>,
) -> SternDill {
    let volume = Volume::in_memory(64);
    let options = stern_dill::Options {
        tag: [9; 16],
        commit_every: Duration::ZERO,
        sizes,
        ..stern_dill::Options::unlasting()
    };
    let opened = SternDill::open(&volume, budget, shape, threads, options);
    let (policy, boundary) = opened.expect("memory does not fail, and the budget suffices");
    assert!(boundary.is_none(), "nothing is committed yet");
    policy
}

/// A filter before all runs that are gone through, as long as runs leave memory for it; they do not fold.
fn filtered(shares: Shares) -> Shares {
    let run_bytes = shares.run_bytes.max(shares.filter_bytes);
    let sweep_excess_ns_per_key = u64::MAX;
    Shares {
        filter_ratio: 0,
        filter_bits: (1, 10),
        dense_ratio: u64::MAX,
        sweep_excess_ns_per_key,
        run_bytes,
        ..shares
    }
}

/// A filter before all runs that are gone through which denies nothing.
fn denies_nothing(shares: Shares) -> Shares {
    Shares { filter_bits: (0, 0), ..filtered(shares) }
}

fn eager(shares: Shares) -> Shares {
    Shares {
        dense_ratio: 0,
        wasted_decodes_per_key: (0, 0),
        table_bytes: shares.table_bytes.min(2 << 10),
        ..shares
    }
}

/// Runs fold into a trie though layers are dense, once they have cost so many nanoseconds per key.
fn folding<const EXCESS_NS: u64>(shares: Shares) -> Shares {
    let run_bytes = shares.run_bytes.max(shares.filter_bytes);
    Shares { sweep_excess_ns_per_key: EXCESS_NS, dense_ratio: u64::MAX, run_bytes, ..shares }
}

fn options(plan: Plan, shares: Choice) -> Options {
    Options { tag: [7; 16], plan, commit_every: Duration::ZERO, disk_limit: None, keep_from: 0, shares }
}

/// A search for everything, to the end.
fn whole_search(shape: &Shape, threads: usize) -> Settings {
    Settings {
        threads,
        conditions: conditions(shape),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning: TUNINGS[1](),
    }
}

fn check(system: &dyn TransitionSystem, judge: &Explored, seed: u64) {
    let mut random = Random::new(seed);
    for budget_bytes in BUDGETS {
        let threads = 1 + random.below(2);
        let tuning = TUNINGS[random.below(2)]();
        let plan = if random.below(3) == 0 { Plan::Scan } else { Plan::LookUp };
        let shares = SHARES[random.below(SHARES.len())];
        let make = |shape: &Shape, budget: &Budget, threads: usize| {
            let volume = Volume::in_memory(64);
            let (tier, boundary) = Tier::open(&volume, budget, shape, threads, options(plan, shares))
                .expect("memory does not fail, and the budget suffices");
            assert!(boundary.is_none(), "nothing is committed yet");
            tier
        };
        check_against_judge(system, judge, &make, budget_bytes, threads, tuning);
        let sizes = SIZES[random.below(SIZES.len())];
        let make = |shape: &Shape, budget: &Budget, threads: usize| stern_dill(shape, budget, threads, sizes);
        check_against_judge(system, judge, &make, budget_bytes, threads, tuning);
    }
}

#[test]
fn random_graphs_are_explored_as_the_judge_explores_them() {
    for seed in 0..300 {
        let graph = random_graph(&mut Random::new(seed), 100);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let outcome = std::panic::catch_unwind(|| check(&Checked(graph), &judge, seed));
        assert!(outcome.is_ok(), "seed {seed}");
    }
}

#[test]
fn random_programs_are_explored_as_the_judge_explores_them() {
    let mut compared = 0;
    for seed in 0..200 {
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program = random_program(&mut random, size);
        let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
        let Ok(judge) = explore(&system, Limits { states: 1_000, transitions: 10_000 }) else { continue };
        let outcome = std::panic::catch_unwind(|| check(&system, &judge, seed));
        assert!(outcome.is_ok(), "seed {seed}\n{program}");
        compared += 1;
    }
    assert!(compared > 130, "{compared} programs are few");
}

/// Sizes of the parts that are legal and make things hard, one by one: blocks as they are or of one key; nothing else, a filter that denies nothing, a window of no key
/// and of one, one shard.
fn hard<const TINY_BLOCKS: bool, const PART: usize>(shares: Shares) -> Shares {
    let shares = if TINY_BLOCKS { Shares { log_block_keys: 1, fan: 2, ..shares } } else { shares };
    match PART {
        0 => shares,
        1 => denies_nothing(shares),
        2 => Shares { window_keys: 0, ..shares },
        3 => Shares { window_keys: 1, ..shares },
        _ => Shares { shards: 1, closers: 1, ..shares },
    }
}

const PRODUCT: [fn(Shares) -> Shares; 10] = [
    hard::<false, 0>,
    hard::<false, 1>,
    hard::<false, 2>,
    hard::<false, 3>,
    hard::<false, 4>,
    hard::<true, 0>,
    hard::<true, 1>,
    hard::<true, 2>,
    hard::<true, 3>,
    hard::<true, 4>,
];

#[test]
fn small_graphs_are_explored_in_every_combination_as_the_judge_explores_them() {
    for seed in 1000..1012 {
        let graph = random_graph(&mut Random::new(seed), 60);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let system = Checked(graph);
        for (budget_bytes, threads, tuning) in BUDGETS
            .iter()
            .flat_map(|bytes| [1, 2].map(|threads| (*bytes, threads)))
            .flat_map(|(bytes, threads)| TUNINGS.map(|tuning| (bytes, threads, tuning)))
        {
            for (number, shares) in PRODUCT.iter().enumerate() {
                for plan in [Plan::LookUp, Plan::Scan] {
                    let make = |shape: &Shape, budget: &Budget, threads: usize| {
                        let volume = Volume::in_memory(64);
                        let options = options(plan, Some(*shares));
                        Tier::open(&volume, budget, shape, threads, options).expect("memory does not fail").0
                    };
                    let outcome = std::panic::catch_unwind(|| {
                        check_against_judge(&system, &judge, &make, budget_bytes, threads, tuning());
                    });
                    assert!(
                        outcome.is_ok(),
                        "seed {seed}, {budget_bytes} bytes, {threads} threads, shares {number}, {plan:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn stern_and_dill_explore_small_graphs_in_every_combination_as_the_judge_does() {
    for seed in 1000..1012 {
        let graph = random_graph(&mut Random::new(seed), 60);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let system = Checked(graph);
        for (budget_bytes, threads) in BUDGETS.iter().flat_map(|bytes| [(*bytes, 1), (*bytes, 2)]) {
            for (number, sizes) in SIZES.into_iter().enumerate() {
                let make = |shape: &Shape, budget: &Budget, threads: usize| {
                    stern_dill(shape, budget, threads, sizes)
                };
                let outcome = std::panic::catch_unwind(|| {
                    for tuning in TUNINGS {
                        check_against_judge(&system, &judge, &make, budget_bytes, threads, tuning());
                    }
                });
                let what = format!("{budget_bytes} bytes, {threads} threads, sizes {number}");
                assert!(outcome.is_ok(), "seed {seed}, {what}");
            }
        }
    }
}

/// A search that drops its layers finds the same, and the path that it makes by searching again is that of layer replay.
#[test]
fn without_layers_the_path_is_the_same() {
    let (mut paths, mut dropped) = (0, 0);
    for seed in 0..80 {
        let graph = random_graph(&mut Random::new(seed), 150);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let system = Checked(graph);
        let mut random = Random::new(seed);
        let threads = 1 + random.below(2);
        let columns = Columns { labels: true, actions: true, ..Columns::NONE };
        let shape = system.shape();
        let steps = threads * Steps::bytes_for(shape, columns, 3 * widest(&judge));
        let budget = Budget::new([8 << 10, 64 << 10][random.below(2)] + 256 * shape.words() * 8 + 2 * steps);
        let settings = Settings {
            threads,
            conditions: conditions(shape),
            stop_at_first: false,
            findings_max: 1,
            max_depth: None,
            coverage: true,
            tuning: TUNINGS[random.below(2)](),
        };
        let options = Options { keep_from: u64::MAX, ..options(Plan::LookUp, None) };
        let volume = Volume::in_memory(64);
        let (mut tier, _) =
            Tier::open(&volume, &budget, shape, threads, options).expect("memory does not fail");
        let outcome = run(Task::new(&system, &budget, &settings), &mut tier).expect("it does not fail");
        assert_eq!(outcome.ending, Ending::Complete, "seed {seed}: {:?}", outcome.refusal);
        compare_counts(&outcome, &judge);
        dropped += usize::from(!tier.keeps_all_layers());
        drop(tier);
        for condition in &settings.conditions {
            let Some((Finding { layer, record: Some(record), .. }, Some(state))) =
                expected_finding(*condition, &judge)
            else {
                continue;
            };
            let mut volumes = || Ok(Volume::in_memory(64));
            let sizes = &outcome.layers;
            let (room, goal) = (Room::in_memory(&budget), (layer, &*record));
            let path = retrace::path_to(&system, &room, &Unobserved, threads, sizes, &mut volumes, goal);
            let path = path.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let expected = judge.path_to(state);
            let records = path.records().expect("memory does not fail");
            assert_eq!(records, judge.records_along(&expected), "seed {seed}");
            assert_eq!(actions_of(&path), judge.actions_along(&expected), "seed {seed}");
            paths += usize::from(layer > 0);
        }
    }
    assert!(paths > 50 && dropped > 20, "{paths} paths, {dropped} searches that dropped layers are few");
}

/// Layers of a few states, thousands of them, with steps far back: the runs fold into tries where records are regular, and not where they are scattered or wide.
#[test]
fn deep_and_narrow_graphs_are_explored_as_the_judge_explores_them() {
    let (rows, columns) = (1200, 7);
    let successors: Vec<Vec<usize>> = (0..rows * columns)
        .map(|node| {
            let (row, column) = (node / columns, node % columns);
            let on = (row + 1 < rows).then_some(node + columns);
            let across = (column + 1 < columns).then_some(node + 1);
            let back = (row % 11 == 3).then_some(node % 97 * columns % node.max(1));
            [on, across, back].into_iter().flatten().collect()
        })
        .collect();
    for (width_bits, embedding, folds) in [
        (30, Embedding::Low, true),
        (100, Embedding::High, true),
        (64, Embedding::Scattered, false),
        (190, Embedding::Low, false),
    ] {
        let mut graph = Graph::new(&successors, &[0]);
        graph.embed(width_bits, embedding, &mut Random::new(5));
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("the graph is small");
        for (budget_bytes, threads) in [(64 << 10, 1), (320 << 10, 1), (320 << 10, 2), (2 << 20, 2)] {
            let shares: Choice = if budget_bytes < 2 << 20 { Some(eager) } else { None };
            let asked = cost_of(&graph, &judge, (budget_bytes + (64 << 10), threads), shares).asked_of_tries;
            let what = format!("{width_bits} bits, {embedding:?}, {budget_bytes} bytes, {threads} threads");
            // With one hash for all keys one of several shards has them all, in its part of the memory.
            let crowded = cfg!(feature = "constant-hash") && threads > 1;
            assert!(
                !folds || crowded || budget_bytes < 320 << 10 || shares.is_none() || asked > 1000,
                "{what}: tries were asked for {asked} keys"
            );
            assert!(folds || width_bits <= 128 || asked == 0, "{what}: no trie has keys so wide");
        }
    }
}

/// Searches a graph to the end, compares with the judge, and says what it cost.
fn cost_of(
    graph: &Graph,
    judge: &Explored,
    (budget_bytes, threads): (usize, usize),
    shares: Choice,
) -> ClosingCost {
    let volume = Volume::in_memory(4096);
    let budget = Budget::new(budget_bytes);
    let settings = whole_search(&graph.shape, threads);
    let options = options(Plan::LookUp, shares);
    let (mut tier, _) =
        Tier::open(&volume, &budget, &graph.shape, threads, options).expect("memory does not fail");
    let outcome = run(Task::new(graph, &budget, &settings), &mut tier).expect("memory does not fail");
    assert_eq!(outcome.ending, Ending::Complete, "{:?}", outcome.refusal);
    compare_counts(&outcome, judge);
    tier.cost()
}

/// Layers of so many states each, nearly all of whose steps lead to new ones.
fn broad_graph(rows: usize, columns: usize) -> Graph {
    let successors: Vec<Vec<usize>> = (0..rows * columns)
        .map(|node| {
            let on = (node + columns < rows * columns).then_some(node + columns);
            let back = (node % 3 == 1).then_some(node / 2);
            [on, back].into_iter().flatten().collect()
        })
        .collect();
    Graph::new(&successors, &(0..columns).collect::<Vec<_>>())
}

/// Where going through the runs costs more than asking a trie of them, they fold into one, and it answers for what runs were gone through for before; with runs beside it, with small layers
/// beside it, and made anew by two threads.
#[test]
fn runs_that_layers_go_through_fold_into_a_trie() {
    let (rows, columns) = (60, 300);
    let mut graph = broad_graph(rows, columns);
    let choices: [Choice; 5] = [
        // A trie that grows where runs are written all the same.
        Some(|shares| Shares { table_bytes: 0, ..eager(shares) }),
        Some(|shares| Shares { table_bytes: 0, ..folding::<0>(shares) }),
        Some(|shares| Shares { table_bytes: 0, ..folding::<15>(shares) }),
        Some(folding::<0>),
        Some(|shares| Shares { fan: 2, runs_max: 3, ..folding::<10>(shares) }),
    ];
    for (width_bits, embedding) in [(33, Embedding::Low), (64, Embedding::Low), (100, Embedding::High)] {
        graph.embed(width_bits, embedding, &mut Random::new(7));
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("the graph is small");
        for (number, shares) in choices.into_iter().enumerate() {
            for threads in [1, 2] {
                let asked = cost_of(&graph, &judge, (1 << 20, threads), shares).asked_of_tries;
                assert!(
                    asked > (rows * columns) as u64 / 4,
                    "{width_bits} bits, shares {number}, {threads} threads: tries were asked for {asked} keys"
                );
            }
        }
    }
}

/// The filter before the runs is asked, and denies nearly all that is new.
#[test]
fn a_filter_before_the_runs_denies_what_is_new() {
    let (rows, columns) = (60, 300);
    let mut graph = broad_graph(rows, columns);
    for (width_bits, embedding) in [(40, Embedding::Scattered), (64, Embedding::Low), (100, Embedding::High)]
    {
        graph.embed(width_bits, embedding, &mut Random::new(7));
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("the graph is small");
        // Every layer becomes a run.
        let choices: [(Choice, bool); 2] = [
            (Some(|shares| Shares { table_bytes: 0, ..filtered(shares) }), true),
            (Some(|shares| Shares { table_bytes: 0, ..denies_nothing(shares) }), false),
        ];
        for (shares, denies) in choices {
            let denied = cost_of(&graph, &judge, (1 << 20, 1), shares).denied;
            // With one hash for all keys no filter denies anything.
            let denies = denies && !cfg!(feature = "constant-hash");
            let new = (rows * columns) as u64;
            assert!(
                if denies { denied > new / 2 } else { denied == 0 },
                "{width_bits} bits: {denied} denied"
            );
        }
    }
}

/// Threads that meet the same keys at the same time: layers large enough that both are always at work, and a window that does not hold them.
#[test]
fn larger_graphs_are_explored_by_two_threads_as_the_judge_explores_them() {
    let tuning = || Tuning { shared_layer_min: 1, batch_records_max: 32, steps_per_source: 4 };
    for seed in 0..6 {
        let graph = random_graph(&mut Random::new(seed), 20_000);
        let Ok(judge) = explore(&graph, Limits { states: 20_000, transitions: 400_000 }) else { continue };
        for budget_bytes in [256 << 10, [300 << 10, 400 << 10, 512 << 10][seed as usize % 3], 2 << 20] {
            // As it is, and with layers that are wide beside the budget, so that memory changes hands.
            for shares in [None, SHARES[SHARES.len() - 1]] {
                let make = |shape: &Shape, budget: &Budget, threads: usize| {
                    let volume = Volume::in_memory(4096);
                    let options = options(Plan::LookUp, shares);
                    Tier::open(&volume, budget, shape, threads, options).expect("memory does not fail").0
                };
                let outcome = std::panic::catch_unwind(|| {
                    check_against_judge(&graph, &judge, &make, budget_bytes, 2, tuning());
                });
                assert!(outcome.is_ok(), "seed {seed}, {budget_bytes} bytes, {}", shares.is_some());
            }
        }
    }
}

/// Notes which states were expanded, layer by layer, as somebody does who writes them to a file.
#[derive(Default)]
struct Notes {
    records: Mutex<BTreeMap<u64, Vec<Vec<u64>>>>,
    moved: AtomicBool,
}

impl Observer for Notes {
    fn expanded(&self, layer: u64, sources: Records<'_>) {
        self.records
            .lock()
            .expect("no thread panics")
            .entry(layer)
            .or_default()
            .extend(sources.iter().map(<[u64]>::to_vec));
    }

    fn abandoned(&self, layer: u64) {
        self.records.lock().expect("no thread panics").retain(|noted, _| *noted < layer);
    }

    fn moved_to_disk(&self, _layers: u64, _states: u64) {
        self.moved.store(true, Ordering::Relaxed);
    }
}

impl Notes {
    /// Every state was noted once, in its layer.
    fn compare(self, judge: &Explored) {
        let mut noted: Vec<(usize, Vec<u64>)> = Vec::new();
        for (layer, records) in self.records.into_inner().expect("no thread panics") {
            noted.extend(records.into_iter().map(|record| (layer as usize, record)));
        }
        let mut expected: Vec<_> =
            judge.states.iter().map(|state| (state.layer, state.record.clone())).collect();
        noted.sort();
        expected.sort();
        assert_eq!(noted, expected);
    }
}

/// Searches in RAM first, within a budget that mostly does not suffice; says whether it has moved to disk.
fn check_auto(system: &dyn TransitionSystem, judge: &Explored, seed: u64) -> bool {
    let mut random = Random::new(seed);
    let shape = system.shape();
    let threads = 1 + random.below(2);
    let columns = Columns { labels: true, actions: true, ..Columns::NONE };
    let steps = threads * Steps::bytes_for(shape, columns, 3 * widest(judge));
    let bytes = [4 << 10, (24 << 10) + random.below(64 << 10), 1 << 20][random.below(3)];
    let budget = || Budget::new(bytes.max(256 * shape.words() * 8) + 2 * steps);
    let conditions = conditions(shape);
    let settings = Settings {
        threads,
        conditions: conditions.clone(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: true,
        tuning: TUNINGS[random.below(2)](),
    };
    let volume = Volume::in_memory(64);
    let disk = Disk {
        volume: &|| Ok(volume.clone()),
        lasts: random.below(2) == 0,
        options: options(Plan::LookUp, None),
    };
    let search = |observer: &dyn Observer| {
        let budget = budget();
        let (kept, outcome) = auto::run(Task::new(system, &budget, &settings).watched_by(observer), &disk)
            .expect("the machine does not fail");
        assert_eq!(outcome.ending, Ending::Complete, "{:?} {:#?}", outcome.refusal, budget.owners());
        compare_counts(&outcome, judge);
        (kept, outcome, budget)
    };
    let notes = Notes::default();
    let (kept, outcome, budget) = search(&notes);
    assert!(outcome.duplicates.missed.is_some(), "they are counted in memory and on disk");
    compare_duplicates(&outcome, judge);
    let moved = notes.moved.load(Ordering::Relaxed);
    notes.compare(judge);
    for (condition, finding) in conditions.iter().zip(outcome.findings.firsts()) {
        let expected = expected_finding(*condition, judge);
        assert_eq!(finding, expected.as_ref().map(|(finding, _)| finding), "{condition:?}");
        if let Some((Finding { layer, record: Some(record), .. }, state)) = expected {
            let path = path_to(system, &kept, &Room::in_memory(&budget), &Unobserved, (layer, &record));
            let path = path.expect("the budget suffices").expect("layers are kept");
            let expected = judge.path_to(state.expect("a finding with a record is at a state"));
            assert_eq!(path.records().expect("memory does not fail"), judge.records_along(&expected));
        }
    }
    assert_eq!(matches!(kept, Kept::Tier(_)), moved || disk.lasts);
    assert_eq!(volume.list().expect("memory does not fail").is_empty(), !moved && !disk.lasts);
    drop((kept, outcome, budget));
    if disk.lasts {
        // It is over, and says the same again.
        search(&Unobserved);
    }
    moved
}

#[test]
fn a_search_that_moves_from_ram_to_disk_finds_what_the_judge_finds() {
    let mut ended = [0, 0];
    for seed in 0..300 {
        let graph = random_graph(&mut Random::new(seed), 400);
        let judge = explore(&graph, Limits::states(usize::MAX)).expect("graphs are small");
        let outcome = std::panic::catch_unwind(|| check_auto(&Checked(graph), &judge, seed));
        let Ok(moved) = outcome else { panic!("seed {seed}") };
        ended[usize::from(moved)] += 1;
    }
    assert!(ended.iter().all(|count| *count > 50), "{ended:?} stayed in RAM and moved to disk");
}

/// A run of another version of the format is refused by name, whatever follows in its cursor.
#[test]
fn what_another_version_has_committed_is_not_taken_up() {
    let graph = Checked(random_graph(&mut Random::new(1), 20));
    let options = options(Plan::LookUp, None);
    for cursor in [[2_u64.to_le_bytes(), [0; 8]].concat(), 2_u64.to_le_bytes().to_vec()] {
        let volume = Volume::in_memory(64);
        let mut directory = RunDirectory::open(&volume, options.tag).expect("memory does not fail");
        directory.commit(&cursor, &[]).expect("memory does not fail");
        drop(directory);
        let budget = Budget::new(1 << 20);
        let refused =
            Tier::open(&volume, &budget, graph.shape(), 1, options).expect_err("it is of version 2");
        assert!(refused.to_string().contains("version 2"), "{refused}");
    }
}
