//! Which functions are long? Those of more than 70 lines: a screen.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::{Broken, Source};

/// The most lines that a function may have, from its name to its last brace.
const LINES_MAX: usize = 70;

/// Functions that are longer than a screen, with their lines.
pub(super) fn long(sources: &[Source]) -> Broken {
    let mut broken = Broken::new();
    for source in sources {
        let mut functions = Functions { inside: Vec::new(), found: Vec::new() };
        functions.visit_file(&source.syntax);
        for (name, lines) in functions.found {
            if lines > LINES_MAX {
                broken.insert(
                    format!("{}: the function {name} is longer than {LINES_MAX} lines", source.path),
                    lines,
                );
            }
        }
    }
    broken
}

struct Functions {
    /// The type that methods are of.
    inside: Vec<String>,
    found: Vec<(String, usize)>,
}

impl Functions {
    fn note(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let line = |at: proc_macro2::LineColumn| at.line;
        let (start, end) = (line(signature.span().start()), line(block.span().end()));
        let name = [&self.inside[..], &[signature.ident.to_string()]].concat().join("::");
        self.found.push((name, end - start + 1));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.inside.push(name.unwrap_or_else(|| "impl".to_owned()));
        visit::visit_item_impl(self, item);
        self.inside.pop();
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.note(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_the_name_to_the_last_brace() {
        let told = |lines: usize| {
            let text = format!(
                "struct One;\nimpl One {{\n/// Words.\nfn f() {{\n{}}}\n}}\n",
                "f();\n".repeat(lines)
            );
            let syntax = syn::parse_file(&text).unwrap();
            let source = Source { path: "p".into(), package: "c".into(), module: None, text, syntax };
            long(&[source]).into_iter().collect::<Vec<_>>()
        };
        assert_eq!(told(68), []);
        assert_eq!(told(69), [("p: the function One::f is longer than 70 lines".to_owned(), 71)]);
    }
}
