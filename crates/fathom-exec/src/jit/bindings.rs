//! What can a temporary be kept in?

use cranelift_codegen::ir::StackSlot;
use cranelift_frontend::Variable;

use super::interval::Interval;

/// What stands for a temporary.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binding {
    /// Always the same value.
    Constant(i64),
    /// A register, whose values lie in an interval.
    Register(Variable, Interval),
    /// Room on the stack.
    Stack(StackSlot),
}

/// Registers and room on the stack that no temporary in scope is kept in.
#[derive(Debug, Default)]
pub(super) struct Unused {
    pub(super) registers: Vec<Variable>,
    /// With their bytes.
    pub(super) slots: Vec<(u32, StackSlot)>,
}
