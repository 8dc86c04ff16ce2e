//! Source text to [`fathom_model`] programs: one folder per language, the same stages in each.
//!
//! | file | question |
//! |---|---|
//! | [`source`] | what is the text, and which line is a byte on? |
//! | `cursor` | where in the words of a text is a parser? |
//! | [`diagnostic`] | what is wrong with the text, and how is the user told? |
//! | [`names`] | which names does a text declare, and where is each of them used? |
//! | [`nearest`] | which name did the user mean? |
//! | [`dve`] | what does a DVE model say? |
//! | [`murphi`] | what does a Murphi model say? |
//! | [`understood`] | what is a model, whatever language it is written in? |

mod cursor;
pub mod diagnostic;
pub mod dve;
pub mod murphi;
pub mod names;
pub mod nearest;
pub mod source;
mod source_file;
pub mod understood;
