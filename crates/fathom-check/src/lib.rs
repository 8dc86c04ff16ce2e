//! Questions about a model, and their answers: the library between a search and a program. It knows no command line, no terminal and no signals.
//!
//! A system that implements [`TransitionSystem`](fathom_model::system::TransitionSystem) is asked about with a [`Check`] ([`given`] has an example). A model in a text is read by
//! [`Model::read`](model::assemble::Model::read); a [`Plan`](questions::plan::Plan) of questions about it is answered by [`answers::check::check`].
//!
//! | module | question |
//! |---|---|
//! | [`model`] | how does a text become a system? |
//! | [`questions`] | what is asked about a model? |
//! | [`trace`] | what are the words for a run? |
//! | [`folder`] | where does a search live on disk, and what makes the folder ours? |
//! | [`engines`] | which engine searches, and what is left of its search? |
//! | [`answers`] | what is the answer to a question about a model? |
//! | [`given`] | how is a system checked that somebody hands over, in a few lines? |
//! | [`simulate`] | where can a model go from here? |
//! | [`follow`] | is a recorded execution of a real system a behaviour of the model? |
//! | [`export`] | how is a state space written for other programs? |
//! | [`resources`] | what may a search use, and when does it give up? |
//! | [`monitor`] | who watches a search from outside? |
//! | [`forecast`] | how many states are still to come, as far as the sizes of layers tell? |
//! | [`limit`] | why does a search end before it is complete? |
//! | [`error`] | why could a search not be made? |
//! | [`machine`] | how much memory is there, and how much was taken? |
//! | [`numbers`] | how is a number of things written? |

pub mod answers;
pub mod engines;
pub mod error;
pub mod export;
pub mod folder;
pub mod follow;
pub mod forecast;
pub mod given;
pub mod limit;
pub mod machine;
pub mod model;
pub mod monitor;
pub mod numbers;
pub mod questions;
pub mod resources;
pub mod simulate;
pub mod trace;

pub use answers::check::{Answer, Checked, Verdict};
pub use given::Check;
pub use model::subject::Given;
