//! `fathom view`: the page of a model, of a saved run or of a search, served by the checker itself.

use std::path::Path;

use anyhow::Context;
use fathom_check::model::assemble::{Language, ModelSettings};
use fathom_check::model::user_file;

use super::{granted, print, read_model};
use crate::report::Exit;
use crate::report::page::{self, SavedRun};
use crate::report::trace::SavedDocument;
use crate::serve::Serving;
use crate::serve::desk::Desk;
use crate::session::Session;
use crate::settings::ViewSettings;
use crate::status;

/// Serves until it is interrupted.
pub fn run(settings: &ViewSettings, session: &Session) -> anyhow::Result<Exit> {
    session.is_interactive();
    let (model, saved) = subject(settings)?;
    let watched = settings.what.is_dir().then(|| settings.what.clone());
    let resources = granted(&settings.resources, false);
    let model = read_model(&model, &resources, false)?;
    let mut html = Vec::new();
    page::write_served(&model, &saved, watched.is_some(), &mut html)?;
    let serving = Serving::new(settings.port).context("cannot listen on 127.0.0.1")?;
    print(&format!("{}\nserving this page to you alone until you press Ctrl-C\n", serving.address()))?;
    serving.run(&Desk::new(model, resources, watched), &html);
    Ok(Exit::Success)
}

/// What is looked at: a model, a search's folder, or saved runs and the model that they are of.
fn subject(settings: &ViewSettings) -> anyhow::Result<(ModelSettings, Vec<SavedRun>)> {
    let path = &settings.what;
    let model = |named: &Path| ModelSettings {
        path: settings.model.clone().unwrap_or_else(|| named.to_owned()),
        options: settings.options.clone(),
    };
    if path.is_dir() {
        let identity = status::look_at(path)?.identity;
        let model = settings.model.clone().unwrap_or_else(|| identity.model().to_owned());
        return Ok((ModelSettings { path: model, options: identity.model_options() }, Vec::new()));
    }
    if path.extension().is_some_and(|end| end == "json") {
        let text = user_file::read(path, user_file::TRACES)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let saved: SavedDocument = serde_json::from_slice(&text)
            .with_context(|| format!("{} is not a trace that check wrote", path.display()))?;
        let runs = saved.traces.iter().map(SavedRun::of).collect();
        return Ok((model(Path::new(&saved.model)), runs));
    }
    anyhow::ensure!(
        Language::of(path).is_some() || !path.exists(),
        "cannot tell what {} is: view shows a model (.dve, .m), a trace (.json), or the folder of a search",
        path.display()
    );
    Ok((model(path), Vec::new()))
}
