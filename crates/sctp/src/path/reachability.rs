//! Errors in a row on a path, and whether it works (RFC 9260, 8.2); whether the peer is known to be there (5.4).

use anabranch_base::{Duration, Instant};

/// Reachability of the peer at a path's address.
#[derive(Debug)]
pub(crate) struct Reachability {
    /// Path error counter; reset by any proof that the path works.
    errors: u32,
    /// Time at which a T3-rtx was last counted as an error; 0 before the first.
    error_at: Instant,
    active: bool,
    /// The peer is known to be there. "An endpoint MUST NOT send any chunks to an UNCONFIRMED address", but HEARTBEAT (5.4).
    confirmed: bool,
    /// Packets that leave as ECN-capable do not arrive here, or not as such: they leave as Not-ECT.
    refuses_ect: bool,
}

impl Reachability {
    /// The state of a path that has had no error.
    pub(super) fn new(confirmed: bool) -> Self {
        Self { errors: 0, error_at: Instant::ZERO, active: true, confirmed, refuses_ect: false }
    }

    /// Errors in a row (8.2).
    pub(crate) fn errors(&self) -> u32 {
        self.errors
    }

    /// True if the path answers.
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    /// True if the address is CONFIRMED to be the peer's (5.4).
    #[inline]
    pub(super) fn is_confirmed(&self) -> bool {
        self.confirmed
    }

    /// True if packets leave as Not-ECT here, whatever was agreed.
    #[inline]
    pub(super) fn refuses_ect(&self) -> bool {
        self.refuses_ect
    }

    /// Packets that leave as ECN-capable do not arrive, or not as such.
    pub(super) fn refuse_ect(&mut self) {
        self.refuses_ect = true;
    }

    /// "When this match occurs, the address that the original HEARTBEAT was sent to is now considered CONFIRMED" (5.4). True
    /// when it was not before.
    pub(super) fn confirm(&mut self) -> bool {
        !std::mem::replace(&mut self.confirmed, true)
    }

    /// A probe of an address that is not confirmed was not answered: "When probing UNCONFIRMED addresses ... the association
    /// overall error count is not incremented" (5.4). False when the path has been silent long enough to be left alone: the host
    /// there has nothing to do with us (RFC 5062, 6).
    pub(super) fn probe_unanswered(&mut self, limit: u32) -> bool {
        self.errors += 1;
        self.errors <= limit
    }

    /// True if a T3-rtx that ran for `waited` until now is an error that was not counted yet.
    ///
    /// The RFC has one T3-rtx for each address, and counts "each time the T3-rtx timer expires" (8.2). Lanes have one each, and a
    /// silence of the path lets all of them expire: it is one error, or as many subflows as Association.Max.Retrans allows
    /// retransmissions would end the association at the first of them.
    pub(super) fn is_another_error(&mut self, now: Instant, waited: Duration, several: bool) -> bool {
        if several && self.error_at + waited > now {
            return false;
        }
        self.error_at = now;
        true
    }

    /// Counts an error (8.2); true when the path has gone down with it, as there were more than `limit` in a row.
    // rfc9260:8.2-1 rfc9260:8.2-2 rfc9260:8.3-4 rfc9260:8.3-5
    pub(super) fn count_error(&mut self, limit: u32) -> bool {
        // "the endpoint SHOULD continue sending HEARTBEAT chunks on this destination address but SHOULD stop increasing the
        // counter" (8.3).
        if !self.active {
            return false;
        }
        self.errors += 1;
        self.active = self.errors <= limit;
        !self.active
    }

    /// Something proves that the path works; true when it was down.
    // rfc9260:8.2-3 rfc9260:8.3-10
    pub(super) fn clear_errors(&mut self) -> bool {
        self.errors = 0;
        !std::mem::replace(&mut self.active, true)
    }
}
