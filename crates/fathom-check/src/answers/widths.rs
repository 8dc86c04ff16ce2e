//! How many bits does each variable take, and how many does it need? As declared, as inferred from the program, and as observed in an exploration.

use fathom_search::engines::engine::Chosen;
use fathom_search::engines::ram;
use std::fmt::Write as _;
use std::sync::Mutex;

use fathom_model::expression::Domain;
use fathom_model::program::Role;
use fathom_model::record::Records;
use fathom_model::shape::Component;
use fathom_model::system::TransitionSystem;
use fathom_search::task::{Ending, Observer, Progress, Settings, Tuning};

use crate::engines::layer_engine::{self, Task};
use crate::error::RunError;
use crate::model::assemble::Model;
use crate::model::execution::Execution;
use crate::monitor::Monitor;
use crate::resources::Resources;

/// The values that were seen of each variable, and whether every reachable state was looked at.
#[derive(Clone, Debug)]
pub struct Observed {
    values: Vec<Option<Domain>>,
    complete: bool,
}

/// Explores a model, up to the limits, and notes the values of its variables.
pub fn observe(model: &Model, resources: &Resources, monitor: &dyn Monitor) -> Result<Observed, RunError> {
    let system = model.system(&[], Execution::wanted(resources, monitor));
    let components = &system.shape().components;
    let measuring = Measuring { monitor, components, values: Mutex::new(vec![None; components.len()]) };
    let settings = Settings {
        threads: resources.threads,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: resources.max_depth,
        coverage: false,
        tuning: Tuning::default(),
    };
    let budget = resources.data_budget()?;
    let outcome = layer_engine::search(
        &Chosen::plain(&ram::ENGINE),
        &Task::new(&system, &budget, &settings, &measuring),
    )?
    .outcome;
    monitor.finish().map_err(RunError::Records)?;
    let values = measuring.values.into_inner().expect("no thread panics while it notes values");
    Ok(Observed { values, complete: outcome.ending == Ending::Complete })
}

/// One line per variable: bits and values as declared, inferred and observed.
pub fn table(model: &Model, observed: &Observed) -> String {
    let shape = model.interpreter(Vec::new()).shape().clone();
    let mut text = format!("{:<24} {:>24} {:>24} {:>24}\n", "variable", "declared", "inferred", "observed");
    let mut sums = [0; 3];
    let variables = model.program().variables.iter().filter(|it| it.role != Role::Temporary);
    for (component, (variable, seen)) in shape.components.iter().zip(variables.zip(&observed.values)) {
        let domains = [Some(variable.stored()), Some(component.domain), *seen];
        let bits = domains.map(|domain| domain.map_or(0, Domain::bits) * component.elements());
        sums.iter_mut().zip(bits).for_each(|(sum, bits)| *sum += bits);
        let cells: Vec<String> = domains.iter().zip(bits).map(|(domain, bits)| cell(*domain, bits)).collect();
        let length = component.length.map_or(String::new(), |length| format!("[{length}]"));
        let name = format!("{}{length}", component.name);
        let _ = writeln!(text, "{name:<24} {:>24} {:>24} {:>24}", cells[0], cells[1], cells[2]);
    }
    let [declared, inferred, seen] = sums;
    let _ = writeln!(text, "{:<24} {declared:>24} {inferred:>24} {seen:>24}", "bits of a record");
    if !observed.complete {
        text += "not every reachable state was looked at: more may be observed\n";
    }
    text
}

fn cell(domain: Option<Domain>, bits: u32) -> String {
    domain.map_or_else(|| "-".into(), |domain| format!("{}..{}  {bits:>4}", domain.low, domain.high))
}

/// Watches as another does, and notes the values of every state.
struct Measuring<'a> {
    monitor: &'a dyn Monitor,
    components: &'a [Component],
    values: Mutex<Vec<Option<Domain>>>,
}

impl Observer for Measuring<'_> {
    fn stop(&self) -> bool {
        self.monitor.stop()
    }

    fn progress(&self, progress: Progress) {
        self.monitor.progress(progress);
    }

    fn expanded(&self, _layer: u64, sources: Records<'_>) {
        let mut values = self.values.lock().expect("no thread panics while it notes values");
        for (component, seen) in self.components.iter().zip(values.iter_mut()) {
            for record in sources.iter() {
                for index in 0..component.elements() {
                    let value = component.value(record, index);
                    let (low, high) =
                        seen.map_or((value, value), |it| (it.low.min(value), it.high.max(value)));
                    *seen = Some(Domain { low, high });
                }
            }
        }
    }
}
