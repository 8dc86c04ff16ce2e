//! The in-RAM judge of every engine, and what it is shown. Test-only.
//!
//! It stands on `fathom-model` alone and shares nothing with the engines. It is plain on purpose: standard collections, one record at a
//! time, everything kept. When it and an engine differ, reading it should settle who is right.
//!
//! | file | question |
//! |---|---|
//! | [`bfs`] | what is reachable, how far away, and by which shortest path? |
//! | [`tarjan`] | which states lie on common cycles, and is one of the cycles accepting? |
//! | [`liveness`] | which infinite runs does a graph have? |
//! | [`random`] | which numbers does a seeded test draw? |
//! | [`graph`] | how is a given digraph a system? |
//! | [`forms`] | which digraphs are worth trying? |
//! | [`program`] | which programs are worth trying? |
//! | [`writer`] | who writes random programs, and what may be used where the writer stands? |
//! | [`expressions`] | which expressions are worth trying in a random program? |
//! | [`statements`] | which statements are worth trying in one? |
//! | [`meaning`] | what does a program mean? |
//! | [`murphi_source`] | which Murphi texts are worth trying? |
//! | [`emit_c`] | what would a C compiler make of a program? |
//! | [`skip`] | how does a test say that it was not made? |

pub mod bfs;
pub mod emit_c;
pub mod expressions;
pub mod forms;
pub mod graph;
pub mod liveness;
pub mod meaning;
pub mod murphi_source;
pub mod program;
pub mod random;
pub mod skip;
pub mod statements;
pub mod tarjan;
pub mod writer;
