//! Where is a source turned into a program, and a program into a system? Here, and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

use fathom_exec::interpreter::Interpreter;
use fathom_lang::diagnostic::Diagnostics;
use fathom_lang::nearest::nearest;
use fathom_lang::source::SourceText;
use fathom_lang::understood::Understood;
pub use fathom_lang::understood::{Language, ModelOptions};
use fathom_model::expression::Expression;
use fathom_model::program::{Label, Program, VariableId};
use fathom_model::symmetry::{Symmetric, Symmetry};
use fathom_model::values::PossibleValues;

use crate::model::execution::Execution;
use crate::model::system::System;
use crate::model::user_file::{self, ReadError};

/// A model file and what is chosen about it.
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// The file.
    pub path: PathBuf,
    /// Constants and overflow.
    pub options: ModelOptions,
}

/// A model that was read and understood.
#[derive(Clone, Debug)]
pub struct Model {
    source: SourceText,
    understood: Understood,
    options: ModelOptions,
    values: PossibleValues,
    /// Whether states that are alike are one.
    symmetric: bool,
}

/// A model could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// There is no such file.
    #[error("there is no file {}{}", path.display(), suggestion.as_ref().map_or(String::new(), |name| format!("; did you mean {name}?")))]
    Missing {
        /// The name that was given.
        path: PathBuf,
        /// A file beside it with a similar name.
        suggestion: Option<String>,
    },
    /// The file is there but cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
    /// The name does not say which language it is.
    #[error("cannot tell the language of {}: {}", path.display(), unknown_language(path))]
    Extension {
        /// The file.
        path: PathBuf,
    },
    /// The text, or an expression given with it, is wrong.
    #[error("{}", diagnostics.render(text, false))]
    Source {
        /// The text the diagnostics are about.
        text: Box<SourceText>,
        /// What is wrong.
        diagnostics: Diagnostics,
    },
}

impl Model {
    /// Reads a model from a file whose name says its language.
    pub fn read(path: &Path, options: &ModelOptions) -> Result<Model, ModelError> {
        if path.as_os_str() == "-" || other_language(path).is_some() {
            return Err(ModelError::Extension { path: path.to_owned() });
        }
        let missing = || ModelError::Missing { path: path.to_owned(), suggestion: similar_file(path) };
        if let Ok(false) = path.try_exists() {
            return Err(missing());
        }
        let language = Language::of(path).ok_or_else(|| ModelError::Extension { path: path.to_owned() })?;
        let bytes = user_file::read(path, user_file::MODELS).map_err(|error| match error {
            ReadError::Refused(error) if error.kind() == io::ErrorKind::NotFound => missing(),
            error => ModelError::Unreadable { path: path.to_owned(), error },
        })?;
        let name = path.display().to_string();
        let source = SourceText::from_bytes(&name, bytes).map_err(|diagnostics| ModelError::Source {
            text: Box::new(SourceText::new(&name, "")),
            diagnostics,
        })?;
        Model::compile(source, language, options)
    }

    /// Understands a text.
    pub fn compile(
        source: SourceText,
        language: Language,
        options: &ModelOptions,
    ) -> Result<Model, ModelError> {
        match Understood::of(&source, language, options) {
            Ok(understood) => {
                let symmetric = options.symmetry && understood.symmetry().is_some_and(|it| !it.is_trivial());
                let values = PossibleValues::of(&understood.program);
                Ok(Model { source, understood, options: options.clone(), values, symmetric })
            }
            Err(diagnostics) => Err(ModelError::Source { text: Box::new(source), diagnostics }),
        }
    }

    /// The language it is written in.
    pub fn language(&self) -> Language {
        self.understood.language()
    }

    /// An expression over the model's states, in the words of its language. `origin` names the text in messages, as in `--invariant`.
    /// Spans in it refer to `text`, not to the model.
    pub fn expression(&self, origin: &str, text: &str) -> Result<Expression, ModelError> {
        self.read_text(origin, text, Understood::expression)
    }

    /// The same for an expression whose value is a number: in DVE every value is one.
    pub fn number(&self, origin: &str, text: &str) -> Result<Expression, ModelError> {
        self.read_text(origin, text, Understood::number)
    }

    fn read_text(
        &self,
        origin: &str,
        text: &str,
        read: fn(&Understood, &SourceText) -> Result<Expression, Diagnostics>,
    ) -> Result<Expression, ModelError> {
        let source = SourceText::from_bytes(origin, text.as_bytes().to_vec()).map_err(|diagnostics| {
            ModelError::Source { text: Box::new(SourceText::new(origin, "")), diagnostics }
        })?;
        match read(&self.understood, &source) {
            Ok(expression) => Ok(expression),
            Err(diagnostics) => Err(ModelError::Source { text: Box::new(source), diagnostics }),
        }
    }

    /// The location variable of a process and the code of one of its states, if both exist.
    pub fn state(&self, process: &str, state: &str) -> Option<(VariableId, u32)> {
        self.understood.state(process, state)
    }

    /// Whether a process of the system has that name.
    pub fn is_process(&self, name: &str) -> bool {
        self.understood.is_process(name)
    }

    /// What a user may have meant by a state that a process does not have.
    pub fn suggest_state(&self, process: &str, state: &str) -> Option<String> {
        self.understood.suggest_state(process, state)
    }

    /// Which of its values are alike; none if its language has no such thing.
    pub fn symmetry(&self) -> Option<&Symmetry> {
        self.understood.symmetry()
    }

    /// Whether states that are alike are one.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// The scalarsets whose values are told apart though states that are alike are to be one: the model, or what is known of its variables, tells
    /// them apart.
    pub fn told_apart(&self) -> Vec<String> {
        let (Some(quotient), Some(symmetry)) = (self.symmetric_interpreter(), self.symmetry()) else {
            return Vec::new();
        };
        let name = |number: &u32| symmetry.scalarsets[*number as usize].name.clone();
        quotient
            .orbits()
            .frozen()
            .iter()
            .map(|number| name(number).unwrap_or("without a name".into()))
            .collect()
    }

    /// The reference system with states that are alike as one, if they are to be: what paths of a search are unfolded with.
    pub(crate) fn symmetric_interpreter(&self) -> Option<Symmetric<Interpreter>> {
        let symmetry = self.symmetry().filter(|_| self.symmetric)?;
        Some(Symmetric::new(self.interpreter(Vec::new()), symmetry))
    }

    /// The same model with every state for itself.
    #[must_use]
    pub fn unreduced(&self) -> Model {
        Model { symmetric: false, ..self.clone() }
    }

    /// What its text says, and its names.
    pub fn understood(&self) -> &Understood {
        &self.understood
    }

    /// The text it came from.
    pub fn source(&self) -> &SourceText {
        &self.source
    }

    /// What it says.
    pub fn program(&self) -> &Program {
        &self.understood.program
    }

    /// What was chosen about it.
    pub fn options(&self) -> &ModelOptions {
        &self.options
    }

    /// The values that its variables can ever hold; records have room for these.
    pub fn values(&self) -> &PossibleValues {
        &self.values
    }

    /// What looks odd in it.
    pub fn warnings(&self) -> &Diagnostics {
        &self.understood.warnings
    }

    /// The reference system of the model, with these labels in place of its own.
    pub fn interpreter(&self, labels: Vec<Label>) -> Interpreter {
        Interpreter::new(Program { labels, ..self.understood.program.clone() }, &self.values)
    }

    /// The system of the model that searches expand, with these labels in place of its own: compiled if that is wanted and this machine
    /// can, else the reference system. States that are alike are one if they are to be.
    pub fn system(&self, labels: &[Label], execution: Execution<'_>) -> System<'static> {
        let system = execution.system(&self.understood.program, &self.values, labels);
        match self.symmetry().filter(|_| self.symmetric) {
            Some(symmetry) => System::Symmetric(Box::new(Symmetric::new(system, symmetry))),
            None => system,
        }
    }
}

/// The language of models that other tools read, by the name of a file.
fn other_language(path: &Path) -> Option<&'static str> {
    Some(match path.extension()?.to_str()? {
        "pml" | "prom" | "promela" | "spin" => "Promela",
        "tla" => "TLA+",
        "smv" => "SMV",
        "prism" | "pm" | "nm" => "PRISM",
        _ => return None,
    })
}

/// What to do with a file of a language that is not read.
fn unknown_language(path: &Path) -> String {
    if path.as_os_str() == "-" {
        return "a model is read from a file, whose name says its language; save standard input first, as in `cat > model.dve`"
            .to_owned();
    }
    let other = other_language(path)
        .map_or(String::new(), |language| format!("it looks like {language}, which fathom does not read; "));
    format!("{other}the name of a DVE model ends in .dve, that of a Murphi model in .m")
}

/// How many files beside a missing one are looked at.
const NEIGHBOURS_MAX: usize = 10_000;

fn similar_file(path: &Path) -> Option<String> {
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    let entries = folder.read_dir().ok()?.take(NEIGHBOURS_MAX);
    let names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    let missing = path.file_name()?.to_str()?;
    // A link that leads nowhere is there, and missing.
    let others = names.iter().map(String::as_str).filter(|name| *name != missing);
    let name = nearest(missing, others)?;
    Some(path.with_file_name(name).display().to_string())
}
