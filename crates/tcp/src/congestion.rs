//! How much may be outstanding: the congestion controllers.
//!
//! The connection says what happened; the controller answers with a window. It does not know what is lost or why.

use crate::config::{AckedGrowth, Config, Controller, InitialWindow};

/// What an acknowledgement of new data means for the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked {
    /// Bytes acknowledged for the first time.
    pub(crate) bytes: u64,
}

/// A congestion controller. An enum, not a trait object: there are few, and they are on the hot path.
#[derive(Debug)]
pub(crate) enum Congestion {
    Reno(Reno),
}

impl Congestion {
    pub(crate) fn new(config: &Config, mss: u64) -> Self {
        match config.controller {
            Controller::Reno => Self::Reno(Reno::new(config, mss)),
        }
    }

    /// Congestion window in bytes.
    pub(crate) fn window(&self) -> u64 {
        let Self::Reno(c) = self;
        c.window()
    }

    pub(crate) fn ssthresh(&self) -> u64 {
        let Self::Reno(c) = self;
        c.ssthresh
    }

    /// New data was acknowledged outside loss recovery.
    pub(crate) fn on_ack(&mut self, acked: Acked) {
        let Self::Reno(c) = self;
        c.on_ack(acked);
    }

    /// Fast retransmit begins; `base` bytes are what RFC 5681 calls FlightSize.
    pub(crate) fn on_fast_retransmit(&mut self, base: Base) {
        let Self::Reno(c) = self;
        c.on_fast_retransmit(base);
    }

    /// The retransmission timer expired; `base` is `None` when ssthresh must stay as it is.
    pub(crate) fn on_timeout(&mut self, base: Option<Base>) {
        let Self::Reno(c) = self;
        c.on_timeout(base);
    }

    /// Fast recovery is over; the window is at most `limit`.
    pub(crate) fn on_recovered(&mut self, limit: Option<u64>) {
        let Self::Reno(c) = self;
        if let Some(limit) = limit {
            c.cwnd = c.cwnd.min(limit as f64);
        }
    }

    /// After an idle time, or a handshake with losses: start again with at most `window`.
    pub(crate) fn restart(&mut self, window: InitialWindow) {
        let Self::Reno(c) = self;
        c.cwnd = c.cwnd.min(window.bytes(c.mss as u64) as f64);
    }
}

/// What a loss halves.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Base {
    /// So many bytes in flight.
    Flight(u64),
    /// The window itself, but no more than this limit.
    Window(u64),
}

/// RFC 5681 in its three common ways of counting.
#[derive(Debug)]
pub(crate) struct Reno {
    growth: AckedGrowth,
    limit: u64,
    loss_window: u64,
    mss: f64,
    /// Bytes. A fraction of a byte only when growth counts packets: halving an odd window, adding mss/cwnd.
    cwnd: f64,
    ssthresh: u64,
    /// Bytes acknowledged in congestion avoidance and not yet turned into growth.
    counted: u64,
}

impl Reno {
    fn new(config: &Config, mss: u64) -> Self {
        Self {
            growth: config.growth,
            limit: u64::from(config.growth_limit.max(1)),
            loss_window: u64::from(config.loss_window.max(1)),
            mss: mss as f64,
            cwnd: config.initial_window.bytes(mss) as f64,
            ssthresh: config.initial_ssthresh.unwrap_or(u64::MAX),
            counted: 0,
        }
    }

    fn window(&self) -> u64 {
        match self.growth {
            // The whole packets count; the rounding repairs sums such as 1/3 + 1/3 + 1/3.
            AckedGrowth::Packets => ((self.cwnd / self.mss + 1e-9).floor() * self.mss) as u64,
            AckedGrowth::Bytes | AckedGrowth::PerAck => self.cwnd as u64,
        }
    }

    fn on_ack(&mut self, acked: Acked) {
        let mss = self.mss as u64;
        let slow_start = self.cwnd < self.ssthresh as f64;
        match (self.growth, slow_start) {
            // RFC 3465, section 2.2: by the bytes acknowledged, at most L segments an ACK.
            (AckedGrowth::Bytes, true) => self.cwnd += acked.bytes.min(self.limit * mss) as f64,
            // RFC 3465, section 2.1: a segment for every window of bytes acknowledged.
            (AckedGrowth::Bytes, false) => {
                self.counted += acked.bytes;
                if self.counted as f64 >= self.cwnd {
                    self.counted -= self.cwnd as u64;
                    self.cwnd += self.mss;
                }
            }
            // RFC 5681, equation 2: "cwnd += min (N, SMSS)".
            (AckedGrowth::PerAck, true) => self.cwnd += acked.bytes.min(mss) as f64,
            // RFC 5681, equation 3, at least one byte.
            (AckedGrowth::PerAck, false) => {
                self.cwnd += (self.mss * self.mss / self.cwnd.max(1.0)).floor().max(1.0);
            }
            (AckedGrowth::Packets, true) => self.cwnd += self.mss,
            (AckedGrowth::Packets, false) => self.cwnd += self.mss * self.mss / self.cwnd.max(1.0),
        }
    }

    fn on_fast_retransmit(&mut self, base: Base) {
        let half = self.half(base);
        self.set_ssthresh(half);
        self.cwnd = match self.growth {
            // ns-2 keeps the half packet in cwnd and cuts it from ssthresh; no floor for cwnd.
            AckedGrowth::Packets => half,
            AckedGrowth::Bytes | AckedGrowth::PerAck => self.ssthresh as f64,
        };
        self.counted = 0;
    }

    fn on_timeout(&mut self, base: Option<Base>) {
        if let Some(base) = base {
            let half = self.half(base);
            self.set_ssthresh(half);
        }
        self.cwnd = self.loss_window as f64 * self.mss;
        self.counted = 0;
    }

    fn half(&self, base: Base) -> f64 {
        match base {
            Base::Flight(bytes) => (bytes / 2) as f64,
            Base::Window(limit) => self.cwnd.min(limit as f64) / 2.0,
        }
    }

    /// RFC 5681, equation 4: "ssthresh = max (FlightSize / 2, 2*SMSS)".
    fn set_ssthresh(&mut self, half: f64) {
        let half = match self.growth {
            AckedGrowth::Packets => (half / self.mss + 1e-9).floor() * self.mss,
            AckedGrowth::Bytes | AckedGrowth::PerAck => half,
        };
        self.ssthresh = half.max(2.0 * self.mss) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno(growth: AckedGrowth, cwnd: u64, ssthresh: u64) -> Reno {
        let mut c =
            Reno::new(&Config { growth, initial_ssthresh: Some(ssthresh), ..Config::default() }, 1000);
        c.cwnd = cwnd as f64;
        c
    }

    #[test]
    fn slow_start_by_bytes_acked_at_most_two_segments() {
        let mut c = reno(AckedGrowth::Bytes, 4000, 100_000);
        c.on_ack(Acked { bytes: 2000 });
        assert_eq!(c.window(), 6000);
        c.on_ack(Acked { bytes: 9000 });
        assert_eq!(c.window(), 8000);
        let mut c = reno(AckedGrowth::PerAck, 4000, 100_000);
        c.on_ack(Acked { bytes: 2000 });
        assert_eq!(c.window(), 5000);
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_a_round_trip() {
        for growth in [AckedGrowth::Bytes, AckedGrowth::PerAck, AckedGrowth::Packets] {
            let mut c = reno(growth, 10_000, 5_000);
            for _ in 0..11 {
                c.on_ack(Acked { bytes: 1000 });
            }
            let grown = c.cwnd - 10_000.0;
            assert!((900.0..=1100.0).contains(&grown), "{growth:?}: {grown}");
        }
    }

    #[test]
    fn packets_keep_the_half_of_an_odd_window() {
        let mut c = reno(AckedGrowth::Packets, 9000, 1000);
        c.on_fast_retransmit(Base::Window(45_000));
        assert_eq!((c.window(), c.ssthresh), (4000, 4000));
        c.on_ack(Acked { bytes: 1000 });
        c.on_ack(Acked { bytes: 1000 });
        c.on_ack(Acked { bytes: 1000 });
        assert_eq!(c.window(), 5000, "4.5 + 1/4.5 + 1/4.7 + 1/4.9");
        c.on_timeout(Some(Base::Window(45_000)));
        assert_eq!((c.window(), c.ssthresh), (1000, 2000));
    }
}
