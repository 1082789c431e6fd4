//! Round trips: which are measured, and the timeout that follows from them (RFC 6298).

use super::ack_info::AckInfo;
use super::context::Context;
use crate::config::{Config, RttSampling};
use crate::flight::CumulativelyAcked;
use crate::host_cache::Learnt;
use anabranch_base::{Duration, Instant, TraceEvent};
use anabranch_transport::rtt::{MinRtt, RttEstimator};

/// For so long the smallest round trip counts, as in Linux.
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Round-trip measurements: estimator, minimum, and the segment being timed.
#[derive(Debug)]
pub(crate) struct RoundTrips {
    estimator: RttEstimator,
    min: MinRtt,
    /// The segment being timed: its end and when it left.
    timed: Option<(u64, Instant)>,
    /// Samples of data.
    samples: u32,
}

impl RoundTrips {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            estimator: RttEstimator::new(&config.rtt_rules()),
            min: MinRtt::new(MIN_RTT_WINDOW),
            timed: None,
            samples: 0,
        }
    }

    #[inline]
    pub(super) fn srtt(&self) -> Option<Duration> {
        self.estimator.srtt()
    }

    /// Retransmission timeout, backing off included.
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        self.estimator.rto()
    }

    /// The smallest of the last minutes.
    #[inline]
    pub(super) fn min(&self) -> Option<Duration> {
        self.min.get()
    }

    /// Number of samples taken from data.
    pub(super) fn samples(&self) -> u32 {
        self.samples
    }

    /// Path metrics for later connections to the host, once there are enough samples.
    pub(super) fn learnt(&self, ssthresh: Option<u64>) -> Option<Learnt> {
        let srtt = self.srtt().filter(|_| self.samples >= 4)?;
        Some(Learnt { srtt, rttvar: self.estimator.rttvar(), ssthresh })
    }

    /// An earlier connection to this host left these.
    pub(super) fn seed(&mut self, learnt: &Learnt) {
        self.estimator.seed(learnt.srtt, learnt.rttvar);
    }

    /// The handshake took from when the SYN left until now.
    pub(crate) fn handshake_since(&mut self, sent: Instant, now: Instant) {
        let took = self.estimator.sample_between(sent, now);
        self.min.note(took, now);
    }

    /// The handshake took so long, by timestamps.
    pub(crate) fn handshake_took(&mut self, age: Duration, now: Instant) {
        let took = self.estimator.sample(age);
        self.min.note(took, now);
    }

    /// The SYN was lost: data begins with this timeout (RFC 6298, section 5.7).
    pub(super) fn restart_at(&mut self, rto: Duration) {
        self.estimator.restart_at(rto);
    }

    pub(crate) fn back_off(&mut self) {
        self.estimator.back_off();
    }

    pub(super) fn clear_back_off(&mut self) {
        self.estimator.clear_back_off();
    }

    /// A segment with something new left, and ends at `end`: it is timed when no other is.
    pub(super) fn new_segment_left(&mut self, end: u64, now: Instant) {
        if self.timed.is_none() {
            self.timed = Some((end, now));
        }
    }

    /// Karn: a segment that has been sent twice cannot be timed.
    pub(super) fn resent(&mut self, end: u64) {
        self.timed = self.timed.filter(|(timed, _)| *timed != end);
    }

    /// The timed segment may be the lost one, or wait behind it.
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// An acknowledgement may have measured one; `segment` is when the segment left that it times with [`RttSampling::Segments`].
    pub(super) fn measure(
        &mut self,
        cx: &mut Context<'_>,
        sampling: RttSampling,
        info: &AckInfo<'_>,
        max: u64,
        (taken, segment): (CumulativelyAcked, Option<Instant>),
    ) -> Option<Duration> {
        self.estimator.at_sequence(info.ack, max);
        let sample = if let Some(sent) = segment {
            Some(self.estimator.sample_between(sent, cx.now))
        } else if let Some(age) = info.echo_age {
            Some(self.estimator.sample(age))
        } else {
            let sent = match sampling {
                RttSampling::Timed => {
                    let timed = self.timed.filter(|(end, _)| info.ack >= *end);
                    if timed.is_some() {
                        self.timed = None;
                    }
                    timed.map(|(_, at)| at)
                }
                RttSampling::Every => taken.sent_once,
                RttSampling::Segments => None,
            };
            sent.map(|at| self.estimator.sample_between(at, cx.now))
        };
        if let (Some(sample), Some(srtt)) = (sample, self.estimator.srtt()) {
            let rto = self.estimator.rto();
            cx.record(|| TraceEvent::Rtt { sample, srtt, rto });
            self.samples = self.samples.saturating_add(1);
            self.min.note(sample, cx.now);
        }
        sample
    }
}
