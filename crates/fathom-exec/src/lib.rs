//! Program to successors.
//!
//! [`interpreter::Interpreter`] is the reference: plain, complete, and the judge of anything faster.

pub mod interpreter;
