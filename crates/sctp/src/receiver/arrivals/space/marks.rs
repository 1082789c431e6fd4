//! Marks of routers on the packets of a sequence space.

use anabranch_wire::Tsn;
use anabranch_wire::chunk::EcnCounters;

/// The ECN fields that the packets of a space came with.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::receiver::arrivals) struct Marks {
    /// Number of packets with each field.
    pub(in crate::receiver::arrivals) counters: EcnCounters,
    /// The contents of ECNE until CWR comes: the lowest TSN of the packet that came marked last, and how many came since the last CWR. The
    /// packet before may be of the same window, for which the peer does nothing more; that of the newest it must learn.
    pub(in crate::receiver::arrivals) echo: Option<(Tsn, u32)>,
}
