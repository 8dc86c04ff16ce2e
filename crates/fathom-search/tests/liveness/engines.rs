//! Every engine that looks for accepting runs, in one form.

use std::time::Duration;

use fathom_disk::budget::{Budget, BudgetError};
use fathom_disk::storage::Volume;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::{AutomatonNames, Product};
use fathom_model::acceptance::{Acceptance, MarksAlone};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::TransitionSystem;
use fathom_search::bodies::stages::{self};
use fathom_search::engines::bitstate::Bitstate;
use fathom_search::engines::engine::{AskGenerated, Chosen};
use fathom_search::engines::ndfs::{self, Settings};
use fathom_search::engines::ram::RamTable;
use fathom_search::engines::tier::{Options, Plan, Tier};
use fathom_search::engines::{ddfs, map, map_ram, owcty, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::files::closed_set::{ALL_RECUR, KeptLayers, Reached, Recurs};
use fathom_search::files::finished::Finished;
use fathom_search::files::successor_graph::GraphUse;
use fathom_search::liveness::on_the_fly;
use fathom_search::liveness::semi_external::{Outcome, Search};
use fathom_search::stores::disk_set::DiskSet;
use fathom_search::stores::exact::ExactSet;
use fathom_search::stores::visited::PerColour;
use fathom_search::task::{self, Ending, Task, Tuning, Unobserved};
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Room;
use oracle::bfs::{Limits, explore};

/// An engine: gives a lasso of the system with several marks that it is given, if it finds one. It is told which states may recur.
pub(crate) type Engine = fn(&dyn TransitionSystem, Recurs<'_>) -> Option<Lasso>;

/// All of them; the last ones may miss, but on systems this small do not.
pub(crate) const ENGINES: [(&str, Engine); 50] = [
    ("ndfs", nested),
    ("semi-owcty", |system, recurs| fix_point(system, recurs, 8 << 20, 1)),
    ("semi-owcty with two threads", |system, recurs| fix_point(system, recurs, 8 << 20, 2)),
    ("semi-owcty on disk", |system, recurs| fix_point_on_disk(system, recurs, 8 << 20, 1)),
    ("semi-owcty on disk with two threads", |system, recurs| fix_point_on_disk(system, recurs, 8 << 20, 2)),
    ("semi-owcty on disk in 64 KiB", |system, recurs| fix_point_on_disk(system, recurs, 64 << 10, 1)),
    ("semi-owcty on disk in 64 KiB with two threads", |system, recurs| {
        fix_point_on_disk(system, recurs, 64 << 10, 2)
    }),
    ("semi-owcty on disk in the least memory", |system, recurs| fix_point_on_disk(system, recurs, LEAST, 1)),
    ("semi-owcty on disk in the least memory with two threads", |system, recurs| {
        fix_point_on_disk(system, recurs, LEAST, 2)
    }),
    ("semi-owcty by numbers", |system, recurs| by_numbers(system, recurs, 8 << 20, 1)),
    ("semi-owcty by numbers with two threads", |system, recurs| by_numbers(system, recurs, 8 << 20, 2)),
    ("owcty", |system, recurs| by_files(system, recurs, 8 << 20, 1)),
    ("owcty with two threads", |system, recurs| by_files(system, recurs, 8 << 20, 2)),
    ("owcty in 64 KiB", |system, recurs| by_files(system, recurs, 64 << 10, 1)),
    ("owcty in 64 KiB with two threads", |system, recurs| by_files(system, recurs, 64 << 10, 2)),
    ("owcty in the least memory", |system, recurs| by_files(system, recurs, LEAST, 1)),
    ("owcty in the least memory with two threads", |system, recurs| by_files(system, recurs, LEAST, 2)),
    ("owcty of accepting states", |system, recurs| by_files_of_states(system, recurs, 8 << 20, 2)),
    ("owcty of accepting states in the least memory", |system, recurs| {
        by_files_of_states(system, recurs, LEAST, 1)
    }),
    ("map", |system, recurs| carried(system, recurs, (8 << 20, 1), &[])),
    ("map with two threads", |system, recurs| carried(system, recurs, (8 << 20, 2), &[])),
    ("map in 256 KiB, by keys", |system, recurs| carried(system, recurs, (256 << 10, 1), &["order=keys"])),
    ("map in 256 KiB by two threads, by keys", |system, recurs| {
        carried(system, recurs, (256 << 10, 2), &["order=keys"])
    }),
    ("map in 64 KiB", |system, recurs| carried(system, recurs, (64 << 10, 1), &[])),
    ("map in 64 KiB with two threads", |system, recurs| carried(system, recurs, (64 << 10, 2), &[])),
    ("map in the least memory", |system, recurs| carried(system, recurs, (LEAST, 1), &[])),
    ("map in the least memory with two threads, by keys", |system, recurs| {
        carried(system, recurs, (LEAST, 2), &["order=keys"])
    }),
    ("map with candidates on disk", |system, recurs| {
        carried(system, recurs, (8 << 20, 1), &["candidates=disk"])
    }),
    ("map with candidates on disk and two threads, by keys", |system, recurs| {
        carried(system, recurs, (8 << 20, 2), &["candidates=disk", "order=keys"])
    }),
    ("map of marks on steps", |system, recurs| {
        with_one_mark(system, recurs, &|system, recurs| on_disk(system, recurs, 1 << 20, 1, &carried_once))
    }),
    ("ddfs", |system, recurs| double(system, recurs, 8 << 20)),
    ("ddfs on disk", |system, recurs| double_on_disk(system, recurs, 8 << 20, 1)),
    ("ddfs on disk, generated by two threads", |system, recurs| double_on_disk(system, recurs, 8 << 20, 2)),
    ("ddfs on disk in 64 KiB", |system, recurs| double_on_disk(system, recurs, 64 << 10, 1)),
    ("ddfs on disk in 64 KiB, generated by two threads", |system, recurs| {
        double_on_disk(system, recurs, 64 << 10, 2)
    }),
    ("ddfs on disk in the least memory", |system, recurs| double_on_disk(system, recurs, LEAST, 1)),
    ("ddfs on disk in the least memory, generated by two threads", |system, recurs| {
        double_on_disk(system, recurs, LEAST, 2)
    }),
    ("map-ram", |system, recurs| maximal(system, recurs, GraphUse::WhenItPays, 1)),
    ("map-ram with two threads", |system, recurs| maximal(system, recurs, GraphUse::Never, 2)),
    ("map-ram by numbers with two threads", |system, recurs| maximal(system, recurs, GraphUse::Always, 2)),
    ("map-ram, generated on disk", |system, recurs| maximal_on_disk(system, recurs, 8 << 20, 2)),
    ("map-ram in 64 KiB", |system, recurs| maximal_on_disk(system, recurs, 64 << 10, 1)),
    ("map-ram in 64 KiB with two threads", |system, recurs| maximal_on_disk(system, recurs, 64 << 10, 2)),
    ("map-ram in the least memory", |system, recurs| maximal_on_disk(system, recurs, LEAST, 1)),
    ("map-ram in the least memory with two threads", |system, recurs| {
        maximal_on_disk(system, recurs, LEAST, 2)
    }),
    ("ndfs with its path on disk", |system, _| {
        with_one_mark(system, ALL_RECUR, &|system, _| nested_with_path_on_disk(system, false))
    }),
    ("ndfs on disk", |system, _| nested_on_disk(system, 8 << 20)),
    ("ndfs on disk in 64 KiB", |system, _| nested_on_disk(system, 64 << 10)),
    ("ndfs on disk in the least memory", |system, _| nested_on_disk(system, LEAST)),
    ("bitstate", bitstate),
];

/// The least data budget per word of a state that the semi-external engines work with, beside the steps of one state for each thread and what they keep of each state.
pub(crate) const LEAST: usize = 4 << 10;

/// The product of a system with an automaton.
pub(crate) fn product<S: TransitionSystem>(system: S, automaton: &Automaton, fair: &[u32]) -> Product<S> {
    let names = AutomatonNames { automaton: "automaton".into(), states: Vec::new() };
    Product::new(system, automaton.clone(), names, fair).expect("few atoms and marks")
}

fn nested(system: &dyn TransitionSystem, _: Recurs<'_>) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| nested_once(system, false))
}

/// On a system with one acceptance set, of states.
fn nested_once(system: &dyn TransitionSystem, weak: bool) -> Option<Lasso> {
    let budget = Budget::unlimited();
    let set = || ExactSet::new(system.shape().width_bits, &budget).expect("the budget is unlimited");
    let settings = Settings { stop_at_fault: false, max_depth: None, weak, stack: None };
    let mut visited = PerColour([set(), set()]);
    let outcome = ndfs::run(system, &mut visited, &Room::in_memory(&budget), &settings, &Unobserved);
    let outcome = outcome.expect("the budget is unlimited");
    assert_eq!(outcome.ending, ending(&outcome));
    assert!(!weak || visited.0[1].is_empty(), "no second search");
    outcome.lasso
}

/// How a nested search that came to its end has ended.
fn ending(outcome: &on_the_fly::Outcome) -> Ending {
    if outcome.lasso.is_some() { Ending::Found } else { Ending::Complete }
}

/// With the path on a volume, most of it.
fn nested_with_path_on_disk(system: &dyn TransitionSystem, weak: bool) -> Option<Lasso> {
    let (budget, volume) = (Budget::unlimited(), Volume::in_memory(64));
    let set = || ExactSet::new(system.shape().width_bits, &budget).expect("the budget is unlimited");
    let settings = Settings { stop_at_fault: false, max_depth: None, weak, stack: Some((&volume, 256)) };
    let mut visited = PerColour([set(), set()]);
    let outcome = ndfs::run(system, &mut visited, &Room::in_memory(&budget), &settings, &Unobserved);
    let outcome = outcome.expect("the budget is unlimited");
    assert_eq!(outcome.ending, ending(&outcome));
    outcome.lasso
}

/// With both sets and the path on a volume, within a data budget per word, beside what both searches need in any case.
fn nested_on_disk(system: &dyn TransitionSystem, bytes: usize) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| {
        let budget = Budget::new(bytes * system.shape().words() + beside(system, 2));
        let found = nested_on_disk_within(system, bytes, &budget);
        found.unwrap_or_else(|refusal| panic!("{refusal}: {:#?}", budget.owners()))
    })
}

/// The same, within a budget that may not suffice; the bytes per word are for sets and paths.
fn nested_on_disk_within(
    system: &dyn TransitionSystem,
    bytes: usize,
    budget: &Budget,
) -> Result<Option<Lasso>, BudgetError> {
    let (shape, volume) = (system.shape(), Volume::in_memory(64));
    let set = |name| match DiskSet::new(shape, &volume, name, bytes * shape.words() / 4, budget) {
        Err(SearchError::Budget(refusal)) => Err(refusal),
        other => Ok(other.expect("memory does not fail")),
    };
    let stack = Some((&volume, bytes * shape.words() / 16));
    let settings = Settings { stop_at_fault: false, max_depth: None, weak: false, stack };
    let mut visited = PerColour([set("visited")?, set("red")?]);
    match ndfs::run(system, &mut visited, &Room::in_memory(budget), &settings, &Unobserved) {
        Err(SearchError::Budget(refusal)) => Err(refusal),
        other => {
            let outcome = other.expect("memory does not fail");
            assert_eq!(outcome.ending, ending(&outcome), "{:#?}", budget.owners());
            Ok(outcome.lasso)
        }
    }
}

/// Engines that rely on a weak automaton, on its product as it is.
pub(crate) const WEAK_ENGINES: [(&str, Engine); 8] = [
    ("ndfs", |system, _| nested_once(system, true)),
    ("ndfs with its path on disk", |system, _| nested_with_path_on_disk(system, true)),
    ("semi-owcty", |system, recurs| passes(system, recurs, (8 << 20, GraphUse::Always), 1, true)),
    ("owcty", |system, recurs| by_files_of_weak(system, recurs)),
    ("map", |system, recurs| carried_of_weak(system, recurs, &[])),
    ("map with candidates on disk, by keys", |system, recurs| {
        carried_of_weak(system, recurs, &["candidates=disk", "order=keys"])
    }),
    ("ddfs", |system, recurs| double_once(system, recurs, 8 << 20, true)),
    ("map-ram", |system, recurs| maximal_once(system, recurs, GraphUse::Always, 1, true)),
];

fn bitstate(system: &dyn TransitionSystem, _: Recurs<'_>) -> Option<Lasso> {
    with_one_mark(system, ALL_RECUR, &|system, _| {
        let budget = Budget::unlimited();
        let set = || Bitstate::new(&budget, 1 << 16).expect("the budget is unlimited");
        let settings = Settings::default();
        let mut visited = PerColour([set(), set()]);
        let outcome = ndfs::run(system, &mut visited, &Room::in_memory(&budget), &settings, &Unobserved);
        outcome.expect("the budget is unlimited").lasso
    })
}

fn fix_point_on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    on_disk(system, recurs, bytes, threads, &semi_owcty::run)
}

/// The fix-point over sorted files: generated on disk, within a data budget per word, whatever the number of states.
pub(crate) fn by_files(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    on_disk(system, recurs, bytes, threads, &owcty::run)
}

/// The same where acceptance is of states: marks are counted.
fn by_files_of_states(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    of_states(system, recurs, &|search, reached| owcty::run(search, reached), (bytes, threads))
}

/// On disk, of a system with one mark, of states.
fn of_states(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    engine: SemiExternal<'_>,
    (bytes, threads): (usize, usize),
) -> Option<Lasso> {
    let counted = Degeneralised::new(system);
    let of_states = Known {
        recurs: &|record| recurs(&counted.part(record)),
        states: Some(&|record| counted.is_accepting(record)),
        ..Known::default()
    };
    let engine = |search: &Search<'_>, reached: &dyn Reached| {
        engine(&Search { acceptance: &of_states, ..*search }, reached)
    };
    on_disk(&counted, &|record| recurs(&counted.part(record)), bytes, threads, &engine)
        .map(|lasso| projected(&lasso, system, |record| counted.part(record)))
}

/// Greatest accepting predecessors over sorted files, with options.
fn carried(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    within: (usize, usize),
    options: &[&str],
) -> Option<Lasso> {
    let chosen = Chosen::with(&map::ENGINE, options.iter().copied()).expect("it has such options");
    let engine = |search: &Search<'_>, reached: &dyn Reached| {
        map::run(AskGenerated { search, reached, chosen: &chosen, lasting: None })
    };
    of_states(system, recurs, &engine, within)
}

/// The same where nothing is known of states: any may be a candidate.
fn carried_once(search: &Search<'_>, reached: &dyn Reached) -> Result<Outcome, SearchError> {
    map::run(AskGenerated { search, reached, chosen: &Chosen::plain(&map::ENGINE), lasting: None })
}

/// The same, of a weak automaton.
fn carried_of_weak(system: &dyn TransitionSystem, recurs: Recurs<'_>, options: &[&str]) -> Option<Lasso> {
    let chosen = Chosen::with(&map::ENGINE, options.iter().copied()).expect("it has such options");
    carried_in_ram(system, recurs, &chosen, (1 << 20, 1), true)
}

/// Generated in RAM; one run is left on the volume.
pub(crate) fn carried_in_ram(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    chosen: &Chosen,
    (bytes, threads): (usize, usize),
    weak: bool,
) -> Option<Lasso> {
    let budget = Budget::new(bytes);
    let (table, layers) = generated(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let room = Room::in_memory(&budget);
    let known = Known { weak, recurs, ..Known::default() };
    let search = Search { acceptance: &known, threads, ..search(system, &volume, &room) };
    let ask = AskGenerated { search: &search, reached: &reached, chosen, lasting: None };
    let outcome = map::run(ask).expect("the budget suffices");
    assert_eq!(outcome.lasso.is_some(), outcome.left > 0);
    assert_eq!(volume.list().expect("memory can be listed").len(), 1, "one run is left");
    outcome.lasso
}

fn double_on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    with_one_mark(system, recurs, &|system, recurs| on_disk(system, recurs, bytes, threads, &ddfs::run))
}

fn maximal_on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    with_one_mark(system, recurs, &|system, recurs| on_disk(system, recurs, bytes, threads, &map_ram::run))
}

const OPTIONS: Options = Options {
    tag: [7; 16],
    plan: Plan::LookUp,
    commit_every: Duration::from_secs(3600),
    disk_limit: None,
    keep_from: 0,
    shares: None,
};

/// All states on disk, in ample memory.
pub(crate) fn finished(system: &dyn TransitionSystem, budget: &Budget, threads: usize) -> Finished {
    let volume = Volume::in_memory(512);
    let (mut tier, _) =
        Tier::open(&volume, budget, system.shape(), threads, OPTIONS).expect("memory suffices");
    let generated = stages::run(Task::new(system, budget, &settings(threads)), &mut tier);
    assert_eq!(generated.expect("memory suffices").ending, Ending::Complete);
    tier.into_finished().expect("it has come to its end")
}

/// A semi-external engine.
type SemiExternal<'e> = &'e dyn Fn(&Search<'_>, &dyn Reached) -> Result<Outcome, SearchError>;

/// What a search needs beside what it is given for its structures: for each thread the steps of one state, and for each state a few bytes.
pub(crate) fn beside(system: &dyn TransitionSystem, threads: usize) -> usize {
    let (capacity, states) = widest(system);
    // Buffers double: they have less than twice the room that is needed. Beside each step there is its number, and whether it is sent on.
    let steps = 2 * capacity * (Steps::bytes_for(system.shape(), Columns::ALL, 1) + STEP_BYTES);
    threads * steps + states * STATE_BYTES * system.shape().words()
}

/// What is held beside a step.
const STEP_BYTES: usize = 12;
/// What is held of a state at the least budget, where every shard of the perfect hash has a few states; per word.
const STATE_BYTES: usize = 32;

/// Room for the steps of any state, by doubling, and how many states there are. Wrappers need room for steps that they do not give.
fn widest(system: &dyn TransitionSystem) -> (usize, usize) {
    let explored = explore(system, Limits::states(1 << 20)).expect("the system is small");
    let mut steps = Steps::new(system.shape(), Columns::ALL, 1);
    system.initial(&mut steps);
    while steps.source_count() == 0 {
        steps.grow();
        system.initial(&mut steps);
    }
    for state in &explored.states {
        while system.expand(Records::new(&state.record, state.record.len()), &mut steps) == 0 {
            steps.grow();
        }
    }
    (steps.capacity(), explored.states.len())
}

/// Generated on disk, within a data budget per word, beside what is needed in any case.
fn on_disk(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
    engine: SemiExternal<'_>,
) -> Option<Lasso> {
    let budget = Budget::new(bytes * system.shape().words() + beside(system, threads));
    let found = on_disk_within(system, recurs, &budget, threads, engine);
    found.unwrap_or_else(|refusal| panic!("{refusal}: {:#?}", budget.owners()))
}

/// The same, within a budget that may not suffice.
fn on_disk_within(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    budget: &Budget,
    threads: usize,
    engine: SemiExternal<'_>,
) -> Result<Option<Lasso>, BudgetError> {
    let volume = Volume::in_memory(512);
    let kept = budget.charge("beside the engine", beside(system, threads))?;
    let (mut tier, _) = match Tier::open(&volume, budget, system.shape(), threads, OPTIONS) {
        Err(SearchError::Budget(refusal)) => return Err(refusal),
        Err(SearchError::LeastBudget { least, free, .. }) => {
            return Err(Budget::new(free).charge("the search", least).expect_err("there is less"));
        }
        other => other.expect("memory does not fail"),
    };
    drop(kept);
    let generated = stages::run(Task::new(system, budget, &settings(threads)), &mut tier);
    let generated = match generated {
        Err(SearchError::Budget(refusal)) => return Err(refusal),
        other => other.expect("memory does not fail"),
    };
    if let Some(refusal) = generated.refusal {
        return Err(refusal);
    }
    assert_eq!(generated.ending, Ending::Complete);
    let finished = tier.into_finished().expect("it has come to its end");
    let scratch = Volume::in_memory(512);
    let room = Room::in_memory(budget);
    let known = Known { recurs, ..Known::default() };
    let search = Search { threads, acceptance: &known, ..search(system, &scratch, &room) };
    match engine(&search, &finished) {
        Err(SearchError::Budget(refusal)) => Err(refusal),
        other => Ok(other.expect("memory does not fail").lasso),
    }
}

/// The least data budget per word, to 256 bytes, with which a semi-external engine comes to its end.
pub(crate) fn least(system: &dyn TransitionSystem, threads: usize, doubly: bool) -> usize {
    let engine: SemiExternal<'_> = if doubly { &ddfs::run } else { &semi_owcty::run };
    let (words, beside) = (system.shape().words(), beside(system, threads));
    let suffices = |bytes: usize| {
        let budget = Budget::new(bytes * words + beside);
        on_disk_within(system, ALL_RECUR, &budget, threads, engine).is_ok()
    };
    let (mut low, mut high) = (0, 64 << 10);
    while high - low > 256 {
        let middle = (low + high) / 2;
        if suffices(middle) { high = middle } else { low = middle }
    }
    high
}

/// What a test says of accepting runs.
pub(crate) struct Known<'a> {
    pub(crate) weak: bool,
    pub(crate) recurs: Recurs<'a>,
    pub(crate) states: Option<Recurs<'a>>,
}

impl Default for Known<'_> {
    fn default() -> Self {
        Known { weak: false, recurs: ALL_RECUR, states: None }
    }
}

impl Acceptance for Known<'_> {
    fn is_weak(&self) -> bool {
        self.weak
    }

    fn is_of_states(&self) -> bool {
        self.states.is_some()
    }

    fn recurs(&self, record: &[u64]) -> bool {
        (self.recurs)(record)
    }

    fn is_accepting(&self, record: &[u64]) -> bool {
        self.states.is_some_and(|states| states(record))
    }
}

pub(crate) fn search<'a>(system: &'a dyn TransitionSystem, volume: &'a Volume, room: &'a Room) -> Search<'a> {
    Search {
        system,
        acceptance: &MarksAlone,
        threads: 1,
        volume,
        stack: None,
        room,
        observer: &Unobserved,
        commit_every: Duration::from_secs(3600),
        graph: GraphUse::WhenItPays,
        disk_room: u64::MAX,
    }
}

/// The fix-point on marks as they are, with a data budget.
pub(crate) fn fix_point(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    passes(system, recurs, (bytes, GraphUse::Never), threads, false)
}

/// The same, with steps that are written as numbers.
pub(crate) fn by_numbers(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    bytes: usize,
    threads: usize,
) -> Option<Lasso> {
    passes(system, recurs, (bytes, GraphUse::Always), threads, false)
}

fn passes(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    (bytes, graph): (usize, GraphUse),
    threads: usize,
    weak: bool,
) -> Option<Lasso> {
    let budget = Budget::new(bytes);
    let (table, layers) = generated(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let room = Room::in_memory(&budget);
    let known = Known { weak, recurs, ..Known::default() };
    let search = Search { acceptance: &known, threads, graph, ..search(system, &volume, &room) };
    let outcome = semi_owcty::run(&search, &reached).expect("the budget suffices");
    // There is room; without marks, and if the automaton is weak, there is no pass over all steps.
    let by_numbers = graph == GraphUse::Always && !weak && system.shape().mark_count > 0;
    assert_eq!(outcome.graph_bytes.is_some(), by_numbers);
    assert_eq!(outcome.lasso.is_some(), outcome.left > 0);
    assert_eq!(volume.list().expect("memory can be listed"), ["closed.numbers", "closed.run"]);
    outcome.lasso
}

/// The fix-point over sorted files, of a weak automaton.
fn by_files_of_weak(system: &dyn TransitionSystem, recurs: Recurs<'_>) -> Option<Lasso> {
    let budget = Budget::new(1 << 20);
    let (table, layers) = generated(system, &budget, 1);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let room = Room::in_memory(&budget);
    let known = Known { weak: true, recurs, ..Known::default() };
    let search = Search { acceptance: &known, ..search(system, &volume, &room) };
    let outcome = owcty::run(&search, &reached).expect("the budget suffices");
    assert_eq!(outcome.lasso.is_some(), outcome.left > 0);
    assert_eq!(
        (outcome.rounds, volume.list().expect("memory can be listed").len()),
        (1, 1),
        "one run is left"
    );
    outcome.lasso
}

pub(crate) fn double(system: &dyn TransitionSystem, recurs: Recurs<'_>, bytes: usize) -> Option<Lasso> {
    with_one_mark(system, recurs, &|system, recurs| double_once(system, recurs, bytes, false))
}

/// On a system with one acceptance set, of states.
fn double_once(system: &dyn TransitionSystem, recurs: Recurs<'_>, bytes: usize, weak: bool) -> Option<Lasso> {
    let budget = Budget::new(bytes);
    let (table, layers) = generated(system, &budget, 1);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let room = Room::in_memory(&budget);
    let known = Known { weak, recurs, ..Known::default() };
    let search = Search { acceptance: &known, ..search(system, &volume, &room) };
    ddfs::run(&search, &reached).expect("the budget suffices").lasso
}

/// Greatest accepting predecessors.
pub(crate) fn maximal(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    graph: GraphUse,
    threads: usize,
) -> Option<Lasso> {
    with_one_mark(system, recurs, &|system, recurs| maximal_once(system, recurs, graph, threads, false))
}

/// On a system with one acceptance set.
pub(crate) fn maximal_once(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    graph: GraphUse,
    threads: usize,
    weak: bool,
) -> Option<Lasso> {
    let budget = Budget::new(16 << 20);
    let (table, layers) = generated(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let reached = KeptLayers::new(&table, layers, system.shape()).expect("it is not too wide");
    let room = Room::in_memory(&budget);
    let known = Known { weak, recurs, ..Known::default() };
    let search = Search { acceptance: &known, threads, graph, ..search(system, &volume, &room) };
    let outcome = map_ram::run(&search, &reached).expect("the budget suffices");
    assert_eq!(
        outcome.graph_bytes.is_some(),
        graph == GraphUse::Always || outcome.rounds > 1 && graph != GraphUse::Never
    );
    assert_eq!(outcome.lasso.is_some(), outcome.left > 0);
    assert_eq!(volume.list().expect("memory can be listed"), ["closed.numbers", "closed.run"]);
    outcome.lasso
}

/// All states, breadth-first.
pub(crate) fn generated(system: &dyn TransitionSystem, budget: &Budget, threads: usize) -> (RamTable, u64) {
    let mut table = RamTable::new(system.shape(), budget, threads).expect("the budget suffices");
    let generated = stages::run(Task::new(system, budget, &settings(threads)), &mut table);
    let generated = generated.expect("the budget suffices");
    assert_eq!(generated.ending, Ending::Complete);
    table.forget_table().expect("an empty table is small");
    (table, generated.layers.len() as u64)
}

fn settings(threads: usize) -> task::Settings {
    task::Settings {
        threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning { shared_layer_min: 1, ..Tuning::default() },
    }
}

/// Depth-first searches know accepting states: marks are counted for them.
fn with_one_mark(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    search: &dyn Fn(&dyn TransitionSystem, Recurs<'_>) -> Option<Lasso>,
) -> Option<Lasso> {
    let counted = Degeneralised::new(system);
    search(&counted, &|record| recurs(&counted.part(record)))
        .map(|lasso| projected(&lasso, system, |record| counted.part(record)))
}

/// The same run in a system whose records are parts of its own.
pub(crate) fn projected(
    lasso: &Lasso,
    system: &dyn TransitionSystem,
    part: impl Fn(&[u64]) -> Vec<u64>,
) -> Lasso {
    lasso.project(system.shape().words(), |record| (part(record), 0)).expect("memory does not fail")
}
