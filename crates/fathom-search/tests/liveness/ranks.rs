//! Ranks: wherever a formula holds there are some that the audit accepts, and it accepts none that prove nothing.

use fathom_disk::budget::Budget;
use fathom_disk::key::KeyWidth;
use fathom_disk::manifest::{Named, RunDirectory};
use fathom_disk::run::{Run, RunConfig, RunWriter, Scan};
use fathom_disk::set::KeyStream;
use fathom_disk::storage::Volume;
use fathom_ltl::automaton::{Automaton, StateId};
use fathom_ltl::product::Product;
use fathom_ltl::strength::{Profile, Strength, profile, saturated};
use fathom_model::acceptance::Acceptance;
use fathom_model::system::TransitionSystem;
use fathom_model::tag::Tag;
use fathom_search::engines::{owcty, semi_owcty};
use fathom_search::error::SearchError;
use fathom_search::files::closed_set::{Reached, Recurs};
use fathom_search::liveness::semi_external::{Outcome, Search};
use fathom_search::proof::audit::AuditError;
use fathom_search::proof::rank_audit::{Place, PlaceOf, RankAudit, RankAudited};
use fathom_search::task::Unobserved;
use fathom_search::traces::path::Room;
use oracle::bfs::{Explored, Limits, explore};
use oracle::graph::Graph;
use oracle::random::Random;

use crate::engines::{Known, finished, product, search};
use crate::formulas::judged;
use crate::suite::{automata, drawn, rounds};

pub(crate) const TAG: [u8; 16] = [9; 16];
const RANK_BITS: u32 = 32;

/// An engine that leaves ranks.
pub(crate) type Certifying =
    fn(&Search<'_>, &dyn Reached, &mut RunDirectory, [u8; 16]) -> Result<Outcome, SearchError>;

/// Searches with a certificate; the volume that it is on, if there is no accepting run.
pub(crate) fn certified(
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    weak: bool,
    threads: usize,
) -> Option<Volume> {
    certified_by(semi_owcty::run_certified, system, recurs, weak, (threads, 8 << 20))
}

/// The same, with an engine and so much memory.
pub(crate) fn certified_by(
    engine: Certifying,
    system: &dyn TransitionSystem,
    recurs: Recurs<'_>,
    weak: bool,
    (threads, bytes): (usize, usize),
) -> Option<Volume> {
    let budget = Budget::new(bytes);
    let reached = finished(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let mut directory = RunDirectory::open(&volume, TAG).expect("memory does not fail");
    let room = Room::in_memory(&budget);
    let known = Known { weak, recurs, ..Known::default() };
    let search = Search { acceptance: &known, threads, ..search(system, &volume, &room) };
    let outcome = engine(&search, &reached, &mut directory, TAG).expect("memory does not fail");
    assert_eq!(outcome.classes.is_some(), outcome.lasso.is_none());
    drop(directory);
    outcome.lasso.is_none().then_some(volume)
}

/// Ranks that `owcty` leaves of a system without an accepting run, if it leaves any: it does unless requests took states away.
pub(crate) fn ranked_by_files(system: &dyn TransitionSystem, threads: usize) -> Option<Volume> {
    let budget = Budget::new(4 << 20);
    let reached = finished(system, &budget, threads);
    let volume = Volume::in_memory(512);
    let mut directory = RunDirectory::open(&volume, TAG).expect("memory does not fail");
    let room = Room::in_memory(&budget);
    let search = Search { threads, ..search(system, &volume, &room) };
    let outcome = owcty::run_certified(&search, &reached, &mut directory, TAG).expect("memory does not fail");
    assert!(outcome.lasso.is_none() && outcome.classes.is_some() != outcome.unranked);
    drop(directory);
    outcome.classes.is_some().then_some(volume)
}

pub(crate) fn audited(
    system: &dyn TransitionSystem,
    volume: &Volume,
    place: Option<PlaceOf<'_>>,
) -> Result<RankAudited, AuditError> {
    let (budget, scratch) = (Budget::new(1 << 20), Volume::in_memory(512));
    let audit = RankAudit {
        system,
        place,
        volume,
        tag: TAG,
        scratch: &scratch,
        budget: &budget,
        observer: &Unobserved,
    };
    audit.run()
}

/// Where states of a product are in its automaton.
fn place_in(automaton: &Automaton, profile: &Profile) -> impl Fn(StateId) -> Place + use<> {
    let mut places = vec![Place { component: 0, marked: false }; automaton.states.len()];
    // Components come after those that they can reach.
    for (number, component) in profile.components.iter().rev().enumerate() {
        let marked = matches!(component.strength, Strength::Weak | Strength::Terminal);
        for state in &component.states {
            places[state.index()] = Place { component: number as u32, marked };
        }
    }
    move |state| places[state.index()]
}

/// The states on a volume, with their ranks.
fn ranks(volume: &Volume, shape: &fathom_model::shape::Shape) -> Vec<(Vec<u64>, u32)> {
    let (budget, tag) = (Budget::unlimited(), Tag::new(shape.width_bits, RANK_BITS));
    let width = KeyWidth::new(shape.width_bits + RANK_BITS).expect("memory does not fail");
    let run = Run::open(volume, &budget, "ranks", width, TAG).expect("memory does not fail");
    let mut scan = Scan::new(&run, &budget, 4096).expect("memory does not fail");
    let mut all = Vec::new();
    while scan.advance().expect("memory does not fail") {
        for wide in scan.keys().chunks_exact(tag.wide_words) {
            let mut record = vec![0; shape.words()];
            let rank = tag.split(wide, &mut record);
            all.push((record, rank));
        }
    }
    all
}

/// Commits other ranks in place of those that are there.
fn rewrite(volume: &Volume, shape: &fathom_model::shape::Shape, ranks: &[(Vec<u64>, u32)]) {
    let (budget, tag) = (Budget::unlimited(), Tag::new(shape.width_bits, RANK_BITS));
    let mut directory = RunDirectory::open(volume, TAG).expect("memory does not fail");
    let cursor = directory.committed().expect("memory does not fail").cursor.clone();
    let gone = Named { name: "ranks".into(), grows: false, note: Vec::new() };
    directory.commit(&cursor, &[]).expect("memory does not fail");
    let config =
        RunConfig::live(KeyWidth::new(shape.width_bits + RANK_BITS).expect("memory does not fail"), TAG);
    let mut writer = RunWriter::new(volume, &budget, "ranks", &config).expect("memory does not fail");
    let mut wide = vec![0; tag.wide_words];
    for (record, rank) in ranks {
        tag.join(record, *rank, &mut wide);
        writer.push(&wide).expect("memory does not fail");
    }
    writer.finish(true).expect("memory does not fail");
    directory.commit(&cursor, &[gone]).expect("memory does not fail");
}

/// A product of a random system with a formula that holds of it.
pub(crate) fn holding(seed: u64, weak: bool) -> Option<(Graph, Automaton, Option<Profile>)> {
    let mut random = Random::new(seed ^ 0x7a4b);
    let (graph, formula) = drawn(&mut random, 30);
    let explored = explore(&graph, Limits::states(100_000)).expect("memory does not fail");
    if judged(&explored, &formula) != Some(false) {
        return None;
    }
    let [buchi, generalised] = automata(&formula, &graph);
    if !weak {
        return Some((graph, generalised, None));
    }
    let profile = profile(&buchi)?;
    let plain = saturated(&buchi, &profile);
    (profile.strength <= Strength::Weak).then_some((graph, plain, Some(profile)))
}

#[test]
fn what_holds_has_ranks_that_the_audit_accepts() {
    let (mut strong, mut weak, mut deep) = (0, 0, 0);
    for seed in 0..rounds(2_000) {
        let is_weak = seed % 2 == 0;
        let Some((graph, automaton, profile)) = holding(seed, is_weak) else { continue };
        let product = product(&graph, &automaton, &[]);
        let engine: Certifying = if seed % 3 == 0 { owcty::run_certified } else { semi_owcty::run_certified };
        let (threads, bytes) = (1 + seed as usize / 2 % 2, if seed % 6 < 3 { 256 << 10 } else { 8 << 20 });
        let recurs = |record: &[u64]| product.recurs(record);
        let volume = certified_by(engine, &product, &recurs, is_weak, (threads, bytes))
            .expect("the judge says that it holds");
        let audited = audited_product(&product, &volume, profile.as_ref());
        let audited = audited.unwrap_or_else(|refusal| panic!("seed {seed}: {refusal}"));
        let states = explore(&product, Limits::states(100_000)).expect("memory does not fail");
        assert_eq!(audited.states, states.states.len() as u64, "seed {seed}");
        assert_eq!(audited.transitions, states.transitions() as u64, "seed {seed}");
        (strong, weak) = (strong + u64::from(!is_weak), weak + u64::from(is_weak));
        deep += u64::from(audited.classes > 3);
    }
    eprintln!("{strong} with any automaton, {weak} with a weak one, {deep} with more than three classes");
    assert!(strong > 200 && weak > 100 && deep > 20, "the mix is fair");
}

pub(crate) fn audited_product(
    product: &Product<&Graph>,
    volume: &Volume,
    profile: Option<&Profile>,
) -> Result<RankAudited, AuditError> {
    match profile {
        None => audited(product, volume, None),
        Some(profile) => {
            let place = place_in(product.automaton(), profile);
            audited(product, volume, Some(&|record| place(product.parts(record).1)))
        }
    }
}

/// The states of a product that a step leads to from the class before, or from their own: their rank cannot be lower.
fn tight(explored: &Explored, ranks: &[(Vec<u64>, u32)], automaton: &Automaton) -> Option<usize> {
    let rank_of = |state: usize| {
        let place = ranks.binary_search_by(|(record, _)| record.cmp(&explored.states[state].record));
        place.ok().map(|place| (place, ranks[place].1))
    };
    let all = automaton.all_marks();
    (0..explored.states.len()).find_map(|source| {
        let (_, from) = rank_of(source)?;
        explored.states[source].steps.iter().find_map(|step| {
            let (place, to) = rank_of(step.target)?;
            // All marks on the step: whatever kept the class out, the rank must rise.
            (step.marks.0 & all == all && to == from + 1 && to > 0).then_some(place)
        })
    })
}

#[test]
fn ranks_that_prove_nothing_are_refused() {
    let (mut lowered, mut removed, mut changed, mut classes) = (0, 0, 0, 0);
    for seed in 0..rounds(1_500) {
        let Some((graph, automaton, _)) = holding(seed, false) else { continue };
        let product = product(&graph, &automaton, &[]);
        let shape = product.shape();
        let volume = certified(&product, &|record| product.recurs(record), false, 1)
            .expect("the judge says that it holds");
        let explored = explore(&product, Limits::states(100_000)).expect("memory does not fail");
        let right = ranks(&volume, shape);
        if let Some(place) = tight(&explored, &right, &automaton) {
            let mut wrong = right.clone();
            wrong[place].1 -= 1;
            rewrite(&volume, shape, &wrong);
            let refusal = audited(&product, &volume, None).map(|_| ());
            assert!(matches!(refusal, Err(AuditError::Rank { .. })), "seed {seed}: {refusal:?}");
            lowered += 1;
        }
        if let Some(place) = (seed as usize).checked_rem(right.len()) {
            let mut wrong = right.clone();
            wrong.remove(place);
            rewrite(&volume, shape, &wrong);
            let refusal = audited(&product, &volume, None).map(|_| ());
            assert!(matches!(refusal, Err(AuditError::Open { .. })), "seed {seed}: {refusal:?}");
            removed += 1;
            let mut wrong = right.clone();
            wrong[place].1 = u32::MAX;
            rewrite(&volume, shape, &wrong);
            let refusal = audited(&product, &volume, None).map(|_| ());
            assert!(matches!(refusal, Err(AuditError::NoClass { .. })), "seed {seed}: {refusal:?}");
            classes += 1;
            // A state that is none, or is not reached, in place of one that is.
            let mut wrong = right.clone();
            let last = wrong[place].0.last_mut().expect("memory does not fail");
            *last ^= 1 << (seed % u64::from(shape.width_bits.min(64)));
            wrong.sort();
            wrong.dedup_by(|left, right| left.0 == right.0);
            if wrong.iter().map(|(record, _)| record).ne(right.iter().map(|(record, _)| record)) {
                rewrite(&volume, shape, &wrong);
                assert!(!is_proof(&product, &volume), "seed {seed}");
                changed += 1;
            }
        }
        rewrite(&volume, shape, &right);
        assert!(audited(&product, &volume, None).is_ok(), "seed {seed}: the right ones are accepted again");
    }
    eprintln!("{lowered} lowered, {removed} removed, {changed} changed, {classes} of no class: all refused");
    assert!(lowered > 100 && removed > 200 && changed > 200, "the mix is fair");
}

/// Whether the audit accepts what is on a volume; a record that is no state may fault in an expansion, which is no proof either.
fn is_proof(product: &Product<&Graph>, volume: &Volume) -> bool {
    let audit = std::panic::AssertUnwindSafe(|| audited(product, volume, None).is_ok());
    std::panic::catch_unwind(audit).unwrap_or(false)
}

#[test]
fn ranks_of_another_strength_and_missing_ones_are_refused() {
    let seed = (0..).step_by(2).find(|seed| holding(*seed, true).is_some()).expect("memory does not fail");
    let (graph, automaton, profile) = holding(seed, true).expect("memory does not fail");
    let product = product(&graph, &automaton, &[]);
    let volume =
        certified(&product, &|record| product.recurs(record), true, 1).expect("memory does not fail");
    assert!(matches!(audited(&product, &volume, None), Err(AuditError::Strength)));
    assert!(audited_product(&product, &volume, profile.as_ref()).is_ok());
    assert!(matches!(audited(&product, &Volume::in_memory(512), None), Err(AuditError::Unranked)));
}
