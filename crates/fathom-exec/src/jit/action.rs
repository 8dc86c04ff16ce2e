//! What does an action compile to? Its guard, its body, and the step or the fault that comes of it.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types};
use cranelift_frontend::Switch;
use fathom_model::expression::Domain;
use fathom_model::program::{Action, Assignment, Command, VariableId};

use super::condition::Test;
use super::emitter::{Cursors, Emitter, Trap};
use super::operand::{Form, Operand};
use super::runtime;
use super::statement::is_straight;

/// Up to how many ranges of locations are told apart by comparisons: a jump through a table waits for the table, and its target is known late.
const TREE_MAX: usize = 8;

/// Where a value goes.
#[derive(Clone, Copy)]
pub(super) enum Store {
    Place(VariableId, u32),
    Element { variable: VariableId, index: Value, checked: bool },
    Temporary { variable: VariableId, index: Operand, checked: bool },
}

impl Emitter<'_, '_> {
    /// Ends the block: goes to a block of its own for each of the locations, else to `otherwise`. Locations that the layout has no code for are
    /// left out.
    pub(super) fn dispatch(
        &mut self,
        variable: VariableId,
        locations: &[u32],
        otherwise: Block,
    ) -> Vec<(u32, Block)> {
        let domain = self.field(variable).domain;
        let operand = self.read_place(variable, 0);
        let value = self.wide(operand);
        let mut cases = Vec::new();
        for &location in locations.iter().filter(|location| domain.contains(i64::from(**location))) {
            cases.push((location, self.builder.create_block()));
        }
        let ranges = ranges(&cases, otherwise, domain);
        if ranges.len() <= TREE_MAX {
            self.search(value, &ranges);
        } else {
            let mut switch = Switch::new();
            cases.iter().for_each(|(location, block)| switch.set_entry(u128::from(*location), *block));
            let value = self.builder.ins().ireduce(types::I32, value);
            switch.emit(&mut self.builder, value, otherwise);
        }
        cases
    }

    /// Ends the block: goes to the block of the last range that begins at or below the value, halving the ranges.
    fn search(&mut self, value: Value, ranges: &[(i64, Block)]) {
        match ranges {
            [] => unreachable!("there is a range for every value"),
            [(_, block)] => {
                self.builder.ins().jump(*block, &[]);
            }
            _ => {
                let (lower, upper) = ranges.split_at(ranges.len() / 2);
                let is_lower = self.builder.ins().icmp_imm_s(IntCC::SignedLessThan, value, upper[0].0);
                let half = |emitter: &mut Self, ranges: &[(i64, Block)]| match ranges {
                    [(_, block)] => *block,
                    _ => emitter.builder.create_block(),
                };
                let (below, above) = (half(self, lower), half(self, upper));
                self.builder.ins().brif(is_lower, below, &[], above, &[]);
                for (block, ranges) in [(below, lower), (above, upper)] {
                    if ranges.len() > 1 {
                        self.enter(block);
                        self.search(value, ranges);
                    }
                }
            }
        }
    }

    /// Compiles one action, whose owner is where it has to be and of whose tests these are left.
    pub(super) fn action(&mut self, number: u32, tests: &[Test<'_>], full: Block) {
        let program = self.program;
        let action = &program.actions[number as usize];
        self.bind(action);
        let number = self.builder.ins().iconst(types::I32, i64::from(number));
        self.command(&action.command, number, tests, full);
    }

    /// Compiles a command whose parameters are bound, for the action of that number, of whose tests these are left.
    pub(super) fn command(&mut self, command: &Command, number: Value, tests: &[Test<'_>], full: Block) {
        let facts = self.fact_count();
        let next = self.builder.create_block();
        let failing = self.builder.create_block();
        self.builder.set_cold_block(failing);
        let site = self.builder.append_block_param(failing, types::I32);
        self.trap = Trap::Action { block: failing };
        self.discard = Some(next);
        self.view.reset();
        self.require(tests, next);
        if !is_straight(command) {
            self.keep_in_memory(&command.body);
        }
        self.statements(&command.body);
        self.step(number, full);
        self.builder.ins().jump(next, &[]);
        self.enter(failing);
        self.fault(site, number, next, full);
        self.enter(next);
        self.view.reset();
        self.forget_to(facts);
    }

    /// Binds the parameters of an action's command to its arguments.
    pub(super) fn bind(&mut self, action: &Action) {
        for (parameter, argument) in action.command.parameters.iter().zip(&action.arguments) {
            self.bind_constant(*parameter, *argument);
        }
    }

    /// Evaluates all assignments in the state as it is, then stores them in order.
    pub(super) fn assign(&mut self, assignments: &[Assignment]) {
        for Assignment { place, value, .. } in assignments {
            self.settle(value);
            place.index.iter().for_each(|index| self.settle(index));
        }
        let stores: Vec<(Store, Operand)> =
            assignments.iter().map(|assignment| self.evaluate(assignment)).collect();
        for (store, value) in stores {
            self.make_store(store, value);
        }
    }

    pub(super) fn make_store(&mut self, store: Store, value: Operand) {
        match store {
            Store::Place(variable, element) => self.write_place(variable, element, value),
            Store::Element { variable, index, checked } => {
                self.write_element(variable, index, checked, value);
            }
            Store::Temporary { variable, index, checked } => {
                self.write_temporary(variable, index, checked, value);
            }
        }
    }

    /// How an element is stored to at an index that was checked or not.
    pub(super) fn store_to(&mut self, variable: VariableId, index: Operand, checked: bool) -> Store {
        match index.form {
            _ if self.is_temporary(variable) => Store::Temporary { variable, index, checked },
            Form::Constant(element) => Store::Place(variable, element as u32),
            _ => Store::Element { variable, index: self.wide(index), checked },
        }
    }

    fn evaluate(&mut self, assignment: &Assignment) -> (Store, Operand) {
        let Assignment { place, value, span } = assignment;
        let variable = place.variable;
        let (index, checked) = match &place.index {
            None => (Operand::constant(0), true),
            Some(index) => {
                let index = self.value(index);
                self.index(variable, index, place.span)
            }
        };
        let store = self.store_to(variable, index, checked);
        let value = self.value(value);
        let value = self.convert(self.program.variable(variable).domain, value, *span);
        (store, value)
    }

    /// Makes the step that the body leads to.
    fn step(&mut self, number: Value, full: Block) {
        let Cursors { context, target, action } =
            self.cursors.expect("steps are made where there are cursors");
        let (constant, other) = (self.regions.constant, self.regions.other);
        let room = self.builder.create_block();
        let place = self.builder.use_var(target);
        let end = self.builder.ins().load(types::I64, constant, context, runtime::TARGETS_END);
        let is_full = self.builder.ins().icmp(IntCC::Equal, place, end);
        self.builder.ins().brif(is_full, full, &[], room, &[]);
        self.enter(room);
        self.store_target(place);
        let next = self.builder.ins().iadd_imm_s(place, 8 * self.layout.words() as i64);
        self.builder.def_var(target, next);
        let place = self.builder.use_var(action);
        self.builder.ins().store(other, number, place, 0);
        let stride = self.builder.ins().load(types::I64, constant, context, runtime::ACTION_STRIDE);
        let next = self.builder.ins().iadd(place, stride);
        self.builder.def_var(action, next);
    }

    /// Reports a fault by its site and the number of its action, and goes on.
    fn fault(&mut self, site: Value, number: Value, next: Block, full: Block) {
        let Cursors { context, .. } = self.cursors.expect("faults are reported where there are cursors");
        // Nothing here is worth a register of the code around it: no load may leave this block.
        let other = self.regions.other;
        let room = self.builder.create_block();
        self.builder.set_cold_block(room);
        let count = self.builder.ins().load(types::I64, other, context, runtime::FAULT_COUNT);
        let capacity = self.builder.ins().load(types::I64, other, context, runtime::FAULT_CAPACITY);
        let is_full = self.builder.ins().icmp(IntCC::Equal, count, capacity);
        self.builder.ins().brif(is_full, full, &[], room, &[]);
        self.enter(room);
        let first = self.builder.ins().load(types::I64, other, context, runtime::FAULTS);
        let offset = self.builder.ins().imul_imm_s(count, runtime::FAULT_BYTES);
        let place = self.builder.ins().iadd(first, offset);
        self.builder.ins().store(other, number, place, runtime::FAULT_ACTION);
        self.builder.ins().store(other, site, place, runtime::FAULT_SITE);
        let count = self.builder.ins().iadd_imm_s(count, 1);
        self.builder.ins().store(other, count, context, runtime::FAULT_COUNT);
        self.builder.ins().jump(next, &[]);
    }
}

/// Where values of the domain go, by the least value of each range of them: to their case, or elsewhere.
fn ranges(cases: &[(u32, Block)], otherwise: Block, domain: Domain) -> Vec<(i64, Block)> {
    let mut ranges: Vec<(i64, Block)> = Vec::new();
    let mut next = domain.low;
    for (location, block) in cases {
        let location = i64::from(*location);
        if location > next {
            ranges.push((next, otherwise));
        }
        ranges.push((location, *block));
        next = location + 1;
    }
    if next <= domain.high {
        ranges.push((next, otherwise));
    }
    ranges
}
