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
//! | `path_stack` | which states is a depth-first search in, and which come next? |
//! | [`disk_set`] | which records were inserted, when they do not fit in memory and are asked for one state at a time? |
//! | [`engines::bitstate`] | policy: three bits per state, lossy |
//! | [`engines::ndfs`] | policy: is there a cycle through an accepting state? |
//! | [`fix_point`] | body: which states are left when everything was taken away that no accepting run can repeat? |
//! | `pass_log` | how far have passes come, when they are taken up again? |
//! | [`engines::semi_owcty`] | policy: bits in RAM by the number of a state, states on a volume |
//! | [`engines::ddfs`] | policy of the depth-first search: a perfect hash and one bit per state |
//! | [`closed_set`] | what was reached, in sorted order, and every state a number? |
//! | [`bits`] | what is known of each of many numbers, in a bit or two? |
//! | `expander` | where do the steps of a state lead, by number? |
//! | [`successor_graph`] | where do steps lead, as numbers on a volume? |
//! | `counters` | how many of something are there, when there are mostly few? |
//! | `cycle` | which accepting run goes round in what a fix-point has left? |
//! | [`early`] | what tells, while states are generated, that there is an accepting run? |
//! | [`path`] | what is a run, and where do its states live? |
//! | [`lasso`] | what is an infinite run, and is it really one? |
//! | [`possible`] | body: from which states can a goal still be reached? |
//! | [`watch`] | what is looked for in every state, and what was found? |
//! | [`trace`] | how does a run lead to a state? |
//! | [`retrace`] | how does a run lead to a state when the layers before it were dropped? |
//! | [`replay`] | is a path really a run, and does it show what it claims? |
//! | [`unfold`] | which run stands behind one in which states that are alike are one? |
//! | [`one_state`] | what are the steps of one state, in room that is charged? |
//! | [`constrained`] | what is left of a system if only some states count? |
//! | [`audit`] | is the closed set of a finished run really closed, and does it show what the run said? |
//! | [`ranks`] | what proves that no run is accepting? |
//! | [`rank_audit`] | do ranks prove that no run is accepting? |
//! | [`error`] | what can go wrong with the machine? |

pub mod audit;
pub mod bits;
mod bytes;
pub mod closed_set;
pub mod constrained;
mod counters;
mod cycle;
pub mod depth_first;
pub mod disk_set;
pub mod early;
pub mod engines;
pub mod error;
mod expander;
pub mod fix_point;
pub mod lasso;
pub mod layer_loop;
mod layers;
pub mod one_state;
mod pass_log;
pub mod path;
mod path_stack;
pub mod possible;
pub mod rank_audit;
pub mod ranks;
pub mod replay;
pub mod retrace;
pub mod successor_graph;
pub mod trace;
pub mod unfold;
pub mod watch;
