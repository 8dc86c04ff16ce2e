//! Do the certificates of what lasts prove what was said of a system that was handed over?

use std::path::Path;

use fathom_disk::budget::Budget;
use fathom_disk::storage::Volume;
use fathom_search::proof::audit::Audited;
use fathom_search::task::Observer;

use super::{Check, CheckError, STATES, formula_name};
use crate::answers::audit::StateAudit;
use crate::answers::behaviour_audit::{self, BehaviourAudit};
use crate::error::RunError;
use crate::folder::home::{Committed, Home};
use crate::folder::identity::Identity;
use crate::folder::scratch::Scratch;
use crate::monitor::Clock;
use crate::questions::liveness_property::LivenessProperty;
use crate::questions::plan::Plan;
use crate::resources::Resources;

/// What an audit says of one search that lasts.
#[derive(Clone, Debug)]
pub struct CertificateAudit {
    /// The formula that was asked; none of a search that answers the questions about states.
    pub formula: Option<String>,
    /// What was checked, or why the certificate is refused.
    pub verdict: Result<Audited, String>,
}

/// With what it is audited.
struct Tools<'a> {
    scratch: &'a Volume,
    budget: &'a Budget,
    observer: &'a dyn Observer,
}

impl Check<'_> {
    /// Checks the certificate of every search of this check that lasts, those of states first. The steps are made by the system, so what is proven is proven of what the system says now,
    /// whoever wrote the folders. A property that is violated has no certificate, and is refused here.
    ///
    /// # Errors
    /// If a search is not there or cannot be read, if a question cannot be asked, or if the machine fails. A certificate that is refused is no error.
    pub fn audit(&self) -> Result<Vec<CertificateAudit>, CheckError> {
        let Some((name, folder)) = &self.lasting else { return Ok(Vec::new()) };
        let (plan, formulas) = self.asked()?;
        let budget = Resources { threads: 1, ..self.resources.clone() }.data_budget()?;
        let scratch = Scratch::anywhere().map_err(RunError::Scratch)?;
        let volume = scratch.volume().map_err(RunError::Scratch)?;
        let clock = Clock::new(self.resources.time_limit);
        let tools = Tools { scratch: &volume, budget: &budget, observer: &clock };
        let mut audits = Vec::new();
        if let Some(plan) = &plan {
            audits.push(self.audit_states(name, folder, plan, &tools)?);
        }
        for (number, property) in formulas.iter().enumerate() {
            audits.push(self.audit_formula(name, &folder.join(formula_name(number)), property, &tools)?);
        }
        Ok(audits)
    }

    fn audit_states(
        &self,
        name: &str,
        folder: &Path,
        plan: &Plan,
        tools: &Tools<'_>,
    ) -> Result<CertificateAudit, CheckError> {
        let committed = Home::look_at(&folder.join(STATES))?;
        let here = self.states_identity(name);
        let verdict = match refusal(&committed, &here) {
            Some(refusal) => Err(refusal),
            None => {
                let Tools { scratch, budget, observer } = *tools;
                let (subject, states) = (&self.subject, &committed.states);
                StateAudit { subject, plan: Some(plan), states, scratch, budget, observer }.run(&here)?
            }
        };
        Ok(CertificateAudit { formula: None, verdict })
    }

    fn audit_formula(
        &self,
        name: &str,
        folder: &Path,
        property: &LivenessProperty,
        tools: &Tools<'_>,
    ) -> Result<CertificateAudit, CheckError> {
        let committed = Home::look_at(folder)?;
        let here = self.formula_identity(name, property, &self.liveness_settings())?;
        let verdict = match (refusal(&committed, &here), here.behaviour()) {
            (Some(refusal), _) => Err(refusal),
            (None, None) => unreachable!("it is about a formula"),
            (None, Some(behaviour)) => match behaviour_audit::product(&self.subject, property, behaviour) {
                Err(refusal) => Err(refusal),
                Ok(product) => {
                    let Tools { scratch, budget, observer } = *tools;
                    let Committed { states, passes, .. } = &committed;
                    let audit =
                        BehaviourAudit { property, behaviour, states, passes, scratch, budget, observer };
                    audit.run(&product, &here)?.map(|audited| audited.closed_set)
                }
            },
        };
        Ok(CertificateAudit { formula: Some(property.property.name.clone()), verdict })
    }
}

/// Why a search is not the one that is asked about.
fn refusal(committed: &Committed, here: &Identity) -> Option<String> {
    let differences = committed.identity.differences(here);
    (!differences.is_empty())
        .then(|| format!("the certificate is of something else, it differs in {}", differences.join(", ")))
}
