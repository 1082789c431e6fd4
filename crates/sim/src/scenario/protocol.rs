//! Transport protocols of flows.

/// Transport protocol of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Protocol {
    /// SCTP.
    Sctp,
    /// TCP.
    Tcp,
    /// No transport: packets at a constant rate.
    Cbr,
    /// No transport: packets at a constant rate during the first part of each period.
    Square,
    /// No transport: bursts of packets and silences of random lengths.
    OnOff,
}

impl Protocol {
    /// Every protocol, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Sctp, Self::Tcp, Self::Cbr, Self::Square, Self::OnOff];

    /// As the file writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sctp => "sctp",
            Self::Tcp => "tcp",
            Self::Cbr => "cbr",
            Self::Square => "square",
            Self::OnOff => "on-off",
        }
    }

    /// Whether there is an association or connection: an engine at both ends, acknowledgements, recovery of losses.
    #[must_use]
    pub const fn is_transport(self) -> bool {
        matches!(self, Self::Sctp | Self::Tcp)
    }
}
