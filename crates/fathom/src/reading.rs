//! Does reading a model keep within the memory of the run?
//!
//! What a text becomes is known when it is done: calls are written out, rules have instances. So someone watches from beside, and ends the process before
//! the memory is used up. Nothing is lost by that, since nothing has begun. Texts that are large as they are, are refused before they are read.

use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use fathom_check::machine;
use fathom_check::model::user_file::MODELS;
use fathom_check::resources::Resources;

use crate::report::Exit;
use crate::report::say::say;
use crate::report::text::bytes;

/// How often the watcher looks. Reading takes some hundred kilobytes in that time.
const INTERVAL: Duration = Duration::from_millis(1);
/// What reading may take of the memory, at least: the rest is for what is taken between two looks, and for the search.
const SHARE: (u64, u64) = (13, 16);
/// What is left free beyond that share, where memory is plenty.
const LEFT_BYTES: u64 = 64 << 20;
/// What every model may take: if the memory is too little for that, it is for any run, and that is told when one begins.
const SMALL_MODEL_BYTES: u64 = 8 << 20;
/// Texts up to this size are read without counting their words first.
const SMALL_TEXT_BYTES: u64 = 256 << 10;
/// What a word of a text takes while it is read: the word, its part of the tree, and of the program. 47 were seen for a DVE model of 900,000 words.
const WORD_BYTES: u64 = 50;

/// Reads a model that is in a file while its memory is watched.
pub(crate) fn watched<T>(path: &Path, resources: &Resources, read: impl FnOnce() -> T) -> T {
    let limits = Limits::of(resources);
    if let Some(needed) = needed(path).filter(|needed| *needed > limits.bytes) {
        refuse(&too_little(resources.ram, &format!("about {}", bytes(ram_for(needed)))));
    }
    let (done, waiting) = channel();
    let watcher = std::thread::Builder::new().name("reading".into()).spawn(move || limits.watch(&waiting));
    let model = read();
    drop(done);
    if let Ok(watcher) = watcher {
        let _ = watcher.join();
    }
    model
}

/// What reading may take.
struct Limits {
    ram: u64,
    /// Bytes that may be resident.
    bytes: u64,
}

impl Limits {
    fn of(resources: &Resources) -> Limits {
        let ram = resources.ram;
        let share = ram / SHARE.1 * SHARE.0;
        let small = machine::resident().unwrap_or(0) + SMALL_MODEL_BYTES;
        Limits { ram, bytes: share.max(ram.saturating_sub(LEFT_BYTES)).max(small) }
    }

    /// Looks until nobody is left at the other end.
    fn watch(&self, waiting: &Receiver<()>) {
        while let Err(RecvTimeoutError::Timeout) = waiting.recv_timeout(INTERVAL) {
            if let Some(resident) = machine::resident().filter(|resident| *resident > self.bytes) {
                refuse(&too_little(self.ram, &format!("more than {}", bytes(ram_for(resident)))));
            }
        }
    }
}

/// The least `--ram` with which reading may take so much: what was taken when it was ended is not all that it takes.
fn ram_for(resident: u64) -> u64 {
    (resident / SHARE.0 * SHARE.1).min(resident.saturating_add(LEFT_BYTES))
}

fn too_little(ram: u64, needed: &str) -> String {
    format!("--ram {} is too little to read the model: it needs {needed}", bytes(ram))
}

fn refuse(message: &str) -> ! {
    say(&format!("error: {message}"));
    std::process::exit(i32::from(Exit::Error.code()));
}

/// What reading a text takes by the number of its words; none if it is small, or cannot be read.
fn needed(path: &Path) -> Option<u64> {
    let size = std::fs::metadata(path).ok()?.len();
    // What is too large to be a model is refused when it is opened.
    if size <= SMALL_TEXT_BYTES || size > MODELS.bytes_max {
        return None;
    }
    let mut words = 0;
    let (mut inside, mut before) = (false, b' ');
    for byte in std::io::Read::bytes(std::io::BufReader::new(std::fs::File::open(path).ok()?)) {
        let byte = byte.ok()?;
        let letter = byte.is_ascii_alphanumeric() || byte == b'_';
        // Signs of two characters are one word: `==`, `&&`, `<=`.
        let goes_on = if letter { inside } else { byte == before || byte == b'=' };
        words += u64::from(!byte.is_ascii_whitespace() && !goes_on);
        (inside, before) = (letter, byte);
    }
    Some(machine::resident().unwrap_or(0) + size + words * WORD_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_large_text_are_counted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "ab >= 12;\n".repeat(100_000)).unwrap();
        let expected = 1_000_000 + 400_000 * WORD_BYTES;
        assert!(needed(file.path()).is_some_and(|needed| needed >= expected && needed < expected * 2));
        std::fs::write(file.path(), "ab").unwrap();
        assert_eq!(needed(file.path()), None);
    }
}
