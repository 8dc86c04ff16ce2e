//! Source text to [`fathom_model`] programs: one folder per language, the same stages in each.
