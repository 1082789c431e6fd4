//! A scenario as a whole, and which random streams its parts draw from.

use anabranch_base::Duration;

use super::flow::Flow;
use super::host::Host;
use super::link::Link;
use super::loss::Loss;
use super::ports::Ports;
use super::record::Record;
use super::route::Route;

/// A network, its hosts and their traffic, ready to run once for each seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// How long a run lasts in virtual time.
    pub duration: Duration,
    /// Statistics start here; shorter than `duration`. Packets in flight at this moment stay in flight.
    pub warmup: Duration,
    /// One run for each of these, in this order, none twice, at least one.
    pub seeds: Vec<u64>,
    /// Whether the protocols compared see the same random numbers.
    pub random: RandomNumbers,
    /// Whether checksums are computed and verified, or left out.
    pub checksums: Checksums,
    /// The ports of the flows, in headers and captures.
    pub ports: Ports,
    /// Every node: first those the file declares, then those that only a link or a flow names, in the order of the
    /// file. A node without flows is a router.
    pub hosts: Vec<Host>,
    /// Every link, one direction each: `both = true` in the file has become two links next to each other.
    pub links: Vec<Link>,
    /// Where packets leave the way of the fewest links.
    pub routes: Vec<Route>,
    /// Every flow: `count = 20` in the file has become twenty flows.
    pub flows: Vec<Flow>,
    /// Recordings of the run besides its summary.
    pub record: Record,
}

/// Whether the things that are compared see the same random numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RandomNumbers {
    /// Links with the same `stream` of losses see one sequence, with any protocol; so does one link in
    /// two runs with the same seed and different engines. It narrows the interval of a difference.
    #[default]
    Common,
    /// Every link draws for itself, and a change of protocol or engine changes the draws.
    Independent,
}

/// The treatment of the checksums of SCTP and TCP packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksums {
    /// The sender computes them, the receiver verifies them.
    #[default]
    Verify,
    /// No checksum is computed or verified: for speed, where nothing damages packets.
    Elide,
}

impl Scenario {
    /// The name of the random stream from which the link at `link` draws its losses:
    /// `Rng::stream(seed, &scenario.loss_stream(link), "loss")`. `None` for a link that does not exist or whose
    /// losses need no random numbers.
    ///
    /// With [`RandomNumbers::Common`] it is the `stream` of the loss, or else the name of the link. A draw is made
    /// for each packet that the loss applies to and for no other, so the n-th such packet meets the same fate
    /// whatever the protocol. With [`RandomNumbers::Independent`] it is the name of the link and the protocol and
    /// engine of every flow of the scenario, and `stream` is not looked at.
    #[must_use]
    pub fn loss_stream(&self, link: usize) -> Option<String> {
        let link = self.links.get(link)?;
        let stream = match &link.loss {
            Loss::None | Loss::Positions { .. } => return None,
            Loss::Bernoulli { stream, .. }
            | Loss::GilbertElliott { stream, .. }
            | Loss::BitErrors { stream, .. } => stream,
        };
        Some(match self.random {
            RandomNumbers::Common => match stream {
                Some(shared) => format!("stream:{shared}"),
                None => format!("link:{}", link.name),
            },
            RandomNumbers::Independent => format!("link:{}{}", link.name, self.what_runs()),
        })
    }

    /// The name of the random stream from which the link at `link` draws for `what`, `Rng::stream(seed, &name, what)`:
    /// its name and, with [`RandomNumbers::Independent`], the protocol and engine of every flow. `None` for a link that
    /// does not exist.
    #[must_use]
    pub fn link_stream(&self, link: usize) -> Option<String> {
        let link = self.links.get(link)?;
        Some(match self.random {
            RandomNumbers::Common => format!("link:{}", link.name),
            RandomNumbers::Independent => format!("link:{}{}", link.name, self.what_runs()),
        })
    }

    /// The name of the random stream from which the flow at `flow` draws when it starts:
    /// `Rng::stream(seed, &scenario.start_stream(flow), "start")`. `None` for a flow that does not exist.
    #[must_use]
    pub fn start_stream(&self, flow: usize) -> Option<String> {
        let flow = self.flows.get(flow)?;
        Some(match self.random {
            RandomNumbers::Common => format!("flow:{}", flow.name),
            RandomNumbers::Independent => format!("flow:{}{}", flow.name, self.what_runs()),
        })
    }

    /// The place in `hosts` of the node called `name`.
    #[must_use]
    pub fn host_index(&self, name: &str) -> Option<usize> {
        self.hosts.iter().position(|host| host.name == name)
    }

    /// Protocols and engines, so that independent runs of two engines have nothing in common.
    fn what_runs(&self) -> String {
        let mut text = String::new();
        for flow in &self.flows {
            text.push('|');
            text.push_str(flow.protocol.name());
            text.push(' ');
            text.push_str(&flow.sender.name);
        }
        text
    }
}
