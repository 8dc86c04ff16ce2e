//! What is a search for an accepting run asked, and what does it find out?

use fathom_search::engines::engine::{Bounds, Chosen, Engine};
use std::path::Path as FilePath;

use fathom_disk::budget::Budget;
use fathom_ltl::automaton::Automaton;
use fathom_model::acceptance::Acceptance;
use fathom_model::record::Checksum;
use fathom_search::bodies::depth_first::Found;
use fathom_search::task::{Ending, Observer};
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Room;

use crate::engines::figures::{DiskFigures, IoFigures, Layers, PassFigures};
use crate::folder::home::Home;
use crate::limit::Limit;
use crate::model::distance::Moves;
use crate::monitor::Monitor;
use crate::questions::liveness_property::LivenessProperty;
use crate::resources::Resources;

/// What a search in a product found out.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The engine that decided.
    pub engine: &'static Engine,
    /// Why it ended.
    pub ending: Ending,
    /// Distinct states of what was searched.
    pub states: u64,
    /// Steps from them.
    pub transitions: u64,
    /// States expanded in all.
    pub visits: u64,
    /// Steps made in all.
    pub edges: u64,
    /// Faulting steps and starts, and states whose labels faulted.
    pub faults: u64,
    /// The sizes of layers, if it was generated so.
    pub layers: Layers,
    /// An accepting run of the product.
    pub lasso: Option<Lasso>,
    /// What ended the search for an accepting run that there is, if none is told.
    pub untraced: Option<Limit>,
    /// How a fault was first met in the product.
    pub fault: Option<Found>,
    /// What ended the search for the way to a fault that there is, if none is told.
    pub fault_untraced: Option<Limit>,
    /// Threads that expanded states.
    pub threads: usize,
    /// Where states were stored.
    pub store: &'static str,
    /// Why the machine could not go on, if that is why it ended.
    pub gave_up: Option<Limit>,
    /// What files took, and the operations on them, if there are files.
    pub disk: Option<(DiskFigures, Vec<IoFigures>)>,
    /// Whether there are ranks that prove that there is no accepting run.
    pub certified: bool,
    /// What passes over all states came to, if there were any.
    pub passes: Option<PassFigures>,
    /// What told of an accepting run while states were generated, if that is how it was found.
    pub early: Option<&'static str>,
    /// Over all states, if they were expanded breadth-first.
    pub checksum: Option<Checksum>,
}

/// What is searched for, and where.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) engine: &'a Chosen,
    /// What is known of accepting runs.
    pub(crate) acceptance: &'a dyn Acceptance,
    pub(crate) stop_at_fault: bool,
    pub(crate) resources: &'a Resources,
    pub(crate) budget: &'a Budget,
    /// Where a run goes that is told.
    pub(crate) room: &'a Room,
    pub(crate) monitor: &'a dyn Monitor,
    /// Who is told of a search on the fly: the same, or one that ends it sooner.
    pub(crate) observer: &'a dyn Observer,
    /// How many moves processes need from one place to another, if the text of a model tells.
    pub(crate) moves: Option<&'a Moves>,
    /// How far states are from where a run may be accepting, for engines that ask.
    pub(crate) bounds: Option<&'a Bounds<'a>>,
    /// How states are generated where all of them are at first.
    pub(crate) generation: &'a Chosen,
    /// Where the path of a depth-first search goes when it is on disk, if the user said so.
    pub(crate) stack: Option<&'a FilePath>,
    /// Where they live on disk, when they do.
    pub(crate) home: Option<&'a Home>,
}

impl Searched {
    /// Whether there is an accepting run, told or not.
    pub(crate) fn is_violated(&self) -> bool {
        self.lasso.is_some() || self.untraced.is_some()
    }
}

/// The automaton that suits an engine: with accepting states, or the smaller one with marks on edges where that makes no other difference.
pub(crate) fn automaton<'p>(engine: &Engine, property: &'p LivenessProperty) -> &'p Automaton {
    if engine.takes_any_marks() && !property.is_weak() { &property.generalised } else { &property.searched }
}
