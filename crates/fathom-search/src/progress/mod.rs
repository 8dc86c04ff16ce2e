//! In which order do states come, and how is one found that few steps go against?
//!
//! | file | question |
//! |---|---|
//! | `measure` | how far has a state come? |
//! | `ranks` | which order of a few values does no step decrease? |
//! | `choose` | which components make a good measure? |
//! | `all_edges` | which steps does a system have? |
//! | `components` | how large are the strongly connected components? |
//! | `sample` | which steps does one look at who has not searched? |

pub mod all_edges;
pub mod choose;
pub mod components;
pub mod measure;
pub mod ranks;
pub mod sample;
