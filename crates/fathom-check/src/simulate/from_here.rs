//! How is a state reached from the one that a simulation is at?

use fathom_disk::budget::Budget;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Labels, Marks, ProcessSet, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::ram;
use fathom_search::task::watch::Condition;
use fathom_search::task::{Ending, Settings, Tuning};

use super::{Simulation, goal};
use crate::answers::exploration::limit_of;
use crate::engines::layer_engine::{self, Task};
use crate::error::RunError;
use crate::limit::Limit;
use crate::model::assemble::ModelError;
use crate::monitor::Monitor;

/// What came of a search for a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// It is this one.
    Here,
    /// It is so many steps away, and the simulation is there now.
    Reached(usize),
    /// No state like that can be reached from here.
    Nowhere,
    /// It was not found before this.
    GaveUp(Limit),
}

/// Why a state could not be looked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeekError {
    /// The expression is none of the model.
    #[error(transparent)]
    Expression(#[from] Box<ModelError>),
    /// The search could not be made.
    #[error(transparent)]
    Search(#[from] RunError),
    /// There is no memory for the steps.
    #[error(transparent)]
    Simulation(#[from] super::SimulationError),
}

impl Simulation<'_> {
    /// Goes to the nearest state where an expression is true, by one of the shortest ways. What lay ahead is forgotten if there is one.
    pub fn seek(
        &mut self,
        text: &str,
        threads: usize,
        budget: &Budget,
        monitor: &dyn Monitor,
    ) -> Result<Sought, SeekError> {
        let expression = self.model.expression("goal", text).map_err(Box::new)?;
        let inner = self.model.interpreter(vec![goal(text, expression)]);
        let system = StartingAt { inner, record: self.record().to_vec() };
        let settings = Settings {
            threads,
            conditions: vec![Condition::Label { label: 0, value: true }],
            stop_at_first: true,
            findings_max: 1,
            max_depth: None,
            coverage: false,
            tuning: Tuning::default(),
        };
        let task = Task::new(&system, budget, &settings, monitor);
        let searched = layer_engine::search(&Chosen::plain(&ram::ENGINE), &task).map_err(RunError::from)?;
        let Some(found) = searched.outcome.findings.of(0).first() else {
            return Ok(match searched.outcome.ending {
                Ending::Complete => Sought::Nowhere,
                ending => Sought::GaveUp(limit_of(ending, monitor).unwrap_or(Limit::Interrupt)),
            });
        };
        let Some(record) = found.record.as_ref().filter(|_| found.layer > 0) else { return Ok(Sought::Here) };
        let room = layer_engine::room(budget, None);
        let observer = monitor.tracing();
        let path = searched
            .path_to(&system, &room, &*observer, threads, (found.layer, record))
            .map_err(RunError::from)?;
        self.forget_ahead();
        let mut reader = path.reader().map_err(RunError::from)?;
        for state in 1..path.len() {
            let action = reader.get(state - 1).map_err(RunError::from)?.action;
            let record = reader.get(state).map_err(RunError::from)?.record.to_vec();
            self.arrive(action, &record)?;
        }
        self.expand();
        Ok(Sought::Reached(usize::try_from(path.len() - 1).unwrap_or(usize::MAX)))
    }
}

/// A system whose only initial state is this one.
#[derive(Debug)]
struct StartingAt<S> {
    inner: S,
    record: Vec<u64>,
}

impl<S: TransitionSystem> TransitionSystem for StartingAt<S> {
    fn shape(&self) -> &Shape {
        self.inner.shape()
    }

    fn initial(&self, out: &mut Steps) {
        out.clear();
        let pushed = out
            .push(&self.record, 0, ProcessSet::default(), Marks::default())
            .and_then(|()| out.finish_source(Labels::default(), ProcessSet::default()));
        if pushed.is_err() {
            // There is no room: whoever asks makes some.
            out.clear();
        }
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        self.inner.expand(sources, out)
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.inner.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.inner.describe(what)
    }
}
