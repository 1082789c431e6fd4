//! Opening: the three-way handshake and simultaneous open (RFC 9293, section 3.5).

use super::agreed::Agreed;
use super::{Addresses, Connection, Outside};
use crate::config::Config;
use crate::event::{Failure, State};
use crate::header::Header;
use crate::sender::Established;
use anabranch_base::Instant;
use std::sync::Arc;

impl Connection {
    /// We call. `random` gives the initial sequence number and the timestamp offset.
    pub(crate) fn open(id: u32, config: Arc<Config>, addresses: Addresses, random: (u32, u32)) -> Self {
        Self::new(id, config, addresses, random, false)
    }

    /// A SYN arrived at a port that we listen on.
    pub(crate) fn accept(
        id: u32,
        config: Arc<Config>,
        addresses: Addresses,
        random: (u32, u32),
        syn: &Header,
    ) -> Self {
        let mut connection = Self::new(id, config, addresses, random, true);
        connection.take_syn(syn);
        connection
    }

    /// Takes over the sequence number, the options and the window of the peer's SYN.
    pub(super) fn take_syn(&mut self, syn: &Header) {
        self.numbers.peer_begins(syn.seq);
        self.agreed = Agreed::new(&self.config, &syn.options, self.addresses.remote.is_ipv4());
        self.timestamps.agree(self.config.timestamps, syn);
    }

    /// The handshake is over.
    pub(super) fn establish(&mut self, out: &mut Outside<'_>, header: &Header, scaled: bool) {
        self.announced = true;
        self.syn.stop();
        // A SYN-ACK that was sent twice can be timed by timestamps only; FreeBSD 6.0 does.
        let by_timestamp = self.config.quirk_opportunistic_rto && self.timestamps.in_use();
        let times = self.config.rtt_from_handshake || self.config.quirk_opportunistic_rto;
        let trips = self.sender.round_trips();
        if (self.syn.left_once() && times) || by_timestamp {
            trips.handshake_since(self.syn.sent_at(), out.now);
        } else if let Some(age) = self.timestamps.echo_age(out.now, header) {
            if self.config.rtt_from_repeated_handshake {
                trips.handshake_took(age, out.now);
            }
        }
        let options = if self.timestamps.in_use() { 12 } else { 0 };
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        let shift = if scaled { self.agreed.peer_shift() } else { 0 };
        self.sender.establish(&Established {
            mss: self.agreed.mss(&self.config, options),
            sack: self.agreed.sack(),
            handshake_losses: self.syn.repetitions(),
            learnt: self.learnt.as_ref(),
            window: u64::from(header.window) << shift,
        });
        self.state = if self.sender.buffer().is_finishing() { State::FinWait1 } else { State::Established };
        self.sender.write_gauges(&mut self.stats);
    }

    pub(super) fn on_syn_timeout(&mut self, out: &mut Outside<'_>) {
        self.stats.handshake_timeouts += 1;
        if self.syn.expired(self.config.syn_retransmissions) {
            self.sender.round_trips().back_off();
        } else {
            self.fail(out, Failure::HandshakeTimeout);
        }
    }

    /// The SYN or SYN-ACK leaves.
    pub(super) fn syn_leaves(&mut self, now: Instant) {
        self.syn.leaves(now, self.sender.round_trips().rto());
    }

    /// A SYN that had been seen before, in SYN-RECEIVED: our SYN-ACK was lost, or is still on its way.
    pub(super) fn repeat_syn_ack(&mut self) {
        self.syn.answer_again(!self.config.duplicate_syn_restarts_timer);
    }
}
