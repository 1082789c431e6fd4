//! Opening: the three-way handshake and simultaneous open (RFC 9293, section 3.5).

use super::{Addresses, Connection, Outside};
use crate::config::Config;
use crate::event::{Failure, State};
use crate::header::Header;
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

    /// What the peer's SYN says.
    pub(super) fn take_syn(&mut self, syn: &Header) {
        self.irs = syn.seq;
        // RFC 9293, section 3.7.1: without the option 536 (IPv4) or 1220 (IPv6).
        let default = if self.addresses.remote.is_ipv4() { 536 } else { 1220 };
        self.peer_mss = u64::from(syn.options.mss.unwrap_or(default)).max(64);
        self.sack = self.config.sack && syn.options.sack_permitted;
        self.scales = match syn.options.window_scale {
            // RFC 7323, section 2.3: more than 14 counts as 14.
            Some(theirs) if self.config.window_scaling => Some((theirs.min(14), self.own_scale())),
            _ => None,
        };
        self.timestamp = syn.options.timestamps.map(|(value, _)| value).filter(|_| self.config.timestamps);
    }

    /// The shift that our receive buffer needs. Linux takes what a buffer of twice the largest window would need, half of which it
    /// gives to its own bookkeeping.
    pub(super) fn own_scale(&self) -> u8 {
        if self.config.receive_buffer_limit > self.config.receive_buffer {
            let twice = self.config.receive_buffer_limit.saturating_mul(2);
            return (twice.ilog2().saturating_sub(15)).min(14) as u8;
        }
        (0..14).find(|shift| self.config.receive_buffer >> shift <= 0xffff).unwrap_or(14)
    }

    /// The handshake is over.
    pub(super) fn establish(&mut self, out: &mut Outside<'_>, header: &Header, scaled: bool) {
        self.announced = true;
        // A SYN-ACK that was sent twice can be timed by timestamps only; FreeBSD 6.0 does.
        let by_timestamp = self.config.quirk_opportunistic_rto && self.timestamp.is_some();
        let once = self.syn_sends == 1;
        if (once && (self.config.rtt_from_handshake || self.config.quirk_opportunistic_rto)) || by_timestamp {
            self.sender.round_trips().handshake_since(self.syn_sent_at, out.now);
        } else if let Some(age) = self.echo_age(out.now, header) {
            if self.config.rtt_from_repeated_handshake {
                self.sender.round_trips().handshake_took(age, out.now);
            }
        }
        let options = if self.timestamp.is_some() { 12 } else { 0 };
        let mss = u64::from(self.config.mss).min(self.peer_mss).saturating_sub(options).max(1);
        self.sender.establish(mss, self.sack, self.syn_sends.saturating_sub(1));
        if let Some(learnt) = &self.learnt {
            self.sender.seed(learnt);
        }
        self.state = if self.sender.is_finishing() { State::FinWait1 } else { State::Established };
        // The window of a SYN is never scaled (RFC 7323, section 2.2).
        let shift = if scaled { self.scales.map_or(0, |s| s.0) } else { 0 };
        self.sender.first_window(u64::from(header.window) << shift);
        self.sender.write_gauges(&mut self.stats);
    }

    pub(super) fn on_syn_timeout(&mut self, out: &mut Outside<'_>) {
        self.stats.handshake_timeouts += 1;
        if self.syn_sends > self.config.syn_retransmissions {
            self.fail(out, Failure::HandshakeTimeout);
            return;
        }
        self.sender.handshake_expired();
        self.syn_beside = false;
        self.syn_due = true;
    }

    /// The SYN or SYN-ACK leaves.
    pub(super) fn syn_leaves(&mut self, now: Instant) {
        self.syn_due = false;
        if std::mem::take(&mut self.syn_beside) {
            return;
        }
        self.syn_sent_at = now;
        self.syn_sends += 1;
        self.sender.await_handshake(now);
    }

    /// A SYN that had been seen before, in SYN-RECEIVED: our SYN-ACK was lost, or is still on its way.
    pub(super) fn repeat_syn_ack(&mut self) {
        self.syn_due = true;
        self.syn_beside = !self.config.duplicate_syn_restarts_timer;
    }
}
