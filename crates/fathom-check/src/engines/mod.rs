//! Which engine searches, and what is left of its search?
//!
//! | file | question |
//! |---|---|
//! | [`figures`] | what did the files of a search take, and where did its time go? |
//! | [`layer_engine`] | which engine searches breadth-first, and what is left of its search? |
//! | [`liveness_task`] | what is a search for an accepting run asked, and what does it find out? |
//! | `on_the_fly` | how is an accepting run looked for on the fly, and where do files of that go? |
//! | `directed` | how far is a state of a product from where a run may be accepting? |
//! | `counted` | how does an engine that knows accepting states alone search a product with several marks? |
//! | `progress` | which measure of progress does a search take? |
//! | `semi_external` | how is a product generated that may not fit in memory, and searched for an accepting run? |
//! | `states` | where are all states of a system, when something is asked of them that takes memory, too? |
//! | `while_generating` | how does `auto` look for accepting runs while it generates all states? |
//! | [`liveness_search`] | which engine looks for an accepting run, and how? |

mod counted;
mod directed;
pub mod figures;
pub mod layer_engine;
pub mod liveness_search;
pub mod liveness_task;
pub(crate) mod measured;
mod on_the_fly;
pub(crate) mod progress;
pub(crate) mod semi_external;
pub(crate) mod states;
mod while_generating;
