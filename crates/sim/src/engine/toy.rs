//! A transport for tests of the world itself: no handshake, no acknowledgement. The sender sends a packet of 980 bytes
//! every `gap`, numbered from 0, until `limit`; the receiver answers each with one of 20 bytes.

use anabranch_base::{Dscp, Duration, Ecn, Instant, Meta, TraceEvent, TraceRecord, Transmit};
use bytes::Bytes;
use std::net::SocketAddr;

use super::report::{Counts, Gauges, Notice};

#[derive(Debug)]
pub(crate) struct ToyEnd {
    pub(crate) remote: SocketAddr,
    pub(crate) gap: Duration,
    pub(crate) limit: u64,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) arrivals: Vec<(u64, u64)>,
    due: Option<Instant>,
    answers: Vec<u64>,
    trace: Vec<TraceRecord>,
    tracing: bool,
}

impl ToyEnd {
    pub(crate) fn new(remote: SocketAddr, gap: Duration, limit: u64) -> Self {
        Self {
            remote,
            gap,
            limit,
            sent: 0,
            received: 0,
            arrivals: Vec::new(),
            due: None,
            answers: Vec::new(),
            trace: Vec::new(),
            tracing: false,
        }
    }

    pub(crate) fn open(&mut self, now: Instant) -> Result<(), String> {
        self.due = Some(now);
        Ok(())
    }

    pub(crate) fn handle_datagram(&mut self, now: Instant, _meta: Meta, bytes: &[u8]) {
        let seq = u64::from_be_bytes(bytes[1..9].try_into().unwrap());
        self.received += 1;
        self.arrivals.push((now.as_nanos(), seq));
        self.record(now, TraceEvent::Received { seq, len: bytes.len() as u32, duplicate: false });
        if bytes[0] == 0 {
            self.answers.push(seq);
        }
    }

    pub(crate) fn handle_timeout(&mut self, _now: Instant) {}

    pub(crate) fn poll_notice(&mut self) -> Option<Notice> {
        None
    }

    pub(crate) fn offer(&mut self, _now: Instant, _stream: u16, _unordered: bool, _data: Bytes) -> usize {
        0
    }

    pub(crate) fn take_all(&mut self, _now: Instant, _sink: impl FnMut(u16, &[u8])) {}

    pub(crate) fn close(&mut self, _now: Instant) {}

    pub(crate) fn poll_transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (kind, seq, size) = if let Some(seq) = self.answers.pop() {
            (1, seq, 20)
        } else {
            let due = self.due.filter(|due| *due <= now)?;
            let seq = self.sent;
            self.sent += 1;
            self.due = (self.sent < self.limit).then(|| due + self.gap);
            self.record(now, TraceEvent::Sent { seq, len: 980, retransmit: None });
            (0, seq, 980)
        };
        buf.push(kind);
        buf.extend(seq.to_be_bytes());
        buf.resize(size, 0);
        Some(Transmit {
            dont_fragment: false,
            destination: self.remote,
            source: None,
            dscp: Dscp::DEFAULT,
            ecn: Ecn::NotEct,
            size,
            segment_size: size,
        })
    }

    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        self.due
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            packets_sent: self.sent,
            packets_sent_unique: self.sent,
            payload_bytes_unique: self.sent * 971,
            packets_received_new: self.received,
            packet_bytes_received_new: self.received * 980,
            payload_bytes_received_new: self.received * 971,
            ..Counts::default()
        }
    }

    pub(crate) fn gauges(&self) -> Gauges {
        Gauges { cwnd: 1000 + self.received, srtt: Some(Duration::from_millis(5)) }
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        self.tracing = on;
    }

    pub(crate) fn drain_trace(&mut self, sink: impl FnMut(TraceRecord)) {
        self.trace.drain(..).for_each(sink);
    }

    fn record(&mut self, at: Instant, event: TraceEvent) {
        if self.tracing {
            self.trace.push(TraceRecord { at, association: 0, subflow: 0, path: 0, event });
        }
    }
}
