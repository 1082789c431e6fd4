//! Pacing of a lane's packets, where `pacing` is on.

use anabranch_base::Instant;
use anabranch_transport::pacer::Rate;

use super::Lane;
use crate::context::Context;

impl Lane {
    /// Rate at which packets leave; `None` where they are not paced, or no round trip was measured.
    fn pacing_rate(&self, cx: &Context) -> Option<Rate> {
        let pacer = self.pacer.as_ref()?;
        if self.window.is_model() {
            return self.window.controller().pacing_rate().and_then(Rate::per_second);
        }
        // As T3-rtx, it waits no longer for a round trip than RTO.Max: packets that come seconds late must not keep back the next for
        // longer than a lost one would.
        let srtt = self.srtt(cx).map(|srtt| srtt.min(cx.env.config().timers.rto_max));
        pacer.rate(self.window.cwnd(), self.window.ssthresh(), srtt)
    }

    /// True if the pacer keeps the next packet back; then its timer is set. The packet that T3-rtx owes and probes
    /// never wait.
    #[inline]
    pub(in crate::sender) fn must_wait(&mut self, cx: &Context) -> bool {
        if self.pacer.as_ref().is_none_or(|pacer| pacer.has_packet()) {
            return false;
        }
        let Some(rate) = self.pacing_rate(cx) else { return false };
        if self.permits.is_single_packet() || self.permits.lets_new() {
            return false;
        }
        // A model sets the size of the bucket with each packet.
        let (is_model, longest) = (self.window.is_model(), cx.env.config().timers.rto_max);
        let Some(pacer) = &mut self.pacer else { return false };
        let lets = if is_model {
            pacer.lets(cx.env.now(), rate, longest)
        } else {
            pacer.lets_next(cx.env.now(), rate, longest)
        };
        !lets
    }

    /// A packet left; its bytes are the growth of the flight from `flight_before`.
    #[inline]
    pub(in crate::sender) fn count_paced(&mut self, cx: &Context, flight_before: u64) {
        let bytes = self.in_flight.bytes().saturating_sub(flight_before);
        // For a packet that has asked the pacer, or is one of several, the level of the bucket is up to date.
        let is_model = self.window.is_model();
        if !is_model && self.pacer.as_mut().is_some_and(|pacer| pacer.sent_now(cx.env.now(), bytes)) {
            self.open_burst();
            return;
        }
        self.count_after_pause(cx, bytes);
    }

    /// A packet left, and the level of the bucket must still be computed.
    #[inline(never)]
    fn count_after_pause(&mut self, cx: &Context, bytes: u64) {
        let Some(rate) = self.pacing_rate(cx) else { return };
        if let Some(pacer) = &mut self.pacer {
            if let Some(quantum) = self.window.controller().quantum() {
                pacer.set_bucket(quantum);
            }
            pacer.sent(cx.env.now(), rate, bytes);
        }
        // "Senders MUST either use pacing or limit such bursts" (RFC 9002, 7.7): the bucket stands for Max.Burst.
        self.open_burst();
    }

    /// True if packets are paced.
    #[inline]
    pub(in crate::sender) fn has_pacer(&self) -> bool {
        self.pacer.is_some()
    }

    /// Time at which the pacer lets the next packet leave.
    #[inline]
    pub(in crate::sender) fn paced_until(&self) -> Option<Instant> {
        self.pacer.as_ref().and_then(|pacer| pacer.at)
    }

    /// True if data waits for the pacer only.
    #[inline]
    pub(in crate::sender) fn is_paced(&self) -> bool {
        self.pacer.as_ref().is_some_and(|pacer| pacer.at.is_some())
    }
}

#[cfg(test)]
mod tests {
    use anabranch_base::{Duration, Instant};

    use super::*;
    use crate::config::Config;
    use crate::ids::SubflowId;
    use crate::path::Path;

    /// A lane whose pacer has an empty bucket.
    #[test]
    fn what_the_pacer_keeps_back_and_what_never_waits() {
        let mut cx = context(Config::rfc9260().with(|c| c.pacing.enabled = true));
        let new_lane = |cx: &Context| Lane::new(cx, SubflowId::FIRST, cx.paths.for_data(), 1 << 20).unwrap();
        let mut lane = new_lane(&cx);
        let send = |lane: &mut Lane, cx: &Context| {
            let before = lane.in_flight.bytes();
            lane.sent(cx.env.now(), 0, 4 * 1468, 64);
            lane.count_paced(cx, before);
        };
        send(&mut lane, &cx);
        assert!(!lane.must_wait(&cx), "no round trip is known");
        cx.paths.sample(cx.paths.for_data(), Duration::from_millis(100));
        assert!(!lane.must_wait(&cx) && !lane.is_paced(), "the bucket is full");
        send(&mut lane, &cx);
        assert!(lane.must_wait(&cx) && lane.is_paced());
        lane.permits.probe_with_new(1);
        assert!(!lane.must_wait(&cx), "a probe");
        lane.permits.probe_with_new(0);
        lane.permits.timed_out();
        assert!(!lane.must_wait(&cx), "what T3-rtx owes");
        lane.permits.heard();
        assert!(lane.must_wait(&cx));
        lane.hand_over();
        assert!(!lane.is_paced(), "no timer is left behind");
        let mut cx = context(Config::rfc9260());
        let mut off = new_lane(&cx);
        cx.paths.sample(cx.paths.for_data(), Duration::from_millis(100));
        send(&mut off, &cx);
        assert!(!off.must_wait(&cx));
    }

    /// If packets are seconds late, the next one waits no longer than for a round trip of RTO.Max: half of it,
    /// with two packets a window.
    #[test]
    fn the_pacer_waits_no_longer_than_rto_max() {
        let mut cx = context(Config::rfc9260().with(|c| {
            c.pacing.enabled = true;
            c.pacing.gain = 100;
            c.pacing.gain_slow_start = 100;
            c.timers.rto_max = Duration::from_secs(2);
        }));
        cx.paths.sample(cx.paths.for_data(), Duration::from_secs(40));
        let mut lane = Lane::new(&cx, SubflowId::FIRST, cx.paths.for_data(), 1 << 20).unwrap();
        let mut sent = 0;
        while !lane.must_wait(&cx) {
            let before = lane.in_flight.bytes();
            lane.sent(cx.env.now(), sent, 1468, 16);
            lane.count_paced(&cx, before);
            sent += 1;
            assert!(sent < 100);
        }
        let at = lane.paced_until().unwrap();
        assert!(at - cx.env.now() <= Duration::from_secs(2), "{:?}", at - cx.env.now());
    }

    fn context(config: Config) -> Context {
        let path = Path::new(&config, ([10, 0, 0, 1], 0).into());
        let rng = anabranch_base::Rng::stream(1, "test", "lane").secret();
        let mut cx = Context::new(0, std::sync::Arc::new(config), path, rng);
        cx.env.set_now(Instant::from_nanos(5_000_000_000));
        cx
    }
}
