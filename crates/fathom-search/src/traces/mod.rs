//! What is a run that is told, and how is it found?

pub mod lasso;
pub mod one_state;
pub mod path;
pub mod shorten;
pub mod trace;
pub mod unfold;
