//! `fathom lsp`: who answers an editor?

use crate::lsp;
use crate::report::Exit;

/// Answers until the editor is done.
pub fn run() -> anyhow::Result<Exit> {
    lsp::serve()?;
    Ok(Exit::Success)
}
