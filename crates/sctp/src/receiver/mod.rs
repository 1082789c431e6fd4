//! The receiving half of an association: chunks that have arrived, when they are acknowledged, messages in the making and in
//! order, and the part of the receive buffer that all this takes.

mod admission;
mod advertise;
mod arrivals;
mod credit;
mod data;
mod deadlock;
mod forward;
mod inbound;
mod reading;
mod resets;
mod window;

use anabranch_wire::Tsn;

use crate::config::Config;
use crate::context::Context;
use crate::event::Event;
use crate::ids::{PathId, SpaceId};
use crate::negotiation::fids::Fids;
use crate::negotiation::offer::Extensions;
use arrivals::Arrivals;
use inbound::Inbound;
use inbound::partial_message::Aborted;
use resets::Resets;
use window::ReceiveWindow;

pub(crate) use arrivals::PacketRead;
pub(crate) use data::DataOutcome;

/// The receiving half of an association.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Streams on which the peer may send.
    streams: u16,
    /// Messages may come again under numbers that do not rise as those of messages do: subflows have ended.
    renumbered: bool,
    arrivals: Arrivals,
    inbound: Inbound,
    /// Resets of the peer's streams that wait; only where RE-CONFIG was agreed on.
    resets: Option<Box<Resets>>,
    window: ReceiveWindow,
    /// About half of the receive window is held, or was a packet ago.
    is_filling: bool,
    /// Number of further chunks that are refused without a search for data that could be given up for them: the last
    /// search found none.
    futile: u32,
}

impl Receiver {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            streams: config.streams.inbound,
            renumbered: false,
            arrivals: Arrivals::default(),
            inbound: Inbound::default(),
            resets: None,
            window: ReceiveWindow::new(config.limits.receive_window),
            is_filling: false,
            futile: 0,
        }
    }

    /// The chunks that have arrived, and the acknowledgements owed for them.
    #[inline]
    pub(crate) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    /// The chunks that have arrived, to be told of packets, of the peer's FIDs, and of acknowledgements to be sent.
    #[inline]
    pub(crate) fn arrivals_mut(&mut self) -> &mut Arrivals {
        &mut self.arrivals
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

    /// The peer's INIT or INIT ACK said with which TSN it begins.
    pub(crate) fn learn_peer(&mut self, initial_tsn: Tsn) {
        self.arrivals.learn_peer(initial_tsn, self.window.size());
    }

    /// The peer has restarted: sequence spaces begin anew, messages that are ready stay readable.
    /// Returns the number of received bytes that are lost to the user.
    pub(crate) fn restart(&mut self, cx: &mut Context, initial_tsn: Tsn) -> u64 {
        self.forget_extensions();
        self.futile = 0;
        self.arrivals.restart(initial_tsn);
        self.forget_unfinished(cx)
    }

    /// Takes over the extensions agreed on.
    pub(crate) fn adopt(&mut self, agreed: &Extensions, fids: Option<Fids>) {
        self.resets = agreed.reconfiguration.then(Box::default);
        self.arrivals.adopt(fids, agreed.sf2007.is_some());
    }

    /// Back to RFC 9260; spaces of other subflows are gone.
    pub(crate) fn forget_extensions(&mut self) {
        self.arrivals.forget_extensions();
        self.renumbered = false;
        self.resets = None;
    }

    /// The extension SF ends: subflows go on as at level 0.
    pub(crate) fn downgrade(&mut self) {
        self.arrivals.forget_subflows();
        self.renumbered = true;
    }

    /// True if a chunk has not come before, and can be of this association.
    pub(crate) fn is_new(&self, at: SpaceId, tsn: Tsn) -> bool {
        self.arrivals.is_new(at, tsn, self.window.size())
    }

    /// The user learns of messages that he has had the beginning of and that will not end. A peer can cause as many as it likes.
    // rfc3758:3.6-11
    fn tell_aborted(cx: &mut Context, aborted: Vec<Aborted>) {
        for Aborted { stream, unordered, message } in aborted {
            cx.tell_if_read(Event::PartialDeliveryAborted { stream, unordered, message });
        }
    }

    /// Drops unfinished messages. Returns their bytes.
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
        self.arrivals.renumber(next);
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
        self.resets.as_mut().is_some_and(|resets| resets.wait(&self.arrivals, last, streams))
    }

    /// Streams whose deferred reset has become due.
    pub(crate) fn take_due_reset(&mut self) -> Option<Vec<u16>> {
        let next = self.arrivals.next(SpaceId::FIRST)?;
        self.resets.as_mut()?.take_due(next)
    }

    /// TSNs go on with `next`: the streams whose reset has waited for a TSN that will never come now.
    pub(crate) fn renumber_resets(&mut self, next: Tsn) -> Option<Vec<u16>> {
        self.resets.as_mut()?.renumber(&self.arrivals, next)
    }

    /// A packet is read that came on a path.
    #[inline]
    pub(crate) fn begin_packet(&mut self, cx: &Context, path: PathId) {
        self.inbound.begin_packet(cx.env.now(), path);
    }

    /// The association has ended: nothing is acknowledged any more; received messages stay readable.
    pub(crate) fn close(&mut self) {
        self.arrivals.acknowledge_no_more();
        self.resets = None;
        self.window.close();
    }
}
