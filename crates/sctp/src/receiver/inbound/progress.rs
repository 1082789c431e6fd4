//! Progress of data that waits for chunks that are not here.

use super::Inbound;
use crate::receiver::inbound::refused::Refused;

impl Inbound {
    /// True if whole messages wait for others of their stream.
    pub(crate) fn waits_for_earlier(&self) -> bool {
        !self.streams.waiting.is_empty()
            || self.numbered.as_ref().is_some_and(|numbered| numbered.order.held() > 0)
    }

    /// The record of a chunk that is refused again and again.
    pub(crate) fn refused(&mut self) -> &mut Refused {
        self.numbered.get_or_insert_default().refused.get_or_insert_default()
    }
}
