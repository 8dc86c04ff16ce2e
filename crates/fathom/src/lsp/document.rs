//! What does an open text say, and what is wrong with it? Found out when somebody asks, and once.

use std::path::Path;

use fathom_check::model::assemble::{Language, Model, ModelError, ModelOptions};
use fathom_lang::diagnostic::Diagnostics;
use fathom_lang::names::Names;
use fathom_lang::source::SourceText;
use fathom_lang::{dve, murphi};

/// An open text in one of our languages.
pub(super) struct Document {
    language: Language,
    text: Text,
}

enum Text {
    /// Nobody has asked yet.
    Raw(String, String),
    Read(Box<Understood>),
}

/// A text, and what could be understood of it.
pub(super) struct Understood {
    pub(super) language: Language,
    pub(super) source: SourceText,
    pub(super) names: Names,
    /// What is wrong, or odd.
    pub(super) diagnostics: Diagnostics,
    /// What it says, unless it is wrong.
    pub(super) model: Option<Model>,
}

impl Document {
    /// A text with an address; none if that is of no language of ours.
    pub(super) fn new(address: &str, text: String) -> Option<Document> {
        let name = address.rsplit('/').next().unwrap_or(address).to_owned();
        Some(Document { language: Language::of(Path::new(&name))?, text: Text::Raw(name, text) })
    }

    /// What it says.
    pub(super) fn understood(&mut self) -> &Understood {
        if let Text::Raw(name, text) = &mut self.text {
            let (name, text) = (std::mem::take(name), std::mem::take(text));
            self.text = Text::Read(Box::new(understand(self.language, &name, text)));
        }
        match &self.text {
            Text::Read(understood) => understood,
            Text::Raw(..) => unreachable!("it was read"),
        }
    }
}

fn understand(language: Language, name: &str, text: String) -> Understood {
    let source = match SourceText::from_bytes(name, text.into_bytes()) {
        Ok(source) => source,
        Err(diagnostics) => {
            let source = SourceText::new(name, "");
            return Understood { language, source, names: Names::default(), diagnostics, model: None };
        }
    };
    let names = match language {
        Language::Dve => dve::names(&source),
        Language::Murphi => murphi::names(&source),
    };
    let (diagnostics, model) = match Model::compile(source.clone(), language, &ModelOptions::default()) {
        Ok(model) => (model.warnings().clone(), Some(model)),
        Err(ModelError::Source { diagnostics, .. }) => (diagnostics, None),
        Err(_) => unreachable!("what is not read from a file is wrong only as a text"),
    };
    Understood { language, source, names, diagnostics, model }
}
