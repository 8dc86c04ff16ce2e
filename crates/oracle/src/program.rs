//! Which programs are worth trying?
//!
//! Well-formed ones with everything the form allows: processes with locations, some committed; actions of none, one, two or three
//! movers; parallel assignments; arrays with good and bad indices; every operator; both compositions and overflow policies; any number of
//! starts; labels; records of every width worth trying. Most have a state space of tens to thousands of states: few bits are written
//! freely, the rest of the width is filled with variables that take few values.

use fathom_model::expression::{Domain, Overflow};
use fathom_model::program::{
    Action, Assignment, Command, Composition, Exchange, Label, LabelKind, Location, Mover, Process,
    ProcessId, Program, PropertyEdge, PropertyProcess, Role, Start, Statement, Variable, VariableId,
};
use fathom_model::span::Span;
use fathom_model::verify::problems;

use crate::bfs::{Limits, explore};
use crate::expressions::{Writer, domain_of_bits};
use crate::graph::WIDTHS;
use crate::meaning::Meaning;
use crate::random::Random;

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
    random_data(random, size, &mut plan, &mut program);
    random.shuffle(&mut program.variables);
    for (number, variable) in (0..).zip(&program.variables) {
        if let Role::Location(process) = variable.role {
            program.processes[process.index()].variable = VariableId(number);
        }
    }
    let wild_percent = *random.pick(&[0, 3, 3, 10, 30]);
    let writer = Writer::new(random, program.variables.clone(), wild_percent, 1 + size.min(3));
    let mut builder = Builder { writable: Vec::new(), writer, program, size };
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

fn random_data(random: &mut Random, size: usize, plan: &mut Plan, program: &mut Program) {
    for _ in 0..1 + random.below(4 + size) {
        let element_bits = *random.pick(&[0, 1, 1, 1, 2, 2, 2, 3]);
        let length = if random.chance(30) { Some(1 + random.below(4) as u32) } else { None };
        if plan.take(element_bits * length.unwrap_or(1)) {
            let anywhere = random.chance(15);
            let domain = domain_of_bits(random, element_bits);
            let near = Domain::new(0, domain.span() as i64);
            add_variable(random, program, if anywhere { domain } else { near }, length);
        }
    }
    while plan.bits_left > 0 {
        let bits = (*random.pick(&[1, 5, 8, 16, 31, 32, 33, 48, 63, 64])).min(plan.bits_left);
        let most = plan.bits_left / bits;
        let length =
            if most > 1 && random.chance(50) { Some(1 + random.below(most as usize) as u32) } else { None };
        plan.bits_left -= bits * length.unwrap_or(1);
        let domain = domain_of_bits(random, bits);
        add_variable(random, program, domain, length);
    }
}

fn add_variable(random: &mut Random, program: &mut Program, domain: Domain, length: Option<u32>) {
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
        _ => domain.low,
    };
    program.variables.push(Variable {
        name: format!("v{number}"),
        role,
        domain,
        length,
        optional: false,
        initial: (0..length.unwrap_or(1)).map(|_| initial()).collect(),
        span: Span::default(),
    });
}

struct Builder<'a> {
    program: Program,
    writer: Writer<'a>,
    /// What is assigned to, as often as it should be: all that is narrow, and a few others.
    writable: Vec<VariableId>,
    size: usize,
}

impl Builder<'_> {
    fn choose_writable(&mut self) {
        let mut wide = 0;
        for (number, variable) in (0..).zip(&self.program.variables) {
            let free = u64::from(variable.domain.bits()) * u64::from(variable.elements()) <= 8;
            let location = matches!(variable.role, Role::Location(_));
            wide += usize::from(!free);
            // A variable of one value is worth few assignments.
            let copies = if variable.domain.bits() == 0 { 1 } else { 8 };
            if !location && (free || wide <= 2) {
                self.writable.extend(vec![VariableId(number); copies]);
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
                    self.action(vec![mover]);
                }
            }
        }
        if !synchronous {
            let rules = if self.program.processes.is_empty() { 4 } else { 0 };
            for _ in 0..rules + self.writer.random.below(2 + self.size) {
                let movers = self.several_movers();
                self.action(movers);
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

    fn action(&mut self, movers: Vec<Mover>) {
        let guard = if self.writer.random.chance(40) { Some(self.writer.condition()) } else { None };
        let owner = movers.first().map(|mover| mover.process);
        let assigns = match self.program.composition {
            Composition::Synchronous => usize::from(self.writer.random.chance(70)),
            Composition::Asynchronous => *self.writer.random.pick(&[0, 1, 1, 1, 2]),
        };
        let mut body: Vec<Statement> = (0..assigns).filter_map(|_| self.assign(owner)).collect();
        for mover in &movers {
            let place = self.writer.random.below(body.len() + 1);
            body.insert(place, Statement::Move { process: mover.process, to: mover.to });
        }
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
        let command = Command::new(guard, body);
        self.program.actions.push(Action { name, movers, command, arguments: Vec::new(), exchange, span });
    }

    /// Parallel assignments, most to data of the action's owner or to global ones; none if nothing can be assigned.
    fn assign(&mut self, owner: Option<ProcessId>) -> Option<Statement> {
        if self.writable.is_empty() {
            return None;
        }
        let mut assignments = Vec::new();
        for _ in 0..*self.writer.random.pick(&[1, 1, 1, 2, 3]) {
            let mut variable = *self.writer.random.pick(&self.writable);
            let foreign = |variable: VariableId, program: &Program| matches!(program.variable(variable).role, Role::Local(process) if Some(process) != owner);
            if foreign(variable, &self.program) {
                variable = *self.writer.random.pick(&self.writable);
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
            if !bare {
                for _ in 0..self.writer.random.below(3) {
                    body.extend(self.assign(None));
                }
                body.extend(self.start_move());
            }
            let span = self.writer.span();
            let (name, command) = (Some(format!("start{number}")), Command::new(None, body));
            self.program.starts.push(Start { name, command, arguments: Vec::new(), span });
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
        for number in 0..self.writer.random.below(5) {
            let kind = *self.writer.random.pick(&kinds);
            let expression = self.writer.condition();
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
