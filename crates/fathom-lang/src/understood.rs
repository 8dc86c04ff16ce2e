//! What is a model, whatever language it is written in? A program, and names that expressions from outside may use.

use std::path::Path;

use fathom_model::expression::{Expression, Overflow};
use fathom_model::program::{Program, VariableId};
use fathom_model::symmetry::Symmetry;

use crate::diagnostic::Diagnostics;
use crate::dve::{self, DveOptions};
use crate::murphi::{self, MurphiOptions};
use crate::source::SourceText;

/// A language that models are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The language of DiVinE and BEEM.
    Dve,
    /// The language of CMurphi and rumur.
    Murphi,
}

/// What a user may choose about a model from outside.
#[derive(Clone, Debug, Default)]
pub struct ModelOptions {
    /// Values for constants, in place of those in the text.
    pub constants: Vec<(String, i64)>,
    /// What happens to values that do not fit their type.
    pub overflow: Overflow,
    /// Whether states that are alike are one, where the language has values that are.
    pub symmetry: bool,
    /// How often a loop may go round before that is a fault; none leaves it to the language.
    pub max_loop: Option<u32>,
}

/// A text that was understood.
#[derive(Clone, Debug)]
pub struct Understood {
    /// What it says.
    pub program: Program,
    /// What looks odd in it.
    pub warnings: Diagnostics,
    symbols: Symbols,
}

/// The names of a model, in its own language.
#[derive(Clone, Debug)]
enum Symbols {
    Dve(dve::Symbols),
    Murphi(Box<murphi::Symbols>, Symmetry),
}

impl Language {
    /// The language of a file, by its name.
    pub fn of(path: &Path) -> Option<Language> {
        match path.extension()?.to_str()? {
            "dve" => Some(Language::Dve),
            "m" => Some(Language::Murphi),
            _ => None,
        }
    }
}

impl Understood {
    /// Understands a text. All spans of diagnostics refer to it.
    pub fn of(
        source: &SourceText,
        language: Language,
        options: &ModelOptions,
    ) -> Result<Understood, Diagnostics> {
        match language {
            Language::Dve => {
                let options = DveOptions { constants: options.constants.clone(), overflow: options.overflow };
                let dve::Compiled { program, symbols, warnings } = dve::compile(source, &options)?;
                Ok(Understood { program, warnings, symbols: Symbols::Dve(symbols) })
            }
            Language::Murphi => {
                let (constants, symmetry, max_loop) =
                    (options.constants.clone(), options.symmetry, options.max_loop);
                let mut options = MurphiOptions { constants, symmetry, ..MurphiOptions::default() };
                if let Some(rounds) = max_loop {
                    (options.loop_bound, options.count_bound) = (rounds, rounds);
                }
                let murphi::Compiled { program, symbols, symmetry, warnings } =
                    murphi::compile(source, &options)?;
                Ok(Understood { program, warnings, symbols: Symbols::Murphi(Box::new(symbols), symmetry) })
            }
        }
    }

    /// The same where no states are taken as one: conditions may name single values of a scalarset.
    pub fn telling_apart(mut self) -> Understood {
        if let Symbols::Murphi(symbols, _) = &mut self.symbols {
            symbols.symmetric = false;
        }
        self
    }

    /// The language it is written in.
    pub fn language(&self) -> Language {
        match self.symbols {
            Symbols::Dve(_) => Language::Dve,
            Symbols::Murphi(..) => Language::Murphi,
        }
    }

    /// A condition over the model's states, in the words of its language. Spans refer to `text`, not to the model.
    pub fn expression(&self, text: &SourceText) -> Result<Expression, Diagnostics> {
        match &self.symbols {
            Symbols::Dve(symbols) => dve::expression(symbols, text),
            Symbols::Murphi(symbols, _) => murphi::expression(symbols, text),
        }
    }

    /// The same for an expression whose value is a number: in DVE every value is one.
    pub fn number(&self, text: &SourceText) -> Result<Expression, Diagnostics> {
        match &self.symbols {
            Symbols::Dve(symbols) => dve::expression(symbols, text),
            Symbols::Murphi(symbols, _) => murphi::number(symbols, text),
        }
    }

    /// The location variable of a process and the code of one of its states, if both exist.
    pub fn state(&self, process: &str, state: &str) -> Option<(VariableId, u32)> {
        match &self.symbols {
            Symbols::Dve(symbols) => symbols.state(process, state),
            Symbols::Murphi(..) => None,
        }
    }

    /// Whether a process of the system has that name.
    pub fn is_process(&self, name: &str) -> bool {
        match &self.symbols {
            Symbols::Dve(symbols) => symbols.is_process(name),
            Symbols::Murphi(..) => false,
        }
    }

    /// What a user may have meant by a state that a process does not have.
    pub fn suggest_state(&self, process: &str, state: &str) -> Option<String> {
        match &self.symbols {
            Symbols::Dve(symbols) => symbols.suggest_state(process, state),
            Symbols::Murphi(..) => None,
        }
    }

    /// Which of its values are alike; none if its language has no such thing.
    pub fn symmetry(&self) -> Option<&Symmetry> {
        match &self.symbols {
            Symbols::Dve(_) => None,
            Symbols::Murphi(_, symmetry) => Some(symmetry),
        }
    }
}
