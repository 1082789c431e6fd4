//! Frames, as a link carries them, and frames that a link has dropped.

use std::fmt;

use anabranch_base::{Dscp, Ecn, Instant};

/// A frame: a packet with the facts that a link uses. Small, because it is moved, not shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The transport packet, without an IP header. May be empty: a link never looks at it.
    pub bytes: Vec<u8>,
    /// Bytes on the wire, IP header included: they take transmission time and queue room.
    pub size: u32,
    /// The driver's name for the sender. A link does not look at it.
    pub source: u32,
    /// The driver's name for the receiver. A link does not look at it.
    pub destination: u32,
    /// Which flow it belongs to, as the driver numbers them.
    pub flow: u32,
    /// A number that tells frames apart in a recording.
    pub id: u32,
    /// Code point.
    pub dscp: Dscp,
    /// ECN field.
    pub ecn: Ecn,
    /// Drop precedence, as a meter marked it.
    pub colour: Colour,
    /// Whether it carries user data. Losses can be limited to such frames.
    pub data: bool,
    /// No router may fragment it (the DF bit of IPv4). A link does not look at it.
    pub dont_fragment: bool,
    /// Whether the frame is an ICMP message. A link does not look at it.
    pub icmp: bool,
}

/// Drop precedence (RFC 2697, RFC 2698).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Colour {
    /// Within its contract.
    #[default]
    Green,
    /// Above it, within the burst.
    Yellow,
    /// Above both.
    Red,
}

/// A frame that will not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Time of the drop.
    pub at: Instant,
    /// The dropped frame.
    pub frame: Frame,
    /// Reason for the drop.
    pub reason: DropReason,
}

/// Why a frame was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum DropReason {
    /// The frame did not fit into the queue.
    QueueFull,
    /// The loss model of the link took it.
    Error,
    /// The queue was getting long: dropped at random (RED).
    Early,
    /// The average length of the queue was beyond the threshold from which everything is dropped (RED).
    Forced,
    /// The frame had waited too long (CoDel).
    Sojourn,
    /// The frame exceeded its traffic contract (policer).
    Policed,
}

impl DropReason {
    /// Every reason, in the order of its number.
    pub const ALL: [Self; 6] =
        [Self::QueueFull, Self::Error, Self::Early, Self::Forced, Self::Sojourn, Self::Policed];

    /// As recordings write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::Error => "error",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Sojourn => "sojourn",
            Self::Policed => "policed",
        }
    }
}

impl Frame {
    /// Whether its transport speaks ECN (RFC 3168, section 5), so that it can be marked instead of dropped.
    #[inline]
    #[must_use]
    pub fn can_be_marked(&self) -> bool {
        self.ecn != Ecn::NotEct
    }

    /// Marks the frame (congestion experienced), if it can be marked.
    #[inline]
    pub fn mark(&mut self) {
        if self.can_be_marked() {
            self.ecn = Ecn::Ce;
        }
    }
}

/// A set of code points. By default all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct DscpSet(u64);

impl DscpSet {
    /// Every code point.
    pub const ALL: Self = Self(u64::MAX);
    /// None.
    pub const NONE: Self = Self(0);

    /// Whether it holds `dscp`.
    #[inline]
    #[must_use]
    pub const fn contains(self, dscp: Dscp) -> bool {
        self.0 >> (dscp.get() & 63) & 1 == 1
    }

    /// Takes `dscp` in.
    pub const fn insert(&mut self, dscp: Dscp) {
        self.0 |= 1 << (dscp.get() & 63);
    }

    /// Whether it holds nothing.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for DscpSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let points = (0..64).filter_map(Dscp::new).filter(|dscp| self.contains(*dscp));
        f.debug_set().entries(points.map(Dscp::get)).finish()
    }
}

impl Default for DscpSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Dscp> for DscpSet {
    fn from_iter<T: IntoIterator<Item = Dscp>>(points: T) -> Self {
        let mut set = Self::NONE;
        points.into_iter().for_each(|dscp| set.insert(dscp));
        set
    }
}
