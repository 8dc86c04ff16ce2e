//! What do all steps of a system make of its states? In memory, for spaces that fit there.
//!
//! | file | question |
//! |---|---|
//! | `all_edges` | which steps does a system have? |
//! | `components` | how large are the strongly connected components? |

pub mod all_edges;
pub mod components;
