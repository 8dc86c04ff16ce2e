//! Graph to verdict: search bodies, and the engines that are their policies.
//!
//! A body is a search loop written once; an engine adds a policy to it. What is known of a model is
//! [`fathom_model::system::TransitionSystem`] alone.
//!
//! | folder | question |
//! |---|---|
//! | [`task`] | what is a search asked, who watches, how does it end, what has it found? |
//! | `expansion` | how do threads expand states? |
//! | [`bodies`] | which loops are there? `stages`, `depth_first`, `dive`, `passes`, `waves` |
//! | [`stores`] | what is known of states, in memory or behind it? |
//! | [`files`] | what does a search leave on a volume? |
//! | [`progress`] | in which order do states come that few steps go against? |
//! | [`engines`] | policies of the bodies, one file or folder each |
//! | [`graph`] | what do all steps of a system make of its states? |
//! | [`liveness`] | what do engines for infinite runs have in common? |
//! | [`traces`] | what is a run that is told, and how is it found? |
//! | [`proof`] | is what was found true? |
//! | [`constrained`] | what is left of a system if only some states count? |
//! | [`error`] | what can go wrong with the machine? |

pub mod bodies;
mod bytes;
pub mod constrained;
pub mod engines;
pub mod error;
mod expansion;
pub mod files;
pub mod graph;
pub mod liveness;
pub mod progress;
pub mod proof;
pub mod stores;
pub mod task;
pub mod traces;
