//! What does each command do? Settings in, an exit out; results are printed on the way.

pub mod audit;
pub mod check;
pub mod engines;
pub mod explore;
pub mod follow;
pub mod help;
pub mod lsp;
mod output;
pub mod replay;
pub mod report;
pub mod simulate;
pub mod translate;
pub mod view;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use anyhow::Context;
use fathom_check::answers::exploration::Exploration;
use fathom_check::error::RunError;
use fathom_check::folder::disk_settings::DiskSettings;
use fathom_check::folder::gauge::Gauge;
use fathom_check::folder::home::Home;
use fathom_check::folder::identity::Identity;
use fathom_check::limit::Limit;
use fathom_check::machine;
use fathom_check::model::assemble::{Model, ModelError, ModelSettings};
use fathom_check::questions::plan::{Plan, PlanError, Questions};
use fathom_check::resources::Resources;
use fathom_lang::diagnostic::SHOWN_MAX;
use fathom_search::engines::engine::{Engine, Files};

use crate::observer::Watcher;
use crate::progress::Meter;
use crate::reading;
use crate::report::colour;
use crate::report::say::{say, say_coloured};
use crate::report::text::{bytes, plural};
use crate::session::Session;
use crate::settings::OutputSettings;
use crate::status;

use output::{Output, print, print_bytes, print_summary, stream_summary};

/// Reads the model and shows what looks odd in it.
fn read_model(settings: &ModelSettings, resources: &Resources, quiet: bool) -> Result<Model, ModelError> {
    let model =
        reading::watched(&settings.path, resources, || Model::read(&settings.path, &settings.options))?;
    if !quiet && !model.warnings().is_empty() {
        say_coloured(&model.warnings().render(model.source(), colour::wanted(&io::stderr())));
    }
    for name in model.told_apart().iter().filter(|_| !quiet).take(SHOWN_MAX) {
        say(&format!(
            "warning: the model distinguishes the values of the scalarset {name}, so there is no symmetry reduction by it"
        ));
    }
    Ok(model)
}

/// Puts questions into the form a search can answer; an expression that is wrong is told as any wrong source is.
fn plan(model: &Model, questions: &Questions) -> anyhow::Result<Plan> {
    Plan::new(model, questions).map_err(|error| match error {
        PlanError::Expression(error) => error.into(),
        other => other.into(),
    })
}

/// What a run may use, with no more threads than its memory holds; says so if that is fewer than were asked for.
fn granted(resources: &Resources, quiet: bool) -> Resources {
    if resources.ram <= machine::ram_floor() {
        // Nothing can be made of that; the run will say what it needs.
        return resources.clone();
    }
    let threads = machine::threads_within(resources.ram, resources.threads);
    if threads < resources.threads && !quiet {
        let (used, ram) = (plural(threads as u64, "thread"), bytes(resources.ram));
        say(&format!(
            "note: using {used} instead of {}: --ram {ram} has room for no more",
            resources.threads
        ));
    }
    Resources { threads, ..resources.clone() }
}

/// Watches a search that begins now and has its files there, for signals too.
fn watcher(
    session: &Session,
    output: &OutputSettings,
    resources: &Resources,
    home: Option<&Home>,
) -> anyhow::Result<Watcher> {
    let gauge = home.map_or(Gauge::default(), Home::gauge);
    let meter = Meter::new(output.progress, resources.ram, gauge.clone());
    if let Some((home, status)) = home.and_then(|home| Some((home, home.status()?))) {
        meter.keep_log(session.logbook(status, resume_command(home, None)));
    }
    session.watcher(meter, gauge).context("cannot watch for signals")
}

/// A place for the files of a run, made now if they are there from the start.
fn home(
    settings: &DiskSettings,
    engine: &Engine,
    identity: Identity,
    quiet: bool,
    session: &Session,
) -> anyhow::Result<Home> {
    let home = Home::new(settings, identity);
    if settings.lasts() || engine.files == Files::Always {
        home.volume()?;
        session.can_go_on(resume_command(&home, None), resume_command(&home, Some(Limit::Time)));
    }
    if let Some(folder) = home.folder().filter(|_| home.starts_over() && !quiet) {
        say(&format!(
            "note: there is no checkpoint in {} yet: starting from the beginning",
            folder.display()
        ));
    }
    Ok(home)
}

/// What came of a search with files. If the machine failed, the error says how to go on, unless what was committed is what failed.
fn searched<T>(home: Option<&Home>, outcome: Result<T, RunError>) -> anyhow::Result<T> {
    match (outcome, home) {
        (Err(error), Some(home)) if home.settle(false).unwrap_or(false) && !error.is_damage() => {
            let command = resume_command(home, None);
            Err(anyhow::anyhow!(
                "{error}\nthe search up to its last checkpoint is kept; to resume it:\n  {command}"
            ))
        }
        (outcome, _) => Ok(outcome?),
    }
}

/// The search is over and its traces are told: removes files that nobody wants, and notes how to go on.
fn settle(home: Option<&Home>, exploration: &mut Exploration) -> anyhow::Result<()> {
    let done = matches!(exploration.limit, None | Some(Limit::Violation));
    if let (Some(home), Some(disk)) = (home, &mut exploration.disk) {
        let stays = home.settle(done)?;
        disk.folder = home.folder().filter(|_| stays).map(ToOwned::to_owned);
        disk.resume = (stays && !done).then(|| resume_command(home, exploration.limit));
        disk.status = home.status().filter(|_| stays);
    }
    Ok(())
}

/// Says in the folder of a search that stays what came of it: `fill` writes what a page shows.
fn leave_word(exploration: &Exploration, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let Some(file) = exploration.disk.as_ref().and_then(|disk| disk.status.as_ref()) else { return };
    if let Err(error) = status::ended(file, fill) {
        say(&format!("note: cannot say in the folder of the search what came of it: {error}"));
    }
}

/// The command that was given, in the form that resumes its search: without the limit that ended it.
fn resume_command(home: &Home, limit: Option<Limit>) -> String {
    let mut words: Vec<OsString> = vec!["fathom".into()];
    words.extend(without(std::env::args_os().skip(1), limit.and_then(option_of)));
    if let Some(folder) = home.folder()
        && !words.iter().any(|word| word == "--dir" || word.as_bytes().starts_with(b"--dir="))
    {
        words.extend(["--dir".into(), folder.into()]);
    }
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// The option that sets a limit, if one does.
fn option_of(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Time => Some("--time-limit"),
        Limit::Depth => Some("--max-depth"),
        Limit::Disk => Some("--disk-limit"),
        _ => None,
    }
}

/// Words without an option and its value.
fn without(words: impl Iterator<Item = OsString>, option: Option<&str>) -> Vec<OsString> {
    let (mut kept, mut is_value) = (Vec::new(), false);
    for word in words {
        let is_option = option.is_some_and(|option| word == option);
        let holds_value = option.is_some_and(|option| {
            word.as_bytes().strip_prefix(option.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
        });
        if !(is_value || is_option || holds_value) {
            kept.push(word);
        }
        is_value = is_option;
    }
    kept
}

/// A word as a shell reads it; one that is not text as bash and its kind do.
fn quoted(word: &OsStr) -> String {
    let Some(word) = word.to_str() else {
        let letter = |byte: &u8| match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_=./,:+@%".contains(byte) => {
                char::from(*byte).to_string()
            }
            byte => format!("\\x{byte:02x}"),
        };
        return format!("$'{}'", word.as_bytes().iter().map(letter).collect::<String>());
    };
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,:+@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_was_hit_is_left_out() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let given = words("check m.dve --time-limit 5s --max-depth=3 -j 2");
        let left = |limit| without(given.clone().into_iter(), option_of(limit));
        assert_eq!(left(Limit::Time), words("check m.dve --max-depth=3 -j 2"));
        assert_eq!(left(Limit::Depth), words("check m.dve --time-limit 5s -j 2"));
        assert_eq!(left(Limit::Interrupt), given);
    }
}
