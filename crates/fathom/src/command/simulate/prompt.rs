//! How is a simulation steered with lines of text? From a file or a pipe as they come; from a terminal with a prompt, and lines that can be edited.

use std::io::{BufRead, Write};

use anyhow::Context;
use crossterm::event::{self, Event, KeyEventKind};
use crossterm::terminal;

use super::editor::{Edited, Editor};
use super::steering::{Reply, Steering};
use crate::command::print;

const GREETING: &str = "type a number to take a step, `help` for more\n";

/// Steers by the lines of standard input, with a prompt if somebody types them; `edited` if the terminal can move its cursor.
pub(super) fn run(steering: &mut Steering<'_>, prompt: bool, edited: bool) -> anyhow::Result<()> {
    print(&format!("{GREETING}{}", steering.scene()))?;
    let mut editor = Editor::default();
    loop {
        let line = match edited {
            true => typed(&mut editor)?,
            false => read(prompt)?,
        };
        let Some(line) = line else { return Ok(()) };
        match steering.obey(&line) {
            Reply::Quit => return Ok(()),
            Reply::Text(text) => print(&text)?,
            Reply::Scene(None) => print(&steering.scene())?,
            Reply::Scene(Some(said)) => print(&format!("{said}\n{}", steering.scene()))?,
        }
    }
}

/// The next line as it comes; none at the end.
fn read(prompt: bool) -> anyhow::Result<Option<String>> {
    if prompt {
        print("> ")?;
    }
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).context("cannot read standard input")?;
    Ok((read > 0).then_some(line))
}

/// The next line, edited as it is typed; none if the user wants no more.
fn typed(editor: &mut Editor) -> anyhow::Result<Option<String>> {
    let _raw = Raw::new().context("cannot read single keys")?;
    loop {
        show(editor).context("cannot write standard output")?;
        let Event::Key(key) = event::read().context("cannot read standard input")? else { continue };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        let line = match editor.key(key) {
            Edited::Going => continue,
            Edited::Line(line) => Some(line),
            Edited::End => None,
        };
        let mut out = std::io::stdout().lock();
        out.write_all(b"\r\n").and_then(|()| out.flush()).context("cannot write standard output")?;
        return Ok(line);
    }
}

/// Writes the line anew, and puts the cursor where it is. Of a line that is too long, what is around the cursor.
fn show(editor: &Editor) -> std::io::Result<()> {
    let room = terminal::size().map_or(80, |(columns, _)| usize::from(columns)).saturating_sub(4).max(8);
    let first = (editor.cursor() + 1).saturating_sub(room);
    let shown: String = editor.text().chars().skip(first).take(room).collect();
    let mut out = std::io::stdout().lock();
    write!(out, "\r> {shown}\u{1b}[K\r\u{1b}[{}C", 2 + editor.cursor() - first)?;
    out.flush()
}

/// The terminal gives single keys, until this is dropped.
struct Raw;

impl Raw {
    fn new() -> std::io::Result<Raw> {
        terminal::enable_raw_mode().map(|()| Raw)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Nothing can be done about it.
        let _ = terminal::disable_raw_mode();
    }
}
