//! How is what was found written down? Markdown, and plots beside it.

use std::path::{Path, PathBuf};

/// The text of a paper's results, and its plots.
pub(crate) struct Report {
    name: &'static str,
    text: String,
    /// By name of the file.
    plots: Vec<(String, String)>,
}

/// Rows under a header, of as many cells.
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with columns of these names, divided by `|`.
    pub(crate) fn new(header: &str) -> Table {
        Table { header: header.split('|').map(|cell| cell.trim().to_owned()).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.header.len(), "a row has as many cells as the header: {cells:?}");
        self.rows.push(cells);
    }
}

impl Report {
    pub(super) fn new(name: &'static str) -> Report {
        Report { name, text: String::new(), plots: Vec::new() }
    }

    pub(crate) fn heading(&mut self, level: usize, text: &str) {
        self.block(&format!("{} {text}", "#".repeat(level)));
    }

    pub(crate) fn paragraph(&mut self, text: &str) {
        self.block(text);
    }

    /// The command that repeats something.
    pub(crate) fn command(&mut self, command: &str) {
        self.block(&format!("```console\n$ {command}\n```"));
    }

    pub(crate) fn table(&mut self, table: &Table) {
        let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
        let rule = format!("|{}", "---|".repeat(table.header.len()));
        let lines: Vec<String> =
            [line(&table.header), rule].into_iter().chain(table.rows.iter().map(|row| line(row))).collect();
        self.block(&lines.join("\n"));
    }

    /// A plot (`plot.rs`), in a file of its own.
    pub(crate) fn plot(&mut self, name: &str, caption: &str, svg: String) {
        let file = format!("{}-{name}.svg", self.name);
        self.block(&format!("![{caption}]({file})"));
        self.plots.push((file, svg));
    }

    /// Names what could not be run.
    pub(super) fn left_out(&mut self, missing: &[String]) {
        if !missing.is_empty() {
            self.block(&format!("Not at hand, and left out: {}.", missing.join(", ")));
        }
    }

    /// Writes `NAME.md` and its plots.
    pub(super) fn write(&self, folder: &Path) -> anyhow::Result<PathBuf> {
        std::fs::create_dir_all(folder)?;
        for (file, svg) in &self.plots {
            std::fs::write(folder.join(file), svg)?;
        }
        let path = folder.join(format!("{}.md", self.name));
        std::fs::write(&path, &self.text)?;
        Ok(path)
    }

    fn block(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}
