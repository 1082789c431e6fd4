//! One end of an SCTP association.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_base::{Instant, Meta, Rng, TraceRecord, Transmit};
use anabranch_sctp::{
    Association, AssociationHandle, AssociationId, CloseReason, Config, Endpoint, EndpointConfig, Event,
    IcmpError, Message, Reliability, SendError, Snapshot, SubflowLevel, SubflowStats,
};
use anabranch_wire::chunk::{Data, IData};
use anabranch_wire::sf2007;
use bytes::Bytes;

use super::report::{Counts, Gauges, HeldBack, Notice};
use crate::scenario::Change;

#[derive(Debug)]
pub(crate) struct SctpEnd {
    endpoint: Endpoint,
    id: Option<AssociationId>,
    config: Arc<Config>,
    /// Address of the peer, port 0: SCTP rides on IP itself.
    remote: SocketAddr,
    remote_port: u16,
    /// Why a message is not taken now or ever, until the application has been told.
    refused: Option<String>,
}

impl SctpEnd {
    /// The ports of `local` and `remote` are SCTP ports. An end that does not open the association listens.
    pub(crate) fn new(
        local: SocketAddr,
        remote: SocketAddr,
        config: Config,
        opens: bool,
        mut rng: Rng,
    ) -> Self {
        let config = Arc::new(config);
        let mut told = EndpointConfig::new(SocketAddr::new(local.ip(), 0), local.port()).keeping_closed();
        told.checksums = config.checksums;
        // A simulated network has no other users.
        told.allow_private_encodings = true;
        let mut endpoint = Endpoint::new(told, rng.secret());
        if !opens {
            // An endpoint that allows private encodings takes every configuration.
            let _taken = endpoint.listen(Arc::clone(&config));
        }
        let remote_port = remote.port();
        Self {
            endpoint,
            id: None,
            config,
            remote: SocketAddr::new(remote.ip(), 0),
            remote_port,
            refused: None,
        }
    }

    pub(crate) fn open(&mut self, now: Instant) -> Result<(), String> {
        let opened = self.endpoint.connect(now, self.remote, self.remote_port, Arc::clone(&self.config));
        self.id = Some(opened.map_err(|error| error.to_string())?);
        Ok(())
    }

    fn association(&mut self) -> Option<AssociationHandle<'_>> {
        self.endpoint.association(self.id?)
    }

    /// Where it stands, and its verification tags: ours and the peer's.
    #[cfg(any(debug_assertions, feature = "watched"))]
    pub(super) fn standing(&self) -> Option<(anabranch_sctp::State, (u32, u32))> {
        self.view().map(|association| (association.state(), association.tags()))
    }

    fn view(&self) -> Option<&Association> {
        self.endpoint.view(self.id?)
    }

    #[inline]
    pub(crate) fn handle_datagram(&mut self, now: Instant, meta: Meta, bytes: &[u8]) {
        self.endpoint.handle_datagram(now, meta, bytes);
    }

    pub(crate) fn handle_icmp(&mut self, now: Instant, message: &[u8]) {
        let error =
            if self.remote.is_ipv6() { IcmpError::parse_v6(message) } else { IcmpError::parse_v4(message) };
        if let Some(error) = error {
            self.endpoint.handle_icmp(now, &error);
        }
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.endpoint.handle_timeout(now);
    }

    /// Whether [`SctpEnd::poll_notice`] may have something.
    #[inline]
    pub(crate) fn may_have_notices(&self) -> bool {
        self.refused.is_some() || self.endpoint.has_events()
    }

    #[inline]
    pub(crate) fn poll_notice(&mut self) -> Option<Notice> {
        // It is asked more often than there is something.
        if self.may_have_notices() { self.next_notice() } else { None }
    }

    #[inline(never)]
    fn next_notice(&mut self) -> Option<Notice> {
        if let Some(why) = self.refused.take() {
            return Some(Notice::Failed(why));
        }
        loop {
            let (id, event) = self.endpoint.poll_event()?;
            return Some(match event {
                Event::Accepted { .. } => {
                    self.id = Some(id);
                    Notice::Connected
                }
                Event::Established { .. } => Notice::Connected,
                Event::Readable { .. } => Notice::Readable,
                Event::Writable { .. } => Notice::Writable,
                Event::PeerShutdown => Notice::PeerClosed,
                Event::Closed(CloseReason::Graceful) => Notice::Closed,
                Event::Closed(reason) => Notice::Failed(reason.to_string()),
                _ => continue,
            });
        }
    }

    pub(crate) fn offer(&mut self, now: Instant, stream: u16, unordered: bool, payload: Bytes) -> usize {
        let Some(mut association) = self.association() else { return 0 };
        let len = payload.len();
        let message = Message { unordered, ..Message::new(stream, payload) };
        if association.send(now, message).is_ok() { len } else { 0 }
    }

    pub(crate) fn offer_message(
        &mut self,
        now: Instant,
        (stream, unordered): (u16, bool),
        reliability: Reliability,
        payload: Bytes,
    ) -> usize {
        if reliability == Reliability::Full {
            return self.offer(now, stream, unordered, payload);
        }
        let Some(mut association) = self.association() else { return 0 };
        let len = payload.len();
        let message = Message { unordered, ..Message::new(stream, payload) }.reliability(reliability);
        match association.send(now, message) {
            Ok(_) => len,
            Err(SendError::Full | SendError::StreamFull { .. } | SendError::Closing) => 0,
            Err(error) => {
                drop(association);
                self.refused.get_or_insert_with(|| error.to_string());
                0
            }
        }
    }

    pub(crate) fn take_all(&mut self, _now: Instant, mut sink: impl FnMut(u16, &[u8])) {
        let Some(mut association) = self.association() else { return };
        while association.has_unread() {
            let Some(message) = association.receive() else { return };
            for piece in message.pieces() {
                sink(message.stream, piece);
            }
        }
    }

    pub(crate) fn take_parts(&mut self, mut sink: impl FnMut(Option<u32>, &[u8])) {
        let Some(mut association) = self.association() else { return };
        while let Some(message) = association.receive() {
            let part = message.part.map(|part| part.message);
            for piece in message.pieces() {
                sink(part, piece);
            }
        }
    }

    pub(crate) fn close(&mut self, now: Instant) {
        if let Some(mut association) = self.association() {
            association.shutdown(now);
        }
    }

    /// Whether [`SctpEnd::poll_transmit`] may have something.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.endpoint.has_ready()
    }

    #[inline]
    pub(crate) fn poll_transmit(&mut self, now: Instant, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, 1, buf)
    }

    #[inline]
    pub(crate) fn poll_timeout(&mut self) -> Option<Instant> {
        self.endpoint.poll_timeout().map(|(at, _)| at)
    }

    pub(crate) fn counts(&self) -> Counts {
        let Some(stats) = self.view().map(Association::stats) else { return Counts::default() };
        Counts {
            packets_sent: stats.packets_sent,
            packets_sent_unique: stats.packets_sent_unique,
            payload_bytes_unique: stats.payload_bytes_unique,
            retransmissions: stats.retransmissions,
            fast_retransmits: stats.fast_retransmits,
            timeouts: stats.timeouts,
            packets_received_new: stats.packets_received_new,
            packet_bytes_received_new: stats.packet_bytes_received_new,
            payload_bytes_received_new: stats.payload_bytes_received_new,
            payload_bytes_delivered: stats.payload_bytes_delivered,
        }
    }

    #[inline]
    pub(crate) fn gauges(&self) -> Gauges {
        let Some(association) = self.view() else {
            return Gauges::default();
        };
        let (cwnd, srtt) = association.window_and_srtt();
        Gauges { cwnd, srtt }
    }

    #[inline]
    pub(crate) fn held_back(&self) -> HeldBack {
        let Some(association) = self.view() else { return HeldBack::No };
        let queued = association.queued_bytes() as u64;
        if queued == 0 {
            return HeldBack::Application;
        }
        let worth = queued.min(u64::from(self.config.mtu));
        if association.peer_window() < worth && association.flight_bytes() < association.window_and_srtt().0 {
            return HeldBack::Receiver;
        }
        HeldBack::No
    }

    pub(crate) fn negotiated_level(&self) -> Option<&'static str> {
        let negotiated = self.view()?.negotiated()?;
        Some(match negotiated.subflow_level {
            SubflowLevel::Zero => "0",
            SubflowLevel::One => "1",
            SubflowLevel::Sf2007 => "sf2007",
        })
    }

    pub(crate) fn change(&mut self, now: Instant, change: &Change) -> Result<(), String> {
        let Some(mut association) = self.association() else {
            return Err("the flow is not open yet".to_owned());
        };
        let done = match change {
            Change::StreamDscp { stream, dscp } => {
                association.set_stream_dscp(now, *stream, *dscp).map(|_| ())
            }
            Change::StreamSubflow { stream, subflow } => {
                association.set_stream_subflow(now, *stream, *subflow)
            }
            Change::Add(spec) => association.add_subflow(now, spec).map(|_| ()),
            Change::Remove { subflow, to } => association.remove_subflow(now, *subflow, *to),
            Change::Merge { subflow, to } => association.merge_subflows(now, *subflow, *to),
        };
        done.map_err(|error| error.to_string())
    }

    pub(crate) fn subflows(&self) -> Vec<SubflowStats> {
        let Some(association) = self.view() else {
            return Vec::new();
        };
        (0..=u8::MAX).map_while(|index| association.subflow_stats(index)).collect()
    }

    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        self.view().map(Association::snapshot)
    }

    pub(crate) fn reset_peaks(&mut self) {
        if let Some(mut association) = self.association() {
            association.reset_peaks();
        }
    }

    /// Bytes of header of its DATA chunks.
    pub(crate) fn data_header(&self) -> usize {
        if self.config.subflows.level == SubflowLevel::Sf2007 { sf2007::Data::HEADER } else { Data::HEADER }
    }

    pub(crate) fn set_trace(&mut self, on: bool) {
        self.endpoint.set_trace(on);
    }

    pub(crate) fn drain_trace(&mut self, sink: impl FnMut(TraceRecord)) {
        self.endpoint.drain_trace().for_each(sink);
    }
}

/// DATA (RFC 9260, 3.3.1), I-DATA (RFC 8260, 2.1) and SF-DATA (docs/explanation/subflows.md).
const DATA_CHUNKS: [u8; 3] = [0, 0x40, 0x5F];

/// Whether one of the chunks carries user data.
pub(super) fn carries_data(packet: &[u8]) -> bool {
    chunks(packet).any(|(kind, _)| DATA_CHUNKS.contains(&kind))
}

/// Bytes of user data in all, and the type of the first chunk. A DATA chunk has a header of `data_header` bytes.
pub(super) fn describe(packet: &[u8], data_header: usize) -> (u64, u8) {
    let user = chunks(packet).map(|(kind, length)| match kind {
        0 => length.saturating_sub(data_header),
        0x40 | 0x5F => length.saturating_sub(IData::HEADER),
        _ => 0,
    });
    (user.map(|bytes| bytes as u64).sum(), packet.get(12).copied().unwrap_or_default())
}

/// Type and length of each chunk.
fn chunks(packet: &[u8]) -> impl Iterator<Item = (u8, usize)> {
    let mut rest = packet.get(12..).unwrap_or_default();
    std::iter::from_fn(move || {
        let [kind, _, high, low, ..] = rest else { return None };
        // A chunk is at least its header, and padded to four bytes.
        let length = usize::from(u16::from_be_bytes([*high, *low])).max(4);
        let chunk = (*kind, length);
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_found_behind_other_chunks() {
        let mut packet = vec![0; 12];
        assert!(!carries_data(&packet));
        // A SACK of 16 bytes.
        packet.extend([3, 0, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert!(!carries_data(&packet));
        // A chunk of 5 bytes is padded to 8.
        packet.extend([4, 0, 0, 5, 9, 0, 0, 0]);
        assert!(!carries_data(&packet));
        for kind in DATA_CHUNKS {
            packet.extend([kind, 3, 0, 17]);
            assert!(carries_data(&packet));
            packet.truncate(packet.len() - 4);
        }
        // A chunk of 4 bytes of SACK in front of 5 bytes of DATA and 3 of I-DATA.
        let mut packet = vec![0; 12];
        packet.extend([3, 0, 0, 4, 0, 3, 0, 21]);
        packet.extend([0; 20]);
        packet.extend([0x40, 3, 0, 23]);
        packet.extend([0; 19]);
        assert_eq!(describe(&packet, Data::HEADER), (8, 3));
        assert_eq!(
            describe(&packet, sf2007::Data::HEADER),
            (4, 3),
            "the header of the thesis has four bytes more"
        );
        assert_eq!(describe(&packet[..12], Data::HEADER), (0, 0));
        // A length that lies must not hang.
        packet.splice(12.., [3, 0, 0, 0, 3, 0, 0, 1]);
        assert!(!carries_data(&packet));
    }
}
