//! The common part of all drivers of SCTP stacks: the command line ([`plan`]), the application ([`app`]), counts of its sent and
//! received data ([`tally`]), the line printed at the end ([`report`]) and, for stacks without input and output of their own, the loop
//! around a UDP socket ([`udp`]).

pub mod app;
pub mod plan;
pub mod report;
pub mod stack;
pub mod tally;
pub mod udp;

pub use app::App;
pub use plan::{Ending, Plan, Role};
pub use report::Report;
pub use stack::{Event, Full, Outgoing, Packet, Stack};
pub use tally::Tally;
