//! What are the words of the record that a body leads to, while it is being compiled?
//!
//! Writes to places known when compiling are gathered per word and made at once: `((old & !clear) | set) ^ constant ^ flip`. A word
//! that no write touches is never loaded for its own sake, only copied when the step is made. Elements addressed by a computed
//! index are shifted in and out of one word where the array lies in one; else the words of the array go to memory (where the target is going to be)
//! and are changed there.
//!
//! Invariants: a word is brought up to date only between expressions, never inside a branch of one, so that its value dominates
//! every later use; every address is formed from an index that was checked or clamped.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use fathom_model::expression::{Expression, ExpressionKind};
use fathom_model::layout::Field;
use fathom_model::program::{Statement, VariableId};

use super::emitter::{Cursors, Emitter, Source};
use super::interval::Interval;
use super::operand::{Form, Operand};
use super::runtime;
use super::words::{Base, Bits, UNCHANGED, Word, ones, words_of};

/// Whether the machine moves two words at once on every processor of its kind.
const PAIRS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

impl Emitter<'_, '_> {
    /// Brings the words that an expression reads by their changed contents up to date, so that reading them changes nothing.
    pub(super) fn settle(&mut self, expression: &Expression) {
        let element = match &expression.kind {
            // At a place known when compiling it is what was last written, or as in the source, unless a write went to a computed index.
            ExpressionKind::Element(variable, _)
                if !self.view.scattered.contains(variable) && self.place_of(expression).is_some() =>
            {
                None
            }
            ExpressionKind::Element(variable, _) => Some(*variable),
            ExpressionKind::IsUndefined(place) if place.index.is_some() => Some(place.variable),
            _ => None,
        };
        if let Some(variable) = element.filter(|it| self.view.touches(*it) && !self.view.is_kept(*it)) {
            let field = self.field(variable);
            if field.element_bits > 0 {
                self.settle_field(&field);
            }
        }
        let mut inner: Vec<&Expression> = Vec::new();
        match &expression.kind {
            ExpressionKind::Constant(_) | ExpressionKind::Read(_) => {}
            ExpressionKind::Element(_, operand)
            | ExpressionKind::Unary(_, operand)
            | ExpressionKind::Convert(_, operand)
            | ExpressionKind::Checked(_, _, operand) => inner.push(operand),
            ExpressionKind::IsUndefined(place) => inner.extend(&place.index),
            // Bodies with computations keep their record in memory, where there is nothing to settle.
            ExpressionKind::Compute(_) => {}
            ExpressionKind::Binary(_, left, right) => inner.extend([&**left, &**right]),
            ExpressionKind::All(operands) | ExpressionKind::Any(operands) => inner.extend(operands),
            ExpressionKind::Conditional(operands) => inner.extend(operands.iter()),
        }
        inner.into_iter().for_each(|operand| self.settle(operand));
    }

    fn settle_field(&mut self, field: &Field) {
        let (first, last) = words_of(field, self.words());
        for word in first..=last {
            if first == last {
                self.current_word(word);
            } else {
                self.spill_word(word);
            }
        }
    }

    /// Reads a place known when compiling, with the changes made so far.
    pub(super) fn read_place(&mut self, variable: VariableId, element: u32) -> Operand {
        if let Some(operand) = self.view.written(variable, element) {
            return operand;
        }
        let field = self.field(variable);
        let changed = self.view.scattered.contains(&variable) || self.view.is_kept(variable);
        let interval =
            if changed { Interval::of(field.domain) } else { self.source_interval(variable, element) };
        if let Some(constant) = interval.constant() {
            return Operand::constant(constant);
        }
        let code = self.read_code(&field, element, changed);
        self.value_of_code(&field, code, interval)
    }

    /// Reads an element at a computed index that was checked (or is clamped here), with the changes made so far.
    pub(super) fn read_element(&mut self, variable: VariableId, index: Value, checked: bool) -> Operand {
        let field = self.field(variable);
        let interval = Interval::of(field.domain);
        if let Some(constant) = interval.constant() {
            return Operand::constant(constant);
        }
        let changed = self.view.touches(variable);
        let (first, last) = words_of(&field, self.words());
        let code = if first == last {
            let word = if changed { self.settled_word(first) } else { self.source_word(first) };
            let shift = self.element_shift(&field, index);
            self.builder.ins().ushr(word, shift)
        } else {
            let base = if changed { self.view.place } else { None };
            let base = base.unwrap_or_else(|| self.source_pointer());
            let flags = if changed { self.regions.target } else { self.loads_behind_a_check() };
            self.read_scattered(&field, base, flags, index, checked)
        };
        let code = self.builder.ins().band_imm_s(code, ones(field.element_bits) as i64);
        self.value_of_code(&field, code, interval)
    }

    /// Writes a place known when compiling. The value lies in the declared domain.
    pub(super) fn write_place(&mut self, variable: VariableId, element: u32, value: Operand) {
        let field = self.field(variable);
        let old = if self.view.touches(variable) {
            None
        } else {
            self.source_interval(variable, element).constant()
        };
        let kept = self.view.is_kept(variable);
        if !kept {
            self.view.known.push((variable, element, value));
        }
        if field.element_bits == 0 {
            return;
        }
        match (value.form, old) {
            (Form::Constant(value), Some(old)) => {
                let flip = (value.wrapping_sub(field.domain.low) ^ old.wrapping_sub(field.domain.low)) as u64;
                self.each_part(&field, element, |word, _, down, up| {
                    word.flip ^= (flip & ones(field.element_bits)) >> down << up;
                });
            }
            (Form::Constant(value), None) => {
                let code = value.wrapping_sub(field.domain.low) as u64 & ones(field.element_bits);
                self.make_room(&field, element);
                self.each_part(&field, element, |word, _, down, up| word.constant |= code >> down << up);
            }
            _ => self.write_computed(&field, element, value),
        }
        if kept {
            self.spill_pending();
        }
    }

    /// From here on the record under change is in memory, where control may split and join. The statements are all there will be.
    pub(super) fn keep_in_memory(&mut self, body: &[Statement]) {
        let place = self.place();
        self.store_target(place);
        self.view.words.fill(Word { base: Base::Memory, ..UNCHANGED });
        let mut kept = Vec::new();
        Statement::for_each(body, &mut |statement| match statement {
            Statement::Move { process, .. } => kept.push(self.program.process(*process).variable),
            Statement::Assign(assignments) => kept.extend(assignments.iter().map(|it| it.place.variable)),
            Statement::Copy { to: place, .. } | Statement::Fill { place, .. } => kept.push(place.variable),
            _ => {}
        });
        kept.sort_unstable();
        kept.dedup();
        self.view.kept = kept;
    }

    /// Makes the changes that wait, in memory.
    fn spill_pending(&mut self) {
        for word in 0..self.words() {
            if self.view.words[word].base != Base::Memory || self.view.words[word].is_pending() {
                self.spill_word(word);
            }
        }
    }

    /// Writes an element at a computed index that was checked (or is clamped here).
    pub(super) fn write_element(
        &mut self,
        variable: VariableId,
        index: Value,
        checked: bool,
        value: Operand,
    ) {
        let field = self.field(variable);
        let kept = self.view.is_kept(variable);
        if !kept {
            self.view.known.retain(|known| known.0 != variable);
            self.view.scattered.push(variable);
        }
        if field.element_bits == 0 {
            return;
        }
        let code = self.code_of(&field, value);
        let (first, last) = words_of(&field, self.words());
        if first == last {
            let old = self.current_word(first);
            let shift = self.element_shift(&field, index);
            let new = self.replace_bits(old, code, ones(field.element_bits), shift);
            self.view.words[first] = Word { base: Base::Register(new), ..UNCHANGED };
            if kept {
                self.spill_word(first);
            }
        } else {
            (first..=last).for_each(|word| self.spill_word(word));
            let place = self.place();
            self.write_scattered(&field, place, index, checked, code);
        }
    }

    /// Stores the words of the record where the target goes.
    pub(super) fn store_target(&mut self, target: Value) {
        let words = self.words();
        let mut word = 0;
        while word < words {
            let plain = |at: usize| {
                self.view.words.get(at).is_some_and(|it| it.base == Base::Source && !it.is_pending())
            };
            if let (Source::Pointer(source), true, true) =
                (self.source, PAIRS && plain(word), plain(word + 1))
            {
                // Two words that did not change, in one move.
                let (from, to) = (unaligned(self.regions.constant), unaligned(self.regions.target));
                let pair = self.builder.ins().load(types::I64X2, from, source, 8 * word as i32);
                self.builder.ins().store(to, pair, target, 8 * word as i32);
                word += 2;
                continue;
            }
            let it = self.view.words[word];
            if it.base != Base::Memory || it.is_pending() {
                let value = self.current_word(word);
                self.builder.ins().store(self.regions.target, value, target, 8 * word as i32);
            }
            word += 1;
        }
    }

    /// The word with all changes, which are made now.
    fn current_word(&mut self, word: usize) -> Value {
        let Word { base, clear, set, constant, flip } = self.view.words[word];
        let mut value = match base {
            Base::Source => self.source_word(word),
            Base::Register(value) => value,
            Base::Memory => {
                let place = self.place();
                self.builder.ins().load(types::I64, self.regions.target, place, 8 * word as i32)
            }
        };
        if clear != 0 {
            value = self.builder.ins().band_imm_s(value, !clear as i64);
        }
        if let Some(set) = set {
            value = self.builder.ins().bor(value, set);
        }
        // Constants go where bits were cleared and nothing else is set, so setting them is flipping them.
        if constant ^ flip != 0 {
            value = self.builder.ins().bxor_imm_s(value, (constant ^ flip) as i64);
        }
        if clear != 0 || flip != 0 {
            self.view.words[word] = Word { base: Base::Register(value), ..UNCHANGED };
        }
        value
    }

    /// The word with all changes, which were made before.
    fn settled_word(&mut self, word: usize) -> Value {
        assert!(!self.view.words[word].is_pending(), "the statement settled what it reads");
        self.current_word(word)
    }

    /// Puts a word where the target is going to be.
    fn spill_word(&mut self, word: usize) {
        let it = self.view.words[word];
        if it.base != Base::Memory || it.is_pending() {
            let value = self.current_word(word);
            let place = self.place();
            self.builder.ins().store(self.regions.target, value, place, 8 * word as i32);
            self.view.words[word] = Word { base: Base::Memory, ..UNCHANGED };
        }
    }

    /// Where the target is going to be; if there is no room for it, a spare record. Asked for between expressions, so it dominates.
    fn place(&mut self) -> Value {
        if let Some(place) = self.view.place {
            return place;
        }
        let Cursors { context, target, .. } = self.cursors.expect("only bodies of actions write");
        let target = self.builder.use_var(target);
        let constant = self.regions.constant;
        let end = self.builder.ins().load(types::I64, constant, context, runtime::TARGETS_END);
        let spare = self.builder.ins().load(types::I64, constant, context, runtime::SPARE);
        let full = self.builder.ins().icmp(IntCC::Equal, target, end);
        let place = self.builder.ins().select(full, spare, target);
        self.view.place = Some(place);
        place
    }

    fn source_pointer(&mut self) -> Value {
        match self.source {
            Source::Pointer(pointer) => pointer,
            Source::Word(_) => unreachable!("a field of several words is in a record of several words"),
        }
    }

    /// Source loads whose address is only right behind a check: they must not move before it.
    pub(super) fn loads_behind_a_check(&self) -> MemFlagsData {
        MemFlagsData::trusted().with_alias_region(self.regions.constant.alias_region()).with_readonly()
    }

    /// The bits of an element, not shifted to their place by more than the word they are in.
    fn read_code(&mut self, field: &Field, element: u32, changed: bool) -> Value {
        let words = self.words();
        let word_at = |emitter: &mut Self, word: usize| {
            if changed { emitter.settled_word(word) } else { emitter.source_word(word) }
        };
        if let Some(bits) = Bits::of(field, element, words) {
            let word = word_at(self, bits.word);
            let shifted = if bits.shift == 0 {
                word
            } else {
                self.builder.ins().ushr_imm_u(word, i64::from(bits.shift))
            };
            let top = bits.shift + bits.width == 64;
            return if top {
                shifted
            } else {
                self.builder.ins().band_imm_s(shifted, ones(bits.width) as i64)
            };
        }
        let low = field.element_low(element);
        let (shift, word) = (low % 64, words - 1 - (low / 64) as usize);
        let (lower, upper) = (word_at(self, word), word_at(self, word - 1));
        let lower = self.builder.ins().ushr_imm_u(lower, i64::from(shift));
        let upper = self.builder.ins().ishl_imm_u(upper, i64::from(64 - shift));
        let both = self.builder.ins().bor(lower, upper);
        self.builder.ins().band_imm_s(both, ones(field.element_bits) as i64)
    }

    fn value_of_code(&mut self, field: &Field, code: Value, interval: Interval) -> Operand {
        let low = field.domain.low;
        let value = if low == 0 { code } else { self.builder.ins().iadd_imm_s(code, low) };
        Operand::wide(value, interval)
    }

    /// The code of a value, in the bits that an element has. An interval is a promise of the layout, not of the machine: what is not
    /// possible by it loses bits, and never reaches its neighbours.
    fn code_of(&mut self, field: &Field, value: Operand) -> Value {
        let wide = self.wide(value);
        let low = field.domain.low;
        if matches!(value.form, Form::Truth(_)) && low == 0 {
            return wide;
        }
        let code = if low == 0 { wide } else { self.builder.ins().iadd_imm_s(wide, low.wrapping_neg()) };
        self.builder.ins().band_imm_s(code, ones(field.element_bits) as i64)
    }

    fn write_computed(&mut self, field: &Field, element: u32, value: Operand) {
        self.make_room(field, element);
        let code = self.code_of(field, value);
        let low = field.element_low(element);
        let (shift, word) = (low % 64, self.words() - 1 - (low / 64) as usize);
        let lower = self.builder.ins().ishl_imm_u(code, i64::from(shift));
        self.add_to_word(word, lower);
        if shift + field.element_bits > 64 {
            let moved = 64 - shift;
            let upper = self.builder.ins().ushr_imm_u(code, i64::from(moved));
            self.add_to_word(word - 1, upper);
        }
    }

    fn add_to_word(&mut self, word: usize, value: Value) {
        let sum = match self.view.words[word].set {
            Some(set) => self.builder.ins().bor(set, value),
            None => value,
        };
        self.view.words[word].set = Some(sum);
    }

    /// Sees that the bits of an element are zero until something is put there.
    fn make_room(&mut self, field: &Field, element: u32) {
        let low = field.element_low(element);
        let (shift, word) = (low % 64, self.words() - 1 - (low / 64) as usize);
        let mask = ones(field.element_bits);
        self.take_back(word, mask << shift);
        if shift + field.element_bits > 64 {
            self.take_back(word - 1, mask >> (64 - shift));
        }
        self.each_part(field, element, |word, mask, _, _| {
            word.clear |= mask;
            word.constant &= !mask;
            word.flip &= !mask;
        });
    }

    /// A computed code that waits for some of these bits cannot be taken back, only made and then overwritten.
    fn take_back(&mut self, word: usize, mask: u64) {
        let it = self.view.words[word];
        if it.set.is_some() && it.clear & mask != 0 {
            self.current_word(word);
        }
    }

    /// Calls `change` for the one or two words of an element with the mask of its bits there, and by how much its code goes down and then up.
    fn each_part(&mut self, field: &Field, element: u32, change: impl Fn(&mut Word, u64, u32, u32)) {
        let low = field.element_low(element);
        let (shift, word) = (low % 64, self.words() - 1 - (low / 64) as usize);
        let mask = ones(field.element_bits);
        change(&mut self.view.words[word], mask << shift, 0, shift);
        if shift + field.element_bits > 64 {
            change(&mut self.view.words[word - 1], mask >> (64 - shift), 64 - shift, 0);
        }
    }

    /// How far an element lies above the low end of the word that its array is in; wrapped around by the shift that takes it.
    fn element_shift(&mut self, field: &Field, index: Value) -> Value {
        let down = self.times(index, field.element_bits);
        let top = self.integer(i64::from(field.low % 64));
        self.builder.ins().isub(top, down)
    }

    pub(super) fn times(&mut self, value: Value, factor: u32) -> Value {
        if factor.is_power_of_two() {
            self.builder.ins().ishl_imm_u(value, i64::from(factor.trailing_zeros()))
        } else {
            self.builder.ins().imul_imm_s(value, i64::from(factor))
        }
    }

    pub(super) fn replace_bits(&mut self, old: Value, code: Value, mask: u64, shift: Value) -> Value {
        let mask = self.integer(mask as i64);
        let hole = self.builder.ins().ishl(mask, shift);
        let kept = self.builder.ins().band_not(old, hole);
        let placed = self.builder.ins().ishl(code, shift);
        self.builder.ins().bor(kept, placed)
    }
}

fn unaligned(flags: MemFlagsData) -> MemFlagsData {
    let mut plain = MemFlagsData::new().with_notrap().with_alias_region(flags.alias_region());
    if flags.readonly() {
        plain.set_readonly();
    }
    plain
}
