//! Which modules import each other in a circle?
//!
//! Looked at folder by folder: the modules of one folder, each with all that lies below it, must not import each other in a circle. What a module shares with those below it is their own
//! affair, and so is what tests import.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, UseTree};

use super::{Broken, Source};

/// The modules of one folder, and for each those that it imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Every circle of modules, with how many are in it.
pub(super) fn cycles(sources: &[Source]) -> Broken {
    let modules: BTreeSet<(&str, &[String])> =
        sources.iter().filter_map(|source| Some((&*source.package, source.module.as_deref()?))).collect();
    let mut folders: BTreeMap<(&str, Vec<String>), Graph> = BTreeMap::new();
    for source in sources {
        let Some(module) = &source.module else { continue };
        for path in imports(module, &source.syntax) {
            let target = longest_module(&modules, &source.package, &path);
            let shared = module.iter().zip(target).take_while(|(from, to)| from == to).count();
            if let (Some(from), Some(to)) = (module.get(shared), target.get(shared)) {
                let graph = folders.entry((&source.package, module[..shared].to_vec())).or_default();
                graph.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let mut broken = Broken::new();
    for ((package, folder), graph) in &folders {
        for circle in circles(graph) {
            let place = [&[(*package).to_owned()][..], folder].concat().join("/");
            let what = format!("{place}: modules import each other in a circle: {}", circle.join(", "));
            broken.insert(what, circle.len());
        }
    }
    broken
}

/// How much of a path is a module.
fn longest_module<'a>(
    modules: &BTreeSet<(&str, &[String])>,
    package: &str,
    path: &'a [String],
) -> &'a [String] {
    let parts = (0..=path.len()).rev().map(|length| &path[..length]);
    parts.into_iter().find(|part| modules.contains(&(package, part))).unwrap_or(&[])
}

/// Sets of modules that reach each other, larger than one.
fn circles(graph: &Graph) -> Vec<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|start| (start.as_str(), reachable(graph, start))).collect();
    let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
    for (start, reached) in &reach {
        let back = |other: &&&str| reach.get(**other).is_some_and(|reached| reached.contains(start));
        let circle: Vec<String> = reached.iter().filter(back).map(|name| (*name).to_owned()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

fn reachable<'a>(graph: &'a Graph, start: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![start];
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flatten() {
            if reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}

/// All paths in a file that begin with `crate`, `super` or `self`, from the root of the crate.
fn imports(module: &[String], file: &syn::File) -> Vec<Vec<String>> {
    let mut paths = Paths { module: module.to_vec(), found: Vec::new() };
    paths.visit_file(file);
    paths.found
}

struct Paths {
    /// The module that is being looked at.
    module: Vec<String>,
    found: Vec<Vec<String>>,
}

impl Paths {
    /// Notes a path if it begins in this crate.
    fn note(&mut self, path: &[String]) {
        let mut place = match path.first().map(String::as_str) {
            Some("crate") => Vec::new(),
            Some("self") => self.module.clone(),
            Some("super") => self.module[..self.module.len().saturating_sub(1)].to_vec(),
            _ => return,
        };
        for name in &path[1..] {
            match name.as_str() {
                "super" => drop(place.pop()),
                name => place.push(name.to_owned()),
            }
        }
        self.found.push(place);
    }

    fn note_tree(&mut self, before: &[String], tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                self.note_tree(&[before, &[path.ident.to_string()]].concat(), &path.tree);
            }
            UseTree::Name(name) => self.note(&[before, &[name.ident.to_string()]].concat()),
            UseTree::Rename(name) => self.note(&[before, &[name.ident.to_string()]].concat()),
            UseTree::Glob(_) => self.note(before),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.note_tree(before, tree)),
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(module) => &module.attrs,
            Item::Fn(function) => &function.attrs,
            Item::Use(import) => &import.attrs,
            _ => &[],
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, import: &'ast ItemUse) {
        self.note_tree(&[], &import.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&names);
        visit::visit_path(self, path);
    }
}

/// `#[cfg(test)]` or `#[test]`.
pub(super) fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("test")
        || attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        let module = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Source {
            path: format!("crates/one/src/{path}.rs"),
            package: "crates/one".into(),
            module: Some(module),
            text: text.into(),
            syntax: syn::parse_file(text).unwrap(),
        }
    }

    #[test]
    fn a_circle_is_found_wherever_it_is_closed() {
        let told = |third: &str| {
            let sources = [
                source("", "mod a; mod b; mod c;"),
                source("a", "use crate::b::{self, One};"),
                source("b", "use super::c::Two; #[cfg(test)] mod tests { use crate::a; }"),
                source("c", third),
            ];
            cycles(&sources).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(told("fn f() {}"), []);
        let circle = "crates/one: modules import each other in a circle: a, b, c".to_owned();
        assert_eq!(told("fn f() { crate::a::g() }"), [(circle.clone(), 3)]);
        assert_eq!(told("use super::a;"), [(circle, 3)]);
    }

    #[test]
    fn what_lies_below_belongs_to_its_folder() {
        let sources = [
            source("a", "mod x; mod y; use x::One;"),
            source("a/x", "use super::y::Two; use crate::b::Three;"),
            source("a/y", "use super::x;"),
            source("b", "use crate::a::y::Two;"),
        ];
        let told: Vec<String> = cycles(&sources).into_keys().collect();
        assert_eq!(
            told,
            [
                "crates/one/a: modules import each other in a circle: x, y",
                "crates/one: modules import each other in a circle: a, b"
            ]
        );
    }
}
