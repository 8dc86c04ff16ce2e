//! How is a system written in Rust?
//!
//! Declare what there is with a [`SystemBuilder`], implement [`RustModel`], and put both together: the result is a
//! [`TransitionSystem`](crate::system::TransitionSystem), which every search takes. Nothing is numbered or packed by hand, and traces speak in the words that were declared.
//!
//! ```
//! use fathom_model::rust::{Action, Field, RustModel, RustSystem, Starts, State, StepsFrom, SystemBuilder};
//! use fathom_model::steps::{Columns, Steps};
//! use fathom_model::system::{Query, TransitionSystem};
//!
//! /// Two jugs of 3 and 5 litres.
//! struct Jugs {
//!     jugs: [(Field<u32>, u32, Action); 2],
//!     pour: [Action; 2],
//! }
//!
//! impl RustModel for Jugs {
//!     fn initial(&self, starts: &mut Starts<'_>) {
//!         starts.start(|_| {}); // both empty
//!     }
//!
//!     fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>) {
//!         for (from, to) in [(0, 1), (1, 0)] {
//!             let ((jug, litres, fill), (other, most, _)) = (self.jugs[from], self.jugs[to]);
//!             steps.step(fill, |next| next.set(jug, litres));
//!             let poured = state.get(jug).min(most - state.get(other));
//!             steps.step(self.pour[from], |next| {
//!                 next.set(jug, state.get(jug) - poured);
//!                 next.set(other, state.get(other) + poured);
//!             });
//!         }
//!     }
//! }
//!
//! let mut declared = SystemBuilder::new("jugs");
//! let jugs = [("small", 3), ("large", 5)].map(|(name, litres)| {
//!     (declared.range(name, 0..=litres), litres, declared.action(format!("fill the {name} jug")))
//! });
//! let pour = ["small", "large"].map(|name| declared.action(format!("pour from the {name} jug")));
//! declared.label("four litres", move |state| state.get(jugs[1].0) == 4);
//! let system: RustSystem<Jugs> = declared.system(Jugs { jugs, pour });
//!
//! let mut steps = Steps::new(system.shape(), Columns::ALL, 8);
//! system.initial(&mut steps);
//! let start = steps.target(0).to_vec();
//! system.expand(fathom_model::record::Records::new(&start, start.len()), &mut steps);
//! assert_eq!(system.describe(Query::Step { source: &start, action: steps.action(0) }).title, "fill the small jug");
//! let words = system.describe(Query::Record(steps.target(0)));
//! assert_eq!(words.values, [("small".to_owned(), "3".to_owned()), ("large".to_owned(), "0".to_owned())]);
//! ```
//!
//! | file | question |
//! |---|---|
//! | `builder` | what is a system made of, and what is everything called? |
//! | `field` | how is a value of Rust read from a record, and written to it? |
//! | `state` | what does a model see of a state, and how does it make another of it? |
//! | `model` | how does a model become a system that can be searched? |

mod builder;
mod field;
mod model;
mod state;

pub use builder::{Action, Process, SystemBuilder};
pub use field::{Array, Choice, Field, Value};
pub use model::{RustModel, RustSystem, Starts, StepsFrom};
pub use state::{NextState, State};
