//! A probe for the control chunks that are answered and are no data: COOKIE ECHO, SHUTDOWN and SHUTDOWN ACK. RACK-TLP (RFC 8985, 7)
//! stands for a lost tail of data, and nothing for these: the loss of one costs a whole RTO, which is a second at least. The rule is in
//! docs/reference/extensions.md.

use anabranch_base::{Duration, Instant};

use super::Association;
use super::phase::{Handshake, Phase};
use crate::control::Kind;
use crate::state::State;

/// The shortest wait: hosts need time to answer, whatever the path does. The probe of TCP had "PTO = max(2 * SRTT, 10ms)" first
/// (draft-dukkipati-tcpm-tcp-loss-probe-01, 2.1).
const LEAST: Duration = Duration::from_millis(10);

impl Association {
    /// When what leaves now is sent once more, if that is before `timer` expires: "PTO = 2 * SRTT" (RFC 8985, 7.2). No answer to a control
    /// chunk is delayed, so nothing is added for that. Before there is an SRTT the round trip of the handshake stands for it, which is
    /// none where INIT was sent again: whose answer came is not known then (RFC 9260, 6.3.1, C5).
    fn control_probe(&self, timer: Option<Instant>) -> Option<Instant> {
        let config = &self.cx.config;
        if !config.timers.control_probe {
            return None;
        }
        let measured = self.cx.paths.primary().and_then(|path| path.rtt().srtt());
        let round_trip = measured.or(self.receiver.window().handshake_round_trip())?;
        let at = config.clock().after(self.cx.now, (round_trip * 2).max(LEAST));
        timer.is_some_and(|timer| at < timer).then_some(at)
    }

    /// When a COOKIE ECHO is sent once more. Who says that cookies are stale has the handshake begun anew, but gets no second probe.
    pub(super) fn cookie_probe(&self, handshake: &Handshake) -> Option<Instant> {
        if handshake.stale > 0 { None } else { self.control_probe(handshake.t1) }
    }

    /// A COOKIE ECHO came again: who has not had the COOKIE ACK discards all data that comes behind it (RFC 9260, 6), and as long as none has
    /// been acknowledged there is no round trip by which to probe for it. So it is probed for now, with the second COOKIE ACK.
    pub(super) fn probe_behind_cookie_ack(&mut self) {
        let measured = self.cx.paths.primary().is_some_and(|path| path.rtt().srtt().is_some());
        if self.cx.config.timers.control_probe && self.cx.state.sends_data() && !measured {
            self.sender.probe_every_lane(&mut self.cx);
        }
    }

    /// SHUTDOWN or SHUTDOWN ACK leaves: the first time, or in answer to something, and then the wait begins anew. Once it has been probed for
    /// T2-shutdown alone repeats it.
    pub(super) fn arm_shutdown_probe(&mut self) {
        let probe = self.control_probe(self.phase.shutdown_timers().t2);
        if let Some(timers) = self.phase.shutdown_timers_mut().filter(|timers| !timers.probed) {
            timers.probe = probe;
        }
    }

    /// No answer in two round trips: the chunk leaves once more. That is no error of the path, and no reason to back off; T1-cookie or
    /// T2-shutdown expires when it would have.
    pub(super) fn on_control_probe(&mut self) {
        if let Phase::CookieEchoed(handshake) = &mut self.phase {
            handshake.probe = None;
            self.control.ask(Kind::CookieEcho, self.cx.paths.for_control());
            // DATA that rode with the first is not taken for lost: as in any probe, new data rides, or the last chunk once more.
            self.sender.probe_every_lane(&mut self.cx);
        }
        if let Some(timers) = self.phase.shutdown_timers_mut() {
            (timers.probe, timers.probed) = (None, true);
            let kind = if self.cx.state == State::ShutdownSent { Kind::Shutdown } else { Kind::ShutdownAck };
            self.control.ask(kind, self.cx.paths.for_control());
            // Whose SHUTDOWN COMPLETE was lost has forgotten the association, and takes nothing without a checksum (RFC 9653, 5.3).
            self.writer.settle_checksum(&self.cx.config, false);
        }
    }
}
