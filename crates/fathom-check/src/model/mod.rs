//! How does a text become a system?
//!
//! | file | question |
//! |---|---|
//! | [`user_file`] | what is in a file that a user names? |
//! | [`system`] | which forms does the system of a model have? |
//! | [`execution`] | how does a model make its steps, and how much memory may it take to get there? |
//! | [`assemble`] | where is a source turned into a program, and a program into a system? |
//! | [`held`] | which values can a variable hold, in words? |
//! | `measure` | how far has a state come? |
//! | `distance` | how far is it from one that is looked for, at least? |
//! | [`subject`] | what can questions be asked about? |

pub mod assemble;
pub mod distance;
pub mod execution;
pub mod held;
pub(crate) mod measure;
pub mod subject;
pub mod system;
pub mod user_file;
