//! Do `lbt` and `spin -f` agree? Each is asked where it is installed; a test that was skipped says so.

mod random;

use std::collections::HashMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use fathom_ltl::atom::AtomTable;
use fathom_ltl::automaton::{Automaton, Cube, Edge, Guard, Placement, StateId};
use fathom_ltl::evaluate::holds;
use fathom_ltl::formula::Formula;
use fathom_ltl::inclusion::{Common, common_word};
use fathom_ltl::limits::Limits;
use fathom_ltl::parser::parse;
use fathom_ltl::print::never_claim;
use fathom_ltl::translate::translate;
use fathom_ltl::word::Lasso;
use oracle::skip::skipped;
use random::Random;

/// Formulas per peer.
const FORMULAS: u64 = 2_000;

fn agrees(seed: u64, peer: &str, formula: &Formula, theirs: &Automaton) {
    let shown = formula.display::<&str>(&[]).to_string();
    let no = translate(&formula.negated(), Limits::default()).expect("within the limits");
    match common_word(theirs, &no.buchi) {
        Common::None => {}
        Common::Word(word) => panic!("seed {seed}: {peer} and we differ on {shown}: {peer} accepts {word}"),
        Common::TooManyMarks => panic!("seed {seed}: {peer}: too many marks for {shown}"),
    }
}

/// The peer's automata of the formula and of its negation against ours: together both inclusions.
fn compare(seed: u64, peer: &str, operators_max: usize, ask: impl Fn(&Formula) -> Option<Automaton>) -> bool {
    let mut random = Random::new(seed);
    let (operators, atoms) = (1 + random.below(operators_max), 1 + random.below(3));
    let formula = random.formula(operators, atoms);
    let (Some(yes), Some(no)) = (ask(&formula), ask(&formula.negated())) else { return false };
    agrees(seed, peer, &formula, &yes);
    agrees(seed, peer, &formula.negated(), &no);
    true
}

fn run(program: &str, arguments: &[&str], input: &str) -> Option<String> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(input.as_bytes()).ok()?;
    Some(String::from_utf8_lossy(&child.wait_with_output().ok()?.stdout).into_owned())
}

#[test]
fn lbt_agrees() {
    if run("lbt", &[], "t\n").is_none() {
        return skipped("lbt_agrees", "lbt is not installed");
    }
    let compared = (0..FORMULAS + 100).filter(|&seed| compare(seed, "lbt", 7, ask_lbt)).count();
    println!("lbt: {compared} formulas compared");
    assert!(compared as u64 >= FORMULAS, "{compared}");
}

/// spin takes seconds and megabytes for larger formulas; a claim that is not there in a fifth of a second is left out.
#[test]
fn spin_agrees() {
    if run("spin", &["-V"], "").is_none() {
        return skipped("spin_agrees", "spin is not installed");
    }
    let agreeing = (0..4 * FORMULAS).filter(|&seed| compare(seed, "spin", 4, ask_spin));
    let compared = agreeing.take(FORMULAS as usize).count();
    println!("spin: {compared} formulas compared");
    assert!(compared as u64 >= FORMULAS, "{compared}");
}

/// What SPIN would read in our never claim is the language of the formula.
#[test]
fn our_never_claims_say_what_they_should() {
    let ask = |formula: &Formula| {
        let buchi = translate(formula, Limits::default()).expect("within the limits").buchi;
        let claim = never_claim(&buchi, &["p0", "p1", "p2"], None).expect("it has accepting states");
        Some(read_never(&claim).unwrap_or_else(|| panic!("{claim}")))
    };
    assert!((0..1_000).all(|seed| compare(seed, "our never claim", 7, ask)));
}

fn ask_lbt(formula: &Formula) -> Option<Automaton> {
    read_lbt(&run("lbt", &[], &format!("{}\n", prefix(formula)))?)
}

/// lbt's own notation: operators first; `W` and `M` spelled out.
fn prefix(formula: &Formula) -> String {
    let two = |operator: &str, a: &Formula, b: &Formula| format!("{operator} {} {}", prefix(a), prefix(b));
    let chain = |operator: &str, operands: &[Formula]| {
        let texts: Vec<String> = operands.iter().map(prefix).collect();
        format!("{}{}", format!("{operator} ").repeat(texts.len() - 1), texts.join(" "))
    };
    match formula {
        Formula::True => "t".into(),
        Formula::False => "f".into(),
        Formula::Atom(atom) => format!("p{}", atom.index()),
        Formula::Not(a) => format!("! {}", prefix(a)),
        Formula::And(operands) => chain("&", operands),
        Formula::Or(operands) => chain("|", operands),
        Formula::Implies(a, b) => two("i", a, b),
        Formula::Iff(a, b) => two("e", a, b),
        Formula::Next(a) => format!("X {}", prefix(a)),
        Formula::Finally(a) => format!("F {}", prefix(a)),
        Formula::Globally(a) => format!("G {}", prefix(a)),
        Formula::Until(a, b) => two("U", a, b),
        Formula::Release(a, b) => two("V", a, b),
        Formula::WeakUntil(a, b) => format!("| {} G {}", two("U", a, b), prefix(a)),
        Formula::StrongRelease(a, b) => format!("& {} F {}", two("V", a, b), prefix(a)),
    }
}

/// `states acceptance-sets`, then per state: number, initial?, its sets up to -1, edges `target guard` up to -1.
fn read_lbt(text: &str) -> Option<Automaton> {
    let mut lines = text.lines();
    let mut first = lines.next()?.split_whitespace();
    let states: usize = first.next()?.parse().ok()?;
    let marks: u32 = first.next().map_or(Some(0), |count| count.parse().ok())?;
    let mut edges = vec![Vec::new(); states.max(1)];
    let mut initial = 0;
    while let Some(line) = lines.next() {
        let numbers: Vec<i64> = line.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let [state, is_initial, sets @ ..] = numbers.as_slice() else { continue };
        if *is_initial == 1 {
            initial = *state as u32;
        }
        let own = sets.iter().filter(|set| **set >= 0).fold(0u64, |marks, set| marks | 1 << set);
        for line in lines.by_ref().take_while(|line| line.trim() != "-1") {
            let (target, guard) = line.trim().split_once(' ')?;
            let (guard, _) = lbt_guard(&guard.split_whitespace().collect::<Vec<_>>());
            edges[*state as usize].push(Edge { guard, target: StateId(target.parse().ok()?), marks: own });
        }
    }
    Some(Automaton {
        atom_count: 4,
        mark_count: marks,
        initial: StateId(initial),
        states: edges,
        placement: Placement::State,
    })
}

/// A guard in prefix notation, and how many words it took.
fn lbt_guard(words: &[&str]) -> (Guard, usize) {
    match words[0] {
        "t" => (Guard::always(), 1),
        "&" | "|" => {
            let (a, used) = lbt_guard(&words[1..]);
            let (b, more) = lbt_guard(&words[1 + used..]);
            let joined = if words[0] == "&" { both(&a, &b) } else { either(a, b) };
            (joined, 1 + used + more)
        }
        "!" => {
            let atom: u32 = words[1][1..].parse().expect("a number");
            (Guard { cubes: vec![Cube { positive: 0, negative: 1 << atom }] }, 2)
        }
        atom => (
            Guard {
                cubes: vec![Cube { positive: 1 << atom[1..].parse::<u32>().expect("a number"), negative: 0 }],
            },
            1,
        ),
    }
}

fn both(a: &Guard, b: &Guard) -> Guard {
    let pairs = a.cubes.iter().flat_map(|x| b.cubes.iter().map(move |y| (x, y)));
    let joined =
        pairs.map(|(x, y)| Cube { positive: x.positive | y.positive, negative: x.negative | y.negative });
    Guard { cubes: joined.filter(|cube| cube.positive & cube.negative == 0).collect() }
}

fn either(mut a: Guard, b: Guard) -> Guard {
    a.cubes.extend(b.cubes);
    a
}

fn ask_spin(formula: &Formula) -> Option<Automaton> {
    if has_next(formula) {
        return None;
    }
    read_never(&run("timeout", &["0.2", "spin", "-f", &infix(formula)], "")?)
}

/// Debian's spin is built without X.
fn has_next(formula: &Formula) -> bool {
    matches!(formula, Formula::Next(_)) || formula.operands().into_iter().any(has_next)
}

fn infix(formula: &Formula) -> String {
    let two = |a: &Formula, operator: &str, b: &Formula| format!("({} {operator} {})", infix(a), infix(b));
    let chain = |operator: &str, operands: &[Formula]| {
        format!("({})", operands.iter().map(infix).collect::<Vec<_>>().join(operator))
    };
    match formula {
        Formula::True => "true".into(),
        Formula::False => "false".into(),
        Formula::Atom(atom) => format!("p{}", atom.index()),
        Formula::Not(a) => format!("(! {})", infix(a)),
        Formula::And(operands) => chain(" && ", operands),
        Formula::Or(operands) => chain(" || ", operands),
        Formula::Implies(a, b) => format!("((! {}) || {})", infix(a), infix(b)),
        Formula::Iff(a, b) => {
            let (a, b) = (infix(a), infix(b));
            format!("(({a} && {b}) || ((! {a}) && (! {b})))")
        }
        Formula::Next(a) => format!("(X {})", infix(a)),
        Formula::Finally(a) => format!("(<> {})", infix(a)),
        Formula::Globally(a) => format!("([] {})", infix(a)),
        Formula::Until(a, b) => two(a, "U", b),
        Formula::Release(a, b) => two(a, "V", b),
        Formula::WeakUntil(a, b) => format!("({} || ([] {}))", two(a, "U", b), infix(a)),
        Formula::StrongRelease(a, b) => format!("({} && (<> {}))", two(a, "V", b), infix(a)),
    }
}

/// Reads labels, `:: (guard) -> goto label`, `:: atomic { (guard) -> assert(..) }` (the claim is over: a violation,
/// whatever follows) and `skip`. Labels without a line between them name one state.
fn read_never(text: &str) -> Option<Automaton> {
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut accepting = Vec::new();
    let mut steps: Vec<(usize, &str, &str)> = Vec::new();
    let mut fresh = true;
    let body = text.trim().strip_suffix('}')?;
    for line in body.lines().skip(1).map(str::trim) {
        if let Some(label) = line.strip_suffix(':') {
            if fresh || accepting.is_empty() {
                accepting.push(false);
            }
            fresh = false;
            let state = accepting.len() - 1;
            accepting[state] |= label.starts_with("accept");
            labels.insert(label, state);
            continue;
        }
        fresh = true;
        let state = accepting.len().checked_sub(1)?;
        if let Some((guard, target)) = line.strip_prefix("::").and_then(|rest| rest.split_once("-> goto ")) {
            steps.push((state, guard, target));
        } else if let Some(rest) = line.strip_prefix(":: atomic {") {
            steps.push((state, rest.split_once("-> assert")?.0, "accept_all"));
        } else if line == "skip" {
            steps.push((state, "(1)", "accept_all"));
        } else if line.starts_with("::") {
            return None;
        }
    }
    let mut states = vec![Vec::new(); accepting.len()];
    for (state, guard, target) in steps {
        let target = StateId(*labels.get(target)? as u32);
        states[state].push(Edge { guard: never_guard(guard)?, target, marks: u64::from(accepting[state]) });
    }
    Some(Automaton { atom_count: 3, mark_count: 1, initial: StateId(0), states, placement: Placement::State })
}

/// A boolean formula over p0, p1 and p2, as the letters on which it is true.
fn never_guard(text: &str) -> Option<Guard> {
    let mut atoms = AtomTable::from_names(&["p0", "p1", "p2"])?;
    let formula = parse(&text.replace("(1)", "true"), &mut atoms).ok()?;
    let true_on = |letter: &u64| Lasso::new(&[], &[*letter]).is_some_and(|word| holds(&formula, &word));
    let cube = |letter: u64| Cube { positive: letter, negative: !letter & 7 };
    Some(Guard { cubes: (0..8).filter(true_on).map(cube).collect() })
}
