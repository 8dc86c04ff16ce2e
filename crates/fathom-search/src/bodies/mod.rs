//! Which loops are there? Each is written once; engines are their policies.

pub mod depth_first;
pub mod dive;
pub(crate) mod passes;
pub mod stages;
pub(crate) mod waves;
