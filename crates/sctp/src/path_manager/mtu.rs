//! The MTU of a path: probes, ICMP messages, and the adjustments after a change (docs/explanation/mtu.md).

use std::net::IpAddr;

use anabranch_base::Instant;

use super::PathManager;
use crate::event::Event;
use crate::ids::PathId;
use crate::path::HEARTBEAT_INFO_LEN;
use crate::state::State;

impl PathManager<'_> {
    /// The user sets the MTU of the paths.
    pub(crate) fn set_path_mtu(&mut self, now: Instant, mtu: u16) {
        if self.scope.cx.env.state() == State::Closed {
            return; // nothing leaves any more, and nothing is told after Closed
        }
        self.scope.cx.env.set_now(now);
        for id in self.scope.cx.paths.ids() {
            if let Some(path) = self.scope.cx.paths.get_mut(id) {
                path.size_mut().fix(self.scope.cx.env.config(), mtu);
            }
            self.scope.sender.all_lanes().use_mtu(self.scope.cx, id, mtu);
        }
    }

    /// The user leaves it to discovery again.
    pub(crate) fn discover_path_mtu(&mut self, now: Instant) {
        if self.scope.cx.env.state() == State::Closed {
            return;
        }
        self.scope.cx.env.set_now(now);
        let connected = self.scope.cx.env.state().sends_data();
        for id in self.scope.cx.paths.ids() {
            let Some(path) = self.scope.cx.paths.get_mut(id) else { continue };
            let connected = connected && path.is_confirmed();
            let changed = path.size_mut().free(self.scope.cx.env.config(), connected);
            self.change_mtu(id, changed);
        }
    }

    /// The user wants the MTU to become known in another way (RFC 6458, 8.1.12: `SPP_PMTUD_ENABLE` and `SPP_PMTUD_DISABLE`).
    pub(crate) fn change_discovery(&mut self) {
        let connected = self.scope.cx.env.state().sends_data();
        for id in self.scope.cx.paths.ids() {
            let Some(path) = self.scope.cx.paths.get_mut(id) else { continue };
            let connected = connected && path.is_confirmed();
            let changed = path.size_mut().change_discovery(
                self.scope.cx.env.now(),
                self.scope.cx.env.config(),
                connected,
            );
            self.change_mtu(id, changed);
        }
    }

    /// A path is connected: probes of its MTU may begin (RFC 8899, 6.2.1.1).
    pub(crate) fn begin_mtu_search(&mut self, id: PathId) {
        let config = self.scope.cx.env.config();
        let changed = self.scope.cx.paths.get_mut(id).and_then(|path| path.size_mut().begin_search(config));
        self.change_mtu(id, changed);
    }

    /// PROBE_TIMER or PMTU_RAISE_TIMER has expired.
    pub(crate) fn on_mtu_timer(&mut self, id: PathId) {
        let (now, config) = (self.scope.cx.env.now(), self.scope.cx.env.config());
        let Some(path) = self.scope.cx.paths.get_mut(id) else { return };
        // "The sending of HEARTBEAT chunks ... is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK chunk" (8.3).
        if !self.scope.cx.env.state().sends_data() {
            path.size_mut().end_search();
            return;
        }
        let changed = path.size_mut().search_expired(now, config);
        self.change_mtu(id, changed);
    }

    /// HEARTBEAT ACK: whether it answers a probe. "A successful probe updates the association and path counters" (RFC 8899, 6.2.1.2),
    /// as the answer to any HEARTBEAT does.
    pub(crate) fn on_mtu_probe_answer(&mut self, id: PathId, info: &[u8; HEARTBEAT_INFO_LEN]) -> bool {
        let (now, config) = (self.scope.cx.env.now(), self.scope.cx.env.config());
        let Some(path) = self.scope.cx.paths.get_mut(id) else { return false };
        let Some(changed) = path.size_mut().probe_answered(now, info, config) else { return false };
        self.clear_errors_by_heartbeat(id);
        self.change_mtu(id, changed);
        true
    }

    /// ICMP says that a packet to an address was too big (10, ICMP7). False: ignored.
    pub(crate) fn on_too_big(&mut self, now: Instant, destination: IpAddr, mtu: u32) -> bool {
        self.scope.cx.env.set_now(now);
        let config = self.scope.cx.env.config();
        let Some(id) = self.scope.cx.paths.find(destination) else { return false };
        let Some(path) = self.scope.cx.paths.get_mut(id) else { return false };
        let Some(changed) = path.size_mut().too_big(now, config, mtu) else { return false };
        if changed.is_some_and(|mtu| mtu < path.mtu()) {
            self.change_mtu(id, changed);
            self.scope.sender.losses().resend_too_long(self.scope.cx, id);
        } else {
            self.change_mtu(id, changed);
        }
        true
    }

    /// ICMP says that an address cannot be reached: "SCTP MAY provide information to the upper layer" (10, ICMP9). True: it did.
    pub(crate) fn on_unreachable(&mut self, now: Instant, destination: IpAddr, code: u8) -> bool {
        self.scope.cx.env.set_now(now);
        let Some(id) = self.scope.cx.paths.find(destination) else { return false };
        self.scope.cx.tell_if_read(Event::Unreachable { path: id.get(), code });
        true
    }

    /// Discovery has found another MTU.
    fn change_mtu(&mut self, id: PathId, changed: Option<u16>) {
        if let Some(mtu) = changed {
            self.scope.sender.all_lanes().use_found_mtu(self.scope.cx, id, mtu);
        }
    }
}
