//! Which functions does a program become?
//!
//! One that expands a batch: a loop over the sources, and in it every process in order, dispatched on its location; parts that
//! the plan splits off are functions `part(context, source, target, action[, committed]) -> (target, action)`, which give a null target when
//! there is no more room. And one that labels a batch. Where a function takes more memory than compiling may, its actions are spread over smaller ones; a rule that does not
//! even fit alone is left to the interpreter, which the code around it calls.

use cranelift_codegen::Context;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AbiParam, Block, InstBuilder, MemFlagsData, Signature, UserFuncName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_jit::JITModule;
use cranelift_module::{FuncId, Linkage, Module};
use fathom_model::layout::Layout;
use fathom_model::program::{Program, VariableId};
use fathom_model::steps::Labels;

use super::Unsupported;
use super::emitter::{Cursors, Emitter, Source, Trap};
use super::interval::Interval;
use super::plan::{Part, Plan, are_instances};
use super::runtime;
use super::tables::Tables;
use super::work::of_labels;

/// Compiles the functions of a program into a module.
pub(super) struct Compiler<'a> {
    pub(super) program: &'a Program,
    pub(super) layout: &'a Layout,
    pub(super) module: &'a mut JITModule,
    /// The helper of [`runtime::wrap`].
    pub(super) wrap: FuncId,
    /// The helper of [`runtime::interpret`].
    pub(super) interpret: FuncId,
    pub(super) tables: Tables,
    pub(super) scratch: FunctionBuilderContext,
    /// Bytes that compiling may take, and the code.
    pub(super) bytes: usize,
    /// Bytes of the code so far.
    pub(super) code_bytes: usize,
}

/// What it takes to compile a function, for each instruction of its intermediate form: that form itself, what the code generator makes of it, and the registers it
/// looks for. Between 400 and 700 bytes were seen, with and without optimisation, for functions of 5,000 to 865,000 instructions.
const INSTRUCTION_BYTES: usize = 700;
/// The part of the bytes that code may take, which stays.
const CODE_SHARE: usize = 4;
/// What the code generator takes whatever it compiles, its own code included.
const GENERATOR_BYTES: usize = 3 << 20;

/// What a part is called with.
struct PartCall {
    full: Block,
    /// Whether some process is at a committed location; none if no location is.
    committed: Option<Value>,
}

/// How some actions of one location are tried, in order.
enum Piece {
    /// By a function.
    Function(FuncId),
    /// By the interpreter.
    Interpreted(Vec<u32>),
}

/// The pieces of a part that is split, by location.
type Pieces = Vec<(u32, Vec<Piece>)>;

impl Compiler<'_> {
    /// Compiles `expand(context, sources) -> finished` of an asynchronous program.
    pub(super) fn expand(&mut self, plan: &Plan) -> Result<FuncId, Unsupported> {
        if plan.inline {
            let parts: Vec<&Part> = plan.functions.iter().flatten().collect();
            match self.expand_by(|emitter, _, call| parts.iter().for_each(|part| emitter.part(part, call))) {
                Err(Unsupported::Memory) => {}
                other => return other,
            }
        }
        let functions = plan.functions.iter().map(|parts| self.parts(parts));
        let functions = functions.collect::<Result<Vec<_>, _>>()?;
        self.expand_by(|emitter, module, call| {
            functions.iter().for_each(|function| emitter.call_part(module, *function, call));
        })
    }

    /// Compiles the loop over the sources of a batch, with what is done for each.
    fn expand_by(
        &mut self,
        each: impl FnOnce(&mut Emitter<'_, '_>, &mut JITModule, &PartCall),
    ) -> Result<FuncId, Unsupported> {
        let pointer = types::I64;
        let mut signature = self.module.make_signature();
        signature.params.extend([AbiParam::new(pointer); 2]);
        signature.returns.push(AbiParam::new(types::I64));
        self.define("expand", &signature, |emitter, parameters, module| {
            let &[context, sources] = parameters else { unreachable!("two parameters") };
            let batch = Batch::begin(emitter, context, sources);
            let committed = emitter.any_committed();
            each(emitter, module, &PartCall { full: batch.full, committed });
            batch.end(emitter);
        })
    }

    /// Compiles `label(records, count, out)`.
    pub(super) fn label(&mut self) -> Result<FuncId, Unsupported> {
        let mut signature = self.module.make_signature();
        signature.params.extend([AbiParam::new(types::I64); 3]);
        self.define("label", &signature, |emitter, parameters, _| {
            let &[records, count, out] = parameters else { unreachable!("three parameters") };
            emitter.label_batch(records, count, out);
        })
    }

    /// Compiles parts into one function, with functions for the lists of those that are split first: all of them, if they do not fit otherwise.
    fn parts(&mut self, parts: &[Part]) -> Result<FuncId, Unsupported> {
        let mut pieces: Vec<Option<Pieces>> = Vec::new();
        for part in parts {
            let split = part.split || !self.code_fits();
            pieces.push(if split { Some(self.pieces(part)?) } else { None });
        }
        match self.part_function(parts, &pieces) {
            Err(Unsupported::Memory) => {}
            other => return other,
        }
        for (part, whole) in parts.iter().zip(&mut pieces).filter(|(_, pieces)| pieces.is_none()) {
            *whole = Some(self.pieces(part)?);
        }
        self.part_function(parts, &pieces)
    }

    /// Compiles parts into one function: those that are split call their pieces.
    fn part_function(&mut self, parts: &[Part], pieces: &[Option<Pieces>]) -> Result<FuncId, Unsupported> {
        let (signature, interpret) = (self.part_signature(), self.interpret);
        self.define("part", &signature, |emitter, parameters, module| {
            let call = emitter.enter_part(parameters);
            for (part, pieces) in parts.iter().zip(pieces) {
                match pieces {
                    Some(pieces) => emitter.split_part(module, interpret, part, pieces, &call),
                    None => emitter.part(part, &call),
                }
            }
            emitter.leave_part(&call);
        })
    }

    /// Compiles the lists of a part that is split.
    fn pieces(&mut self, part: &Part) -> Result<Pieces, Unsupported> {
        let mut pieces = Pieces::new();
        for (location, lists) in &part.locations {
            let mut here = Vec::new();
            for list in lists {
                let allowed = match part.process {
                    Some(process) => allowed(self.program, *location, process, list),
                    None => list.clone(),
                };
                self.divide(part.process, *location, &allowed, &mut here)?;
            }
            pieces.push((*location, here));
        }
        Ok(pieces)
    }

    /// Adds actions of one location to its pieces: compiled into a function, else halved, else interpreted.
    fn divide(
        &mut self,
        process: Option<u32>,
        location: u32,
        actions: &[u32],
        pieces: &mut Vec<Piece>,
    ) -> Result<(), Unsupported> {
        if self.code_fits() {
            match self.list(process, location, actions) {
                Err(Unsupported::Memory) => {}
                function => return function.map(|it| pieces.push(Piece::Function(it))),
            }
            let (first, second) = self.halves(actions);
            if !first.is_empty() {
                self.divide(process, location, first, pieces)?;
                return self.divide(process, location, second, pieces);
            }
        }
        match pieces.last_mut() {
            Some(Piece::Interpreted(before)) => before.extend_from_slice(actions),
            _ => pieces.push(Piece::Interpreted(actions.to_vec())),
        }
        Ok(())
    }

    /// Cuts actions into two lists that are less code each; the first is empty where that cannot be: instances of a rule may share theirs.
    fn halves<'b>(&self, actions: &'b [u32]) -> (&'b [u32], &'b [u32]) {
        let action = |at: usize| &self.program.actions[actions[at] as usize];
        let may_cut = |at: &usize| !self.tables.loops || !are_instances(action(at - 1), action(*at));
        let middle = actions.len() / 2;
        let cut = (1..=middle).rev().chain(middle + 1..actions.len()).filter(|at| *at < actions.len());
        actions.split_at(cut.into_iter().find(may_cut).unwrap_or(0))
    }

    /// Compiles some actions of one location into a function.
    fn list(&mut self, process: Option<u32>, location: u32, actions: &[u32]) -> Result<FuncId, Unsupported> {
        let signature = self.part_signature();
        self.define("list", &signature, |emitter, parameters, _| {
            let call = emitter.enter_part(parameters);
            emitter.at_location(process, location, |emitter| emitter.actions(actions, call.full));
            emitter.leave_part(&call);
        })
    }

    fn part_signature(&self) -> Signature {
        // Two results come back in registers under this convention on every system.
        let mut signature = Signature::new(CallConv::SystemV);
        let parameters = if commits(self.program) { 5 } else { 4 };
        signature.params.extend(std::iter::repeat_n(AbiParam::new(types::I64), parameters));
        signature.returns.extend([AbiParam::new(types::I64); 2]);
        signature
    }

    /// Builds and compiles one function. `build` starts in the entry block and ends every block.
    fn define(
        &mut self,
        name: &str,
        signature: &Signature,
        build: impl FnOnce(&mut Emitter<'_, '_>, &[Value], &mut JITModule),
    ) -> Result<FuncId, Unsupported> {
        let mut context: Context = self.module.make_context();
        context.func.signature = signature.clone();
        let wrap = self.module.declare_func_in_func(self.wrap, &mut context.func);
        self.tables.instructions_max = self.instructions_max();
        let before = self.tables.lengths();
        let mut builder = FunctionBuilder::new(&mut context.func, &mut self.scratch);
        let entry = builder.create_block();
        builder.append_block_params_for_function_params(entry);
        builder.switch_to_block(entry);
        builder.seal_block(entry);
        let parameters = builder.block_params(entry).to_vec();
        let source = match self.layout.words() {
            1 => Source::Word(parameters[0]),
            _ => Source::Pointer(parameters[0]),
        };
        let mut emitter = Emitter::new(self.program, self.layout, builder, &mut self.tables, wrap, source);
        build(&mut emitter, &parameters, self.module);
        emitter.builder.seal_all_blocks();
        if emitter.is_full() {
            drop(emitter);
            self.tables.take_back(before);
            // What the abandoned function left in it would be found in the next one.
            self.scratch = FunctionBuilderContext::new();
            return Err(Unsupported::Memory);
        }
        emitter.builder.finalize(self.module.target_config());
        let number = self.module.declarations().get_functions().count();
        let function = self.module.declare_function(&format!("{name}{number}"), Linkage::Local, signature)?;
        context.func.name = UserFuncName::user(0, function.as_u32());
        self.module.define_function(function, &mut context)?;
        let code = context.compiled_code().map_or(0, |code| code.code_info().total_size as usize);
        self.code_bytes += code;
        Ok(function)
    }

    /// Whether more may be compiled than what cannot be done without.
    fn code_fits(&self) -> bool {
        self.code_bytes <= self.bytes / CODE_SHARE
    }

    /// How many instructions a function may have that is compiled now.
    fn instructions_max(&self) -> usize {
        let held = GENERATOR_BYTES + self.code_bytes + self.tables.bytes();
        self.bytes.saturating_sub(held) / INSTRUCTION_BYTES
    }
}

/// Whether any location of a program is committed.
pub(super) fn commits(program: &Program) -> bool {
    program.processes.iter().flat_map(|process| &process.locations).any(|location| location.committed)
}

/// The actions of a list that the rule of committed locations can ever allow: at a committed location, those whose movers all are.
fn allowed(program: &Program, location: u32, process: u32, list: &[u32]) -> Vec<u32> {
    let committed = program.processes[process as usize].locations[location as usize].committed;
    let may = |number: &u32| !committed || program.is_committed(&program.actions[*number as usize]);
    list.iter().copied().filter(may).collect()
}

/// The loop over the sources of a batch.
struct Batch {
    source: Variable,
    /// Where the source's end will be written.
    end: Variable,
    head: Block,
    full: Block,
}

impl Batch {
    /// Opens the loop and its body.
    fn begin(emitter: &mut Emitter<'_, '_>, context: Value, sources: Value) -> Batch {
        let (constant, other) = (emitter.regions.constant, emitter.regions.other);
        let builder = &mut emitter.builder;
        let [source, end, target, action] = [types::I64; 4].map(|kind| builder.declare_var(kind));
        builder.def_var(source, sources);
        for (cursor, first) in [(end, runtime::ENDS), (target, runtime::TARGETS), (action, runtime::ACTIONS)]
        {
            let first = builder.ins().load(types::I64, other, context, first);
            builder.def_var(cursor, first);
        }
        let [head, body, full] = [(); 3].map(|()| builder.create_block());
        builder.set_cold_block(full);
        builder.ins().jump(head, &[]);
        builder.switch_to_block(head);
        let here = builder.use_var(source);
        let last = builder.ins().load(types::I64, other, context, runtime::SOURCES_END);
        let is_done = builder.ins().icmp(IntCC::Equal, here, last);
        builder.ins().brif(is_done, full, &[], body, &[]);
        emitter.enter(body);
        emitter.away = Some(full);
        emitter.ask(emitter.tables.actions_work);
        emitter.source = match emitter.words() {
            1 => Source::Word(emitter.builder.ins().load(types::I64, constant, here, 0)),
            _ => Source::Pointer(here),
        };
        emitter.cursors = Some(Cursors { context, target, action });
        Batch { source, end, head, full }
    }

    /// Writes where the source ends, closes the loop, and returns how many sources are finished.
    fn end(self, emitter: &mut Emitter<'_, '_>) {
        let Cursors { context, target, .. } = emitter.cursors.expect("set when the loop was opened");
        let other = emitter.regions.other;
        let record_bytes = 8 * emitter.words() as i64;
        let builder = &mut emitter.builder;
        let end = builder.use_var(self.end);
        let last = builder.use_var(target);
        let steps = distance(builder, other, context, runtime::TARGETS, last, record_bytes);
        let steps = builder.ins().ireduce(types::I32, steps);
        builder.ins().store(other, steps, end, runtime::END_STEP);
        let faults = builder.ins().load(types::I32, other, context, runtime::FAULT_COUNT);
        builder.ins().store(other, faults, end, runtime::END_FAULT);
        for (cursor, bytes) in [(self.end, runtime::END_BYTES), (self.source, record_bytes)] {
            let here = builder.use_var(cursor);
            let next = builder.ins().iadd_imm_s(here, bytes);
            builder.def_var(cursor, next);
        }
        builder.ins().jump(self.head, &[]);
        builder.seal_block(self.head);
        emitter.enter(self.full);
        let end = emitter.builder.use_var(self.end);
        let finished = distance(&mut emitter.builder, other, context, runtime::ENDS, end, runtime::END_BYTES);
        emitter.builder.ins().return_(&[finished]);
    }
}

/// How many units lie between the address that the context holds and `to`.
fn distance(
    builder: &mut FunctionBuilder<'_>,
    flags: MemFlagsData,
    context: Value,
    from: i32,
    to: Value,
    unit: i64,
) -> Value {
    let from = builder.ins().load(types::I64, flags, context, from);
    let bytes = builder.ins().isub(to, from);
    builder.ins().udiv_imm_s(bytes, unit)
}

impl Emitter<'_, '_> {
    /// Whether some process of the source is at a committed location; none if no location of the program is committed.
    fn any_committed(&mut self) -> Option<Value> {
        let program = self.program;
        if !commits(program) {
            return None;
        }
        let mut sum = self.builder.ins().iconst(types::I8, 0);
        for process in &program.processes {
            let operand = self.read_place(process.variable, 0);
            let place = self.wide(operand);
            let committed = |number: &u32| process.locations[*number as usize].committed;
            for location in (0..process.locations.len() as u32).filter(committed) {
                let here = self.builder.ins().icmp_imm_s(IntCC::Equal, place, i64::from(location));
                sum = self.builder.ins().bor(sum, here);
            }
        }
        Some(sum)
    }

    /// Compiles all actions of a part in place.
    fn part(&mut self, part: &Part, call: &PartCall) {
        self.locations(part, call, |emitter, _, lists| {
            lists.iter().for_each(|list| emitter.actions(list, call.full));
        });
    }

    /// Compiles a part that is split.
    fn split_part(
        &mut self,
        module: &mut JITModule,
        interpret: FuncId,
        part: &Part,
        pieces: &Pieces,
        call: &PartCall,
    ) {
        self.locations(part, call, |emitter, location, _| {
            let here = pieces.iter().filter(|(at, _)| *at == location);
            for piece in here.flat_map(|(_, pieces)| pieces) {
                match piece {
                    Piece::Function(function) => emitter.call_part(module, *function, call),
                    Piece::Interpreted(actions) => {
                        emitter.call_interpreter(module, interpret, actions, call);
                    }
                }
            }
        });
    }

    /// Dispatches on the location of the part's process and compiles what is done at each, if the rule of committed locations allows it.
    fn locations(
        &mut self,
        part: &Part,
        call: &PartCall,
        mut compile: impl FnMut(&mut Self, u32, &[Vec<u32>]),
    ) {
        let next = self.builder.create_block();
        let Some(number) = part.process else {
            self.unless_committed(call, next);
            part.locations.iter().for_each(|(location, lists)| compile(self, *location, lists));
            self.builder.ins().jump(next, &[]);
            return self.enter(next);
        };
        let process = &self.program.processes[number as usize];
        let numbers: Vec<u32> = part.locations.iter().map(|(location, _)| *location).collect();
        let cases = self.dispatch(process.variable, &numbers, next);
        for (location, block) in cases {
            self.enter(block);
            if !process.locations[location as usize].committed {
                self.unless_committed(call, next);
            }
            let lists = part.locations.iter().filter(|(at, _)| *at == location);
            let lists: Vec<Vec<u32>> = lists
                .flat_map(|(_, lists)| lists)
                .map(|list| allowed(self.program, location, number, list))
                .collect();
            self.at_location(part.process, location, |emitter| compile(emitter, location, &lists));
            self.builder.ins().jump(next, &[]);
        }
        self.enter(next);
    }

    fn unless_committed(&mut self, call: &PartCall, next: Block) {
        if let Some(committed) = call.committed {
            let go_on = self.builder.create_block();
            self.builder.ins().brif(committed, next, &[], go_on, &[]);
            self.enter(go_on);
        }
    }

    /// Compiles what is done while a process is known to be at a location.
    fn at_location(&mut self, process: Option<u32>, location: u32, compile: impl FnOnce(&mut Self)) {
        let facts = self.fact_count();
        if let Some(process) = process {
            let variable: VariableId = self.program.processes[process as usize].variable;
            self.assume(variable, 0, Interval::exactly(i64::from(location)));
        }
        compile(self);
        self.forget_to(facts);
    }

    /// Starts a function of the signature of parts.
    fn enter_part(&mut self, parameters: &[Value]) -> PartCall {
        let &[context, source, target, action, ref committed @ ..] = parameters else {
            unreachable!("parts have four or five parameters")
        };
        self.source = match self.words() {
            1 => Source::Word(source),
            _ => Source::Pointer(source),
        };
        let [target_cursor, action_cursor] = [types::I64; 2].map(|kind| self.builder.declare_var(kind));
        self.builder.def_var(target_cursor, target);
        self.builder.def_var(action_cursor, action);
        self.cursors = Some(Cursors { context, target: target_cursor, action: action_cursor });
        let full = self.builder.create_block();
        self.builder.set_cold_block(full);
        self.away = Some(full);
        self.ask(self.tables.actions_work);
        PartCall { full, committed: committed.first().copied() }
    }

    /// Ends a function of the signature of parts.
    fn leave_part(&mut self, call: &PartCall) {
        let Cursors { target, action, .. } = self.cursors.expect("set when the part was entered");
        let (target, action) = (self.builder.use_var(target), self.builder.use_var(action));
        self.builder.ins().return_(&[target, action]);
        self.enter(call.full);
        let null = self.integer(0);
        self.builder.ins().return_(&[null, null]);
    }

    /// Calls a function of the signature of parts.
    fn call_part(&mut self, module: &mut JITModule, function: FuncId, call: &PartCall) {
        let function = module.declare_func_in_func(function, self.builder.func);
        let Cursors { context, target, action } =
            self.cursors.expect("parts are called where there are cursors");
        let (Source::Word(source) | Source::Pointer(source)) = self.source;
        let (target_now, action_now) = (self.builder.use_var(target), self.builder.use_var(action));
        let mut arguments = vec![context, source, target_now, action_now];
        if let Some(committed) = call.committed {
            let wide = self.builder.func.dfg.value_type(committed) == types::I64;
            let flag = if wide { committed } else { self.builder.ins().uextend(types::I64, committed) };
            arguments.push(flag);
        }
        let made = self.builder.ins().call(function, &arguments);
        let &[target_then, action_then] = self.builder.inst_results(made) else {
            unreachable!("parts give two results")
        };
        let go_on = self.builder.create_block();
        self.builder.ins().brif(target_then, go_on, &[], call.full, &[]);
        self.enter(go_on);
        self.builder.def_var(target, target_then);
        self.builder.def_var(action, action_then);
    }

    /// Calls the interpreter for actions.
    fn call_interpreter(
        &mut self,
        module: &mut JITModule,
        interpret: FuncId,
        actions: &[u32],
        call: &PartCall,
    ) {
        let list = self.integer(self.tables.interpreted.len() as i64);
        self.tables.interpreted.push(actions.into());
        let interpret = module.declare_func_in_func(interpret, self.builder.func);
        let Cursors { context, target, action } =
            self.cursors.expect("actions are tried where there are cursors");
        let (Source::Word(source) | Source::Pointer(source)) = self.source;
        let (target_now, action_now) = (self.builder.use_var(target), self.builder.use_var(action));
        let made = self.builder.ins().call(interpret, &[context, source, target_now, action_now, list]);
        let made = self.builder.inst_results(made)[0];
        let unfinished = self.builder.ins().icmp_imm_s(IntCC::Equal, made, runtime::UNFINISHED);
        let go_on = self.builder.create_block();
        self.builder.ins().brif(unfinished, call.full, &[], go_on, &[]);
        self.enter(go_on);
        let bytes = self.builder.ins().imul_imm_s(made, 8 * self.layout.words() as i64);
        let target_then = self.builder.ins().iadd(target_now, bytes);
        self.builder.def_var(target, target_then);
        let stride =
            self.builder.ins().load(types::I64, self.regions.constant, context, runtime::ACTION_STRIDE);
        let bytes = self.builder.ins().imul(made, stride);
        let action_then = self.builder.ins().iadd(action_now, bytes);
        self.builder.def_var(action, action_then);
    }

    /// Compiles the loop that labels records.
    fn label_batch(&mut self, records: Value, count: Value, out: Value) {
        let [pointer, place] = [types::I64; 2].map(|kind| self.builder.declare_var(kind));
        let labels = self.builder.declare_var(types::I64);
        self.builder.def_var(pointer, records);
        self.builder.def_var(place, out);
        let bytes = self.builder.ins().ishl_imm_u(count, 3);
        let end = self.builder.ins().iadd(out, bytes);
        let [head, body, done] = [(); 3].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let here = self.builder.use_var(place);
        let is_done = self.builder.ins().icmp(IntCC::Equal, here, end);
        self.builder.ins().brif(is_done, done, &[], body, &[]);
        self.enter(body);
        let record = self.builder.use_var(pointer);
        self.source = match self.words() {
            1 => Source::Word(self.builder.ins().load(types::I64, self.regions.constant, record, 0)),
            _ => Source::Pointer(record),
        };
        let unknown = self.integer(Labels::INTERRUPTED.0 as i64);
        self.builder.def_var(labels, unknown);
        let known = self.builder.create_block();
        self.away = Some(known);
        self.ask(of_labels(self.program));
        let none = self.integer(0);
        self.builder.def_var(labels, none);
        for number in 0..self.program.labels.len() {
            self.one_label(number, labels);
        }
        self.builder.ins().jump(known, &[]);
        self.enter(known);
        let found = self.builder.use_var(labels);
        self.builder.ins().store(self.regions.other, found, here, 0);
        let here = self.builder.ins().iadd_imm_s(here, 8);
        self.builder.def_var(place, here);
        let record = self.builder.ins().iadd_imm_s(record, 8 * self.layout.words() as i64);
        self.builder.def_var(pointer, record);
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);
        self.enter(done);
        self.builder.ins().return_(&[]);
    }

    fn one_label(&mut self, number: usize, labels: Variable) {
        let [next, failing, left] = [(); 3].map(|()| self.builder.create_block());
        self.builder.set_cold_block(failing);
        self.builder.set_cold_block(left);
        self.trap = Trap::Label { block: failing };
        self.away = Some(left);
        let program = self.program;
        let operand = self.value(&program.labels[number].expression);
        let truth = self.truth(operand);
        let bit = self.builder.ins().uextend(types::I64, truth);
        let bit = self.builder.ins().ishl_imm_u(bit, number as i64);
        let before = self.builder.use_var(labels);
        let after = self.builder.ins().bor(before, bit);
        self.builder.def_var(labels, after);
        self.builder.ins().jump(next, &[]);
        self.enter(failing);
        let before = self.builder.use_var(labels);
        let after = self.builder.ins().bor_imm_s(before, Labels::FAULT.0 as i64);
        self.builder.def_var(labels, after);
        self.builder.ins().jump(next, &[]);
        self.enter(left);
        let unknown = self.integer(Labels::INTERRUPTED.0 as i64);
        self.builder.def_var(labels, unknown);
        self.builder.ins().jump(next, &[]);
        self.enter(next);
    }
}
