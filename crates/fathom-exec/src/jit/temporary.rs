//! Where are temporaries kept while a command is being compiled?
//!
//! A parameter of an instance is a constant, a scalar is in a register, an array on the stack, eight bytes to an element. Indices on the stack are checked or
//! clamped like those in records.
//!
//! What a temporary is kept in serves another one when its scope ends. While a function is built there is an entry for every register and block, so that
//! registers which are never given back take memory with the square of the length of a body: 3 GB were seen where 300 MB suffice.

use cranelift_codegen::ir::{InstBuilder, StackSlot, StackSlotData, StackSlotKind, Value, types};
use cranelift_frontend::Variable;
use fathom_model::program::{Role, VariableId};

use super::bindings::Binding;
use super::emitter::Emitter;
use super::interval::Interval;
use super::operand::{Form, Operand};

impl Emitter<'_, '_> {
    /// A register of 64 bits that nothing is kept in.
    pub(super) fn register(&mut self) -> Variable {
        self.unused.registers.pop().unwrap_or_else(|| self.builder.declare_var(types::I64))
    }

    /// Nothing reads the register before it is set again.
    pub(super) fn release_register(&mut self, register: Variable) {
        self.unused.registers.push(register);
    }

    /// Ends the scope of temporaries.
    pub(super) fn release(&mut self, locals: &[VariableId]) {
        for local in locals {
            match self.bindings.remove(local) {
                Some(Binding::Register(register, _)) => self.release_register(register),
                Some(Binding::Stack(slot)) => {
                    let bytes = self.stack_bytes(*local);
                    self.unused.slots.push((bytes, slot));
                }
                Some(Binding::Constant(_)) | None => {}
            }
        }
    }

    fn stack_bytes(&self, variable: VariableId) -> u32 {
        8 * self.program.variable(variable).initial.len() as u32
    }

    fn stack_slot(&mut self, bytes: u32) -> StackSlot {
        match self.unused.slots.iter().rposition(|(other, _)| *other == bytes) {
            Some(place) => self.unused.slots.swap_remove(place).1,
            None => {
                let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3);
                self.builder.create_sized_stack_slot(data)
            }
        }
    }

    pub(super) fn is_temporary(&self, variable: VariableId) -> bool {
        self.program.variable(variable).role == Role::Temporary
    }

    /// Binds a scalar to a value.
    pub(super) fn bind_constant(&mut self, variable: VariableId, value: i64) {
        self.bindings.insert(variable, Binding::Constant(value));
    }

    /// Binds a scalar to a register of values in an interval.
    pub(super) fn bind_register(&mut self, variable: VariableId, interval: Interval) -> Variable {
        let register = self.register();
        self.bindings.insert(variable, Binding::Register(register, interval));
        register
    }

    /// Binds temporaries whose scope begins here and gives them their initial values.
    pub(super) fn introduce(&mut self, locals: &[VariableId]) {
        for &local in locals {
            let program = self.program;
            let variable = program.variable(local);
            if variable.length.is_none() {
                let register = self.bind_register(local, Interval::of(variable.stored()));
                let initial = self.integer(variable.initial[0]);
                self.builder.def_var(register, initial);
                continue;
            }
            let slot = self.stack_slot(self.stack_bytes(local));
            self.bindings.insert(local, Binding::Stack(slot));
            for (element, initial) in (0..).zip(&variable.initial) {
                let initial = self.integer(*initial);
                let address = self.builder.ins().stack_addr(types::I64, slot, 8 * element);
                self.builder.ins().store(self.regions.stack, initial, address, 0);
            }
        }
    }

    /// The interval of a temporary, and its value if that is known when compiling. Out of its scope all that can be stored.
    pub(super) fn temporary_interval(&self, variable: VariableId) -> Interval {
        match self.bindings.get(&variable) {
            Some(Binding::Constant(value)) => Interval::exactly(*value),
            Some(Binding::Register(_, interval)) => *interval,
            Some(Binding::Stack(_)) | None => Interval::of(self.program.variable(variable).stored()),
        }
    }

    /// An element of a temporary as it is, at an index that was checked (or is clamped here).
    pub(super) fn read_temporary(&mut self, variable: VariableId, index: Operand, checked: bool) -> Operand {
        let interval = self.temporary_interval(variable);
        match self.binding(variable) {
            Binding::Constant(value) => Operand::constant(value),
            Binding::Register(register, _) => Operand::wide(self.builder.use_var(register), interval),
            Binding::Stack(slot) => {
                let address = self.stack_address(variable, slot, index, checked);
                let value = self.builder.ins().load(types::I64, self.regions.stack, address, 0);
                Operand::wide(value, interval)
            }
        }
    }

    /// Sets one.
    pub(super) fn write_temporary(
        &mut self,
        variable: VariableId,
        index: Operand,
        checked: bool,
        value: Operand,
    ) {
        let value = self.wide(value);
        match self.binding(variable) {
            Binding::Constant(_) => unreachable!("verified: nothing assigns parameters"),
            Binding::Register(register, _) => self.builder.def_var(register, value),
            Binding::Stack(slot) => {
                let address = self.stack_address(variable, slot, index, checked);
                self.builder.ins().store(self.regions.stack, value, address, 0);
            }
        }
    }

    fn binding(&self, variable: VariableId) -> Binding {
        *self.bindings.get(&variable).expect("verified: temporaries are used in their scope")
    }

    fn stack_address(
        &mut self,
        variable: VariableId,
        slot: StackSlot,
        index: Operand,
        checked: bool,
    ) -> Value {
        if let Form::Constant(index) = index.form {
            return self.builder.ins().stack_addr(types::I64, slot, 8 * index as i32);
        }
        let index = self.wide(index);
        let index = if checked {
            index
        } else {
            let last = self.integer(i64::from(self.program.variable(variable).elements()) - 1);
            self.builder.ins().umin(index, last)
        };
        let offset = self.builder.ins().ishl_imm_u(index, 3);
        let base = self.builder.ins().stack_addr(types::I64, slot, 0);
        self.builder.ins().iadd(base, offset)
    }
}
