//! Errors in a row on a path, and whether it works (RFC 9260, 8.2).

use anabranch_base::{Duration, Instant};

use super::Path;

impl Path {
    /// Whether a T3-rtx that ran for `waited` until now says anything that was not counted yet.
    ///
    /// The RFC has one T3-rtx for each address, and counts "each time the T3-rtx timer expires" (8.2). Lanes have one each, and a
    /// silence of the path lets all of them expire: it is one error, or as many subflows as Association.Max.Retrans allows
    /// retransmissions would end the association at the first of them.
    pub(crate) fn is_another_error(&mut self, now: Instant, waited: Duration, several: bool) -> bool {
        if several && self.error_at + waited > now {
            return false;
        }
        self.error_at = now;
        true
    }

    /// Counts an error (8.2); true when the path has gone down with it, as there were more than `limit` in a row.
    // rfc9260:8.2-1 rfc9260:8.2-2 rfc9260:8.3-4 rfc9260:8.3-5
    pub(crate) fn count_error(&mut self, limit: u32) -> bool {
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
    pub(crate) fn clear_errors(&mut self) -> bool {
        self.errors = 0;
        !std::mem::replace(&mut self.active, true)
    }
}
