//! Which `cover` statement is looked for while a rule is run on a copy?

use fathom_model::program::VariableId;
use fathom_model::span::Span;

/// The statement that is looked for while a rule is run on a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Covering {
    /// Where it stands.
    pub(crate) statement: Span,
    /// What is set when it is met.
    pub(crate) hit: VariableId,
    /// How many blocks are open inside the run, and the block that is left when it ends.
    pub(crate) level: u32,
    /// In which computation that is.
    pub(crate) computations: u32,
}
