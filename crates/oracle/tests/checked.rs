//! Does `Checked` let honest systems pass and catch each broken promise?

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use fathom_model::checked::Checked;
use fathom_model::expression::Domain;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Columns, Labels, Marks, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use oracle::bfs::{Limits, explore};
use oracle::forms::{Form, random_graph};
use oracle::graph::Graph;
use oracle::random::Random;

/// What an unfaithful system does wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sabotage {
    None,
    /// The second of two equal questions is answered in another order.
    Order,
    /// Records have a bit beyond their width.
    Padding,
    /// Batches finish fewer sources than they say.
    Finished,
    /// Labels change from call to call.
    Labels,
    /// The label column and `label` differ.
    LabelColumn,
    /// A batch gives other steps than its sources alone.
    Batch,
    /// Initial states come in another order each time.
    Initial,
}

struct Saboteur {
    graph: Graph,
    sabotage: Sabotage,
    flip: AtomicBool,
}

impl Saboteur {
    /// Every other time.
    fn flips(&self) -> bool {
        self.flip.fetch_xor(true, Ordering::Relaxed)
    }

    /// Hands on what the graph gave, changed.
    fn repeat(&self, steps: &Steps, out: &mut Steps, reverse: bool) {
        out.clear();
        for source in 0..steps.source_count() {
            let range = steps.steps_of(source);
            let order: Vec<usize> = if reverse { range.rev().collect() } else { range.collect() };
            for step in order {
                let mut target = steps.target(step).to_vec();
                if self.sabotage == Sabotage::Padding {
                    target[0] |= 1 << 63;
                }
                out.push(&target, steps.action(step), steps.movers(step), steps.marks(step))
                    .expect("as much room as the graph had");
            }
            let mut labels = steps.labels(source);
            if self.sabotage == Sabotage::LabelColumn {
                labels.0 ^= 1;
            }
            out.finish_source(labels, steps.enabled(source)).expect("as much room as the graph had");
        }
    }
}

impl TransitionSystem for Saboteur {
    fn shape(&self) -> &Shape {
        self.graph.shape()
    }

    fn initial(&self, out: &mut Steps) {
        let mut honest = out.clone();
        self.graph.initial(&mut honest);
        self.repeat(&honest, out, self.sabotage == Sabotage::Initial && self.flips());
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let mut honest = out.clone();
        let finished = self.graph.expand(sources, &mut honest);
        let reverse = match self.sabotage {
            Sabotage::Order => self.flips(),
            Sabotage::Batch => sources.len() > 1,
            _ => false,
        };
        self.repeat(&honest, out, reverse);
        if self.sabotage == Sabotage::Finished { finished + 1 } else { finished }
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.graph.label(records, out);
        if self.sabotage == Sabotage::Labels && self.flips() {
            out.iter_mut().for_each(|labels| labels.0 ^= 1);
        }
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.graph.describe(what)
    }
}

fn complete() -> Graph {
    let mut graph = Graph::new(&Form::Complete.successors(6, &mut Random::new(0)), &[0, 1, 2]);
    graph.shape.labels = vec!["label".into()];
    graph
}

/// Explores, and asks for batches as well; what the wrapper complained of, if it did.
fn complaint(system: impl TransitionSystem) -> Option<String> {
    let checked = Checked(system);
    let run = catch_unwind(AssertUnwindSafe(|| {
        let judged = explore(&checked, Limits::states(1000)).expect("small");
        let words: Vec<u64> = judged.states.iter().flat_map(|state| state.record.clone()).collect();
        let records = Records::new(&words, checked.shape().words());
        let mut steps = Steps::new(checked.shape(), Columns::ALL, 4096);
        checked.expand(records, &mut steps);
        checked.label(records, &mut vec![Labels::default(); records.len()]);
    }));
    let panic = run.err()?;
    let words = panic.downcast_ref::<String>().cloned();
    Some(words.unwrap_or_else(|| panic.downcast_ref::<&str>().expect("a panic with words").to_string()))
}

fn complaint_about(sabotage: Sabotage) -> Option<String> {
    complaint(Saboteur { graph: complete(), sabotage, flip: AtomicBool::new(false) })
}

fn assert_complains(complaint: Option<&str>, words: &str) {
    assert!(complaint.is_some_and(|it| it.contains(words)), "{words}: {complaint:?}");
}

#[test]
fn honest_systems_pass() {
    assert_eq!(complaint_about(Sabotage::None), None);
    for seed in 0..200 {
        assert_eq!(complaint(random_graph(&mut Random::new(seed), 80)), None, "seed {seed}");
    }
}

#[test]
fn each_broken_promise_is_caught() {
    let all = [
        (Sabotage::Order, "the same targets again"),
        (Sabotage::Padding, "padding is zero"),
        (Sabotage::Finished, "what is finished is what is there"),
        (Sabotage::Labels, "labels depend on the record alone"),
        (Sabotage::LabelColumn, "expand and label agree"),
        (Sabotage::Batch, "the same target alone"),
        (Sabotage::Initial, "the same targets again"),
    ];
    for (sabotage, words) in all {
        assert_complains(complaint_about(sabotage).as_deref(), words);
    }
}

#[test]
fn an_action_mark_or_label_numbered_too_high_is_caught() {
    let mut graph = complete();
    graph.nodes[3].edges[0].action = graph.shape.action_count;
    assert_complains(complaint(graph).as_deref(), "actions below the shape's count");
    let mut graph = complete();
    graph.shape.mark_count = 2;
    graph.nodes[3].edges[0].marks = Marks(4);
    assert_complains(complaint(graph).as_deref(), "marks below the shape's count");
    let mut graph = complete();
    graph.nodes[3].labels = Labels(2);
    assert_complains(complaint(graph).as_deref(), "only the shape's labels");
}

#[test]
fn a_code_out_of_range_is_caught() {
    let mut graph = complete();
    assert_eq!(complaint(graph.clone()), None);
    // Six nodes take three bits, and of their codes 0 to 5 the last is no value now.
    let mut component = graph.shape.components[0].clone();
    component.element_bits = 3;
    component.low = 0;
    component.domain = Domain::new(0, 4);
    graph.shape.components = vec![component];
    assert_complains(complaint(graph).as_deref(), "has a code out of range");
}

#[test]
fn a_graph_describes_itself() {
    let mut graph = random_graph(&mut Random::new(3), 50);
    graph.shape.labels = vec!["happy".into()];
    for node in 0..graph.nodes.len() {
        let record = graph.record(node).to_vec();
        let words = graph.describe(Query::Record(&record));
        assert_eq!(words.title, format!("node {node}"));
        assert_eq!(words.values.len(), graph.shape.components.len());
        assert!(graph.describe(Query::Label { record: &record, label: 0 }).title.starts_with("happy"));
        for edge in &graph.nodes[node].edges {
            let words = graph.describe(Query::Step { source: &record, action: edge.action });
            assert!(words.title.ends_with(&format!("{node} -> {}", edge.target)), "{}", words.title);
        }
    }
}
