//! In which order is everything taken away that no accepting run can repeat for ever?
//!
//! I. Černá and R. Pelánek ("Distributed explicit fair cycle detection", SPIN 2003): one way catch them young. Of the states that are left, in rounds:
//!
//! ```text
//! for every mark   keep what a step with the mark, between states that are left, leads to, in any number of steps
//! then             take away states without a predecessor among those that are left, until there is none
//! until            none is left (there is no accepting run), or a round takes nothing away (there is one)
//! ```
//! Marks are on steps, so acceptance may be generalised and nothing is added to states. In a round that takes nothing away, a component that no other component leads to is
//! a cycle, and what leads to its states with a mark is inside it.
//!
//! The start is all states that the automaton lets recur: an accepting cycle has no others.
//!
//! Where there are pairs of requests and responses (strong fairness; N. Francez 1986, and for the elimination Y. Kesten, A. Pnueli, L. Raviv, E. Shahar, "Model checking with strong fairness", 2006), a round that takes nothing away by marks is followed, for every pair, by
//!
//! ```text
//! serve            take away states that request and that no step with the response leads to, in any number of steps
//! ```
//! and if that takes anything away, rounds go on. A component that no other leads to and that is left then has a response for every request in it.
//!
//! If the automaton is *weak*, so that the steps of a cycle all carry every mark or none does, steps without marks do not matter and one trimming decides.
//!
//! What is taken away together is a *class*, in the order of their going; a [`RankLog`](crate::proof::ranks::RankLog) is told of each state and its class. No step leads to an earlier class. Inside a class
//! there is no step with the mark that it was kept out by, or, if it was trimmed, no step at all: so the classes prove that there is no accepting run.

use crate::error::SearchError;

/// What is to be met for ever.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    /// Marks.
    pub(crate) marks: u32,
    /// Pairs of requests and responses.
    pub(crate) pairs: u32,
    /// Whether one trimming decides.
    pub(crate) weak: bool,
}

/// How far rounds have come, between two passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Rounds that are over.
    pub(crate) rounds: u64,
    /// Marks of this round that nothing more is kept out by: after the last, states are trimmed.
    pub(crate) marks: u32,
    /// States that were left when the round began.
    pub(crate) before: u64,
}

/// The states that are left, and how some are taken away.
pub(crate) trait Left {
    /// Keeps what steps with a mark lead to, the mark that the position says; false if the observer stopped it. `last` if states are trimmed then.
    fn keep_reached(&mut self, position: Position, last: bool) -> Result<bool, SearchError>;

    /// Takes away states without a predecessor, and those that have none then, step by step; false if the observer stopped it.
    fn trim(&mut self, position: Position) -> Result<bool, SearchError>;

    /// Takes away states that make the request of a pair and that no response leads to; false if the observer stopped it.
    fn keep_served(&mut self, _position: Position, _pair: u32) -> Result<bool, SearchError> {
        unreachable!("who does not know pairs is not asked about them")
    }

    /// How many are left.
    fn count(&self) -> u64;

    /// Whether a round that takes nothing away says that there is an accepting run: if not, another one does.
    fn decides(&self) -> bool {
        true
    }

    /// Rounds have come so far.
    fn come_to(&mut self, position: Position) -> Result<(), SearchError>;
}

/// Rounds of so many marks, until nothing changes; false if the observer stopped them. Without marks one trimming decides if the automaton is weak, and there are rounds of trimming if not.
pub(crate) fn run(
    left: &mut impl Left,
    position: &mut Position,
    Wanted { marks, pairs, weak }: Wanted,
) -> Result<bool, SearchError> {
    loop {
        while position.marks < marks {
            if !left.keep_reached(*position, position.marks + 1 == marks)? {
                return Ok(false);
            }
            position.marks += 1;
            left.come_to(*position)?;
        }
        if !left.trim(*position)? {
            return Ok(false);
        }
        let (before, after) = (position.before, left.count());
        *position = Position { rounds: position.rounds + 1, marks: 0, before: after };
        if after == 0 || weak {
            return Ok(true);
        }
        if after == before && left.decides() {
            for pair in 0..pairs {
                if !left.keep_served(*position, pair)? {
                    return Ok(false);
                }
            }
            position.before = left.count();
            if position.before == after || position.before == 0 {
                return Ok(true);
            }
        }
        left.come_to(*position)?;
    }
}
