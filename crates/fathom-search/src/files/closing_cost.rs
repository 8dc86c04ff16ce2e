//! Where does the time of closing layers go?

use std::time::Duration;

/// Time by phase, over all threads, and what look-ups were for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClosingCost {
    /// Sorting and merging candidates, and everything else that is not below.
    pub sort: Duration,
    /// Asking the table of small layers and the filter; making filters larger.
    pub filter: Duration,
    /// Looking keys up in runs.
    pub look_up: Duration,
    /// Writing layers and runs.
    pub write: Duration,
    /// Merging runs.
    pub merge: Duration,
    /// Keys that were looked up: in a trie, or in runs because the filter did not deny them.
    pub asked: u64,
    /// Keys among them that a trie was asked for.
    pub asked_of_tries: u64,
    /// Keys among them that were found.
    pub hits: u64,
    /// Keys for which no run was gone through because the filter denied them.
    pub denied: u64,
}

impl ClosingCost {
    /// Adds what another thread has spent.
    pub(crate) fn add(&mut self, other: ClosingCost) {
        self.sort += other.sort;
        self.filter += other.filter;
        self.look_up += other.look_up;
        self.write += other.write;
        self.merge += other.merge;
        self.asked += other.asked;
        self.asked_of_tries += other.asked_of_tries;
        self.hits += other.hits;
        self.denied += other.denied;
    }
}
