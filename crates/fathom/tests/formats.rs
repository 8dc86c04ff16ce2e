//! Do other tools read what is written for them? Small readers of each format, which share nothing with the writers.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

mod command;

use std::collections::HashMap;
use std::path::Path;

use command::Ran;
use serde_json::Value;

/// Runs the binary where the models are.
fn fathom(words: &[&str]) -> Ran {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Ran::of(command::fathom(words).current_dir(root).output().expect("the binary runs"))
}

/// Runs a check in a folder of its own and reads the file that it wrote.
fn written(arguments: &[&str], option: &str, name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut all = vec!["check"];
    all.extend(arguments);
    let path = path.to_str().unwrap();
    all.extend([option, path, "--quiet", "--threads", "1"]);
    let ran = fathom(&all);
    assert_eq!(ran.code, Some(1), "{all:?}: {}", ran.stderr);
    std::fs::read_to_string(Path::new(path)).unwrap()
}

const GATE: [&str; 3] = ["models/railway_gate.dve", "--reach", "Gate.closed"];
const PETERSON: [&str; 3] = ["models/peterson.dve", "--ltl", "[] <> P_0.critical"];
const BAKER: [&str; 3] = ["models/producer_consumer.dve", "--reach", "Eater_0.chews"];

/// Elements and attributes of XML, refusing what is not well formed.
fn elements(text: &str) -> Vec<(String, HashMap<String, String>, String)> {
    let mut open: Vec<usize> = Vec::new();
    let mut found: Vec<(String, HashMap<String, String>, String)> = Vec::new();
    let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").expect("a declaration");
    while let Some(at) = rest.find('<') {
        if let Some(inside) = open.last() {
            found[*inside].2.push_str(&unescaped(&rest[..at]));
        }
        let end = rest.find('>').expect("tags end");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let inside = open.pop().expect("an element is open");
            assert_eq!(found[inside].0, name);
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, mut attributes_text) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = HashMap::new();
        while let Some((name, value)) = attributes_text.split_once("=\"") {
            let (value, more) = value.split_once('"').expect("a value ends");
            attributes.insert(name.trim().to_owned(), unescaped(value));
            attributes_text = more;
        }
        if !empty {
            open.push(found.len());
        }
        found.push((name.to_owned(), attributes, String::new()));
    }
    assert!(open.is_empty(), "all elements end");
    found
}

fn unescaped(text: &str) -> String {
    assert!(
        !text.contains(|letter: char| letter.is_control() && letter != '\n'),
        "XML holds no such character"
    );
    for piece in text.split('&').skip(1) {
        assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|it| piece.starts_with(it)), "{piece}");
    }
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

#[test]
fn a_build_server_reads_verdicts() {
    let text = written(
        &[&GATE[..], &["--invariant", "T_0.away", "--stop", "never"]].concat(),
        "--junit",
        "report.xml",
    );
    let all = elements(&text);
    let suite = all.iter().find(|(name, ..)| name == "testsuite").unwrap();
    let cases: Vec<_> = all.iter().filter(|(name, ..)| name == "testcase").collect();
    assert_eq!(suite.1["tests"], cases.len().to_string());
    assert_eq!(suite.1["failures"], "2");
    assert!(
        cases
            .iter()
            .all(|case| case.1["classname"] == "models/railway_gate.dve" && case.1.contains_key("time"))
    );
    let failures: Vec<_> = all.iter().filter(|(name, ..)| name == "failure").collect();
    assert_eq!(failures.len(), 2);
    assert!(failures.iter().any(|failure| failure.2.contains("Controller: free -> first")), "{failures:?}");
}

#[test]
fn an_editor_reads_results_and_flows() {
    let text = written(&GATE, "--sarif", "report.sarif");
    let log: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&log["version"], &log["runs"][0]["tool"]["driver"]["name"]),
        (&"2.1.0".into(), &"fathom".into())
    );
    let result = &log["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"reach".into(), &"error".into()));
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][0]["id"], result["ruleId"]);
    let steps = result["codeFlows"][0]["threadFlows"][0]["locations"].as_array().unwrap();
    assert_eq!(steps.len(), 3);
    let place = &steps[1]["location"]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "models/railway_gate.dve");
    assert_eq!(place["region"]["startLine"], 43);
    assert!(steps[1]["location"]["message"]["text"].as_str().unwrap().contains("approach(2)"));
}

#[test]
fn a_build_shows_what_was_found_at_its_line() {
    let outcome = fathom(&["check", "models/faults.dve", "--annotate", "github", "--quiet"]);
    let line = outcome.stdout.lines().find(|line| line.starts_with("::error ")).expect("there is a mark");
    assert!(line.starts_with("::error file=models/faults.dve,line=26,col="), "{line}");
}

/// Signals with their kinds, and the values that all have after each tick.
type Waves = (Vec<(String, String)>, Vec<HashMap<String, String>>);

/// The names of variables and their values tick by tick, from a dump of value changes.
fn waves(text: &str) -> Waves {
    let (head, body) = text.split_once("$enddefinitions $end").expect("definitions end");
    let (mut scopes, mut names, mut kinds) = (Vec::new(), HashMap::new(), Vec::new());
    for line in head.lines() {
        match line.split_whitespace().collect::<Vec<_>>()[..] {
            ["$scope", "module", name, "$end"] => scopes.push(name),
            ["$upscope", "$end"] => drop(scopes.pop().expect("a scope is open")),
            ["$var", kind, bits, code, name, "$end"] => {
                assert!(bits.parse::<u32>().is_ok());
                let full = [&scopes[1..], &[name]].concat().join(".");
                kinds.push((full.clone(), kind.to_owned()));
                assert!(names.insert(code.to_owned(), full).is_none(), "codes are different");
            }
            _ => assert!(line.starts_with("$version") || line.starts_with("$timescale"), "{line}"),
        }
    }
    assert!(scopes.is_empty());
    let (mut now, mut ticks) = (HashMap::new(), Vec::new());
    for line in body.lines().filter(|line| !line.is_empty()) {
        let (value, code) = match line.as_bytes()[0] {
            b'#' => {
                assert_eq!(line[1..], ticks.len().to_string());
                ticks.push(HashMap::new());
                continue;
            }
            b's' => line[1..].split_once(' ').expect("a text and a code"),
            b'b' => line[1..].split_once(' ').expect("a number and a code"),
            _ => line.split_at(1),
        };
        now.insert(names[code].clone(), value.to_owned());
        *ticks.last_mut().unwrap() = now.clone();
    }
    (kinds, ticks)
}

#[test]
fn a_viewer_of_waves_reads_a_run() {
    let (kinds, ticks) = waves(&written(&BAKER, "--trace", "run.vcd"));
    assert!(kinds.contains(&("made".into(), "integer".into())), "{kinds:?}");
    assert!(kinds.contains(&("Baker_1.serial".into(), "integer".into())));
    assert_eq!(ticks.len(), 5, "four states and the end of the last");
    assert_eq!((&*ticks[2]["shelf_queue"], &*ticks[2]["Baker_1"]), ("[1]", "bakes"));
    assert_eq!((&*ticks[0]["made"], &*ticks[1]["made"], &*ticks[3]["Eater_0"]), ("0", "1", "chews"));
    let (_, ticks) = waves(&written(&PETERSON, "--trace", "run.vcd"));
    assert_eq!((&*ticks[0]["for_ever"], &*ticks[ticks.len() - 2]["for_ever"]), ("0", "1"));
}

#[test]
fn tools_for_apalache_read_a_run() {
    let trace: Value = serde_json::from_str(&written(&PETERSON, "--trace", "run.itf.json")).unwrap();
    assert_eq!(trace["#meta"]["format"], "ITF");
    assert_eq!(trace["vars"], serde_json::json!(["wants", "turn", "P_0", "P_1"]));
    let states = trace["states"].as_array().unwrap();
    for (index, state) in states.iter().enumerate() {
        assert_eq!(state["#meta"]["index"], index);
        for name in trace["vars"].as_array().unwrap() {
            assert!(!state[name.as_str().unwrap()].is_null(), "every state has every variable");
        }
    }
    assert!((trace["loop"].as_u64().unwrap() as usize) < states.len());
    let path: Value = serde_json::from_str(&written(&GATE, "--trace", "run.itf.json")).unwrap();
    assert_eq!((path["states"].as_array().unwrap().len(), &path["loop"]), (3, &Value::Null));
    assert_eq!(path["states"][2]["Gate"]["state"], "closed");
}

/// Statements of GraphViz: nodes with their labels, and edges.
fn drawn(text: &str) -> (Vec<String>, Vec<(String, String)>) {
    assert!(text.starts_with("digraph trace {") && text.trim_end().ends_with('}'));
    assert_eq!(text.matches('{').count(), text.matches('}').count(), "in models without braces");
    let statements =
        text.lines().map(str::trim).filter(|line| line.starts_with('s') && !line.starts_with("subgraph"));
    let (mut nodes, mut edges) = (Vec::new(), Vec::new());
    for statement in statements {
        let (what, _) = statement.split_once([' ', ';']).unwrap();
        match statement.split_once(" -> ").filter(|(before, _)| *before == what) {
            Some((from, to)) => {
                let to = to.split([' ', ';']).next().unwrap();
                edges.push((from.to_owned(), to.to_owned()));
            }
            None => nodes.push(what.to_owned()),
        }
    }
    (nodes, edges)
}

#[test]
fn graphviz_reads_a_run() {
    let text = written(&PETERSON, "--trace", "run.dot");
    let (nodes, edges) = drawn(&text);
    assert_eq!(nodes.len(), edges.len(), "a lasso has an edge for each state");
    assert!(edges.iter().all(|(from, to)| nodes.contains(from) && nodes.contains(to)));
    let (nodes, edges) = drawn(&written(&GATE, "--trace", "run.dot"));
    assert_eq!((nodes.len(), edges.len()), (3, 2));
}

#[test]
fn mermaid_reads_a_run() {
    let text = written(&BAKER, "--trace", "run.mmd");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("sequenceDiagram"));
    let mut names = HashMap::new();
    let mut arrows = Vec::new();
    for line in lines.map(str::trim) {
        assert!(!line.contains(';') || line.contains('#'), "{line}");
        if let Some(participant) = line.strip_prefix("participant ") {
            let (code, name) = participant.split_once(" as ").unwrap();
            names.insert(code, name);
        } else if let Some((from, rest)) = line.split_once("->>") {
            let (to, said) = rest.split_once(": ").unwrap();
            arrows.push((names[from], names[to], said));
        } else {
            assert!(line.starts_with("Note over p"), "{line}");
        }
    }
    assert_eq!(arrows[0], ("Baker_1", "Baker_1", "bakes #45;#62; carries"));
    assert_eq!(arrows[1], ("Baker_1", "shelf_queue", "shelf_queue(1)"));
    assert_eq!(arrows[2], ("shelf_queue", "Eater_0", "shelf_queue(1)"));
    let lasso = written(&PETERSON, "--trace", "run.mmd");
    assert_eq!(lasso.matches("loop for ever").count(), 1);
    assert_eq!(lasso.lines().filter(|line| line.trim() == "end").count(), 1);
}

#[test]
fn a_page_holds_all_it_needs_and_nothing_in_it_is_obeyed() {
    let folder = tempfile::tempdir().unwrap();
    let (model, page) = (folder.path().join("<b>&x.m"), folder.path().join("page.html"));
    let text = "var n : 0..3;\nstartstate \"</script><script>alert(1)</script>\" n := 0; end;\n\
                rule \"<img src=x onerror=alert(2)> \\u202e\" n < 3 ==> n := n + 1; end;\ninvariant \"</script>\" n < 2;\n";
    std::fs::write(&model, text).unwrap();
    let arguments = ["check", model.to_str().unwrap(), "--html", page.to_str().unwrap(), "--quiet"];
    assert_eq!(fathom(&arguments).code, Some(1));
    let html = std::fs::read_to_string(page).unwrap();
    assert_eq!(html.matches("<script").count(), 4, "data, explorer, modules, and where they begin");
    assert_eq!(html.matches("</script>").count(), 4);
    assert!(!html.contains("<img") && html.contains("<title>") && html.contains("&lt;b>&amp;x.m"));
    assert!(
        !html.contains("http://")
            || html.matches("http://").count() == html.matches("http%3A%2F%2Fwww.w3.org").count()
    );
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["traces"][0]["columns"], serde_json::json!(["n"]));
    assert_eq!(data["traces"][0]["states"].as_array().unwrap().len(), 3);
    assert_eq!(data["traces"][0]["states"][2]["set"], serde_json::json!([[0, "2"]]));
    assert_eq!(data["source"]["text"], text);
}

#[test]
fn a_saved_run_is_executed_again_and_ends_where_the_model_was_edited() {
    let folder = tempfile::tempdir().unwrap();
    let (model, trace) = (folder.path().join("gate.dve"), folder.path().join("run.json"));
    let text = std::fs::read_to_string(command::model("railway_gate.dve")).unwrap();
    std::fs::write(&model, &text).unwrap();
    let (model_name, trace_name) = (model.to_str().unwrap(), trace.to_str().unwrap());
    assert_eq!(
        fathom(&["check", model_name, "--reach", "Gate.closed", "--trace", trace_name, "--quiet"]).code,
        Some(1)
    );
    let again =
        command::run(&["check", model_name, "--reach", "Gate.closed", "--json", "-", "--quiet"]).json();
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(&trace).unwrap()).unwrap();
    assert_eq!((&again["schema"], &saved["schema"]), (&2.into(), &2.into()));
    assert_eq!(again["properties"][0]["trace"], saved["traces"][0]["trace"]);
    let same = fathom(&["replay", model_name, trace_name]);
    assert_eq!((same.code, &*same.stdout), (Some(0), "Gate.closed: all of it is possible, 2 steps\n"));
    std::fs::write(&model, text.replacen("opened -> closed", "closed -> closed", 1)).unwrap();
    let edited = fathom(&["replay", model_name, trace_name]);
    assert_eq!(edited.code, Some(1));
    assert!(edited.stdout.contains("step 2 is not possible any more"), "{}", edited.stdout);
}
