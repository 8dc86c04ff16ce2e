//! What a state is, and the step relation over it.
//!
//! Two roots of the architecture meet here: the languages produce a [`program::Program`], the searches consume a
//! [`system::TransitionSystem`]. Neither knows the other.
//!
//! | file | question |
//! |---|---|
//! | [`program`] | what does a model say, whatever language it came from? |
//! | [`expression`] | what is a value computed from, and what does a command do? |
//! | [`operator`] | what do operators compute? |
//! | [`domain`] | which values may a variable hold, and what becomes of others? |
//! | [`fault`] | how may a model misbehave? |
//! | [`verify`] | is a program well formed? |
//! | [`dump`] | how does a program read? |
//! | [`layout`] | which bits of a record hold which variable? |
//! | [`values`] | which values can a variable ever hold? |
//! | [`record`] | what are the bytes of a state, and how are many of them held? |
//! | [`tag`] | how does a record carry a small number beside it? |
//! | [`shape`] | what does a search know of a record? |
//! | [`structure`] | how are the values of a state nested? |
//! | [`symmetry`] | which states are alike, and which stands for all? |
//! | [`rust`] | how is a system written in Rust? |
//! | [`system`] | the seam: what is a step relation? |
//! | [`steps`] | where do the steps of a batch go? |
//! | [`acceptance`] | what is known of accepting runs before a search? |
//! | [`checked`] | does a system keep the promises of the seam? |

pub mod acceptance;
pub mod checked;
pub mod domain;
pub mod dump;
pub mod expression;
pub mod fault;
pub mod layout;
pub mod operator;
pub mod program;
pub mod record;
pub mod rust;
pub mod shape;
pub mod span;
pub mod steps;
pub mod structure;
pub mod symmetry;
pub mod system;
pub mod tag;
pub mod values;
pub mod verify;
