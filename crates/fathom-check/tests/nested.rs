//! Are states told as their models nest them, and faults with what made them?

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

use fathom_check::answers::check::{self, Checked, Stop};
use fathom_check::model::assemble::{Language, Model, ModelOptions};
use fathom_check::monitor::Clock;
use fathom_check::questions::plan::{Plan, Questions};
use fathom_check::resources::Resources;
use fathom_check::trace::Trace;
use fathom_lang::source::SourceText;
use fathom_search::engines::engine::Chosen;
use fathom_search::engines::ram;
use serde_json::{Value, json};

fn model(name: &str, text: &str) -> Model {
    let language = if name.ends_with(".m") { Language::Murphi } else { Language::Dve };
    Model::compile(SourceText::new(name, text), language, &ModelOptions::default()).unwrap()
}

fn checked(model: &Model, goal: Option<&str>) -> Checked {
    let goals = goal.map(str::to_owned).into_iter().collect();
    let plan = Plan::new(model, &Questions { goals, ..Questions::default() }).unwrap();
    let (resources, clock) = (Resources::of_this_machine(), Clock::new(None));
    let engine = Chosen::plain(&ram::ENGINE);
    check::check(model, &plan, &engine, Stop::First, &resources, &clock, None).unwrap()
}

fn only(checked: &Checked) -> &Trace {
    checked.answers.iter().find_map(|answer| answer.trace.as_ref()).expect("there is a run")
}

fn told(model: &Model, trace: &Trace) -> Value {
    serde_json::to_value(trace.told(model)).unwrap()
}

const NETWORK: &str = r#"
const Size : 3;
type
  Node : scalarset(2);
  Kind : enum { request, reply };
  Message : record kind : Kind; dest : Node; hops : 0..3; end;
var
  net : multiset[Size] of Message;
  cells : array[Node] of record busy : boolean; log : array[1..2] of 0..9; end;
  grid : array[0..1] of array[Kind] of 0..9;
  count : 0..3;
startstate
  undefine net; clear grid; count := 0;
  for n : Node do cells[n].busy := false; undefine cells[n].log; end;
end;
ruleset n : Node do
  rule "send" multisetcount(m : net, true) < 2 ==>
  var message : Message;
  begin
    message.kind := request; message.dest := n; message.hops := 0;
    multisetadd(message, net);
    cells[n].busy := true; cells[n].log[2] := 7;
    grid[1][reply] := 4;
  end;
end;
rule "count" count := count + 1; end;
"#;

#[test]
fn records_arrays_and_multisets_are_told_as_such() {
    let model = model("network.m", NETWORK);
    let checked = checked(&model, Some("multisetcount(m : net, true) = 1"));
    let run = told(&model, only(&checked));
    let empty = json!({ "busy": false, "log": { "1": null, "2": null } });
    let expected = json!({
        "net": [],
        "cells": { "Node_1": empty, "Node_2": empty },
        "grid": [{ "request": 0, "reply": 0 }, { "request": 0, "reply": 0 }],
        "count": 0,
    });
    assert_eq!(run["stem"][0]["state"], expected);
    let last = &run["stem"][1];
    let to = last["state"]["net"][0]["dest"].as_str().unwrap();
    assert_eq!(last["state"]["net"], json!([{ "kind": "request", "dest": to, "hops": 0 }]));
    assert_eq!(last["state"]["cells"][to], json!({ "busy": true, "log": { "1": null, "2": 7 } }));
    let changed =
        json!(["net", format!("cells[{to}].busy"), format!("cells[{to}].log[2]"), "grid[1][reply]"]);
    assert_eq!(last["changed"], changed);
}

#[test]
fn a_fault_says_which_range_was_left() {
    let model = model("network.m", NETWORK);
    let checked = checked(&model, None);
    let fault = only(&checked).fault.clone().unwrap();
    assert_eq!(fault.detail.as_deref(), Some("`count` would become 4, outside 0..3"));
    assert_eq!(fault.values.to_string(), "(count = 3)");
    assert!(fault.expression.unwrap().contains("count + 1"));
}

#[test]
fn a_fault_under_a_quantifier_names_the_element_that_has_no_value() {
    // Written out, gone round, nested, in an invariant, a guard and a body: the first instance is as undefined, but never read.
    let conditions = [
        "forall a: C do st[a] -> val[a] = 1 end",
        "forall a: C do !st[a] | val[a] = 1 end",
        "!exists a: C do st[a] & val[a] = 2 end",
        "forall a: C do forall b: C do a != b & st[a] -> val[a] = 1 end end",
    ];
    for elements in ["1..3", "1..9", "scalarset(3)"] {
        let start = "for c: C do st[c] := false; undefine val[c]; end;";
        let head = format!(
            "type C: {elements};\nvar st: array [C] of boolean; val: array [C] of 0..3; done: boolean; n: 0..1;\n\
             startstate begin {start} done := false; n := 0; end;\n"
        );
        // Of alike elements any may go.
        let who = if elements == "scalarset(3)" { "true" } else { "c = 2" };
        let go = format!(
            "ruleset c: C do rule \"go\" {who} & !done ==> begin st[c] := true; done := true; end; end;\n"
        );
        for condition in conditions {
            let questions = [
                format!("invariant \"v\" {condition};\n"),
                format!("rule \"reads\" {condition} & n = 1 ==> begin n := 0; end;\n"),
                format!("rule \"reads\" n = 0 ==> begin if {condition} then n := 1; end; end;\n"),
            ];
            for question in questions {
                let model = model("quantified.m", &format!("{head}{go}{question}"));
                let checked = checked(&model, None);
                let mut traces = checked.answers.iter().filter_map(|answer| answer.trace.as_ref());
                let trace = traces.find(|trace| trace.fault.is_some()).expect("it faults");
                let run = told(&model, trace);
                let stem = run["stem"].as_array().unwrap();
                let state = &stem.last().unwrap()["state"]["st"];
                let names = state.as_object().unwrap().iter();
                let set: Vec<&String> =
                    names.filter(|(_, set)| **set == json!(true)).map(|(name, _)| name).collect();
                let detail = trace.fault.clone().unwrap().detail.unwrap();
                assert_eq!(detail, format!("`val[{}]` has no value", set[0]), "{elements} {question}");
            }
        }
    }
}

#[test]
fn a_step_says_what_it_has_chosen_out_of_a_multiset() {
    let text = "
type Node: scalarset(2); Kind: enum {request, reply};
var net: array [Node] of multiset [3] of record kind: Kind; hops: 0..2; from: Node; end;
    plain: multiset [2] of 5..9; done: boolean;
startstate begin
  for n: Node do undefine net[n]; end; undefine plain; done := false;
  MultisetAdd(7, plain); MultisetAdd(5, plain);
end;
ruleset n: Node do
  rule \"send\" MultisetCount(i: net[n], true) = 0 ==>
  var m: record kind: Kind; hops: 0..2; from: Node; end;
  begin m.kind := request; m.hops := 1; undefine m.from; MultisetAdd(m, net[n]); end;
  choose i: net[n] do choose k: plain do
    alias m: net[n][i] do
      rule \"take\" plain[k] = 7 & m.hops = 1 ==> begin MultisetRemove(i, net[n]); done := true; end;
    end;
  end end;
end;
invariant \"not yet\" !done;
";
    let model = model("chosen.m", text);
    let checked = checked(&model, None);
    let run = told(&model, only(&checked));
    let stem = run["stem"].as_array().unwrap();
    let step = &stem.last().unwrap()["step"];
    assert!(step["title"].as_str().unwrap().starts_with("take, n: Node_"), "{step}");
    assert_eq!(step["chosen"], json!([["i", "(kind = request, hops = 1)"], ["k", "7"]]));
    assert_eq!(stem[1]["step"].get("chosen"), None);
}

const QUEUE: &str = "
channel {byte, int} two[3];
channel {byte} one[2];
byte a[2] = {1, 0}, n = 6;
process P { byte x = 5; state idle, busy; init idle;
  trans idle -> busy { sync two!{x, 0 - 3}; effect a[1] = 2; }, busy -> idle { sync one!{x}; effect x = x + 1; }; }
process Q { int k[2]; state s; init s; trans s -> s { guard n < 0; }; }
system async;
";

#[test]
fn processes_and_channels_are_told_as_such() {
    let model = model("queue.dve", QUEUE);
    let checked = checked(&model, Some("P->x == 6"));
    let run = told(&model, only(&checked));
    let expected = json!({
        "two": [[5, -3]], "one": [5], "a": [1, 2], "n": 6,
        "P": { "state": "idle", "x": 6 }, "Q": { "state": "s", "k": [0, 0] },
    });
    assert_eq!(run["stem"][2]["state"], expected);
    assert_eq!(run["stem"][2]["changed"], json!(["one", "P", "P.x"]));
    assert_eq!(run["because"], json!({ "condition": "P->x == 6", "holds": true, "values": { "P.x": 6 } }));
}

#[test]
fn faults_of_all_kinds_say_what_was_wrong() {
    let cases = [
        ("effect n = 300;", "`n` would become 300, outside 0..255"),
        ("effect a[n] = 1;", "`a` has no element 6: it has 0..1"),
        ("guard a[n] == 1;", "`a` has no element 6: it has 0..1"),
        ("guard 7 / (n - 6) == 1;", "of 7 and 0"),
        ("guard (1 << (n * 20)) == 1;", "of 1 and 120"),
        ("effect n = 1, a[n + 1] = 2, n = a[n + 6];", "`a` has no element 2: it has 0..1"),
    ];
    for (transition, detail) in cases {
        let text = format!(
            "byte a[2], n = 6;\nprocess P {{ state s; init s; trans s -> s {{ {transition} }}; }}\nsystem async;\n"
        );
        let model = model("fault.dve", &text);
        let checked = checked(&model, None);
        assert_eq!(only(&checked).fault.as_ref().unwrap().detail.as_deref(), Some(detail), "{transition}");
    }
}
