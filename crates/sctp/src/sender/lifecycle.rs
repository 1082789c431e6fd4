//! How the sender begins, what it does when the peer is known or has restarted, and how it ends.

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use super::Sender;
use super::ecn::EcnSender;
use super::flight::AckOutcome;
use super::format::Format;
use super::lane_coupling::LaneCoupling;
use super::peer_window::PeerWindow;
use super::scheduler::SubflowScheduler;
use super::send_buffer::SendBuffer;
use super::space::WindowProbe;
use super::special_messages::SpecialMessages;
use super::stream_map::StreamMap;
use super::tables::Tables;
use crate::context::Context;
use crate::stream::numbering::Numbering;

impl Sender {
    /// With the subflows that the configuration asks for, or the one of RFC 9260.
    pub(crate) fn new(cx: &mut Context, base: Tsn) -> Self {
        let mut new = Self {
            peer: PeerWindow::default(),
            format: Format::PLAIN,
            tables: Tables::new(base),
            numbering: Numbering::new(base),
            outcome: AckOutcome::default(),
            scheduler: SubflowScheduler::new(cx.config.subflows.scheduler),
            buffer: SendBuffer::new(&cx.config),
            stream_map: StreamMap::new(cx.config.streams.outbound),
            coupling: LaneCoupling::default(),
            shutdown_at: Instant::ZERO,
            resettable: false,
            ecn: EcnSender::default(),
            special: SpecialMessages::default(),
        };
        new.open_subflows(cx);
        new.buffer.follow_buffers(&mut new.tables, cx);
        new
    }

    /// What the peer's INIT or INIT ACK said of its window.
    pub(crate) fn learn_peer(&mut self, cx: &mut Context, a_rwnd: u32) {
        self.peer.learn(a_rwnd, self.buffer.retention_left(&self.tables, cx));
        for id in self.tables.lanes.ids() {
            // The first ssthresh may be the peer's window, which is known only now.
            if self.tables.lanes.get(id).is_some_and(|lane| lane.in_flight.unacked() == 0) {
                self.renew_lane(cx, id, a_rwnd);
            }
        }
    }

    /// The peer has restarted: everything begins anew. "All the congestion control parameters ... related to this peer MUST be
    /// reset to their initial values" (RFC 9260, 5.2.4.1).
    // rfc9260:5.2.4-5
    pub(crate) fn restart(&mut self, cx: &mut Context, base: Tsn, peer_rwnd: u32) {
        let before = std::mem::replace(&mut self.tables, Tables::new(base));
        cx.stats.chunks_lost_before = cx.stats.chunks_lost_before.saturating_add(before.chunks_lost());
        self.numbering.restart(base);
        self.forget_extensions(cx);
        self.special.forget_numbers();
        if let Some(table) = &mut cx.streams {
            table.forget_numbers();
        }
        self.open_subflows(cx);
        for id in self.tables.lanes.ids() {
            self.renew_lane(cx, id, peer_rwnd);
        }
        if let Some(first) = self.tables.subflows.first_mut() {
            first.writable_owed = self.buffer.owes_writable();
        }
    }

    /// The association has ended: what waits or is under way is dropped.
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

    /// The handshake is over: timers of what rode with it run from now on.
    pub(crate) fn established(&mut self, cx: &Context) {
        for lane in self.tables.lanes.rows_mut() {
            if lane.in_flight.unacked() > 0 {
                lane.arm_t3(cx);
            }
            lane.open_burst();
        }
        self.ecn.begin_ect(&self.tables);
    }

    /// The first windows, for traces.
    pub(crate) fn record_windows(&mut self, cx: &mut Context) {
        for id in self.tables.lanes.ids() {
            self.coupling.record_window(&mut self.tables, cx, id);
        }
    }
}
