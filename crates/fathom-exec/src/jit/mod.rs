//! Which steps does a program take? The fast answer: the program as machine code.
//!
//! The code is equal to the [interpreter](crate::interpreter) in everything: targets, their order, actions, movers, labels, faults with kind and place.
//! What is compiled is the expansion and the labelling of batches. Initial states and words for reports come from the interpreter inside,
//! and so do the joint steps of synchronous programs, whose labels only are compiled.
//!
//! | file | question |
//! |---|---|
//! | `plan` | which actions go into which function? |
//! | `lower` | which functions does a program become? |
//! | `choice` | in which order are guards tested? |
//! | `action` | what does an action compile to? |
//! | `statement` | what do statements compile to that are more than assignments? |
//! | `temporary` | where are temporaries kept? |
//! | `condition` | which way does a condition go? |
//! | `expression` | how is a value computed, and when does that fault? |
//! | `view` | what are the words of the record that a body leads to? |
//! | `scattered` | where is an element of an array that lies in several words? |
//! | `estimate` | what is known of an expression before it is computed? |
//! | `interval` | which values can an expression have? |
//! | `work` | what may take long, and asks whether to stop? |
//! | `tables` | what does compiled code refer to? |
//! | `emitter` | what does every piece of code share? |
//! | `runtime` | where does compiled code touch memory, and why may it? |
//!
//! Memory: the machine code, a few tens of bytes per node of the program. One call allocates one record. While compiling, some hundred bytes for every
//! instruction of the largest function ([`Compiled::within`] bounds them); it is dropped before the next one is begun. Actions that do not fit are left to the interpreter,
//! which compiled code calls for them.

mod action;
mod choice;
mod condition;
mod emitter;
mod estimate;
mod expression;
#[cfg(test)]
mod hostile;
mod interval;
mod lower;
mod plan;
mod runtime;
mod scattered;
mod statement;
mod tables;
mod temporary;
mod view;
mod work;

use cranelift_codegen::ir::{AbiParam, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, ModuleError, default_libcall_names};
use fathom_model::layout::{Layout, Possible};
use fathom_model::program::{Composition, Program, Role};
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Fault, Labels, Marks, ProcessSet, RawColumns, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};

use crate::interpreter::{Interpreter, Trouble};
use crate::stop::StopFlag;
use runtime::{Code, Expanded, Output};
use tables::Tables;

/// A program as machine code: a transition system.
pub struct Compiled {
    interpreter: Interpreter,
    code: Code,
    /// By action: who moves.
    movers: Vec<ProcessSet>,
    /// Who may ask it to stop. The code has its address.
    stop: StopFlag,
}

/// What compiling may take, and who may stop the code.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// Bytes that compiling may take at any time, and the code in the end.
    pub bytes: usize,
    /// Raised when steps are to end before they are done.
    pub stop: StopFlag,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds { bytes: usize::MAX, stop: StopFlag::never() }
    }
}

/// Why a program cannot be compiled here; the interpreter can run it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unsupported {
    /// There is no code generator for this machine.
    Machine(String),
    /// The code generator gave up, on a function that is too large for it for example.
    Program(String),
    /// Compiling takes more memory than it may.
    Memory,
}

impl std::fmt::Display for Unsupported {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unsupported::Machine(reason) => write!(formatter, "no compiled code on this machine: {reason}"),
            Unsupported::Program(reason) => write!(formatter, "the model cannot be compiled: {reason}"),
            Unsupported::Memory => {
                formatter.write_str("the model is too large to be compiled within its memory")
            }
        }
    }
}

impl std::error::Error for Unsupported {}

impl From<ModuleError> for Unsupported {
    fn from(error: ModuleError) -> Unsupported {
        Unsupported::Program(error.to_string())
    }
}

impl Compiled {
    /// Compiles a well-formed program, its records laid out by what values are possible. Takes milliseconds for small models, seconds for
    /// the largest.
    ///
    /// # Panics
    /// If the program is not well formed: the front-end that made it is wrong.
    pub fn new(program: Program, possible: &dyn Possible) -> Result<Compiled, Unsupported> {
        Compiled::within(&Bounds::default(), program, possible)
    }

    /// As [`Compiled::new`], within bounds: actions for which they leave no room are interpreted ([`Compiled::interpreted_actions`]). It gives up where there is
    /// no room for the code around them.
    ///
    /// # Panics
    /// As [`Compiled::new`].
    pub fn within(
        bounds: &Bounds,
        program: Program,
        possible: &dyn Possible,
    ) -> Result<Compiled, Unsupported> {
        let interpreter = Interpreter::new(program, possible);
        let plan = plan::Plan::new(interpreter.program(), interpreter.layout().words());
        Compiled::planned(interpreter, &plan, bounds)
    }

    /// As [`Compiled::new`] compiles large programs, whatever the size: one piece of code for all instances of a rule. Compiles faster, runs
    /// slower.
    ///
    /// # Panics
    /// As [`Compiled::new`].
    pub fn compact(program: Program, possible: &dyn Possible) -> Result<Compiled, Unsupported> {
        let interpreter = Interpreter::new(program, possible);
        let plan = plan::Plan::compact(interpreter.program(), interpreter.layout().words());
        Compiled::planned(interpreter, &plan, &Bounds::default())
    }

    fn planned(
        interpreter: Interpreter,
        plan: &plan::Plan,
        bounds: &Bounds,
    ) -> Result<Compiled, Unsupported> {
        let interpreter = interpreter.until(bounds.stop.clone());
        let code = compile(interpreter.program(), interpreter.layout(), plan, bounds)?;
        let program = interpreter.program();
        let movers = program.actions.iter().map(|action| program.movers_of(action));
        Ok(Compiled { movers: movers.collect(), interpreter, code, stop: bounds.stop.clone() })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        self.interpreter.program()
    }

    /// Where its variables lie.
    pub fn layout(&self) -> &Layout {
        self.interpreter.layout()
    }

    /// How many actions were left to the interpreter for want of memory.
    pub fn interpreted_actions(&self) -> usize {
        self.code.interpreted_actions()
    }

    /// Lets compiled code fill the columns; gives the number of finished sources, or none if expanding is left to the interpreter.
    fn expand_raw(&self, sources: Records<'_>, raw: &mut RawColumns<'_>) -> Option<usize> {
        let wants_movers = !raw.movers.is_empty() || !raw.enabled.is_empty();
        // Movers are told by the action; where the caller reads movers but no actions, they are noted for the length of the call.
        let mut noted = match (raw.actions.is_empty(), wants_movers) {
            (true, true) => vec![0; raw.ends.len()],
            (true, false) => vec![0],
            (false, _) => Vec::new(),
        };
        let actions: &mut [u32] = if noted.is_empty() { raw.actions } else { &mut noted };
        let output = Output { targets: raw.targets, actions, ends: raw.ends, faults: raw.faults };
        let Expanded { finished, sites } = self.code.expand(&self.interpreter, sources, output)?;
        Some(self.complete(sources.take(finished), &sites, &noted, raw))
    }

    /// Fills in what follows from the finished sources, their steps' actions (in the column, or noted) and their faults' sites. Gives how many sources are
    /// finished then: all of them, unless labelling was interrupted.
    fn complete(
        &self,
        sources: Records<'_>,
        interpreted_sites: &[Trouble],
        noted: &[u32],
        raw: &mut RawColumns<'_>,
    ) -> usize {
        let Some(last) = sources.len().checked_sub(1).map(|last| raw.ends[last]) else { return 0 };
        let actions: &[u32] = if noted.is_empty() { raw.actions } else { noted };
        for fault in &mut raw.faults[..last.fault as usize] {
            let (compiled, site) = (self.code.sites(), fault.span.start as usize);
            let Trouble { kind, span } =
                compiled.get(site).copied().unwrap_or_else(|| interpreted_sites[site - compiled.len()]);
            *fault = Fault { action: fault.action, kind, span };
        }
        let steps = last.step as usize;
        if !raw.marks.is_empty() {
            raw.marks[..steps].fill(Marks::default());
        }
        if !raw.movers.is_empty() {
            for (movers, action) in raw.movers.iter_mut().zip(&actions[..steps]) {
                *movers = self.movers[*action as usize];
            }
        }
        let mut first = 0;
        for (enabled, end) in raw.enabled.iter_mut().zip(&*raw.ends).take(sources.len()) {
            let moving = actions[first..end.step as usize].iter();
            enabled.0 = moving.fold(0, |set, action| set | self.movers[*action as usize].0);
            first = end.step as usize;
        }
        if raw.labels.is_empty() {
            return sources.len();
        }
        self.label(sources, raw.labels);
        let unknown = raw.labels.iter().take(sources.len()).position(|labels| labels.interrupted());
        unknown.unwrap_or(sources.len())
    }
}

impl TransitionSystem for Compiled {
    fn shape(&self) -> &Shape {
        self.interpreter.shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.interpreter.initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        out.clear();
        match self.expand_raw(sources, &mut out.raw()) {
            Some(finished) => {
                out.finish_raw(finished);
                if finished < sources.len() && self.stop.is_up() {
                    out.interrupt();
                }
                finished
            }
            None => self.interpreter.expand(sources, out),
        }
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        if !self.code.label(records, out) {
            self.interpreter.label(records, out);
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.interpreter.describe(what)
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Compiled").field("program", &self.program().name).finish_non_exhaustive()
    }
}

fn compile(
    program: &Program,
    layout: &Layout,
    plan: &plan::Plan,
    bounds: &Bounds,
) -> Result<Code, Unsupported> {
    if stack_elements(program) > STACK_ELEMENTS_MAX {
        return Err(Unsupported::Program("its temporary arrays are too long for the stack".into()));
    }
    let mut module = module(plan.optimise)?;
    match compile_into(&mut module, program, layout, plan, bounds) {
        Ok(compiled) => Code::finish(module, compiled.tables, compiled.functions, layout.words()),
        Err(error) => {
            runtime::discard(module);
            Err(error)
        }
    }
}

/// What a module refers to, and its functions: the one that expands and the one that labels, if they are compiled.
struct Functions {
    tables: Tables,
    functions: [Option<FuncId>; 2],
}

fn compile_into(
    module: &mut JITModule,
    program: &Program,
    layout: &Layout,
    plan: &plan::Plan,
    bounds: &Bounds,
) -> Result<Functions, Unsupported> {
    let mut import = |name: &str, parameters: usize| {
        let mut signature = module.make_signature();
        signature.params.extend(std::iter::repeat_n(AbiParam::new(types::I64), parameters));
        signature.returns.push(AbiParam::new(types::I64));
        module.declare_function(name, Linkage::Import, &signature).map_err(Unsupported::from)
    };
    let (wrap, interpret) = (import("wrap", 3)?, import("interpret", 5)?);
    let mut compiler = lower::Compiler {
        program,
        layout,
        module,
        wrap,
        interpret,
        tables: Tables {
            loops: plan.loops,
            stop: bounds.stop.address() as i64,
            actions_work: work::of_actions(program),
            ..Tables::default()
        },
        scratch: FunctionBuilderContext::new(),
        bytes: bounds.bytes,
        code_bytes: 0,
    };
    let expand = match program.composition {
        Composition::Asynchronous => Some(compiler.expand(plan)?),
        Composition::Synchronous => None,
    };
    let label = match compiler.label() {
        Ok(label) => Some(label),
        Err(Unsupported::Memory) => None,
        Err(error) => return Err(error),
    };
    Ok(Functions { tables: compiler.tables, functions: [expand, label] })
}

/// How many elements of temporary arrays there may be: all of them may be on the stack at once.
const STACK_ELEMENTS_MAX: u64 = 4_096;

fn stack_elements(program: &Program) -> u64 {
    let arrays = program.variables.iter().filter(|it| it.role == Role::Temporary && it.length.is_some());
    arrays.map(|array| u64::from(array.elements())).sum()
}

/// A module for this machine.
fn module(optimise: bool) -> Result<JITModule, Unsupported> {
    let unsupported = |reason: &str| Unsupported::Machine(reason.to_owned());
    if cfg!(not(target_pointer_width = "64")) {
        return Err(unsupported("it has no 64-bit addresses"));
    }
    let mut flags = settings::builder();
    let level = if optimise { "speed" } else { "none" };
    for (name, value) in [
        ("opt_level", level),
        ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
        ("unwind_info", "false"),
        ("use_colocated_libcalls", "false"),
        ("is_pic", "false"),
    ] {
        flags.set(name, value).map_err(|error| Unsupported::Machine(error.to_string()))?;
    }
    let isa = cranelift_native::builder()
        .map_err(unsupported)?
        .finish(settings::Flags::new(flags))
        .map_err(|error| Unsupported::Machine(error.to_string()))?;
    let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
    builder.symbol("wrap", runtime::wrap as *const u8);
    builder.symbol("interpret", runtime::interpret as *const u8);
    Ok(JITModule::new(builder))
}
