//! A run that fails leaves no file behind, and none otherwise than it was.

use std::path::Path;

use crate::command::{model, run};

fn names(folder: &Path) -> Vec<String> {
    folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_failed_run_leaves_no_empty_file() {
    let folder = tempfile::tempdir().unwrap();
    let (json, trace) = (folder.path().join("report.json"), folder.path().join("trace.txt"));
    let (json, trace) = (json.display().to_string(), trace.display().to_string());
    let peterson = model("peterson.dve");
    let failing = [
        vec!["check", &peterson, "--ram", "64k", "--json", &json, "--trace", &trace],
        vec!["check", &peterson, "--ltl", "G nobody.home", "--json", &json, "--trace", &trace],
        vec!["explore", &peterson, "--product", "--json", &json],
        vec!["audit", "/nowhere", "--json", &json],
    ];
    for words in failing {
        assert_eq!(run(&words).code, Some(2), "{words:?}");
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{words:?}");
    }
    std::fs::write(&json, "before").unwrap();
    assert_eq!(run(&["check", &peterson, "--ram", "64k", "--json", &json]).code, Some(2));
    assert_eq!(std::fs::read(&json).unwrap(), b"before");
    assert_eq!(run(&["check", &peterson, "--json", &json]).code, Some(0));
    assert!(std::fs::read_to_string(&json).unwrap().starts_with("{\n  \"schema\": 2"));
    assert_eq!(names(folder.path()), ["report.json"]);
}
