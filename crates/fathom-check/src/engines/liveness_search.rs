//! Which engine looks for an accepting run, and how?
//!
//! Depth-first engines know accepting states: where a product has several marks (fairness), they get it with its marks counted. The fix-point takes marks as they
//! are. Semi-external engines generate the product first (`semi_external.rs`).

use fathom_search::engines::engine::{Chosen, Marks, Run};
use fathom_search::engines::{map, ndfs, owcty, ram};
use std::sync::atomic::{AtomicU64, Ordering};

use fathom_ltl::automaton::Automaton;
use fathom_ltl::product::Product;
use fathom_model::system::TransitionSystem;
use fathom_search::error::SearchError;
use fathom_search::task::{Ending, Observer, Progress};

use crate::engines::liveness_task::{Searched, Task};
use crate::engines::{counted, directed, measured, on_the_fly, semi_external, while_generating};
use crate::error::RunError;
use crate::model::execution::Execution;
use crate::model::subject::Subject;
use crate::model::system::System;
use crate::monitor::Monitor;
use crate::questions::liveness_property::LivenessProperty;

/// The product of what is asked about and an automaton that reads the labels of a property; runs are weakly or strongly fair to some processes.
pub fn product<'a>(
    subject: &'a dyn Subject,
    property: &LivenessProperty,
    automaton: &Automaton,
    (fair, strong): (&[u32], bool),
    execution: Execution<'_>,
) -> Result<Product<System<'a>>, RunError> {
    let system = subject.searched(&property.labels, execution);
    let (weakly, strongly) = if strong { (&[][..], fair) } else { (fair, &[][..]) };
    Ok(Product::new(system, automaton.clone(), property.names.clone(), weakly)?.strongly_fair(strongly)?)
}

/// Searches a product. Lasso and path are of the product.
pub(crate) fn search(product: &Product<System<'_>>, task: &Task<'_>) -> Result<Searched, RunError> {
    let engine = task.engine.engine;
    if product.shape().pair_count > 0 {
        // Requests and responses are known to one engine.
        let chooses = matches!(engine.run, Run::Chooses { .. });
        if !chooses && engine != &owcty::ENGINE {
            return Err(RunError::StronglyFair(engine.name));
        }
        if chooses {
            task.monitor
                .say(&format!("strong fairness is decided by the engine {}, on disk", owcty::ENGINE.name));
        }
        return semi_external::search(product, &Task { engine: &Chosen::plain(&owcty::ENGINE), ..*task });
    }
    match engine.run {
        Run::Chooses { .. } => by_itself(product, task),
        Run::Runs(_) if engine.takes_measure() => counted::search(product, task, |system, task| {
            measured::with_measure(product, system, task, on_the_fly::search)
        }),
        Run::Runs(_) if engine.takes_bounds() => counted::search(product, task, |system, task| {
            directed::with_bounds(product, system, task, on_the_fly::search)
        }),
        Run::Runs(_) | Run::Lossy(_) => counted::search(product, task, on_the_fly::search),
        Run::Generated { .. } if engine == &map::ENGINE && product.shape().mark_count == 1 => {
            while_generating::search(product, task)
        }
        Run::Generated { marks: Marks::One, .. } => counted::search(product, task, semi_external::search),
        Run::Generated { marks: Marks::Any, .. } => semi_external::search(product, task),
        Run::States(_) => unreachable!("the engine {} is not asked about infinite runs", engine.name),
    }
}

/// Looks a little way on the fly first: most violations are not far, and small products are done with. Then all states.
fn by_itself(product: &Product<System<'_>>, task: &Task<'_>) -> Result<Searched, RunError> {
    let hunt = Hunt { monitor: task.monitor, expanded: AtomicU64::new(0) };
    let lasts = task.home.is_some_and(|home| home.settings().lasts());
    let (engine, generation) = (&Chosen::plain(&ndfs::ENGINE), &Chosen::plain(&ram::ENGINE));
    let hunting = Task { engine, generation, stack: None, observer: &hunt, ..*task };
    match counted::search(product, &hunting, on_the_fly::search) {
        Ok(found) => {
            let over = match found.ending {
                Ending::Found => true,
                Ending::Complete => !lasts,
                Ending::Stopped => task.monitor.stop(),
                Ending::Depth | Ending::Budget | Ending::Policy(_) => false,
            };
            if over {
                return Ok(found);
            }
        }
        Err(RunError::Search(SearchError::Budget(_))) => {}
        Err(error) => return Err(error),
    }
    // What fits is known when all states are.
    while_generating::search(product, task)
}

/// Watches a search that is to end soon.
struct Hunt<'a> {
    monitor: &'a dyn Monitor,
    expanded: AtomicU64,
}

/// States that are expanded on the fly before all of them are generated.
const HUNT_VISITS: u64 = 200_000;

impl Observer for Hunt<'_> {
    fn stop(&self) -> bool {
        self.expanded.load(Ordering::Relaxed) >= HUNT_VISITS || self.monitor.stop()
    }

    fn progress(&self, progress: Progress) {
        self.expanded.store(progress.expanded, Ordering::Relaxed);
    }
}
