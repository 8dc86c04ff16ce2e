//! Program to successors.
//!
//! [`interpreter::Interpreter`] is the reference: plain, complete, and the judge of anything faster. With the feature `jit` (on by
//! default) `jit::Compiled` is the same system as machine code.

pub mod interpreter;
#[cfg(feature = "jit")]
pub mod jit;
pub mod stop;
