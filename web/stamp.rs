//! Which sources was the explorer built from? One number for all of them, so that nobody embeds one that is older than they are.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The crates that are compiled for a browser.
pub(crate) const CRATES: [&str; 5] =
    ["fathom-model", "fathom-lang", "fathom-ltl", "fathom-exec", "fathom-explorer"];
/// What `cargo xtask explorer` leaves: the module as base64 of gzip, and the stamp of its sources.
pub(crate) const MODULE: &str = "web/built/explorer.wasm.gz.base64";
/// The stamp.
pub(crate) const STAMP: &str = "web/built/explorer.stamp";

/// The stamp of the sources under a root.
pub(crate) fn stamp(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    for name in CRATES {
        let folder = root.join("crates").join(name);
        files.push(folder.join("Cargo.toml"));
        collect(&folder.join("src"), &mut files)?;
    }
    files.sort();
    let mut hash = Fnv(0xcbf2_9ce4_8422_2325);
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(&file)?);
    }
    Ok(format!("{:016x}", hash.0))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// A hash that is the same in every build: those of the standard library promise nothing about that.
struct Fnv(u64);

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().chain(&(bytes.len() as u64).to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
