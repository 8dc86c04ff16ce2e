//! In which order are guards tested, so that what several of them ask is asked once?
//!
//! The actions of a location stand in program order, and keep it. Neighbours that share tests which cannot fault are put behind one branch
//! that makes these tests for all of them: the meetings of one sender's transition have its guard in common, the transitions of a
//! process often ask the same variable. Neighbours that ask for different locations of one receiver are told apart by one dispatch.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, types};
use fathom_model::expression::{Expression, ExpressionKind};
use fathom_model::program::{Action, VariableId};

use super::condition::{Test, flatten};
use super::emitter::{Emitter, Trap};
use super::interval::Interval;
use super::plan::are_instances;
use super::work::of_command;

/// From how many locations of a receiver on they are told apart by one dispatch.
const DISPATCH_MIN: usize = 3;
/// From how many neighbours on a shared test is made apart.
const SHARED_MIN: usize = 2;
/// From how many instances of a rule on they are gone through in a loop, if the program is large.
const INSTANCES_MIN: usize = 3;
/// How far to look for neighbours that share a test: bounds the time to compile long lists.
const NEIGHBOURS_MAX: usize = 64;

/// An action whose tests are yet to be made.
#[derive(Clone, Debug)]
struct Candidate<'a> {
    number: u32,
    tests: Vec<Test<'a>>,
    /// How many of the first tests cannot fault, so that it does not matter which of them fails.
    free: usize,
}

impl<'a> Emitter<'a, '_> {
    /// Compiles actions that one process owns at one location (or that nobody owns), in order. Goes to `full` when there is no room.
    pub(super) fn actions(&mut self, numbers: &[u32], full: Block) {
        let actions = &self.program.actions;
        let loops = self.tables.loops;
        let together =
            |one: &u32, other: &u32| are_instances(&actions[*one as usize], &actions[*other as usize]);
        let mut waiting = Vec::new();
        for run in numbers.chunk_by(together) {
            if self.is_full() {
                return;
            }
            if loops && run.len() >= INSTANCES_MIN {
                self.each(&std::mem::take(&mut waiting), full);
                self.instances(run, full);
            } else {
                waiting.extend_from_slice(run);
            }
        }
        self.each(&waiting, full);
    }

    /// Compiles each action by itself.
    fn each(&mut self, numbers: &[u32], full: Block) {
        let candidates: Vec<Candidate<'a>> = numbers.iter().map(|number| self.candidate(*number)).collect();
        self.candidates(&candidates, full);
    }

    /// Compiles instances of one rule as a loop over them.
    fn instances(&mut self, numbers: &[u32], full: Block) {
        let program = self.program;
        let actions: Vec<&Action> = numbers.iter().map(|number| &program.actions[*number as usize]).collect();
        let rows = numbers.iter().zip(&actions);
        let table: Box<[i64]> = rows
            .flat_map(|(number, action)| {
                std::iter::once(i64::from(*number)).chain(action.arguments.iter().copied())
            })
            .collect();
        let command = &actions[0].command;
        let row_bytes = 8 * (1 + command.parameters.len() as i64);
        let first = table.as_ptr() as i64;
        self.tables.instances.push(table);
        let cursor = self.register();
        let start = self.integer(first);
        self.builder.def_var(cursor, start);
        let [head, exit] = [(); 2].map(|()| self.builder.create_block());
        self.builder.ins().jump(head, &[]);
        self.builder.switch_to_block(head);
        let row = self.builder.use_var(cursor);
        let flags = self.loads_behind_a_check();
        let number = self.builder.ins().load(types::I64, flags, row, 0);
        let number = self.builder.ins().ireduce(types::I32, number);
        for (column, parameter) in command.parameters.iter().enumerate() {
            let arguments = actions.iter().map(|action| Interval::exactly(action.arguments[column]));
            let interval = arguments.reduce(Interval::union).expect("there are instances");
            let register = self.bind_register(*parameter, interval);
            let argument = self.builder.ins().load(types::I64, flags, row, 8 * (1 + column as i32));
            self.builder.def_var(register, argument);
        }
        let mut tests = Vec::new();
        command.guard.iter().for_each(|guard| flatten(guard, &mut tests));
        self.command(command, number, &tests, full);
        let next = self.builder.ins().iadd_imm_s(row, row_bytes);
        self.builder.def_var(cursor, next);
        let end = first + row_bytes * numbers.len() as i64;
        let more = self.builder.ins().icmp_imm_s(IntCC::NotEqual, next, end);
        let again = self.builder.create_block();
        self.builder.ins().brif(more, again, &[], exit, &[]);
        self.enter(again);
        self.ask(of_command(command).saturating_mul(numbers.len() as u64));
        self.builder.ins().jump(head, &[]);
        self.builder.seal_block(head);
        self.release_register(cursor);
        self.release(&command.parameters);
        self.enter(exit);
    }

    fn candidate(&mut self, number: u32) -> Candidate<'a> {
        let program = self.program;
        let action = &program.actions[number as usize];
        let place = |process| program.process(process).variable;
        let movers = action.movers.iter().skip(1);
        let mut tests: Vec<Test<'a>> =
            movers.map(|mover| Test::Equal(place(mover.process), i64::from(mover.from))).collect();
        action.command.guard.iter().for_each(|guard| flatten(guard, &mut tests));
        self.bind(action);
        let free = self.free_run(&tests);
        Candidate { number, tests, free }
    }

    fn candidates(&mut self, candidates: &[Candidate<'a>], full: Block) {
        let mut rest = candidates;
        while let [first, ..] = rest {
            if self.is_full() {
                return;
            }
            let (run, shared) = self.shared(rest);
            if run >= SHARED_MIN {
                self.together(&rest[..run], &shared, full);
                rest = &rest[run..];
                continue;
            }
            match meeting(rest) {
                Some((run, variable)) => {
                    self.by_location(&rest[..run], variable, full);
                    rest = &rest[run..];
                }
                None => {
                    self.action(first.number, &first.tests, full);
                    rest = &rest[1..];
                }
            }
        }
    }

    /// How many of the first candidates share a test, at most, and all tests that those have in common.
    fn shared(&mut self, candidates: &[Candidate<'a>]) -> (usize, Vec<Test<'a>>) {
        let [first, others @ ..] = candidates else { return (0, Vec::new()) };
        let others = &others[..others.len().min(NEIGHBOURS_MAX)];
        let mut runs: Vec<(usize, Test<'a>)> = Vec::new();
        for test in &first.tests[..first.free] {
            // What asks for a parameter asks something else of each instance.
            if self.may_fault(test) || self.asks_for_temporaries(test) {
                continue;
            }
            let has = |other: &&Candidate<'a>| other.tests[..other.free].iter().any(|it| is_same(it, test));
            runs.push((1 + others.iter().take_while(has).count(), *test));
        }
        let longest = runs.iter().map(|(run, _)| *run).max().unwrap_or(0);
        let common = runs.into_iter().filter(|(run, _)| *run == longest).map(|(_, test)| test);
        (longest, common.collect())
    }

    /// Whether a test reads temporaries.
    fn asks_for_temporaries(&self, test: &Test<'a>) -> bool {
        match test {
            Test::Equal(..) => false,
            Test::True(expression) => self.reads_temporaries(expression),
        }
    }

    fn reads_temporaries(&self, expression: &Expression) -> bool {
        let mut found = match &expression.kind {
            ExpressionKind::Read(variable) | ExpressionKind::Element(variable, _) => {
                self.is_temporary(*variable)
            }
            ExpressionKind::Compute(_) => true,
            _ => false,
        };
        expression.for_each_operand(&mut |operand| found = found || self.reads_temporaries(operand));
        found
    }

    /// Whether a test may fault if nothing was tested before it.
    fn may_fault(&mut self, test: &Test<'a>) -> bool {
        match test {
            Test::Equal(..) => false,
            Test::True(expression) => self.estimate(expression).faults,
        }
    }

    /// Makes the shared tests once, then compiles the candidates without them.
    fn together(&mut self, candidates: &[Candidate<'a>], shared: &[Test<'a>], full: Block) {
        let facts = self.fact_count();
        let (after, impossible) = (self.builder.create_block(), self.builder.create_block());
        // Tests that cannot fault may hold a check all the same, of a divisor for example: it fails on records that are none.
        self.builder.set_cold_block(impossible);
        self.trap = Trap::Label { block: impossible };
        self.require(shared, after);
        let rest: Vec<Candidate<'a>> = candidates.iter().map(|it| it.without(shared)).collect();
        self.candidates(&rest, full);
        self.builder.ins().jump(after, &[]);
        self.enter(impossible);
        self.builder.ins().jump(after, &[]);
        self.enter(after);
        self.forget_to(facts);
    }

    /// Dispatches on the location of the process that all candidates meet.
    fn by_location(&mut self, candidates: &[Candidate<'a>], variable: VariableId, full: Block) {
        let next = self.builder.create_block();
        let location_of = |it: &Candidate<'a>| it.location(variable).expect("all meet this process") as u32;
        let mut locations: Vec<u32> = candidates.iter().map(location_of).collect();
        locations.sort_unstable();
        locations.dedup();
        for (location, block) in self.dispatch(variable, &locations, next) {
            self.enter(block);
            let facts = self.fact_count();
            self.assume(variable, 0, Interval::exactly(i64::from(location)));
            let here = candidates.iter().filter(|it| location_of(it) == location);
            let made = [Test::Equal(variable, i64::from(location))];
            let rest: Vec<Candidate<'a>> = here.map(|it| it.without(&made)).collect();
            self.candidates(&rest, full);
            self.forget_to(facts);
            self.builder.ins().jump(next, &[]);
        }
        self.enter(next);
    }
}

impl<'a> Candidate<'a> {
    /// Where the process of a location variable has to be.
    fn location(&self, variable: VariableId) -> Option<i64> {
        self.tests.iter().find_map(|test| match test {
            Test::Equal(tested, value) if *tested == variable => Some(*value),
            _ => None,
        })
    }

    /// The candidate where some tests were made.
    fn without(&self, made: &[Test<'a>]) -> Candidate<'a> {
        let is_made = |test: &&Test<'a>| made.iter().any(|it| is_same(it, test));
        let free = self.tests[..self.free].iter().filter(|test| !is_made(test)).count();
        let (first, later) = self.tests.split_at(self.free);
        let first = first.iter().filter(|test| !is_made(test));
        Candidate { number: self.number, tests: first.chain(later).copied().collect(), free }
    }
}

/// How many of the first candidates meet the same process at enough different locations, and the variable of its location.
fn meeting(candidates: &[Candidate<'_>]) -> Option<(usize, VariableId)> {
    let variable = candidates.first()?.tests.iter().find_map(|test| match test {
        Test::Equal(variable, _) => Some(*variable),
        Test::True(_) => None,
    })?;
    let mut locations: Vec<i64> = candidates.iter().map_while(|it| it.location(variable)).collect();
    let run = locations.len();
    locations.sort_unstable();
    locations.dedup();
    (locations.len() >= DISPATCH_MIN).then_some((run, variable))
}

/// Whether two tests ask the same, wherever they stand in the source.
fn is_same(one: &Test<'_>, other: &Test<'_>) -> bool {
    match (one, other) {
        (Test::Equal(one, value), Test::Equal(other, wanted)) => one == other && value == wanted,
        (Test::True(one), Test::True(other)) => is_same_expression(one, other),
        _ => false,
    }
}

fn is_same_expression(one: &Expression, other: &Expression) -> bool {
    let all = |ones: &[Expression], others: &[Expression]| {
        ones.len() == others.len()
            && ones.iter().zip(others).all(|(one, other)| is_same_expression(one, other))
    };
    match (&one.kind, &other.kind) {
        (ExpressionKind::Constant(one), ExpressionKind::Constant(other)) => one == other,
        (ExpressionKind::Read(one), ExpressionKind::Read(other)) => one == other,
        (ExpressionKind::Element(one, index), ExpressionKind::Element(other, place)) => {
            one == other && is_same_expression(index, place)
        }
        (ExpressionKind::Unary(one, operand), ExpressionKind::Unary(other, value)) => {
            one == other && is_same_expression(operand, value)
        }
        (ExpressionKind::Binary(one, a, b), ExpressionKind::Binary(other, c, d)) => {
            one == other && is_same_expression(a, c) && is_same_expression(b, d)
        }
        (ExpressionKind::All(ones), ExpressionKind::All(others))
        | (ExpressionKind::Any(ones), ExpressionKind::Any(others)) => all(ones, others),
        (ExpressionKind::Conditional(ones), ExpressionKind::Conditional(others)) => {
            all(&ones[..], &others[..])
        }
        (ExpressionKind::Convert(one, operand), ExpressionKind::Convert(other, value)) => {
            one == other && is_same_expression(operand, value)
        }
        (ExpressionKind::Checked(one, kind, operand), ExpressionKind::Checked(other, wrong, value)) => {
            one == other && kind == wrong && is_same_expression(operand, value)
        }
        _ => false,
    }
}
