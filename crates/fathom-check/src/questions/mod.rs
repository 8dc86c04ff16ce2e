//! What is asked about a model?
//!
//! | file | question |
//! |---|---|
//! | [`property`] | what is a property of a model? |
//! | [`liveness_property`] | what is asked about infinite runs? |
//! | [`plan`] | what is asked about a model, and how does a search ask it? |
//! | [`unchecked`] | what was not checked? |
//! | [`assumption`] | what does a verdict take for granted? |

pub mod assumption;
pub mod liveness_property;
pub mod plan;
pub mod property;
pub mod unchecked;
