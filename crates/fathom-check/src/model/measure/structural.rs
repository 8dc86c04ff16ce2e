//! Which measure does the text of a model give, that no step decreases?
//!
//! A list of components, each in an order, found as one finds a lexicographic ranking function. A component may come next in an order that none of the actions *left* decreases. Those that
//! increase it whenever they are taken are left no more: whatever they do to components further down, the states they lead to have come further. So the location of a process whose loop counts a
//! variable up is ordered within a round of the loop, once that variable counts more. When there is no such component any more, what the actions left do not touch (or only increase) makes buckets smaller.
//!
//! That no step decreases it is proved by that, action by action, from what [`effects`](super::effects) reads in the text.

use fathom_model::layout::Layout;
use fathom_model::program::{Action, Program, Role};
use fathom_search::progress::measure::{Measure, Order, Part};
use fathom_search::progress::ranks::{NODES_MAX, SmallGraph};

use super::effects::{Change, Component, Effect, components, effect};

/// Bits of parts that only make buckets smaller. Each of them makes the queue longer, too: needham.4 with 30 of them moved records through 357 MiB of queue, at 2 of 6.5 million states.
const REFINING_BITS: u32 = 8;

/// The measure that a program gives: one that its steps never decrease.
pub(crate) fn structural(program: &Program, layout: &Layout) -> Measure {
    let mut measure = Measure::default();
    let mut candidates = components(program, layout);
    if !program.is_plain() {
        // Only moves say all that they do.
        candidates.retain(|component| is_location(program, component));
    }
    let mut left: Vec<&Action> = program.actions.iter().collect();
    while let Some((part, rest)) = best(program, layout, &candidates, &left, &measure) {
        measure.push(part);
        left = rest;
    }
    // What the rest does not decrease parts buckets; a component counts once.
    let mut room = REFINING_BITS;
    for component in &candidates {
        let effects = effects(program, layout, &left, component);
        if let Some(part) = ordered(component, &effects).filter(|part| part.place_bits <= room)
            && !measure.parts().iter().any(|known| known.low == part.low && known.order == part.order)
        {
            room -= part.place_bits;
            measure.push(part);
        }
    }
    measure
}

fn is_location(program: &Program, component: &Component) -> bool {
    matches!(program.variable(component.variable).role, Role::Location(_))
}

fn effects(program: &Program, layout: &Layout, left: &[&Action], component: &Component) -> Vec<Effect> {
    left.iter().map(|action| effect(program, layout, action, component)).collect()
}

/// The component that most actions increase and none decreases, and the actions that are left then.
fn best<'p>(
    program: &Program,
    layout: &Layout,
    candidates: &[Component],
    left: &[&'p Action],
    measure: &Measure,
) -> Option<(Part, Vec<&'p Action>)> {
    let mut best: Option<(Part, Vec<&'p Action>)> = None;
    for component in candidates {
        let effects = effects(program, layout, left, component);
        let Some(part) = ordered(component, &effects).filter(|part| measure.has_room(part)) else { continue };
        let increases = |effect: &Effect| increases(effect, component, &part.order);
        let rest: Vec<&Action> = left
            .iter()
            .zip(&effects)
            .filter(|(_, effect)| !increases(effect))
            .map(|(action, _)| *action)
            .collect();
        let least = best.as_ref().map_or((left.len(), 0), |(part, rest)| (rest.len(), part.place_bits));
        if (rest.len(), part.place_bits) < least {
            best = Some((part, rest));
        }
    }
    best
}

/// An order of a component that no effect decreases, if there is one that tells values apart.
fn ordered(component: &Component, effects: &[Effect]) -> Option<Part> {
    let most = component.field.domain.span();
    let orders = [Order::Ascending(most), Order::Descending(most)];
    let order = orders.into_iter().find(|order| effects.iter().all(|it| keeps(it, component, order)));
    let order = order.or_else(|| ranked(component, effects).map(Order::Ranks))?;
    let bits = (component.field.element_low(component.element), component.field.element_bits);
    Some(Part::new(component.name.clone(), bits, order))
}

/// Places of the values by which of them lead to which.
fn ranked(component: &Component, effects: &[Effect]) -> Option<Vec<u32>> {
    let domain = component.field.domain;
    let values = usize::try_from(domain.span()).ok()?.checked_add(1).filter(|values| *values <= NODES_MAX)?;
    let mut graph = SmallGraph::new(values);
    for effect in effects {
        for (from, to) in pairs(effect, component) {
            graph.add(from as usize, to as usize);
        }
    }
    let ranks = graph.ranks();
    (!ranks.is_empty()).then_some(ranks)
}

/// The codes that an effect leads from and to.
fn pairs(effect: &Effect, component: &Component) -> impl Iterator<Item = (u64, u64)> {
    let domain = component.field.domain;
    let code = move |value: i64| value.wrapping_sub(domain.low) as u64;
    let (froms, change) = (effect.from.low..=effect.from.high, effect.change);
    froms.flat_map(move |from| {
        let tos = match change {
            Change::None => from..=from,
            Change::Set(values) => values.low..=values.high,
            Change::Add(amount) => {
                let to = from.saturating_add(amount);
                to..=to
            }
        };
        tos.filter(move |to| domain.contains(*to)).map(move |to| (code(from), code(to)))
    })
}

/// Whether an effect never decreases a component in an order.
fn keeps(effect: &Effect, component: &Component, order: &Order) -> bool {
    compares(effect, component, order, false)
}

/// Whether an effect always increases a component in an order.
fn increases(effect: &Effect, component: &Component, order: &Order) -> bool {
    effect.certain && effect.change != Change::None && compares(effect, component, order, true)
}

/// Whether the place after an effect is beyond the one before it, or also at it.
fn compares(effect: &Effect, component: &Component, order: &Order, strictly: bool) -> bool {
    let upwards = match order {
        Order::Ascending(_) => true,
        Order::Descending(_) => false,
        Order::Ranks(_) => {
            return pairs(effect, component)
                .all(|(from, to)| order.place(to) >= order.place(from) + u64::from(strictly));
        }
    };
    let beyond = |from: i64, to: i64| match (upwards, strictly) {
        (true, false) => to >= from,
        (true, true) => to > from,
        (false, false) => to <= from,
        (false, true) => to < from,
    };
    match effect.change {
        Change::None => !strictly,
        Change::Add(amount) => beyond(0, amount),
        Change::Set(values) if upwards => beyond(effect.from.high, values.low),
        Change::Set(values) => beyond(effect.from.low, values.high),
    }
}

#[cfg(test)]
mod tests {
    use fathom_exec::interpreter::Interpreter;
    use fathom_lang::dve::{self, DveOptions};
    use fathom_lang::source::SourceText;
    use fathom_model::layout::Declared;
    use oracle::bfs::{Limits, explore};
    use oracle::program::random_program;
    use oracle::random::Random;

    use super::*;

    /// The measure, and how many of a program's steps increase it; none may decrease it.
    fn judged(program: &Program) -> Option<(Measure, usize)> {
        let interpreter = Interpreter::new(program.clone(), &Declared);
        let measure = structural(program, interpreter.layout());
        let judge = explore(&interpreter, Limits { states: 3000, transitions: 30_000 }).ok()?;
        let mut forward = 0;
        for state in &judge.states {
            for step in &state.steps {
                let (from, to) =
                    (measure.value(&state.record), measure.value(&judge.states[step.target].record));
                assert!(from <= to, "{measure}: action {} steps back\n{program}", step.action);
                forward += usize::from(from < to);
            }
        }
        Some((measure, forward))
    }

    #[test]
    fn no_step_of_a_random_program_decreases_it() {
        let mut random = Random::new(81);
        let (mut tried, mut progress) = (0, 0);
        for number in 0..1500 {
            if let Some((_, forward)) = judged(&random_program(&mut random, 2 + number % 5)) {
                tried += 1;
                progress += usize::from(forward > 0);
            }
        }
        assert!(tried > 300 && progress > 30, "{tried} programs, {progress} with progress");
    }

    fn model(text: &str) -> Program {
        let source = SourceText::new("model", text);
        match dve::compile(&source, &DveOptions::default()) {
            Ok(compiled) => compiled.program,
            Err(problems) => panic!("{problems:?}"),
        }
    }

    #[test]
    fn locations_are_in_order_within_a_round_that_is_counted() {
        let program = model(
            "byte round = 0;\nprocess P { state a, b, c; init a; trans a -> b { }, b -> c { }, c -> a { guard round < 9; effect round = round + 1; }; }\nsystem async;",
        );
        let (measure, forward) = judged(&program).expect("it is small");
        assert_eq!(measure.to_string(), "round, P");
        assert_eq!(forward, 29, "every step of 30 states in a row is one forward");
    }
}
