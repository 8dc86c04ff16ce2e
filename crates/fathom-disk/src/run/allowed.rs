//! Which of these keys does the filter of a run not deny?

use super::Run;

/// The keys, those aside that a filter denies, which is asked for 64 of them at a time.
#[derive(Debug)]
pub(super) struct Allowed<'a> {
    run: &'a Run,
    keys: &'a [u64],
    /// The keys that were asked for last, and a bit for each of them.
    from: usize,
    until: usize,
    mask: u64,
}

impl<'a> Allowed<'a> {
    /// All of the keys, or what the filter of the run leaves of them.
    pub(super) fn new(run: &'a Run, keys: &'a [u64]) -> Allowed<'a> {
        Allowed { run, keys, from: 0, until: 0, mask: 0 }
    }

    /// The first key from `index` on that is not denied, if that is before `end`. Neither falls from call to call.
    #[inline]
    pub(super) fn next(&mut self, index: usize, end: usize) -> Option<usize> {
        match &self.run.filter {
            None => (index < end).then_some(index),
            Some(_) => self.next_asked(index, end),
        }
    }

    fn next_asked(&mut self, mut index: usize, end: usize) -> Option<usize> {
        let filter = self.run.filter.as_ref()?;
        let words = self.run.width.words();
        while index < end {
            if index >= self.until {
                (self.from, self.until) = (index, end.min(index + 64));
                self.mask = filter.query_mask(&self.keys[index * words..self.until * words], words);
            }
            match self.mask >> (index - self.from) {
                0 => index = self.until,
                rest => return Some(index + rest.trailing_zeros() as usize),
            }
        }
        None
    }
}
