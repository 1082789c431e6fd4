//! What the coupling of the lanes is told, and what it answers.

use anabranch_base::Instant;
use anabranch_transport::congestion::{Congestion, Growth};
use anabranch_wire::chunk::ReceiveTime;

use super::Sender;
use super::coupling::{Coupler, Delay, Heard, LaneView};
use super::flight::AckOutcome;
use super::subflow::Life;
use crate::context::Context;
use crate::encoding::micros;
use crate::ids::{Id, LaneId, SpaceId};

impl Sender {
    /// How every lane grows, after subflows were opened or closed.
    pub(super) fn set_phi(&mut self, cx: &Context) {
        let single = self.open_subflow_count() <= 1;
        if single {
            self.coupler = None;
        } else if self.coupler.is_none() {
            let pmdcs = cx.paths.first().map_or(0, crate::path::Path::pmdcs);
            self.coupler = Coupler::new(&cx.config, pmdcs);
        }
        let phi = cx.config.subflows.coupling.phi(self.open_subflow_count());
        for lane in self.lanes.rows_mut() {
            lane.controller.set_growth(Growth::Phi(phi));
        }
    }

    /// A SACK has come: lanes look at each other before any of them grows.
    pub(super) fn couple(
        &mut self,
        cx: &Context,
        at: SpaceId,
        outcome: &AckOutcome,
        times: Option<ReceiveTime>,
    ) {
        let Some(coupler) = &mut self.coupler else { return };
        coupler.views.clear();
        for lane in self.lanes.rows() {
            let subflow = self.subflows.get(lane.subflow);
            coupler.views.push(LaneView {
                open: subflow.is_some_and(|s| s.life == Life::Open),
                active: lane.flight > 0 || subflow.is_some_and(|s| !s.out.is_empty()),
                path: lane.path,
                dscp: subflow.map_or(cx.config.dscp, |s| s.dscp),
                cwnd: lane.controller.window(),
                flight: lane.flight,
                srtt: lane.srtt(cx),
            });
        }
        for (id, _) in self.lanes.iter().filter(|(_, lane)| lane.space == at) {
            let Some(ack) = outcome.lanes.get(id.row()) else { continue };
            if ack.acked_chunks == 0 {
                continue;
            }
            let heard = Heard {
                bytes: ack.cumulative + ack.gap,
                chunks: u64::from(ack.acked_chunks),
                delay: ack.newest_once.map(|(_, sent_at)| match times {
                    Some(times) => Delay::OneWay(one_way_ns(times, sent_at)),
                    None => Delay::RoundTrip((cx.now - sent_at).as_nanos() as i64),
                }),
            };
            coupler.on_ack(cx.now, id, &heard);
        }
        coupler.review(cx.now);
        for (id, lane) in self.lanes.iter_mut().filter(|(_, lane)| lane.space == at) {
            if outcome.lanes.get(id.row()).is_some_and(|ack| ack.acked_chunks > 0) {
                lane.controller.set_growth(coupler.growth(id));
            }
        }
    }

    /// A lane has lost chunks; others may have to shrink with it.
    pub(super) fn couple_loss(&mut self, cx: &mut Context, id: LaneId, chunks: u32, cut: bool) {
        let Some(coupler) = &mut self.coupler else { return };
        if !coupler.on_loss(cx.now, id, u64::from(chunks), cut) {
            return;
        }
        for other in self.lanes.ids().filter(|other| *other != id) {
            let shares = self.coupler.as_ref().is_some_and(|coupler| coupler.share(id, other));
            if let (true, Some(lane)) = (shares, self.lanes.get_mut(other)) {
                lane.controller.on_congestion(Congestion::OtherLane);
                self.record_window(cx, other);
            }
        }
    }
}

/// When the peer had a chunk less when we sent it, ns; the clocks may differ.
fn one_way_ns(times: ReceiveTime, sent_at: Instant) -> i64 {
    i64::from(times.received_us.wrapping_sub(micros(sent_at)) as i32) * 1000
}
