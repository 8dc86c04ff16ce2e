//! Is what was found true? Runs are executed again, finished searches are gone through again.

pub mod audit;
mod error;
pub mod rank_audit;
pub mod ranks;
pub mod replay;
mod walk;
