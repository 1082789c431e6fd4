//! Acknowledgements on their way out: any packet may carry those that are due, and those that fit beside its data.

use anabranch_base::{Ecn, cold_path};
use anabranch_wire::chunk::sack::GapBlock;
use anabranch_wire::chunk::{EcnCounters, Ecne, ReceiveTime, kind};
use anabranch_wire::{PacketBuilder, Tsn};

use super::Arrivals;
use super::space::ReceiveSpace;
use super::space::timing::AckPolicy;
use crate::context::Context;
use crate::encoding::{AckLayout, Acknowledgement, Encoding, micros};
use crate::ids::SpaceId;
use crate::receiver::window::packet_of_peer;

/// Gap blocks that are listed without allocating.
const FEW_BLOCKS: usize = 16;

/// The packet that acknowledgements are written into.
pub(in crate::receiver) struct Carrier<'a, 'b> {
    pub(in crate::receiver) packet: &'a mut PacketBuilder<'b>,
    /// Greatest length of the packet, bytes.
    pub(in crate::receiver) limit: usize,
    /// Length of the data chunk that is to follow.
    pub(in crate::receiver) data: Option<usize>,
}

impl Arrivals {
    /// Writes the acknowledgements of every space that owes one: "the sender SHOULD create a SACK chunk and bundle it with the outbound
    /// DATA chunk, as long as the size of the final SCTP packet does not exceed the current PMTU" (6.1). `windows` says how much the
    /// association and the space may still send, as the layout has it.
    // rfc9260:6.1-16 rfc9260:6.9-8
    #[inline]
    pub(in crate::receiver) fn write_acknowledgements(
        &mut self,
        cx: &mut Context,
        encoding: Encoding,
        carrier: &mut Carrier<'_, '_>,
        windows: impl Fn(&Self, &Context, AckLayout, SpaceId) -> (u32, u32),
    ) {
        for at in self.spaces.ids() {
            let Some(space) = self.spaces.get(at).filter(|space| space.timing.is_pending()) else { continue };
            let lists = space.received.has_holes() || !space.timing.duplicates.is_empty();
            let echoes = space.marks.as_ref().is_some_and(|marks| marks.echo.is_some());
            let layout = encoding.acknowledgement(space.fid);
            if lists || echoes || layout != AckLayout::Sack {
                cold_path();
                self.write_acknowledgement::<false>(cx, layout, carrier, at, &windows);
            } else {
                self.write_acknowledgement::<true>(cx, AckLayout::Sack, carrier, at, &windows);
            }
        }
    }

    /// Writes the acknowledgement that a space owes; `BARE`: a SACK without lists, which most are, and of a packet
    /// without marks.
    // rfc9260:6.2-17 rfc9260:6.2-25 rfc9260:6.7-6 rfc9260:6.7-7
    fn write_acknowledgement<const BARE: bool>(
        &mut self,
        cx: &mut Context,
        layout: AckLayout,
        carrier: &mut Carrier<'_, '_>,
        at: SpaceId,
        windows: &impl Fn(&Self, &Context, AckLayout, SpaceId) -> (u32, u32),
    ) {
        let Some(space) = self.spaces.get(at) else { return };
        let Carrier { packet, limit, data } = carrier;
        let limit = *limit;
        // ECNE stands before the SACK: the peer still knows then which of its lanes the chunk is of.
        let marks = space.marks.as_ref().filter(|_| !BARE);
        let echo = marks.filter(|_| layout == AckLayout::Sack).and_then(|marks| marks.echo);
        let counts = layout == AckLayout::Sf && cx.env.ect() != Ecn::NotEct;
        let own = if echo.is_some() {
            Ecne::COUNTED_LEN
        } else if counts {
            EcnCounters::LEN
        } else {
            0
        };
        let all = if BARE { 0 } else { space.received.gaps() };
        let (keeps, most) =
            if cx.env.agreed().selects_gaps() { selection(cx, space) } else { (false, usize::MAX) };
        let gaps = all.min(most);
        let duplicates = if BARE { 0 } else { space.timing.duplicates.len() };
        let lists = gaps + duplicates;
        let rides = data.is_some_and(|len| packet.len() + own + layout.len(lists) + len <= limit);
        if !space.timing.is_due_now() && !rides {
            return;
        }
        if packet.len() + own + layout.len(gaps) > limit && !packet.has_no_chunks() {
            // It leaves with the next packet: one without its gap blocks would take back earlier acknowledgements.
            return;
        }
        let room = limit.saturating_sub(packet.len() + own + layout.len(0)) / 4;
        let (a_rwnd, a_fwnd) = windows(self, cx, layout, at);
        let asn = self.asn.as_ref().filter(|_| !BARE).map_or(Tsn::new(0), |asn| asn.cumulative());
        let Some(space) = self.spaces.get_mut(at) else { return };
        let count = gaps.min(room);
        let mut few = [GapBlock { start: 0, end: 0 }; FEW_BLOCKS];
        let many: Vec<GapBlock>;
        let gaps = if BARE {
            &[]
        } else if all > most {
            many = selected_blocks(space, count);
            &many
        } else if count <= few.len() {
            let mut n = 0;
            for (slot, block) in few.iter_mut().zip(blocks(space).take(count)) {
                *slot = block;
                n += 1;
            }
            few.get(..n).unwrap_or_default()
        } else {
            many = blocks(space).take(count).collect();
            &many
        };
        let duplicates = duplicates.min(room - count);
        if let Some((tsn, marked)) = echo {
            Ecne::emit_counted(packet.buffer(), tsn, marked);
            cx.report.stats.control.count_sent(kind::ECNE);
        }
        if layout == AckLayout::Sf {
            cx.report.stats.control.count_sent(kind::SF_SACK);
        }
        layout.emit(
            &Acknowledgement {
                cumulative: space.cumulative(),
                asn,
                fid: space.fid,
                epoch: space.epoch,
                a_rwnd,
                a_fwnd,
                gaps,
                selected: keeps,
                duplicates: space.timing.duplicates.get(..duplicates).unwrap_or_default(),
                counters: counts
                    .then(|| space.marks.as_ref().map(|marks| marks.counters).unwrap_or_default()),
                times: space.newest.map(|at| ReceiveTime {
                    received_us: micros(at),
                    ack_delay_us: micros(cx.env.now()).wrapping_sub(micros(at)),
                }),
            },
            &cx.env.config().subflows.codes,
            packet.buffer(),
        );
        space.timing.sent(if layout == AckLayout::Sack { a_rwnd } else { a_fwnd });
        cx.report.stats.sacks_sent += 1;
    }

    /// A packet with data came in SHUTDOWN-SENT: "MUST immediately respond ... with a SHUTDOWN chunk", and a SACK where gaps
    /// or duplicates exist (9.2). The SHUTDOWN chunk speaks of subflow 0 only.
    /// Without such the SHUTDOWN chunk has acknowledged everything, and a SACK would only repeat it: it may wait, as long as the
    /// window that the peer knows of is far from used up.
    ///
    /// The receive window has `size` bytes, of which `free` are free.
    // rfc9260:6.2-18 rfc9260:9.2-10
    pub(in crate::receiver) fn demand_unsaid(&mut self, cx: &Context, size: u32, free: u32) {
        let said = self.asn.is_none().then_some(free);
        let update = size / 4;
        let is_known = |told: u32, window: u32| window >= told / 2 && window < told.saturating_add(update);
        for (at, space) in self.spaces.iter_mut() {
            let unsaid = at != SpaceId::FIRST && space.timing.is_pending();
            if unsaid || space.received.has_holes() || !space.timing.duplicates.is_empty() {
                space.timing.demand();
            } else if said.is_some_and(|window| is_known(space.timing.last_advertised, window)) {
                let packet = packet_of_peer(cx.env.config()).into();
                space.timing.leave_to_shutdown(cx.env.now(), packet, AckPolicy::of(cx.env.config()));
            }
        }
    }
}

/// True if chunks that an acknowledgement does not list keep their state; and the number of gap blocks it lists.
#[inline(never)]
fn selection(cx: &Context, space: &ReceiveSpace) -> (bool, usize) {
    match cx.env.config().extensions.selected_gap_blocks {
        _ if !space.has_dropped_nothing() => (false, usize::MAX),
        // The endpoint has got another configuration since its INIT ACK left.
        0 => (true, usize::MAX),
        most => (true, most.into()),
    }
}

fn selected_blocks(space: &mut ReceiveSpace, most: usize) -> Vec<GapBlock> {
    let Some(selection) = &mut space.selection else { return Vec::new() };
    let chosen = selection.choose(&space.received, most).iter();
    let blocks = chosen.filter_map(|island| space.received.gap_block(*island));
    blocks.map(|(start, end)| GapBlock { start, end }).collect()
}

fn blocks(space: &ReceiveSpace) -> impl Iterator<Item = GapBlock> + '_ {
    space.received.gap_blocks().map(|(start, end)| GapBlock { start, end })
}
