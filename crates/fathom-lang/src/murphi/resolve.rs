//! Which names are declared where, and what stands behind each?
//!
//! A name is known from its declaration to the end of its scope: the model, a function, a rule, a quantified expression, an alias. An
//! inner scope may hide names of an outer one. After an error a name still stands for something, so that one mistake is
//! reported once.

use std::collections::HashMap;

use fathom_model::expression::Domain;
use fathom_model::span::Span;

use super::MurphiOptions;
use super::ast::{self, Declaration, Item, Name, TypeKind};
use super::fold::fold;
use super::tree::{FunctionId, GlobalId, LocalId, Tree, Value, Variable};
use super::types::{BOOLEAN, Fields, Form, TypeId, UNKNOWN};
use crate::diagnostic::{Diagnostic, Diagnostics, quoted};
use crate::nearest::nearest;

/// The most values an enumeration, a scalarset or an index type may have, and the most elements of a multiset.
const SIZE_MAX: i64 = 65_536;
/// The most members of a union: a value of one that is stored in another is compared with each.
const UNION_MAX: usize = 128;
/// The most simple values that one variable may hold.
const CELLS_MAX: u64 = 65_536;

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Symbol {
    Constant(TypeId, i64),
    Type(TypeId),
    Global(GlobalId),
    /// A name of a block; whether it can be assigned to.
    Local(LocalId, bool),
    Function(FunctionId),
    /// Its declaration is wrong, which has been reported.
    Wrong,
}

/// What a name belongs to: whether a write through it changes the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The block it is declared in.
    Block,
    /// The caller.
    Caller,
    /// The state.
    State,
}

/// The names of one scope.
pub(crate) type Scope = HashMap<String, (Symbol, Span)>;

/// Everything a model says, and the names of its outermost scope.
pub(crate) fn resolve(
    model: &ast::Model<'_>,
    options: &MurphiOptions,
    diagnostics: &mut Diagnostics,
) -> (Tree, Scope) {
    let mut checker = Checker::new(Tree::default(), Scope::new(), diagnostics);
    // Of several values for one name the last counts.
    let mut given: HashMap<&str, i64> =
        options.constants.iter().map(|(name, value)| (name.as_str(), *value)).collect();
    for item in &model.items {
        match item {
            Item::Declaration(declaration) => checker.global(declaration, &mut given),
            Item::Function(function) => checker.function(function),
            Item::Rule(rule) => {
                let rules = checker.rule(rule);
                checker.tree.rules.extend(rules);
            }
        }
    }
    let mut unknown: Vec<&str> = given.into_keys().collect();
    unknown.sort_unstable();
    checker.unknown_options(&unknown);
    let scope = checker.scopes.swap_remove(0);
    (checker.tree, scope)
}

/// What is known while a model is read.
pub(crate) struct Checker<'a> {
    pub(crate) tree: Tree,
    /// The scopes around the current place, the outermost first.
    pub(crate) scopes: Vec<Scope>,
    /// Of each local, what it belongs to.
    pub(crate) owners: Vec<Owner>,
    pub(crate) diagnostics: &'a mut Diagnostics,
    /// Where the expression that is being read calls something that changes the state, if it does.
    pub(crate) writing_call: Option<Span>,
    /// What the function that is being read does.
    pub(crate) body: Body,
    /// Where values of scalarsets are named, which only expressions from outside can do.
    pub(crate) named_values: Vec<(Span, TypeId)>,
}

/// What the body that is being read belongs to, and what it does.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Body {
    pub(crate) function: Option<FunctionId>,
    /// What `return` gives, if there is a function that gives something.
    pub(crate) result: Option<TypeId>,
    pub(crate) writes_state: bool,
    pub(crate) writes_parameters: bool,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(tree: Tree, scope: Scope, diagnostics: &'a mut Diagnostics) -> Checker<'a> {
        let owners = vec![Owner::Block; tree.locals.len()];
        let (scopes, body) = (vec![scope], Body::default());
        Checker { tree, scopes, owners, diagnostics, writing_call: None, body, named_values: Vec::new() }
    }

    /// Reports an error at a place.
    pub(crate) fn error(&mut self, span: Span, message: impl Into<String>, label: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(message).at(span, label));
    }

    /// Runs a part of the work in a scope of its own.
    pub(crate) fn scoped<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Scope::new());
        let result = part(self);
        self.scopes.pop();
        result
    }

    pub(crate) fn declare(&mut self, name: Name<'_>, symbol: Symbol) {
        let scope = self.scopes.last_mut().expect("there is always a scope");
        let earlier = scope.get(name.text).filter(|(symbol, _)| !matches!(symbol, Symbol::Wrong));
        if let Some(&(_, earlier)) = earlier {
            let diagnostic = Diagnostic::error(format!("the name {} is declared twice", quoted(name.text)));
            let diagnostic = diagnostic.at(name.span, "declared again here");
            self.diagnostics.push(diagnostic.see(earlier, "first declared here"));
            return;
        }
        scope.insert(name.text.to_owned(), (symbol, name.span));
    }

    /// What a name stands for; reports one that is not known.
    pub(crate) fn look_up(&mut self, name: Name<'_>, wanted: &str) -> Symbol {
        let found = self.scopes.iter().rev().find_map(|scope| scope.get(name.text));
        if let Some(&(symbol, _)) = found {
            return symbol;
        }
        let scopes = &self.scopes;
        self.diagnostics.error_with(|| {
            let known = scopes.iter().flatten().filter(|(_, (symbol, _))| !matches!(symbol, Symbol::Wrong));
            let help = nearest(name.text, known.map(|(name, _)| name.as_str()));
            let help = help.map(|near| format!("did you mean {}?", quoted(near)));
            let help = match name.text {
                "bool" | "Bool" => Some("truth values are of type `boolean`".to_owned()),
                "int" | "integer" | "byte" => {
                    Some("numbers have a range, as in `0..255`: states are finite".to_owned())
                }
                _ => help,
            };
            let diagnostic = Diagnostic::error(format!("there is no {wanted} {} here", quoted(name.text)));
            let diagnostic = diagnostic.at(name.span, "").help_if(help);
            match diagnostic.help {
                None => diagnostic.note("a name is known behind its declaration only"),
                Some(_) => diagnostic,
            }
        });
        // One report of an unknown name is enough.
        self.scopes[0].insert(name.text.to_owned(), (Symbol::Wrong, name.span));
        Symbol::Wrong
    }

    pub(crate) fn local(&mut self, name: Name<'_>, type_id: TypeId, writable: bool, owner: Owner) -> LocalId {
        let id = LocalId(self.tree.locals.len() as u32);
        self.tree.locals.push(Variable { name: name.text.to_owned(), type_id, span: name.span });
        self.owners.push(owner);
        self.declare(name, Symbol::Local(id, writable));
        id
    }

    fn global(&mut self, declaration: &Declaration<'_>, given: &mut HashMap<&str, i64>) {
        match declaration {
            Declaration::Variable(names, tree) => {
                let type_id = self.variable_type(tree);
                for name in names {
                    let id = GlobalId(self.tree.globals.len() as u32);
                    self.declare(*name, Symbol::Global(id));
                    let variable = Variable { name: name.text.to_owned(), type_id, span: name.span };
                    self.tree.globals.push(variable);
                }
            }
            Declaration::Constant(names, tree) => {
                let constant = self.constant_symbol(tree);
                for name in names {
                    let symbol = match given.remove(name.text) {
                        Some(value) => self.given_constant(*name, constant, value),
                        None => constant,
                    };
                    self.declare(*name, symbol);
                }
            }
            Declaration::Type(..) => self.constants_and_types(declaration),
        }
    }

    /// The type of a variable, which must not be too large.
    pub(crate) fn variable_type(&mut self, tree: &ast::Type<'_>) -> TypeId {
        let type_id = self.type_id(tree);
        if self.tree.types.depth(type_id) > ast::DEPTH_MAX {
            let message = format!("this type is nested too deeply: more than {} levels", ast::DEPTH_MAX);
            self.error(tree.span, message, "");
            return UNKNOWN;
        }
        let cells = self.tree.types.cells(type_id);
        if cells <= CELLS_MAX {
            return type_id;
        }
        let message = format!("a variable of this type is too large: more than {CELLS_MAX} values");
        self.error(tree.span, message, format!("this has {cells}"));
        UNKNOWN
    }

    /// The declarations of a block; gives its variables.
    pub(crate) fn block_declarations(&mut self, declarations: &[Declaration<'_>]) -> Vec<LocalId> {
        let mut variables = Vec::new();
        for declaration in declarations {
            match declaration {
                Declaration::Variable(names, tree) => {
                    let type_id = self.variable_type(tree);
                    for name in names {
                        variables.push(self.local(*name, type_id, true, Owner::Block));
                    }
                }
                _ => self.constants_and_types(declaration),
            }
        }
        variables
    }

    fn constants_and_types(&mut self, declaration: &Declaration<'_>) {
        match declaration {
            Declaration::Constant(names, tree) => {
                let symbol = self.constant_symbol(tree);
                for name in names {
                    self.declare(*name, symbol);
                }
            }
            Declaration::Type(names, tree) => {
                let type_id = self.type_id(tree);
                for name in names {
                    self.tree.types.name(type_id, name.text);
                    self.declare(*name, Symbol::Type(type_id));
                }
            }
            Declaration::Variable(..) => {}
        }
    }

    fn constant_symbol(&mut self, tree: &ast::Expression<'_>) -> Symbol {
        let value = self.value(tree);
        match self.constant(&value, "a constant") {
            Some(code) => Symbol::Constant(value.type_id, code),
            None => Symbol::Wrong,
        }
    }

    /// A constant whose value is given from outside.
    fn given_constant(&mut self, name: Name<'_>, written: Symbol, given: i64) -> Symbol {
        let Symbol::Constant(type_id, _) = written else { return written };
        let domain = self.tree.types.domain(type_id);
        if domain.is_some_and(|domain| domain.contains(given)) {
            return Symbol::Constant(type_id, given);
        }
        let message = format!("the value {given} given for {} does not fit its type", quoted(name.text));
        let label = format!("this is {}", self.tree.types.describe(type_id));
        self.error(name.span, message, label);
        written
    }

    fn unknown_options(&mut self, given: &[&str]) {
        let scope = &self.scopes[0];
        for name in given {
            self.diagnostics.error_with(|| {
                let constants =
                    scope.iter().filter(|(_, (symbol, _))| matches!(symbol, Symbol::Constant(..)));
                let help = nearest(name, constants.map(|(name, _)| name.as_str()));
                let help = help.map(|near| format!("did you mean {}?", quoted(near)));
                let message = match scope.get(*name) {
                    Some(_) => {
                        format!("{} is not declared `const`: no value can be given for it", quoted(name))
                    }
                    None => {
                        format!("a value is given for {}, but the model has no such constant", quoted(name))
                    }
                };
                Diagnostic::error(message).help_if(help)
            });
        }
    }

    /// The code of a value that must be known; what it is for says the report.
    pub(crate) fn constant(&mut self, value: &Value, what: &str) -> Option<i64> {
        let code = fold(&self.tree.types, value);
        if code.is_none() && !self.tree.types.is_unknown(value.type_id) {
            self.error(value.span, format!("{what} must be known before the run"), "this is not");
        }
        code
    }

    /// A number that must be known.
    fn number(&mut self, tree: &ast::Expression<'_>, what: &str) -> Option<i64> {
        let value = self.value(tree);
        if !self.tree.types.is_number(value.type_id) {
            let label = format!("this is {}", self.tree.types.describe(value.type_id));
            self.error(value.span, format!("{what} must be a number"), label);
            return None;
        }
        self.constant(&value, what)
    }

    /// The type a tree stands for.
    pub(crate) fn type_id(&mut self, tree: &ast::Type<'_>) -> TypeId {
        match &tree.kind {
            TypeKind::Boolean => BOOLEAN,
            TypeKind::Named(name) => self.named_type(*name),
            TypeKind::Range(low, high) => self.range(low, high, tree.span),
            TypeKind::Enum(names) => self.enumeration(names, tree.span),
            TypeKind::Scalarset(size) => match self.size(size, "the size of a scalarset") {
                Some(size) => self.tree.types.add(Form::Scalarset(size)),
                None => UNKNOWN,
            },
            TypeKind::Union(members) => self.union(members),
            TypeKind::Record(fields) => self.record(fields),
            TypeKind::Array(index, element) => {
                let index_type = self.type_id(index);
                let element = self.type_id(element);
                self.check_index(index_type, index.span);
                self.tree.types.add(Form::Array(index_type, element))
            }
            TypeKind::Multiset(size, element) => {
                let size = self.size(size, "the size of a multiset");
                let element = self.type_id(element);
                match size {
                    Some(size) => self.tree.types.add(Form::Multiset(size, element)),
                    None => UNKNOWN,
                }
            }
        }
    }

    fn named_type(&mut self, name: Name<'_>) -> TypeId {
        match self.look_up(name, "type") {
            Symbol::Type(type_id) => type_id,
            Symbol::Wrong => UNKNOWN,
            _ => {
                self.error(name.span, format!("{} is not a type", quoted(name.text)), "");
                UNKNOWN
            }
        }
    }

    fn range(&mut self, low: &ast::Expression<'_>, high: &ast::Expression<'_>, span: Span) -> TypeId {
        let (low, high) = (self.number(low, "the end of a range"), self.number(high, "the end of a range"));
        let (Some(low), Some(high)) = (low, high) else { return UNKNOWN };
        if low > high {
            self.error(span, format!("the range {low}..{high} has no values"), "");
            return UNKNOWN;
        }
        self.tree.types.add(Form::Range(Domain::new(low, high)))
    }

    fn enumeration(&mut self, names: &[Name<'_>], span: Span) -> TypeId {
        if names.is_empty() {
            self.error(span, "an enumeration has at least one value", "");
        }
        let members = names.iter().map(|name| name.text.to_owned()).collect();
        let type_id = self.tree.types.add(Form::Enum(members));
        for (code, name) in names.iter().enumerate() {
            self.declare(*name, Symbol::Constant(type_id, code as i64));
        }
        type_id
    }

    fn size(&mut self, tree: &ast::Expression<'_>, what: &str) -> Option<u32> {
        let size = self.number(tree, what)?;
        if (1..=SIZE_MAX).contains(&size) {
            return Some(size as u32);
        }
        self.error(tree.span, format!("{what} must be from 1 to {SIZE_MAX}"), format!("this is {size}"));
        None
    }

    fn union(&mut self, trees: &[ast::Type<'_>]) -> TypeId {
        let mut members: Vec<TypeId> = Vec::new();
        for tree in trees {
            let type_id = self.type_id(tree);
            match self.tree.types.form(type_id) {
                Form::Union(inner) => members.extend(inner.clone()),
                Form::Enum(_) | Form::Scalarset(_) | Form::Unknown => members.push(type_id),
                _ => {
                    let label = format!("this is {}", self.tree.types.describe(type_id));
                    self.error(tree.span, "a union is of scalarsets and enumerations", label);
                }
            }
        }
        if members.len() > UNION_MAX {
            let span = trees[0].span.to(trees[trees.len() - 1].span);
            let label = format!("this has {}", members.len());
            self.error(span, format!("a union has at most {UNION_MAX} members"), label);
            return UNKNOWN;
        }
        for (position, member) in members.iter().enumerate() {
            if members[..position].contains(member) {
                let name = self.tree.types.describe(*member);
                let span = trees[0].span.to(trees[trees.len() - 1].span);
                self.error(span, "a type is a member of a union once", format!("twice: {name}"));
                break;
            }
        }
        self.tree.types.add(Form::Union(members))
    }

    fn record(&mut self, fields: &[(Vec<Name<'_>>, ast::Type<'_>)]) -> TypeId {
        let mut known: HashMap<&str, Span> = HashMap::new();
        let mut parts = Vec::new();
        for (names, tree) in fields {
            let type_id = self.type_id(tree);
            for name in names {
                if let Some(earlier) = known.insert(name.text, name.span) {
                    let message = format!("the field {} is declared twice", quoted(name.text));
                    let diagnostic = Diagnostic::error(message).at(name.span, "declared again here");
                    self.diagnostics.push(diagnostic.see(earlier, "first declared here"));
                }
                parts.push((name.text.to_owned(), type_id));
            }
        }
        let fields = Fields::new(parts, &self.tree.types);
        self.tree.types.add(Form::Record(fields))
    }

    fn check_index(&mut self, type_id: TypeId, span: Span) {
        if !self.tree.types.is_simple(type_id) {
            let label = format!("this is {}", self.tree.types.describe(type_id));
            self.error(span, "the index of an array must be of a simple type", label);
        } else if self.tree.types.size(type_id) > SIZE_MAX as u64 {
            self.error(span, format!("an array has at most {SIZE_MAX} elements"), "");
        }
    }
}
