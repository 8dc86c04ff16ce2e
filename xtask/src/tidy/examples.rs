//! Which public items of the library does no example reach?
//!
//! An example reaches what it names, and what the public face of that names: types of arguments, fields and results, and methods. Examples are the blocks of Rust in documentation, which
//! `cargo test` runs, and the programs under `examples/`, which a suite runs.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{ImplItem, Item, ItemImpl, Type, Visibility};

use super::{Broken, Source};

/// The crate that others build upon.
const LIBRARY: &str = "crates/fathom-check";

/// Public items of the library that no example reaches.
pub(super) fn unreached(sources: &[Source]) -> Broken {
    let library = || sources.iter().filter(|source| source.package == LIBRARY);
    let mut faces: BTreeMap<String, Face> = BTreeMap::new();
    let mut reached = BTreeSet::new();
    for source in library() {
        match source.module {
            Some(_) => {
                source.syntax.items.iter().for_each(|item| add(item, &source.path, &mut faces));
                reached.extend(words(&documented(&source.text)));
            }
            None if source.path.starts_with(&format!("{LIBRARY}/examples/")) => {
                reached.extend(words(&source.text));
            }
            None => {}
        }
    }
    let mut open: Vec<String> = reached.iter().filter(|name| faces.contains_key(*name)).cloned().collect();
    while let Some(name) = open.pop() {
        for named in &faces[&name].names {
            if faces.contains_key(named) && reached.insert(named.clone()) {
                open.push(named.clone());
            }
        }
    }
    let public = faces.iter().filter(|(name, face)| face.path.is_some() && !reached.contains(*name));
    let told = |(name, face): (&String, &Face)| {
        (format!("{}: no example reaches {name}", face.path.as_deref().unwrap_or_default()), 1)
    };
    public.map(told).collect()
}

/// What is seen of an item from outside.
#[derive(Default)]
struct Face {
    /// Where it is; none if only its methods are known.
    path: Option<String>,
    names: BTreeSet<String>,
}

fn add(item: &Item, path: &str, faces: &mut BTreeMap<String, Face>) {
    let (visibility, name) = match item {
        Item::Fn(it) => (&it.vis, &it.sig.ident),
        Item::Struct(it) => (&it.vis, &it.ident),
        Item::Enum(it) => (&it.vis, &it.ident),
        Item::Trait(it) => (&it.vis, &it.ident),
        Item::Type(it) => (&it.vis, &it.ident),
        Item::Const(it) => (&it.vis, &it.ident),
        Item::Static(it) => (&it.vis, &it.ident),
        Item::Impl(block) => return add_methods(block, faces),
        _ => return,
    };
    if !matches!(visibility, Visibility::Public(_)) {
        return;
    }
    let mut names = Names::default();
    match item {
        Item::Fn(it) => names.visit_signature(&it.sig),
        item => names.visit_item(item),
    }
    let face = faces.entry(name.to_string()).or_default();
    face.path = Some(path.to_owned());
    face.names.extend(names.0);
}

/// The methods that anybody can call.
fn add_methods(block: &ItemImpl, faces: &mut BTreeMap<String, Face>) {
    let Type::Path(owner) = &*block.self_ty else { return };
    let Some(owner) = owner.path.segments.last() else { return };
    let mut names = Names::default();
    for item in &block.items {
        if let ImplItem::Fn(method) = item
            && matches!(method.vis, Visibility::Public(_))
        {
            names.visit_signature(&method.sig);
        }
    }
    faces.entry(owner.ident.to_string()).or_default().names.extend(names.0);
}

#[derive(Default)]
struct Names(BTreeSet<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, name: &'ast Ident) {
        self.0.insert(name.to_string());
        visit::visit_ident(self, name);
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}
}

/// The blocks of Rust in the documentation of a file.
fn documented(text: &str) -> String {
    let mut blocks = String::new();
    let mut inside = None;
    for line in text.lines().map(str::trim_start) {
        let Some(said) = line.strip_prefix("///").or_else(|| line.strip_prefix("//!")) else { continue };
        match (said.trim().strip_prefix("```"), inside) {
            (Some(language), None) => inside = Some(!matches!(language, "text" | "console" | "ignore")),
            (Some(_), Some(_)) => inside = None,
            (None, Some(true)) => blocks.extend([said, "\n"]),
            (None, _) => {}
        }
    }
    blocks
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        let path = format!("{LIBRARY}/{path}");
        Source {
            module: path.contains("/src/").then(Vec::new),
            path,
            package: LIBRARY.into(),
            text: text.into(),
            syntax: syn::parse_file(text).unwrap(),
        }
    }

    const CODE: &str = "
        pub struct Asked { pub how: Manner }
        pub enum Manner { Well }
        impl Asked { pub fn answer(&self) -> Answer { todo() } fn hidden(&self) -> Hidden { todo() } }
        pub struct Answer;
        pub struct Hidden;
        pub(crate) struct Inner;
        pub const MOST: usize = 3;
    ";

    #[test]
    fn what_no_example_reaches_is_told() {
        let told = |sources: &[Source]| -> Vec<String> {
            unreached(sources).into_keys().map(|it| it.rsplit(' ').next().unwrap().to_owned()).collect()
        };
        assert_eq!(told(&[source("src/one.rs", CODE)]), ["Answer", "Asked", "Hidden", "MOST", "Manner"]);
        let example = source("examples/tour.rs", "fn main() { Asked; }");
        assert_eq!(told(&[source("src/one.rs", CODE), example]), ["Hidden", "MOST"]);
        let documented =
            "//! ```\n//! assert!(MOST < 4);\n//! ```\n//! ```text\n//! Hidden\n//! ```\n//! Hidden";
        let sources = [source("src/one.rs", CODE), source("src/two.rs", documented)];
        assert_eq!(told(&sources), ["Answer", "Asked", "Hidden", "Manner"]);
        assert!(told(&[source("src/one.rs", CODE), source("tests/two.rs", "fn f() { MOST; }")]).len() == 5);
    }
}
