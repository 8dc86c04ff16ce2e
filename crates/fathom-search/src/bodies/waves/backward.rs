//! Which states do steps lead from to what was met, in any number of steps, when steps are made forwards only?
//!
//! Nobody knows predecessors, so states that were not met look for themselves: one is met if a step of it leads to one that was met (as in the bottom-up steps of S. Beamer, K. Asanović, D. Patterson, "Direction-optimizing
//! breadth-first search", SC 2012). They are asked layer by layer, the last one first, and what is met counts at once: most steps lead to the next layer, so one pass brings a wave from the last layer to the first. Passes, until one meets
//! nothing.
//!
//! Memory: what the expander has. Time: the states that were not met are expanded in each pass; there are as many passes as steps on the way lead back to earlier layers, and one more.

use fathom_model::record::RecordBuffer;

use crate::error::SearchError;
use crate::expansion::by_number::Expander;
use crate::files::closed_set::Reached;
use crate::stores::bits::Bits;
use crate::task::{Observer, Phase, Progress};

/// Meets everything that leads to what was met, inside the set of the expander, whose states are those that were reached.
///
/// # Errors
/// [`SearchError::Stopped`] if the observer says so.
pub(crate) fn spread(
    expander: &mut Expander<'_>,
    reached: &dyn Reached,
    met: &Bits,
    observer: &dyn Observer,
) -> Result<(), SearchError> {
    let mut before = met.count();
    loop {
        for layer in (0..reached.layer_count()).rev() {
            pass(expander, reached, layer, met, observer)?;
            observer.progress(Progress {
                phase: Phase::Backward,
                layer,
                expanded: expander.visits,
                states: expander.set.len(),
                transitions: expander.edges,
                ..Progress::default()
            });
            if observer.stop() {
                return Err(SearchError::Stopped);
            }
        }
        let now = met.count();
        if now == before {
            return Ok(());
        }
        before = now;
    }
}

/// Asks the states of a layer that were not met.
fn pass(
    expander: &mut Expander<'_>,
    reached: &dyn Reached,
    layer: u64,
    met: &Bits,
    observer: &dyn Observer,
) -> Result<(), SearchError> {
    let (mut batch, most) = (expander.take_batch(), expander.set.block_keys_max().max(1));
    batch.clear();
    let mut outcome = Ok(());
    reached.visit_layer(layer, &mut |records| {
        for record in records.iter() {
            if outcome.is_ok() && batch.len() == most {
                outcome = ask(expander, &mut batch, met, observer);
                batch.clear();
            }
            if outcome.is_ok() {
                batch.push(record);
            }
        }
    })?;
    outcome?;
    ask(expander, &mut batch, met, observer)?;
    expander.return_batch(batch);
    Ok(())
}

/// Asks those of some states that were not met.
fn ask(
    expander: &mut Expander<'_>,
    batch: &mut RecordBuffer,
    met: &Bits,
    observer: &dyn Observer,
) -> Result<(), SearchError> {
    if observer.stop() {
        return Err(SearchError::Stopped);
    }
    expander.keep(batch, |number| !met.get(number));
    let mut numbers = Vec::new();
    expander.swap_kept(&mut numbers);
    let asked = expander.each(batch.view(), |source, taken| {
        if met.get(taken.number) {
            met.set(numbers[source]);
        }
        Ok(())
    });
    expander.swap_kept(&mut numbers);
    asked
}
