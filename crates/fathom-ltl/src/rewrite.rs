//! How is a formula made smaller before it is translated?
//!
//! The constructors of the normal form. Each returns an equivalent formula that is never larger in temporal operators:
//! constants, absorption by implication, merging of operators that share an operand, `X` pulled outwards, and the laws of
//! pure eventualities and universalities (Etessami and Holzmann 2000; Babiak et al. 2012). Every rule here is checked
//! on all small formulas against the direct semantics.
//!
//! Bounded in time as the rest of the translation: every constructor and every pair of operands is a step on the clock
//! of the labels, and once that has run out the work that is left unwinds without doing anything.

use crate::label;
use crate::normal_form::{Arena, FALSE, Id, Node, TRUE};

impl Arena {
    /// All hold.
    pub(crate) fn and(&mut self, operands: Vec<Id>) -> Id {
        if self.labels.is_over() {
            return FALSE;
        }
        let mut flat = Vec::new();
        for operand in operands {
            match self.node(operand) {
                Node::And(inner) => flat.extend_from_slice(inner),
                _ => flat.push(operand),
            }
        }
        let boolean = self.fold_booleans(&mut flat, true);
        if boolean == FALSE {
            return FALSE;
        }
        self.merge_pairs(&mut flat, Arena::merge_conjuncts);
        flat.push(boolean);
        let mut flat = self.without_absorbed(flat, |arena, kept, other| arena.implies(kept, other));
        for (i, &x) in flat.iter().enumerate() {
            if flat[i + 1..].iter().any(|&y| self.contradict(x, y)) {
                return FALSE;
            }
        }
        if self.resolve_units(&mut flat, true) {
            return self.and(flat);
        }
        self.join(flat, TRUE, Node::And)
    }

    /// One holds.
    pub(crate) fn or(&mut self, operands: Vec<Id>) -> Id {
        if self.labels.is_over() {
            return FALSE;
        }
        let mut flat = Vec::new();
        for operand in operands {
            match self.node(operand) {
                Node::Or(inner) => flat.extend_from_slice(inner),
                _ => flat.push(operand),
            }
        }
        let boolean = self.fold_booleans(&mut flat, false);
        if boolean == TRUE {
            return TRUE;
        }
        self.merge_pairs(&mut flat, Arena::merge_disjuncts);
        flat.push(boolean);
        let mut flat = self.without_absorbed(flat, |arena, kept, other| arena.implies(other, kept));
        for (i, &x) in flat.iter().enumerate() {
            if flat[i + 1..].iter().any(|&y| self.exhaust(x, y)) {
                return TRUE;
            }
        }
        if self.resolve_units(&mut flat, false) {
            return self.or(flat);
        }
        if let Some(simpler) = self.under_finally(&flat) {
            return simpler;
        }
        self.join(flat, FALSE, Node::Or)
    }

    /// Holds of the rest.
    pub(crate) fn next(&mut self, a: Id) -> Id {
        if self.is_suspendable(a) { a } else { self.intern(Node::Next(a)) }
    }

    /// `a U b`.
    pub(crate) fn until(&mut self, a: Id, b: Id) -> Id {
        if self.labels.is_over() {
            return FALSE;
        }
        if self.is_eventual(b) || self.implies(a, b) {
            return b;
        }
        if a != TRUE && self.exhaust(a, b) {
            return self.until(TRUE, b);
        }
        if let (Some(a), Node::Next(b)) = (self.under_next(a), self.node(b).clone()) {
            let inner = self.until(a, b);
            return self.next(inner);
        }
        match self.node(b).clone() {
            Node::Until(c, d) if self.implies(a, c) => return self.until(c, d),
            // F(c U d) is F d.
            Node::Until(_, d) if a == TRUE => return self.until(TRUE, d),
            Node::Release(FALSE, inner) if a == TRUE => {
                if let Some(split) = self.almost_always(inner) {
                    return split;
                }
            }
            Node::And(operands) => {
                if let Some((fixed, rest)) = self.part(&operands, Arena::is_suspendable) {
                    let rest = self.and(rest);
                    let inner = self.until(a, rest);
                    return self.and([fixed, vec![inner]].concat());
                }
            }
            Node::Or(operands) => {
                // F(x || G F y) stays as it is: see `under_finally`.
                let apart =
                    |arena: &Arena, x| arena.is_eventual(x) && (a != TRUE || !arena.is_suspendable(x));
                if let Some((eventual, rest)) = self.part(&operands, apart) {
                    let rest = self.or(rest);
                    let inner = self.until(a, rest);
                    return self.or([eventual, vec![inner]].concat());
                }
                if a == TRUE
                    && let Some(operands) = self.strip_untils(&operands)
                {
                    let inner = self.or(operands);
                    return self.until(TRUE, inner);
                }
            }
            _ => {}
        }
        if let Node::Or(operands) = self.node(a).clone() {
            // Before the first `b`, what implies `b` is false.
            let needed: Vec<Id> = operands.iter().copied().filter(|&x| !self.implies(x, b)).collect();
            if needed.len() < operands.len() {
                let a = self.or(needed);
                return self.until(a, b);
            }
        }
        self.intern(Node::Until(a, b))
    }

    /// `a R b`.
    pub(crate) fn release(&mut self, a: Id, b: Id) -> Id {
        if self.labels.is_over() {
            return FALSE;
        }
        if self.is_universal(b) || self.implies(b, a) {
            return b;
        }
        if a != FALSE && self.contradict(a, b) {
            return self.release(FALSE, b);
        }
        if let (Some(a), Node::Next(b)) = (self.under_next(a), self.node(b).clone()) {
            let inner = self.release(a, b);
            return self.next(inner);
        }
        match self.node(b).clone() {
            Node::Release(c, d) if self.implies(c, a) => return self.release(c, d),
            // G(c R d) is G d.
            Node::Release(_, d) if a == FALSE => return self.release(FALSE, d),
            Node::Or(operands) => {
                if let Some((fixed, rest)) = self.part(&operands, Arena::is_suspendable) {
                    let rest = self.or(rest);
                    let inner = self.release(a, rest);
                    return self.or([fixed, vec![inner]].concat());
                }
            }
            Node::And(operands) => {
                if let Some((universal, rest)) = self.part(&operands, Arena::is_universal) {
                    let rest = self.and(rest);
                    let inner = self.release(a, rest);
                    return self.and([universal, vec![inner]].concat());
                }
                if a == FALSE
                    && let Some(simpler) = self.always_all(&operands)
                {
                    return simpler;
                }
            }
            Node::Until(TRUE, inner) if a == FALSE => {
                if let Some(split) = self.infinitely_often(inner) {
                    return split;
                }
            }
            _ => {}
        }
        if let Node::And(operands) = self.node(a).clone() {
            let needed: Vec<Id> = operands.iter().copied().filter(|&x| !self.implies(b, x)).collect();
            if needed.len() < operands.len() {
                let a = self.and(needed);
                return self.release(a, b);
            }
        }
        self.intern(Node::Release(a, b))
    }

    /// `F x || y` is `F (x || y)` when `y` does not depend on a prefix: the automaton may then wait in one state for both.
    fn under_finally(&mut self, operands: &[Id]) -> Option<Id> {
        let finally = operands.iter().find_map(|&x| self.as_finally(x))?;
        let fixed = |arena: &Arena, x| arena.is_suspendable(x) && arena.as_finally(x).is_none();
        let (fixed, rest) = self.part(operands, fixed)?;
        let inner = self.or([fixed, vec![finally]].concat());
        let mut disjuncts: Vec<Id> =
            rest.into_iter().filter(|&x| self.as_finally(x) != Some(finally)).collect();
        disjuncts.push(self.until(TRUE, inner));
        Some(self.or(disjuncts))
    }

    /// `G F (x && F y)` is `G F x && G F y`; `G F (x && G y)` is `G F x && F G y`; nothing for other operands.
    fn infinitely_often(&mut self, inner: Id) -> Option<Id> {
        let Node::And(operands) = self.node(inner).clone() else { return None };
        let (apart, rest) = self.part(&operands, |arena, x| arena.is_eventual(x) || arena.is_universal(x))?;
        let mut conjuncts = Vec::new();
        for x in apart {
            let conjunct = if self.is_universal(x) { self.until(TRUE, x) } else { self.release(FALSE, x) };
            conjuncts.push(conjunct);
        }
        let rest = self.and(rest);
        let rest = self.until(TRUE, rest);
        conjuncts.push(self.release(FALSE, rest));
        Some(self.and(conjuncts))
    }

    /// `F G (x || F y)` is `F G x || G F y`; `F G (x || G y)` is `F G x || F G y`; nothing for other operands.
    fn almost_always(&mut self, inner: Id) -> Option<Id> {
        let Node::Or(operands) = self.node(inner).clone() else { return None };
        let (apart, rest) = self.part(&operands, |arena, x| arena.is_eventual(x) || arena.is_universal(x))?;
        let mut disjuncts = Vec::new();
        for x in apart {
            let disjunct = if self.is_universal(x) { self.until(TRUE, x) } else { self.release(FALSE, x) };
            disjuncts.push(disjunct);
        }
        let rest = self.or(rest);
        let rest = self.release(FALSE, rest);
        disjuncts.push(self.until(TRUE, rest));
        Some(self.or(disjuncts))
    }

    /// `G (x && F y)` is `G x && G F y`, and `G (x && c R d)` is `G (x && d)`; nothing for other operands.
    fn always_all(&mut self, operands: &[Id]) -> Option<Id> {
        if let Some((finally, rest)) = self.part(operands, |arena, x| arena.as_finally(x).is_some()) {
            let rest = self.and(rest);
            let mut conjuncts = vec![self.release(FALSE, rest)];
            for x in finally {
                conjuncts.push(self.release(FALSE, x));
            }
            return Some(self.and(conjuncts));
        }
        let operands = self.strip_releases(operands)?;
        let inner = self.and(operands);
        Some(self.release(FALSE, inner))
    }

    /// The operands with the property and those without, when both kinds exist.
    fn part(&self, operands: &[Id], has: impl Fn(&Arena, Id) -> bool) -> Option<(Vec<Id>, Vec<Id>)> {
        let (with, without): (Vec<Id>, Vec<Id>) = operands.iter().partition(|&&operand| has(self, operand));
        if with.is_empty() || without.is_empty() { None } else { Some((with, without)) }
    }

    /// `F (x || c U d)` is `F (x || d)`.
    fn strip_untils(&self, operands: &[Id]) -> Option<Vec<Id>> {
        let strip = |&operand: &Id| match self.node(operand) {
            Node::Until(_, d) => *d,
            _ => operand,
        };
        let stripped: Vec<Id> = operands.iter().map(strip).collect();
        (stripped != operands).then_some(stripped)
    }

    /// `G (x && c R d)` is `G (x && d)`.
    fn strip_releases(&self, operands: &[Id]) -> Option<Vec<Id>> {
        let strip = |&operand: &Id| match self.node(operand) {
            Node::Release(_, d) => *d,
            _ => operand,
        };
        let stripped: Vec<Id> = operands.iter().map(strip).collect();
        (stripped != operands).then_some(stripped)
    }

    /// `a` when the formula is `X a` or does not look at the first letter.
    fn under_next(&self, id: Id) -> Option<Id> {
        match self.node(id) {
            Node::Next(a) => Some(*a),
            _ if self.is_suspendable(id) => Some(id),
            _ => None,
        }
    }

    /// Takes the boolean operands out and joins them to one.
    fn fold_booleans(&mut self, operands: &mut Vec<Id>, conjunction: bool) -> Id {
        let mut joined = if conjunction { label::ALL } else { label::NONE };
        let mut rest = Vec::new();
        for &operand in operands.iter() {
            match self.as_boolean(operand) {
                Some(label) if conjunction => joined = self.labels.and(joined, label),
                Some(label) => joined = self.labels.or(joined, label),
                None => rest.push(operand),
            }
        }
        *operands = rest;
        self.boolean(joined)
    }

    /// Replaces two operands by one as long as `merge` knows how.
    fn merge_pairs(&mut self, operands: &mut Vec<Id>, merge: fn(&mut Arena, Id, Id) -> Option<Id>) {
        'again: loop {
            operands.sort_unstable();
            operands.dedup();
            for i in 0..operands.len() {
                for j in i + 1..operands.len() {
                    if self.labels.is_over() {
                        return;
                    }
                    if let Some(merged) = merge(self, operands[i], operands[j]) {
                        operands.swap_remove(j);
                        operands.swap_remove(i);
                        operands.push(merged);
                        continue 'again;
                    }
                }
            }
            return;
        }
    }

    fn merge_conjuncts(&mut self, x: Id, y: Id) -> Option<Id> {
        // F G a && F G b
        if let (Some(a), Some(b)) = (self.as_finally(x), self.as_finally(y))
            && let (Some(a), Some(b)) = (self.as_globally(a), self.as_globally(b))
        {
            let both = self.and(vec![a, b]);
            let always = self.release(FALSE, both);
            return Some(self.until(TRUE, always));
        }
        match (self.node(x).clone(), self.node(y).clone()) {
            (Node::Next(a), Node::Next(b)) => {
                let both = self.and(vec![a, b]);
                Some(self.next(both))
            }
            (Node::Release(a, b), Node::Release(c, d)) if a == c => {
                // G F stays apart: each is one mark of the automaton.
                if a == FALSE && (self.as_finally(b).is_some() || self.as_finally(d).is_some()) {
                    return None;
                }
                let both = self.and(vec![b, d]);
                Some(self.release(a, both))
            }
            (Node::Until(a, b), Node::Until(c, d)) if b == d => {
                let both = self.and(vec![a, c]);
                Some(self.until(both, b))
            }
            _ => None,
        }
    }

    fn merge_disjuncts(&mut self, x: Id, y: Id) -> Option<Id> {
        // G F a || G F b
        if let (Some(a), Some(b)) = (self.as_infinitely_often(x), self.as_infinitely_often(y)) {
            let either = self.or(vec![a, b]);
            let finally = self.until(TRUE, either);
            return Some(self.release(FALSE, finally));
        }
        match (self.node(x).clone(), self.node(y).clone()) {
            (Node::Next(a), Node::Next(b)) => {
                let either = self.or(vec![a, b]);
                Some(self.next(either))
            }
            (Node::Until(a, b), Node::Until(c, d)) if a == c => {
                let either = self.or(vec![b, d]);
                Some(self.until(a, either))
            }
            (Node::Release(a, b), Node::Release(c, d)) if b == d => {
                let either = self.or(vec![a, c]);
                Some(self.release(either, b))
            }
            _ => None,
        }
    }

    /// Drops every operand that some other, kept one makes redundant.
    fn without_absorbed(
        &mut self,
        operands: Vec<Id>,
        absorbs: impl Fn(&mut Arena, Id, Id) -> bool,
    ) -> Vec<Id> {
        let mut kept: Vec<Id> = Vec::new();
        for operand in operands {
            if kept.iter().any(|&other| absorbs(self, other, operand)) {
                continue;
            }
            kept.retain(|&other| !absorbs(self, operand, other));
            kept.push(operand);
        }
        kept.sort_unstable();
        kept
    }

    /// In `x && (y || z)` with `x` against `y`, `y` goes; dually in a disjunction. Says whether anything changed.
    fn resolve_units(&mut self, operands: &mut [Id], conjunction: bool) -> bool {
        for j in 0..operands.len() {
            let inner = match self.node(operands[j]) {
                Node::Or(inner) if conjunction => inner.clone(),
                Node::And(inner) if !conjunction => inner.clone(),
                _ => continue,
            };
            let mut needed = inner.clone();
            for i in (0..operands.len()).filter(|&i| i != j) {
                let unit = operands[i];
                needed.retain(
                    |&y| {
                        if conjunction { !self.contradict(unit, y) } else { !self.exhaust(unit, y) }
                    },
                );
            }
            if needed.len() < inner.len() {
                operands[j] = if conjunction { self.or(needed) } else { self.and(needed) };
                return true;
            }
        }
        false
    }

    fn join(&mut self, operands: Vec<Id>, empty: Id, node: fn(Vec<Id>) -> Node) -> Id {
        match operands.as_slice() {
            [] => empty,
            [single] => *single,
            _ => self.intern(node(operands)),
        }
    }
}
