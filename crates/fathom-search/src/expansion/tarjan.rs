//! Which are the strongly connected components of some states?
//!
//! Tarjan's algorithm over states by number, without recursion: records ascend in memory, a state's number is its place, and its steps are made when it is entered; those that lead elsewhere do not count.
//! Memory beside the records: 8 bytes per state, and the path with what its states lead to; all charged.

use fathom_disk::budget::{Budget, Charge, ChargedVec};
use fathom_model::record::Records;
use fathom_model::steps::{Columns, Steps};
use fathom_model::system::{TransitionSystem, expand_some};

use crate::error::SearchError;
use crate::task::Observer;

/// Not entered yet.
const NEW: u32 = 0;
/// Its component is complete.
const DONE: u32 = u32::MAX;

/// Is told the states of a component by number, and whether a cycle goes through it; says whether it wants more.
pub(crate) type Visit<'v> = dyn FnMut(&[u32], bool) -> Result<bool, SearchError> + 'v;

/// Visits the components of ascending records, each after those that it leads to; says how many states of those visited have a step to themselves.
///
/// # Errors
/// A refusal of memory; [`SearchError::Stopped`] if the observer says so.
pub(crate) fn each_component(
    system: &dyn TransitionSystem,
    (records, budget): (&[u64], &Budget),
    observer: &dyn Observer,
    visit: &mut Visit<'_>,
) -> Result<u64, SearchError> {
    let mut search = Tarjan::new(system, budget, records)?;
    for root in 0..search.order.len() {
        if search.order[root] == NEW && !search.from(root as u32, observer, visit)? {
            break;
        }
    }
    Ok(search.loops)
}

struct Tarjan<'a> {
    system: &'a dyn TransitionSystem,
    words: usize,
    records: &'a [u64],
    /// When each state was entered.
    order: ChargedVec<u32>,
    /// The states whose components are not complete.
    open: ChargedVec<u32>,
    /// The path, and what its states lead to and was not looked at.
    path: ChargedVec<Entered>,
    targets: ChargedVec<u32>,
    entered: u32,
    steps: Steps,
    charge: Charge,
    /// States with a step to themselves.
    loops: u64,
}

/// A state on the path.
#[derive(Clone, Copy, Debug, Default)]
struct Entered {
    state: u32,
    /// The earliest that it is known to lead back to.
    least: u32,
    /// Where its targets begin, and where its component does.
    targets: u32,
    open: u32,
    loops: bool,
}

impl<'a> Tarjan<'a> {
    fn new(
        system: &'a dyn TransitionSystem,
        budget: &Budget,
        records: &'a [u64],
    ) -> Result<Tarjan<'a>, SearchError> {
        let shape = system.shape();
        let words = shape.words();
        let states = records.len() / words;
        let mut order = ChargedVec::with_capacity(budget, "components", states)?;
        order.resize(states, NEW)?;
        Ok(Tarjan {
            system,
            words,
            records,
            order,
            open: ChargedVec::with_capacity(budget, "components", 0)?,
            path: ChargedVec::with_capacity(budget, "components", 0)?,
            targets: ChargedVec::with_capacity(budget, "components", 0)?,
            entered: 0,
            charge: budget.charge("components", Steps::bytes_for(shape, Columns::NONE, 1))?,
            steps: Steps::new(shape, Columns::NONE, 1),
            loops: 0,
        })
    }

    /// All components that a state leads to and that are not complete; false if nobody wants more.
    fn from(
        &mut self,
        root: u32,
        observer: &dyn Observer,
        visit: &mut Visit<'_>,
    ) -> Result<bool, SearchError> {
        self.enter(root)?;
        while let Some(&top) = self.path.last() {
            if self.targets.len() > top.targets as usize {
                let target = self.targets.pop().expect("there is one");
                match self.order[target as usize] {
                    NEW => {
                        if self.entered.is_multiple_of(4096) && observer.stop() {
                            return Err(SearchError::Stopped);
                        }
                        self.enter(target)?;
                    }
                    DONE => {}
                    earlier => self.lower(earlier),
                }
                continue;
            }
            if !self.leave(top, visit)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn lower(&mut self, least: u32) {
        let top = self.path.last_mut().expect("the path is not empty");
        top.least = top.least.min(least);
    }

    fn enter(&mut self, state: u32) -> Result<(), SearchError> {
        let Tarjan { system, words, records, steps, charge, targets, .. } = self;
        let (words, from) = (*words, targets.len() as u32);
        let record = &records[state as usize * words..][..words];
        expand_some(*system, Records::new(record, words), steps, &mut |bytes| charge.resize(bytes))?;
        let mut loops = false;
        for target in steps.targets().iter() {
            if let Some(number) = number_of(records, words, target) {
                loops |= number == state;
                targets.push(number)?;
            }
        }
        self.entered += 1;
        self.order[state as usize] = self.entered;
        let open = self.open.len() as u32;
        self.open.push(state)?;
        self.loops += u64::from(loops);
        self.path.push(Entered { state, least: self.entered, targets: from, open, loops })?;
        Ok(())
    }

    fn leave(&mut self, top: Entered, visit: &mut Visit<'_>) -> Result<bool, SearchError> {
        self.path.pop();
        let mut goes_on = true;
        if top.least == self.order[top.state as usize] {
            let component = &self.open[top.open as usize..];
            component.iter().for_each(|state| self.order[*state as usize] = DONE);
            goes_on = visit(component, component.len() > 1 || top.loops)?;
            self.open.truncate(top.open as usize);
        }
        if !self.path.is_empty() {
            self.lower(top.least);
        }
        Ok(goes_on)
    }
}

/// The place of a record among ascending ones, if it is there.
pub(crate) fn number_of(records: &[u64], words: usize, record: &[u64]) -> Option<u32> {
    let (mut low, mut high) = (0, records.len() / words);
    while low < high {
        let middle = low + (high - low) / 2;
        match records[middle * words..][..words] < *record {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    let there = records.get(low * words..(low + 1) * words).is_some_and(|found| found == record);
    there.then_some(low as u32)
}
