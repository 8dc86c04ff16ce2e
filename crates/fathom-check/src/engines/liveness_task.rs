//! What is a search for an accepting run asked, and what does it find out?

use fathom_search::engines::engine::{Chosen, Engine, Run};
use fathom_search::engines::{auto, bitstate, ndfs, owcty, registry, semi_owcty};
use std::path::Path as FilePath;

use fathom_disk::budget::Budget;
use fathom_ltl::automaton::Automaton;
use fathom_model::record::Checksum;
use fathom_search::bodies::depth_first::Found;
use fathom_search::files::closed_set::Recurs;
use fathom_search::task::{Ending, Observer};
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Room;

use crate::engines::figures::{DiskFigures, IoFigures, Layers, PassFigures};
use crate::folder::home::Home;
use crate::limit::Limit;
use crate::monitor::Monitor;
use crate::questions::liveness_property::LivenessProperty;
use crate::resources::Resources;

/// An engine that looks for accepting runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LivenessEngine {
    /// A short nested depth-first search; then all states, and by what fits in memory the fix-point, the double depth-first search, or the fix-point over files.
    #[default]
    Auto,
    /// Nested depth-first search, exact, on the fly; in RAM or on disk.
    Ndfs,
    /// Fix-point over a perfect hash, exact.
    SemiOwcty,
    /// Fix-point over sorted files, exact, in whatever memory there is.
    Owcty,
    /// Another one over all states once they are generated, exact; its entry says how.
    Generated(&'static Engine),
    /// Nested depth-first search with three bits per state: it may miss.
    Bitstate,
}

/// What a search in a product found out.
#[derive(Clone, Debug)]
pub struct Searched {
    /// The engine that decided.
    pub engine: LivenessEngine,
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
    pub(crate) engine: LivenessEngine,
    /// Whether the steps of every cycle all carry every mark, or none does.
    pub(crate) weak: bool,
    /// Which states an accepting run may come back to for ever.
    pub(crate) recurs: Recurs<'a>,
    /// Which states are accepting, where that is a matter of states and there is one mark.
    pub(crate) accepting: Option<Recurs<'a>>,
    /// What was chosen about the engine.
    pub(crate) chosen: Option<&'a Chosen>,
    pub(crate) stop_at_fault: bool,
    pub(crate) resources: &'a Resources,
    pub(crate) budget: &'a Budget,
    /// Where a run goes that is told.
    pub(crate) room: &'a Room,
    pub(crate) monitor: &'a dyn Monitor,
    /// Who is told of a search on the fly: the same, or one that ends it sooner.
    pub(crate) observer: &'a dyn Observer,
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

impl LivenessEngine {
    /// Those that miss nothing.
    pub fn exact() -> impl Iterator<Item = LivenessEngine> {
        registry::ENGINES
            .into_iter()
            .filter_map(LivenessEngine::of)
            .filter(|engine| *engine != LivenessEngine::Bitstate)
    }

    /// How an engine looks for accepting runs, if it does.
    pub fn of(engine: &'static Engine) -> Option<LivenessEngine> {
        let special = [
            LivenessEngine::Auto,
            LivenessEngine::Ndfs,
            LivenessEngine::SemiOwcty,
            LivenessEngine::Owcty,
            LivenessEngine::Bitstate,
        ];
        let special = special.into_iter().find(|it| it.name() == engine.name);
        let generated = matches!(engine.run, Run::Generated(_));
        special.or_else(|| generated.then_some(LivenessEngine::Generated(engine)))
    }

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            LivenessEngine::Auto => auto::ENGINE.name,
            LivenessEngine::Ndfs => ndfs::ENGINE.name,
            LivenessEngine::SemiOwcty => semi_owcty::ENGINE.name,
            LivenessEngine::Owcty => owcty::ENGINE.name,
            LivenessEngine::Generated(engine) => engine.name,
            LivenessEngine::Bitstate => bitstate::ENGINE.name,
        }
    }

    /// Whether its runs can last: be gone on with.
    pub fn lasts(self) -> bool {
        match self {
            LivenessEngine::Auto | LivenessEngine::SemiOwcty | LivenessEngine::Owcty => true,
            LivenessEngine::Generated(engine) => engine.resumes,
            LivenessEngine::Ndfs | LivenessEngine::Bitstate => false,
        }
    }

    /// The automaton that suits it: with accepting states, or the smaller one with marks on edges where that makes no other difference.
    pub(crate) fn automaton(self, property: &LivenessProperty) -> &Automaton {
        match self {
            LivenessEngine::SemiOwcty | LivenessEngine::Owcty if !property.is_weak() => &property.generalised,
            _ => &property.searched,
        }
    }
}
