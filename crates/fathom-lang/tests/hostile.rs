//! Is every text, however large, deep or repetitive, read or refused in time that grows with it, within a small stack?
//!
//! Every case is one shape of text. By default shapes are some ten thousand parts large, which is enough to tell quadratic work from linear;
//! `FATHOM_LONG=1` makes them as large as the largest file that is read. A stack of 2 MiB is what threads have.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use fathom_lang::diagnostic::SHOWN_MAX;
use fathom_lang::dve::{self, DveOptions};
use fathom_lang::murphi::{self, MurphiOptions};
use fathom_lang::source::SourceText;
use fathom_model::program::Program;
use fathom_model::values::PossibleValues;

/// The longest that a case may take, on a machine that does other things as well.
const TIME_MAX: Duration = Duration::from_secs(60);
/// More memory than this was not bounded by the text.
const PEAK_KIBIBYTES_MAX: u64 = 1 << 20;
/// What threads have.
const STACK_BYTES: usize = 2 << 20;
/// The longest that is said about a text.
const RENDERED_BYTES_MAX: usize = 200_000;

/// What came of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Read,
    Refused(String),
}

impl Outcome {
    fn says(&self, part: &str) -> bool {
        matches!(self, Outcome::Refused(text) if text.contains(part))
    }
}

/// How many parts a case has.
fn many(few: usize, long: usize) -> usize {
    if std::env::var_os("FATHOM_LONG").is_some() { long } else { few }
}

/// Reads a text as all of fathom does, on a small stack.
fn read(name: &str, text: String) -> Outcome {
    let is_dve = name.ends_with(".dve");
    let file = name.to_owned();
    let started = Instant::now();
    let reader = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || {
        let source = match SourceText::from_bytes(&file, text.into_bytes()) {
            Ok(source) => source,
            Err(diagnostics) => {
                return Outcome::Refused(diagnostics.render(&SourceText::new(&file, ""), false));
            }
        };
        let program = if is_dve {
            dve::compile(&source, &DveOptions::default()).map(|compiled| compiled.program)
        } else {
            let options = MurphiOptions { symmetry: true, ..MurphiOptions::default() };
            murphi::compile(&source, &options).map(|compiled| compiled.program)
        };
        match program {
            Ok(program) => understood(&program),
            Err(diagnostics) => Outcome::Refused(diagnostics.render(&source, false)),
        }
    });
    let outcome = reader.unwrap().join().unwrap();
    let time = started.elapsed();
    let said = match &outcome {
        Outcome::Refused(text) => text.lines().next().unwrap_or_default(),
        Outcome::Read => "read",
    };
    println!("{name}: {time:.1?}, {said}");
    assert!(time < TIME_MAX, "{name} took {time:?}");
    if let Outcome::Refused(text) = &outcome {
        assert!(text.len() < RENDERED_BYTES_MAX, "{name}: {} bytes of diagnostics", text.len());
        assert!(text.matches("error: ").count() <= SHOWN_MAX, "{name}: {text}");
    }
    outcome
}

fn understood(program: &Program) -> Outcome {
    assert_eq!(fathom_model::verify::problems(program), Vec::<String>::new());
    // Nothing else is done with it here: that it ends is the question.
    let _ = PossibleValues::of(program);
    Outcome::Read
}

/// A text for each number below `count`.
fn each(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        let _ = write!(text, "{}", part(number));
        text
    })
}

/// The most memory this process ever had, where the system tells.
fn peak_kibibytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn check_peak() {
    // Large texts are read one after the other in the long run only, where they may take what the largest needs.
    let most = many(1, 3) as u64 * PEAK_KIBIBYTES_MAX;
    if let Some(peak) = peak_kibibytes() {
        assert!(peak < most, "peak memory {peak} KiB");
    }
}

fn dve_of(declarations: &str, transitions: &str) -> String {
    format!("{declarations} process P {{ state s; init s; trans {transitions}; }} system async;")
}

#[test]
fn large_dve_models_are_read_or_refused() {
    let n = many(30_000, 300_000);
    let transition = |i: usize| format!("s -> s {{ guard x == {}; effect x = {}; }},", i % 256, i % 256);
    let model = dve_of("byte x;", each(n, transition).trim_end_matches(','));
    assert_eq!(read("transitions.dve", model), Outcome::Read);

    let process =
        |i: usize| format!("process P{i} {{ state s; init s; trans s -> s {{ guard x == 1; }}; }} ");
    assert_eq!(read("processes.dve", format!("byte x; {} system async;", each(n, process))), Outcome::Read);

    let outcome = read("variables.dve", dve_of(&each(n, |i| format!("byte x{i};")), "s -> s {}"));
    assert!(outcome.says("the state is too large: more than 65536 bits"), "{outcome:?}");

    let few = 8_000;
    let use_of = |i: usize| format!("s -> s {{ guard x{} == 1; effect x{} = 2; }},", i % few, i % few);
    let uses = each(n, use_of);
    let model = dve_of(&each(few, |i| format!("byte x{i};")), uses.trim_end_matches(','));
    assert_eq!(read("uses of many variables.dve", model), Outcome::Read);

    let (sent, received) =
        (each(5_000, |_| "s -> s { sync c!; },".into()), each(5_000, |_| "s -> s { sync c?; },".into()));
    let process = |name: &str, steps: &str| {
        format!("process {name} {{ state s; init s; trans {}; }} ", steps.trim_end_matches(','))
    };
    let outcome = read(
        "pairs.dve",
        format!("channel c; {}{}system async;", process("P", &sent), process("Q", &received)),
    );
    assert!(outcome.says("the model is too large: more than 4000000 parts of actions"), "{outcome:?}");

    let states = many(6_000, 60_000);
    let variables: Vec<String> = (0..4_000).map(|i| format!("x{i}")).collect();
    let step = |i: usize| format!("s{i} -> s{} {{ effect x{} = 1; }},", i + 1, i % 4_000);
    let locations: Vec<String> = (0..=states).map(|i| format!("s{i}")).collect();
    let model = format!(
        "process P {{ byte {}; state {}; init s0; trans {}; }} system async;",
        variables.join(","),
        locations.join(","),
        each(states, step).trim_end_matches(',')
    );
    assert_eq!(read("variables at locations.dve", model), Outcome::Read);

    assert!(read("array.dve", dve_of("byte x[1000000000];", "s -> s {}")).says("1 to 65536 elements"));
    let chain = vec!["x == 1"; many(100_000, 1_000_000)].join(" && ");
    assert_eq!(
        read("conjunction.dve", dve_of("byte x;", &format!("s -> s {{ guard {chain}; }}"))),
        Outcome::Read
    );
    check_peak();
}

#[test]
fn murphi_models_of_many_rules_are_read_or_refused() {
    let n = many(20_000, 100_000);
    let start = "startstate begin x := 0; end; ";
    let rule = |i: usize| format!("rule \"r{i}\" x = {} ==> begin x := {}; end; ", i % 256, (i + 1) % 256);
    let model = format!("var x: 0..255; {start}{}", each(n, rule));
    assert_eq!(read("rules.m", model), Outcome::Read);
    let ruleset = |i: usize| format!("ruleset i{i}: 0..1 do rule x = i{i} ==> begin x := 1; end; end; ");
    assert_eq!(read("rulesets.m", format!("var x: 0..255; {start}{}", each(n, ruleset))), Outcome::Read);
    let rule = |i: usize| format!("rule x = {} ==> begin x := {}; end; ", i * 7, i * 7 + 7);
    assert_eq!(read("constants.m", format!("var x: 0..1000000; {start}{}", each(n, rule))), Outcome::Read);
    let rule = |i: usize| format!("rule {i} \"r{i}\" x = {} ==> begin x := 1; end; ", i % 256);
    let outcome = read("priorities.m", format!("var x: 0..255; {start}{}", each(n, rule)));
    assert!(outcome.says("the model is too large"), "{outcome:?}");
    let outcome = read(
        "assumptions.m",
        format!(
            "var x: 0..255; {start}{}{}",
            "assume x < 250; ".repeat(n),
            "rule begin x := 1; end; ".repeat(n)
        ),
    );
    assert!(outcome.says("the model is too large"), "{outcome:?}");

    check_peak();
}

#[test]
fn murphi_models_with_large_types_and_statements_are_read_or_refused() {
    let n = many(20_000, 100_000);
    let start = "startstate begin x := 0; end; ";
    let fields = 30_000;
    let record = format!("type r: record {}end; ", each(fields, |i| format!("f{i}: boolean; ")));
    let uses = each(fields, |i| format!("rule x.f{i} ==> begin x.f{i} := false; end; "));
    let model = format!("{record}var x: r; startstate begin clear x; end; {uses}");
    assert_eq!(read("fields.m", model), Outcome::Read);
    let outcome = read(
        "locals.m",
        format!("{record}var x: 0..255; {start}{}", "rule var l: r; begin x := 1; end; ".repeat(1_000)),
    );
    assert!(outcome.says("local variables of its rules"), "{outcome:?}");

    let members: Vec<String> = (0..many(60_000, 1_000_000)).map(|i| format!("v{i}")).collect();
    let variables = each(1_000, |i| format!("x{i}: e; "));
    let model =
        format!("type e: enum {{{}}}; var {variables}startstate begin x0 := v0; end;", members.join(","));
    assert_eq!(read("enumeration.m", model), Outcome::Read);

    let arms = each(n, |i| format!("elsif x = {} then x := 1; ", i % 256));
    let model = format!("var x: 0..255; {start}rule begin if x = 1 then x := 2; {arms}end; end;");
    assert_eq!(read("arms.m", model), Outcome::Read);
    let cases = each(n, |i| format!("case {}: x := 1; ", i % 256));
    let model = format!("var x: 0..255; {start}rule begin switch x {cases}end; end;");
    assert_eq!(read("cases.m", model), Outcome::Read);
    let model = format!("var x: 0..255; {start}{}", each(n, |i| format!("invariant \"i{i}\" x < 3; ")));
    assert_eq!(read("invariants.m", model), Outcome::Read);

    let product = "ruleset a: 0..999; b: 0..999; c: 0..999; d: 0..999 do rule begin x := 1; end; end;";
    let outcome = read("instances.m", format!("var x: 0..255; {start}{product}"));
    assert!(outcome.says("more than 1000000 instances"), "{outcome:?}");
    let starts = "for i: 0..15 do for j: 0..15 do for k: 0..15 do x[i] := j; end; end; end;";
    let model = format!(
        "var x: array [0..15] of 0..255; ruleset a: 0..499; b: 0..999 do startstate begin {starts} end; end;"
    );
    assert_eq!(read("starts.m", model), Outcome::Read);
    let choices = "choose i: m do choose j: m do invariant m[i] = m[j]; end; end;";
    let model = format!("var m: multiset [20000] of 0..1; startstate begin clear m; end; {choices}");
    assert!(read("choices.m", model).says("the model is too large"));
    check_peak();
}

#[test]
fn what_is_nested_too_deeply_is_refused_on_a_small_stack() {
    let start = "startstate begin x := 0; end; ";
    for depth in [60, 100_000] {
        let wrap = |open: &str, inside: &str, close: &str| {
            format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
        };
        let guards = [
            wrap("(", "x", ")"),
            wrap("not ", "x", ""),
            wrap("-", "x", ""),
            wrap("x imply ", "x", ""),
            wrap("a[", "0", "]"),
            wrap("x + (", "x", ")"),
        ];
        for guard in guards {
            let model = dve_of("byte x, a[3];", &format!("s -> s {{ guard {guard}; }}"));
            let outcome = read("deep.dve", model);
            assert_eq!(outcome.says("nested too deeply"), depth > 256, "{outcome:?}");
        }
        let rules = [
            format!("rule {} = 1 ==> begin end;", wrap("(", "x", ")")),
            format!("rule {} ==> begin end;", wrap("!", "(x = 1)", "")),
            format!("rule begin {} end;", wrap("if x = 1 then ", "x := 1; ", "end; ")),
            format!("rule begin {} end;", wrap("while x = 1 do ", "x := 1; ", "end; ")),
            format!("rule begin x := {}; end;", wrap("x + (", "x", ")")),
            wrap("ruleset i: 0..0 do ", "rule begin x := 1; end; ", "end; "),
            format!("rule {} ==> begin end;", wrap("forall i: 0..0 do ", "x = 1 ", "end ")),
            format!("type t: {};", wrap("array [0..0] of ", "boolean", "")),
            format!("type t: {};", wrap("record a: ", "boolean", "; end")),
        ];
        for rule in rules {
            let outcome = read("deep.m", format!("var x: 0..255; {start}{rule}"));
            assert_eq!(outcome.says("nested too deeply"), depth > 200, "{outcome:?}");
        }
    }
}

#[test]
fn what_becomes_deep_only_when_names_are_put_in_is_refused_on_a_small_stack() {
    let start = "startstate begin x := 0; end; ";
    for (depth, deep) in [(150, false), (480, true), (100_000, true)] {
        let types = each(depth, |i| match i {
            0 => "type t0: boolean; ".into(),
            _ => format!("t{i}: record a: t{}; end; ", i - 1),
        });
        let outcome =
            read("types.m", format!("{types}var x: t{}; startstate begin clear x; end;", depth - 1));
        assert_eq!(outcome.says("nested too deeply"), deep, "{outcome:?}");
    }
    for (depth, deep) in [(300, false), (5_000, true), (many(5_000, 50_000), true)] {
        let functions = each(depth, |i| match i {
            0 => "function f0(): 0..255; begin return x; end; ".into(),
            _ => format!("function f{i}(): 0..255; begin return f{}(); end; ", i - 1),
        });
        let rule = format!("rule f{}() = 1 ==> begin x := 1; end;", depth - 1);
        let outcome = read("functions.m", format!("var x: 0..255; {functions}{start}{rule}"));
        assert_eq!(outcome.says("nested too deeply"), deep, "{outcome:?}");
        let procedures = each(depth, |i| match i {
            0 => "procedure p0(); begin x := 1; end; ".into(),
            _ => format!("procedure p{i}(); begin if x = 1 then p{}(); end; end; ", i - 1),
        });
        let rule = format!("rule begin p{}(); end;", depth - 1);
        let outcome = read("procedures.m", format!("var x: 0..255; {procedures}{start}{rule}"));
        assert_eq!(outcome.says("nested too deeply"), deep, "{outcome:?}");
        let called = "function f(): boolean; begin x := 1; return x = 2; end; ";
        let arms = "elsif f() then x := 2; ".repeat(depth);
        let rule = format!("rule begin if f() then x := 1; {arms}end; end;");
        let outcome = read("arms that call.m", format!("var x: 0..255; {called}{start}{rule}"));
        assert_eq!(outcome.says("nested too deeply"), deep, "{outcome:?}");
    }
}

#[test]
fn many_errors_are_told_in_few_words() {
    let n = many(20_000, 1_000_000);
    let transitions = each(n, |i| format!("s -> s {{ guard xy{i} == 1; }},"));
    let names = each(4_000, |i| format!("byte xx{i};"));
    let outcome = read("unknown.dve", dve_of(&names, transitions.trim_end_matches(',')));
    assert!(outcome.says(&format!("... and {} more errors", n - SHOWN_MAX)) || n > 500_000, "{outcome:?}");
    assert!(outcome.says("did you mean") || n > 500_000, "{outcome:?}");
    let n = many(20_000, 300_000);
    let names = each(20_000, |i| format!("xx{i}: boolean; "));
    let rules = each(n, |i| format!("rule xy{i} = 1 ==> begin end; "));
    let outcome = read("unknown.m", format!("var {names}startstate begin end; {rules}"));
    assert!(outcome.says(&format!("... and {} more errors", n - SHOWN_MAX)), "{outcome:?}");
    let bytes = many(1 << 20, 64 << 20);
    for word in
        [";", "@", "\"", "\n", "1+", "{", "(", "/*", "\u{2200}", "x ", "process P { ", "rule ", "end "]
    {
        for name in ["words.dve", "words.m"] {
            let outcome = read(name, word.repeat(bytes / word.len()));
            assert!(
                matches!(outcome, Outcome::Refused(_)) || word == "\n" || word == ";",
                "{word}: {outcome:?}"
            );
        }
    }
    let long = "x".repeat(many(1 << 20, 10 << 20));
    assert!(
        read("name.dve", dve_of(&format!("byte {long};"), "s -> s {}")).says("a name has at most 1000 bytes")
    );
    assert!(read("name.m", format!("var {long}: boolean;")).says("a name has at most 1000 bytes"));
    assert!(
        read("string.m", format!("var x: boolean; rule \"{long}\" begin end;"))
            .says("this string is too long")
    );
    assert!(read("large.m", " ".repeat((64 << 20) + 1)).says("is too long"));
    check_peak();
}
