//! Where in the source text does something stand?

/// A range of bytes of the model's source text. The empty span at 0 means "nowhere in particular".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset just behind the last byte.
    pub end: u32,
}

impl Span {
    /// The span of bytes `start..end`.
    pub fn new(start: u32, end: u32) -> Span {
        debug_assert!(start <= end, "a span does not end before it starts");
        Span { start, end }
    }

    /// The least span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}
