//! Which values can a variable ever hold?
//!
//! An abstract run of the program: variables hold sets of values instead of values. A process's own variables have a set per location of the process, so what a
//! guard at one location says still counts at the next; all others have one set for the whole run. From the starts on, actions are
//! run on these sets until nothing new appears. A set that keeps growing is widened to the next constant of the program's text, at last to its
//! domain; afterwards a few rounds in which every set is made anew from the others take back what widening gave too much.
//!
//! Actions that share a command and movers are run as one, whose parameters have the arguments of all. Starts are followed with all their loops, so that what
//! they make of arrays is known element by element.
//!
//! Sound: every value that any run stores, even on the way to a fault or to another value in the same step, is in the set of its variable. Temporaries
//! are not followed beyond their scope: theirs are the declared values. Time: the number of commands times the few rounds that sets need to
//! settle. Where that is too much work (loops in hundreds of thousands of starts, sets that grow one constant after the other), nothing is found out, and
//! the declared values are the possible ones.

mod environment;
mod pages;
mod run;
mod set;

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use crate::expression::{Domain, Expression, ExpressionKind};
use crate::layout::Possible;
use crate::program::{Command, Mover, ProcessId, Program, Role, Statement, Variable, VariableId};

use self::environment::{Environment, Slots, nothings, spread};
use self::pages::Pages;
use self::run::Store;
use self::set::ValueSet;

/// For every variable the interval of values it can hold in any run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PossibleValues {
    domains: Vec<Domain>,
    declared: bool,
}

impl PossibleValues {
    /// Finds them.
    pub fn of(program: &Program) -> PossibleValues {
        let slots = Slots::new(program);
        let analysis = Analysis::new(program, &slots);
        let mut facts = analysis.ascend();
        for _ in 0..NARROWING_ROUNDS {
            let narrower = analysis.remade(&facts);
            if slots.is_exhausted() || narrower == facts {
                break;
            }
            facts = narrower;
        }
        if slots.is_exhausted() {
            let domains = program.variables.iter().map(Variable::stored).collect();
            return PossibleValues { domains, declared: true };
        }
        let domain = |(set, variable): (&Rc<ValueSet>, &Variable)| {
            if variable.role == Role::Temporary {
                return variable.stored();
            }
            // A variable of a program without states holds nothing: any value will do.
            let (low, high) = set.bounds().unwrap_or((variable.domain.low, variable.domain.low));
            Domain::new(low, high)
        };
        let domains = facts.overall.iter().zip(&program.variables).map(domain).collect();
        PossibleValues { domains, declared: false }
    }

    /// Whether it was too much work to find them, so that they are the declared ones.
    pub fn are_declared(&self) -> bool {
        self.declared
    }
}

impl Possible for PossibleValues {
    fn values(&self, _program: &Program, variable: VariableId) -> Domain {
        self.domains[variable.index()]
    }
}

/// How often a set may grow before it is widened.
const GROWTHS_MAX: u32 = 6;
/// The most sets that processes have for their own variables at their locations.
const FOLLOWED_MAX: usize = 2_000_000;
/// Rounds that take back what widening gave too much.
const NARROWING_ROUNDS: usize = 4;

/// What is known of the values so far.
#[derive(Clone, Debug)]
struct Facts {
    /// By variable, over the whole run.
    overall: Vec<Rc<ValueSet>>,
    /// The same by element.
    spread: Pages,
    /// By process and location, if it was reached: the sets of the process's own variables there, in the order of [`Analysis::own`].
    at: Vec<Vec<Option<Vec<Rc<ValueSet>>>>>,
}

impl PartialEq for Facts {
    fn eq(&self, other: &Facts) -> bool {
        self.overall == other.overall && self.at == other.at
    }
}

/// Actions that differ in their arguments only.
struct Unit<'a> {
    movers: &'a [Mover],
    command: &'a Command,
    /// By parameter: all arguments.
    arguments: Vec<Rc<ValueSet>>,
}

struct Analysis<'a> {
    program: &'a Program,
    slots: &'a Slots,
    units: Vec<Unit<'a>>,
    /// By process: the variables that have a set per location.
    own: Vec<Vec<VariableId>>,
    /// By variable: the units to run again when its overall set has grown.
    readers: Vec<Vec<u32>>,
    /// By process and location: the units that start there.
    leaving: Vec<Vec<Vec<u32>>>,
    /// Bounds at which widening stops, in order.
    steps: Vec<i64>,
}

/// How often each set has grown.
struct Growth {
    overall: Vec<u32>,
    at: Vec<Vec<Vec<u32>>>,
}

/// What a unit or a start leads to: the sets afterwards, what was stored on the way, and where processes arrived (nowhere if it can only fault).
struct Effect<'a> {
    environment: Environment<'a>,
    stored: Vec<Store>,
    arrived: Vec<(ProcessId, u32)>,
}

impl<'a> Analysis<'a> {
    fn new(program: &'a Program, slots: &'a Slots) -> Analysis<'a> {
        let units = units(program);
        let own = own_variables(program, &units);
        let mut readers = vec![Vec::new(); program.variables.len()];
        let mut leaving: Vec<Vec<Vec<u32>>> =
            program.processes.iter().map(|process| vec![Vec::new(); process.locations.len()]).collect();
        for (number, unit) in (0..).zip(&units) {
            let mut read = Vec::new();
            unit.command.guard.iter().for_each(|guard| reads(guard, &mut read));
            reads_of(&unit.command.body, &mut read);
            read.sort_unstable();
            read.dedup();
            for variable in read {
                // Only a process's own variables are in its list, which is in order.
                let followed = unit
                    .movers
                    .iter()
                    .any(|mover| own[mover.process.index()].binary_search(&variable).is_ok());
                if !followed {
                    readers[variable.index()].push(number);
                }
            }
            for mover in unit.movers {
                leaving[mover.process.index()][mover.from as usize].push(number);
            }
        }
        Analysis { program, slots, own, readers, leaving, steps: steps(program, &units), units }
    }

    /// Runs everything until nothing new appears.
    fn ascend(&self) -> Facts {
        let mut facts = self.nothing();
        let mut growth = self.no_growth();
        let mut queue = Queue::new(self.units.len());
        let initial = Environment::initial(self.program, self.slots);
        for number in 0..self.program.starts.len() {
            if let Some(effect) = self.start(number, &initial) {
                self.absorb(&mut facts, &effect, Some(&mut growth), &mut queue);
            }
        }
        let free = |number: &u32| self.units[*number as usize].movers.is_empty();
        queue.push_all(&(0..self.units.len() as u32).filter(free).collect::<Vec<_>>());
        while let Some(number) = queue.pop() {
            if self.slots.is_exhausted() {
                break;
            }
            if let Some(effect) = self.unit(&facts, &self.units[number as usize]) {
                self.absorb(&mut facts, &effect, Some(&mut growth), &mut queue);
            }
        }
        facts
    }

    /// The facts that follow from the starts and one run of every unit on facts that hold. They hold too.
    fn remade(&self, facts: &Facts) -> Facts {
        let mut remade = self.nothing();
        let mut queue = Queue::new(self.units.len());
        let initial = Environment::initial(self.program, self.slots);
        let starts = (0..self.program.starts.len()).filter_map(|number| self.start(number, &initial));
        let units = self.units.iter().filter_map(|unit| self.unit(facts, unit));
        for effect in starts.chain(units) {
            self.absorb(&mut remade, &effect, None, &mut queue);
        }
        remade
    }

    fn nothing(&self) -> Facts {
        let overall = nothings(self.program.variables.len());
        Facts {
            spread: spread(self.slots, &overall),
            overall,
            at: self.program.processes.iter().map(|process| vec![None; process.locations.len()]).collect(),
        }
    }

    fn no_growth(&self) -> Growth {
        let locations = |(process, own): (&crate::program::Process, &Vec<VariableId>)| {
            vec![vec![0; own.len()]; process.locations.len()]
        };
        Growth {
            overall: vec![0; self.program.variables.len()],
            at: self.program.processes.iter().zip(&self.own).map(locations).collect(),
        }
    }

    fn start(&self, number: usize, initial: &Environment<'a>) -> Option<Effect<'a>> {
        self.slots.spend(1 + self.program.variables.len()).then_some(())?;
        let mut environment = initial.clone();
        environment.unrolls = true;
        let start = &self.program.starts[number];
        for (parameter, argument) in start.command.parameters.iter().zip(&start.arguments) {
            environment.set(*parameter, &Rc::new(ValueSet::one(*argument)));
        }
        let mut stored = Vec::new();
        let runs = environment.run(&start.command.body, &mut stored);
        let mut arrived = Vec::new();
        if runs {
            let variables = (0..self.program.variables.len() as u32).map(VariableId);
            let state = variables.filter(|it| self.program.variable(*it).role != Role::Temporary);
            let held = |variable| Store { variable, values: Rc::new(environment.get(variable)) };
            stored.extend(state.map(held));
            for (number, process) in self.program.processes.iter().enumerate() {
                let (location, _) = environment.get(process.variable).bounds()?;
                arrived.push((ProcessId(number as u32), location as u32));
            }
        }
        Some(Effect { environment, stored, arrived })
    }

    /// What a unit leads to from the facts; none if it cannot be taken.
    fn unit(&self, facts: &Facts, unit: &Unit<'_>) -> Option<Effect<'a>> {
        self.slots.spend(1).then_some(())?;
        let mut environment = Environment::new(self.program, self.slots, &facts.spread);
        for mover in unit.movers {
            let process = mover.process.index();
            let here = facts.at[process][mover.from as usize].as_ref()?;
            for (variable, set) in self.own[process].iter().zip(here) {
                environment.set(*variable, set);
            }
            let location = self.program.process(mover.process).variable;
            environment.set(location, &Rc::new(ValueSet::one(i64::from(mover.from))));
        }
        for (parameter, arguments) in unit.command.parameters.iter().zip(&unit.arguments) {
            environment.set(*parameter, arguments);
        }
        if let Some(guard) = &unit.command.guard {
            environment.assume(guard, true).then_some(())?;
        }
        let mut stored = Vec::new();
        let runs = environment.run_action(&unit.command.body, &mut stored);
        let movers = if runs { unit.movers } else { &[] };
        let arrived = movers.iter().map(|mover| (mover.process, mover.to)).collect();
        Some(Effect { environment, stored, arrived })
    }

    /// Takes an effect into the facts and queues what must be run again.
    fn absorb(
        &self,
        facts: &mut Facts,
        effect: &Effect<'_>,
        mut growth: Option<&mut Growth>,
        queue: &mut Queue,
    ) {
        for &(process, to) in &effect.arrived {
            let counts = growth.as_mut().map(|growth| &mut *growth.at[process.index()][to as usize]);
            self.arrive(facts, process.index(), to as usize, &effect.environment, counts, queue);
        }
        self.slots.spend(effect.stored.len());
        // What a process keeps of its own has arrived with it; only what it held on the way is news here.
        for Store { variable, values } in &effect.stored {
            let count = growth.as_mut().map(|growth| &mut growth.overall[variable.index()]);
            if self.join(&mut facts.overall[variable.index()], values, *variable, count) {
                self.spread(&mut facts.spread, *variable, &facts.overall[variable.index()]);
                queue.push_all(&self.readers[variable.index()]);
            }
        }
    }

    /// A process comes to a location with these sets.
    fn arrive(
        &self,
        facts: &mut Facts,
        process: usize,
        to: usize,
        sets: &Environment<'_>,
        mut counts: Option<&mut [u32]>,
        queue: &mut Queue,
    ) {
        let Facts { overall, spread, at } = facts;
        let mut changed = at[process][to].is_none();
        if changed {
            let location = self.program.processes[process].variable.index();
            Rc::make_mut(&mut overall[location]).join(&ValueSet::one(to as i64));
            self.spread(spread, self.program.processes[process].variable, &overall[location]);
            queue.push_all(&self.readers[location]);
        }
        let here = at[process][to].get_or_insert_with(|| nothings(self.own[process].len()));
        for (slot, variable) in self.own[process].iter().enumerate() {
            let count = counts.as_mut().map(|counts| &mut counts[slot]);
            if self.join(&mut here[slot], &sets.get(*variable), *variable, count) {
                changed = true;
                if grow(&mut overall[variable.index()], &here[slot]) {
                    self.spread(spread, *variable, &overall[variable.index()]);
                    queue.push_all(&self.readers[variable.index()]);
                }
            }
        }
        if changed {
            queue.push_all(&self.leaving[process][to]);
        }
    }

    /// All elements of a variable have this set.
    fn spread(&self, spread: &mut Pages, variable: VariableId, set: &Rc<ValueSet>) {
        // Everything that reads it is queued as well.
        self.slots.spend(1 + self.readers[variable.index()].len() / 8);
        self.slots.of(variable).for_each(|slot| spread.put(slot, Rc::clone(set)));
    }

    /// Joins, and widens a set that has grown too often.
    fn join(
        &self,
        set: &mut Rc<ValueSet>,
        other: &ValueSet,
        variable: VariableId,
        count: Option<&mut u32>,
    ) -> bool {
        if !grow(set, other) {
            return false;
        }
        if let (Some(count), ValueSet::Interval(..)) = (count, &**set) {
            *count += 1;
            if *count > GROWTHS_MAX {
                *set = Rc::new(set.widened(&self.steps, self.program.variable(variable).stored()));
            }
        }
        true
    }
}

/// Joins; true if there was something new. A set that is shared is copied only then.
fn grow(set: &mut Rc<ValueSet>, other: &ValueSet) -> bool {
    if **set == *other {
        return false;
    }
    let mut joined = ValueSet::clone(set);
    let grown = joined.join(other);
    if grown {
        *set = Rc::new(joined);
    }
    grown
}

/// Units to run, each at most once at a time.
struct Queue {
    waiting: VecDeque<u32>,
    queued: Vec<bool>,
}

impl Queue {
    fn new(units: usize) -> Queue {
        Queue { waiting: VecDeque::new(), queued: vec![false; units] }
    }

    fn push_all(&mut self, numbers: &[u32]) {
        for &number in numbers {
            if !std::mem::replace(&mut self.queued[number as usize], true) {
                self.waiting.push_back(number);
            }
        }
    }

    fn pop(&mut self) -> Option<u32> {
        let number = self.waiting.pop_front()?;
        self.queued[number as usize] = false;
        Some(number)
    }
}

/// The actions, those that differ in their arguments only together.
fn units(program: &Program) -> Vec<Unit<'_>> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    let mut known: HashMap<(*const Command, Vec<Mover>), usize> = HashMap::new();
    for action in &program.actions {
        let number =
            *known.entry((Arc::as_ptr(&action.command), action.movers.clone())).or_insert(units.len());
        if number == units.len() {
            let arguments = action.arguments.iter().map(|_| Rc::new(ValueSet::NONE)).collect();
            units.push(Unit { movers: &action.movers, command: &action.command, arguments });
        }
        for (set, argument) in units[number].arguments.iter_mut().zip(&action.arguments) {
            Rc::make_mut(set).join(&ValueSet::one(*argument));
        }
    }
    units
}

/// The variables of each process that only its own moves write: their sets can be followed from location to location.
fn own_variables(program: &Program, units: &[Unit<'_>]) -> Vec<Vec<VariableId>> {
    let mut own: Vec<Vec<VariableId>> = vec![Vec::new(); program.processes.len()];
    for (number, variable) in program.variables.iter().enumerate() {
        if let Role::Local(process) = variable.role {
            own[process.index()].push(VariableId(number as u32));
        }
    }
    let mut foreign: HashSet<VariableId> = HashSet::new();
    for unit in units {
        let mut assigned = Vec::new();
        Statement::for_each(&unit.command.body, &mut |statement| match statement {
            Statement::Assign(assignments) => assigned.extend(assignments.iter().map(|it| it.place.variable)),
            Statement::Copy { to: place, .. } | Statement::Fill { place, .. } => {
                assigned.push(place.variable);
            }
            _ => {}
        });
        for variable in assigned {
            if let Role::Local(owner) = program.variable(variable).role
                && !unit.movers.iter().any(|mover| mover.process == owner)
            {
                foreign.insert(variable);
            }
        }
    }
    let mut sets = 0usize;
    for (own, process) in own.iter_mut().zip(&program.processes) {
        own.retain(|variable| !foreign.contains(variable));
        sets = sets.saturating_add(own.len().saturating_mul(process.locations.len()));
        if sets > FOLLOWED_MAX {
            // They have one set each, for the whole run, like all others.
            own.clear();
        }
    }
    own
}

/// Adds the variables that statements read.
fn reads_of(body: &[Statement], read: &mut Vec<VariableId>) {
    Statement::for_each(body, &mut |statement| {
        if let Statement::Copy { from, .. } = statement {
            read.push(from.variable);
        }
        statement.for_each_expression(&mut |expression| reads(expression, read));
    });
}

/// Adds the variables that an expression reads.
fn reads(expression: &Expression, read: &mut Vec<VariableId>) {
    match &expression.kind {
        ExpressionKind::Read(variable) | ExpressionKind::Element(variable, _) => read.push(*variable),
        ExpressionKind::IsUndefined(place) => read.push(place.variable),
        ExpressionKind::Compute(computation) => {
            reads_of(&computation.body, read);
            return reads(&computation.value, read);
        }
        _ => {}
    }
    expression.for_each_operand(&mut |operand| reads(operand, read));
}

/// The bounds that widening stops at: the constants of the text and their neighbours, lengths of arrays, initial values.
fn steps(program: &Program, units: &[Unit<'_>]) -> Vec<i64> {
    let mut steps: Vec<i64> =
        program.variables.iter().flat_map(|variable| variable.initial.iter().copied()).collect();
    steps.extend(program.variables.iter().map(|variable| i64::from(variable.elements())));
    for unit in units {
        unit.command.guard.iter().for_each(|guard| constants(guard, &mut steps));
        Statement::for_each(&unit.command.body, &mut |statement| {
            statement.for_each_expression(&mut |expression| constants(expression, &mut steps));
        });
    }
    steps = steps.iter().flat_map(|it| [it.saturating_sub(1), *it, it.saturating_add(1)]).collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

fn constants(expression: &Expression, found: &mut Vec<i64>) {
    if let ExpressionKind::Constant(value) = expression.kind {
        found.push(value);
    }
    expression.for_each_operand(&mut |operand| constants(operand, found));
}
