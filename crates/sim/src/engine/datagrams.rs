//! Flows without a transport: a sender whose packets leave by a schedule, and a receiver that counts those that arrive. A
//! packet is only its size; its bytes are made up for captures.

use anabranch_base::{Dscp, Instant, Meta, Rng, Trace, TraceEvent, TraceRecord, Transmit};
use anabranch_link::Frame;
use bytes::Bytes;

use super::report::{Counts, Gauges, Notice};
use super::schedule::Schedule;
use crate::scenario::PacketSource;

/// Bytes of a UDP header.
const HEADER: u32 = 8;

/// One end of a flow of packets without a transport.
#[derive(Debug)]
pub(crate) struct DatagramEnd {
    source: PacketSource,
    dscp: Dscp,
    /// Ports of this end and of the other one, for captures.
    ports: (u16, u16),
    /// Bytes of the IP header.
    ip_header: u32,
    /// User data in a packet.
    payload: u32,
    /// The time after which no packet is sent; `None`: never.
    stop: Option<Instant>,
    /// Random numbers of the schedule, until it is made.
    rng: Rng,
    schedule: Option<Schedule>,
    due: Option<Instant>,
    sent: u64,
    received: u64,
    received_bytes: u64,
    trace: Trace,
}

impl DatagramEnd {
    pub(crate) fn new(
        source: PacketSource,
        dscp: Dscp,
        ports: (u16, u16),
        ip_header: u32,
        stop: Option<Instant>,
        rng: Rng,
    ) -> Self {
        Self {
            source,
            dscp,
            ports,
            ip_header,
            payload: source.packet.saturating_sub(ip_header + HEADER),
            stop,
            rng,
            schedule: None,
            due: None,
            sent: 0,
            received: 0,
            received_bytes: 0,
            trace: Trace::default(),
        }
    }

    pub(crate) fn open(&mut self, now: Instant) -> Result<(), String> {
        let (schedule, first) = Schedule::new(&self.source, now, self.rng.clone());
        self.schedule = Some(schedule);
        self.set_due(first);
        Ok(())
    }

    fn set_due(&mut self, at: Instant) {
        self.due = Some(at).filter(|at| self.stop.is_none_or(|stop| *at < stop));
    }

    /// The time at which the next packet leaves.
    #[inline]
    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.due
    }

    /// The packet whose time has come, if any, from the node `source` to `destination`.
    #[inline]
    pub(crate) fn poll_frame(
        &mut self,
        now: Instant,
        flow: u32,
        source: u32,
        destination: u32,
    ) -> Option<Frame> {
        self.due.filter(|due| *due <= now)?;
        let next = self.schedule.as_mut()?.following();
        self.set_due(next);
        let seq = self.sent;
        self.sent += 1;
        let len = self.payload;
        self.trace.record(|| record(now, TraceEvent::Sent { seq, len, retransmit: None }));
        Some(Frame {
            size: self.source.packet,
            source,
            destination,
            flow,
            // Its number, so that the receiver can tell which one it is without any bytes.
            id: seq as u32,
            dscp: self.dscp,
            data: true,
            ..Frame::default()
        })
    }

    #[inline]
    pub(crate) fn handle_frame(&mut self, now: Instant, frame: &Frame) {
        self.received += 1;
        self.received_bytes += u64::from(frame.size);
        let (seq, len) = (u64::from(frame.id), self.payload);
        self.trace.record(|| record(now, TraceEvent::Received { seq, len, duplicate: false }));
    }

    pub(crate) fn counts(&self) -> Counts {
        let payload = u64::from(self.payload);
        Counts {
            packets_sent: self.sent,
            packets_sent_unique: self.sent,
            payload_bytes_unique: self.sent * payload,
            packets_received_new: self.received,
            // Without IP headers, like those of the transports.
            packet_bytes_received_new: self.received_bytes - self.received * u64::from(self.ip_header),
            payload_bytes_received_new: self.received * payload,
            payload_bytes_delivered: self.received * payload,
            ..Counts::default()
        }
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        self.trace = if on { Trace::on() } else { Trace::default() };
    }

    pub(crate) fn drain_trace(&mut self, sink: impl FnMut(TraceRecord)) {
        self.trace.drain().for_each(sink);
    }

    /// The packet as a UDP datagram, its number in front of zeros; for captures. A checksum of zero says that there is none
    /// (RFC 768).
    pub(crate) fn write(&self, number: u32, to: &mut Vec<u8>) {
        let length = (self.payload + HEADER) as u16;
        for word in [self.ports.0, self.ports.1, length, 0] {
            to.extend(word.to_be_bytes());
        }
        to.extend(number.to_be_bytes());
        to.resize(usize::from(length), 0);
    }
}

/// The functions of a transport that have no effect here: there are no bytes, no application and nothing to wait for.
impl DatagramEnd {
    pub(crate) fn handle_datagram(&mut self, _now: Instant, _meta: Meta, _bytes: &[u8]) {}

    pub(crate) fn handle_timeout(&mut self, _now: Instant) {}

    pub(crate) fn poll_notice(&mut self) -> Option<Notice> {
        None
    }

    pub(crate) fn offer(&mut self, _now: Instant, _stream: u16, _unordered: bool, _data: Bytes) -> usize {
        0
    }

    pub(crate) fn take_all(&mut self, _now: Instant, _sink: impl FnMut(u16, &[u8])) {}

    pub(crate) fn close(&mut self, _now: Instant) {}

    pub(crate) fn poll_transmit(&mut self, _now: Instant, _buf: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    pub(crate) fn gauges(&self) -> Gauges {
        Gauges::default()
    }
}

fn record(at: Instant, event: TraceEvent) -> TraceRecord {
    TraceRecord { at, association: 0, subflow: 0, path: 0, event }
}
