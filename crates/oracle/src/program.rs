//! Which programs are worth trying?
//!
//! Well-formed ones with everything the form allows: processes with locations, some committed; actions of none, one, two or three
//! movers; parallel assignments; arrays with good and bad indices; every operator; both compositions and overflow policies; any number of
//! starts; labels; records of every width worth trying. Most have a state space of tens to thousands of states: few bits are written
//! freely, the rest of the width is filled with variables that take few values.

use std::sync::Arc;

use fathom_model::expression::{Domain, Overflow};
use fathom_model::program::{
    Action, Assignment, Command, Composition, Exchange, Label, LabelKind, Location, Mover, Process,
    ProcessId, Program, PropertyEdge, PropertyProcess, Role, Start, Statement, Variable, VariableId,
};
use fathom_model::span::Span;
use fathom_model::verify::problems;

use crate::bfs::{Limits, explore};
use crate::expressions::domain_of_bits;
use crate::graph::WIDTHS;
use crate::meaning::Meaning;
use crate::random::Random;
use crate::writer::Writer;

/// A random program. `size` from 1 up says how much there is of everything: at 1 a handful of states, at 4 often thousands, beyond that
/// most are too large to explore.
pub fn random_program(random: &mut Random, size: usize) -> Program {
    // Of the narrow widths one in four: there is little to say in a few bits.
    let narrow = WIDTHS.iter().filter(|width| **width < 8).count();
    let least = if random.chance(25) { 0 } else { narrow };
    let width = *random.pick(&WIDTHS[least..]);
    random_program_of_width(random, size, width)
}

/// A random program whose records have that many bits. Most drafts do little: of several the first is taken that has more than a few
/// states, except now and then.
pub fn random_program_of_width(random: &mut Random, size: usize, width_bits: u32) -> Program {
    let drafts = if random.chance(15) { 1 } else { 6 };
    let few = Limits { states: 20, transitions: 2_000 };
    let mut program = draft(random, size, width_bits);
    for _ in 1..drafts {
        if explore(&Meaning::new(program.clone()), few).is_err() {
            break;
        }
        program = draft(random, size, width_bits);
    }
    program
}

fn draft(random: &mut Random, size: usize, width_bits: u32) -> Program {
    let size = size.max(1);
    let synchronous = random.chance(25);
    let mut plan = Plan { bits_left: width_bits, free_bits: 6 + random.below(2 + 2 * size) as u32 };
    let mut program = Program {
        name: "random".into(),
        composition: if synchronous { Composition::Synchronous } else { Composition::Asynchronous },
        overflow: if random.chance(50) { Overflow::Wrap } else { Overflow::Fault },
        ..Program::default()
    };
    random_processes(random, size, &mut plan, &mut program);
    let structured = random.chance(50);
    random_data(random, size, &mut plan, &mut program, structured);
    if structured {
        random_temporaries(random, &mut program);
    }
    random.shuffle(&mut program.variables);
    for (number, variable) in (0..).zip(&program.variables) {
        if let Role::Location(process) = variable.role {
            program.processes[process.index()].variable = VariableId(number);
        }
    }
    let wild_percent = *random.pick(&[0, 3, 3, 10, 30]);
    let writer = Writer::new(random, program.variables.clone(), wild_percent, 1 + size.min(3));
    let mut builder = Builder { writer, program, size, structured };
    builder.choose_writable();
    builder.actions();
    builder.starts();
    builder.labels();
    builder.property();
    let program = builder.program;
    assert_eq!(problems(&program), Vec::<String>::new(), "a random program is well formed:\n{program}");
    program
}

/// How many bits there are to give away.
struct Plan {
    bits_left: u32,
    /// How many of them actions may change at will: what the state space grows by.
    free_bits: u32,
}

impl Plan {
    /// Takes bits for something that changes at will, if there are enough.
    fn take(&mut self, bits: u32) -> bool {
        let enough = bits <= self.bits_left && bits <= self.free_bits;
        if enough {
            self.bits_left -= bits;
            self.free_bits -= bits;
        }
        enough
    }
}

fn random_processes(random: &mut Random, size: usize, plan: &mut Plan, program: &mut Program) {
    let count = match program.composition {
        Composition::Synchronous => 1 + random.below(3),
        // Processes from 64 on are in no set of processes.
        Composition::Asynchronous if random.chance(2) => 66,
        Composition::Asynchronous if random.chance(10) => 0,
        Composition::Asynchronous => 1 + random.below(size.min(3) + 1),
    };
    let committing = random.chance(30);
    for number in 0..count as u32 {
        let wanted = 1 + random.below(4);
        let bits = Domain::new(0, wanted as i64 - 1).bits();
        let spare = plan.free_bits > 3 || plan.free_bits == plan.bits_left;
        let locations = if spare && plan.take(bits) { wanted } else { 1 };
        let process = ProcessId(number);
        let location = |place: usize, committed: bool| Location {
            name: format!("s{place}"),
            committed,
            span: Span::default(),
        };
        program.variables.push(Variable {
            name: format!("P{number}"),
            role: Role::Location(process),
            domain: Domain::new(0, locations as i64 - 1),
            length: None,
            optional: false,
            initial: vec![random.between(0, locations as i64 - 1)],
            span: Span::default(),
        });
        program.processes.push(Process {
            name: format!("P{number}"),
            locations: (0..locations).map(|place| location(place, committing && random.chance(25))).collect(),
            variable: VariableId(0),
            span: Span::default(),
        });
    }
}

fn random_data(random: &mut Random, size: usize, plan: &mut Plan, program: &mut Program, structured: bool) {
    for _ in 0..1 + random.below(4 + size) {
        let element_bits = *random.pick(&[0, 1, 1, 1, 2, 2, 2, 3]);
        let length = if random.chance(30) { Some(1 + random.below(4) as u32) } else { None };
        if plan.take(element_bits * length.unwrap_or(1)) {
            let anywhere = random.chance(15);
            let domain = domain_of_bits(random, element_bits);
            let near = Domain::new(0, domain.span() as i64);
            let domain = if anywhere { domain } else { near };
            let optional = structured && element_bits > 0 && random.chance(40);
            add_variable(random, program, domain, length, optional);
        }
    }
    while plan.bits_left > 0 {
        let bits = (*random.pick(&[1, 5, 8, 16, 31, 32, 33, 48, 63, 64])).min(plan.bits_left);
        let most = plan.bits_left / bits;
        let length =
            if most > 1 && random.chance(50) { Some(1 + random.below(most as usize) as u32) } else { None };
        plan.bits_left -= bits * length.unwrap_or(1);
        let domain = domain_of_bits(random, bits);
        let optional = structured && random.chance(20);
        add_variable(random, program, domain, length, optional);
    }
}

/// Variables that are no part of the state.
fn random_temporaries(random: &mut Random, program: &mut Program) {
    for _ in 0..2 + random.below(7) {
        let bits = *random.pick(&[0, 1, 2, 2, 3, 3, 8, 63, 64]);
        let length = if random.chance(25) { Some(1 + random.below(5) as u32) } else { None };
        let domain = domain_of_bits(random, bits);
        let near = Domain::new(0, domain.span().min(i64::MAX as u64) as i64);
        let domain = if random.chance(30) { domain } else { near };
        let optional = bits > 0 && random.chance(30);
        add_variable(random, program, domain, length, optional);
        program.variables.last_mut().expect("just added").role = Role::Temporary;
    }
}

/// Adds a variable that holds the values of a domain; the least of them stands for undefined if it may be that.
fn add_variable(
    random: &mut Random,
    program: &mut Program,
    stored: Domain,
    length: Option<u32>,
    optional: bool,
) {
    let domain = if optional { Domain::new(stored.low + 1, stored.high) } else { stored };
    let number = program.variables.len();
    let processes = program.processes.len();
    let role = match random.below(5) {
        0 => Role::Buffer,
        1 | 2 if processes > 0 => Role::Local(ProcessId(random.below(processes) as u32)),
        _ => Role::Global,
    };
    let mut initial = || match random.below(4) {
        0 => domain.high,
        1 => random.between(domain.low, domain.high),
        2 => stored.low,
        _ => domain.low,
    };
    program.variables.push(Variable {
        name: format!("v{number}"),
        role,
        domain,
        length,
        optional,
        initial: (0..length.unwrap_or(1)).map(|_| initial()).collect(),
        span: Span::default(),
    });
}

struct Builder<'a> {
    program: Program,
    writer: Writer<'a>,
    size: usize,
    /// Whether there is more than plain assignments.
    structured: bool,
}

impl Builder<'_> {
    /// What is assigned to, as often as it should be: all that is narrow, and a few others.
    fn choose_writable(&mut self) {
        let mut wide = 0;
        let writable = &mut self.writer.surroundings.writable;
        for (number, variable) in (0..).zip(&self.program.variables) {
            let free = u64::from(variable.stored().bits()) * u64::from(variable.elements()) <= 8;
            let location = matches!(variable.role, Role::Location(_) | Role::Temporary);
            wide += usize::from(!free && !location);
            // A variable of one value is worth few assignments.
            let copies = if variable.domain.bits() == 0 { 1 } else { 8 };
            if !location && (free || wide <= 2) {
                writable.extend(vec![VariableId(number); copies]);
            }
        }
    }

    fn actions(&mut self) {
        let synchronous = self.program.composition == Composition::Synchronous;
        let counts: &[usize] = match self.program.processes.len() {
            66.. => &[0, 0, 1],
            _ if synchronous => &[1, 1, 2],
            _ => &[0, 1, 1, 2, 2, 2, 3],
        };
        for process in 0..self.program.processes.len() {
            let locations = self.program.processes[process].locations.len();
            for from in 0..locations {
                for _ in 0..*self.writer.random.pick(counts) {
                    let mover = self.mover(process, from);
                    self.action(&[mover]);
                }
            }
        }
        if !synchronous {
            let rules = if self.program.processes.is_empty() { 4 } else { 0 };
            for _ in 0..rules + self.writer.random.below(2 + self.size) {
                let movers = self.several_movers();
                self.action(&movers);
            }
        }
        // The order of definition is not the order of the processes.
        if self.writer.random.chance(50) {
            let actions = &mut self.program.actions;
            self.writer.random.shuffle(actions);
        }
    }

    fn mover(&mut self, process: usize, from: usize) -> Mover {
        let locations = self.program.processes[process].locations.len();
        let to = match self.writer.random.below(4) {
            0 => self.writer.random.below(locations),
            _ => (from + 1) % locations,
        };
        Mover {
            process: ProcessId(process as u32),
            from: from as u32,
            to: to as u32,
            span: self.writer.span(),
        }
    }

    /// None, two or three different processes, from anywhere to anywhere.
    fn several_movers(&mut self) -> Vec<Mover> {
        let mut processes: Vec<usize> = (0..self.program.processes.len()).collect();
        self.writer.random.shuffle(&mut processes);
        processes.truncate(*self.writer.random.pick(&[0, 2, 2, 2, 3]));
        let mut movers = Vec::new();
        for process in processes {
            let from = self.writer.random.below(self.program.processes[process].locations.len());
            movers.push(self.mover(process, from));
        }
        movers
    }

    fn action(&mut self, movers: &[Mover]) {
        let instances =
            if self.structured && self.writer.random.chance(40) { 1 + self.size.min(3) } else { 1 };
        let parameters = if instances > 1 { self.parameters() } else { Vec::new() };
        self.writer.surroundings.budget = if self.structured { 12 } else { 0 };
        let guard = if self.writer.random.chance(40) { Some(self.writer.condition()) } else { None };
        let owner = movers.first().map(|mover| mover.process);
        let assigns = match self.program.composition {
            Composition::Synchronous => usize::from(self.writer.random.chance(70)),
            Composition::Asynchronous => *self.writer.random.pick(&[0, 1, 1, 1, 2]),
        };
        let mut body: Vec<Statement> = (0..assigns).filter_map(|_| self.assign(owner)).collect();
        if self.structured && self.program.composition == Composition::Asynchronous {
            let depth = self.writer.random.below(4);
            body.extend(self.writer.body(depth));
            self.writer.random.shuffle(&mut body);
        }
        for mover in movers {
            let place = self.writer.random.below(body.len() + 1);
            body.insert(place, Statement::Move { process: mover.process, to: mover.to });
        }
        self.writer.surroundings.scope.clear();
        self.writer.surroundings.budget = 0;
        let exchange = if movers.len() == 2 && self.writer.random.chance(50) {
            Some(Exchange {
                channel: "c".into(),
                sender: Some(movers[0].process),
                receiver: Some(movers[1].process),
                values: vec![self.writer.condition()],
            })
        } else {
            None
        };
        let name = if movers.is_empty() { Some(format!("rule{}", self.program.actions.len())) } else { None };
        let span = self.writer.span();
        let command = Arc::new(Command { parameters, guard, body, chosen: Vec::new() });
        for _ in 0..instances {
            let (name, movers, exchange) = (name.clone(), movers.to_vec(), exchange.clone());
            let arguments = self.arguments(&command.parameters);
            let command = Arc::clone(&command);
            self.program.actions.push(Action {
                name,
                rule: None,
                movers,
                command,
                arguments,
                exchange,
                span,
            });
        }
    }

    /// Brings one or two parameters into scope, if there are any.
    fn parameters(&mut self) -> Vec<VariableId> {
        let count = 1 + self.writer.random.below(2);
        (0..count).filter_map(|_| self.writer.introduce_fixed()).collect()
    }

    fn arguments(&mut self, parameters: &[VariableId]) -> Vec<i64> {
        let random = &mut self.writer.random;
        let domains = parameters.iter().map(|it| self.program.variable(*it).domain);
        domains.map(|Domain { low, high }| random.between(low, high.min(low.saturating_add(3)))).collect()
    }

    /// Parallel assignments, most to data of the action's owner or to global ones; none if nothing can be assigned.
    fn assign(&mut self, owner: Option<ProcessId>) -> Option<Statement> {
        if self.writer.surroundings.writable.is_empty() {
            return None;
        }
        let mut assignments = Vec::new();
        for _ in 0..*self.writer.random.pick(&[1, 1, 1, 2, 3]) {
            let mut variable = *self.writer.random.pick(&self.writer.surroundings.writable);
            let foreign = |variable: VariableId, program: &Program| matches!(program.variable(variable).role, Role::Local(process) if Some(process) != owner);
            if foreign(variable, &self.program) {
                variable = *self.writer.random.pick(&self.writer.surroundings.writable);
            }
            let value = self.writer.value_for(variable);
            let place = self.writer.place(variable);
            assignments.push(Assignment { place, value, span: self.writer.span() });
        }
        Some(Statement::Assign(assignments))
    }

    fn starts(&mut self) {
        let count = match self.writer.random.below(20) {
            0 => 0,
            1..=4 => 2 + self.writer.random.below(5),
            _ => 1,
        };
        let bare = count == 1 && self.writer.random.chance(70);
        for number in 0..count {
            let mut body = Vec::new();
            let parameters = if self.structured { self.parameters() } else { Vec::new() };
            if !bare {
                for _ in 0..self.writer.random.below(3) {
                    body.extend(self.assign(None));
                }
                if self.structured {
                    self.writer.surroundings.budget = 6;
                    body.extend(self.writer.body(2));
                    self.writer.surroundings.budget = 0;
                }
                body.extend(self.start_move());
            }
            self.writer.surroundings.scope.clear();
            let arguments = self.arguments(&parameters);
            let span = self.writer.span();
            let command = Arc::new(Command { parameters, body, ..Command::default() });
            self.program.starts.push(Start {
                name: Some(format!("start{number}")),
                command,
                arguments,
                span,
            });
        }
    }

    fn start_move(&mut self) -> Option<Statement> {
        let processes = self.program.processes.len();
        if processes == 0 || self.writer.random.chance(50) {
            return None;
        }
        let process = self.writer.random.below(processes);
        let to = self.writer.random.below(self.program.processes[process].locations.len());
        Some(Statement::Move { process: ProcessId(process as u32), to: to as u32 })
    }

    fn labels(&mut self) {
        let kinds = [LabelKind::Assertion, LabelKind::Invariant, LabelKind::Goal, LabelKind::Atom];
        self.writer.assumes = false;
        for number in 0..self.writer.random.below(5) {
            let kind = *self.writer.random.pick(&kinds);
            self.writer.surroundings.budget = if self.structured { 6 } else { 0 };
            let expression = self.writer.condition();
            self.writer.surroundings.budget = 0;
            let span = self.writer.span();
            self.program.labels.push(Label { name: format!("label{number}"), kind, expression, span });
        }
    }

    /// Sometimes a Büchi automaton, which takes no part in the steps.
    fn property(&mut self) {
        if !self.writer.random.chance(15) {
            return;
        }
        let count = 1 + self.writer.random.below(3);
        let location =
            |place: usize| Location { name: format!("q{place}"), committed: false, span: Span::default() };
        let mut edges = Vec::new();
        for _ in 0..self.writer.random.below(3 * count) {
            edges.push(PropertyEdge {
                from: self.writer.random.below(count) as u32,
                to: self.writer.random.below(count) as u32,
                guard: if self.writer.random.chance(60) { Some(self.writer.condition()) } else { None },
                span: self.writer.span(),
            });
        }
        self.program.property = Some(PropertyProcess {
            name: "never".into(),
            locations: (0..count).map(location).collect(),
            initial: self.writer.random.below(count) as u32,
            accepting: (0..count).map(|_| self.writer.random.chance(50)).collect(),
            edges,
            span: self.writer.span(),
        });
    }
}
