//! From text to events.

mod conditions;
mod icmp;
mod lex;
mod parse;
mod script;

pub use parse::parse;
pub use script::{Action, Body, Call, Event, Icmp, Packet, Script, Time};
