//! Spellings, precedence, atoms in place, and what is said of mistakes.

use super::*;
use crate::atom::AtomTable;

fn shown(text: &str) -> String {
    let mut atoms = AtomTable::new();
    match parse(text, &mut atoms) {
        Ok(formula) => formula.display(atoms.names()).to_string(),
        Err(mistakes) => panic!("{}", mistakes.iter().map(|m| m.render("formula", text)).collect::<String>()),
    }
}

fn refusal(text: &str) -> String {
    parse(text, &mut AtomTable::new()).unwrap_err()[0].render("formula", text)
}

#[test]
fn every_spelling() {
    for (text, expected) in [
        ("[] (P_0.wait -> <> x == 3)", "G (P_0.wait -> F (x == 3))"),
        ("~a /\\ b \\/ not c and d or e", "!a && b || !c && d || e"),
        ("a V b", "a R b"),
        ("a U b U c", "a U b U c"),
        ("(a U b) U c", "(a U b) U c"),
        ("a W b M c R d", "a W b M c R d"),
        ("a -> b -> c <-> d", "a -> b -> c <-> d"),
        ("(a -> b) -> c", "(a -> b) -> c"),
        ("!a U b && X G F c", "!a U b && X G F c"),
        ("true U false", "true U false"),
        ("GF a && FG(b || c)", "G F a && F G (b || c)"),
        ("\"P->x\" U \"F\"", "\"P->x\" U \"F\""),
        ("\"a\" && a", "a && a"),
        ("req\\[0\\]==\"1\"", "req[0] == \"1\""),
        ("P.F && P.true", "P.F && P.true"),
        ("x+1<y*2 && (x+1)%3 == -1", "x + 1 < y * 2 && (x + 1) % 3 == -1"),
        ("(x)==(y)", "(x) == (y)"),
        ("a[i+1][2].s != 4", "a[i + 1][2].s != 4"),
        ("P != \"CS\"", "!(P == \"CS\")"),
        ("((a))", "a"),
        ("x<-1 <-> y<0", "x < -1 <-> y < 0"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
        assert_eq!(shown(expected), expected, "printed form of {text}");
    }
}

#[test]
fn equal_atoms_have_one_number() {
    let mut atoms = AtomTable::new();
    parse("x==3 && \"x  ==  3\" && P_0==\"CS\" && P_0 == \"CS\"", &mut atoms).unwrap();
    assert_eq!(atoms.names(), ["x == 3", "P_0 == \"CS\""]);
}

#[test]
fn mistakes_have_a_caret_and_advice() {
    for (text, message, caret) in [
        ("", "expected a formula", 1),
        ("a &&", "expected a formula", 5),
        ("a & b", "`&` has no meaning here", 3),
        ("a = b", "`=` has no meaning here", 3),
        ("(a && b", "this parenthesis is not closed", 1),
        ("a b", "expected an operator or the end", 3),
        ("a)", "expected an operator or the end", 2),
        ("(a b)", "expected an operator or `)`", 4),
        ("1 U a", "a number is no proposition", 1),
        ("x + 1", "an arithmetic term is no proposition", 1),
        ("x < y < z", "comparisons do not chain", 7),
        ("\"abc", "this quote is not closed", 1),
        ("\"  \"", "empty atom", 1),
        ("a[1", "expected `]`", 4),
        ("P.", "expected the name of a state", 3),
        ("x < \"CS\"", "a name in quotes can only be", 1),
        ("G U", "expected a formula", 3),
        ("é", "`é` has no meaning here", 1),
        ("a && é", "`é` has no meaning here", 6),
    ] {
        let shown = refusal(text);
        assert!(shown.contains(message), "{text}: {shown}");
        assert!(shown.contains(&format!("formula:1:{caret}\n")), "{text}: {shown}");
    }
}

#[test]
fn deep_and_long_input_is_bounded() {
    assert!(refusal(&"!".repeat(100_000)).contains("inside one another"));
    assert!(refusal(&"(".repeat(100_000)).contains("not closed"));
    assert!(refusal(&format!("{}a{}", "(".repeat(9000), ")".repeat(9000))).contains("inside one another"));
    assert!(refusal(&format!("x == {}1", "-".repeat(100_000))).contains("inside one another"));
    assert!(refusal(&"a -> ".repeat(100_000)).contains("inside one another"));
    let long = vec!["a"; 5000].join(" && ");
    assert_eq!(shown(&long), long);
    assert!(refusal(&vec!["a"; 30_000].join(" || ")).contains("nodes"));
    let atoms: Vec<String> = (0..65).map(|i| format!("v{i}")).collect();
    assert!(refusal(&atoms.join("&&")).contains("more than 64 different atoms"));
}
