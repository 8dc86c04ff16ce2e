//! What does every piece of compiled code share? The function being built, where the source's words are, what is known of its
//! values, and where a fault goes.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    AliasRegion, AliasRegionData, Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use fathom_model::expression::{Expression, ExpressionKind, FaultKind, Overflow};
use fathom_model::layout::{Field, Layout};
use fathom_model::program::{Program, VariableId};
use fathom_model::span::Span;

use crate::interpreter::Trouble;

use super::interval::Interval;
use super::tables::Tables;
use super::temporary::{Binding, Unused};
use super::view::View;

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

/// Where the words of the source are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// The only word, in a register.
    Word(Value),
    /// In memory.
    Pointer(Value),
}

/// Where a fault goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Trap {
    /// To a block that takes the number of the site.
    Action { block: Block },
    /// To a block that takes nothing: labels do not tell which fault.
    Label { block: Block },
}

/// Memory that is read and written, by who else may write it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Regions {
    /// Sources and the constants of the context: never written while compiled code runs.
    pub(super) constant: MemFlagsData,
    /// Targets.
    pub(super) target: MemFlagsData,
    /// Everything else: ends, faults, actions, counters.
    pub(super) other: MemFlagsData,
    /// Arrays of temporaries.
    pub(super) stack: MemFlagsData,
}

/// An element of a variable of the source lies in an interval, on the path that is being compiled.
#[derive(Clone, Copy, Debug)]
struct Fact {
    variable: VariableId,
    element: u32,
    interval: Interval,
}

/// A function under construction.
pub(super) struct Emitter<'a, 'f> {
    pub(super) program: &'a Program,
    pub(super) layout: &'a Layout,
    pub(super) builder: FunctionBuilder<'f>,
    pub(super) regions: Regions,
    pub(super) tables: &'a mut Tables,
    /// The helper that wraps a value around a domain whose size is no power of two.
    pub(super) wrap: FuncRef,
    pub(super) source: Source,
    pub(super) trap: Trap,
    /// What the body being compiled has changed.
    pub(super) view: View,
    /// Where a body may keep words that it addresses by a computed index: the next target, or a spare record if there is no room for one.
    pub(super) cursors: Option<Cursors>,
    /// What stands for the temporaries in scope.
    pub(super) bindings: HashMap<VariableId, Binding>,
    /// What temporaries may be kept in that come next.
    pub(super) unused: Unused,
    /// Where the blocks around the statement being compiled end, the innermost last.
    pub(super) exits: Vec<Block>,
    /// Where an action goes on that is assumed away.
    pub(super) discard: Option<Block>,
    /// Where code goes that is asked to stop.
    pub(super) away: Option<Block>,
    /// On the way to a trap: the trap, a block that leads there, and how often that was used.
    relay: Option<(Block, Block, usize)>,
    facts: Vec<Fact>,
}

/// How many ways lead into a block on the way to a trap.
const RELAY_USES_MAX: usize = 48;

/// What moves as steps are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursors {
    pub(super) context: Value,
    /// Where the next target goes.
    pub(super) target: Variable,
    /// Where the next action goes.
    pub(super) action: Variable,
}

impl Regions {
    /// The regions of a function, which are known to be disjoint.
    pub(super) fn new(builder: &mut FunctionBuilder<'_>) -> Regions {
        let mut region = |user_id, name: &'static str| {
            let data = AliasRegionData { user_id, description: name.into() };
            let region: AliasRegion = builder.func.dfg.alias_regions.insert(data);
            MemFlagsData::trusted().with_alias_region(Some(region))
        };
        Regions {
            constant: region(0, "constant").with_readonly().with_can_move(),
            target: region(1, "target"),
            other: region(2, "other"),
            stack: region(3, "stack"),
        }
    }
}

impl<'a, 'f> Emitter<'a, 'f> {
    pub(super) fn new(
        program: &'a Program,
        layout: &'a Layout,
        mut builder: FunctionBuilder<'f>,
        tables: &'a mut Tables,
        wrap: FuncRef,
        source: Source,
    ) -> Emitter<'a, 'f> {
        let regions = Regions::new(&mut builder);
        // Replaced before anything that can fault is compiled.
        let trap = Trap::Label { block: Block::from_u32(0) };
        let view = View::new(layout.words());
        Emitter {
            program,
            layout,
            builder,
            regions,
            tables,
            wrap,
            source,
            trap,
            view,
            cursors: None,
            bindings: HashMap::new(),
            unused: Unused::default(),
            exits: Vec::new(),
            discard: None,
            away: None,
            relay: None,
            facts: Vec::new(),
        }
    }

    pub(super) fn words(&self) -> usize {
        self.layout.words()
    }

    /// Whether the function has more instructions than it may: nothing needs to be added, since it will not be compiled.
    pub(super) fn is_full(&self) -> bool {
        self.builder.func.dfg.num_insts() > self.tables.instructions_max
    }

    pub(super) fn field(&self, variable: VariableId) -> Field {
        self.layout.fields[variable.index()]
    }

    pub(super) fn integer(&mut self, value: i64) -> Value {
        self.builder.ins().iconst(types::I64, value)
    }

    /// A block that is reached from what has been compiled so far and from nowhere else.
    pub(super) fn enter(&mut self, block: Block) {
        self.builder.seal_block(block);
        self.builder.switch_to_block(block);
    }

    /// The value in 64 bits.
    pub(super) fn wide(&mut self, operand: Operand) -> Value {
        match operand.form {
            Form::Constant(value) => self.integer(value),
            Form::Wide(value) => value,
            Form::Truth(value) => self.builder.ins().uextend(types::I64, value),
        }
    }

    /// Whether the value is not zero, in 8 bits.
    pub(super) fn truth(&mut self, operand: Operand) -> Value {
        match operand.form {
            Form::Constant(value) => self.builder.ins().iconst(types::I8, i64::from(value != 0)),
            Form::Wide(value) => self.builder.ins().icmp_imm_s(IntCC::NotEqual, value, 0),
            Form::Truth(value) => value,
        }
    }

    /// Goes on if the 8-bit condition holds; else the action (or label) faults.
    pub(super) fn fault_unless(&mut self, condition: Value, kind: FaultKind, span: Span) {
        let (good, bad) = (self.builder.create_block(), self.builder.create_block());
        self.builder.set_cold_block(bad);
        self.builder.ins().brif(condition, good, &[], bad, &[]);
        self.enter(bad);
        match self.trap {
            Trap::Action { block } => {
                let site = self.tables.sites.len() as i64;
                self.tables.sites.push(Trouble { kind, span });
                let site = self.builder.ins().iconst(types::I32, site);
                self.jump_by_relay(block, Some(site));
            }
            Trap::Label { block } => self.jump_by_relay(block, None),
        }
        self.enter(good);
    }

    /// Ends the block: goes to a block that very many go to, by way of others that only so many go to. The code generator's time grows with
    /// the square of the number of ways into one block.
    fn jump_by_relay(&mut self, to: Block, site: Option<Value>) {
        let arguments =
            |site: Option<Value>| -> Vec<BlockArg> { site.map(BlockArg::from).into_iter().collect() };
        let relay = match self.relay {
            Some((goal, relay, uses)) if goal == to && uses < RELAY_USES_MAX => {
                self.relay = Some((goal, relay, uses + 1));
                self.builder.ins().jump(relay, &arguments(site));
                return;
            }
            _ => self.builder.create_block(),
        };
        self.builder.set_cold_block(relay);
        self.builder.ins().jump(relay, &arguments(site));
        self.builder.switch_to_block(relay);
        let site = site.map(|_| self.builder.append_block_param(relay, types::I32));
        self.builder.ins().jump(to, &arguments(site));
        self.relay = Some((to, relay, 1));
    }

    /// A word of the source.
    pub(super) fn source_word(&mut self, word: usize) -> Value {
        match self.source {
            Source::Word(value) => value,
            Source::Pointer(pointer) => {
                self.builder.ins().load(types::I64, self.regions.constant, pointer, 8 * word as i32)
            }
        }
    }

    /// The interval of an element of the source, as far as is known on this path.
    pub(super) fn source_interval(&self, variable: VariableId, element: u32) -> Interval {
        let known = |fact: &&Fact| fact.variable == variable && fact.element == element;
        match self.facts.iter().rev().find(known) {
            Some(fact) => fact.interval,
            None => Interval::of(self.field(variable).domain),
        }
    }

    /// How many facts are known now; see [`Emitter::forget_to`].
    pub(super) fn fact_count(&self) -> usize {
        self.facts.len()
    }

    /// Forgets the facts that were learnt since there were so many.
    pub(super) fn forget_to(&mut self, count: usize) {
        self.facts.truncate(count);
    }

    /// From here on the element of the source lies in the interval.
    pub(super) fn assume(&mut self, variable: VariableId, element: u32, interval: Interval) {
        self.facts.push(Fact { variable, element, interval });
    }

    /// The scalar or element that an expression reads, if that is known when compiling and not out of bounds.
    pub(super) fn place_of(&self, expression: &Expression) -> Option<(VariableId, u32)> {
        match &expression.kind {
            ExpressionKind::Read(variable) if !self.is_temporary(*variable) => Some((*variable, 0)),
            ExpressionKind::Element(variable, index) if !self.is_temporary(*variable) => {
                let index = u32::try_from(self.known_value(index)?).ok()?;
                (index < self.field(*variable).elements).then_some((*variable, index))
            }
            _ => None,
        }
    }

    /// The value of an expression that is a constant or a temporary with one value, perhaps plus, minus or times another one, checked or not.
    pub(super) fn known_value(&self, index: &Expression) -> Option<i64> {
        match &index.kind {
            ExpressionKind::Constant(value) => Some(*value),
            ExpressionKind::Read(variable) if self.is_temporary(*variable) => self
                .temporary_interval(*variable)
                .constant()
                .filter(|_| !self.program.variable(*variable).optional),
            ExpressionKind::Checked(domain, _, operand) => {
                self.known_value(operand).filter(|value| domain.contains(*value))
            }
            ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (self.known_value(left)?, self.known_value(right)?);
                operator.apply(Overflow::Fault, left, right).ok()
            }
            _ => None,
        }
    }
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
