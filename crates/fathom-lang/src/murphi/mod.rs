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
//! | `lower`, `actions`, `commands`, `values`, `calls`, `cover`, `simplify` | which guarded commands does a model stand for? |
//! | `layout` | which variables of the program hold a variable of the model? |
//! | `symbols` | what do names mean outside the model's text, and how is a state told? |
//! | `names` | which names stand where, for an editor? |
//! | `order`, `exchange` | does a loop over a scalarset depend on the order of its values? |
//! | `collect_symmetry` | which values are alike, and where do they stand in the state? |
//!
//! Errors of the grammar end the work, since half a tree gives false errors about names; all later stages report together.

mod actions;
mod ast;
mod bodies;
mod calls;
mod collect_symmetry;
mod commands;
mod cover;
mod covering;
mod exchange;
mod expressions;
mod fold;
mod layout;
mod lexer;
mod lower;
mod names;
mod order;
mod parser;
mod resolve;
mod rules;
mod simplify;
mod symbols;
mod tree;
mod typecheck;
mod types;
mod values;

use std::sync::Arc;

use fathom_model::expression::Expression;
use fathom_model::program::Program;
use fathom_model::span::Span;
use fathom_model::symmetry::Symmetry;

pub use self::lexer::{END_WORDS, RESERVED};
pub use self::symbols::Symbols;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::Names;
use crate::source::SourceText;

/// How often a `while` may go round, unless the user says otherwise; CMurphi has the same bound.
pub const LOOP_BOUND: u32 = 1_000;
/// How often a `for`, a `forall` or an `exists` may go round, unless the user says otherwise: far more than real models do.
pub const COUNT_BOUND: u32 = 1_000_000;

/// What a user may choose about a model from outside.
#[derive(Clone, Debug)]
pub struct MurphiOptions {
    /// Values for constants of the model, in place of those in the text.
    pub constants: Vec<(String, i64)>,
    /// How often a `while` may go round before that is a fault.
    pub loop_bound: u32,
    /// How often a `for`, a `forall` or an `exists` may.
    pub count_bound: u32,
    /// Whether states that are alike are to be one: then properties must not tell them apart.
    pub symmetry: bool,
}

impl Default for MurphiOptions {
    fn default() -> MurphiOptions {
        let constants = Vec::new();
        MurphiOptions { constants, loop_bound: LOOP_BOUND, count_bound: COUNT_BOUND, symmetry: false }
    }
}

/// A model that was understood.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it says.
    pub program: Program,
    /// Its names, for expressions that come from elsewhere and for reports; see [`expression`].
    pub symbols: Symbols,
    /// Which of its values are alike.
    pub symmetry: Symmetry,
    /// What looks odd.
    pub warnings: Diagnostics,
}

/// Reads a Murphi model. On failure at least one of the diagnostics is an error; all spans refer to `source`.
pub fn compile(source: &SourceText, options: &MurphiOptions) -> Result<Compiled, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let model = parser::parse(source.text(), &mut diagnostics);
    if diagnostics.error_count() > 0 {
        return Err(diagnostics);
    }
    if model.items.is_empty() {
        let help = "a model declares variables (`var`), a `startstate` and rules (`rule`)";
        diagnostics.push(Diagnostic::error("the model is empty").at(Span::default(), "").help(help));
        return Err(diagnostics);
    }
    let (mut tree, scope) = resolve::resolve(&model, options, &mut diagnostics);
    if diagnostics.error_count() == 0 && !bodies::has_start(&model.items) {
        diagnostics.push(Diagnostic::warning("the model has no `startstate`, so it has no state"));
    }
    if diagnostics.error_count() > 0 {
        return Err(diagnostics);
    }
    let lowered = lower::lower(&tree, options, &mut diagnostics);
    if diagnostics.error_count() > 0 {
        return Err(diagnostics);
    }
    if options.symmetry {
        order::warn(&tree, &mut diagnostics);
    }
    // Expressions from outside need names, types and functions only.
    tree.rules = Vec::new();
    let mut program = lowered.program;
    program.name = stem(source.name());
    let variables = program.variables[..lowered.names.len()].to_vec();
    let symmetric = options.symmetry;
    let symbols = Symbols { tree, scope, state: lowered.state, names: lowered.names, variables, symmetric };
    program.words = Some(Arc::new(symbols.words()));
    program.structure = Some(Arc::new(symbols.structure()));
    Ok(Compiled { program, symbols, symmetry: lowered.symmetry, warnings: diagnostics })
}

/// Reads one condition over the state of a model. Spans, in the expression as in the diagnostics, refer to `source`, not to the model's text.
pub fn expression(symbols: &Symbols, source: &SourceText) -> Result<Expression, Diagnostics> {
    read(source, |tree, diagnostics| symbols.condition(tree, diagnostics))
}

/// Reads one expression whose value is a number, the same way.
pub fn number(symbols: &Symbols, source: &SourceText) -> Result<Expression, Diagnostics> {
    read(source, |tree, diagnostics| symbols.number(tree, diagnostics))
}

fn read(
    source: &SourceText,
    check: impl FnOnce(&ast::Expression<'_>, &mut Diagnostics) -> Option<Expression>,
) -> Result<Expression, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let tree = parser::parse_expression(source.text(), &mut diagnostics);
    let expression = tree.and_then(|tree| check(&tree, &mut diagnostics));
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
