//! How does an editor ask about models? By the Language Server Protocol, on standard input and output.
//!
//! | file | question |
//! |---|---|
//! | `document` | what does an open text say, and what is wrong with it? |
//! | `positions` | which line and column is a byte, as editors count? |
//! | `answers` | what is answered to a request? |
//!
//! One thread, one message after the other; texts that changed are read anew when nothing else waits, so that typing is never behind.

mod answers;
mod document;
mod positions;

use std::collections::HashMap;

use anyhow::Context;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::notification::{
    DidChangeTextDocument, DidCloseTextDocument, DidOpenTextDocument, Notification as _, PublishDiagnostics,
};
use lsp_types::request::{DocumentSymbolRequest, GotoDefinition, HoverRequest, References, Request as _};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, DocumentSymbolParams,
    GotoDefinitionParams, HoverParams, HoverProviderCapability, InitializeParams, OneOf,
    PositionEncodingKind, PublishDiagnosticsParams, ReferenceParams, ServerCapabilities,
    TextDocumentSyncCapability, TextDocumentSyncKind, Uri,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::document::Document;
use self::positions::Encoding;

/// Serves one editor until it says that it is done, or goes away.
pub(crate) fn serve() -> anyhow::Result<()> {
    let (connection, threads) = Connection::stdio();
    let outcome = converse(&connection);
    // The threads end when nobody can send any more.
    drop(connection);
    threads.join().context("cannot speak with the editor")?;
    outcome
}

fn converse(connection: &Connection) -> anyhow::Result<()> {
    let (id, greeting) = connection.initialize_start().context("this is not an editor")?;
    let greeting: InitializeParams = serde_json::from_value(greeting).context("this is not an editor")?;
    let encodings = greeting.capabilities.general.and_then(|general| general.position_encodings);
    let encoding = match encodings {
        Some(offered) if offered.contains(&PositionEncodingKind::UTF8) => Encoding::Utf8,
        _ => Encoding::Utf16,
    };
    let reply = serde_json::json!({
        "capabilities": capabilities(encoding),
        "serverInfo": { "name": "fathom", "version": env!("CARGO_PKG_VERSION") },
    });
    connection.initialize_finish(id, reply).context("cannot greet the editor")?;
    Server { connection, encoding, documents: HashMap::new(), stale: Vec::new() }.run()
}

fn capabilities(encoding: Encoding) -> ServerCapabilities {
    ServerCapabilities {
        position_encoding: Some(encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        definition_provider: Some(OneOf::Left(true)),
        references_provider: Some(OneOf::Left(true)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        document_symbol_provider: Some(OneOf::Left(true)),
        ..ServerCapabilities::default()
    }
}

struct Server<'a> {
    connection: &'a Connection,
    encoding: Encoding,
    /// The texts that are open, by their address.
    documents: HashMap<String, Document>,
    /// Those that changed since the editor was told what is wrong with them.
    stale: Vec<Uri>,
}

impl Server<'_> {
    fn run(&mut self) -> anyhow::Result<()> {
        loop {
            let message = match self.connection.receiver.try_recv() {
                Ok(message) => message,
                Err(_) => {
                    self.tell_what_is_wrong()?;
                    match self.connection.receiver.recv() {
                        Ok(message) => message,
                        // The editor went away.
                        Err(_) => return Ok(()),
                    }
                }
            };
            match message {
                Message::Request(request) => {
                    if self.connection.handle_shutdown(&request).context("the editor ends badly")? {
                        return Ok(());
                    }
                    let response = self.answer(request);
                    self.send(Message::Response(response))?;
                }
                Message::Notification(notification) => self.note(notification)?,
                Message::Response(_) => {}
            }
        }
    }

    fn send(&self, message: Message) -> anyhow::Result<()> {
        self.connection.sender.send(message).context("cannot speak with the editor")
    }

    /// Reads changed texts anew, and tells what is wrong with them.
    fn tell_what_is_wrong(&mut self) -> anyhow::Result<()> {
        for uri in std::mem::take(&mut self.stale) {
            let Some(document) = self.documents.get_mut(uri.as_str()) else { continue };
            let diagnostics = answers::diagnostics(document.understood(), &uri, self.encoding);
            self.publish(uri, diagnostics)?;
        }
        Ok(())
    }

    fn publish(&self, uri: Uri, diagnostics: Vec<lsp_types::Diagnostic>) -> anyhow::Result<()> {
        let told = PublishDiagnosticsParams { uri, diagnostics, version: None };
        self.send(Message::Notification(Notification::new(PublishDiagnostics::METHOD.to_owned(), told)))
    }

    /// A text was opened, changed or closed. Other news is none of ours, and news that makes no sense is ignored, as the protocol asks.
    fn note(&mut self, notification: Notification) -> anyhow::Result<()> {
        match &*notification.method {
            DidOpenTextDocument::METHOD => {
                let opened: Option<DidOpenTextDocumentParams> = read(notification.params);
                let Some(DidOpenTextDocumentParams { text_document }) = opened else { return Ok(()) };
                self.changed(text_document.uri, text_document.text);
            }
            DidChangeTextDocument::METHOD => {
                let changed: Option<DidChangeTextDocumentParams> = read(notification.params);
                let Some(changed) = changed else { return Ok(()) };
                // Each change is the whole text.
                if let Some(last) = changed.content_changes.into_iter().last() {
                    self.changed(changed.text_document.uri, last.text);
                }
            }
            DidCloseTextDocument::METHOD => {
                let closed: Option<DidCloseTextDocumentParams> = read(notification.params);
                let Some(DidCloseTextDocumentParams { text_document }) = closed else { return Ok(()) };
                if self.documents.remove(text_document.uri.as_str()).is_some() {
                    self.publish(text_document.uri, Vec::new())?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn changed(&mut self, uri: Uri, text: String) {
        let Some(document) = Document::new(uri.as_str(), text) else { return };
        self.documents.insert(uri.as_str().to_owned(), document);
        if !self.stale.contains(&uri) {
            self.stale.push(uri);
        }
    }

    fn answer(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let encoding = self.encoding;
        match &*method {
            GotoDefinition::METHOD => self.reply(id, params, |server, asked: GotoDefinitionParams| {
                let place = asked.text_document_position_params;
                let document = server.document(&place.text_document.uri)?;
                answers::definition(document, &place, encoding)
            }),
            References::METHOD => self.reply(id, params, |server, asked: ReferenceParams| {
                let place = asked.text_document_position;
                let document = server.document(&place.text_document.uri)?;
                answers::references(document, &place, asked.context.include_declaration, encoding)
            }),
            HoverRequest::METHOD => self.reply(id, params, |server, asked: HoverParams| {
                let place = asked.text_document_position_params;
                let document = server.document(&place.text_document.uri)?;
                answers::hover(document, &place, encoding)
            }),
            DocumentSymbolRequest::METHOD => self.reply(id, params, |server, asked: DocumentSymbolParams| {
                Some(answers::symbols(server.document(&asked.text_document.uri)?, encoding))
            }),
            _ => Response::new_err(
                id,
                ErrorCode::MethodNotFound as i32,
                format!("fathom does not answer {method}"),
            ),
        }
    }

    fn reply<P: DeserializeOwned, R: Serialize>(
        &mut self,
        id: RequestId,
        params: serde_json::Value,
        answer: impl FnOnce(&mut Self, P) -> Option<R>,
    ) -> Response {
        match serde_json::from_value(params) {
            Ok(params) => Response::new_ok(id, answer(self, params)),
            Err(error) => Response::new_err(id, ErrorCode::InvalidParams as i32, error.to_string()),
        }
    }

    fn document(&mut self, uri: &Uri) -> Option<&mut Document> {
        self.documents.get_mut(uri.as_str())
    }
}

fn read<P: DeserializeOwned>(params: serde_json::Value) -> Option<P> {
    serde_json::from_value(params).ok()
}
