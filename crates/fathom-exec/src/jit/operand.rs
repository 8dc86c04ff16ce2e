//! How is a value held while code is made of it?

use cranelift_codegen::ir::Value;

use super::interval::Interval;

/// A value of 64 bits on its way, and the interval it lies in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub(super) form: Form,
    pub(super) interval: Interval,
}

/// How a value is held.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// Known when compiling.
    Constant(i64),
    /// In 64 bits.
    Wide(Value),
    /// 0 or 1, in 8 bits, as comparisons give it.
    Truth(Value),
}

impl Operand {
    pub(super) fn constant(value: i64) -> Operand {
        Operand { form: Form::Constant(value), interval: Interval::exactly(value) }
    }

    pub(super) fn wide(value: Value, interval: Interval) -> Operand {
        match interval.constant() {
            Some(constant) => Operand::constant(constant),
            None => Operand { form: Form::Wide(value), interval },
        }
    }

    pub(super) fn truth(value: Value) -> Operand {
        Operand { form: Form::Truth(value), interval: Interval::TRUTH }
    }
}
