//! Who can cross the river, and with whom? The boat carries the farmer and one of his goods; without him the wolf eats the goat, and the goat the cabbage.

use fathom_model::rust::{
    Action, Choice, Field, RustModel, RustSystem, Starts, State, StepsFrom, SystemBuilder,
};

#[derive(Clone, Copy, PartialEq)]
enum Bank {
    Near,
    Far,
}

impl Choice for Bank {
    const ALL: &'static [(Bank, &'static str)] = &[(Bank::Near, "near"), (Bank::Far, "far")];
}

/// Where everybody is, and what the farmer can do.
pub(crate) struct River {
    farmer: Field<Bank>,
    /// Wolf, goat and cabbage.
    goods: [Field<Bank>; 3],
    take: [Action; 3],
    row: Action,
}

impl River {
    fn is_safe(&self, state: State<'_>) -> bool {
        let [farmer, wolf, goat, cabbage] =
            [self.farmer, self.goods[0], self.goods[1], self.goods[2]].map(|who| state.get(who));
        farmer == goat || (wolf != goat && goat != cabbage)
    }
}

impl RustModel for River {
    fn initial(&self, starts: &mut Starts<'_>) {
        starts.start(|_| {}); // All are on the near bank, which is the first choice.
    }

    fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>) {
        let here = state.get(self.farmer);
        let there = if here == Bank::Near { Bank::Far } else { Bank::Near };
        steps.step(self.row, |next| {
            next.set(self.farmer, there);
            next.assume(self.is_safe(next.state()));
        });
        for (what, take) in self.goods.into_iter().zip(self.take) {
            if state.get(what) == here {
                steps.step(take, |next| {
                    next.set(self.farmer, there);
                    next.set(what, there);
                    next.assume(self.is_safe(next.state()));
                });
            }
        }
    }
}

/// The river with everybody on the near bank.
pub(crate) fn river() -> RustSystem<River> {
    let mut declared = SystemBuilder::new("river");
    let farmer = declared.choice("farmer");
    let names = ["wolf", "goat", "cabbage"];
    let goods = names.map(|name| declared.choice(name));
    let take = names.map(|name| declared.action(format!("take the {name}")));
    let row = declared.action("row alone");
    declared
        .label("across", move |state| goods.iter().chain([&farmer]).all(|who| state.get(*who) == Bank::Far));
    declared.system(River { farmer, goods, take, row })
}
