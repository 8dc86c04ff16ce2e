//! What is known of accepting runs before a search: which states may they come back to, which are accepting, is the automaton weak?
//!
//! Marks on steps say which infinite runs are accepting ([`Shape`](crate::shape::Shape)): those that carry every mark again and again. Whoever puts the marks there
//! often knows more, and a search that is told needs less: less memory, one pass in place of many, or no second search.

/// What is known of the accepting runs of a system. Where nothing is known, what is said by itself is true of every system.
pub trait Acceptance: Sync {
    /// Whether, on the steps of every cycle, all carry every mark or none carries any.
    fn is_weak(&self) -> bool {
        false
    }

    /// Whether acceptance is a matter of states, by one mark: all steps from a state carry it ([`Acceptance::is_accepting`]), or none does.
    fn is_of_states(&self) -> bool {
        false
    }

    /// Whether an accepting run may come back to a state for ever: if not, no search for cycles need look at it.
    fn recurs(&self, _record: &[u64]) -> bool {
        true
    }

    /// Whether every run from a state, of those that go on, is accepting if it keeps to states of which this is true, which it can.
    fn is_terminal(&self, _record: &[u64]) -> bool {
        false
    }

    /// Whether all steps from a state are known to carry all marks, but for those of fairness.
    fn is_accepting(&self, _record: &[u64]) -> bool {
        false
    }
}

/// Nothing is known but the marks.
#[derive(Clone, Copy, Debug)]
pub struct MarksAlone;

impl Acceptance for MarksAlone {}

impl<A: Acceptance + ?Sized> Acceptance for &A {
    fn is_weak(&self) -> bool {
        (**self).is_weak()
    }

    fn is_of_states(&self) -> bool {
        (**self).is_of_states()
    }

    fn recurs(&self, record: &[u64]) -> bool {
        (**self).recurs(record)
    }

    fn is_terminal(&self, record: &[u64]) -> bool {
        (**self).is_terminal(record)
    }

    fn is_accepting(&self, record: &[u64]) -> bool {
        (**self).is_accepting(record)
    }
}
