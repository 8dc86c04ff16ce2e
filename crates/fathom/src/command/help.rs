//! `fathom completions` and `fathom man`: what do shells and manuals know of the command line? What the parser knows.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::{print, print_bytes};
use crate::arguments::raw::Arguments;
use crate::report::Exit;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "fathom", &mut text);
    print_bytes(&text).context("cannot write standard output")?;
    Ok(Exit::Success)
}

/// Writes the manual, a page per command, to a folder; or prints the first page.
pub fn man(folder: Option<&Path>) -> anyhow::Result<Exit> {
    match folder {
        Some(folder) => {
            clap_mangen::generate_to(Arguments::command(), folder)
                .with_context(|| format!("cannot write to {}", folder.display()))?;
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Arguments::command()).render(&mut text)?;
            print(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(Exit::Success)
}
