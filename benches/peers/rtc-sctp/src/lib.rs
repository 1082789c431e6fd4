//! Driver of rtc-sctp, the sans-I/O stack of webrtc-rs.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use peer::{Event, Full, Outgoing, Packet, Plan, Role, Stack, Tally};
use rtc_sctp::{
    Association, AssociationError, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig,
    EndpointEvent, Event as Told, Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig,
    StreamEvent, TransportConfig, max_payload_size_for_mtu,
};
use rtc_shared::{TransportMessage, TransportProtocol};

/// One end.
pub struct Rtc {
    endpoint: Endpoint,
    transport: TransportConfig,
    remote: SocketAddr,
    association: Option<(AssociationHandle, Association)>,
    packets: Vec<(SocketAddr, Vec<Bytes>)>,
    events: VecDeque<Event>,
    readable: VecDeque<u16>,
    streams: u16,
    /// The stack has no limit for queued messages: this much is enough for all streams together, bytes.
    backlog: usize,
    /// The stack does not tell how an association has ended: the packets do.
    aborted: bool,
    completed: bool,
    over: bool,
    resetting: Option<u16>,
}

impl Rtc {
    /// As the plan asks.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut transport = TransportConfig::default()
            .with_max_message_size(1 << 20)
            .with_max_num_outbound_streams(1024.max(plan.streams));
        if let Some(window) = plan.window {
            transport = transport.with_max_receive_buffer_size(window);
        }
        let mut config = EndpointConfig::new();
        config.max_payload_size(max_payload_size_for_mtu(plan.mtu.into()));
        let server = (plan.role == Role::Listen).then(|| Arc::new(ServerConfig::new(transport.clone())));
        Self {
            endpoint: Endpoint::new(plan.local, TransportProtocol::UDP, Arc::new(config), server),
            transport,
            remote: plan.remote,
            association: None,
            packets: Vec::new(),
            events: VecDeque::new(),
            readable: VecDeque::new(),
            streams: plan.streams,
            backlog: plan.backlog,
            aborted: false,
            completed: false,
            over: false,
            resetting: None,
        }
    }

    fn fresh(&mut self, now: Instant, handle: AssociationHandle, association: Association) {
        self.flush(now);
        self.association = Some((handle, association));
        (self.aborted, self.completed, self.over, self.resetting) = (false, false, false, None);
        self.readable.clear();
    }

    /// Takes the events of the association.
    fn collect(&mut self) {
        let Some((handle, association)) = &mut self.association else { return };
        let mut lost = None;
        while let Some(told) = association.poll() {
            match told {
                Told::Connected => self.events.push_back(Event::Up),
                // The end of one stream: both sides have reset it.
                Told::AssociationLost { reason: AssociationError::Reset, .. } if !association.is_closed() => {
                    let Some(left) = &mut self.resetting else {
                        self.events.push_back(Event::PeerReset);
                        continue;
                    };
                    *left -= 1;
                    if *left == 0 {
                        self.resetting = None;
                        self.events.push_back(Event::ResetDone);
                    }
                }
                Told::HandshakeFailed { reason } | Told::AssociationLost { reason, .. } => {
                    lost = Some(format!("{reason:?}"))
                }
                Told::Stream(StreamEvent::Readable { id } | StreamEvent::Opened { id })
                    if self.readable.back() != Some(&id) =>
                {
                    self.readable.push_back(id);
                }
                _ => {}
            }
        }
        // That the association is drained is said too early: packets for it still come.
        while association.poll_endpoint_event().is_some() {}
        // It is also "closed" before its INIT has come.
        let closed = association.is_closed() && (!association.is_handshaking() || lost.is_some());
        if (closed || self.completed) && !self.over {
            self.over = true;
            let handle = *handle;
            let event = match (self.aborted, lost) {
                (true, _) => Event::Aborted,
                (false, Some(why)) if why != "AssociationClosed" => Event::Lost(why),
                _ => Event::Graceful,
            };
            self.events.push_back(event);
            self.endpoint.handle_event(handle, EndpointEvent::drained());
        }
    }

    fn flush(&mut self, now: Instant) {
        while let Some(transmit) =
            self.association.as_mut().and_then(|(_, association)| association.poll_transmit(now))
        {
            self.keep(transmit);
        }
    }

    fn keep(&mut self, transmit: TransportMessage<Payload>) {
        if let Payload::RawEncode(packets) = transmit.message {
            // The stack does not tell the side that began the shutdown of its end: SHUTDOWN COMPLETE shows it.
            self.completed |= packets.iter().any(|packet| packet.get(12) == Some(&14));
            self.packets.push((transmit.transport.peer_addr, packets));
        }
    }
}

impl Stack for Rtc {
    fn open(&mut self, now: Instant) {
        let config = ClientConfig::new(self.transport.clone());
        let (handle, association) = self
            .endpoint
            .connect(now, config, self.remote)
            .expect("the configuration is valid and there is room");
        self.fresh(now, handle, association);
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) {
        self.aborted |= packet.get(12) == Some(&6);
        match self.endpoint.handle(now, from, None, Bytes::copy_from_slice(packet)) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.fresh(now, handle, association)
            }
            Some((handle, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = self.association.as_mut().filter(|(ours, _)| *ours == handle)
                {
                    association.handle_event(event);
                }
            }
            _ => {}
        }
        self.collect();
    }

    fn timeout(&mut self, now: Instant) {
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(now);
        }
        self.collect();
    }

    fn due(&mut self) -> Option<Instant> {
        self.association.as_ref()?.1.poll_timeout()
    }

    fn transmit(&mut self, now: Instant, out: &mut dyn FnMut(Packet<'_>)) {
        self.flush(now);
        for (to, packets) in self.packets.drain(..) {
            for packet in packets {
                out(Packet { to, bytes: &packet, whole: true });
            }
        }
        self.collect();
    }

    fn event(&mut self) -> Option<Event> {
        self.collect();
        self.events.pop_front()
    }

    fn read(&mut self, tally: &mut Tally) -> bool {
        let Some((_, association)) = &mut self.association else { return false };
        while let Some(&id) = self.readable.front() {
            let message = association.stream(id).ok().and_then(|mut stream| stream.read().ok().flatten());
            let Some(mut message) = message else {
                self.readable.pop_front();
                continue;
            };
            while let Some(part) = message.next(message.len()) {
                tally.part(id, &part.bytes);
            }
            tally.end();
            return true;
        }
        false
    }

    fn send(&mut self, now: Instant, message: &Outgoing) -> Result<(), Full> {
        let backlog = self.backlog;
        let (_, association) = self.association.as_mut().ok_or(Full)?;
        if association.stream(message.stream).is_err() {
            let mut stream = association
                .open_stream(message.stream, PayloadProtocolIdentifier::Binary)
                .map_err(|_| Full)?;
            let (kind, value) = match message.rtx {
                Some(rtx) => (ReliabilityType::Rexmit, u32::from(rtx)),
                None => (ReliabilityType::Reliable, 0),
            };
            stream.set_reliability_params(message.unordered, kind, value).map_err(|_| Full)?;
        }
        let mut stream = association.stream(message.stream).map_err(|_| Full)?;
        if stream.buffered_amount().map_err(|_| Full)? > backlog / usize::from(self.streams) {
            return Err(Full);
        }
        stream.write_chunk(now, &message.payload).map(drop).map_err(|_| Full)
    }

    fn is_flushed(&mut self) -> bool {
        // The stack's shutdown waits for data in flight, not for queued data.
        let Some((_, association)) = &mut self.association else { return true };
        association.stream_ids().into_iter().all(|id| {
            association.stream(id).and_then(|stream| stream.buffered_amount()).is_ok_and(|bytes| bytes == 0)
        })
    }

    fn reset(&mut self, now: Instant, streams: u16) {
        self.resetting = Some(streams);
        let Some((_, association)) = &mut self.association else { return };
        for id in 0..streams {
            if let Err(error) = association.stream(id).and_then(|mut stream| stream.close(now)) {
                self.events.push_back(Event::Note(format!("reset: {error}")));
            }
        }
    }

    fn shutdown(&mut self, _now: Instant) {
        if let Some(Err(error)) = self.association.as_mut().map(|(_, association)| association.shutdown()) {
            self.events.push_back(Event::Note(format!("shutdown: {error}")));
        }
    }

    fn abort(&mut self, _now: Instant) {
        if let Some(Err(error)) = self.association.as_mut().map(|(_, association)| association.abort()) {
            self.events.push_back(Event::Note(format!("abort: {error}")));
        }
    }
}
