//! What can a user tell a simulation to do, and what is the answer? The same words at a prompt and on the full screen.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use fathom_check::engines::layer_engine;
use fathom_check::model::user_file;
use fathom_check::monitor::Clock;
use fathom_check::simulate::{Choice, Position, Simulation, Sought};
use fathom_disk::budget::Budget;
use fathom_search::traces::path::Room;

use crate::report::state;
use crate::report::text::{self, limit_sentence, plural};
use crate::report::trace::{SavedDocument, Sheet, step_line, write_run};
use crate::settings::SimulateSettings;

/// What there is to say.
pub(super) const HELP: &str = "  NUMBER             take that step
  back [N]           take back the last step, or the last N
  forward [N]        go along what was taken back, or the rest of a saved trace; a cycle goes round
  random [N]         take a random step, or N, up to a breakpoint or a violation
  find E             go to the nearest state where E is true
  break [E]          stop walks where E is true; without E, list the breakpoints
  clear N            remove breakpoint N
  trace FILE [N]     load a saved trace (JSON) and go along it, to its end or N steps
  values             show all values of the state
  properties         show what each property is in this state
  coverage           show what was never taken so far
  run                show the run so far
  restart            go back to the initial state
  help               show this
  quit               end
";

/// How long a state is looked for, unless a time limit says otherwise.
const SEEK_TIME: Duration = Duration::from_secs(30);

/// A simulation that obeys.
pub(super) struct Steering<'m> {
    pub(super) simulation: Simulation<'m>,
    budget: &'m Budget,
    room: Room,
    threads: usize,
    seek_time: Duration,
    dice: u64,
}

/// What comes of a line.
pub(super) enum Reply {
    Quit,
    /// Something to read; the state is the same.
    Text(String),
    /// Another state, and what to say about how it came about.
    Scene(Option<String>),
}

impl<'m> Steering<'m> {
    pub(super) fn new(
        simulation: Simulation<'m>,
        budget: &'m Budget,
        settings: &SimulateSettings,
    ) -> Steering<'m> {
        let seek_time = settings.resources.time_limit.unwrap_or(SEEK_TIME);
        let room = layer_engine::room(budget, None);
        Steering { simulation, budget, room, threads: settings.resources.threads, seek_time, dice: 0 }
    }

    /// Does what a line says.
    pub(super) fn obey(&mut self, line: &str) -> Reply {
        let line = line.trim();
        let (command, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let replied = match command {
            "" => Ok(Reply::Scene(None)),
            "quit" | "q" | "exit" => Ok(Reply::Quit),
            "help" | "h" | "?" => Ok(Reply::Text(HELP.into())),
            "values" | "v" => Ok(Reply::Text(self.values())),
            "run" => self.run_in_words().map(Reply::Text),
            "properties" | "p" => Ok(Reply::Text(self.properties())),
            "coverage" => Ok(Reply::Text(self.coverage())),
            "restart" => {
                self.simulation.back(usize::MAX);
                Ok(Reply::Scene(None))
            }
            "back" | "b" => count("back", rest).map(|count| self.back(count)),
            "forward" | "f" => count("forward", rest).and_then(|count| self.forward(count)),
            "random" | "r" => count("random", rest).and_then(|count| self.walk(count)),
            "trace" | "t" => self.follow(rest),
            "break" => self.break_at(rest),
            "clear" => Ok(self.clear(rest)),
            "find" => self.seek(rest),
            number => self.take(number),
        };
        // What is wrong with an expression is told in lines of its own.
        replied.unwrap_or_else(|error| Reply::Text(format!("{}\n", format!("{error:#}").trim_end())))
    }

    fn take(&mut self, number: &str) -> anyhow::Result<Reply> {
        let Ok(number) = number.parse::<usize>() else {
            return Ok(Reply::Text(format!(
                "`{number}` is neither a number nor a command; `help` lists them\n"
            )));
        };
        let taken = number.checked_sub(1).map_or(Ok(false), |step| self.simulation.take(step))?;
        Ok(match taken {
            true => Reply::Scene(None),
            false => Reply::Text(format!("there is no step {number}\n")),
        })
    }

    fn back(&mut self, count: usize) -> Reply {
        match self.simulation.back(count) {
            0 => Reply::Text("this is the initial state\n".into()),
            _ => Reply::Scene(None),
        }
    }

    fn forward(&mut self, count: usize) -> anyhow::Result<Reply> {
        Ok(match self.simulation.forward(count)? {
            0 => Reply::Text("nothing lies ahead: take a step, or load a trace\n".into()),
            _ => Reply::Scene(None),
        })
    }

    /// Takes random steps, up to where a walk stops.
    fn walk(&mut self, count: usize) -> anyhow::Result<Reply> {
        for made in 0..count {
            let steps = self.simulation.step_count();
            self.dice = self.dice.wrapping_add(1);
            let step = fathom_disk::hash::hash_word(self.dice) as usize % steps.max(1);
            if !self.simulation.take(step)? {
                let why = "no step can be taken here";
                return Ok(match made {
                    0 => Reply::Text(format!("{why}\n")),
                    _ => Reply::Scene(Some(format!("stopped after {}: {why}", plural(made as u64, "step")))),
                });
            }
            if self.simulation.stops_here() && made + 1 < count {
                return Ok(Reply::Scene(Some(format!("stopped after {}", plural(made as u64 + 1, "step")))));
            }
        }
        Ok(Reply::Scene(None))
    }

    fn follow(&mut self, rest: &str) -> anyhow::Result<Reply> {
        // A name may have spaces; what is a number behind it is how far to go.
        let (file, count) = match rest.rsplit_once(char::is_whitespace) {
            Some((file, count)) if count.parse::<usize>().is_ok() => (file.trim(), count.parse().ok()),
            _ => (rest, None),
        };
        anyhow::ensure!(!file.is_empty(), "trace takes the name of a JSON file");
        let file = Path::new(file);
        let text = user_file::read(file, user_file::TRACES)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let saved: SavedDocument = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not a trace that check wrote", file.display()))?;
        let first = saved.traces.first().context("there is no trace in it")?;
        self.simulation.follow(&first.trace, count.unwrap_or(usize::MAX))?;
        let Position { cycle, .. } = self.simulation.position();
        Ok(Reply::Scene(cycle.map(|(steps, _)| {
            format!("the trace ends in a cycle of {}: forward goes round", plural(steps as u64, "step"))
        })))
    }

    fn break_at(&mut self, text: &str) -> anyhow::Result<Reply> {
        if text.is_empty() {
            return Ok(Reply::Text(self.breakpoints()));
        }
        self.simulation.has_room()?;
        self.simulation.break_at(text)?;
        Ok(Reply::Text(format!("breakpoint {}: {text}\n", self.simulation.breakpoints().len())))
    }

    fn clear(&mut self, number: &str) -> Reply {
        let number = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match number.is_some_and(|number| self.simulation.clear_break(number)) {
            true => Reply::Text(self.breakpoints()),
            false => Reply::Text("clear takes the number of a breakpoint; `break` lists them\n".into()),
        }
    }

    fn seek(&mut self, text: &str) -> anyhow::Result<Reply> {
        anyhow::ensure!(!text.is_empty(), "find takes an expression");
        let room = self.budget.leaving(self.budget.free() / 4);
        let clock = Clock::new(Some(self.seek_time));
        Ok(match self.simulation.seek(text, self.threads, &room, &clock)? {
            Sought::Here => Reply::Text("it is true here\n".into()),
            Sought::Reached(steps) => {
                Reply::Scene(Some(format!("{}; `back {steps}` returns", plural(steps as u64, "step"))))
            }
            Sought::Nowhere => Reply::Text("no state like that can be reached from here\n".into()),
            Sought::GaveUp(limit) => Reply::Text(format!("not found: {}\n", limit_sentence(limit))),
        })
    }

    fn run_in_words(&self) -> anyhow::Result<String> {
        let mut text = Vec::new();
        write_run(
            self.simulation.model(),
            &self.simulation.trace(&self.room)?,
            Sheet::on_screen(),
            &mut text,
        )?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn breakpoints(&self) -> String {
        let breakpoints = self.simulation.breakpoints();
        if breakpoints.is_empty() {
            return "there are no breakpoints\n".to_owned();
        }
        breakpoints.iter().enumerate().fold(String::new(), |mut text, (number, (name, is_true))| {
            let here = if *is_true { "  (true here)" } else { "" };
            let _ = writeln!(text, "  {:>3}  {name}{here}", number + 1);
            text
        })
    }

    /// What each property is in the state, one per line.
    pub(super) fn properties(&self) -> String {
        let mut text = String::new();
        let language = self.simulation.model().language();
        for property in self.simulation.properties() {
            let is_event = property.kind.is_event();
            let now = match (property.violated, property.now) {
                (true, _) => "violated here",
                (false, _) if is_event => "none here",
                (false, Some(true)) => "true",
                (false, Some(false)) => "false",
                (false, None) => "unknown",
            };
            let kind = if is_event { String::new() } else { format!("{} ", property.kind.called(language)) };
            let _ = writeln!(text, "  {now:<13} {kind}{}", property.name);
        }
        if text.is_empty() { "  nothing is asked\n".to_owned() } else { text }
    }

    fn coverage(&self) -> String {
        let model = self.simulation.model();
        let covered = self.simulation.coverage().map(|coverage| text::uncovered(model, &coverage, true));
        covered.filter(|text| !text.is_empty()).unwrap_or_else(|| "everything was taken\n".to_owned())
    }

    /// The state and what can be done.
    pub(super) fn scene(&self) -> String {
        let simulation = &self.simulation;
        let mut text = format!("{}:\n", self.place());
        for line in self.changed() {
            let _ = writeln!(text, "  {line}");
        }
        for name in simulation.violated() {
            let _ = writeln!(text, "  violated here: {name}");
        }
        for (name, _) in simulation.breakpoints().iter().filter(|(_, is_true)| *is_true) {
            let _ = writeln!(text, "  breakpoint: {name}");
        }
        let choices = simulation.choices();
        if choices.is_empty() {
            let _ = writeln!(text, "  nothing can happen: a deadlock");
        }
        let next = simulation.next_ahead();
        for (number, choice) in choices.iter().enumerate() {
            let ahead = if next == Some(number) { "  <- ahead" } else { "" };
            let _ = match choice {
                Choice::Step(step) => writeln!(text, "  {:>3}  {}{ahead}", number + 1, step_line(step)),
                Choice::Fault(step, fault) => writeln!(text, "    !  {}: {fault}", step_line(step)),
            };
        }
        text
    }

    /// How far the run is.
    pub(super) fn place(&self) -> String {
        let Position { steps, ahead, cycle } = self.simulation.position();
        let rest = match cycle {
            Some((length, rounds)) => {
                let rounds = if rounds > 0 { format!(", round {rounds}") } else { String::new() };
                format!(" (a cycle of {length}{rounds})")
            }
            None if ahead > 0 => format!(" ({ahead} ahead)"),
            None => String::new(),
        };
        format!("after {}{rest}", plural(steps as u64, "step"))
    }

    /// What the last step changed; all of it in the first state.
    fn changed(&self) -> Vec<String> {
        let before = self.simulation.earlier();
        state::lines(before.as_ref(), &self.simulation.state(), state::width().saturating_sub(2))
    }

    fn values(&self) -> String {
        let lines = state::lines(None, &self.simulation.state(), state::width().saturating_sub(2));
        lines.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "  {line}");
            text
        })
    }
}

/// A number of steps; one if there is none.
fn count(command: &str, text: &str) -> anyhow::Result<usize> {
    match text {
        "" => Ok(1),
        text => text.parse().map_err(|_| anyhow::anyhow!("{command} takes a number")),
    }
}
