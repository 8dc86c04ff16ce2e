//! How are many sets of values held, so that a copy of all of them is cheap?
//!
//! In pages that copies share until one of them changes: an abstract run copies its sets at every branch and changes a few of them.

use std::rc::Rc;

use super::set::ValueSet;

/// How many sets there are to a page.
const PAGE: usize = 64;

/// A vector of sets.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pages: Vec<Rc<Vec<Rc<ValueSet>>>>,
}

impl Pages {
    pub(super) fn new(sets: &[Rc<ValueSet>]) -> Pages {
        Pages { pages: sets.chunks(PAGE).map(|page| Rc::new(page.to_vec())).collect() }
    }

    pub(super) fn page_count(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn at(&self, slot: usize) -> &Rc<ValueSet> {
        &self.pages[slot / PAGE][slot % PAGE]
    }

    pub(super) fn put(&mut self, slot: usize, set: Rc<ValueSet>) {
        Rc::make_mut(&mut self.pages[slot / PAGE])[slot % PAGE] = set;
    }

    /// Adds the members of one set; true if there were new ones.
    pub(super) fn join_at(&mut self, slot: usize, other: &Rc<ValueSet>) -> bool {
        let mut set = Rc::clone(self.at(slot));
        if Rc::ptr_eq(&set, other) || *set == **other || !Rc::make_mut(&mut set).join(other) {
            return false;
        }
        self.put(slot, set);
        true
    }

    /// Joins sets one by one; true if there was something new.
    pub(super) fn join(&mut self, other: &Pages) -> bool {
        let mut grown = false;
        for number in 0..self.pages.len() {
            if !Rc::ptr_eq(&self.pages[number], &other.pages[number]) {
                for (offset, set) in other.pages[number].iter().enumerate() {
                    grown |= self.join_at(number * PAGE + offset, set);
                }
            }
        }
        grown
    }
}
