//! Marks of routers on the packets that come (RFC 3168), for each sequence space on its own.

use anabranch_base::Ecn;
use anabranch_wire::Tsn;

use super::Arrivals;
use super::space::map::Arrival;
use crate::ids::SpaceId;

impl Arrivals {
    /// True if a chunk has not come before, and can be of this association, whose receive window has `window` bytes.
    pub(in crate::receiver) fn is_new(&self, at: SpaceId, tsn: Tsn, window: u32) -> bool {
        let Some(space) = self.spaces.get(at) else { return false };
        let reach = space.reach(window);
        let new = |seq| seq < reach && space.received.classify(seq) != Arrival::Duplicate;
        space.unwrap(tsn).is_some_and(new)
    }

    /// A packet came as ECN-capable or marked; `tsn` is the lowest number of its new data.
    pub(crate) fn note_ecn(&mut self, at: SpaceId, tsn: Tsn, ecn: Ecn) {
        let Some(space) = self.spaces.get_mut(at) else { return };
        let marks = space.marks.get_or_insert_default();
        let counter = match ecn {
            Ecn::NotEct => return,
            Ecn::Ect0 => &mut marks.counters.ect0,
            Ecn::Ect1 => &mut marks.counters.ect1,
            Ecn::Ce => &mut marks.counters.ce,
        };
        *counter = counter.wrapping_add(1);
        // "the lowest TSN associated with the IP datagram marked with the CE bit" (RFC 4960, appendix A).
        if ecn == Ecn::Ce && space.fid == 0 {
            let earlier = marks.echo.map_or(0, |(_, count)| count);
            marks.echo = Some((tsn, earlier.saturating_add(1)));
        }
    }

    /// CWR: the peer knows of the mark on that packet, and of all before. One that is older than the newest mark ends nothing.
    pub(crate) fn on_cwr(&mut self, tsn: Tsn) {
        let Some(marks) = self.spaces.first_mut().and_then(|space| space.marks.as_mut()) else { return };
        marks.echo.take_if(|(marked, _)| tsn.signed_distance_from(*marked) >= 0);
    }
}
