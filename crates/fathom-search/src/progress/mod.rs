//! In which order do states come, and how is one found that few steps go against?
//!
//! | file | question |
//! |---|---|
//! | `measure` | how far has a state come? |
//! | `ranks` | which order of a few values does no step decrease? |
//! | `choose` | which components make a good measure? |
//! | `sample` | which steps does one look at who has not searched? |

pub mod choose;
pub mod measure;
pub mod ranks;
pub mod sample;
