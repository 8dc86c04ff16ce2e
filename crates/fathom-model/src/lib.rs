//! What a state is, and the step relation over it.
