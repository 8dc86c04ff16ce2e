//! fathom, a model checker for systems whose state space is larger than memory: the program. What it answers, `fathom-check` answers; here is how it is asked and told.
//!
//! | file | question |
//! |---|---|
//! | [`arguments`] | what did the user type? |
//! | [`settings`] | what is a command asked to do? |
//! | [`command`] | what does each command do? |
//! | `reading` | does reading a model keep within the memory of the run? |
//! | [`observer`] | who watches the search of a command? |
//! | [`history`] | how did a search go on over time? |
//! | [`status`] | what does a search leave in its folder for whoever looks at it from outside? |
//! | [`progress`] | how is a user told how far a run is? |
//! | [`interrupt`] | has somebody asked the run to stop? |
//! | [`session`] | who ends a command that does not end by itself? |
//! | `lsp` | how does an editor ask about models? |
//! | [`report`] | how is the result of a run told? |
//! | [`serve`] | how is a page served to its reader, and to nobody else? |

pub mod arguments;
pub mod command;
pub mod history;
pub mod interrupt;
mod lsp;
pub mod observer;
pub mod progress;
mod reading;
pub mod report;
pub mod serve;
pub mod session;
pub mod settings;
pub mod status;
