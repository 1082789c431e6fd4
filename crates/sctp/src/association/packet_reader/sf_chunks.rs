//! The chunks of subflows with spaces of their own that arrive (docs/explanation/subflows.md): those of level 1, and those of the encoding of 2007.

use anabranch_base::Ecn;
use anabranch_wire::cause::{SfReason, SfViolation};
use anabranch_wire::chunk::{SfData, SfForward, SfSack};
use anabranch_wire::sf2007::Sack;

use super::{Interrupt, PacketReader, Reading};
use crate::config::LossDetection;
use crate::context::Context;
use crate::encoding::{DataChunk, sf2007};
use crate::ids::{PathId, SpaceId};
use crate::negotiation::fids::Judged;
use crate::scope::Scope;
use crate::sender::{GapList, Windows};
use crate::violation::{SPLIT_MESSAGE, Violation};

impl PacketReader<'_> {
    /// A chunk that the encoding of 2007 gives a layout of its own.
    pub(super) fn on_sf2007_chunk<'p>(
        &mut self,
        reading: &mut Reading,
        incoming: &sf2007::Incoming<'p>,
    ) -> Result<(), Interrupt<'p>> {
        match incoming {
            sf2007::Incoming::Data(data) => {
                let Some(at) = self.scope.receiver.arrivals().open_space_of(data.fid) else {
                    self.scope.cx.report.stats.sf_unknown += 1;
                    return Ok(());
                };
                if self.scope.cx.env.state().receives_data() {
                    self.scope.receiver.arrivals_mut().record_asn(data.asn);
                }
                let chunk = sf2007::data_chunk(data, self.scope.receiver.arrivals().next_tsn(at));
                self.on_data_chunk(reading, at, &chunk)
            }
            sf2007::Incoming::Sack(sack) => {
                if self.reads_acknowledgements() {
                    self.on_sf2007_sack(sack)?;
                    self.after_acknowledgement()?;
                }
                Ok(())
            }
            sf2007::Incoming::CookieAck(setup) => Err(Interrupt::CookieAckWithSetup(*setup)),
        }
    }

    /// The acknowledgement of one subflow in the encoding of 2007.
    fn on_sf2007_sack(&mut self, sack: &Sack<'_>) -> Result<(), Violation> {
        let Scope { cx, sender, .. } = &mut self.scope;
        let Some(at) = sender.open_space_of(sack.head.fid) else {
            cx.report.stats.sf_unknown += 1;
            return Ok(());
        };
        let cumulative = sack.head.cumulative_fsn.widen(sender.tables().acknowledged_tsn(at));
        cx.report.stats.sacks_received += 1;
        let windows = Windows { a_rwnd: None, a_fwnd: Some(sack.head.a_fwnd) };
        self.on_acknowledgement(at, cumulative, windows, GapList::all(sack.gaps()), None)
    }

    /// SF-DATA.
    pub(super) fn on_sf_data<'p>(
        &mut self,
        reading: &mut Reading,
        data: &SfData<'_>,
    ) -> Result<(), Interrupt<'p>> {
        if !self.scope.cx.env.state().receives_data() {
            return Ok(());
        }
        let judged = self.scope.receiver.arrivals().judge(data.fid, data.epoch);
        let Some(at) = space_of_judged(&mut self.scope, reading.path, judged, data.fid, data.epoch) else {
            return Ok(());
        };
        self.on_data_chunk(reading, at, &DataChunk::from(data)).map_err(|interrupt| match interrupt {
            Interrupt::Violation(Violation::Protocol(what)) if what == SPLIT_MESSAGE => {
                Violation::Subflow { fid: data.fid, epoch: data.epoch, reason: SfReason::MessageSplit, what }
                    .into()
            }
            other => other,
        })
    }

    /// SF-SACK.
    pub(super) fn on_sf_sack(&mut self, from: PathId, sack: &SfSack<'_>) -> Result<(), Violation> {
        let head = &sack.head;
        let judged = self.scope.sender.judge(head.fid, head.epoch);
        let Some(at) = space_of_judged(&mut self.scope, from, judged, head.fid, head.epoch) else {
            return Ok(());
        };
        self.scope.cx.report.stats.sacks_received += 1;
        self.count_duplicates(at, sack.duplicates().count(), || sack.duplicates());
        if self.scope.cx.env.config().congestion.loss_detection == LossDetection::Rack {
            self.scope.sender.all_lanes().note_duplicates(self.scope.cx, at, sack.duplicates());
        }
        let windows = Windows { a_rwnd: Some(head.a_rwnd), a_fwnd: Some(head.a_fwnd) };
        // A chunk that is acknowledged for good is not taken back by a SACK that leaves it out.
        let gaps = GapList { blocks: sack.gaps(), selected: head.non_renegable };
        let done = self.on_acknowledgement(at, head.cumulative, windows, gaps, sack.times());
        if let (true, Some(counters)) = (self.scope.cx.env.ect() != Ecn::NotEct, sack.counters()) {
            self.scope.sender.all_lanes().on_ecn_counters(self.scope.cx, at, counters);
        }
        done.map_err(|violation| match violation {
            Violation::Protocol(what) => {
                Violation::Subflow { fid: head.fid, epoch: head.epoch, reason: SfReason::NeverSent, what }
            }
            other => other,
        })
    }
}

/// SF-FORWARD. It is listed wherever level 1 is offered; "PR only if Forward-TSN is negotiated": without that no
/// endpoint may give up a message.
pub(super) fn on_sf_forward(scope: &mut Scope<'_>, reading: &mut Reading, forward: &SfForward<'_>) {
    if !scope.cx.env.state().receives_data() || !scope.sender.special().is_partially_reliable() {
        return;
    }
    let judged = scope.receiver.arrivals().judge(forward.fid, forward.epoch);
    let Some(at) = space_of_judged(scope, reading.path, judged, forward.fid, forward.epoch) else { return };
    let (cx, read) = (&mut *scope.cx, &mut reading.data);
    scope.receiver.on_skipped_messages(cx, read, at, forward.cumulative, forward.skipped());
}

/// The space of a chunk whose FID and epoch are good. Others are dropped: those of another incarnation are counted, of
/// a FID that was never open the peer is told.
fn space_of_judged(
    scope: &mut Scope<'_>,
    from: PathId,
    judged: Option<(Judged, Option<SpaceId>)>,
    fid: u8,
    epoch: u8,
) -> Option<SpaceId> {
    match judged? {
        (Judged::Open, at) => at,
        (Judged::Stale, _) => {
            scope.cx.report.stats.sf_stale += 1;
            None
        }
        (Judged::Unknown, _) => {
            scope.cx.report.stats.sf_unknown += 1;
            let reason = SfReason::UnknownSubflow;
            let cause = sf_violation(scope.cx, fid, epoch, reason, b"");
            scope.control.report(from, cause);
            None
        }
    }
}

/// An SF-Violation cause, encoded.
pub(in crate::association) fn sf_violation(
    cx: &Context,
    fid: u8,
    epoch: u8,
    reason: SfReason,
    information: &[u8],
) -> Vec<u8> {
    let mut out = Vec::new();
    let cause = SfViolation { fid, epoch, reason, information };
    cause.emit_as(cx.env.config().subflows.codes.violation, &mut out);
    out
}
