//! What passes over all states say of themselves, and that they find the same with and without a graph of numbers.

mod command;

use command::{model, run};
use serde_json::Value;

fn check(formula: &str, more: &[&str]) -> Value {
    let path = model("bakery_four.dve");
    let words =
        ["check", &path, "--only", "--ltl", formula, "--engine", "semi-owcty", "--json", "-", "--quiet"];
    let ran = run(&[&words[..], more].concat());
    assert!(matches!(ran.code, Some(0 | 1)), "{}", ran.stderr);
    ran.json()
}

#[test]
fn many_passes_read_steps_as_numbers_if_there_is_room() {
    for (formula, verdict) in
        [("G (P_0.draw -> F (P_0.outside || P_0.look))", "holds"), ("G F P_0.outside", "violated")]
    {
        let by_numbers = check(formula, &["--fair", "weak"]);
        let without = check(formula, &["--fair", "weak", "--disk-limit", "1KiB"]);
        for json in [&by_numbers, &without] {
            assert_eq!(json["properties"][0]["verdict"], verdict, "{formula}");
            assert_eq!(json["passes"]["taken_up"], Value::Null);
        }
        assert!(by_numbers["passes"]["graph"].as_u64() > Some(10_000), "{}", by_numbers["passes"]);
        assert_eq!(without["passes"]["graph"], Value::Null);
        assert_eq!(by_numbers["passes"]["rounds"], without["passes"]["rounds"]);
        assert!(by_numbers["visits"].as_u64() < without["visits"].as_u64(), "steps are made once");
        assert_eq!(by_numbers["states"], without["states"]);
    }
}

#[test]
fn one_trimming_needs_no_graph() {
    let json = check("G !(P_0.critical && P_1.critical)", &[]);
    assert_eq!((&json["passes"]["rounds"], &json["passes"]["graph"]), (&1.into(), &Value::Null));
}
