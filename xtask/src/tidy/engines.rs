//! Which files name an engine that is none of their affair?
//!
//! An engine says what it is called in its own file or folder, and the registry lists it. Its name, in quotes, stands there, in tests and in documentation; what else names one would have to be
//! found and changed when an engine comes or goes.

use syn::visit::{self, Visit};
use syn::{ExprLit, ExprStruct, Item, Lit, Macro, Member};

use super::imports::is_for_tests;
use super::{Broken, Source};

/// The folder that has a file or a folder for each.
const ENGINES: &str = "crates/fathom-search/src/engines/";

/// Files of crates that name engines, with how often they do. That no engine is found is told, too: then nothing is looked for.
pub(super) fn named_elsewhere(sources: &[Source]) -> Broken {
    let names: Vec<String> =
        sources.iter().filter(|source| source.path.starts_with(ENGINES)).flat_map(named).collect();
    let mut broken = Broken::new();
    if names.is_empty() {
        broken.insert(format!("{ENGINES}: no file there says what an engine is called"), 1);
    }
    for source in sources {
        if source.module.is_none() || source.package == "xtask" {
            continue;
        }
        let texts = texts(&source.syntax);
        for name in names.iter().filter(|name| !is_own(&source.path, name)) {
            let count = texts.iter().filter(|text| *text == name).count();
            if count > 0 {
                broken.insert(format!("{}: it names the engine {name}", source.path), count);
            }
        }
    }
    broken
}

/// The names that a file gives engines: `Engine { name: "tier", … }`.
fn named(source: &Source) -> Vec<String> {
    let mut names = Names(Vec::new());
    names.visit_file(&source.syntax);
    names.0
}

/// Whether a file is the engine's own: `stern_dill.rs` or a file in `stern_dill/`.
fn is_own(path: &str, name: &str) -> bool {
    let own = format!("{ENGINES}{}", name.replace('-', "_"));
    path.strip_prefix(&own).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// All string literals of a file, those in macros too, but not those of tests and of attributes, which documentation is.
fn texts(file: &syn::File) -> Vec<String> {
    let mut texts = Texts(Vec::new());
    texts.visit_file(file);
    texts.0
}

struct Names(Vec<String>);

impl<'ast> Visit<'ast> for Names {
    fn visit_expr_struct(&mut self, literal: &'ast ExprStruct) {
        let is_engine = literal.path.segments.last().is_some_and(|segment| segment.ident == "Engine");
        for field in literal.fields.iter().filter(|_| is_engine) {
            if let (Member::Named(member), syn::Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) =
                (&field.member, &field.expr)
                && member == "name"
            {
                self.0.push(text.value());
            }
        }
        visit::visit_expr_struct(self, literal);
    }
}

struct Texts(Vec<String>);

impl<'ast> Visit<'ast> for Texts {
    fn visit_item(&mut self, item: &'ast Item) {
        let for_tests = match item {
            Item::Mod(module) => module.attrs.iter().any(is_for_tests),
            Item::Fn(function) => function.attrs.iter().any(is_for_tests),
            _ => false,
        };
        if !for_tests {
            visit::visit_item(self, item);
        }
    }

    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    /// The words that an option of an engine can be are its own affair: `candidates=ram` is no engine.
    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        let are_words = |name: &syn::Ident| ["OneOf", "Share", "Names"].iter().any(|words| name == words);
        let is_option = matches!(&*call.func, syn::Expr::Path(path)
            if path.path.segments.last().is_some_and(|last| are_words(&last.ident)));
        if !is_option {
            visit::visit_expr_call(self, call);
        }
    }

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        self.0.push(text.value());
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        collect(called.tokens.clone(), &mut self.0);
    }
}

/// The string literals among the words of a macro.
fn collect(tokens: proc_macro2::TokenStream, texts: &mut Vec<String>) {
    for token in tokens {
        match token {
            proc_macro2::TokenTree::Group(group) => collect(group.stream(), texts),
            proc_macro2::TokenTree::Literal(literal) => {
                if let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) {
                    texts.push(text.value());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAM: &str = r#"
        pub static ENGINE: Engine =
            Engine { name: "ram", paper: "", options: &[EngineOption { name: "cache" }] };"#;
    const STERN_DILL: &str = r#"pub static ENGINE: Engine = Engine { name: "stern-dill", options: &[] };"#;

    /// What is told of a file, beside two engines.
    fn told(path: &str, text: &str) -> Vec<(String, usize)> {
        let source = |path: &str, text: &str| Source {
            path: path.into(),
            package: path.split("/src/").next().unwrap_or_default().into(),
            module: path.contains("/src/").then(Vec::new),
            text: text.into(),
            syntax: syn::parse_file(text).unwrap(),
        };
        let engine = |name: &str, text| source(&format!("{ENGINES}{name}.rs"), text);
        let sources = [engine("ram", RAM), engine("stern_dill", STERN_DILL), source(path, text)];
        named_elsewhere(&sources).into_iter().collect()
    }

    #[test]
    fn a_tree_without_engines_is_told() {
        assert_eq!(named_elsewhere(&[]).len(), 1);
    }

    #[test]
    fn a_name_elsewhere_is_told_and_counted() {
        let text = r#"fn f(engine: &str) -> bool { engine == "ram" || engine == "ramp" || matches!(engine, "ram") }"#;
        let place = "crates/one/src/two.rs: it names the engine ram".to_owned();
        assert_eq!(told("crates/one/src/two.rs", text), [(place, 2)]);
        let text = r#"const DISK: &str = "stern-dill";"#;
        assert_eq!(told("crates/one/src/two.rs", text).len(), 1);
    }

    #[test]
    fn its_own_files_tests_and_words_for_people_may_name_it() {
        let text = r#"
            /// Like "ram", said: "ram".
            #[arg(default_value = "ram")]
            fn f() { println!("the engine ram, {}", "cache") }
            #[cfg(test)]
            mod tests { fn f() -> &'static str { "ram" } }
        "#;
        assert_eq!(told("crates/one/src/two.rs", text), []);
        let option = r#"const WORDS: OptionValue = OptionValue::OneOf(&["ram", "disk"]);"#;
        assert_eq!(told("crates/one/src/two.rs", option), []);
        let own = r#"const NAME: &str = "stern-dill";"#;
        assert_eq!(told("crates/fathom-search/src/engines/stern_dill.rs", own), []);
        assert_eq!(told("crates/fathom-search/src/engines/stern_dill/file.rs", own), []);
        assert_eq!(told("crates/one/tests/two.rs", own), []);
        assert_eq!(told("crates/fathom-search/src/engines/stern_dill_two.rs", own).len(), 1);
    }
}
