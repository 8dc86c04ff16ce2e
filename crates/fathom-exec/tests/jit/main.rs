//! Is compiled code equal to the interpreter? Step by step, in order, in everything a caller can see.

#![cfg(feature = "jit")]
#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

mod agreement;
mod gcc;
mod models;
mod murphi;
mod random;
