//! Does the certificate of a run prove that a property of infinite runs holds?
//!
//! ```text
//! the closed set   every initial state is in it, and no step leads out
//! the ranks        no run through it is accepting
//! the automaton    accepts every run that violates the property: nothing was missed
//! ```
//! The product is made of the reference interpreter and of the automaton that the certificate names, whoever made that. For a formula, the automaton is compared with another translator's; for a
//! property process, with what the model says.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_ltl::automaton::Automaton;
use fathom_ltl::inclusion::{Inclusion, included};
use fathom_ltl::product::{AutomatonNames, Product};
use fathom_ltl::strength::{Profile, Strength, profile};
use fathom_ltl::{gpvw, hoa, print};
use fathom_model::system::TransitionSystem;
use fathom_search::proof::audit::{Audit, AuditError, Audited};
use fathom_search::proof::rank_audit::{Place, PlaceOf, RankAudit, RankAudited};
use fathom_search::task::Observer;

use crate::engines::semi_external;
use crate::folder::identity::{Behaviour, Identity};
use crate::model::subject::Subject;
use crate::model::system::System;
use crate::questions::liveness_property::LivenessProperty;

/// What was checked.
#[derive(Clone, Debug)]
pub struct BehaviourAudited {
    /// The closed set.
    pub closed_set: Audited,
    /// The ranks.
    pub ranks: RankAudited,
    /// Who vouches for the automaton.
    pub automaton: AutomatonAudited,
}

/// Who vouches for an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutomatonAudited {
    /// It accepts whatever another translator's automaton of the negated formula accepts.
    Includes,
    /// It is the model's property process.
    Stated,
    /// It is too large to be compared: it is trusted.
    Trusted,
}

/// What is audited, and with what.
pub struct BehaviourAudit<'a> {
    /// The property, as it is stated.
    pub property: &'a LivenessProperty,
    /// What the certificate says of it.
    pub behaviour: &'a Behaviour,
    /// Where the states are.
    pub states: &'a Volume,
    /// Where the ranks are.
    pub passes: &'a Volume,
    /// Where files of the audit may go.
    pub scratch: &'a Volume,
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

/// States of automata that are looked at when two are compared.
const INCLUSION_STATES_MAX: usize = 200_000;
/// States of the other translator's automaton.
const TABLEAU_STATES_MAX: usize = 20_000;

/// The product that a certificate is about. A model has the labels of the property; a system that was handed over has its own.
///
/// # Errors
/// Why there is none, in words.
pub fn product<'a>(
    subject: &'a dyn Subject,
    property: &LivenessProperty,
    behaviour: &Behaviour,
) -> Result<Product<System<'a>>, String> {
    let read = hoa::read(&behaviour.automaton)
        .map_err(|mistake| format!("its automaton makes no sense: {}", mistake.message))?;
    let system = subject.reference(&property.labels);
    let atoms = &system.shape().labels;
    if read.atoms != *atoms {
        return Err("its automaton reads other atoms than the formula has".to_owned());
    }
    let automaton = Automaton { atom_count: atoms.len(), ..read.automaton };
    let names = AutomatonNames { automaton: property.names.automaton.clone(), states: Vec::new() };
    // Ranks of a product prove more than that no run of it is accepting and strongly fair.
    let weakly = if behaviour.strong { &[] } else { &behaviour.fair[..] };
    Product::new(system, automaton, names, weakly).map_err(|error| error.to_string())
}

impl BehaviourAudit<'_> {
    /// Checks everything.
    ///
    /// # Errors
    /// If it could not be checked. A certificate that is refused is no error: the reason is told.
    pub fn run(
        &self,
        product: &Product<System<'_>>,
        identity: &Identity,
    ) -> Result<Result<BehaviourAudited, String>, AuditError> {
        // First, since it costs little: an automaton that misses violations makes the rest worthless.
        let automaton = match self.automaton(product.automaton()) {
            Ok(audited) => audited,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let settings = semi_external::settings(1, self.behaviour.stop_at_fault, None);
        let audit = Audit {
            system: product,
            settings: &settings,
            volume: self.states,
            tag: identity.tag(),
            scratch: self.scratch,
            budget: self.budget,
            observer: self.observer,
        };
        let closed_set = match told(audit.run())? {
            Ok(audited) => audited,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let ranks = match told(self.ranks(product, identity))? {
            Ok(audited) => audited,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if (ranks.states, ranks.checksum) != (closed_set.states, closed_set.checksum) {
            return Ok(Err("the ranks are of other states than those of the closed set".to_owned()));
        }
        Ok(Ok(BehaviourAudited { closed_set, ranks, automaton }))
    }

    fn ranks(&self, product: &Product<System<'_>>, identity: &Identity) -> Result<RankAudited, AuditError> {
        let profile = profile(product.automaton());
        let weak = profile.filter(|profile| {
            profile.strength <= Strength::Weak
                && !self.behaviour.strong
                && product.shape().mark_count == product.automaton().mark_count
        });
        let places = weak.map(|profile| places(product.automaton(), &profile));
        let place = places.map(|places| move |record: &[u64]| places[product.parts(record).1.index()]);
        let audit = RankAudit {
            system: product,
            place: place.as_ref().map(|place| place as PlaceOf<'_>),
            volume: self.passes,
            tag: identity.tag(),
            scratch: self.scratch,
            budget: self.budget,
            observer: self.observer,
        };
        audit.run()
    }

    /// Whether the automaton misses no violation.
    fn automaton(&self, automaton: &Automaton) -> Result<AutomatonAudited, String> {
        let Some(formula) = &self.property.formula else {
            let labels: Vec<&str> = self.property.labels.iter().map(|label| label.name.as_str()).collect();
            let stated = [&self.property.searched, &self.property.generalised]
                .iter()
                .any(|stated| print::hoa(stated, &labels, None) == self.behaviour.automaton);
            return if stated {
                Ok(AutomatonAudited::Stated)
            } else {
                Err("its automaton is not the model's property process".to_owned())
            };
        };
        let Some(other) = gpvw::tableau(&formula.negated(), TABLEAU_STATES_MAX) else {
            return Ok(AutomatonAudited::Trusted);
        };
        let other = Automaton { atom_count: automaton.atom_count, ..other };
        match included(&other, automaton, INCLUSION_STATES_MAX) {
            Inclusion::Yes => Ok(AutomatonAudited::Includes),
            Inclusion::No(_) => Err("its automaton misses runs that violate the property".to_owned()),
            Inclusion::BeyondBudget => Ok(AutomatonAudited::Trusted),
        }
    }
}

/// By state of a weak automaton: its component, earlier ones first, and whether runs that stay there are accepting.
fn places(automaton: &Automaton, profile: &Profile) -> Vec<Place> {
    let mut places = vec![Place { component: 0, marked: false }; automaton.states.len()];
    // The components come after those that they can reach.
    for (number, component) in profile.components.iter().rev().enumerate() {
        let inside = |edge: &fathom_ltl::automaton::Edge| {
            edge.marks == automaton.all_marks() && component.states.contains(&edge.target)
        };
        let mut edges = component.states.iter().flat_map(|state| automaton.edges(*state));
        let marked = edges.any(inside);
        for state in &component.states {
            places[state.index()] = Place { component: number as u32, marked };
        }
    }
    places
}

/// A refusal in words; other errors stay errors.
fn told<T>(outcome: Result<T, AuditError>) -> Result<Result<T, String>, AuditError> {
    match outcome {
        Ok(audited) => Ok(Ok(audited)),
        Err(error @ (AuditError::Machine(_) | AuditError::Stopped)) => Err(error),
        Err(AuditError::Condition { .. }) => Ok(Err("a state in the set faults".to_owned())),
        Err(refusal) => Ok(Err(refusal.to_string())),
    }
}
