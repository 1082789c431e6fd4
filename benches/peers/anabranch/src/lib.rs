//! Driver of our own stack: the sans-I/O core on a plain UDP socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant as Clock;

use anabranch_base::{Dscp, Ecn, Instant, Meta, SecretRng};
use anabranch_sctp::{
    AssociationId, CloseReason, Config, Direction, Endpoint, EndpointConfig, Event as Told, Message,
    Reconfigured,
};
use peer::{Event, Full, Outgoing, Packet, Plan, Role, Stack, Tally};

/// The SCTP port that WebRTC's stacks are fixed to.
const PORT: u16 = 5000;
/// IPv4 and UDP headers.
const HEADERS: u16 = 28;

/// One end.
pub struct Anabranch {
    endpoint: Endpoint,
    config: Arc<Config>,
    local: SocketAddr,
    remote: SocketAddr,
    began: Clock,
    id: Option<AssociationId>,
    buffer: Vec<u8>,
    /// Streams that the peer has reset, and we have not yet.
    mirror: Option<Vec<u16>>,
}

impl Anabranch {
    /// An endpoint for the plan, with a secret of 32 bytes, and the values that a network wants.
    ///
    /// # Errors
    /// In words: the plan sets values that do not exist or do not go together.
    pub fn new(plan: &Plan, secret: [u8; 32]) -> Result<Self, String> {
        let config = Config::for_networks().with(|c| {
            // SACKs come in bunches on a real socket; with Max.Burst each bunch would let four packets go.
            c.pacing.enabled = true;
        });
        Self::with_config(plan, config, secret)
    }

    /// An endpoint like that of [`Self::new`], with another configuration to begin with.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_config(plan: &Plan, config: Config, secret: [u8; 32]) -> Result<Self, String> {
        let mut config = config.with(|c| {
            c.mtu = plan.mtu + HEADERS;
            c.path_mtu.base = c.path_mtu.base.min(c.mtu);
            // As many as the other side may use, so that a reset of its streams finds ours.
            c.streams.outbound = plan.streams.max(16);
            c.extensions.reconfiguration = true;
            c.extensions.interleaving = plan.interleaving;
            if let Some(window) = plan.window {
                c.limits.receive_window = window as _;
                // The window does not grow.
                c.limits.max_receive_window = 0;
            }
        });
        if plan.zero_checksum {
            config.set("zero_checksum", "dtls").map_err(|error| error.to_string())?;
        }
        for pair in &plan.set {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| format!("--set {pair}: KEY=VALUE is expected"))?;
            config.set(key, value).map_err(|error| error.to_string())?;
        }
        config.validate().map_err(|error| error.to_string())?;
        let mut endpoint_config = EndpointConfig::new(plan.local, PORT).keeping_closed();
        // Levels of subflows that the wire shows are not RFC 9260: the endpoint must be told too.
        endpoint_config.allow_private_encodings =
            plan.set.iter().any(|pair| pair.starts_with("subflow_level"));
        let mut endpoint = Endpoint::new(endpoint_config, SecretRng::from_seed(secret));
        let config = Arc::new(config);
        if plan.role == Role::Listen {
            endpoint.listen(Arc::clone(&config)).map_err(|error| error.to_string())?;
        }
        Ok(Self {
            endpoint,
            config,
            local: plan.local,
            remote: plan.remote,
            began: plan.epoch,
            id: None,
            buffer: Vec::new(),
            mirror: None,
        })
    }

    fn time(&self, now: Clock) -> Instant {
        Instant::from_nanos(now.saturating_duration_since(self.began).as_nanos() as u64)
    }

    fn reset_outgoing(&mut self, now: Instant, streams: &[u16]) {
        let Some(mut association) = self.id.and_then(|id| self.endpoint.association(id)) else { return };
        if let Err(error) = association.reset_streams(now, Direction::Outgoing, streams) {
            eprintln!("reset: {error}");
        }
    }

    fn told(&mut self, id: AssociationId, told: Told) -> Option<Event> {
        match told {
            Told::Accepted { .. } => {
                self.id = Some(id);
                None
            }
            Told::Established { .. } => Some(Event::Up),
            Told::Restarted { .. } => Some(Event::Restarted),
            Told::StreamsReset {
                direction: Direction::Outgoing, outcome: Reconfigured::Performed, ..
            } => Some(Event::ResetDone),
            Told::StreamsReset {
                direction: Direction::Incoming,
                outcome: Reconfigured::Performed,
                streams,
            } => {
                // "the other side ... resets the corresponding outgoing stream" (RFC 8831, 6.7): peers wait for it.
                self.mirror = Some(streams);
                Some(Event::PeerReset)
            }
            Told::Closed(reason) => Some(match reason {
                CloseReason::Graceful => Event::Graceful,
                CloseReason::AbortedByPeer { .. } => Event::Aborted,
                other => Event::Lost(format!("{other:?}")),
            }),
            Told::Readable { .. } | Told::Writable { .. } => None,
            other => Some(Event::Note(format!("{other:?}"))),
        }
    }
}

impl Stack for Anabranch {
    fn open(&mut self, now: Clock) {
        let now = self.time(now);
        let id = self.endpoint.connect(now, self.remote, PORT, Arc::clone(&self.config));
        self.id = Some(id.expect("the configuration is valid and there is room for an association"));
    }

    fn receive(&mut self, now: Clock, from: SocketAddr, packet: &[u8]) {
        let meta = Meta { source: from, destination: self.local, dscp: Dscp::DEFAULT, ecn: Ecn::NotEct };
        let now = self.time(now);
        self.endpoint.handle_datagram(now, meta, packet);
    }

    fn timeout(&mut self, now: Clock) {
        let now = self.time(now);
        self.endpoint.handle_timeout(now);
    }

    fn due(&mut self) -> Option<Clock> {
        let (due, _) = self.endpoint.poll_timeout()?;
        Some(self.began + std::time::Duration::from_nanos(due.as_nanos()))
    }

    fn transmit(&mut self, now: Clock, out: &mut dyn FnMut(Packet<'_>)) {
        let now = self.time(now);
        if let Some(streams) = self.mirror.take() {
            self.reset_outgoing(now, &streams);
        }
        loop {
            self.buffer.clear();
            let Some(transmit) = self.endpoint.poll_transmit(now, 16, &mut self.buffer) else { break };
            for bytes in self.buffer.chunks(transmit.segment_size) {
                out(Packet { to: transmit.destination, bytes, whole: transmit.dont_fragment });
            }
        }
    }

    fn event(&mut self) -> Option<Event> {
        while let Some((id, told)) = self.endpoint.poll_event() {
            let event = self.told(id, told);
            if event.is_some() {
                return event;
            }
        }
        None
    }

    fn read(&mut self, tally: &mut Tally) -> bool {
        let Some(mut association) = self.id.and_then(|id| self.endpoint.association(id)) else {
            return false;
        };
        let Some(message) = association.receive() else { return false };
        for piece in message.pieces() {
            tally.part(message.stream, piece);
        }
        if message.is_end() {
            tally.end();
        }
        true
    }

    fn send(&mut self, now: Clock, message: &Outgoing) -> Result<(), Full> {
        let now = self.time(now);
        let mut association = self.id.and_then(|id| self.endpoint.association(id)).ok_or(Full)?;
        let mut ours = Message::new(message.stream, message.payload.clone());
        ours.unordered = message.unordered;
        if let Some(rtx) = message.rtx {
            ours = ours.max_retransmissions(rtx);
        }
        association.send(now, ours).map(drop).map_err(|_| Full)
    }

    fn reset(&mut self, now: Clock, streams: u16) {
        let now = self.time(now);
        self.reset_outgoing(now, &(0..streams).collect::<Vec<u16>>());
    }

    fn shutdown(&mut self, now: Clock) {
        let now = self.time(now);
        if let Some(mut association) = self.id.and_then(|id| self.endpoint.association(id)) {
            association.shutdown(now);
        }
    }

    fn abort(&mut self, now: Clock) {
        let now = self.time(now);
        if let Some(mut association) = self.id.and_then(|id| self.endpoint.association(id)) {
            association.abort(now, b"enough");
        }
    }
}
