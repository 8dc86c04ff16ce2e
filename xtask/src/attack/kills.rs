//! Does a search survive being killed anywhere? At every stop of every system call of start, resume, commit and audit; then it is taken up again and must find what an undisturbed one
//! finds.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

use super::folders::{copy_tree, tree};
use super::tracer::{Traced, run_until};
use super::trial::{self, Ran};
use super::{Attack, Tally};

/// The folder that searches live in, beside the working directory's other files.
const FOLDER: &str = "search";

/// What is killed, and what must be true afterwards.
struct Scenario {
    name: &'static str,
    /// The command that makes what is there before, if anything is.
    before: Option<Vec<String>>,
    /// The command that is killed.
    killed: Vec<String>,
    /// What must be true afterwards.
    after: After,
}

/// What must be true of what a killed command left.
enum After {
    /// It is taken up with this command, finds what an undisturbed one finds, and what is left passes the audit.
    Resumes(Vec<String>),
    /// The audit passes, and nothing has changed.
    AuditsUnchanged,
    /// The same command finds the same, and leaves nothing behind that was left by the killed one.
    StartsAgain,
}

/// Kills at every stop of every scenario, in random order of stops, until time is up; at least a few of each.
pub(super) fn run(attack: &mut Attack, tally: &mut Tally) -> anyhow::Result<()> {
    let scenarios = scenarios(attack);
    let mut plans = Vec::new();
    for scenario in &scenarios {
        let template = prepared(attack, scenario)?;
        let (expected, stops) = match undisturbed(attack, scenario, template.path()) {
            Ok(undisturbed) => undisturbed,
            Err(error) if error.to_string().contains("cannot trace") => {
                tally.skip("processes cannot be traced here");
                return Ok(());
            }
            Err(error) => return Err(error.context(scenario.name)),
        };
        println!("  {}: {stops} stops", scenario.name);
        plans.push((scenario, template, expected, shuffled(attack, stops)));
    }
    let longest = plans.iter().map(|(.., stops)| stops.len()).max().unwrap_or(0);
    for round in 0..longest {
        for (scenario, template, expected, stops) in &plans {
            let Some(at) = stops.get(round) else { continue };
            if round >= LEAST_KILLS && !attack.has_time() {
                return Ok(());
            }
            let outcome = trial_at(attack, scenario, template.path(), expected, *at)?;
            tally.count(format!("{} killed at stop {at}", scenario.name), outcome);
        }
    }
    Ok(())
}

/// Kills of each scenario, whatever the time.
const LEAST_KILLS: usize = 12;

fn scenarios(attack: &Attack) -> Vec<Scenario> {
    let words = |text: &str| -> Vec<String> {
        text.split_whitespace()
            .map(|word| word.replace("MODELS", &attack.models.display().to_string()))
            .collect()
    };
    let tier = "explore MODELS/dekker.dve --engine tier --data-budget 8KiB -j 1 --quiet --json -";
    let larger = "explore MODELS/lost_update.dve --engine tier --data-budget 16KiB -j 2 --quiet --json -";
    let ltl = "check MODELS/peterson.dve --only --ltl G(F(P_0.critical)||F(G(!P_0.critical))) --engine semi-owcty --data-budget 64KiB -j 1 --quiet --json -";
    let by_files = ltl.replace("semi-owcty", "owcty").replace("64KiB", "4KiB");
    let stern_dill = tier.replace("--engine tier", "--engine stern-dill");
    let sweep = tier.replace("--engine tier", "--engine sweep --progress-measure structural");
    let lasting = format!("--dir {FOLDER} --commit-every 0s");
    let scenario = |name, before: Option<String>, killed: &str, after| Scenario {
        name,
        before: before.as_deref().map(words),
        killed: words(killed),
        after,
    };
    let resumes = |command: &str| After::Resumes(words(&format!("{command} {lasting}")));
    vec![
        scenario("start", None, &format!("{tier} {lasting}"), resumes(tier)),
        scenario(
            "resume",
            Some(format!("{tier} {lasting} --max-depth 7")),
            &format!("{tier} {lasting} --resume"),
            resumes(tier),
        ),
        scenario("larger", None, &format!("{larger} {lasting}"), resumes(larger)),
        scenario("stern-dill", None, &format!("{stern_dill} {lasting}"), resumes(&stern_dill)),
        scenario("sweep", None, &format!("{sweep} {lasting}"), resumes(&sweep)),
        scenario("formula", None, &format!("{ltl} {lasting}"), resumes(ltl)),
        scenario("owcty", None, &format!("{by_files} {lasting}"), resumes(&by_files)),
        scenario(
            "audit",
            Some(format!("{tier} {lasting}")),
            &format!("audit {FOLDER}"),
            After::AuditsUnchanged,
        ),
        scenario("temporary", None, tier, After::StartsAgain),
        scenario("nested", None, &ltl.replace("semi-owcty", "ndfs --store tier"), After::StartsAgain),
    ]
}

/// What the command of a scenario finds when nobody kills it, and how many stops it has.
fn undisturbed(attack: &Attack, scenario: &Scenario, template: &Path) -> anyhow::Result<(Ran, u64)> {
    let place = copied(template)?;
    let Traced::Ended { stops } = run_until(&command_words(attack, &scenario.killed), place.path(), 0)?
    else {
        anyhow::bail!("it was killed though it was not to be");
    };
    let place = copied(template)?;
    let ran = fathom(attack, &scenario.killed, place.path())?;
    ensure!(ran.code() == Some(0), "undisturbed it ends with {:?}: {}", ran.code(), ran.stderr);
    Ok((ran, stops))
}

fn trial_at(
    attack: &Attack,
    scenario: &Scenario,
    template: &Path,
    expected: &Ran,
    at: u64,
) -> anyhow::Result<Result<(), String>> {
    let place = copied(template)?;
    let before = tree(&place.path().join(FOLDER))?;
    run_until(&command_words(attack, &scenario.killed), place.path(), at)?;
    match &scenario.after {
        After::Resumes(command) => resumes(attack, command, expected, place.path()),
        After::AuditsUnchanged => {
            let changed = tree(&place.path().join(FOLDER))? != before;
            let ran = fathom(attack, &scenario.killed, place.path())?;
            Ok(if changed { Err("the folder has changed".into()) } else { ran.ends_with(0) })
        }
        After::StartsAgain => {
            let ran = fathom(attack, &scenario.killed, place.path())?;
            Ok(ran.ends_with(0).and_then(|()| agrees(&ran, expected)).and_then(|()| no_scratch(place.path())))
        }
    }
}

fn resumes(
    attack: &Attack,
    command: &[String],
    expected: &Ran,
    place: &Path,
) -> anyhow::Result<Result<(), String>> {
    // Where the kill came before anything was begun, there is nothing to resume.
    let begun = place.join(FOLDER).join("run.json").exists();
    let resume = begun.then(|| "--resume".to_owned());
    let ran = fathom(attack, &command.iter().cloned().chain(resume).collect::<Vec<_>>(), place)?;
    if let Err(why) = ran.ends_with(0).and_then(|()| agrees(&ran, expected)) {
        return Ok(Err(format!("taken up: {why}")));
    }
    let audited = fathom(attack, &["audit".to_owned(), FOLDER.to_owned()], place)?;
    Ok(audited.ends_with(0).map_err(|why| format!("audit: {why}")))
}

/// Whether a run found what another has.
fn agrees(ran: &Ran, expected: &Ran) -> Result<(), String> {
    for field in ["verdict", "states", "transitions", "depth", "layers", "checksum"] {
        if ran.json(field) != expected.json(field) {
            return Err(format!("{field} is {}, not {}", ran.json(field), expected.json(field)));
        }
    }
    Ok(())
}

/// Whether nothing is left of scratch folders.
fn no_scratch(place: &Path) -> Result<(), String> {
    let Ok(entries) = place.join(".fathom").read_dir() else { return Ok(()) };
    let mut left = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    match left.find(|name| name.starts_with("scratch")) {
        Some(name) => Err(format!("{name} is left behind")),
        None => Ok(()),
    }
}

fn copied(template: &Path) -> anyhow::Result<tempfile::TempDir> {
    let place = tempfile::tempdir()?;
    copy_tree(template, place.path())?;
    Ok(place)
}

/// A folder with what a scenario begins with.
fn prepared(attack: &Attack, scenario: &Scenario) -> anyhow::Result<tempfile::TempDir> {
    let place = tempfile::tempdir()?;
    if let Some(command) = &scenario.before {
        let ran = fathom(attack, command, place.path())?;
        ran.behaves().map_err(anyhow::Error::msg).context("before the kill")?;
    }
    Ok(place)
}

fn fathom(attack: &Attack, command: &[String], place: &Path) -> anyhow::Result<Ran> {
    trial::run(Command::new(&attack.binary).args(command), place)
}

fn command_words(attack: &Attack, command: &[String]) -> Vec<String> {
    std::iter::once(attack.binary.display().to_string()).chain(command.iter().cloned()).collect()
}

fn shuffled(attack: &mut Attack, stops: u64) -> Vec<u64> {
    let mut all: Vec<u64> = (1..=stops).collect();
    attack.random.shuffle(&mut all);
    all
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::{Duration, Instant};

    use oracle::random::Random;

    use super::super::{build, models};
    use super::*;

    /// `FATHOM_LONG=1` kills at every stop in place of a few of each scenario.
    #[test]
    fn a_kill_at_any_system_call_loses_nothing() {
        let time =
            if std::env::var_os("FATHOM_LONG").is_some() { Duration::from_hours(24) } else { Duration::ZERO };
        let (binary, models) = (build().unwrap(), models());
        let mut attack = Attack { binary, models, deadline: Instant::now() + time, random: Random::new(7) };
        let mut tally = Tally::default();
        run(&mut attack, &mut tally).unwrap();
        // Past the test runner, which hides what passing tests print: a test that was skipped must not look like one that passed.
        if tally.skipped.is_some() {
            writeln!(std::io::stderr(), "SKIPPED a_kill_at_any_system_call_loses_nothing: {tally}").unwrap();
        }
        assert_eq!(tally.failed, 0, "{tally}");
    }
}
