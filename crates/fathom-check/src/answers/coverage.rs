//! What does the model say that never happens? Transitions never taken, locations never reached.
//!
//! Of rules, those never fired in any of their instances.
//!
//! A search notes which actions were taken. Several actions may come from one transition of the source (a sender and each of its receivers),
//! which was taken if one of them was. A location is reached if a process starts there or a taken action leads there. Of a search that ended early
//! this says what did not happen so far.

use std::collections::BTreeMap;

use fathom_model::program::{Action, Composition, Program, Statement};
use fathom_model::span::Span;

/// What never happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// How many transitions the source has.
    pub transitions: usize,
    /// Those never taken, in source order.
    pub never_taken: Vec<Uncovered>,
    /// How many locations the processes have.
    pub locations: usize,
    /// Those never reached, in source order.
    pub never_reached: Vec<Uncovered>,
}

/// Something in the source that never happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Uncovered {
    /// Where.
    pub span: Span,
    /// What: `P_0: wait -> critical`, `P_0.critical`, the name of a rule.
    pub what: String,
}

impl Coverage {
    /// Reads the set of taken actions; none if it was not kept.
    pub fn of(program: &Program, actions_taken: &[u64]) -> Option<Coverage> {
        if actions_taken.is_empty() && !program.actions.is_empty() {
            return None;
        }
        let taken = taken_actions(program, actions_taken);
        let mut parts: BTreeMap<Uncovered, bool> = BTreeMap::new();
        for (action, taken) in program.actions.iter().zip(&taken) {
            for part in transitions_of(program, action) {
                *parts.entry(part).or_default() |= taken;
            }
        }
        let transitions = parts.len();
        let mut reached = initial_locations(program);
        for (action, _) in program.actions.iter().zip(&taken).filter(|(_, taken)| **taken) {
            for mover in &action.movers {
                reached[mover.process.index()][mover.to as usize] = true;
            }
        }
        Some(Coverage {
            transitions,
            never_taken: parts.into_iter().filter(|(_, taken)| !taken).map(|(part, _)| part).collect(),
            locations: reached.iter().map(Vec::len).sum(),
            never_reached: unreached(program, &reached),
        })
    }
}

/// By action of the program: whether it was taken, alone or as part of a joint one.
fn taken_actions(program: &Program, actions_taken: &[u64]) -> Vec<bool> {
    let is_taken = |number: usize| actions_taken[number / 64] >> (number % 64) & 1 == 1;
    if program.composition == Composition::Asynchronous {
        return (0..program.actions.len()).map(is_taken).collect();
    }
    let owned: Vec<Vec<usize>> = (0..program.processes.len())
        .map(|process| {
            let owns = |number: &usize| program.actions[*number].movers[0].process.index() == process;
            (0..program.actions.len()).filter(owns).collect()
        })
        .collect();
    let mut taken = vec![false; program.actions.len()];
    for joint in (0..actions_taken.len() * 64).filter(|number| is_taken(*number)) {
        let mut rest = joint;
        for owned in owned.iter().rev() {
            taken[owned[rest % owned.len()]] = true;
            rest /= owned.len();
        }
    }
    taken
}

/// The transitions of the source that an action is made of.
fn transitions_of(program: &Program, action: &Action) -> Vec<Uncovered> {
    if action.movers.is_empty() {
        // Instances of a rule are one: with symmetry it is chance which of them are taken.
        let rule = action.rule.map(|rule| program.rules[rule as usize].clone());
        let what = rule.or_else(|| action.name.clone()).unwrap_or_else(|| "unnamed rule".into());
        return vec![Uncovered { span: action.span, what }];
    }
    let part = |mover: &fathom_model::program::Mover| {
        let process = program.process(mover.process);
        let [from, to] = [mover.from, mover.to].map(|location| &process.locations[location as usize].name);
        Uncovered { span: mover.span, what: format!("{}: {from} -> {to}", process.name) }
    };
    action.movers.iter().map(part).collect()
}

/// By process and location: whether the process starts there.
fn initial_locations(program: &Program) -> Vec<Vec<bool>> {
    let mut reached: Vec<Vec<bool>> =
        program.processes.iter().map(|process| vec![false; process.locations.len()]).collect();
    for start in &program.starts {
        let mut current: Vec<Option<u32>> = program
            .processes
            .iter()
            .map(|process| u32::try_from(program.variable(process.variable).initial[0]).ok())
            .collect();
        for statement in &start.command.body {
            if let Statement::Move { process, to } = statement {
                current[process.index()] = Some(*to);
            }
        }
        for (reached, current) in reached.iter_mut().zip(current) {
            if let Some(place) = current.and_then(|location| reached.get_mut(location as usize)) {
                *place = true;
            }
        }
    }
    reached
}

fn unreached(program: &Program, reached: &[Vec<bool>]) -> Vec<Uncovered> {
    let locations = program.processes.iter().zip(reached).flat_map(|(process, reached)| {
        let unreached = process.locations.iter().zip(reached).filter(|(_, reached)| !**reached);
        unreached.map(|(location, _)| Uncovered {
            span: location.span,
            what: format!("{}.{}", process.name, location.name),
        })
    });
    let mut locations: Vec<Uncovered> = locations.collect();
    locations.sort();
    locations
}
