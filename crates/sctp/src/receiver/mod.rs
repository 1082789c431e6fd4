//! What an association receives: which chunks have arrived, when they are acknowledged, messages in the making and in
//! order, and what all that takes of the receive buffer.

mod acknowledge;
mod admission;
mod arrivals;
mod asn;
mod credit;
mod ecn;
mod forward;
mod inbound;
mod reading;
mod space;
mod spaces;
mod standstill;
mod window;

use anabranch_base::Instant;
use anabranch_wire::Tsn;

use crate::config::Config;
use crate::context::Context;
use crate::encoding::Encoding;
use crate::event::{Event, Timer};
use crate::ids::{Id, PathId, SpaceId, Table, any_of};
use crate::negotiation::fids::Fids;
use crate::negotiation::offer::Extensions;
use asn::AsnMap;
use inbound::Inbound;
use inbound::growing::Aborted;
use space::ReceiveSpace;
use space::timing::AckTiming;
use window::ReceiveWindow;

pub(crate) use arrivals::{PacketRead, Taken};

/// What a peer that resets its streams makes us look at (RFC 6525).
#[derive(Debug, Default)]
struct Resets {
    /// Streams (all, where none is listed) are reset behind this number: what is beyond has come too early.
    boundary: Option<(u64, Vec<u16>)>,
}

impl Resets {
    /// Whether a chunk counts as not received.
    // rfc6525:5.2.2-4 rfc6525:5.2.2-8
    #[inline]
    fn comes_too_early(&self, seq: u64, stream: u16) -> bool {
        // Its stream is about to be reset, and the chunk is of the time after that (RFC 6525, 5.2.2, E2). "MUST be queued locally
        // and held" has the same effect, for a sender that keeps to A1 of 5.1.2 has not sent it.
        let boundary = self.boundary.as_ref();
        boundary
            .is_some_and(|(last, streams)| seq > *last && (streams.is_empty() || streams.contains(&stream)))
    }
}

/// The receiving half of an association.
#[derive(Debug)]
pub(crate) struct Receiver {
    encoding: Encoding,
    /// Streams on which the peer may send.
    streams: u16,
    /// The peer has agreed that SACKs leave gap blocks out.
    selects_gaps: bool,
    /// Messages may come again under numbers that do not rise as those of messages do: subflows have ended.
    renumbered: bool,
    spaces: Table<SpaceId, ReceiveSpace>,
    inbound: Inbound,
    /// FIDs under which the peer sends, where subflows have spaces of their own.
    fids: Option<Box<Fids>>,
    /// Association sequence numbers (encoding of 2007).
    asn: Option<Box<AsnMap>>,
    /// Where RE-CONFIG was agreed.
    resets: Option<Box<Resets>>,
    window: ReceiveWindow,
    /// So many bytes less may be held, as the sender keeps more than its send buffers.
    lent_to_sender: u32,
    /// About half of the receive window is held, or was a packet ago.
    is_filling: bool,
    /// So many chunks more are refused without a look at what could be given up for them: the last look was in vain.
    futile: u32,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            encoding: Encoding::Rfc9260,
            streams: config.streams.inbound,
            selects_gaps: false,
            renumbered: false,
            spaces: Table::of(ReceiveSpace::new(0)),
            inbound: Inbound::default(),
            fids: None,
            asn: None,
            resets: None,
            window: ReceiveWindow::new(config.limits.receive_window),
            lent_to_sender: 0,
            is_filling: false,
            futile: 0,
        }
    }

    /// The receive window.
    pub(crate) fn window(&self) -> &ReceiveWindow {
        &self.window
    }

    /// The receive window, to be told of round trips.
    pub(crate) fn window_mut(&mut self) -> &mut ReceiveWindow {
        &mut self.window
    }

    /// Messages, or parts of such, that can be read.
    pub(crate) fn pending(&self) -> usize {
        self.inbound.pending()
    }

    /// Streams on which the peer may send.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    pub(crate) fn set_streams(&mut self, streams: u16) {
        self.streams = streams;
    }

    /// Whether both sides have agreed that SACKs leave gap blocks out.
    pub(crate) fn selects_gaps(&self) -> bool {
        self.selects_gaps
    }

    /// What the peer's INIT or INIT ACK said.
    pub(crate) fn learn_peer(&mut self, initial_tsn: Tsn) {
        if let Some(space) = self.spaces.first_mut() {
            space.set_base(initial_tsn);
            space.timing.last_advertised = self.window.size();
        }
    }

    /// The peer's Initial TSN.
    pub(crate) fn base(&self) -> Tsn {
        self.spaces.first().map(ReceiveSpace::base).unwrap_or_default()
    }

    /// The peer has restarted: sequence spaces begin anew, what is ready stays readable.
    /// Gives how many bytes that had arrived nobody will read.
    pub(crate) fn restart(&mut self, cx: &mut Context, initial_tsn: Tsn) -> u64 {
        self.forget_extensions();
        self.futile = 0;
        let mut space = ReceiveSpace::new(0);
        space.set_base(initial_tsn);
        self.spaces = Table::of(space);
        self.forget_unfinished(cx)
    }

    /// What both sides speak from now on.
    pub(crate) fn adopt(&mut self, encoding: Encoding, agreed: &Extensions, fids: Option<Fids>) {
        self.encoding = encoding;
        self.selects_gaps = agreed.selected_gaps;
        self.resets = agreed.reconfiguration.then(Box::default);
        self.fids = fids.map(Box::new);
        self.asn = (encoding == Encoding::Sf2007).then(|| Box::new(AsnMap::new(self.base())));
    }

    /// Back to RFC 9260; spaces of other subflows are gone.
    pub(crate) fn forget_extensions(&mut self) {
        self.spaces.split_off_first();
        self.encoding = Encoding::Rfc9260;
        self.selects_gaps = false;
        self.renumbered = false;
        self.fids = None;
        self.asn = None;
        self.resets = None;
    }

    /// The extension SF ends: subflows go on as at level 0.
    pub(crate) fn downgrade(&mut self) {
        self.spaces.split_off_first();
        self.encoding = Encoding::Interleaved;
        self.renumbered = true;
        self.fids = None;
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

    /// The first number of a peer's FID, where nothing has come under it yet (encoding of 2007).
    pub(crate) fn set_initial(&mut self, at: SpaceId, initial: Tsn) {
        if let Some(space) = self.spaces.get_mut(at).filter(|space| space.received.end() == 0) {
            space.set_base(initial);
        }
    }

    /// The TSN that is expected next in a space.
    pub(crate) fn next_tsn(&self, at: SpaceId) -> Tsn {
        self.spaces.get(at).map_or(Tsn::new(0), |space| space.tsn_of(space.received.next()))
    }

    /// What a SHUTDOWN chunk acknowledges.
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

    /// The user learns of messages that he has had the beginning of and that will not end. A peer can cause as many as it likes.
    // rfc3758:3.6-11
    fn tell_aborted(cx: &mut Context, aborted: Vec<Aborted>) {
        for Aborted { stream, unordered, message } in aborted {
            cx.tell_if_read(Event::PartialDeliveryAborted { stream, unordered, message });
        }
    }

    /// Nothing that has begun will end. Gives how many bytes that is.
    fn forget_unfinished(&mut self, cx: &mut Context) -> u64 {
        let mut aborted = Vec::new();
        let lost = self.inbound.restart(&mut aborted);
        Self::tell_aborted(cx, aborted);
        lost as u64
    }

    /// Everything of the TSN space begins anew with `next` (SSN/TSN reset).
    // rfc6525:5.2.4-4
    pub(crate) fn reset_all(&mut self, cx: &mut Context, next: Tsn) {
        self.forget_unfinished(cx);
        if let Some(space) = self.spaces.first_mut() {
            let last_advertised = space.timing.last_advertised;
            space.restart(next);
            space.timing.last_advertised = last_advertised;
        }
    }

    /// Some streams of the peer are reset, all where none is listed.
    pub(crate) fn reset_streams(&mut self, cx: &mut Context, streams: &[u16]) {
        let mut aborted = Vec::new();
        self.inbound.reset_streams(streams, &mut aborted);
        Self::tell_aborted(cx, aborted);
    }

    /// Streams that are reset behind `last`. False when everything up to there has come already.
    // rfc6525:5.2.2-3
    pub(crate) fn reset_streams_after(&mut self, last: Tsn, streams: &[u16]) -> bool {
        let (Some(space), Some(resets)) = (self.spaces.first(), &mut self.resets) else { return false };
        match space.unwrap(last) {
            Some(last) if last >= space.received.next() => {
                resets.boundary = Some((last, streams.to_vec()));
                true
            }
            _ => false,
        }
    }

    /// Streams whose deferred reset has become due.
    pub(crate) fn take_due_reset(&mut self) -> Option<Vec<u16>> {
        let (space, resets) = (self.spaces.first()?, self.resets.as_mut()?);
        let (_, streams) = resets.boundary.take_if(|(last, _)| space.received.next() > *last)?;
        Some(streams)
    }

    /// TSNs go on with `next`: a reset that waits for a TSN waits for it under the new numbering. If that TSN will never
    /// come, the streams are reset now.
    pub(crate) fn renumber_resets(&mut self, next: Tsn) -> Option<Vec<u16>> {
        let (space, resets) = (self.spaces.first()?, self.resets.as_mut()?);
        let (last, _) = resets.boundary.as_mut()?;
        let distance = space.tsn_of(*last).signed_distance_from(next);
        if let Ok(last_now) = u64::try_from(distance) {
            *last = last_now;
            return None;
        }
        resets.boundary.take().map(|(_, streams)| streams)
    }

    /// A packet is read that came on a path.
    #[inline]
    pub(crate) fn begin_packet(&mut self, cx: &Context, path: PathId) {
        self.inbound.begin_packet(cx.now, path);
    }

    /// Whether an acknowledgement must leave now.
    #[inline]
    pub(crate) fn owes_sack(&self) -> bool {
        any_of(self.spaces.rows(), |space| space.timing.is_due_now())
    }

    /// Whether an acknowledgement must leave now, or may ride with what leaves.
    #[inline]
    pub(crate) fn has_pending_sack(&self) -> bool {
        any_of(self.spaces.rows(), |space| space.timing.is_pending())
    }

    /// The first space that owes an acknowledgement.
    pub(crate) fn first_owing(&self) -> Option<SpaceId> {
        self.spaces.rows().iter().position(|space| space.timing.is_due_now()).map(SpaceId::at)
    }

    /// The path on which the next acknowledgement leaves.
    // rfc9260:6.4-3 rfc9260:6.7-2
    pub(crate) fn answer_path(&self) -> PathId {
        let owing = self.first_owing().and_then(|at| self.spaces.get(at));
        owing.map_or(PathId::FIRST, |space| space.path)
    }

    /// Asks for a SACK of the TSN space at once.
    pub(crate) fn demand_sack(&mut self) {
        if let Some(space) = self.spaces.first_mut() {
            space.timing.demand();
        }
    }

    /// The timers of the receiver: `visit` is told of each, when it expires and what for.
    pub(crate) fn timers(&self, mut visit: impl FnMut(Option<Instant>, Timer, SpaceId)) {
        self.spaces.for_each(|at, space| visit(space.timing.timer(), Timer::Sack, at));
    }

    /// The delayed SACK of a space is due.
    pub(crate) fn on_sack_timer(&mut self, cx: &Context, at: SpaceId) {
        if let Some(space) = self.spaces.get_mut(at) {
            space.timing.on_timeout(cx.now);
        }
    }

    /// The peer has sent everything and knows that it has come. It may be gone as soon as it has our SHUTDOWN ACK: a SACK would find
    /// nobody, and the ABORT in answer would take the place of a SHUTDOWN COMPLETE that was lost.
    pub(crate) fn acknowledge_no_more(&mut self) {
        for space in self.spaces.rows_mut() {
            space.timing = AckTiming::default();
        }
    }

    /// The association has ended: nothing is acknowledged any more; what was received stays readable.
    pub(crate) fn close(&mut self) {
        self.acknowledge_no_more();
        self.resets = None;
        self.window.close();
    }

    /// Ranges in the receive map looked at so far.
    #[cfg(test)]
    pub(crate) fn work(&self) -> u64 {
        self.spaces.rows().first().map_or(0, |space| space.received.work())
    }
}
