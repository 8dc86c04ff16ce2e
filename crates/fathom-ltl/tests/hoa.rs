//! Is what we write read back as the same language, and is what we do not support refused?

mod random;

use fathom_ltl::automaton::Placement;
use fathom_ltl::evaluate::holds;
use fathom_ltl::hoa::read;
use fathom_ltl::limits::Limits;
use fathom_ltl::print;
use fathom_ltl::translate::{simplify, translate};
use random::Random;

#[test]
fn what_we_write_we_read_back() {
    for seed in 0..1_000u64 {
        let mut random = Random::new(seed);
        let operators = 1 + random.below(8);
        let formula = random.formula(operators, 3);
        let both = translate(&formula, Limits::default()).unwrap();
        for automaton in [&both.generalised, &both.buchi] {
            let text = print::hoa(automaton, &["a \"x\"", "b\\", "c"], Some("a \"title\""));
            let file = read(&text).unwrap_or_else(|mistake| panic!("{}", mistake.render("out.hoa", &text)));
            assert_eq!(file.name.as_deref(), Some("a \"title\""));
            assert_eq!(file.atoms, ["a \"x\"", "b\\", "c"][..automaton.atom_count]);
            assert_eq!(file.automaton.states, automaton.states, "seed {seed}\n{text}");
            assert_eq!(file.automaton.mark_count, automaton.mark_count);
            let reduced = simplify(&file.automaton, Limits::default()).unwrap();
            for _ in 0..8 {
                let word = random.word(3, 3, 4);
                assert_eq!(file.automaton.accepts(&word), holds(&formula, &word), "seed {seed}");
                assert_eq!(reduced.buchi.accepts(&word), holds(&formula, &word), "seed {seed}");
            }
        }
    }
}

/// G F a && G F b in many dresses.
const DRESSES: &[&str] = &[
    "HOA: v1 States: 1 Start: 0 AP: 2 \"a\" \"b\" Acceptance: 2 Inf(0)&Inf(1) --BODY-- State: 0 [0&1] 0 {0 1} [0&!1] 0 {0} [!0&1] 0 {1} [!0&!1] 0 --END--",
    "HOA: v1 /* a /* nested */ comment */ name: \"x\" tool: \"t\" \"1\" acc-name: generalized-Buchi 2 properties: trans-acc foo States: 1 Start: 0 AP: 2 \"a\" \"b\" \
     Alias: @a 0 Alias: @both @a&1 Acceptance: 2 (Inf(1))&(Inf(0)) --BODY-- State: 0 \"only\" [@both] 0 {0 1} [@a & !@both] 0 {0} [!(@a)&1] 0 {1} [!0&!1] 0 --END-- rest",
    "HOA: v1 States: 1 Start: 0 AP: 2 \"a\" \"b\" Acceptance: 2 Inf(0)&Inf(1) --BODY-- State: 0 0 0 {0} 0 {1} 0 {0 1} --END--",
    "HOA: v1 Start: 0 Start: 1 AP: 2 \"a\" \"b\" Acceptance: 3 Inf(2)&Inf(0) --BODY-- State: [!0&!1] 0 0 1 2 3 State: [0&!1] 1 {0} 0 1 2 3 \
     State: [!0&1] 2 {2} 0 1 2 3 State: [0&1] 3 {0 2} 0 1 2 3 --END--",
];

#[test]
fn every_form_we_claim_is_read() {
    let mut random = Random::new(1);
    let words: Vec<_> = (0..200).map(|_| random.word(2, 3, 4)).collect();
    for (index, text) in DRESSES.iter().enumerate() {
        let file = read(text).unwrap_or_else(|mistake| panic!("{}", mistake.render("dress", text)));
        for word in &words {
            let infinitely = |bit: u64| word.cycle().iter().any(|letter| letter & bit != 0);
            // The last dress starts in states 0 and 1 only, so its first letter has no b.
            let first = index < 3 || word.letters()[0] & 2 == 0;
            assert_eq!(
                file.automaton.accepts(word),
                infinitely(1) && infinitely(2) && first,
                "{text}\n{word}"
            );
        }
    }
    let all = read("HOA: v1 States: 1 Start: 0 Acceptance: 0 t --BODY-- State: 0 [t] 0 --END--").unwrap();
    assert!(words.iter().all(|word| all.automaton.accepts(word)));
    let none = read("HOA: v1 States: 0 Acceptance: 0 t AP: 0 --BODY-- --END--").unwrap();
    assert!(words.iter().all(|word| !none.automaton.accepts(word)));
    let state_based = read(DRESSES[3]).unwrap();
    assert_eq!(state_based.automaton.placement, Placement::State);
}

#[test]
fn what_we_do_not_support_is_refused_by_name() {
    let head = "HOA: v1 States: 2 Start: 0 AP: 1 \"a\" ";
    for (text, message) in [
        ("".to_owned(), "begins with `HOA: v1`"),
        ("HOA: v2".to_owned(), "only version `v1`"),
        (format!("{head}Acceptance: 1 Fin(0) --BODY-- --END--"), "Fin"),
        (format!("{head}Acceptance: 2 Inf(0)|Inf(1) --BODY-- --END--"), "disjunction"),
        (format!("{head}Acceptance: 1 Inf(!0) --BODY-- --END--"), "complemented"),
        (format!("{head}Acceptance: 0 f --BODY-- --END--"), "acceptance `f`"),
        (format!("{head}Acceptance: 1 Inf(1) --BODY-- --END--"), "no such acceptance set"),
        (format!("{head}Acceptance: 65 Inf(1) --BODY-- --END--"), "more than 64 acceptance sets"),
        (format!("{head}Strange: 1 Acceptance: 0 t --BODY-- --END--"), "`Strange:` is not supported"),
        (format!("{head} --BODY-- --END--"), "`Acceptance:` is missing"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [t] 0&1 --END--"), "alternating"),
        (format!("{head}Start: 0&1 Acceptance: 0 t --BODY-- --END--"), "alternating"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [t] 2 --END--"), "not among the 2"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [1] 0 --END--"), "no such atom"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [@x] 0 --END--"), "no such alias"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 0 --END--"), "needs 2 edges"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [t] 0 1 --END--"), "some edges"),
        (format!("{head}Acceptance: 0 t --BODY-- State: [t] 0 [t] 0 --END--"), "both the state"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 State: 0 --END--"), "described twice"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0 [0"), "expected `]`"),
        (format!("{head}Acceptance: 0 t --BODY-- State: 0"), "expected `State:` or `--END--`"),
        (format!("{head}Acceptance: 0 t --ABORT--"), "aborted"),
        (format!("{head}States: 3"), "given twice"),
        ("HOA: v1 States: 99999999999999999999999".to_owned(), "too large"),
        ("HOA: v1 States: 9999999999".to_owned(), "more than 1000000 states"),
        ("HOA: v1 AP: 2 \"a\" x".to_owned(), "expected an atom"),
        ("HOA: v1 AP: 1 \"a".to_owned(), "quote is not closed"),
        ("HOA: v1 /* x".to_owned(), "comment is not closed"),
        (
            format!("{head}Acceptance: 0 t --BODY-- State: 0 [{}t] 0 --END--", "!".repeat(1000)),
            "nested too deeply",
        ),
    ] {
        let mistake = read(&text).expect_err(&text).render("f.hoa", &text);
        assert!(mistake.contains(message), "{text}\n{mistake}");
    }
}

#[test]
fn damaged_files_do_not_panic() {
    let (mut read_anyway, mut refused) = (0, 0);
    for seed in 0..20_000u64 {
        let mut random = Random::new(seed);
        let mut bytes = DRESSES[random.below(DRESSES.len())].as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            if bytes.is_empty() {
                break;
            }
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => {
                    bytes.remove(at);
                }
                1 => bytes[at] = b" 019&|!()[]{}\"@tfI:-/*\n"[random.below(23)],
                2 => bytes.truncate(at + 1),
                _ => {
                    let other = random.below(bytes.len());
                    bytes.swap(at, other);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        match read(&text) {
            Ok(file) => {
                read_anyway += 1;
                file.automaton.accepts(&random.word(2, 2, 2));
            }
            Err(mistake) => {
                refused += 1;
                assert!(mistake.render("f.hoa", &text).contains('^'));
            }
        }
    }
    assert!(read_anyway > 100 && refused > 10_000, "{read_anyway} {refused}");
}
