//! Which engines can be named on the command line? Those of the registry.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fathom_search::engines::engine::{Engine, Run};
use fathom_search::engines::{auto, registry};

/// What searches if nobody says otherwise.
pub(super) const DEFAULT: &str = auto::ENGINE.name;

/// Any engine.
pub(super) fn checking() -> impl TypedValueParser<Value = &'static Engine> {
    parser(|_| true, |engine| engine.help)
}

/// An engine that expands all states.
pub(super) fn exploring() -> impl TypedValueParser<Value = &'static Engine> {
    parser(Engine::explores, |engine| match engine.run {
        Run::Chooses { exploring, .. } => exploring,
        _ => engine.help,
    })
}

fn parser(
    is_one: fn(&Engine) -> bool,
    help: fn(&Engine) -> &'static str,
) -> impl TypedValueParser<Value = &'static Engine> {
    let engines = registry::ENGINES.into_iter().filter(move |engine| is_one(engine));
    let values = engines.map(move |engine| PossibleValue::new(engine.name).help(help(engine)));
    PossibleValuesParser::new(values).map(|name| registry::named(&name).expect("it is one of the values"))
}
