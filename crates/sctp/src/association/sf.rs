//! Subflows with sequence spaces of their own: the extension SF, level 1 (docs/subflows.md).
//!
//! A subflow's FID is its place in the table. Its space serves both directions: what we send under the FID, and what the
//! peer sends under the same number. Subflow 0 is the association of RFC 9260, and no SF chunk speaks of it.

use anabranch_base::Instant;
use anabranch_wire::cause::{SfReason, SfViolation};
use anabranch_wire::chunk::sack::GapBlock;
use anabranch_wire::chunk::{ReceiveTime, SfData, SfSack, SfSackHead, sf_sack};
use anabranch_wire::{PacketBuilder, Tsn};

use super::acknowledgement::Windows;
use super::data::DataChunk;
use super::input::{Context, Violation};
use super::{Association, GAP_OVERHEAD};
use crate::config::{Coupling, LossDetection, SubflowLevel};
use crate::sf::credit::{Allowance, Buffer, Use};
use crate::sf::fids::{Fids, Judged};
use crate::sf::negotiation::Agreed;
use crate::stream::inbound::Excess;
use crate::subflow::Life;
use crate::subflow::flight::ChunkState;
use crate::subflow::receive::ReceiveMap;
use crate::subflow::sack::SackScheduler;
use crate::subflow::space::Space;

/// The extension while it is in use.
#[derive(Debug)]
pub(crate) struct Sf {
    /// FIDs under which we send.
    pub(super) ours: Fids,
    /// FIDs under which the peer sends.
    pub(super) theirs: Fids,
    /// Bytes that we may have outstanding on a new subflow.
    peer_credit: u32,
    /// Bytes that the peer keeps free for each of our subflows.
    peer_floor: u32,
}

impl Sf {
    pub(super) fn new(agreed: &Agreed) -> Self {
        Self {
            ours: Fids::new(agreed.outbound, &agreed.our_opens),
            theirs: Fids::new(agreed.inbound, &agreed.peer_opens),
            peer_credit: agreed.peer_credit,
            peer_floor: agreed.peer_floor,
        }
    }

    /// All FIDs from 0 on are open; nothing changes later.
    pub(super) fn of_thesis(ours: u8, theirs: u8) -> Self {
        let fids = |count: u8| Fids::new(count, &(1..count).collect::<Vec<u8>>());
        Self { ours: fids(ours), theirs: fids(theirs), peer_credit: 0, peer_floor: 0 }
    }
}

impl Association {
    /// How the two ends know of subflows: what the handshake came to.
    #[must_use]
    pub fn subflow_level(&self) -> SubflowLevel {
        if self.extensions.thesis.is_some() {
            SubflowLevel::Sf2007
        } else if self.sf.is_some() {
            SubflowLevel::One
        } else {
            SubflowLevel::Zero
        }
    }

    /// The sequence space of a FID.
    pub(super) fn space_of(&self, fid: u8) -> Option<usize> {
        self.spaces.iter().position(|space| space.fid == fid)
    }

    /// Makes the spaces of the FIDs that are open from the start, and moves the subflows into theirs.
    pub(super) fn open_spaces(&mut self, send_base: Tsn, receive_base: Tsn) {
        let Some(sf) = &self.sf else { return };
        let (ours, theirs): (Vec<u8>, Vec<u8>) = (sf.ours.each().collect(), sf.theirs.each().collect());
        for fid in &ours {
            self.open_sending(*fid, 0, send_base);
        }
        for fid in theirs {
            self.open_receiving(fid, 0, receive_base);
        }
        for fid in ours {
            self.settle_subflow(fid);
        }
    }

    /// The space of a FID, made if there is none.
    fn make_space(&mut self, fid: u8) -> usize {
        if let Some(index) = self.space_of(fid) {
            return index;
        }
        let mut space = Space::new(Tsn::new(0), Tsn::new(0));
        space.fid = fid;
        self.spaces.push(space);
        self.spaces.len() - 1
    }

    pub(super) fn open_sending(&mut self, fid: u8, epoch: u8, initial: Tsn) {
        let credit = self.sf.as_ref().map_or(0, |sf| sf.peer_credit);
        let index = self.make_space(fid);
        let Some(space) = self.spaces.get_mut(index) else { return };
        space.flight.restart();
        space.send_base = initial;
        space.send_epoch = epoch;
        space.allowance = Allowance { window: u64::from(credit) };
        if self.extensions.thesis.is_some() {
            space.allowance = Allowance::UNLIMITED;
        }
    }

    pub(super) fn open_receiving(&mut self, fid: u8, epoch: u8, initial: Tsn) {
        let index = self.make_space(fid);
        let Some(space) = self.spaces.get_mut(index) else { return };
        space.received = ReceiveMap::default();
        space.sack = SackScheduler::default();
        space.receive_base = initial;
        space.receive_epoch = epoch;
        space.newest = None;
        let credit = self.credit_of(index);
        if let Some(space) = self.spaces.get_mut(index) {
            space.sack.last_advertised = credit;
        }
    }

    /// Moves a subflow into the space of its FID, if it has one, and nothing of it is under way elsewhere.
    pub(super) fn settle_subflow(&mut self, index: u8) {
        if self.config.coupling == Coupling::Shared {
            return;
        }
        let Some(space) = self.space_of(index) else { return };
        let Some(subflow) = self.subflows.get_mut(usize::from(index)) else { return };
        let Some(lane) = self.lanes.get_mut(usize::from(subflow.lane)) else { return };
        subflow.waits = false;
        if subflow.life != Life::Open || lane.unacked > 0 {
            return;
        }
        subflow.space = space as u8;
        lane.space = space as u8;
        lane.timed = None;
        lane.recovery_exit = None;
        lane.loss.restart();
        self.share_spaces();
    }

    /// Ends the extension: subflows go on as at level 0, and what was sent under other FIDs and not acknowledged leaves
    /// again under subflow 0, with new TSNs. A peer that has it already knows an ordered message by its identifier; an
    /// unordered one may then be delivered twice.
    pub(super) fn fold_spaces(&mut self) {
        let mut others = self.spaces.split_off(1);
        for space in &mut others {
            for mut chunk in space.flight.take_all() {
                if chunk.state == ChunkState::GapAcked {
                    continue; // it is there
                }
                let Some(lane) = self.lanes.get_mut(usize::from(chunk.lane)) else { continue };
                if chunk.state == ChunkState::InFlight {
                    lane.on_lost(chunk.size(), 1);
                }
                chunk.state = ChunkState::Lost;
                chunk.lost_by_timeout = true;
                chunk.missing = 0;
                if let Some(zero) = self.spaces.first_mut() {
                    zero.flight.push(chunk);
                }
            }
        }
        for subflow in &mut self.subflows {
            subflow.space = 0;
            subflow.waits = false;
        }
        for lane in &mut self.lanes {
            if lane.space != 0 {
                lane.space = 0;
                // What it was allowed, or waited for, was in numbers that are gone: it begins as after a merger.
                lane.forget_recovery();
                lane.round_end = 0;
                lane.loss.restart();
            }
        }
        self.share_spaces();
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(zero) = self.spaces.first() {
                lane.loss.took_over(&zero.flight, number as u8);
                lane.earliest = lane.loss.earliest(&zero.flight);
            }
        }
    }

    /// The peer, or somebody before it, does not know SF-DATA although the extension was agreed: it is off from now on.
    pub(super) fn downgrade(&mut self) {
        if self.sf.is_none() || self.extensions.thesis.is_some() {
            return;
        }
        self.fold_spaces();
        self.sf = None;
        self.extensions.sf = None;
        self.stats.sf_downgrades += 1;
        if let Some(reconfig) = &mut self.reconfig {
            reconfig.forget_subflows();
        }
        for subflow in &mut self.subflows {
            if subflow.life == Life::Deleting {
                subflow.life = Life::Free;
            }
        }
        self.close_drained_subflows();
    }

    /// Bytes of the peer's buffer that the floors of our other subflows need: they are left to them. What one has of its own was
    /// acknowledged, perhaps, and is still there: then its credit says so.
    pub(super) fn floors_of_others(&self, space: usize) -> u64 {
        let Some(sf) = &self.sf else { return 0 };
        let floor = u64::from(sf.peer_floor);
        let mut kept = 0;
        for (index, other) in self.spaces.iter().enumerate() {
            if index != space && sf.ours.epoch(other.fid).is_some() {
                kept += floor.saturating_sub(other.flight.bytes()).min(other.allowance.window);
            }
        }
        kept
    }

    /// What the floors of our subflows may need together.
    pub(super) fn floors_at_most(&self) -> u64 {
        self.sf.as_ref().map_or(0, |sf| u64::from(sf.peer_floor) * self.spaces.len() as u64)
    }

    /// Whether so many bytes more of a space, which its credit allows, stay within the floor of its own. What the others hold
    /// does not matter then, and they may hold more than we know: of subflow 0 there is no credit that says what it has left.
    pub(super) fn within_own_floor(&self, space: usize, bytes: u64) -> bool {
        let (Some(sf), Some(space)) = (&self.sf, self.spaces.get(space)) else { return false };
        space.allowance.is_limited() && space.flight.bytes() + bytes <= u64::from(sf.peer_floor)
    }

    /// How the receive buffer is divided: as our SF-CAP has told the peer.
    fn buffer(&self) -> Buffer {
        let config = &self.config;
        Buffer::new(config.receive_window, config.subflow_floor, usize::from(config.inbound_subflows))
    }

    /// a_fwnd of a space: the part of the receive buffer that it may fill.
    pub(super) fn credit_of(&self, space: usize) -> u32 {
        match &self.sf {
            Some(sf) => self.credit_in(&self.use_of_buffer(sf), space),
            None => self.advertised_window(),
        }
    }

    fn use_of_buffer(&self, sf: &Sf) -> Use {
        let open = self.spaces.iter().enumerate().filter(|(_, s)| sf.theirs.epoch(s.fid).is_some());
        self.buffer().in_use(open.map(|(index, _)| self.held_by(index)))
    }

    fn credit_in(&self, buffer: &Use, space: usize) -> u32 {
        u32::try_from(buffer.credit(self.held_by(space))).unwrap_or(u32::MAX)
    }

    /// What a space holds of the receive buffer, bytes.
    fn held_by(&self, index: usize) -> u64 {
        let long = self.inbound.held_bytes() > self.config.receive_window as usize / 4;
        let less = if long { self.excess_of(index) } else { Excess::default() };
        let bytes = self.inbound.held_of(index).saturating_sub(less.own);
        // Bookkeeping counts a third, as in a_rwnd: messages of a few bytes must not take the floors of others.
        let gaps = self.spaces.get(index).map_or(0, |space| space.received.gaps());
        let memory = self.inbound.memory_of(index) + gaps * GAP_OVERHEAD;
        bytes.max(memory.saturating_sub(less.own_memory) / 3) as u64
    }

    /// What messages in the making do not count for: one that grows where nothing is missing would close the window for ever
    /// if it is longer than the buffer (see `advertised_window`). Subflows grow theirs side by side, so each has a share.
    pub(super) fn excess_of(&self, space: usize) -> Excess {
        let size = self.config.receive_window as usize;
        let limit = match &self.sf {
            Some(sf) => size / 4 / usize::from(sf.theirs.open()),
            None => size / 2,
        };
        if self.extensions.thesis.is_none() {
            return self.inbound.interleaved_excess(limit, space);
        }
        let mut all = Excess::default();
        for (index, s) in self.spaces.iter().enumerate() {
            let (bytes, memory) = self.inbound.excess_of_space(index, s.received.next(), limit);
            all.bytes += bytes;
            all.memory += memory;
            if index == space {
                (all.own, all.own_memory) = (bytes, memory);
            }
        }
        all
    }

    /// The user has read: windows that have grown by a quarter are told to the peer. Who has a floor only, because others hold the
    /// rest of the buffer, is told of a quarter of that: or it would have its floor once a probe, not once a round trip.
    pub(super) fn update_windows(&mut self, window: u32) {
        let floor = u32::try_from(self.buffer().floor).unwrap_or(u32::MAX);
        let buffer = self.sf.as_ref().map(|sf| self.use_of_buffer(sf));
        for index in 0..self.spaces.len() {
            let limited = index > 0 || self.extensions.thesis.is_some();
            let now = buffer.as_ref().filter(|_| limited).map_or(window, |b| self.credit_in(b, index));
            // Subflow 0 is told what all may have. Where the others hold nothing it is as without them.
            let floors = match &self.sf {
                Some(_) if limited => floor,
                Some(sf) if self.inbound.held_bytes() > self.inbound.held_of(0) => {
                    floor.saturating_mul(u32::from(sf.theirs.open()))
                }
                _ => 0,
            };
            if let Some(space) = self.spaces.get_mut(index) {
                let told = space.sack.last_advertised;
                let step = if told < floors { floor / 4 } else { self.config.receive_window / 4 };
                if now > told && now >= told.saturating_add(step) {
                    space.sack.demand();
                }
            }
        }
    }

    /// SF-DATA.
    pub(super) fn on_sf_data(&mut self, cx: &mut Context, data: &SfData<'_>) -> Result<(), Violation> {
        if !self.state.receives_data() {
            return Ok(());
        }
        let judged = self.sf.as_ref().map(|sf| sf.theirs.judge(data.fid, data.epoch));
        let Some(space) = self.judged(judged, data.fid, data.epoch) else { return Ok(()) };
        self.enter_space(cx, space);
        self.on_chunk(
            cx,
            &DataChunk {
                flags: data.flags,
                tsn: data.stsn,
                stream: data.stream,
                mid: data.mid,
                fragment: data.fragment(),
                ppid: data.ppid().unwrap_or(0),
                payload: data.payload,
            },
        )
    }

    /// SF-SACK.
    pub(super) fn on_sf_sack(&mut self, now: Instant, sack: &SfSack<'_>) -> Result<(), Violation> {
        let head = &sack.head;
        let judged = self.sf.as_ref().map(|sf| sf.ours.judge(head.fid, head.epoch));
        let Some(space) = self.judged(judged, head.fid, head.epoch) else { return Ok(()) };
        self.stats.sacks_received += 1;
        let windows = Windows { a_rwnd: Some(head.a_rwnd), a_fwnd: Some(head.a_fwnd) };
        let times = sack.times();
        if self.config.loss_detection == LossDetection::Rack {
            self.note_duplicates(space, sack.duplicates());
        }
        self.on_acknowledgement(now, space, head.cumulative, windows, sack.gaps(), times).map_err(
            |violation| match violation {
                Violation::Protocol(what) => {
                    Violation::Subflow { fid: head.fid, epoch: head.epoch, reason: SfReason::NeverSent, what }
                }
                other => other,
            },
        )
    }

    /// The space of a chunk whose FID and epoch are good. Others are dropped: those of another incarnation are counted, of
    /// a FID that was never open the peer is told.
    fn judged(&mut self, judged: Option<Judged>, fid: u8, epoch: u8) -> Option<usize> {
        match judged? {
            Judged::Open => self.space_of(fid),
            Judged::Stale => {
                self.stats.sf_stale += 1;
                None
            }
            Judged::Unknown => {
                self.stats.sf_unknown += 1;
                let reason = SfReason::UnknownSubflow;
                self.control.report(self.violation(fid, epoch, reason, b""));
                None
            }
        }
    }

    /// An SF-Violation cause, encoded.
    pub(super) fn violation(&self, fid: u8, epoch: u8, reason: SfReason, information: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        SfViolation { fid, epoch, reason, information }.emit_as(self.config.sf_codes.violation, &mut out);
        out
    }

    /// An SF-SACK that is due, or that fits beside what else leaves. `reserved` bytes are wanted for data.
    pub(super) fn write_sf_sack(
        &mut self,
        now: Instant,
        packet: &mut PacketBuilder<'_>,
        limit: usize,
        index: usize,
        reserved: Option<usize>,
    ) {
        let Some(space) = self.spaces.get(index) else { return };
        let rides = reserved.is_some_and(|len| {
            let lists = space.received.gaps() + space.sack.duplicates.len();
            packet.len() + sf_sack::wire_len(lists, 0, true, false) + len <= limit
        });
        if !space.sack.is_due_now() && !rides {
            return;
        }
        let smallest = sf_sack::wire_len(0, 0, true, false);
        if packet.len() + smallest > limit {
            return; // it leaves with the next packet
        }
        let (a_rwnd, a_fwnd) = (self.advertised_window(), self.credit_of(index));
        let kind = self.config.sf_codes.sack;
        let Some(space) = self.spaces.get_mut(index) else { return };
        let room = (limit - packet.len() - smallest) / 4;
        let count = space.received.gaps().min(room);
        let gaps: Vec<GapBlock> =
            space.received.gap_blocks().take(count).map(|(start, end)| GapBlock { start, end }).collect();
        let duplicates = space.sack.duplicates.len().min(room - count);
        let head = SfSackHead {
            fid: space.fid,
            epoch: space.receive_epoch,
            cumulative: space.cumulative_received(),
            a_rwnd,
            a_fwnd,
            // Nothing that arrived is dropped again: messages with identifiers are never taken back.
            non_renegable: true,
        };
        let times = space.newest.map(|at| ReceiveTime {
            received_us: micros(at),
            ack_delay_us: micros(now).wrapping_sub(micros(at)),
        });
        let duplicates = space.sack.duplicates.get(..duplicates).unwrap_or_default();
        sf_sack::emit(packet.buffer(), kind, &head, &gaps, duplicates, times, None);
        space.sack.sent(a_fwnd);
        self.stats.sacks_sent += 1;
    }

    /// A one-way delay, less the difference of the clocks: when the peer had a chunk, and when we sent it.
    pub(super) fn note_one_way_delay(
        &mut self,
        now: Instant,
        lane: usize,
        sent_at: Instant,
        times: ReceiveTime,
    ) {
        if let Some(lane) = self.lanes.get_mut(lane) {
            let micros = times.received_us.wrapping_sub(micros(sent_at)) as i32;
            lane.one_way_delay = Some((now, i64::from(micros)));
        }
    }
}

/// A clock of 32 bits, for timestamps.
fn micros(at: Instant) -> u32 {
    (at.as_nanos() / 1000) as u32
}
