//! Which actions are compiled into which function?
//!
//! Small programs are one function: nothing is passed around, and the dispatch of one process falls into the next. The
//! time to compile a function grows faster than its size, so large programs are cut: into functions of as many neighbouring processes as one can hold, and in large
//! processes every location and every so many actions get functions of their own. A call costs some ten cycles for every source, whether the process has anything to do or not.

use std::sync::Arc;

use fathom_model::program::{Action, Program};

use super::expression::node_count;
use super::statement;

/// A function holds at most about this weight.
const FUNCTION_WEIGHT_MAX: usize = 6_000;
/// Programs above this weight are compiled without optimisation.
const OPTIMISED_WEIGHT_MAX: usize = 60_000;

/// Programs above this weight have no code of their own for each instance of a rule.
const LOOPLESS_WEIGHT_MAX: usize = 40_000;

/// What is done for each source, in order.
pub(super) struct Plan {
    /// The parts that share a function, function after function.
    pub(super) functions: Vec<Vec<Part>>,
    /// Whether all parts go into the function that expands.
    pub(super) inline: bool,
    /// Whether to spend time on better code.
    pub(super) optimise: bool,
    /// Whether the instances of a rule are gone through in a loop, in place of code for each.
    pub(super) loops: bool,
}

/// The actions of one process, or those of nobody.
pub(super) struct Part {
    /// Whose; none for the actions without movers.
    pub(super) process: Option<u32>,
    /// By location that has any (of nobody: once), the actions in lists that a function can hold.
    pub(super) locations: Vec<(u32, Vec<Vec<u32>>)>,
    /// Whether each list gets a function of its own.
    pub(super) split: bool,
    weight: usize,
}

impl Plan {
    /// Plans a program with records of so many words.
    pub(super) fn new(program: &Program, words: usize) -> Plan {
        let weights: Vec<usize> = program.actions.iter().map(|action| weight(action, words)).collect();
        let loops = weights.iter().sum::<usize>() > LOOPLESS_WEIGHT_MAX;
        Plan::of(program, weights, loops)
    }

    /// Plans a program as if it were large.
    pub(super) fn compact(program: &Program, words: usize) -> Plan {
        Plan::of(program, program.actions.iter().map(|action| weight(action, words)).collect(), true)
    }

    fn of(program: &Program, mut weights: Vec<usize>, loops: bool) -> Plan {
        let mut owned: Vec<Vec<Vec<u32>>> =
            program.processes.iter().map(|process| vec![Vec::new(); process.locations.len()]).collect();
        let mut free = Vec::new();
        for (number, action) in (0..).zip(&program.actions) {
            match action.movers.first() {
                Some(mover) => owned[mover.process.index()][mover.from as usize].push(number),
                None => free.push(number),
            }
        }
        if loops {
            for (number, pair) in program.actions.windows(2).enumerate() {
                if are_instances(&pair[0], &pair[1]) {
                    weights[number + 1] = 0;
                }
            }
        }
        let mut parts: Vec<Part> = (0..)
            .zip(owned)
            .map(|(process, locations)| Part::new(Some(process), (0..).zip(locations), &weights))
            .collect();
        parts.push(Part::new(None, std::iter::once((0, free)), &weights));
        parts.retain(|part| !part.locations.is_empty());
        let total: usize = weights.iter().sum();
        Plan {
            functions: shared(parts),
            inline: total <= FUNCTION_WEIGHT_MAX,
            optimise: total <= OPTIMISED_WEIGHT_MAX,
            loops,
        }
    }
}

impl Part {
    fn new(
        process: Option<u32>,
        locations: impl Iterator<Item = (u32, Vec<u32>)>,
        weights: &[usize],
    ) -> Part {
        let locations: Vec<_> = locations
            .filter(|(_, actions)| !actions.is_empty())
            .map(|(location, actions)| (location, lists(actions, weights)))
            .collect();
        let all = locations.iter().flat_map(|(_, lists)| lists.iter().flatten());
        let weight: usize = all.map(|action| weights[*action as usize]).sum();
        Part { process, locations, split: weight > FUNCTION_WEIGHT_MAX, weight }
    }
}

/// Puts neighbouring parts together as long as a function can hold them.
fn shared(parts: Vec<Part>) -> Vec<Vec<Part>> {
    let mut functions: Vec<Vec<Part>> = Vec::new();
    let mut sum = 0;
    for part in parts {
        sum += part.weight;
        match functions.last_mut() {
            Some(function) if sum <= FUNCTION_WEIGHT_MAX => function.push(part),
            _ => {
                sum = part.weight;
                functions.push(vec![part]);
            }
        }
    }
    functions
}

/// Cuts actions into lists of bounded weight.
fn lists(actions: Vec<u32>, weights: &[usize]) -> Vec<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new()];
    let mut sum = 0;
    for action in actions {
        sum += weights[action as usize];
        if sum > FUNCTION_WEIGHT_MAX && lists.last().is_some_and(|list| !list.is_empty()) {
            lists.push(Vec::new());
            sum = weights[action as usize];
        }
        lists.last_mut().expect("there is a first list").push(action);
    }
    lists
}

/// Whether two actions are instances of one rule, one next to the other.
pub(super) fn are_instances(one: &Action, other: &Action) -> bool {
    one.movers.is_empty() && other.movers.is_empty() && Arc::ptr_eq(&one.command, &other.command)
}

/// About how much code an action becomes.
fn weight(action: &Action, words: usize) -> usize {
    let guard = action.command.guard.as_ref().map_or(0, node_count);
    4 + words + guard + statement::weight(&action.command.body)
}
