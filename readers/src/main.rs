//! What do other tools see in a file that fathom wrote? `readers KIND FILE` reads it with a library that has nothing to do with fathom, and prints what it found as JSON.

use std::error::Error;
use std::fs;
use std::io::BufReader;

use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, kind, file] = &words[..] else { return Err("readers KIND FILE".into()) };
    let found = match &**kind {
        "itf" => itf(&fs::read_to_string(file)?)?,
        "vcd" => vcd(file)?,
        "sarif" => sarif(&fs::read_to_string(file)?)?,
        "junit" => junit(file)?,
        other => return Err(format!("nobody reads {other}").into()),
    };
    println!("{found}");
    Ok(())
}

fn itf(text: &str) -> Result<Value, Box<dyn Error>> {
    let trace: itf::Trace<itf::Value> = itf::trace_from_str(text)?;
    Ok(json!({ "variables": trace.vars, "states": trace.states.len(), "loop": trace.loop_index }))
}

fn vcd(file: &str) -> Result<Value, Box<dyn Error>> {
    let mut parser = vcd::Parser::new(BufReader::new(fs::File::open(file)?));
    let header = parser.parse_header()?;
    let mut names = Vec::new();
    signals(&header.items, "", &mut names);
    let (mut times, mut changes, mut values) = (Vec::new(), 0u64, std::collections::BTreeMap::new());
    for command in parser {
        match command? {
            vcd::Command::Timestamp(time) => times.push(time),
            vcd::Command::ChangeScalar(code, value) => {
                changes += 1;
                values.insert(code.to_string(), value.to_string());
            }
            vcd::Command::ChangeVector(code, value) => {
                changes += 1;
                values.insert(code.to_string(), value.to_string());
            }
            vcd::Command::ChangeString(code, value) => {
                changes += 1;
                values.insert(code.to_string(), value);
            }
            vcd::Command::ChangeReal(..) => changes += 1,
            _ => {}
        }
    }
    Ok(json!({ "signals": names, "times": times, "changes": changes, "known": values.len() }))
}

fn signals(items: &[vcd::ScopeItem], within: &str, names: &mut Vec<String>) {
    for item in items {
        match item {
            vcd::ScopeItem::Scope(scope) => {
                signals(&scope.items, &format!("{within}{}.", scope.identifier), names);
            }
            vcd::ScopeItem::Var(variable) => names.push(format!("{within}{}", variable.reference)),
            _ => {}
        }
    }
}

fn sarif(text: &str) -> Result<Value, Box<dyn Error>> {
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(text)?;
    let runs = log.runs.iter().map(|run| {
        let results = run.results.iter().flatten();
        let steps: Vec<usize> = results
            .clone()
            .flat_map(|result| result.code_flows.iter().flatten())
            .flat_map(|flow| flow.thread_flows.iter().map(|thread| thread.locations.len()))
            .collect();
        let rules: Vec<&String> = results.filter_map(|result| result.rule_id.as_ref()).collect();
        json!({ "tool": run.tool.driver.name, "rules": rules, "steps": steps })
    });
    Ok(json!({ "runs": runs.collect::<Vec<_>>() }))
}

fn junit(file: &str) -> Result<Value, Box<dyn Error>> {
    let all = junit_parser::from_reader(BufReader::new(fs::File::open(file)?))?;
    let cases: Vec<Value> = all
        .suites
        .iter()
        .flat_map(|suite| &suite.cases)
        .map(|case| {
            json!({ "name": case.original_name, "classname": case.classname, "failed": case.status.is_failure(), "skipped": case.status.is_skipped() })
        })
        .collect();
    Ok(json!({ "tests": all.suites.iter().map(|suite| suite.tests).sum::<u64>(), "cases": cases }))
}
