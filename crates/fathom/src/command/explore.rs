//! `fathom explore`: how many states does a model have, and how do they lie?

use anyhow::Context;
use fathom_check::answers::{explore, progress_report, widths};
use fathom_check::engines::liveness_search;
use fathom_check::export::{self, GraphFormat, RecordFile};
use fathom_check::folder::home::Home;
use fathom_check::folder::identity::Identity;
use fathom_check::model::assemble::{Model, ModelSettings};
use fathom_check::model::execution::Execution;
use fathom_check::questions::liveness_property::{LivenessProperty, LivenessQuestions};
use fathom_model::system::TransitionSystem;
use fathom_search::engines::engine::Files;

use super::{
    Output, granted, home, leave_word, print, print_summary, read_model, say, searched, settle, watcher,
};
use crate::observer::Watcher;
use crate::report::json::{self, Report};
use crate::report::page::{self, Page};
use crate::report::{self, Exit, text};
use crate::session::Session;
use crate::settings::{Dump, ExploreSettings};

/// Explores a model and reports.
pub fn run(settings: &ExploreSettings, session: &Session) -> anyhow::Result<Exit> {
    let model = read_model(&settings.model, &settings.resources, settings.output.quiet)?;
    if let Some(dump) = settings.dump {
        print(&dumped(&model, dump, settings, session)?)?;
        return Ok(Exit::Success);
    }
    let resources = granted(&settings.resources, settings.output.quiet);
    let settings = &ExploreSettings { resources, ..settings.clone() };
    let json_output = Output::open_all(settings.output.json.as_ref())?;
    let graph = settings
        .graph
        .as_ref()
        .map(|(format, destination)| Ok::<_, anyhow::Error>((*format, Output::open(destination)?)))
        .transpose()?;
    let taken = [json_output.as_ref(), graph.as_ref().map(|(_, output)| output)]
        .into_iter()
        .flatten()
        .any(Output::is_standard);
    let product = match &settings.product {
        Some(formula) => Some(product_with(&model, formula.as_deref())?),
        None => {
            note_property_process(&model, &settings.model, settings.output.quiet);
            None
        }
    };
    if let Some((format, output)) = graph {
        write_graph(&model, format, output)?;
    }
    let home = home_of(&model, product.as_ref(), settings, session)?;
    let watcher = watcher(session, &settings.output, &settings.resources, home.as_ref())?;
    let watcher = with_records(watcher, &model, settings)?;
    let mut exploration = searched(
        home.as_ref(),
        explore::explore(
            &model,
            product.as_ref(),
            &settings.engine,
            &settings.resources,
            &watcher,
            home.as_ref(),
        ),
    )?;
    settle(home.as_ref(), &mut exploration)?;
    let summary = text::exploration(&model, &exploration, settings.output.stats);
    print_summary(&summary, settings.output.quiet, taken)?;
    if let Some(output) = json_output {
        output.write(json::to_text(&Report::of_exploration(&model, &exploration)).as_bytes())?;
    }
    leave_word(&exploration, |out| {
        let report = Report::of_exploration(&model, &exploration);
        page::write_shown(&Page::new(&model, &[], Vec::new(), report, &session.history()), out)
    });
    Ok(if exploration.limit.is_some() { Exit::GaveUp } else { Exit::Success })
}

/// A place for files, if the engine may have any.
fn home_of(
    model: &Model,
    product: Option<&LivenessProperty>,
    settings: &ExploreSettings,
    session: &Session,
) -> anyhow::Result<Option<Home>> {
    if settings.engine.engine.files == Files::None {
        return Ok(None);
    }
    let identity = match product {
        Some(property) => {
            let system = liveness_search::product(
                model,
                property,
                &property.automaton,
                (&[], false),
                Execution::Interpreted,
            )?;
            Identity::of_exploration(model, &settings.model, product, system.shape())
        }
        None => {
            let system = model.interpreter(Vec::new());
            Identity::of_exploration(model, &settings.model, None, system.shape())
        }
    };
    home(&settings.disk, settings.engine.engine, identity, settings.output.quiet, session).map(Some)
}

/// The property whose automaton the model is explored with.
pub(super) fn product_with(model: &Model, formula: Option<&str>) -> anyhow::Result<LivenessProperty> {
    let found = match formula {
        Some(formula) => {
            let questions =
                LivenessQuestions { formulas: vec![formula.to_owned()], ..LivenessQuestions::default() };
            questions.properties(model)?.pop()
        }
        None => LivenessProperty::of_model(model)?,
    };
    found.with_context(|| {
        format!("{} states no property process: give a formula with --ltl", model.source().name())
    })
}

fn dumped(
    model: &Model,
    dump: Dump,
    settings: &ExploreSettings,
    session: &Session,
) -> anyhow::Result<String> {
    Ok(match dump {
        Dump::Program => model.program().to_string(),
        Dump::Layout => {
            let watcher = watcher(session, &settings.output, &settings.resources, None)?;
            widths::table(model, &widths::observe(model, &settings.resources, &watcher)?)
        }
        Dump::Progress => {
            let watcher = watcher(session, &settings.output, &settings.resources, None)?;
            let measure = settings.engine.expression();
            let found = progress_report::report(model, measure, &settings.resources, &watcher)?;
            report::progress::report(&found)
        }
        Dump::Components => {
            let watcher = watcher(session, &settings.output, &settings.resources, None)?;
            report::progress::components(&progress_report::scc(model, &settings.resources, &watcher)?)
        }
    })
}

fn note_property_process(model: &Model, settings: &ModelSettings, quiet: bool) {
    if let Some(property) = model.program().property.as_ref().filter(|_| !quiet) {
        say(&format!(
            "note: the property process {} of {} is not part of the exploration",
            property.name,
            settings.path.display()
        ));
    }
}

fn write_graph(model: &Model, format: GraphFormat, output: Output) -> anyhow::Result<()> {
    let system = model.system(&[], Execution::Interpreted);
    let graph = export::graph(&system)?;
    let mut bytes = Vec::new();
    graph.write(format, &system, &mut bytes)?;
    output.write(&bytes)
}

fn with_records(watcher: Watcher, model: &Model, settings: &ExploreSettings) -> anyhow::Result<Watcher> {
    let Some(path) = &settings.records else { return Ok(watcher) };
    let file = RecordFile::create(path, model.interpreter(Vec::new()).shape())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(watcher.with_records(file))
}
