//! Does `fathom view` answer its own reader, and nobody else? It is asked over its socket, as a browser would, and as others would.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod endless;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use endless::endless;
use oracle::skip::skipped;
use serde_json::{Value, json};

struct Server {
    process: Child,
    host: String,
    secret: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        let mut process = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .arg("view")
            .args(arguments)
            .args(["--threads", "1"])
            .current_dir(root())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap_or_else(|| panic!("no address: {line}"));
        let mut parts = address.split('/');
        let (host, secret) = (parts.next().unwrap().to_owned(), parts.next().unwrap().to_owned());
        Server { process, host, secret }
    }

    /// Sends a request as it stands, and says the status and what follows.
    fn raw(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer)
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String) {
        self.raw(&format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
    }

    fn ask(&self, question: &Value) -> Value {
        let (body, host, secret) = (question.to_string(), &self.host, &self.secret);
        let head = format!("POST /{secret}/ask HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n");
        let (status, answer) =
            self.raw(&format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// The end of a search that has begun.
    fn end(&self, mut answer: Value) -> Value {
        while answer["end"].is_null() {
            assert!(answer["error"].is_null(), "{answer}");
            answer = self.ask(&json!({ "ask": "go_on", "states": 0 }));
        }
        answer
    }
}

fn opening() -> Value {
    let options = json!({ "constants": [], "wrap": false, "symmetry": false, "max_loop": null });
    json!({ "ask": "open", "name": "", "text": "", "language": "dve", "options": options })
}

#[test]
fn nobody_is_answered_who_lacks_the_secret_or_comes_from_elsewhere() {
    let server = Server::start(&["models/peterson.dve"]);
    let (host, secret) = (&server.host, &server.secret);
    let own = format!("Host: {host}\r\n");
    let page = format!("/{secret}/");
    let (status, answer) = server.get(&page, &own);
    assert_eq!(status, 200);
    assert!(answer.contains("Cross-Origin-Resource-Policy: same-origin"), "{}", &answer[..800]);
    assert!(answer.contains("connect-src 'self'"));
    let port = host.rsplit_once(':').unwrap().1;
    for (path, headers, expected) in [
        ("/", own.clone(), 404),
        ("/favicon.ico", own.clone(), 404),
        (&format!("/{}/", "0".repeat(secret.len())), own.clone(), 404),
        (&format!("/{secret}/../../etc/passwd"), own.clone(), 404),
        (&format!("/{secret}/ask"), own.clone(), 405),
        (&page, format!("Host: evil.example:{port}\r\n"), 403),
        (&page, format!("{own}Origin: http://evil.example\r\n"), 403),
        (&page, format!("{own}Origin: null\r\n"), 403),
        (&page, format!("{own}Sec-Fetch-Site: cross-site\r\n"), 403),
        (&page, String::new(), 403),
    ] {
        assert_eq!(server.get(path, &headers).0, expected, "{path} {headers}");
    }
    let (status, _) = server.raw(&format!("DELETE {page} HTTP/1.1\r\n{own}Connection: close\r\n\r\n"));
    assert_eq!(status, 405);
    let forged = format!(
        "POST /{secret}/ask HTTP/1.1\r\n{own}Connection: close\r\nContent-Length: 4\r\n\r\n\u{0}{{{{{{"
    );
    assert!(server.raw(&forged).1.contains("error"));
}

#[test]
fn the_real_engine_answers_from_any_state_that_was_shown() {
    let server = Server::start(&["models/peterson.dve"]);
    let opened = server.ask(&opening());
    let start = &opened["initial"][0]["state"]["record"];
    let search = |records: Value, expression: Value, value: bool| {
        let question = json!({ "ask": "search", "records": records, "expression": expression, "value": value, "states": 1 });
        server.end(server.ask(&question))
    };
    let found = search(json!([]), json!("P_1.critical"), true);
    assert_eq!((&found["end"], found["actions"].as_array().unwrap().len()), (&json!("found"), 3), "{found}");
    let all = search(json!([]), Value::Null, true);
    assert_eq!((&all["end"], &all["states"], &all["transitions"]), (&json!("all"), &20.into(), &34.into()));
    let never = search(json!([start]), json!("P_0.critical && P_1.critical"), true);
    assert_eq!((&never["end"], &never["actions"]), (&json!("all"), &Value::Null), "{never}");
    // From two steps on, one less is needed than from one.
    let steps =
        server.ask(&json!({ "ask": "follow", "record": start, "actions": found["actions"], "skip": 0 }));
    let second = &steps["states"][0]["state"]["record"];
    let nearer = search(json!([second]), json!("P_1.critical"), true);
    assert_eq!(
        (nearer["actions"].as_array().unwrap().len(), &nearer["start"]["record"]),
        (2, second),
        "{nearer}"
    );
    let foreign = json!({ "ask": "successors", "record": "ffffffffffffffff" });
    assert!(server.ask(&foreign)["error"].as_str().unwrap().contains("no state that was shown"));
    let wrong =
        json!({ "ask": "search", "records": [], "expression": "turn ==", "value": true, "states": 1 });
    assert!(!server.ask(&wrong)["error"].is_null());
    let checked = server.end(server.ask(&json!({ "ask": "check" })));
    assert_eq!((&checked["verdict"], &checked["states"]), (&json!("holds"), &20.into()), "{checked}");
}

#[test]
fn a_search_is_watched_while_it_runs_and_stopped() {
    let server = Server::start(&["models/bakery_four.dve"]);
    let mut answer = server.ask(&json!({ "ask": "check" }));
    let mut seen = Vec::new();
    while answer["end"].is_null() && seen.len() < 5 {
        seen.push(answer["states"].as_u64().unwrap());
        answer = server.ask(&json!({ "ask": "go_on", "states": 0 }));
    }
    assert!(seen.is_sorted(), "{seen:?}");
    server.ask(&json!({ "ask": "stop" }));
    assert!(!server.ask(&json!({ "ask": "go_on", "states": 0 }))["error"].is_null());
}

#[test]
fn traces_and_folders_are_opened_with_the_model_they_are_of() {
    let folder = tempfile::tempdir().unwrap();
    let (trace, search) = (folder.path().join("run.json"), folder.path().join("search"));
    let words = ["check", "models/railway_gate.dve", "--reach", "Gate.closed", "--quiet", "--threads", "1"];
    let made = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words)
        .args(["--trace", trace.to_str().unwrap(), "--dir", search.to_str().unwrap()])
        .current_dir(root())
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(1), "{made:?}");
    let server = Server::start(&[trace.to_str().unwrap()]);
    let (status, page) = server.get(&format!("/{}/", server.secret), &format!("Host: {}\r\n", server.host));
    assert_eq!(status, 200);
    assert!(
        page.contains("\"heading\":\"Gate.closed is reachable after 2 steps\"")
            && page.contains("railway_gate.dve")
    );
    let server = Server::start(&[search.to_str().unwrap()]);
    let opened = server.ask(&opening());
    assert!(opened["columns"].as_array().unwrap().contains(&"Gate".into()), "{opened}");
    let told = server.ask(&json!({ "ask": "watch" }));
    assert_eq!((&told["held"], &told["report"]["verdict"]), (&json!(false), &json!("violated")), "{told}");
}

/// What a browser has of a page that is served after so many seconds of its own time; nothing if there is no browser.
fn browsed(server: &Server, seconds: u64) -> Option<String> {
    let page = dumped(&format!("http://{}/{}/", server.host, server.secret), seconds)?;
    // The model's own text stands in scripts, and may say what it likes.
    let (_, shown) = page.split_once("<main").unwrap();
    let (shown, _) = shown.split_once("</main>").unwrap();
    for odd in ["[object", "undefined", "NaN"] {
        assert!(!shown.contains(odd), "{odd}: {shown}");
    }
    Some(page)
}

/// What a reader leaves in the page who does what a script says: another server stands between, and puts the script in.
fn read_by(server: &Server, script: &str) -> Option<String> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/{}/", listener.local_addr().unwrap(), server.secret);
    let script = &*format!("<script type=\"module\">{script}</script></body>");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for stream in listener.incoming() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let mut stream = stream.unwrap();
                // A browser opens connections that it may not use.
                scope.spawn(move || pass_on(&mut stream, server, script));
            }
        });
        let seen = dumped(&address, 600);
        over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(listener.local_addr().unwrap());
        seen
    })
}

/// Passes one request on to the server as its own, and the answer back; the page has the script in it.
fn pass_on(stream: &mut TcpStream, server: &Server, script: &str) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut first, mut length) = (String::new(), 0);
    if reader.read_line(&mut first).unwrap_or(0) == 0 {
        return;
    }
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        let (name, value) = line.split_once(':').unwrap();
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let (host, body) = (&server.host, String::from_utf8(body).unwrap());
    let request =
        format!("{first}Host: {host}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    let (status, answer) = server.raw(&request);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let kind =
        head.lines().find(|line| line.starts_with("Content-Type")).unwrap_or("Content-Type: text/plain");
    let body = body.replacen("</body>", script, 1);
    let head = format!(
        "HTTP/1.1 {status} -\r\n{kind}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    // Whoever asked may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

/// The page at an address after so many seconds of a browser's own time; nothing if there is no browser.
fn dumped(address: &str, seconds: u64) -> Option<String> {
    let browser = ["chromium", "chromium-browser"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    let Some(browser) = browser else {
        skipped("what a browser shows of a page that is served", "chromium is not installed");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args([&format!("--virtual-time-budget={}", seconds * 1000), "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(address)
        .output()
        .unwrap();
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_browser_explores_what_is_served() {
    let Some(seen) = browsed(&Server::start(&["models/peterson.dve"]), 600) else { return };
    assert!(seen.contains("data-explored=\"yes\""), "{seen}");
    assert_eq!(seen.matches("class=\"choice\"").count(), 2, "{seen}");
    assert!(seen.contains("check what the model states"), "{seen}");
}

/// Two that may both write, and nobody tells them apart.
const WRITERS: &str = "type Cache : scalarset(2);\nvar st : array [Cache] of enum { Idle, Asks, Writes };\n\
  startstate for c : Cache do st[c] := Idle; end; end;\n\
  ruleset c : Cache do\n  rule \"ask\" st[c] = Idle ==> st[c] := Asks; end;\n  rule \"write\" st[c] = Asks ==> st[c] := Writes; end;\n  rule \"rest\" st[c] = Writes ==> st[c] := Idle; end;\nend;\n\
  invariant \"single writer\" forall a : Cache do forall b : Cache do (a != b & st[a] = Writes) -> st[b] != Writes end end;\n";

#[test]
fn a_saved_run_has_its_verdict_and_stays_when_a_check_finds_another() {
    let folder = tempfile::tempdir().unwrap();
    let (model, trace) = (folder.path().join("writers.m"), folder.path().join("run.json"));
    std::fs::write(&model, WRITERS).unwrap();
    let made = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(["check", model.to_str().unwrap(), "--quiet", "--threads", "1"])
        .args(["--trace", trace.to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(1), "{made:?}");
    let server = Server::start(&[trace.to_str().unwrap()]);
    let script = r#"
      const text = (selector) => [...document.querySelectorAll(selector)].map((it) => it.textContent).join("|");
      const moment = () => new Promise((resolve) => setTimeout(resolve, 100));
      while (!document.documentElement.dataset.explored) await moment();
      const seen = { banner: text(".banner"), heading: text(".heading"), reason: text(".reason"), symmetry: text(".symmetry"), first: text("thead th.decisive bdi") };
      const button = [...document.querySelectorAll("button")].find((it) => it.textContent === "check what the model states");
      button.click();
      while (document.querySelectorAll(".runs option").length < 2) await moment();
      Object.assign(seen, { found: text(".heading"), runs: text(".runs option"), verdicts: text(".checking li") });
      const result = document.createElement("pre");
      result.id = "seen";
      result.textContent = JSON.stringify(seen);
      document.body.append(result);
    "#;
    let Some(dom) = read_by(&server, script) else { return };
    let seen = dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let seen = seen.unwrap_or_else(|| panic!("nothing was seen: {dom}")).0.replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&seen.replace("&gt;", ">")).unwrap();
    let heading = "single writer is violated after 4 steps";
    assert_eq!((&seen["banner"], &seen["heading"]), (&json!(heading), &json!(heading)), "{seen}");
    assert!(seen["reason"].as_str().unwrap().contains("st[Cache_1] = Writes"), "{seen}");
    assert!(seen["symmetry"].as_str().unwrap().starts_with("Symmetry is off"), "{seen}");
    assert_eq!(seen["first"], "st[Cache_1]|st[Cache_2]", "{seen}");
    assert_eq!(
        (&seen["found"], &seen["runs"]),
        (&json!(heading), &json!(format!("{heading}|{heading}"))),
        "{seen}"
    );
    assert!(
        seen["verdicts"].as_str().unwrap().starts_with("violated single writer (line 9)|not decided"),
        "{seen}"
    );
}

/// A search in a process of its own, which ends when this does.
struct Searching(Child);

impl Drop for Searching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_search_in_a_folder_is_watched_while_it_runs_and_after() {
    let folder = tempfile::tempdir().unwrap();
    let search = folder.path().join("search");
    let model = endless(folder.path());
    let words = ["explore", &model, "--engine", "tier", "--data-budget", "256KiB", "-j", "1"];
    let running = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words)
        .args(["--quiet", "--commit-every", "0s", "--dir", search.to_str().unwrap()])
        .current_dir(root())
        .spawn()
        .unwrap();
    let running = Searching(running);
    while !search.join("run.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let server = Server::start(&[search.to_str().unwrap()]);
    let mut told = server.ask(&json!({ "ask": "watch" }));
    while told["told"].is_null() {
        assert_eq!(told["held"], true, "{told}");
        told = server.ask(&json!({ "ask": "watch" }));
    }
    assert!(told["told"]["lines"].as_array().unwrap().len() > 2, "{told}");
    // Its time stands still while it waits for an answer: a few looks, while the search goes on.
    let seen = browsed(&server, 5);
    drop(running);
    if let Some(seen) = seen {
        assert!(
            seen.contains("data-watched=\"running\"") && seen.contains("The search is running."),
            "{seen}"
        );
        let seen = browsed(&server, 5).unwrap();
        assert!(seen.contains("data-watched=\"interrupted\"") && seen.contains("--resume"), "{seen}");
    }
    let told = server.ask(&json!({ "ask": "watch" }));
    assert_eq!((&told["held"], &told["report"]), (&json!(false), &Value::Null));
}
