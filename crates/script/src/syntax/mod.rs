//! From text to events.

mod conditions;
mod lex;
mod parse;
mod script;

pub use parse::parse;
pub use script::{Action, Body, Call, Event, Packet, Script, Time};
