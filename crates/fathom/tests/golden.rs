//! What fathom prints, compared as text: every file in `golden/` is a command and what comes of it. `FATHOM_BLESS=1` writes the files anew.
//!
//! ```text
//! $ the arguments, quoted as for a shell; {tmp} is a folder of its own
//! < a line of standard input, if there are any
//! ? the exit code
//! --- stdout
//! --- stderr
//! ```
//! Times, rates and amounts of memory are written as `~`. Piped output has no control characters.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn commands_print_what_is_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases: Vec<PathBuf> =
        folder.read_dir().expect("there are cases").map(|entry| entry.expect("readable").path()).collect();
    cases.sort();
    assert!(cases.len() > 30, "{} cases", cases.len());
    let bless = std::env::var_os("FATHOM_BLESS").is_some();
    let mut wrong = Vec::new();
    for case in cases {
        let expected = std::fs::read_to_string(&case).expect("a case is text");
        let found = run(&expected);
        if bless {
            std::fs::write(&case, &found).expect("a case can be written");
        } else if found != expected {
            eprintln!("=== {}\n--- expected\n{expected}\n--- found\n{found}", case.display());
            wrong.push(case);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?} differ; FATHOM_BLESS=1 writes them anew");
}

/// Runs the command of a case and writes the whole case.
fn run(case: &str) -> String {
    let scratch = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(scratch.path().join("folder.dve")).expect("a folder");
    std::fs::write(scratch.path().join("model.txt"), "process P { state a; init a; }").expect("a file");
    let head: Vec<&str> =
        case.lines().take_while(|line| line.starts_with("$ ") || line.starts_with("< ")).collect();
    let line = head[0].strip_prefix("$ ").expect("a case begins with its command");
    let place = scratch.path().display().to_string();
    let input: String =
        head[1..].iter().map(|line| format!("{}\n", line[2..].replace("{tmp}", &place))).collect();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .args(words(line).iter().map(|word| word.replace("{tmp}", &place)))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("COLUMNS", "100")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let code = output.status.code().expect("no signal ends it");
    let text = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).expect("it prints text");
        let control = |letter: char| letter.is_control() && letter != '\n';
        assert!(!text.contains(control), "control characters in {text:?}");
        normalised(&text.replace(&place, "{tmp}"))
    };
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    format!("{}\n? {code}\n--- stdout\n{stdout}--- stderr\n{stderr}", head.join("\n"))
}

/// The words of a line, with double and single quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut begun) = (String::new(), None, false);
    for letter in line.chars() {
        match (letter, quote) {
            ('\'' | '"', None) => (quote, begun) = (Some(letter), true),
            (_, Some(mark)) if letter == mark => quote = None,
            (' ', None) => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            _ => {
                word.push(letter);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words.remove(0);
    words
}

/// Times, rates and amounts of memory as `~`.
fn normalised(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.trim_start().split_once(' ') {
            Some(("memory", _)) => "  memory        ~".to_owned(),
            Some(("time", _)) => "  time          ~".to_owned(),
            // Whether the explorer was built before says nothing about the program.
            Some(("pages:", _)) => "pages: ~".to_owned(),
            Some(("disk", rest)) if rest.starts_with(' ') => "  disk          ~".to_owned(),
            Some(("cost", rest)) if rest.starts_with(' ') => "  cost          ~".to_owned(),
            _ => line.to_owned(),
        };
        out.push_str(&measured(&line));
        out.push('\n');
    }
    out
}

/// Numbers that are measured: before a unit, or behind a key of a measured member.
fn measured(line: &str) -> String {
    let mut line = line.to_owned();
    for unit in [" KiB", " MiB", " GiB", " states/s"] {
        let mut from = 0;
        while let Some(end) = line[from..].find(unit).map(|end| from + end) {
            let digits =
                |letter: char| letter.is_ascii_digit() || letter == '.' || letter == ',' || letter == '~';
            let start = line[..end].rfind(|letter| !digits(letter)).map_or(0, |before| before + 1);
            line.replace_range(start..end, "~");
            from = start + 1 + unit.len();
        }
    }
    if let Some(end) = line.find(" s] layer") {
        line.replace_range(1..end, "~");
    }
    let sizes = ["data", "budget", "data_budget", "data_peak", "peak"];
    let now = ["data_limit", "resident", "ram", "bytes_read", "bytes_written"];
    let times = ["seconds", "states_per_second", "expand", "watch", "offer", "close"];
    let is_single = |value: &str| value.starts_with(|first: char| first.is_ascii_digit() || first == 'n');
    for key in sizes.into_iter().chain(now).chain(times) {
        for form in [format!("\"{key}\": "), format!("\"{key}\":")] {
            let found = line.find(&form).map(|start| start + form.len());
            if let Some(start) = found.filter(|start| is_single(&line[*start..])) {
                let rest = &line[start..];
                let end = rest.find([',', '}']).unwrap_or(rest.len());
                line.replace_range(start..start + end, "~");
                break;
            }
        }
    }
    line
}
