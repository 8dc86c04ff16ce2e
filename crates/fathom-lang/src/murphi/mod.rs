//! What does a Murphi model say?
//!
//! The language is the union of what CMurphi and rumur accept, short of real numbers and probabilities. Where the two disagree, the text of the
//! stage concerned says which one is followed.
//!
//! | file | question |
//! |---|---|
//! | `lexer` | what are the words of a text? |
//! | `parser`, `rules`, `expressions` | which tree (`ast`) do they form? |
//! | `resolve`, `types` | which names and types are declared? |
//! | `typecheck`, `bodies`, `fold` | what do expressions and statements mean (`tree`), and what of it is known? |
//!
//! Errors of the grammar end the work, since half a tree gives false errors about names; all later stages report together.

mod ast;
mod bodies;
mod expressions;
mod fold;
mod lexer;
mod parser;
mod resolve;
mod rules;
mod tree;
mod typecheck;
mod types;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::source::SourceText;

/// What a user may choose about a model from outside.
#[derive(Clone, Debug, Default)]
pub struct MurphiOptions {
    /// Values for constants of the model, in place of those in the text.
    pub constants: Vec<(String, i64)>,
}

/// Says what is wrong with a model, or what looks odd in one that is right. On failure at least one of the diagnostics is an error; all
/// spans refer to `source`.
pub fn check(source: &SourceText, options: &MurphiOptions) -> Result<Diagnostics, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let model = parser::parse(source.text(), &mut diagnostics);
    if diagnostics.error_count() > 0 {
        return Err(diagnostics);
    }
    resolve::resolve(&model, options, &mut diagnostics);
    if !bodies::has_start(&model.items) {
        diagnostics.push(Diagnostic::warning("the model has no `startstate`, so it has no state"));
    }
    if diagnostics.error_count() > 0 { Err(diagnostics) } else { Ok(diagnostics) }
}
