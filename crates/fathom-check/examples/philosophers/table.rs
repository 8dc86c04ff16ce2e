//! What are philosophers at a table, and what can they do?

use fathom_model::rust::{
    Action, Array, Choice, RustModel, RustSystem, Starts, State, StepsFrom, SystemBuilder,
};

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Thinking,
    Hungry,
    OneFork,
    Eating,
}

impl Choice for Phase {
    const ALL: &'static [(Phase, &'static str)] = &[
        (Phase::Thinking, "thinking"),
        (Phase::Hungry, "hungry"),
        (Phase::OneFork, "with one fork"),
        (Phase::Eating, "eating"),
    ];
}

pub(crate) struct Table {
    phase: Array<Phase>,
    /// By philosopher: what each can do.
    actions: Vec<[Action; 4]>,
}

impl Table {
    /// The forks of a philosopher in the order of taking. All but the last take the left one first, so that not all can wait for each other.
    fn forks(&self, philosopher: usize) -> [usize; 2] {
        let (left, right) = (philosopher, (philosopher + 1) % self.phase.len());
        if right == 0 { [right, left] } else { [left, right] }
    }

    /// Whether neither of the two philosophers beside a fork has it.
    fn is_free(&self, state: State<'_>, fork: usize) -> bool {
        let count = self.phase.len();
        [fork, (fork + count - 1) % count].into_iter().all(|who| match state.get(self.phase.at(who)) {
            Phase::Eating => false,
            Phase::OneFork => self.forks(who)[0] != fork,
            Phase::Thinking | Phase::Hungry => true,
        })
    }
}

impl RustModel for Table {
    fn initial(&self, starts: &mut Starts<'_>) {
        starts.start(|_| {}); // All are thinking, which is the first choice.
    }

    fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>) {
        for (philosopher, actions) in self.actions.iter().enumerate() {
            let (phase, [first, second]) = (self.phase.at(philosopher), self.forks(philosopher));
            let (action, next_phase, possible) = match state.get(phase) {
                Phase::Thinking => (actions[0], Phase::Hungry, true),
                Phase::Hungry => (actions[1], Phase::OneFork, self.is_free(state, first)),
                Phase::OneFork => (actions[2], Phase::Eating, self.is_free(state, second)),
                Phase::Eating => (actions[3], Phase::Thinking, true),
            };
            if possible {
                steps.step(action, |next| next.set(phase, next_phase));
            }
        }
    }
}

/// A table for so many philosophers, at least two.
pub(crate) fn philosophers(count: usize) -> RustSystem<Table> {
    let mut declared = SystemBuilder::new("philosophers");
    let phase = declared.choices("phase", count);
    let names = ["gets hungry", "takes a fork", "takes the other fork", "puts both forks down"];
    let mut actions = Vec::new();
    for number in 0..count {
        let philosopher = declared.process(format!("philosopher {number}"));
        actions.push(names.map(|name| declared.action_of(philosopher, name)));
    }
    declared.label("hungry", move |state| state.get(phase.at(0)) == Phase::Hungry);
    declared.label("eating", move |state| state.get(phase.at(0)) == Phase::Eating);
    declared.system(Table { phase, actions })
}
