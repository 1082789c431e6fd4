//! Couplings of the subflows' congestion windows, and details that the thesis leaves open
//! (docs/explanation/couplings.md).

/// Coupling of the congestion windows of an association's subflows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Coupling {
    /// Not at all: each grows like an association of its own (Phi = 1).
    #[default]
    Independent,
    /// One window, one loss detection and one round-trip estimate for all.
    Shared,
    /// Fractional congestion control with Phi = n, the number of subflows.
    FccN,
    /// Fractional congestion control with Phi = n^2: as much as one flow at the same loss rate.
    FccN2,
    /// Fractional congestion control with Phi = 2 n^2.
    Fcc2N2,
    /// Fractional congestion control with a fixed Phi, at least 1.
    Fcc(f64),
    /// Linked increases (RFC 6356): together not more than one flow on the best path.
    Lia,
    /// Opportunistic linked increases (draft-khalili-mptcp-congestion-control).
    Olia,
    /// One window for the subflows that share a bottleneck (their delays say which do): that of one flow, or of several where trials
    /// show that no other flow is there.
    Adaptive,
}

impl Coupling {
    /// Phi for `n` subflows: the window grows by one packet in Phi round trips. 1 where something else decides.
    #[must_use]
    pub fn phi(self, n: u32) -> f64 {
        let n = f64::from(n.max(1));
        match self {
            Self::FccN => n,
            Self::FccN2 => n * n,
            Self::Fcc2N2 => 2.0 * n * n,
            Self::Fcc(phi) => phi,
            Self::Independent | Self::Shared | Self::Lia | Self::Olia | Self::Adaptive => 1.0,
        }
    }

    /// Every name that [`Coupling::parse`] takes; NUMBER stands for a finite number.
    pub const NAMES: [&'static str; 9] = [
        "independent",
        "shared",
        "fcc(n)",
        "fcc(n^2)",
        "fcc(2n^2)",
        "fcc(NUMBER from 1)",
        "lia",
        "olia",
        "adaptive",
    ];

    /// From one of [`Coupling::NAMES`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text.trim() {
            "independent" => Self::Independent,
            "shared" => Self::Shared,
            "fcc(n)" => Self::FccN,
            "fcc(n^2)" => Self::FccN2,
            "fcc(2n^2)" => Self::Fcc2N2,
            "lia" => Self::Lia,
            "olia" => Self::Olia,
            "adaptive" => Self::Adaptive,
            other => {
                let phi: f64 = other.strip_prefix("fcc(")?.strip_suffix(')')?.trim().parse().ok()?;
                return (phi >= 1.0 && phi.is_finite()).then_some(Self::Fcc(phi));
            }
        })
    }
}

impl std::fmt::Display for Coupling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Independent => f.write_str("independent"),
            Self::Shared => f.write_str("shared"),
            Self::FccN => f.write_str("fcc(n)"),
            Self::FccN2 => f.write_str("fcc(n^2)"),
            Self::Fcc2N2 => f.write_str("fcc(2n^2)"),
            Self::Fcc(phi) => write!(f, "fcc({phi})"),
            Self::Lia => f.write_str("lia"),
            Self::Olia => f.write_str("olia"),
            Self::Adaptive => f.write_str("adaptive"),
        }
    }
}

/// The subflows that count as n in Phi.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FccCount {
    /// All subflows that are open.
    #[default]
    Configured,
    /// Subflows that have something to send or in flight.
    Active,
}

/// The coupling [`Coupling::Adaptive`]: whose window is cut for a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AdaptiveCut {
    /// The window of all subflows that share the bottleneck, which act as one flow. BBR has no such window: with it
    /// the windows of all are cut, once in a round trip, when a queue overflows, and Phi = n.
    #[default]
    Group,
    /// The window of the subflow which lost; each has a window of its own, and Phi = n^2 while the bottleneck is
    /// full.
    Lane,
}
