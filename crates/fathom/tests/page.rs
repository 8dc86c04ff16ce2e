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
const chosen = () => document.querySelector('tr[aria-selected="true"]')?.textContent ?? "";
async function look() {
  const seen = {};
  while (document.documentElement.dataset.ready !== "yes") await frame();
  await frame();
  try { await read(seen); } catch (error) { wrong.push(String(error)); }
  seen.wrong = wrong;
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

/// Checks a model, and says what a reader of the page sees who does what the script says.
fn seen(browser: &str, arguments: &[&str], read: &str, size: &str) -> Value {
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
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--virtual-time-budget=30000",
        ])
        .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
        .args([&format!("--window-size={size}"), "--dump-dom"])
        .arg(format!("file://{}", path.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let text = dom.split_once("<pre id=\"seen\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let text = text
        .unwrap_or_else(|| panic!("nothing was seen: {}{dom}", String::from_utf8_lossy(&output.stderr)))
        .0;
    let seen: Value = serde_json::from_str(&decoded(text)).unwrap();
    assert_eq!(
        (&seen["wrong"], &seen["fetched"]),
        (&serde_json::json!([]), &serde_json::json!([])),
        "{seen}"
    );
    seen
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
