//! `anabranch perf server | client`: how much an association carries, and how long messages take.

mod client;
mod common;
mod server;
mod units;

use clap::{Args, Subcommand};

use crate::failure::Failure;

/// The options of `anabranch perf`.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    side: Side,
}

#[derive(Subcommand, Debug)]
enum Side {
    /// Wait for clients.
    Server(server::Arguments),
    /// Measure.
    Client(client::Arguments),
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.side {
        Side::Server(arguments) => server::run(arguments),
        Side::Client(arguments) => client::run(arguments),
    }
}
