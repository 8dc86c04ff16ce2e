//! Does the certificate of a finished search prove what the search said about states?
//!
//! Every initial state is in the set, no step leads out of it, and no state in it violates a property. Who says so is the reference interpreter.

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_model::system::TransitionSystem;
use fathom_search::proof::audit::{Audit, AuditError, Audited};
use fathom_search::task::{Observer, Settings, Tuning};

use crate::answers::check::CheckedSystem;
use crate::folder::identity::Identity;
use crate::model::execution::Execution;
use crate::model::subject::Subject;
use crate::questions::plan::Plan;

/// What is audited, and with what.
pub struct StateAudit<'a> {
    /// What was searched.
    pub subject: &'a dyn Subject,
    /// What was asked about it; none if it was only explored.
    pub plan: Option<&'a Plan>,
    /// Where the states are.
    pub states: &'a Volume,
    /// Where files of the audit may go.
    pub scratch: &'a Volume,
    /// All memory that is taken.
    pub budget: &'a Budget,
    /// Who watches.
    pub observer: &'a dyn Observer,
}

impl StateAudit<'_> {
    /// Checks everything.
    ///
    /// # Errors
    /// If it could not be checked. A certificate that is refused is no error: the reason is told.
    pub fn run(&self, identity: &Identity) -> Result<Result<Audited, String>, AuditError> {
        let checked = self.plan.map(|plan| CheckedSystem::new(self.subject, plan, Execution::Interpreted));
        let plain = self.subject.searched(&[], Execution::Interpreted);
        let (system, conditions): (&dyn TransitionSystem, _) = match &checked {
            Some(checked) => (checked.system(), checked.conditions.clone()),
            None => (&plain, Vec::new()),
        };
        let settings = Settings {
            threads: 1,
            conditions,
            stop_at_first: false,
            findings_max: 1,
            max_depth: None,
            coverage: true,
            tuning: Tuning::default(),
        };
        let audit = Audit {
            system,
            settings: &settings,
            volume: self.states,
            tag: identity.tag(),
            scratch: self.scratch,
            budget: self.budget,
            observer: self.observer,
        };
        match audit.run() {
            Ok(audited) => Ok(Ok(audited)),
            Err(AuditError::Condition { condition, .. }) => {
                let name = self.plan.map_or("", |plan| &plan.properties[condition].name);
                Ok(Err(format!("a state in the set violates {name}")))
            }
            Err(error @ (AuditError::Machine(_) | AuditError::Stopped)) => Err(error),
            Err(refusal) => Ok(Err(refusal.to_string())),
        }
    }
}
