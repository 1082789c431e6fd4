//! Driver of sctp-proto, the stack of str0m.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use peer::{Event, Full, Outgoing, Packet, Plan, Role, Stack, Tally};
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, EndpointEvent,
    Event as Told, Payload, PayloadProtocolIdentifier, ReliabilityType, ServerConfig, StreamEvent, Transmit,
    TransportConfig,
};

/// Common header, and header of a DATA chunk.
const HEADERS: u32 = 28;

/// One end.
pub struct Proto {
    endpoint: Endpoint,
    transport: Arc<TransportConfig>,
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

impl Proto {
    /// As the plan asks.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut transport = TransportConfig::default()
            .with_max_send_message_size(1 << 20)
            .with_max_receive_message_size(1 << 20)
            .with_max_num_outbound_streams(1024.max(plan.streams));
        if let Some(window) = plan.window {
            transport = transport.with_max_receive_buffer_size(window);
        }
        let transport = Arc::new(transport);
        let mut config = EndpointConfig::new();
        config.max_payload_size(u32::from(plan.mtu) - HEADERS);
        let server = (plan.role == Role::Listen).then(|| {
            let mut server = ServerConfig::new();
            server.transport = Arc::clone(&transport);
            Arc::new(server)
        });
        Self {
            endpoint: Endpoint::new(Arc::new(config), server),
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
                Told::HandshakeFailed { reason } | Told::AssociationLost { reason } => {
                    lost = Some(format!("{reason:?}"))
                }
                Told::Stream(StreamEvent::Readable { id } | StreamEvent::Opened { id })
                    if self.readable.back() != Some(&id) =>
                {
                    self.readable.push_back(id);
                }
                Told::Stream(StreamEvent::Finished { .. }) if self.resetting.is_none() => {
                    self.events.push_back(Event::PeerReset);
                }
                Told::Stream(StreamEvent::ResetComplete { .. }) => {
                    if let Some(left) = &mut self.resetting {
                        *left -= 1;
                        if *left == 0 {
                            self.resetting = None;
                            self.events.push_back(Event::ResetDone);
                        }
                    }
                }
                Told::Stream(StreamEvent::ResetFailed { reason, .. }) => {
                    self.events.push_back(Event::Note(format!("reset: {reason:?}")));
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
        while let Some(transmit) = self.endpoint.poll_transmit() {
            self.keep(transmit);
        }
        while let Some(transmit) =
            self.association.as_mut().and_then(|(_, association)| association.poll_transmit(now))
        {
            self.keep(transmit);
        }
    }

    fn keep(&mut self, transmit: Transmit) {
        if let Payload::RawEncode(packets) = transmit.payload {
            // The stack does not tell the side that began the shutdown of its end: SHUTDOWN COMPLETE shows it.
            self.completed |= packets.iter().any(|packet| packet.get(12) == Some(&14));
            self.packets.push((transmit.remote, packets));
        }
    }
}

impl Stack for Proto {
    fn open(&mut self, now: Instant) {
        let mut config = ClientConfig::new();
        config.transport = Arc::clone(&self.transport);
        let (handle, association) =
            self.endpoint.connect(config, self.remote).expect("the configuration is valid and there is room");
        self.fresh(now, handle, association);
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) {
        self.aborted |= packet.get(12) == Some(&6);
        match self.endpoint.handle(now, from, None, None, Bytes::copy_from_slice(packet)) {
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.fresh(now, handle, association)
            }
            Some((handle, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = self.association.as_mut().filter(|(ours, _)| *ours == handle)
                {
                    association.handle_event(event);
                }
            }
            None => {}
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

    fn send(&mut self, _now: Instant, message: &Outgoing) -> Result<(), Full> {
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
        stream.write_chunk(&message.payload).map(drop).map_err(|_| Full)
    }

    fn is_flushed(&mut self) -> bool {
        // The stack's shutdown waits for data in flight, not for queued data.
        let Some((_, association)) = &mut self.association else { return true };
        association.stream_ids().into_iter().all(|id| {
            association.stream(id).and_then(|stream| stream.buffered_amount()).is_ok_and(|bytes| bytes == 0)
        })
    }

    fn reset(&mut self, _now: Instant, streams: u16) {
        self.resetting = Some(streams);
        let Some((_, association)) = &mut self.association else { return };
        for id in 0..streams {
            if let Err(error) = association.stream(id).and_then(|mut stream| stream.close()) {
                self.events.push_back(Event::Note(format!("reset: {error}")));
            }
        }
    }

    fn shutdown(&mut self, _now: Instant) {
        if let Some(Err(error)) = self.association.as_mut().map(|(_, association)| association.shutdown()) {
            self.events.push_back(Event::Note(format!("shutdown: {error}")));
        }
    }

    fn abort(&mut self, _now: Instant) {}
}
