//! Driver of dcSCTP, the stack of Chromium's WebRTC, in its Rust form.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dcsctp::api::{
    DcSctpSocket, Message, Options, PpId, SendOptions, Socket, SocketEvent, SocketTime, StreamId,
    ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
};
use peer::{Event, Full, Outgoing, Packet, Plan, Stack, Tally};

/// One end.
pub struct Dcsctp {
    options: Options,
    remote: SocketAddr,
    /// One association; the next one gets a new one.
    socket: Socket,
    began: Instant,
    packets: Vec<Vec<u8>>,
    events: std::collections::VecDeque<Event>,
    over: bool,
    streams: Vec<StreamId>,
}

impl Dcsctp {
    /// As the plan asks.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        let mut options = Options {
            mtu: usize::from(plan.mtu),
            enable_message_interleaving: plan.interleaving,
            ..Options::default()
        };
        if let Some(window) = plan.window {
            options.max_receiver_window_buffer_size = window as usize;
        }
        if plan.zero_checksum {
            options.zero_checksum_alternate_error_detection_method =
                ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS;
        }
        Self {
            socket: Socket::new("peer", &options),
            options,
            remote: plan.remote,
            began: plan.epoch,
            packets: Vec::new(),
            events: std::collections::VecDeque::new(),
            over: false,
            streams: (0..plan.streams).map(StreamId).collect(),
        }
    }

    fn advance(&mut self, now: Instant) {
        self.socket.advance_time(SocketTime::zero() + now.saturating_duration_since(self.began));
    }

    fn fresh(&mut self, now: Instant) {
        self.collect();
        self.socket = Socket::new("peer", &self.options);
        self.began = now;
        self.over = false;
    }

    /// Takes the packets and the events of the socket, which are in one queue.
    fn collect(&mut self) {
        while let Some(event) = self.socket.poll_event() {
            match event {
                SocketEvent::SendPacket(packet) => self.packets.push(packet),
                SocketEvent::OnConnected() => self.events.push_back(Event::Up),
                SocketEvent::OnClosed() => self.end(Event::Graceful),
                SocketEvent::OnConnectionRestarted() => self.events.push_back(Event::Restarted),
                SocketEvent::OnAborted(kind, why) => {
                    let event = if why.is_empty() { format!("{kind:?}") } else { format!("{kind:?}: {why}") };
                    let by_peer = kind == dcsctp::api::ErrorKind::PeerReported;
                    self.end(if by_peer { Event::Aborted } else { Event::Lost(event) });
                }
                SocketEvent::OnError(kind, why) => {
                    self.events.push_back(Event::Note(format!("{kind:?}: {why}")))
                }
                SocketEvent::OnStreamsResetPerformed(_) => self.events.push_back(Event::ResetDone),
                SocketEvent::OnStreamsResetFailed(_) => {
                    self.events.push_back(Event::Note("reset failed".into()))
                }
                SocketEvent::OnIncomingStreamReset(_) => self.events.push_back(Event::PeerReset),
                _ => {}
            }
        }
    }

    fn end(&mut self, event: Event) {
        self.over = true;
        self.events.push_back(event);
    }
}

impl Stack for Dcsctp {
    fn open(&mut self, now: Instant) {
        self.fresh(now);
        self.socket.connect();
    }

    fn receive(&mut self, now: Instant, from: SocketAddr, packet: &[u8]) {
        self.remote = from;
        if self.over && self.events.is_empty() && is_init(packet) {
            self.fresh(now);
        }
        self.advance(now);
        self.socket.handle_input(packet);
        self.collect();
    }

    fn timeout(&mut self, now: Instant) {
        self.advance(now);
    }

    fn due(&mut self) -> Option<Instant> {
        let due = self.socket.poll_timeout();
        if due == SocketTime::infinite_future() {
            return None;
        }
        Some(self.began + (due - SocketTime::zero()).min(Duration::from_secs(3600)))
    }

    fn transmit(&mut self, _now: Instant, out: &mut dyn FnMut(Packet<'_>)) {
        self.collect();
        for packet in self.packets.drain(..) {
            out(Packet { to: self.remote, bytes: &packet, whole: true });
        }
    }

    fn event(&mut self) -> Option<Event> {
        self.collect();
        self.events.pop_front()
    }

    fn read(&mut self, tally: &mut Tally) -> bool {
        let Some(message) = self.socket.get_next_message() else { return false };
        tally.message(message.stream_id.0, &message.payload);
        true
    }

    fn send(&mut self, _now: Instant, message: &Outgoing) -> Result<(), Full> {
        let options = SendOptions {
            unordered: message.unordered,
            max_retransmissions: message.rtx,
            ..SendOptions::default()
        };
        let theirs = Message::new(StreamId(message.stream), PpId(53), message.payload.to_vec());
        self.socket.send(theirs, &options).map_err(|_| Full)
    }

    fn is_flushed(&mut self) -> bool {
        // The stack's shutdown waits for data in flight, not for queued data.
        let queued = self.streams.iter().any(|&stream| self.socket.buffered_amount(stream) > 0);
        !queued && self.socket.get_metrics().is_none_or(|metrics| metrics.unack_data_count == 0)
    }

    fn reset(&mut self, _now: Instant, streams: u16) {
        let streams: Vec<StreamId> = (0..streams).map(StreamId).collect();
        if let Err(error) = self.socket.reset_streams(&streams) {
            self.events.push_back(Event::Note(error.to_string()));
        }
    }

    fn shutdown(&mut self, _now: Instant) {
        self.socket.shutdown();
    }

    fn abort(&mut self, _now: Instant) {
        self.socket.close();
        self.collect();
        // The stack has no event for an abort by this side.
        if !self.over {
            self.end(Event::Lost("closed by us".into()));
        }
    }
}

/// Whether the first chunk is INIT: verification tag 0, chunk type 1.
fn is_init(packet: &[u8]) -> bool {
    packet.get(4..8) == Some(&[0; 4]) && packet.get(12) == Some(&1)
}
