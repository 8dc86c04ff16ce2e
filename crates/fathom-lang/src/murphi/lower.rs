//! Which guarded commands does a model stand for?
//!
//! Every rule becomes one command whose parameters are the names of the rulesets around it, and one action for each of their values.
//! Calls are written out where they stand, each with temporaries of its own; a call that is nested too deeply in itself becomes a fault. Invariants
//! in rulesets become one label each; an assumption is made at the end of every command. The size of the program is bounded.

use std::collections::{HashMap, HashSet};

use fathom_model::expression::{Domain, Expression};
use fathom_model::program::{Program, Role, Statement, Variable, VariableId};
use fathom_model::span::Span;
use fathom_model::symmetry::Symmetry;

use super::MurphiOptions;
use super::collect_symmetry::Collector;
use super::covering::Covering;
use super::layout::{self, Part, Region};
use super::tree::{FunctionId, LocalId, Tree, Value};
use super::types::TypeId;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// The most nodes of expressions and statements a program may have.
const NODES_MAX: usize = 2_000_000;
/// The most elements of temporaries a program may have, each temporary counted as [`TEMPORARY_COST`] more.
const TEMPORARIES_MAX: usize = 32_000_000;
/// What a temporary costs beside its elements.
const TEMPORARY_COST: usize = 16;
/// The most bytes that the names of all instances of rules may have.
const TITLE_BYTES_MAX: usize = 256 << 20;
/// The most bytes that the names of all elements of the state may have.
const NAME_BYTES_MAX: u64 = 64 << 20;
/// How deep statements and expressions of a program may lie inside one another: what walks programs calls itself once or twice for each
/// level, also on the small stacks of threads.
const DEPTH_MAX: u32 = 1_000;
/// The widest record of a model, in bits: 8 KiB for one state is far beyond what can be explored.
const RECORD_BITS_MAX: u64 = 65_536;
/// Numbers that are computed but not stored in the state.
pub(crate) const WIDE: Domain = Domain { low: -(1 << 62), high: 1 << 62 };

/// A program and what is known of its state.
pub(crate) struct Lowered {
    pub(crate) program: Program,
    pub(crate) symmetry: Symmetry,
    /// The variables that hold the model's own.
    pub(crate) state: Vec<Region>,
    /// Of each variable of the state, its name in the model and how it is reached.
    pub(crate) names: Vec<StateName>,
}

/// What a variable of the state is in the model.
#[derive(Clone, Debug)]
pub(crate) struct StateName {
    pub(crate) variable: String,
    pub(crate) path: Vec<Part>,
    pub(crate) value: TypeId,
    pub(crate) present: bool,
}

/// The program of a model.
pub(crate) fn lower(tree: &Tree, options: &MurphiOptions, diagnostics: &mut Diagnostics) -> Lowered {
    let mut lowerer = Lowerer::new(tree, options);
    let mut collector = Collector::default();
    let names = lowerer.globals(&mut collector, diagnostics);
    collector.tell_apart(&tree.told_apart);
    if diagnostics.error_count() == 0 {
        lowerer.rules(diagnostics);
    }
    if lowerer.too_deep {
        let message =
            format!("rules are nested too deeply: more than {DEPTH_MAX} levels when calls are written out");
        let diagnostic = Diagnostic::error(message);
        diagnostics.push(diagnostic.help("reduce nested calls: let functions call one another less deeply"));
    } else if lowerer.is_exhausted() {
        diagnostics.push(lowerer.too_large());
    }
    Lowered { program: lowerer.program, symmetry: collector.symmetry, state: lowerer.state, names }
}

/// A condition over the state as an expression that needs no temporaries; none if it needs some.
pub(crate) fn lower_condition(
    tree: &Tree,
    symmetry: bool,
    state: &[Region],
    variables: &[Variable],
    condition: &Value,
) -> Option<Expression> {
    let mut lowerer = Lowerer::new(tree, &MurphiOptions { symmetry, ..MurphiOptions::default() });
    lowerer.state = state.to_vec();
    lowerer.program.variables = variables.to_vec();
    let expression = lowerer.apart(condition);
    (lowerer.program.variables.len() == variables.len() && !lowerer.is_exhausted()).then_some(expression)
}

/// What a local name stands for.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Constant(i64),
    Region(Region),
}

/// Where `return` goes, and where it leaves what is returned.
#[derive(Clone, Debug)]
pub(crate) struct Exit {
    /// How many blocks are open inside the block that is left, and that block.
    pub(crate) level: u32,
    pub(crate) result: Option<Region>,
}

/// A program that is being made.
pub(crate) struct Lowerer<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) program: Program,
    pub(crate) state: Vec<Region>,
    pub(crate) bindings: Vec<Option<Binding>>,
    /// The temporaries of the scopes that are open, the innermost last.
    scopes: Vec<Vec<VariableId>>,
    /// How many blocks are open in the current command or computation.
    pub(crate) blocks: u32,
    pub(crate) exit: Option<Exit>,
    /// The calls that are being written out.
    pub(crate) calls: Vec<FunctionId>,
    /// Temporaries that nothing assigns while a name for them lives.
    pub(crate) fixed: HashSet<VariableId>,
    pub(crate) loop_bound: u32,
    pub(crate) count_bound: u32,
    /// Whether states that are alike are to be one.
    pub(crate) symmetric: bool,
    /// How many computations are open, one inside the other.
    pub(crate) computations: u32,
    /// The `cover` statement that is looked for, if a rule is run on a copy of the state.
    pub(crate) covering: Option<Covering>,
    /// What every state must satisfy to be looked at.
    pub(crate) assumptions: Vec<Expression>,
    nodes: usize,
    /// How many bytes the names of instances of rules have.
    pub(crate) title_bytes: usize,
    /// What the temporaries so far cost.
    temporaries: usize,
    /// How deep the part that is being made lies inside others.
    depth: u32,
    /// Whether something was nested too deeply.
    too_deep: bool,
    /// The numbers of rules, by name.
    pub(crate) rule_numbers: HashMap<String, u32>,
}

impl<'t> Lowerer<'t> {
    fn new(tree: &'t Tree, options: &MurphiOptions) -> Lowerer<'t> {
        Lowerer {
            tree,
            program: Program::default(),
            state: Vec::new(),
            bindings: vec![None; tree.locals.len()],
            scopes: Vec::new(),
            blocks: 0,
            exit: None,
            calls: Vec::new(),
            fixed: HashSet::new(),
            loop_bound: options.loop_bound,
            count_bound: options.count_bound,
            symmetric: options.symmetry,
            computations: 0,
            covering: None,
            assumptions: Vec::new(),
            nodes: 0,
            title_bytes: 0,
            temporaries: 0,
            depth: 0,
            too_deep: false,
            rule_numbers: HashMap::new(),
        }
    }

    /// Counts a part of the program; says whether there is room for it.
    pub(crate) fn spend(&mut self) -> bool {
        self.nodes += 1;
        !self.is_exhausted()
    }

    /// What is said when there is too much.
    fn too_large(&self) -> Diagnostic {
        let (what, help) = if self.nodes > NODES_MAX {
            let what = format!("its rules have more than {NODES_MAX} parts when calls are written out");
            (what, "reduce nested calls, recursion, or loops over large types")
        } else if self.temporaries > TEMPORARIES_MAX {
            let what = format!(
                "the local variables of its rules have more than {TEMPORARIES_MAX} elements together"
            );
            (what, "reduce local variables of large types")
        } else {
            let mebibytes = TITLE_BYTES_MAX >> 20;
            let what =
                format!("the names of all instances of its rules have more than {mebibytes} MiB together");
            (what, "shorten the names of rules")
        };
        Diagnostic::error(format!("the model is too large: {what}")).help(help)
    }

    /// Whether nothing more is made: there is too much, or it is nested too deeply.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.nodes > NODES_MAX
            || self.too_deep
            || self.temporaries > TEMPORARIES_MAX
            || self.title_bytes > TITLE_BYTES_MAX
    }

    /// Counts so many parts of the program; says whether there is room for them.
    pub(crate) fn spend_many(&mut self, parts: usize) -> bool {
        self.nodes = self.nodes.saturating_add(parts);
        !self.is_exhausted()
    }

    /// Whether there is room for so many levels more.
    pub(crate) fn deepen(&mut self, levels: usize) -> bool {
        self.too_deep |= levels.saturating_add(self.depth as usize) > DEPTH_MAX as usize;
        !self.too_deep
    }

    /// Makes a part one level deeper; nothing, once that is too deep.
    pub(crate) fn deeper<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.too_deep |= self.depth >= DEPTH_MAX;
        if self.too_deep {
            return None;
        }
        self.depth += 1;
        let made = part(self);
        self.depth -= 1;
        Some(made)
    }

    fn globals(&mut self, collector: &mut Collector, diagnostics: &mut Diagnostics) -> Vec<StateName> {
        let types = &self.tree.types;
        let mut names = Vec::new();
        let (mut bits, mut name_bytes) = (0u64, 0u64);
        for global in &self.tree.globals {
            let leaves = layout::leaves(types, global.type_id);
            collector.add(types, &leaves);
            let mut ids = Vec::new();
            for leaf in leaves {
                let variable = layout::variable(types, &global.name, &leaf, Role::Global, global.span);
                let elements = u64::from(variable.elements());
                bits += elements * u64::from(variable.stored().bits());
                name_bytes += elements * variable.name.len() as u64;
                ids.push(VariableId(self.program.variables.len() as u32));
                self.program.variables.push(variable);
                let (variable, path) = (global.name.clone(), leaf.path);
                names.push(StateName { variable, path, value: leaf.value, present: leaf.present });
            }
            self.state.push(Region { leaves: ids.into(), index: None, type_id: global.type_id });
            if name_bytes > NAME_BYTES_MAX {
                let message = "the names of the elements of the state are too long together";
                let label = format!(
                    "with this they have {} MiB, and {} are held",
                    name_bytes >> 20,
                    NAME_BYTES_MAX >> 20
                );
                diagnostics.push(
                    Diagnostic::error(message)
                        .at(global.span, label)
                        .help("shorten the names of variables and fields"),
                );
                break;
            }
            if bits > RECORD_BITS_MAX {
                let message = format!("the state is too large: more than {RECORD_BITS_MAX} bits");
                let label = format!("with this there are {bits}");
                diagnostics.push(Diagnostic::error(message).at(global.span, label));
                break;
            }
        }
        names
    }

    /// A new temporary of the innermost scope.
    pub(crate) fn temporary(&mut self, name: &str, type_id: TypeId, span: Span) -> Region {
        let leaves = layout::leaves(&self.tree.types, type_id);
        let mut ids = Vec::new();
        for leaf in leaves {
            let mut variable = layout::variable(&self.tree.types, name, &leaf, Role::Temporary, span);
            if variable.domain.low == i64::MIN {
                variable.domain = WIDE;
                variable.initial = vec![WIDE.low - 1];
            }
            ids.push(self.introduce(variable));
        }
        Region { leaves: ids.into(), index: None, type_id }
    }

    /// A new temporary that always has a value.
    pub(crate) fn number(&mut self, name: &str, domain: Domain, span: Span) -> VariableId {
        let id = self.unscoped_number(name, domain, span);
        self.scope(id);
        id
    }

    /// A temporary that is introduced as a counter or a parameter.
    pub(crate) fn unscoped_number(&mut self, name: &str, domain: Domain, span: Span) -> VariableId {
        let initial = vec![domain.low];
        let name = name.to_owned();
        let variable =
            Variable { name, role: Role::Temporary, domain, length: None, optional: false, initial, span };
        self.program.variables.push(variable);
        VariableId(self.program.variables.len() as u32 - 1)
    }

    fn introduce(&mut self, variable: Variable) -> VariableId {
        self.temporaries += TEMPORARY_COST + variable.initial.len();
        self.program.variables.push(variable);
        let id = VariableId(self.program.variables.len() as u32 - 1);
        self.scope(id);
        id
    }

    fn scope(&mut self, id: VariableId) {
        self.scopes.last_mut().expect("temporaries are made inside commands and computations").push(id);
    }

    /// Runs a part of the work in a scope of its own; gives its temporaries too.
    pub(crate) fn scoped<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> (T, Vec<VariableId>) {
        self.scopes.push(Vec::new());
        let result = part(self);
        (result, self.scopes.pop().expect("scopes are closed in order"))
    }

    /// An expression that may need statements: then it becomes a computation.
    pub(crate) fn computation(
        &mut self,
        span: Span,
        part: impl FnOnce(&mut Self, &mut Vec<Statement>) -> Expression,
    ) -> Expression {
        let (blocks, exit) = (std::mem::take(&mut self.blocks), self.exit.take());
        self.computations += 1;
        let mut body = Vec::new();
        let (value, locals) = self.scoped(|lowerer| part(lowerer, &mut body));
        self.computations -= 1;
        self.blocks = blocks;
        self.exit = exit;
        if body.is_empty() && locals.is_empty() {
            value
        } else {
            Expression::compute(locals, body, value, span)
        }
    }

    /// Statements in a block of their own, which `return` may leave.
    pub(crate) fn block(
        &mut self,
        result: Option<Region>,
        part: impl FnOnce(&mut Self, &mut Vec<Statement>),
    ) -> Statement {
        self.blocks += 1;
        let outer = self.exit.replace(Exit { level: self.blocks, result });
        let mut body = Vec::new();
        let ((), locals) = self.scoped(|lowerer| part(lowerer, &mut body));
        self.exit = outer;
        self.blocks -= 1;
        Statement::Block { locals, body }
    }

    /// What names stand for now.
    pub(crate) fn held(&self, locals: impl Iterator<Item = LocalId>) -> Vec<(LocalId, Option<Binding>)> {
        locals.map(|local| (local, self.bindings[local.index()].clone())).collect()
    }

    /// Lets names stand for what they stood for.
    pub(crate) fn hold(&mut self, held: Vec<(LocalId, Option<Binding>)>) {
        for (local, binding) in held {
            self.bindings[local.index()] = binding;
        }
    }

    /// Binds a name while a part of the work is done.
    pub(crate) fn with<T>(
        &mut self,
        local: LocalId,
        binding: Binding,
        part: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = self.bindings[local.index()].replace(binding);
        let result = part(self);
        self.bindings[local.index()] = outer;
        result
    }
}
