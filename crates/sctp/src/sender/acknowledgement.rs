//! SACKs that arrive: flight, round trips, windows, losses (RFC 9260, 6.2.1, 6.3, 7.2).

use anabranch_base::{TraceEvent, TraceRecord, cold_path};
use anabranch_wire::Tsn;
use anabranch_wire::chunk::ReceiveTime;
use anabranch_wire::chunk::sack::GapBlock;

use super::Sender;
use super::flight::{AckOutcome, GapList, NotThere};
use super::lane::Lane;
use super::next::Next;
use super::path_mtu::note_sizes_that_arrived;
use super::space::SendSpace;
use super::windows::Windows;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::ids::{Id, LaneId, PathId, SpaceId, Table};
use crate::path::Path;
use crate::violation::Violation;

/// The result of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckProgress {
    /// The acknowledgement is old, or acknowledges nothing new.
    Nothing,
    /// Chunks were acknowledged for the first time: proof that their paths work ([`Sender::acknowledged_paths`]).
    Acknowledged,
}

impl Sender {
    /// An acknowledgement for a sequence space.
    ///
    /// # Errors
    /// When it cannot be true.
    // rfc9260:8.1-5 rfc3758:3.5-19
    pub(crate) fn on_acknowledgement(
        &mut self,
        cx: &mut Context,
        at: SpaceId,
        cumulative: Tsn,
        windows: Windows,
        gaps: GapList<impl ExactSizeIterator<Item = GapBlock>>,
        times: Option<ReceiveTime>,
    ) -> Result<AckProgress, Violation> {
        let Some(space) = self.tables.spaces.get_mut(at) else { return Ok(AckProgress::Nothing) };
        let Some(next_expected) = space.unwrap_ack(cumulative) else { return Ok(AckProgress::Nothing) };
        // 6.2.1 D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK chunk."
        if next_expected < space.flight.first() {
            return Ok(AckProgress::Nothing);
        }
        // Half of the numbers ahead: a late acknowledgement from before an SSN/TSN reset.
        if next_expected - space.flight.first() > 1 << 30 && cx.env.agreed().is_resettable() {
            return Ok(AckProgress::Nothing);
        }
        if let Some(special) = self.special.get_mut() {
            cold_path();
            if !special.collect(at, &space.flight, next_expected) {
                return Err(Violation::Protocol("a SACK acknowledges a TSN that was never sent"));
            }
        }
        let gap_count = gaps.blocks.len();
        let mut outcome = std::mem::take(&mut self.outcome);
        for lane in self.tables.lanes.rows_mut() {
            lane.round_trip.before_sack(&space.flight);
        }
        let lanes = self.tables.lanes.len();
        let applied = if windows.is_any() {
            space.flight.acknowledge_listed(next_expected, gaps, lanes, &mut outcome)
        } else {
            space.flight.acknowledge_up_to(next_expected, lanes, &mut outcome)
        };
        if let Err(bogus) = applied {
            cold_path();
            self.outcome = outcome;
            return Err(Violation::Protocol(bogus.0));
        }
        // The windows of an overtaken selection are older than the newest acknowledgement: its chunks would count as free space.
        let windows = if outcome.overtaken { Windows::default() } else { windows };
        space.probe.answered = true;
        let at_time = (cx.env.now(), cx.report.association());
        cx.report.trace.record(|| TraceRecord {
            at: at_time.0,
            association: at_time.1,
            // A subflow with a space of its own is named by its FID, whatever the row of the space.
            subflow: space.fid,
            path: acknowledged_paths(&self.tables.lanes, &outcome)
                .next()
                .unwrap_or(cx.paths.for_control())
                .get(),
            event: TraceEvent::AckReceived {
                cumulative: next_expected,
                newly_acked: outcome.payload as u32,
                gaps: gap_count as u16,
            },
        });
        self.coupling.couple(&mut self.tables, cx, at, &outcome, times);
        for id in self.tables.lanes.ids() {
            if self.tables.lanes.get(id).is_some_and(|lane| lane.space() == at) {
                self.acknowledge_lane(cx, id, &outcome);
            }
        }
        self.coupling.share_window(&mut self.tables);
        if let Some(times) = times {
            cold_path();
            self.tables.note_one_way_delay(&outcome, times);
        }
        if let Some(a_fwnd) = windows.a_fwnd {
            cold_path();
            // The peer's window for one subflow is a_fwnd less the bytes outstanding there.
            let outstanding = self.tables.outstanding(cx, Some(at));
            if let Some(space) = self.tables.spaces.get_mut(at) {
                space.allowance.set(a_fwnd, outstanding);
            }
            if cx.env.agreed().encoding() == Encoding::Sf2007 {
                self.forget_peer_window(cx);
            }
        }
        if let Some(a_rwnd) = windows.a_rwnd {
            let outstanding = self.tables.outstanding(cx, None);
            let left = self.buffer.retention_left(&self.tables, cx);
            self.peer.update(a_rwnd, outstanding, left);
            self.buffer.note_retention_left(&self.tables, cx, left);
        }
        self.look_at_windows(cx, at, windows, outcome.advanced);
        let news = outcome.payload > 0;
        self.outcome = outcome;
        if self.special.is_any() {
            cold_path();
            self.settle_special(cx, at);
        }
        // "The counter used for endpoint failure detection MUST be reset each time a DATA chunk sent to that peer endpoint is
        // acknowledged" (RFC 9260, 8.1).
        Ok(if news { AckProgress::Acknowledged } else { AckProgress::Nothing })
    }

    /// A SACK for a space was read, and there are messages with options.
    #[cold]
    #[inline(never)]
    fn settle_special(&mut self, cx: &mut Context, at: SpaceId) {
        if let Some(special) = self.special.get_mut() {
            special.fates.tell_delivered(cx);
        }
        self.losses().review_watched(cx, at);
        self.messages().review_after_sack(cx, at);
    }

    /// A SACK has come for a space: finds the windows that it has closed or opened.
    #[inline]
    fn look_at_windows(&mut self, cx: &mut Context, at: SpaceId, windows: Windows, advanced: bool) {
        // A window that is wide for the longest chunk of any path is wide for all.
        let full = match cx.paths.rows() {
            [one] => one.pmdcs(),
            all => {
                cold_path();
                all.iter().map(Path::pmdcs).max().unwrap_or_default()
            }
        };
        let wide = |window: Option<u32>| window.is_none_or(|window| window >= full);
        let open = wide(windows.a_rwnd) && wide(windows.a_fwnd);
        let calm = |space: &SendSpace| !(space.probe.waits() || space.probe.in_flight || space.probe.closed);
        if !open || !self.tables.spaces.rows().iter().all(calm) {
            self.losses().look_at_probes(cx, at, windows, advanced);
        }
    }

    /// The paths of the chunks newly acknowledged by the last acknowledgement: "the endpoint SHOULD clear the error counter of
    /// the destination transport address to which the DATA chunk was last sent" (8.2). A chunk names the lane that carried it last.
    /// A path is named once for each of its lanes.
    // rfc9260:8.2-3
    #[inline]
    pub(crate) fn acknowledged_paths(&self) -> impl Iterator<Item = PathId> + '_ {
        acknowledged_paths(&self.tables.lanes, &self.outcome)
    }

    /// The window of the association is not used (encoding of 2007).
    pub(crate) fn forget_peer_window(&mut self, cx: &Context) {
        let left = self.buffer.retention_left(&self.tables, cx);
        self.peer.forget(&self.tables, left);
    }

    /// True if a packet that was just written, and that begins with `next`, may be marked.
    pub(crate) fn is_ecn_capable(&self, next: &Next) -> bool {
        self.ecn.is_ecn_capable(&self.tables, next)
    }

    fn acknowledge_lane(&mut self, cx: &mut Context, id: LaneId, outcome: &AckOutcome) {
        let several = self.tables.lanes.len() > 1;
        // The scope is taken again only after code that needs the tables as a whole.
        let Some(mut scope) = self.tables.scope(id) else { return };
        scope.sample_round_trip(cx, outcome);
        let path = scope.lane.path();
        if cx.paths.get(path).is_some_and(Path::waits_for_packets) {
            cold_path();
            note_sizes_that_arrived(cx, path, outcome.lanes.get(id.row()));
        }
        let mut waiting = 0;
        if scope.lane.is_paced() || scope.lane.window.is_model() {
            cold_path();
            waiting = self.tables.queued_on(id);
            let Some(again) = self.tables.scope(id) else { return };
            scope = again;
        }
        // With one lane, the window is recorded only for a trace.
        let changed = scope.acknowledge(cx, &self.ecn, outcome, waiting);
        if changed.is_some_and(|changed| cx.report.trace.is_on() || changed && several) {
            cold_path();
            self.coupling.record_window(&mut self.tables, cx, id);
            let Some(again) = self.tables.scope(id) else { return };
            scope = again;
        }
        if outcome.not_there != NotThere::Nothing {
            cold_path();
            let effect = scope.send_what_is_not_there(cx, outcome.not_there);
            self.losses().settle(cx, id, &effect);
            let Some(again) = self.tables.scope(id) else { return };
            scope = again;
        }
        let lost_before = scope.lane.loss.count();
        let effect = if scope.lane.rack_tlp.finds_losses() {
            scope.detect_by_time(cx, &self.ecn, outcome.lanes.get(id.row()))
        } else {
            let effect = scope.detect_losses(cx, &self.ecn, outcome);
            if cx.env.config().emulation.early_fast_retransmit.is_some() {
                cold_path();
                scope.arm_loss_timer(cx);
            }
            effect
        };
        if let Some(effect) = effect {
            cold_path();
            self.losses().settle(cx, id, &effect);
            let Some(again) = self.tables.scope(id) else { return };
            scope = again;
        }
        if scope.lane.recovery.has_more() {
            cold_path();
            scope.step_recovery(outcome, lost_before);
        }
    }
}

/// The paths of the lanes of which something was acknowledged for the first time.
#[inline]
fn acknowledged_paths<'a>(
    lanes: &'a Table<LaneId, Lane>,
    outcome: &'a AckOutcome,
) -> impl Iterator<Item = PathId> + 'a {
    let each = lanes.rows().iter().zip(&outcome.lanes);
    each.filter(|(_, ack)| ack.acked_chunks > 0).map(|(lane, _)| lane.path())
}

#[cfg(test)]
mod tests {
    use anabranch_base::{Rng, Trace};

    use super::*;
    use crate::config::Config;
    use crate::path::Path;

    /// FIDs may be opened in any order: spaces are stored in that order, and subflows have the numbers of their FIDs.
    #[test]
    fn the_trace_names_the_subflow_that_is_acknowledged() {
        let config = Config::rfc9260();
        let path = Path::new(&config, ([10, 0, 0, 1], 0).into());
        let rng = Rng::stream(1, "test", "acknowledgement").secret();
        let mut cx = Context::new(0, std::sync::Arc::new(config), path, rng);
        cx.report.trace = Trace::on();
        let mut sender = Sender::new(&mut cx, Tsn::new(1));
        for (fid, row) in [(3, 1), (1, 2)] {
            let at = sender.tables.add_space(fid);
            assert_eq!(at.get(), row);
            let (nothing, windows) = (Tsn::new(0).sub(1), Windows::default());
            sender
                .on_acknowledgement(&mut cx, at, nothing, windows, GapList::all([].into_iter()), None)
                .unwrap();
            let heard = cx
                .report
                .trace
                .drain()
                .filter(|record| matches!(record.event, TraceEvent::AckReceived { .. }));
            assert_eq!(heard.map(|record| record.subflow).collect::<Vec<_>>(), [fid]);
        }
    }
}
