//! Resets of our outgoing streams, and of all numbers (RFC 6525), as far as they concern what is sent.

use anabranch_wire::Tsn;

use super::Sender;
use super::space::WindowProbe;
use crate::context::Context;

impl Sender {
    /// All streams are numbered anew, or those that are listed (stream reset).
    pub(crate) fn reset_numbering(&mut self, streams: &[u16]) {
        self.numbering.begin_anew(streams);
    }

    /// Whether the next message of each of some streams (of all, if none is listed) is its first.
    pub(crate) fn is_fresh(&self, streams: &[u16]) -> bool {
        self.numbering.is_fresh(streams)
    }

    /// An SSN/TSN reset was performed: "new data MUST be sent from the Receiver's Next TSN" (RFC 6525, 5.2.7, H5).
    pub(crate) fn reset_all(&mut self, cx: &mut Context, base: Tsn) {
        self.numbering.begin_anew(&[]);
        self.special.forget_numbers();
        if let Some(table) = &mut cx.streams {
            table.forget_numbers();
        }
        self.ecn.forget_numbers();
        if let Some(space) = self.tables.spaces.first_mut() {
            space.flight.restart();
            space.probe = WindowProbe::default();
            space.base = base;
        }
        for lane in self.tables.lanes.rows_mut() {
            // What waits for a number would wait for one of before.
            lane.forget_numbers();
            lane.loss.restart();
        }
    }

    /// Whether all messages of some streams (none listed: of all) that may have numbers have left.
    pub(crate) fn have_left(&self, streams: &[u16]) -> bool {
        let queued = self.tables.subflows.rows().iter().any(|subflow| match streams {
            [] => !subflow.out.is_empty(),
            _ => streams.iter().any(|stream| subflow.out.waits(*stream)),
        });
        // The last TSN, which the request names, says nothing of other sequence spaces: what went there must be acknowledged.
        !queued && !self.tables.spaces.rows().iter().skip(1).any(|space| space.flight.carries(streams))
    }

    /// Nothing of ours that may have a number waits or is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.have_left(&[]) && self.tables.spaces.rows().iter().all(|space| space.flight.is_empty())
    }

    /// The peer is asked to reset streams of ours, after all that has a number by now.
    pub(crate) fn asks_for_reset(&mut self) {
        self.special.asks_for_reset(self.next_tsn().0);
    }
}
