//! What is a run on disk about? Everything that changes what its states and verdicts mean, in words and as a tag.
//!
//! Two runs with equal tags search the same states of the same model and test the same conditions: one can go on where the other stopped. Memory, threads, limits and outputs
//! are not part of it.

use std::path::{Path, PathBuf};

use fathom_disk::run::Tag;
use fathom_model::expression::Overflow;
use fathom_model::shape::Shape;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::model::assemble::{Model, ModelOptions, ModelSettings};
use crate::questions::liveness_property::{LivenessProperty, Statement};
use crate::questions::plan::Questions;
use crate::questions::property::{DeadlockKind, Faults};

/// Changes when a later version gives states, steps or conditions another meaning.
const SEMANTICS: u32 = 2;

/// What a run is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The file of the model, as an absolute path. Not part of the tag: its text is.
    #[serde(with = "crate::folder::path_text")]
    model: PathBuf,
    semantics: u32,
    /// A hash of the text of the model.
    text: String,
    constants: Vec<(String, i64)>,
    overflow: String,
    /// Whether states that are alike are one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    symmetry: bool,
    /// How often loops may go round, if that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_loop: Option<u32>,
    /// What was asked; none of a run that only explores.
    questions: Option<Asked>,
    /// A hash of the automaton that the model was explored with.
    automaton: Option<String>,
    /// What was asked about infinite runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    behaviour: Option<Behaviour>,
    /// A hash of where each variable lies in a record.
    layout: String,
}

/// A question about infinite runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// Where it is stated.
    pub statement: Statement,
    /// The numbers of the processes that runs are fair to.
    pub fair: Vec<u32>,
    /// Whether strongly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strong: bool,
    /// Whether a fault ends the search.
    pub stop_at_fault: bool,
    /// The automaton that was searched with, in the Hanoi format: accepted is what violates the property.
    pub automaton: String,
}

/// Questions about states, as the user put them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    invariants: Vec<String>,
    reach: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    expect_reach: Vec<String>,
    /// Whether what the model states is left out unless it is named.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    only: bool,
    properties: Vec<String>,
    deadlock: Option<String>,
    deadlock_except: Option<String>,
    constraint: Option<String>,
    faults: String,
    /// How many counterexamples of each property are wanted, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    traces: Option<usize>,
}

impl Identity {
    /// A run that explores a model, or its product with an automaton, whose records have this shape.
    pub fn of_exploration(
        model: &Model,
        settings: &ModelSettings,
        product: Option<&LivenessProperty>,
        shape: &Shape,
    ) -> Identity {
        let automaton = product.map(|property| hash(format!("{:?}", property.automaton).as_bytes()));
        Identity { automaton, ..Identity::new(model, settings, None, shape) }
    }

    /// A run that answers questions about the states of a model.
    pub fn of_check(
        model: &Model,
        settings: &ModelSettings,
        questions: &Questions,
        shape: &Shape,
    ) -> Identity {
        Identity::new(model, settings, Some(Asked::of(questions)), shape)
    }

    /// A run that answers a question about infinite runs, in the product with an automaton, whose records have this shape.
    pub fn of_behaviour(
        model: &Model,
        settings: &ModelSettings,
        behaviour: Behaviour,
        shape: &Shape,
    ) -> Identity {
        Identity { behaviour: Some(behaviour), ..Identity::new(model, settings, None, shape) }
    }

    /// A search of a system that was handed over, whose records have this shape. Whoever gives the name vouches that it always means the same system.
    pub fn of_system(
        name: &str,
        questions: Option<&Questions>,
        behaviour: Option<Behaviour>,
        shape: &Shape,
    ) -> Identity {
        Identity {
            model: PathBuf::from(name),
            semantics: SEMANTICS,
            text: hash(name.as_bytes()),
            constants: Vec::new(),
            overflow: "fault".to_owned(),
            symmetry: false,
            max_loop: None,
            questions: questions.map(Asked::of),
            automaton: None,
            behaviour,
            layout: layout(shape),
        }
    }

    fn new(model: &Model, settings: &ModelSettings, questions: Option<Asked>, shape: &Shape) -> Identity {
        let overflow = match settings.options.overflow {
            Overflow::Fault => "fault",
            Overflow::Wrap => "wrap",
        };
        Identity {
            model: std::path::absolute(&settings.path).unwrap_or_else(|_| settings.path.clone()),
            semantics: SEMANTICS,
            text: hash(model.source().text().as_bytes()),
            constants: settings.options.constants.clone(),
            overflow: overflow.to_owned(),
            symmetry: model.is_symmetric(),
            max_loop: settings.options.max_loop,
            questions,
            automaton: None,
            behaviour: None,
            layout: layout(shape),
        }
    }

    /// What files of the run are marked with.
    pub fn tag(&self) -> Tag {
        let unplaced = Identity { model: PathBuf::new(), ..self.clone() };
        let text = serde_json::to_string(&unplaced).expect("an identity is JSON");
        xxh3_128(text.as_bytes()).to_le_bytes()
    }

    /// The file of the model.
    pub fn model(&self) -> &Path {
        &self.model
    }

    /// What was chosen about the model.
    pub fn model_options(&self) -> ModelOptions {
        let overflow = if self.overflow == "wrap" { Overflow::Wrap } else { Overflow::Fault };
        let (constants, symmetry, max_loop) = (self.constants.clone(), self.symmetry, self.max_loop);
        ModelOptions { constants, overflow, symmetry, max_loop }
    }

    /// What was asked; none of a run that only explores.
    pub fn questions(&self) -> Option<Questions> {
        self.questions.as_ref().map(Asked::questions)
    }

    /// What was asked about infinite runs.
    pub fn behaviour(&self) -> Option<&Behaviour> {
        self.behaviour.as_ref()
    }

    /// Whether the model was explored with an automaton.
    pub fn is_product(&self) -> bool {
        self.automaton.is_some()
    }

    /// What differs from another identity, in words; empty if the tags are equal.
    pub fn differences(&self, other: &Identity) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, differ: bool, there: String, here: String| {
            if differ {
                differences.push(format!("{what} ({there} there, {here} here)"));
            }
        };
        compare(
            "the version of their meaning",
            self.semantics != other.semantics,
            self.semantics.to_string(),
            other.semantics.to_string(),
        );
        let names = |identity: &Identity| format!("a text with hash {}", &identity.text);
        compare("the text of the model", self.text != other.text, names(self), names(other));
        let constants = |identity: &Identity| {
            let list: Vec<String> =
                identity.constants.iter().map(|(name, value)| format!("{name}={value}")).collect();
            if list.is_empty() { "none".to_owned() } else { list.join(" ") }
        };
        compare("--const", self.constants != other.constants, constants(self), constants(other));
        compare("--overflow", self.overflow != other.overflow, self.overflow.clone(), other.overflow.clone());
        let symmetry = |identity: &Identity| if identity.symmetry { "on" } else { "off" }.to_owned();
        compare("--symmetry", self.symmetry != other.symmetry, symmetry(self), symmetry(other));
        let rounds = |identity: &Identity| {
            identity.max_loop.map_or("as the language has it".into(), |it| it.to_string())
        };
        compare("--max-loop", self.max_loop != other.max_loop, rounds(self), rounds(other));
        let asked = |identity: &Identity| identity.questions.as_ref().map_or("none".into(), Asked::words);
        compare("the questions", self.questions != other.questions, asked(self), asked(other));
        let automaton = |identity: &Identity| identity.automaton.clone().unwrap_or("none".into());
        compare("the automaton", self.automaton != other.automaton, automaton(self), automaton(other));
        let behaviour =
            |identity: &Identity| identity.behaviour.as_ref().map_or("none".into(), Behaviour::words);
        compare(
            "the question about infinite runs",
            self.behaviour != other.behaviour,
            behaviour(self),
            behaviour(other),
        );
        if differences.is_empty() && self.layout != other.layout {
            differences.push("where variables lie in a state: another version of fathom wrote it".into());
        }
        differences
    }
}

impl Behaviour {
    /// As it was asked on the command line.
    fn words(&self) -> String {
        let mut words = match &self.statement {
            Statement::Formula { text, .. } => format!("--ltl '{text}'"),
            Statement::File { number, .. } => format!("property {} of --ltl-file", number + 1),
            Statement::Process => "the property process".to_owned(),
        };
        if !self.fair.is_empty() {
            let numbers: Vec<String> = self.fair.iter().map(u32::to_string).collect();
            let kind = if self.strong { "strong" } else { "weak" };
            words.push_str(&format!(" --fair {kind}, to processes {}", numbers.join(", ")));
        }
        if !self.stop_at_fault {
            words.push_str(" --faults report");
        }
        words
    }
}

impl Asked {
    fn of(questions: &Questions) -> Asked {
        let deadlock = questions.deadlock.map(|kind| match kind {
            DeadlockKind::Stuck => "stuck".to_owned(),
            DeadlockKind::Stuttering => "stuttering".to_owned(),
            DeadlockKind::Off => "off".to_owned(),
        });
        let faults = match questions.faults {
            Faults::Stop => "stop",
            Faults::Report => "report",
        };
        Asked {
            invariants: questions.invariants.clone(),
            reach: questions.goals.clone(),
            expect_reach: questions.expected.clone(),
            only: questions.only,
            properties: questions.stated.clone(),
            deadlock,
            deadlock_except: questions.valid_end.clone(),
            constraint: questions.constraint.clone(),
            faults: faults.to_owned(),
            traces: Some(questions.traces).filter(|traces| *traces > 1),
        }
    }

    fn questions(&self) -> Questions {
        let deadlock = self.deadlock.as_ref().map(|kind| match kind.as_str() {
            "stuttering" => DeadlockKind::Stuttering,
            "off" => DeadlockKind::Off,
            _ => DeadlockKind::Stuck,
        });
        Questions {
            invariants: self.invariants.clone(),
            goals: self.reach.clone(),
            expected: self.expect_reach.clone(),
            only: self.only,
            stated: self.properties.clone(),
            deadlock,
            valid_end: self.deadlock_except.clone(),
            constraint: self.constraint.clone(),
            faults: if self.faults == "report" { Faults::Report } else { Faults::Stop },
            traces: self.traces.unwrap_or(1),
            ..Questions::default()
        }
    }

    /// As they were asked on the command line.
    fn words(&self) -> String {
        let mut words = Vec::new();
        let mut each = |option: &str, values: &[String]| {
            words.extend(values.iter().map(|value| format!("{option} '{value}'")));
        };
        each("--invariant", &self.invariants);
        each("--reach", &self.reach);
        each("--expect-reach", &self.expect_reach);
        each("--property", &self.properties);
        each("--deadlock", self.deadlock.as_slice());
        each("--deadlock-except", self.deadlock_except.as_slice());
        each("--constraint", self.constraint.as_slice());
        if self.faults == "report" {
            words.push("--faults report".into());
        }
        if self.only {
            words.push("--only".into());
        }
        words.extend(self.traces.map(|traces| format!("--traces {traces}")));
        if words.is_empty() { "what the model states".to_owned() } else { words.join(" ") }
    }
}

/// Where each variable lies in a record.
fn layout(shape: &Shape) -> String {
    hash(format!("{} {:?}", shape.width_bits, shape.components).as_bytes())
}

fn hash(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}
