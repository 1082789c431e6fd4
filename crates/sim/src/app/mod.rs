//! The applications above a transport: those that send and those that receive.

mod client;
mod collector;
mod envelope;
mod generator;
mod received;
mod sending;
mod server;
mod sink;
mod source;
mod streams;

use anabranch_base::{Instant, Rng};

use crate::engine::Engine;
use crate::scenario::{Flow, Traffic};
pub(crate) use client::{Client, Progress};
pub(crate) use collector::{Collector, Deliveries};
pub(crate) use generator::Generator;
pub(crate) use received::Received;
use received::Receiving as _;
pub(crate) use sending::Sending;
pub(crate) use server::Server;
pub(crate) use sink::Sink;
pub(crate) use source::Source;

/// An application on one end of a flow.
#[derive(Debug)]
pub(crate) enum App {
    Source(Source),
    Sink(Sink),
    /// Sends messages of several sources.
    Generator(Box<Generator>),
    /// Takes them, and notes their latencies.
    Collector(Box<Collector>),
    /// Sends objects.
    Server(Box<Server>),
    /// Fetches them.
    Client(Box<Client>),
}

impl App {
    /// The application at one end of a flow; `rng` draws the times of its messages.
    pub(crate) fn new(flow: &Flow, is_sender: bool, rng: impl FnOnce() -> Rng) -> Self {
        match (&flow.traffic, is_sender) {
            (Traffic::Objects(_), true) => Self::Server(Box::new(Server::new(flow))),
            (Traffic::Objects(_), false) => Self::Client(Box::new(Client::new(flow))),
            (Traffic::Messages(_), true) => Self::Generator(Box::new(Generator::new(flow, rng()))),
            (Traffic::Messages(_), false) => Self::Collector(Box::new(Collector::new(flow))),
            (_, true) => Self::Source(Source::new(flow)),
            (_, false) => Self::Sink(Sink::new(flow)),
        }
    }

    /// The times of the notices that a receiving application got.
    pub(crate) fn received(&self) -> Received {
        match self {
            Self::Sink(sink) => sink.received,
            Self::Collector(collector) => collector.received,
            Self::Client(client) => client.received,
            Self::Source(_) | Self::Generator(_) | Self::Server(_) => Received::default(),
        }
    }

    /// Whether a sending application has nothing more to hand over, ever.
    #[inline]
    pub(crate) fn has_handed_all(&self) -> bool {
        match self {
            Self::Source(source) => source.has_handed_all(),
            Self::Server(server) => server.has_handed_all(),
            Self::Generator(generator) => generator.sending.is_closing(),
            Self::Sink(_) | Self::Collector(_) | Self::Client(_) => true,
        }
    }

    /// Whether it only reacts to the engine.
    #[inline]
    pub(crate) fn only_receives(&self) -> bool {
        matches!(self, Self::Sink(_) | Self::Collector(_))
    }

    /// Whether it has more to do at one time once its data has left, though the engine has reported nothing: a server closes
    /// when its last object is on its way. A source hands over all that is taken, and then waits for a report.
    #[inline]
    pub(crate) fn works_in_steps(&self) -> bool {
        !matches!(self, Self::Source(_) | Self::Sink(_) | Self::Collector(_))
    }

    /// Does its work after the engine has changed. False when the engine had reported nothing.
    #[inline]
    pub(crate) fn run(&mut self, now: Instant, engine: &mut Engine) -> bool {
        match self {
            Self::Source(source) => source.run(now, engine),
            Self::Sink(sink) => sink.listen(now, engine),
            other => other.run_other(now, engine),
        }
    }

    /// One of those that simulate single exchanges.
    #[inline(never)]
    fn run_other(&mut self, now: Instant, engine: &mut Engine) -> bool {
        match self {
            Self::Source(_) | Self::Sink(_) => false,
            Self::Generator(generator) => generator.run(now, engine),
            Self::Collector(collector) => collector.listen(now, engine),
            Self::Server(server) => server.run(now, engine),
            Self::Client(client) => client.run(now, engine),
        }
    }
}
