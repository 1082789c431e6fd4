//! Values for round-trip measurement.

/// Chunks that give round-trip samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RttSampling {
    /// One chunk a round trip is timed (RFC 9260, 6.3.1 C4).
    OncePerRoundTrip,
    /// One chunk a round trip is timed, and a measurement goes on when chunks before it are lost and sent again (Linux).
    ThroughLoss,
    /// Every SACK that newly acknowledges a chunk sent once gives a sample.
    EveryAck,
}
