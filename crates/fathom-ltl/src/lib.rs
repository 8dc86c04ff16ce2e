//! LTL formula to Büchi automaton; direct evaluation of a formula on a lasso.

pub mod atom;
pub mod diagnostic;
pub mod evaluate;
pub mod formula;
mod lexer;
pub mod ltl_file;
pub mod parser;
pub mod word;
