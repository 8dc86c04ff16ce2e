//! Compiled code against the same programs printed as C and compiled by gcc: two code generators that share nothing.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use fathom_exec::jit::Compiled;
use fathom_model::expression::FaultKind;
use fathom_model::layout::{Declared, Possible};
use fathom_model::program::{Composition, Program};
use fathom_model::record::{RecordBuffer, Records};
use fathom_model::span::Span;
use fathom_model::steps::{Columns, Fault, Labels, Steps};
use fathom_model::system::{TransitionSystem, initial_all};
use fathom_model::values::PossibleValues;
use oracle::emit_c;
use oracle::program::random_program;
use oracle::random::Random;
use oracle::skip::skipped;

/// How many programs; ten times as many with `FATHOM_LONG`.
const PROGRAMS: usize = 500;
/// How many of them gcc is given at once.
const PROGRAMS_PER_UNIT: usize = 250;
const CAPACITY: usize = 4096;
const RECORDS_MAX: usize = 40;

/// A program that answers what gcc's code does.
struct Server(Child);

impl Server {
    /// Compiles a translation unit and starts it.
    fn start(source: &str, folder: &std::path::Path, number: usize) -> Server {
        let (text, binary) = (folder.join(format!("unit{number}.c")), folder.join(format!("unit{number}")));
        std::fs::write(&text, source).unwrap();
        let compiled =
            Command::new("gcc").args(["-O1", "-w", "-o"]).arg(&binary).arg(&text).status().unwrap();
        assert!(compiled.success(), "gcc compiles what was printed");
        Server(Command::new(binary).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap())
    }

    fn ask(&mut self, program: usize, records: Records<'_>) -> Answer<'_> {
        let mut request: Vec<u8> = Vec::new();
        for number in [program as u32, records.len() as u32, CAPACITY as u32, 1] {
            request.extend(number.to_ne_bytes());
        }
        records.words().iter().for_each(|word| request.extend(word.to_ne_bytes()));
        let input = self.0.stdin.as_mut().unwrap();
        input.write_all(&request).unwrap();
        input.flush().unwrap();
        Answer(self.0.stdout.as_mut().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

struct Answer<'a>(&'a mut std::process::ChildStdout);

impl Answer<'_> {
    fn word(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact(&mut bytes).unwrap();
        u64::from_ne_bytes(bytes)
    }

    fn half(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.0.read_exact(&mut bytes).unwrap();
        u32::from_ne_bytes(bytes)
    }

    fn fault(&mut self) -> Fault {
        let (action, kind, start, end) = (self.half(), self.half(), self.half(), self.half());
        Fault { action, kind: FaultKind::ALL[kind as usize], span: Span { start, end } }
    }
}

/// The first records of a breadth-first search.
fn some_records(system: &Compiled) -> RecordBuffer {
    let mut steps = Steps::new(system.shape(), Columns::NONE, CAPACITY);
    let grown = initial_all(system, &mut steps, &mut |_| Ok::<_, ()>(()));
    grown.unwrap();
    let mut records = RecordBuffer::new(system.shape().words());
    let mut next = 0;
    loop {
        for target in steps.targets().iter() {
            if records.len() < RECORDS_MAX && !records.view().iter().any(|record| record == target) {
                records.push(target);
            }
        }
        if next == records.len() {
            return records;
        }
        let finished = system.expand(records.view().skip(next).take(1), &mut steps);
        assert_eq!(finished, 1, "one source fits");
        next += 1;
    }
}

fn compare(server: &mut Server, number: usize, system: &Compiled, name: &str) -> usize {
    let records = some_records(system);
    let records = records.view();
    let mut steps = Steps::new(system.shape(), Columns { actions: true, ..Columns::NONE }, CAPACITY);
    let finished = system.expand(records, &mut steps);
    let mut answer = server.ask(number, records);
    assert_eq!(answer.word() as usize, finished, "{name}: finished");
    answer.word();
    for source in 0..finished {
        let (step, fault) = (answer.half() as usize, answer.half() as usize);
        let faults: usize = (0..=source).map(|source| steps.faults_of(source).len()).sum();
        assert_eq!((step, fault), (steps.steps_of(source).end, faults), "{name}: source {source}");
    }
    let targets: Vec<u64> = (0..steps.targets().words().len()).map(|_| answer.word()).collect();
    assert_eq!(targets, steps.targets().words(), "{name}: targets");
    let actions: Vec<u32> = (0..steps.step_count()).map(|_| answer.half()).collect();
    let expected: Vec<u32> = (0..steps.step_count()).map(|step| steps.action(step)).collect();
    assert_eq!(actions, expected, "{name}: actions");
    let faults: Vec<Fault> = steps.faults().iter().map(|_| answer.fault()).collect();
    assert_eq!(faults, steps.faults(), "{name}: faults");
    let mut expected = vec![Labels::default(); records.len()];
    system.label(records, &mut expected);
    let labels: Vec<Labels> = records.iter().map(|_| Labels(answer.word())).collect();
    assert_eq!(labels, expected, "{name}: labels");
    steps.step_count()
}

fn systems(first_seed: u64, count: usize) -> Vec<(u64, Compiled)> {
    let mut systems = Vec::new();
    for seed in first_seed.. {
        if systems.len() == count {
            break;
        }
        let mut random = Random::new(seed);
        let size = 1 + random.below(4);
        let program: Program = random_program(&mut random, size);
        if program.composition == Composition::Asynchronous {
            let values = PossibleValues::of(&program);
            let possible: &dyn Possible = if seed % 2 == 0 { &Declared } else { &values };
            systems.push((seed, Compiled::new(program, possible).unwrap()));
        }
    }
    systems
}

#[test]
fn gcc_takes_the_same_steps() {
    if Command::new("gcc").arg("--version").stdout(Stdio::null()).status().is_err() {
        return skipped("gcc_takes_the_same_steps", "there is no gcc");
    }
    let programs = if std::env::var_os("FATHOM_LONG").is_some() { 10 * PROGRAMS } else { PROGRAMS };
    let folder = tempfile::tempdir().unwrap();
    let (mut seed, mut steps) = (0, 0);
    for unit in 0..programs.div_ceil(PROGRAMS_PER_UNIT) {
        let systems = systems(seed, PROGRAMS_PER_UNIT);
        seed = systems.last().unwrap().0 + 1;
        let programs: Vec<_> =
            systems.iter().map(|(_, system)| (system.program(), system.layout())).collect();
        let mut server = Server::start(&emit_c::unit(&programs), folder.path(), unit);
        for (number, (seed, system)) in systems.iter().enumerate() {
            steps += compare(&mut server, number, system, &format!("seed {seed}"));
        }
    }
    eprintln!("{programs} programs, {steps} steps");
    assert!(steps > 10 * programs, "{steps}");
}
