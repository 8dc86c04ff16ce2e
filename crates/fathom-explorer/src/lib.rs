//! One model looked at state by state: what its states are in words, where it goes from one of them, what is reachable within a bound.
//!
//! It needs no files, no threads and no machine code, so that it is the part of the checker that runs in a browser: `cargo xtask explorer` compiles it to WebAssembly, and the page of `--html` carries it.
//!
//! | file | question |
//! |---|---|
//! | [`value`] | what is a state, as its model nests it? |
//! | [`step`] | what are the words for a step? |
//! | [`explorer`] | what can be asked about a model, and what is answered? |
//! | [`nearby`] | what is reachable within a bound? |
//! | `exported` | how does a browser ask? |

pub mod explorer;
#[cfg(target_arch = "wasm32")]
mod exported;
pub mod nearby;
pub mod step;
pub mod value;
