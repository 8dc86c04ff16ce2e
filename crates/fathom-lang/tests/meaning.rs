//! Does a DVE text mean what the language says? Programs are judged by their dump, expressions by how they group.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its input fails")]

use fathom_lang::diagnostic::Diagnostics;
use fathom_lang::dve::{Compiled, DveOptions, compile, expression};
use fathom_lang::source::SourceText;
use fathom_model::expression::Overflow;
use fathom_model::program::{LABELS_MAX, Role};

fn try_options(text: &str, options: &DveOptions) -> Result<Compiled, Diagnostics> {
    compile(&SourceText::new("folder/model.dve", text), options)
}

fn model(text: &str) -> Compiled {
    let compiled = try_options(text, &DveOptions::default()).unwrap_or_else(|diagnostics| {
        panic!("{}", diagnostics.render(&SourceText::new("model.dve", text), false))
    });
    let problems = fathom_model::verify::problems(&compiled.program);
    assert!(problems.is_empty(), "{problems:?}");
    compiled
}

/// The dump from the first action on.
fn actions(text: &str) -> String {
    let dump = model(text).program.to_string();
    dump[dump.find("action 0").unwrap_or(dump.len())..].to_owned()
}

fn first_error(text: &str) -> String {
    try_options(text, &DveOptions::default()).expect_err("wrong").items()[0].message.clone()
}

const SCOPE: &str = "byte x, y, z; int a[4]; const int K = 7;
process P { byte l, m[2]; const byte c = 3; state s, t; init s; } system async;";

fn shown_in(compiled: &Compiled, text: &str) -> String {
    let source = SourceText::new("expression", text);
    match expression(&compiled.symbols, &source) {
        Ok(expression) => compiled.program.show(&expression),
        Err(diagnostics) => panic!("{}", diagnostics.render(&source, false)),
    }
}

fn shown(text: &str) -> String {
    shown_in(&model(SCOPE), text)
}

fn expression_error(text: &str) -> String {
    let source = SourceText::new("expression", text);
    expression(&model(SCOPE).symbols, &source).expect_err(text).items()[0].message.clone()
}

/// Binary operators from the loosest to the tightest, as C has them, with `imply` below all.
const LEVELS: &[&[&str]] = &[
    &["imply"],
    &["or"],
    &["and"],
    &["|"],
    &["^"],
    &["&"],
    &["==", "!="],
    &["<", "<=", ">", ">="],
    &["<<", ">>"],
    &["+", "-"],
    &["*", "/", "%"],
];

#[test]
fn every_pair_of_binary_operators_groups_as_in_c() {
    let compiled = model(SCOPE);
    for (first_level, first) in
        LEVELS.iter().enumerate().flat_map(|(level, all)| all.iter().map(move |it| (level, it)))
    {
        for (second_level, second) in
            LEVELS.iter().enumerate().flat_map(|(level, all)| all.iter().map(move |it| (level, it)))
        {
            let grouped = if first_level >= second_level {
                format!("(x {first} y) {second} z")
            } else {
                format!("x {first} (y {second} z)")
            };
            let flat = format!("x {first} y {second} z");
            assert_eq!(shown_in(&compiled, &flat), shown_in(&compiled, &grouped), "{flat}");
        }
    }
}

#[test]
fn unary_operators_bind_tightest() {
    assert_eq!(shown("not x == y"), "(not (x) == y)");
    assert_eq!(shown("- x + y"), "(-(x) + y)");
    assert_eq!(shown("not - ~ x"), "not (-(~(x)))");
    assert_eq!(shown("x - - y"), "(x - -(y))");
    assert_eq!(shown("-a[1]"), "-(a[1])");
}

#[test]
fn words_and_signs_of_logic_are_the_same() {
    assert_eq!(shown("x and y or z"), shown("x && y || z"));
    assert_eq!(shown("x and y and (z and x)"), "(x and y and z and x)");
    assert_eq!(shown("x || y or z"), "(x or y or z)");
    assert_eq!(shown("x imply y"), "(not (x) or y)");
    assert_eq!(shown("true and x"), "(x)", "still 0 or 1, not the value of x");
}

#[test]
fn names_reach_globals_constants_states_and_locals() {
    assert_eq!(shown("x + K"), "(x + 7)");
    assert_eq!(shown("P.t"), "(P == 1)");
    assert_eq!(shown("P->l + P->m[P->l] + P->c"), "((P.l + P.m[P.l]) + 3)");
    assert_eq!(shown("2 * K - 3 == 11"), "1");
    assert_eq!(expression_error("l"), "unknown name `l`");
    assert_eq!(expression_error("P.u"), "process `P` has no state `u`");
    assert_eq!(expression_error("P.l"), "process `P` has no state `l`");
    assert_eq!(expression_error("P->t"), "process `P` has no variable `t`");
    assert_eq!(expression_error("Q.s"), "unknown process `Q`");
    assert_eq!(expression_error("a == 1"), "`a` is an array, not a single value");
    assert_eq!(expression_error("x[0]"), "`x` is not an array");
    assert_eq!(expression_error("x ="), "expected an operator or the end of the expression, found `=`");
    assert_eq!(expression_error(""), "expected an expression, found the end of the text");
    assert_eq!(expression_error("x; y"), "expected an operator or the end of the expression, found `;`");
}

#[test]
fn what_faults_is_not_folded_away() {
    assert_eq!(shown("1 / 0"), "(1 / 0)");
    assert_eq!(shown("0 and 1 / 0"), "0");
    assert_eq!(shown("x and 0 and y"), "(x and 0)");
    assert_eq!(shown("a[9]"), "a[9]");
}

#[test]
fn variables_come_in_the_order_of_the_text() {
    let text = "byte g; channel {byte, int} c[2]; int h[2] = {3}; const byte K = 2;
        process P { int j = -K; byte k[K]; state s, t; commit t; init t; }
        process Q { state only; init only; }
        system async;";
    let expected = "\
program model (asynchronous, overflow fault)
  var g: 0..255 = 0
  var c.length: 0..2 = 0
  var c.0[2]: 0..255 = 0, 0
  var c.1[2]: -32768..32767 = 0, 0
  var h[2]: -32768..32767 = 3, 0
  var P: {s, t (committed)} = 1
  var P.j: -32768..32767 = -2
  var P.k[2]: 0..255 = 0, 0
  var Q: {only} = 0
start 0
";
    let compiled = model(text);
    assert_eq!(compiled.program.to_string(), expected);
    let roles: Vec<bool> =
        compiled.program.variables.iter().map(|variable| variable.role == Role::Buffer).collect();
    assert_eq!(roles, [false, true, true, true, false, false, false, false, false]);
}

#[test]
fn a_plain_transition_moves_and_runs_its_effects_in_order() {
    let text = "byte x; process P { state s, t; init s; trans
        s -> t { guard x < 3; effect x = x + 1, x = x * 2; }, -> s {}, t -> s { guard true; }; } system async;";
    let expected = "\
action 0 P: s -> t
    when (x < 3)
    P goes to t
    x := (x + 1)
    x := (x * 2)
action 1 P: s -> s
    P goes to s
action 2 P: t -> s
    P goes to s
";
    assert_eq!(actions(text), expected);
}

#[test]
fn a_rendezvous_passes_values_then_moves_receiver_then_sender() {
    let text = "byte x; channel c;
        process R { byte i, b[2]; state s, t; init s; trans s -> t { guard i < 2; sync c?b[i]; effect i = 1; }; }
        process S { byte v = 5; state s; init s; trans s -> s { guard v > x; sync c!v + 1; effect v = 0; }; }
        system async;";
    let expected = "\
action 0 S: s -> s R: s -> t over c((S.v + 1))
    when ((S.v > x) and (R.i < 2))
    R.b[R.i] := (S.v + 1)
    R goes to t
    R.i := 1
    S goes to s
    S.v := 0
";
    assert_eq!(actions(text), expected);
}

#[test]
fn every_pair_of_sender_and_receiver_in_different_processes_is_an_action() {
    let text = "channel c;
        process A { state s, t; init s; trans s -> t { sync c!; }, s -> s { sync c?; }; }
        process B { state s, t; init s; trans s -> t { sync c?; }, t -> s { sync c!; }, t -> t {}; }
        system async;";
    let expected = "\
action 0 A: s -> t B: s -> t over c()
    B goes to t
    A goes to t
action 1 B: t -> s A: s -> s over c()
    A goes to s
    B goes to s
action 2 B: t -> t
    B goes to t
";
    assert_eq!(actions(text), expected);
}

#[test]
fn a_typed_channel_converts_what_passes() {
    let text = "channel {byte, int} c[0];
        process A { int v; state s; init s; trans s -> s { sync c!{v, v}; }, s -> s { sync c!{7, -1}; }; }
        process B { int w[2]; state s; init s; trans s -> s { sync c?{w[0], w[1]}; }; }
        system async;";
    let expected = "\
action 0 A: s -> s B: s -> s over c(A.v, A.v)
    B.w[0], B.w[1] := (A.v as 0..255), (A.v as -32768..32767)
    B goes to s
    A goes to s
action 1 A: s -> s B: s -> s over c(7, -1)
    B.w[0], B.w[1] := 7, -1
    B goes to s
    A goes to s
";
    assert_eq!(actions(text), expected);
    let unsized_channel = text.replace("c[0]", "c");
    assert_eq!(actions(&unsized_channel), expected, "without a size it has no buffer");
}

#[test]
fn a_buffer_is_a_queue_worked_on_before_the_effects() {
    let text = "channel {byte, int} c[3]; byte x;
        process A { state s; init s; trans s -> s { guard x; sync c!{x, x + 1}; effect x = 0; }; }
        process B { byte v, w; state s; init s; trans s -> s { guard v == 0; sync c?{v, w}; effect v = 0; }; }
        system async;";
    let expected = "\
action 0 A: s -> s over c(x, (x + 1))
    when ((c.length < 3) and x)
    c.0[c.length], c.1[c.length], c.length := x, (x + 1), (c.length + 1)
    A goes to s
    x := 0
action 1 B: s -> s over c(c.0[0], c.1[0])
    when ((c.length > 0) and (B.v == 0))
    B.v, B.w, c.0[0], c.0[1], c.0[2], c.1[0], c.1[1], c.1[2], c.length := \
c.0[0], c.1[0], c.0[1], c.0[2], 0, c.1[1], c.1[2], 0, (c.length - 1)
    B goes to s
    B.v := 0
";
    assert_eq!(actions(text), expected);
}

#[test]
fn a_synchronous_transition_assigns_in_parallel() {
    let text = "byte x, y; process P { state s; init s; trans s -> s { guard x < 3; effect x = y, y = x; }, s -> s {}; }
        process Q { state s; init s; trans s -> s {}; } system sync;";
    let expected = "\
action 0 P: s -> s
    when (x < 3)
    P goes to s
    x, y := y, x
action 1 P: s -> s
    P goes to s
action 2 Q: s -> s
    Q goes to s
";
    assert_eq!(actions(text), expected);
    assert_eq!(model(text).program.action_count(), Some(2));
}

#[test]
fn assertions_become_labels() {
    let text = "process P { byte i; state a, b; init a; assert a: i < 3, b: i == 0, a: i != 7;
        trans a -> b { effect i = i + 1; }, b -> a {}; } system async;";
    let expected = "\
label assert P.a (Assertion): ((P != 0) or (P.i < 3))
label assert P.b (Assertion): ((P != 1) or (P.i == 0))
label assert P.a #2 (Assertion): ((P != 0) or (P.i != 7))
";
    assert!(model(text).program.to_string().ends_with(expected), "{}", model(text).program);
}

#[test]
fn too_many_assertions_are_folded_and_said_so() {
    let many = vec!["a: i < 3"; 20].join(", ");
    let process =
        |number: usize| format!("process P{number} {{ byte i; state a; init a; assert {many}; }}\n");
    let folded = |processes: usize| {
        let text: String = (0..processes).map(process).chain(["system async;".to_owned()]).collect();
        let compiled = model(&text);
        assert!(compiled.program.labels.len() <= LABELS_MAX);
        let said = compiled
            .warnings
            .items()
            .iter()
            .any(|warning| warning.message.contains("assertions are more than"));
        (compiled.program.labels.len(), said)
    };
    assert_eq!(folded(1), (20, false));
    assert_eq!(folded(2), (2, true));
    assert_eq!(folded(31), (31, true));
    assert_eq!(folded(32), (1, true));
}

#[test]
fn a_property_process_is_kept_apart_from_the_system() {
    let text = "process P { byte x; state s, t; init s; trans s -> t { effect x = 1; }; }
        process N { const byte K = 1; state q, r; init q; accept r;
            trans q -> q {}, q -> r { guard not P.s; }, r -> r { guard P->x == K; }; }
        system async property N;";
    let program = model(text).program;
    assert_eq!((program.processes.len(), program.variables.len(), program.actions.len()), (1, 2, 1));
    let expected = "\
property N
    state q (initial)
    state r (accepting)
    q -> q when 1
    q -> r when not ((P == 0))
    r -> r when (P.x == 1)
";
    assert!(program.to_string().ends_with(expected), "{program}");
}

#[test]
fn constants_can_be_given_from_outside() {
    let text =
        "const byte N = 2, M = N + 1; byte a[N] = {N, M}; process P { state s; init s; } system async;";
    let with = |name: &str, value: i64| {
        let constants = vec![(name.to_owned(), value)];
        try_options(text, &DveOptions { constants, overflow: Overflow::Wrap })
    };
    let program = with("N", 4).unwrap().program;
    assert_eq!(program.variables[0].initial, [4, 5, 0, 0], "other constants follow");
    assert_eq!(program.overflow, Overflow::Wrap);
    assert_eq!(with("M", 9).unwrap().program.variables[0].initial, [2, 9]);
    let message = |name: &str, value: i64| with(name, value).unwrap_err().items()[0].message.clone();
    assert_eq!(message("N", 256), "the value 256 given for `N` does not fit `byte`");
    assert_eq!(message("a", 1), "`a` is not a constant: no value can be given for it");
    assert_eq!(message("L", 1), "a value is given for `L`, but the model has no such constant");
}

#[test]
fn a_constant_array_is_a_variable_that_nothing_writes() {
    let text = "const int t[3] = {5, -1, 2}; byte i; process P { state s; init s; trans s -> s { guard t[i] > 0; }; }
        system async;";
    let program = model(text).program;
    assert_eq!((program.variables[0].domain.low, program.variables[0].domain.high), (-1, 5));
    let written = text.replace("guard t[i] > 0", "effect t[i] = 0");
    assert_eq!(first_error(&written), "the constant `t` cannot change");
}

#[test]
fn a_local_variable_hides_a_global_one_and_says_so() {
    let text = "byte x; process P { byte x; state s; init s; trans s -> s { effect x = 1; }; }
        process Q { state s; init s; trans s -> s { effect x = 2; }; } system async;";
    let compiled = model(text);
    assert_eq!(
        actions(text),
        "action 0 P: s -> s\n    P goes to s\n    P.x := 1\naction 1 Q: s -> s\n    Q goes to s\n    x := 2\n"
    );
    assert_eq!(compiled.warnings.items()[0].message, "`x` hides a global variable");
}

#[test]
fn line_ends_and_comments_do_not_matter() {
    let text = "byte x; // one\nprocess P { state s; init s; /* two // three */\n*/ trans s -> s { guard \\\n x; }; }\nsystem async;\n";
    let expected = actions(text);
    assert_eq!(actions(&text.replace('\n', "\r\n")), expected);
}

#[test]
fn spans_point_into_the_text() {
    let text = "byte x; process P { state s, t; init s; trans s -> t { effect x = x + 1; }; } system async;";
    let source = SourceText::new("m", text);
    let program = model(text).program;
    assert_eq!(source.slice(program.actions[0].span), "s -> t { effect x = x + 1; }");
    assert_eq!(source.slice(program.variables[0].span), "x");
    assert_eq!(source.slice(program.processes[0].span), "P");
    assert_eq!(source.slice(program.processes[0].locations[1].span), "t");
}

#[test]
fn long_chains_of_logic_are_flat_and_other_chains_are_limited() {
    let process = "process P { state s; init s; trans s -> s { guard";
    let chain = |word: &str, count: usize| {
        let operands = vec!["x"; count].join(word);
        format!("byte x; {process} {operands}; }}; }} system async;")
    };
    assert_eq!(model(&chain(" or ", 100_000)).program.actions.len(), 1);
    assert_eq!(model(&chain(" and ", 100_000)).program.actions.len(), 1);
    assert_eq!(model(&chain(" + ", 256)).program.actions.len(), 1);
    let message = "this expression is nested too deeply: more than 256 levels";
    assert_eq!(first_error(&chain(" + ", 257)), message);
    for (open, close) in
        [("(", ")"), ("not ", ""), ("- ", ""), ("a[", "]"), ("1 + (", ")"), ("x imply not (", ")")]
    {
        let bomb = format!("{}x{}", open.repeat(100_000), close.repeat(100_000));
        let text = format!("byte x, a[2]; {process} {bomb}; }}; }} system async;");
        assert_eq!(first_error(&text), message, "{open}");
        let fine = format!("{}x{}", open.repeat(60), close.repeat(60));
        model(&format!("byte x, a[2]; {process} {fine}; }}; }} system async;"));
    }
}

#[test]
fn a_small_text_cannot_make_a_huge_program() {
    // Half a million pairs of a hundred nodes each.
    let sum = vec!["x"; 50].join(" + ");
    let sends = vec![format!("s -> s {{ guard {sum}; sync c!; }}"); 700].join(", ");
    let receives = vec![format!("s -> s {{ guard {sum}; sync c?; }}"); 700].join(", ");
    let text = format!(
        "byte x; channel c; process A {{ state s; init s; trans {sends}; }} \
         process B {{ state s; init s; trans {receives}; }} system async;"
    );
    assert_eq!(first_error(&text), "the model is too large: more than 4000000 parts of actions");
    assert_eq!(
        first_error("byte a[65536]; process P { state s; init s; } system async;"),
        "the state is too large: more than 65536 bits"
    );
    assert_eq!(
        first_error("const byte a[4000000000]; process P { state s; init s; } system async;"),
        "an array has 1 to 65536 elements"
    );
    assert_eq!(
        first_error("channel {byte} c[100000]; process P { state s; init s; } system async;"),
        "a channel's buffer holds 0 to 1024 messages"
    );
    let transitions = vec!["s -> s {}"; 65_536].join(", ");
    let process = |name: &str| format!("process {name} {{ state s; init s; trans {transitions}; }}");
    let text = format!("{} {} system sync;", process("A"), process("B"));
    assert_eq!(first_error(&text), "too many joint transitions: 65536 * 65536 is more than 4294967295");
}
