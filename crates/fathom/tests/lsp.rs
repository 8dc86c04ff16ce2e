//! Does `fathom lsp` answer an editor? A client speaks the protocol with the binary: for every model in `models/`, for texts that are wrong, for columns in both encodings, and for a client that misbehaves.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lsp_server::{Message, Notification, Request, Response};
use serde_json::{Value, json};

/// An editor.
struct Editor {
    server: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: i32,
}

impl Editor {
    /// Starts a server and greets it; gives what it says that it can.
    fn start(encodings: &[&str]) -> (Editor, Value) {
        let mut server = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = server.stdin.take();
        let output = BufReader::new(server.stdout.take().unwrap());
        let mut editor = Editor { server, input, output, requests: 0 };
        let capabilities = json!({ "general": { "positionEncodings": encodings } });
        let greeting = json!({ "processId": null, "rootUri": null, "capabilities": capabilities });
        let reply = editor.ask("initialize", greeting);
        editor.tell("initialized", json!({}));
        (editor, reply["capabilities"].clone())
    }

    fn send(&mut self, message: &Message) {
        message.write(self.input.as_mut().unwrap()).unwrap();
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.send(&Message::Notification(Notification { method: method.to_owned(), params }));
    }

    fn receive(&mut self) -> Message {
        Message::read(&mut self.output).unwrap().expect("the server is there")
    }

    fn response(&mut self, method: &str, params: Value) -> Response {
        self.requests += 1;
        let id = self.requests.into();
        self.send(&Message::Request(Request { id, method: method.to_owned(), params }));
        loop {
            match self.receive() {
                Message::Response(response) => {
                    assert_eq!(response.id, self.requests.into());
                    return response;
                }
                // Diagnostics that came in between.
                Message::Notification(_) => {}
                Message::Request(request) => panic!("{request:?}"),
            }
        }
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.response(method, params).response_result.unwrap_or_else(|error| panic!("{method}: {error:?}"))
    }

    /// Opens a text and gives what is wrong with it.
    fn open(&mut self, name: &str, text: &str) -> Vec<Value> {
        let document = json!({ "uri": uri(name), "languageId": "any", "version": 1, "text": text });
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
        self.diagnostics(name)
    }

    fn diagnostics(&mut self, name: &str) -> Vec<Value> {
        match self.receive() {
            Message::Notification(told) => {
                assert_eq!(told.method, "textDocument/publishDiagnostics");
                assert_eq!(told.params["uri"], uri(name));
                told.params["diagnostics"].as_array().unwrap().clone()
            }
            other => panic!("{other:?}"),
        }
    }

    fn ask_at(&mut self, method: &str, name: &str, line: usize, character: usize) -> Value {
        let mut params = json!({
            "textDocument": { "uri": uri(name) },
            "position": { "line": line, "character": character },
        });
        if method == "textDocument/references" {
            params["context"] = json!({ "includeDeclaration": true });
        }
        self.ask(method, params)
    }

    /// Asks the server to end; it does, and well.
    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        assert!(self.server.wait().unwrap().success());
    }
}

fn uri(name: &str) -> String {
    format!("file:///models/{name}")
}

/// The n-th place of a word in a text, as line and column.
fn place(text: &str, word: &str, number: usize) -> (usize, usize) {
    let at = text.match_indices(word).nth(number).unwrap_or_else(|| panic!("{word} is there")).0;
    let line = text[..at].matches('\n').count();
    (line, at - text[..at].rfind('\n').map_or(0, |end| end + 1))
}

fn models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "dve" || extension == "m"))
        .collect();
    paths.sort();
    paths
}

const DVE: &str = "\
const byte N = 3;
byte turn = 0;
byte waiting[N];
channel {byte} c[2];

process P {
  byte own = 1;
  state idle, busy;
  init idle;
  trans
    idle -> busy { guard turn < N; sync c!own; effect waiting[turn] = 1, own = 2; },
    busy -> idle { effect turn = (turn + 1) % N; };
}

process Q {
  byte got;
  state only;
  init only;
  trans only -> only { guard P.busy; sync c?got; };
}

system async;
";

#[test]
fn names_of_dve_are_found_and_values_told() {
    let (mut editor, can) = Editor::start(&["utf-16"]);
    for ability in ["definitionProvider", "hoverProvider", "referencesProvider", "documentSymbolProvider"] {
        assert_eq!(can[ability], true, "{ability}");
    }
    assert_eq!(can["positionEncoding"], "utf-16");
    assert_eq!(editor.open("a.dve", DVE), Vec::<Value>::new());
    // Word, which of its places, and where it is declared.
    let names = [
        ("turn", 2, place(DVE, "turn", 0)),
        ("N", 1, place(DVE, "N", 0)),
        ("own", 2, place(DVE, "own", 0)),
        ("busy", 1, place(DVE, "busy", 0)),
        ("P.busy", 0, place(DVE, "P {", 0)),
        ("c?", 0, place(DVE, "c[2]", 0)),
        ("got;", 1, place(DVE, "got;", 0)),
    ];
    for (word, number, (line, character)) in names {
        let (at_line, at) = place(DVE, word, number);
        let found = editor.ask_at("textDocument/definition", "a.dve", at_line, at);
        let start = &found["range"]["start"];
        assert_eq!(
            (start["line"].clone(), start["character"].clone()),
            (line.into(), character.into()),
            "{word}"
        );
    }
    let hover = |editor: &mut Editor, word: &str| {
        let (line, character) = place(DVE, word, 0);
        let hover = editor.ask_at("textDocument/hover", "a.dve", line, character);
        hover["contents"]["value"].as_str().unwrap().to_owned()
    };
    assert!(hover(&mut editor, "turn").contains("- `turn`: 0..2 (declared: 0..255)"));
    assert!(hover(&mut editor, "waiting").contains("- `waiting[..]`: 0..1"));
    assert!(hover(&mut editor, "own").contains("- `P.own`: 1..2"), "{}", hover(&mut editor, "own"));
    assert!(hover(&mut editor, "P {").contains("- `P`: idle, busy"));
    assert!(hover(&mut editor, "c[2]").contains("- `messages in c`: 0..2"));
    assert!(hover(&mut editor, "N").contains("constant"));
    let (line, character) = place(DVE, "own", 2);
    let uses = editor.ask_at("textDocument/references", "a.dve", line, character);
    assert_eq!(uses.as_array().unwrap().len(), 3);
    assert_eq!(editor.ask_at("textDocument/definition", "a.dve", 4, 0), Value::Null, "an empty line");
    editor.end();
}

const MURPHI: &str = "\
const Size: 2;
type
  Node: scalarset(Size);
  Mode: enum { Idle, Busy, Never };
  Entry: record mode: Mode; count: 0..7; end;
var
  table: array [Node] of Entry;
  last: 0..100;

function next(n: 0..7): 0..7;
begin return n + 1; end;

startstate begin
  for i: Node do table[i].mode := Idle; table[i].count := 0; end;
  last := 5;
end;

ruleset node: Node do
  alias mine: table[node] do
    rule \"work\" mine.mode = Idle & mine.count < 2 ==>
    begin mine.mode := Busy; mine.count := next(mine.count); last := 6; end;
    rule \"rest\" mine.mode = Busy ==> begin mine.mode := Idle; end;
  end;
end;

invariant \"small\" forall n: Node do table[n].count < 4 end;
";

#[test]
fn names_of_murphi_are_found_and_values_told() {
    let (mut editor, _) = Editor::start(&["utf-8", "utf-16"]);
    assert_eq!(editor.open("a.m", MURPHI), Vec::<Value>::new());
    let names = [
        ("mine.mode", 0, place(MURPHI, "mine: table", 0)),
        ("mode = Idle", 0, place(MURPHI, "mode: Mode", 0)),
        ("Idle", 1, place(MURPHI, "Idle", 0)),
        ("count < 4", 0, place(MURPHI, "count: 0..7", 0)),
        ("next(mine", 0, place(MURPHI, "next(n", 0)),
        ("n + 1", 0, place(MURPHI, "n: 0..7", 0)),
        ("n]", 0, place(MURPHI, "n: Node", 0)),
        ("Node do", 1, place(MURPHI, "Node: scalarset", 0)),
        ("Size)", 0, place(MURPHI, "Size:", 0)),
    ];
    for (word, number, (line, character)) in names {
        let (at_line, at) = place(MURPHI, word, number);
        let found = editor.ask_at("textDocument/definition", "a.m", at_line, at);
        let start = &found["range"]["start"];
        assert_eq!(
            (start["line"].clone(), start["character"].clone()),
            (line.into(), character.into()),
            "{word}"
        );
    }
    let (line, character) = place(MURPHI, "table:", 0);
    let hover = editor.ask_at("textDocument/hover", "a.m", line, character);
    let text = hover["contents"]["value"].as_str().unwrap();
    assert!(text.contains("- `table[..].mode`: Idle, Busy"), "{text}");
    assert!(text.contains("- `table[..].count`: 0..7"), "{text}");
    let (line, character) = place(MURPHI, "last:", 0);
    let hover = editor.ask_at("textDocument/hover", "a.m", line, character);
    assert!(hover["contents"]["value"].as_str().unwrap().contains("- `last`: 5..6"), "{hover}");
    let symbols = editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri("a.m") } }));
    let named = |symbols: &Value| -> Vec<String> {
        symbols.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(
        named(&symbols),
        ["Size", "Node", "Mode", "Entry", "table", "last", "next", "startstate", "work", "rest", "small"]
    );
    assert_eq!(named(&symbols[2]["children"]), ["Idle", "Busy", "Never"]);
    assert_eq!(named(&symbols[3]["children"]), ["mode", "count"]);
    editor.end();
}

#[test]
fn what_is_wrong_is_told_until_it_is_mended() {
    let (mut editor, _) = Editor::start(&[]);
    let wrong = DVE.replace("turn < N", "trun < N");
    let told = editor.open("a.dve", &wrong);
    assert_eq!(told.len(), 1, "{told:?}");
    let (line, character) = place(&wrong, "trun", 0);
    let start = &told[0]["range"]["start"];
    assert_eq!((start["line"].clone(), start["character"].clone()), (line.into(), character.into()));
    assert_eq!(told[0]["severity"], 1);
    assert!(told[0]["message"].as_str().unwrap().contains("did you mean `turn`?"), "{told:?}");
    // Names are known all the same.
    let (line, character) = place(&wrong, "own;", 0);
    let found = editor.ask_at("textDocument/definition", "a.dve", line, character);
    assert_eq!(found["range"]["start"]["line"], place(&wrong, "own", 0).0);
    // Half a model: what can be read of it still has symbols.
    let half = DVE.replace("system async;", "system").replace("sync c?got;", "sync c?");
    let change = |text: &str| {
        let document = json!({ "uri": uri("a.dve"), "version": 2 });
        json!({ "textDocument": document, "contentChanges": [{ "text": text }] })
    };
    editor.tell("textDocument/didChange", change(&half));
    assert!(!editor.diagnostics("a.dve").is_empty());
    let symbols =
        editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri("a.dve") } }));
    assert!(symbols.as_array().unwrap().iter().any(|symbol| symbol["name"] == "P"), "{symbols}");
    editor.tell("textDocument/didChange", change(DVE));
    assert!(editor.diagnostics("a.dve").is_empty());
    editor.tell("textDocument/didClose", json!({ "textDocument": { "uri": uri("a.dve") } }));
    assert!(editor.diagnostics("a.dve").is_empty());
    let (line, character) = place(DVE, "turn", 0);
    assert_eq!(editor.ask_at("textDocument/hover", "a.dve", line, character), Value::Null, "it is closed");
    editor.end();
}

#[test]
fn columns_are_counted_as_agreed() {
    // A crab is four bytes and two units.
    let text = "/* \u{1f980} */ byte x = 0; process P { state s; init s; trans s -> s { effect x = 1; }; } system async;";
    let at = text.rfind("x = 1").unwrap();
    for (offered, agreed, column, declared) in
        [(&["utf-8"][..], "utf-8", at, 16), (&[][..], "utf-16", at - 2, 14)]
    {
        let (mut editor, can) = Editor::start(offered);
        assert_eq!(can["positionEncoding"], agreed);
        editor.open("a.dve", text);
        let found = editor.ask_at("textDocument/definition", "a.dve", 0, column);
        assert_eq!(found["range"]["start"]["character"], declared, "{agreed}");
        editor.end();
    }
}

/// At every byte of every model: no request fails, a definition is in the text, and what is defined there is found from its own name.
#[test]
fn every_model_can_be_read_in_an_editor() {
    let (mut editor, _) = Editor::start(&["utf-8"]);
    let (mut definitions, mut hovers) = (0, 0);
    for path in models() {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let told = editor.open(&name, &text);
        assert!(told.iter().all(|it| it["severity"] != 1), "{name}: {told:?}");
        let symbols =
            editor.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri(&name) } }));
        assert!(symbols.as_array().is_some_and(|symbols| !symbols.is_empty()), "{name}");
        for (number, line) in text.lines().enumerate() {
            let begins = |at: &usize| {
                let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                word(line.as_bytes()[*at]) && (*at == 0 || !word(line.as_bytes()[at - 1]))
            };
            for column in (0..line.len()).filter(begins) {
                let found = editor.ask_at("textDocument/definition", &name, number, column);
                let Some(start) = found["range"]["start"].as_object() else { continue };
                definitions += 1;
                let (there, column_there) =
                    (start["line"].as_u64().unwrap() as usize, start["character"].as_u64().unwrap() as usize);
                let again = editor.ask_at("textDocument/definition", &name, there, column_there);
                assert_eq!(again, found, "{name}:{}:{column}", number + 1);
                if definitions % 20 == 0 {
                    assert!(editor.ask_at("textDocument/hover", &name, number, column).is_object());
                    hovers += 1;
                }
            }
        }
    }
    eprintln!("{definitions} definitions, {hovers} hovers");
    assert!(definitions > 8_000 && hovers > 400);
    editor.end();
}

#[test]
fn a_client_that_misbehaves_is_answered() {
    let (mut editor, _) = Editor::start(&[]);
    let nowhere =
        json!({ "textDocument": { "uri": uri("none.dve") }, "position": { "line": 0, "character": 0 } });
    assert_eq!(editor.ask("textDocument/hover", nowhere), Value::Null, "a text that is not open");
    let unknown = editor.response("textDocument/formatting", json!({}));
    assert_eq!(unknown.response_result.unwrap_err().code, -32601);
    let malformed = editor.response("textDocument/hover", json!({ "position": "here" }));
    assert_eq!(malformed.response_result.unwrap_err().code, -32602);
    editor.tell("textDocument/didOpen", json!({ "textDocument": 7 }));
    editor.tell("workspace/didChangeConfiguration", json!({}));
    let other = json!({ "uri": "file:///a.txt", "languageId": "text", "version": 1, "text": "hello" });
    editor.tell("textDocument/didOpen", json!({ "textDocument": other }));
    editor.open("a.dve", DVE);
    for (line, character) in [(0, u32::MAX), (u32::MAX, 0), (u32::MAX, u32::MAX)] {
        editor.ask_at("textDocument/definition", "a.dve", line as usize, character as usize);
    }
    editor.end();
    // One that goes away without a word.
    let (mut editor, _) = Editor::start(&[]);
    editor.input.take().unwrap().flush().unwrap();
    assert!(editor.server.wait().unwrap().success());
}
