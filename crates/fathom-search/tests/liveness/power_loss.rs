//! Power loss at every operation of ordering, numbering, passes and ranks, and again while they are taken up: in the end there is a proof, or the same verdict.
//!
//! The normal run strikes every few operations; `FATHOM_LONG=1` strikes at every one of many more systems.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use fathom_disk::budget::Budget;
use fathom_disk::error::DiskError;
use fathom_disk::manifest::RunDirectory;
use fathom_disk::storage::{Fault, FaultyStorage, Volume};
use fathom_ltl::product::Product;
use fathom_model::acceptance::Acceptance;
use fathom_search::engines::{owcty, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::files::successor_graph::GraphUse;
use fathom_search::liveness::semi_external::{Outcome, Search};
use fathom_search::task::{Observer, Unobserved};
use fathom_search::traces::path::Room;
use oracle::graph::Graph;
use oracle::random::Random;

use crate::engines::{Known, finished, product, search};
use crate::ranks::{Certifying, TAG, audited_product, holding};
use crate::suite::{automata, drawn};

/// What is searched: a product, whether its automaton is weak, and whether its steps are written as numbers; or by passes over files.
#[derive(Clone, Copy)]
struct Question<'a> {
    product: &'a Product<&'a Graph>,
    weak: bool,
    graph: bool,
    by_files: bool,
}

/// Begins, or goes on with what is committed: every other time with more memory, or another thread.
fn attempt(question: Question<'_>, storage: &FaultyStorage, times: u64) -> Result<Outcome, SearchError> {
    watched(question, storage, times, &Unobserved)
}

/// The same, watched by somebody who may end it.
fn watched(
    question: Question<'_>,
    storage: &FaultyStorage,
    times: u64,
    observer: &dyn Observer,
) -> Result<Outcome, SearchError> {
    let Question { product, weak, .. } = question;
    let budget = Budget::new((1 << 20) << (times % 2));
    let threads = 1 + times as usize / 2 % 2;
    let reached = finished(product, &budget, threads);
    let volume = Volume::new(storage.clone());
    let mut directory = RunDirectory::open(&volume, TAG)?;
    let recurs = |record: &[u64]| product.recurs(record);
    let known = Known { weak, recurs: &recurs, ..Known::default() };
    let commit_every = Duration::ZERO;
    let graph = if question.graph { GraphUse::Always } else { GraphUse::Never };
    let room = Room::in_memory(&budget);
    let search = Search {
        acceptance: &known,
        threads,
        commit_every,
        graph,
        observer,
        ..search(product, &volume, &room)
    };
    let engine: Certifying = if question.by_files { owcty::run_certified } else { semi_owcty::run_certified };
    engine(&search, &reached, &mut directory, TAG)
}

/// Loses power at operation `first`, and then now and then while going on, until it ends; gives the outcome, what is there after one more loss, and how often the power went.
fn struck(question: Question<'_>, first: u64, seed: u64) -> (Outcome, Volume, u64) {
    let mut random = Random::new(seed ^ first << 20);
    let mut storage = FaultyStorage::new(64, seed);
    let mut strike = first;
    for crashes in 0.. {
        storage.strike(strike, Fault::Crash);
        match attempt(question, &storage, crashes) {
            Ok(outcome) => return (outcome, Volume::new(storage.after_crash(seed)), crashes),
            Err(SearchError::Disk(DiskError::Storage(_))) if storage.struck() => {}
            Err(error) => panic!("operation {strike} after {crashes} crashes: {error}"),
        }
        storage = storage.after_crash(random.below(1 << 30) as u64);
        strike = random.below(60 << crashes.min(20)) as u64;
    }
    unreachable!("what is not struck ends")
}

#[test]
fn passes_that_lose_power_are_taken_up_and_prove_the_same() {
    let long = std::env::var_os("FATHOM_LONG").is_some();
    let (seeds, every) = if long { (400, 1) } else { (40, 9) };
    let (mut proven, mut crashed, mut between) = (0, 0, 0);
    for seed in 0..seeds {
        let weak = seed % 2 == 0;
        let Some((graph, automaton, profile)) = holding(seed, weak) else { continue };
        let product = product(&graph, &automaton, &[]);
        let question = Question { product: &product, weak, graph: seed % 4 == 1, by_files: seed % 3 == 0 };
        let quiet = FaultyStorage::new(64, seed);
        assert!(attempt(question, &quiet, 0).expect("nothing fails").lasso.is_none());
        for first in (seed % every..quiet.operations() + 1).step_by(every as usize) {
            let (outcome, volume, crashes) = struck(question, first, seed);
            assert!(outcome.lasso.is_none(), "seed {seed}, operation {first}");
            let audited = audited_product(&product, &volume, profile.as_ref());
            assert!(audited.is_ok(), "seed {seed}, operation {first}: {audited:?}");
            (proven, crashed) = (proven + 1, crashed + crashes);
            between += u64::from(outcome.taken_up.is_some());
        }
    }
    eprintln!("{proven} proofs, power lost {crashed} times; {between} were taken up between passes");
    assert!(proven > 100 && crashed > 100 && between * 4 > proven, "the mix is fair");
}

#[test]
fn passes_that_lose_power_find_the_same_violation() {
    let (mut found, mut crashed, mut between) = (0, 0, 0);
    for seed in 0..40 {
        let (graph, formula) = drawn(&mut Random::new(seed ^ 0x90e7), 20);
        let [_, automaton] = automata(&formula, &graph);
        let product = product(&graph, &automaton, &[]);
        let question =
            Question { product: &product, weak: false, graph: seed % 2 == 1, by_files: seed % 3 == 0 };
        let quiet = FaultyStorage::new(64, seed);
        let Some(lasso) = attempt(question, &quiet, 0).expect("nothing fails").lasso else { continue };
        for first in (seed % 11..quiet.operations() + 1).step_by(11) {
            let (outcome, _, crashes) = struck(question, first, seed);
            assert_eq!(outcome.lasso.as_ref(), Some(&lasso), "seed {seed}, operation {first}");
            (found, crashed) = (found + 1, crashed + crashes);
            between += u64::from(outcome.taken_up.is_some());
        }
    }
    eprintln!("{found} lassos, power lost {crashed} times; {between} were taken up between passes");
    assert!(found > 50 && crashed > 50 && between > 20, "the mix is fair");
}

/// Fails, short, torn and flipped operations, on devices that answer at once and on slow ones, during ordering, numbering, passes and ranks: an error that says so, or the right verdict; and what is
/// left is gone on with.
#[test]
fn a_device_that_fails_lies_or_tears_never_makes_passes_wrong() {
    let (mut struck, mut failed, mut proven) = (0u64, 0u64, 0u64);
    for seed in 0..24 {
        let weak = seed % 2 == 0;
        let Some((graph, automaton, profile)) = holding(seed, weak) else { continue };
        let product = product(&graph, &automaton, &[]);
        let question = Question { product: &product, weak, graph: seed % 4 == 1, by_files: seed % 3 == 0 };
        let quiet = FaultyStorage::new(64, seed);
        assert!(attempt(question, &quiet, 0).expect("nothing fails").lasso.is_none());
        for operation in (seed % 5..quiet.operations()).step_by(5) {
            let fault = [Fault::Fail, Fault::Short, Fault::Tear, Fault::Flip][(operation / 5) as usize % 4];
            let about = format!("seed {seed}, {fault:?} at operation {operation}");
            let storage = FaultyStorage::new(64, seed ^ operation);
            let storage = if operation % 2 == 0 { storage.delaying() } else { storage };
            storage.strike(operation, fault);
            let first = attempt(question, &storage, 0);
            let outcome = match first {
                Ok(outcome) => Ok(outcome),
                Err(SearchError::Budget(refusal)) => panic!("{about}: {refusal}"),
                Err(_) => {
                    failed += 1;
                    attempt(question, &storage, 1)
                }
            };
            struck += 1;
            match outcome {
                Ok(outcome) => {
                    assert!(outcome.lasso.is_none(), "{about}");
                    let audited = audited_product(&product, &Volume::new(storage.clone()), profile.as_ref());
                    assert!(audited.is_ok() || fault == Fault::Flip, "{about}: {audited:?}");
                    proven += u64::from(audited.is_ok());
                }
                Err(error) => assert!(fault == Fault::Flip, "{about}: {error}"),
            }
        }
    }
    eprintln!("{struck} strikes, {failed} errors, {proven} proofs in the end");
    assert!(struck > 100 && failed > struck / 4 && proven > struck / 2, "{struck}, {failed}, {proven}");
}

/// Ends a search when it was asked so often.
struct Impatient(AtomicU64);

impl Observer for Impatient {
    fn stop(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err()
    }
}

#[test]
fn passes_that_are_stopped_end_at_once_go_on_and_prove_the_same() {
    let (mut stopped, mut proven) = (0, 0);
    for seed in 0..40 {
        let weak = seed % 2 == 0;
        let Some((graph, automaton, profile)) = holding(seed, weak) else { continue };
        let product = product(&graph, &automaton, &[]);
        let question = Question { product: &product, weak, graph: seed % 4 == 1, by_files: seed % 3 == 0 };
        let storage = FaultyStorage::new(64, seed);
        let at_once = watched(question, &storage, 0, &Impatient(0.into())).expect("nothing fails");
        if at_once.stopped {
            // States are not put in order first.
            let directory = RunDirectory::open(&Volume::new(storage.clone()), TAG).expect("nothing fails");
            assert!(directory.committed().is_none(), "seed {seed}");
            stopped += 1;
        }
        for patience in 1.. {
            let outcome = watched(question, &storage, patience, &Impatient(patience.into()));
            let outcome = outcome.expect("nothing fails");
            assert!(outcome.lasso.is_none(), "seed {seed}");
            if !outcome.stopped {
                break;
            }
            stopped += 1;
        }
        let audited = audited_product(&product, &Volume::new(storage), profile.as_ref());
        assert!(audited.is_ok(), "seed {seed}: {audited:?}");
        proven += 1;
    }
    assert!(stopped > 40 && proven > 15, "{stopped} stopped, {proven} proven");
}
