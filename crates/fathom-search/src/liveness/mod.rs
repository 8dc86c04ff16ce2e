//! What do engines for infinite runs have in common?

pub(crate) mod cycle;
pub(crate) mod cycle_on_disk;
pub mod early;
pub(crate) mod lasting;
pub mod on_the_fly;
pub mod possible;
pub(crate) mod rounds;
pub mod semi_external;
