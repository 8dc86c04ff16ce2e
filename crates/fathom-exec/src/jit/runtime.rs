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

use super::Unsupported;

/// What compiled code is told. Cursors are in registers while it runs; the number of faults, which are rare, is here.
#[repr(C)]
struct Context {
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
}

pub(super) const TARGETS: i32 = offset_of!(Context, targets) as i32;
pub(super) const TARGETS_END: i32 = offset_of!(Context, targets_end) as i32;
pub(super) const ACTIONS: i32 = offset_of!(Context, actions) as i32;
pub(super) const ACTION_STRIDE: i32 = offset_of!(Context, action_stride) as i32;
pub(super) const ENDS: i32 = offset_of!(Context, ends) as i32;
pub(super) const FAULTS: i32 = offset_of!(Context, faults) as i32;
pub(super) const SOURCES_END: i32 = offset_of!(Context, sources_end) as i32;
pub(super) const FAULT_COUNT: i32 = offset_of!(Context, fault_count) as i32;
pub(super) const FAULT_CAPACITY: i32 = offset_of!(Context, fault_capacity) as i32;
pub(super) const SPARE: i32 = offset_of!(Context, spare) as i32;
pub(super) const FAULT_ACTION: i32 = offset_of!(Fault, action) as i32;
/// Where the number of a site is written, until the fault itself is: its place in the source.
pub(super) const FAULT_SITE: i32 = (offset_of!(Fault, span) + offset_of!(Span, start)) as i32;
pub(super) const FAULT_BYTES: i64 = size_of::<Fault>() as i64;
pub(super) const END_STEP: i32 = offset_of!(SourceEnd, step) as i32;
pub(super) const END_FAULT: i32 = offset_of!(SourceEnd, fault) as i32;
pub(super) const END_BYTES: i64 = size_of::<SourceEnd>() as i64;

/// `expand(context, sources) -> finished`
type ExpandFunction = unsafe extern "C" fn(*mut Context, *const u64) -> usize;
/// `label(records, count, out)`
type LabelFunction = unsafe extern "C" fn(*const u64, usize, *mut Labels);

/// Machine code, for as long as it is held.
pub(super) struct Code {
    expand: Option<ExpandFunction>,
    label: LabelFunction,
    words_per_record: usize,
    /// Owns the memory of the functions. Nothing asks it anything until it is dropped.
    module: Mutex<Option<Box<JITModule>>>,
    /// Tables whose addresses are in the functions.
    _tables: Vec<Box<[i64]>>,
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
        tables: Vec<Box<[i64]>>,
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
        let label = address(label.expect("labels are always compiled"), 3, 0);
        // SAFETY: a finished function of that signature, alive as long as the module.
        let expand = expand.map(|code| unsafe { std::mem::transmute::<*const u8, ExpandFunction>(code) });
        // SAFETY: as above.
        let label = unsafe { std::mem::transmute::<*const u8, LabelFunction>(label) };
        let module = Mutex::new(Some(Box::new(module)));
        Ok(Code { expand, label, words_per_record, module, _tables: tables })
    }

    /// Expands sources and says how many are finished; none if expanding was not compiled.
    pub(super) fn expand(&self, sources: Records<'_>, output: Output<'_>) -> Option<usize> {
        let expand = self.expand?;
        let Output { targets, actions, ends, faults } = output;
        assert_eq!(sources.words_per_record(), self.words_per_record, "records have the shape's width");
        let capacity = targets.len() / self.words_per_record;
        assert!(actions.len() == capacity || actions.len() == 1, "an action for each target, or one for all");
        let action_stride = if actions.len() == capacity { size_of::<u32>() } else { 0 };
        let count = sources.len().min(ends.len());
        let mut spare = vec![0u64; self.words_per_record];
        let targets = targets.as_mut_ptr_range();
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
        };
        // SAFETY: the code is alive, since `self.module` is; the pointers are valid for what the top of this file says, and the slices they
        // come from are borrowed until after the call.
        Some(unsafe { expand(&raw mut context, sources.words().as_ptr()) })
    }

    /// Labels records.
    pub(super) fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        assert_eq!(records.words_per_record(), self.words_per_record, "records have the shape's width");
        let count = records.len().min(out.len());
        // SAFETY: the code is alive, since `self.module` is; it reads `count` records and writes `count` labels, which are there.
        unsafe { (self.label)(records.words().as_ptr(), count, out.as_mut_ptr()) };
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
