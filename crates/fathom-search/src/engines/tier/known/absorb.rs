//! How are candidates told from what is known?
//!
//! Going through the runs beside the candidates costs a few nanoseconds a key, looking one up some hundreds: `measures.rs` says which, and whether a filter is asked before.

use std::time::Instant;

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::run::sweep::{Sweep, retain_unmarked};
use fathom_disk::set::{Difference, KeyStream, Tiers};

use super::tools::Tools;
use super::{Absorbed, Keep, Known, Sink};
use crate::files::place::Place;

impl Known {
    /// Finds what is new in an ascending stream of about `candidates` keys, and hands it to `keep`, piece by piece. `small` says that the stream is short
    /// enough for the table. It is known once it is [settled](Known::settle): when the stream has given its memory back.
    pub(in super::super) fn absorb(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        stream: &mut dyn KeyStream,
        (candidates, small): (u64, bool),
        scan: bool,
        keep: &mut Keep<'_>,
    ) -> Result<Absorbed, DiskError> {
        self.measures.begin_layer(&self.shares, self.runs.count(), (candidates, small));
        let began = Instant::now();
        if scan {
            self.unfold(place)?;
        }
        if scan || !small {
            // A table that is asked for every candidate of a large layer costs more than a small run does, and adding such a layer to a trie more than going through it for a while.
            self.folded.finish()?;
            self.flush(place)?;
        } else if self.small.as_ref().is_some_and(|small| !small.has_room(candidates)) {
            self.flush(place)?;
        }
        tools.cost.write += began.elapsed();
        let touched =
            !self.folded.is_growing() && (self.measures.dense || self.touch_most_blocks(candidates));
        if !touched && !self.folded.is_growing() {
            self.measures.looked_up_since_fold += candidates;
        }
        let mut sink = None;
        let runs = std::mem::replace(&mut self.runs, Tiers::new(self.shares.fan));
        let outcome = if scan {
            self.absorb_by_scan(place, tools, &runs, stream, &mut sink, keep)
        } else {
            match self.sweeps(place, &runs, touched) {
                Ok(sweeps) => {
                    self.measures.swept = sweeps.is_some();
                    self.absorb_by_piece(place, tools, (&runs, sweeps), stream, small, &mut sink, keep)
                }
                Err(error) => Err(error),
            }
        };
        self.runs = runs;
        Ok(Absorbed { states: outcome?, sink })
    }

    /// Whether so many candidates touch most blocks of the runs, as even few do where blocks are large: a look-up decompresses a whole one.
    fn touch_most_blocks(&self, candidates: u64) -> bool {
        self.shares.dense_ratio > 0 && candidates >= self.runs.runs().map(|(_, run)| run.blocks()).sum()
    }

    fn absorb_by_scan(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        runs: &Tiers,
        stream: &mut dyn KeyStream,
        sink: &mut Option<Sink>,
        keep: &mut Keep<'_>,
    ) -> Result<u64, DiskError> {
        let known = runs.scan(&place.budget, place.width.words(), self.shares.scan_bytes)?;
        let mut fresh = Difference::new(&place.budget, stream, known)?;
        self.take_all(place, tools, &mut fresh, sink, keep)
    }

    #[expect(clippy::too_many_arguments, reason = "what, from where, to where")]
    fn absorb_by_piece(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        (runs, mut sweeps): (&Tiers, Option<Vec<Sweep<'_>>>),
        stream: &mut dyn KeyStream,
        small: bool,
        sink: &mut Option<Sink>,
        keep: &mut Keep<'_>,
    ) -> Result<u64, DiskError> {
        let words = place.width.words();
        let mut states = 0;
        while stream.advance()? {
            for piece in stream.keys().chunks(tools.piece_keys * words) {
                match &mut sweeps {
                    Some(sweeps) => self.sweep(tools, sweeps, words, piece)?,
                    None if self.folded.is_growing() => self.look_up_folded(place, tools, words, piece)?,
                    None => self.look_up(tools, runs, words, piece)?,
                }
                if tools.fresh.is_empty() {
                    continue;
                }
                let nothing = ChargedVec::with_capacity(&place.budget, "closing", 0)?;
                let fresh = std::mem::replace(&mut tools.fresh, nothing);
                let outcome = self.add(place, tools, &fresh, small, sink, keep);
                states += (fresh.len() / words) as u64;
                tools.fresh = fresh;
                outcome?;
            }
        }
        Ok(states)
    }

    /// Ways through all runs, if the candidates touch so much of them that this is cheaper than looking keys up, and memory suffices.
    fn sweeps<'a>(
        &self,
        place: &Place,
        runs: &'a Tiers,
        touched: bool,
    ) -> Result<Option<Vec<Sweep<'a>>>, DiskError> {
        if !touched {
            return Ok(None);
        }
        // What is new has to be written meanwhile.
        let spare = place.budget.leaving(self.shares.reserve_bytes);
        match runs.sweeps(&spare, self.shares.sweep_bytes) {
            Ok(sweeps) => Ok(Some(sweeps)),
            Err(DiskError::Budget(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Makes known what is in an ascending stream, all of it new.
    pub(in super::super) fn adopt(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        stream: &mut dyn KeyStream,
    ) -> Result<(), DiskError> {
        let mut sink = None;
        let states = self.take_all(place, tools, stream, &mut sink, &mut |_, _| Ok(()))?;
        self.settle(place, tools, Absorbed { states, sink })?;
        if self.shares.tight { self.compact(place, &mut tools.cost) } else { Ok(()) }
    }

    /// Everything in a stream of new keys.
    fn take_all(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        fresh: &mut dyn KeyStream,
        sink: &mut Option<Sink>,
        keep: &mut Keep<'_>,
    ) -> Result<u64, DiskError> {
        let mut states = 0;
        while fresh.advance()? {
            self.add(place, tools, fresh.keys(), false, sink, keep)?;
            states += (fresh.keys().len() / place.width.words()) as u64;
        }
        Ok(states)
    }

    /// Leaves those of the ascending keys that are new in `tools.fresh`, going through the runs beside them.
    fn sweep(
        &mut self,
        tools: &mut Tools,
        sweeps: &mut [Sweep<'_>],
        words: usize,
        keys: &[u64],
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        let Tools { found, chosen, open, answers, fresh, cost, .. } = tools;
        fresh.clear();
        fresh.extend(keys)?;
        found.clear();
        found.resize(keys.len() / words, false)?;
        if let Some(small) = &self.small {
            small.mark(keys, found, chosen);
            let kept = retain_unmarked(words, fresh, found);
            fresh.truncate(kept);
        }
        let mut asked_of_trie = 0;
        if self.folded.is_there() {
            asked_of_trie = fresh.len() / words;
            self.folded.mark(fresh, &mut found[..asked_of_trie]);
            let kept = retain_unmarked(words, fresh, &mut found[..asked_of_trie]);
            cost.hits += ((fresh.len() - kept) / words) as u64;
            fresh.truncate(kept);
        }
        let sought = fresh.len() / words;
        let mut asked = sought;
        if self.filter.blocks() > 0 && self.measures.filter_first {
            chosen.clear();
            self.filter.query_batch(fresh, words, chosen);
            asked = chosen.len();
            gather(words, fresh, chosen, open)?;
            sweep_chosen(sweeps, words, (chosen, open), (found, answers))?;
            let kept = retain_unmarked(words, fresh, &mut found[..sought]);
            fresh.truncate(kept);
        } else {
            for sweep in sweeps {
                let open = fresh.len() / words;
                if open == 0 {
                    break;
                }
                sweep.mark(fresh, &mut found[..open])?;
                let kept = retain_unmarked(words, fresh, &mut found[..open]);
                fresh.truncate(kept);
            }
        }
        let met = (sought - fresh.len() / words) as u64;
        self.measures.sought += sought as u64;
        self.measures.met += met;
        cost.asked += asked.max(asked_of_trie) as u64;
        cost.asked_of_tries += asked_of_trie as u64;
        cost.denied += (sought - asked) as u64;
        cost.hits += met;
        cost.look_up += began.elapsed();
        Ok(())
    }

    /// Leaves those of the ascending keys that are new in `tools.fresh`, asking the trie for what small layers were not told of before.
    fn look_up_folded(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        words: usize,
        keys: &[u64],
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        let Tools { found, chosen, fresh, cost, .. } = tools;
        self.small_layers(place)?.tell(keys, chosen)?;
        gather(words, keys, chosen, fresh)?;
        found.clear();
        found.resize(chosen.len(), false)?;
        self.folded.mark(fresh, found);
        let kept = retain_unmarked(words, fresh, found);
        fresh.truncate(kept);
        cost.asked += (keys.len() / words) as u64;
        cost.asked_of_tries += (keys.len() / words) as u64;
        cost.hits += ((keys.len() - kept) / words) as u64;
        cost.look_up += began.elapsed();
        Ok(())
    }

    /// Leaves those of the ascending keys that are new in `tools.fresh`, looking up what the filter does not deny.
    fn look_up(
        &mut self,
        tools: &mut Tools,
        runs: &Tiers,
        words: usize,
        keys: &[u64],
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        let Tools { prober, found, chosen, open, answers, fresh, cost, .. } = tools;
        found.clear();
        found.resize(keys.len() / words, false)?;
        if let Some(small) = &self.small {
            small.mark(keys, found, chosen);
        }
        let mut asked_of_trie = 0;
        if self.folded.is_there() {
            let open = |found: &[bool]| found.iter().filter(|&&found| !found).count();
            asked_of_trie = open(found);
            self.folded.mark(keys, found);
            cost.hits += (asked_of_trie - open(found)) as u64;
            cost.asked_of_tries += asked_of_trie as u64;
        }
        chosen.clear();
        self.filter.query_batch(keys, words, chosen);
        chosen.retain(|index| !found[*index as usize]);
        gather(words, keys, chosen, open)?;
        cost.filter += began.elapsed();
        cost.asked += chosen.len().max(asked_of_trie) as u64;
        let run_count = runs.runs().count();
        if !chosen.is_empty() && run_count > 0 {
            let began = Instant::now();
            answers.clear();
            answers.resize(chosen.len(), false)?;
            runs.look_up(prober, open, answers)?;
            let mut hits = 0;
            for (&index, &answer) in chosen.iter().zip(&**answers) {
                found[index as usize] = answer;
                hits += u64::from(answer);
            }
            cost.hits += hits;
            self.measures.note_wasted_decodes((chosen.len() as u64 - hits) * run_count as u64);
            cost.look_up += began.elapsed();
        }
        fresh.clear();
        fresh.extend(keys)?;
        let kept = retain_unmarked(words, fresh, found);
        fresh.truncate(kept);
        Ok(())
    }
}

/// Marks those of the open keys as found, by their numbers, that are in one of the runs gone through.
fn sweep_chosen(
    sweeps: &mut [Sweep<'_>],
    words: usize,
    (numbers, open): (&mut Vec<u32>, &mut ChargedVec<u64>),
    (found, answers): (&mut [bool], &mut ChargedVec<bool>),
) -> Result<(), DiskError> {
    numbers.iter().for_each(|&number| found[number as usize] = true);
    for sweep in sweeps {
        if open.is_empty() {
            break;
        }
        answers.clear();
        answers.resize(numbers.len(), false)?;
        sweep.mark(open, answers)?;
        let mut kept = 0;
        for (index, &answer) in answers.iter().enumerate() {
            numbers[kept] = numbers[index];
            kept += usize::from(!answer);
        }
        numbers.truncate(kept);
        retain_unmarked(words, open, answers);
        open.truncate(kept * words);
    }
    // What is left was in none.
    numbers.iter().for_each(|&number| found[number as usize] = false);
    Ok(())
}

/// The keys of those numbers, in place of what is there.
fn gather(words: usize, keys: &[u64], numbers: &[u32], into: &mut ChargedVec<u64>) -> Result<(), DiskError> {
    into.clear();
    into.resize(numbers.len() * words, 0)?;
    match words {
        1 => into.iter_mut().zip(numbers).for_each(|(room, &number)| *room = keys[number as usize]),
        _ => {
            for (room, &number) in into.chunks_exact_mut(words).zip(numbers) {
                room.copy_from_slice(&keys[number as usize * words..][..words]);
            }
        }
    }
    Ok(())
}
