//! Which names does a text declare, and where is each of them used?
//!
//! For editors, so it is made of trees that may be half wrong: a name that nothing declares is left out, and types are followed only as far as names of fields need them.
//! What a name *means* is decided by the `resolve` stage of its language, which this does not replace.

use std::collections::HashMap;

use fathom_model::span::Span;

/// The names of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Everything that is declared, in the order of the text.
    pub definitions: Vec<Definition>,
    /// Where a name stands, and what it stands for, its definition among them; by position.
    pub uses: Vec<(Span, usize)>,
}

/// A name that is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The name.
    pub name: String,
    /// What it is a name of.
    pub kind: NameKind,
    /// Where the name stands.
    pub span: Span,
    /// All of its declaration.
    pub whole: Span,
    /// What it is part of, by its place in [`Names::definitions`].
    pub part_of: Option<usize>,
}

/// What a name is a name of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A value that never changes.
    Constant,
    /// A type.
    Type,
    /// A value of an enumeration.
    Value,
    /// A field of a record.
    Field,
    /// A part of the state.
    Variable,
    /// A variable, parameter or other name for a value inside a rule, a function or an expression.
    Local,
    /// A channel.
    Channel,
    /// A process.
    Process,
    /// A state of a process.
    State,
    /// A function or a procedure.
    Function,
    /// A rule or a start.
    Rule,
    /// An invariant or another property.
    Property,
}

impl Names {
    /// What stands at a byte of the text: the place of the word, and of its definition.
    pub fn at(&self, offset: u32) -> Option<(Span, &Definition)> {
        let after = self.uses.partition_point(|(span, _)| span.start <= offset);
        // A cursor behind the last letter of a word is still at the word.
        let candidates = self.uses[..after].iter().rev().take(2);
        let (span, definition) = candidates.into_iter().find(|(span, _)| offset <= span.end)?;
        Some((*span, &self.definitions[*definition]))
    }

    /// Where the name of a definition stands, by position.
    pub fn uses_of<'a>(&'a self, definition: &'a Definition) -> impl Iterator<Item = Span> + 'a {
        let is_it = |number: usize| std::ptr::eq(&self.definitions[number], definition);
        self.uses.iter().filter(move |(_, number)| is_it(*number)).map(|(span, _)| *span)
    }
}

/// The names of a text while its tree is walked.
pub(crate) struct Scopes {
    names: Names,
    open: Vec<HashMap<String, usize>>,
}

impl Scopes {
    /// With the outermost scope open.
    pub(crate) fn new() -> Scopes {
        Scopes { names: Names::default(), open: vec![HashMap::new()] }
    }

    /// Walks a part whose names are its own.
    pub(crate) fn open(&mut self) {
        self.open.push(HashMap::new());
    }

    pub(crate) fn close(&mut self) {
        self.open.pop();
    }

    /// Adds a definition that no scope has, and its use.
    pub(crate) fn define(&mut self, definition: Definition) -> usize {
        let number = self.names.definitions.len();
        // What has no name of its own is named in no other place.
        if definition.span.start < definition.span.end {
            self.names.uses.push((definition.span, number));
        }
        self.names.definitions.push(definition);
        number
    }

    /// Adds a definition to the innermost scope.
    pub(crate) fn declare(&mut self, definition: Definition) -> usize {
        let name = definition.name.clone();
        let number = self.define(definition);
        self.bind(&name, number);
        number
    }

    /// What a name stands for here.
    pub(crate) fn lookup(&self, name: &str) -> Option<usize> {
        self.open.iter().rev().find_map(|scope| scope.get(name).copied())
    }

    /// Lets a name stand for what is defined, in the innermost scope. The first of two stays, as it does where names are resolved.
    pub(crate) fn bind(&mut self, name: &str, definition: usize) {
        self.open.last_mut().expect("a scope is open").entry(name.to_owned()).or_insert(definition);
    }

    /// Notes where something is used.
    pub(crate) fn used(&mut self, span: Span, definition: usize) {
        self.names.uses.push((span, definition));
    }

    /// Notes that a name is used here, if it stands for something.
    pub(crate) fn refer(&mut self, name: &str, span: Span) -> Option<usize> {
        let definition = self.lookup(name)?;
        self.used(span, definition);
        Some(definition)
    }

    pub(crate) fn finish(mut self) -> Names {
        self.names.uses.sort_unstable();
        self.names.uses.dedup();
        self.names
    }
}
