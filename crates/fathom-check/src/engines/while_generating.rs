//! How are accepting runs looked for while all states are generated?
//!
//! ```text
//! signs   in the steps that are made (`fathom_search::liveness::early`): terminal states, accepting states that are carried back to themselves
//! hunt    a thread of its own, depth-first with a few bits per state, for a twentieth of the time: where the engine is to be chosen
//! ```
//! What either finds ends the generation; it is a run like any other, replayed before it is told. If nothing is found their memory is given back, and the engine for all states decides.

use fathom_search::engines::engine::{Chosen, Run};
use fathom_search::engines::{bitstate, ram};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fathom_disk::budget::Budget;
use fathom_ltl::product::Product;
use fathom_model::record::Records;
use fathom_model::system::TransitionSystem;
use fathom_search::error::SearchError;
use fathom_search::liveness::early::{Early, Sign};
use fathom_search::task::{Ending, LayerSizes, Observer, Progress};
use fathom_search::traces::lasso::Lasso;

use crate::engines::layer_engine;
use crate::engines::liveness_task::{Searched, Task};
use crate::engines::{counted, on_the_fly, semi_external};
use crate::error::RunError;
use crate::model::system::System;

/// The part of memory for signs, and for the hunt: one in so many, and not more than so much.
const PART: usize = 32;
const SIGN_BYTES_MAX: usize = 8 << 20;
const HUNT_BYTES_MAX: usize = 64 << 20;
/// With less memory than this, all of it is for the generation.
const LIMIT_MIN: usize = 1 << 20;
/// The hunt has one in so many parts of the time.
const HUNT_SHARE: u32 = 20;
/// The longest rest of the hunt.
const REST: Duration = Duration::from_millis(50);

/// Generates all states of a product, and ends early where an accepting run shows; else finds out what follows from them all.
pub(crate) fn search(product: &Product<System<'_>>, task: &Task<'_>) -> Result<Searched, RunError> {
    if task.budget.limit() < LIMIT_MIN {
        return semi_external::search(product, task);
    }
    let bytes = (task.budget.limit() / PART).min(SIGN_BYTES_MAX);
    // With several marks no state is accepting by itself. Without memory for signs there are none.
    let signs = (product.shape().mark_count == 1)
        .then(|| Early::new(product, product, bytes, task.room).ok())
        .flatten();
    // Taken before the generation begins, so that what that gets does not depend on when the hunt begins.
    let hunts = matches!(task.engine.engine.run, Run::Chooses { .. });
    let bytes = if hunts { (task.budget.limit() / PART).min(HUNT_BYTES_MAX) } else { 0 };
    let charge = task.budget.charge("hunt", bytes).map_err(SearchError::from)?;
    let (hunted, over) = (OnceLock::new(), AtomicBool::new(false));
    let generated = std::thread::scope(|scope| {
        let hunting = || hunt(product, task, bytes, &over, &hunted);
        if hunts {
            // Without the thread there is no hunt.
            let _ = std::thread::Builder::new().spawn_scoped(scope, hunting);
        }
        let ends = Ends { inner: task.observer, signs: signs.as_ref(), hunted: &hunted };
        let system: &dyn TransitionSystem = match &signs {
            Some(signs) => signs,
            None => product,
        };
        let generated = semi_external::generate(system, &ends, task);
        over.store(true, Ordering::Relaxed);
        generated
    })?;
    drop(charge);
    if let Some(found) = hunted.into_inner() {
        return Ok(found);
    }
    if let Some((sign, lasso)) = signs.as_ref().and_then(|signs| signs.found()).cloned() {
        drop(signs);
        let lasso = match with_stem(product, task, &generated, &lasso) {
            Ok(None) => return semi_external::search(product, task),
            Ok(Some(lasso)) => Ok(lasso),
            Err(error) => Err(error.untraced(task.monitor).ok_or(error)?),
        };
        return Ok(semi_external::found_early(task, &generated, told(sign), lasso));
    }
    drop(signs);
    semi_external::decide(product, task, generated)
}

/// The word for a sign.
fn told(sign: Sign) -> &'static str {
    match sign {
        Sign::Terminal => "terminal",
        Sign::Carried => "carried",
    }
}

/// A run from a state that was expanded, with the way there.
fn with_stem(
    product: &Product<System<'_>>,
    task: &Task<'_>,
    generated: &layer_engine::Searched,
    lasso: &Lasso,
) -> Result<Option<Lasso>, RunError> {
    let first = lasso.path.reader()?.get(0)?.record.to_vec();
    let Some(layer) = generated.kept.layer_of(&first, generated.outcome.layers.len() as u64)? else {
        return Ok(None);
    };
    let (threads, observer) = (task.resources.threads, task.monitor.tracing());
    let stem = generated.path_to(product, task.room, &*observer, threads, (layer, &first))?;
    Ok(Some(Lasso::after(&stem, lasso)?))
}

/// Looks for an accepting run depth-first, in so much memory, until the generation is over, and rests most of the time.
fn hunt(
    product: &Product<System<'_>>,
    task: &Task<'_>,
    bytes: usize,
    over: &AtomicBool,
    hunted: &OnceLock<Searched>,
) {
    let budget = Budget::new(bytes);
    let share = Share { inner: task.observer, over, began: Instant::now(), rested: AtomicU64::new(0) };
    let hunting = Task {
        engine: &Chosen::plain(&bitstate::ENGINE),
        generation: &Chosen::plain(&ram::ENGINE),
        stack: None,
        home: None,
        observer: &share,
        budget: &budget,
        room: &task.room.within(&budget),
        ..*task
    };
    // A hunt that fails has found nothing.
    if let Ok(found) = counted::search(product, &hunting, on_the_fly::search)
        && found.ending == Ending::Found
        && found.lasso.is_some()
    {
        let _ = hunted.set(Searched { early: Some("hunt"), ..found });
    }
}

/// Ends a generation when an accepting run was found.
struct Ends<'a> {
    inner: &'a dyn Observer,
    signs: Option<&'a Early<'a>>,
    hunted: &'a OnceLock<Searched>,
}

impl Observer for Ends<'_> {
    fn stop(&self) -> bool {
        self.hunted.get().is_some()
            || self.signs.is_some_and(|signs| signs.found().is_some())
            || self.inner.stop()
    }

    fn progress(&self, progress: Progress) {
        self.inner.progress(progress);
    }

    fn expanded(&self, layer: u64, sources: Records<'_>) {
        self.inner.expanded(layer, sources);
    }

    fn abandoned(&self, layer: u64) {
        self.inner.abandoned(layer);
    }

    fn taken_up(&self, layers: &LayerSizes) {
        self.inner.taken_up(layers);
    }

    fn moved_to_disk(&self, layers: u64, states: u64) {
        self.inner.moved_to_disk(layers, states);
    }
}

/// Gives a hunt its share of the time.
struct Share<'a> {
    inner: &'a dyn Observer,
    over: &'a AtomicBool,
    began: Instant,
    /// Nanoseconds.
    rested: AtomicU64,
}

impl Observer for Share<'_> {
    fn stop(&self) -> bool {
        loop {
            if self.over.load(Ordering::Relaxed) || self.inner.stop() {
                return true;
            }
            let rested = Duration::from_nanos(self.rested.load(Ordering::Relaxed));
            let Some(rest) = rest(self.began.elapsed(), rested) else { return false };
            let before = Instant::now();
            std::thread::sleep(rest);
            let slept = u64::try_from(before.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.rested.fetch_add(slept, Ordering::Relaxed);
        }
    }
}

/// How long a hunt rests now that it has rested so much of the time that has gone by; none if it may go on.
fn rest(elapsed: Duration, rested: Duration) -> Option<Duration> {
    let worked = elapsed.saturating_sub(rested);
    let due = worked.checked_mul(HUNT_SHARE)?.checked_sub(elapsed).filter(|due| !due.is_zero())?;
    Some(due.min(REST))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fathom_search::engines::auto;
    use fathom_search::traces::path::Room;

    use super::*;
    use crate::engines::liveness_search;
    use crate::model::assemble::{Model, ModelOptions};
    use crate::model::execution::Execution;
    use crate::monitor::Clock;
    use crate::questions::liveness_property::LivenessQuestions;
    use crate::resources::Resources;

    /// What a hunt finds in the bakery that violates a formula.
    fn hunted_in_the_bakery(formula: &str) -> Option<Searched> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/bakery.dve");
        let model = Model::read(&path, &ModelOptions::default()).unwrap();
        let questions =
            LivenessQuestions { formulas: vec![formula.to_owned()], ..LivenessQuestions::default() };
        let property = questions.properties(&model).unwrap().pop().unwrap();
        let product = liveness_search::product(
            &model,
            &property,
            &property.searched,
            (&[], false),
            Execution::Interpreted,
        )
        .unwrap();
        let (budget, clock) = (Budget::new(64 << 20), Clock::new(None));
        let resources = Resources { threads: 1, ..Resources::of_this_machine() };
        let task = Task {
            moves: None,
            bounds: None,
            engine: &Chosen::plain(&auto::ENGINE),
            acceptance: &product,
            stop_at_fault: true,
            resources: &resources,
            budget: &budget,
            room: &Room::in_memory(&budget),
            monitor: &clock,
            observer: &clock,
            generation: &Chosen::plain(&ram::ENGINE),
            stack: None,
            home: None,
        };
        let (hunted, over) = (OnceLock::new(), AtomicBool::new(false));
        hunt(&product, &task, 2 << 20, &over, &hunted);
        let found: Option<Searched> = hunted.into_inner();
        if let Some(lasso) = found.as_ref().and_then(|found| found.lasso.as_ref()) {
            fathom_search::traces::lasso::replay(&product, lasso, None, &clock, &mut |_, _| {}).unwrap();
        }
        found
    }

    #[test]
    fn a_hunt_finds_a_violation_and_is_quiet_where_there_is_none() {
        let found = hunted_in_the_bakery("G F P_0.critical").expect("it is violated");
        assert!(found.lasso.is_some() && found.early == Some("hunt"));
        assert!(hunted_in_the_bakery("G !(P_0.critical && P_1.critical)").is_none());
    }

    #[test]
    fn a_hunt_has_its_share_and_not_more() {
        let (mut elapsed, mut rested) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..100_000 {
            match rest(elapsed, rested) {
                Some(rest) => {
                    assert!(rest <= REST);
                    elapsed += rest;
                    rested += rest;
                }
                None => elapsed += Duration::from_micros(10),
            }
        }
        let worked = (elapsed - rested).as_secs_f64() / elapsed.as_secs_f64();
        assert!((0.045..0.055).contains(&worked), "{worked}");
    }
}
