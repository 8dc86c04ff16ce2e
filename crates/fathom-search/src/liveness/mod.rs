//! What do engines for infinite runs have in common?

pub(crate) mod cycle;
pub mod early;
pub mod possible;
pub mod semi_external;
