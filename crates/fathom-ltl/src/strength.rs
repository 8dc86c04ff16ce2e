//! How hard is it to search for a run that this automaton accepts?
//!
//! Per strongly connected component. Terminal: whoever reaches it has found a violation. Weak: any cycle inside is
//! accepting. Strong: only some cycles are.

use crate::automaton::{Automaton, StateId, mark_set};
use crate::graph::{Components, Graph};
use crate::label::{self, Labels};

/// What a component asks of a search; later ones ask for more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// No accepting run stays in it.
    Rejecting,
    /// Every word is accepted from every state of it.
    Terminal,
    /// Every run that stays in it is accepting.
    Weak,
    /// Some runs that stay in it are accepting, some are not.
    Strong,
}

impl Strength {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Strength::Rejecting => "rejecting",
            Strength::Terminal => "terminal",
            Strength::Weak => "weak",
            Strength::Strong => "strong",
        }
    }
}

/// One strongly connected component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// Its states, ascending.
    pub states: Vec<StateId>,
    /// What it asks of a search.
    pub strength: Strength,
}

/// Facts about an automaton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Number of states.
    pub states: usize,
    /// Number of edges: guard, target and marks.
    pub edges: usize,
    /// Number of marks.
    pub marks: u32,
    /// Does every letter lead from every state to one state at most?
    pub deterministic: bool,
    /// Does every letter lead on from every state?
    pub complete: bool,
    /// The greatest strength of its components.
    pub strength: Strength,
    /// The reachable components, each after those it can reach.
    pub components: Vec<Component>,
}

/// Describes the reachable part of an automaton; nothing if its guards need more than a million nodes as diagrams.
pub fn profile(automaton: &Automaton) -> Option<Profile> {
    let mut labels = Labels::new(1 << 20);
    let graph = Graph::from_automaton(automaton, &mut labels);
    let (mut deterministic, mut complete) = (true, true);
    for arcs in &graph.arcs {
        let mut seen = label::NONE;
        for arc in arcs {
            deterministic &= labels.and(seen, arc.label) == label::NONE;
            seen = labels.or(seen, arc.label);
        }
        complete &= seen == label::ALL;
    }
    let found = graph.components();
    let mut components = Vec::new();
    for component in 0..found.members.len() {
        let states = found.members[component].iter().map(|&state| StateId(state as u32)).collect();
        components.push(Component { states, strength: strength(&graph, &found, component, &mut labels) });
    }
    let strongest = components.iter().map(|component| component.strength).max();
    if labels.exhausted() {
        return None;
    }
    Some(Profile {
        states: automaton.states.len(),
        edges: automaton.edge_count(),
        marks: automaton.mark_count,
        deterministic,
        complete,
        strength: strongest.unwrap_or(Strength::Rejecting),
        components,
    })
}

/// The same automaton with marks as plain as its strength allows: all marks on all edges of states whose component accepts whatever stays in it, and none
/// where no accepting run stays. Where it has no strong component, the edges of every cycle then carry all marks, or none does.
pub fn saturated(automaton: &Automaton, profile: &Profile) -> Automaton {
    let mut plain = automaton.clone();
    for component in &profile.components {
        let marks = match component.strength {
            Strength::Rejecting => 0,
            Strength::Terminal | Strength::Weak => automaton.all_marks(),
            Strength::Strong => continue,
        };
        for state in &component.states {
            plain.states[state.index()].iter_mut().for_each(|edge| edge.marks = marks);
        }
    }
    plain
}

/// Of each state, whether a run that is accepting may come back to it for ever: whether all marks are met inside its component.
pub fn recurring(automaton: &Automaton) -> Vec<bool> {
    let graph = Graph::skeleton(automaton);
    let components = graph.components();
    let mut recurring = vec![false; automaton.states.len()];
    for (component, members) in components.members.iter().enumerate() {
        let accepting = graph.is_accepting(&components, component);
        members.iter().for_each(|state| recurring[*state] = accepting);
    }
    recurring
}

/// Of each state, whether every word is accepted from it by runs that stay in its component. None is, if that is not known.
pub fn terminal(automaton: &Automaton) -> Vec<bool> {
    let mut terminal = vec![false; automaton.states.len()];
    let components = profile(automaton).map_or(Vec::new(), |profile| profile.components);
    for component in components.iter().filter(|component| component.strength == Strength::Terminal) {
        component.states.iter().for_each(|state| terminal[state.index()] = true);
    }
    terminal
}

/// Whether the automaton has a run, accepting or not, on every word: then a product with it has every state of the system. False if that is not known.
///
/// It has one if the initial state is among states that every letter leads on from, to one of them: those that are left when all others are taken away.
pub fn reads_every_word(automaton: &Automaton) -> bool {
    let mut labels = Labels::new(1 << 20);
    let graph = Graph::from_automaton(automaton, &mut labels);
    let mut left = vec![true; graph.arcs.len()];
    loop {
        let mut goes_on = |state: usize| {
            let inside = graph.arcs[state].iter().filter(|arc| left[arc.target]);
            inside.fold(label::NONE, |seen, arc| labels.or(seen, arc.label)) == label::ALL
        };
        let kept: Vec<bool> = (0..left.len()).map(|state| left[state] && goes_on(state)).collect();
        if kept == left {
            break;
        }
        left = kept;
    }
    !labels.exhausted() && left.get(automaton.initial.index()) == Some(&true)
}

fn strength(graph: &Graph, components: &Components, component: usize, labels: &mut Labels) -> Strength {
    if !graph.is_accepting(components, component) {
        return Strength::Rejecting;
    }
    if (0..graph.mark_count).any(|mark| has_cycle_without(graph, components, component, mark)) {
        return Strength::Strong;
    }
    let complete = components.members[component].iter().all(|&state| {
        let inside = graph.arcs[state].iter().filter(|arc| components.of[arc.target] == component);
        let mut seen = label::NONE;
        for arc in inside {
            seen = labels.or(seen, arc.label);
        }
        seen == label::ALL
    });
    if complete { Strength::Terminal } else { Strength::Weak }
}

/// Can a run stay in the component and never meet the mark? States that cannot go on without it are taken away until
/// none is left, or none goes.
fn has_cycle_without(graph: &Graph, components: &Components, component: usize, mark: u32) -> bool {
    debug_assert!(mark_set(graph.mark_count) >> mark & 1 == 1);
    let mut left = components.members[component].clone();
    loop {
        let goes_on = |state: &usize| {
            let mut arcs = graph.arcs[*state].iter();
            arcs.any(|arc| arc.marks >> mark & 1 == 0 && left.contains(&arc.target))
        };
        let kept: Vec<usize> = left.iter().copied().filter(goes_on).collect();
        if kept.len() == left.len() {
            return !left.is_empty();
        }
        left = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atom::AtomTable;
    use crate::limits::Limits;
    use crate::parser::parse;
    use crate::translate::translate;

    #[test]
    fn an_automaton_that_can_always_wait_reads_every_word() {
        let expected = [
            ("F (p && G !q)", true),
            ("F G p", true),
            ("G F p", true),
            ("F p", true),
            ("true", true),
            ("G p", false),
            ("G F p && G q", false),
            ("p && F q", false),
            ("p U q", false),
            ("false", false),
        ];
        for (text, reads) in expected {
            let mut atoms = AtomTable::new();
            let formula = parse(text, &mut atoms).expect("a formula");
            let made = translate(&formula, Limits::default()).expect("it is small");
            assert_eq!(reads_every_word(&made.buchi), reads, "{text}");
            assert_eq!(reads_every_word(&made.generalised), reads, "{text}");
        }
    }
}
