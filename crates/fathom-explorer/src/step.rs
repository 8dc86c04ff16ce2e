//! What are the words for a step? Who moves, what passes, where it stands in the source.

use fathom_lang::source::SourceText;
use fathom_model::span::Span;
use fathom_model::system::{Description, Query, TransitionSystem};
use serde::{Deserialize, Serialize};

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// `P_0: wait -> critical`, or the name of a rule.
    pub title: String,
    /// The number of the action, for programs that follow the trace.
    pub action: u32,
    /// The line in the source, from 1.
    pub line: Option<usize>,
    /// The column.
    pub column: Option<usize>,
    /// Who moves.
    pub moves: Vec<TraceMove>,
    /// What passes.
    pub message: Option<TraceMessage>,
    /// What was chosen out of multisets: names, and the elements they stand for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chosen: Vec<(String, String)>,
}

/// One process's part in a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceMove {
    /// Who.
    pub process: String,
    /// Where from.
    pub from: String,
    /// Where to.
    pub to: String,
    /// The line of its transition.
    pub line: Option<usize>,
}

/// A message that passes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceMessage {
    /// Over which channel.
    pub channel: String,
    /// From whom, unless it comes out of a buffer.
    pub sender: Option<String>,
    /// To whom, unless it goes into a buffer.
    pub receiver: Option<String>,
    /// What.
    pub values: Vec<String>,
}

/// The words for a step from a state.
pub fn step(
    system: &dyn TransitionSystem,
    source: Option<&SourceText>,
    from: &[u64],
    action: u32,
) -> TraceStep {
    let words = system.describe(Query::Step { source: from, action });
    let (line, column) = position(source, words.span);
    TraceStep {
        title: words.title.clone(),
        action,
        line,
        column,
        moves: words
            .moves
            .iter()
            .map(|it| TraceMove {
                process: it.process.clone(),
                from: it.from.clone(),
                to: it.to.clone(),
                line: position(source, Some(it.span)).0,
            })
            .collect(),
        chosen: words.values.clone(),
        message: message(words),
    }
}

impl TraceStep {
    /// Nothing can move, and time goes on.
    pub fn stay(action: u32) -> TraceStep {
        let title = "nothing can move".to_owned();
        TraceStep {
            title,
            action,
            line: None,
            column: None,
            moves: Vec::new(),
            message: None,
            chosen: Vec::new(),
        }
    }
}

fn message(words: Description) -> Option<TraceMessage> {
    words.exchange.map(|it| TraceMessage {
        channel: it.channel,
        sender: it.sender,
        receiver: it.receiver,
        values: it.values,
    })
}

/// Line and column; none for a span that is nowhere in particular.
pub fn position(source: Option<&SourceText>, span: Option<Span>) -> (Option<usize>, Option<usize>) {
    match source.zip(span.filter(|span| *span != Span::default())) {
        Some((source, span)) => {
            let position = source.position(span.start);
            (Some(position.line), Some(position.column))
        }
        None => (None, None),
    }
}
