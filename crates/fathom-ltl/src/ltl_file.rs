//! Which properties does a `.ltl` file state?
//!
//! Lines that begin with `#define NAME FORMULA` and `#property FORMULA` count, every other line is comment. Definitions
//! may stand in any order, before or after their use.

use std::collections::HashMap;

use crate::atom::AtomLanguage;
use crate::diagnostic::{Diagnostic, Span};
use crate::formula::Formula;
use crate::lexer::{self, TokenKind};
use crate::parser::{Definitions, parse_part};

/// A `#property` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LtlProperty {
    /// The formula, with the definitions put in.
    pub formula: Formula,
    /// Where its text stands in the file.
    pub span: Span,
}

/// The properties of the file, in order. `definitions` holds names defined elsewhere (the command line), which the file
/// may use and may not redefine.
///
/// # Errors
/// All mistakes found, each with its place in `source`.
pub fn read(
    source: &str,
    definitions: &Definitions,
    language: &mut dyn AtomLanguage,
) -> Result<Vec<LtlProperty>, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let (defines, bodies) = directives(source, definitions, &mut mistakes);
    let mut known = definitions.clone();
    for define in ordered(source, &defines, &mut mistakes) {
        match parse_part(source, define.body, &known, language) {
            Ok(formula) => {
                known.define(define.name, formula);
            }
            Err(more) => mistakes.extend(more),
        }
    }
    let mut properties = Vec::new();
    for span in bodies {
        match parse_part(source, span, &known, language) {
            Ok(formula) => properties.push(LtlProperty { formula, span }),
            Err(more) => mistakes.extend(more),
        }
    }
    if mistakes.is_empty() { Ok(properties) } else { Err(mistakes) }
}

struct Define<'a> {
    name: &'a str,
    name_span: Span,
    body: Span,
}

/// The definitions, and the places of the properties.
fn directives<'a>(
    source: &'a str,
    outer: &Definitions,
    mistakes: &mut Vec<Diagnostic>,
) -> (Vec<Define<'a>>, Vec<Span>) {
    let (mut defines, mut properties): (Vec<Define<'a>>, Vec<Span>) = (Vec::new(), Vec::new());
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        let end = start + line.trim_end().len();
        let at = start + indent;
        start += line.len();
        let Some(line) = source.get(at..end) else { continue };
        if let Some(rest) = directive(line, "#property") {
            properties.push(Span::new(end - rest.trim_start().len(), end));
        } else if let Some(rest) = directive(line, "#define") {
            let rest = rest.trim_start();
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name_span = Span::new(end - rest.len(), end - rest.len() + length);
            let name = &rest[..length];
            if length == 0 || name.starts_with(|c: char| c.is_ascii_digit()) {
                mistakes.push(Diagnostic::new(name_span, "expected the name that is defined"));
            } else if outer.get(name).is_some() || defines.iter().any(|define| define.name == name) {
                mistakes.push(Diagnostic::new(name_span, format!("`{name}` is defined twice")));
            } else {
                defines.push(Define { name, name_span, body: Span::new(name_span.end, end) });
            }
        }
    }
    (defines, properties)
}

fn directive<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

/// The definitions, each after those it uses; a circle is reported and its members left out.
fn ordered<'d, 'a>(
    source: &str,
    defines: &'d [Define<'a>],
    mistakes: &mut Vec<Diagnostic>,
) -> Vec<&'d Define<'a>> {
    let index: HashMap<&str, usize> = defines.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    let uses: Vec<Vec<usize>> =
        defines.iter().map(|define| names_used(source, define.body, &index)).collect();
    let mut order = Vec::new();
    let mut placed = vec![false; defines.len()];
    loop {
        let before = order.len();
        for (i, define) in defines.iter().enumerate() {
            if !placed[i] && uses[i].iter().all(|&used| placed[used]) {
                placed[i] = true;
                order.push(define);
            }
        }
        if order.len() == before {
            break;
        }
    }
    for (define, _) in defines.iter().zip(&placed).filter(|(_, placed)| !**placed) {
        let message = format!("the definition of `{}` leads back to itself", define.name);
        mistakes.push(Diagnostic::new(define.name_span, message));
    }
    order
}

fn names_used(source: &str, body: Span, index: &HashMap<&str, usize>) -> Vec<usize> {
    let Ok(tokens) = lexer::tokens(source, body) else { return Vec::new() };
    let mut used = Vec::new();
    for token in tokens {
        if let TokenKind::Name(name) = token.kind {
            let letters = name.len() - name.trim_start_matches(['G', 'F', 'X']).len();
            // `GFname` counts as a use of `name`, unless it is defined itself.
            let found = (0..=letters).find_map(|skip| index.get(&name[skip..]));
            used.extend(found);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atom::AtomTable;

    fn shown(source: &str) -> Result<Vec<String>, Vec<String>> {
        let mut atoms = AtomTable::new();
        match read(source, &Definitions::new(), &mut atoms) {
            Ok(properties) => {
                Ok(properties.iter().map(|p| p.formula.display(atoms.names()).to_string()).collect())
            }
            Err(mistakes) => Err(mistakes.iter().map(|m| m.render("f.ltl", source)).collect()),
        }
    }

    #[test]
    fn definitions_in_any_order_and_operators_written_together() {
        let source = "Properties\n----\n#define busy (far && P_0.CS)\n#define far x > 3\n(1) text\n  #property GFbusy -> Gfar\n\
                      #property G((!far)->Ffar)\r\n#propertyless\n#property Fa";
        assert_eq!(
            shown(source).unwrap(),
            ["G F (x > 3 && P_0.CS) -> G (x > 3)", "G (!(x > 3) -> F (x > 3))", "Fa"]
        );
    }

    #[test]
    fn mistakes_are_all_reported_with_their_line() {
        let source = "#define a b\n#define b X a\n#define 1 c\n#define d\n#property G (\n#define e x\n#define e y\n#property e == 3\n";
        let mistakes = shown(source).unwrap_err();
        for part in [
            "`a` leads back",
            "`b` leads back",
            "f.ltl:3:9",
            "f.ltl:4:10",
            "f.ltl:5:13",
            "`e` is defined twice",
            "cannot be part of a term",
        ] {
            assert!(mistakes.iter().any(|mistake| mistake.contains(part)), "{part}: {mistakes:?}");
        }
    }

    #[test]
    fn definitions_cannot_blow_up() {
        let mut source = String::from("#define d0 (a && b)\n");
        for i in 1..64 {
            source += &format!("#define d{i} (d{} U d{})\n", i - 1, i - 1);
        }
        source += "#property d63\n";
        assert!(shown(&source).unwrap_err()[0].contains("nodes"));
    }
}
