//! Values for the subflows of an association.

use anabranch_base::Dscp;

/// One subflow, as an association opens it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubflowSpec {
    /// Code point of its packets.
    pub dscp: Dscp,
    /// Share under the weighted schedulers, 1 or more.
    pub weight: u16,
    /// Under strict priority the smaller goes first.
    pub priority: u8,
    /// Streams that it starts with. If no subflow names any, the streams take the subflows in turn; else those without
    /// a subflow belong to the first.
    pub streams: Vec<u16>,
}

impl SubflowSpec {
    /// With weight 1, priority 0 and no streams of its own.
    #[must_use]
    pub fn new(dscp: Dscp) -> Self {
        Self { dscp, weight: 1, priority: 0, streams: Vec::new() }
    }
}

/// Signalling of subflows between the two ends (docs/explanation/subflows.md).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubflowLevel {
    /// The sender alone knows: nothing of it is on the wire, any RFC 9260 endpoint will do.
    #[default]
    Zero,
    /// The extension SF is offered. With a peer that does not have it, as level 0.
    One,
    /// The encoding of the thesis of 2007, for sealed networks only ([`EndpointConfig::allow_private_encodings`]). With a peer that does not
    /// have it, as level 0.
    ///
    /// [`EndpointConfig::allow_private_encodings`]: crate::EndpointConfig::allow_private_encodings
    Sf2007,
}

impl SubflowLevel {
    /// From `0`, `1` or `sf2007`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "0" => Self::Zero,
            "1" => Self::One,
            "sf2007" => Self::Sf2007,
            _ => return None,
        })
    }
}

impl std::fmt::Display for SubflowLevel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Zero => "0",
            Self::One => "1",
            Self::Sf2007 => "sf2007",
        })
    }
}

/// Order in which subflows send, when several may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SubflowScheduler {
    /// The subflow whose earliest message came first.
    #[default]
    Fcfs,
    /// In turn, so many packets each as its weight.
    WeightedRoundRobin,
    /// The one with the smallest priority number.
    Priority,
    /// Bytes in proportion to the weights.
    WeightedFair,
}
