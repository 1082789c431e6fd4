//! Coupling of the windows of an association's lanes (docs/explanation/couplings.md).
//!
//! A coupling sees all lanes and answers the growth of each in congestion avoidance; reductions after a loss, and
//! slow start, stay the controller's own business, except where lanes act as one flow: then the coupling has that
//! flow's controller, and answers the bytes that all of them may have in flight. With one lane, or when Phi is a
//! constant, no coupling is needed and [`Coupler::new`] returns `None`.

mod adaptive;
mod holding;
mod likeness;
mod linked;
mod one_flow;
mod ranks;
mod trial;
mod view;

use anabranch_base::{Duration, Instant};
use anabranch_transport::congestion::{Controller, Growth};

use crate::config::{AdaptiveCut, Config, Coupling, FccCount};
use crate::ids::{Id, LaneId};
use adaptive::Adaptive;
use linked::Losses;
pub(super) use view::{Delay, LaneReport, LaneView, Lost};

/// A coupling whose growth changes from SACK to SACK.
#[derive(Debug)]
pub(crate) struct Coupler {
    rule: Rule,
    count: FccCount,
    cut: AdaptiveCut,
    pmdcs: u64,
    /// One view for each lane, brought up to date by the association before it asks.
    pub(crate) views: Vec<LaneView>,
}

#[derive(Debug)]
enum Rule {
    /// Fractional congestion control that counts active subflows.
    Counted(Coupling),
    Lia,
    Olia(Vec<Losses>),
    Adaptive(Box<Adaptive>),
}

impl Coupler {
    /// The coupling that the configuration asks for; `None` when Phi is a constant until subflows are opened or closed.
    ///
    /// `controller` is a new controller, as lanes have it.
    pub(crate) fn new(config: &Config, pmdcs: u32, controller: &Controller) -> Option<Box<Self>> {
        let rule = match config.subflows.coupling {
            Coupling::Independent | Coupling::Shared | Coupling::Fcc(_) => return None,
            Coupling::FccN | Coupling::FccN2 | Coupling::Fcc2N2
                if config.subflows.fcc_count == FccCount::Configured =>
            {
                return None;
            }
            fcc @ (Coupling::FccN | Coupling::FccN2 | Coupling::Fcc2N2) => Rule::Counted(fcc),
            Coupling::Lia => Rule::Lia,
            Coupling::Olia => Rule::Olia(Vec::new()),
            Coupling::Adaptive => {
                // A model of the path has no window that a loss halves.
                let one = config.subflows.adaptive_cut == AdaptiveCut::Group && !controller.is_model();
                Rule::Adaptive(Box::new(Adaptive::new(one.then(|| controller.clone()))))
            }
        };
        let pmdcs = u64::from(pmdcs);
        Some(Box::new(Self {
            rule,
            count: config.subflows.fcc_count,
            cut: config.subflows.adaptive_cut,
            pmdcs,
            views: Vec::new(),
        }))
    }

    /// A lane begins anew.
    pub(crate) fn renew(&mut self, lane: LaneId) {
        let lane = lane.row();
        match &mut self.rule {
            Rule::Olia(losses) => {
                if let Some(slot) = losses.get_mut(lane) {
                    *slot = Losses::default();
                }
            }
            Rule::Adaptive(adaptive) => adaptive.renew(lane),
            Rule::Counted(_) | Rule::Lia => {}
        }
    }

    /// Size of a full packet's chunk, bytes.
    pub(crate) fn unit(&self) -> u64 {
        self.pmdcs
    }

    /// A SACK spoke of `lane`.
    pub(crate) fn on_ack(&mut self, now: Instant, lane: LaneId, heard: &LaneReport) {
        let lane = lane.row();
        match &mut self.rule {
            Rule::Olia(losses) => Losses::of(losses, lane).acked(heard.bytes),
            Rule::Adaptive(adaptive) => adaptive.on_ack(now, lane, heard, &self.views, self.pmdcs),
            Rule::Counted(_) | Rule::Lia => {}
        }
    }

    /// A lane has lost chunks. True when the lanes that share a full bottleneck with this one ([`Coupler::share`]) are to be cut with
    /// it.
    pub(crate) fn on_loss(&mut self, now: Instant, lane: LaneId, lost: &Lost) -> bool {
        let lane = lane.row();
        match &mut self.rule {
            Rule::Olia(losses) => {
                if lost.cut {
                    Losses::of(losses, lane).lost();
                }
                false
            }
            Rule::Adaptive(adaptive) => {
                let overflow = adaptive.on_loss(now, lane, lost, &self.views);
                overflow && self.cut == AdaptiveCut::Group
            }
            Rule::Counted(_) | Rule::Lia => false,
        }
    }

    /// True if two lanes share a bottleneck that is full.
    pub(crate) fn share(&self, lane: LaneId, other: LaneId) -> bool {
        matches!(&self.rule, Rule::Adaptive(adaptive) if adaptive.share(lane.row(), other.row()))
    }

    /// T3-rtx of `lane` expired; its earliest chunk in flight had left at `sent_at`.
    pub(crate) fn on_timeout(&mut self, now: Instant, lane: LaneId, sent_at: Instant) {
        let lane = lane.row();
        match &mut self.rule {
            Rule::Olia(losses) => Losses::of(losses, lane).lost(),
            Rule::Adaptive(adaptive) => adaptive.on_timeout(now, lane, sent_at, &self.views),
            Rule::Counted(_) | Rule::Lia => {}
        }
    }

    /// `lane` sends after a pause, in which nothing of it was in flight.
    pub(crate) fn on_pause(&mut self, now: Instant, lane: LaneId, rto: Duration) {
        if let Rule::Adaptive(adaptive) = &mut self.rule {
            adaptive.on_pause(now, lane.row(), rto, &self.views);
        }
    }

    /// Full packets of a path have another size, bytes.
    pub(crate) fn resize(&mut self, unit: u64) {
        if let Rule::Adaptive(adaptive) = &mut self.rule {
            adaptive.resize(unit);
        }
    }

    /// Bytes that all lanes together may have in flight that act as one flow with this one. O(lanes).
    pub(crate) fn window_of(&mut self, lane: LaneId) -> Option<u64> {
        match &mut self.rule {
            Rule::Adaptive(adaptive) => adaptive.window_of(lane.row(), &self.views),
            _ => None,
        }
    }

    /// True if lanes may act as one flow, so that the flights of all of them must be brought up to date before more
    /// leaves.
    pub(crate) fn may_be_one(&self) -> bool {
        matches!(&self.rule, Rule::Adaptive(adaptive) if adaptive.may_be_one())
    }

    /// The first of the open lanes that act as one flow with this one; itself where it is a flow of its own. O(lanes).
    pub(crate) fn first_of(&self, lane: LaneId) -> LaneId {
        match &self.rule {
            Rule::Adaptive(adaptive) if adaptive.may_be_one() => {
                LaneId::at(adaptive.first_of(lane.row(), &self.views))
            }
            _ => lane,
        }
    }

    /// True if no new data of `lane` may leave, as the lanes that act as one flow with it have their whole window in
    /// flight. O(lanes).
    pub(crate) fn is_out(&mut self, lane: LaneId) -> bool {
        match &mut self.rule {
            Rule::Adaptive(adaptive) => adaptive.is_out(lane.row(), &self.views),
            _ => false,
        }
    }

    /// Growth of `lane` now. O(lanes).
    pub(crate) fn growth(&self, lane: LaneId) -> Growth {
        let lane = lane.row();
        match &self.rule {
            Rule::Counted(fcc) => Growth::Phi(fcc.phi(self.counted(|_, _| true))),
            Rule::Lia => linked::lia(&self.views, lane),
            Rule::Olia(losses) => linked::olia(&self.views, losses, lane),
            Rule::Adaptive(adaptive) => {
                if adaptive.may_be_one() || !adaptive.is_saturated(lane) {
                    return Growth::Phi(1.0);
                }
                let n = f64::from(self.counted(|other, _| other == lane || adaptive.share(lane, other)));
                // Lanes that are all cut together grow by one packet a round trip together, like one flow.
                let together = self.cut == AdaptiveCut::Group && adaptive.overflows(lane);
                Growth::Phi(if together { n } else { n * n })
            }
        }
    }

    /// Open lanes that `which` selects, as the configuration counts them.
    fn counted(&self, which: impl Fn(usize, &LaneView) -> bool) -> u32 {
        let counts = |view: &LaneView| view.open && (self.count == FccCount::Configured || view.active);
        let lanes = self.views.iter().enumerate();
        lanes.filter(|&(lane, view)| counts(view) && which(lane, view)).count().max(1) as u32
    }

    /// Work done at intervals, as it takes longer than a SACK may.
    pub(crate) fn review(&mut self, now: Instant) {
        if let Rule::Adaptive(adaptive) = &mut self.rule {
            adaptive.review(now, &self.views, self.pmdcs);
        }
    }
}

#[cfg(test)]
mod tests;
