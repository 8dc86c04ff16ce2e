//! Where do the files of a search go, and what becomes of them?

use std::path::PathBuf;
use std::time::Duration;

/// Where the files of a search go, and what becomes of them.
#[derive(Clone, Debug)]
pub struct DiskSettings {
    /// The directory; none lets the run choose a fresh one.
    pub folder: Option<PathBuf>,
    /// Whether a directory that the run chose stays when the verdict is in.
    pub keep: bool,
    /// Whether to go on with the run that is there.
    pub resume: Resume,
    /// Bytes that files may take.
    pub limit: Option<u64>,
    /// How long to wait between commits, at least.
    pub commit_every: Duration,
    /// Where layers and candidates go, written and read in order, if not there, too.
    pub bulk: Option<PathBuf>,
    /// Where known states go, looked up here and there, if not there, too.
    pub index: Option<PathBuf>,
    /// Whether layers on disk are kept for traces; without them a trace takes more searches.
    pub keep_layers: bool,
    /// Whether an engine that may visit states twice counts them in the end.
    pub count: bool,
}

/// Whether a search is gone on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resume {
    /// A folder that has a search is refused.
    #[default]
    Never,
    /// If the folder has one; otherwise one begins.
    IfThere,
    /// A folder that has none is refused. One in which a search was begun and nothing committed has one: it starts over.
    Always,
}

impl DiskSettings {
    /// Whether the run is to be there when the verdict is in: then it is on disk from the start.
    pub fn lasts(&self) -> bool {
        self.folder.is_some() || self.keep
    }
}

impl Default for DiskSettings {
    fn default() -> DiskSettings {
        DiskSettings {
            folder: None,
            keep: false,
            resume: Resume::Never,
            limit: None,
            commit_every: COMMIT_EVERY,
            bulk: None,
            index: None,
            keep_layers: true,
            count: true,
        }
    }
}

/// What is lost at most when a run is killed; a commit takes a twentieth of the time at most.
const COMMIT_EVERY: Duration = Duration::from_secs(5);
