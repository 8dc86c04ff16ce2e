//! How many steps are the states of a stage from the start?
//!
//! Mostly one more than those of the stage before: only where that is not so is it written down. Memory: 8 bytes for each of these.

use fathom_disk::budget::{Budget, BudgetError, ChargedVec};

/// The depth of each stage.
#[derive(Debug)]
pub(super) struct Depths {
    stages: u32,
    /// A stage and its depth; those that follow are each one deeper.
    leaps: ChargedVec<(u32, u32)>,
}

/// Room that is made at a time, at least.
const LEAPS_MORE: usize = 4;

impl Depths {
    /// No stage yet.
    pub(super) fn new(budget: &Budget) -> Result<Depths, BudgetError> {
        Ok(Depths { stages: 0, leaps: ChargedVec::with_capacity(budget, "stages", 0)? })
    }

    /// Adds a stage.
    pub(super) fn push(&mut self, depth: u32) -> Result<(), BudgetError> {
        let follows = self.leaps.last().is_some_and(|leap| leap.1 + (self.stages - leap.0) == depth);
        if !follows {
            if self.leaps.len() == self.leaps.capacity() {
                self.leaps.reserve(LEAPS_MORE.max(self.leaps.len() / 8))?;
            }
            self.leaps.push((self.stages, depth))?;
        }
        self.stages += 1;
        Ok(())
    }

    /// The depth of a stage; 0 of one that there is not.
    pub(super) fn of(&self, stage: u64) -> u64 {
        let behind = self.leaps.partition_point(|leap| u64::from(leap.0) <= stage);
        let leap = behind.checked_sub(1).map(|before| self.leaps[before]);
        leap.map_or(0, |(first, depth)| u64::from(depth) + (stage - u64::from(first)))
    }

    /// All stages of a depth.
    pub(super) fn stages_of(&self, depth: u64) -> impl Iterator<Item = u64> + '_ {
        let ends = self.leaps.iter().skip(1).map(|leap| leap.0).chain([self.stages]);
        self.leaps.iter().zip(ends).filter_map(move |(&(first, from), end)| {
            let stage = u64::from(first) + depth.checked_sub(from.into())?;
            (stage < end.into()).then_some(stage)
        })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let numbers = self.leaps.iter().flat_map(|leap| [leap.0, leap.1]).chain([self.stages]);
        numbers.flat_map(u32::to_le_bytes).collect()
    }

    /// What [`Depths::to_bytes`] gave, for so many stages.
    pub(super) fn from_bytes(
        bytes: &[u8],
        stages: u64,
        budget: &Budget,
    ) -> Result<Option<Depths>, BudgetError> {
        let mut depths = Depths::new(budget)?;
        let (numbers, []) = bytes.as_chunks::<4>() else { return Ok(None) };
        let Some((last, leaps)) = numbers.split_last() else { return Ok(None) };
        depths.stages = u32::from_le_bytes(*last);
        for leap in leaps.chunks(2) {
            let [stage, depth] = leap else { return Ok(None) };
            depths.leaps.push((u32::from_le_bytes(*stage), u32::from_le_bytes(*depth)))?;
        }
        let ordered = depths.leaps.is_sorted_by(|one, next| one.0 < next.0)
            && depths.leaps.first().is_none_or(|leap| leap.0 == 0)
            && depths.leaps.last().is_none_or(|leap| leap.0 < depths.stages);
        Ok((ordered && u64::from(depths.stages) == stages).then_some(depths))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_pushed_is_told_and_comes_back() {
        let budget = Budget::unlimited();
        let pushed = [0, 1, 2, 3, 1, 2, 3, 4, 5, 0, 0, 7, 8, 3];
        let mut depths = Depths::new(&budget).unwrap();
        pushed.iter().for_each(|depth| depths.push(*depth).unwrap());
        let bytes = depths.to_bytes();
        assert!(Depths::from_bytes(&bytes, 13, &budget).unwrap().is_none(), "of another number of stages");
        let again = Depths::from_bytes(&bytes, 14, &budget).unwrap().expect("it was just written");
        for it in [&depths, &again] {
            let told: Vec<u64> = (0..14).map(|stage| it.of(stage)).collect();
            assert!(told.iter().zip(pushed).all(|(told, pushed)| *told == u64::from(pushed)));
            for depth in 0..10 {
                let of: Vec<u64> = (0..14).filter(|stage| told[*stage as usize] == depth).collect();
                assert_eq!(it.stages_of(depth).collect::<Vec<_>>(), of);
            }
        }
    }
}
