//! What does a search leave in its folder for whoever looks at it from outside, and how is that read?
//!
//! ```text
//! under way   every other second: how far it is, in words and in numbers, its course so far, the command that resumes it
//! ended       once: all that a page shows of it
//! ```

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fathom_check::folder::home::{Home, HomeError};
use fathom_check::folder::identity::Identity;
use fathom_check::folder::status::StatusFile;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::history::History;

/// How often a search leaves word.
pub const INTERVAL: Duration = Duration::from_secs(2);
/// The version of what is left.
const SCHEMA: u32 = 1;

/// Leaves word in the folder of a search.
#[derive(Debug)]
pub struct Logbook {
    file: StatusFile,
    history: Arc<History>,
    resume: String,
}

/// What was found in a folder.
#[derive(Debug)]
pub struct Found {
    /// What the search is about.
    pub identity: Identity,
    /// What came of it, or how far it is; none if it has left no word.
    pub status: Option<Status>,
    /// Whether a process is at work in the folder.
    pub held: bool,
}

/// What a search has left.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum Status {
    /// It had not ended.
    UnderWay(UnderWay),
    /// It has ended.
    Ended {
        /// What a page shows of it.
        page: Json,
    },
}

/// How far a search is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnderWay {
    /// The same in words, a line each.
    pub lines: Vec<String>,
    /// In numbers.
    pub progress: Json,
    /// How it came there.
    pub history: Json,
    /// The command that resumes it.
    pub resume: String,
}

impl Logbook {
    /// Leaves word in that file, of a search that has this course and can be resumed by that command.
    pub fn new(file: StatusFile, history: Arc<History>, resume: String) -> Logbook {
        Logbook { file, history, resume }
    }

    /// Says how far the search is, in lines and as JSON.
    pub(crate) fn tell(&self, lines: Vec<String>, progress: &str) {
        let progress = serde_json::from_str(progress).unwrap_or_default();
        let history = serde_json::to_value(self.history.points()).unwrap_or_default();
        let status = Status::UnderWay(UnderWay { lines, progress, history, resume: self.resume.clone() });
        // Nobody depends on it.
        let _ = self.file.publish(|out| {
            write!(out, "{{\"tool\":\"fathom\",\"schema\":{SCHEMA},\"status\":")?;
            serde_json::to_writer(&mut *out, &status)?;
            out.write_all(b"}\n")
        });
    }
}

/// Says what came of a search: `fill` writes what a page shows of it, as JSON.
pub fn ended(file: &StatusFile, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    file.publish(|out| {
        write!(out, "{{\"tool\":\"fathom\",\"schema\":{SCHEMA},\"status\":{{\"state\":\"ended\",\"page\":")?;
        fill(out)?;
        out.write_all(b"}}\n")
    })
}

/// Looks at the folder of a search. What cannot be understood is as if it were not there.
pub fn look_at(folder: &Path) -> Result<Found, HomeError> {
    #[derive(Deserialize)]
    struct Envelope {
        schema: u32,
        status: Json,
    }
    let seen = Home::see(folder)?;
    let status = seen
        .status
        .and_then(|bytes| serde_json::from_slice::<Envelope>(&bytes).ok())
        .filter(|envelope| envelope.schema == SCHEMA)
        .and_then(|envelope| serde_json::from_value(envelope.status).ok());
    Ok(Found { identity: seen.identity, status, held: seen.held })
}
