//! Stream schedulers.

/// Order in which streams send (RFC 8260, section 3). With I-DATA streams change after a chunk, with DATA after a
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamScheduling {
    /// Messages leave in the order they were given.
    Fcfs,
    /// Each stream in turn.
    RoundRobin,
    /// Each stream in turn, for a packet.
    RoundRobinPacket,
    /// The stream with the smallest value; those with the same value take turns.
    Priority,
    /// Bytes in equal shares.
    FairCapacity,
    /// Bytes in proportion to the values of the streams.
    WeightedFair,
}

impl StreamScheduling {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Fcfs,
        Self::RoundRobin,
        Self::RoundRobinPacket,
        Self::Priority,
        Self::FairCapacity,
        Self::WeightedFair,
    ];

    /// Its name in a configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fcfs => "fcfs",
            Self::RoundRobin => "round-robin",
            Self::RoundRobinPacket => "round-robin-packet",
            Self::Priority => "priority",
            Self::FairCapacity => "fair-capacity",
            Self::WeightedFair => "wfq",
        }
    }
}
