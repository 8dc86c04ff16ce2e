//! Which search does not end before somebody ends it?

use std::path::Path;

/// A model of 2^64 states.
pub(crate) fn endless(folder: &Path) -> String {
    let step = |number| format!("s -> s {{ effect a[{number}] = (a[{number}] + 1) % 256; }}");
    let steps: Vec<String> = (0..8).map(step).collect();
    let text =
        format!("byte a[8];\nprocess P {{ state s; init s; trans {}; }}\nsystem async;\n", steps.join(", "));
    let path = folder.join("endless.dve");
    std::fs::write(&path, text).expect("it is written");
    path.display().to_string()
}
