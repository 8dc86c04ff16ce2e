//! How do threads expand states?

pub(crate) mod by_number;
