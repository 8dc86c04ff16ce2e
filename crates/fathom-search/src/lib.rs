//! Graph to verdict: search bodies, and the engines that are their policies.
//!
//! A body is a search loop written once; an engine adds a policy to it. What is known of a model is
//! [`fathom_model::system::TransitionSystem`] alone.
//!
//! | file | question |
//! |---|---|
//! | [`layer_loop`] | body: which states does a breadth-first search reach, layer by layer? |
//! | [`engines::ram`] | policy: a compact exact table in RAM |
//! | [`engines::positions`] | policy: every record at a position that tells its layer |
//! | `layers` | how are closed layers kept in RAM? |
//! | [`depth_first`] | body: which states does a depth-first search reach? |
//! | [`engines::bitstate`] | policy: three bits per state, lossy |
//! | [`watch`] | what is looked for in every state, and what was found? |
//! | [`trace`] | how does a run lead to a state? |
//! | [`replay`] | is a path really a run, and does it show what it claims? |
//! | [`constrained`] | what is left of a system if only some states count? |
//! | [`error`] | what can go wrong with the machine? |

mod bytes;
pub mod constrained;
pub mod depth_first;
pub mod engines;
pub mod error;
pub mod layer_loop;
mod layers;
pub mod replay;
pub mod trace;
pub mod watch;
