//! The MTU of a path: probes, what ICMP says, and what follows when it changes (docs/explanation/mtu.md).

use std::net::IpAddr;

use anabranch_base::Instant;

use super::Association;
use crate::event::Event;
use crate::ids::PathId;
use crate::path::{HEARTBEAT_INFO_LEN, SearchState};
use crate::state::State;

impl Association {
    /// Largest IP packet of the path in use, bytes: what is known of it.
    #[must_use]
    pub fn path_mtu(&self) -> u16 {
        self.cx.paths.primary().map_or(0, crate::path::Path::mtu)
    }

    /// Whether probes are looking for the MTU of the path in use, or will once data leaves on it, and have not ended (RFC 8899: the states
    /// Base, Searching, Error).
    #[must_use]
    pub fn is_searching_path_mtu(&self) -> bool {
        let state = self.cx.paths.primary().and_then(|path| path.size().search_state());
        matches!(state, Some(SearchState::Base | SearchState::Searching | SearchState::Error))
    }

    /// The largest message that leaves in one chunk on the path in use, bytes of user data (RFC 8899: MPS). Longer ones are fragmented.
    // rfc8899:4.4-1 rfc8899:5-2
    #[must_use]
    pub fn max_unfragmented(&self) -> usize {
        self.sender.max_unfragmented(&self.cx)
    }

    /// The user says what the paths carry.
    pub(crate) fn set_path_mtu(&mut self, now: Instant, mtu: u16) {
        if self.cx.state == State::Closed {
            return; // nothing leaves any more, and nothing is told after Closed
        }
        self.cx.set_now(now);
        for id in self.cx.paths.ids() {
            if let Some(path) = self.cx.paths.get_mut(id) {
                path.size_mut().fix(&self.cx.config, mtu);
            }
            self.sender.use_mtu(&mut self.cx, id, mtu);
        }
    }

    /// The user leaves it to discovery again.
    pub(crate) fn discover_path_mtu(&mut self, now: Instant) {
        if self.cx.state == State::Closed {
            return;
        }
        self.cx.set_now(now);
        let connected = self.cx.state.sends_data();
        for id in self.cx.paths.ids() {
            let Some(path) = self.cx.paths.get_mut(id) else { continue };
            let connected = connected && path.is_confirmed();
            let changed = path.size_mut().free(&self.cx.config, connected);
            self.change_mtu(id, changed);
        }
    }

    /// The user wants the MTU to become known in another way (RFC 6458, 8.1.12: `SPP_PMTUD_ENABLE` and `SPP_PMTUD_DISABLE`).
    pub(super) fn change_discovery(&mut self) {
        let connected = self.cx.state.sends_data();
        for id in self.cx.paths.ids() {
            let Some(path) = self.cx.paths.get_mut(id) else { continue };
            let connected = connected && path.is_confirmed();
            let changed = path.size_mut().change_discovery(self.cx.now, &self.cx.config, connected);
            self.change_mtu(id, changed);
        }
    }

    /// A path is connected: probes of its MTU may begin (RFC 8899, 6.2.1.1).
    pub(super) fn begin_mtu_search(&mut self, id: PathId) {
        let config = &self.cx.config;
        let changed = self.cx.paths.get_mut(id).and_then(|path| path.size_mut().begin_search(config));
        self.change_mtu(id, changed);
    }

    /// PROBE_TIMER or PMTU_RAISE_TIMER has expired.
    pub(super) fn on_mtu_timer(&mut self, id: PathId) {
        let (now, config) = (self.cx.now, &self.cx.config);
        let Some(path) = self.cx.paths.get_mut(id) else { return };
        // "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk" (8.3).
        if !self.cx.state.sends_data() {
            path.size_mut().end_search();
            return;
        }
        let changed = path.size_mut().search_expired(now, config);
        self.change_mtu(id, changed);
    }

    /// HEARTBEAT ACK: whether it answers a probe. "A successful probe updates the association and path counters" (RFC 8899, 6.2.1.2),
    /// as the answer to any HEARTBEAT does.
    pub(super) fn on_mtu_probe_answer(&mut self, id: PathId, info: &[u8; HEARTBEAT_INFO_LEN]) -> bool {
        let (now, config) = (self.cx.now, &self.cx.config);
        let Some(path) = self.cx.paths.get_mut(id) else { return false };
        let Some(changed) = path.size_mut().probe_answered(now, info, config) else { return false };
        self.clear_errors_by_heartbeat(id);
        self.change_mtu(id, changed);
        true
    }

    /// ICMP says that a packet to an address was too big (10, ICMP7). False: ignored.
    pub(crate) fn on_too_big(&mut self, now: Instant, destination: IpAddr, mtu: u32) -> bool {
        self.cx.set_now(now);
        let config = &self.cx.config;
        let Some(id) = self.cx.paths.find(destination) else { return false };
        let Some(path) = self.cx.paths.get_mut(id) else { return false };
        let Some(changed) = path.size_mut().too_big(now, config, mtu) else { return false };
        if changed.is_some_and(|mtu| mtu < path.mtu()) {
            self.change_mtu(id, changed);
            self.sender.resend_too_long(&mut self.cx, id);
        } else {
            self.change_mtu(id, changed);
        }
        true
    }

    /// ICMP says that an address cannot be reached: "SCTP MAY provide information to the upper layer" (10, ICMP9). True: it did.
    pub(crate) fn on_unreachable(&mut self, now: Instant, destination: IpAddr, code: u8) -> bool {
        self.cx.set_now(now);
        let Some(id) = self.cx.paths.find(destination) else { return false };
        self.cx.tell_if_read(Event::Unreachable { path: id.get(), code });
        true
    }

    /// What discovery has found.
    fn change_mtu(&mut self, id: PathId, changed: Option<u16>) {
        if let Some(mtu) = changed {
            self.sender.use_found_mtu(&mut self.cx, id, mtu);
        }
    }
}
