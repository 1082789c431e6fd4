//! Explicit congestion notification: its offer, and the response to marks.

use std::fmt;

use super::emulation::words;

/// ECN codepoint of packets with data, by which routers learn that marks are understood (RFC 3168; RFC 4960, appendix
/// A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// Nothing of it is offered, and every packet leaves as Not-ECT.
    Off,
    /// ECT(0): a mark reduces the window as a loss does, or a little less ([`EcnBackoff`]).
    Classic,
    /// ECT(1), for queues of L4S (RFC 9331): a mark reduces the window in proportion to the part of the packets that is marked.
    L4s,
}

/// Window reduction after a mark on an ECT(0) packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnBackoff {
    /// As much as a loss (RFC 3168, 6.1.2).
    AsLoss,
    /// A larger part in congestion avoidance, 0.8 of it, 0.85 with CUBIC: a router that marks has a short queue (RFC
    /// 8511).
    Abe,
}

words!(EcnMode, Off = "off", Classic = "classic", L4s = "l4s");
words!(EcnBackoff, AsLoss = "as-loss", Abe = "abe");
