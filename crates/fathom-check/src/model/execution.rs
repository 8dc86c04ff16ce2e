//! How does a model make its steps: as machine code, or interpreted, and how much memory may it take to get there?

use fathom_disk::storage::direct::heap;
use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::{Bounds, Compiled, Unsupported};
use fathom_exec::stop::StopFlag;
use fathom_model::program::{Label, Program};
use fathom_model::values::PossibleValues;

use crate::machine;
use crate::model::system::System;
use crate::monitor::Monitor;
use crate::resources::Resources;

/// Which form of a model's system is wanted. Both have the same records and take the same steps.
#[derive(Clone, Copy)]
pub enum Execution<'a> {
    /// The reference.
    Interpreted,
    /// The reference, which ends in the middle of a step if the monitor says so.
    Watched(&'a dyn Monitor),
    /// Machine code, if this machine has any and compiling keeps within the memory of the process; else the reference.
    Compiled {
        /// The most bytes that the process may have resident.
        ram: u64,
        /// Who may ask it to stop in the middle of a step, and is told if it is the reference after all.
        monitor: &'a dyn Monitor,
    },
}

/// What compiling may take of the memory that is left when it begins; the rest is for what the estimate misses.
const COMPILING_SHARE: (u64, u64) = (3, 4);

impl<'a> Execution<'a> {
    /// The form that a run is asked to use.
    pub fn wanted(resources: &Resources, monitor: &'a dyn Monitor) -> Execution<'a> {
        match resources.jit {
            true => Execution::Compiled { ram: resources.ram, monitor },
            false => Execution::Watched(monitor),
        }
    }

    /// The system of a program whose variables hold these values, with these labels in place of its own.
    pub(crate) fn system(
        self,
        program: &Program,
        values: &PossibleValues,
        labels: &[Label],
    ) -> System<'static> {
        let program = || Program { labels: labels.to_vec(), ..program.clone() };
        let interpreted = |stop| System::Interpreted(Interpreter::new(program(), values).until(stop));
        let (ram, monitor) = match self {
            Execution::Interpreted => return interpreted(StopFlag::never()),
            Execution::Watched(monitor) => return interpreted(monitor.stop_flag()),
            Execution::Compiled { ram, monitor } => (ram, monitor),
        };
        let system = compiled(&program, values, ram, monitor.stop_flag());
        // What reading the model and compiling it took is free by now: the states shall have it.
        heap::give_free_pages_back();
        match system {
            Ok(compiled) => {
                let (left, all) = (compiled.interpreted_actions(), compiled.program().actions.len());
                if left > 0 {
                    monitor.say(&format!(
                        "the model is too large to be compiled within its memory: {left} of its {all} actions are interpreted"
                    ));
                }
                System::Compiled(compiled)
            }
            Err(reason) => {
                // Where there is no memory for any run, that is told when it begins.
                if matches!(reason, Unsupported::Memory) && ram > machine::ram_floor() {
                    monitor.say("the model is too large to be compiled within its memory: it is interpreted");
                }
                interpreted(monitor.stop_flag())
            }
        }
    }
}

fn compiled(
    program: &dyn Fn() -> Program,
    values: &PossibleValues,
    ram: u64,
    stop: StopFlag,
) -> Result<Compiled, Unsupported> {
    heap::give_free_pages_back();
    let left = ram.saturating_sub(machine::ram_floor());
    let (share, of) = COMPILING_SHARE;
    let bytes = usize::try_from(left / of * share).unwrap_or(usize::MAX);
    Compiled::within(&Bounds { bytes, stop }, program(), values)
}
