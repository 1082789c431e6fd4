//! Events for a congestion controller.

use anabranch_base::{Duration, Instant};

/// The effect of one acknowledgement on a window. Bytes are counted as the window counts them: for SCTP as a rule with
/// the headers of the chunks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Acknowledged for the first time, by the cumulative point, bytes.
    pub cumulative: u64,
    /// Acknowledged for the first time by a gap block, bytes. TCP grows by the cumulative point only: zero.
    pub gap: u64,
    /// Passed by the cumulative point now, acknowledged by a gap block earlier, bytes.
    pub earlier_gap: u64,
    /// Given up by the sender before the acknowledgement that they had arrived came, bytes, where they are to count as acknowledged: in
    /// slow start only. RFC 3758, 3.5, A2, says that they must not, so this is 0 unless a sender was told otherwise.
    pub given_up: u64,
    /// In flight before the acknowledgement arrived, bytes; [`u64::MAX`] where the caller knows that the window was full.
    pub flight_before: u64,
    /// Whether the cumulative point advanced.
    pub cumulative_advanced: bool,
    /// Whether loss recovery goes on after this acknowledgement: the window does not grow then.
    pub in_recovery: bool,
    /// Nothing is left in flight.
    pub all_acked: bool,
    /// A round trip has ended: data sent after the end of the last one is acknowledged.
    pub round_trip: bool,
}

/// The times that belong to an acknowledgement. Only some controllers ask for them: Reno of either protocol does
/// without.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Time of the arrival of the acknowledgement.
    pub now: Instant,
    /// The round trip that it tells of, if any; of something sent once.
    pub rtt: Option<Duration>,
    /// The smoothed round trip.
    pub srtt: Option<Duration>,
    /// First sequence number not acknowledged, and first never sent: controllers tell their own rounds by them.
    pub una: u64,
    /// First sequence number never sent.
    pub max: u64,
    /// The time at which the newest acknowledged packet left, where that is certain; also of a retransmission.
    pub newest_sent: Option<Instant>,
    /// In flight before and after this acknowledgement, bytes.
    pub flight_before: u64,
    /// Bytes in flight after this acknowledgement.
    pub flight: u64,
    /// Nothing waits to be sent, new or again.
    pub starved: bool,
}

impl Acked {
    /// Bytes acknowledged for the first time.
    #[inline]
    #[must_use]
    pub fn newly(&self) -> u64 {
        self.cumulative + self.gap
    }
}

/// Why the window must shrink, and the value that is reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// A loss was found by acknowledgements.
    FastRetransmit(Base),
    /// A retransmission after the expiry of the timer is lost as well: "cwnd (and ssthresh) MUST be lowered twice in
    /// this case" (RFC 5681, 4.3).
    LostAgain(Base),
    /// The peer saw a mark of a router: "as if a packet had been dropped" (RFC 3168, 6.1.2).
    Ecn(Base),
    /// The peer saw a mark of a router, where a mark reduces less than a loss: so many millionths of the window stay (RFC 8511; RFC 9331,
    /// 4.3).
    EcnKeep(u32),
    /// The retransmission timer expired; `None` where ssthresh must stay as it is.
    Timeout(Option<Base>),
    /// Another lane, which shares a full bottleneck with this one, saw a loss: all lanes react as one flow would.
    OtherLane,
}

/// The quantity that a loss reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// So many bytes in flight (RFC 5681, equation 4).
    Flight(u64),
    /// The window itself, but no more than this limit, bytes.
    Window(u64),
}

impl Base {
    /// The window, without another limit (RFC 9260, 7.2.3 and 7.2.4).
    pub const CWND: Self = Self::Window(u64::MAX);
}
