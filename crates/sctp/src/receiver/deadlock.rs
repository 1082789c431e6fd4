//! Detection of a deadlock: a buffer full of data that waits for chunks which cannot come any more, because the peer,
//! or a host that forges its packets, has given a TSN to another message than it belongs to. The user could never read that
//! data, every probe of the closed window would be answered, and the association would live for ever without moving.
//! It ends with an ABORT instead ("Protocol Violation", RFC 9260, 3.3.10.13).
//!
//! It must never end the association of an honest peer, so there is a proof. It is asked for where a chunk found no
//! room, or the last there is, and the user has read all that can be read (an idle user may yet make room). Then
//! nothing can make room but the peer, and the chunks that an honest peer could still send depend on the encoding of
//! data:
//!
//! - **DATA.** The fragments of a message have consecutive TSNs (RFC 9260, 6.9), and the numbers of a stream's
//!   messages rise with their TSNs. Messages that were given up are named when the point moves past them (RFC 3758,
//!   3.5, C3), and a stream that was reset has no data under way (RFC 6525, 5.1.2). So the chunk behind the
//!   cumulative point, all before it being here or skipped, is one that the user can have at once: a message whose
//!   turn it is, or more of it. A chunk there that is not proves that the data below the point differs from the data
//!   sent; and where no TSN is missing no message waits for another. It does not matter which chunk had the false
//!   number: this or an earlier one.
//! - **I-DATA.** "The receiver MUST NOT make any assumption about the TSN assignments of the sender" to join messages
//!   (RFC 8260, 2.2.3), and a message's later fragments may come under any higher TSN, behind those of other streams.
//!   But "the sender MUST NOT process ... more than one user message in any given stream at any time", so all of a
//!   message has left before the next of its stream, and it "MUST assign TSNs ... in a way that the receiver can make
//!   progress" (2.2.2). A chunk behind the cumulative point that gives the user nothing, and has no room to wait in,
//!   breaks this. A fragment that is not the next of its message is therefore proof only when it is refused: as long
//!   as there is room, those before it may come.
//! - **Subflows with spaces of their own** (level 1 and the encoding of 2007), and I-DATA after that extension has
//!   ended, when messages leave again under new numbers. The chunk that another waits for may have left in another
//!   space and be lost there. Of the chunks behind all points, the first in sending order is one that the user can
//!   have at once, and it is taken; but the receiver cannot see which space has it on its way. So it waits: an honest
//!   peer sends that chunk again and again. The proof is complete when the same chunk was refused twice
//!   Association.Max.Retrans times within 5 RTO.Max or more, while no other space has brought anything, or has
//!   brought more chunks than the window has bytes, which is more than was under way then. An honest sender that has
//!   sent a chunk so often in vain holds its peer to be unreachable (8.1).
//!
//! With partial reliability a peer could still give up the messages that follow, and so skip the hole without knowing
//! of it. The false number is proven all the same, and messages between were lost that the peer believes delivered.
//!
//! One case is left: where each TSN above the point is missing in turn, and other streams go on, one chunk for each probe, until the
//! stream that stands still has something to send.

use super::Receiver;
use super::arrivals::Arrival;
use crate::context::Context;
use crate::encoding::{DataChunk, Encoding};
use crate::ids::SpaceId;
use crate::violation::Violation;

/// The reason that the ABORT gives.
pub(super) const DEADLOCK: Violation =
    Violation::Protocol("what waits in the full receive buffer waits for data that cannot come any more");

impl Receiver {
    /// Called when there was no room for a new chunk, or only the room kept for the next one, and the chunk was
    /// `taken` or not. True if nothing that the peer can send would be of use, so that the association must be
    /// aborted.
    // rfc8260:2.2.2-5 rfc8260:2.2.2-6
    #[cold]
    #[inline(never)]
    pub(super) fn is_deadlocked(
        &mut self,
        cx: &Context,
        at: SpaceId,
        (seq, arrival): (u64, Arrival),
        data: &DataChunk<'_>,
        taken: bool,
    ) -> bool {
        if !self.inbound.is_read() {
            return false;
        }
        let in_order = !self.renumbered
            && matches!(cx.env.agreed().encoding(), Encoding::Rfc9260 | Encoding::Interleaved);
        if taken {
            // A chunk that is taken on top of a full buffer and read at once leaves it as full as it was: other
            // streams would go on so, with a chunk for each probe.
            let stands = in_order && arrival == Arrival::InOrder && self.inbound.waits_for_earlier();
            return stands && self.window_of(cx, at) == 0;
        }
        let is_next = self.arrivals.next(at) == Some(seq);
        is_next
            && !self.gives_at_once(cx, at, seq, arrival, data)
            && (in_order || self.was_refused_too_often(cx, at, seq))
    }

    /// True if a chunk that waits for others, of other spaces perhaps, was refused so often that they cannot be under
    /// way.
    fn was_refused_too_often(&mut self, cx: &Context, at: SpaceId, seq: u64) -> bool {
        let config = cx.env.config();
        let most = config.limits.association_max_retrans.saturating_mul(2);
        let least = config.timers.rto_max * 5;
        let window = self.window.largest(&config.limits).into();
        let next = self.arrivals.next_of_each();
        let refused = self.inbound.refused();
        refused.is_again(cx.env.now(), (at, seq), next, least) > most
            && refused.is_proof(cx.env.now(), least, window)
    }
}
