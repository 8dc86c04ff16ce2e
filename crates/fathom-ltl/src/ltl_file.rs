//! Which properties does a `.ltl` file state?
//!
//! Lines that begin with `#define NAME FORMULA` and `#property FORMULA` count, every other line is comment. Definitions
//! may stand in any order, before or after their use.

use std::collections::{HashMap, HashSet};

use crate::atom::AtomLanguage;
use crate::diagnostic::{Diagnostic, Mistakes, Span};
use crate::formula::Formula;
use crate::lexer::{self, TokenKind};
use crate::parser::{Definitions, parse_part};

/// The most nodes that all formulas of a file may have together.
const FILE_NODES_MAX: usize = 1_000_000;

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
) -> Result<Vec<LtlProperty>, Mistakes> {
    let mut mistakes = Mistakes::default();
    let (defines, bodies) = directives(source, definitions, &mut mistakes);
    let mut known = definitions.clone();
    let mut nodes = 0;
    for define in ordered(source, &defines, &mut mistakes) {
        match parse_part(source, define.body, &known, language) {
            Ok(formula) => {
                nodes += formula.size();
                known.define(define.name, formula);
            }
            Err(more) => mistakes.extend(more),
        }
        too_many_nodes(nodes, define.name_span)?;
    }
    let mut properties = Vec::new();
    for span in bodies {
        match parse_part(source, span, &known, language) {
            Ok(formula) => {
                nodes += formula.size();
                properties.push(LtlProperty { formula, span });
            }
            Err(more) => mistakes.extend(more),
        }
        too_many_nodes(nodes, span)?;
    }
    if mistakes.is_empty() { Ok(properties) } else { Err(mistakes) }
}

fn too_many_nodes(nodes: usize, span: Span) -> Result<(), Diagnostic> {
    if nodes <= FILE_NODES_MAX {
        return Ok(());
    }
    let message = format!("the formulas of the file have more than {FILE_NODES_MAX} nodes together");
    Err(Diagnostic::new(span, message).help("split the file"))
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
    mistakes: &mut Mistakes,
) -> (Vec<Define<'a>>, Vec<Span>) {
    let (mut defines, mut properties): (Vec<Define<'a>>, Vec<Span>) = (Vec::new(), Vec::new());
    let mut names: HashSet<&str> = HashSet::new();
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
            } else if outer.get(name).is_some() || !names.insert(name) {
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
fn ordered<'d, 'a>(source: &str, defines: &'d [Define<'a>], mistakes: &mut Mistakes) -> Vec<&'d Define<'a>> {
    let index: HashMap<&str, usize> = defines.iter().enumerate().map(|(i, d)| (d.name, i)).collect();
    let uses: Vec<Vec<usize>> =
        defines.iter().map(|define| names_used(source, define.body, &index)).collect();
    let rounds = rounds(&uses);
    for (define, _) in defines.iter().zip(&rounds).filter(|(_, round)| round.is_none()) {
        let message = format!("the definition of `{}` leads back to itself", define.name);
        mistakes.push(Diagnostic::new(define.name_span, message));
    }
    let mut order: Vec<(usize, usize)> =
        rounds.iter().enumerate().filter_map(|(place, round)| Some(((*round)?, place))).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, place)| &defines[place]).collect()
}

/// In which round each definition is put in place, if every round goes through the file and takes those whose uses are in place already; none for what leads back to
/// itself.
fn rounds(uses: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); uses.len()];
    let mut missing: Vec<usize> = uses.iter().map(Vec::len).collect();
    for (place, used) in uses.iter().enumerate() {
        used.iter().for_each(|used| users[*used].push(place));
    }
    let mut ready: Vec<usize> = (0..uses.len()).filter(|place| missing[*place] == 0).collect();
    let mut rounds = vec![None; uses.len()];
    while let Some(place) = ready.pop() {
        let after = |used: &usize| rounds[*used].map_or(0, |round: usize| round + usize::from(*used > place));
        rounds[place] = Some(uses[place].iter().map(after).max().unwrap_or(0));
        for user in &users[place] {
            missing[*user] -= 1;
            if missing[*user] == 0 {
                ready.push(*user);
            }
        }
    }
    rounds
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
    fn a_hundred_thousand_definitions_in_reverse_order_are_read_at_once() {
        let mut source = String::from("#property d0\n");
        for i in 0..100_000 {
            source += &format!("#define d{i} d{}\n", i + 1);
        }
        source += "#define d100000 last\n";
        assert_eq!(shown(&source).unwrap(), ["last"]);
        assert_eq!(
            rounds(&[vec![1], vec![2], vec![], vec![0, 2], vec![4], vec![]]),
            [Some(2), Some(1), Some(0), Some(2), None, Some(0)]
        );
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
