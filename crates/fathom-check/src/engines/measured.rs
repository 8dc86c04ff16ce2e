//! How far has a state of a product come? As far as the state of the subject in it; or by a measure that is chosen from the steps of the product.

use fathom_ltl::product::Product;
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::system::TransitionSystem;
use fathom_model::tag::Tag;

use crate::engines::liveness_task::{Searched, Task};
use crate::engines::progress;
use crate::error::RunError;
use crate::model::subject::NamedMeasure;
use crate::model::system::System;

/// Searches a product, or the same with its marks counted, in the order of a measure.
pub(crate) fn with_measure(
    product: &Product<System<'_>>,
    system: &dyn TransitionSystem,
    task: &Task<'_>,
    search: impl Fn(&dyn TransitionSystem, &Task<'_>) -> Result<Searched, RunError>,
) -> Result<Searched, RunError> {
    let measure = match task.measure {
        Some(measure) => {
            Some(of_parts(measure, product.system().shape().width_bits, system.shape().width_bits))
        }
        None => progress::measure_of_product(task.engine, system, task.resources, task.observer)?,
    };
    if let Some(measure) = &measure {
        task.monitor.say(&format!("in the order of {}", measure.told()));
    }
    search(system, &Task { measure: measure.as_ref(), ..*task })
}

/// A measure of records that carry the records of a measure.
fn of_parts<'m>(measure: &'m NamedMeasure<'m>, narrow_bits: u32, wide_bits: u32) -> NamedMeasure<'m> {
    let tag = Tag::new(narrow_bits, wide_bits - narrow_bits);
    let words = fathom_model::record::words_for(narrow_bits);
    let values = move |records: Records<'_>, values: &mut Vec<u64>| {
        let mut parts = RecordBuffer::with_capacity(words, records.len());
        let mut part = vec![0; words];
        for record in records.iter() {
            tag.split(record, &mut part);
            parts.push(&part);
        }
        (measure.values)(parts.view(), values);
    };
    let NamedMeasure { name, identity, origin, .. } = measure;
    NamedMeasure { values: Box::new(values), name: name.clone(), identity: *identity, origin: *origin }
}
