//! Resets of our outgoing streams (RFC 6525), as far as they concern messages.

use super::messages::Messages;

impl Messages<'_> {
    /// Numbers the messages of all streams anew, or of those that are listed (stream reset).
    pub(crate) fn reset_numbering(&mut self, streams: &[u16]) {
        self.numbering.begin_anew(streams);
    }

    /// The peer is asked to reset streams of ours, after all messages that have a number by now.
    pub(crate) fn asks_for_reset(&mut self) {
        self.special.asks_for_reset(self.tables.next_tsn().0);
    }
}
