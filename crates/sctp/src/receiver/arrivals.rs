//! The chunks that have arrived, by sequence space, and when they are acknowledged.

mod acknowledge;
mod asn;
mod ecn;
mod packet;
mod peer_fids;
mod space;

use anabranch_base::{Instant, TraceEvent, cold_path};
use anabranch_wire::Tsn;

use crate::context::Context;
use crate::encoding::DataChunk;
use crate::event::Timer;
use crate::ids::{Id, PathId, SpaceId, SubflowId, Table, any_of};
use crate::negotiation::fids::Fids;
use asn::AsnMap;
use space::ReceiveSpace;
use space::timing::{AckPolicy, AckTiming};

pub(in crate::receiver) use acknowledge::Carrier;
pub(crate) use packet::PacketRead;
pub(in crate::receiver) use space::map::Arrival;

/// The sequence spaces of the peer: the numbers that came in each, and the acknowledgements owed for them.
#[derive(Debug)]
pub(crate) struct Arrivals {
    spaces: Table<SpaceId, ReceiveSpace>,
    /// FIDs under which the peer sends, where subflows have spaces of their own.
    fids: Option<Box<Fids>>,
    /// Association sequence numbers (encoding of 2007).
    asn: Option<Box<AsnMap>>,
}

impl Default for Arrivals {
    fn default() -> Self {
        Self { spaces: Table::of(ReceiveSpace::new(0)), fids: None, asn: None }
    }
}

impl Arrivals {
    /// The peer's Initial TSN.
    pub(crate) fn base(&self) -> Tsn {
        self.spaces.first().map(ReceiveSpace::base).unwrap_or_default()
    }

    /// The peer's INIT or INIT ACK said with which TSN it begins; it is told of a `window` of so many bytes.
    pub(in crate::receiver) fn learn_peer(&mut self, initial_tsn: Tsn, window: u32) {
        if let Some(space) = self.spaces.first_mut() {
            space.set_base(initial_tsn);
            space.timing.last_advertised = window;
        }
    }

    /// The peer has restarted: nothing has arrived, and nothing beyond RFC 9260 is agreed on.
    pub(in crate::receiver) fn restart(&mut self, initial_tsn: Tsn) {
        let mut space = ReceiveSpace::new(0);
        space.set_base(initial_tsn);
        *self = Self { spaces: Table::of(space), ..Self::default() };
    }

    /// Extensions were agreed on: under which FIDs the peer sends, and whether chunks have association sequence numbers.
    pub(in crate::receiver) fn adopt(&mut self, fids: Option<Fids>, has_asn: bool) {
        self.fids = fids.map(Box::new);
        self.asn = has_asn.then(|| Box::new(AsnMap::new(self.base())));
    }

    /// Back to RFC 9260; spaces of other subflows are gone.
    pub(in crate::receiver) fn forget_extensions(&mut self) {
        self.forget_subflows();
        self.asn = None;
    }

    /// Subflows have no spaces of their own any more.
    pub(in crate::receiver) fn forget_subflows(&mut self) {
        self.spaces.split_off_first();
        self.fids = None;
    }

    /// TSNs go on with `next`, and nothing has arrived (SSN/TSN reset). The peer keeps the window that it was told.
    pub(in crate::receiver) fn renumber(&mut self, next: Tsn) {
        if let Some(space) = self.spaces.first_mut() {
            let last_advertised = space.timing.last_advertised;
            space.restart(next);
            space.timing.last_advertised = last_advertised;
        }
    }

    /// Looks at a chunk of the packet that is being read: its unwrapped number, and its relation to others, where it is new and may be taken. Of one
    /// that is not nothing more is to be said. The receive window has `window` bytes.
    // rfc9260:6.2-1 rfc9260:6.2-4 rfc9260:6.2-5 rfc9260:6.2-31
    #[allow(clippy::inline_always, reason = "one copy for DATA, one for all others; measured")]
    #[inline(always)]
    pub(in crate::receiver) fn look(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        data: &DataChunk<'_>,
        window: u32,
    ) -> Option<(u64, Arrival)> {
        let space = self.spaces.get_mut(read.space)?;
        read.summary.has_data = true;
        // Before the peer's Initial TSN: not a TSN of this association.
        let seq = space.unwrap(data.tsn)?;
        read.summary.hole |= space.received.has_holes() && cx.env.config().emulation.sack_filled_hole;
        let arrival = space.received.classify(seq);
        if arrival == Arrival::Duplicate {
            cold_path();
            read.summary.duplicate = true;
            space.timing.on_duplicate(data.tsn);
            // The peer may not know: the SACK that reports it has its block.
            if let Some(selection) = space.selection.as_mut().filter(|_| seq > space.received.next()) {
                selection.note(seq);
            }
            cx.report.stats.duplicates_received += 1;
            let event = TraceEvent::Received { seq, len: data.payload.len() as u32, duplicate: true };
            cx.record(SubflowId::FIRST, read.path, event);
            return None;
        }
        if arrival == Arrival::BeyondHole && seq >= space.reach(window) {
            // A chunk of another incarnation of the association, or of a sender that ignores the window.
            cx.report.stats.dropped_no_buffer = cx.report.stats.dropped_no_buffer.saturating_add(1);
            read.summary.immediate = true;
            return None;
        }
        Some((seq, arrival))
    }

    /// A new chunk of the packet that is being read is taken. Its stream `exists`, or its payload is thrown away.
    #[allow(clippy::inline_always, reason = "one copy for DATA, one for all others; measured")]
    #[inline(always)]
    pub(in crate::receiver) fn record(
        &mut self,
        cx: &mut Context,
        read: &mut PacketRead,
        (seq, arrival): (u64, Arrival),
        data: &DataChunk<'_>,
        exists: bool,
    ) {
        let Some(space) = self.spaces.get_mut(read.space) else { return };
        space.received.record(seq);
        if self.fids.is_some() && space.received.end() == seq + 1 {
            space.newest = Some(cx.env.now());
        }
        read.summary.new = true;
        read.summary.hole |= space.received.has_holes();
        read.summary.immediate |= data.flags.immediate && cx.env.config().sack.immediate_bit_obeyed;
        cx.report.stats.payload_bytes_received_new += data.payload.len() as u64;
        if arrival != Arrival::InOrder {
            cold_path();
            cx.report.stats.out_of_order_received += 1;
            space.out_of_order = space.out_of_order.saturating_add(1);
            if cx.env.agreed().selects_gaps() {
                space.selection.get_or_insert_default().note(seq);
            }
            if let Some(streams) = cx.report.streams.as_mut().filter(|_| exists) {
                streams.incoming(data.stream).out_of_order += 1;
            }
        }
        let event = TraceEvent::Received { seq, len: data.payload.len() as u32, duplicate: false };
        cx.record(SubflowId::FIRST, read.path, event);
    }

    /// The peer gives up the missing chunks up to `cumulative`: "the data receiver MUST first update its cumulative TSN point to the value
    /// carried in the FORWARD TSN chunk, and then MUST further advance its cumulative TSN point locally if possible" (RFC 3758, 3.6). The
    /// number before which all counts as received; `None` where nothing has moved. The receive window has `window` bytes.
    // rfc3758:3.6-2 rfc3758:3.6-3 rfc3758:3.6-4 rfc3758:3.6-5 rfc3758:3.6-6
    pub(in crate::receiver) fn move_to(
        &mut self,
        cx: &Context,
        read: &mut PacketRead,
        at: SpaceId,
        cumulative: Tsn,
        window: u32,
    ) -> Option<u64> {
        self.enter_space(cx, read, at);
        let space = self.spaces.get_mut(at)?;
        // "for the purposes of sending a SACK, the receiver MUST follow the same rules as if a DATA chunk had been received".
        read.summary.has_data = true;
        let reach = space.reach(window);
        let last = space.unwrap(cumulative).filter(|last| *last >= space.received.next());
        let Some(floor) = last.map(|last| last + 1).filter(|floor| *floor <= reach) else {
            // Out of date: "The receiver SHOULD send a SACK to its peer ... since such a duplicate may indicate the previous SACK was
            // lost". Or further ahead than a peer can have sent that obeys the window: it moves nothing either.
            read.summary.immediate = true;
            return None;
        };
        read.summary.hole |= space.received.has_holes() && cx.env.config().emulation.sack_filled_hole;
        space.received.advance_to(floor);
        read.summary.new = true;
        read.summary.hole |= space.received.has_holes();
        Some(floor)
    }

    /// The chunks under the numbers `start..end` were dropped to make room: they count as not received.
    pub(in crate::receiver) fn take_back(&mut self, cx: &Context, at: SpaceId, start: u64, end: u64) {
        let Some(space) = self.spaces.get_mut(at) else { return };
        space.received.forget(start, end);
        if cx.env.agreed().selects_gaps() {
            space.selection.get_or_insert_default().take_back(end - 1);
        }
    }

    /// The chunks that follow in the packet belong to that sequence space: the summary of the one before is complete.
    pub(crate) fn enter_space(&mut self, cx: &Context, read: &mut PacketRead, at: SpaceId) {
        if read.space == at {
            return;
        }
        let left = read.leave_space();
        if let (Some(summary), Some(space)) = (left, self.spaces.get_mut(read.space)) {
            space.path = Some(read.path);
            space.timing.on_packet(cx.env.now(), summary, AckPolicy::of(cx.env.config()));
        }
        read.space = at;
    }

    /// After the last chunk: when to acknowledge.
    // rfc9260:6.2-10
    #[inline]
    pub(crate) fn finish_packet(&mut self, cx: &Context, read: &PacketRead) {
        if read.summary.has_data {
            if let Some(space) = self.spaces.get_mut(read.space) {
                space.path = Some(read.path);
                space.timing.on_packet(cx.env.now(), read.summary, AckPolicy::of(cx.env.config()));
            }
        }
    }

    /// True if subflows have spaces of their own.
    #[inline]
    pub(in crate::receiver) fn are_several(&self) -> bool {
        self.spaces.len() > 1
    }

    /// Every space.
    pub(in crate::receiver) fn ids(&self) -> impl Iterator<Item = SpaceId> + use<> {
        self.spaces.ids()
    }

    /// Gaps between the numbers that have arrived, of all spaces.
    #[inline]
    pub(in crate::receiver) fn gaps(&self) -> usize {
        match self.spaces.rows() {
            [space] => space.received.gaps(),
            spaces => gaps_of(spaces),
        }
    }

    /// Gaps between the numbers that have arrived in a space.
    pub(in crate::receiver) fn gaps_in(&self, at: SpaceId) -> usize {
        self.spaces.get(at).map_or(0, |space| space.received.gaps())
    }

    /// The unwrapped number of a chunk of a space, and its relation to those that have arrived.
    pub(in crate::receiver) fn classify(&self, at: SpaceId, tsn: Tsn) -> Option<(u64, Arrival)> {
        let space = self.spaces.get(at)?;
        let seq = space.unwrap(tsn)?;
        Some((seq, space.received.classify(seq)))
    }

    /// True for each of the numbers before and after `seq` that has arrived. Nothing comes before the first number.
    #[inline(never)]
    pub(in crate::receiver) fn neighbours(&self, at: SpaceId, seq: u64) -> (bool, bool) {
        let arrived =
            |seq| self.spaces.get(at).is_some_and(|space| space.received.classify(seq) == Arrival::Duplicate);
        (seq.checked_sub(1).is_none_or(arrived), arrived(seq + 1))
    }

    /// The number that a space goes on with: the earliest that has not arrived.
    pub(in crate::receiver) fn next(&self, at: SpaceId) -> Option<u64> {
        self.spaces.get(at).map(|space| space.received.next())
    }

    /// The next number expected in each space.
    pub(in crate::receiver) fn next_of_each(&self) -> Vec<u64> {
        self.spaces.iter().map(|(_, space)| space.received.next()).collect()
    }

    /// The highest number that has arrived in a space.
    pub(in crate::receiver) fn highest(&self, at: SpaceId) -> u64 {
        self.spaces.get(at).map_or(0, |space| space.received.end().saturating_sub(1))
    }

    /// The unwrapped number of a TSN that has not come yet, or has come and something before it has not.
    pub(in crate::receiver) fn awaited(&self, tsn: Tsn) -> Option<u64> {
        let space = self.spaces.first()?;
        space.unwrap(tsn).filter(|seq| *seq >= space.received.next())
    }

    /// The TSN that stands for an unwrapped number of the TSN space.
    pub(in crate::receiver) fn tsn_of(&self, seq: u64) -> Option<Tsn> {
        self.spaces.first().map(|space| space.tsn_of(seq))
    }

    /// New chunks of a space that came out of order.
    pub(crate) fn out_of_order(&self, at: SpaceId) -> u64 {
        self.spaces.get(at).map_or(0, |space| space.out_of_order.into())
    }

    /// An association sequence number has arrived (encoding of 2007).
    pub(crate) fn record_asn(&mut self, asn: Tsn) {
        if let Some(map) = &mut self.asn {
            map.record(asn);
        }
    }

    /// The TSN that is expected next in a space.
    pub(crate) fn next_tsn(&self, at: SpaceId) -> Tsn {
        self.spaces.get(at).map_or(Tsn::new(0), |space| space.tsn_of(space.received.next()))
    }

    /// The TSN that a SHUTDOWN chunk acknowledges.
    pub(crate) fn shutdown_cumulative(&self) -> Option<Tsn> {
        match &self.asn {
            Some(asn) => Some(asn.cumulative()),
            None => self.cumulative(),
        }
    }

    /// The last TSN of the association received in sequence.
    pub(crate) fn cumulative(&self) -> Option<Tsn> {
        self.spaces.first().map(ReceiveSpace::cumulative)
    }

    /// True if an acknowledgement must leave now.
    #[inline]
    pub(crate) fn owes_sack(&self) -> bool {
        any_of(self.spaces.rows(), |space| space.timing.is_due_now())
    }

    /// True if an acknowledgement must leave now, or may ride with a packet that leaves.
    #[inline]
    pub(crate) fn has_pending_sack(&self) -> bool {
        any_of(self.spaces.rows(), |space| space.timing.is_pending())
    }

    /// The first space that owes an acknowledgement.
    pub(crate) fn first_owing(&self) -> Option<SpaceId> {
        self.spaces.rows().iter().position(|space| space.timing.is_due_now()).map(SpaceId::at)
    }

    /// The path on which the next acknowledgement leaves, where it matters.
    // rfc9260:6.4-3 rfc9260:6.7-2
    pub(crate) fn answer_path(&self) -> Option<PathId> {
        self.first_owing().and_then(|at| self.spaces.get(at)).and_then(|space| space.path)
    }

    /// The window that the peer was told last of a space, bytes.
    #[inline]
    pub(in crate::receiver) fn told_window(&self, at: SpaceId) -> Option<u32> {
        self.spaces.get(at).map(|space| space.timing.last_advertised)
    }

    /// True if any data has ever come in a space.
    pub(in crate::receiver) fn has_started(&self, at: SpaceId) -> bool {
        self.spaces.get(at).is_some_and(|space| space.timing.has_started())
    }

    /// A window has grown enough to be told: a SACK of the space leaves at once.
    pub(in crate::receiver) fn tell_window(&mut self, at: SpaceId) {
        if let Some(space) = self.spaces.get_mut(at) {
            space.timing.demand();
        }
    }

    /// Asks for a SACK of the TSN space at once.
    pub(crate) fn demand_sack(&mut self) {
        if let Some(space) = self.spaces.first_mut() {
            space.timing.demand();
        }
    }

    /// The timers: `visit` gets each, with the time at which it expires and its purpose.
    pub(crate) fn timers(&self, mut visit: impl FnMut(Option<Instant>, Timer, SpaceId)) {
        self.spaces.for_each(|at, space| visit(space.timing.timer(), Timer::Sack, at));
    }

    /// The delayed SACK of a space is due.
    pub(crate) fn on_sack_timer(&mut self, cx: &Context, at: SpaceId) {
        if let Some(space) = self.spaces.get_mut(at) {
            space.timing.on_timeout(cx.env.now());
        }
    }

    /// The peer has sent everything and knows that it has come. It may be gone as soon as it has our SHUTDOWN ACK: a SACK would find
    /// no association, and the ABORT in answer would take the place of a SHUTDOWN COMPLETE that was lost.
    pub(crate) fn acknowledge_no_more(&mut self) {
        for space in self.spaces.rows_mut() {
            space.timing = AckTiming::default();
        }
    }

    /// Ranges in the receive map looked at so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> u64 {
        self.spaces.rows().first().map_or(0, |space| space.received.work())
    }
}

#[inline(never)]
fn gaps_of(spaces: &[ReceiveSpace]) -> usize {
    spaces.iter().map(|space| space.received.gaps()).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use anabranch_base::SecretRng;
    use anabranch_wire::Mid;
    use anabranch_wire::chunk::DataFlags;

    use super::*;
    use crate::config::Config;
    use crate::path::Path;

    const WINDOW: u32 = 10_000;

    fn context() -> Context {
        let config = Arc::new(Config::rfc9260());
        let path = Path::new(&config, "192.0.2.1:0".parse().expect("an address"));
        Context::new(0, config, path, SecretRng::from_seed([1; 32]))
    }

    fn chunk(tsn: u32) -> DataChunk<'static> {
        DataChunk {
            flags: DataFlags::default(),
            tsn: Tsn::new(tsn),
            stream: 0,
            mid: Mid::new(0),
            fragment: 0,
            ppid: 0,
            payload: b"m",
        }
    }

    /// A packet with those TSNs; returns the new ones among them.
    fn packet(arrivals: &mut Arrivals, cx: &mut Context, tsns: &[u32]) -> Vec<u64> {
        let mut read = PacketRead::on(PathId::new(0));
        let mut new = Vec::new();
        for tsn in tsns {
            let data = chunk(*tsn);
            if let Some(arrival) = arrivals.look(cx, &mut read, &data, WINDOW) {
                arrivals.record(cx, &mut read, arrival, &data, true);
                new.push(arrival.0);
            }
        }
        arrivals.finish_packet(cx, &read);
        new
    }

    #[test]
    fn chunks_are_new_once_and_acknowledged() {
        let (mut arrivals, mut cx) = (Arrivals::default(), context());
        arrivals.learn_peer(Tsn::new(100), WINDOW);
        assert_eq!(packet(&mut arrivals, &mut cx, &[100, 102]), [0, 2]);
        assert!(arrivals.owes_sack(), "a hole");
        assert_eq!((arrivals.cumulative(), arrivals.gaps()), (Some(Tsn::new(100)), 1));
        assert_eq!(packet(&mut arrivals, &mut cx, &[102, 101]), [1]);
        assert_eq!((arrivals.cumulative(), arrivals.gaps()), (Some(Tsn::new(102)), 0));
        assert_eq!((cx.report.stats.duplicates_received, cx.report.stats.out_of_order_received), (1, 2));
    }

    #[test]
    fn a_number_that_no_honest_peer_has_reached_is_not_taken() {
        let (mut arrivals, mut cx) = (Arrivals::default(), context());
        arrivals.learn_peer(Tsn::new(100), WINDOW);
        assert_eq!(packet(&mut arrivals, &mut cx, &[100 + (1 << 20)]), []);
        assert!(arrivals.owes_sack());
        assert_eq!(packet(&mut arrivals, &mut cx, &[99]), []);
    }

    #[test]
    fn dropped_chunks_come_again() {
        let (mut arrivals, mut cx) = (Arrivals::default(), context());
        arrivals.learn_peer(Tsn::new(0), WINDOW);
        packet(&mut arrivals, &mut cx, &[0, 5, 6]);
        arrivals.take_back(&cx, SpaceId::FIRST, 6, 7);
        assert_eq!(arrivals.highest(SpaceId::FIRST), 5);
        assert_eq!(packet(&mut arrivals, &mut cx, &[6]), [6]);
    }

    #[test]
    fn a_peer_gives_up_no_further_than_it_can_have_sent() {
        let (mut arrivals, mut cx) = (Arrivals::default(), context());
        arrivals.learn_peer(Tsn::new(0), WINDOW);
        packet(&mut arrivals, &mut cx, &[0, 4]);
        let mut read = PacketRead::on(PathId::new(0));
        let mut up_to = |tsn| arrivals.move_to(&cx, &mut read, SpaceId::FIRST, Tsn::new(tsn), WINDOW);
        assert_eq!(up_to(1 << 20), None);
        assert_eq!(up_to(0), None, "out of date");
        assert_eq!(up_to(3), Some(4));
        assert_eq!(arrivals.next(SpaceId::FIRST), Some(5), "that had come");
    }
}
