//! Life of the sender: its beginning, the moment at which the peer is known or has restarted, and its end.

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::Sender;
use super::ecn::EcnSender;
use super::flight::AckOutcome;
use super::lane::counted_header;
use super::lane_coupling::LaneCoupling;
use super::peer_window::PeerWindow;
use super::scheduler::SubflowScheduler;
use super::send_buffer::SendBuffer;
use super::space::WindowProbe;
use super::special_messages::SpecialMessages;
use super::stream_map::StreamMap;
use super::subflow::Life;
use super::tables::Tables;
use crate::config::Config;
use crate::context::Context;
use crate::ids::SpaceId;
use crate::negotiation::offer::Extensions;
use crate::stream::numbering::Numbering;

impl Sender {
    /// A sender with the subflows that the configuration asks for, or one subflow as in RFC 9260.
    pub(crate) fn new(cx: &mut Context, base: Tsn) -> Self {
        let mut new = Self {
            peer: PeerWindow::default(),
            tables: Tables::new(base),
            numbering: Numbering::new(base),
            outcome: AckOutcome::default(),
            scheduler: SubflowScheduler::new(cx.env.config().subflows.scheduler),
            buffer: SendBuffer::new(cx.env.config()),
            stream_map: StreamMap::new(cx.env.config().streams.outbound),
            coupling: LaneCoupling::default(),
            shutdown_at: Instant::ZERO,
            ecn: EcnSender::default(),
            special: SpecialMessages::default(),
        };
        new.subflow_changes().open_subflows(cx);
        new.buffer.follow_buffers(&mut new.tables, cx);
        new
    }

    /// The peer's INIT or INIT ACK has announced its window.
    pub(crate) fn learn_peer(&mut self, cx: &mut Context, a_rwnd: u32) {
        self.peer.learn(a_rwnd, self.buffer.retention_left(&self.tables, cx));
        for id in self.tables.lanes.ids() {
            // The first ssthresh may be the peer's window, which is known only now.
            if self.tables.lanes.get(id).is_some_and(|lane| lane.in_flight.unacked() == 0) {
                self.subflow_changes().renew_lane(cx, id, a_rwnd);
            }
        }
    }

    /// The peer has restarted: everything begins anew. "All the congestion control parameters ... related to this peer MUST be
    /// reset to their initial values" (RFC 9260, 5.2.4.1).
    // rfc9260:5.2.4-5
    pub(crate) fn restart(&mut self, cx: &mut Context, base: Tsn, peer_rwnd: u32) {
        let before = std::mem::replace(&mut self.tables, Tables::new(base));
        cx.report.stats.chunks_lost_before =
            cx.report.stats.chunks_lost_before.saturating_add(before.chunks_lost());
        self.numbering.restart(base);
        self.forget_extensions(cx);
        self.special.forget_numbers();
        if let Some(table) = &mut cx.report.streams {
            table.forget_numbers();
        }
        let first = cx.paths.for_data();
        if let Some(path) = cx.paths.get_mut(first) {
            path.measure_anew(cx.env.config());
        }
        self.subflow_changes().open_subflows(cx);
        for id in self.tables.lanes.ids() {
            self.subflow_changes().renew_lane(cx, id, peer_rwnd);
        }
        if let Some(first) = self.tables.subflows.first_mut() {
            first.writable_owed = self.buffer.owes_writable();
        }
    }

    /// The association has ended: messages and chunks that wait or are in flight are dropped.
    pub(crate) fn close(&mut self) {
        for lane in self.tables.lanes.rows_mut() {
            lane.stop();
        }
        for subflow in self.tables.subflows.rows_mut() {
            subflow.out.clear();
        }
        self.stream_map.forget_moves();
        self.buffer.drop_deferred();
        self.special.forget_numbers();
        for space in self.tables.spaces.rows_mut() {
            space.flight.restart();
            space.probe = WindowProbe::default();
        }
    }

    /// The handshake is over: T3-rtx runs from now on for chunks sent with the COOKIE ECHO.
    pub(crate) fn established(&mut self, cx: &Context) {
        for lane in self.tables.lanes.rows_mut() {
            if lane.in_flight.unacked() > 0 {
                lane.arm_t3(cx);
            }
            lane.open_burst();
        }
        self.ecn.begin_ect(&self.tables);
    }

    /// The user has changed the configuration.
    pub(crate) fn follow(&mut self, cx: &Context, before: &Config) {
        self.subflow_changes().follow(cx, before);
        self.buffer.follow_buffers(&mut self.tables, cx);
    }

    /// Extensions and encoding were agreed on. Nothing was sent yet, or a peer that had to be asked again answers otherwise:
    /// then chunks sent so far leave again on subflow 0.
    pub(crate) fn adopt(&mut self, cx: &Context, agreed: &Extensions) {
        if self.numbering.identify(cx.env.agreed().encoding().identifies_messages()) {
            self.tables.number_unordered(&mut self.numbering);
        }
        self.special.adopt(agreed.partial_reliability);
        self.peer.adopt(agreed);
        self.ecn.adopt(agreed);
        self.numbering.begin_asn(self.tables.base());
        let header = counted_header(cx.env.config(), cx.env.agreed().encoding());
        self.tables.count_headers(header);
        self.tables.cut_rests_anew(cx);
    }

    /// An SSN/TSN reset was performed: "new data MUST be sent from the Receiver's Next TSN" (RFC 6525, 5.2.7, H5).
    pub(crate) fn reset_all(&mut self, cx: &mut Context, base: Tsn) {
        self.numbering.begin_anew(&[]);
        self.special.forget_numbers();
        if let Some(table) = &mut cx.report.streams {
            table.forget_numbers();
        }
        self.ecn.forget_numbers();
        if let Some(space) = self.tables.spaces.first_mut() {
            space.flight.restart();
            space.probe = WindowProbe::default();
            space.base = base;
        }
        for lane in self.tables.lanes.rows_mut() {
            // A lane that waits for a number would wait for an old one.
            lane.forget_numbers();
            lane.loss.restart();
        }
    }

    /// The extension SF ends: chunks under other FIDs are to leave again, and all go on under one numbering. Returns the tickets of chunks
    /// that gap blocks had acknowledged.
    pub(crate) fn leave_fids(&mut self, cx: &mut Context) -> Vec<u32> {
        self.mark_folded_lost(cx);
        self.messages().after_marking(cx);
        self.fold_spaces()
    }

    /// The extension SF has ended: subflows go on as at level 0.
    pub(crate) fn downgraded(&mut self, cx: &mut Context, acknowledged: Vec<u32>) {
        self.peer.forget_fids();
        for subflow in self.tables.subflows.rows_mut() {
            if subflow.life == Life::Deleting {
                subflow.life = Life::Free;
            }
        }
        for ticket in acknowledged {
            if let Some(special) = self.special.get_mut() {
                special.fates.chunk_acknowledged(cx, ticket);
            }
        }
        self.messages().advance_forwards(cx);
    }

    /// Chunks in flight under other FIDs are to leave again: they are marked before they get new numbers, so that one that must not
    /// leave again is given up under its old number.
    fn mark_folded_lost(&mut self, cx: &mut Context) {
        for id in self.tables.lanes.ids() {
            if self.tables.lanes.get(id).is_some_and(|lane| lane.space() != SpaceId::FIRST) {
                self.losses().mark_all_lost(cx, id);
            }
        }
    }

    /// Back to RFC 9260.
    pub(crate) fn forget_extensions(&mut self, cx: &mut Context) {
        if self.tables.spaces.len() > 1 {
            self.mark_folded_lost(cx);
            self.fold_spaces();
        }
        self.peer.forget_fids();
        self.buffer.drop_deferred();
        self.special.forget_partial_reliability();
        self.ecn.forget();
    }

    /// Subflows go on under one numbering, and state by number is forgotten. Returns the tickets of chunks acknowledged by gap blocks.
    fn fold_spaces(&mut self) -> Vec<u32> {
        self.ecn.forget_numbers();
        let acknowledged = self.tables.fold_spaces();
        if let (Some(special), Some(zero)) = (self.special.get_mut(), self.tables.spaces.first()) {
            special.fates.renumber(SpaceId::FIRST, &zero.flight);
            special.reliability.forget_forwards();
        }
        acknowledged
    }
}
