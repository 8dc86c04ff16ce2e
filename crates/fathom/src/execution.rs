//! How does a model make its steps: as machine code, or interpreted, and how much memory may it take to get there?

use fathom_disk::storage::direct::heap;
use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::{Compiled, Unsupported};
use fathom_model::program::{Label, Program};
use fathom_model::values::PossibleValues;

use crate::machine;
use crate::monitor::Monitor;
use crate::resources::Resources;
use crate::system::System;

/// Which form of a model's system is wanted. Both have the same records and take the same steps.
#[derive(Clone, Copy)]
pub enum Execution<'a> {
    /// The reference.
    Interpreted,
    /// Machine code, if this machine has any and compiling keeps within the memory of the process; else the reference.
    Compiled {
        /// The most bytes that the process may have resident.
        ram: u64,
        /// Who is told if it is the reference after all.
        told: &'a dyn Monitor,
    },
}

/// What compiling may take of the memory that is left when it begins; the rest is for what the estimate misses.
const COMPILING_SHARE: (u64, u64) = (3, 4);

impl<'a> Execution<'a> {
    /// The form that a run is asked to use.
    pub fn wanted(resources: &Resources, monitor: &'a dyn Monitor) -> Execution<'a> {
        match resources.jit {
            true => Execution::Compiled { ram: resources.ram, told: monitor },
            false => Execution::Interpreted,
        }
    }

    /// The system of a program whose variables hold these values, with these labels in place of its own.
    pub(crate) fn system(self, program: &Program, values: &PossibleValues, labels: &[Label]) -> System {
        let program = || Program { labels: labels.to_vec(), ..program.clone() };
        let Execution::Compiled { ram, told } = self else {
            return System::Interpreted(Interpreter::new(program(), values));
        };
        let system = compiled(&program, values, ram);
        // What reading the model and compiling it took is free by now: the states shall have it.
        heap::give_free_pages_back();
        match system {
            Ok(compiled) => System::Compiled(compiled),
            Err(reason) => {
                // Where there is no memory for any run, that is told when it begins.
                if matches!(reason, Unsupported::Memory) && ram > machine::ram_floor() {
                    told.say("the model is too large to be compiled within --ram: it is interpreted");
                }
                System::Interpreted(Interpreter::new(program(), values))
            }
        }
    }
}

fn compiled(
    program: &dyn Fn() -> Program,
    values: &PossibleValues,
    ram: u64,
) -> Result<Compiled, Unsupported> {
    heap::give_free_pages_back();
    let left = ram.saturating_sub(machine::ram_floor());
    let (share, of) = COMPILING_SHARE;
    let bytes = usize::try_from(left / of * share).unwrap_or(usize::MAX);
    Compiled::within(bytes, program(), values)
}
