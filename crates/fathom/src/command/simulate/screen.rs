//! How is a simulation seen and steered on the full screen of a terminal?
//!
//! ```text
//! how far the run is, the model
//! +- state ---------------++- steps ------+
//! | variables, what the   || enabled ones |
//! | last step changed     |+- properties -+
//! | marked                || and breaks   |
//! +-----------------------++--------------+
//! what was said last, or the line that is typed
//! keys
//! ```

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use fathom_check::simulate::Choice;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, List, ListItem, ListState, Paragraph, Row, Table, Wrap};
use ratatui::{DefaultTerminal, Frame};

use super::editor::{Edited, Editor};
use super::steering::{Reply, Steering};
use crate::report::escape::Printable;
use crate::report::trace::step_line;

/// Narrower screens have what is beside the state below it.
const COLUMNS_BESIDE: u16 = 80;
/// How often the screen is drawn anew although nothing happens: it may have another size.
const IDLE: Duration = Duration::from_millis(250);
const KEYS: &str = "1-9 enter take  left back  right forward  r random  R run on  : command (find, break, trace, ...)  ? help  q quit";

/// What is seen beside the simulation itself.
#[derive(Debug, Default)]
struct View {
    /// The step that is chosen, by its number.
    chosen: usize,
    /// Rows of the state that are above the window.
    scrolled: usize,
    /// What was said last.
    said: String,
    /// A text that covers the rest until a key is pressed, and how many of its lines are above the window.
    page: Option<(String, u16)>,
    /// Whether a command is being typed.
    typing: bool,
    editor: Editor,
}

/// Steers until the user wants no more. The terminal is as it was afterwards.
pub(super) fn run(steering: &mut Steering<'_>) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init().context("cannot use the terminal; --plain needs less of it")?;
    let outcome = steered(&mut terminal, steering);
    ratatui::restore();
    outcome
}

fn steered(terminal: &mut DefaultTerminal, steering: &mut Steering<'_>) -> anyhow::Result<()> {
    let mut view = View::default();
    loop {
        terminal.draw(|frame| view.draw(frame, steering)).context("cannot write to the terminal")?;
        if !event::poll(IDLE).context("cannot read from the terminal")? {
            continue;
        }
        let Event::Key(key) = event::read().context("cannot read from the terminal")? else { continue };
        if key.kind != KeyEventKind::Release && view.key(key, steering) {
            return Ok(());
        }
    }
}

impl View {
    /// Does what a key says; true if that is to end.
    fn key(&mut self, key: KeyEvent, steering: &mut Steering<'_>) -> bool {
        if self.page.is_some() {
            self.page_key(key.code);
            return false;
        }
        if self.typing {
            return self.typed(key, steering);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = steering.simulation.step_count().saturating_sub(1);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return true,
            KeyCode::Char('q') => return true,
            KeyCode::Char(':' | '/') => self.typing = true,
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => return self.tell("help", steering),
            KeyCode::Char(digit @ '1'..='9') => return self.tell(&digit.to_string(), steering),
            KeyCode::Enter => return self.tell(&(self.chosen + 1).to_string(), steering),
            KeyCode::Left | KeyCode::Char('b') | KeyCode::Backspace => return self.tell("back", steering),
            KeyCode::Right | KeyCode::Char('f') => return self.tell("forward", steering),
            KeyCode::Char('r') => return self.tell("random", steering),
            KeyCode::Char('R') => return self.tell("random 1000", steering),
            KeyCode::Char('v') => return self.tell("values", steering),
            KeyCode::Char('c') => return self.tell("coverage", steering),
            KeyCode::Home => return self.tell("restart", steering),
            KeyCode::Up => self.chosen = self.chosen.saturating_sub(1),
            KeyCode::Down => self.chosen = (self.chosen + 1).min(last),
            KeyCode::PageUp => self.scrolled = self.scrolled.saturating_sub(10),
            KeyCode::PageDown => self.scrolled += 10,
            _ => {}
        }
        false
    }

    /// A key while a text covers the screen.
    fn page_key(&mut self, code: KeyCode) {
        let Some((text, above)) = self.page.as_mut() else { return };
        let last = u16::try_from(text.lines().count()).unwrap_or(u16::MAX).saturating_sub(1);
        match code {
            KeyCode::Up => *above = above.saturating_sub(1),
            KeyCode::Down => *above = (*above + 1).min(last),
            KeyCode::PageUp => *above = above.saturating_sub(10),
            KeyCode::PageDown => *above = (*above + 10).min(last),
            _ => self.page = None,
        }
    }

    /// A key while a command is typed.
    fn typed(&mut self, key: KeyEvent, steering: &mut Steering<'_>) -> bool {
        if key.code == KeyCode::Esc {
            self.typing = false;
            return false;
        }
        match self.editor.key(key) {
            Edited::Going => false,
            Edited::End => {
                self.typing = false;
                false
            }
            Edited::Line(line) => {
                self.typing = false;
                !line.trim().is_empty() && self.tell(&line, steering)
            }
        }
    }

    /// Tells the simulation to do something, and shows the answer; true if that is to end.
    fn tell(&mut self, line: &str, steering: &mut Steering<'_>) -> bool {
        match steering.obey(line) {
            Reply::Quit => return true,
            Reply::Text(text) if text.trim_end().contains('\n') => self.page = Some((text, 0)),
            Reply::Text(text) => self.said = text.trim_end().to_owned(),
            Reply::Scene(said) => {
                self.said = said.unwrap_or_default();
                self.chosen = steering.simulation.next_ahead().unwrap_or(0);
            }
        }
        false
    }

    fn draw(&mut self, frame: &mut Frame<'_>, steering: &Steering<'_>) {
        let [title, main, said, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(1),
            Constraint::Length(1),
        ])
        .areas(frame.area());
        let name = Printable(steering.simulation.model().source().name()).to_string();
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Line::styled(format!("{}, {name}", steering.place()), bold), title);
        let beside = main.width >= COLUMNS_BESIDE;
        let split = [Constraint::Percentage(55), Constraint::Percentage(45)];
        let [left, right] =
            if beside { Layout::horizontal(split).areas(main) } else { Layout::vertical(split).areas(main) };
        let asked = asked(steering);
        let below = u16::try_from(asked.len()).unwrap_or(u16::MAX).saturating_add(2).min(right.height / 2);
        let [steps, properties] =
            Layout::vertical([Constraint::Min(3), Constraint::Length(below)]).areas(right);
        self.draw_state(frame, left, steering);
        self.draw_steps(frame, steps, steering);
        frame.render_widget(Paragraph::new(asked).block(Block::bordered().title("properties")), properties);
        self.draw_said(frame, said);
        frame.render_widget(Line::styled(KEYS, Style::new().add_modifier(Modifier::DIM)), keys);
        if let Some((text, above)) = &self.page {
            let page = Paragraph::new(Printable::lines(text)).wrap(Wrap { trim: false }).scroll((*above, 0));
            frame.render_widget(Clear, main);
            frame.render_widget(page.block(Block::bordered().title("any key goes on")), main);
        }
    }

    /// The variables, with what the last step changed marked.
    fn draw_state(&mut self, frame: &mut Frame<'_>, area: Rect, steering: &Steering<'_>) {
        let earlier = values(steering.simulation.earlier().as_ref());
        let mut now = Vec::new();
        steering
            .simulation
            .state()
            .for_each(&mut |name, value| now.push((name.to_owned(), value.to_string())));
        let before: HashMap<String, String> = earlier.into_iter().collect();
        let visible = usize::from(area.height.saturating_sub(3));
        self.scrolled = self.scrolled.min(now.len().saturating_sub(visible));
        let rows = now.iter().skip(self.scrolled).take(visible).map(|(name, value)| {
            let was = before.get(name).filter(|was| *was != value);
            let mark = if was.is_some() { "*" } else { " " };
            let cells = [mark.to_owned(), Printable(name).to_string(), Printable(value).to_string()];
            let was = was.map_or(String::new(), |was| Printable(was).to_string());
            let changed = Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD);
            Row::new(cells.into_iter().chain([was])).style(if mark == "*" { changed } else { Style::new() })
        });
        let widths = [
            Constraint::Length(1),
            Constraint::Percentage(45),
            Constraint::Percentage(30),
            Constraint::Percentage(25),
        ];
        let header =
            Row::new(["", "variable", "value", "before"]).style(Style::new().add_modifier(Modifier::DIM));
        let table = Table::new(rows, widths).header(header).block(Block::bordered().title("state"));
        frame.render_widget(table, area);
    }

    fn draw_steps(&mut self, frame: &mut Frame<'_>, area: Rect, steering: &Steering<'_>) {
        let choices = steering.simulation.choices();
        let next = steering.simulation.next_ahead();
        let item = |(number, choice): (usize, &Choice)| match choice {
            Choice::Step(step) => {
                let ahead = if next == Some(number) { "  <- ahead" } else { "" };
                ListItem::new(format!("{:>2}  {}{ahead}", number + 1, Printable(&step_line(step))))
            }
            Choice::Fault(step, fault) => {
                ListItem::new(format!(" !  {}: {fault}", Printable(&step_line(step)))).style(Color::Red)
            }
        };
        let items: Vec<ListItem<'_>> = match choices.is_empty() {
            true => vec![ListItem::new("nothing can happen: a deadlock").style(Color::Red)],
            false => choices.iter().enumerate().map(item).collect(),
        };
        let title = steering
            .simulation
            .last_step()
            .map_or("steps".to_owned(), |step| format!("steps after {}", Printable(&step.title)));
        let list = List::new(items)
            .block(Block::bordered().title(title))
            .highlight_style(Style::new().add_modifier(Modifier::REVERSED));
        self.chosen = self.chosen.min(choices.len().saturating_sub(1));
        let mut state = ListState::default().with_selected(Some(self.chosen));
        frame.render_stateful_widget(list, area, &mut state);
    }

    fn draw_said(&self, frame: &mut Frame<'_>, area: Rect) {
        if !self.typing {
            frame.render_widget(Line::raw(Printable(&self.said).to_string()), area);
            return;
        }
        let room = usize::from(area.width).saturating_sub(3).max(1);
        let first = (self.editor.cursor() + 1).saturating_sub(room);
        let shown: String = self.editor.text().chars().skip(first).take(room).collect();
        frame.render_widget(Line::raw(format!(": {shown}")), area);
        let column = u16::try_from(2 + self.editor.cursor() - first).unwrap_or(u16::MAX);
        frame.set_cursor_position((area.x.saturating_add(column), area.y));
    }
}

/// The single values of a state by name.
fn values(state: Option<&fathom_check::trace::value::Value>) -> Vec<(String, String)> {
    let mut values = Vec::new();
    if let Some(state) = state {
        state.for_each(&mut |name, value| values.push((name.to_owned(), value.to_string())));
    }
    values
}

/// Properties, breakpoints and coverage, a line each.
fn asked(steering: &Steering<'_>) -> Vec<Line<'static>> {
    let simulation = &steering.simulation;
    let alarm = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
    let mut lines: Vec<Line<'static>> = Vec::new();
    for text in steering.properties().lines() {
        let style = if text.trim().starts_with("violated here") { alarm } else { Style::new() };
        lines.push(Line::styled(Printable(text.trim()).to_string(), style));
    }
    for (number, (name, is_true)) in simulation.breakpoints().into_iter().enumerate() {
        let mark = if is_true { Span::styled(" stops here", alarm) } else { Span::raw("") };
        lines.push(Line::from(vec![Span::raw(format!("break {}: {}", number + 1, Printable(name))), mark]));
    }
    if let Some(coverage) = simulation.coverage() {
        let taken = coverage.transitions - coverage.never_taken.len();
        lines.push(Line::raw(format!("coverage: {taken} of {} taken so far", coverage.transitions)));
    }
    lines
}
