//! How fast the network delivers: samples of the delivery rate (draft-ietf-ccwg-bbr-05, section 4.1; earlier
//! draft-cheng-iccrg-delivery-rate-estimation).
//!
//! Every departure notes how much had been delivered by then. When the acknowledgement of that packet comes, the
//! difference and the time that passed give a rate: the longer of the time that sending took and the time that
//! acknowledgements took, so that neither a burst nor acknowledgements that were compressed make it too high.
//!
//! Packets that left at the same instant share a note, which is found by that instant: nothing is kept with the chunks
//! or segments in flight, and connections whose controller asks for no rates pay nothing.

use std::collections::VecDeque;

use anabranch_base::{Duration, Instant};

/// Most departures that are remembered: more than any window has. The oldest are forgotten first.
const MOST: usize = 1 << 16;

/// The state of the sampler when something left.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// P.send_time.
    at: Instant,
    /// P.delivered and P.delivered_time.
    delivered: u64,
    delivered_time: Instant,
    /// P.first_send_time.
    first_sent: Instant,
    /// P.tx_in_flight: in flight with all that left then, bytes.
    in_flight: u64,
    /// P.lost.
    lost: u64,
    /// P.is_app_limited.
    app_limited: bool,
}

/// A sample of the path from one acknowledgement: RS of the draft.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Acknowledged for the first time, bytes.
    pub newly: u64,
    /// The round trip of the newest that was sent once.
    pub rtt: Option<Duration>,
    /// Whether the departure of the newest is known: the fields below hold then.
    pub known: bool,
    /// Delivered from that departure until now, bytes.
    pub delivered: u64,
    /// Delivered when it left, bytes.
    pub prior_delivered: u64,
    /// The rate, bytes a second; zero where there is no plausible one.
    pub rate: f64,
    /// Whether there was too little to send when the newest left: the path may have delivered more.
    pub app_limited: bool,
    /// In flight when it had left, bytes.
    pub in_flight: u64,
    /// Declared lost since, bytes.
    pub lost: u64,
}

/// The note of a lost packet's departure, with the losses since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// In flight when it had left, bytes.
    pub in_flight: u64,
    /// Declared lost since it left, itself included, bytes.
    pub lost: u64,
    /// Whether there was too little to send when it left.
    pub app_limited: bool,
}

/// The sampler of a connection, or of a lane.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// C.delivered and C.delivered_time.
    delivered: u64,
    delivered_time: Instant,
    /// C.first_send_time.
    first_sent: Instant,
    /// C.lost.
    lost: u64,
    /// C.app_limited: the bubble has left the network when more than this has been delivered. Zero: there is none.
    app_limited: u64,
    /// The bubble began with the last departure.
    bubble_at: Option<Instant>,
    /// Shortest round trip so far: a sample over a shorter time is not plausible.
    min_rtt: Option<Duration>,
    departures: VecDeque<Departure>,
}

impl Delivery {
    /// C.delivered: acknowledged so far, bytes.
    #[must_use]
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// C.lost: declared lost so far, bytes.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether too little was there to send, and the gap is still under way.
    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// A packet left: bytes in flight before it, and with it.
    pub fn sent(&mut self, now: Instant, before: u64, in_flight: u64) {
        if before == 0 {
            self.first_sent = now;
            self.delivered_time = now;
        }
        if self.bubble_at.take() == Some(now) {
            // The application wrote on at the same moment: there was no gap.
            self.app_limited = 0;
        }
        match self.departures.back_mut() {
            Some(last) if last.at == now => {
                last.in_flight = in_flight;
                last.app_limited = self.app_limited > 0;
            }
            _ => {
                if self.departures.len() >= MOST {
                    self.departures.pop_front();
                }
                self.departures.push_back(Departure {
                    at: now,
                    delivered: self.delivered,
                    delivered_time: self.delivered_time,
                    first_sent: self.first_sent,
                    in_flight,
                    lost: self.lost,
                    app_limited: self.app_limited > 0,
                });
            }
        }
    }

    /// Nothing more waits to be sent, and the window would allow it: samples are too low until the data in flight has arrived.
    pub fn limited_by_application(&mut self, in_flight: u64) {
        self.app_limited = self.delivered.saturating_add(in_flight).max(1);
    }

    /// Right after a departure nothing more waits to be sent: samples are too low until the data in flight has arrived.
    pub fn ran_dry(&mut self, now: Instant, in_flight: u64) {
        if self.app_limited == 0 {
            self.bubble_at = Some(now);
        }
        self.limited_by_application(in_flight);
    }

    fn departure(&self, at: Instant) -> Option<&Departure> {
        let place = self.departures.partition_point(|departure| departure.at < at);
        self.departures.get(place).filter(|departure| departure.at == at)
    }

    /// One of the departures that are remembered, for tests.
    #[cfg(test)]
    pub(crate) fn departure_at(&self, draw: u64) -> Option<Instant> {
        let place = draw as usize % self.departures.len().max(1);
        self.departures.get(place).map(|departure| departure.at)
    }

    /// `newly` bytes were acknowledged for the first time; the newest of them left at `newest`, where that is certain. `rtt` is its
    /// round trip, where it was sent once.
    pub fn acked(
        &mut self,
        now: Instant,
        newly: u64,
        newest: Option<Instant>,
        rtt: Option<Duration>,
    ) -> Sample {
        let mut sample = Sample { newly, rtt, ..Sample::default() };
        if newly == 0 {
            return sample;
        }
        self.delivered += newly;
        self.delivered_time = now;
        if let Some(rtt) = rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Some(&departure) = newest.and_then(|at| self.departure(at)) else { return sample };
        self.first_sent = departure.at;
        let sending = departure.at.saturating_since(departure.first_sent);
        let acking = now.saturating_since(departure.delivered_time);
        // "Use the longer of the send_elapsed and ack_elapsed."
        let interval = sending.max(acking);
        sample.known = true;
        sample.delivered = self.delivered - departure.delivered;
        sample.prior_delivered = departure.delivered;
        sample.app_limited = departure.app_limited;
        sample.in_flight = departure.in_flight;
        sample.lost = self.lost - departure.lost;
        // "Normally we expect interval >= MinRTT"; shorter is a retransmission whose original was acknowledged.
        let plausible = self.min_rtt.is_none_or(|least| interval >= least);
        if plausible && interval > Duration::ZERO {
            sample.rate = sample.delivered as f64 / interval.as_secs_f64();
        }
        // A packet that left more than a round trip earlier can be found lost only by a timeout: its note is no longer
        // needed.
        let horizon = departure.at - now.saturating_since(departure.at);
        while self.departures.front().is_some_and(|oldest| oldest.at < horizon) {
            self.departures.pop_front();
        }
        sample
    }

    /// Notes that `bytes` that left at `sent_at` were declared lost. `None` where the departure is forgotten.
    pub fn lost_at(&mut self, sent_at: Instant, bytes: u64) -> Option<Lost> {
        self.lost = self.lost.saturating_add(bytes);
        let lost = self.lost;
        let departure = self.departure(sent_at)?;
        Some(Lost {
            in_flight: departure.in_flight,
            lost: lost - departure.lost,
            app_limited: departure.app_limited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    /// A packet of 1000 bytes each millisecond over a path of 50 ms.
    #[test]
    fn a_steady_flow_gives_its_rate() {
        let mut delivery = Delivery::default();
        let mut last = Sample::default();
        for ms in 0..300 {
            if ms >= 50 {
                let rtt = Duration::from_millis(50);
                last = delivery.acked(at(ms), 1000, Some(at(ms - 50)), Some(rtt));
            }
            let before = if ms >= 50 { 49_000 } else { ms * 1000 };
            delivery.sent(at(ms), before, before + 1000);
        }
        assert!((last.rate - 1_000_000.0).abs() < 1.0, "{last:?}");
        assert_eq!((last.delivered, last.in_flight, last.lost), (50_000, 50_000, 0));
        assert!(delivery.departures.len() < 110, "{}", delivery.departures.len());
    }

    /// Acknowledgements that were held back and come together do not make the rate larger than that of sending.
    #[test]
    fn compressed_acknowledgements_are_no_bandwidth() {
        let mut delivery = Delivery::default();
        for ms in 0..20 {
            delivery.sent(at(ms), ms * 1000, (ms + 1) * 1000);
        }
        let mut most = 0_f64;
        for ms in 0..20 {
            let sample = delivery.acked(at(100), 1000, Some(at(ms)), Some(Duration::from_millis(100 - ms)));
            most = most.max(sample.rate);
        }
        // 20 kB within 19 ms of sending, and 81 ms of the shortest round trip.
        assert!(most <= 20_000.0 / 0.081 + 1.0, "{most}");
    }

    #[test]
    fn a_gap_marks_the_samples_until_it_has_left() {
        let mut delivery = Delivery::default();
        delivery.sent(at(0), 0, 1000);
        delivery.ran_dry(at(0), 1000);
        // At the same moment more is written: no gap.
        delivery.sent(at(0), 1000, 2000);
        assert!(!delivery.is_app_limited());
        delivery.ran_dry(at(0), 2000);
        delivery.sent(at(10), 2000, 3000);
        assert!(delivery.is_app_limited());
        assert!(!delivery.acked(at(50), 2000, Some(at(0)), None).app_limited);
        delivery.sent(at(60), 1000, 2000);
        assert!(delivery.acked(at(61), 1000, Some(at(10)), None).app_limited);
        assert!(!delivery.is_app_limited(), "more was delivered than was in flight then");
    }

    #[test]
    fn losses_are_counted_from_the_departure_on() {
        let mut delivery = Delivery::default();
        for ms in 0..10 {
            delivery.sent(at(ms), ms * 100, (ms + 1) * 100);
        }
        assert_eq!(
            delivery.lost_at(at(3), 100),
            Some(Lost { in_flight: 400, lost: 100, app_limited: false })
        );
        assert_eq!(
            delivery.lost_at(at(4), 100),
            Some(Lost { in_flight: 500, lost: 200, app_limited: false })
        );
        assert_eq!(delivery.lost_at(at(77), 100), None, "it never left");
        assert_eq!(delivery.acked(at(60), 100, Some(at(9)), None).lost, 300);
    }

    /// Nothing that comes from outside divides by zero or counts below it.
    #[test]
    fn times_that_cannot_be() {
        let mut delivery = Delivery::default();
        delivery.sent(at(5), 0, 100);
        // Acknowledged at the moment it left, and before it.
        assert!(delivery.acked(at(5), 50, Some(at(5)), Some(Duration::ZERO)).rate.abs() < f64::EPSILON);
        assert!(delivery.acked(at(1), 50, Some(at(5)), None).rate.is_finite());
        assert!(!delivery.acked(at(9), 10, Some(at(8)), None).known);
    }
}
