//! Which variables belong together? Those of a process, and those that hold the buffer of a channel.

use fathom_model::program::{Program, Role, VariableId};
use fathom_model::structure::{Part, Structure};

use super::symbols::{Buffer, Symbols};

/// How a model's text nests the values of its states. It has no temporaries, so components are variables.
pub(crate) fn structure(symbols: &Symbols, program: &Program) -> Structure {
    let mut structure = Structure::default();
    for (number, variable) in (0..).zip(&program.variables) {
        let own = |process: usize| {
            variable
                .name
                .strip_prefix(&format!("{}.", program.processes[process].name))
                .unwrap_or(&variable.name)
        };
        let part = Part::plain(number, variable.length);
        match variable.role {
            Role::Location(_) => {
                structure
                    .variables
                    .push((variable.name.clone(), Part::Process { location: number, variables: Vec::new() }));
            }
            Role::Local(process) => {
                let location = program.process(process).variable.0;
                let of_process =
                    |part: &Part| matches!(part, Part::Process { location: it, .. } if *it == location);
                let owner = structure.variables.iter_mut().find(|(_, part)| of_process(part));
                match owner {
                    Some((_, Part::Process { variables, .. })) => {
                        variables.push((own(process.index()).to_owned(), part))
                    }
                    _ => structure.variables.push((variable.name.clone(), part)),
                }
            }
            Role::Buffer => {
                if let Some((name, buffer)) = buffer_of(symbols, VariableId(number)) {
                    let fields = buffer.fields.iter().map(|field| field.0).collect();
                    structure.variables.push((name.to_owned(), Part::Channel { length: number, fields }));
                }
            }
            Role::Global | Role::Temporary => structure.variables.push((variable.name.clone(), part)),
        }
    }
    structure
}

/// The buffer whose number of messages a variable holds, and the channel it belongs to.
fn buffer_of(symbols: &Symbols, length: VariableId) -> Option<(&str, &Buffer)> {
    let buffers =
        symbols.channels.iter().filter_map(|channel| Some((&*channel.name, channel.buffer.as_ref()?)));
    buffers.into_iter().find(|(_, buffer)| buffer.length == length)
}
