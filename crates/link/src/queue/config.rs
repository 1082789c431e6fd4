//! The configuration of a queue, from which a queue in front of a link is built.

use anabranch_base::Rng;

use super::{
    Classes, ClassesConfig, CoDel, CoDelConfig, Counts, DropTail, FqCoDel, FqCoDelConfig, LinkFacts, Queue,
    Red, RedConfig, VirtualConfig, VirtualRed,
};

/// A queue discipline and its parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum QueueConfig {
    /// First in, first out; a frame that does not fit is dropped. Limits count as those of ns-2 do ([`Counts::Ns2`]). Without a limit
    /// nothing is dropped; with both, both hold.
    DropTail {
        /// At most so many packets, the one being sent included.
        packets: Option<u64>,
        /// Fewer than so many bytes (with IP headers) wait, the packet being sent not included.
        bytes: Option<u64>,
    },
    /// Random early detection.
    Red(RedConfig),
    /// Virtual RED queues in one queue: RIO-C, RIO-D, WRED.
    VirtualRed(VirtualConfig),
    /// Controlled delay.
    CoDel(CoDelConfig),
    /// Controlled delay, flow by flow.
    FqCoDel(FqCoDelConfig),
    /// A queue for each class.
    Classes(ClassesConfig<QueueConfig>),
}

impl QueueConfig {
    /// Builds the queue in front of `link`. Its random draws come from `rng`.
    #[must_use]
    pub fn build(&self, link: LinkFacts, mut rng: Rng) -> Queue {
        match self {
            Self::DropTail { packets, bytes } => {
                Queue::DropTail(DropTail::new(*packets, *bytes, Counts::Ns2))
            }
            Self::Red(config) => Queue::Red(Box::new(Red::new(config.clone(), link, rng))),
            Self::VirtualRed(config) => {
                Queue::VirtualRed(Box::new(VirtualRed::new(config.clone(), link, rng)))
            }
            Self::CoDel(config) => Queue::CoDel(Box::new(CoDel::new(*config))),
            Self::FqCoDel(config) => Queue::FqCoDel(Box::new(FqCoDel::new(*config, rng))),
            Self::Classes(config) => {
                Queue::Classes(Box::new(Classes::new(config, link, &mut rng, Self::build)))
            }
        }
    }
}

impl Default for QueueConfig {
    /// Drop-tail without a limit.
    fn default() -> Self {
        Self::DropTail { packets: None, bytes: None }
    }
}
