//! Would a mistake be noticed? Products, automata and lassos with one deliberate defect each, and who notices it.

use fathom_ltl::automaton::Automaton;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Labels, Marks, Steps};
use fathom_model::system::{Description, Query, TransitionSystem};
use fathom_search::files::closed_set::ALL_RECUR;
use fathom_search::traces::lasso::Lasso;
use fathom_search::traces::path::Path;
use oracle::bfs::{Limits, explore};
use oracle::forms::random_graph;
use oracle::graph::Graph;
use oracle::random::Random;

use crate::engines::{ENGINES, product, projected};
use crate::formulas::{formula, judged};
use crate::suite::{automata, violates};

/// A system that is a little wrong.
struct Defective<S> {
    system: S,
    defect: Defect,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// Deadlocks do not stutter.
    NoStutter,
    /// Every step carries every mark.
    AllMarks,
    /// No step carries a mark.
    NoMarks,
    /// The last step of a state is lost.
    LostStep,
    /// Where labels fault or nothing is read, steps to the state itself appear.
    Invented,
}

impl<S: TransitionSystem> TransitionSystem for Defective<S> {
    fn shape(&self) -> &Shape {
        self.system.shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.system.initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        let stutter = self.shape().action_count - 1;
        let mut right = Steps::new(self.shape(), fathom_model::steps::Columns::ALL, 64);
        out.clear();
        for record in sources.iter() {
            while self.system.expand(Records::new(record, record.len()), &mut right) == 0 {
                right.grow();
            }
            let count = right.step_count();
            let kept = |step: usize| match self.defect {
                Defect::NoStutter => right.action(step) != stutter,
                Defect::LostStep => step + 1 < count,
                _ => true,
            };
            let mut push = || {
                for step in (0..count).filter(|step| kept(*step)) {
                    let marks = match self.defect {
                        Defect::AllMarks => Marks((1 << self.shape().mark_count) - 1),
                        Defect::NoMarks => Marks::default(),
                        _ => right.marks(step),
                    };
                    out.push(right.target(step), right.action(step), right.movers(step), marks)?;
                }
                if self.defect == Defect::Invented && count == 0 {
                    out.push(record, stutter, Default::default(), Marks(u64::MAX >> 60))?;
                }
                out.finish_source(right.labels(0), right.enabled(0))
            };
            if push().is_err() {
                out.abandon_source();
                break;
            }
        }
        out.source_count()
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.system.label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.system.describe(what)
    }
}

/// How often the judge of verdicts, and the replay of lassos, disagree.
#[derive(Debug, Default)]
struct Noticed {
    verdicts: u32,
    lassos: u32,
}

/// Runs an engine on systems and formulas, with something changed.
fn noticed(search: impl Fn(&Graph, &Automaton, &mut Random) -> Option<Option<(Lasso, u32)>>) -> Noticed {
    let mut noticed = Noticed::default();
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let graph = random_graph(&mut random, 15);
        if graph.shape.labels.is_empty() {
            continue;
        }
        let operators = 1 + random.below(5);
        let formula = formula(&mut random, operators, graph.shape.labels.len());
        let explored = explore(&graph, Limits::states(10_000)).expect("the graph is small");
        let [buchi, _] = automata(&formula, &graph);
        let (Some(expected), Some(found)) =
            (judged(&explored, &formula), search(&graph, &buchi, &mut random))
        else {
            continue;
        };
        noticed.verdicts += u32::from(found.is_some() != expected);
        if let Some((lasso, stutter)) = found {
            noticed.lassos += u32::from(violates(&graph, &formula, &lasso, stutter).is_err());
        }
    }
    noticed
}

fn found(graph: &Graph, automaton: &Automaton, defect: Option<Defect>) -> Option<(Lasso, u32)> {
    let product = product(graph, automaton, &[]);
    let stutter = product.stutter();
    let lasso = match defect {
        Some(defect) => (ENGINES[0].1)(&Defective { system: &product, defect }, ALL_RECUR),
        None => (ENGINES[0].1)(&product, ALL_RECUR),
    };
    lasso.map(|lasso| (projected(&lasso, graph, |record| product.parts(record).0), stutter))
}

#[test]
fn nothing_is_noticed_where_nothing_is_wrong() {
    let none = noticed(|graph, automaton, _| Some(found(graph, automaton, None)));
    assert_eq!((none.verdicts, none.lassos), (0, 0));
}

#[test]
fn a_wrong_product_is_noticed() {
    for (defect, by_lassos) in [
        (Defect::NoStutter, false),
        (Defect::AllMarks, true),
        (Defect::NoMarks, false),
        (Defect::LostStep, false),
        (Defect::Invented, true),
    ] {
        let seen = noticed(|graph, automaton, _| Some(found(graph, automaton, Some(defect))));
        eprintln!("{defect:?}: {seen:?}");
        assert!(seen.verdicts > 0, "{defect:?} changes no verdict");
        assert_eq!(seen.lassos > 0, by_lassos, "{defect:?}: {seen:?}");
    }
}

#[test]
fn a_wrong_automaton_is_noticed() {
    // What accepts too little is noticed by the judge of verdicts alone, what accepts too much by the replay of lassos, too.
    let lost_edge = noticed(|graph, automaton, random| {
        let mut wrong = automaton.clone();
        let state = random.below(wrong.states.len());
        wrong.states[state].pop()?;
        Some(found(graph, &wrong, None))
    });
    let lost_mark = noticed(|graph, automaton, random| {
        let mut wrong = automaton.clone();
        let state = random.below(wrong.states.len());
        wrong.states[state].iter_mut().for_each(|edge| edge.marks = 0);
        Some(found(graph, &wrong, None))
    });
    let wider = noticed(|graph, automaton, random| {
        let mut wrong = automaton.clone();
        let state = random.below(wrong.states.len());
        let edge = wrong.states[state].last_mut()?;
        edge.guard = fathom_ltl::automaton::Guard::always();
        Some(found(graph, &wrong, None))
    });
    let more_marks = noticed(|graph, automaton, random| {
        let mut wrong = automaton.clone();
        let state = random.below(wrong.states.len());
        wrong.states[state].iter_mut().for_each(|edge| edge.marks = 1);
        Some(found(graph, &wrong, None))
    });
    eprintln!("edge lost {lost_edge:?}, mark lost {lost_mark:?}, wider {wider:?}, more marks {more_marks:?}");
    assert!(lost_edge.verdicts > 0 && lost_mark.verdicts > 0);
    assert!(lost_edge.lassos == 0 && lost_mark.lassos == 0, "what is accepted still violates");
    assert!(wider.lassos > 0 && more_marks.lassos > 0);
}

#[test]
fn a_wrong_lasso_is_noticed() {
    for change in 0..5 {
        let seen = noticed(|graph, automaton, random| {
            let (lasso, stutter) = found(graph, automaton, None)?;
            let Lasso { path, mut cycle_start } = lasso;
            let (mut start, states) = (path.start(), path.len());
            let (mut records, mut actions) = (path.records().ok()?, path.actions().ok()?);
            let place = random.below(states as usize);
            match change {
                0 => start += 1,
                1 => actions[place] = actions[place].wrapping_add(1),
                2 => {
                    records.remove(place);
                    actions.remove(place);
                }
                3 => cycle_start = (cycle_start + 1) % states,
                _ => records[place][0] ^= 1,
            }
            Some(Some((Lasso { path: Path::of(start, &records, &actions)?, cycle_start }, stutter)))
        });
        eprintln!("change {change}: {seen:?}");
        assert!(seen.lassos > 0, "change {change}");
    }
}
