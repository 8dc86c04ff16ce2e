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
      [...document.querySelectorAll(".pin")].at(-1).click(); await frame();
      seen.pinned = texts("thead th.pinned bdi");
      const form = document.querySelector(".watch");
      form.elements.expression.value = "T_2.near && Controller.count + 1 == 2";
      form.requestSubmit(); await frame();
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
    assert_eq!(seen["pinned"].as_array().unwrap().len(), 1);
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
    "#;
    let seen = seen(browser, &["models/peterson.dve", "--ltl", "[] <> P_0.critical"], read, "390,800");
    assert_eq!((&seen["starts"], &seen["ends"]), (&1.into(), &1.into()));
    assert!(seen["cycle"].as_u64().unwrap() >= 1);
    assert!(seen["wide"].as_i64().unwrap() <= 0, "{seen}");
    assert!(seen["columns"].as_array().unwrap().contains(&"⊨ P_0.critical".into()), "{seen}");
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
