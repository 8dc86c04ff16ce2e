//! Does a formula hold of a lasso word?
//!
//! Straight from the definition of the logic, on the tree as written: no normal form, no automaton. This is the judge of
//! everything else in the crate, and of every lasso shown to a user, so it stays plain.

use crate::formula::Formula;
use crate::word::Lasso;

/// The truth of `formula` on `word`. Time: nodes of the formula x letters of the word.
pub fn holds(formula: &Formula, word: &Lasso) -> bool {
    truth(formula, word)[0]
}

/// The formula and all parts of it that say something about more than one position, each with its truth at every position of the word; the larger ones first.
pub fn truths<'f>(formula: &'f Formula, word: &Lasso) -> Vec<(&'f Formula, Vec<bool>)> {
    let mut all: Vec<(&Formula, Vec<bool>)> = Vec::new();
    let mut waiting = vec![formula];
    while let Some(part) = waiting.pop() {
        if part.is_temporal() && all.iter().all(|(other, _)| *other != part) {
            all.push((part, truth(part, word)));
        }
        waiting.extend(part.operands().into_iter().rev());
    }
    all
}

/// The truth of the formula at every position of the word.
fn truth(formula: &Formula, word: &Lasso) -> Vec<bool> {
    let positions = word.letters().len();
    match formula {
        Formula::True => vec![true; positions],
        Formula::False => vec![false; positions],
        Formula::Atom(atom) => word.letters().iter().map(|letter| letter & atom.bit() != 0).collect(),
        Formula::Not(a) => truth(a, word).into_iter().map(|a| !a).collect(),
        Formula::And(operands) => join(operands, word, true, |x, y| x && y),
        Formula::Or(operands) => join(operands, word, false, |x, y| x || y),
        Formula::Implies(a, b) => pointwise(a, b, word, |x, y| !x || y),
        Formula::Iff(a, b) => pointwise(a, b, word, |x, y| x == y),
        Formula::Next(a) => {
            let a = truth(a, word);
            (0..positions).map(|position| a[word.next(position)]).collect()
        }
        Formula::Finally(a) => until(&vec![true; positions], &truth(a, word), word, false),
        Formula::Globally(a) => until(&truth(a, word), &vec![false; positions], word, true),
        Formula::Until(a, b) => until(&truth(a, word), &truth(b, word), word, false),
        Formula::WeakUntil(a, b) => until(&truth(a, word), &truth(b, word), word, true),
        Formula::Release(a, b) => release(a, b, word, true),
        Formula::StrongRelease(a, b) => release(a, b, word, false),
    }
}

fn join(operands: &[Formula], word: &Lasso, start: bool, combine: fn(bool, bool) -> bool) -> Vec<bool> {
    let mut result = vec![start; word.letters().len()];
    for operand in operands {
        for (value, operand) in result.iter_mut().zip(truth(operand, word)) {
            *value = combine(*value, operand);
        }
    }
    result
}

fn pointwise(a: &Formula, b: &Formula, word: &Lasso, combine: fn(bool, bool) -> bool) -> Vec<bool> {
    truth(a, word).into_iter().zip(truth(b, word)).map(|(a, b)| combine(a, b)).collect()
}

/// From each position: walk while `a` holds until `b` does. A walk that meets neither end within one full turn goes
/// on forever; `forever` is the answer then.
fn until(a: &[bool], b: &[bool], word: &Lasso, forever: bool) -> Vec<bool> {
    let walk = |start: usize| {
        let mut position = start;
        for _ in 0..a.len() + word.cycle().len() {
            if b[position] {
                return true;
            }
            if !a[position] {
                return false;
            }
            position = word.next(position);
        }
        forever
    };
    (0..a.len()).map(walk).collect()
}

/// `b` until both hold: the second must still hold when the first comes.
fn release(a: &Formula, b: &Formula, word: &Lasso, forever: bool) -> Vec<bool> {
    let (a, b) = (truth(a, word), truth(b, word));
    let both: Vec<bool> = a.iter().zip(&b).map(|(a, b)| *a && *b).collect();
    until(&b, &both, word, forever)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_with_their_truth() {
        let atom = Formula::Atom(crate::atom::AtomId::new(0).unwrap());
        let often = Formula::Globally(Box::new(Formula::Finally(Box::new(atom.clone()))));
        let word = Lasso::new(&[1], &[0, 0]).unwrap();
        let told = truths(&often, &word);
        assert_eq!(told[0], (&often, vec![false; 3]));
        assert_eq!(told[1].1, [true, false, false]);
        assert_eq!(told.len(), 2, "an atom is no news");
        let twice = Formula::And(vec![often.clone(), often.clone()]);
        assert_eq!(truths(&twice, &word).len(), 3);
    }
    use crate::atom::AtomTable;
    use crate::parser::parse;

    /// `w` is written as letters of the set of atoms true, `-` for none; `|` begins the cycle.
    fn check(text: &str, word: &str) -> bool {
        let mut atoms = AtomTable::from_names(&["a", "b"]).unwrap();
        let formula = parse(text, &mut atoms).unwrap();
        let letters = |part: &str| -> Vec<u64> {
            part.split_whitespace()
                .map(|letter| u64::from(letter.contains('a')) | u64::from(letter.contains('b')) << 1)
                .collect()
        };
        let (stem, cycle) = word.split_once('|').unwrap();
        holds(&formula, &Lasso::new(&letters(stem), &letters(cycle)).unwrap())
    }

    #[test]
    fn the_textbook() {
        for (formula, word, expected) in [
            ("a U b", "a a | b", true),
            ("a U b", "| a", false),
            ("a W b", "| a", true),
            ("a W b", "a - | b", false),
            ("a R b", "| b", true),
            ("a R b", "b ab | -", true),
            ("a R b", "b a | -", false),
            ("a M b", "| b", false),
            ("a M b", "b ab | -", true),
            ("G F a", "| a -", true),
            ("F G a", "- - | a", true),
            ("F G a", "| a -", false),
            ("X a", "- | a", true),
            ("X X a", "- | a -", false),
            ("X X b", "| a b -", false),
            ("G(a -> F b)", "a | - b a", true),
            ("G(a -> X b)", "| a b", true),
            ("G(a <-> X b)", "| a b", true),
            ("G(a <-> !b)", "a | b", true),
            ("G(a <-> X b)", "a | -", false),
            ("F(a && X(b && X a))", "- a | b ab", true),
        ] {
            assert_eq!(check(formula, word), expected, "{formula} on {word}");
        }
    }
}
