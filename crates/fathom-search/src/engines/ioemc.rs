//! Policy of the depth-first search: an accepting cycle, with all that was visited in two tables on disk and both paths in one section of memory.
//!
//! L. Wu, H. Huang, K. Su, S. Cai, X. Zhang, "An I/O efficient model checking algorithm for large-scale systems" (IOEMC, IEEE TVLSI 2015), corrected: the nested depth-first search of Courcoubetis, Vardi, Wolper and
//! Yannakakis, since what is on disk cannot change its colour; successors are taken one after the other, and a state is left when all of them were (as printed, one that is in the table but not in memory is neither entered nor left).
//!
//! ```text
//! memory   T1 half: H of the first table | H of the second (each half of it)      stores/hash_sorted.rs
//!          T2 half: both paths                                                     stack/shared.rs
//! ```
//! A reference to compare with: it reads a block for every step to a state that is known and was not met lately, and writes the whole table for every share of memory that leaves. A search that is cut off starts over; its files go with it.
//!
//! Memory: what there is, by the parts above. I/O: n^2 / (rho1 H B) blocks for merges, one for each look-up beyond memory, and the paths.

use std::cell::RefCell;
use std::rc::Rc;

use super::engine::{AskRuns, Body, Chosen, Engine, EngineOption, Files, OptionValue, Run, Threads};
use super::ndfs::{self, Settings};
use crate::bodies::depth_first::stack::PathStack;
use crate::bodies::depth_first::stack::shared::{Section, Share};
use crate::bodies::depth_first::stack::spilling::Spill;
use crate::error::SearchError;
use crate::files::disk_use::DiskUse;
use crate::liveness::on_the_fly::Outcome;
use crate::stores::hash_sorted::{HashSorted, HashSortedFigures};
use crate::stores::visited::{PerColour, Visited};

pub use crate::bodies::depth_first::stack::shared::SectionFigures;

/// What users read of it.
pub static ENGINE: Engine = Engine {
    name: "ioemc",
    help: "Nested depth-first on disk, exact: tables sorted by hash, both paths in one section; for infinite runs",
    search: "nested depth-first, exact",
    memory: "what --ram leaves, for any number",
    io: "a read per known state, a table for each merge",
    certificate: "none",
    origin: "Wu, Huang, Su, Cai, Zhang 2015: IOEMC, corrected; infinite runs (--ltl), found on the fly",
    threads: Threads::One,
    files: Files::Always,
    resumes: false,
    revisits: true,
    body: Body::DepthFirst,
    layers: false,
    stores: &[],
    options: &[
        EngineOption {
            key: "rho1",
            value: OptionValue::Share(&[]),
            required: false,
            help: "the share of the states in memory that goes to the table at a time (0.02)",
        },
        EngineOption {
            key: "rho2",
            value: OptionValue::Share(&["auto"]),
            required: false,
            help: "the share of both paths that goes to disk at a time (0.9), or as it turns out (auto)",
        },
        EngineOption {
            key: "hash",
            value: OptionValue::OneOf(&["12", "32", "64"]),
            required: false,
            help: "bits of the hash that tables are sorted by (64; the paper has 12)",
        },
        EngineOption {
            key: "tables",
            value: OptionValue::Share(&[]),
            required: false,
            help: "the share of memory for states, the rest is for paths (0.5)",
        },
    ],
    run: Run::Runs(on_the_fly),
};

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// The share of the states in memory that goes to the table at a time.
    pub rho1: f64,
    /// The share of both paths that goes to disk at a time; none as it turns out.
    pub rho2: Option<f64>,
    /// Bits of a hash.
    pub hash_bits: u32,
    /// The share of memory for states.
    pub tables: f64,
}

/// What a search cost.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    /// Of the first table, and of the second.
    pub tables: [HashSortedFigures; 2],
    /// Of the paths.
    pub paths: SectionFigures,
}

impl Default for Parameters {
    fn default() -> Parameters {
        Parameters { rho1: 0.02, rho2: Some(0.9), hash_bits: 64, tables: 0.5 }
    }
}

impl Parameters {
    /// What was chosen of them.
    pub fn chosen(chosen: &Chosen) -> Parameters {
        let default = Parameters::default();
        Parameters {
            rho1: chosen.share("rho1").unwrap_or(default.rho1),
            // What is chosen and no share is the word that leaves it to the engine.
            rho2: chosen.option("rho2").map_or(default.rho2, |_| chosen.share("rho2")),
            hash_bits: chosen.option("hash").and_then(|bits| bits.parse().ok()).unwrap_or(default.hash_bits),
            tables: chosen.share("tables").unwrap_or(default.tables),
        }
    }
}

/// Searches as the registry asks.
fn on_the_fly(ask: &AskRuns<'_>) -> Result<Outcome, SearchError> {
    let (mut outcome, costs) = run(ask, Parameters::chosen(ask.chosen))?;
    outcome.told = costs.told();
    outcome.figures = costs.figures();
    Ok(outcome)
}

/// Searches, with these parameters. Files go to the volume.
///
/// # Errors
/// If the machine fails. A budget that is used up is an ending.
pub fn run(ask: &AskRuns<'_>, parameters: Parameters) -> Result<(Outcome, Costs), SearchError> {
    let AskRuns { system, room, observer, .. } = *ask;
    let volume = ask.volume.expect("an engine that always has files has a volume");
    let (shape, budget) = (system.shape(), room.budget());
    // What else is needed is the steps of a state, and what a merge takes.
    let bytes = budget.limit() / 2;
    let tables = (bytes as f64 * parameters.tables) as usize;
    let hashed = (parameters.rho1, parameters.hash_bits);
    let table = |name| HashSorted::new(shape, (volume, name), hashed, tables / 2, budget);
    let mut visited = PerColour([table("first")?, table("second")?]);
    let spill = |name| Spill { volume: ask.stack.unwrap_or(volume), name, bytes: bytes - tables };
    let share = parameters.rho2.map_or(Share::Adapted, Share::Fixed);
    let (paths, section) = Section::paths(budget, shape.words(), [spill("path"), spill("red-path")], share)?;
    let [first, second] = paths.map(|path| -> Box<dyn PathStack> { Box::new(path) });
    let outcome = ndfs::run_along(system, &mut visited, room, &Settings::of(ask), observer, [first, second]);
    let mut outcome = match outcome {
        Err(error) if error.is_want_of_room() => Outcome::without_room(visited.0[0].len(), error),
        outcome => outcome?,
    };
    let closed_set = visited.0.iter().map(|table| table.figures().files).sum();
    let costs = Costs { tables: visited.0.each_ref().map(HashSorted::costs), paths: figures(&section) };
    let peak = costs.tables.iter().map(|table| table.peak_bytes).sum();
    outcome.disk = Some(DiskUse { closed_set, peak, ..DiskUse::default() });
    Ok((outcome, costs))
}

fn figures(section: &Rc<RefCell<Section>>) -> SectionFigures {
    section.borrow().figures()
}

impl Costs {
    /// Of both tables.
    fn sum(&self, of: fn(HashSortedFigures) -> u64) -> u64 {
        self.tables.into_iter().map(of).sum()
    }

    /// In numbers.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("merges", self.sum(|it| it.merges)),
            ("merged_blocks", self.sum(|it| it.merged_blocks)),
            ("lemma_1_blocks", self.sum(|it| it.bound_blocks)),
            ("known_in_memory", self.sum(|it| it.in_memory)),
            ("known_on_disk", self.sum(|it| it.on_disk)),
            ("path_spills", self.paths.spills),
            ("path_refills", self.paths.refills),
            ("path_states_moved", self.paths.moved),
        ]
    }

    /// In sentences.
    fn told(&self) -> Vec<String> {
        let sum = |of| self.sum(of);
        let (in_memory, on_disk) = (sum(|it| it.in_memory), sum(|it| it.on_disk));
        let rate = 100.0 * in_memory as f64 / (in_memory + on_disk).max(1) as f64;
        let (bound, measured) = (sum(|it| it.bound_blocks), sum(|it| it.merged_blocks));
        vec![
            format!(
                "{} merges: {measured} blocks read and written, by Lemma 1 at most about {bound}; {rate:.1} % of the known states were known in memory",
                sum(|it| it.merges)
            ),
            format!(
                "paths: {} times to disk, {} times back, {} states moved; a search that is cut off starts over",
                self.paths.spills, self.paths.refills, self.paths.moved
            ),
        ]
    }
}
