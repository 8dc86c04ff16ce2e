//! Can two rounds of a loop be exchanged, seen from one place that both have to do with?

use std::collections::HashSet;

use fathom_model::span::Span;

use super::tree::LocalId;

/// Something that lasts: a variable, and the way to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) root: PathRoot,
    pub(super) steps: Vec<Index>,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathRoot {
    Global(u32),
    Local(LocalId),
}

/// One step of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Field(usize),
    Constant(i64),
    /// The value of a name that nothing assigns to.
    Name(LocalId),
    Other,
}

/// What happens to a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Read,
    /// It gets a value that is known.
    Known(i64),
    Undefined,
    Least,
    /// It gets what an expression gives that reads these places and names, and nothing else.
    Of(Span, Vec<Path>),
    /// It becomes larger, or smaller.
    More,
    Less,
    /// A condition is joined to it, by `&` or `|`.
    And,
    Or,
    /// A multiset gets an element, or loses all that meet a condition of their own.
    Joined,
    Filtered,
    Other,
}

/// Something a round does to a place.
#[derive(Clone, Debug)]
pub(super) struct Access {
    pub(super) path: Path,
    pub(super) effect: Effect,
    pub(super) span: Span,
}

/// Whether what one round changes, another may do before or after. `inner` are the names that are new in each round.
pub(super) fn may_be_exchanged(
    write: &Access,
    other: &Access,
    round: LocalId,
    inner: &HashSet<LocalId>,
) -> bool {
    // A new element leaves those alone that are known by a name from outside.
    let is_element = || {
        let slot = other.path.steps.get(write.path.steps.len());
        other.path.begins_with(&write.path)
            && matches!(slot, Some(Index::Name(local)) if !inner.contains(local))
    };
    write.path.is_apart(&other.path, round)
        || agree(&write.effect, &other.effect, inner)
        || write.effect == Effect::Joined && other.effect == Effect::Read && is_element()
}

/// Whether it is the same which of two effects on one place comes first.
pub(super) fn agree(left: &Effect, right: &Effect, inner: &HashSet<LocalId>) -> bool {
    match left {
        Effect::Read | Effect::Other => false,
        Effect::Of(_, paths) => left == right && !paths.iter().any(|path| path.is_of(inner)),
        _ => left == right,
    }
}

impl Path {
    /// Whether it is known which place it is.
    pub(super) fn is_certain(&self) -> bool {
        !self.steps.contains(&Index::Other)
    }

    pub(super) fn begins_with(&self, other: &Path) -> bool {
        self.root == other.root && self.steps.starts_with(&other.steps)
    }

    /// Whether it depends on some of these names and variables.
    fn is_of(&self, locals: &HashSet<LocalId>) -> bool {
        let is_index = |step: &Index| matches!(step, Index::Name(local) if locals.contains(local));
        self.steps.iter().any(is_index) || matches!(self.root, PathRoot::Local(it) if locals.contains(&it))
    }

    /// Whether what one round of a loop reaches on this path, another cannot on the other.
    fn is_apart(&self, other: &Path, round: LocalId) -> bool {
        self.root != other.root
            || self.steps.iter().zip(&other.steps).any(|pair| match pair {
                (Index::Field(left), Index::Field(right)) => left != right,
                (Index::Constant(left), Index::Constant(right)) => left != right,
                (Index::Name(left), Index::Name(right)) => *left == round && *right == round,
                _ => false,
            })
    }
}
