//! Which measure of progress would make a deep and narrow search cheap, and what comes of it?
//!
//! Steps along random walks tell: a measure that none of them decreases, and whose largest bucket has a small share of the states. With one, the search begins again in its order, keeps its states, and is as exact as the
//! one by layers; without one, that goes on where it was left. A sweep that turns out to be dear is left, too.

use fathom_disk::error::DiskError;
use fathom_disk::storage::Volume;
use fathom_model::record::Records;

use super::super::engine::{Answer, Ask, Kept, NamedMeasure};
use super::super::sweep::{self, Options, Queue};
use super::super::tier;
use crate::error::SearchError;
use crate::progress::choose::{Choice, Forecast};
use crate::progress::measure::Measure;
use crate::progress::sample::Sample;
use crate::task::{Ending, Observer, Task};

/// Steps that are looked at.
const SAMPLE_STEPS: usize = 50_000;
/// The share of states that the largest bucket may have. A bucket larger than memory costs little as long as no step goes back: plc.4 within 2 MiB has one of 90,000 states, and reads 40 bytes per state.
const LARGEST_MAX: f64 = 0.25;

/// The measure that a sweep is made with.
enum Chosen<'a> {
    Given(NamedMeasure<'a>),
    Sampled(Measure),
}

/// The search is to stop, and was told so while a measure was chosen: the one by layers says how far it had come.
struct Heard;

impl Observer for Heard {
    fn stop(&self) -> bool {
        true
    }
}

/// Goes on in the order of progress, if there is a measure for it; else by layers.
pub(super) fn instead(ask: &Ask<'_>) -> Result<Answer, SearchError> {
    let volume = (ask.place.volume)()?;
    let chosen = match choose(ask) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => return by_layers(ask.task, ask, &volume),
        Err(SearchError::Stopped) => return by_layers(ask.task.watched_by(&Heard), ask, &volume),
        Err(error) => return Err(error),
    };
    clear(&volume)?;
    let name = match &chosen {
        Chosen::Given(measure) => measure.name.to_owned(),
        Chosen::Sampled(measure) => measure.to_string(),
    };
    let values = |records: Records<'_>, values: &mut Vec<u64>| match &chosen {
        Chosen::Given(measure) => (measure.values)(records, values),
        Chosen::Sampled(measure) => measure.values(records, values),
    };
    let Task { observer, .. } = ask.task;
    observer.abandoned(0);
    observer.goes_by_progress(&name);
    let options = Options {
        tag: ask.place.tag,
        disk_limit: ask.place.limit,
        queue: Queue::Radix,
        gives_up: true,
        measure_text: name.clone(),
        ..Options::unlasting()
    };
    let (policy, outcome) = sweep::run(ask.task, &values, (&volume, false), options)?;
    if outcome.ending == Ending::Policy(sweep::TOO_DEAR) {
        drop((policy, outcome));
        clear(&volume)?;
        observer.abandoned(0);
        return by_layers(ask.task, ask, &volume);
    }
    let used = Some(policy.disk_use());
    let (kept, measure) = (Kept::Stages(Box::new(policy.into_stages())), Some(name));
    Ok(Answer {
        engine: sweep::ENGINE.name,
        outcome,
        kept,
        used,
        closing: None,
        measure,
        figures: Vec::new(),
    })
}

/// Removes the files of a search that begins again.
fn clear(volume: &Volume) -> Result<(), SearchError> {
    for name in volume.list().map_err(DiskError::from)? {
        volume.remove(&name).map_err(DiskError::from)?;
    }
    Ok(())
}

/// Goes on by layers, from the start or from what is committed.
fn by_layers(task: Task<'_>, ask: &Ask<'_>, volume: &Volume) -> Result<Answer, SearchError> {
    let (tier, outcome) = tier::run(task, (volume, false), tier::options(ask))?;
    super::answer(super::Kept::Tier(Box::new(tier)), outcome)
}

/// The measure that is worth a try: the one that was given, or one that is chosen from a sample.
fn choose<'a>(ask: &Ask<'a>) -> Result<Option<Chosen<'a>>, SearchError> {
    let Task { system, budget, observer, .. } = ask.task;
    let found = (|| {
        let sample = Sample::of(system, budget, observer, SAMPLE_STEPS)?;
        let choice = Choice { shape: system.shape(), edges: &sample, states: sample.states(), budget };
        if let Some(measure) = ask.measure
            && promises(&choice.forecast_of(measure.values)?)
        {
            return Ok(Some(Chosen::Given(measure)));
        }
        let measure = choice.measure(0, 0.0)?;
        Ok(promises(&choice.forecast(&measure)?).then_some(Chosen::Sampled(measure)))
    })();
    match found {
        // There is no memory to look at steps: then there is none for a good measure, either.
        Err(SearchError::Budget(_)) => Ok(None),
        found => found,
    }
}

/// Whether no step was seen to go back: with little memory, what earlier sweeps know is dear to look up (plc.4 within 2 MiB, with one step of a hundred back: 4 GiB read before half of it was done).
fn promises(forecast: &Forecast) -> bool {
    forecast.largest <= LARGEST_MAX && forecast.regress == 0
}
