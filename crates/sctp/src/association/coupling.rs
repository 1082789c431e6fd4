//! What the coupling of the lanes is told, and what it answers.

use anabranch_base::Instant;
use anabranch_transport::congestion::{Congestion, Growth};
use anabranch_wire::chunk::ReceiveTime;

use super::Association;
use crate::coupling::{Coupler, Delay, Heard, LaneView};
use crate::subflow::Life;
use crate::subflow::flight::AckOutcome;

impl Association {
    /// How every lane grows, after subflows were opened or closed.
    pub(super) fn set_phi(&mut self) {
        let single = self.open_subflow_count() <= 1;
        if single {
            self.coupler = None;
        } else if self.coupler.is_none() {
            self.coupler = Coupler::new(&self.config);
        }
        let phi = self.config.coupling.phi(self.open_subflow_count());
        for lane in &mut self.lanes {
            lane.controller.set_growth(Growth::Phi(phi));
        }
    }

    /// A SACK has come: lanes look at each other before any of them grows.
    pub(super) fn couple(
        &mut self,
        now: Instant,
        space: usize,
        outcome: &AckOutcome,
        times: Option<ReceiveTime>,
    ) {
        let Some(coupler) = &mut self.coupler else { return };
        coupler.views.clear();
        for lane in &self.lanes {
            let subflow = self.subflows.get(usize::from(lane.subflow));
            coupler.views.push(LaneView {
                open: subflow.is_some_and(|s| s.life == Life::Open),
                active: lane.flight > 0 || subflow.is_some_and(|s| !s.out.is_empty()),
                path: lane.path,
                dscp: subflow.map_or(self.config.dscp, |s| s.dscp),
                cwnd: lane.controller.window(),
                flight: lane.flight,
                srtt: lane.rtt.srtt(),
            });
        }
        let mine = |space_of: u8| usize::from(space_of) == space;
        for (index, _) in self.lanes.iter().enumerate().filter(|(_, lane)| mine(lane.space)) {
            let Some(ack) = outcome.lanes.get(index) else { continue };
            if ack.acked_chunks == 0 {
                continue;
            }
            let heard = Heard {
                bytes: ack.cumulative + ack.gap,
                chunks: u64::from(ack.acked_chunks),
                delay: ack.newest_once.map(|(_, sent_at)| match times {
                    Some(times) => Delay::OneWay(one_way_ns(times, sent_at)),
                    None => Delay::RoundTrip((now - sent_at).as_nanos() as i64),
                }),
            };
            coupler.on_ack(now, index, &heard);
        }
        coupler.review(now);
        for (index, lane) in self.lanes.iter_mut().enumerate().filter(|(_, lane)| mine(lane.space)) {
            if outcome.lanes.get(index).is_some_and(|ack| ack.acked_chunks > 0) {
                lane.controller.set_growth(coupler.growth(index));
            }
        }
    }

    /// A lane has lost chunks; others may have to shrink with it.
    pub(super) fn couple_loss(&mut self, now: Instant, index: usize, chunks: u32, cut: bool) {
        let Some(coupler) = &mut self.coupler else { return };
        if !coupler.on_loss(now, index, u64::from(chunks), cut) {
            return;
        }
        for other in (0..self.lanes.len()).filter(|&other| other != index) {
            let shares = self.coupler.as_ref().is_some_and(|coupler| coupler.share(index, other));
            if let (true, Some(lane)) = (shares, self.lanes.get_mut(other)) {
                lane.controller.on_congestion(Congestion::OtherLane);
                self.record_window(now, other);
            }
        }
    }
}

/// When the peer had a chunk less when we sent it, ns; the clocks may differ.
fn one_way_ns(times: ReceiveTime, sent_at: Instant) -> i64 {
    let sent_us = (sent_at.as_nanos() / 1000) as u32;
    i64::from(times.received_us.wrapping_sub(sent_us) as i32) * 1000
}
