//! Folders that are not what they seem, in the hands of a user: nothing outside the search folder is followed, changed or removed, nor is anything in it that is not ours; one process at a time
//! uses it; what a killed search leaves is never in the way.

mod command;
mod confines;
mod search_folder;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use command::{Ran, fathom, model, run};
use confines::{Mounted, skipped};
use rustix::process::{Pid, Signal, kill_process};

const FORMULA: &str = "G(F(P_0.critical)||F(G(!P_0.critical)))";

/// A place with a folder of somebody's files, which must stay as it is, and room for a search folder.
struct Place {
    place: tempfile::TempDir,
    victim: Tree,
}

/// Everything in a folder: what it holds, and when it was changed.
type Tree = BTreeMap<PathBuf, (Vec<u8>, i64, i64)>;

fn tree(folder: &Path) -> Tree {
    let mut found = Tree::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let about = fs::symlink_metadata(&path).expect("it is there");
        let content = match about.file_type() {
            kind if kind.is_dir() => {
                open.extend(path.read_dir().expect("readable").map(|entry| entry.expect("readable").path()));
                Vec::new()
            }
            kind if kind.is_file() => fs::read(&path).expect("readable"),
            _ => Vec::new(),
        };
        found.insert(path, (content, about.mtime(), about.mtime_nsec()));
    }
    found
}

impl Place {
    fn new() -> Place {
        let place = tempfile::tempdir().expect("a folder");
        let victim = place.path().join("victim");
        fs::create_dir(&victim).expect("a folder");
        for name in ["letters", "manifest", "run-1", "run.json", "states"] {
            fs::write(victim.join(name), "precious").expect("a file");
        }
        let victim = tree(&victim);
        Place { place, victim }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The words of a search in the folder.
    fn search(&self, more: &[&str]) -> Ran {
        self.ask(&["explore", &model("lost_update.dve"), "--engine", "tier", "--dir", "search"], more)
    }

    /// The words of a check of infinite runs in the folder.
    fn formula(&self, more: &[&str]) -> Ran {
        let words = ["check", &model("peterson.dve"), "--only", "--ltl", FORMULA, "--engine", "semi-owcty"];
        self.ask(&words, &[&["--dir", "search"], more].concat())
    }

    fn ask(&self, words: &[&str], more: &[&str]) -> Ran {
        let mut command = fathom(words);
        command.args(["--quiet", "--json", "-"]).args(more).current_dir(self.place.path());
        Ran::of(command.output().expect("it runs"))
    }

    fn audit(&self) -> Ran {
        self.ask(&["audit", "search"], &[])
    }

    /// Makes every kind of request, and sees that nothing elsewhere has changed.
    fn assert_victim_stays(&self, about: &str) {
        let requests: [(&str, &dyn Fn() -> Ran); 5] = [
            ("audit", &|| self.audit()),
            ("resume", &|| self.search(&["--resume"])),
            ("resume of a formula", &|| self.formula(&["--resume"])),
            ("start", &|| self.search(&[])),
            ("start of a formula", &|| self.formula(&[])),
        ];
        for (name, request) in requests {
            let ran = request();
            assert!(matches!(ran.code, Some(0..=3)), "{about}, {name}: {}", ran.stderr);
            assert_eq!(tree(&self.at("victim")), self.victim, "{about}, {name}: {}", ran.stderr);
        }
    }
}

/// Replaces a folder by a link.
fn link_in_place_of(folder: &Path, target: &Path) {
    fs::remove_dir_all(folder).expect("it is there");
    symlink(target, folder).expect("a link");
}

fn edit_card(folder: &Path, edit: &dyn Fn(&mut serde_json::Value)) {
    let path = folder.join("run.json");
    let mut card = serde_json::from_slice(&fs::read(&path).expect("it is there")).expect("it is JSON");
    edit(&mut card);
    fs::write(path, card.to_string()).expect("it can be written");
}

#[test]
fn a_link_in_place_of_a_folder_is_not_followed() {
    for name in ["states", "passes"] {
        let place = Place::new();
        assert_eq!(place.formula(&[]).code, Some(0));
        link_in_place_of(&place.at("search").join(name), &place.at("victim"));
        place.assert_victim_stays(name);
        assert!(place.at("search").join(name).is_symlink(), "it is not replaced either");
        let ran = place.formula(&["--resume"]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("fathom did not write"), "{}", ran.stderr);
    }
}

#[test]
fn parts_that_a_folder_names_elsewhere_are_believed_only_if_they_carry_its_id() {
    let place = Place::new();
    assert_eq!(place.search(&[]).code, Some(0));
    let victim = place.at("victim");
    edit_card(&place.at("search"), &|card| {
        card["parts"] = serde_json::json!({ "bulk": victim, "index": victim });
    });
    place.assert_victim_stays("parts");
    let ran = place.search(&["--resume"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn links_where_files_are_written_are_not_followed() {
    let place = Place::new();
    let target = place.at("victim").join("letters");
    for folder in ["search", "search/states", "search/passes"] {
        fs::create_dir(place.at(folder)).expect("a folder");
    }
    for name in ["run.json.new", "audit", "trace", "lock"] {
        symlink(&target, place.at("search").join(name)).expect("a link");
    }
    place.assert_victim_stays("before a search");
    for name in ["manifest.new", "ballast", "lock", "run-1"] {
        for folder in ["search/states", "search/passes"] {
            if place.at(folder).exists() {
                let _ = symlink(&target, place.at(folder).join(name));
            }
        }
    }
    place.assert_victim_stays("after a search");
    assert!(place.at("search/run.json.new").is_symlink());
    let card = Place::new();
    fs::create_dir(card.at("search")).expect("a folder");
    symlink(card.at("victim/letters"), card.at("search/run.json")).expect("a link");
    card.assert_victim_stays("the card itself");
    assert!(card.at("search/run.json").is_symlink());
}

#[test]
fn files_with_two_names_are_not_changed() {
    let place = Place::new();
    assert_eq!(place.search(&["--max-depth", "3"]).code, Some(3));
    let states = place.at("search/states");
    let copies = place.at("copies");
    fs::create_dir(&copies).expect("a folder");
    for entry in states.read_dir().expect("readable") {
        let entry = entry.expect("readable");
        fs::hard_link(entry.path(), copies.join(entry.file_name())).expect("a link");
    }
    let before = tree(&copies);
    for _ in 0..2 {
        let ran = place.search(&["--resume"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains("hard link"), "{}", ran.stderr);
        assert_eq!(tree(&copies), before);
        // Then of what the folder says of itself, too.
        let _ = fs::hard_link(place.at("search/run.json"), place.at("card"));
    }
    fs::remove_file(place.at("card")).expect("it is there");
    fs::remove_dir_all(&copies).expect("it is there");
    assert_eq!(place.search(&["--resume"]).code, Some(0));
}

#[test]
fn a_folder_with_unrelated_files_of_our_names_is_refused_and_left_alone() {
    // Without a manifest that makes no sense, nothing would stop a search from sweeping.
    let names = ["letters", "lock", "run-1", "manifest", "manifest.new", ".hidden"];
    let cards = ["precious", "{\"tool\": \"another\"}", "[1, 2]", "{}", ""];
    for (card, names) in cards.into_iter().flat_map(|card| [(card, &names[..3]), (card, &names[..])]) {
        let place = Place::new();
        for folder in ["search/states", "search/passes", "search/audit", "search/trace"] {
            fs::create_dir_all(place.at(folder)).expect("a folder");
            for name in names {
                fs::write(place.at(folder).join(name), "precious").expect("a file");
            }
        }
        fs::write(place.at("search/run.json"), card).expect("a file");
        let before = tree(&place.at("search"));
        place.assert_victim_stays("unrelated");
        assert_eq!(tree(&place.at("search")), before, "{card:?}");
        let ran = place.search(&[]);
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains("fathom did not write"), "{card:?}: {}", ran.stderr);
    }
}

#[test]
fn files_of_others_in_a_search_folder_are_neither_believed_nor_removed() {
    for of_formula in [false, true] {
        let place = Place::new();
        let ask = |more: &[&str]| if of_formula { place.formula(more) } else { place.search(more) };
        let begun = ask(if of_formula { &[] } else { &["--max-depth", "3"] });
        assert!(matches!(begun.code, Some(0 | 3)), "{}", begun.stderr);
        let mut guests = Vec::new();
        for folder in ["search/audit", "search/passes"] {
            fs::create_dir_all(place.at(folder)).expect("a folder");
        }
        for folder in ["search", "search/states", "search/passes", "search/audit"] {
            for name in [".direct-12", ".hidden", "notes", "run-9", "run-9.0123456789abcdef", "manifest.new"]
            {
                guests.push(place.at(folder).join(name));
                fs::write(place.at(folder).join(name), "mine").expect("a file");
            }
        }
        let ran = ask(&["--resume"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let ran = place.audit();
        assert_eq!(
            (ran.code, &ran.json()["accepted"]),
            (Some(0), &true.into()),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
        for guest in guests {
            assert_eq!(fs::read(&guest).ok().as_deref(), Some(&b"mine"[..]), "{}", guest.display());
        }
    }
}

#[test]
fn an_audit_changes_nothing_in_the_folder_and_leaves_nothing_beside_it() {
    let place = Place::new();
    assert_eq!(place.formula(&[]).code, Some(0));
    let before = tree(&place.at("search"));
    let ran = place.audit();
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(tree(&place.at("search")), before);
    assert!(!place.at(".fathom").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_audited() {
    let place = Place::new();
    assert_eq!(place.formula(&[]).code, Some(0));
    let paths: Vec<PathBuf> = tree(&place.at("search")).into_keys().collect();
    for path in paths.iter().rev() {
        let mode = if path.is_dir() { 0o555 } else { 0o444 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }
    fs::set_permissions(place.place.path(), fs::Permissions::from_mode(0o555)).expect("it is ours");
    let before = tree(&place.at("search"));
    let mut command = fathom(&["audit", "search", "--quiet"]);
    command.current_dir(place.place.path());
    if rustix::process::geteuid().is_root() {
        // The superuser may write everywhere: somebody else audits, with a copy of the binary that everybody may run.
        let open = tempfile::tempdir_in("/tmp").expect("a folder");
        fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
        let binary = open.path().join("fathom");
        // Another process copies it: this one may be starting a third, which then has the file open for writing.
        let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_fathom")).arg(&binary).status();
        assert!(copied.expect("it runs").success());
        let source = open.path().join("model.dve");
        fs::copy(model("peterson.dve"), &source).expect("a file");
        let mut other = Command::new(binary);
        other.args(["audit", "search", "--quiet", "--model"]).arg(source);
        other.current_dir(place.place.path()).uid(65_534).gid(65_534);
        let ran = Ran::of(other.output().expect("it runs"));
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    } else {
        let ran = Ran::of(command.output().expect("it runs"));
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    }
    assert_eq!(tree(&place.at("search")), before);
    for path in &paths {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }
    fs::set_permissions(place.place.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn a_file_system_that_cannot_be_written_is_audited() {
    let place = Place::new();
    assert_eq!(place.formula(&[]).code, Some(0));
    let folder = place.at("search");
    let Some(mounted) = Mounted::read_only(&folder) else {
        let test = "a_file_system_that_cannot_be_written_is_audited";
        return skipped(test, "nothing can be mounted here");
    };
    let ran = place.audit();
    drop(mounted);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_second_process_leaves_everything_as_it_was_and_says_who_is_there() {
    let place = Place::new();
    let nine = model("nine_puzzle.dve");
    let words = ["explore", &nine, "--engine", "tier", "--dir", "search", "--quiet", "--commit-every", "1h"];
    let mut first = fathom(&words);
    let mut child = first_child(first.args(["--ram", "32MiB"]).current_dir(place.place.path()));
    let began = Instant::now();
    while !place.at("search/states").exists() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // It is there as long as we look.
    kill_process(Pid::from_child(&child), Signal::STOP).expect("it is ours");
    let before = tree(&place.at("search"));
    assert!(before.contains_key(&place.at("search/run.json")), "it is written first");
    for (more, command) in [(&["--resume"][..], "explore"), (&[], "explore"), (&[], "audit")] {
        let ran = if command == "audit" { place.audit() } else { place.search(more) };
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("another fathom"), "{}", ran.stderr);
        assert!(ran.stderr.contains("is using search"), "{}", ran.stderr);
        assert_eq!(tree(&place.at("search")), before, "{command} {more:?}");
    }
    let _ = child.kill();
    child.wait().expect("it ends");
    assert!(!place.at("search/lock").exists() && !place.at("search/states/lock").exists());
}

fn first_child(command: &mut Command) -> std::process::Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs")
}

#[test]
fn a_manifest_or_card_of_gigabytes_is_not_read() {
    let place = Place::new();
    assert_eq!(place.search(&[]).code, Some(0));
    let states = place.at("search/states");
    // A build that names files otherwise is tested, too.
    let manifest = search_folder::manifest(&states).unwrap_or_else(|| states.join("manifest"));
    let sized = |path: &Path, bytes: u64| {
        fs::OpenOptions::new().write(true).open(path).expect("it is there").set_len(bytes).expect("sparse");
    };
    let old = fs::metadata(&manifest).expect("it is there").len();
    sized(&manifest, 3 << 30);
    let limited = |words: &[&str]| {
        let mut command = Command::new("sh");
        let script = "ulimit -v 2000000 && exec \"$@\"";
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_fathom")]).args(words);
        Ran::of(command.current_dir(place.place.path()).output().expect("it runs"))
    };
    let lost = model("lost_update.dve");
    let resume = ["explore", &lost, "--engine", "tier", "--dir", "search", "--resume", "--ram", "32MiB"];
    let ran = limited(&resume);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("too large") && !ran.stderr.contains("to resume it"), "{}", ran.stderr);
    let audit = limited(&["audit", "search"]);
    assert!(matches!(audit.code, Some(1 | 2)), "{}", audit.stderr);
    assert!(format!("{}{}", audit.stdout, audit.stderr).contains("too large"), "{}", audit.stdout);
    sized(&manifest, old);
    sized(&place.at("search/run.json"), 3 << 30);
    let ran = limited(&resume);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("fathom did not write"), "{}", ran.stderr);
}

#[test]
fn what_is_damaged_is_not_to_be_gone_on_with() {
    let place = Place::new();
    assert_eq!(place.search(&["--max-depth", "5"]).code, Some(3));
    let states = place.at("search/states");
    for entry in states.read_dir().expect("readable") {
        let path = entry.expect("readable").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if !name.starts_with("manifest") && !name.starts_with("ballast") {
            let mut bytes = fs::read(&path).expect("readable");
            bytes.iter_mut().for_each(|byte| *byte ^= 0x55);
            fs::write(&path, bytes).expect("it can be written");
        }
    }
    let ran = place.search(&["--resume"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("damaged"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("to resume it"), "{}", ran.stderr);
}

#[test]
fn a_search_that_begins_anew_does_not_say_so_and_that_it_can_go_on_in_one_breath() {
    let place = Place::new();
    assert_eq!(place.search(&[]).code, Some(0));
    // As if it had been killed before its first checkpoint.
    for entry in place.at("search/states").read_dir().expect("it is there") {
        fs::remove_file(entry.expect("readable").path()).expect("it can be removed");
    }
    let words = ["explore", &model("lost_update.dve"), "--engine", "tier", "--dir", "search", "--resume"];
    let ran = Ran::of(
        fathom(&words).args(["--max-depth", "3"]).current_dir(place.place.path()).output().expect("it runs"),
    );
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("there is no checkpoint in search yet"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("start over") && !ran.stderr.contains("starts over"), "{}", ran.stderr);
    assert!(ran.stdout.contains("to resume it"), "{}", ran.stdout);
}

#[test]
fn what_killed_searches_leave_under_fathom_goes_with_the_next_one() {
    let (nine, bakery, peterson) =
        (model("nine_puzzle.dve"), model("bakery_four.dve"), model("peterson.dve"));
    let lasting = ["explore", &nine, "--engine", "tier", "--ram", "32MiB", "--commit-every", "1h"];
    let endless = "G F P_0.outside || F G !P_0.outside";
    let nested = ["check", &bakery, "--only", "--ltl", endless, "--engine", "ndfs", "--store", "tier"];
    let next_lasting = ["explore", &peterson, "--engine", "tier"];
    let next_nested = ["check", &peterson, "--only", "--ltl", FORMULA, "--engine", "ndfs", "--store", "tier"];
    for (killed, next) in
        [(&lasting[..], &next_nested[..]), (&nested, &next_lasting), (&nested, &next_nested)]
    {
        let place = Place::new();
        let mut command = fathom(killed);
        let mut child = first_child(command.arg("--quiet").current_dir(place.place.path()));
        let made = || fs::read_dir(place.at(".fathom")).map_or(0, Iterator::count) > 0;
        let began = Instant::now();
        while !made() && began.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(50));
        let asked = || {
            let ran = place.ask(next, &[]);
            assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        };
        asked();
        let alive = child.try_wait().expect("it is ours").is_none();
        assert!(!alive || made(), "while it is alive, its files stay: {killed:?}");
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        fs::create_dir_all(place.at(".fathom/mine-1/states")).expect("a folder");
        fs::write(place.at(".fathom/mine-1/states/notes"), "mine").expect("a file");
        asked();
        let left: Vec<_> = fs::read_dir(place.at(".fathom"))
            .expect("it is there")
            .map(|entry| entry.expect("readable").file_name())
            .collect();
        assert_eq!(left, ["mine-1"], "{killed:?}, then {next:?}");
        assert!(place.at(".fathom/mine-1/states/notes").exists());
    }
}

#[test]
fn depth_first_searches_say_why_they_cannot_be_resumed() {
    let peterson = model("peterson.dve");
    for engine in ["ndfs", "ddfs"] {
        for more in [&["--dir", "D"][..], &["--dir", "D", "--resume"], &["--keep"]] {
            let words =
                ["check", &peterson, "--only", "--ltl", FORMULA, "--engine", engine, "--store", "tier"];
            let ran = run(&[&words[..], more].concat());
            assert_eq!(ran.code, Some(2));
            assert!(ran.stderr.contains("a depth-first search cannot"), "{}", ran.stderr);
            assert!(ran.stderr.contains("semi-owcty"), "{}", ran.stderr);
        }
    }
}

#[test]
fn a_path_given_by_the_user_may_be_a_link() {
    let place = Place::new();
    fs::create_dir(place.at("elsewhere")).expect("a folder");
    symlink(place.at("elsewhere"), place.at("search")).expect("a link");
    assert_eq!(place.search(&["--max-depth", "3"]).code, Some(3));
    assert!(place.at("elsewhere/run.json").exists());
    assert_eq!(place.search(&["--resume"]).code, Some(0));
    assert_eq!(place.audit().code, Some(0));
    // What we would make ourselves is ours, and no link.
    let place = Place::new();
    symlink(place.at("victim"), place.at(".fathom")).expect("a link");
    let ran = place.ask(&["explore", &model("peterson.dve"), "--engine", "tier"], &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_eq!(tree(&place.at("victim")), place.victim);
}
