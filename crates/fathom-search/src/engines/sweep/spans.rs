//! Across which values do steps go back?
//!
//! Values from that of a target to that of its source. If each of these spans becomes one value, no step decreases the measure any more: so all states of a cycle have values of one span, or one value.

use fathom_disk::budget::{Budget, BudgetError, Charge};

use super::line::Line;

/// Spans that are apart from each other, in order. Where there are too many, the two that are nearest become one, and more lies in a span than need be.
#[derive(Debug)]
pub(crate) struct Spans {
    spans: Vec<Line>,
    most: usize,
    _charge: Charge,
}

impl Spans {
    /// None yet, and so many at most.
    pub(super) fn new(budget: &Budget, most: usize) -> Result<Spans, BudgetError> {
        let most = most.max(1);
        let charge = budget.charge("spans", (most + 1) * size_of::<Line>())?;
        Ok(Spans { spans: Vec::with_capacity(most + 1), most, _charge: charge })
    }

    /// Notes that values belong together.
    pub(crate) fn note(&mut self, from: u64, to: u64) {
        let first = self.spans.partition_point(|span| span.to < from);
        let behind = self.spans.partition_point(|span| span.from <= to);
        if first == behind {
            self.spans.insert(first, Line { from, to });
            self.join_nearest();
            return;
        }
        let joined = Line { from: from.min(self.spans[first].from), to: to.max(self.spans[behind - 1].to) };
        self.spans[first] = joined;
        self.spans.drain(first + 1..behind);
    }

    /// Takes what others have noted.
    pub(super) fn take(&mut self, other: &mut Spans) {
        for Line { from, to } in other.spans.drain(..) {
            self.note(from, to);
        }
    }

    /// Whether a value lies in a span.
    #[inline]
    pub(crate) fn has(&self, value: u64) -> bool {
        let first = self.spans.partition_point(|span| span.to < value);
        self.spans.get(first).is_some_and(|span| span.from <= value)
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    fn join_nearest(&mut self) {
        if self.spans.len() <= self.most {
            return;
        }
        let gap = |place: &usize| self.spans[place + 1].from - self.spans[*place].to;
        let nearest = (0..self.spans.len() - 1).min_by_key(gap).expect("there are two at least");
        self.spans[nearest].to = self.spans[nearest + 1].to;
        self.spans.remove(nearest + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overlaps_is_one_span_and_the_nearest_are_joined() {
        let mut spans = Spans::new(&Budget::unlimited(), 3).expect("unlimited");
        [(10, 12), (20, 25), (12, 14), (100, 110)].into_iter().for_each(|(from, to)| spans.note(from, to));
        assert_eq!(spans.spans.len(), 3);
        assert!(spans.has(13) && !spans.has(15) && spans.has(20) && !spans.has(99));
        spans.note(40, 41);
        assert_eq!(spans.spans.len(), 3, "10 to 14 and 20 to 25 were the nearest");
        assert!(spans.has(17) && !spans.has(30) && spans.has(40));
        spans.note(0, 200);
        assert_eq!(spans.spans.len(), 1);
        assert!(spans.has(0) && spans.has(200) && !spans.has(201));
    }
}
