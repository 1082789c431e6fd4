//! The connection between a driver and its observers: capture, qlog and spans.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use anabranch_base::{Instant, Meta, TraceRecord, Transmit};
use anabranch_trace::write::Way;

use super::capture::Seen;
use super::timed_event::TimedEvent;
use super::{Capture, Qlog, spans};
use crate::clock::Clock;
use crate::shared::State;

/// Destinations whose source address is remembered.
const MOST_SOURCES: usize = 1024;

/// The observers of one driver. None exists without capture, qlog or `tracing`.
#[derive(Debug)]
pub(crate) struct Watch {
    capture: Option<Capture>,
    qlog: Option<Qlog>,
    /// Whether a subscriber of `tracing` wants the reports of the core.
    spans: bool,
    /// Nanoseconds since 1970 at which the clock of the endpoint was zero. A step of the time of day later on changes nothing.
    wall: u64,
    sources: BTreeMap<SocketAddr, IpAddr>,
    records: Vec<(TraceRecord, Option<SocketAddr>)>,
}

impl Watch {
    /// The watchers of an endpoint whose clock has just been made, if there are any.
    pub(crate) fn new(capture: Option<Capture>, qlog: Option<Qlog>, now: Instant) -> Option<Box<Self>> {
        let spans = spans::listens();
        let wall = Clock::time_of_day().as_nanos().saturating_sub(now.as_nanos());
        (capture.is_some() || qlog.is_some() || spans).then(|| {
            Box::new(Self { capture, qlog, spans, wall, sources: BTreeMap::new(), records: Vec::new() })
        })
    }

    /// Whether the core is to write trace records.
    pub(crate) fn wants_records(&self) -> bool {
        self.qlog.is_some() || self.spans
    }

    /// Whether the events of associations are to be kept for [`Watch::look`].
    pub(crate) fn wants_events(&self) -> bool {
        self.qlog.is_some()
    }

    fn of_day(&self, at: Instant) -> Instant {
        Instant::from_nanos(self.wall + at.as_nanos())
    }

    /// A packet that has come.
    pub(crate) fn received(&self, now: Instant, meta: &Meta, bytes: &[u8]) {
        let at = self.of_day(now);
        if let Some(capture) = &self.capture {
            let Meta { source, destination, dscp, ecn } = *meta;
            capture.packet(at, &Seen { way: Way::In, source, destination, dscp, ecn, bytes });
        }
        if let Some(qlog) = &self.qlog {
            qlog.packet(at, Way::In, meta.source, bytes);
        }
    }

    /// Packets that have left by the socket on `local`.
    pub(crate) fn sent(&mut self, now: Instant, transmit: &Transmit, packets: &[u8], local: SocketAddr) {
        let at = self.of_day(now);
        if self.capture.is_none() && self.qlog.is_none() {
            return;
        }
        let destination = transmit.destination;
        let ip = match transmit.source.map(|source| source.ip()).filter(|ip| !ip.is_unspecified()) {
            Some(ip) => ip,
            None => self.source_towards(local, destination),
        };
        let source = SocketAddr::new(ip, local.port());
        for bytes in packets.chunks(transmit.segment_size.max(1)) {
            if let Some(capture) = &self.capture {
                let (dscp, ecn) = (transmit.dscp, transmit.ecn);
                capture.packet(at, &Seen { way: Way::Out, source, destination, dscp, ecn, bytes });
            }
            if let Some(qlog) = &self.qlog {
                qlog.packet(at, Way::Out, destination, bytes);
            }
        }
    }

    /// The address that the system lets packets leave from where the socket is on a wildcard and the core leaves it the choice.
    fn source_towards(&mut self, local: SocketAddr, to: SocketAddr) -> IpAddr {
        if !local.ip().is_unspecified() {
            return local.ip();
        }
        if self.sources.len() >= MOST_SOURCES {
            self.sources.clear();
        }
        *self.sources.entry(to).or_insert_with(|| {
            // Nothing is sent: the system only looks at its routes.
            let asked = UdpSocket::bind(SocketAddr::new(local.ip(), 0)).and_then(|socket| {
                socket.connect(to)?;
                socket.local_addr()
            });
            asked.map_or(local.ip(), |found| found.ip())
        })
    }

    /// Takes the core's trace records and the events of associations, while the core is locked.
    pub(crate) fn look(&mut self, state: &mut State) -> Vec<TimedEvent> {
        if self.wants_records() {
            state.take_records(self.spans, &mut self.records);
        }
        state.told.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Writes the taken records and events to the qlog.
    pub(crate) fn tell(&mut self, told: Vec<TimedEvent>) {
        let wall = self.wall;
        let of_day = |at: Instant| Instant::from_nanos(wall + at.as_nanos());
        let group = |peer: Option<SocketAddr>| peer.map_or("?".to_owned(), |peer| peer.to_string());
        let Some(qlog) = &self.qlog else {
            self.records.clear();
            return;
        };
        for (record, peer) in self.records.drain(..) {
            qlog.record(&TraceRecord { at: of_day(record.at), ..record }, &group(peer));
        }
        for TimedEvent { at, peer, event } in told {
            qlog.life(of_day(at), &group(peer), &event);
        }
    }
}
