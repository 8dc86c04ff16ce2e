//! Which states of a shard are known?
//!
//! ```text
//! many candidates   --> in small layers? --> in the trie? --> filter says maybe? --> runs that are not in the trie, gone through beside the candidates --> new
//! few candidates    --> in small layers? --> in the trie? --> filter says maybe? --> the few blocks of these runs that can hold it? --> new
//! ```
//! A known state is in a small layer or in exactly one run. Where older runs fold into a trie, it has their keys and no others, and they are set aside: nothing is looked up in them. The filter
//! has every key of the other runs, so what it denies is new without a look at the disk. There may be neither.
//! Small layers are those not worth a run each; together they become one.
//!
//! Memory: filters, small layers, fences and roots of the runs, as [`Shares`] says. I/O of a subtraction: the blocks that can hold a key that filters do not deny.

mod folded;
mod memory;
mod small;

use std::time::Instant;

use fathom_disk::budget::ChargedVec;
use fathom_disk::error::DiskError;
use fathom_disk::filter::Bloom;
use fathom_disk::run::sweep::{Sweep, retain_unmarked};
use fathom_disk::run::{ProbeConfig, Prober, Run, RunConfig, RunWriter};
use fathom_disk::set::{Difference, KeyStream, Tiers};

use super::run_shapes::{LOOKED_UP_BLOCK_KEYS, run_configs};
use super::shares::Shares;
use crate::files::closing_cost::ClosingCost;
use crate::files::layer_store::BlockEncoder;
use crate::files::place::Place;
use folded::Folded;
use small::SmallLayers;

/// The known states of a shard.
#[derive(Debug)]
pub(super) struct Known {
    /// Those that candidates are looked up in, and those whose keys the trie has.
    runs: Tiers,
    aside: Tiers,
    filter: Bloom,
    /// How many keys it is made for.
    filter_keys: u64,
    folded: Folded,
    small: Option<SmallLayers>,
    /// Bytes of the runs that stay in memory.
    kept_bytes: usize,
    /// How many keys small layers have had at most when they became a run.
    small_keys: usize,
    shares: Shares,
    /// Runs in which many keys are looked up at a time, and runs in which few are.
    dense_config: RunConfig,
    sparse_config: RunConfig,
    /// The candidates of the last layer.
    candidates: u64,
    /// Whether they were few enough for the table.
    small_layer: bool,
    /// Whether they touched most of the runs.
    dense: bool,
    /// Whether runs were gone through for them.
    swept: bool,
    /// Whether there were so many keys per candidate that asking a filter first is cheaper than going through the runs with all candidates.
    far: bool,
    /// Those that runs were gone through for, and those of them that were there.
    sought: u64,
    met: u64,
    /// Keys decoded since the filter was built for candidates that were in no run: what a better filter would have saved.
    regret: u64,
    /// The same, since the runs were last folded or found not to fit.
    lasting_regret: u64,
    /// Candidates that were looked up since the runs were last folded or found not to fit.
    looked_up: u64,
    /// Nanoseconds that going through runs cost more, by and large, than asking a trie would have, since the runs were last folded or found not to fit.
    toll: u64,
    /// Layers since the filter was last asked, or since the trie last cost less than going through what it has.
    idle: u32,
}

/// Which runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Those that candidates are looked up in.
    Asked,
    /// Those whose keys a trie has.
    Aside,
}

/// What a thread that closes shards works with.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) prober: Prober,
    pub(super) encoder: BlockEncoder,
    pub(super) cost: ClosingCost,
    /// Keys looked at in one go.
    piece_keys: usize,
    found: ChargedVec<bool>,
    chosen: Vec<u32>,
    open: ChargedVec<u64>,
    answers: ChargedVec<bool>,
    fresh: ChargedVec<u64>,
    _charge: fathom_disk::budget::Charge,
}

/// Takes new keys as part of the layer, in ascending pieces.
pub(super) type Keep<'a> = dyn FnMut(&mut BlockEncoder, &[u64]) -> Result<(), DiskError> + 'a;

/// What was new in a stream of candidates.
#[derive(Debug)]
pub(super) struct Absorbed {
    pub(super) states: u64,
    sink: Option<Sink>,
}

/// Where the new states of a layer go.
#[derive(Debug)]
enum Sink {
    Table,
    Run(Box<RunWriter>),
}

/// So many times as many runs of a level are merged where a trie has their keys.
const FOLDED_FAN: usize = 6;

impl Tools {
    pub(super) fn new(place: &Place, shares: &Shares) -> Result<Tools, DiskError> {
        let (budget, words) = (&place.budget, place.width.words());
        // A key in a piece: a mark, a number, the key as open and as fresh, an answer.
        let each = 1 + 4 + 2 * words * 8 + 1;
        let piece_keys = (shares.piece_bytes / each).clamp(1, 1 << 16);
        Ok(Tools {
            prober: Prober::new(budget, place.width, probe_config(shares.probe_bytes))?,
            encoder: BlockEncoder::new(budget, place.width, shares.log_block_keys)?,
            cost: ClosingCost::default(),
            piece_keys,
            found: ChargedVec::with_capacity(budget, "closing", piece_keys)?,
            _charge: budget.charge("closing", piece_keys * 4)?,
            chosen: Vec::with_capacity(piece_keys),
            open: ChargedVec::with_capacity(budget, "closing", piece_keys * words)?,
            answers: ChargedVec::with_capacity(budget, "closing", piece_keys)?,
            fresh: ChargedVec::with_capacity(budget, "closing", piece_keys * words)?,
        })
    }
}

impl Known {
    pub(super) fn new(place: &Place, shares: &Shares) -> Result<Known, DiskError> {
        let [dense_config, sparse_config] = run_configs(place.width, place.tag, shares);
        Ok(Known {
            runs: Tiers::new(shares.fan),
            aside: Tiers::new(shares.fan),
            filter: Bloom::new(0, 0, &place.budget)?,
            filter_keys: 0,
            folded: Folded::default(),
            small: None,
            kept_bytes: 0,
            small_keys: 0,
            shares: *shares,
            dense_config,
            sparse_config,
            candidates: 0,
            small_layer: false,
            dense: true,
            swept: false,
            far: false,
            sought: 0,
            met: 0,
            regret: 0,
            lasting_regret: 0,
            looked_up: 0,
            toll: 0,
            idle: 0,
        })
    }

    /// Takes up runs that were committed.
    pub(super) fn take_up(&mut self, place: &Place, level: usize, run: Run) -> Result<(), DiskError> {
        self.insert_run(place, level, run)
    }

    /// Finds what is new in an ascending stream of about `candidates` keys, and hands it to `keep`, piece by piece. `small` says that the stream is short
    /// enough for the table. It is known once it is [settled](Known::settle): when the stream has given its memory back.
    pub(super) fn absorb(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        stream: &mut dyn KeyStream,
        (candidates, small): (u64, bool),
        scan: bool,
        keep: &mut Keep<'_>,
    ) -> Result<Absorbed, DiskError> {
        (self.candidates, self.small_layer) = (candidates, small);
        self.dense = candidates.saturating_mul(self.shares.dense_ratio) >= self.runs.count();
        self.far = self.runs.count() > candidates.saturating_mul(self.shares.filter_ratio);
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
        let touched = !self.folded.is_growing() && (self.dense || self.touch_most_blocks(candidates));
        if !touched && !self.folded.is_growing() {
            self.looked_up += candidates;
        }
        (self.sought, self.met, self.swept) = (0, 0, false);
        let mut sink = None;
        let runs = std::mem::replace(&mut self.runs, Tiers::new(self.shares.fan));
        let outcome = if scan {
            self.absorb_by_scan(place, tools, &runs, stream, &mut sink, keep)
        } else {
            match self.sweeps(place, &runs, touched) {
                Ok(sweeps) => {
                    self.swept = sweeps.is_some();
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
    pub(super) fn adopt(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        stream: &mut dyn KeyStream,
    ) -> Result<(), DiskError> {
        let mut sink = None;
        let states = self.take_all(place, tools, stream, &mut sink, &mut |_, _| Ok(()))?;
        self.settle(place, tools, Absorbed { states, sink })
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
        if self.filter.blocks() > 0 && self.far {
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
        self.sought += sought as u64;
        self.met += met;
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
            let in_vain = (chosen.len() as u64 - hits) * run_count as u64 * LOOKED_UP_BLOCK_KEYS as u64;
            self.regret += in_vain;
            self.lasting_regret += in_vain;
            cost.look_up += began.elapsed();
        }
        fresh.clear();
        fresh.extend(keys)?;
        let kept = retain_unmarked(words, fresh, found);
        fresh.truncate(kept);
        Ok(())
    }

    /// Makes new keys known.
    fn add(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        fresh: &[u64],
        small: bool,
        sink: &mut Option<Sink>,
        keep: &mut Keep<'_>,
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        keep(&mut tools.encoder, fresh)?;
        if sink.is_none() {
            *sink = Some(self.sink(place, small)?);
        }
        match sink {
            Some(Sink::Run(writer)) => {
                writer.push(fresh)?;
                self.add_to_filter(place, fresh);
            }
            _ => match self.add_to_small_layers(place, tools, fresh) {
                // The table is a luxury: the rest of the layer is a run. That it was told of some of it does no harm.
                Err(DiskError::Budget(_)) if !self.folded.is_growing() => {
                    let mut writer = self.writer(place, self.candidates)?;
                    writer.push(fresh)?;
                    self.add_to_filter(place, fresh);
                    *sink = Some(Sink::Run(Box::new(writer)));
                }
                outcome => outcome?,
            },
        }
        tools.cost.write += began.elapsed();
        Ok(())
    }

    /// How a run is written. Where runs are folded, nothing is looked up in it.
    fn config(&self) -> &RunConfig {
        if self.dense || self.folded.is_there() { &self.dense_config } else { &self.sparse_config }
    }

    fn sink(&self, place: &Place, small: bool) -> Result<Sink, DiskError> {
        if small && self.shares.table_bytes > 0 {
            return Ok(Sink::Table);
        }
        Ok(Sink::Run(Box::new(self.writer(place, self.candidates)?)))
    }

    /// Writes a run of at most so many keys.
    fn writer(&self, place: &Place, keys: u64) -> Result<RunWriter, DiskError> {
        let config = self.holding(place, keys.saturating_mul(2));
        place.run_writer(&config)
    }

    fn add_to_small_layers(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        fresh: &[u64],
    ) -> Result<(), DiskError> {
        // What the trie was asked for, they were told of.
        let told = self.folded.is_growing();
        let small = self.small_layers(place)?;
        if !told {
            small.tell(fresh, &mut tools.chosen)?;
            assert_eq!(tools.chosen.len() * place.width.words(), fresh.len(), "only new keys are added");
        }
        small.push(fresh)
    }

    fn small_layers(&mut self, place: &Place) -> Result<&mut SmallLayers, DiskError> {
        let bytes = self.small_bytes();
        Ok(match &mut self.small {
            Some(small) => small,
            none => none.insert(SmallLayers::new(place, bytes, self.small_keys)?),
        })
    }

    /// Tells the filter of new keys of a run, if there is one.
    fn add_to_filter(&mut self, place: &Place, keys: &[u64]) {
        if self.filter.blocks() > 0 {
            self.filter.insert_batch(keys, place.width.words());
        }
    }

    /// Closes the run that was written, if one was; merges what is due.
    pub(super) fn settle(
        &mut self,
        place: &Place,
        tools: &mut Tools,
        absorbed: Absorbed,
    ) -> Result<(), DiskError> {
        let began = Instant::now();
        if let Some(Sink::Run(writer)) = absorbed.sink {
            let run = writer.finish_run(false)?;
            self.insert_run(place, level_of(run.count(), self.shares.fan), run)?;
        }
        if self.small.as_ref().is_some_and(|small| small.bytes() > self.small_bytes()) {
            self.flush(place)?;
        }
        tools.cost.write += began.elapsed();
        let began = Instant::now();
        while let Some(level) = self.runs.due() {
            self.merge(place, Kind::Asked, Some(level))?;
        }
        // Runs in which nothing is looked up can wait for more of their like.
        while let Some(level) = self.aside.crowded(self.shares.fan * FOLDED_FAN) {
            self.merge(place, Kind::Aside, Some(level))?;
        }
        while self.all_runs().count() > self.shares.runs_max {
            let kind = if self.runs.runs().nth(1).is_some() { Kind::Asked } else { Kind::Aside };
            self.merge(place, kind, None)?;
        }
        tools.cost.merge += began.elapsed();
        let began = Instant::now();
        self.tend_filters(place)?;
        tools.cost.filter += began.elapsed();
        Ok(())
    }

    /// Makes a run of the small layers.
    pub(super) fn flush(&mut self, place: &Place) -> Result<(), DiskError> {
        let Some(small) = self.small.take() else { return Ok(()) };
        if small.count() == 0 {
            return Ok(());
        }
        self.small_keys = self.small_keys.max(small.count());
        let words = place.width.words();
        let keys = small.into_sorted(place)?;
        let mut writer = self.writer(place, (keys.len() / words) as u64)?;
        writer.push(&keys)?;
        self.add_to_filter(place, &keys);
        let folded = self.folded.insert(words, &keys);
        let run = writer.finish_run(false)?;
        drop(keys);
        let level = level_of(run.count(), self.shares.fan);
        if folded {
            self.aside.insert(level, run);
            return Ok(());
        }
        if !self.folded.is_there() {
            self.runs.append(&mut self.aside);
        }
        self.insert_run(place, level, run)
    }

    /// Adds a run that candidates are looked up in.
    fn insert_run(&mut self, place: &Place, level: usize, run: Run) -> Result<(), DiskError> {
        assert!(!self.folded.is_growing(), "a trie that grows has all runs");
        self.runs.insert(level, run);
        self.keep_in_memory(place)
    }

    /// Merges the runs of a level, or the smallest two.
    pub(super) fn merge(&mut self, place: &Place, kind: Kind, level: Option<usize>) -> Result<(), DiskError> {
        let within = self.shares.merge_bytes();
        let merged =
            |(held, run): (usize, &Run)| level.is_none_or(|level| held <= level).then(|| run.bytes());
        let bytes = match kind {
            Kind::Asked => self.runs.runs().filter_map(merged).sum(),
            // Nothing is looked up in it.
            Kind::Aside => u64::MAX,
        };
        let config = self.holding(place, bytes);
        let runs = match kind {
            Kind::Asked => &mut self.runs,
            Kind::Aside => &mut self.aside,
        };
        place.merge(runs, level, &config, within)?;
        self.keep_in_memory(place)
    }

    /// All runs with their levels.
    pub(super) fn all_runs(&self) -> impl Iterator<Item = (usize, &Run)> {
        self.runs.runs().chain(self.aside.runs())
    }

    /// Names of runs that were merged away since the last call: to be removed after the next commit.
    pub(super) fn retired(&mut self) -> Vec<String> {
        [self.runs.retired(), self.aside.retired()].concat()
    }

    /// Bytes of all runs.
    pub(super) fn disk_bytes(&self) -> u64 {
        self.all_runs().map(|(_, run)| run.bytes()).sum()
    }

    /// Keys known, on disk and in memory.
    pub(super) fn count(&self) -> u64 {
        self.run_keys() + self.small.as_ref().map_or(0, |small| small.count() as u64)
    }

    /// Keys of all runs.
    fn run_keys(&self) -> u64 {
        self.runs.count() + self.aside.count()
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

/// Look-ups of a whole layer at once touch many blocks of a run: long extents cost fewer operations, and hardly more bytes.
fn probe_config(bytes: usize) -> ProbeConfig {
    let config = ProbeConfig::within(bytes);
    let extent_bytes_max = (config.buffer_bytes / 2).clamp(32 << 10, 256 << 10);
    ProbeConfig { extent_bytes_max, join_gap_bytes: 32 << 10, ..config }
}

/// The level of a run by its size, so that runs that are merged are alike.
fn level_of(keys: u64, fan: usize) -> usize {
    (keys.max(1).ilog2() / fan.max(2).ilog2()) as usize
}
