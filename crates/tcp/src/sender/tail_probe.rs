//! Tail loss probe (RFC 8985, section 7): the probe that is out, or is to leave.

use super::ack_info::AckInfo;
use anabranch_transport::rack::{Probe, ProbeAnswer};

/// The probe of the tail, one at a time.
#[derive(Debug, Default)]
pub(super) struct TailProbe {
    /// A probe is out.
    out: Option<Probe>,
    /// A probe with new data leaves next, even beyond cwnd.
    new_data_due: bool,
    /// Number of round-trip samples at the last probe.
    at_sample: Option<u32>,
}

impl TailProbe {
    #[inline]
    pub(super) fn is_out(&self) -> bool {
        self.out.is_some()
    }

    /// A probe with new data leaves next, even beyond cwnd.
    #[inline]
    pub(super) fn wants_new_data(&self) -> bool {
        self.new_data_due
    }

    /// True if another may be sent: one at a time, and a round-trip sample since the last, else probes would hide
    /// that the path got longer.
    pub(super) fn may_begin(&self, samples: u32) -> bool {
        self.out.is_none() && self.at_sample != Some(samples)
    }

    /// A probe is due, after `samples` measured round trips. With `resent` the last segment, which ends there, is resent; else new data.
    pub(super) fn begin(&mut self, samples: u32, resent: Option<u64>) {
        self.at_sample = Some(samples);
        match resent {
            Some(max) => self.out = Some(Probe { end: max, resent }),
            None => self.new_data_due = true,
        }
    }

    /// There is no new data to probe with.
    pub(super) fn nothing_new(&mut self) {
        self.new_data_due = false;
    }

    /// New data up to `max` left: where a probe was due, this is it.
    #[inline]
    pub(super) fn new_data_left(&mut self, max: u64) {
        if std::mem::take(&mut self.new_data_due) {
            self.out = Some(Probe { end: max, resent: None });
        }
    }

    /// Fast recovery begins: no answer to the probe is waited for.
    pub(super) fn give_up(&mut self) {
        self.out = None;
    }

    /// A timeout: neither is one waited for, nor does one leave.
    pub(super) fn on_timeout(&mut self) {
        self.out = None;
        self.new_data_due = false;
    }

    /// RFC 8985, section 7.4.2: TLP_process_ack. Answers how the probe fared, and whether the acknowledgement reports the probe itself as
    /// a duplicate; nothing when it does not reach it.
    #[inline]
    pub(super) fn on_ack(
        &mut self,
        info: &AckInfo<'_>,
        advanced: bool,
        sacked: u64,
    ) -> Option<(ProbeAnswer, bool)> {
        let probe = self.out.filter(|probe| info.ack >= probe.end)?;
        let reported = info.duplicate.is_some_and(|(_, end)| end == probe.end);
        let repeated = !advanced && sacked == 0 && info.empty;
        let answer = if reported { ProbeAnswer::Needless } else { probe.answer(info.ack, repeated) };
        if answer != ProbeAnswer::Open {
            self.out = None;
        }
        Some((answer, reported))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_a_sample_between_two() {
        let mut probe = TailProbe::default();
        assert!(probe.may_begin(3));
        probe.begin(3, None);
        assert!(probe.wants_new_data() && !probe.is_out());
        probe.new_data_left(100);
        assert!(probe.is_out() && !probe.wants_new_data());
        probe.new_data_left(200);
        assert!(!probe.may_begin(4), "one is out");
        probe.give_up();
        assert!(!probe.may_begin(3), "no round trip was measured since");
        assert!(probe.may_begin(4));
    }

    #[test]
    fn a_probe_that_is_reported_as_a_duplicate_was_needless() {
        let mut probe = TailProbe::default();
        probe.begin(1, Some(100));
        let ack = |ack, duplicate| AckInfo {
            ack,
            sacks: &[],
            seq: 0,
            window: 0,
            empty: true,
            duplicate,
            echo_age: None,
            echo_any: None,
        };
        assert!(probe.on_ack(&ack(99, None), true, 0).is_none());
        assert_eq!(probe.on_ack(&ack(100, Some((90, 100))), true, 0), Some((ProbeAnswer::Needless, true)));
        assert!(!probe.is_out());
    }
}
