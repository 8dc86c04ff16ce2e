//! Do the arguments make sense together? Raw arguments in, settings out, or what is wrong and what to do.

use std::path::PathBuf;

use fathom_model::expression::Overflow;

use super::raw::{
    ExploreArguments, ModelArguments, OutputArguments, OverflowArgument, ProgressArgument, ResourceArguments,
};
use crate::assemble::ModelOptions;
use crate::machine;
use crate::settings::{
    Destination, Dump, ExploreSettings, GraphFormat, ModelSettings, OutputSettings, ProgressMode, Resources,
};

/// The arguments do not make sense together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

impl ExploreArguments {
    /// The settings that these arguments mean.
    pub fn validate(self) -> Result<ExploreSettings, UsageError> {
        let mut resources = self.resources.clone().validate();
        if self.dump_records.is_some() {
            if self.resources.threads.is_some_and(|threads| threads > 1) {
                return Err(UsageError(
                    "--dump-records writes states in the order found, which needs one thread: leave --threads out or make it 1"
                        .into(),
                ));
            }
            resources.threads = 1;
        }
        let graph = match (self.dot, self.aut) {
            (Some(path), _) => Some((GraphFormat::Dot, destination(path))),
            (None, Some(path)) => Some((GraphFormat::Aut, destination(path))),
            (None, None) => None,
        };
        let output = self.output.validate();
        if output.json == Some(Destination::Standard) && matches!(graph, Some((_, Destination::Standard))) {
            return Err(UsageError(
                "--json and the graph cannot both go to standard output: give one of them a file".into(),
            ));
        }
        let dump = match (self.dump_program, self.dump_layout) {
            (true, _) => Some(Dump::Program),
            (false, true) => Some(Dump::Layout),
            (false, false) => None,
        };
        Ok(ExploreSettings {
            model: self.model.validate(),
            resources,
            output,
            dump,
            records: self.dump_records,
            graph,
        })
    }
}

impl ModelArguments {
    fn validate(self) -> ModelSettings {
        let overflow = match self.overflow {
            OverflowArgument::Fault => Overflow::Fault,
            OverflowArgument::Wrap => Overflow::Wrap,
        };
        ModelSettings { path: self.model, options: ModelOptions { constants: self.constants, overflow } }
    }
}

impl ResourceArguments {
    fn validate(self) -> Resources {
        Resources {
            ram: self.ram.unwrap_or_else(machine::default_ram),
            data_budget: self.data_budget,
            threads: self.threads.unwrap_or_else(machine::processors),
            time_limit: self.time_limit,
            max_depth: self.max_depth,
        }
    }
}

impl OutputArguments {
    fn validate(self) -> OutputSettings {
        let progress = match self.progress {
            ProgressArgument::Auto if self.quiet => ProgressMode::None,
            ProgressArgument::Auto => ProgressMode::Auto,
            ProgressArgument::Plain => ProgressMode::Plain,
            ProgressArgument::Json => ProgressMode::Json,
            ProgressArgument::None => ProgressMode::None,
        };
        OutputSettings { json: self.json.map(destination), quiet: self.quiet, progress }
    }
}

/// `-` is standard output.
fn destination(path: PathBuf) -> Destination {
    if path.as_os_str() == "-" { Destination::Standard } else { Destination::File(path) }
}
