//! What becomes of a line while it is typed? Keys in, a line out; what was typed before comes back.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// A line that is being typed.
#[derive(Debug, Default)]
pub(super) struct Editor {
    letters: Vec<char>,
    cursor: usize,
    earlier: Vec<String>,
    /// Which of the earlier lines is shown; as many as there are if it is a new one.
    recalled: usize,
}

/// What a key has done.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Edited {
    /// The line is another one, or the cursor is elsewhere.
    Going,
    /// The line is finished.
    Line(String),
    /// The user wants no more.
    End,
}

impl Editor {
    /// The line so far.
    pub(super) fn text(&self) -> String {
        self.letters.iter().collect()
    }

    /// Where the cursor is, in letters.
    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Does what a key says.
    pub(super) fn key(&mut self, key: KeyEvent) -> Edited {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Edited::Line(self.finished()),
            KeyCode::Char('d') if control && self.letters.is_empty() => return Edited::End,
            KeyCode::Char('c') if control && self.letters.is_empty() => return Edited::End,
            KeyCode::Char('c') if control => self.show(""),
            KeyCode::Char('a') if control => self.cursor = 0,
            KeyCode::Char('e') if control => self.cursor = self.letters.len(),
            KeyCode::Char('u') if control => _ = self.letters.drain(..std::mem::take(&mut self.cursor)),
            KeyCode::Char('k') if control => self.letters.truncate(self.cursor),
            KeyCode::Char('w') if control => self.delete_word(),
            KeyCode::Char(letter) if !control => {
                self.letters.insert(self.cursor, letter);
                self.cursor += 1;
            }
            KeyCode::Backspace if self.cursor > 0 => {
                self.cursor -= 1;
                self.letters.remove(self.cursor);
            }
            KeyCode::Delete if self.cursor < self.letters.len() => _ = self.letters.remove(self.cursor),
            KeyCode::Left => self.cursor = self.cursor.saturating_sub(1),
            KeyCode::Right => self.cursor = (self.cursor + 1).min(self.letters.len()),
            KeyCode::Home => self.cursor = 0,
            KeyCode::End => self.cursor = self.letters.len(),
            KeyCode::Up => self.recall(self.recalled.checked_sub(1)),
            KeyCode::Down => self.recall(Some(self.recalled + 1)),
            _ => {}
        }
        Edited::Going
    }

    fn finished(&mut self) -> String {
        let line = self.text();
        if !line.trim().is_empty() && self.earlier.last() != Some(&line) {
            self.earlier.push(line.clone());
        }
        self.recalled = self.earlier.len();
        self.show("");
        line
    }

    fn show(&mut self, line: &str) {
        self.letters = line.chars().collect();
        self.cursor = self.letters.len();
    }

    fn recall(&mut self, line: Option<usize>) {
        if let Some(line) = line.filter(|line| *line <= self.earlier.len()) {
            self.recalled = line;
            let line = self.earlier.get(line).cloned().unwrap_or_default();
            self.show(&line);
        }
    }

    /// Deletes the word before the cursor, and spaces behind it.
    fn delete_word(&mut self) {
        let before = &self.letters[..self.cursor];
        let word_end = before.iter().rposition(|it| !it.is_whitespace()).map_or(0, |last| last + 1);
        let word_start =
            before[..word_end].iter().rposition(|it| it.is_whitespace()).map_or(0, |gap| gap + 1);
        self.letters.drain(word_start..self.cursor);
        self.cursor = word_start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, code: KeyCode) -> Edited {
        editor.key(KeyEvent::new(code, KeyModifiers::NONE))
    }

    fn control(editor: &mut Editor, letter: char) -> Edited {
        editor.key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL))
    }

    fn typed(editor: &mut Editor, text: &str) {
        text.chars().for_each(|letter| _ = press(editor, KeyCode::Char(letter)));
    }

    #[test]
    fn a_line_is_edited_where_the_cursor_is() {
        let mut editor = Editor::default();
        typed(&mut editor, "bak 3");
        for _ in 0..3 {
            press(&mut editor, KeyCode::Left);
        }
        typed(&mut editor, "c");
        assert_eq!((editor.text().as_str(), editor.cursor()), ("back 3", 3));
        press(&mut editor, KeyCode::End);
        press(&mut editor, KeyCode::Backspace);
        typed(&mut editor, "12");
        control(&mut editor, 'w');
        typed(&mut editor, "7");
        assert_eq!(press(&mut editor, KeyCode::Enter), Edited::Line("back 7".into()));
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn earlier_lines_come_back() {
        let mut editor = Editor::default();
        for line in ["one", "two", "two", " "] {
            typed(&mut editor, line);
            press(&mut editor, KeyCode::Enter);
        }
        let up = |editor: &mut Editor| {
            press(editor, KeyCode::Up);
            editor.text()
        };
        assert_eq!([up(&mut editor), up(&mut editor), up(&mut editor)], ["two", "one", "one"]);
        press(&mut editor, KeyCode::Down);
        assert_eq!(editor.text(), "two");
        press(&mut editor, KeyCode::Down);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn an_empty_line_can_be_the_end() {
        let mut editor = Editor::default();
        typed(&mut editor, "x y");
        assert_eq!(control(&mut editor, 'c'), Edited::Going);
        assert_eq!(control(&mut editor, 'c'), Edited::End);
        assert_eq!(control(&mut editor, 'd'), Edited::End);
        typed(&mut editor, "ab");
        press(&mut editor, KeyCode::Home);
        press(&mut editor, KeyCode::Delete);
        control(&mut editor, 'e');
        control(&mut editor, 'u');
        assert_eq!(editor.text(), "");
    }
}
