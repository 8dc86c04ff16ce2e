//! What does compiled code refer to, and how much may there be of it?

use crate::interpreter::Trouble;

/// What compiled code refers to.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// All faults that it may report, by site: how and where.
    pub(super) sites: Vec<Trouble>,
    /// For each rule whose instances are gone through in a loop: the action and the arguments of each. Compiled code has their addresses.
    pub(super) instances: Vec<Box<[i64]>>,
    /// Actions that are left to the interpreter, by the number that it is called with.
    pub(super) interpreted: Vec<Box<[u32]>>,
    /// Whether instances of rules are gone through in loops.
    pub(super) loops: bool,
    /// The address of the flag that is up when code is asked to stop.
    pub(super) stop: i64,
    /// What all actions together may have to do.
    pub(super) actions_work: u64,
    /// How many instructions the function under construction may have.
    pub(super) instructions_max: usize,
}

impl Tables {
    /// What they hold.
    pub(super) fn bytes(&self) -> usize {
        let rows: usize = self.instances.iter().map(|table| size_of_val(&**table)).sum();
        let lists: usize = self.interpreted.iter().map(|list| size_of_val(&**list)).sum();
        rows + lists + size_of_val(&*self.sites)
    }

    /// How much there is of what building a function adds.
    pub(super) fn lengths(&self) -> [usize; 3] {
        [self.sites.len(), self.instances.len(), self.interpreted.len()]
    }

    /// Takes back what was added since, by a function that came to nothing.
    pub(super) fn take_back(&mut self, [sites, instances, interpreted]: [usize; 3]) {
        self.sites.truncate(sites);
        self.instances.truncate(instances);
        self.interpreted.truncate(interpreted);
    }
}
