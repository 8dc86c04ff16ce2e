//! Does anything outside the search folder change, and is a forged folder believed?
//!
//! Every trial has a victim: a folder of somebody's files, with the names that a search would use, beside the search folder. Whatever the folder looks like, the victim stays as it was,
//! and so do foreign files inside. What was mutated is refused, or what is said of it is true.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use super::trial::{self, Ran};
use super::{Attack, Tally};

/// What a file or folder is, for comparing two moments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
}

/// Everything in a folder, by its path inside; nothing if there is no folder. Links are not followed.
pub(super) fn tree(folder: &Path) -> anyhow::Result<BTreeMap<PathBuf, Entry>> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let Ok(entries) = path.read_dir() else { continue };
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let what = if kind.is_dir() {
                open.push(entry.path());
                Entry::Folder
            } else if kind.is_symlink() {
                Entry::Link(entry.path().read_link()?)
            } else {
                Entry::File(fs::read(entry.path())?)
            };
            found.insert(entry.path().strip_prefix(folder)?.to_owned(), what);
        }
    }
    Ok(found)
}

/// Copies a folder, links as links.
pub(super) fn copy_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for (path, entry) in tree(from)? {
        match entry {
            Entry::Folder => fs::create_dir_all(to.join(path))?,
            Entry::File(bytes) => fs::write(to.join(path), bytes)?,
            Entry::Link(target) => symlink(target, to.join(path))?,
        }
    }
    Ok(())
}

/// A search that has come to its end, to be tampered with.
struct Finished {
    /// Its folder.
    folder: PathBuf,
    /// The command that made it, without `--dir`.
    command: Vec<String>,
    /// What it found.
    found: Ran,
}

/// What is done to a search folder before a command meets it.
#[derive(Clone, Copy, Debug)]
enum Tampering {
    /// A folder inside becomes a link to the victim.
    FolderIsLink,
    /// A file becomes a link to a file of the victim's.
    FileIsLink,
    /// What would be written next is a link to a victim's file.
    NewIsLink,
    /// The folder says that parts of it lie in the victim.
    PartsElsewhere,
    /// The search folder itself holds nothing but somebody's files with our names.
    Unrelated,
    /// Somebody's own files lie in it and in the folders inside.
    Guests,
    /// One byte of one file has another value.
    Flip,
    /// One file is shorter.
    Cut,
    /// One file is longer.
    Longer,
    /// Two files have changed places.
    Swap,
    /// One file is gone.
    Gone,
    /// One file is that of another search.
    Foreign,
}

const TAMPERINGS: [Tampering; 12] = [
    Tampering::FolderIsLink,
    Tampering::FileIsLink,
    Tampering::NewIsLink,
    Tampering::PartsElsewhere,
    Tampering::Unrelated,
    Tampering::Guests,
    Tampering::Flip,
    Tampering::Cut,
    Tampering::Longer,
    Tampering::Swap,
    Tampering::Gone,
    Tampering::Foreign,
];

/// Names that a search might use or look for.
const NAMES: [&str; 8] =
    ["run.json", "run.json.new", "manifest", "manifest.new", "lock", "run-1", "layers-1", "notes.txt"];
/// What is in somebody's files.
const PRECIOUS: &str = "do not touch";

pub(super) fn run(attack: &mut Attack, tally: &mut Tally) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let finished = finished(attack, place.path())?;
    for round in 0u64.. {
        for tampering in TAMPERINGS {
            for number in 0..finished.len() {
                if round >= LEAST_ROUNDS && !attack.has_time() {
                    return Ok(());
                }
                for command in ["audit", "resume", "start"] {
                    let outcome = trial(attack, &finished, number, tampering, command)?;
                    tally.count(format!("{tampering:?}, then {command}, of search {number}"), outcome);
                }
            }
        }
    }
    Ok(())
}

/// Rounds that are made whatever the time.
const LEAST_ROUNDS: u64 = 2;

/// Searches to tamper with: of states, and of infinite runs.
fn finished(attack: &Attack, place: &Path) -> anyhow::Result<Vec<Finished>> {
    let formula = "G(F(P_0.critical)||F(G(!P_0.critical)))";
    let commands = [
        vec!["explore".to_owned(), attack.model("lost_update.dve"), "--engine".into(), "tier".into()],
        vec![
            "check".to_owned(),
            attack.model("peterson.dve"),
            "--only".into(),
            "--ltl".into(),
            formula.into(),
            "--engine".into(),
            "semi-owcty".into(),
        ],
    ];
    let mut made = Vec::new();
    for (number, mut command) in commands.into_iter().enumerate() {
        command.extend(["--data-budget", "64KiB", "--quiet", "--json", "-"].map(str::to_owned));
        let folder = place.join(number.to_string());
        let mut child = Command::new(&attack.binary);
        child.args(&command).arg("--dir").arg(&folder).args(["--commit-every", "0s"]);
        let found = trial::run(&mut child, place)?;
        found.ends_with(0).map_err(anyhow::Error::msg).context("a search to tamper with")?;
        made.push(Finished { folder, command, found });
    }
    Ok(made)
}

fn trial(
    attack: &mut Attack,
    finished: &[Finished],
    number: usize,
    tampering: Tampering,
    command: &str,
) -> anyhow::Result<Result<(), String>> {
    let place = tempfile::tempdir()?;
    let (search, victim) = (place.path().join("search"), place.path().join("victim"));
    fs::create_dir(&victim)?;
    for name in NAMES {
        // A manifest that makes no sense ends a command before it does harm.
        if attack.random.chance(50) {
            fs::write(victim.join(name), PRECIOUS)?;
        }
    }
    fs::write(victim.join("notes.txt"), PRECIOUS)?;
    fs::create_dir(victim.join("states"))?;
    let guests = tamper(attack, finished, number, tampering, &search, &victim)?;
    let before = tree(&victim)?;
    let Finished { command: words, found, .. } = &finished[number];
    let mut child = Command::new(&attack.binary);
    match command {
        "audit" => child.args(["audit", "search", "--quiet", "--json", "-"]),
        "resume" => child.args(words).args(["--dir", "search", "--resume"]),
        _ => child.args(words).args(["--dir", "search"]),
    };
    let ran = trial::run(&mut child, place.path())?;
    if tree(&victim)? != before {
        return Ok(Err(format!("a file elsewhere has changed: {}", ran.stderr.trim())));
    }
    if let Some(guest) =
        guests.iter().find(|path| fs::read(path).ok().as_deref() != Some(PRECIOUS.as_bytes()))
    {
        return Ok(Err(format!("a foreign file has changed: {}", guest.display())));
    }
    Ok(ran.behaves().and_then(|()| says_the_truth(&ran, found)))
}

/// Whether what a command says of a finished search, if it believes it, is true.
fn says_the_truth(ran: &Ran, found: &Ran) -> Result<(), String> {
    if ran.code() != Some(0) {
        return Ok(());
    }
    for field in ["states", "transitions", "checksum"] {
        if ran.json(field) != found.json(field) {
            return Err(format!("believed: {field} is {}, not {}", ran.json(field), found.json(field)));
        }
    }
    Ok(())
}

/// Makes the search folder of a trial; gives somebody's files in it.
fn tamper(
    attack: &mut Attack,
    finished: &[Finished],
    number: usize,
    tampering: Tampering,
    search: &Path,
    victim: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    if matches!(tampering, Tampering::Unrelated) {
        return unrelated(search);
    }
    copy_tree(&finished[number].folder, search)?;
    let entries = tree(search)?;
    let (folders, files): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|(_, entry)| *entry == Entry::Folder);
    let within = |entries: Vec<(PathBuf, Entry)>| -> Vec<PathBuf> {
        entries.into_iter().map(|(path, _)| search.join(path)).collect()
    };
    let (folders, files) = (within(folders), within(files));
    let one = attack.random.pick(&files).clone();
    match tampering {
        Tampering::FolderIsLink => {
            let folder = attack.random.pick(&folders);
            fs::remove_dir_all(folder)?;
            symlink(victim, folder)?;
        }
        Tampering::FileIsLink => {
            let target = victim.join(one.file_name().context("a file has a name")?);
            fs::rename(&one, &target)?;
            symlink(target, one)?;
        }
        Tampering::NewIsLink => {
            for folder in folders.iter().map(PathBuf::as_path).chain([search]) {
                for name in ["run.json.new", "manifest.new", "audit"] {
                    symlink(victim.join("notes.txt"), folder.join(name))?;
                }
            }
        }
        Tampering::PartsElsewhere => {
            let card = search.join("run.json");
            let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&card)?)?;
            json["parts"] = serde_json::json!({ "bulk": victim, "index": victim });
            fs::write(card, serde_json::to_vec(&json)?)?;
        }
        Tampering::Guests => return guests(folders, search),
        Tampering::Foreign => replace(&one, &finished[1 - number].folder)?,
        mutation => mutate(attack, mutation, &one, &files)?,
    }
    Ok(Vec::new())
}

/// Somebody's own files in a search folder.
fn guests(folders: Vec<PathBuf>, search: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut guests = Vec::new();
    fs::create_dir(search.join("audit"))?;
    for folder in folders.into_iter().chain([search.to_owned(), search.join("audit")]) {
        for name in ["notes.txt", ".hidden", "run-99", "audit.txt"] {
            guests.push(folder.join(name));
            fs::write(folder.join(name), PRECIOUS)?;
        }
    }
    Ok(guests)
}

/// Changes one file.
fn mutate(attack: &mut Attack, mutation: Tampering, one: &Path, files: &[PathBuf]) -> anyhow::Result<()> {
    let mut bytes = fs::read(one)?;
    match mutation {
        Tampering::Flip if bytes.is_empty() => {}
        Tampering::Flip => {
            let at = attack.random.below(bytes.len());
            bytes[at] ^= 1 << attack.random.below(8);
        }
        Tampering::Cut => bytes.truncate(attack.random.below(bytes.len() + 1)),
        Tampering::Longer => bytes.resize(bytes.len() + 1 + attack.random.below(9_000), 0),
        Tampering::Swap => {
            let other = attack.random.pick(files);
            let theirs = fs::read(other)?;
            fs::write(other, &bytes)?;
            bytes = theirs;
        }
        _ => return Ok(fs::remove_file(one)?),
    }
    Ok(fs::write(one, bytes)?)
}

/// Puts the file of the same name of another search in place of one.
fn replace(one: &Path, other: &Path) -> anyhow::Result<()> {
    for (path, entry) in tree(other)? {
        if let (true, Entry::File(bytes)) = (one.ends_with(&path), entry) {
            fs::write(one, bytes)?;
        }
    }
    Ok(())
}

/// A folder of somebody's, with names that a search would use.
fn unrelated(search: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut guests = Vec::new();
    for folder in [search.to_owned(), search.join("states"), search.join("passes"), search.join("audit")] {
        fs::create_dir(&folder)?;
        for name in NAMES {
            guests.push(folder.join(name));
            fs::write(folder.join(name), PRECIOUS)?;
        }
    }
    Ok(guests)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use oracle::random::Random;

    use super::super::{build, models};
    use super::*;

    #[test]
    fn hostile_folders_cost_nobody_a_file_and_are_not_believed() {
        let (binary, models) = (build().unwrap(), models());
        let mut attack = Attack { binary, models, deadline: Instant::now(), random: Random::new(11) };
        let mut tally = Tally::default();
        run(&mut attack, &mut tally).unwrap();
        println!("{tally}");
        assert_eq!(tally.failed, 0, "{tally}");
    }
}
