//! Where does compiled code touch memory, and why may it? The only unsafe code of this crate.
//!
//! Compiled code is called with raw pointers into slices that the caller has borrowed for the length of the call. It writes
//!
//! * targets and actions from the start of their columns up to the capacity: each step compares its cursor with the end of the targets
//!   first, and the action's cursor moves in step with it (or stays, if no column was wanted);
//! * ends, one for each finished source, of which there are no more than it was given;
//! * faults up to the capacity: each compares their number with it first;
//! * one spare record, where bodies keep words when there is no room for a target.
//!
//! What was not compiled it leaves to the interpreter, by a call to [`interpret`], which writes by the same rules.
//!
//! It reads the records it was given and the tables of instances that live as long as it does, each from its start to its end. Addresses inside a record are constants, or come from an index that was compared with the length of
//! the array or clamped to it, whatever values the record holds.
#![allow(unsafe_code)]

use std::mem::offset_of;
use std::sync::Mutex;

use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Module};
use fathom_model::expression::Domain;
use fathom_model::record::Records;
use fathom_model::span::Span;
use fathom_model::steps::{Fault, Labels, SourceEnd};

use crate::interpreter::one_by_one::{Attempt, OneByOne};
use crate::interpreter::{Interpreter, Trouble};

use super::Unsupported;
use super::tables::Tables;

/// Records of so many words and less are put aside on the stack.
const SPARE_WORDS: usize = 8;

/// What compiled code is told. Cursors are in registers while it runs; the number of faults, which are rare, is here.
#[repr(C)]
pub(super) struct Context<'a> {
    targets: *mut u64,
    targets_end: *mut u64,
    actions: *mut u32,
    action_stride: usize,
    ends: *mut SourceEnd,
    sources_end: *const u64,
    faults: *mut Fault,
    fault_count: usize,
    fault_capacity: usize,
    spare: *mut u64,
    words_per_record: usize,
    fallback: *mut Fallback<'a>,
}

/// Who tries the actions that were not compiled.
struct Fallback<'a> {
    actions: OneByOne<'a>,
    /// The lists of such actions, by number.
    lists: &'a [Box<[u32]>],
    /// The number of the first site that no compiled code has.
    first_site: usize,
    /// The sites from there on: those of this call.
    sites: Vec<Trouble>,
}

pub(super) const TARGETS: i32 = offset_of!(Context<'static>, targets) as i32;
pub(super) const TARGETS_END: i32 = offset_of!(Context<'static>, targets_end) as i32;
pub(super) const ACTIONS: i32 = offset_of!(Context<'static>, actions) as i32;
pub(super) const ACTION_STRIDE: i32 = offset_of!(Context<'static>, action_stride) as i32;
pub(super) const ENDS: i32 = offset_of!(Context<'static>, ends) as i32;
pub(super) const FAULTS: i32 = offset_of!(Context<'static>, faults) as i32;
pub(super) const SOURCES_END: i32 = offset_of!(Context<'static>, sources_end) as i32;
pub(super) const FAULT_COUNT: i32 = offset_of!(Context<'static>, fault_count) as i32;
pub(super) const FAULT_CAPACITY: i32 = offset_of!(Context<'static>, fault_capacity) as i32;
pub(super) const SPARE: i32 = offset_of!(Context<'static>, spare) as i32;
pub(super) const FAULT_ACTION: i32 = offset_of!(Fault, action) as i32;
/// Where the number of a site is written, until the fault itself is: its place in the source.
pub(super) const FAULT_SITE: i32 = (offset_of!(Fault, span) + offset_of!(Span, start)) as i32;
pub(super) const FAULT_BYTES: i64 = size_of::<Fault>() as i64;
pub(super) const END_STEP: i32 = offset_of!(SourceEnd, step) as i32;
pub(super) const END_FAULT: i32 = offset_of!(SourceEnd, fault) as i32;
pub(super) const END_BYTES: i64 = size_of::<SourceEnd>() as i64;

/// `expand(context, sources) -> finished`
type ExpandFunction = unsafe extern "C" fn(*mut Context<'_>, *const u64) -> usize;
/// `label(records, count, out)`
type LabelFunction = unsafe extern "C" fn(*const u64, usize, *mut Labels);

/// Machine code, for as long as it is held.
pub(super) struct Code {
    expand: Option<ExpandFunction>,
    label: Option<LabelFunction>,
    words_per_record: usize,
    /// Owns the memory of the functions. Nothing asks it anything until it is dropped.
    module: Mutex<Option<Box<JITModule>>>,
    /// Tables whose addresses are in the functions, and lists that they have the numbers of.
    tables: Tables,
}

/// What came of expanding a batch.
pub(super) struct Expanded {
    /// How many sources are finished.
    pub(super) finished: usize,
    /// The sites that interpreted actions faulted at; their numbers go on after those of compiled code.
    pub(super) sites: Vec<Trouble>,
}

/// Where the steps of a batch go: columns of one capacity.
pub(super) struct Output<'a> {
    pub(super) targets: &'a mut [u64],
    /// As long as the targets' records, or one that is written again and again.
    pub(super) actions: &'a mut [u32],
    pub(super) ends: &'a mut [SourceEnd],
    /// A reported fault has its action, and the number of its site in place of the start of its span.
    pub(super) faults: &'a mut [Fault],
}

impl Code {
    /// Finishes a module and takes it over. Its functions were compiled for records of `words_per_record` words to keep the
    /// promises at the top of this file.
    pub(super) fn finish(
        mut module: JITModule,
        tables: Tables,
        [expand, label]: [Option<FuncId>; 2],
        words_per_record: usize,
    ) -> Result<Code, Unsupported> {
        module.finalize_definitions()?;
        let address = |function: FuncId, parameters: usize, results: usize| {
            let signature = &module.declarations().get_function_decl(function).signature;
            let fits = signature.params.len() == parameters && signature.returns.len() == results;
            assert!(
                fits && signature.call_conv == module.isa().default_call_conv(),
                "an entry as declared here"
            );
            module.get_finalized_function(function)
        };
        let expand = expand.map(|function| address(function, 2, 1));
        let label = label.map(|function| address(function, 3, 0));
        // SAFETY: a finished function of that signature, alive as long as the module.
        let expand = expand.map(|code| unsafe { std::mem::transmute::<*const u8, ExpandFunction>(code) });
        // SAFETY: as above.
        let label = label.map(|code| unsafe { std::mem::transmute::<*const u8, LabelFunction>(code) });
        let module = Mutex::new(Some(Box::new(module)));
        Ok(Code { expand, label, words_per_record, module, tables })
    }

    /// Expands sources; none if expanding was not compiled. The interpreter is that of the same program, with the same layout.
    pub(super) fn expand(
        &self,
        interpreter: &Interpreter,
        sources: Records<'_>,
        output: Output<'_>,
    ) -> Option<Expanded> {
        let expand = self.expand?;
        let Output { targets, actions, ends, faults } = output;
        assert_eq!(sources.words_per_record(), self.words_per_record, "records have the shape's width");
        let capacity = targets.len() / self.words_per_record;
        assert!(actions.len() == capacity || actions.len() == 1, "an action for each target, or one for all");
        let action_stride = if actions.len() == capacity { size_of::<u32>() } else { 0 };
        let count = sources.len().min(ends.len());
        // Depth-first searches expand one state at a time: an allocation for each would be felt.
        let (mut narrow, mut wide) = ([0u64; SPARE_WORDS], Vec::new());
        let spare: &mut [u64] = if self.words_per_record <= SPARE_WORDS {
            &mut narrow
        } else {
            wide.resize(self.words_per_record, 0);
            &mut wide
        };
        let targets = targets.as_mut_ptr_range();
        let mut fallback = Fallback {
            actions: OneByOne::new(interpreter),
            lists: &self.tables.interpreted,
            first_site: self.tables.sites.len(),
            sites: Vec::new(),
        };
        let mut context = Context {
            targets: targets.start,
            // SAFETY: whole records, so the end is inside the column or just behind it.
            targets_end: unsafe { targets.start.add(capacity * self.words_per_record) },
            actions: actions.as_mut_ptr(),
            action_stride,
            ends: ends.as_mut_ptr(),
            sources_end: sources.words()[count * self.words_per_record..].as_ptr(),
            faults: faults.as_mut_ptr(),
            fault_count: 0,
            fault_capacity: faults.len(),
            spare: spare.as_mut_ptr(),
            words_per_record: self.words_per_record,
            fallback: &raw mut fallback,
        };
        // SAFETY: the code is alive, since `self.module` is; the pointers are valid for what the top of this file says, and the slices they
        // come from are borrowed until after the call.
        let finished = unsafe { expand(&raw mut context, sources.words().as_ptr()) };
        Some(Expanded { finished, sites: fallback.sites })
    }

    /// The sites of compiled code, by number.
    pub(super) fn sites(&self) -> &[Trouble] {
        &self.tables.sites
    }

    /// How many actions were not compiled.
    pub(super) fn interpreted_actions(&self) -> usize {
        self.tables.interpreted.iter().map(|list| list.len()).sum()
    }

    /// Labels records, if labels were compiled; says whether they were.
    pub(super) fn label(&self, records: Records<'_>, out: &mut [Labels]) -> bool {
        let Some(label) = self.label else { return false };
        assert_eq!(records.words_per_record(), self.words_per_record, "records have the shape's width");
        let count = records.len().min(out.len());
        // SAFETY: the code is alive, since `self.module` is; it reads `count` records and writes `count` labels, which are there.
        unsafe { label(records.words().as_ptr(), count, out.as_mut_ptr()) };
        true
    }
}

impl Drop for Code {
    fn drop(&mut self) {
        let module = self.module.get_mut().map_or(None, Option::take);
        if let Some(module) = module {
            // SAFETY: no function of the module is running or will be called: they are reached through `self` only.
            unsafe { module.free_memory() };
        }
    }
}

/// Gives back the memory of a module that is not finished.
pub(super) fn discard(module: JITModule) {
    // SAFETY: nobody has the address of any of its functions: those are told by a module that is finished.
    unsafe { module.free_memory() };
}

/// What compiled code calls to wrap a value around a domain whose size is no power of two, where 64 bits do not hold the offset.
pub(super) extern "C" fn wrap(value: i64, low: i64, high: i64) -> i64 {
    Domain { low, high }.wrap(value)
}

/// What [`interpret`] gives when a source cannot be finished.
pub(super) const UNFINISHED: i64 = -1;

/// What compiled code calls to have the interpreter try the actions of a list, in order. Their steps go where the cursors are; how many they are is returned,
/// or [`UNFINISHED`] if there is no more room, or somebody asked to stop. The source is the record, if that has one word, else its address.
///
/// # Safety
/// Called by code that [`Code::expand`] runs, with the context and the cursors it was given, on the source it is at.
pub(super) unsafe extern "C" fn interpret(
    context: *mut Context<'_>,
    source: u64,
    target: *mut u64,
    action: *mut u32,
    list: usize,
) -> i64 {
    // SAFETY: compiled code waits for the call to return; what the context points to is borrowed by `Code::expand` until then.
    let context = unsafe { &mut *context };
    // SAFETY: as above.
    let Fallback { actions, lists, first_site, sites } = unsafe { &mut *context.fallback };
    let words = context.words_per_record;
    let one_word = [source];
    let source: &[u64] = match words {
        1 => &one_word,
        // SAFETY: the address of a record of the batch, which is not written to.
        _ => unsafe { std::slice::from_raw_parts(source as *const u64, words) },
    };
    let (mut target, mut action, mut made) = (target, action, 0);
    for &number in &lists[list] {
        match actions.attempt(source, number) {
            Attempt::Nothing => {}
            Attempt::Step(_) if std::ptr::eq(target, context.targets_end) => return UNFINISHED,
            Attempt::Step(record) => {
                // SAFETY: the target's cursor is before the end of the column, by whole records; the action's moves in step with it, or stays at the one there is.
                unsafe {
                    target.copy_from_nonoverlapping(record.as_ptr(), words);
                    action.write(number);
                    target = target.add(words);
                    action = action.byte_add(context.action_stride);
                }
                made += 1;
            }
            Attempt::Fault(_) if context.fault_count == context.fault_capacity => return UNFINISHED,
            Attempt::Fault(trouble) => {
                let site = Span { start: (*first_site + sites.len()) as u32, ..trouble.span };
                sites.push(trouble);
                // SAFETY: there is room for one more.
                unsafe {
                    let fault = Fault { action: number, kind: trouble.kind, span: site };
                    context.faults.add(context.fault_count).write(fault);
                }
                context.fault_count += 1;
            }
            Attempt::Interrupted => return UNFINISHED,
        }
    }
    made
}
