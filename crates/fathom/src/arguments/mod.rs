//! What did the user type? Raw arguments as the parser gives them ([`raw`]), and the step from there to settings that make sense ([`validate`]).

mod engine;
pub mod hints;
pub mod quantity;
pub mod raw;
pub mod validate;
