//! The receive window: how large the receive buffer is. It begins as the configuration says. The user may choose another; and where the
//! configuration lets it, it grows with the bytes that the user reads in a round trip, as those of Linux and FreeBSD do, up to a limit of the
//! association and one of the endpoint, and shrinks when the endpoint has little left.

mod tuning;

use std::num::NonZeroU32;
use std::sync::Arc;

use anabranch_base::Duration;

use crate::config::{Config, LimitConfig};
use crate::context::Context;
use tuning::Tuning;

/// The largest IP packet that the peer is taken to send, bytes. It is the configured MTU and stays so: the MTU of a path is that of our
/// own packets, which is found, lowered and raised meanwhile, while the peer's may be larger; and bounds on memory must not move
/// with it.
#[inline]
pub(super) fn packet_of_peer(config: &Config) -> u16 {
    config.mtu
}

/// The size of the receive buffer, and the reasons for which it changes.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    /// Bytes.
    size: u32,
    /// The size that it shrinks to as messages are read, bytes.
    shrinks_to: Option<NonZeroU32>,
    /// The round trip of the handshake, microseconds; 0: not known.
    handshake_us: u32,
    /// Memory reserved for the sender, which keeps more than its send buffers, bytes: so much less may be held here.
    sender_reservation: u32,
    /// Its growth, where it may grow: from the first message on that is read.
    tuning: Option<Box<Tuning>>,
}

impl ReceiveWindow {
    /// A window of so many bytes.
    pub(super) fn new(size: u32) -> Self {
        Self { size, shrinks_to: None, handshake_us: 0, sender_reservation: 0, tuning: None }
    }

    /// Bytes: a_rwnd while nothing is held.
    #[inline]
    pub(crate) fn size(&self) -> u32 {
        self.size
    }

    /// Largest size up to which it may grow, bytes.
    #[inline]
    pub(crate) fn largest(&self, limits: &LimitConfig) -> u32 {
        self.size.max(limits.largest_receive_window())
    }

    /// Memory reserved for the sender, bytes: so much less may be held here.
    #[inline]
    pub(super) fn sender_reservation(&self) -> u32 {
        self.sender_reservation
    }

    /// Reserves so many bytes of memory for the sender.
    pub(super) fn reserve_for_sender(&mut self, bytes: u32) {
        self.sender_reservation = bytes;
    }

    /// The user wants so many bytes. A larger window is there at once, and true is the answer; a smaller one comes as messages are read.
    pub(super) fn choose(&mut self, wanted: u32) -> bool {
        // The user's choice in the life of the association is kept: tuning ends.
        self.tuning = None;
        if wanted < self.size {
            // A valid configuration wants 1,500 bytes at least.
            self.shrinks_to = NonZeroU32::new(wanted);
            return false;
        }
        self.shrinks_to = None;
        self.size = wanted;
        true
    }

    /// True if it is to become smaller.
    #[inline]
    pub(super) fn shrinks(&self) -> bool {
        self.shrinks_to.is_some()
    }

    /// So many bytes were read while the window is to become smaller. An offer to the peer is not taken back: the
    /// window shrinks by no more than a third of the bytes read, the charge for messages falls by as much at least,
    /// and so a_rwnd never falls but for data that comes ("As DATA chunks are received and buffered, decrement
    /// a_rwnd", 6.2).
    #[inline(never)]
    pub(super) fn shrink(&mut self, read: usize) {
        let Some(wanted) = self.shrinks_to.map(NonZeroU32::get) else { return };
        let third = u32::try_from(read / 3).unwrap_or(u32::MAX);
        self.size = self.size.saturating_sub(third).max(wanted);
        if self.size == wanted {
            self.shrinks_to = None;
        }
        if let Some(tuning) = &mut self.tuning {
            tuning.give_back(self.size);
        }
    }

    /// The round trip of the handshake: a side that never sends data learns of no other soon.
    pub(crate) fn note_round_trip(&mut self, rtt: Duration) {
        self.handshake_us = u32::try_from(rtt.as_nanos() / 1000).unwrap_or(u32::MAX);
    }

    /// The round trip of the handshake, where it was measured.
    pub(crate) fn handshake_round_trip(&self) -> Option<Duration> {
        (self.handshake_us != 0).then(|| Duration::from_micros(self.handshake_us.into()))
    }

    /// The configuration with the receive window as large as it is by now.
    pub(crate) fn announced(&self, config: &Arc<Config>) -> Arc<Config> {
        if config.limits.receive_window == self.size {
            return Arc::clone(config);
        }
        Arc::new((**config).clone().with(|config| config.limits.receive_window = self.size))
    }

    /// A HEARTBEAT was answered after so long: this alone shows a changed round trip to a side whose window grows and
    /// that sends no data.
    pub(crate) fn hear_round_trip(&mut self, cx: &Context, rtt: Duration) {
        if let Some(tuning) = &mut self.tuning {
            tuning.on_answer(cx.report.stats.payload_bytes_sent, rtt);
        }
    }

    /// The user has read something: once a round trip the window follows the amount. Where it `is_divided` between
    /// subflows it stays: the peer was told of the parts in the handshake.
    #[inline]
    pub(super) fn tune(&mut self, cx: &mut Context, is_divided: bool) {
        let rtt =
            cx.paths.primary().and_then(|path| path.rtt().srtt()).or_else(|| self.handshake_round_trip());
        let rtt = self.tuning.as_ref().and_then(|tuning| tuning.round_trip()).or(rtt);
        if self.tuning.as_ref().is_none_or(|tuning| !tuning.is_within(cx.env.now(), rtt)) {
            self.tune_after(cx, rtt, is_divided);
        }
    }

    #[inline(never)]
    fn tune_after(&mut self, cx: &mut Context, rtt: Option<Duration>, is_divided: bool) {
        if is_divided || self.shrinks() || !cx.env.state().receives_data() {
            return;
        }
        let (window, most) = (self.size, cx.env.config().limits.max_receive_window);
        if most <= window && self.tuning.is_none() {
            return;
        }
        let tuning = self.tuning.get_or_insert_with(|| {
            let packet = packet_of_peer(cx.env.config());
            Box::new(Tuning::new(cx.env.now(), window, most, packet, cx.budget.as_ref()))
        });
        let (read, sent) = (cx.report.stats.payload_bytes_delivered + 1, cx.report.stats.payload_bytes_sent);
        let Some(wanted) = tuning.on_read(cx.env.now(), rtt, read, window) else { return };
        // "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk" (8.3).
        if cx.env.state().sends_data() && tuning.asks(cx.env.now(), read, sent, window.into()) {
            if let Some(path) = cx.paths.primary_mut().filter(|path| path.heartbeat().is_on(cx.env.config()))
            {
                path.heartbeat_mut().measure();
            }
        }
        let near_limit = cx.budget.as_ref().is_some_and(|budget| budget.is_nearly_spent());
        let granted = tuning.grant(window, wanted, near_limit);
        if granted > window {
            self.size = granted;
        } else if granted < window {
            self.shrinks_to = NonZeroU32::new(granted);
        }
    }

    /// The association has ended: its part of the endpoint's limit is free for others.
    pub(super) fn close(&mut self) {
        self.tuning = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_window_is_there_at_once_and_a_smaller_one_as_messages_are_read() {
        let mut window = ReceiveWindow::new(10_000);
        assert!(window.choose(20_000));
        assert_eq!((window.size(), window.shrinks()), (20_000, false));
        assert!(!window.choose(5000));
        assert_eq!((window.size(), window.shrinks()), (20_000, true));
        window.shrink(30_000);
        assert_eq!((window.size(), window.shrinks()), (10_000, true));
        window.shrink(30_000);
        assert_eq!((window.size(), window.shrinks()), (5000, false));
        window.shrink(30_000);
        assert_eq!(window.size(), 5000);
    }

    #[test]
    fn the_last_word_of_the_user_counts() {
        let mut window = ReceiveWindow::new(10_000);
        assert!(!window.choose(5000));
        assert!(window.choose(12_000), "it does not shrink any more");
        window.shrink(30_000);
        assert_eq!((window.size(), window.shrinks()), (12_000, false));
    }

    #[test]
    fn its_largest_size_is_what_it_may_grow_to_or_has() {
        let mut limits = crate::config::Config::default().limits;
        (limits.receive_window, limits.max_receive_window) = (4000, 16_000);
        assert_eq!(ReceiveWindow::new(4000).largest(&limits), 16_000);
        limits.max_receive_window = 0;
        assert_eq!(ReceiveWindow::new(9000).largest(&limits), 9000);
    }
}
