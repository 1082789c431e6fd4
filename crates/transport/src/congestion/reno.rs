//! RFC 5681 in its three common ways of counting; slow start and floors of every controller.

use super::event::Base;
use super::words::words;

words! {
    /// How cwnd grows with an acknowledgement of new data.
    AckedGrowth {
        /// Appropriate byte counting: by the bytes acknowledged (RFC 5681's recommendation, RFC 3465; RFC 9260, 7.2).
        Bytes = "bytes",
        /// One segment an ACK in slow start, SMSS*SMSS/cwnd an ACK after it (RFC 5681, equations 2 and 3).
        PerAck = "per-ack",
        /// As ns-2: cwnd is a fraction of packets, grows by 1 or 1/cwnd an ACK, and its whole part counts.
        Packets = "packets",
    }
}

/// The parameters of a window that counts segments.
#[derive(Clone, Copy, Debug)]
pub struct WindowRules {
    /// The unit of the window, bytes: SMSS, for SCTP PMDCS or the MTU.
    pub segment: u64,
    /// The counting of acknowledgements.
    pub growth: AckedGrowth,
    /// With [`AckedGrowth::Bytes`]: most segments that one acknowledgement adds in slow start (RFC 3465's L).
    pub limit: u32,
    /// The first window, bytes.
    pub initial_window: u64,
    /// The first threshold, bytes.
    pub initial_ssthresh: u64,
    /// The least threshold that a loss leaves, bytes.
    pub floor: u64,
    /// The window after a timeout, segments.
    pub loss_window: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Reno {
    growth: AckedGrowth,
    pub(super) limit: u64,
    loss_window: u64,
    floor: f64,
    pub(super) mss: f64,
    /// Bytes. A fraction of a byte only when growth counts packets: halving an odd window, adding mss/cwnd.
    pub(super) cwnd: f64,
    pub(super) ssthresh: u64,
    /// Bytes acknowledged in congestion avoidance and not yet turned into growth.
    counted: u64,
}

impl Reno {
    pub(super) fn new(rules: &WindowRules) -> Self {
        Self {
            growth: rules.growth,
            limit: u64::from(rules.limit.max(1)),
            loss_window: u64::from(rules.loss_window.max(1)),
            floor: rules.floor as f64,
            mss: rules.segment as f64,
            cwnd: rules.initial_window as f64,
            ssthresh: rules.initial_ssthresh,
            counted: 0,
        }
    }

    /// A segment has another size, bytes; which it had.
    pub(super) fn resize(&mut self, segment: u64) -> u64 {
        let old = self.mss.max(1.0);
        self.floor = self.floor / old * segment as f64;
        self.mss = segment as f64;
        old as u64
    }

    pub(super) fn window(&self) -> u64 {
        match self.growth {
            // The whole packets count; the rounding repairs sums such as 1/3 + 1/3 + 1/3.
            AckedGrowth::Packets => ((self.cwnd / self.mss + 1e-9).floor() * self.mss) as u64,
            AckedGrowth::Bytes | AckedGrowth::PerAck => self.cwnd as u64,
        }
    }

    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh as f64
    }

    pub(super) fn slow_start(&mut self, bytes: u64) {
        let mss = self.mss as u64;
        match self.growth {
            // RFC 3465, section 2.2: by the bytes acknowledged, at most L segments an ACK.
            AckedGrowth::Bytes => self.cwnd += bytes.min(self.limit * mss) as f64,
            // RFC 5681, equation 2: "cwnd += min (N, SMSS)".
            AckedGrowth::PerAck => self.cwnd += bytes.min(mss) as f64,
            AckedGrowth::Packets => self.cwnd += self.mss,
        }
    }

    pub(super) fn avoid(&mut self, bytes: u64) {
        match self.growth {
            // RFC 3465, section 2.1: a segment for every window of bytes acknowledged.
            AckedGrowth::Bytes => {
                self.counted += bytes;
                if self.counted as f64 >= self.cwnd {
                    self.counted -= self.cwnd as u64;
                    self.cwnd += self.mss;
                }
            }
            // RFC 5681, equation 3, at least one byte.
            AckedGrowth::PerAck => {
                self.cwnd += (self.mss * self.mss / self.cwnd.max(1.0)).floor().max(1.0);
            }
            AckedGrowth::Packets => self.cwnd += self.mss * self.mss / self.cwnd.max(1.0),
        }
    }

    pub(super) fn on_fast_retransmit(&mut self, after: f64) {
        self.set_ssthresh(after);
        self.cwnd = match self.growth {
            // ns-2 keeps the half packet in cwnd and cuts it from ssthresh; less than one packet would be the end.
            AckedGrowth::Packets => after.max(self.mss),
            AckedGrowth::Bytes | AckedGrowth::PerAck => self.ssthresh as f64,
        };
        self.counted = 0;
    }

    pub(super) fn on_timeout(&mut self, after: Option<f64>) {
        if let Some(after) = after {
            self.set_ssthresh(after);
        }
        self.cwnd = self.loss_window as f64 * self.mss;
        self.counted = 0;
    }

    /// The quantity that a loss reduces, bytes.
    pub(super) fn of(&self, base: Base) -> f64 {
        match base {
            // Whole bytes after halving, as ever.
            Base::Flight(bytes) => (bytes / 2 * 2) as f64,
            Base::Window(limit) => self.cwnd.min(limit as f64),
        }
    }

    /// RFC 5681, equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)", or another floor.
    fn set_ssthresh(&mut self, after: f64) {
        let after = match self.growth {
            AckedGrowth::Packets => (after / self.mss + 1e-9).floor() * self.mss,
            AckedGrowth::Bytes | AckedGrowth::PerAck => after,
        };
        self.ssthresh = after.max(self.floor) as u64;
    }
}

#[cfg(test)]
impl Reno {
    /// A window and a threshold of so many bytes, segments of 1000.
    pub(super) fn at(growth: AckedGrowth, cwnd: u64, ssthresh: u64) -> Self {
        Self::new(&WindowRules {
            segment: 1000,
            growth,
            limit: 2,
            initial_window: cwnd,
            initial_ssthresh: ssthresh,
            floor: 2000,
            loss_window: 1,
        })
    }
}
