//! What the coupling of the lanes is told, and what it answers.

use anabranch_base::Instant;
use anabranch_transport::congestion::{Congestion, Growth};
use anabranch_wire::chunk::ReceiveTime;

use super::Sender;
use super::coupling::{Coupler, Delay, Heard, LaneView, Lost};
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
            let pmdcs = cx.paths.primary().map_or(0, crate::path::Path::pmdcs);
            let lane = self.lanes.first();
            self.coupler = lane.and_then(|lane| Coupler::new(&cx.config, pmdcs, &lane.controller));
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
        self.show_lanes(cx);
        let Some(coupler) = &mut self.coupler else { return };
        // Of what a SACK speaks of, only the newest was acknowledged at once: the rest has waited for it.
        let acked = outcome.lanes.iter().filter(|ack| ack.acked_chunks > 0);
        let newest = acked.clone().filter_map(|ack| ack.newest_once).map(|(_, sent_at)| sent_at).max();
        let alone = acked.map(|ack| ack.cumulative + ack.gap).sum::<u64>() <= coupler.unit();
        for (id, _) in self.lanes.iter().filter(|(_, lane)| lane.space == at) {
            let Some(ack) = outcome.lanes.get(id.row()) else { continue };
            if ack.acked_chunks == 0 {
                continue;
            }
            let heard = Heard {
                bytes: ack.cumulative + ack.gap,
                delay: ack.newest_once.map(|(_, sent_at)| match times {
                    Some(times) => Delay::OneWay(one_way_ns(times, sent_at)),
                    None => Delay::RoundTrip((cx.now - sent_at).as_nanos() as i64),
                }),
                sent_at: ack.newest_once.map(|(_, sent_at)| sent_at).filter(|at| Some(*at) == newest),
                alone,
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

    /// The coupling sees all lanes as they are now.
    fn show_lanes(&mut self, cx: &Context) {
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
    }

    /// Lanes that act as one flow have its window.
    pub(super) fn share_window(&mut self) {
        let Some(coupler) = self.coupler.as_mut().filter(|coupler| coupler.may_be_one()) else { return };
        for (id, lane) in self.lanes.iter_mut() {
            // After T3-rtx a lane has a packet until something is acknowledged.
            if let Some(bytes) = coupler.window_of(id).filter(|_| !lane.single_packet) {
                lane.controller.set_window(bytes);
                lane.note_window();
            }
        }
        self.window_peak = self.window_peak.max(self.total_window());
    }

    /// Lanes that have acted as one flow will not any more: each has its part of the window.
    pub(super) fn divide_window(&mut self) {
        let Some(coupler) = self.coupler.as_mut().filter(|coupler| coupler.may_be_one()) else { return };
        let windows = self.lanes.ids().map(|id| coupler.window_of(id)).collect::<Vec<_>>();
        let count = windows.iter().flatten().count().max(1) as u64;
        for (lane, window) in self.lanes.rows_mut().iter_mut().zip(windows) {
            if let Some(window) = window {
                lane.controller.limit_window(window / count);
                lane.controller.seed_ssthresh(window / count);
            }
        }
    }

    /// Lanes that act as one flow may have something to send and a window of their own that is open, and yet must wait. To be asked
    /// before a packet, once.
    pub(super) fn look_at_flights(&mut self, cx: &Context) -> bool {
        let Some(coupler) = self.coupler.as_mut().filter(|coupler| coupler.may_be_one()) else {
            return false;
        };
        if coupler.views.len() == self.lanes.len() {
            for (view, lane) in coupler.views.iter_mut().zip(self.lanes.rows()) {
                view.flight = lane.flight;
            }
        } else {
            self.show_lanes(cx);
        }
        true
    }

    /// Whether the flow that a lane is a part of has all in flight that it may; after [`Sender::look_at_flights`].
    pub(super) fn is_out(&mut self, id: LaneId) -> bool {
        self.coupler.as_mut().is_some_and(|coupler| coupler.is_out(id))
    }

    /// A lane sends after a pause of an RTO and more.
    #[inline(never)]
    pub(super) fn couple_pause(&mut self, cx: &Context, id: LaneId) {
        if !self.look_at_flights(cx) {
            return;
        }
        let Some(rto) = self.lanes.get(id).map(|lane| lane.rto(cx)) else { return };
        if let Some(coupler) = &mut self.coupler {
            coupler.on_pause(cx.now, id, rto);
        }
    }

    /// A lane has lost chunks; others may have to shrink with it.
    pub(super) fn couple_loss(&mut self, cx: &mut Context, id: LaneId, lost: &Lost) {
        let Some(coupler) = &mut self.coupler else { return };
        if !coupler.on_loss(cx.now, id, lost) {
            self.share_window();
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
