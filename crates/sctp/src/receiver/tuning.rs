//! A receive window that grows with what the user reads in a round trip, as those of Linux and FreeBSD do, up to a limit of the
//! association and one of the endpoint; and shrinks when the endpoint has little left.

use std::sync::Arc;

use anabranch_base::Duration;
use anabranch_transport::autotune::Autotune;

use super::Receiver;
use super::growth::Growth;
use super::inbound::limits::packet_of_peer;
use crate::budget::Share;
use crate::context::Context;

impl Receiver {
    /// The round trip of the handshake: for who never sends data there is no other soon.
    pub(crate) fn note_round_trip(&mut self, rtt: Duration) {
        self.handshake_us = u32::try_from(rtt.as_nanos() / 1000).unwrap_or(u32::MAX);
    }

    /// The round trip of the handshake, where it was measured.
    pub(crate) fn handshake_round_trip(&self) -> Option<Duration> {
        (self.handshake_us != 0).then(|| Duration::from_micros(self.handshake_us.into()))
    }

    /// A HEARTBEAT was answered after so long: whose window grows, and who sends no data, learns of a round trip that has changed by nothing else.
    pub(crate) fn hear_round_trip(&mut self, cx: &Context, rtt: Duration) {
        if let Some(tuning) = &mut self.tuning {
            tuning.heard = (tuning.asked.2 == cx.stats.payload_bytes_sent).then_some(rtt);
        }
    }

    /// The user has read something: once a round trip it is looked at how much it was.
    #[inline]
    pub(super) fn tune_window(&mut self, cx: &mut Context) {
        let rtt =
            cx.paths.primary().and_then(|path| path.rtt().srtt()).or_else(|| self.handshake_round_trip());
        let rtt = self.tuning.as_ref().and_then(|tuning| tuning.heard).or(rtt);
        if self.tuning.as_ref().is_none_or(|tuning| !tuning.rate.is_within(cx.now, rtt)) {
            self.tune_window_after(cx, rtt);
        }
    }

    #[inline(never)]
    fn tune_window_after(&mut self, cx: &mut Context, rtt: Option<Duration>) {
        // Parts of a window that the peer was told in the handshake stay what they are.
        if self.fids.is_some() || self.smaller_window.is_some() || !cx.state.receives_data() {
            return;
        }
        let limits = &cx.config.limits;
        let (window, most) = (limits.receive_window, limits.max_receive_window);
        if most <= window && self.tuning.is_none() {
            return;
        }
        let tuning = self.tuning.get_or_insert_with(|| {
            let rate = Autotune::new(most.into(), packet_of_peer(&cx.config).into());
            let share = cx.budget.as_ref().map(Share::new);
            Box::new(Growth { rate, first: window, share, asked: (cx.now, 0, 0), heard: None })
        });
        if let Some(rtt) = rtt {
            tuning.rate.set_round_trip(rtt);
        }
        let read = cx.stats.payload_bytes_delivered + 1;
        let before = tuning.rate.rounds();
        let wanted = tuning.rate.read(cx.now, read, window.into());
        if tuning.rate.rounds() == before {
            return;
        }
        // "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk" (8.3).
        if cx.state.sends_data()
            && tuning.asks(cx.now, read, cx.stats.payload_bytes_sent, window.into())
            && let Some(path) = cx.paths.primary_mut().filter(|path| path.heartbeat().is_on(&cx.config))
        {
            path.heartbeat_mut().measure();
        }
        let tight = cx.budget.as_ref().is_some_and(|budget| budget.is_tight());
        let wanted = if tight { tuning.rate.needed().min(wanted).max(tuning.first.into()) } else { wanted };
        let first = u64::from(tuning.first);
        let granted = match &mut tuning.share {
            Some(share) => first + share.resize(wanted.saturating_sub(first)),
            None => wanted,
        };
        let granted = u32::try_from(granted).unwrap_or(u32::MAX);
        if granted > window {
            Arc::make_mut(&mut cx.config).limits.receive_window = granted;
        } else if granted < window {
            // What the peer was offered is not taken back; and what is offered counts until it is gone.
            if let Some(share) = &mut tuning.share {
                share.resize(u64::from(window) - first);
            }
            self.smaller_window = std::num::NonZeroU32::new(granted);
        }
    }

    /// The window has shrunk to what was wanted.
    pub(super) fn give_window_back(&mut self, window: u32) {
        if let Some(tuning) = &mut self.tuning {
            if let Some(share) = &mut tuning.share {
                share.resize(u64::from(window.saturating_sub(tuning.first)));
            }
        }
    }
}
