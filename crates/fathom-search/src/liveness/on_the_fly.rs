//! What does a search for accepting runs on the fly find out?

use crate::bodies::depth_first::Found;
use crate::error::SearchError;
use crate::files::disk_use::DiskUse;
use crate::task::Ending;
use crate::traces::lasso::Lasso;

/// What a search found out.
#[derive(Debug)]
pub struct Outcome {
    /// Why it ended. [`Ending::Depth`] if successors were left out.
    pub ending: Ending,
    /// Distinct states that were entered.
    pub states: u64,
    /// Steps from them; faulting ones are not counted.
    pub transitions: u64,
    /// States expanded in all.
    pub visits: u64,
    /// Steps made in all.
    pub edges: u64,
    /// Faulting steps from these states, and faulting starts.
    pub faults: u64,
    /// States whose labels faulted.
    pub label_faults: u64,
    /// States whose successors were left out.
    pub cut: u64,
    /// The longest path.
    pub deepest: u64,
    /// A run that is accepting.
    pub lasso: Option<Lasso>,
    /// How a fault was first met.
    pub fault: Option<Found>,
    /// What said that there is no more room for files, if that ended it.
    pub no_room: Option<SearchError>,
    /// What else is worth telling, in sentences.
    pub told: Vec<String>,
    /// And in numbers, each by its name.
    pub figures: Vec<(&'static str, u64)>,
    /// What its files took, if it had any.
    pub disk: Option<DiskUse>,
}

impl Outcome {
    /// Of a search that had to end, since there was no more room for its files, when it knew so many states.
    pub fn without_room(states: u64, error: SearchError) -> Outcome {
        Outcome {
            ending: Ending::Stopped,
            states,
            transitions: 0,
            visits: states,
            edges: 0,
            faults: 0,
            label_faults: 0,
            cut: 0,
            deepest: 0,
            lasso: None,
            fault: None,
            no_room: Some(error),
            told: Vec::new(),
            figures: Vec::new(),
            disk: None,
        }
    }
}
