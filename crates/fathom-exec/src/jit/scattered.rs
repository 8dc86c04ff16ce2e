//! Where is an element of an array that lies in several words?
//!
//! The index is computed, so the word is: it is addressed in memory. An element may straddle two words; whether any does is known when
//! compiling.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use fathom_model::layout::Field;

use super::emitter::Emitter;
use super::words::ones;

impl Emitter<'_, '_> {
    /// The shift and the byte offsets of the word that holds an element's low end and of the word above it. The index is clamped if
    /// nothing checked it, so both offsets lie in the record whatever it is.
    fn locate(&mut self, field: &Field, index: Value, checked: bool) -> (Value, Value, Value) {
        let index = if checked {
            index
        } else {
            let last = self.integer(i64::from(field.elements) - 1);
            self.builder.ins().umin(index, last)
        };
        let top = i64::from(self.words() as u32) - 1;
        let down = self.times(index, field.element_bits);
        let low = self.integer(i64::from(field.low));
        let low = self.builder.ins().isub(low, down);
        let number = self.builder.ins().ushr_imm_u(low, 6);
        let top_value = self.integer(top);
        let word = self.builder.ins().isub(top_value, number);
        let lower = self.builder.ins().ishl_imm_u(word, 3);
        let above = self.builder.ins().iadd_imm_s(number, 1);
        let above = self.builder.ins().umin(above, top_value);
        let word = self.builder.ins().isub(top_value, above);
        let upper = self.builder.ins().ishl_imm_u(word, 3);
        (low, lower, upper)
    }

    /// Reads an element of an array of several words that lie one after the other at `base`.
    pub(super) fn read_scattered(
        &mut self,
        field: &Field,
        base: Value,
        flags: MemFlagsData,
        index: Value,
        checked: bool,
    ) -> Value {
        let (shift, lower, upper) = self.locate(field, index, checked);
        let address = self.builder.ins().iadd(base, lower);
        let low = self.builder.ins().load(types::I64, flags, address, 0);
        let low = self.builder.ins().ushr(low, shift);
        if !straddles(field) {
            return low;
        }
        let address = self.builder.ins().iadd(base, upper);
        let high = self.builder.ins().load(types::I64, flags, address, 0);
        let high = self.builder.ins().ishl_imm_u(high, 1);
        let back = self.builder.ins().bnot(shift);
        let high = self.builder.ins().ishl(high, back);
        self.builder.ins().bor(low, high)
    }

    /// Writes one.
    pub(super) fn write_scattered(
        &mut self,
        field: &Field,
        base: Value,
        index: Value,
        checked: bool,
        code: Value,
    ) {
        let (shift, lower, upper) = self.locate(field, index, checked);
        let flags = self.regions.target;
        let address = self.builder.ins().iadd(base, lower);
        let old = self.builder.ins().load(types::I64, flags, address, 0);
        let new = self.replace_bits(old, code, ones(field.element_bits), shift);
        self.builder.ins().store(flags, new, address, 0);
        if !straddles(field) {
            return;
        }
        // The part above is empty for elements that do not straddle: then the word is stored as it was.
        let address = self.builder.ins().iadd(base, upper);
        let old = self.builder.ins().load(types::I64, flags, address, 0);
        let back = self.builder.ins().bnot(shift);
        let hole = self.integer((ones(field.element_bits) >> 1) as i64);
        let hole = self.builder.ins().ushr(hole, back);
        let kept = self.builder.ins().band_not(old, hole);
        let part = self.builder.ins().ushr_imm_u(code, 1);
        let part = self.builder.ins().ushr(part, back);
        let new = self.builder.ins().bor(kept, part);
        self.builder.ins().store(flags, new, address, 0);
    }
}

fn straddles(field: &Field) -> bool {
    (0..field.elements).any(|element| field.element_low(element) % 64 + field.element_bits > 64)
}
