//! The transports that a host can run, behind one interface: each value is one end of one flow.

mod datagrams;
mod report;
mod schedule;
mod sctp;
mod tcp;
#[cfg(test)]
pub(crate) mod toy;

use anabranch_base::driver::Transport;
use anabranch_base::{Instant, Meta, TraceRecord, Transmit};
use anabranch_sctp::{Reliability, SubflowStats};
use bytes::Bytes;

use crate::scenario::Change;
pub(crate) use datagrams::DatagramEnd;
pub(crate) use report::{Counts, Gauges, HeldBack, Notice};
pub(crate) use sctp::SctpEnd;
pub(crate) use tcp::TcpEnd;

/// One end of a flow. An enum: the calls are too many for a table of functions.
#[derive(Debug)]
pub(crate) enum Engine {
    Sctp(Box<SctpEnd>),
    Tcp(Box<TcpEnd>),
    Datagrams(Box<DatagramEnd>),
    #[cfg(test)]
    Toy(Box<toy::ToyEnd>),
}

/// The format of a flow's packets, for reading them on their way.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Format {
    /// IP protocol number.
    pub(crate) protocol: u8,
    /// Bytes of header of an SCTP DATA chunk.
    data_header: u8,
}

impl Format {
    /// Bytes of user data in a packet, and its kind: the flags of a TCP segment, the type of the first chunk of an SCTP
    /// packet, 0 for others.
    pub(crate) fn describe(self, frame: &anabranch_link::Frame) -> (u64, u8) {
        match self.protocol {
            132 => sctp::describe(&frame.bytes, usize::from(self.data_header)),
            6 => tcp::describe(&frame.bytes),
            // A datagram is a size; it has 8 bytes of UDP header and at least 20 of IP.
            _ => (u64::from(frame.size.saturating_sub(28)), 0),
        }
    }
}

impl Engine {
    /// Where an SCTP association stands, and its verification tags: ours and the peer's.
    #[cfg(any(debug_assertions, feature = "watched"))]
    pub(crate) fn standing(&self) -> Option<(anabranch_sctp::State, (u32, u32))> {
        let Self::Sctp(end) = self else { return None };
        end.standing()
    }
}

macro_rules! each {
    ($self:expr, $engine:ident => $call:expr) => {
        match $self {
            Self::Sctp($engine) => $call,
            Self::Tcp($engine) => $call,
            Self::Datagrams($engine) => $call,
            #[cfg(test)]
            Self::Toy($engine) => $call,
        }
    };
}

impl Transport for Engine {
    #[inline]
    fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        each!(self, e => e.handle_datagram(now, meta, bytes));
    }

    fn handle_timeout(&mut self, now: Instant) {
        each!(self, e => e.handle_timeout(now));
    }

    #[inline]
    fn has_ready(&self) -> bool {
        if let Self::Sctp(end) = self { end.has_ready() } else { true }
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant, _max_packets: usize, buf: &mut Vec<u8>) -> Option<Transmit> {
        each!(self, e => e.poll_transmit(now, buf))
    }

    #[inline]
    fn poll_timeout(&mut self) -> Option<Instant> {
        each!(self, e => e.poll_timeout())
    }
}

impl Engine {
    /// An ICMP message has come. TCP and datagram senders let IP fragment their packets, and ignore it.
    #[cold]
    pub(crate) fn handle_icmp(&mut self, now: Instant, message: &[u8]) {
        if let Self::Sctp(end) = self {
            end.handle_icmp(now, message);
        }
    }

    /// Starts the flow; only the sender's end does.
    pub(crate) fn open(&mut self, now: Instant) -> Result<(), String> {
        each!(self, e => e.open(now))
    }

    /// Whether [`Engine::poll_notice`] may have something. Cheap; may be wrong in favour of asking.
    #[inline]
    pub(crate) fn may_have_notices(&self) -> bool {
        if let Self::Sctp(end) = self { end.may_have_notices() } else { true }
    }

    #[inline]
    pub(crate) fn poll_notice(&mut self) -> Option<Notice> {
        each!(self, e => e.poll_notice())
    }

    /// Offers data for `stream`; answers how many bytes were taken. Fewer than all: wait for [`Notice::Writable`].
    #[inline]
    pub(crate) fn offer(&mut self, now: Instant, stream: u16, unordered: bool, data: Bytes) -> usize {
        each!(self, e => e.offer(now, stream, unordered, data))
    }

    /// Offers a message for a stream, ordered or unordered; answers how many bytes were taken. Others than SCTP know no reliability
    /// but full.
    pub(crate) fn offer_message(
        &mut self,
        now: Instant,
        (stream, unordered): (u16, bool),
        reliability: Reliability,
        data: Bytes,
    ) -> usize {
        match self {
            Self::Sctp(end) => end.offer_message(now, (stream, unordered), reliability, data),
            other => other.offer(now, stream, unordered, data),
        }
    }

    /// Takes everything that has arrived and is in order, piece by piece with its stream.
    #[inline]
    pub(crate) fn take_all(&mut self, now: Instant, sink: impl FnMut(u16, &[u8])) {
        each!(self, e => e.take_all(now, sink));
    }

    /// Takes everything that has arrived and is in order, piece by piece. Pieces of messages that are handed over in parts say of
    /// which message they are.
    pub(crate) fn take_parts(&mut self, now: Instant, mut sink: impl FnMut(Option<u32>, &[u8])) {
        match self {
            Self::Sctp(end) => end.take_parts(sink),
            other => other.take_all(now, |_, piece| sink(None, piece)),
        }
    }

    /// Changes the subflows.
    pub(crate) fn change(&mut self, now: Instant, change: &Change) -> Result<(), String> {
        match self {
            Self::Sctp(end) => end.change(now, change),
            _ => Err("this transport has no subflows".to_owned()),
        }
    }

    /// Counters and gauges of each subflow; empty for a transport without.
    pub(crate) fn subflows(&self) -> Vec<SubflowStats> {
        match self {
            Self::Sctp(end) => end.subflows(),
            _ => Vec::new(),
        }
    }

    /// All that an association counts; `None` for a transport without, and before it was opened.
    pub(crate) fn snapshot(&self) -> Option<anabranch_sctp::Snapshot> {
        match self {
            Self::Sctp(end) => end.snapshot(),
            _ => None,
        }
    }

    /// Largest windows count from now on.
    pub(crate) fn reset_peaks(&mut self) {
        if let Self::Sctp(end) = self {
            end.reset_peaks();
        }
    }

    /// Ends the flow once everything has been delivered.
    pub(crate) fn close(&mut self, now: Instant) {
        each!(self, e => e.close(now));
    }

    pub(crate) fn counts(&self) -> Counts {
        each!(self, e => e.counts())
    }

    #[inline]
    pub(crate) fn gauges(&self) -> Gauges {
        each!(self, e => e.gauges())
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        each!(self, e => e.set_trace(on));
    }

    pub(crate) fn drain_trace(&mut self, sink: impl FnMut(TraceRecord)) {
        each!(self, e => e.drain_trace(sink));
    }

    /// Slow-start threshold of a sender, bytes; of the first subflow. 0 where there is none.
    pub(crate) fn ssthresh(&self) -> u64 {
        match self {
            Self::Sctp(end) => end.subflows().first().map_or(0, |stats| stats.ssthresh),
            Self::Tcp(end) => end.ssthresh(),
            _ => 0,
        }
    }

    /// The limit on the sender besides congestion control, at this moment.
    #[inline]
    pub(crate) fn held_back(&self) -> HeldBack {
        match self {
            Self::Sctp(end) => end.held_back(),
            Self::Tcp(end) => end.held_back(),
            _ => HeldBack::No,
        }
    }

    /// How the two ends know of subflows; `None` before the handshake, and for engines without subflows.
    pub(crate) fn negotiated_level(&self) -> Option<&'static str> {
        match self {
            Self::Sctp(end) => end.negotiated_level(),
            _ => None,
        }
    }

    /// IP protocol number.
    pub(crate) const fn protocol(&self) -> u8 {
        match self {
            Self::Sctp(_) => 132,
            Self::Tcp(_) => 6,
            // UDP, in captures.
            Self::Datagrams(_) => 17,
            #[cfg(test)]
            Self::Toy(_) => 253,
        }
    }

    /// How its packets are to be read.
    pub(crate) fn format(&self) -> Format {
        let data_header = match self {
            Self::Sctp(end) => end.data_header() as u8,
            _ => 0,
        };
        Format { protocol: self.protocol(), data_header }
    }

    /// Whether a packet of this transport carries user data. Only called where a loss model asks.
    pub(crate) fn carries_data(&self, packet: &[u8]) -> bool {
        match self {
            Self::Sctp(_) => sctp::carries_data(packet),
            Self::Tcp(_) => tcp::carries_data(packet),
            Self::Datagrams(_) => true,
            #[cfg(test)]
            Self::Toy(_) => packet.first() == Some(&0),
        }
    }
}
