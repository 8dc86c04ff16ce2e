//! Random Murphi texts, in what CMurphi and rumur both accept and give one meaning.
//!
//! There are no assumptions: rumur counts a rule whose outcome is discarded as fired, and its state as no deadlock. What may be undefined is asked for before it is read: what the two tools make
//! of copying an undefined value differs.
//! Ranges are small and values are brought into them by `%`, but now and then they are not: then there is a fault to find. Programs are
//! closed and small, so that their state spaces are, too.

use std::fmt::Write as _;

use crate::random::Random;

/// A random program; the same for the same seed.
pub fn random_murphi(seed: u64) -> String {
    let mut writer = Writer {
        random: Random::new(seed),
        text: String::new(),
        names: Vec::new(),
        points: Vec::new(),
        depth: 0,
    };
    writer.model();
    writer.text
}

struct Writer {
    random: Random,
    text: String,
    /// The names that are numbers here, beside the variables.
    names: Vec<String>,
    /// The names that are values of the scalarset here.
    points: Vec<String>,
    depth: u32,
}

const DECLARATIONS: &str = "\
const N: 3;
type
  small: 0..3;
  index: 0..2;
  colour: enum { red, green, blue };
  pair: record left: small; on: boolean; end;
  who: scalarset(2);
var
  x: small;
  y: small;
  b: boolean;
  c: colour;
  a: array [index] of small;
  p: array [boolean] of pair;
  u: small;
  t: who;
  s: array [who] of small;
function next(n: small): small; begin
  if n = 3 then return 0; end;
  return n + 1;
end;
function largest(): small;
var m: small;
begin
  m := 0;
  for i: index do
    if a[i] > m then m := a[i]; end;
  end;
  return m;
end;
procedure swap(var l: small; var r: small);
var t: small;
begin
  t := l;
  l := r;
  r := t;
end;
procedure count(n: small);
begin
  if n = 0 then
    b := !b;
  else
    x := (x + 1) % 4;
    count(n - 1);
  end;
end;
";

const START: &str = "\
  x := 0; y := 1; b := true; c := red;
  for i: index do a[i] := i; end;
  for i: boolean do p[i].left := 2; p[i].on := i; end;
  for i: who do s[i] := 1; end;
";

impl Writer {
    fn model(&mut self) {
        self.text.push_str(DECLARATIONS);
        if self.random.chance(30) {
            let _ = writeln!(self.text, "ruleset z: small do startstate begin\n{START}  y := z;\nend; end;");
        } else {
            let _ = writeln!(self.text, "startstate begin\n{START}end;");
        }
        for number in 0..2 + self.random.below(4) {
            self.rule(number);
        }
        if self.random.chance(40) {
            let condition = self.condition();
            let _ = writeln!(self.text, "invariant \"i\" {condition} | x < 3 | y > 0;");
        }
        for kind in ["cover", "liveness"] {
            if self.random.chance(15) {
                let condition = self.condition();
                let _ = writeln!(self.text, "{kind} \"{kind}\" {condition} | x = y;");
            }
        }
    }

    fn rule(&mut self, number: usize) {
        let quantifier = match self.random.below(5) {
            0 => Some(("i", "index")),
            1 => Some(("j", "small")),
            2 => Some(("h", "who")),
            _ => None,
        };
        if let Some((name, domain)) = quantifier {
            if domain == "who" { &mut self.points } else { &mut self.names }.push(name.to_owned());
            let _ = writeln!(self.text, "ruleset {name}: {domain} do");
        }
        let guard = self.condition();
        let _ = writeln!(
            self.text,
            "rule \"r{number}\" {guard} ==>\nvar v: small; w: pair;\nbegin\n  v := 0; w.left := 1; w.on := b;"
        );
        self.names.push("v".to_owned());
        self.names.push("w.left".to_owned());
        for _ in 0..1 + self.random.below(4) {
            let statement = self.statement();
            let _ = writeln!(self.text, "  {statement};");
        }
        self.names.truncate(self.names.len() - 2);
        self.text.push_str("end;\n");
        if let Some((_, domain)) = quantifier {
            if domain == "who" { &mut self.points } else { &mut self.names }.pop();
            self.text.push_str("end;\n");
        }
    }

    /// A place that holds a small number.
    fn place(&mut self) -> String {
        match self.random.below(7) {
            0 => "x".to_owned(),
            1 => "y".to_owned(),
            5 if !self.points.is_empty() => format!("s[{}]", self.point()),
            2 | 3 => format!("a[{}]", self.index()),
            4 => format!("p[{}].left", self.random.pick(&["b", "true", "false", "c = red"])),
            _ => "v".to_owned(),
        }
    }

    /// A value of the scalarset, where there is one.
    fn point(&mut self) -> String {
        let number = self.random.below(self.points.len());
        self.points[number].clone()
    }

    fn index(&mut self) -> String {
        if self.random.chance(4) {
            return "x".to_owned();
        }
        let number = self.number();
        format!("({number}) % 3")
    }

    /// A number that is not negative.
    fn number(&mut self) -> String {
        self.depth += 1;
        let text = if self.depth > 3 { self.random.below(4).to_string() } else { self.deep_number() };
        self.depth -= 1;
        text
    }

    fn deep_number(&mut self) -> String {
        match self.random.below(15) {
            12 if !self.points.is_empty() => format!("s[{}]", self.point()),
            12 | 13 => "(isundefined(u) ? 3 : u)".to_owned(),
            14 if !self.points.is_empty() => {
                let point = self.point();
                format!("((isundefined(t) | t = {point}) ? 2 : s[{point}])")
            }
            0 => self.random.below(4).to_string(),
            1 => "N".to_owned(),
            2 => "x".to_owned(),
            3 => "y".to_owned(),
            4 => format!("a[{}]", self.index()),
            5 => format!("p[{}].left", self.random.pick(&["b", "!b", "true"])),
            6 if !self.names.is_empty() => {
                let number = self.random.below(self.names.len());
                self.names[number].clone()
            }
            7 => {
                let argument = self.number();
                format!("next(({argument}) % 4)")
            }
            8 => "largest()".to_owned(),
            9 => {
                let (condition, then, otherwise) = (self.condition(), self.number(), self.number());
                format!("(({condition}) ? ({then}) : ({otherwise}))")
            }
            10 => {
                let (left, right) = (self.number(), self.number());
                format!("({left}) {} (({right}) + 1)", self.random.pick(&["/", "%"]))
            }
            _ => {
                let (left, right) = (self.number(), self.number());
                format!("({left}) {} ({right})", self.random.pick(&["+", "*"]))
            }
        }
    }

    fn condition(&mut self) -> String {
        self.depth += 1;
        let text = if self.depth > 3 { "b".to_owned() } else { self.deep_condition() };
        self.depth -= 1;
        text
    }

    fn deep_condition(&mut self) -> String {
        match self.random.below(12) {
            10 if !self.points.is_empty() => {
                format!("(!isundefined(t) & t {} {})", self.random.pick(&["=", "!="]), self.point())
            }
            10 => self.random.pick(&["isundefined(t)", "isundefined(u)", "!isundefined(u)"]).to_string(),
            11 => {
                let name = format!("q{}", self.depth);
                self.points.push(name.clone());
                let inner = self.condition();
                self.points.pop();
                format!("({} {name}: who do {inner} end)", self.random.pick(&["forall", "exists"]))
            }
            0 => self.random.pick(&["b", "!b", "true", "p[b].on", "p[false].on"]).to_string(),
            1 => format!(
                "c {} {}",
                self.random.pick(&["=", "!="]),
                self.random.pick(&["red", "green", "blue"])
            ),
            2 => self.random.pick(&["p[true] = p[false]", "a = a", "isundefined(x)"]).to_string(),
            3 => {
                let (left, right) = (self.condition(), self.condition());
                format!("({left}) {} ({right})", self.random.pick(&["&", "|", "->"]))
            }
            4 => {
                let inner = self.condition();
                format!("!({inner})")
            }
            5 => {
                let name = format!("q{}", self.depth);
                self.names.push(name.clone());
                let inner = self.condition();
                self.names.pop();
                format!("({} {name}: index do {inner} end)", self.random.pick(&["forall", "exists"]))
            }
            _ => {
                let (left, right) = (self.number(), self.number());
                format!("({left}) {} ({right})", self.random.pick(&["=", "!=", "<", "<=", ">", ">="]))
            }
        }
    }

    fn statement(&mut self) -> String {
        self.depth += 1;
        let text = if self.depth > 2 { self.assignment() } else { self.deep_statement() };
        self.depth -= 1;
        text
    }

    fn assignment(&mut self) -> String {
        let (place, number) = (self.place(), self.number());
        if self.random.chance(3) {
            format!("{place} := {number}")
        } else {
            format!("{place} := ({number}) % 4")
        }
    }

    /// A statement inside a loop over numbers, and what the counter is called.
    fn body_of_number(&mut self) -> (String, String) {
        let name = format!("k{}", self.depth);
        self.names.push(name.clone());
        let body = self.statement();
        self.names.pop();
        (name, body)
    }

    /// The same of a loop over points.
    fn body_of_point(&mut self) -> (String, String) {
        let name = format!("k{}", self.depth);
        self.points.push(name.clone());
        let body = self.statement();
        self.points.pop();
        (name, body)
    }

    fn deep_statement(&mut self) -> String {
        match self.random.below(20) {
            16 => {
                let (name, body) = self.body_of_point();
                format!("for {name}: who do {body}; end")
            }
            17 if !self.points.is_empty() => format!("t := {}", self.point()),
            17 => self.random.pick(&["undefine t", "undefine u", "put x"]).to_string(),
            18 => {
                let number = self.number();
                format!("u := ({number}) % 4")
            }
            19 => {
                let (name, body) = self.body_of_number();
                let range = self.random.pick(&["0 to 3 by 2", "2 to 0 by -1", "0 to largest()"]);
                format!("for {name} := {range} do {body}; end")
            }
            0 => {
                let (condition, then, otherwise) = (self.condition(), self.statement(), self.statement());
                format!("if {condition} then {then}; else {otherwise}; end")
            }
            1 => {
                let (subject, first, second) = (self.number(), self.statement(), self.statement());
                format!("switch {subject} case 0, 1: {first}; case 2: {second}; else b := !b; end")
            }
            2 => {
                let (name, body) = self.body_of_number();
                format!("for {name}: index do {body}; end")
            }
            3 => {
                let (name, body) = self.body_of_number();
                format!("for {name} := 0 to x do {body}; end")
            }
            4 => "while v < 3 do v := v + 1; b := !b; end".to_owned(),
            5 => {
                let (place, number) = (self.place(), self.number());
                format!("alias z: {place} do z := (z + ({number})) % 4; end")
            }
            6 => {
                let (left, right) = (self.place(), self.place());
                format!("swap({left}, {right})")
            }
            7 => "count(y)".to_owned(),
            8 => self
                .random
                .pick(&["p[b] := p[!b]", "w := p[b]", "p[true] := w", "clear p[b]", "clear a"])
                .to_string(),
            9 => format!("c := {}", self.random.pick(&["red", "green", "blue"])),
            10 => {
                let condition = self.condition();
                format!("b := {condition}")
            }
            11 if self.random.chance(20) => {
                let condition = self.condition();
                format!("assert {condition} \"a\"")
            }
            12 if self.random.chance(30) => {
                let condition = self.condition();
                format!("if {condition} then return; end")
            }
            _ => self.assignment(),
        }
    }
}
