//! Coupling of the windows of the lanes: the views that the coupling gets, its answers, and the windows of all lanes
//! together.

use anabranch_base::{Instant, TraceEvent};
use anabranch_transport::congestion::{Congestion, Growth};
use anabranch_wire::chunk::ReceiveTime;

use super::coupling::{Coupler, Delay, LaneReport, LaneView, Lost};
use super::flight::AckOutcome;
use super::subflow::Life;
use super::tables::Tables;
use crate::context::Context;
use crate::encoding::micros;
use crate::ids::{Id, LaneId, PathId, SpaceId};

/// The coupling of the lanes of an association.
#[derive(Debug, Default)]
pub(super) struct LaneCoupling {
    /// The coupling of the windows, where growth changes from SACK to SACK.
    coupler: Option<Box<Coupler>>,
    /// Largest window of all lanes together, where there are several.
    window_peak: u64,
}

impl LaneCoupling {
    /// True if a coupling is in force whose growth changes from SACK to SACK.
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.coupler.is_some()
    }

    /// Largest window of all lanes together, where there are several.
    pub(super) fn window_peak(&self) -> u64 {
        self.window_peak
    }

    /// The largest window counts from now on.
    pub(super) fn reset_peak(&mut self, tables: &Tables) {
        self.window_peak = tables.total_window();
    }

    /// A lane begins anew.
    pub(super) fn renew(&mut self, lane: LaneId) {
        if let Some(coupler) = &mut self.coupler {
            coupler.renew(lane);
        }
    }

    /// The packets of a path have another size, the unit in which windows are counted. "An update to the PLPMTU (or
    /// MPS) MUST NOT increase the congestion window measured in bytes" (RFC 8899, 3), and a smaller one is no sign of
    /// congestion.
    pub(super) fn resize(&mut self, tables: &mut Tables, cx: &Context, id: PathId) {
        let Some(path) = cx.paths.get(id) else { return };
        let (unit, pmdcs) = (path.size().window_unit(cx.env.config()), path.pmdcs());
        for lane in tables.lanes.rows_mut().iter_mut().filter(|lane| lane.path() == id) {
            lane.resize(unit, pmdcs);
        }
        if let Some(coupler) = &mut self.coupler {
            coupler.resize(u64::from(unit));
        }
    }

    /// The user has chosen another coupling: lanes that have acted as one flow part.
    pub(super) fn begin_anew(&mut self, tables: &mut Tables) {
        self.divide_window(tables);
        self.coupler = None;
    }

    /// T3-rtx of a lane has expired; its earliest chunk left at `sent_at`.
    pub(super) fn timed_out(&mut self, now: Instant, lane: LaneId, sent_at: Instant) {
        if let Some(coupler) = &mut self.coupler {
            coupler.on_timeout(now, lane, sent_at);
        }
    }

    /// Sets the growth of every lane, after subflows were opened or closed.
    pub(super) fn set_phi(&mut self, tables: &mut Tables, cx: &Context) {
        let single = tables.open_subflow_count() <= 1;
        if single {
            self.coupler = None;
        } else if self.coupler.is_none() {
            let pmdcs = cx.paths.primary().map_or(0, crate::path::Path::pmdcs);
            let lane = tables.lanes.first();
            self.coupler =
                lane.and_then(|lane| Coupler::new(cx.env.config(), pmdcs, lane.window.controller()));
        }
        let phi = cx.env.config().subflows.coupling.phi(tables.open_subflow_count());
        for lane in tables.lanes.rows_mut() {
            lane.window.set_growth(Growth::Phi(phi));
        }
    }

    /// A SACK has come: the coupling learns of it before any lane grows.
    pub(super) fn couple(
        &mut self,
        tables: &mut Tables,
        cx: &Context,
        at: SpaceId,
        outcome: &AckOutcome,
        times: Option<ReceiveTime>,
    ) {
        self.show_lanes(tables, cx);
        let Some(coupler) = &mut self.coupler else { return };
        // Of the chunks that a SACK acknowledges, only the newest was acknowledged at once: the others had to wait for the SACK.
        let acked = outcome.lanes.iter().filter(|ack| ack.acked_chunks > 0);
        let newest = acked.clone().filter_map(|ack| ack.newest_once).map(|(_, sent_at)| sent_at).max();
        let alone = acked.map(|ack| ack.cumulative + ack.gap).sum::<u64>() <= coupler.unit();
        for (id, _) in tables.lanes.iter().filter(|(_, lane)| lane.space() == at) {
            let Some(ack) = outcome.lanes.get(id.row()) else { continue };
            if ack.acked_chunks == 0 {
                continue;
            }
            let heard = LaneReport {
                bytes: ack.cumulative + ack.gap,
                delay: ack.newest_once.map(|(_, sent_at)| match times {
                    Some(times) => Delay::OneWay(one_way_ns(times, sent_at)),
                    None => Delay::RoundTrip((cx.env.now() - sent_at).as_nanos() as i64),
                }),
                sent_at: ack.newest_once.map(|(_, sent_at)| sent_at).filter(|at| Some(*at) == newest),
                alone,
            };
            coupler.on_ack(cx.env.now(), id, &heard);
        }
        coupler.review(cx.env.now());
        for (id, lane) in tables.lanes.iter_mut().filter(|(_, lane)| lane.space() == at) {
            if outcome.lanes.get(id.row()).is_some_and(|ack| ack.acked_chunks > 0) {
                lane.window.set_growth(coupler.growth(id));
            }
        }
    }

    /// Shows the coupling the present state of all lanes.
    fn show_lanes(&mut self, tables: &mut Tables, cx: &Context) {
        let Some(coupler) = &mut self.coupler else { return };
        coupler.views.clear();
        for lane in tables.lanes.rows() {
            let subflow = tables.subflows.get(lane.subflow());
            coupler.views.push(LaneView {
                open: subflow.is_some_and(|s| s.life == Life::Open),
                active: lane.in_flight.bytes() > 0 || subflow.is_some_and(|s| !s.out.is_empty()),
                path: lane.path(),
                dscp: subflow.map_or(cx.env.config().dscp, |s| s.dscp),
                cwnd: lane.window.cwnd(),
                flight: lane.in_flight.bytes(),
                srtt: lane.srtt(cx),
            });
        }
    }

    /// Lanes that act as one flow have its window.
    pub(super) fn share_window(&mut self, tables: &mut Tables) {
        let Some(coupler) = self.coupler.as_mut().filter(|coupler| coupler.may_be_one()) else { return };
        for (id, lane) in tables.lanes.iter_mut() {
            // After T3-rtx a lane may send one packet until a chunk is acknowledged.
            if let Some(bytes) = coupler.window_of(id).filter(|_| !lane.permits.is_single_packet()) {
                lane.window.share(bytes);
            }
        }
        self.window_peak = self.window_peak.max(tables.total_window());
    }

    /// Lanes that have acted as one flow part: each gets its part of the window.
    fn divide_window(&mut self, tables: &mut Tables) {
        let Some(coupler) = self.coupler.as_mut().filter(|coupler| coupler.may_be_one()) else { return };
        let windows = tables.lanes.ids().map(|id| coupler.window_of(id)).collect::<Vec<_>>();
        let count = windows.iter().flatten().count().max(1) as u64;
        for (lane, window) in tables.lanes.rows_mut().iter_mut().zip(windows) {
            if let Some(window) = window {
                lane.window.divide(window / count);
            }
        }
    }

    /// Lanes that act as one flow may have something to send and an open window of their own, and yet wait for the common one. To be asked
    /// before a packet, once.
    pub(super) fn look_at_flights(&mut self, tables: &mut Tables, cx: &Context) -> bool {
        let Some(coupler) = self.coupler.as_mut().filter(|coupler| coupler.may_be_one()) else {
            return false;
        };
        if coupler.views.len() == tables.lanes.len() {
            for (view, lane) in coupler.views.iter_mut().zip(tables.lanes.rows()) {
                view.flight = lane.in_flight.bytes();
            }
        } else {
            self.show_lanes(tables, cx);
        }
        true
    }

    /// True if the flow that a lane is a part of has its whole window in flight; after
    /// [`LaneCoupling::look_at_flights`].
    pub(super) fn is_out(&mut self, id: LaneId) -> bool {
        self.coupler.as_mut().is_some_and(|coupler| coupler.is_out(id))
    }

    /// A lane sends after a pause of an RTO and more.
    #[inline(never)]
    pub(super) fn couple_pause(&mut self, tables: &mut Tables, cx: &Context, id: LaneId) {
        if !self.look_at_flights(tables, cx) {
            return;
        }
        let Some(rto) = tables.lanes.get(id).map(|lane| lane.rto(cx)) else { return };
        if let Some(coupler) = &mut self.coupler {
            coupler.on_pause(cx.env.now(), id, rto);
        }
    }

    /// A lane has lost chunks; others may have to shrink with it.
    pub(super) fn couple_loss(&mut self, tables: &mut Tables, cx: &mut Context, id: LaneId, lost: &Lost) {
        let Some(coupler) = &mut self.coupler else { return };
        if !coupler.on_loss(cx.env.now(), id, lost) {
            self.share_window(tables);
            return;
        }
        for other in tables.lanes.ids().filter(|other| *other != id) {
            let shares = self.coupler.as_ref().is_some_and(|coupler| coupler.share(id, other));
            if let (true, Some(lane)) = (shares, tables.lanes.get_mut(other)) {
                lane.window.cut(Congestion::OtherLane);
                self.record_window(tables, cx, other);
            }
        }
    }

    /// Notes the window of a lane in trace and peak.
    pub(super) fn record_window(&mut self, tables: &mut Tables, cx: &mut Context, id: LaneId) {
        let Some(lane) = tables.lanes.get_mut(id) else { return };
        let (cwnd, ssthresh, flight) = (lane.window.cwnd(), lane.window.ssthresh(), lane.in_flight.bytes());
        let (subflow, path) = (lane.subflow(), lane.path());
        lane.window.note_peak();
        if tables.lanes.len() > 1 {
            self.window_peak = self.window_peak.max(tables.total_window());
        }
        cx.record(subflow, path, TraceEvent::Window { cwnd, ssthresh, flight });
    }

    /// The first subflow of the lanes that are one flow with a lane.
    #[cold]
    #[inline(never)]
    pub(super) fn first_window(&self, tables: &Tables, lane: LaneId) -> Option<u8> {
        let first = self.coupler.as_ref()?.first_of(lane);
        tables.lanes.get(first).map(|lane| lane.subflow().row() as u8)
    }
}

/// Time from sending a chunk to its arrival at the peer, ns; the clocks may differ.
fn one_way_ns(times: ReceiveTime, sent_at: Instant) -> i64 {
    i64::from(times.received_us.wrapping_sub(micros(sent_at)) as i32) * 1000
}
