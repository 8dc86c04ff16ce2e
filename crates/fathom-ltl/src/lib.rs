//! LTL formula to Büchi automaton; direct evaluation of a formula on a lasso.

mod accepting_cycle;
mod alternating;
pub mod atom;
pub mod automaton;
mod complement;
mod degeneralise;
pub mod diagnostic;
pub mod evaluate;
pub mod formula;
mod generalised;
pub mod gpvw;
mod graph;
pub mod hoa;
pub mod inclusion;
mod label;
mod lexer;
pub mod limits;
pub mod ltl_file;
mod normal_form;
mod obligation;
pub mod parser;
pub mod print;
mod rewrite;
mod simulation;
pub mod strength;
pub mod translate;
pub mod word;
