//! Systems written in Rust: fields of every width at every place, values that no field was declared for, steps that do not exist, and the words for all of it.

use fathom_model::checked::Checked;
use fathom_model::fault::FaultKind;
use fathom_model::record::Records;
use fathom_model::rust::{
    Action, Array, Choice, Field, RustModel, RustSystem, Starts, State, StepsFrom, SystemBuilder,
};
use fathom_model::steps::{Columns, Labels, Steps};
use fathom_model::system::{Query, TransitionSystem};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Colour {
    Red,
    Green,
    Blue,
}

impl Choice for Colour {
    const ALL: &'static [(Colour, &'static str)] =
        &[(Colour::Red, "red"), (Colour::Green, "green"), (Colour::Blue, "deep blue")];
}

#[test]
fn fields_hold_what_they_were_declared_for_and_nothing_else() {
    let mut declared = SystemBuilder::new("fields");
    let one = declared.range("one", 7u8..=7);
    let signed = declared.range("signed", -5i64..=1000);
    let colours: Array<Colour> = declared.choices("colours", 40);
    let all = declared.range("all", i64::MIN..=i64::MAX);
    let flag: Field<bool> = declared.choice("flag");
    let small = declared.ranges("small", 9, 3usize..=9);
    let shape = declared.shape();
    assert_eq!(shape.width_bits, 10 + 80 + 64 + 1 + 27);
    let mut record = vec![0; shape.words()];
    assert_eq!((one.read(&record), signed.read(&record), flag.read(&record)), (7, -5, false));
    assert_eq!((all.read(&record), small.at(8).read(&record)), (i64::MIN, 3));

    assert!(signed.write(&mut record, 999) && all.write(&mut record, -2) && flag.write(&mut record, true));
    for (index, colour) in colours.iter().enumerate() {
        assert!(colour.write(&mut record, Colour::ALL[index % 3].0));
    }
    for (index, field) in small.iter().enumerate() {
        assert!(field.write(&mut record, 3 + index % 7));
    }
    let before = record.clone();
    assert!(!signed.write(&mut record, 1001) && !signed.write(&mut record, -6) && !one.write(&mut record, 8));
    assert!(!small.at(0).write(&mut record, 10) && !small.at(0).write(&mut record, usize::MAX));
    assert_eq!(record, before, "what is refused changes nothing");
    assert_eq!((signed.read(&record), all.read(&record), flag.read(&record)), (999, -2, true));
    assert!((0..40).all(|index| colours.at(index).read(&record) == Colour::ALL[index % 3].0));
    assert!((0..9).all(|index| small.at(index).read(&record) == 3 + index % 7));

    // The shape says the same of every bit as the handles do.
    let text = |name: &str, index| {
        let component = shape.components.iter().find(|component| component.name == name);
        component.expect("it was declared").text(&record, index)
    };
    assert_eq!(
        (text("signed", 0), text("all", 0), text("flag", 0)),
        ("999".into(), "-2".into(), "true".into())
    );
    assert_eq!((text("colours", 2), text("colours", 3)), ("deep blue".into(), "red".into()));
    assert_eq!(text("small", 8), "4");
    let lows: Vec<u32> = shape.components.iter().map(|component| component.low).collect();
    assert!(lows.is_sorted_by(|high, low| high >= low), "the parts are listed from the highest bits down");
}

#[test]
fn a_word_is_filled_to_its_last_bit() {
    let mut declared = SystemBuilder::new("a word");
    let fields = [declared.range("low", 0u64..=(1 << 40) - 1), declared.range("high", 0u64..=(1 << 24) - 1)];
    let nothing = declared.range("nothing", 3u8..=3);
    assert_eq!(declared.shape().width_bits, 64);
    let mut record = [0];
    assert!(fields[1].write(&mut record, 0xab_cdef) && nothing.write(&mut record, 3));
    assert_eq!(record, [0xab_cdef << 40]);
    assert!(fields[0].write(&mut record, (1 << 40) - 1) && !nothing.write(&mut record, 4));
    assert_eq!((fields[0].read(&record), fields[1].read(&record)), ((1 << 40) - 1, 0xab_cdef));
    assert_eq!(nothing.read(&record), 3);
}

#[test]
#[should_panic(expected = "there is no element 3 among 3")]
fn an_array_ends() {
    SystemBuilder::new("array").choices::<bool>("flags", 3).at(3);
}

/// A counter that two processes push: one step goes on, one fails at 5, one is not there at odd numbers, one leaves the range at 9.
struct Counter {
    count: Field<u32>,
    high: Field<i64>,
    go_on: Action,
    checked: Action,
    even: Action,
}

impl RustModel for Counter {
    fn initial(&self, starts: &mut Starts<'_>) {
        starts.start(|_| {});
        starts.start(|state| state.set(self.count, 10));
        starts.start(|state| state.assume(false));
        starts.start(|state| {
            state.set(self.count, 8);
            state.set(self.high, -1);
        });
    }

    fn steps(&self, state: State<'_>, steps: &mut StepsFrom<'_>) {
        let count = state.get(self.count);
        steps.step(self.go_on, |next| next.set(self.count, count + 1));
        steps.step(self.checked, |next| {
            next.assert(count != 5);
            next.assume(false);
        });
        steps.step(self.even, |next| {
            next.set(self.high, next.get(self.high) / 2);
            next.assume(count.is_multiple_of(2));
        });
    }
}

fn counter() -> RustSystem<Counter> {
    let mut declared = SystemBuilder::new("counter");
    let count = declared.range("count", 0..=9);
    let high = declared.range("high", -(1i64 << 62)..=1 << 62);
    let processes = ["A", "B"].map(|name| declared.process(name));
    let go_on = declared.action_of(processes[0], "goes on");
    let checked = declared.action_of(processes[1], "looks");
    let even = declared.action("halve");
    declared.label("nine", move |state| state.get(count) == 9);
    declared.label("small", move |state| state.get(count) < 3);
    declared.system(Counter { count, high, go_on, checked, even })
}

#[test]
fn steps_faults_and_what_does_not_exist_are_told_apart() {
    let system = Checked(counter());
    let (shape, count) = (system.shape().clone(), system.0.model().count);
    for capacity in 1..6 {
        let mut steps = Steps::new(&shape, Columns::ALL, capacity);
        system.initial(&mut steps);
        while steps.source_count() == 0 {
            steps.grow();
            system.initial(&mut steps);
        }
        let starts: Vec<u32> = (0..steps.step_count()).map(|step| steps.action(step)).collect();
        assert_eq!(starts, [0, 3]);
        assert_eq!(
            steps.faults().iter().map(|fault| (fault.action, fault.kind)).collect::<Vec<_>>(),
            [(1, FaultKind::Range)]
        );
    }
    let mut record = vec![0; shape.words()];
    let mut steps = Steps::new(&shape, Columns::ALL, 8);
    for number in 0..=9 {
        assert!(count.write(&mut record, number));
        assert_eq!(system.expand(Records::new(&record, record.len()), &mut steps), 1);
        let actions: Vec<u32> = (0..steps.step_count()).map(|step| steps.action(step)).collect();
        let expected: &[u32] = match number {
            9 => &[],
            _ if u32::is_multiple_of(number, 2) => &[0, 2],
            _ => &[0],
        };
        assert_eq!(actions, expected, "at {number}");
        let faults: Vec<_> = steps.faults().iter().map(|fault| (fault.action, fault.kind)).collect();
        let expected: &[(u32, FaultKind)] = match number {
            5 => &[(1, FaultKind::Failure)],
            9 => &[(0, FaultKind::Range)],
            _ => &[],
        };
        assert_eq!(faults, expected, "at {number}");
        // A process is enabled that has a step, or one that faults.
        assert_eq!(steps.enabled(0).0, if number == 5 { 0b11 } else { 0b01 }, "at {number}");
        assert_eq!(steps.labels(0), Labels(u64::from(number == 9) | u64::from(number < 3) << 1));
    }
}

#[test]
fn traces_speak_in_the_words_that_were_declared() {
    let system = counter();
    let mut steps = Steps::new(system.shape(), Columns::ALL, 8);
    system.initial(&mut steps);
    let record = steps.target(1).to_vec();
    let words = system.describe(Query::Record(&record));
    let values: Vec<(&str, &str)> = words.values.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!((&*words.title, &values[..]), ("counter", &[("count", "8"), ("high", "-1")][..]));
    let title = |what| system.describe(what).title;
    assert_eq!(title(Query::Step { source: &record, action: 0 }), "A: goes on");
    assert_eq!(title(Query::Step { source: &record, action: 2 }), "halve");
    assert_eq!(title(Query::Start(1)), "start 1");
    let fault = steps.faults()[0];
    assert_eq!(title(Query::Fault { source: &record, fault }), "B: looks: value out of range");
    let label = system.describe(Query::Label { record: &record, label: 1 });
    assert_eq!((label.title, &*label.values[0].1), ("small".into(), "false"));
}
