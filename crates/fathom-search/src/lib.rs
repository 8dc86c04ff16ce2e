//! Graph to verdict: search bodies, and the engines that are their policies.
//!
//! A body is a search loop written once; an engine adds a policy to it. What is known of a model is
//! [`fathom_model::system::TransitionSystem`] alone.
//!
//! | file | question |
//! |---|---|
//! | [`layer_loop`] | body: which states does a breadth-first search reach, layer by layer? |
//! | [`engines::ram`] | policy: a layer lives in a RAM table |
//! | [`watch`] | what is looked for in every state, and what was found? |
//! | [`trace`] | how does a run lead to a state? |
//! | [`error`] | what can go wrong with the machine? |

pub mod engines;
pub mod error;
pub mod layer_loop;
pub mod trace;
pub mod watch;
