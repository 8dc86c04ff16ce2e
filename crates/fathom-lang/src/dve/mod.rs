//! What does a DVE model say?
//!
//! | file | question |
//! |---|---|
//! | `lexer` | what are the words of a text? |
//! | `parser`, `processes`, `expressions` | which tree (`ast`) do they form? |
//! | `resolve` | which names are declared (`symbols`)? |
//! | `typecheck`, `fold` | what does an expression mean where it stands, and what of it is known? |
//! | `lower`, `actions` | which guarded commands does a model stand for? |
//! | `names` | which names stand where, for an editor? |
//! | `nesting` | which variables belong together? |
//! | `lint` | what of a correct model looks like a mistake? |
//!
//! Errors of the grammar end the work, since half a tree gives false errors about names; all later stages report together.
//! Time and memory are linear in the text and the size of the program, which is bounded (pairs of senders and
//! receivers multiply).

mod actions;
mod ast;
mod expressions;
mod fold;
mod lexer;
mod lint;
mod lower;
mod names;
mod nesting;
mod parser;
mod processes;
mod resolve;
mod steps;
mod symbols;
mod typecheck;

use std::sync::Arc;

use fathom_model::expression::{Expression, Overflow};
use fathom_model::program::Program;

pub use self::lexer::RESERVED;
pub use self::symbols::Symbols;
use self::typecheck::{Checker, Usage};
use crate::diagnostic::Diagnostics;
use crate::names::Names;
use crate::source::SourceText;

/// What a user may choose about a model from outside.
#[derive(Clone, Debug, Default)]
pub struct DveOptions {
    /// Values for global scalar constants, in place of those in the text.
    pub constants: Vec<(String, i64)>,
    /// What happens to values that do not fit their type.
    pub overflow: Overflow,
}

/// A model that was understood.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it says.
    pub program: Program,
    /// Its names, for expressions that come from elsewhere; see [`expression`].
    pub symbols: Symbols,
    /// What looks odd.
    pub warnings: Diagnostics,
}

/// Reads a DVE model. On failure at least one of the diagnostics is an error; all spans refer to `source`.
pub fn compile(source: &SourceText, options: &DveOptions) -> Result<Compiled, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let model = parser::parse(source.text(), &mut diagnostics);
    if diagnostics.error_count() > 0 {
        return Err(diagnostics);
    }
    let mut usage = Usage::default();
    let (symbols, mut program) = resolve::resolve(&model, options, &mut usage, &mut diagnostics);
    program.name = stem(source.name());
    program.overflow = options.overflow;
    lower::lower(&model, &symbols, &mut program, &mut usage, &mut diagnostics);
    if diagnostics.error_count() > 0 {
        return Err(diagnostics);
    }
    program.structure = Some(Arc::new(nesting::structure(&symbols, &program)));
    Ok(Compiled { program, symbols, warnings: diagnostics })
}

/// Reads one expression in the scope of a model's property process: global names, `P.s`, `P->x`, `P->a[i]`. Spans, in the
/// expression as in the diagnostics, refer to `source`, not to the model's text.
pub fn expression(symbols: &Symbols, source: &SourceText) -> Result<Expression, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let tree = parser::parse_expression(source.text(), &mut diagnostics);
    let mut usage = Usage::default();
    let mut checker = Checker::outside(symbols, &mut usage, &mut diagnostics);
    let expression = tree.and_then(|tree| checker.expression(&tree));
    match expression {
        Some(expression) if diagnostics.error_count() == 0 => Ok(expression),
        _ => Err(diagnostics),
    }
}

/// The names of a text, however much of it is a model.
pub fn names(source: &SourceText) -> Names {
    names::names(&parser::parse(source.text(), &mut Diagnostics::default()))
}

/// A file's name without folders and extension.
fn stem(name: &str) -> String {
    let stem = std::path::Path::new(name).file_stem().and_then(|stem| stem.to_str());
    stem.unwrap_or(name).to_owned()
}
