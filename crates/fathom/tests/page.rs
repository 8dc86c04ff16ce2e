//! Does the page of `--html` do in a browser what it should? Debian's chromium looks at it without a window; a script that is put into the page does what a reader does, and writes down what it sees.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

use std::path::Path;
use std::process::Command;

use oracle::skip::skipped;
use serde_json::Value;

/// Waits, notes what goes wrong, and at the end puts what was seen where it can be read from outside.
const READER: &str = r#"
const wrong = [];
// Nothing is painted without a window: what waits for a frame waits for a moment instead.
window.requestAnimationFrame = (draw) => setTimeout(draw, 16);
addEventListener("error", (event) => wrong.push(String(event.message)));
addEventListener("unhandledrejection", (event) => wrong.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => wrong.push(`refused ${event.blockedURI}`));
const frame = () => new Promise((resolve) => setTimeout(resolve, 100));
const all = (selector) => [...document.querySelectorAll(selector)];
const texts = (selector) => all(selector).map((it) => it.textContent);
const press = (key, target = document.querySelector(".scroll")) => target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const type = (selector, text) => { const input = document.querySelector(selector); input.value = text; input.dispatchEvent(new Event("input", { bubbles: true })); };
const focused = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
const panel = (title) => all(".panel").find((it) => it.querySelector("h2")?.textContent === title);
const watch = async (text) => {
  const form = document.querySelector(".watch");
  form.elements.expression.value = text;
  form.requestSubmit(); await frame();
  return document.querySelector(".controls .wrong").textContent;
};
// What stands where no reader should see it: an object, or a value that is none. The model's own text may say what it likes.
const odd = () => {
  const copy = document.querySelector("main").cloneNode(true);
  copy.querySelectorAll(".source").forEach((it) => it.remove());
  return copy.textContent.match(/.{0,30}(\[object|\bundefined\b|\bNaN\b).{0,30}/g) ?? [];
};
const chosen = () => document.querySelector('tr[aria-selected="true"]')?.textContent ?? "";
async function look() {
  const seen = {};
  while (document.documentElement.dataset.ready !== "yes") await frame();
  await frame();
  try { await read(seen); } catch (error) { wrong.push(String(error)); }
  seen.wrong = [...wrong, ...odd()];
  seen.fetched = performance.getEntriesByType("resource").map((it) => it.name).filter((it) => !it.startsWith("data:"));
  const result = document.createElement("pre");
  result.id = "seen";
  result.textContent = encodeURIComponent(JSON.stringify(seen));
  document.body.append(result);
}
look();
"#;

fn browser() -> Option<&'static str> {
    let found = ["chromium", "chromium-browser"]
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        skipped("what a browser shows of a page", "chromium is not installed");
    }
    found
}

/// Whether this build has an explorer for pages to carry.
fn has_explorer() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let has = !explorer_of(folder.path(), "models/peterson.dve", &[]).is_empty();
    if !has {
        eprintln!("skipped: this build has no explorer (`cargo xtask explorer`), so no page was explored");
    }
    has
}

/// The explorer that the page of a model carries, as it stands there.
fn explorer_of(folder: &Path, model: &str, more: &[&str]) -> String {
    let path = folder.join("carrier.html");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let words = ["check", model, "--quiet", "--threads", "1", "--html", path.to_str().unwrap()];
    let binary = env!("CARGO_BIN_EXE_fathom");
    Command::new(binary).args(words).args(more).current_dir(root).output().unwrap();
    let page = std::fs::read_to_string(&path).unwrap();
    let (_, rest) = page.split_once("id=\"explorer\">").unwrap();
    rest.split_once("</script>").unwrap().0.trim().to_owned()
}

/// Checks a model, and says what a reader of the page sees who does what the script says.
fn seen(browser: &str, arguments: &[&str], read: &str, size: &str) -> Value {
    seen_at(browser, arguments, read, size, "")
}

/// The same, by a link that ends so.
fn seen_at(browser: &str, arguments: &[&str], read: &str, size: &str, fragment: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("page.html");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut words = vec!["check"];
    words.extend(arguments);
    words.extend(["--quiet", "--threads", "1", "--html", path.to_str().unwrap()]);
    let binary = env!("CARGO_BIN_EXE_fathom");
    let checked = Command::new(binary).args(&words).current_dir(root).output().unwrap();
    assert!(matches!(checked.status.code(), Some(0 | 1)), "{checked:?}");
    let page = std::fs::read_to_string(&path).unwrap();
    let script =
        format!("<script type=\"module\">async function read(seen) {{ {read} }}\n{READER}</script>\n</body>");
    std::fs::write(&path, page.replacen("</body>", &script, 1)).unwrap();
    let address = format!("file://{}{fragment}", path.display());
    let text = (0..ATTEMPTS).find_map(|_| left_in_page(browser, folder.path(), &address, size));
    let seen: Value = serde_json::from_str(&decoded(&text.expect("something is seen"))).unwrap();
    assert_eq!(
        (&seen["wrong"], &seen["fetched"]),
        (&serde_json::json!([]), &serde_json::json!([])),
        "{seen}"
    );
    seen
}

/// The time that a browser is given is its own, and may be over while it still compiles in another thread: then it is asked again.
const ATTEMPTS: usize = 5;

/// What the script leaves in a page, if it comes to its end.
fn left_in_page(browser: &str, folder: &Path, address: &str, size: &str) -> Option<String> {
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
        .args(["--virtual-time-budget=3600000", "--dump-dom", &format!("--window-size={size}")])
        .arg(format!("--user-data-dir={}", folder.join("profile").display()))
        .arg(address)
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    if text.is_none() {
        eprintln!("nothing was seen: {}{dom}", String::from_utf8_lossy(&output.stderr));
    }
    text.map(|(text, _)| text.to_owned())
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&more[..2]).unwrap(), 16).unwrap());
            rest = &more[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_run_is_shown_filtered_pinned_and_walked_along() {
    let Some(browser) = browser() else { return };
    let read = r#"
      seen.banner = document.querySelector(".banner").textContent;
      seen.columns = texts("thead th bdi");
      press("Home"); await frame();
      seen.first = chosen();
      press("j"); await frame();
      seen.second = chosen();
      seen.lit = texts(".source li.lit");
      seen.changed = texts('tr[aria-selected="true"] td.changed');
      type(".filter", "gate"); await frame();
      seen.filtered = texts("thead th bdi");
      type(".filter", ""); await frame();
      seen.decisive = texts("thead th.pinned bdi");
      [...document.querySelectorAll(".pin")].at(-1).click(); await frame();
      seen.pinned = texts("thead th.pinned bdi");
      seen.refused = await watch("T_2.near && Controller.count + 1 == 2");
      seen.own = all("tbody tr").map((row) => row.querySelectorAll("td")[1].textContent);
      seen.chart = texts(".chart text.said");
      seen.nameless = all("button, input, select, [role=img], [tabindex]").filter((it) => !(it.textContent.trim() || it.getAttribute("aria-label") || it.labels?.length)).length;
      const ground = () => getComputedStyle(document.body).backgroundColor;
      const before = ground();
      document.querySelector(".theme").click(); await frame();
      seen.dark = before !== ground();
    "#;
    let seen = seen(browser, &["models/railway_gate.dve", "--reach", "Gate.closed"], read, "1300,900");
    assert_eq!(seen["banner"], "What was looked for can be reached.");
    assert!(seen["columns"].as_array().unwrap().contains(&"Controller.queue[0]".into()), "{seen}");
    assert!(seen["first"].as_str().unwrap().starts_with("0initial state"), "{seen}");
    assert!(seen["second"].as_str().unwrap().starts_with("1T_2: away -> near"), "{seen}");
    assert_eq!(seen["changed"], serde_json::json!(["near", "first", "2", "1"]));
    assert_eq!(seen["lit"].as_array().unwrap().len(), 2, "{seen}");
    assert_eq!(seen["filtered"], serde_json::json!(["Gate"]));
    assert_eq!(seen["decisive"], serde_json::json!(["Gate"]), "{seen}");
    assert_eq!((seen["pinned"].as_array().unwrap().len(), &seen["refused"]), (2, &"".into()), "{seen}");
    assert_eq!(seen["own"], serde_json::json!(["false", "true", "true"]));
    assert_eq!(seen["chart"], serde_json::json!(["approach(2)", "close"]));
    assert_eq!((&seen["nameless"], &seen["dark"]), (&0.into(), &true.into()), "{seen}");
}

#[test]
fn a_lasso_is_drawn_and_a_phone_needs_no_wider_page() {
    let Some(browser) = browser() else { return };
    let read = r#"
      seen.cycle = all("tr.cycle").length;
      seen.starts = all("tr.cycle-start").length;
      seen.ends = all("tr.cycle-end").length;
      seen.wide = document.documentElement.scrollWidth - innerWidth;
      seen.columns = texts("thead th bdi");
      seen.names = [texts("tbody th.number").at(-1), panel("locations") && document.querySelector(".details h2").textContent.split(":")[0], location.hash];
      seen.begins = texts("tr.cycle-start th.number")[0];
    "#;
    let seen = seen(browser, &["models/peterson.dve", "--ltl", "[] <> P_0.critical"], read, "390,800");
    let begins = seen["begins"].as_str().unwrap();
    let named =
        [format!("{begins} again"), format!("state {begins} again"), format!("#run=0&step={begins}&again")];
    assert_eq!(seen["names"], serde_json::json!(named), "{seen}");
    assert_eq!(seen["columns"][0], "P_0", "what the formula reads is the first column: {seen}");
    assert_eq!((&seen["starts"], &seen["ends"]), (&1.into(), &1.into()));
    assert!(seen["cycle"].as_u64().unwrap() >= 1);
    assert!(seen["wide"].as_i64().unwrap() <= 0, "{seen}");
    assert!(seen["columns"].as_array().unwrap().contains(&"⊨ P_0.critical".into()), "{seen}");
}

/// Caches that may all write; what the property reads comes last, behind multisets of records.
const CACHES: &str = r#"
const Caches : 2;
type Cache : scalarset(Caches);
     State : enum { Invalid, Shared, Modified };
     Message : record kind : State; origin : Cache; value : 0..1000; end;
var net : array [Cache] of multiset [3] of Message;
    log : array [0..1] of 0..1000;
    cache : array [Cache] of record st : State; val : 0..1; end;
startstate
  for c : Cache do undefine net[c]; cache[c].st := Invalid; cache[c].val := 0; end;
  for i : 0..1 do log[i] := 0; end;
end;
ruleset c : Cache do
  rule "ask" cache[c].st = Invalid ==>
    var m : Message;
  begin
    m.kind := Modified; m.origin := c; m.value := 999;
    MultisetAdd(m, net[c]); cache[c].st := Shared; log[0] := log[0] + 1;
  end;
  rule "write" cache[c].st = Shared ==> cache[c].st := Modified; log[1] := log[1] + 1; end;
end;
invariant "single writer"
  forall a : Cache do forall b : Cache do (a != b & cache[a].st = Modified) -> cache[b].st != Modified end end;
invariant "small" log[0] < 900;
"#;

/// Writes a model into a folder, and gives its path.
fn model(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn what_the_property_reads_comes_first_and_every_panel_says_something() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let read = r#"
      seen.columns = texts("thead th bdi").slice(0, 2);
      seen.decisive = texts("thead th.decisive.pinned bdi");
      const box = document.querySelector(".scroll").getBoundingClientRect();
      seen.inside = all("thead th.decisive").every((it) => it.getBoundingClientRect().right <= box.right);
      seen.share = box.width / innerWidth;
      const cell = all("tbody td").find((it) => it.title.includes("kind = Modified"));
      seen.cell = [cell.textContent, cell.title, cell.scrollWidth <= cell.clientWidth];
      document.querySelector(".whole").open = true; await frame();
      seen.whole = texts(".whole dd");
      document.querySelector("thead th.decisive .pin").click(); await frame();
      seen.unpinned = texts("thead th.decisive.pinned bdi").length;
      seen.search = [...panel("the search").querySelectorAll("dt")].map((it) => it.textContent);
      seen.figures = [...panel("the search").querySelectorAll("dd")].map((it) => it.textContent);
      seen.verdicts = texts(".properties li");
      seen.source = (({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(".source"));
    "#;
    let seen = seen(browser, &[&model(folder.path(), "caches.m", CACHES)], read, "1400,1000");
    let read_by_it = serde_json::json!(["cache[Cache_1].st", "cache[Cache_2].st"]);
    assert_eq!((&seen["columns"], &seen["decisive"]), (&read_by_it, &read_by_it), "{seen}");
    assert_eq!((&seen["inside"], &seen["unpinned"]), (&true.into(), &1.into()), "{seen}");
    assert!(seen["share"].as_f64().unwrap() > 0.6, "{seen}");
    let whole = seen["cell"][1].as_str().unwrap();
    assert_eq!(
        seen["cell"][0].as_str().unwrap(),
        whole.replace("kind = ", "").replace("origin = ", "").replace("value = ", "")
    );
    assert_eq!(seen["cell"][2], true, "{seen}");
    assert!(seen["whole"].as_array().unwrap().contains(&whole.into()), "{seen}");
    for name in ["engine", "time", "memory", "transitions"] {
        assert!(seen["search"].as_array().unwrap().contains(&name.into()), "{seen}");
    }
    assert!(seen["figures"].as_array().unwrap().iter().all(|it| it.as_str() != Some("")), "{seen}");
    let verdicts = [
        "violated single writer (line 22)",
        "found deadlock (stuttering)",
        "not decided small; faults (the check stopped at the first violation; --stop never decides all)",
    ];
    assert_eq!(seen["verdicts"], serde_json::json!(verdicts), "{seen}");
    assert_eq!(seen["source"], 0, "{seen}");
}

#[test]
fn expressions_are_those_of_the_model_and_no_name_is_taken_on_trust() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let read = r#"
      seen.placeholder = document.querySelector(".watch input").placeholder;
      seen.values = {};
      const ask = async (text) => {
        const wrong = await watch(text);
        if (wrong) return wrong;
        const value = all("tbody tr").at(-1).querySelectorAll("td")[1].textContent;
        document.querySelector("thead .pin").click(); await frame();
        return value;
      };
      for (const text of EXPRESSIONS) seen.values[text] = await ask(text);
      const message = document.querySelector(".controls .wrong");
      await watch("forall a : Cache do cache[a].st = Shared end");
      seen.cut = [message.scrollWidth - message.clientWidth, message.getBoundingClientRect().right <= innerWidth, document.documentElement.scrollWidth <= innerWidth];
    "#;
    let asked = |list: &[&str]| read.replace("EXPRESSIONS", &serde_json::json!(list).to_string());
    let path = model(folder.path(), "caches.m", CACHES);
    let expressions = [
        "cache[Cache_1].st = Modified & log[0] == 2",
        "cache[Cache_1].st != Modified | !log[0] = 2",
        "cache[Cache_1].st = Invalid -> log[0] = 7",
        "cache[Cache_1].st = Shared",
        "isundefined(log[1])",
        "cache[Cache_1].stt",
        "cache[Cache_1].st = Modifed",
        "forall a : Cache do cache[a].st = Shared end",
    ];
    let murphi = seen(browser, &[&path], &asked(&expressions), "390,800");
    assert_eq!(murphi["placeholder"], "an expression, as cache[Cache_1].st = Modified", "{murphi}");
    let values = expressions.map(|text| murphi["values"][text].as_str().unwrap().to_owned());
    assert_eq!(values[..5], ["true", "false", "true", "false", "false"], "{murphi}");
    assert_eq!(values[5], "there is no `cache[Cache_1].stt`; did you mean `cache[Cache_1].st`?");
    assert_eq!(values[6], "there is no `Modifed`; did you mean `Modified`?");
    assert!(values[7].starts_with("`forall` is not understood here"), "{murphi}");
    assert_eq!(murphi["cut"], serde_json::json!([0, true, true]), "{murphi}");
    let expressions = [
        "T_2.near and not (Controller.count == 0)",
        "T_2->near && 1 < 2",
        "Gate == closed",
        "T_2.nera",
        "Gat == closed",
    ];
    let dve = seen(
        browser,
        &["models/railway_gate.dve", "--reach", "Gate.closed"],
        &asked(&expressions),
        "1300,900",
    );
    let values = expressions.map(|text| dve["values"][text].as_str().unwrap().to_owned());
    assert_eq!(values[..3], ["true", "true", "true"], "{dve}");
    assert_eq!(values[3], "there is no `T_2.nera`; did you mean `T_2.near`?");
    assert_eq!(values[4], "there is no `Gat`; did you mean `Gate`?");
}

#[test]
fn arrow_keys_choose_steps_at_once_but_not_from_a_field() {
    let Some(browser) = browser() else { return };
    let read = r#"
      seen.focus = document.activeElement.tagName;
      const number = () => document.querySelector('tr[aria-selected="true"] th.number').textContent;
      seen.at = [number()];
      focused("ArrowUp"); await frame();
      seen.at.push(number());
      focused("k"); await frame();
      seen.at.push(number());
      focused("ArrowDown"); await frame();
      seen.at.push(number());
      document.querySelector(".filter").focus();
      focused("ArrowUp"); focused("k"); await frame();
      seen.at.push(number());
      document.querySelector(".pin").focus();
      focused("ArrowUp"); await frame();
      seen.at.push(number());
    "#;
    let seen = seen(browser, &["models/railway_gate.dve", "--reach", "Gate.closed"], read, "1300,900");
    assert_eq!(seen["focus"], "BODY", "{seen}");
    assert_eq!(seen["at"], serde_json::json!(["2", "1", "0", "1", "1", "0"]), "{seen}");
}

/// A message goes round in buffers; some of those who could take part do not.
const RING: &str = "channel {byte} c0[2], c1[2], c2[2], unused[1];\nbyte leader = 0;\n\
  process Idle { byte m; state s; init s; trans s -> s { guard leader == 9; sync unused?m; }; }\n\
  process First { byte m; state start, waits; init start; trans start -> waits { sync c1!2; }, waits -> start { sync c0?m; }; }\n\
  process Second { byte m; state waits, got; init waits; trans waits -> got { sync c1?m; }, got -> waits { sync c0!m; }; }\n\
  system async;\n";

#[test]
fn the_chart_has_those_who_take_part_and_buffers_beside_their_readers() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = model(folder.path(), "ring.dve", RING);
    let read = r#"
      seen.lanes = texts(".chart text.who");
      seen.numbers = texts(".chart text.number");
      const box = document.querySelector(".chart").getBoundingClientRect();
      seen.inside = all(".chart .arrow").every((it) => it.getBoundingClientRect().right <= box.right + 1);
      seen.letters = parseFloat(getComputedStyle(document.querySelector(".chart text.who")).fontSize);
      const names = all(".chart text.who").map((it) => it.getBoundingClientRect());
      seen.apart = names.every((it, at) => at === 0 || names[at - 1].right <= it.left);
      const below = (selector) => document.querySelector(selector).getBoundingClientRect();
      seen.order = below(".details").top - below(".scroll").bottom;
      seen.later = ["messages", "locations"].every((it) => panel(it).getBoundingClientRect().top >= below(".details").bottom);
    "#;
    let arguments = [&*path, "--ltl", "F (leader != 0)"];
    let wide = seen(browser, &arguments, read, "1300,900");
    assert_eq!(wide["lanes"], serde_json::json!(["First", "c0", "c1", "Second"]), "{wide}");
    assert_eq!((&wide["inside"], &wide["apart"]), (&true.into(), &true.into()), "{wide}");
    assert!(
        wide["numbers"].as_array().unwrap().last().unwrap().as_str().unwrap().ends_with(" again"),
        "{wide}"
    );
    let phone = seen(browser, &arguments, read, "390,800");
    assert_eq!((&phone["inside"], &phone["apart"]), (&true.into(), &true.into()), "{phone}");
    assert!(phone["letters"].as_f64().unwrap() >= 12.0, "{phone}");
    let gap = phone["order"].as_f64().unwrap();
    assert!((0.0..30.0).contains(&gap) && phone["later"] == true, "{phone}");
}

#[test]
fn a_fault_is_named_where_it_is_told() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let text = "byte n = 3;\nprocess P { state s; init s; trans s -> s { guard n > 0; effect n = n - 1; }, s -> s { guard 7 / n == 9; }; }\nsystem async;\n";
    let read = r#"
      seen.banner = document.querySelector(".banner").textContent;
      seen.verdicts = texts(".properties li");
    "#;
    let seen = seen(browser, &[&model(folder.path(), "fault.dve", text)], read, "1300,900");
    assert_eq!(seen["banner"], "division by zero after 3 steps.", "{seen}");
    let verdicts = [
        "found fault (division by zero after 3 steps)",
        "not decided deadlocks (the check stopped at the first violation; --stop never decides all)",
    ];
    let mut told: Vec<&str> =
        seen["verdicts"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    told.sort_unstable();
    assert_eq!(told, verdicts, "{seen}");
}

#[test]
fn a_page_says_whether_its_program_had_no_explorer() {
    let Some(browser) = browser() else { return };
    let version = Command::new(env!("CARGO_BIN_EXE_fathom")).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let has = !explorer_of(tempfile::tempdir().unwrap().path(), "models/peterson.dve", &[]).is_empty();
    assert!(
        version.contains(if has { "pages: with the explorer" } else { "pages: without the explorer" }),
        "{version}"
    );
    let read = r#"seen.missing = texts(".missing");"#;
    for (arguments, said) in [
        (&["models/peterson.dve", "--ltl", "[] <> P_0.critical"][..], !has),
        (&["models/peterson.dve"], !has),
        (&["models/peterson.dve", "--html-static"], false),
    ] {
        let seen = seen(browser, arguments, read, "1300,900");
        let missing = seen["missing"].as_array().unwrap();
        assert_eq!(missing.len(), usize::from(said), "{seen}");
        assert!(missing.iter().all(|it| it.as_str().unwrap().contains("without the explorer")), "{seen}");
    }
}

#[test]
fn no_name_is_too_long_for_the_page() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    // As long as both languages let names and texts be.
    let long = |first: char| format!("{first}{}", "x".repeat(999));
    let text = |first: char| long(first).repeat(9);
    let (p, q, c, v) = (long('P'), long('Q'), long('c'), long('v'));
    let dve = format!(
        "channel {{byte}} {c}[1];\nbyte {v} = 0;\nprocess {p} {{ state {s}, t; init {s}; trans {s} -> t {{ sync {c}!7; }}; }}\n\
         process {q} {{ byte m; state a, b; init a; trans a -> b {{ sync {c}?m; effect {v} = 1; }}; }}\nsystem async;\n",
        s = long('s')
    );
    let murphi = format!(
        "type E : enum {{ {a}, b }};\nvar {v} : E;\nstartstate {v} := {a}; end;\nrule \"{rule}\" {v} = {a} ==> {v} := b; end;\ninvariant \"{name}\" {v} = {a};\n",
        a = long('a'),
        rule = text('r'),
        name = text('n')
    );
    let read = r#"
      seen.wide = [document.documentElement.scrollWidth - innerWidth];
      focused("ArrowUp"); await frame();
      document.querySelector(".whole").open = true; await frame();
      await watch("v".padEnd(10000, "y"));
      seen.wide.push(document.documentElement.scrollWidth - innerWidth);
      seen.tall = all("h1, .heading, .banner, .properties li, .reason, thead th, tbody td").map((it) => it.getBoundingClientRect().height).filter((it) => it > 300);
      while (document.documentElement.dataset.explored === undefined) await frame();
      await frame();
      seen.wide.push(document.documentElement.scrollWidth - innerWidth);
    "#;
    let reach = format!("{v} == 1");
    let dve = model(folder.path(), "long.dve", &dve);
    let murphi = model(folder.path(), "long.m", &murphi);
    for arguments in [&[&*dve, "--reach", &reach][..], &[&murphi]] {
        for size in ["1400,1000", "390,800"] {
            let seen = seen(browser, arguments, read, size);
            assert!(
                seen["wide"].as_array().unwrap().iter().all(|it| it.as_i64().unwrap() <= 0),
                "{size} {}",
                seen["wide"]
            );
            assert_eq!(seen["tall"], serde_json::json!([]), "{size}");
        }
    }
}

#[test]
fn of_ten_thousand_steps_only_those_in_sight_are_there() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("long.dve");
    std::fs::write(&model, "int n = 0;\nprocess P { state s; init s; trans s -> s { guard n < 10000; effect n = n + 1; }; }\nsystem async;\n").unwrap();
    let read = r#"
      press("Home"); await frame();
      seen.top = chosen();
      press("End"); await frame();
      seen.bottom = chosen();
      seen.rows = all("tbody tr").length;
      document.querySelector(".scroll").scrollTop = 150000;
      document.querySelector(".scroll").dispatchEvent(new Event("scroll")); await frame();
      seen.middle = all("tbody tr th.number").length > 0 && Math.abs(Number(texts("tbody tr th.number")[0]) - 5000) < 40;
    "#;
    let seen = seen(browser, &[model.to_str().unwrap(), "--reach", "n == 10000"], read, "1300,900");
    assert!(seen["top"].as_str().unwrap().starts_with("0initial state"), "{seen}");
    assert!(seen["bottom"].as_str().unwrap().starts_with("10000P: s -> s"), "{seen}");
    assert!(seen["rows"].as_u64().unwrap() < 100, "{seen}");
    assert_eq!(seen["middle"], true, "{seen}");
}

#[test]
fn hostile_names_are_shown_and_nothing_happens() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("hostile.m");
    let text = "var n : 0..3;\nstartstate n := 0; end;\nrule \"<img src=x onerror=document.title='bad'>\u{202e}\" n < 3 ==> n := n + 1; end;\n\
                invariant \"</script><script>document.title='bad'</script>\" n < 2;\n";
    std::fs::write(&model, text).unwrap();
    let read = r#"
      seen.title = document.title;
      seen.images = all("img").length;
      seen.step = chosen();
      seen.turned = /[\u202e]/.test(document.querySelector("main").textContent);
    "#;
    let seen = seen(browser, &[model.to_str().unwrap()], read, "1300,900");
    assert!(!seen["title"].as_str().unwrap().contains("bad"), "{seen}");
    assert_eq!((&seen["images"], &seen["turned"]), (&0.into(), &false.into()), "{seen}");
    assert!(seen["step"].as_str().unwrap().contains("<img src=x"), "{seen}");
    assert!(seen["step"].as_str().unwrap().contains("\\u{202e}"), "{seen}");
}

#[test]
fn a_reader_steps_on_searches_and_shares_the_way() {
    let Some(browser) = browser().filter(|_| has_explorer()) else { return };
    let read = r#"
      while (!document.documentElement.dataset.explored) await frame();
      await frame();
      press("Home"); await frame(); await frame();
      seen.choices = texts(".choice");
      const other = all(".choice").find((it) => !it.textContent.includes("the run takes this"));
      other.click(); await frame(); await frame();
      seen.heading = document.querySelector(".heading").textContent;
      seen.rows = all("tbody tr").length;
      seen.then = texts(".choice").length;
      const form = document.querySelector(".search");
      const look = async (expression, kind, from) => {
        const { elements } = document.querySelector(".search");
        [elements.expression.value, elements.kind.value, elements.from.value] = [expression, kind, from];
        document.querySelector(".search").requestSubmit();
        while (document.querySelector(".search button").textContent !== "look") await frame();
        await frame();
        return document.querySelector(".next [role=status]").textContent;
      };
      seen.count = await look("", "all", "start");
      seen.wrong_name = await look("P_7.critical", "true", "start");
      seen.never = await look("P_0.critical && P_1.critical", "true", "start");
      await look("P_1.critical", "true", "here"); await frame();
      seen.last = all("tbody tr").at(-1).textContent;
      seen.fragment = location.hash;
      seen.explored = document.documentElement.dataset.explored;
    "#;
    let arguments = ["models/peterson.dve", "--ltl", "[] <> P_0.critical"];
    let first = seen(browser, &arguments, read, "1300,900");
    assert_eq!(first["choices"].as_array().unwrap().len(), 2, "{first}");
    assert!(first["heading"].as_str().unwrap().starts_with("a run of your own"), "{first}");
    assert_eq!(first["rows"], 2, "{first}");
    assert!(first["count"].as_str().unwrap().ends_with("these are all."), "{first}");
    assert!(first["never"].as_str().unwrap().starts_with("Never"), "{first}");
    assert!(first["wrong_name"].as_str().unwrap().contains("P_7"), "{first}");
    assert!(first["last"].as_str().unwrap().contains("critical"), "{first}");
    let fragment = first["fragment"].as_str().unwrap();
    let read = r#"
      while (!document.documentElement.dataset.explored) await frame();
      await frame();
      seen.last = all("tbody tr").at(-1).textContent;
      seen.fragment = location.hash;
    "#;
    let second = seen_at(browser, &arguments, read, "1300,900", fragment);
    assert_eq!((&second["last"], &second["fragment"]), (&first["last"], &first["fragment"]));
}

#[test]
fn single_values_of_a_scalarset_can_be_looked_for_and_the_counterexample_is_found_again() {
    let Some(browser) = browser().filter(|_| has_explorer()) else { return };
    let read = r#"
      while (!document.documentElement.dataset.explored) await frame();
      seen.found = document.querySelector(".heading bdi").textContent;
      document.querySelector(".starts button").click(); await frame(); await frame();
      seen.begun = document.querySelector(".heading bdi").textContent;
      const { elements } = document.querySelector(".search");
      [elements.expression.value, elements.kind.value, elements.from.value] = ["state[cache_1] = owned", "true", "start"];
      document.querySelector(".search").requestSubmit();
      while (document.querySelector(".search button").textContent !== "look") await frame();
      await frame(); await frame();
      seen.refused = document.querySelector(".next .wrong")?.textContent ?? "";
      seen.last = all("tbody tr").at(-1).textContent;
      document.querySelector(".back").click(); await frame(); await frame();
      seen.back = document.querySelector(".heading bdi").textContent;
      seen.explored = document.documentElement.dataset.explored;
    "#;
    let seen = seen(browser, &["models/coherence_broken.m"], read, "1300,900");
    assert!(seen["begun"].as_str().unwrap().starts_with("from the beginning"), "{seen}");
    assert_eq!(seen["refused"], "", "{seen}");
    assert!(seen["last"].as_str().unwrap().contains("c: cache_1"), "{seen}");
    assert_eq!(seen["back"], seen["found"], "{seen}");
}

#[test]
fn a_page_without_a_counterexample_can_be_explored_and_a_static_one_cannot() {
    let Some(browser) = browser().filter(|_| has_explorer()) else { return };
    let read = r#"
      while (!document.documentElement.dataset.explored) await frame();
      await frame(); await frame();
      seen.rows = all("tbody tr").length;
      seen.choices = texts(".choice").length;
      seen.explored = document.documentElement.dataset.explored;
    "#;
    let alive = seen(browser, &["models/token_ring.m"], read, "1300,900");
    assert_eq!((&alive["rows"], &alive["explored"]), (&1.into(), &"yes".into()), "{alive}");
    assert!(alive["choices"].as_u64().unwrap() > 0, "{alive}");
    let still = seen(browser, &["models/token_ring.m", "--html-static"], read, "1300,900");
    assert_eq!((&still["rows"], &still["explored"]), (&0.into(), &"no".into()), "{still}");
}

/// What a browser asks about each model: everything about the first states, then how many there are within a bound.
const ASKING: &str = r#"
  let [left, right] = [0x811c9dc5, 0x01000193];
  const add = (text) => { for (let place = 0; place < text.length; place += 1) { const unit = text.charCodeAt(place); left = Math.imul(left ^ unit, 0x01000193) >>> 0; right = Math.imul(right + unit, 0x85ebca6b) >>> 0; } };
  seen.models = {};
  for (const [name, opening] of Object.entries(MODELS)) {
    [left, right] = [0x811c9dc5, 0x01000193];
    const ask = (question) => { const text = raw(JSON.stringify(question)); add(text); return JSON.parse(text); };
    const opened = ask({ ask: "open", ...opening });
    const waiting = (opened.initial ?? []).map((it) => it.state.record);
    for (let place = 0; place < waiting.length && place < 20; place += 1) {
      for (const it of ask({ ask: "successors", record: waiting[place] }).choices) if (!waiting.includes(it.state.record)) waiting.push(it.state.record);
    }
    ask({ ask: "search", records: [], expression: null, value: true, states: 2000 });
    const end = ask({ ask: "go_on", states: 3000 });
    seen.models[name] = { sum: `${left}.${right}`, end };
  }
"#;

/// The same asked here, of the same crate as machine code. Says the sum over all answers, and the last of them.
fn asked_here(opening: &Value) -> (String, Value) {
    let (mut left, mut right) = (0x811c_9dc5u32, 0x0100_0193u32);
    let mut explorer = None;
    let mut ask = |question: Value| {
        let text = fathom_explorer::explorer::answer(&mut explorer, &question.to_string());
        for unit in text.encode_utf16() {
            left = (left ^ u32::from(unit)).wrapping_mul(0x0100_0193);
            right = right.wrapping_add(u32::from(unit)).wrapping_mul(0x85eb_ca6b);
        }
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let mut question = opening.clone();
    question["ask"] = "open".into();
    let opened = ask(question);
    let record = |state: &Value| state["state"]["record"].clone();
    let mut waiting: Vec<Value> = opened["initial"].as_array().unwrap().iter().map(record).collect();
    let mut place = 0;
    while place < waiting.len() && place < 20 {
        let answer = ask(serde_json::json!({ "ask": "successors", "record": waiting[place] }));
        for choice in answer["choices"].as_array().unwrap() {
            if !waiting.contains(&record(choice)) {
                waiting.push(record(choice));
            }
        }
        place += 1;
    }
    ask(
        serde_json::json!({ "ask": "search", "records": [], "expression": null, "value": true, "states": 2000 }),
    );
    let end = ask(serde_json::json!({ "ask": "go_on", "states": 3000 }));
    (format!("{left}.{right}"), end)
}

#[test]
fn in_the_browser_all_models_have_the_states_and_steps_that_they_have_here() {
    let Some(browser) = browser().filter(|_| has_explorer()) else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut models = serde_json::Map::new();
    for entry in root.join("models").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let language = match path.extension().and_then(|it| it.to_str()) {
            Some("dve") => "dve",
            Some("m") => "murphi",
            _ => continue,
        };
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let options =
            serde_json::json!({ "constants": [], "wrap": false, "symmetry": false, "max_loop": null });
        let text = std::fs::read_to_string(&path).unwrap();
        let opening =
            serde_json::json!({ "name": name, "text": text, "language": language, "options": options });
        models.insert(name, opening);
    }
    assert!(models.len() > 50, "the models are there");
    let read = format!(
        r#"
      const MODELS = {};
      const {{ Explorer }} = await import("fathom/explorer");
      const explorer = await Explorer.open(JSON.parse(document.getElementById("data").textContent));
      const raw = explorer.answers.raw.bind(explorer.answers);
      {ASKING}
    "#,
        serde_json::to_string(&models).unwrap().replace('<', "\\u003c")
    );
    let seen = seen(browser, &["models/peterson.dve"], &read, "1300,900");
    let mut complete = 0;
    for (name, opening) in &models {
        let (sum, end) = asked_here(opening);
        let there = &seen["models"][name];
        assert_eq!((&there["end"], there["sum"].as_str()), (&end, Some(&*sum)), "{name}");
        complete += usize::from(end["end"] == "all" && agrees_with_engines(&root, name, &end));
    }
    assert!(complete > 20, "{complete} models are small enough to be searched in whole");
}

/// Compares with what an engine finds, on machine code.
fn agrees_with_engines(root: &Path, name: &str, end: &Value) -> bool {
    let words = ["explore", &format!("models/{name}"), "--json", "-", "--quiet", "--symmetry", "off"];
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).args(words).current_dir(root).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let here = (&report["states"], &report["transitions"], &report["checksum"]);
    assert_eq!((&end["states"], &end["transitions"], &end["checksum"]), here, "{name}");
    true
}
