//! In which forms do other tools read a run? One file each; all of them read a run state by state, and hold one state at a time.

pub mod dot;
pub mod github;
pub mod itf;
pub mod junit;
pub mod mermaid;
pub mod sarif;
pub mod vcd;
mod walk;
