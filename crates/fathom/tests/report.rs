//! Does a search folder tell whoever looks at it how far the search is, and what came of it?

mod command;
mod endless;

use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use command::{Ran, fathom, model, run};
use endless::endless;

fn report(folder: &Path, more: &[&str]) -> Ran {
    let ran = Ran::of(fathom(&["report"]).arg(folder).args(more).output().expect("the binary runs"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

/// The page of a folder.
fn page(folder: &Path) -> String {
    let file = folder.with_extension("html");
    report(folder, &["--html", &file.display().to_string()]);
    std::fs::read_to_string(file).expect("it was written")
}

/// The words that every search of this suite has in common.
fn searched(words: &[&str], folder: &Path) -> Ran {
    Ran::of(fathom(words).arg("--dir").arg(folder).output().expect("the binary runs"))
}

/// A search that goes on until it is killed.
struct Slow(Child);

impl Slow {
    fn start(folder: &Path) -> Slow {
        let path = endless(folder.parent().expect("it has one"));
        let words = ["explore", &path, "--engine", "tier", "--data-budget", "256KiB", "-j", "1"];
        let mut command = fathom(&words);
        command.arg("--dir").arg(folder).args(["--commit-every", "0s", "--quiet"]);
        Slow(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs"))
    }
}

impl Drop for Slow {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks until something is told.
fn until(folder: &Path, words: &str) -> Ran {
    let began = Instant::now();
    loop {
        let told = Ran::of(fathom(&["report"]).arg(folder).output().expect("the binary runs"));
        if told.stdout.contains(words) {
            return told;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{}{}", told.stdout, told.stderr);
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn terminal_report_and_audit_have_the_same_words() {
    let place = tempfile::tempdir().expect("a folder");
    let text = "var n : 0..3;\nstartstate n := 0; end;\nrule \"up\" n < 3 ==> n := n + 1; end;\n\
                rule \"down\" n > 0 ==> n := n - 1; end;\ninvariant \"small\" n < 9;\n";
    let path = place.path().join("small.m");
    std::fs::write(&path, text).expect("a file");
    let path = path.display().to_string();
    let folder = place.path().join("holds");
    let ran = searched(&["check", &path, "--engine", "tier"], &folder);
    assert!(ran.stdout.contains("small (line 5): holds\n"), "{}{}", ran.stdout, ran.stderr);
    let told = report(&folder, &[]).stdout;
    assert!(told.contains("  holds       small (line 5)\n  none        deadlock (stuttering)\n"), "{told}");
    let audited = run(&["audit", &folder.display().to_string()]).stdout;
    let words = "  invariant small: violated in none of them\n  deadlock (stuttering): in none of them\n";
    assert!(audited.contains(words), "{audited}");
    let folder = place.path().join("violated");
    let ran = searched(&["check", &path, "--invariant", "n < 2"], &folder);
    let why = "(the check stopped at the first violation; --stop never decides all)\n";
    let open = format!("small; deadlocks; faults {why}");
    assert!(ran.stdout.contains(&format!("not decided: {open}")), "{}", ran.stdout);
    let told = report(&folder, &[]).stdout;
    assert!(told.contains("  violated    invariant n < 2\n"), "{told}");
    assert!(told.contains(&format!("  not decided {open}")), "{told}");
}

#[test]
fn a_search_that_has_ended_says_what_came_of_it() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("holds");
    let ran = searched(&["check", &model("peterson.dve"), "--json", "-"], &folder);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = report(&folder, &[]).stdout;
    assert!(told.contains(": finished\n") && told.contains("verdict     holds"), "{told}");
    assert!(told.contains(&format!("states      {}\n", ran.json()["states"])), "{told}");
    let folder = place.path().join("violated");
    let ran = searched(&["check", &model("peterson.dve"), "--invariant", "not P_0.critical"], &folder);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert!(report(&folder, &[]).stdout.contains("violated"), "{}", report(&folder, &[]).stdout);
    let page = page(&folder);
    let data = page.split_once("id=\"data\"").expect("it has data").1;
    assert!(data.contains("\"traces\":[{"), "the counterexample is in the page");
    // What came of it is the same after an audit, which changes nothing.
    assert_eq!(run(&["audit", &place.path().join("holds").display().to_string()]).code, Some(0));
    assert_eq!(report(&place.path().join("holds"), &[]).stdout, told);
}

#[test]
fn an_exploration_that_ended_at_a_limit_says_how_to_resume_it() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let ran = searched(&["explore", &model("dekker.dve"), "--max-depth", "5"], &folder);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let told = report(&folder, &[]).stdout;
    assert!(told.contains("ended at a limit") && told.contains("--resume"), "{told}");
    assert!(page(&folder).contains("\"limit\":\"depth\""));
}

#[test]
fn a_search_is_watched_while_it_runs_and_known_to_be_killed() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let slow = Slow::start(&folder);
    let told = until(&folder, "states/s").stdout;
    assert!(told.contains(": running\n"), "{told}");
    let page = page(&folder);
    assert!(page.contains("\"under_way\"") && page.contains("\"held\":true"), "it says how far it is");
    drop(slow);
    let told = report(&folder, &[]).stdout;
    assert!(told.contains("interrupted: no process is at work here"), "{told}");
    assert!(told.contains("--resume"), "{told}");
}

#[test]
fn what_is_no_word_of_a_search_is_not_believed() {
    let place = tempfile::tempdir().expect("a folder");
    let ran = run(&["report", &place.path().display().to_string()]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("there is no search in"), "{}", ran.stderr);
    let folder = place.path().join("run");
    searched(&["explore", &model("peterson.dve")], &folder);
    let status = folder
        .read_dir()
        .expect("it is there")
        .map(|entry| entry.expect("readable").path())
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("status.")))
        .expect("the search has left word");
    for text in ["", "{", "{}", r#"{"schema":1,"status":{"state":"ended"}}"#, r#"{"schema":9,"status":{}}"#] {
        std::fs::write(&status, text).expect("it is written");
        let told = report(&folder, &[]).stdout;
        assert!(told.contains("nothing is known of how it ended"), "{text}: {told}");
    }
    // Begun anew, what the one before left is gone, and so is all of ours.
    std::fs::write(
        &status,
        r#"{"schema":1,"status":{"state":"ended","page":{"report":{"verdict":"</script>"}}}}"#,
    )
    .expect("it is written");
    assert!(!page(&folder).contains("</script>\""), "no text ends the element it stands in");
}
