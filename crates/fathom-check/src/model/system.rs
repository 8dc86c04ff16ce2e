//! Which forms does a system have that is searched?

use std::fmt::{self, Debug, Formatter};

use fathom_exec::interpreter::Interpreter;
use fathom_exec::jit::Compiled;
use fathom_model::record::Records;
use fathom_model::shape::Shape;
use fathom_model::steps::{Labels, Steps};
use fathom_model::symmetry::Symmetric;
use fathom_model::system::{Description, Query, TransitionSystem};

/// A model's system, in one of two forms that differ in speed alone, or with states that are alike as one; or a system that somebody hands over.
pub enum System<'a> {
    /// Machine code.
    Compiled(Compiled),
    /// The reference.
    Interpreted(Interpreter),
    /// One of the others, with states that are alike as one.
    Symmetric(Box<Symmetric<System<'a>>>),
    /// What somebody hands over.
    Given(&'a dyn TransitionSystem),
}

impl System<'_> {
    fn form(&self) -> &dyn TransitionSystem {
        match self {
            System::Compiled(system) => system,
            System::Interpreted(system) => system,
            System::Symmetric(system) => &**system,
            System::Given(system) => *system,
        }
    }

    /// With a label that says which states do not stutter though they seem to, if states that are alike are one; `end` is a label that is
    /// true in valid ends.
    pub(crate) fn excusing(self, end: Option<usize>) -> Self {
        match self {
            System::Symmetric(system) => System::Symmetric(Box::new(system.excusing(end))),
            plain => plain,
        }
    }

    /// The label that [`System::excusing`] added.
    pub(crate) fn excuse(&self) -> Option<usize> {
        match self {
            System::Symmetric(system) => system.excuse(),
            System::Compiled(_) | System::Interpreted(_) | System::Given(_) => None,
        }
    }
}

impl TransitionSystem for System<'_> {
    fn shape(&self) -> &Shape {
        self.form().shape()
    }

    fn initial(&self, out: &mut Steps) {
        self.form().initial(out);
    }

    fn expand(&self, sources: Records<'_>, out: &mut Steps) -> usize {
        self.form().expand(sources, out)
    }

    fn label(&self, records: Records<'_>, out: &mut [Labels]) {
        self.form().label(records, out);
    }

    fn describe(&self, what: Query<'_>) -> Description {
        self.form().describe(what)
    }
}

impl Debug for System<'_> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let form = match self {
            System::Compiled(_) => "Compiled",
            System::Interpreted(_) => "Interpreted",
            System::Symmetric(_) => "Symmetric",
            System::Given(_) => "Given",
        };
        formatter.debug_tuple(form).field(self.shape()).finish()
    }
}
