//! Does `fathom translate` print what it printed before?
//!
//! Every case is a command, run beside the input files in `translate/`; what it prints on both streams and its exit code
//! are compared with `translate/NAME.txt`. `FATHOM_BLESS=1` rewrites the texts. Times are left out.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the text, arguments after `translate`.
const CASES: &[(&str, &[&str])] = &[
    ("response", &["G(p -> F q)"]),
    ("response_negated", &["!G(p -> F q)"]),
    ("stats", &["(G F p -> G F q) && F r", "--stats"]),
    ("stats_trivial", &["p && !p", "--stats"]),
    ("spellings", &["[] (P_0.wait -> <> P_0==\"CS\") /\\ ~\"x & 1\" \\/ y + 1 < 3", "--generalised"]),
    ("dot", &["G(P_0.wait -> F P_0.CS)", "--dot"]),
    ("dot_generalised", &["G F p && G F (x == 2)", "--dot", "--generalised"]),
    ("never", &["!G(p -> F q)", "--never"]),
    ("never_names", &["F(atom0 && X P_0.CS)", "--never"]),
    ("never_empty", &["false", "--never"]),
    ("dve", &["!G(P_0.wait -> F x==\"3\")", "--dve"]),
    ("dve_empty", &["false", "--dve"]),
    ("generalised", &["G F p && G F q", "--generalised"]),
    ("properties", &["--ltl-file", "properties.ltl", "--stats"]),
    ("properties_dve", &["--ltl-file", "properties.ltl", "--dve"]),
    ("properties_wrong", &["--ltl-file", "wrong.ltl"]),
    ("properties_none", &["--ltl-file", "none.ltl"]),
    ("hoa", &["--hoa", "fair.hoa", "--stats"]),
    ("hoa_generalised", &["--hoa", "fair.hoa", "--generalised"]),
    ("hoa_never", &["--hoa", "fair.hoa", "--never"]),
    ("hoa_rabin", &["--hoa", "rabin.hoa"]),
    ("hoa_damaged", &["--hoa", "damaged.hoa"]),
    ("hoa_missing", &["--hoa", "missing.hoa"]),
    ("wrong_bit_operator", &["G (req & ack)"]),
    ("wrong_end", &["G (p ->"]),
    ("wrong_operand", &["G (p U) && F ("]),
    ("wrong_empty", &[""]),
    ("limit_time", &["G F p", "--time-limit", "0s"]),
    ("usage_nothing", &[]),
    ("usage_two_inputs", &["p", "--hoa", "fair.hoa"]),
    ("usage_two_forms", &["p", "--never", "--generalised"]),
];

#[test]
fn prints_what_it_printed_before() {
    let bless = std::env::var_os("FATHOM_BLESS").is_some();
    let mut differing = Vec::new();
    for (name, arguments) in CASES {
        let path = folder().join(format!("{name}.txt"));
        let now = run(arguments);
        if bless {
            std::fs::write(&path, &now).expect("the folder is writable");
        }
        let before = std::fs::read_to_string(&path).unwrap_or_default();
        if now != before {
            differing.push(format!("{}:\n{now}", path.display()));
        }
    }
    assert!(differing.is_empty(), "run with FATHOM_BLESS=1 if this is meant\n{}", differing.join("\n"));
}

#[test]
fn every_text_has_its_case() {
    for entry in folder().read_dir().expect("the folder is readable") {
        let path = entry.expect("the folder is readable").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("names are text");
        let known = CASES.iter().any(|(case, _)| *case == name);
        assert!(known || path.extension().is_none_or(|extension| extension != "txt"), "{}", path.display());
    }
}

/// What `--dve` prints is DVE: a model with it is read, and its atoms are those of the model.
#[test]
fn property_processes_are_dve() {
    let process = run_raw(&["!G(P.a -> F x==\"3\")", "--dve"]);
    assert_eq!(process.2, Some(0));
    let model = format!(
        "byte x;\nprocess P {{\nstate a, b;\ninit a;\ntrans\n a -> b {{ guard x < 2; effect x = x + 1; }},\n \
         b -> a {{}};\n}}\n{}\nsystem async property LTL_property;\n",
        process.0
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.dve");
    std::fs::write(&path, model).expect("the folder is writable");
    let output = fathom().arg("explore").arg("--quiet").arg(&path).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/translate")
}

fn fathom() -> Command {
    Command::new(env!("CARGO_BIN_EXE_fathom"))
}

/// Standard output, standard error, exit code.
fn run_raw(arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = fathom().arg("translate").args(arguments).current_dir(folder()).output();
    let output = output.expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is text");
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn run(arguments: &[&str]) -> String {
    let (stdout, stderr, code) = run_raw(arguments);
    let quoted: Vec<String> = arguments.iter().map(|argument| format!(" {argument:?}")).collect();
    let timeless =
        |line: &str| if line.starts_with("time ") { "time        ...".into() } else { line.to_owned() };
    let stderr: Vec<String> = stderr.lines().map(timeless).collect();
    let code = code.map_or("none".into(), |code| code.to_string());
    format!(
        "$ fathom translate{}\n{stdout}--- stderr\n{}\n--- exit {code}\n",
        quoted.concat(),
        stderr.join("\n")
    )
}
