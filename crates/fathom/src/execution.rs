//! How does a model make its steps: as machine code, or interpreted, and how much memory may it take to get there?

use fathom_disk::storage::direct::heap;
use fathom_exec::jit::{Bounds, Compiled, Unsupported};
use fathom_exec::stop::StopFlag;
use fathom_model::program::{Label, Program};

use crate::assemble::{Model, System};
use crate::machine;
use crate::observer::Watcher;
use crate::settings::Resources;

/// Which form of a model's system is wanted. Both have the same records and take the same steps.
#[derive(Clone, Copy, Debug)]
pub enum Execution<'a> {
    /// The reference.
    Interpreted,
    /// The reference, which ends in the middle of a step if the watcher says so.
    Watched(&'a Watcher),
    /// Machine code, if this machine has any and compiling keeps within the memory of the process; else the reference.
    Compiled {
        /// The most bytes that the process may have resident.
        ram: u64,
        /// Who may ask it to stop in the middle of a step, and is told if it is the reference after all.
        watcher: &'a Watcher,
    },
}

/// What compiling may take of the memory that is left when it begins; the rest is for what the estimate misses.
const COMPILING_SHARE: (u64, u64) = (3, 4);

impl<'a> Execution<'a> {
    /// The form that a run is asked to use.
    pub fn wanted(resources: &Resources, watcher: &'a Watcher) -> Execution<'a> {
        match resources.jit {
            true => Execution::Compiled { ram: resources.ram, watcher },
            false => Execution::Watched(watcher),
        }
    }

    /// The system of a model, with these labels in place of its own.
    pub(crate) fn system(self, model: &Model, labels: Vec<Label>) -> System {
        let (ram, watcher) = match self {
            Execution::Interpreted => return System::Interpreted(model.interpreter(labels)),
            Execution::Watched(watcher) => {
                return System::Interpreted(model.interpreter(labels).until(stop(watcher)));
            }
            Execution::Compiled { ram, watcher } => (ram, watcher),
        };
        let system = compiled(model, labels.clone(), ram, stop(watcher));
        // What reading the model and compiling it took is free by now: the states shall have it.
        heap::give_free_pages_back();
        match system {
            Ok(compiled) => System::Compiled(compiled),
            Err(reason) => {
                // Where there is no memory for any run, that is told when it begins.
                if matches!(reason, Unsupported::Memory) && ram > machine::ram_floor() {
                    watcher
                        .meter()
                        .say("the model is too large to be compiled within --ram: it is interpreted");
                }
                System::Interpreted(model.interpreter(labels).until(stop(watcher)))
            }
        }
    }
}

fn stop(watcher: &Watcher) -> StopFlag {
    watcher.interrupt().stop_flag().into()
}

fn compiled(model: &Model, labels: Vec<Label>, ram: u64, stop: StopFlag) -> Result<Compiled, Unsupported> {
    heap::give_free_pages_back();
    let left = ram.saturating_sub(machine::ram_floor());
    let (share, of) = COMPILING_SHARE;
    let bytes = usize::try_from(left / of * share).unwrap_or(usize::MAX);
    let program = Program { labels, ..model.program().clone() };
    Compiled::within(&Bounds { bytes, stop }, program, model.values())
}
