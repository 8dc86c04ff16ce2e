//! How is progress shown on a terminal, and taken away again, so that nothing of it stays?
//!
//! The cursor rests where the display begins, not where it ends. A terminal that becomes narrower may wrap what stands there into more lines than were written, or cut it: from the beginning on everything can be
//! cleared without knowing which.

use std::fmt::Write as _;

use super::snapshot::Snapshot;
use super::words;

/// What is on the terminal.
#[derive(Debug, Default)]
pub(super) struct Display {
    shown: bool,
}

/// Rows and columns that several lines need; with fewer there is one line.
const ROWS_MIN: usize = 8;
const COLUMNS_MIN: usize = 60;
/// Clears from the cursor to the end of its line, and of the screen.
const CLEAR_LINE: &str = "\u{1b}[K";
const CLEAR_BELOW: &str = "\u{1b}[J";

impl Display {
    /// What takes it away.
    pub(super) fn erased(&mut self) -> String {
        match std::mem::take(&mut self.shown) {
            true => format!("\r{CLEAR_BELOW}"),
            false => String::new(),
        }
    }

    /// What shows a snapshot in its place.
    pub(super) fn drawn(&mut self, snapshot: &Snapshot) -> String {
        self.shown = true;
        let (rows, columns) = size();
        drawn(&fitting(snapshot, rows, columns), columns)
    }
}

/// As many lines as there is room for.
fn fitting(snapshot: &Snapshot, rows: usize, columns: usize) -> Vec<String> {
    match rows >= ROWS_MIN && columns >= COLUMNS_MIN {
        true => words::lines(snapshot),
        false => vec![words::short(snapshot)],
    }
}

fn drawn(lines: &[String], columns: usize) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let gap = if number == 0 { "\r" } else { "\r\n" };
        let _ = write!(text, "{gap}{}{CLEAR_LINE}", cut(line, columns));
    }
    let _ = write!(text, "{CLEAR_BELOW}\r");
    if lines.len() > 1 {
        let _ = write!(text, "\u{1b}[{}A", lines.len() - 1);
    }
    text
}

/// The beginning of a line that fits a width, so that rewriting it never scrolls.
fn cut(line: &str, width: usize) -> &str {
    let end = line.char_indices().nth(width.saturating_sub(1)).map_or(line.len(), |(end, _)| end);
    &line[..end]
}

/// Rows and columns of the terminal.
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(std::io::stderr()) {
        Ok(size) if size.ws_col > 0 => (usize::from(size.ws_row), usize::from(size.ws_col)),
        _ => (24, 80),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_terminal() {
        assert_eq!(cut("abc", 80), "abc");
        assert_eq!(cut("abcdef", 4), "abc");
        assert_eq!(cut("äöü", 3), "äö");
        assert_eq!(cut("abc", 0), "");
    }

    #[test]
    fn the_cursor_rests_where_the_display_begins() {
        let lines = ["one".to_owned(), "two".to_owned()];
        assert_eq!(drawn(&lines, 80), "\rone\u{1b}[K\r\ntwo\u{1b}[K\u{1b}[J\r\u{1b}[1A");
        assert_eq!(drawn(&lines[..1], 3), "\ron\u{1b}[K\u{1b}[J\r");
    }
}
