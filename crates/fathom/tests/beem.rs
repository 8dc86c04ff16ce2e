//! Published models against their published figures and drawings. They are not part of the project: without `../shared/beem` beside it these tests
//! say that they are skipped.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use fathom_disk::budget::Budget;
use fathom_exec::interpreter::Interpreter;
use fathom_lang::dve::{DveOptions, compile};
use fathom_lang::source::SourceText;
use fathom_model::expression::{Expression, Overflow};
use fathom_model::program::{Label, LabelKind, Program, PropertyProcess};
use fathom_model::system::TransitionSystem;
use fathom_model::values::PossibleValues;
use fathom_search::bodies::stages::run;
use fathom_search::engines::ram::RamTable;
use fathom_search::task::{Ending, Settings, Task, Tuning};
use oracle::bfs::{Limits, explore};
use oracle::skip::skipped;

/// Instances with more states are left to `cargo xtask corpus`.
const STATES_MAX: u64 = 2_000_000;
/// Instances whose published figures are of values that wrap around.
const WRAPPING: [&str; 4] = ["anderson.1", "anderson.3", "anderson.5", "anderson.7"];
/// The drawings stop at this distance from the initial state.
const DRAWN_DISTANCE: usize = 32;

fn corpus(test: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/beem");
    if !folder.exists() {
        skipped(test, "../shared/beem is not there");
        return None;
    }
    Some(folder)
}

fn program_of(path: &Path, overflow: Overflow) -> Option<Program> {
    let text = std::fs::read_to_string(path).expect("the corpus is text");
    let source = SourceText::new(path.display().to_string(), text);
    compile(&source, &DveOptions { overflow, ..DveOptions::default() }).ok().map(|compiled| compiled.program)
}

#[test]
fn published_instances_have_their_published_figures() {
    let Some(folder) = corpus("published_instances_have_their_published_figures") else { return };
    let table = std::fs::read_to_string(folder.join("reference.tsv")).expect("the table of figures is there");
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [states, transitions, depth, deadlocks] =
            [1, 2, 3, 4].map(|column| cells[column].parse::<u64>().ok());
        let path = folder.join("models").join(format!("{}.dve", cells[0]));
        if states.is_none_or(|states| states > STATES_MAX) || !path.exists() {
            continue;
        }
        let overflow = if WRAPPING.contains(&cells[0]) { Overflow::Wrap } else { Overflow::Fault };
        let found = figures(&path, overflow);
        for (published, found) in [states, transitions, depth, deadlocks].into_iter().zip(found) {
            assert!(
                published.is_none_or(|published| published == found),
                "{}: {published:?}, found {found}",
                cells[0]
            );
        }
        compared += 1;
    }
    eprintln!("{compared} instances compared");
    assert!(compared > 100, "the corpus has more instances of that size");
}

/// States, transitions, depth and deadlocks.
fn figures(path: &Path, overflow: Overflow) -> [u64; 4] {
    let program = program_of(path, overflow).expect("published models are accepted");
    let system = Interpreter::new(program.clone(), &PossibleValues::of(&program));
    let budget = Budget::unlimited();
    let mut table = RamTable::new(system.shape(), &budget, 2).expect("nothing is refused");
    let settings = Settings {
        threads: 2,
        conditions: Vec::new(),
        stop_at_first: false,
        findings_max: 1,
        max_depth: None,
        coverage: false,
        tuning: Tuning::default(),
    };
    let outcome = run(Task::new(&system, &budget, &settings), &mut table).expect("nothing is refused");
    assert_eq!(outcome.ending, Ending::Complete);
    [outcome.expanded, outcome.transitions, outcome.layers.len() as u64 - 1, outcome.deadlocks]
}

/// A digraph with parallel edges, an initial node 0 and accepting nodes.
struct Drawing {
    successors: Vec<Vec<usize>>,
    accepting: Vec<bool>,
}

#[test]
fn drawn_graphs_are_isomorphic_to_ours() {
    let Some(folder) = corpus("drawn_graphs_are_isomorphic_to_ours") else { return };
    let mut compared = 0;
    for entry in std::fs::read_dir(folder.join("divine-tests")).expect("the folder is there") {
        let drawing = entry.expect("the folder can be read").path();
        if drawing.extension().is_none_or(|extension| extension != "dot") {
            continue;
        }
        let theirs = read_drawing(&std::fs::read_to_string(&drawing).expect("drawings are text"));
        let program =
            program_of(&drawing.with_extension(""), Overflow::Fault).expect("drawn models are accepted");
        assert!(isomorphic(&theirs, &drawn(program)), "{}", drawing.display());
        compared += 1;
    }
    eprintln!("{compared} drawings compared");
    assert!(compared > 10, "there are more drawings");
}

fn read_drawing(text: &str) -> Drawing {
    let (mut numbers, mut accepting, mut edges) = (HashMap::new(), Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words {
            [from, "->", to, ..] => edges.push((from.to_owned(), to.to_owned())),
            [name, attribute, ..] if attribute.starts_with('[') && name.parse::<u32>().is_ok() => {
                numbers.insert(name.to_owned(), accepting.len());
                accepting.push(line.contains("peripheries=2"));
            }
            _ => {}
        }
    }
    let mut successors = vec![Vec::new(); accepting.len()];
    for (from, to) in edges {
        successors[numbers[&from]].push(numbers[&to]);
    }
    Drawing { successors, accepting }
}

/// The graph of a program, or of its product with its property process, as far as the drawings go.
fn drawn(mut program: Program) -> Drawing {
    let property = program.property.take().unwrap_or_else(unconditional);
    program.labels = property
        .edges
        .iter()
        .map(|edge| Label {
            name: String::new(),
            kind: LabelKind::Atom,
            expression: edge.guard.clone().unwrap_or_else(|| Expression::constant(1, edge.span)),
            span: edge.span,
        })
        .collect();
    let graph =
        explore(&Interpreter::new(program.clone(), &PossibleValues::of(&program)), Limits::states(10_000))
            .expect("drawn graphs are small");
    let mut numbers: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    let mut nodes = vec![(graph.starts[0].1, property.initial)];
    numbers.insert(nodes[0], 0);
    let (mut successors, mut distances): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), vec![0]);
    while let Some(&(state, location)) = nodes.get(successors.len()) {
        let distance = distances[successors.len()];
        let steps = &graph.states[state].steps;
        let stutter = [state];
        let targets: Vec<usize> = if steps.is_empty() && property.edges.len() > 1 {
            stutter.to_vec()
        } else {
            steps.iter().map(|step| step.target).collect()
        };
        let enabled = |(number, edge): &(usize, &fathom_model::program::PropertyEdge)| {
            edge.from == location && graph.states[state].labels.holds(*number)
        };
        let mut next = Vec::new();
        for target in targets.into_iter().filter(|_| distance < DRAWN_DISTANCE) {
            for (_, edge) in property.edges.iter().enumerate().filter(enabled) {
                let number = *numbers.entry((target, edge.to)).or_insert_with(|| {
                    nodes.push((target, edge.to));
                    distances.push(distance + 1);
                    nodes.len() - 1
                });
                next.push(number);
            }
        }
        successors.push(next);
    }
    let accepting = nodes.iter().map(|(_, location)| property.accepting[*location as usize]).collect();
    Drawing { successors, accepting }
}

/// A property process that lets everything pass.
fn unconditional() -> PropertyProcess {
    let span = fathom_model::span::Span::default();
    PropertyProcess {
        name: String::new(),
        locations: vec![fathom_model::program::Location { name: String::new(), committed: false, span }],
        initial: 0,
        accepting: vec![false],
        edges: vec![fathom_model::program::PropertyEdge { from: 0, to: 0, guard: None, span }],
        span,
    }
}

/// Nodes are coloured by what they reach until colours settle; then equal colours are matched by trying.
fn isomorphic(left: &Drawing, right: &Drawing) -> bool {
    let counts = |drawing: &Drawing| {
        (drawing.successors.len(), drawing.successors.iter().map(Vec::len).sum::<usize>())
    };
    if counts(left) != counts(right) {
        return false;
    }
    let (left_colours, right_colours) = (colours(left), colours(right));
    let sorted = |colours: &[u64]| {
        let mut sorted = colours.to_vec();
        sorted.sort_unstable();
        sorted
    };
    if sorted(&left_colours) != sorted(&right_colours) {
        return false;
    }
    let mut partner = vec![None; left.successors.len()];
    let mut taken = vec![false; right.successors.len()];
    extend(left, right, &left_colours, &right_colours, 0, &mut partner, &mut taken)
}

/// Matches node by node, taking a match back when its edges do not fit.
fn extend(
    left: &Drawing,
    right: &Drawing,
    left_colours: &[u64],
    right_colours: &[u64],
    node: usize,
    partner: &mut Vec<Option<usize>>,
    taken: &mut Vec<bool>,
) -> bool {
    if node == left.successors.len() {
        return true;
    }
    let edges = |graph: &Drawing, from: usize, to: usize| {
        graph.successors[from].iter().filter(|it| **it == to).count()
    };
    for candidate in 0..right.successors.len() {
        if taken[candidate] || left_colours[node] != right_colours[candidate] {
            continue;
        }
        partner[node] = Some(candidate);
        let fits = (0..=node).all(|other| {
            let image = partner[other].expect("earlier nodes are matched");
            edges(left, node, other) == edges(right, candidate, image)
                && edges(left, other, node) == edges(right, image, candidate)
        });
        if fits {
            taken[candidate] = true;
            if extend(left, right, left_colours, right_colours, node + 1, partner, taken) {
                return true;
            }
            taken[candidate] = false;
        }
        partner[node] = None;
    }
    false
}

fn colours(drawing: &Drawing) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let count = drawing.successors.len();
    let mut predecessors = vec![Vec::new(); count];
    for (from, successors) in drawing.successors.iter().enumerate() {
        successors.iter().for_each(|to| predecessors[*to].push(from));
    }
    let mut colours: Vec<u64> =
        (0..count).map(|node| u64::from(node == 0) * 2 + u64::from(drawing.accepting[node])).collect();
    for _ in 0..count.min(64) {
        let around = |nodes: &[usize]| {
            let mut around: Vec<u64> = nodes.iter().map(|node| colours[*node]).collect();
            around.sort_unstable();
            around
        };
        colours = (0..count)
            .map(|node| {
                let mut hasher = DefaultHasher::new();
                (colours[node], around(&drawing.successors[node]), around(&predecessors[node]))
                    .hash(&mut hasher);
                hasher.finish()
            })
            .collect();
    }
    colours
}

#[test]
fn isomorphism_tells_graphs_apart() {
    let drawing = |successors: &[&[usize]]| Drawing {
        successors: successors.iter().map(|it| it.to_vec()).collect(),
        accepting: vec![false; successors.len()],
    };
    let cycle = drawing(&[&[1], &[2], &[3], &[0]]);
    assert!(isomorphic(&cycle, &drawing(&[&[3], &[0], &[1], &[2]])));
    assert!(!isomorphic(&cycle, &drawing(&[&[1], &[0], &[3], &[2]])));
    assert!(!isomorphic(&drawing(&[&[1, 1], &[]]), &drawing(&[&[1], &[1]])));
}
