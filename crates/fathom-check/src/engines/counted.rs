//! How does an engine that knows accepting states alone search a product with several marks?

use fathom_ltl::degeneralised::Degeneralised;
use fathom_ltl::product::Product;
use fathom_model::system::TransitionSystem;

use crate::engines::liveness_task::{Searched, Task};
use crate::error::RunError;
use crate::model::system::System;

/// Searches a product with its marks counted, if it has several. Lasso and path are of the product.
pub(crate) fn search(
    product: &Product<System<'_>>,
    task: &Task<'_>,
    search: impl Fn(&dyn TransitionSystem, &Task<'_>) -> Result<Searched, RunError>,
) -> Result<Searched, RunError> {
    if product.shape().mark_count == 1 {
        return search(product, task);
    }
    let counted = Degeneralised::new(product);
    let part = |record: &[u64]| (counted.part(record), 0);
    let mut searched = search(&counted, &Task { acceptance: &counted, ..*task })?;
    let words = product.shape().words();
    searched.lasso = searched.lasso.map(|lasso| lasso.project(words, part)).transpose()?;
    if let Some(path) = searched.fault.as_mut().and_then(|found| found.path.as_mut()) {
        *path = path.project(words, part)?;
    }
    Ok(searched)
}
