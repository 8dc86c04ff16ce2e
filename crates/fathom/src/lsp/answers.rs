//! What is answered to an editor's request?

use fathom_check::model::assemble::Language;
use fathom_check::model::held::{self, Held};
use fathom_lang::diagnostic::{Diagnostic, Severity};
use fathom_lang::names::{Definition, NameKind};
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, DocumentSymbol, DocumentSymbolResponse,
    GotoDefinitionResponse, Hover, HoverContents, Location, MarkupContent, MarkupKind, SymbolKind,
    TextDocumentPositionParams, Uri,
};

use super::document::{Document, Understood};
use super::positions::Encoding;

/// How much of a declaration is shown.
const SHOWN_BYTES: usize = 400;

/// What is wrong with a text, and what looks odd.
pub(super) fn diagnostics(text: &Understood, uri: &Uri, encoding: Encoding) -> Vec<lsp_types::Diagnostic> {
    text.diagnostics.items().iter().map(|diagnostic| told(diagnostic, text, uri, encoding)).collect()
}

fn told(diagnostic: &Diagnostic, text: &Understood, uri: &Uri, encoding: Encoding) -> lsp_types::Diagnostic {
    let mut message = diagnostic.message.clone();
    let primary = diagnostic.labels.first();
    if let Some(label) = primary.filter(|label| !label.text.is_empty()) {
        message.push_str(&format!(": {}", label.text));
    }
    diagnostic.notes.iter().for_each(|note| message.push_str(&format!("\nnote: {note}")));
    diagnostic.help.iter().for_each(|help| message.push_str(&format!("\nhelp: {help}")));
    let others = diagnostic.labels.iter().skip(1).map(|label| DiagnosticRelatedInformation {
        location: Location::new(uri.clone(), encoding.range(&text.source, label.span)),
        message: label.text.clone(),
    });
    lsp_types::Diagnostic {
        range: encoding.range(&text.source, diagnostic.span().unwrap_or_default()),
        severity: Some(match diagnostic.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        source: Some("fathom".to_owned()),
        message,
        related_information: Some(others.collect::<Vec<_>>()).filter(|others| !others.is_empty()),
        ..lsp_types::Diagnostic::default()
    }
}

/// Where the name at a place is declared.
pub(super) fn definition(
    document: &mut Document,
    place: &TextDocumentPositionParams,
    encoding: Encoding,
) -> Option<GotoDefinitionResponse> {
    let text = document.understood();
    let (_, definition) = text.names.at(encoding.offset(&text.source, place.position))?;
    let range = encoding.range(&text.source, definition.span);
    Some(GotoDefinitionResponse::Scalar(Location::new(place.text_document.uri.clone(), range)))
}

/// Where the name at a place is used.
pub(super) fn references(
    document: &mut Document,
    place: &TextDocumentPositionParams,
    with_declaration: bool,
    encoding: Encoding,
) -> Option<Vec<Location>> {
    let text = document.understood();
    let (_, definition) = text.names.at(encoding.offset(&text.source, place.position))?;
    let uses = text.names.uses_of(definition).filter(|span| with_declaration || *span != definition.span);
    let location = |span| Location::new(place.text_document.uri.clone(), encoding.range(&text.source, span));
    Some(uses.map(location).collect())
}

/// How the name at a place is declared, and which values it can hold.
pub(super) fn hover(
    document: &mut Document,
    place: &TextDocumentPositionParams,
    encoding: Encoding,
) -> Option<Hover> {
    let text = document.understood();
    let (span, definition) = text.names.at(encoding.offset(&text.source, place.position))?;
    let value = format!("{}{}", declaration(text, definition), values(text, definition));
    Some(Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(encoding.range(&text.source, span)),
    })
}

/// What something is, and its declaration as it is written; of something long, its first line.
fn declaration(text: &Understood, definition: &Definition) -> String {
    let language = match text.language {
        Language::Dve => "dve",
        Language::Murphi => "murphi",
    };
    let written = text.source.slice(definition.whole);
    let long = matches!(definition.kind, NameKind::Process | NameKind::Function);
    let shown = if long { written.lines().next().unwrap_or_default() } else { written };
    let end = (0..=shown.len().min(SHOWN_BYTES)).rev().find(|end| shown.is_char_boundary(*end)).unwrap_or(0);
    let more = if end < shown.len() { " ..." } else { "" };
    let holder = definition.part_of.map(|holder| &text.names.definitions[holder]);
    let of = holder.map_or(String::new(), |holder| format!(" of {} `{}`", word(holder.kind), holder.name));
    format!("{}{of}\n\n```{language}\n{}{more}\n```\n", word(definition.kind), &shown[..end])
}

fn word(kind: NameKind) -> &'static str {
    match kind {
        NameKind::Constant => "constant",
        NameKind::Type => "type",
        NameKind::Value => "value",
        NameKind::Field => "field",
        NameKind::Variable => "variable",
        NameKind::Local => "local name",
        NameKind::Channel => "channel",
        NameKind::Process => "process",
        NameKind::State => "state",
        NameKind::Function => "function",
        NameKind::Rule => "rule",
        NameKind::Property => "property",
    }
}

/// The values that a variable or a process can have in any reachable state, one line for each of its parts.
fn values(text: &Understood, definition: &Definition) -> String {
    let part_of_state = [NameKind::Variable, NameKind::Channel, NameKind::Process].contains(&definition.kind);
    let Some(model) = text.model.as_ref().filter(|_| part_of_state) else { return String::new() };
    let holder = definition.part_of.map(|holder| &*text.names.definitions[holder].name);
    let path: Vec<&str> = holder.into_iter().chain([&*definition.name]).collect();
    let held = held::held(model, &path);
    if held.is_empty() {
        return String::new();
    }
    let line = |part: &Held| {
        let more = part.declared.as_ref().map_or(String::new(), |all| format!(" (declared: {all})"));
        format!("- `{}`: {}{more}\n", part.place, part.values)
    };
    format!("\ncan hold, in any run:\n\n{}", held.iter().map(line).collect::<String>())
}

/// Everything that a text declares, as a tree.
pub(super) fn symbols(document: &mut Document, encoding: Encoding) -> DocumentSymbolResponse {
    let text = document.understood();
    let definitions = &text.names.definitions;
    let mut children: Vec<Vec<DocumentSymbol>> = vec![Vec::new(); definitions.len()];
    let mut outer = Vec::new();
    // A part comes behind what it is part of, so that from the last on all parts of something are there when it is made.
    for (number, definition) in definitions.iter().enumerate().rev() {
        if definition.kind == NameKind::Local {
            continue;
        }
        let mut parts = std::mem::take(&mut children[number]);
        parts.reverse();
        let symbol = symbol(text, definition, parts, encoding);
        match definition.part_of {
            Some(holder) => children[holder].push(symbol),
            None => outer.push(symbol),
        }
    }
    outer.reverse();
    DocumentSymbolResponse::Nested(outer)
}

#[allow(deprecated, reason = "the field `deprecated` of the protocol has no default")]
fn symbol(
    text: &Understood,
    definition: &Definition,
    parts: Vec<DocumentSymbol>,
    encoding: Encoding,
) -> DocumentSymbol {
    let kind = match definition.kind {
        NameKind::Constant => SymbolKind::CONSTANT,
        NameKind::Type => SymbolKind::STRUCT,
        NameKind::Value | NameKind::State => SymbolKind::ENUM_MEMBER,
        NameKind::Field => SymbolKind::FIELD,
        NameKind::Variable | NameKind::Local => SymbolKind::VARIABLE,
        NameKind::Channel => SymbolKind::INTERFACE,
        NameKind::Process => SymbolKind::CLASS,
        NameKind::Function => SymbolKind::FUNCTION,
        NameKind::Rule => SymbolKind::EVENT,
        NameKind::Property => SymbolKind::BOOLEAN,
    };
    DocumentSymbol {
        name: if definition.name.is_empty() {
            word(definition.kind).to_owned()
        } else {
            definition.name.clone()
        },
        detail: Some(word(definition.kind).to_owned()),
        kind,
        tags: None,
        deprecated: None,
        range: encoding.range(&text.source, definition.whole),
        selection_range: encoding.range(&text.source, definition.span),
        children: Some(parts).filter(|parts| !parts.is_empty()),
    }
}
