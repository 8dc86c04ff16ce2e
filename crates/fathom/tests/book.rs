//! Does the book hold together? Every page is in the summary, and every link of the book and of the pages at the root leads to a file, and to a heading where it names one. mdbook, where CI has it, builds the pages from the same files.

#![allow(clippy::unwrap_used, reason = "tests stop at the first surprise")]

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { pages(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.sort();
    pages
}

/// The text without what stands in blocks and spans of code: there, brackets are no links.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    text.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

/// The targets of a text's links.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let starts = prose.match_indices("](").map(|(at, _)| at + 2);
    starts.filter_map(|at| prose[at..].split_once(')').map(|(target, _)| target.to_owned())).collect()
}

/// The names of a page's headings, as mdbook makes them.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let name = |line: &str| {
        let text = line.trim_start_matches('#').trim();
        let kept = text.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
    };
    headings.map(name).collect()
}

/// What is wrong with the links of a page.
fn broken(page: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(page).unwrap();
    let mut broken = Vec::new();
    for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
        let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let target = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
        let is_there = match (target.exists(), anchor) {
            (false, _) => false,
            (true, "") => true,
            (true, anchor) => {
                anchors(&std::fs::read_to_string(&target).unwrap()).iter().any(|it| it == anchor)
            }
        };
        if !is_there {
            broken.push(format!("{}: {link}", page.display()));
        }
    }
    broken
}

#[test]
fn every_link_leads_somewhere() {
    let mut pages = pages(&root().join("docs"));
    let at_root =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "models/README.md", "editors/README.md"];
    pages.extend(at_root.map(|page| root().join(page)));
    let broken: Vec<String> = pages.iter().flat_map(|page| broken(page)).collect();
    assert!(pages.len() > 30 && broken.is_empty(), "{broken:#?}");
}

#[test]
fn every_page_is_in_the_summary_once() {
    let folder = root().join("docs/src");
    let summary = std::fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let mut listed: Vec<PathBuf> = links(&summary).iter().map(|link| folder.join(link)).collect();
    listed.sort();
    let written: Vec<PathBuf> =
        pages(&folder).into_iter().filter(|page| !page.ends_with("SUMMARY.md")).collect();
    assert_eq!(listed, written);
}

#[test]
fn the_readme_knows_how_many_models_there_are() {
    let entries = root().join("models").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_model =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "dve" || extension == "m");
    let said = format!("[{} models](models/README.md)", entries.filter(is_model).count());
    assert!(std::fs::read_to_string(root().join("README.md")).unwrap().contains(&said), "{said}");
}

#[test]
fn a_broken_link_is_noticed() {
    let scratch = tempfile::tempdir().unwrap();
    let page = scratch.path().join("a.md");
    let text = "# One *two*\n[ok](a.md#one-two) [no file](b.md) `[code](c.md)` [no heading](#three)\n```\n[x](d.md)\n```\n";
    std::fs::write(&page, text).unwrap();
    let broken = broken(&page);
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(broken[0].ends_with("b.md") && broken[1].ends_with("#three"), "{broken:?}");
}
