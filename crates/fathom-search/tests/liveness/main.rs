//! Do searches for accepting runs find what there is, and nothing else? Random systems and random formulas, against a judge that shares no code with them: Tarjan's algorithm
//! on the explicit graph times the automaton of another translator, and for tiny graphs every lasso up to length 12, evaluated directly.

mod directed;
mod early;
mod engines;
mod fairness;
mod formulas;
mod ioemc;
mod least_memory;
mod maximal;
mod mutants;
#[path = "../../../fathom-check/examples/philosophers/table.rs"]
mod philosophers;
mod power_loss;
mod products;
mod ranks;
mod rust_systems;
mod suite;
mod sweeping;
