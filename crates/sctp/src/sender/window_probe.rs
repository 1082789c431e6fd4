//! Windows of the peer that close and open: zero-window probes (RFC 9260, 6.1 A).
//!
//! A closed window says nothing about the path, and nothing about congestion. A probe that the peer had no room for was dropped:
//! the SACK that opens the window shows that, and the dropped chunk leaves again with it.

use anabranch_base::Instant;

use super::flight::ChunkState;
use super::lane::Lane;
use super::losses::Losses;
use super::next::Next;
use super::peer_window::PeerWindow;
use super::peer_window::WINDOW_HEADER;
use super::space::WindowProbe;
use super::tables::Tables;
use super::windows::Windows;
use crate::context::Context;
use crate::ids::SpaceId;

impl Tables {
    /// The peer's window is closed. True when one chunk may leave all the same, as a probe: "SHOULD only be sent
    /// when all outstanding DATA chunks have been cumulatively acknowledged", first "after 1 RTO" (6.1 A) unless `probes_at_once`. Each sequence
    /// space is probed for itself.
    // rfc9260:6.1-3 rfc9260:6.1-4 rfc9260:6.1-5 rfc9260:6.1-7
    pub(super) fn window_probe(&mut self, cx: &Context, next: &Next) -> bool {
        let Some(subflow) = self.subflows.get(next.subflow) else { return false };
        let Some(lane) = self.lanes.get(next.lane) else { return false };
        let lanes_quiet =
            self.lanes.rows().iter().all(|l| l.space() != next.space || l.in_flight.unacked() == 0);
        let Some(space) = self.spaces.get_mut(next.space) else { return false };
        let quiet = match space.flight.first_reserved() {
            None => space.flight.is_empty(),
            // Only the earliest missing chunk can move the cumulative point. If that is the earliest number of all, all chunks in flight
            // wait for it, and no probe of another subflow finds room before. Behind an abandoned number it is not the earliest missing
            // one: FORWARD-TSN goes first.
            Some(first) => {
                let earliest = space.flight.get(space.flight.first());
                let given_up = earliest.is_some_and(|chunk| chunk.state == ChunkState::Abandoned);
                subflow.reserved.contains(&first)
                    && (first == space.flight.first() || lanes_quiet && !given_up)
            }
        };
        if !quiet {
            return false;
        }
        if space.probe.due || cx.env.config().emulation.probes_at_once {
            return true;
        }
        if space.probe.at.is_none() {
            space.probe.at = Some(cx.env.now() + lane.rto(cx));
        }
        false
    }

    /// A chunk leaves although the window is closed.
    pub(super) fn begin_probe(&mut self, cx: &mut Context, at: SpaceId) {
        let Some(space) = self.spaces.get_mut(at) else { return };
        // It has waited for one RTO: "SHOULD increase the probe interval exponentially afterwards" (6.1 A).
        space.probe.backoff = u8::from(space.probe.due);
        space.probe.due = false;
        space.probe.in_flight = true;
        space.probe.answered = false;
        cx.report.stats.window_probes = cx.report.stats.window_probes.saturating_add(1);
    }

    /// The probe has left. Probes do not end the idleness of cwnd: it counts from `last_sent`, as before.
    pub(super) fn probe_has_left(&mut self, cx: &Context, next: &Next, last_sent: Option<Instant>) {
        let (Some(lane), Some(space)) = (self.lanes.get_mut(next.lane), self.spaces.get(next.space)) else {
            return;
        };
        lane.sent_probe(last_sent);
        if lane.t3().is_some() {
            lane.stretch_t3(cx, space.probe.backoff);
        }
    }

    /// The window is open again: only probes were sent meanwhile.
    fn end_of_idleness(&mut self, cx: &Context, at: SpaceId) {
        for lane in self.lanes.rows_mut().iter_mut().filter(|lane| lane.space() == at) {
            lane.decay(cx);
        }
    }
}

impl PeerWindow {
    /// True if the peer has room for the next chunk of a space.
    fn fits_next(&self, tables: &Tables, cx: &Context, at: SpaceId) -> bool {
        let waiting = tables.subflows.rows().iter().filter(|subflow| subflow.space == at);
        let next = |subflow: &super::Subflow| {
            let path = tables.lanes.get(subflow.lane).map_or(cx.paths.for_data(), Lane::path);
            subflow.out.peek(subflow.cut_at(cx.max_payload(path)))
        };
        waiting.filter_map(next).min().is_none_or(|payload| self.fits(tables, cx, at, payload))
    }

    /// True if windows that the peer has just announced have room for the earliest chunk that it has not
    /// acknowledged.
    fn fits_earliest(&self, tables: &mut Tables, cx: &Context, at: SpaceId, windows: Windows) -> bool {
        let (all, own) = (tables.outstanding(cx, None), tables.outstanding(cx, Some(at)));
        let only = windows.a_fwnd.filter(|_| tables.spaces.len() == 1);
        let Some(space) = tables.spaces.get_mut(at) else { return true };
        let Some(chunk) = space.flight.get(space.flight.first()) else { return true };
        if !matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost) {
            return true;
        }
        let header = if cx.env.config().emulation.rwnd_counts_headers { WINDOW_HEADER } else { 0 };
        let bytes = chunk.fragment.payload.len() as u64 + header;
        // The chunk counts as outstanding, but does not occupy the room that it needs.
        let counted = if chunk.state == ChunkState::InFlight { bytes } else { 0 };
        let known = space.allowance;
        let a_rwnd = windows.a_rwnd.or(only);
        let rwnd = a_rwnd.map(|a_rwnd| u64::from(a_rwnd).saturating_sub(all.saturating_sub(counted)));
        if let Some(a_fwnd) = windows.a_fwnd {
            space.allowance.set(a_fwnd, own.saturating_sub(counted));
        }
        let room = self.has_room_in(tables, rwnd.unwrap_or(self.bytes()), at, bytes);
        if let Some(space) = tables.spaces.get_mut(at) {
            space.allowance = known;
        }
        room
    }
}

impl Losses<'_> {
    /// A SACK has come for a space, and a window is closed, or was.
    #[inline(never)]
    pub(super) fn look_at_probes(&mut self, cx: &mut Context, at: SpaceId, windows: Windows, advanced: bool) {
        if windows.a_rwnd.is_none() && windows.a_fwnd.is_none() {
            return; // SHUTDOWN has no window
        }
        for id in self.tables.spaces.ids() {
            // A window below the waiting chunk is closed. SACKs that say so again, or concern other subflows, do not put
            // the probe off.
            let opened = self.tables.spaces.get(id).is_some_and(|space| space.probe.waits())
                && self.peer.fits_next(self.tables, cx, id);
            let Some(space) = self.tables.spaces.get_mut(id) else { continue };
            if opened {
                space.probe.at = None;
                space.probe.due = false;
            }
            if space.flight.is_empty() {
                space.probe.in_flight = false;
                space.probe.closed = false;
            }
            if opened {
                self.tables.end_of_idleness(cx, id);
            }
        }
        let room = self.peer.fits_earliest(self.tables, cx, at, windows);
        let Some(space) = self.tables.spaces.get_mut(at) else { return };
        // Beside a hole the window may be closed by the chunks that wait behind it: the chunk that fills the hole finds room.
        space.probe.closed = !room && space.flight.highest_gap_acked().is_none();
        if !room || !space.probe.in_flight {
            return;
        }
        let earliest = space.flight.get(space.flight.first());
        let lane = earliest.filter(|chunk| chunk.state == ChunkState::InFlight).map(|chunk| chunk.lane);
        space.probe = WindowProbe::default();
        self.tables.end_of_idleness(cx, at);
        // A probe that moved the cumulative point has arrived.
        let Some(id) = lane.filter(|_| !advanced) else { return };
        self.mark_all_lost(cx, id);
        if let Some(lane) = self.tables.lanes.get_mut(id) {
            lane.permits.window_opened();
        }
    }
}
