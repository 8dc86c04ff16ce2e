//! Do the libraries and tools that others use read what fathom writes? `readers/` has the libraries, GraphViz and mermaid are themselves. What is missing is skipped, and said.

#![allow(clippy::unwrap_used)] // Tests stop at the first surprise.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const GATE: [&str; 3] = ["models/railway_gate.dve", "--reach", "Gate.closed"];
const PETERSON: [&str; 3] = ["models/peterson.dve", "--ltl", "[] <> P_0.critical"];
const BAKER: [&str; 3] = ["models/producer_consumer.dve", "--reach", "Eater_0.chews"];
const COHERENCE: [&str; 1] = ["models/coherence_broken.m"];
const MULTISET: [&str; 3] = ["models/coherence_multiset.m", "--reach", "MultiSetCount(m:net, true) = 2"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A model whose names are what no tool expects.
fn hostile(folder: &Path) -> String {
    let path = folder.join("a \"b\" <c> & ]]> \u{202e}.m");
    let long = "x".repeat(300);
    let text = format!(
        "type colour : enum {{ red, green }};\nvar n : 0..3; {long} : colour;\nstartstate n := 0; {long} := red; end;\n\
         rule \"a -->> b; end\n</script> \\\" \u{1b}[2J $end #5 \u{202e}\" n < 3 ==> n := n + 1; {long} := green; end;\n\
         invariant \"a & b < c ]]> \u{202e} \u{7}; %%{{init}}%%\" n < 2;\n"
    );
    std::fs::write(&path, text.replace("end\n</script>", "end </script>")).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Checks a model, writes a file, and beside it the runs as JSON.
fn written(folder: &Path, arguments: &[&str], option: &str, name: &str) -> (PathBuf, Value) {
    let (path, runs) = (folder.join(name), folder.join("runs.json"));
    for (option, path) in [(option, &path), ("--trace", &runs)] {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
            .arg("check")
            .args(arguments)
            .args([option, path.to_str().unwrap(), "--quiet", "--threads", "1"])
            .current_dir(root())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
    }
    let runs = serde_json::from_slice(&std::fs::read(&runs).unwrap()).unwrap();
    (path, runs)
}

/// The states of the first run, where a cycle closes its first state once more.
fn states(runs: &Value) -> usize {
    let trace = &runs["traces"][0]["trace"];
    trace["stem"].as_array().unwrap().len() + trace["cycle"].as_array().unwrap().len()
}

/// What a library reads in a file; none if the program that has the libraries was not built.
fn read(kind: &str, path: &Path) -> Option<Value> {
    let reader = root().join("readers/target/release/readers");
    if !reader.is_file() {
        eprintln!(
            "skipped: readers/ was not built (`cargo build --release` there), so no library read {kind}"
        );
        return None;
    }
    let output = Command::new(reader).arg(kind).arg(path).output().unwrap();
    assert!(output.status.success(), "{kind}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// All that is written and read: models of both languages, with channels, multisets and lassos, and one with hostile names.
fn every(check: impl Fn(&Path, &[&str])) {
    let folder = tempfile::tempdir().unwrap();
    let hostile = hostile(folder.path());
    for arguments in [&GATE[..], &PETERSON, &BAKER, &COHERENCE, &MULTISET, &[&*hostile]] {
        check(folder.path(), arguments);
    }
}

#[test]
fn the_itf_crate_reads_states_and_loops() {
    every(|folder, arguments| {
        let (path, runs) = written(folder, arguments, "--trace", "run.itf.json");
        let Some(found) = read("itf", &path) else { return };
        let cycle = runs["traces"][0]["trace"]["cycle"].as_array().unwrap().len();
        // A loop leads back to a state that is not written twice.
        assert_eq!(found["states"], states(&runs) - usize::from(cycle > 0), "{arguments:?}: {found}");
        assert_eq!(found["loop"].is_null(), cycle == 0, "{arguments:?}: {found}");
        assert!(!found["variables"].as_array().unwrap().is_empty());
    });
}

#[test]
fn the_vcd_crate_reads_signals_and_ticks() {
    every(|folder, arguments| {
        let (path, runs) = written(folder, arguments, "--trace", "run.vcd");
        let Some(found) = read("vcd", &path) else { return };
        let times = found["times"].as_array().unwrap();
        assert!(times.windows(2).all(|pair| pair[0].as_u64() < pair[1].as_u64()), "{found}");
        assert!(times.len() >= states(&runs), "{arguments:?}: {found}");
        assert_eq!(found["known"], found["signals"].as_array().unwrap().len(), "{arguments:?}: {found}");
    });
}

#[test]
fn the_sarif_crate_reads_results_and_flows() {
    every(|folder, arguments| {
        let (path, runs) = written(folder, arguments, "--sarif", "report.sarif");
        let Some(found) = read("sarif", &path) else { return };
        let run = &found["runs"][0];
        assert_eq!(
            (run["tool"].as_str(), run["steps"].as_array().unwrap().len()),
            (Some("fathom"), 1),
            "{found}"
        );
        assert!(
            run["steps"][0].as_u64().unwrap() as usize + 1 >= states(&runs) - 1,
            "{arguments:?}: {found}"
        );
    });
}

#[test]
fn the_junit_crate_reads_cases() {
    every(|folder, arguments| {
        let (path, _) = written(folder, arguments, "--junit", "report.xml");
        let Some(found) = read("junit", &path) else { return };
        let cases = found["cases"].as_array().unwrap();
        assert_eq!(found["tests"], cases.len(), "{found}");
        assert_eq!(cases.iter().filter(|case| case["failed"] == true).count(), 1, "{found}");
        assert!(cases.iter().all(|case| !case["classname"].is_null()), "{found}");
    });
}

#[test]
fn graphviz_reads_nodes_and_edges() {
    if Command::new("dot").arg("-V").output().is_err() {
        eprintln!("skipped: GraphViz is not installed, so dot read nothing");
        return;
    }
    every(|folder, arguments| {
        let (path, runs) = written(folder, arguments, "--trace", "run.dot");
        let output = Command::new("dot").arg("-Tjson").arg(&path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let graph: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cycle = runs["traces"][0]["trace"]["cycle"].as_array().unwrap().len();
        let nodes = states(&runs) - usize::from(cycle > 0);
        let edges = graph["edges"].as_array().map_or(0, Vec::len);
        assert!(graph["objects"].as_array().unwrap().len() >= nodes, "{arguments:?}");
        assert!(edges + 1 >= states(&runs), "{arguments:?}: {edges} edges");
    });
}

#[test]
fn mermaid_reads_sequences() {
    let mermaid = root().join("readers/node_modules/mermaid/dist/mermaid.min.js");
    let browser = ["chromium", "chromium-browser"]
        .into_iter()
        .find(|it| Command::new(it).arg("--version").output().is_ok());
    let (true, Some(browser)) = (mermaid.is_file(), browser) else {
        eprintln!(
            "skipped: mermaid (`npm install` in readers/) or chromium is missing, so mermaid read nothing"
        );
        return;
    };
    every(|folder, arguments| {
        let (path, _) = written(folder, arguments, "--trace", "run.mmd");
        let text = std::fs::read_to_string(&path).unwrap();
        let page = folder.join("mermaid.html");
        let quoted = serde_json::to_string(&text).unwrap().replace('<', "\\u003c");
        let script = format!(
            "<!doctype html><meta charset=\"utf-8\"><body><script src=\"file://{}\"></script><script>mermaid.parse({quoted}).then((it) => document.body.append(`read:${{it.diagramType}}.`), (error) => document.body.append(`wrong:${{error}}.`));</script>",
            mermaid.canonicalize().unwrap().display()
        );
        std::fs::write(&page, script).unwrap();
        let output = Command::new(browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"])
            .args(["--virtual-time-budget=600000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = seen.rsplit_once("</script>").map_or(&*seen, |(_, end)| end);
        assert!(said.contains("read:sequence."), "{arguments:?}: {said}\n{text}");
    });
}
